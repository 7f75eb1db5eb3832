"""Padé approximants: known ones, the defining equation, degenerate tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import series as ms
from tests.oracle import error_in_eps, exact
from tests.series.reference import cauchy, pairs, random_series


def exponential(L, M):
    """Numerator and denominator of exp, exactly (Baker and Graves-Morris, section 1.2)."""
    f = math.factorial

    def side(n, m, sign):
        top = f(n + m)
        return [
            Fraction(sign**j * f(n + m - j) * f(n), top * f(j) * f(n - j)) for j in range(n + 1)
        ]

    return side(L, M, 1), side(M, L, -1)


@pytest.mark.parametrize(("L", "M"), [(0, 0), (3, 0), (0, 3), (2, 2), (5, 4), (3, 6)])
def test_exponential(prec, L, M):
    r = ms.pade(ms.exp(ms.variable(L + M + 1, prec)), L, M)
    a, b = exponential(L, M)
    assert r.numerator.prec == prec
    # The condition of these equations grows with the degrees.
    for got, want in ((r.numerator, a), (r.denominator, b)):
        assert error_in_eps(got, np.array(want, dtype=object), prec).max() <= 2.0 ** (4 * (L + M))


@pytest.mark.parametrize("is_complex", [False, True])
def test_defining_equation(rng, prec, is_complex):
    L, M = 4, 3
    s = random_series(rng, (2, 3), L + M, prec, is_complex)
    r = ms.pade(s, L, M)
    assert r.numerator.shape == (2, 3, L + 1)
    assert r.denominator.shape == (2, 3, M + 1)
    for i, j in np.ndindex(2, 3):
        b, a = (pairs(ms.Series(x[i, j])) for x in (r.denominator, r.numerator))
        values, sizes = cauchy(list(b), list(pairs(s[i, j])), L + M + 1)
        eps = mdla.precision(prec).eps
        for k, (value, total) in enumerate(zip(values, sizes, strict=True)):
            top = a[k] if k <= L else (0, 0)
            miss = abs(value[0] - top[0]) + abs(value[1] - top[1])
            # Elimination with pivoting: a backward error of a few eps in each coefficient.
            assert miss <= 50 * eps * max(sizes), (k, total)


def test_scaled_units(rng):
    """Units of t that are powers of two do not change a bit."""
    s = random_series(rng, (), 9, "qd")
    k = np.arange(10)
    r = ms.pade(s, 5, 4)
    for shift in (-70, 90):
        t = ms.pade(ms.Series(mdla.ldexp(s.coefficients, shift * k)), 5, 4)
        assert mdla.array_equal(mdla.ldexp(r.numerator, shift * k[:6]), t.numerator)
        assert mdla.array_equal(mdla.ldexp(r.denominator, shift * k[:5]), t.denominator)


def test_values_and_poles():
    t = ms.variable(20, "qd")
    r = ms.pade(ms.tan(t), 9, 10)
    assert abs(float(r(0.5)) - math.tan(0.5)) < 1e-15
    assert r(mdla.array([0.1, 0.2])).shape == (2,)
    poles = r.poles()
    assert poles.shape == (10,)
    assert abs(float(poles[0].real)) - math.pi / 2 < 1e-12
    sizes = abs(poles).to_numpy()
    assert np.all(np.diff(sizes) >= -1e-9)
    stack = ms.stack([1 / (1 - t), 1 / ((1 - t) * (2 - t))])
    found = ms.robust_pade(stack, 3, 2).poles().to_numpy()
    np.testing.assert_allclose(found[0, 0], 1)
    assert np.isinf(found[0, 1])
    np.testing.assert_allclose(found[1], [1, 2])


@pytest.mark.parametrize("function", [ms.pade, ms.robust_pade])
def test_degenerate_tables(prec, function):
    t = ms.variable(8, prec)
    eps = mdla.finfo(prec).eps
    rational = (1 + t) / (1 - 3 * t)
    r = function(rational, 4, 4)
    for x in (0.125, -0.5):
        want = (1 + x) / (1 - 3 * x)
        assert abs(float(r(mdla.array(x, prec)) - want)) <= 2.0**12 * eps + 1e-15
    even = function(ms.cos(t), 3, 4)
    assert abs(float(even(0.25)) - math.cos(0.25)) < 1e-8
    zero = function(ms.constant(0, 8, prec), 4, 4)
    assert zero.numerator.tolist() == [0] * 5
    assert zero.denominator.tolist() == [1, 0, 0, 0, 0]
    # 1 + t^5 has no [3/1]: the equations 0 b_1 = 0 are solved by b = 1.
    gap = function(1 + t**5, 2, 2)
    assert gap.numerator.tolist() == [1, 0, 0]
    assert gap.denominator.tolist() == [1, 0, 0]


def test_robust_degrees(prec):
    t = ms.variable(12, prec)
    r = ms.robust_pade((1 + t + t * t) / ((1 - t) * (1 + 2 * t)), 6, 6)
    assert r.numerator.tolist()[3:] == [0] * 4
    assert r.denominator.tolist()[3:] == [0] * 4
    errors = error_in_eps(r.denominator[:3], np.array([1, 1, -2], dtype=object), prec)
    assert errors.max() <= 2.0**12


def test_robust_takes_a_tolerance(rng):
    t = ms.variable(12, "qd")
    noise = 1e-20 * random_series(rng, (), 12, "qd")
    r = ms.robust_pade(1 / (1 - t) + noise, 6, 6, tol=1e-15)
    assert r.denominator.tolist()[2:] == [0] * 5
    assert abs(float(r.denominator[1] + 1)) < 1e-15


def test_batches_with_degenerate_members(rng):
    t = ms.variable(6, "dd")
    s = ms.stack([ms.exp(t), 1 / (1 - t), ms.constant(0, 6)])
    r = ms.pade(s, 3, 3)
    one = ms.pade(s[0], 3, 3)
    assert mdla.array_equal(r.numerator[0], one.numerator)
    assert abs(float(r.denominator[1, 1]) + 1) < 1e-25
    empty = ms.pade(ms.Series(mdla.zeros((0, 7))), 3, 3)
    assert empty.numerator.shape == (0, 4)
    assert ms.robust_pade(ms.Series(mdla.zeros((0, 7))), 3, 3).denominator.shape == (0, 4)


def test_refusals():
    s = ms.variable(3)
    with pytest.raises(ValueError, match=r"\[2/2\] needs a series of degree 4, got degree 3"):
        ms.pade(s, 2, 2)
    with pytest.raises(TypeError, match="takes a Series"):
        ms.pade([1, 2, 3], 1, 1)
    with pytest.raises(TypeError, match="integer"):
        ms.pade(s, 1.0, 1)
    with pytest.raises(ValueError, match="infinities or nans"):
        ms.pade(s / 0, 1, 1)
    with pytest.raises(ValueError, match="tol is"):
        ms.robust_pade(s, 1, 1, tol=math.nan)


def test_exact_parts_of_exact_series():
    r = ms.pade(ms.Series([1, -1, 1, -1], "qd"), 1, 1)
    assert exact(r.denominator).tolist() == [1, 1]
