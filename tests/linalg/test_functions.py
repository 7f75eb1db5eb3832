# SPDX-License-Identifier: BSD-3-Clause
"""The exponential of matrices against mpmath at higher precision, and where it is exact."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

import mdla
from mdla.linalg import LinAlgError, expm
from mdla.linalg.functions import radius_log2, scheme
from tests.linalg.exact import distance, norm, ratio_in_eps, rationals
from tests.linalg.matrices import uniform
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS


def reference(a):
    """exp(A) by FLINT's balls, with bits to spare, as parts of Fractions."""
    before = flint.ctx.prec
    flint.ctx.prec = 3000
    try:
        parts = rationals(a)
        entries = [
            flint.acb(*(flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in number))
            for number in zip(*(p.ravel() for p in parts), strict=True)
        ]
        e = flint.acb_mat(*a.shape, entries).exp().entries()
        pick = [[x.real for x in e], [x.imag for x in e]][: len(parts)]
        return [np.array([_fraction(x) for x in p], dtype=object).reshape(a.shape) for p in pick]
    finally:
        flint.ctx.prec = before


def _fraction(x):
    man, exp = x.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def error(a, prec):
    want = reference(a)
    return ratio_in_eps(distance(rationals(expm(a)), want), norm(want), prec)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("size", [Fraction(1, 1000), 1, 6])
def test_random_matrices(size, is_complex, prec, rng):
    n = 4
    a = uniform(n, n, prec, is_complex, rng) * mdla.array(size, prec=prec)
    # The condition of exp at A is at least ||A||, and about that for matrices near to normal.
    assert error(a, prec) <= 20 * n * (1 + 4 * size)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_order_one(is_complex, prec):
    for value in ("0.3", "-2.5", "40"):
        a = mdla.array([[value]], prec=prec)
        if is_complex:
            a = a * mdla.array(1 + 1j, prec=prec)
        assert error(a, prec) <= 20 * (1 + abs(float(value)))


def test_exact_results(prec):
    """Zero and nilpotent matrices, however large."""
    assert (expm(mdla.zeros((3, 3), prec=prec)) == mdla.eye(3, prec=prec)).all()
    big = 2.0**1000 if prec != "ds" else 2.0**100
    a = mdla.array([[0, big], [0, 0]], prec=prec)
    assert (expm(a) == mdla.eye(2, prec=prec) + a).all()
    shift = mdla.array([[0, 6, 0, 0], [0, 0, 6, 0], [0, 0, 0, 6], [0, 0, 0, 0]], prec=prec)
    want = [[1, 6, 18, 36], [0, 1, 6, 18], [0, 0, 1, 6], [0, 0, 0, 1]]
    assert abs(expm(shift) - mdla.array(want, prec=prec)).max() <= 200 * mdla.finfo(prec).eps


def test_triangular_matrices_are_not_scaled_too_much(prec):
    """The large entry above the diagonal is no reason to square often: A^2 is small."""
    a = mdla.array([[1, 2**30], [0, -1]], prec=prec)
    want = reference(a)
    got = rationals(expm(a))
    for i in range(2):
        for j in range(2):
            miss = abs(got[0][i, j] - want[0][i, j])
            assert ratio_in_eps(miss, want[0][i, j] or 1, prec) <= 200


def test_rotations(prec):
    """exp of a skew-symmetric matrix is orthogonal."""
    a = mdla.array([[0, 20], [-20, 0]], prec=prec)
    q = expm(a)
    assert abs(q @ q.T - mdla.eye(2, prec=prec)).max() <= 1000 * mdla.finfo(prec).eps
    assert error(a, prec) <= 1000


def test_large_norms():
    for prec in ("d", "dd", "hd"):
        a = mdla.array([[-(10.0**6), 0], [1, -(10.0**6)]], prec=prec)
        assert (expm(a) == 0).all()
        a = mdla.array([[-(2.0**900), 0], [0, -(2.0**900)]], prec=prec)
        assert (expm(a) == 0).all()
        assert expm(mdla.array([[10.0**4]], prec=prec)).to_numpy() == np.inf


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_the_truncation_bound(prec):
    """At the radius the first neglected term is below eps, and a little beyond it is not."""
    k = mdla.precision(prec).eps_exponent
    for degree in (4, 16, 42, 100):
        with mpmath.workprec(200):
            theta = mpmath.mpf(2) ** radius_log2(degree, k)
            terms = range(degree + 1, degree + 61)
            rest = sum(theta**j / mpmath.factorial(j) for j in terms)
            g = mpmath.exp(theta) * rest
            if theta < (degree + 2) / 2.1:
                assert g <= theta * mpmath.mpf(2) ** k
                assert g >= theta * mpmath.mpf(2) ** k / 8
    small = scheme([-3000.0] * 10, k)
    assert small.squarings == 0
    assert small.degree <= 2
    assert scheme([0.0] * 10, k).squarings <= 12


def test_stacks(prec, rng):
    a = uniform(2 * 3, 3, prec, False, rng).reshape(2, 3, 3)
    got = expm(a)
    for i in range(2):
        assert_same_bits(got[i], expm(a[i]))
    assert expm(mdla.zeros((0, 3, 3), prec=prec)).shape == (0, 3, 3)
    assert expm(mdla.zeros((2, 0, 0), prec=prec)).shape == (2, 0, 0)


def test_bad_input():
    with pytest.raises(LinAlgError, match="must be square"):
        expm(mdla.ones((2, 3)))
    with pytest.raises(ValueError, match="infinities or nans"):
        expm([[np.inf, 0], [0, 1]])
    assert np.isnan(expm([[np.inf, 0], [0, 1]], check_finite=False).to_numpy()).all()
    assert expm([[0, 1], [-1, 0]], prec="od").prec == "od"
