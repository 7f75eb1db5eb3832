# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions beside python-flint (arb) and mpmath at the bits of the same precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from config import random_array, size, threads

import mdla

PRECISIONS = ["d", "dd", "td", "qd", "pd", "od", "da", "hd", "ds"]
FUNCTIONS = ["exp", "log", "sin", "cos", "arctan", "tanh"]
COUNT = size(10_000, 100)
PEER_COUNT = size(500, 20)

_FLINT: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "arctan": lambda x: x.atan(),
    "tanh": lambda x: x.tanh(),
}
_MPMATH: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "arctan": mpmath.atan,
    "tanh": mpmath.tanh,
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def describe(benchmark: Any, name: str, prec: str, count: int, peer: str) -> None:
    benchmark.group = f"{name} {prec}"
    benchmark.extra_info.update(operation=name, prec=prec, n=count, peer=peer)


@pytest.mark.parametrize("prec", PRECISIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def bench_elementary(benchmark: Any, name: str, prec: str) -> None:
    describe(benchmark, name, prec, COUNT, "mdla")
    result = benchmark(getattr(mdla, name), random_array(COUNT, prec))
    assert result.prec == prec
    assert bool(mdla.all(mdla.isfinite(result)))


@pytest.mark.parametrize("prec", ["dd", "qd", "od", "hd"])
@pytest.mark.parametrize("name", ["exp", "log", "sin"])
def bench_elementary_complex(benchmark: Any, name: str, prec: str) -> None:
    describe(benchmark, f"complex {name}", prec, COUNT, "mdla")
    z = random_array(COUNT, prec, 3) + 1j * random_array(COUNT, prec, 4)
    benchmark(getattr(mdla, name), z)


@pytest.mark.parametrize("prec", ["dd", "qd", "od", "hd"])
def bench_arctan2(benchmark: Any, prec: str) -> None:
    describe(benchmark, "arctan2", prec, COUNT, "mdla")
    benchmark(mdla.arctan2, random_array(COUNT, prec, 3), random_array(COUNT, prec, 4))


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_largest_angles(benchmark: Any, prec: str) -> None:
    """The reduction modulo pi / 2 takes the same time for every angle."""
    describe(benchmark, "sin of 2^1000", prec, COUNT, "mdla")
    benchmark(mdla.sin, mdla.ldexp(random_array(COUNT, prec), 1000))


@pytest.mark.parametrize("prec", ["dd", "qd", "od", "hd"])
@pytest.mark.parametrize("name", FUNCTIONS)
def bench_flint(benchmark: Any, name: str, prec: str) -> None:
    describe(benchmark, name, prec, PEER_COUNT, "python-flint")
    before = flint.ctx.prec
    flint.ctx.prec = mdla.precision(prec).bits
    try:
        one, function = flint.arb(1), _FLINT[name]
        numbers = [one / 3 + x for x in np.random.default_rng(3).uniform(size=PEER_COUNT).tolist()]
        benchmark(lambda: [function(x) for x in numbers])
    finally:
        flint.ctx.prec = before


@pytest.mark.parametrize("prec", ["dd", "qd", "od", "hd"])
@pytest.mark.parametrize("name", FUNCTIONS)
def bench_mpmath(benchmark: Any, name: str, prec: str) -> None:
    describe(benchmark, name, prec, PEER_COUNT, "mpmath")
    with mpmath.workprec(mdla.precision(prec).bits):
        function = _MPMATH[name]
        third = mpmath.mpf(1) / 3
        numbers = [third + x for x in np.random.default_rng(3).uniform(size=PEER_COUNT).tolist()]
        benchmark(lambda: [function(x) for x in numbers])
