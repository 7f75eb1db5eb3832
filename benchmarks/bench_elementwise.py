# SPDX-License-Identifier: BSD-3-Clause
"""Elementwise operations beside xprec (dd) and beside a NumPy copy of the same bytes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads, to_xprec

import mdla

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "div": operator.truediv,
    "sqrt": np.sqrt,
}
SMALL = size(10_000, 100)
LARGE = size(1_000_000, 1000)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def operands(name: str, n: int, prec: str) -> list[mdla.MDArray]:
    a, b = random_array(n, prec, 3), random_array(n, prec, 4)
    return [a] if name == "sqrt" else [a, b]


@pytest.mark.parametrize("prec", ["d", "dd", "td", "qd", "pd", "od", "da", "hd", "ds"])
@pytest.mark.parametrize("name", OPERATIONS)
def bench_small(benchmark: Any, name: str, prec: str) -> None:
    benchmark.group = f"{name} n={SMALL}"
    benchmark.extra_info.update(operation=name, prec=prec, n=SMALL, peer="mdla")
    args = operands(name, SMALL, prec)
    result = benchmark(OPERATIONS[name], *args)
    assert result.prec == prec
    assert bool(mdla.all(mdla.isfinite(result)))


@pytest.mark.parametrize("name", OPERATIONS)
def bench_small_xprec(benchmark: Any, name: str) -> None:
    benchmark.group = f"{name} n={SMALL}"
    benchmark.extra_info.update(operation=name, prec="dd", n=SMALL, peer="xprec")
    args = [to_xprec(a) for a in operands(name, SMALL, "dd")]
    result = benchmark(OPERATIONS[name], *args)
    assert np.isfinite(result.astype(float)).all()


@pytest.mark.parametrize("prec", ["dd", "qd"])
@pytest.mark.parametrize("name", ["add", "mul"])
def bench_large(benchmark: Any, name: str, prec: str) -> None:
    benchmark.group = f"{prec} n={LARGE}"
    benchmark.extra_info.update(operation=name, prec=prec, n=LARGE, peer="mdla")
    benchmark(OPERATIONS[name], *operands(name, LARGE, prec))


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_large_copy(benchmark: Any, prec: str) -> None:
    """NumPy moves as many bytes as one binary operation reads and writes."""
    limbs = mdla.precision(prec).limbs
    benchmark.group = f"{prec} n={LARGE}"
    benchmark.extra_info.update(operation="copy", prec=prec, n=LARGE, peer="numpy")
    source = np.ones(3 * limbs * LARGE // 2)
    benchmark(source.copy)


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_sum(benchmark: Any, prec: str) -> None:
    benchmark.group = f"sum n={SMALL}"
    benchmark.extra_info.update(operation="sum", prec=prec, n=SMALL, peer="mdla")
    benchmark(mdla.sum, random_array(SMALL, prec))


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_matvec(benchmark: Any, prec: str) -> None:
    n = size(1000, 16)
    benchmark.group = f"matvec n={n}"
    benchmark.extra_info.update(operation="matvec", prec=prec, n=n, peer="mdla")
    benchmark(mdla.matmul, random_array((n, n), prec), random_array(n, prec))


def bench_matvec_float64(benchmark: Any) -> None:
    n = size(1000, 16)
    benchmark.group = f"matvec n={n}"
    benchmark.extra_info.update(operation="matvec", prec="d", n=n, peer="numpy")
    rng = np.random.default_rng(5)
    benchmark(np.matmul, rng.uniform(size=(n, n)), rng.uniform(size=n))
