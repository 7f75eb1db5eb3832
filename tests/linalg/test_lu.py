# SPDX-License-Identifier: BSD-3-Clause
"""LU: residuals with exact integers, SciPy's conventions, ranges, the factors' own solves."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, elimination, lu, lu_factor, lu_solve
from mdla.linalg.elimination import LUFactors
from tests.linalg.exact import KNOWN
from tests.linalg.matrices import FAMILIES, SHAPES, uniform
from tests.linalg.measures import column_residual, solve_error, wide_residual
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, each_level


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
def test_residuals(family, is_complex, prec, rng):
    m, n = SHAPES[list(FAMILIES).index(family) % len(SHAPES)]
    a = FAMILIES[family](m, n, prec, is_complex, rng)
    p, l, u = lu(a)  # noqa: E741
    k = min(m, n)
    assert (p.shape, l.shape, u.shape) == ((m, m), (m, k), (k, n))
    assert {p.prec, l.prec, u.prec} == {prec}
    if family not in ("small", "scaled_columns", "scaled_rows"):
        # There the last limbs of L or of the product do not exist.
        assert column_residual(p.T @ a, l, u, prec) <= 4 * max(m, n) ** 2
    sizes = abs(mdla.linalg.lu(a, permute_l=True).pl).to_numpy()
    assert (sizes <= (1.0000001 if not is_complex else 1.5)).all()
    assert (mdla.tril(u, -1) == 0).all()
    assert (mdla.triu(l, 1) == 0).all()
    assert (mdla.diagonal(l) == 1).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(70, 70), (70, 40), (40, 70), (130, 100)], ids=str)
def test_blocks(shape, is_complex, monkeypatch, rng):
    """Sizes off the widths of panels and blocks, all of which give the same factors nearly."""
    for prec in ("d", "dd", "qd"):
        a = uniform(*shape, prec, is_complex, rng)
        limbs = mdla.precision(prec).limbs
        for block, panel in ((8, 8), (32, 4), (256, 16)):
            monkeypatch.setitem(elimination._BLOCK, limbs, block)
            monkeypatch.setitem(elimination._PANEL, limbs, panel)
            p, l, u = lu(a)  # noqa: E741
            assert wide_residual(p.T @ a, l, u, prec) <= 4 * max(shape)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_conventions_are_scipy_s(is_complex, rng):
    for shape in ((5, 5), (6, 4), (3, 5), (1, 1), (4, 1)):
        a = uniform(*shape, "d", is_complex, rng)
        want, got = scipy.linalg.lu(a.to_numpy()), lu(a)
        for w, g in zip(want, got, strict=True):
            np.testing.assert_allclose(g.to_numpy(), w, atol=1e-13)
        for w, g in zip(
            scipy.linalg.lu(a.to_numpy(), permute_l=True), lu(a, permute_l=True), strict=True
        ):
            np.testing.assert_allclose(g.to_numpy(), w, atol=1e-13)
        rows = lu(a, p_indices=True).p
        assert np.array_equal(rows, scipy.linalg.lu(a.to_numpy(), p_indices=True)[0])
        factors, piv = lu_factor(a)
        want, want_piv = scipy.linalg.lu_factor(a.to_numpy())
        np.testing.assert_allclose(factors.to_numpy(), want, atol=1e-13)
        assert np.array_equal(piv, want_piv)
        assert piv.dtype == np.int32


def test_pivots_take_the_first_of_equals():
    assert lu_factor(mdla.array([[1, 2], [-1, 3], [1, 5]], prec="qd")).piv.tolist() == [0, 1]
    assert lu_factor(mdla.zeros((3, 3), prec="dd")).piv.tolist() == [0, 1, 2]


def test_exact_matrices_have_exact_factors(prec):
    """Where no step rounds, the factors are those of exact arithmetic."""
    a = mdla.array(KNOWN["wilkinson"](12), prec=prec)
    p, l, u = lu(a)  # noqa: E741
    assert (p == mdla.eye(12, prec=prec)).all()
    assert (l @ u == a).all()
    assert u[11, 11] == 2**11


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_lu_solve(is_complex, trans, prec, rng):
    n = 7
    a = uniform(n, n, prec, is_complex, rng)
    b = uniform(n, 3, prec, is_complex, rng)
    factors = lu_factor(a)
    x = lu_solve(factors, b, trans)
    op = {0: a, "N": a, 1: a.T, "T": a.T, 2: a.conj().T, "C": a.conj().T}[trans]
    assert solve_error(op, x, b, prec) <= 10 * n
    vector = lu_solve(factors, b[:, 0], trans)
    assert vector.shape == (n,)
    assert solve_error(op, vector, b[:, 0], prec) <= 10 * n


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_factors_solve(is_complex, trans, prec, rng):
    """`LUFactors` at any scale of rows and columns."""
    n = 6
    a, b = uniform(n, n, prec, is_complex, rng), uniform(n, 2, prec, is_complex, rng)
    want = LUFactors(a.planes).solve(b.planes, trans)
    rows, columns = rng.integers(-90, 90, (n, 1)), rng.integers(-90, 90, (1, n))
    scaled = LUFactors(mdla.ldexp(mdla.ldexp(a, rows), columns).planes)
    outer, inner = (rows, columns) if trans == "N" else (columns.T, rows.T)
    got = mdla.MDArray(scaled.solve(mdla.ldexp(b, outer).planes, trans))
    got = mdla.ldexp(got, inner.T)
    x = mdla.MDArray(want)
    op = {"N": a, "T": a.T, "C": a.conj().T}[trans]
    assert solve_error(op, x, b, prec) <= 10 * n
    if trans == "N":
        assert solve_error(op, got, b, prec) <= 100 * n
    assert scaled.growth <= 2**n
    assert not scaled.is_singular
    assert 0 < scaled.rcond <= 1


@pytest.mark.parametrize("n", [1, 2, 30, 48, 49, 200])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_reciprocal_condition(n, is_complex, rng):
    a = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if is_complex else 0)
    factors = LUFactors(mdla.array(a, prec="dd").planes)
    scaled = np.ldexp(1.0, -factors.row_exponents) * a * np.ldexp(1.0, -factors.column_exponents)
    want = 1 / np.linalg.cond(scaled, 1)
    # |re| + |im| for the size of an entry, and an estimate from below for large n.
    assert want / 2.1 <= factors.rcond <= want * 3.1


def test_stacks(prec, rng):
    a = uniform(2 * 3 * 4, 4, prec, False, rng).reshape(2, 3, 4, 4)
    p, l, u = lu(a)  # noqa: E741
    factors, piv = lu_factor(a)
    assert piv.shape == (2, 3, 4)
    x = lu_solve((factors, piv), mdla.ones(4, prec=prec))
    assert x.shape == (2, 3, 4)
    pl, _ = lu(a, permute_l=True)
    rows = lu(a, p_indices=True).p
    for i in np.ndindex(2, 3):
        assert_close((p[i], l[i], u[i]), lu(a[i]), prec)
        assert_same_bits(pl[i], l[i][rows[i]])
        assert_same_bits(x[i], lu_solve((factors[i], piv[i]), mdla.ones(4, prec=prec)))


def assert_close(got, want, prec):
    """Factors that differ by rounding errors of the matrices at hand."""
    assert np.array_equal(got[0].to_numpy(), want[0].to_numpy())
    for x, y in zip(got[1:], want[1:], strict=True):
        size = mdla.max(abs(y), axis=0)
        assert (abs(x - y) <= 2000 * mdla.finfo(prec).eps * size).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 6), (1, 1)], ids=str)
def test_stacks_of_odd_matrices(shape, is_complex, prec, rng):
    """Zero and singular matrices, extreme columns, nans: as alone, and apart from each other."""
    reach = 250 if prec != "ds" else 30
    m, n = shape
    a = uniform(7 * m, n, prec, is_complex, rng).reshape(7, m, n)
    a[1] = 0
    a[2, :, 0] = mdla.ldexp(a[2, :, 0], reach)
    a[3, :, 0] = mdla.ldexp(a[3, :, 0], -reach // 2)
    a[4, :, :2] = 0
    a[5, -1] = np.nan
    p, l, u = lu(a, check_finite=False)  # noqa: E741
    factors = lu_factor(a, check_finite=False)
    for i in (0, 1, 2, 3, 4, 6):
        assert_close((p[i], l[i], u[i]), lu(a[i]), prec)
        assert np.array_equal(factors.piv[i], lu_factor(a[i]).piv)
        assert_same_bits(mdla.tril(factors.lu[i], -1)[:, : min(shape)], mdla.tril(l[i], -1))
        assert_same_bits(mdla.triu(factors.lu[i])[: min(shape)], u[i])
    both = mdla.concatenate([l[5].ravel(), u[5].ravel()]).to_numpy()
    assert np.isnan(both).any()
    assert np.array_equal(factors.piv[5], lu_factor(a[5], check_finite=False).piv)


def test_stacks_with_pivots_that_doubles_do_not_tell():
    """Rows are exchanged twice then; L and the exchanges have to agree."""
    tiny = mdla.array([0, 1, 3, 0, 2], prec="dd") * 2.0**-70
    a = mdla.stack([1 + tiny, mdla.array([1, 2, 4, 8, 3], prec="dd")], axis=1)[None]
    factors, piv = lu_factor(a)
    order = elimination.order_of(piv[0].tolist(), 5)
    lower = mdla.tril(factors[0], -1) + mdla.array(np.eye(5, 2))
    got = lower @ mdla.triu(factors[0, :2])
    assert float(mdla.max(abs(got - a[0][order]))) <= 32 * mdla.finfo("dd").eps


def test_stacks_are_worked_on_side_by_side(monkeypatch, rng):
    monkeypatch.delattr(sys.modules["mdla.linalg.lu"], "_factor_one")
    a = uniform(3 * 4, 4, "dd", False, rng).reshape(3, 4, 4)
    assert lu(a).u.shape == lu_factor(a).lu.shape == (3, 4, 4)


def test_same_bits_on_all_levels_and_threads(rng):
    for prec, is_complex in (("dd", False), ("qd", True)):
        a = uniform(80, 80, prec, is_complex, rng)
        want = lu_factor(a)
        for _ in each_level():
            for threads in (1, 2):
                _native.set_num_threads(threads)
                got = lu_factor(a)
                assert_same_bits(got.lu, want.lu)
                assert np.array_equal(got.piv, want.piv)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 2, 2), (2, 0, 3)], ids=str)
def test_zero_size(shape, prec):
    p, l, u = lu(mdla.zeros(shape, prec=prec))  # noqa: E741
    m, n = shape[-2:]
    k = min(m, n)
    assert p.shape == (*shape[:-2], m, m)
    assert l.shape == (*shape[:-2], m, k)
    assert u.shape == (*shape[:-2], k, n)
    factors = lu_factor(mdla.zeros(shape, prec=prec))
    assert factors.piv.shape == (*shape[:-2], k)
    if m == n == 0:
        assert lu_solve(factors, mdla.zeros((0, 2), prec=prec)).shape == (0, 2)


def test_extreme_columns(prec, rng):
    """A scaling of the columns changes no pivot and no bit."""
    reach = 150 if prec != "ds" else 15
    a = uniform(6, 5, prec, False, rng)
    e = rng.integers(-reach, reach, (1, 5))
    want, got = lu(a), lu(mdla.ldexp(a, e))
    assert_same_bits(got.p, want.p)
    assert_same_bits(got.l, want.l)
    if prec not in ("da", "hd"):
        assert_same_bits(got.u, mdla.ldexp(want.u, e))


def test_bad_input():
    with pytest.raises(LinAlgError, match="matrix or a stack"):
        lu(mdla.ones(2))
    with pytest.raises(ValueError, match="a has infinities or nans"):
        lu([[np.inf, 1], [1, 1]])
    assert np.isnan(lu([[np.nan, 1], [1, 1]], check_finite=False).u.to_numpy()).any()
    factors = lu_factor([[1, 2], [2, 4]])
    with pytest.raises(LinAlgError, match="pivot 1 of lu is zero"):
        lu_solve(factors, [1, 1])
    factors = lu_factor(mdla.eye(2))
    with pytest.raises(ValueError, match="unknown trans 3"):
        lu_solve(factors, [1, 1], 3)
    with pytest.raises(ValueError, match=r"lu_solve: unknown trans \[1\]"):
        lu_solve(factors, [1, 1], [1])
    with pytest.raises(ValueError, match="row numbers from 0 to 1, got 5"):
        lu_solve((factors.lu, [0, 5]), [1, 1])
    with pytest.raises(ValueError, match=r"piv must have the shape \(2,\), got \(1,\)"):
        lu_solve((factors.lu, [0]), [1, 1])
    with pytest.raises(ValueError, match="piv must hold integers, got float64"):
        lu_solve((factors.lu, [0.0, 1.0]), [1, 1])
    for pair in ((factors.lu,), factors.lu[0, 0], 3):
        with pytest.raises(ValueError, match=r"the pair \(lu, piv\) of lu_factor"):
            lu_solve(pair, [1, 1])
    with pytest.raises(LinAlgError, match="b needs the shape"):
        lu_solve(factors, [1, 1, 1])
    with pytest.raises(LinAlgError, match="must be square"):
        lu_solve(lu_factor(mdla.ones((2, 3))), [1, 1])


def test_inputs_stay(rng):
    a = uniform(5, 5, "dd", False, rng)
    before = a.planes.copy()
    lu(a)
    lu_factor(a)
    assert np.array_equal(a.planes, before)
