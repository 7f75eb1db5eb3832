# SPDX-License-Identifier: BSD-3-Clause
"""The way back: planes to Python, NumPy and other libraries' numbers, and hashes."""

from __future__ import annotations

import math
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mdla.core import convert
from mdla.core.convert import to_planes
from mdla.core.precision import precision
from mdla.core.rounding import nearest_single
from tests.oracle import exact
from tests.registry import DOUBLE_PRECS, PRECS, adversarial, exact_values, second_operand

# -- back to Python -------------------------------------------------------------------------------


def test_back_is_exact(prec, rng):
    x = np.moveaxis(adversarial(rng, prec, 300)[0], 1, 0)
    for limbs in x:
        v = sum((Fraction(float(limb)) for limb in limbs), Fraction(0))
        assert convert.to_fraction(limbs) == v
        assert convert.to_int(limbs) == int(v)
        assert convert.to_float(limbs) == float(v)
        with localcontext(prec=5):
            assert Fraction(convert.to_decimal(limbs)) == v
        assert convert.hash_number(limbs) == hash(v)


TIES = [
    # A tail that decides a tie of the head, whatever lies between.
    [1.0, 2.0**-53, 2.0**-200, 0.0],
    [1.0, 2.0**-53, -(2.0**-200), 0.0],
    [1.0, 2.0**-53, 0.0, 0.0],
    [1.0 + 2.0**-52, 2.0**-53, 0.0, 0.0],
    [1.0 + 2.0**-52, -(2.0**-53), 0.0, 0.0],
    [1.0 + 2.0**-52, -(2.0**-53), -(2.0**-106), 2.0**-400],
    # Below a power of two the doubles are twice as dense.
    [1.0, -(2.0**-54), 0.0, 0.0],
    [1.0, -(2.0**-54), -(2.0**-300), 0.0],
    [1.0, -(2.0**-54), 2.0**-300, 0.0],
    [1.0, -(2.0**-53), 2.0**-107, 0.0],
    [2.0, -(2.0**-52), -(2.0**-106), 2.0**-160],
    # The last limb decides, over a limb that is even where it is cut.
    [1.0, 2.0**-53, 2.0**-107, -(2.0**-161)],
    [float.fromhex("0x1.fffffffffffffp1023"), 2.0**970, 0.0, 0.0],
    [float.fromhex("0x1.fffffffffffffp1023"), 2.0**970, -(2.0**900), 0.0],
    [2.0**-1074, 0.0, 0.0, 0.0],
]


@pytest.mark.parametrize("limbs", TIES)
def test_to_float_decides_ties_by_the_whole_tail(limbs):
    for sign in (1, -1):
        row = [sign * limb for limb in limbs]
        try:
            expected = float(sum(map(Fraction, row)))
        except OverflowError:
            expected = sign * math.inf
        assert convert.to_float(row) == expected
        planes = np.array(row)[None, :, None]
        assert convert.to_float_array(planes).tolist() == [expected]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "longdouble"])
def test_to_float_array_rounds_once(prec, rng, kind):
    x = np.concatenate(
        [adversarial(rng, prec, 500), second_operand(rng, prec, adversarial(rng, prec, 500))], 2
    )
    if prec in DOUBLE_PRECS:
        tie = np.zeros((1, precision(prec).limbs, len(TIES)))
        n = min(precision(prec).limbs, 4)
        tie[0, :n] = np.array(TIES).T[:n]
        x = np.concatenate([x, tie], 2)
    got = convert.to_float_array(x, kind)
    assert got.dtype == np.dtype(kind)
    for limbs, rounded in zip(x[0].T.tolist(), got, strict=True):
        exact_value = sum(map(Fraction, limbs), Fraction(0))
        if kind == "float64":
            assert float(rounded) == convert.to_float(limbs)
        elif kind == "float32":
            assert float(rounded) == nearest_single(*exact_value.as_integer_ratio())
        elif np.isfinite(rounded):
            # No neighbour is nearer, and of two that are as near the even one is taken.
            error = abs(Fraction(*map(int, rounded.as_integer_ratio())) - exact_value)
            for other in np.nextafter(rounded, np.array([-np.inf, np.inf], dtype=kind)):
                if np.isfinite(other):
                    assert error <= abs(Fraction(*map(int, other.as_integer_ratio())) - exact_value)


def test_to_float_array_of_specials_and_complex(prec):
    x = to_planes([[math.inf, -math.inf, math.nan, -0.0, 0.0]], prec)
    got = convert.to_float_array(x)
    np.testing.assert_array_equal(got, [[math.inf, -math.inf, math.nan, 0, 0]])
    assert np.signbit(got[0, 3:]).tolist() == [True, False]
    z = to_planes(["1/3+2j", "-1j"], prec)
    assert convert.to_float_array(z)[0] == complex(convert.to_float(z[0, :, 0]), 2)
    assert convert.to_float_array(z, np.complex64).dtype == np.complex64
    assert convert.to_float_array(x, complex).dtype == np.complex128
    assert convert.to_float_array(to_planes(1, prec)).shape == ()
    assert convert.to_float_array(to_planes(np.zeros((2, 0)), prec)).shape == (2, 0)
    with pytest.raises(TypeError, match=r"take \.real"):
        convert.to_float_array(z, float)
    with pytest.raises(TypeError, match="floating"):
        convert.to_float_array(x, np.int64)


def test_back_from_specials(prec):
    inf, nan, zero = (to_planes(s, prec) for s in ("-inf", "nan", "-0.0"))
    assert convert.to_float(inf) == -math.inf
    assert math.isnan(convert.to_float(nan))
    assert math.copysign(1, convert.to_float(zero)) == -1
    assert convert.to_decimal(inf) == Decimal("-Infinity")
    assert convert.to_decimal(nan).is_nan()
    assert convert.to_decimal(zero).is_signed()
    for function in (convert.to_fraction, convert.to_int):
        with pytest.raises(OverflowError):
            function(inf)
        with pytest.raises(ValueError, match="NaN"):
            function(nan)
    assert convert.hash_number(inf) == hash(-math.inf)
    assert convert.hash_number(zero) == hash(0)
    assert convert.hash_number(nan) == convert.hash_number(nan)


def test_only_single_numbers_convert():
    with pytest.raises(TypeError, match="index an element"):
        convert.to_float(to_planes([1, 2], "dd"))
    for function in (convert.to_float, convert.to_int, convert.to_fraction, convert.to_decimal):
        with pytest.raises(TypeError, match="complex"):
            function(to_planes(1j, "dd"))


def test_to_python(prec):
    assert convert.to_python(to_planes(0.5, prec)) == 0.5
    assert isinstance(convert.to_python(to_planes(0.5, prec)), float)
    assert convert.to_python(to_planes(0.5 + 1j, prec)) == 0.5 + 1j
    third = to_planes("1/3", prec)
    assert convert.to_python(third) == convert.to_fraction(third)
    if precision(prec).bits > 53:
        with pytest.raises(ValueError, match="53 bits"):
            convert.to_python(to_planes("1/3+1j", prec))


# -- hashes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
@given(x=exact_values())
def test_equal_numbers_have_equal_hashes(prec, x):
    planes = to_planes(x, prec)
    if not np.isfinite(planes).all():
        return
    v = exact(planes)[()]
    assert convert.hash_number(planes) == hash(v)
    if v.denominator == 1:
        assert convert.hash_number(planes) == hash(int(v))
    if abs(v) < 10**300 and Fraction(float(v)) == v:
        assert convert.hash_number(planes) == hash(float(v))


@given(z=st.complex_numbers(allow_nan=False))
def test_hash_of_complex_numbers(z):
    assert convert.hash_number(to_planes(z, "qd")) == hash(z)
    assert convert.hash_number(to_planes(z.real + 0j, "qd")) == hash(z.real)


def test_hash_is_never_minus_one():
    # hash(-1) is -2 in Python, for every type.
    assert convert.hash_number(to_planes(-1, "dd")) == hash(-1) == -2
    modulus = sys.hash_info.modulus
    assert convert.hash_number(to_planes(modulus - 1, "dd")) == hash(modulus - 1)


def test_objects(rng):
    x = adversarial(rng, "td", 6).reshape(1, 3, 2, 3)
    fractions = convert.to_objects(x, convert.to_fraction)
    assert fractions.shape == (2, 3)
    assert (fractions == exact(x)).all()
    assert convert.to_objects(to_planes(1, "d"), convert.to_int)[()] == 1
    assert convert.to_objects(to_planes([], "d"), convert.to_int).shape == (0,)
