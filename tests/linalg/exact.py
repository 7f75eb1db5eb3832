# SPDX-License-Identifier: BSD-3-Clause
"""Exact linear algebra over the (Gaussian) rationals by python-flint, and matrices whose inverses
and determinants are known.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

from mdla.core.precision import precision


def rationals(array):
    """The exact entries of an MDArray as an object array of Fractions, real and imaginary."""
    parts = (array.real, array.imag) if array.iscomplex else (array,)
    return [
        np.array([[Fraction(x) for x in row] for row in p.tolist()], dtype=object).reshape(p.shape)
        for p in parts
    ]


def _flint(block):
    m, n = block.shape
    flat = [flint.fmpq(int(x.numerator), int(x.denominator)) for x in block.ravel()]
    return flint.fmpq_mat(m, n, flat)


def _fractions(matrix):
    entries = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
    return np.array(entries, dtype=object).reshape(matrix.nrows(), matrix.ncols())


def _embedded(parts):
    """[[re, -im], [im, re]], a faithful image of complex matrices."""
    if len(parts) == 1:
        return parts[0]
    re, im = parts
    return np.block([[re, -im], [im, re]])


def _parts(image, count):
    if count == 1:
        return [image]
    m, n = image.shape[0] // 2, image.shape[1] // 2
    return [image[:m, :n], image[m:, :n]]


def inverse(parts):
    """The exact inverse, parts like those of `rationals`."""
    return _parts(_fractions(_flint(_embedded(parts)).inv()), len(parts))


def product(a, b):
    """The exact product of parts."""
    count = max(len(a), len(b))
    a, b = ([*p, 0 * p[0]] if len(p) < count else p for p in (a, b))
    return _parts(_embedded(a) @ _embedded(b), count)


def determinant(parts):
    """The exact determinant: a Fraction, or |det|^2 for a complex matrix."""
    x = _flint(_embedded(parts)).det()
    return Fraction(int(x.p), int(x.q))


def norm(parts):
    """A Frobenius norm, up to the rounding of doubles."""
    square = sum(x * x for p in parts for x in p.ravel())
    if square == 0:
        return Fraction(0)
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return Fraction(math.sqrt(square / Fraction(4) ** shift)) * Fraction(2) ** shift


def distance(a, b):
    """The Frobenius norm of a difference."""
    return norm([x - y for x, y in zip(a, b, strict=True)])


def ratio_in_eps(value, size, prec):
    """``value / (size eps)`` as a float; 0 / 0 is 0."""
    return float(value / size / precision(prec).eps) if value else 0.0


# -- matrices of order n with entries, inverses and determinants that are exact ----------------


def hilbert(n):
    return [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]


def vandermonde(n):
    return [[Fraction(i + 1) ** j for j in range(n)] for i in range(n)]


def lauchli(n):
    """A row of ones above a small multiple of the identity, made square by a last column."""
    a = [[Fraction(int(i == 0)) for _ in range(n)] for i in range(n)]
    for j in range(n - 1):
        a[j + 1][j] = Fraction(1, 1 << 20)
    return a


def kahan(n):
    """s = 3/5, c = 4/5: upper triangular, the inverse grows like (1 + c)^n."""
    s, c = Fraction(3, 5), Fraction(4, 5)
    return [[s**i * (1 if i == j else -c if j > i else 0) for j in range(n)] for i in range(n)]


def wilkinson(n):
    """Elimination with partial pivoting doubles the last column in every step."""
    return [
        [Fraction(1 if i == j or j == n - 1 else -1 if j < i else 0) for j in range(n)]
        for i in range(n)
    ]


def frank(n):
    return [[Fraction(n - max(i, j) if j >= i - 1 else 0) for j in range(n)] for i in range(n)]


def moler(n):
    return [[Fraction(min(i, j) - 1 if i != j else i + 1) for j in range(n)] for i in range(n)]


def pascal(n):
    return [[Fraction(math.comb(i + j, i)) for j in range(n)] for i in range(n)]


KNOWN = {
    f.__name__: f for f in (hilbert, vandermonde, lauchli, kahan, wilkinson, frank, moler, pascal)
}

#: Determinants that are known in closed form.
DETERMINANTS = {
    "vandermonde": lambda n: math.prod(j - i for i in range(n) for j in range(i + 1, n)),
    "kahan": lambda n: Fraction(3, 5) ** (n * (n - 1) // 2),
    "wilkinson": lambda n: 2 ** (n - 1),
    "frank": lambda n: 1,
    "moler": lambda n: 1,
    "pascal": lambda n: 1,
}
