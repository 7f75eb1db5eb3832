# SPDX-License-Identifier: BSD-3-Clause
"""Public benchmark systems by homotopies: root counts, times, precision against precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from config import SMOKE, size, threads

import mdla
from mdla.homotopy import TotalDegree, solve, track
from mdla.poly.families import cyclic, eco, katsura, noon

#: Systems with their numbers of isolated solutions.
SYSTEMS = [
    ("katsura", katsura, size(8, 3), size(256, 8)),
    ("noon", noon, size(5, 3), size(233, 21)),
    ("cyclic", cyclic, size(6, 3), size(156, 6)),
    ("eco", eco, size(8, 4), size(64, 4)),
    ("cyclic", cyclic, size(7, 3), size(924, 6)),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


@pytest.mark.parametrize(("name", "make", "n", "count"), SYSTEMS)
def bench_solve(benchmark: Any, name: str, make: Any, n: int, count: int) -> None:
    benchmark.group = "all isolated solutions in dd"
    benchmark.extra_info.update(operation=f"{name}-{n}", prec="dd", n=n, peer="mdla")
    found = benchmark.pedantic(solve, (make(n), "dd"), rounds=1)
    benchmark.extra_info.update(paths=len(found.paths), steps=int(found.paths.steps.sum()))
    assert len(found) == count
    assert not len(found.paths.failed)
    assert max(s.residual for s in found) < 1e-25


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def bench_precisions(benchmark: Any, prec: str) -> None:
    """The same paths in several precisions: at most 20 times as long in dd as in d is asked for."""
    n = size(6, 3)
    benchmark.group = f"paths of cyclic-{n}"
    benchmark.extra_info.update(operation=f"cyclic-{n}", prec=prec, n=n, peer="mdla")
    homotopy = TotalDegree(cyclic(n))
    paths = benchmark.pedantic(track, (homotopy, homotopy.starts, prec), rounds=1 if SMOKE else 2)
    assert not len(paths.failed)
    assert mdla.isfinite(paths.endpoints[paths.finite]).all()
