# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of small systems, computed side by side: the lanes of every vector are the systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native

__all__ = ["is_small", "qr", "solve"]

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
