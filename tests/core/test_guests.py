# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of mpmath, gmpy2 and python-flint, both ways."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mdla.core import convert
from mdla.core.convert import to_planes
from mdla.core.precision import precision
from tests.oracle import assert_same_bits


def test_mpmath(prec):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(1000):
        third = mpmath.mpf(1) / 3
        z = mpmath.mpc(third, -2)
        m = mpmath.matrix([[1, third], [z, 4]])
    with mpmath.workprec(20):
        assert_same_bits(to_planes(third, prec), to_planes("1/3", prec))
        assert_same_bits(to_planes(z, prec), to_planes("1/3-2j", prec))
        assert_same_bits(to_planes(m, prec), to_planes([["1", "1/3"], ["1/3-2j", 4]], prec))
        assert_same_bits(to_planes(mpmath.inf, prec), to_planes(math.inf, prec))
        assert_same_bits(to_planes(-mpmath.inf, prec), to_planes(-math.inf, prec))
        assert np.isnan(to_planes(mpmath.nan, prec)[0, 0])
        # A constant gives all its digits, whatever the working precision is.
        digits = (
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628"
            "6208998628034825342117067982148086513282306647093844609550582231725359408128"
            "4811174502841027019385211055596446229489549303819644288109756659334461284756"
            "4823378678316527120190914564856692346034861045432664821339360726"
        )
        assert_same_bits(to_planes(mpmath.pi, prec), to_planes(digits, prec))
    with pytest.raises(TypeError, match="exactly"):
        to_planes(mpmath.iv.mpf([1, 2]), prec)
    for text in ("1/3", "-1e-30", "0", "inf", "-inf"):
        planes = to_planes(text, prec)
        assert_same_bits(to_planes(convert.to_mpmath(planes), prec), planes)
    z = to_planes("1/3-2j", prec)
    assert_same_bits(to_planes(convert.to_mpmath(z), prec), z)
    assert mpmath.isnan(convert.to_mpmath(to_planes("nan", prec)))


def test_gmpy2(prec):
    gmpy2 = pytest.importorskip("gmpy2")
    with gmpy2.context(precision=1000):
        third = gmpy2.mpfr(1) / 3
        z = gmpy2.mpc(third, -2)
    assert_same_bits(to_planes(third, prec), to_planes("1/3", prec))
    assert_same_bits(to_planes(z, prec), to_planes("1/3-2j", prec))
    assert_same_bits(to_planes(gmpy2.mpq(1, 3), prec), to_planes("1/3", prec))
    assert_same_bits(
        to_planes([gmpy2.mpz(2**100 + 1), gmpy2.xmpz(3)], prec), to_planes([2**100 + 1, 3], prec)
    )
    for special in ("inf", "-inf", "nan", "-0"):
        assert_same_bits(to_planes(gmpy2.mpfr(special), prec), to_planes(special, prec))
    for text in ("1/3", "-1e-30", "0", "-0", "inf", "-inf", "1/3-2j", "-1j"):
        planes = to_planes(text, prec)
        back = convert.to_gmpy2(planes)
        assert_same_bits(to_planes(back, prec), planes)
        assert np.min(back.precision) >= 53 * precision(prec).limbs
    assert gmpy2.is_nan(convert.to_gmpy2(to_planes("nan", prec)))
    sparse = np.array([[1.0, 2.0**-400]])
    assert_same_bits(to_planes(convert.to_gmpy2(sparse), "dd"), sparse)


def test_flint(prec):
    flint = pytest.importorskip("flint")
    assert_same_bits(to_planes(flint.fmpz(2**100 + 1), prec), to_planes(2**100 + 1, prec))
    assert_same_bits(to_planes(flint.fmpq(1, 3), prec), to_planes("1/3", prec))
    assert_same_bits(
        to_planes(flint.arb((2**200 + 1, -300)), prec),
        to_planes(Fraction(2**200 + 1, 2**300), prec),
    )
    assert_same_bits(to_planes(flint.arb(2, 0.5), prec), to_planes(2, prec))
    assert_same_bits(to_planes(flint.acb(0.5, -3), prec), to_planes("0.5-3j", prec))
    assert_same_bits(to_planes(flint.arf(0.375), prec), to_planes(0.375, prec))
    for matrix, entries in (
        (flint.fmpz_mat([[1, 2], [3, 2**70]]), [[1, 2], [3, 2**70]]),
        (flint.fmpq_mat(1, 2, [flint.fmpq(1, 3), 2]), [["1/3", 2]]),
        (flint.arb_mat([[0.5], [2]]), [[0.5], [2]]),
        (flint.acb_mat([[0.5, flint.acb(1, 2)]]), [[0.5, 1 + 2j]]),
    ):
        planes, expected = to_planes(matrix, prec), to_planes(entries, prec)
        assert_same_bits(planes[: len(expected)], expected)
    with pytest.raises(TypeError, match="exactly"):
        to_planes(flint.fmpz_poly([1, 2]), prec)
    for text in ("1/3", "-1e-30", "0", "nan", "1/3-2j"):
        planes = to_planes(text, prec)
        back = convert.to_flint(planes)
        assert text == "nan" or back.is_exact()
        assert_same_bits(to_planes(back, prec), planes)
    for text in ("inf", "-inf"):
        assert float(convert.to_flint(to_planes(text, prec))) == float(text)
