# SPDX-License-Identifier: BSD-3-Clause
"""The native entry points refuse what would reach memory that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from mdla import _native
from tests.test_native_fuzz import LIMBS, guarded, random_planes, strided


def planes(*shape, parts=1, limbs=2):
    return np.ones((parts, limbs, *shape))


def read_only(a):
    a.flags.writeable = False
    return a


BAD_CALLS = {
    "panel of a vector": lambda: _native.qr_panel(planes(3), 1),
    "panel with too many reflectors": lambda: _native.qr_panel(planes(3, 2), 3),
    "panel with a negative count": lambda: _native.qr_panel(planes(3, 2), -1),
    "panel of integers": lambda: _native.qr_panel(np.ones((1, 2, 3, 3), dtype=int), 1),
    "panel of floats": lambda: _native.qr_panel(np.ones((1, 2, 3, 3), dtype=np.float32), 1),
    "panel of 7 limbs": lambda: _native.qr_panel(planes(3, 2, limbs=7), 1),
    "panel of 3 parts": lambda: _native.qr_panel(planes(3, 2, parts=3), 1),
    "panel that is read-only": lambda: _native.qr_panel(read_only(planes(3, 2)), 1),
    "block that is wide": lambda: _native.qr_block(planes(2, 3), planes(3, 3), planes(2, 3), 1),
    "block with another V": lambda: _native.qr_block(planes(3, 3), planes(3, 3), planes(4, 3), 1),
    "block with another T": lambda: _native.qr_block(planes(4, 3), planes(1, 3), planes(4, 3), 1),
    "block with other parts": lambda: _native.qr_block(
        planes(4, 3, parts=2), planes(3, 3), planes(4, 3), 1
    ),
    "block with no leaf": lambda: _native.qr_block(planes(4, 3), planes(3, 3), planes(4, 3), 0),
    "block by columns": lambda: _native.qr_block(
        planes(4, 3), planes(3, 3), planes(3, 4).swapaxes(2, 3), 1
    ),
    "signed elimination of a wide matrix": lambda: _native.signed_lu_leaf(planes(2, 3)),
    "signed elimination of what is read-only": lambda: _native.signed_lu_leaf(
        read_only(planes(2, 2))
    ),
    "triangle that is not square": lambda: _native.substitute(
        planes(2, 3), planes(2, 1), True, False
    ),
    "triangle and other rows": lambda: _native.substitute(planes(2, 2), planes(3, 1), True, False),
    "triangle and other limbs": lambda: _native.substitute(
        planes(2, 2), planes(2, 1, limbs=4), True, False
    ),
    "stacks that differ": lambda: _native.substitute(planes(2, 2, 2), planes(3, 2, 1), True, False),
    "stack and matrix": lambda: _native.substitute(planes(2, 2, 2), planes(2, 1), True, False),
    "difference of shapes": lambda: _native.subtract_in_place(planes(2, 2), planes(2, 3)),
    "difference by columns": lambda: _native.subtract_in_place(
        planes(2, 3).swapaxes(2, 3), planes(3, 2)
    ),
    "LU block that is wide": lambda: _native.lu_block(planes(2, 3), 1),
    "LU block with no leaf": lambda: _native.lu_block(planes(3, 3), 0),
    "LU block by columns": lambda: _native.lu_block(planes(3, 3).swapaxes(2, 3), 1),
    "LU block that is read-only": lambda: _native.lu_block(read_only(planes(3, 2)), 1),
    "Cholesky of a wide matrix": lambda: _native.cholesky_leaf(planes(2, 3)),
    "pivot beyond the rows": lambda: _native.exchange_rows(planes(2, 2), [0, 2]),
    "pivot below zero": lambda: _native.exchange_rows(planes(2, 2), [-1]),
    "more pivots than rows": lambda: _native.exchange_rows(planes(2, 2), [0, 1, 1]),
    "triangle by columns": lambda: _native.substitute_block(
        planes(3, 3), planes(2, 3).swapaxes(2, 3), True, False
    ),
    "block of other rows": lambda: _native.substitute_block(
        planes(2, 2), planes(3, 2), True, False
    ),
    "condition of wide factors": lambda: _native.reciprocal_condition_lu(planes(2, 3), 1.0),
    "condition of a wide matrix": lambda: _native.reciprocal_condition(planes(2, 3)),
    "order of a vector": lambda: _native.pivot_order(planes(2), 0.5, 1),
    "batch of one matrix": lambda: _native.batched_qr(planes(2, 2), None, None, None, None),
    "batch with a short R": lambda: _native.batched_qr(
        planes(5, 3, 2), planes(5, 1, 2), None, None, None
    ),
    "batch with other Q": lambda: _native.batched_qr(
        planes(5, 3, 2), None, planes(5, 3, 1), None, None
    ),
    "batch with other h": lambda: _native.batched_qr(
        planes(5, 3, 2), None, None, planes(4, 3, 2), None
    ),
    "batch with other tau": lambda: _native.batched_qr(
        planes(5, 3, 2), None, None, None, planes(5, 3)
    ),
    "batch of wide systems": lambda: _native.batched_solve(
        planes(5, 2, 1), np.ones(5), planes(5, 2, 3), planes(5, 2, 1)
    ),
    "batch of other right-hand sides": lambda: _native.batched_solve(
        planes(5, 2, 1), np.ones(5), planes(5, 2, 2), planes(4, 2, 1)
    ),
    "batch with few conditions": lambda: _native.batched_solve(
        planes(5, 2, 1), np.ones(4), planes(5, 2, 2), planes(5, 2, 1)
    ),
    "batched LU of wide matrices": lambda: _native.batched_lu(
        planes(5, 2, 3), np.ones((5, 3), dtype=np.int32), planes(5, 2, 3)
    ),
    "batched LU with few pivots": lambda: _native.batched_lu(
        planes(5, 2, 2), np.ones((5, 1), dtype=np.int32), planes(5, 2, 2)
    ),
    "batched LU with long pivots": lambda: _native.batched_lu(
        planes(5, 2, 2), np.ones((5, 2), dtype=np.int64), planes(5, 2, 2)
    ),
    "batched Cholesky of another shape": lambda: _native.batched_cholesky(
        planes(4, 2, 2), np.ones(5, dtype=np.int32), planes(5, 2, 2)
    ),
    "batched Cholesky with few results": lambda: _native.batched_cholesky(
        planes(5, 2, 2), np.ones(4, dtype=np.int32), planes(5, 2, 2)
    ),
    "wide batched least squares": lambda: _native.batched_lstsq(
        planes(5, 3, 1), planes(5, 0, 1), np.ones(5), planes(5, 2, 3), planes(5, 2, 1)
    ),
    "batched least squares with another rest": lambda: _native.batched_lstsq(
        planes(5, 2, 1), planes(5, 2, 1), np.ones(5), planes(5, 3, 2), planes(5, 3, 1)
    ),
    "batched least squares with few conditions": lambda: _native.batched_lstsq(
        planes(5, 2, 1), planes(5, 1, 1), np.ones(4), planes(5, 3, 2), planes(5, 3, 1)
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls(name):
    with pytest.raises((ValueError, TypeError, BufferError)):
        BAD_CALLS[name]()


def test_condition_of_triangles(rng):
    for n in (1, 3, 48, 49, 120):
        for parts in (1, 2):
            r = rng.standard_normal((parts, n, n)) + np.where(np.eye(n) > 0, 4.0 * np.sqrt(n), 0)
            complex_ = np.triu(r[0] + (1j * r[1] if parts == 2 else 0))
            want = 1 / np.linalg.cond(complex_, 1)
            got = _native.reciprocal_condition(r[:, np.newaxis])
            # Real and imaginary parts count by their sum, and large inverses are estimated.
            assert want / 2.5 <= got <= want * (3 if n > 48 else 1.0001)


def test_condition_of_odd_triangles():
    assert _native.reciprocal_condition(np.zeros((1, 1, 0, 0))) == 1
    assert _native.reciprocal_condition(np.zeros((1, 1, 2, 2))) == 0
    assert np.isnan(_native.reciprocal_condition(np.full((1, 1, 2, 2), np.nan)))
    tiny = np.diag([1.0, 1e-300, 1e300])[np.newaxis, np.newaxis]
    assert 0 <= _native.reciprocal_condition(tiny) < 1e-300


def test_pivot_order(rng):
    a = np.array([[3.0, 0, 4, 0], [0, 1, 0, 0], [0, 0, 0, 2]])[np.newaxis, np.newaxis]
    assert _native.pivot_order(a, 1e-3, 3) == (3, [2, 3, 1, 0])
    assert _native.pivot_order(a, 1e-3, 2)[0] == 2
    with pytest.raises(ValueError, match="negative"):
        _native.pivot_order(a, 1e-3, -1)
    assert _native.pivot_order(0 * a, 1e-3, 3)[0] == 0
    assert _native.pivot_order(np.full((1, 1, 2, 2), np.nan), 1e-3, 2)[0] == 0
    assert _native.pivot_order(np.diag([1.0, 1e-9])[np.newaxis, np.newaxis], 1e-3, 2)[0] == 1


@pytest.mark.parametrize("limbs", LIMBS)
def test_any_values_between_guard_pages(limbs):
    """Special values, odd strides, arrays that end where memory ends: no crash, no hang."""
    rng = np.random.default_rng(limbs)

    def given(*shape, parts):
        return strided(rng, random_planes(rng, (parts, limbs, *shape), wild=True))

    def result(*shape, parts):
        zeros = np.zeros((parts, limbs, *shape))
        return guarded(zeros) if zeros.size else zeros

    sizes = (0, 1, 3, 8, 9) if limbs > 5 else (0, 1, 3, 8, 9, 17, 40)
    for _ in range(30):
        m, n = (int(v) for v in rng.choice(sizes, 2))
        count, k, parts = (
            int(v) for v in (rng.choice([0, 1, 3, 9]), rng.choice([0, 1, 3, 9]), rng.choice([1, 2]))
        )
        tall, wide = max(m, n), min(m, n)
        a = given(m, n, parts=parts)
        before = a.copy()
        _native.pivot_order(a, 2.0**-20, int(rng.integers(0, 9)))
        _native.reciprocal_condition(given(n, n, parts=parts))
        stack = given(count, m, n, parts=parts)
        square, right = given(count, n, n, parts=parts), given(count, n, k, parts=parts)
        _native.batched_solve(result(count, n, k, parts=parts), np.zeros(count), square, right)
        pivots, failed = np.zeros((count, n), dtype=np.int32), np.zeros(count, dtype=np.int32)
        _native.batched_lu(result(count, n, n, parts=parts), pivots, square)
        _native.batched_cholesky(result(count, n, n, parts=parts), failed, square)
        _native.batched_lstsq(
            result(count, wide, k, parts=parts),
            result(count, tall - wide, k, parts=parts),
            np.zeros(count),
            given(count, tall, wide, parts=parts),
            given(count, tall, k, parts=parts),
        )
        q = result(count, m, int(rng.choice([m, wide])), parts=parts)
        r = result(count, int(rng.choice([m, wide])), n, parts=parts)
        h, tau = result(count, m, n, parts=parts), result(count, wide, parts=parts)
        _native.batched_qr(stack, r, q, h, tau)
        lower, unit = (bool(v) for v in rng.integers(0, 2, 2))
        _native.substitute(given(n, n, parts=parts), result(n, k, parts=parts), lower, unit)
        _native.substitute(square, result(count, n, k, parts=parts), lower, unit)
        _native.qr_panel(result(m, n, parts=parts) + a, int(rng.integers(0, wide + 1)))
        v, t = result(tall, wide, parts=parts), result(wide, wide, parts=parts)
        block = (
            guarded(random_planes(rng, (parts, limbs, tall, wide), wild=True)) if wide else v.copy()
        )
        _native.qr_block(v, t, block, int(rng.choice([1, 2, 8])))
        _native.signed_lu_leaf(result(n, n, parts=parts) + given(n, n, parts=parts))
        _native.subtract_in_place(result(m, n, parts=parts), np.ascontiguousarray(a))
        np.testing.assert_array_equal(a, before)
