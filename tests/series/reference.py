"""Exact truncated power series as lists of pairs of Fractions, and random series."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import mdla
from tests.oracle import assert_close, exact

ZERO = (Fraction(0), Fraction(0))


def pairs(series):
    """Object array (*shape, d + 1) of the exact coefficients as pairs (real, imaginary)."""
    found = exact(series.coefficients)
    out = np.empty(found.shape, dtype=object)
    for index, value in np.ndenumerate(found):
        out[index] = value if isinstance(value, tuple) else (value, Fraction(0))
    return out


def plus(x, y):
    return (x[0] + y[0], x[1] + y[1])


def times(x, y):
    return (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0])


def size(x):
    """The sum of the moduli of the parts: at least the modulus, at most sqrt(2) times it."""
    return abs(x[0]) + abs(x[1])


def cauchy(a, b, length):
    """Exact coefficients of a product, and the sums ``sum |a_j| |b_(k-j)|``."""
    values, sizes = [], []
    for k in range(length):
        value, total = ZERO, Fraction(0)
        for j in range(max(0, k - len(b) + 1), min(k, len(a) - 1) + 1):
            value = plus(value, times(a[j], b[k - j]))
            total += size(a[j]) * size(b[k - j])
        values.append(value)
        sizes.append(total)
    return values, sizes


def assert_coefficients(got, want, bounds, prec):
    """Require ``|got_k - want_k| <= bound_k eps`` for one series."""
    for k, (pair, bound) in enumerate(zip(want, bounds, strict=True)):
        one = got.coefficients[k]
        target = pair if one.iscomplex else pair[0]
        if bound == 0:
            assert exact(one)[()] in (target, pair), f"degree {k}"
        else:
            assert_close(one, target, prec, 1, scale=np.array(bound, dtype=object))


def random_series(rng, shape, degree, prec, is_complex=False):
    """Coefficients with all limbs in -1 .. 1."""
    full = (*shape, degree + 1)
    c = 2 * mdla.random.uniform(full, prec=prec, rng=rng) - 1
    if is_complex:
        c = c + mdla.array(1j) * (2 * mdla.random.uniform(full, prec=prec, rng=rng) - 1)
    return mdla.series.Series(c.astype(prec))
