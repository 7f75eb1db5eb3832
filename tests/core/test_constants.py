# SPDX-License-Identifier: BSD-3-Clause
"""Constants against mpmath, in every precision and far beyond."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mdla.core.constants import CONSTANTS, Constant
from mdla.core.convert import to_planes
from mdla.core.precision import precision
from mdla.core.rounding import limbs_of_ratio
from tests.oracle import assert_close, assert_normalised, assert_same_bits
from tests.registry import PRECS

mpmath = pytest.importorskip("mpmath")

NAMES = list(CONSTANTS)


def reference(name, bits):
    """Floor of the constant times 2**bits, by mpmath with ample precision."""
    with mpmath.workprec(bits + 100):
        value = {
            "pi": lambda: +mpmath.pi,
            "e": lambda: +mpmath.e,
            "ln2": lambda: mpmath.log(2),
            "ln10": lambda: mpmath.log(10),
            "sqrt2": lambda: mpmath.sqrt(2),
            "golden_ratio": lambda: (1 + mpmath.sqrt(5)) / 2,
            "euler_gamma": lambda: +mpmath.euler,
        }[name]()
        return int(mpmath.floor(mpmath.ldexp(value, bits)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bits", [1, 53, 200, 900, 1280, 3000])
def test_fixed_point_digits(name, bits):
    assert 0 <= CONSTANTS[name].fixed(bits) - reference(name, bits) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_limbs_are_those_of_the_exact_number(name, prec):
    p = precision(prec)
    planes = to_planes(CONSTANTS[name], prec)
    # The number lies between these two fractions, and both round to the same limbs.
    bits = 1600
    below = reference(name, bits)
    for numerator in (below, below + 1):
        limbs = limbs_of_ratio(numerator, 1 << bits, p.limbs, p.dtype)
        assert [float(v) for v in planes[0]] == limbs
    assert_normalised(planes)
    assert_same_bits(CONSTANTS[name].planes(prec), planes)
    assert_close(planes, Fraction(below, 1 << bits), prec, bound_eps=0.5)
    assert all(v != 0 for v in planes[0])


def test_float_values():
    expected = {"pi": math.pi, "e": math.e, "ln2": math.log(2), "sqrt2": math.sqrt(2)}
    for name, value in expected.items():
        assert float(CONSTANTS[name]) == value
        assert to_planes([CONSTANTS[name]], "d").tolist() == [[[value]]]


def test_repr_shows_digits():
    assert repr(CONSTANTS["pi"]) == "<mdla constant pi = 3.1415926535897932384626433832795...>"
    assert repr(CONSTANTS["ln2"]).startswith(
        "<mdla constant ln2 = 0.693147180559945309417232121458"
    )


def test_a_constant_is_computed_once():
    calls = []

    def third(bits):
        calls.append(bits)
        return (1 << bits) // 3

    constant = Constant("third", third)
    for prec in PRECS:
        assert_same_bits(to_planes(constant, prec), to_planes("1/3", prec))
    assert len(calls) == 1
