# SPDX-License-Identifier: BSD-3-Clause
"""Matrices with known or difficult spectra, and what measures a decomposition."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

import mdla
from mdla.core.precision import precision
from tests.linalg.matrices import FAMILIES, hadamard, hilbert, lauchli, rank_deficient, uniform
from tests.linalg.measures import Exact, root_of_ratio
from tests.oracle import exact


def hermitian(m):
    """A matrix plus its adjoint."""
    return m + m.H


def family(name, m, n, prec, is_complex, rng):
    """A matrix of `tests.linalg.matrices`, the largest entry near 1.

    Then every limb of the results exists, however many there are.
    """
    a = FAMILIES[name](m, n, prec, is_complex, rng)
    largest = float(abs(a).max())
    return mdla.ldexp(a, -int(np.frexp(largest)[1])) if largest > 0 else a


def eps_power(prec, share):
    """A power of two near ``eps ** share``, as a Fraction."""
    return Fraction(1, 1 << int(-precision(prec).eps_exponent * share))


def random(prec, is_complex, rng):
    return hermitian(uniform(12, 12, prec, is_complex, rng))


def sylvester(prec, is_complex, rng):
    """Eigenvalues +-sqrt(8), four each."""
    return mdla.array(hadamard(8, 8, "d", False, rng).to_numpy(), prec=prec)


def identity(prec, is_complex, rng):
    return mdla.eye(9, prec=prec)


def zero(prec, is_complex, rng):
    return 0 * random(prec, is_complex, rng)


def ones(prec, is_complex, rng):
    return mdla.ones((9, 9), prec=prec)


def hilbert20(prec, is_complex, rng):
    return hilbert(20, 20, prec, False, rng)


def low_rank(prec, is_complex, rng):
    b = rank_deficient(10, 10, prec, is_complex, rng)
    return b @ b.H


def wilkinson(prec, is_complex, rng):
    """W21+: pairs of eigenvalues that agree to 1e-14 and less."""
    a = np.diag(np.abs(np.arange(21) - 10.0)) + np.eye(21, k=1) + np.eye(21, k=-1)
    return mdla.array(a, prec=prec)


def graded(prec, is_complex, rng):
    """Rows and columns from 1 to 1e-60, or to 1e-10 where limbs are floats."""
    last = 60 if precision(prec).dtype == np.float64 else 10
    d = mdla.array([10.0 ** (-last * i / 11) for i in range(12)], prec=prec)
    return random(prec, is_complex, rng) * d * d[:, np.newaxis]


def spread(prec, is_complex, rng):
    """Eigenvalues 1 to eps^2, in a random basis."""
    q = mdla.qr(uniform(12, 12, prec, is_complex, rng)).Q
    w = mdla.array([eps_power(prec, i / 6) for i in range(12)], prec=prec)
    return hermitian((q * w) @ q.H)


def nested(prec, is_complex, rng):
    """Clusters in clusters: eigenvalues 1 + eps^(i / 6)."""
    q = mdla.qr(uniform(12, 12, prec, is_complex, rng)).Q
    w = mdla.array([1 + eps_power(prec, i / 6) for i in range(12)], prec=prec)
    return hermitian((q * w) @ q.H)


def nested_to(bits, prec, rng):
    """Eigenvalues 1 + 2^(-bits i / 9)."""
    q = mdla.qr(mdla.array(rng.standard_normal((9, 9)), prec=prec)).Q
    w = 1 + mdla.array([2.0 ** (-bits * i / 9) for i in range(9)], prec=prec)
    return hermitian((q * w) @ q.T) / 2


HERMITIAN = {
    f.__name__: f
    for f in (
        random,
        sylvester,
        identity,
        zero,
        ones,
        hilbert20,
        low_rank,
        wilkinson,
        graded,
        spread,
        nested,
    )
}


def powers(prec, is_complex, rng):
    """V_ij = i^j, condition 7e15."""
    return mdla.array([[Fraction(i) ** j for j in range(12)] for i in range(1, 13)], prec=prec)


def lauchli9(prec, is_complex, rng):
    return lauchli(9, 8, prec, is_complex, rng)


def unitary(prec, is_complex, rng):
    return mdla.qr(uniform(9, 9, prec, is_complex, rng)).Q


def shift(prec, is_complex, rng):
    """Singular values 1 and 0."""
    return mdla.eye(9, k=1, prec=prec)


def repeated(prec, is_complex, rng):
    """Singular values 1, 1/3 and 0, four each, no vectors in common."""
    left, right = (mdla.qr(uniform(12, 12, prec, is_complex, rng)).Q for _ in range(2))
    w = mdla.array([1] * 4 + [Fraction(1, 3)] * 4 + [0] * 4, prec=prec)
    return (left * w) @ right


def clusters(prec, is_complex, rng):
    """Singular values 1 + eps^(i / 4) and eps^(i / 4)."""
    left, right = (mdla.qr(uniform(12, 12, prec, is_complex, rng)).Q for _ in range(2))
    tail = [eps_power(prec, i / 4) for i in range(1, 7)]
    return (left * mdla.array([1 + t for t in tail] + tail, prec=prec)) @ right


GENERAL = {f.__name__: f for f in (powers, lauchli9, unitary, shift, repeated, clusters)}


def relative(miss, a, prec):
    """``||miss||_F / (||a||_F eps)`` of matrices of exact numbers."""
    return root_of_ratio(miss.norm_squared(), a.norm_squared(), precision(prec).eps)


def diagonal(values):
    """A square matrix with these on the diagonal, exactly."""
    entries = Exact.of(values)
    eye = Exact.eye(len(values)).real
    imag = None if entries.imag is None else eye * entries.imag
    return Exact(eye * entries.real, imag, entries.shift)


def multiprecision(a):
    """A real or complex array as an mpmath matrix, exactly if the context has the bits."""
    numbers = exact(a)
    rows = numbers.reshape(numbers.shape[0], -1).tolist()
    return mpmath.matrix([[_number(x) for x in row] for row in rows])


def _number(x):
    if isinstance(x, tuple):
        return mpmath.mpc(_number(x[0]), _number(x[1]))
    return mpmath.mpf(x.numerator) / x.denominator
