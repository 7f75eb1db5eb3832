# SPDX-License-Identifier: BSD-3-Clause
"""The numbers in docs/direct.md and in the planner, recomputed."""

from __future__ import annotations

import math

import pytest

from mdla import _native
from mdla.core.precision import PRECISIONS
from mdla.gemm.direct import _MOST_DIGITS, _ROUNDINGS
from tests.registry import DOUBLE_PRECS

LIMBS = [PRECISIONS[name].limbs for name in DOUBLE_PRECS]
# As in floating_kernel.hpp.
CARRY_STEPS = {2: 64, 3: 64, 4: 64, 5: 64, 8: 16, 10: 8, 16: 2}
U = 2.0**-53


def majorants(limbs):
    """Majorants of one step of the floating kernel.

    Returns:
        Of each diagonal in units of u^d |ab|, and of all that is rounded or dropped in units of
        u^M |ab|, M the number of diagonals.
    """
    M = limbs if limbs <= 4 else limbs + 1
    lists = [[], [], []]
    diagonals = []
    for d in range(M - 1):
        s = None
        for i in range(max(0, d - limbs + 1), d // 2 + 1):
            value = 1.0
            if 2 * i < d:
                value = 2.0
                lists[1].append(value)
                if d < M - 2:
                    lists[2].append(2.0)
            lists[1].append(value)  # the errors of one product, or of two added
            s = value if s is None else s + value
            if s != value:
                lists[1].append(s)
        for t in lists[0]:
            s += t
            lists[1].append(s)
        diagonals.append(s)
        lists = [lists[1], lists[2], []]
    lost = 2.0 * sum(2 * i < M - 2 for i in range(M))  # errors of pairs, added plainly
    s = lists[0][0]
    for t in lists[0][1:]:
        s += t
        lost += s
    for _ in range(M - limbs, M // 2):
        s += 2
        lost += 1 + 1 + 2 + s
    if M % 2:
        s += 1
        lost += s
    lost += 2 * limbs - 1 - M  # products on diagonal M
    if limbs == 2:
        lost += 3  # the second diagonal is added to an error plainly
    return [*diagonals, s], lost


@pytest.mark.parametrize("limbs", [n for n in LIMBS if n > 1])
def test_floating_kernel(limbs):
    diagonals, lost = majorants(limbs)
    M = len(diagonals)
    growth = 1.0
    for d in range(1, limbs):
        growth = 1 + diagonals[d] + d * CARRY_STEPS[limbs] * growth
    last = limbs**2 * growth + 1 + limbs * CARRY_STEPS[limbs] * growth
    assert last * U <= 0.25 * 2**limbs
    # eps = 2^N u^N
    in_eps = (lost * U ** (M - limbs) + 1) / 2**limbs
    if limbs <= 4:
        assert in_eps == _ROUNDINGS[limbs]
    else:
        assert in_eps < 0.75 * 1
        assert _ROUNDINGS[limbs] == 0


@pytest.mark.parametrize("limbs", LIMBS)
def test_integer_kernel(limbs):
    """The digits that the planner asks for meet the condition on S at the largest span."""
    for digits in range(limbs + 1, _native.max_digits + 1):
        span = 52 * (digits - limbs) - 10
        assert _native.digits_for(limbs, span) == digits
        least = 2.0 ** -(span + 2) * (1 - 2.0**-40)
        assert least >= (7.66 * digits + 6.2) * 2.0 ** (-52 * (digits - limbs))
        for k in (1, 2, 1000, 10**6):
            noise = 1.25 * digits * k + 1
            assert noise < 2**51
            assert 3 * noise * 2.0 ** (-52 * (digits - limbs)) <= 0.49 * k * least


def test_accumulators_do_not_overflow():
    """Blocks of k in integer_kernel.hpp: unsigned halves, a digit and the bias stay below 2^64."""
    for digits in range(2, _native.max_digits + 1):
        block = min(256, 3070 // (2 * digits))
        assert block >= 1
        assert 2 * digits * block * (2**52 - 1) + 2**53 + 2**62 < 2**64
        # signed low halves of the form without IFMA
        assert digits * block * 2**51 < 2**62


def test_tables_of_the_planner_cover_every_precision():
    for limbs in LIMBS:
        assert limbs < _MOST_DIGITS[limbs] <= _native.max_digits
        # floating flops against the square of the digits
        assert limbs == 1 or _MOST_DIGITS[limbs] ** 2 <= 1.75 * limbs**2 * (limbs + 4)
        assert math.isfinite(_ROUNDINGS[limbs])
