# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of small systems, computed side by side: the lanes of every vector are the systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native

__all__ = ["cholesky", "has_small_order", "is_small", "lstsq", "lu", "qr", "solve"]

Planes = npt.NDArray[Any]

# Up to this min(m, n) a stack is worked on side by side, beyond one matrix after the other: then
# the products of the blocked algorithm are faster than vectors over the stack.
_SMALL = {1: 64, 2: 48, 3: 48, 4: 40, 5: 24, 8: 24, 10: 24, 16: 20}

# Systems per native call, so that an interrupt is heeded in between.
_PER_CALL = 4096


def is_small(planes: Planes) -> bool:
    """Whether a stack of matrices is one for this module."""
    rows, columns = planes.shape[-2:]
    small: bool = min(rows, columns) <= _SMALL[planes.shape[1]] and max(rows, columns) <= 512
    return small


def has_small_order(planes: Planes) -> bool:
    """Whether a stack is one for `lu`, which fills up matrices to square ones."""
    short, long = sorted(planes.shape[-2:])
    small: bool = long <= min(_SMALL[planes.shape[1]], 2 * short + 8)
    return small


def _portions(count: int) -> Iterator[slice]:
    return (slice(i, i + _PER_CALL) for i in range(0, count, _PER_CALL))


def qr(a: Planes, mode: str) -> list[Planes]:
    """QR of each of the planes (c, N, B, m, n): R; Q and R; or h and tau."""
    parts, limbs, count, m, n = a.shape
    k = min(m, n)
    kept = m if mode == "complete" else k
    out: dict[str, Planes] = {}
    if mode == "raw":
        out["h"] = np.empty((parts, limbs, count, m, n))
        out["tau"] = np.empty((parts, limbs, count, k))
    else:
        if mode != "r":
            out["q"] = np.empty((parts, limbs, count, m, kept))
        out["r"] = np.empty((parts, limbs, count, kept, n))
    for some in _portions(count):
        targets = {name: p[:, :, some] for name, p in out.items()}
        _native.batched_qr(
            a[:, :, some],
            targets.get("r"),
            targets.get("q"),
            targets.get("h"),
            targets.get("tau"),
        )
    return list(out.values())


def solve(a: Planes, b: Planes) -> tuple[Planes, npt.NDArray[np.float64]]:
    """Solutions (c, N, B, n, k) and reciprocal conditions (B,) of stacked systems."""
    x = np.empty(b.shape)
    rcond = np.empty(b.shape[2])
    for some in _portions(b.shape[2]):
        _native.batched_solve(x[:, :, some], rcond[some], a[:, :, some], b[:, :, some])
    return x, rcond


def lu(a: Planes) -> tuple[Planes, npt.NDArray[np.intp]]:
    """``a[pivots] = L U`` for each of the planes (c, N, B, m, n), with partial pivoting.

    U is in the upper triangle of the planes that are returned, L without its diagonal of ones
    below; `pivots` (B, m) has all rows in their new order. Pivots have the largest absolute value
    of their column, complex ones the largest |re| + |im|, as in LAPACK; after a zero pivot the
    order of equal rows is not determined, and for m < n the pivots may then go beyond m.
    """
    parts, limbs, count, m, n = a.shape
    order = max(m, n)
    if m != n:  # with rows or columns of zeros: no pivot is chosen there
        square = np.zeros((parts, limbs, count, order, order))
        square[..., :m, :n] = a
        a = square
    out = np.empty((parts, limbs, count, order, order))
    pivots = np.empty((count, order), dtype=np.int32)
    for some in _portions(count):
        _native.batched_lu(out[:, :, some], pivots[some], a[:, :, some])
    return out[..., :m, :n], pivots[:, :m].astype(np.intp)


def cholesky(a: Planes) -> tuple[Planes, npt.NDArray[np.int32]]:
    """L with ``a = L L^H`` for each of the planes (c, N, B, n, n), whose lower triangle is read.

    Also the first column (B,) whose pivot is not positive, -1 for a positive definite matrix.
    """
    out = np.zeros(a.shape)
    failed = np.full(a.shape[2], -1, dtype=np.int32)
    for some in _portions(a.shape[2]):
        _native.batched_cholesky(out[:, :, some], failed[some], a[:, :, some])
    return out, failed


def lstsq(a: Planes, b: Planes) -> tuple[Planes, Planes, npt.NDArray[np.float64]]:
    """Least-squares solutions of full rank by QR, for planes (c, N, B, m, n) with m >= n.

    Solutions (c, N, B, n, k), the rest (c, N, B, m - n, k) of Q^H b, and reciprocal conditions
    (B,) of R. Columns should be scaled.
    """
    parts, limbs, count, m, n = a.shape
    k = b.shape[4]
    x = np.empty((parts, limbs, count, n, k))
    rest = np.empty((parts, limbs, count, m - n, k))
    rcond = np.empty(count)
    for some in _portions(count):
        _native.batched_lstsq(
            x[:, :, some], rest[:, :, some], rcond[some], a[:, :, some], b[:, :, some]
        )
    return x, rest, rcond
