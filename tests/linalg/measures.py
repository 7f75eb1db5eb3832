# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of factorisations and solutions, computed with exact integers, in units of eps."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

import mdla
from mdla.core.precision import precision
from tests.oracle import SCALE, integers


class Exact:
    """A matrix of exact real or complex numbers, as integers in units of ``2**-shift``."""

    def __init__(self, real, imag=None, shift=SCALE):
        self.real, self.imag, self.shift = real, imag, shift

    @classmethod
    def of(cls, array):
        parts = integers(array)
        return cls(parts[0], parts[1] if len(parts) == 2 else None)

    @classmethod
    def eye(cls, n):
        real = np.array([[int(i == j) for j in range(n)] for i in range(n)], dtype=object)
        return cls(real.reshape(n, n), None, 0)

    @property
    def H(self):
        imag = None if self.imag is None else -self.imag.T
        return Exact(self.real.T, imag, self.shift)

    def __matmul__(self, other):
        a, b, c, d = self.real, self.imag, other.real, other.imag
        real = a @ c
        imag = None
        if b is not None and d is not None:
            real = real - b @ d
        if b is not None or d is not None:
            imag = (a @ d if d is not None else 0 * real) + (b @ c if b is not None else 0 * real)
        return Exact(real, imag, self.shift + other.shift)

    def __sub__(self, other):
        shift = max(self.shift, other.shift)
        x, y = (e._at(shift) for e in (self, other))
        imag = None
        if x.imag is not None or y.imag is not None:
            imag = (0 if x.imag is None else x.imag) - (0 if y.imag is None else y.imag)
        return Exact(x.real - y.real, imag, shift)

    def _at(self, shift):
        k = shift - self.shift
        imag = None if self.imag is None else self.imag * (1 << k)
        return Exact(self.real * (1 << k), imag, shift)

    def _multiprecision(self):
        """As a real mpmath matrix, ``[[re, -im], [im, re]]`` for complex numbers."""
        blocks = self.real
        if self.imag is not None:
            blocks = np.block([[self.real, -self.imag], [self.imag, self.real]])
        unit = mpmath.ldexp(1, -self.shift)
        return mpmath.matrix([[mpmath.mpf(int(v)) * unit for v in row] for row in blocks.tolist()])

    def norm_squared(self):
        """The squared Frobenius norm."""
        total = sum(int(v) ** 2 for v in self.real.ravel())
        if self.imag is not None:
            total += sum(int(v) ** 2 for v in self.imag.ravel())
        return Fraction(total, 1 << (2 * self.shift))


def root_of_ratio(a, b, eps=1):
    """``sqrt(a / b) / eps`` of exact numbers; 0/0 is 0."""
    if a == 0:
        return 0.0
    if b == 0:
        return math.inf
    ratio = a / b / Fraction(eps) ** 2
    # The root of a ratio that may lie beyond the range of doubles.
    shift = (ratio.numerator.bit_length() - ratio.denominator.bit_length()) // 2 * 2
    scaled = ratio / Fraction(2) ** shift
    try:
        return math.ldexp(math.sqrt(float(scaled)), shift // 2)
    except OverflowError:
        return math.inf


def residual(a, q, r, prec):
    """``||A - Q R||_F / (||A||_F eps)``."""
    a = Exact.of(a)
    miss = a - Exact.of(q) @ Exact.of(r)
    return root_of_ratio(miss.norm_squared(), a.norm_squared(), precision(prec).eps)


def column_residual(a, q, r, prec):
    """The largest ``||a_j - (Q R)_j|| / (||a_j|| eps)``."""
    a = Exact.of(a)
    miss = a - Exact.of(q) @ Exact.of(r)
    worst = 0.0
    for j in range(a.real.shape[1]):
        columns = [
            Exact(e.real[:, [j]], None if e.imag is None else e.imag[:, [j]], e.shift)
            for e in (miss, a)
        ]
        squares = [c.norm_squared() for c in columns]
        worst = max(worst, root_of_ratio(*squares, precision(prec).eps))
    return worst


def wide_residual(a, x, y, prec):
    """``||A - X Y||_F / (||A||_F eps)`` with the product in a wider precision.

    For matrices that are too large for exact integers.
    """
    wide = {1: "td", 2: "qd", 3: "pd", 4: "od"}.get(precision(prec).limbs, "hd")
    a, x, y = (v.astype(wide) for v in (a, x, y))
    return float((mdla.norm(a - x @ y) / mdla.norm(a)).to_numpy()) / float(precision(prec).eps)


def orthogonality(q, prec):
    """``||Q^H Q - I||_F / eps``."""
    q = Exact.of(q)
    miss = q.H @ q - Exact.eye(q.real.shape[1])
    return root_of_ratio(miss.norm_squared(), Fraction(1), precision(prec).eps)


def solve_error(a, x, b, prec):
    """The normwise backward error ``||b - A x|| / (||A|| ||x|| + ||b||)`` over eps."""
    a, x, b = Exact.of(a), Exact.of(_matrix(x)), Exact.of(_matrix(b))
    miss = (b - a @ x).norm_squared()
    # (u + v)^2 <= 2 (u^2 + v^2): a bound that is at most sqrt(2) too small a result.
    size = a.norm_squared() * x.norm_squared() + b.norm_squared()
    return root_of_ratio(miss, size, precision(prec).eps)


def lstsq_error(a, x, b, prec):
    """The normwise backward error of a least-squares solution, over ``eps``. One column of b.

    The least ``||[E, t f]||_F / ||A||_F``, t = ||A||_F / ||b||, for which x solves the problem with
    A + E and b + f exactly, is the smaller of s ||r|| and, up to a factor below 2,
    s ||(A^H A + s^2 ||r||^2 I)^(-1/2) A^H r||, both over ||A||_F, where r = b - A x and
    s^2 = t^2 / (1 + t^2 ||x||^2) (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
    ed., section 20.7; S. Gratton, P. Jiranek, D. Titley-Peloquin, SIAM J. Matrix Anal. Appl. 33
    (2012) 822-836).
    """
    a, x, b = Exact.of(a), Exact.of(_matrix(x)), Exact.of(_matrix(b))
    r = b - a @ x
    eps, size = precision(prec).eps, a.norm_squared()
    if r.norm_squared() == 0 or size == 0:
        return 0.0
    square = size / (b.norm_squared() + size * x.norm_squared())
    vanish = root_of_ratio(square * r.norm_squared(), size, eps)
    # Enough bits for entries up to 2^(+-1000) and their squares.
    with mpmath.workprec(8000):
        matrix, normal = a._multiprecision(), (a.H @ r)._multiprecision()[:, 0]
        shifted = matrix.T * matrix
        for i in range(shifted.rows):
            shifted[i, i] += _mp(square * r.norm_squared())
        near = (normal.T * mpmath.lu_solve(shifted, normal))[0] * _mp(square)
        return min(vanish, float(mpmath.sqrt(abs(near) / _mp(size)) / _mp(eps)))


def _mp(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def _matrix(x):
    return x if x.ndim == 2 else x.reshape(-1, 1)
