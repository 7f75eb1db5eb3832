# SPDX-License-Identifier: BSD-3-Clause
"""Progress of long work, shown when it is asked for.

Public functions say whether it is, by `shown`; the loops below them report to `stage`, which costs
next to nothing when nobody looks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["shown", "stage"]

_shown: ContextVar[bool] = ContextVar("shown", default=False)


@contextmanager
def shown(asked: bool) -> Iterator[None]:
    """Stages within are shown on stderr, by tqdm where it is installed."""
    token = _shown.set(asked)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def stage(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Gives a function to be called with the number of units that were done.

    Stages within a stage are not shown.
    """
    if not _shown.get():
        yield lambda done: None
        return
    token = _shown.set(False)
    bar = _bar(label, total, unit)
    try:
        yield bar.update
    finally:
        bar.close()
        _shown.reset(token)


def _bar(label: str, total: int, unit: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(label, total, unit)
    return tqdm(total=total, desc=label, unit=f" {unit}", leave=False)


class _Line:
    """One line on stderr that is written over."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._done = 0

    def update(self, done: int) -> None:
        self._done += done
        text = f"{self._label}: {self._done}/{self._total} {self._unit}s"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(file=sys.stderr)
