# SPDX-License-Identifier: BSD-3-Clause
"""Memory of the matrix product: bounded, aligned, and used again.

Residues take up to a hundred times the bytes of an entry's leading limb. They live in buffers that
go back to a pool, because fresh memory costs a page fault for each page, which takes longer than
filling it; and in large pages where the system has them.
"""

from __future__ import annotations

import mmap
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

__all__ = ["borrow", "limit", "new_buffer", "release_memory"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LARGE_PAGE = 1 << 21
_VARIABLE = "MDLA_GEMM_MEMORY"

_pool: list[npt.NDArray[np.int8]] = []
_lock = threading.Lock()


def limit() -> int:
    """Bytes that a matrix product may use for residues: ``MDLA_GEMM_MEMORY``, or 1 GiB.

    The variable is a number of bytes, or one followed by K, M, G or T.

    Raises:
        ValueError: It is something else.
    """
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return 1 << 30
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(i?B)?", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{_VARIABLE}={text!r} is no amount of memory; write 500M or 2G, say")
    return int(found[1]) * _UNITS[found[2].upper()]


def new_buffer(size: int) -> npt.NDArray[np.int8]:
    """Zeroed memory that begins at a page, in large pages where it is long."""
    if size <= _LARGE_PAGE:
        return np.frombuffer(_map(max(size, 1)), np.int8)
    memory = _map(size + _LARGE_PAGE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.int8)
    skip = -whole.ctypes.data % _LARGE_PAGE
    return whole[skip : skip + size]


def _map(size: int) -> mmap.mmap:
    """Memory of this process alone: by default that of a forked child would be shared with it."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


@contextmanager
def borrow(size: int) -> Iterator[npt.NDArray[np.int8]]:
    """A buffer of at least ``size`` bytes, with anything in it, until the end of the block."""
    with _lock:
        fitting = [i for i, b in enumerate(_pool) if b.size >= size]
        chosen = min(fitting, key=lambda i: _pool[i].size, default=None)
        buffer = None if chosen is None else _pool.pop(chosen)
    if buffer is None:
        buffer = new_buffer(size)
    try:
        yield buffer
    finally:
        with _lock:
            _pool.append(buffer)
            # Small ones go first: each was too small for what came later.
            _pool.sort(key=lambda b: -b.size)
            kept = 0
            for i, b in enumerate(_pool):
                kept += b.size
                if kept > limit():
                    del _pool[i:]
                    break


def _start_anew() -> None:
    """In a forked child: the lock may be held by a thread that it does not have."""
    global _lock
    _lock = threading.Lock()
    _pool.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def release_memory() -> None:
    """Give the memory that past products used back to the system."""
    with _lock:
        _pool.clear()
