# SPDX-License-Identifier: BSD-3-Clause
"""mdla.linalg.QR: the factors of qr, products with an implicit Q, solutions."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla.linalg import QR, LinAlgError, lstsq, qr
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import lstsq_error
from tests.oracle import assert_same_bits

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


@COMPLEX
@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (40, 40), (70, 33)])
@pytest.mark.parametrize("prec", ["ds", "d", "dd", "qd", "hd"])
def test_factors_and_products(prec, shape, is_complex, rng):
    a = uniform(*shape, prec, is_complex, rng)
    m, n = shape
    factors, (q, r) = QR(a), qr(a, mode="complete")
    assert factors.shape == shape
    assert factors.P is None
    assert_same_bits(factors.R, r[: min(m, n)])
    assert_same_bits(factors.Q, qr(a).Q)
    c = uniform(m, 3, prec, is_complex, rng)
    bound = 20 * m * mdla.finfo(prec).eps * mdla.norm(c)
    assert mdla.norm(factors.apply_q(c) - q @ c) <= bound
    assert mdla.norm(factors.apply_qh(c) - q.H @ c) <= bound
    assert mdla.norm(factors.apply_q(factors.apply_qh(c[:, 0])) - c[:, 0]) <= bound


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prec", ["dd", "qd"])
def test_solutions(family, prec, rng):
    a, b = FAMILIES[family](15, 6, prec, False, rng), uniform(15, 1, prec, False, rng)[:, 0]
    for pivoting in (False, True):
        factors = QR(a, pivoting)
        try:
            x = factors.solve(b)
        except LinAlgError:
            assert lstsq(a, b).rank < 6 or lstsq(a, b).rcond < 6 * mdla.finfo(prec).eps
            continue
        assert lstsq_error(a, x, b, prec) <= 60


def test_complex_right_hand_sides_of_real_factors(rng):
    a, b = uniform(12, 4, "qd", False, rng), uniform(12, 2, "qd", True, rng)
    factors = QR(a)
    assert_same_bits(factors.solve(b).real, factors.solve(b.real))
    assert_same_bits(factors.apply_q(b).imag, factors.apply_q(b.imag))
    assert factors.apply_qh(b[:, 0]).shape == (12,)


def test_rank_with_pivoting(rng):
    a = FAMILIES["rank_deficient"](12, 8, "qd", False, rng)
    factors = QR(a, pivoting=True)
    assert factors.rank() == lstsq(a, a[:, 0]).rank == 4
    assert_same_bits(factors.R, qr(a, mode="r", pivoting=True)[0])
    assert QR(mdla.zeros((3, 2))).rank() == 0
    assert QR(mdla.eye(3)).rank(0.5) == 3


def test_empty():
    factors = QR(mdla.zeros((3, 0), prec="qd"))
    assert factors.solve([1, 2, 3]).shape == (0,)
    assert factors.R.shape == (0, 0)
    assert QR(mdla.zeros((0, 3))).apply_q(mdla.zeros((0, 2))).shape == (0, 2)


def test_bad_input(rng):
    with pytest.raises(LinAlgError, match="one matrix"):
        QR(mdla.ones((2, 3, 3)))
    with pytest.raises(ValueError, match="infinities or nans"):
        QR([[np.inf]])
    with pytest.raises(LinAlgError, match="smallest of the solutions"):
        QR(mdla.ones((2, 3))).solve([1, 2])
    with pytest.raises(LinAlgError, match="dependent"):
        QR(mdla.ones((3, 2))).solve([1, 2, 3])
    for apply in (QR(mdla.ones((3, 2))).apply_q, QR(mdla.ones((3, 2))).apply_qh):
        for c in ([1, 2], 1, mdla.ones((2, 3, 3))):
            with pytest.raises(
                LinAlgError, match=r"3 rows, so c needs the shape \(3,\) or \(3, k\)"
            ):
                apply(c)
    with pytest.raises(LinAlgError, match="so b needs the shape"):
        QR(mdla.eye(3)).solve([1, 2])
    with pytest.raises(ValueError, match="rcond is nan"):
        QR(mdla.eye(3)).rank(np.nan)
    assert repr(QR(mdla.ones((3, 2), prec="qd"))) == "<QR factorisation of a qd matrix (3, 2)>"
