# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are hard on factorisations, by name; a new one is tested everywhere.

Each maker takes (m, n, prec, complex, rng) and gives an MDArray.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import mdla


def uniform(m, n, prec, is_complex, rng):
    """Entries with all limbs filled, in (-1, 1)."""
    a = 2 * mdla.random.uniform((m, n), prec=prec, rng=rng) - 1
    if is_complex:
        a = a + mdla.array(1j, prec=prec) * (
            2 * mdla.random.uniform((m, n), prec=prec, rng=rng) - 1
        )
    return a


def _reach(prec):
    """An exponent that squares in double or single range only if it is scaled."""
    return 400 if mdla.precision(prec).dtype == np.float64 else 40


def scaled_rows(m, n, prec, is_complex, rng):
    e = rng.integers(-_reach(prec), _reach(prec) + 1, (m, 1))
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), e)


def scaled_columns(m, n, prec, is_complex, rng):
    e = rng.integers(-_reach(prec), _reach(prec) + 1, (1, n))
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), e)


def large(m, n, prec, is_complex, rng):
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), _reach(prec) * 2)


def small(m, n, prec, is_complex, rng):
    # Small enough to underflow when squared, and large enough for all limbs of R to exist.
    lowest = int(np.log2(mdla.finfo(prec).safe_min)) + 60
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), max(-_reach(prec), lowest))


def graded_columns(m, n, prec, is_complex, rng):
    e = -(100 if prec != "ds" else 20) * np.arange(n)[np.newaxis] // max(n, 1)
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), e)


def graded_rows(m, n, prec, is_complex, rng):
    e = (100 if prec != "ds" else 20) * np.arange(m)[:, np.newaxis] // max(m, 1)
    return mdla.ldexp(uniform(m, n, prec, is_complex, rng), e)


def rank_deficient(m, n, prec, is_complex, rng):
    """Exact rank about n / 2: small integers times small integers."""
    k = max(1, min(m, n) // 2)
    a = mdla.array(rng.integers(-9, 10, (m, k)) @ rng.integers(-9, 10, (k, n)), prec=prec)
    return a * mdla.array(1 + 2j, prec=prec) if is_complex else a


def zero_columns(m, n, prec, is_complex, rng):
    a = uniform(m, n, prec, is_complex, rng).copy()
    a[:, ::2] = 0
    return a


def duplicate_columns(m, n, prec, is_complex, rng):
    a = uniform(m, n, prec, is_complex, rng).copy()
    a[:, n // 2 :] = a[:, : n - n // 2]
    return a


def zero(m, n, prec, is_complex, rng):
    return 0 * uniform(m, n, prec, is_complex, rng)


def zero_pivots(m, n, prec, is_complex, rng):
    """Entry (j, j) is 0 or -0 at step j: a column of zeros above a permuted identity."""
    a = np.zeros((m, n))
    for j in range(n):
        a[(j + 1) % m, j] = 1 + j
        if m > 2:
            a[(j + 2) % m, j] = -0.0
    return mdla.array(a * 1j if is_complex else a, prec=prec)


def triangular(m, n, prec, is_complex, rng):
    return mdla.triu(uniform(m, n, prec, is_complex, rng))


def identity(m, n, prec, is_complex, rng):
    a = mdla.eye(m, n, prec=prec)
    return a * mdla.array(-1j, prec=prec) if is_complex else a


def hilbert(m, n, prec, is_complex, rng):
    a = mdla.array([[Fraction(1, i + j + 1) for j in range(n)] for i in range(m)], prec=prec)
    return a * mdla.array(1 + 1j, prec=prec) if is_complex else a


def vandermonde(m, n, prec, is_complex, rng):
    x = mdla.array([Fraction(i + 1, m) for i in range(m)], prec=prec)
    if is_complex:
        x = x * mdla.array(1j, prec=prec)
    columns = [mdla.ones(m, prec=prec) + 0 * x]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return mdla.stack(columns, axis=1)


def lauchli(m, n, prec, is_complex, rng):
    """A row of ones above a tiny multiple of the identity."""
    half = mdla.precision(prec).eps_exponent // 2 - 3
    a = mdla.zeros((m, n), prec=prec)
    a[0] = 1
    for j in range(min(n, m - 1)):
        a[j + 1, j] = mdla.ldexp(mdla.array(1, prec=prec), half)
    return a * mdla.array(1j, prec=prec) if is_complex else a


def hadamard(m, n, prec, is_complex, rng):
    """Columns of equal length with signs only: ties everywhere."""
    a = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(n)] for i in range(m)])
    return mdla.array(a * 1j if is_complex else a, prec=prec)


FAMILIES = {
    f.__name__: f
    for f in (
        uniform,
        scaled_rows,
        scaled_columns,
        large,
        small,
        graded_columns,
        graded_rows,
        rank_deficient,
        zero_columns,
        duplicate_columns,
        zero,
        zero_pivots,
        triangular,
        identity,
        hilbert,
        vandermonde,
        lauchli,
        hadamard,
    )
}

#: Sizes (m, n) just off the widths of panels and blocks.
SHAPES = [(1, 1), (2, 2), (3, 2), (2, 3), (9, 7), (7, 9), (17, 17), (40, 5)]
