# SPDX-License-Identifier: BSD-3-Clause
"""Factorisations and solutions of large systems beside NumPy and SciPy in float64, in one run.

Rates count the operations of the direct method, 4/3 n^3 for QR without Q.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from config import size, threads

import mdla

N, LARGE = size(1024, 40), size(2048, 48)
ROWS, COLUMNS = size(2048, 60), size(512, 20)
COUNTS = sorted({1, os.cpu_count() or 1})
COUNT = pytest.mark.parametrize("count", COUNTS)


def matrix(prec: str, *shape: int, seed: int = 3) -> mdla.MDArray:
    """Normally distributed entries with all limbs filled."""
    return mdla.random.normal(size=shape, prec=prec, rng=np.random.default_rng(seed))


def conditioned(prec: str, n: int, condition: float) -> mdla.MDArray:
    """Singular values from 1 down to 1 / condition, and all limbs filled."""
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    values = np.logspace(0, -np.log10(condition), n)
    a = mdla.array(left * values, prec=prec) @ mdla.array(right, prec=prec)
    return a + matrix(prec, n, n) * (1e-6 / condition)


def measure(benchmark: Any, run: Callable[[], Any], count: int, **extra: Any) -> Any:
    """Three rounds after one to warm up, with so many threads."""
    operation, n = extra["operation"], extra["n"]
    benchmark.group = f"{operation}, n={n}, threads={count}"
    benchmark.extra_info.update(threads=count, **extra)
    with threads(count):
        return benchmark.pedantic(run, rounds=3, warmup_rounds=1)


@COUNT
@pytest.mark.parametrize("n", [N, LARGE])
def bench_qr_r_scipy(benchmark: Any, n: int, count: int) -> None:
    a = matrix("d", n, n).to_numpy()
    run = lambda: scipy.linalg.qr(a, mode="r", check_finite=False)  # noqa: E731
    measure(
        benchmark, run, count, operation="qr r", prec="d", n=n, peer="scipy", flops=4 / 3 * n**3
    )


@COUNT
@pytest.mark.parametrize(
    ("prec", "n"),
    [("d", N), ("dd", N), ("qd", N), ("od", N), ("hd", N), ("dd", LARGE), ("qd", LARGE)],
)
def bench_qr_r(benchmark: Any, prec: str, n: int, count: int) -> None:
    a = matrix(prec, n, n)
    r = measure(
        benchmark,
        lambda: mdla.qr(a, mode="r"),
        count,
        operation="qr r",
        prec=prec,
        n=n,
        peer="mdla",
        flops=4 / 3 * n**3,
    )
    bound = 20 * n * mdla.finfo(prec).eps * mdla.norm(a) ** 2
    assert mdla.norm(r.T @ r - a.T @ a) <= bound


@COUNT
@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_qr(benchmark: Any, prec: str, count: int) -> None:
    a = matrix(prec, N, N)
    extra = {"operation": "qr", "prec": prec, "n": N, "peer": "mdla", "flops": 8 / 3 * N**3}
    q, r = measure(benchmark, lambda: mdla.qr(a), count, **extra)
    assert mdla.norm(a - q @ r) <= 10 * N * mdla.finfo(prec).eps * mdla.norm(a)


@COUNT
@pytest.mark.parametrize("condition", [1e6, 1e25])
def bench_solve_numpy(benchmark: Any, condition: float, count: int) -> None:
    a, b = conditioned("d", N, condition).to_numpy(), np.ones(N)
    extra = {"operation": f"solve, cond {condition:.0e}", "prec": "d", "n": N, "peer": "numpy"}
    measure(benchmark, lambda: np.linalg.solve(a, b), count, **extra)


@COUNT
@pytest.mark.parametrize("method", ["auto", "direct"])
@pytest.mark.parametrize(
    ("prec", "condition"), [("dd", 1e6), ("qd", 1e6), ("od", 1e6), ("hd", 1e6), ("qd", 1e25)]
)
def bench_solve(benchmark: Any, prec: str, condition: float, method: str, count: int) -> None:
    a, b = conditioned(prec, N, condition), mdla.ones(N, prec=prec)
    extra = {"operation": f"solve, cond {condition:.0e}", "prec": prec, "n": N}
    run = lambda: mdla.solve(a, b, method=method)  # noqa: E731
    x = measure(benchmark, run, count, peer=f"mdla {method}", **extra)
    bound = 10 * N * mdla.finfo(prec).eps * mdla.norm(a) * mdla.norm(x)
    assert mdla.norm(a @ x - b) <= bound


@COUNT
def bench_lstsq_numpy(benchmark: Any, count: int) -> None:
    a, b = matrix("d", ROWS, COLUMNS).to_numpy(), np.ones(ROWS)
    extra = {"operation": f"lstsq, m={ROWS}", "prec": "d", "n": COLUMNS, "peer": "numpy"}
    measure(benchmark, lambda: np.linalg.lstsq(a, b, rcond=None), count, **extra)


@COUNT
@pytest.mark.parametrize("method", ["auto", "direct"])
@pytest.mark.parametrize("prec", ["dd", "qd", "od", "hd"])
def bench_lstsq(benchmark: Any, prec: str, method: str, count: int) -> None:
    a, b = matrix(prec, ROWS, COLUMNS), mdla.ones(ROWS, prec=prec)
    extra = {"operation": f"lstsq, m={ROWS}", "prec": prec, "n": COLUMNS}
    run = lambda: mdla.lstsq(a, b, method=method)  # noqa: E731
    result = measure(benchmark, run, count, peer=f"mdla {method}", **extra)
    rest = b - a @ result.x
    bound = 100 * COLUMNS * mdla.finfo(prec).eps * mdla.norm(a) * mdla.norm(b)
    assert mdla.norm(a.T @ rest) <= bound
