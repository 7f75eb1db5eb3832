# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a matrix product goes: its stages as they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["stage", "stages"]

_record: ContextVar[dict[str, float] | None] = ContextVar("mdla_stages", default=None)


@contextmanager
def stages() -> Iterator[dict[str, float]]:
    """Collect the seconds that the stages of products take, by name, until the end of the block.

    Products by residues have the stages ``"survey"``, ``"convert A"``, ``"convert B"``,
    ``"products"``, ``"reconstruct"`` and, where some results are left to other kernels,
    ``"repair"``. Only products of the thread that opens the block are counted.

    Example:
        >>> import mdla
        >>> A = mdla.eye(32, prec="dd")
        >>> with mdla.gemm.stages() as seconds:
        ...     _ = mdla.matmul(A, A, scheme="crt")
        >>> sorted(seconds)
        ['convert A', 'convert B', 'products', 'reconstruct', 'survey']
    """
    seconds: dict[str, float] = {}
    token = _record.set(seconds)
    try:
        yield seconds
    finally:
        _record.reset(token)


class stage:  # noqa: N801 - used like the context managers of contextlib
    """A part of a product that `stages` counts under a name."""

    __slots__ = ("_begin", "_name", "_seconds")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._seconds = _record.get()
        if self._seconds is not None:
            self._begin = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._seconds is not None:
            spent = time.perf_counter() - self._begin
            self._seconds[self._name] = self._seconds.get(self._name, 0.0) + spent
