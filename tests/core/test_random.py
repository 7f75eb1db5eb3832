# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers: range, moments, bits at every place, reproducibility."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdla
from tests.oracle import assert_normalised, assert_same_bits, exact
from tests.registry import SHAPES

DRAW = [mdla.random.uniform, mdla.random.normal]


@pytest.mark.parametrize("draw", DRAW)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(prec, draw, shape):
    a = draw(shape, prec=prec, rng=1)
    assert (a.shape, a.prec, a.iscomplex) == (shape, prec, False)
    z = draw(shape, prec=prec, rng=1, complex=True)
    assert (z.shape, z.iscomplex) == (shape, True)
    assert_normalised(a)
    assert_normalised(z)
    assert draw(prec=prec).shape == ()


@pytest.mark.parametrize("draw", DRAW)
def test_the_generator_decides(prec, draw):
    a = draw(5, prec=prec, rng=np.random.default_rng(7))
    assert_same_bits(a, draw(5, prec=prec, rng=7))
    rng = np.random.default_rng(7)
    assert_same_bits(a, draw(5, prec=prec, rng=rng))
    assert (draw(5, prec=prec, rng=rng) != a).any()
    assert (draw(5, prec=prec) != draw(5, prec=prec)).any()
    for bad in (np.random, "7", 1.5, np.random.RandomState(1), True):
        with pytest.raises(TypeError, match="default_rng"):
            draw(5, rng=bad)
    with pytest.raises(ValueError, match="negative"):
        draw(-1)


@pytest.mark.parametrize("draw", DRAW)
def test_all_limbs_are_filled(prec, draw):
    a = draw(2000, prec=prec, rng=3)
    for limb in a.limbs:
        assert np.count_nonzero(limb) >= 1995
    # No limb repeats another, and the signs of the lower ones are fair.
    for high, low in zip(a.limbs[:-1], a.limbs[1:], strict=True):
        assert 800 < np.count_nonzero(low > 0) < 1200
        assert abs(np.mean(np.sign(high - np.median(high)) * np.sign(low))) < 0.15
        # Lower limbs lie densely below the ones above, not after a gap.
        gaps = np.log2(np.abs(high / np.where(low == 0, 1, low)))
        assert (
            mdla.precision(prec).limb_bits <= np.median(gaps) < mdla.precision(prec).limb_bits + 3
        )


def test_uniform_bits(prec):
    fmt = mdla.precision(prec)
    a = mdla.random.uniform(1000, prec=prec, rng=5)
    ones = np.zeros(fmt.bits)
    for x in exact(a):
        scaled = x * 2**fmt.bits
        assert scaled.denominator == 1
        assert 0 <= x < 1
        digits = format(int(scaled), f"0{fmt.bits}b")
        ones += np.frombuffer(digits.encode(), np.uint8) - 48
    # Every bit is one half of the time, six standard deviations allowed.
    assert (np.abs(ones - 500) < 6 * math.sqrt(250)).all()


def test_uniform_moments_and_ends(prec):
    a = mdla.random.uniform(20000, prec=prec, rng=1)
    assert abs(float(a.mean()) - 0.5) < 0.02
    assert abs(float(a.var()) - 1 / 12) < 0.005
    b = mdla.random.uniform(2000, low="-1/3", high=2, prec=prec, rng=1)
    assert ((b >= mdla.array("-1/3", prec=prec)) & (b <= 2)).all()
    assert abs(float(b.mean()) - 5 / 6) < 0.1
    assert b.prec == prec
    z = mdla.random.uniform(2000, low=-1, high=1, prec=prec, rng=1, complex=True)
    assert (abs(z.real) <= 1).all()
    assert abs(complex(z.mean())) < 0.1
    with pytest.raises(TypeError, match="real"):
        mdla.random.uniform(2, low=1j)


def test_normal_moments(prec):
    a = mdla.random.normal(20000, prec=prec, rng=1)
    x = a.to_numpy()
    assert abs(x.mean()) < 0.03
    assert abs(x.var() - 1) < 0.05
    assert abs((x**3).mean()) < 0.15
    assert abs((x**4).mean() - 3) < 0.3
    b = mdla.random.normal(5000, loc="1/3", scale=2, prec=prec, rng=1)
    assert abs(float(b.mean()) - 1 / 3) < 0.15
    assert abs(float(b.std()) - 2) < 0.1
    assert b.prec == prec


def test_normal_rounds_to_the_generator_s_doubles():
    a = mdla.random.normal(1000, prec="qd", rng=9)
    heads = np.random.default_rng(9).standard_normal(1000)
    # The tail is at most half an ulp: the nearest double is the drawn one, or next to it at a tie.
    assert np.count_nonzero(a.to_numpy() != heads) < 5
