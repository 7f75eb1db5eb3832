"""Quotients, powers and elementary functions against ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import series as ms
from tests.oracle import error_in_eps
from tests.registry import DOUBLE_PRECS, PRECS
from tests.series.majorants import majorant, values
from tests.series.reference import pairs, random_series

FUNCTIONS = [
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "arcsin",
    "arccos",
    "arctan",
]

# Steps of a function that go through recurrences or products one after the other.
STEPS = {"arcsin": 3, "arccos": 3, "arctan": 2}


def bound(k, is_complex, steps=1):
    """What the documentation says: (k + 1) (p + 3) eps for each step, more for complex numbers."""
    terms = min(k + 1, math.log2(k + 1) + 33)
    return steps * (k + 1) * (terms + 3) * (2.5 if is_complex else 1)


def check(name, got, prec, *operands, steps=1):
    """Compare every coefficient with its bound."""
    want = values(name, *operands)
    sizes = majorant(name, want, *operands)
    for k, (pair, size) in enumerate(zip(want, sizes, strict=True)):
        one = got.coefficients[k]
        target = pair if one.iscomplex else pair[0]
        scale = np.array(Fraction(size) * Fraction(1 + 2**-20), dtype=object)
        error = float(error_in_eps(one, target, prec, scale))
        assert error <= bound(k, one.iscomplex, steps), (name, k, error)


def operand(rng, prec, is_complex, degree, shape=()):
    """A series with a constant term in 0.2 .. 0.8, or near that."""
    s = random_series(rng, shape, degree, prec, is_complex)
    first = Fraction(int(rng.integers(2, 8)), 10) + 0 * s.coefficients[..., 0]
    if is_complex:
        first = first + mdla.array("0.25j", prec)
    return s - s.coefficients[..., 0] + first


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(rng, prec, name, is_complex):
    s = operand(rng, prec, is_complex, 9)
    got = getattr(ms, name)(s)
    assert (got.prec, got.degree, got.shape, got.iscomplex) == (prec, 9, (), is_complex)
    check(name, got, prec, pairs(s), steps=STEPS.get(name, 1))


@pytest.mark.slow
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_functions_to_high_degree(rng, prec, name, is_complex):
    s = operand(rng, prec, is_complex, 64)
    s = ms.Series(s.coefficients * mdla.array([Fraction(1, 2**k) for k in range(65)], prec))
    check(name, getattr(ms, name)(s), prec, pairs(s), steps=STEPS.get(name, 1))


@pytest.mark.parametrize("is_complex", [False, True])
def test_quotients(rng, prec, is_complex):
    s, t = (operand(rng, prec, is_complex, 9) for _ in range(2))
    check("quotient", s / t, prec, pairs(s), pairs(t))
    one = ms.constant(1, 9, prec)
    check("quotient", 1 / t, prec, pairs(one), pairs(t))
    mixed = random_series(rng, (), 9, prec, not is_complex)
    check("quotient", mixed / t, prec, pairs(mixed), pairs(t))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("p", ["1/2", "-1/3", "5/2", "1/3+1/5j"])
def test_powers(rng, prec, p, is_complex):
    s = operand(rng, prec, is_complex, 9)
    exponent = mdla.array(p, prec)
    got = s**exponent
    # The power of the constant term has its own error.
    check("power", got, prec, pairs(s), [pairs(ms.constant(exponent, 0))[0]] * 10, steps=2)


@pytest.mark.parametrize("n", [0, 1, 2, 7, -1, -3])
def test_integer_powers(prec, n):
    s = ms.Series([2, 1, 0, 3, 1], prec)
    want = ms.constant(1, 4, prec)
    for _ in range(abs(n)):
        want = want * s
    got = s**n
    if n < 0:
        got = got * want
        want = ms.constant(1, 4, prec)
        difference = abs((got - want).coefficients).to_numpy()
        assert np.all(difference <= 2.0**14 * mdla.finfo(prec).eps)
    else:
        assert np.all(got == want)
    assert np.all(s ** float(n) == s**n)
    assert np.all(s ** mdla.array(n, prec) == s**n)


def test_powers_of_nilpotent_series():
    t = ms.variable(5)
    assert (t**3).coefficients.tolist() == [0, 0, 0, 1, 0, 0]
    assert (t**7).coefficients.tolist() == [0] * 6
    assert (t**0).coefficients.tolist() == [1, 0, 0, 0, 0, 0]


def test_powers_of_batches(rng):
    s = operand(rng, "qd", False, 6, (3,))
    p = mdla.array(["1/3", "2", "-1/2"], "qd")
    got = s**p
    for i in range(3):
        one = s[i] ** p[i]
        eps = mdla.finfo("qd").eps
        assert np.all(abs((got[i] - one).coefficients).to_numpy() <= 1000 * eps)
    assert (s[0] ** p).shape == (3,)
    assert (s ** np.array([1, 2, 3])).shape == (3,)
    assert ms.power(s, 2).shape == (3,)


def test_series_as_exponents(rng, prec):
    s, t = operand(rng, prec, False, 5), operand(rng, prec, False, 5)
    assert np.all(s**t == ms.exp(t * ms.log(s)))
    assert np.all(2**t == ms.exp(t * mdla.log(mdla.array(2, prec))))


def binomials(p, d):
    c = [Fraction(1)]
    for k in range(1, d + 1):
        c.append(c[-1] * (p - k + 1) / k)
    return np.array(c, dtype=object)


@pytest.mark.parametrize("name", ["dd", "qd", "od", "hd"])
def test_square_root_of_one_plus_t(name):
    """Each coefficient of sqrt(1 + t) to degree 128, relative to itself."""
    d = 128
    t = ms.variable(d, name)
    root = ms.sqrt(1 + t)
    want = binomials(Fraction(1, 2), d)
    ways = [root, (1 + t) ** 0.5, ms.exp(ms.log(1 + t) / 2), (1 + t) / root]
    for got in ways:
        assert error_in_eps(got.coefficients, want, name).max() <= 100 * d
    inverse = error_in_eps((1 / root).coefficients, binomials(Fraction(-1, 2), d), name)
    assert inverse.max() <= 100 * d
    c = root.coefficients
    assert c[10] == mdla.array(Fraction(-2431, 262144), name)
    assert abs(float(c[63] / c[64]) + 1.024) < 1e-15


def test_batches_are_independent(rng, prec):
    s = operand(rng, prec, False, 5, (2, 3))
    for name in (*FUNCTIONS,):
        function = getattr(ms, name)
        whole = function(s)
        assert whole.shape == (2, 3)
        assert np.all(whole[1, 2] == function(s[1, 2]))


def test_zero_constant_terms_give_what_numbers_give():
    s = ms.Series([[0, 1, 2], [1, 1, 2]])
    for got in (1 / s, ms.log(s), ms.sqrt(s) / 2, s**0.5):
        finite = np.isfinite(got.coefficients.to_numpy()).all(axis=-1)
        assert finite.tolist() == [False, True]
    assert np.isnan(ms.sqrt(ms.Series([-1, 1])).coefficients.to_numpy()).all()
    huge = ms.exp(ms.Series([1e300, 1])).coefficients.to_numpy()
    assert not np.isfinite(huge).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_and_empty(name):
    function = getattr(ms, name)
    assert function(ms.Series([0.5])).degree == 0
    assert function(ms.Series(mdla.zeros((0, 4)))).coefficients.shape == (0, 4)
    with pytest.raises(TypeError, match=f"write mdla.{name}"):
        function(0.5)


@pytest.mark.parametrize("name", PRECS)
def test_small_constant_terms_keep_their_digits(name):
    tiny = mdla.array("1e-12", name)
    s = ms.Series(mdla.stack([tiny, mdla.ones((), name)]))
    assert np.all(ms.expm1(s).coefficients[0] == mdla.expm1(tiny))
    assert np.all(ms.log1p(s).coefficients[0] == mdla.log1p(tiny))
