# SPDX-License-Identifier: BSD-3-Clause
"""Cholesky: residuals with exact integers, triangles that are not read, what is not definite."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from tests.linalg.exact import KNOWN
from tests.linalg.matrices import uniform
from tests.linalg.measures import residual, solve_error, wide_residual
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, each_level


def definite(n, prec, is_complex, rng):
    x = uniform(n, n, prec, is_complex, rng)
    a = x @ x.conj().T + mdla.eye(n, prec=prec)
    return (a + a.conj().T) / 2


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 17])
def test_residuals(n, is_complex, prec, rng):
    a = definite(n, prec, is_complex, rng)
    factor = cholesky(a)
    assert factor.prec == prec
    assert residual(a, factor, factor.conj().T, prec) <= 4 * n
    assert (mdla.triu(factor, 1) == 0).all()
    upper = cholesky(a, upper=True)
    assert residual(a, upper.conj().T, upper, prec) <= 4 * n
    assert (mdla.diagonal(factor.real) > 0).all()
    if is_complex:
        assert (mdla.diagonal(factor.imag) == 0).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [33, 65, 300])
def test_blocks(n, is_complex, rng):
    for prec in ("d", "dd") if n == 300 else ("d", "dd", "qd", "od"):
        if n == 300 and is_complex:
            continue
        a = definite(n, prec, is_complex, rng)
        factor = cholesky(a)
        assert wide_residual(a, factor, factor.conj().T, prec) <= 4 * n


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("name", ["hilbert", "moler", "pascal"])
def test_known_matrices(name, prec):
    n = 8
    a = mdla.array(KNOWN[name](n), prec=prec)
    factor = cholesky(a)
    assert residual(a, factor, factor.T, prec) <= 4 * n
    if name == "pascal":
        # L is Pascal's triangle, and every step is exact.
        assert (factor == mdla.tril(mdla.array(_triangle(n), prec=prec))).all()


def _triangle(n):
    rows = [[1] + [0] * (n - 1)]
    for _ in range(n - 1):
        last = rows[-1]
        rows.append([1] + [last[j - 1] + last[j] for j in range(1, n)])
    return rows


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_the_other_triangle_is_not_read(is_complex, prec, rng):
    a = definite(5, prec, is_complex, rng)
    want, want_upper = cholesky(a), cholesky(a, upper=True)
    for junk in (7, np.nan, np.inf):
        b, c = a.copy(), a.copy()
        for i in range(5):
            b[i, i + 1 :] = junk
            c[i + 1 :, i] = junk
        assert_same_bits(cholesky(b), want)
        assert_same_bits(cholesky(c, upper=True), want_upper)
    if is_complex:
        diagonal = a + mdla.array(1j, prec=prec) * mdla.eye(5, prec=prec)
        assert_same_bits(cholesky(diagonal), want)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_any_scale(prec, rng):
    n = 6
    a = definite(n, prec, False, rng)
    for e in (np.full(n, 400), np.full(n, -30), rng.integers(-40, 40, n) * 2):
        scaled = mdla.ldexp(mdla.ldexp(a, e[:, np.newaxis]), e)
        factor = cholesky(scaled)
        got = mdla.ldexp(factor, -e[:, np.newaxis])
        tight = prec if prec not in ("da", "hd") else "od"
        assert residual(a.astype(tight), got.astype(tight), got.T.astype(tight), tight) <= 4 * n


def test_what_is_not_definite(prec, rng):
    a = definite(40, prec, False, rng).copy()
    for j in (0, 7, 39):
        b = a.copy()
        b[j, j] = -1
        with pytest.raises(
            LinAlgError, match=f"cholesky: a is not positive definite: its pivot {j} "
        ):
            cholesky(b)
    for bad in ([[0.0]], [[1, 2], [2, 1]], [[1, 1], [1, 1]], [[-1, 0], [0, 1]]):
        with pytest.raises(LinAlgError, match="not positive definite"):
            cholesky(mdla.array(bad, prec=prec))
    stack = mdla.stack([mdla.eye(2, prec=prec), -mdla.eye(2, prec=prec)])
    with pytest.raises(
        LinAlgError, match=r"cholesky: a\[1\] is not positive definite: its pivot 0"
    ):
        cholesky(stack)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_cho_solve(is_complex, lower, prec, rng):
    n = 6
    a, b = definite(n, prec, is_complex, rng), uniform(n, 2, prec, is_complex, rng)
    factor = cho_factor(a, lower)
    assert factor[1] is lower
    assert solve_error(a, cho_solve(factor, b), b, prec) <= 10 * n
    assert solve_error(a, cho_solve(factor, b[:, 0]), b[:, 0], prec) <= 10 * n


def test_stacks_and_numpy(prec, rng):
    a = mdla.stack([definite(3, prec, False, rng) for _ in range(4)]).reshape(2, 2, 3, 3)
    factor = np.linalg.cholesky(a)
    assert factor.prec == prec
    for i in np.ndindex(2, 2):
        assert_close(factor[i], cholesky(a[i]), prec)
    assert cho_solve(cho_factor(a), mdla.ones(3, prec=prec)).shape == (2, 2, 3)
    upper = np.linalg.cholesky(a, upper=True)
    assert_same_bits(upper, factor.mT)


def assert_close(got, want, prec):
    size = mdla.max(abs(want))
    assert (abs(got - want) <= 200 * mdla.finfo(prec).eps * size).all()


@pytest.mark.parametrize("upper", [False, True])
def test_stacks_of_complex_matrices(upper, prec, rng, monkeypatch):
    a = mdla.stack([definite(4, prec, True, rng) for _ in range(3)])
    a[1] = mdla.ldexp(a[1], 240 if prec != "ds" else 20)
    wants = [cholesky(x, upper=upper) for x in a]
    a[..., *np.triu_indices(4, 1)[:: -1 if upper else 1]] = np.nan  # is not read
    monkeypatch.delattr(
        sys.modules["mdla.linalg.cholesky"], "_factor_scaled"
    )  # not one after the other
    for got, want in zip(cholesky(a, upper=upper), wants, strict=True):
        assert_close(got, want, prec)
    a[2, 1, 1] = -1
    with pytest.raises(LinAlgError, match=r"a\[2\] is not positive definite: its pivot 1 is"):
        cholesky(a, upper=upper)
    with pytest.raises(LinAlgError, match=r"a\[1, 0\] is not positive definite: its pivot 1 is"):
        cholesky(a[1:, None], upper=upper)


def test_same_bits_on_all_levels_and_threads(rng):
    a = definite(90, "dd", False, rng)
    want = cholesky(a)
    for _ in each_level():
        for threads in (1, 2):
            _native.set_num_threads(threads)
            assert_same_bits(cholesky(a), want)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (2, 0, 0)], ids=str)
def test_zero_size(shape, prec):
    assert cholesky(mdla.zeros(shape, prec=prec)).shape == shape


def test_bad_input():
    with pytest.raises(LinAlgError, match="must be square"):
        cholesky(mdla.ones((2, 3)))
    with pytest.raises(ValueError, match="infinities or nans"):
        cholesky([[np.nan, 0], [0, 1]])
    with pytest.raises(LinAlgError, match="not positive definite"):
        cholesky([[np.nan, 0], [0, 1]], check_finite=False)
    with pytest.raises(LinAlgError, match="diagonal of c is zero"):
        cho_solve((mdla.zeros((2, 2)), True), [1, 1])
    with pytest.raises(ValueError, match=r"the pair \(c, lower\) of cho_factor"):
        cho_solve((mdla.eye(2),), [1, 1])
    assert cholesky([[Fraction(1, 4)]], prec="qd").item() == Fraction(1, 2)
