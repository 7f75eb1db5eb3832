# SPDX-License-Identifier: BSD-3-Clause
"""Triangular systems: bounds entry by entry, options, right-hand sides, stacks, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, solve_triangular, triangular
from tests.linalg.matrices import uniform
from tests.oracle import (
    assert_close,
    assert_normalised,
    assert_same_bits,
    exact_abs_matmul,
    exact_matmul,
)
from tests.registry import each_level


def triangle(n, prec, is_complex, rng, lower):
    """A triangle without tiny diagonal; the other half holds what must not be read."""
    a = uniform(n, n, prec, is_complex, rng).copy()
    for j in range(n):
        a[j, j] = a[j, j] + 2
    mask = np.triu(np.ones((n, n), dtype=bool), 1)
    a[mask if lower else mask.T] = 1e30
    return a, (mdla.tril if lower else mdla.triu)(a)


def check(t, x, b, prec):
    """``|b - T x| <= c n eps |T| |x|`` (N. J. Higham, theorem 8.5)."""
    n = t.shape[-1]
    if x.ndim == 1:
        x, b = x.reshape(-1, 1), b.reshape(-1, 1)
    scale = exact_abs_matmul(t, x)
    wanted = exact_matmul(t, x)
    assert_close(b, wanted, prec, (12 if t.iscomplex else 3) * n, scale=scale)
    assert_normalised(x)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_residuals(trans, lower, is_complex, prec, rng):
    for n, shape in [(1, (1,)), (5, (5,)), (9, (9, 1)), (11, (11, 17)), (19, (19, 3))]:
        a, t = triangle(n, prec, is_complex, rng, lower)
        b = uniform(n, 20, prec, is_complex, rng)[:, : (*shape, 1)[1]].reshape(shape)
        op = {"N": t, "T": t.T, "C": t.H}[trans]

        x = solve_triangular(a, b, trans=trans, lower=lower)

        assert x.shape == b.shape
        check(op, x, b, prec)
        unit = solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=True)
        eye = mdla.eye(n, prec=prec)
        check(op - op * eye + eye, unit, b, prec)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_columns_do_not_depend_on_each_other(is_complex, prec, rng):
    n = 2 * triangular._LEAF[mdla.precision("dd" if prec == "ds" else prec).limbs]
    n = min(n, 40)
    a, _ = triangle(n, prec, is_complex, rng, False)
    b = uniform(n, 9, prec, is_complex, rng)
    leaf = n // 2 if n < 40 else 20
    a, b = a[:leaf, :leaf], b[:leaf]
    want = solve_triangular(a, b)
    for j in (0, 8):
        assert_same_bits(solve_triangular(a, b[:, j]), want[:, j])


def test_trans_as_in_scipy(rng):
    for is_complex in (False, True):
        a, _ = triangle(6, "d", is_complex, rng, True)
        b = uniform(6, 2, "d", is_complex, rng)
        for trans in (0, 1, 2, "N", "T", "C"):
            want = scipy.linalg.solve_triangular(a.to_numpy(), b.to_numpy(), trans, True)
            np.testing.assert_allclose(solve_triangular(a, b, trans, True).to_numpy(), want, 1e-12)


@pytest.mark.parametrize("prec", ["ds", "d", "dd", "td", "qd"])
def test_exact_systems_are_solved_exactly(prec):
    a = mdla.array([[4, 1, 2], [0, -2, 5], [0, 0, 8]], prec=prec)
    x = mdla.array([[1, 2], [3, 4], [5, 6]], prec=prec)
    assert np.all(solve_triangular(a, a @ x) == x)


def test_scaled_far(prec, rng):
    """Neither |t|^2 nor anything else over- or underflows."""
    reach = 300 if prec != "ds" else 30
    for is_complex in (False, True):
        _, t = triangle(7, prec, is_complex, rng, False)
        b = uniform(7, 2, prec, is_complex, rng)
        for e in (-reach, reach):
            if e < 0 and prec in ("od", "da", "hd"):
                continue  # the last limbs do not exist there
            x = solve_triangular(mdla.ldexp(t, e), mdla.ldexp(b, e))
            assert_same_bits(x, solve_triangular(t, b))


def test_stacks(prec, rng):
    a = mdla.stack([triangle(5, prec, False, rng, False)[0] for _ in range(6)]).reshape(2, 3, 5, 5)
    b = uniform(5, 4, prec, False, rng)
    x = solve_triangular(a, b)
    assert x.shape == (2, 3, 5, 4)
    for i in np.ndindex(2, 3):
        assert_same_bits(x[i], solve_triangular(a[i], b))
    assert solve_triangular(a, b[:, 0]).shape == (2, 3, 5)
    assert solve_triangular(a, mdla.stack([b, b, b])).shape == (2, 3, 5, 4)


def test_recursion(rng):
    n = 3 * 32 + 5
    for lower in (False, True):
        a, t = triangle(n, "dd", True, rng, lower)
        for j in range(n):
            a[j, j] = a[j, j] + 30
        t = (mdla.tril if lower else mdla.triu)(a)
        b = uniform(n, 2, "dd", True, rng)
        x = solve_triangular(a, b, lower=lower)
        assert mdla.norm(t @ x - b) <= 20 * n * mdla.finfo("dd").eps * mdla.norm(t) * mdla.norm(x)


def test_same_bits_on_all_levels_and_threads(rng):
    a, _ = triangle(30, "dd", True, rng, False)
    b = uniform(30, 300, "dd", True, rng)
    want = solve_triangular(a, b)
    for _ in each_level():
        for threads in (1, 2):
            _native.set_num_threads(threads)
            assert_same_bits(solve_triangular(a, b), want)


@pytest.mark.parametrize(
    ("a", "b"), [((0, 0), (0,)), ((0, 0), (0, 3)), ((2, 2), (2, 0)), ((0, 3, 3), (3, 2))], ids=str
)
def test_zero_size(a, b, prec):
    matrix = mdla.zeros(a, prec=prec) + mdla.eye(a[-1], prec=prec)
    x = solve_triangular(matrix, mdla.zeros(b, prec=prec))
    assert x.shape == ((0, 3, 2) if len(a) == 3 else b)


def test_zero_on_the_diagonal(prec):
    a = mdla.array([[1, 2, 3], [0, 4, 5], [0, 0, 0]], prec=prec)
    with pytest.raises(LinAlgError, match=r"entry \[2, 2\] of a is zero.*mdla.lstsq"):
        solve_triangular(a, [1, 1, 1])
    with pytest.raises(LinAlgError, match=r"entry \[2, 2\] of a of system \(1,\) is zero"):
        solve_triangular(mdla.stack([a + mdla.eye(3, prec=prec), a]), [1, 1, 1])
    assert solve_triangular(a, [1, 1, 1], unit_diagonal=True).shape == (3,)


def test_bad_input():
    a = mdla.eye(3)
    with pytest.raises(ValueError, match=r"unknown trans \[1\]"):
        solve_triangular(mdla.eye(2), [1, 1], [1])
    with pytest.raises(ValueError, match="unknown trans 'X'"):
        solve_triangular(a, [1, 1, 1], trans="X")
    with pytest.raises(LinAlgError, match=r"a must be square, got shape \(2, 3\)"):
        solve_triangular(mdla.ones((2, 3)), [1, 1])
    with pytest.raises(LinAlgError, match=r"b needs the shape \(3,\) or \(..., 3, k\), got \(2,\)"):
        solve_triangular(a, [1, 1])
    with pytest.raises(LinAlgError, match="do not match"):
        solve_triangular(mdla.ones((2, 3, 3)), mdla.ones((4, 3, 1)))
    with pytest.raises(ValueError, match="b has infinities"):
        solve_triangular(a, [1, np.inf, 1])
    x = solve_triangular(a, [1, np.inf, 1], check_finite=False)
    assert x.to_numpy()[1] == np.inf
