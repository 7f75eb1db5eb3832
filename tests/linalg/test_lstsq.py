# SPDX-License-Identifier: BSD-3-Clause
"""Least squares: backward errors, rank, smallest solutions, residuals, the result's form."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, LstsqResult, lstsq
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import Exact, lstsq_error, root_of_ratio
from tests.oracle import assert_close, assert_same_bits
from tests.registry import each_level

FULL_RANK = [
    name
    for name in FAMILIES
    if name
    not in (
        "rank_deficient",
        "zero_columns",
        "duplicate_columns",
        "zero",
        "hilbert",
        "vandermonde",
        # Against the largest rows the others do not count.
        "scaled_rows",
        "graded_rows",
    )
]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
def test_backward_error(family, is_complex, prec, rng):
    for m, n in [(15, 6), (7, 7)]:
        a = FAMILIES[family](m, n, prec, is_complex, rng)
        b = uniform(m, 1, prec, is_complex, rng)[:, 0]
        if family in ("large", "small"):
            b = FAMILIES[family](m, 1, prec, is_complex, rng)[:, 0]
        before = a.planes.copy(), b.planes.copy()

        result = lstsq(a, b)

        assert lstsq_error(a, result.x, b, prec) <= 10 * n
        if family in FULL_RANK:
            assert result.rank == n
        assert np.array_equal(a.planes, before[0], equal_nan=True)
        assert np.array_equal(b.planes, before[1])


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_consistent_systems(is_complex, prec, rng):
    """With a zero residual the solution itself is accurate."""
    a = uniform(12, 5, prec, is_complex, rng)
    x = uniform(5, 3, prec, is_complex, rng)
    got = lstsq(a, a @ x)
    assert mdla.norm(got.x - x) <= 1e4 * mdla.finfo(prec).eps
    assert np.all(got.residuals.to_numpy() <= (1e3 * mdla.finfo(prec).eps) ** 2)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_as_in_numpy(is_complex, rng):
    for m, n, k in [(7, 4, 0), (7, 4, 2), (4, 4, 2), (4, 7, 3), (1, 1, 1), (5, 1, 0)]:
        a = uniform(m, n, "d", is_complex, rng)
        b = uniform(m, max(k, 1), "d", is_complex, rng)
        if k == 0:
            b = b[:, 0]
        want = np.linalg.lstsq(a.to_numpy(), b.to_numpy())
        x, residuals, rank, s = lstsq(a, b)
        np.testing.assert_allclose(x.to_numpy(), want[0], atol=1e-12)
        assert residuals.shape == want[1].shape
        np.testing.assert_allclose(residuals.to_numpy(), want[1], atol=1e-12)
        assert not residuals.iscomplex
        assert rank == want[2]
        assert s is None


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(9, 6), (6, 6), (6, 9)], ids=str)
def test_smallest_solution_of_deficient_rank(shape, is_complex, prec, rng):
    """x is orthogonal to the null space: it lies in the row space of A."""
    m, n = shape
    a = FAMILIES["rank_deficient"](m, n, prec, is_complex, rng)
    b = uniform(m, 2, prec, is_complex, rng)

    result = lstsq(a, b)

    assert result.rank == 3
    assert result.residuals.shape == (0,)
    assert result.rcond == 0
    assert np.isinf(result.errors).all()
    eps = mdla.finfo(prec).eps
    want = np.linalg.lstsq(a.to_numpy(), b.to_numpy())[0]
    np.testing.assert_allclose(result.x.to_numpy(), want, atol=1e-11 if prec != "ds" else 1e-9)
    # x = A^H y: solve for y, and see how much of x is left.
    y = lstsq(a.H, result.x)
    assert mdla.norm(a.H @ y.x - result.x) <= 1e4 * eps * mdla.norm(result.x)
    assert lstsq_error(a, result.x[:, 0], b[:, 0], prec) <= 10 * n


def test_wide_matrices_have_the_smallest_solution(prec, rng):
    a = uniform(3, 6, prec, True, rng)
    b = uniform(3, 1, prec, True, rng)[:, 0]
    x, residuals, rank, _ = lstsq(a, b)
    assert rank == 3
    assert residuals.shape == (0,)
    assert mdla.norm(a @ x - b) <= 1e4 * mdla.finfo(prec).eps
    want = np.linalg.lstsq(a.to_numpy(), b.to_numpy())[0]
    np.testing.assert_allclose(x.to_numpy(), want, rtol=1e-11)


def test_complex_with_conjugation(prec):
    """Without conjugation the answer is a wrong real part."""
    a = mdla.array(np.linspace(-32, 32, 64)[:, np.newaxis], prec="hd")
    t = mdla.array([[Fraction(-32) + Fraction(64 * i, 63)] for i in range(64)], prec=prec)
    a = t + mdla.array(1j, prec=prec)
    x, residuals, rank, _ = lstsq(a, np.ones(64))
    assert rank == 1
    eps = mdla.finfo(prec).eps
    assert abs(float(x[0].real)) <= 64 * eps
    assert_close(
        x[0].imag, Fraction("-0.00283150309367930605701958081769"), prec, max(100, 1e-29 / eps)
    )
    assert_close(
        mdla.sqrt(residuals[0]), Fraction("7.988665958844725935381086"), prec, max(100, 1e-23 / eps)
    )
    assert residuals.shape == (1,)
    assert not residuals.iscomplex
    rest = Exact.of(mdla.ones((64, 1), prec=prec)) - Exact.of(a) @ Exact.of(x.reshape(1, 1))
    got = residuals[0].item()
    assert abs(got / rest.norm_squared() - 1) <= 1000 * mdla.precision(prec).eps


SINGULAR = [
    [[Fraction("5.6"), Fraction("1.2")], [Fraction(7, 15), Fraction("0.1")]],
    [[1, 2, 1], [-2, -3, 1], [3, 5, 0]],
    [[3, 2, 1], [2, 2, 0], [1, 0, 1]],
]


@pytest.mark.parametrize("a", SINGULAR, ids=["rationals", "integers", "symmetric"])
def test_singular_matrices_say_so(a, prec):
    result = lstsq(mdla.array(a, prec=prec), np.ones(len(a)))
    assert result.rank == len(a) - 1
    assert result.rcond == 0
    assert np.all(np.abs(result.x.to_numpy()) < 100)


@pytest.mark.parametrize(("n", "prec"), [(12, "dd"), (20, "dd"), (40, "qd"), (40, "od")])
def test_hilbert_has_full_rank(n, prec):
    a = mdla.array([[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)], prec=prec)
    result = lstsq(a, np.ones(n))
    assert result.rank == n
    assert 0 < result.rcond < 1
    low = {"dd": "d", "qd": "dd", "od": "td"}[prec]
    if n > 12:
        assert lstsq(a.astype(low), np.ones(n)).rank < n


def test_units_of_the_unknowns_do_not_matter(prec, rng):
    """By default; with a threshold of the user's columns count as they are, as in NumPy."""
    a = uniform(8, 4, prec, False, rng)
    b = uniform(8, 1, prec, False, rng)[:, 0]
    reach = 130 if prec != "ds" else 25
    e = np.array([0, reach, -reach, 3])
    scaled = mdla.ldexp(a, e)
    want, got = lstsq(a, b), lstsq(scaled, b)
    assert got.rank == 4
    assert_same_bits(mdla.ldexp(got.x, e), want.x)
    np.testing.assert_allclose(np.ldexp(got.errors, e), want.errors)
    assert lstsq(scaled, b, rcond=1e-3).rank < 4


def test_rcond(rng):
    a = mdla.array(np.diag([1.0, 1e-5, 1e-20]), prec="dd")
    assert lstsq(a, [1, 1, 1], rcond=1e-10).rank == 2
    x = lstsq(a, [1, 1, 1], rcond=1e-10).x
    np.testing.assert_allclose(x.to_numpy(), [1, 1e5, 0])
    assert lstsq(a, [1, 1, 1], rcond=1e-3).rank == 1
    assert lstsq(a, [1, 1, 1], rcond=1e-25).rank == 3
    assert lstsq(a, [1, 1, 1], rcond=-1).rank == 3
    assert lstsq([[1, 0], [0, 0]], [1, 1], rcond=-1).rank == 1
    assert lstsq(a, [1, 1, 1]).rank == 3
    with pytest.raises(ValueError, match="rcond is nan"):
        lstsq(a, [1, 1, 1], rcond=np.nan)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_error_estimates_cover_the_errors(prec, rng):
    for family in ("uniform", "graded_columns", "hilbert", "vandermonde"):
        a = FAMILIES[family](12, 6, prec, False, rng)
        b = uniform(12, 1, prec, False, rng)[:, 0]
        result = lstsq(a, b)
        want = lstsq(a, b, prec="hd").x
        error = np.abs((result.x.astype("hd") - want).to_numpy())
        assert (error <= result.errors).all()
        assert (
            result.errors <= 1e7 * error.max() + 1e6 * mdla.finfo(prec).eps * abs(want.to_numpy())
        ).any()


def test_residuals_are_those_of_the_solution(prec, rng):
    a, b = uniform(9, 3, prec, True, rng), uniform(9, 2, prec, True, rng)
    result = lstsq(a, b)
    miss = b - a @ result.x
    for j in range(2):
        got = Exact.of(mdla.sqrt(result.residuals[[j]]).reshape(1, 1)).norm_squared()
        want = Exact.of(miss[:, [j]]).norm_squared()
        assert abs(root_of_ratio(got, want) - 1) <= max(200 * mdla.finfo(prec).eps, 1e-15)


def test_scaled_right_hand_sides(rng):
    a = uniform(9, 3, "dd", False, rng)
    b = uniform(9, 2, "dd", False, rng)
    want = lstsq(a, b)
    got = lstsq(a, mdla.ldexp(b, np.array([900, -400])))
    assert_same_bits(mdla.ldexp(got.x, np.array([-900, 400])), want.x)


@pytest.mark.parametrize(("prec", "shift"), [("hd", 400), ("od", 800), ("qd", 900), ("dd", 900)])
@pytest.mark.parametrize("shape", [(7, 20), (12, 6)], ids=["wide", "deficient"])
def test_smallest_solutions_do_not_depend_on_the_unit(shape, prec, shift, rng):
    """Powers of two common to A and b change no bit, though 1 / ||A|| has no room for its tail."""
    a = uniform(*shape, prec, False, rng)
    if shape[0] > shape[1]:
        a[:, -1] = a[:, 0]
    b = uniform(shape[0], 1, prec, False, rng)[:, 0]
    unit = mdla.ldexp(mdla.array(1, prec=prec), shift)
    want = lstsq(a, b)
    got = lstsq(a * unit, b * unit)
    assert got.rank == want.rank
    assert mdla.norm(got.x - want.x) <= 4 * shape[1] * mdla.finfo(prec).eps * mdla.norm(want.x)


def test_large_problems(rng):
    a, x = uniform(150, 60, "dd", False, rng), uniform(60, 1, "dd", False, rng)[:, 0]
    b = a @ x + uniform(150, 1, "dd", False, rng)[:, 0]
    result = lstsq(a, b)
    wide = lstsq(a, b, prec="qd")
    assert mdla.norm(result.x - wide.x) <= 1e5 * mdla.finfo("dd").eps * mdla.norm(x)
    deficient = mdla.concatenate([a, a[:, :5]], axis=1)
    result = lstsq(deficient, b)
    assert result.rank == 60
    assert mdla.norm(a.T @ (b - deficient @ result.x)) <= 1e5 * mdla.finfo("dd").eps


def test_stacks(prec, rng):
    a = uniform(2 * 3 * 6, 3, prec, False, rng).reshape(2, 3, 6, 3)
    b = uniform(6, 2, prec, False, rng)
    result = lstsq(a, b)
    assert result.x.shape == (2, 3, 3, 2)
    assert result.residuals.shape == (2, 3, 2)
    assert result.rank.shape == result.rcond.shape == (2, 3)
    assert result.errors.shape == (2, 3, 3, 2)
    one = lstsq(a[1, 2], b)
    bound = 1000 * mdla.finfo(prec).eps / one.rcond
    assert mdla.norm(result.x[1, 2] - one.x) <= bound * mdla.norm(one.x)
    assert mdla.norm(result.residuals[1, 2] - one.residuals) <= bound * mdla.norm(one.residuals)
    assert lstsq(a, b[:, 0]).x.shape == (2, 3, 3)
    assert lstsq(a[:0], b).x.shape == (0, 3, 3, 2)


def test_same_bits_on_all_levels_and_threads(rng):
    a, b = uniform(90, 50, "dd", True, rng), uniform(90, 2, "dd", True, rng)
    deficient = FAMILIES["rank_deficient"](40, 40, "dd", False, rng)
    want = lstsq(a, b).x, lstsq(deficient, b[:40].real).x
    for _ in each_level():
        for threads in (1, 2):
            _native.set_num_threads(threads)
            assert_same_bits(lstsq(a, b).x, want[0])
            assert_same_bits(lstsq(deficient, b[:40].real).x, want[1])


@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (3, 0), (3, 3)], ids=str)
def test_zero_size(m, n, prec):
    a = mdla.zeros((m, n), prec=prec)
    for k in (None, 0, 2):
        result = lstsq(a, mdla.zeros((m,) if k is None else (m, k), prec=prec))
        assert result.x.shape == ((n,) if k is None else (n, k))
        assert result.rank == 0
        assert not result.x.to_numpy().any()


def test_result_travels():
    result = lstsq([[1, 0], [0, 1], [1, 1]], [1, 2, 4])
    for copied in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert isinstance(copied, LstsqResult)
        assert copied.rank == 2
        assert copied.rcond == result.rcond
        assert (copied.errors == result.errors).all()
    assert np.linalg.lstsq(mdla.ones((2, 1)), mdla.ones(2)).rank == 1


def test_nonfinite():
    a = mdla.array([[np.inf, 1, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.raises(ValueError, match="a has infinities or nans"):
        lstsq(a, [1, 1, 1])
    for bad in (np.inf, np.nan):
        a[0, 0] = bad
        result = lstsq(a, [1, 1, 1], check_finite=False)
        assert np.isnan(result.x.to_numpy()).all()


def test_bad_input():
    with pytest.raises(ValueError, match="unknown driver 'svd'; write 'qr'"):
        lstsq(mdla.eye(2), [1, 1], driver="svd")
    with pytest.raises(LinAlgError, match=r"a has 2 rows, so b needs the shape \(2,\)"):
        lstsq(mdla.eye(2), [1, 1, 1])
    with pytest.raises(LinAlgError, match="a must be a matrix"):
        lstsq([1, 2], [1, 2])
    with pytest.raises(ValueError, match="b has infinities"):
        lstsq(mdla.eye(2), [1, np.inf])
