# SPDX-License-Identifier: BSD-3-Clause
"""Inverses, determinants and powers against exact ones."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdla
from mdla.linalg import LinAlgError, det, inv, matrix_power, slogdet
from tests.linalg.exact import (
    DETERMINANTS,
    KNOWN,
    determinant,
    distance,
    inverse,
    norm,
    product,
    ratio_in_eps,
    rationals,
)
from tests.linalg.matrices import uniform
from tests.registry import DOUBLE_PRECS


def _condition(parts):
    return norm(parts) * norm(inverse(parts))


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_matrices(name, prec):
    """Errors are those of a backward error near eps; the exact inverse of the rounded matrix."""
    n = 9
    a = mdla.array(KNOWN[name](n), prec=prec)
    exact = rationals(a)
    cond = _condition(exact)
    if cond * mdla.precision(prec).eps < Fraction(1, 1000):
        want = inverse(exact)
        error = ratio_in_eps(distance(rationals(inv(a)), want), norm(want), prec)
        assert error <= n * cond
    error = abs(Fraction(det(a).item()) - determinant(exact))
    assert ratio_in_eps(error, abs(determinant(exact)), prec) <= n * cond


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("name", DETERMINANTS)
def test_determinants_in_closed_form(name, prec):
    n = 7
    rows = KNOWN[name](n)
    want = Fraction(DETERMINANTS[name](n))
    assert determinant([np.array(rows, dtype=object)]) == want
    cond = _condition([np.array(rows, dtype=object)])
    a = mdla.array(rows, prec=prec)
    assert ratio_in_eps(abs(Fraction(det(a).item()) - want), want, prec) <= n * cond


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_random_matrices_against_exact_ones(n, is_complex, prec, rng):
    a = uniform(n, n, prec, is_complex, rng)
    exact = rationals(a)
    want = inverse(exact)
    cond = norm(exact) * norm(want)
    x = inv(a)
    assert x.prec == prec
    assert ratio_in_eps(distance(rationals(x), want), norm(want), prec) <= 2 * n * cond
    # The right residual is that of solving, the left one not much larger.
    identity = rationals(mdla.eye(n, prec=prec) + 0 * a)
    for left, right in ((exact, rationals(x)), (rationals(x), exact)):
        assert ratio_in_eps(distance(product(left, right), identity), cond, prec) <= 10 * n
    d = det(a)
    assert d.shape == ()
    parts = [Fraction(p.item()) for p in ((d.real, d.imag) if is_complex else (d,))]
    size = sum(p * p for p in parts)
    want = determinant(exact)
    miss = abs(size - want) if is_complex else abs(parts[0] - want)
    assert ratio_in_eps(miss, abs(want), prec) <= 4 * n * cond


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_slogdet(n, is_complex, prec, rng):
    a = uniform(n, n, prec, is_complex, rng)
    sign, log = slogdet(a)
    assert sign.prec == log.prec == prec
    assert not log.iscomplex
    exact = det(a)
    with mpmath.workprec(2000):
        size = mpmath.sqrt(sum(_mp(p) ** 2 for p in _real_parts(exact)))
        scale = max(1, abs(mpmath.log(size)))
        error = abs(_mp(log) - mpmath.log(size)) / scale / mdla.precision(prec).eps
        assert error <= 4
        for s, d in zip(_real_parts(sign), _real_parts(exact), strict=True):
            assert abs(_mp(s) - _mp(d) / size) <= 4 * mdla.precision(prec).eps


def _real_parts(x):
    return (x.real, x.imag) if x.iscomplex else (x,)


def _mp(x):
    value = Fraction(x.item())
    return mpmath.mpf(value.numerator) / value.denominator


def test_determinants_beyond_the_range_of_doubles(prec):
    n, big = 30, 2**60
    a = mdla.eye(n, prec=prec) * big
    sign, log = slogdet(a)
    assert sign == 1
    with mpmath.workprec(2000):
        want = 1800 * mpmath.log(2)
        assert abs(_mp(log) - want) <= want * mdla.precision(prec).eps
    assert det(a).to_numpy() == np.inf
    assert det(-a[:29, :29]).to_numpy() == -np.inf
    assert det(mdla.eye(n, prec=prec) / big) == 0
    # Factors that over- and underflow in turn.
    half = [big] * 15 + [Fraction(1, big)] * 15
    assert det(mdla.diag(mdla.array(half, prec=prec))) == 1


def test_singular_matrices(prec):
    a = mdla.array([[1, 2], [2, 4]], prec=prec)
    assert det(a) == 0
    sign, log = slogdet(a)
    assert sign == 0
    assert log.to_numpy() == -np.inf
    with pytest.raises(LinAlgError, match=r"inv: a is singular; write mdla\.pinv"):
        inv(a)
    with pytest.raises(LinAlgError, match=r"inv: a is singular"):
        inv(mdla.array([[1, 2, 1], [-2, -3, 1], [3, 5, 0]], prec=prec))
    with pytest.raises(LinAlgError, match=r"inv: a\[1\] is singular"):
        inv(mdla.stack([mdla.eye(2, prec=prec), a]))


def test_stacks(prec, rng):
    a = uniform(2 * 3, 3, prec, True, rng).reshape(2, 3, 3)
    x, d = inv(a), det(a)
    sign, log = slogdet(a)
    assert x.shape == (2, 3, 3)
    assert d.shape == sign.shape == log.shape == (2,)
    eps = float(mdla.precision(prec).eps)
    for i in range(2):
        assert abs(x[i] - inv(a[i])).max() <= 1e3 * eps * abs(x[i]).max()
        assert (d[i] == det(a[i])).all()
    big = uniform(2 * 70, 70, "d", False, rng).reshape(2, 70, 70)
    assert inv(big).shape == (2, 70, 70)


def test_numpy_reaches_them(rng):
    a = uniform(3, 3, "qd", False, rng)
    assert np.linalg.inv(a).prec == "qd"
    assert np.linalg.det(a) == det(a)
    assert np.linalg.slogdet(a).logabsdet == slogdet(a).logabsdet
    assert (np.linalg.matrix_power(a, 3) == matrix_power(a, 3)).all()


def test_signs_are_exact(prec, rng):
    assert (slogdet(mdla.array([[4, 1], [2, 3]], prec=prec)).sign == 1).all()
    a = uniform(20 * 5, 5, prec, False, rng).reshape(20, 5, 5)
    signs = slogdet(a).sign
    assert (signs == np.linalg.slogdet(a.to_numpy())[0]).all()
    assert (signs.planes[:, 1:] == 0).all()
    # Pivots that are real or imaginary.
    factors = mdla.array([3, 5, 7, 11], prec=prec) / 13
    for units, want in (([1, 1j, 1, 1], 1j), ([1j, 1j, 1, -1j], 1j), ([-1, 1, 1j, 1j], 1)):
        got = slogdet(mdla.diag(factors * mdla.array(units, prec=prec))).sign
        assert got == want
    z = mdla.array([[1 + 2j, 1], [3, 1 - 1j]], prec=prec)
    assert abs(abs(slogdet(z).sign) - 1) <= 4 * mdla.finfo(prec).eps
    assert slogdet(mdla.zeros((2, 2), prec=prec)).sign == 0


@pytest.mark.parametrize("function", [inv, det, slogdet, lambda a: matrix_power(a, 2)])
def test_bad_input(function):
    with pytest.raises(LinAlgError, match="must be square"):
        function(mdla.ones((2, 3)))
    with pytest.raises(LinAlgError, match="matrix or a stack"):
        function(mdla.ones(2))


def test_values_that_are_not_finite():
    a = mdla.array([[np.nan, 1], [1, 1]])
    with pytest.raises(ValueError, match="infinities or nans"):
        det(a)
    assert np.isnan(det(a, check_finite=False).to_numpy())
    assert np.isnan(inv(a, check_finite=False).to_numpy()).all()
    sign, log = slogdet(a, check_finite=False)
    assert np.isnan(sign.to_numpy())
    assert np.isnan(log.to_numpy())
    assert np.isnan(matrix_power(a, 2).to_numpy()).any()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("power", [0, 1, 2, 3, 7, 8])
def test_powers(power, is_complex, prec, rng):
    n = 4
    a = uniform(n, n, prec, is_complex, rng)
    got = matrix_power(a, power)
    exact = rationals(a)
    want = rationals(mdla.eye(n, prec=prec) + 0 * a)
    for _ in range(power):
        want = product(want, exact)
    bound = (power + 1) * n * norm(exact) ** power if power else 1
    assert ratio_in_eps(distance(rationals(got), want), bound, prec) <= 4
    if power:
        back = matrix_power(a, -power)
        cond = _condition(exact)
        want = inverse(want)
        size = norm(inverse(exact)) ** power
        error = ratio_in_eps(distance(rationals(back), want), size, prec)
        assert error <= 10 * (power + 1) * n * cond


def test_integer_powers_are_exact():
    assert matrix_power(mdla.array([[1, 1], [1, 0]], prec="qd"), 200)[0, 1].item() == _fibonacci(
        200
    )
    with pytest.raises(TypeError, match="must be an integer"):
        matrix_power(mdla.eye(2), 0.5)
    with pytest.raises(LinAlgError, match=r"^matrix_power: n = -2 needs an inverse: a is singular"):
        matrix_power(mdla.zeros((2, 2)), -2)
    assert matrix_power(mdla.zeros((0, 2, 2)), 3).shape == (0, 2, 2)
    assert matrix_power(mdla.zeros((2, 0, 0)), 0).shape == (2, 0, 0)
    assert (matrix_power(mdla.ones((2, 2, 2)), 0) == mdla.eye(2)).all()


def _fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
