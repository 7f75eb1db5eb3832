# SPDX-License-Identifier: BSD-3-Clause
"""Results that products by residues do not give: only they change, and to what they must be."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm.direct import by_any_exponents
from mdla.gemm.plan import read_problem
from mdla.gemm.repair import repair
from mdla.gemm.residues import TILE, item_of, tasks
from tests.gemm.schemes import random

KINDS = [0.0, -0.0, 1.0, -2.5, 1e300, -1e-300, np.inf, -np.inf, np.nan]


def task_of(a, b):
    (task,) = tasks(read_problem(a, b))
    return task


def repaired(task, item):
    """What `repair` writes, and 1/8 elsewhere."""
    m, _, n = task.shape
    outs = [np.full((task.limbs, m, n), 0.125) for _ in range(task.parts)]
    repair(task, item, outs)
    return outs


@pytest.mark.parametrize("complex", [False, True])
def test_every_meeting_of_special_values(complex):
    """Each pair of kinds beside finite terms: IEEE's results, without tails."""
    pairs = list(itertools.product(KINDS, KINDS))
    x, y = (np.array([p[i] for p in pairs]) for i in range(2))
    left = np.full((1 + complex, 2, len(pairs), 3), 0.5)
    right = np.full((1 + complex, 2, 3, len(pairs)), 2.0)
    left[:, 1] = right[:, 1] = 0
    left[0, 0, :, 1], right[0, 0, 1] = x, y
    if complex:
        left[1, 0, :, 1], right[1, 0, 1] = np.roll(x, 5), np.roll(y, 3)
    a, b = mdla.MDArray(left), mdla.MDArray(right)
    task = task_of(a, b)
    outs = repaired(task, item_of(task))
    # Finite numbers by their signs: no product of them overflows, and none is lost in a sum.
    p, q = (np.where(np.isfinite(z), np.sign(z), z) for z in (a.planes[:, 0], b.planes[:, 0]))
    with np.errstate(invalid="ignore"):
        want = [_product(p[0], q[0])]
        if complex:
            want = [want[0] - _product(p[1], q[1]), _product(p[0], q[1]) + _product(p[1], q[0])]
    rows, columns = (~np.isfinite(z).all(axis=0) for z in (p, q))
    special = rows.any(axis=1)[:, np.newaxis] | columns.any(axis=0)
    for out, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(out[0][special], w[special])
        assert not np.isfinite(w[special]).any()
        assert not out[1][special].any()
        if item_of(task).far is None:
            assert (out[:, ~special] == 0.125).all()


def _product(x, y):
    return (x[:, :, np.newaxis] * y[np.newaxis]).sum(axis=1)


def test_finite_terms_do_not_overflow():
    """Terms of 1e308 times -1e308 beside an infinite one."""
    a, b = mdla.array([[1e308, np.inf]], prec="qd"), mdla.array([[-1e308], [1.0]], prec="qd")
    task = task_of(a, b)
    (out,) = repaired(task, item_of(task))
    assert out[:, 0, 0].tolist() == [np.inf, 0, 0, 0]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("prec", ["d", "dd", "od"])
def test_tiles(rng, prec, complex):
    """Those that are marked, also at the edges, by the kernels for any exponents."""
    a, b = random(rng, (70, 5), prec, complex), random(rng, (5, 100), prec, complex)
    task = task_of(a, b)
    far = np.zeros((3, 4), bool)
    far[0, 1:3] = far[1, 0] = far[2, 3] = far[2, 0] = True
    outs = repaired(task, replace(item_of(task), far=far))
    marked = np.repeat(np.repeat(far, TILE, 0), TILE, 1)[:70, :100]
    want = by_any_exponents(a.planes, b.planes, mdla.precision(prec).limbs)
    for out, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(out[:, marked], w[:, marked])
        assert (out[:, ~marked] == 0.125).all()


def test_special_lanes_of_marked_tiles(rng):
    a, b = random(rng, (40, 5), "dd"), random(rng, (5, 33), "dd")
    a[35, 2] = np.nan
    task = task_of(a, b)
    item = replace(item_of(task), far=np.ones((2, 2), bool))
    assert item.rows.exponents[35] == _native.special_lane
    (out,) = repaired(task, item)
    assert np.isnan(out[0, 35]).all()
    assert not out[1, 35].any()
    assert np.isfinite(np.delete(out, 35, axis=1)).all()
