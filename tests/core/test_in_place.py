# SPDX-License-Identifier: BSD-3-Clause
"""What operators change: the array on the left of an augmented assignment, and nothing else."""

from __future__ import annotations

import itertools
import operator
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv"])
def test_in_place(prec, name, rng):
    a = mdla.random.normal((3, 4), prec=prec, rng=rng)
    before, view, planes = a.copy(), a[1], a.planes
    op = getattr(operator, name)
    plain = getattr(operator, name[1:])
    for other in (2, 0.5, a[0].copy(), "own", Fraction(1, 3), np.ones(4)):
        other = before if isinstance(other, str) else other
        want = plain(before, other).astype(prec)
        got = op(a, other)
        assert got is a
        assert a.planes is planes
        assert_same_bits(a, want)
        assert_same_bits(view, want[1])
        before = a.copy()


def test_in_place_details(prec):
    a = mdla.ones(3, prec)
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        a += mdla.ones((2, 3), prec)
    with pytest.raises(TypeError, match="complex"):
        a += 1j
    assert (a == 1).all()
    a += mdla.array("1/3", prec="hd")
    assert a.prec == prec
    a[1] += 5
    a[:2] *= 2
    assert float(a[1]) > 12
    z = mdla.zeros(2, prec, complex=True)
    z += 1
    assert np.array_equal(z.to_numpy(), [1, 1])


def test_in_place_on_numbers_makes_new_ones(prec):
    x = mdla.array(1, prec=prec)
    y, keys = x, {x: "one"}
    x += 1
    assert (float(x), float(y)) == (2, 1)
    assert keys[mdla.array(1)] == "one"


def test_inputs_are_unchanged(prec, rng):
    a = mdla.random.normal((3, 3), prec=prec, rng=rng)
    b = mdla.random.normal((3, 3), prec=prec, rng=rng, complex=True)
    saved = a.copy(), b.copy()
    for x, y in itertools.permutations((a, b, a.T), 2):
        for op in (operator.add, operator.sub, operator.mul, operator.truediv):
            op(x, y)
        x.sum(), x.prod(), mdla.norm2(x), x.cumsum(0), mdla.sqrt(x), x**3
    mdla.sort(a), a.max(), a.argmin()
    assert_same_bits(a, saved[0])
    assert_same_bits(b, saved[1])
