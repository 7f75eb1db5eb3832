# SPDX-License-Identifier: BSD-3-Clause
"""floor, ceil, trunc, rint, round and division with remainder, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import assert_close, assert_normalised, exact
from tests.registry import DOUBLE_PRECS, adversarial


def near_integers(rng, prec):
    """Adversarial numbers of all sizes, and some at and next to integers and halves."""
    fmt = mdla.precision(prec)
    wide = adversarial(rng, prec, 300, exponents=(-3, fmt.bits))
    base = rng.integers(-50, 50, 300) / 2
    tiny = rng.choice([0, 1, -1], 300) * float(2.0 ** (-min(fmt.bits - 12, 140)))
    near = mdla.array(base, prec=prec) + mdla.array(tiny, prec=prec)
    return mdla.concatenate(
        [mdla.MDArray(wide), near, mdla.array([0.5, 1.5, -0.5, -2.5], prec=prec)]
    )


EXACT = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "rint": round}


@pytest.mark.parametrize("name", EXACT)
def test_rounding_to_integers(prec, name, rng):
    a = near_integers(rng, prec)
    for got in (getattr(mdla, name)(a), getattr(np, name)(a)):
        assert got.prec == prec
        assert [int(x) for x in exact(got)] == [EXACT[name](x) for x in exact(a)]
        assert all(x.denominator == 1 for x in exact(got))
        assert_normalised(got)


@pytest.mark.parametrize("name", EXACT)
def test_specials(prec, name):
    x = np.array([math.inf, -math.inf, math.nan, -0.0, 0.0])
    got = getattr(mdla, name)(mdla.array(x, prec=prec))
    assert np.array_equal(got.to_numpy(), getattr(np, name)(x), equal_nan=True)
    with pytest.raises(TypeError, match="complex"):
        getattr(mdla, name)(mdla.array(1j, prec=prec))


def test_large_limbs_with_a_fraction_far_below():
    for name in DOUBLE_PRECS[1:]:
        a = mdla.from_limbs([2.0**53, -0.25] + [0.0] * (mdla.precision(name).limbs - 2))
        assert [int(f(a)) for f in (mdla.floor, mdla.ceil, mdla.rint)] == [2**53 - 1, 2**53, 2**53]
        b = mdla.from_limbs([2.0**200, -(2.0**-200)] + [0.0] * (mdla.precision(name).limbs - 2))
        # 2^200 - 1 has 200 bits.
        if mdla.precision(name).limbs >= 4:
            assert int(mdla.floor(b)) == 2**200 - 1
        c = mdla.array(2**60 + 1, prec=name) + 0.5
        assert int(mdla.rint(c)) == 2**60 + 2
        assert int(mdla.rint(c - 1)) == 2**60


def test_round_to_decimals(prec):
    a = mdla.array(["0.125", "2.675", "-1.25", 7], prec=prec)
    assert np.array_equal(a.round().to_numpy(), [0, 3, -1, 7])
    assert_close(np.round(a, 1), [Fraction(x) for x in ("0.1", "2.7", "-1.2", "7")], prec, 1)
    assert np.array_equal(mdla.round(a * 100, -2).to_numpy(), [0, 300, -100, 700])
    assert mdla.round(mdla.array("0.15", prec="dd"), 5) == mdla.array("0.15")
    z = mdla.array([1.4 + 2.6j], prec=prec)
    assert np.array_equal(mdla.round(z).to_numpy(), [1 + 3j])
    assert round(mdla.array(2.5)) == 2
    assert round(mdla.array("2.55"), 1) == mdla.round(mdla.array("2.55"), 1)


def test_division_with_remainder(prec, rng):
    x = mdla.MDArray(adversarial(rng, prec, 300, exponents=(-20, 20), lowest=-200))
    y = mdla.MDArray(adversarial(rng, prec, 300, exponents=(-20, 20), lowest=-200))
    y = mdla.where(y == 0, 1, y)
    q, r = divmod(x, y)
    for a, b, quotient, rest in zip(exact(x), exact(y), exact(q), exact(r), strict=True):
        want = a // b
        # Where the rest is nearly b, or nearly 0, the last rounding may reach it.
        assert (
            quotient == want
            or abs(a - quotient * b) <= abs(b) * mdla.precision(prec).eps
            or (abs(quotient - want) <= 1)
        )
        assert abs(rest) <= abs(b)
        assert rest == 0 or (rest > 0) == (b > 0)
    assert_close(r, [a % b for a, b in zip(exact(x), exact(y), strict=True)], prec, 1,
                 scale=[abs(b) for b in exact(y)])  # fmt: skip
    assert (q == x // y).all()
    assert (r == x % y).all()
    assert (np.floor_divide(x, y) == q).all()


def test_large_quotients():
    for name in DOUBLE_PRECS:
        a = mdla.array(10**60, prec=name)
        value = int(a)
        for b in (7, 10**9 + 7, -13):
            assert (a % b).item() == value % b
    assert divmod(mdla.array(10**40, prec="td"), 7)[0].item() == 10**40 // 7


def test_remainders_as_float64(prec):
    x = np.array([7, -7, 7, -7, 5.5, -5.5, 0, 1, math.inf, math.nan, 3, -3, 0, -0.5])
    y = np.array([3, 3, -3, -3, 0.5, 2, 5, 0, 2, 1, math.inf, math.inf, 0, math.inf])
    with np.errstate(all="ignore"):
        a = mdla.array(x, prec=prec)
        assert np.array_equal((a % y).to_numpy(), x % y, equal_nan=True)
        assert np.array_equal((a // y).to_numpy(), x // y, equal_nan=True)
    assert (mdla.array(7, prec=prec) % 4).item() == 3
    assert (7 % mdla.array(4, prec=prec)).item() == 3
    assert (7 // mdla.array(4, prec=prec)).item() == 1
    assert divmod(7, mdla.array(4, prec=prec))[0].item() == 1
    third = mdla.array("1/3", prec=prec)
    assert (third % math.inf) == third
    with pytest.raises(TypeError, match="complex"):
        mdla.array(1j, prec=prec) % 2


def test_remainder_of_a_fraction():
    a = mdla.array("22/7", prec="qd") % 1
    assert_close(a, Fraction(1, 7), "qd", 8)
