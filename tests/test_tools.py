# SPDX-License-Identifier: BSD-3-Clause
"""The test tools themselves: the generator of numbers and the rule of normalisation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.oracle import assert_normalised, integers, is_normalised
from tests.registry import PRECS, adversarial, second_operand


@pytest.mark.parametrize("prec", PRECS)
def test_the_generator_makes_normalised_numbers(prec, rng):
    x = adversarial(rng, prec, 3000)
    y = second_operand(rng, prec, x)
    assert_normalised(x)
    assert_normalised(y)
    assert (x[0, -1] != 0).mean() > 0.05
    total = integers(x)[0] + integers(y)[0]
    cancelled = [abs(t) < abs(v) >> 40 for t, v in zip(total, integers(x)[0], strict=True)]
    assert 0.2 < np.mean(cancelled) < 0.8


def test_is_normalised_knows_the_rule():
    def one(*limbs):
        return bool(is_normalised(np.array(limbs)[None, :, None])[0])

    assert one(1.0, 2.0**-53)
    assert not one(1.0, 2.0**-53 + 2.0**-105)
    assert one(1.5, -(2.0**-53))
    assert not one(0.0, 1.0)
    assert not one(1.0, 0.0, 2.0**-200)
    assert one(math.inf, 0.0)
    assert not one(math.inf, 1.0)
    assert not one(math.nan, math.nan)
    assert one(2.0**-1074, 0.0)
    assert not one(2.0**-1074, 2.0**-1074)
