# SPDX-License-Identifier: BSD-3-Clause
"""QR of one matrix: residuals, shapes, modes, pivoting, conventions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import mdla
from mdla import _native
from mdla.linalg import PivotedQRResult, QRResult, householder, qr
from tests.linalg.matrices import FAMILIES, SHAPES, uniform
from tests.linalg.measures import column_residual, orthogonality, residual
from tests.oracle import assert_normalised, assert_same_bits, planes_of
from tests.registry import PRECS, each_level


def below_diagonal(r):
    """Limbs of R below its diagonal."""
    mask = np.tril(np.ones(r.shape, dtype=bool), -1)
    return planes_of(r)[:, :, mask]


def check(a, q, r, prec):
    n = max(min(a.shape), 1)
    assert residual(a, q, r, prec) <= 10 * n
    assert orthogonality(q, prec) <= 10 * n
    assert not below_diagonal(r).any()
    assert_normalised(q)
    assert_normalised(r)
    assert q.prec == r.prec == prec


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
def test_residuals(family, is_complex, prec, rng):
    for m, n in [(12, 12), (20, 7), (7, 12)]:
        a = FAMILIES[family](m, n, prec, is_complex, rng)
        before = a.planes.copy()

        q, r = qr(a)

        check(a, q, r, prec)
        assert np.array_equal(a.planes, before, equal_nan=True)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_modes(shape, is_complex, prec, rng):
    m, n = shape
    k = min(m, n)
    a = uniform(m, n, prec, is_complex, rng)

    reduced, complete = qr(a), qr(a, mode="complete")

    assert isinstance(reduced, QRResult)
    assert reduced.Q.shape == (m, k)
    assert reduced.R.shape == (k, n)
    assert complete.Q.shape == (m, m)
    assert complete.R.shape == (m, n)
    check(a, *reduced, prec)
    check(a, *complete, prec)
    assert_same_bits(reduced.R, complete.R[:k])
    assert_same_bits(
        qr(a, mode="raw")[0].T[np.triu_indices(k, 0, n)], reduced.R[np.triu_indices(k, 0, n)]
    )
    r_only = qr(a, mode="r")
    assert r_only.shape == (k, n)
    assert abs(mdla.norm(r_only) - mdla.norm(a)) <= 10 * k * mdla.finfo(prec).eps * mdla.norm(a)


def test_raw_reflectors_give_q(prec, rng):
    for is_complex in (False, True):
        a = uniform(9, 5, prec, is_complex, rng)
        h, tau = qr(a, mode="raw")
        assert h.shape == (5, 9)
        assert tau.shape == (5,)
        q = mdla.eye(9, prec=prec) + 0 * a[0, 0]
        for j in reversed(range(5)):
            v = h[j].copy()
            v[:j] = 0
            v[j] = 1
            q = q - tau[j] * mdla.outer(v, v.conj() @ q)
        full = qr(a, mode="complete").Q
        assert mdla.norm(q - full) <= 200 * mdla.finfo(prec).eps


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_signs_agree_with_numpy(is_complex, rng):
    a = uniform(9, 6, "d", is_complex, rng)
    for mode in ("reduced", "complete"):
        want = np.linalg.qr(a.to_numpy(), mode=mode)
        got = qr(a, mode=mode)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x.to_numpy(), y, atol=1e-13)
    h, tau = np.linalg.qr(a.to_numpy(), mode="raw")
    mine = qr(a, mode="raw")
    np.testing.assert_allclose(mine[0].to_numpy(), h, atol=1e-13)
    np.testing.assert_allclose(mine[1].to_numpy(), tau, atol=1e-13)


def test_diagonal_is_real(prec, rng):
    a = uniform(8, 8, prec, True, rng)
    r = qr(a).R
    assert not planes_of(r)[1][:, np.arange(8), np.arange(8)].any()


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_zero_pivot_counts_as_positive(zero, is_complex, prec):
    a = mdla.array([[zero, 1], [1j if is_complex else 1, 2], [0, 3]], prec=prec)
    q, r = qr(a)
    check(a, q, r, prec)
    assert float(r[0, 0].real) == -1.0


def test_column_that_is_done_gets_no_reflector(prec):
    a = mdla.array([[-2, 1], [0, 3]], prec=prec)
    h, tau = qr(a, mode="raw")
    assert np.all(np.asarray(tau == 0))
    assert np.all(np.asarray(a == h.T))


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
def test_pivoting(family, is_complex, prec, rng):
    for m, n in [(10, 10), (12, 7), (6, 9)]:
        a = FAMILIES[family](m, n, prec, is_complex, rng)

        result = qr(a, pivoting=True)

        assert isinstance(result, PivotedQRResult)
        q, r, p = result
        assert sorted(p) == list(range(n))
        check(a[:, p], q, r, prec)
        diagonal = np.abs(planes_of(r)[:, 0].astype(float)).max(axis=0).diagonal()
        assert (diagonal[1:] <= diagonal[:-1] * (1 + 2.0**-20)).all()
        r_only, order = qr(a, mode="r", pivoting=True)
        assert (order == p).all()
        assert r_only.shape == r.shape


def test_pivoting_agrees_with_scipy(rng):
    a = uniform(9, 6, "d", False, rng)
    want = scipy.linalg.qr(a.to_numpy(), mode="economic", pivoting=True)
    got = qr(a, pivoting=True)
    assert (want[2] == got.P).all()
    np.testing.assert_allclose(got.R.to_numpy(), want[1], atol=1e-13)
    h, tau, p = qr(a, mode="raw", pivoting=True)
    assert h.shape == (6, 9)
    assert tau.shape == (6,)
    assert (p == got.P).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(6, 6), (9, 5), (4, 8)], ids=str)
@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_pivoting_of_columns_of_any_exponents(prec, shape, is_complex, rng):
    """No column is lost beside another, and the order is that of the true lengths."""
    m, n = shape
    a = uniform(m, n, prec, is_complex, rng)
    a[:, 1] = a[:, 2] + 2.0**-30 * a[:, 1]
    a[:, 3] = 0
    e = rng.permutation(np.array([900, -700, 0, 880, -650, 300, 301, -300])[:n])
    q, r, p = qr(mdla.ldexp(a, e), pivoting=True)
    assert sorted(p) == list(range(n))
    assert column_residual(a[:, p], q, mdla.ldexp(r, -e[p]), prec) <= 10 * min(shape)
    assert orthogonality(q, prec) <= 10 * min(shape)
    assert not below_diagonal(r).any()
    exponents = np.frexp(np.abs(planes_of(r)[:, 0]).max(axis=0))[1]
    for j in range(min(shape)):
        size = exponents[j, j] if planes_of(r)[0, 0, j, j] else -2000
        assert (exponents[j, j:][planes_of(r)[0, 0, j, j:] != 0] <= size + 1).all()
    kept = mdla.linalg.QR(mdla.ldexp(a, e), pivoting=True)
    assert (p == kept.P).all()
    assert_same_bits(kept.R, r)


def test_pivoting_solves_with_columns_of_any_exponents():
    factors = mdla.linalg.QR(mdla.array([[1e300, 1e-300], [1e300, 2e-300]]), pivoting=True)
    assert factors.R[1, 1] != 0
    x = factors.solve([1e300, 1e300])
    assert abs(x[0] - 1) <= 8 * mdla.finfo("dd").eps
    assert qr(mdla.array([[1e-300, 1e300], [2e-300, 1e300]]), pivoting=True).P.tolist() == [1, 0]


def test_pivoting_orders_rests_that_are_tiny():
    a = mdla.array([[1, 1, 1], [0, 1e-250, 0], [0, 0, 2e-250]], prec="hd")
    assert qr(a, pivoting=True).P.tolist() == [0, 2, 1]


def test_columns_are_factored_to_their_own_size(prec, rng):
    for name in ("graded_columns", "scaled_columns"):
        if prec in ("od", "da", "hd") and name == "scaled_columns":
            continue  # the last limbs of the small columns do not exist
        a = FAMILIES[name](12, 8, prec, False, rng)
        q, r = qr(a)
        assert column_residual(a, q, r, prec) <= 80


@pytest.mark.parametrize(
    "shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 3, 3), (2, 3, 0)], ids=str
)
def test_zero_size(shape, prec):
    a = mdla.zeros(shape, prec=prec)
    m, n = shape[-2:]
    k = min(m, n)
    for mode in ("reduced", "complete"):
        q, r = qr(a, mode=mode)
        want = np.linalg.qr(np.zeros(shape), mode=mode)
        assert q.shape == want[0].shape
        assert r.shape == want[1].shape
        assert np.all(q.to_numpy() == want[0])
    h, tau = qr(a, mode="raw")
    assert h.shape == (*shape[:-2], n, m)
    assert tau.shape == (*shape[:-2], k)
    assert qr(a, mode="r").shape == (*shape[:-2], k, n)
    assert qr(a, pivoting=True).P.shape == (*shape[:-2], n)


def test_blocks_give_what_panels_give(monkeypatch, rng):
    """Blocks and recursion down to panels of one column, on a matrix that is ragged everywhere."""
    for is_complex in (False, True):
        a = uniform(23, 19, "dd", is_complex, rng)
        for width in (1, 2, 3, 5):
            monkeypatch.setattr(householder, "widths", lambda *_, width=width: (width, 4 * width))
            for mode in ("reduced", "complete"):
                q, r = qr(a, mode=mode)
                check(a, q, r, "dd")
            h, tau = qr(a, mode="raw")
            monkeypatch.undo()
            whole, coefficients = qr(a, mode="raw")
            assert mdla.norm(h - whole) <= 1000 * mdla.finfo("dd").eps
            assert mdla.norm(tau - coefficients) <= 1000 * mdla.finfo("dd").eps


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_larger_matrices(prec, rng):
    for m, n in [(130, 70), (97, 97)]:
        a = uniform(m, n, prec, False, rng)
        q, r = qr(a)
        eps = mdla.finfo(prec).eps
        wide = {"d": "dd", "dd": "qd", "qd": "od"}[prec]
        a, q, r = (x.astype(wide) for x in (a, q, r))
        assert mdla.norm(a - q @ r) <= 10 * n * eps * mdla.norm(a)
        assert mdla.norm(q.T @ q - mdla.eye(n, prec=wide)) <= 10 * n * eps


def test_precision_sweep_of_residuals(rng):
    """Each limb adds its 52 bits."""
    a = uniform(10, 10, "d", False, rng)
    for prec in PRECS:
        q, r = qr(a, prec=prec)
        assert q.prec == prec
        assert residual(a, q, r, prec) <= 100


def test_numpy_input_is_lifted_exactly(rng):
    a = rng.standard_normal((6, 4))
    q, r = qr(a, prec="qd")
    check(mdla.array(a, prec="qd"), q, r, "qd")
    assert qr(a).Q.prec == "dd"
    assert np.linalg.qr(mdla.array(a, prec="qd")).Q.prec == "qd"


def test_nonfinite():
    for bad in (np.inf, np.nan):
        a = mdla.array([[bad, 1, 1], [1, 1, 1], [1, 1, 1]])
        with pytest.raises(ValueError, match="check_finite=False"):
            qr(a)
        for pivoting in (False, True):
            result = qr(a, check_finite=False, pivoting=pivoting)
            assert not np.isfinite(result.R.to_numpy()).all()


def test_bad_input():
    a = mdla.ones((2, 2))
    with pytest.raises(ValueError, match="unknown mode 'full'; write 'reduced'"):
        qr(a, mode="full")
    with pytest.raises(np.linalg.LinAlgError, match=r"got shape \(3,\); write a.reshape"):
        qr(mdla.ones(3))
    with pytest.raises(ValueError, match="unknown precision 'xd'; write one of"):
        qr(a, prec="xd")
    with pytest.raises(TypeError):
        qr("text")


def test_vandermonde_of_integers(prec):
    """Entries i^j, condition number 7e15: residuals follow the precision all the same."""
    a = mdla.array([[i**j for j in range(12)] for i in range(1, 13)], prec=prec)
    for pivoting in (False, True):
        result = qr(a, pivoting=pivoting)
        check(a[:, result.P] if pivoting else a, result.Q, result.R, prec)


@pytest.mark.parametrize(("m", "n", "prec"), [(2500, 24, "qd"), (150, 150, "dd"), (60, 60, "od")])
def test_same_bits_on_all_levels_and_threads(m, n, prec, rng):
    """With work enough for several threads in the panels, and blocks enough for products."""
    a = uniform(m, n, prec, False, rng)
    want = qr(a, pivoting=True)
    for _ in each_level():
        for threads in (1, 2, 3):
            _native.set_num_threads(threads)
            got = qr(a, pivoting=True)
            assert_same_bits(got.Q, want.Q)
            assert_same_bits(got.R, want.R)
            assert (want.P == got.P).all()
