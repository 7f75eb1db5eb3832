# SPDX-License-Identifier: BSD-3-Clause
"""Norms, condition numbers, rank and pseudoinverse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.core.precision import precision
from mdla.linalg import LinAlgError, cond, matrix_rank, norm, pinv
from tests.linalg.matrices import hilbert, lauchli, rank_deficient, uniform
from tests.linalg.spectra import hermitian
from tests.oracle import assert_close, exact, planes_of

ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


@COMPLEX
@pytest.mark.parametrize("ord", ORDERS)
def test_matrix_norms(ord, is_complex, prec, rng):
    a = uniform(4, 5, prec, is_complex, rng)
    want = np.linalg.norm(a.to_numpy(), ord)
    np.testing.assert_allclose(float(norm(a, ord)), want, rtol=1e-12)
    assert norm(a, ord).prec == prec
    assert norm(a, ord, keepdims=True).shape == (1, 1)


@pytest.mark.parametrize("ord", ORDERS)
def test_matrix_norms_along_axes(ord, rng):
    a = uniform(8, 15, "dd", True, rng).reshape(2, 4, 3, 5)
    for axis in [(1, 2), (-1, 0), (2, 3)]:
        for keepdims in (False, True):
            got = np.linalg.norm(a, ord, axis=axis, keepdims=keepdims)
            want = np.linalg.norm(a.to_numpy(), ord, axis=axis, keepdims=keepdims)
            np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf, -np.inf, 0])
def test_vector_norms(ord, rng):
    a = rng.standard_normal((3, 7))
    for axis in (0, 1):
        got = norm(mdla.array(a, prec="qd"), ord, axis=axis, keepdims=True)
        np.testing.assert_allclose(got.to_numpy(), np.linalg.norm(a, ord, axis=axis, keepdims=True))


def test_norms_by_singular_values_are_exact(prec):
    a = mdla.array([[3, 0], [4, 5]], prec=prec)  # singular values sqrt(45) and sqrt(5)
    root = exact(mdla.sqrt(mdla.array(5, prec=prec))).item()
    for ord, want in ((2, 3 * root), (-2, root), ("nuc", 4 * root)):
        assert_close(norm(a, ord), want, prec, 20)


def test_norms_of_what_is_not_finite():
    a = mdla.array([[1, np.nan], [0, 1]])
    assert np.isnan(float(norm(a, 2)))
    assert np.isnan(float(norm(a)))


@COMPLEX
@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_condition(p, is_complex, prec, rng):
    a = uniform(5, 5, prec, is_complex, rng)
    np.testing.assert_allclose(float(cond(a, p)), np.linalg.cond(a.to_numpy(), p), rtol=1e-11)
    stack = mdla.stack([a, 2 * a])
    np.testing.assert_allclose(cond(stack, p).to_numpy(), [float(cond(a, p))] * 2, rtol=1e-13)
    assert np.linalg.cond(a, p).prec == prec


def test_condition_of_hilbert(rng):
    """kappa_1 of H_12 is 4.1e16 and of H_20 6.3e28: the inverses have integers."""
    a = hilbert(12, 12, "qd", False, rng)
    assert 4.1e16 < float(cond(a, 1)) < 4.2e16
    assert 6.2e28 < float(cond(hilbert(20, 20, "qd", False, rng), 1)) < 6.4e28


def test_condition_of_diagonal(prec):
    a = mdla.diag(mdla.array([4, Fraction(1, 2), 1], prec=prec))
    assert_close(cond(a), 8, prec, 20)
    assert_close(cond(a, -2), Fraction(1, 8), prec, 20)
    assert_close(cond(a, 1), 8, prec, 20)


def test_condition_of_singular_matrices(prec):
    for p in (None, 2, 1, "fro", np.inf):
        assert float(cond(mdla.zeros((3, 3), prec=prec), p)) == np.inf
        assert float(cond(mdla.array([[1, 0], [0, 0]], prec=prec), p)) == np.inf
    assert np.isnan(float(cond(mdla.array([[1, np.nan], [0, 1]], prec=prec))))
    assert np.isnan(float(cond(mdla.array([[1, np.nan], [0, 1]], prec=prec), 1)))
    assert float(cond(mdla.ones((2, 3), prec=prec)[:1])) == 1
    with pytest.raises(LinAlgError, match="square"):
        cond(mdla.ones((2, 3), prec=prec), 1)
    with pytest.raises(LinAlgError, match="needs entries"):
        cond(mdla.zeros((0, 0), prec=prec))
    with pytest.raises(ValueError, match="unknown p"):
        cond(mdla.eye(2, prec=prec), "nuc")


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 2, 2)], ids=str)
def test_empty_matrices_as_in_numpy(shape, prec):
    a = mdla.zeros(shape, prec=prec)
    for ord in (None, "fro", "nuc", 1, 2, np.inf):
        got = norm(a, ord, (-2, -1))
        assert got.shape == shape[:-2]
        assert (got == 0).all()
        assert norm(a, ord, (-2, -1), keepdims=True).shape == (*shape[:-2], 1, 1)
    for ord in (-1, -2, -np.inf):
        try:
            want = np.linalg.norm(a.to_numpy(), ord, (-2, -1))
        except ValueError:
            with pytest.raises(ValueError, match="smallest"):
                norm(a, ord, (-2, -1))
        else:
            assert np.array_equal(norm(a, ord, (-2, -1)).to_numpy(), want)
    for p in (None, 1, 2, -2, np.inf, "fro"):
        if shape == (0, 2, 2):
            assert cond(a, p).shape == (0,)
        elif p is None:
            with pytest.raises(LinAlgError, match="needs entries"):
                cond(a, p)


def test_empty_vectors_as_in_numpy(prec):
    assert norm(mdla.zeros(0, prec=prec), np.inf) == 0
    assert norm(mdla.zeros((0, 3), prec=prec), np.inf, 0).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="smallest"):
        norm(mdla.zeros(0, prec=prec), -np.inf)


@COMPLEX
def test_rank(is_complex, prec, rng):
    assert matrix_rank(uniform(6, 4, prec, is_complex, rng)) == 4
    assert matrix_rank(rank_deficient(8, 6, prec, is_complex, rng)) == 3
    assert matrix_rank(mdla.zeros((3, 3), prec=prec)) == 0
    assert matrix_rank(mdla.zeros((0, 3), prec=prec)) == 0
    assert matrix_rank(mdla.zeros(3, prec=prec)) == 0
    assert matrix_rank(mdla.ones(3, prec=prec)) == 1
    b = rank_deficient(6, 6, prec, is_complex, rng)
    assert matrix_rank(b @ b.H, hermitian=True) == 3
    stack = mdla.stack([mdla.eye(2, prec=prec), mdla.ones((2, 2), prec=prec)])
    assert np.linalg.matrix_rank(stack).tolist() == [2, 1]


def test_rank_of_what_is_not_finite():
    with pytest.raises(ValueError, match=r"matrix_rank: A has infinities or nans; remove them$"):
        matrix_rank([[np.nan, 1], [1, 1]])


def test_rank_is_that_of_the_precision(rng):
    """H_12 has condition 1.7e16 and Lauchli's matrix 1 / sqrt(eps)."""
    assert matrix_rank(hilbert(12, 12, "dd", False, rng)) == 12
    assert matrix_rank(hilbert(12, 12, "d", False, rng)) < 12
    for prec in ("dd", "qd"):
        assert matrix_rank(lauchli(9, 8, prec, False, rng)) == 8
        assert matrix_rank(lauchli(9, 8, prec, False, rng), rtol=2.0**-30) == 1
    assert matrix_rank(mdla.diag(mdla.array([1, 2, 4])), tol=1.5) == 2
    with pytest.raises(ValueError, match="tol and rtol"):
        matrix_rank(mdla.eye(2), 1, rtol=1)


def require_pseudoinverse(a, x, bound):
    """Penrose's four equations."""
    for left, right in ((a @ x @ a, a), (x @ a @ x, x), ((a @ x).H, a @ x), ((x @ a).H, x @ a)):
        assert norm(left - right) <= bound * max(norm(right), 1)


@COMPLEX
def test_pseudoinverse(is_complex, prec, rng):
    for m, n in [(5, 3), (3, 5), (4, 4)]:
        a = uniform(m, n, prec, is_complex, rng)
        x = pinv(a)
        assert (x.shape, x.prec, x.iscomplex) == ((n, m), prec, is_complex)
        size = float(cond(a)) ** 2 * float(norm(x) + 1)
        require_pseudoinverse(a, x, 40 * size * mdla.finfo(prec).eps)
    a = rank_deficient(8, 6, prec, is_complex, rng)
    require_pseudoinverse(a, pinv(a), 1e6 * mdla.finfo(prec).eps)
    h = a.H @ a
    x = pinv(h, hermitian=True)
    assert norm(h @ x @ h - h) <= 1e6 * norm(h) * mdla.finfo(prec).eps


def test_pseudoinverse_known_exactly(prec):
    a = mdla.array([[1, 2], [2, 4], [3, 6]], prec=prec)  # rank 1: a^T / ||a||^2
    assert_close(pinv(a), [[Fraction(int(v), 70) for v in row] for row in a.T.to_numpy()], prec, 60)
    diagonal = mdla.diag(mdla.array([4, 1, Fraction(1, 8)], prec=prec))
    for x in (pinv(diagonal, 0.2), np.linalg.pinv(diagonal, rtol=0.2)):
        assert norm(x - mdla.diag(mdla.array([Fraction(1, 4), 1, 0], prec=prec))) <= 20 * float(
            precision(prec).eps
        )
    assert pinv(mdla.zeros((0, 3), prec=prec)).shape == (3, 0)
    assert norm(pinv(mdla.zeros((2, 3), prec=prec))) == 0
    assert pinv(mdla.ones((4, 2, 3), prec=prec)).shape == (4, 3, 2)
    with pytest.raises(ValueError, match="two names"):
        pinv(a, 0.1, rtol=0.1)
    with pytest.raises(ValueError, match="check_finite"):
        pinv(a * np.inf)
    assert np.isnan(planes_of(pinv(a * np.inf, check_finite=False))[:, 0]).all()


def test_hermitian_pseudoinverse(prec, rng):
    a = hermitian(uniform(4, 4, prec, True, rng))
    bound = 100 * mdla.finfo(prec).eps * float(cond(a)) ** 2
    assert norm(pinv(a, hermitian=True) @ a - mdla.eye(4, prec=prec)) <= bound
