# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons are exact; minimum, maximum, where, clip and closeness build on them."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import exact
from tests.registry import DOUBLE_PRECS, PRECS, adversarial, second_operand

OPERATORS = [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt]


@pytest.mark.parametrize("op", OPERATORS)
def test_against_exact_values(prec, op, rng):
    x = adversarial(rng, prec, 500)
    y = -second_operand(rng, prec, x)
    a, b = mdla.MDArray(x), mdla.MDArray(y)
    for p, q in ((a, b), (b, a), (a, a), (a, a[::-1])):
        got = op(p, q)
        assert isinstance(got, np.ndarray)
        assert got.dtype == bool
        assert np.array_equal(got, op(exact(p), exact(q)).astype(bool))


@pytest.mark.parametrize("other", PRECS)
def test_mixed_precisions(prec, other, rng):
    x = mdla.MDArray(adversarial(rng, prec, 100))
    rounded = x.astype(other)
    for op in OPERATORS:
        assert np.array_equal(op(x, rounded), op(exact(x), exact(rounded)).astype(bool))
        assert np.array_equal(op(rounded, x), op(exact(rounded), exact(x)).astype(bool))


def close_numbers(value):
    """Numbers of many types at and around a dyadic value."""
    tiny = Fraction(1, 2**2000)
    around = [value, value + tiny, value - tiny]
    return [*around, float(value), np.float64(value), np.float32(value), Decimal(float(value))]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(
    "value", [Fraction(1), Fraction(3, 8), Fraction(-5, 2), Fraction(2**40)], ids=str
)
def test_numbers_of_other_types(prec, op, value):
    a = mdla.array(value, prec=prec)
    for number in close_numbers(value):
        wanted = op(
            value, Fraction(float(number)) if isinstance(number, np.generic) else Fraction(number)
        )
        assert bool(op(a, number)) == wanted, number
        assert bool(op(mdla.stack([a, a]), number).all()) == wanted
        swapped = {operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt,
                   operator.ge: operator.le}.get(op, op)  # fmt: skip
        assert bool(swapped(number, a)) == wanted


@pytest.mark.parametrize("op", OPERATORS)
def test_integers_of_any_size(op):
    for name in DOUBLE_PRECS:
        a = mdla.array(2**100, prec=name)
        for n in (2**100, 2**100 + 1, 2**100 - 1, 10**400, -(10**400)):
            assert bool(op(a, n)) == op(2**100, n)
        assert np.array_equal(
            op(a, np.array([2**62 + 1, -1])), op(2**100, np.array([2**62 + 1, -1], dtype=object))
        )
    b = mdla.array(2**62, prec="d")
    assert bool(op(b, np.int64(2**62 + 1))) == op(2**62, 2**62 + 1)
    big = mdla.array(math.inf)
    assert big > 10**400
    assert big != 10**400
    assert -big < -(10**400)


def test_decimal_strings_and_floats():
    assert mdla.array(0.1) == 0.1
    assert mdla.array("0.1") != 0.1
    assert mdla.array("0.1") != Decimal("0.1")
    assert (mdla.array("0.1", prec="hd") < Fraction(1, 10)) or (
        mdla.array("0.1", prec="hd") > Fraction(1, 10)
    )
    assert mdla.array("0.5") == Decimal("0.5")
    # A string is no number: it is not equal, and has no order.
    assert (mdla.array("0.5") == "0.5") is False
    with pytest.raises(TypeError):
        mdla.array("0.5") < "1"  # noqa: B015
    assert (mdla.array(1) == None) is False  # noqa: E711


def test_other_libraries():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(300):
        third = mpmath.mpf(1) / 3
        a = mdla.array("1/3", prec="qd")
        assert a != third
        assert (a < third) == (a.item() < Fraction(*map(int, third.as_integer_ratio())))
        assert mdla.array(third, prec="hd") == third


def test_mixed_lists_and_object_arrays():
    a = mdla.array(["1/3", 2, "0.5"])
    assert np.array_equal(a == [Fraction(1, 3), 2, 0.5], [False, True, True])
    assert np.array_equal(
        a == np.array([0.1, 2, Fraction(1, 2)], dtype=object), [False, True, True]
    )
    assert np.array_equal(a == [mdla.array("1/3"), 2, 1], [True, True, False])
    assert np.array_equal(a < [1, 2, 3], [True, False, True])


def test_nan_and_infinity(prec):
    a = mdla.array([math.nan, math.inf, -math.inf, 0.0], prec=prec)
    for op in OPERATORS:
        assert np.array_equal(op(a, a), op(a.to_numpy(), a.to_numpy()))
        assert np.array_equal(op(a, a[::-1]), op(a.to_numpy(), a.to_numpy()[::-1]))
        assert np.array_equal(op(a, 0.0), op(a.to_numpy(), 0.0))
        assert np.array_equal(op(a, math.inf), op(a.to_numpy(), math.inf))
    assert mdla.array(-0.0, prec=prec) == 0.0
    assert np.array_equal(mdla.isnan(a), [True, False, False, False])
    assert np.array_equal(mdla.isinf(a), [False, True, True, False])
    assert np.array_equal(np.isfinite(a), [False, False, False, True])
    assert np.array_equal(mdla.signbit(mdla.array([-0.0, 1, -2], prec=prec)), [True, False, True])


def test_complex(prec):
    z = mdla.array([1 + 2j, 3], prec=prec)
    assert np.array_equal(z == [1 + 2j, 3], [True, True])
    assert np.array_equal(z == 3, [False, True])
    assert np.array_equal(z != z.conj(), [True, False])
    assert np.array_equal(z == z.real, [False, True])
    assert np.array_equal(z == [Fraction(1, 3), 3], [False, True])
    for op in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="no order"):
            op(z, z)
        with pytest.raises(TypeError, match="no order"):
            op(z, 1)
    nan = mdla.array([complex(math.nan, 0), complex(0, math.inf)], prec=prec)
    assert np.array_equal(mdla.isnan(nan), [True, False])
    assert np.array_equal(mdla.isinf(nan), [False, True])


def test_minimum_maximum_clip(prec):
    x = np.array([1, 5, math.nan, -3, math.inf, 2.5])
    y = np.array([2, 4, 1, math.nan, 7, 2.5])
    a, b = mdla.array(x, prec=prec), mdla.array(y, prec=prec)
    for ours, theirs in ((mdla.minimum, np.minimum), (mdla.maximum, np.maximum)):
        assert np.array_equal(ours(a, b).to_numpy(), theirs(x, y), equal_nan=True)
        assert np.array_equal(theirs(a, 2).to_numpy(), theirs(x, 2), equal_nan=True)
        assert np.array_equal(ours(a, b[:, None]).to_numpy(), theirs(x, y[:, None]), equal_nan=True)
    assert np.array_equal(a.clip(0, 3).to_numpy(), np.clip(x, 0, 3), equal_nan=True)
    assert np.array_equal(np.clip(a, None, 3).to_numpy(), np.clip(x, None, 3), equal_nan=True)
    assert np.array_equal(np.clip(a, a_min=2, a_max=3).to_numpy(), np.clip(x, 2, 3), equal_nan=True)
    with pytest.raises(TypeError, match="no order"):
        mdla.maximum(a, 1j)


def test_last_bits_decide(prec):
    eps = mdla.precision(prec).eps
    one, more = mdla.array(1, prec=prec), mdla.array(1 + eps, prec=prec)
    assert (mdla.maximum(one, more) == more, mdla.minimum(one, more) == one) == (True, True)
    assert mdla.stack([one, more, one]).argmax() == 1


def test_where(prec):
    a = mdla.array([["1/3", -1], [2, -3]], prec=prec)
    got = mdla.where(a > 0, a, 0)
    assert got.prec == prec
    assert np.array_equal(got == a, a > 0)
    assert np.array_equal(np.where([True, False], a, -a)[:, 0] == a[:, 0], [True, True])
    assert mdla.where(True, a, a.astype("hd")).prec == "hd"
    assert mdla.where(a > 0, a, 1j).iscomplex
    assert np.array_equal(mdla.where(a - 2, 1, 0).to_numpy(), [[1, 1], [0, 1]])
    assert mdla.where(np.ones((3, 1, 1), bool), a, 0).shape == (3, 2, 2)
    with pytest.raises(TypeError):
        np.where(a)


def test_closeness(prec):
    eps = mdla.precision(prec).eps
    a = mdla.array([1, 2], prec=prec)
    near = a * mdla.array(1 + 4 * eps, prec=prec)
    assert mdla.allclose(a, near)
    assert np.array_equal(mdla.isclose(a, near, rtol=eps), [False, False])
    assert np.array_equal(np.isclose(a, near, rtol=8 * eps, atol=0), [True, True])
    assert not np.allclose(a, a + 1)
    assert mdla.array_equal(a, a)
    assert not mdla.array_equal(a, near)
    assert not np.array_equal(a, a[:1])
    assert np.array_equal(a, [1, 2])
    bad = mdla.array([math.nan, math.inf], prec=prec)
    assert np.array_equal(mdla.isclose(bad, bad), [False, True])
    assert np.array_equal(mdla.isclose(bad, bad, equal_nan=True), [True, True])
    assert mdla.array_equal(bad, bad, equal_nan=True)
    assert not mdla.isclose(a[0], math.inf)
    # Not what float64 would call close.
    if prec not in ("ds", "d"):
        assert not mdla.isclose(mdla.array("1/3", prec=prec), 1 / 3, rtol=eps)
