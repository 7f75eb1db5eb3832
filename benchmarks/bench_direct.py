# SPDX-License-Identifier: BSD-3-Clause
"""The direct matrix product beside xprec (dd), python-flint (same bits) and NumPy (float64)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads, to_xprec

import mdla
from mdla import _native

N = size(256, 12)
BATCH = size(1000, 5)
PRECS = ["d", "dd", "td", "qd", "pd", "od", "da", "hd", "ds"]
FLINT = {"dd": 106, "qd": 212, "od": 424, "hd": 848}


def matrix(m: int, n: int, prec: str, seed: int) -> mdla.MDArray:
    """Entries in (-0.5, 0.5), all limbs filled."""
    return random_array((m, n), prec, seed) - 1.0


def info(benchmark: Any, operation: str, prec: str, n: int, peer: str, **more: Any) -> None:
    benchmark.group = f"{operation} {prec} n={n}"
    benchmark.extra_info.update(
        operation=operation, prec=prec, n=n, peer=peer, flops=2 * n**3, **more
    )


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("prec", PRECS)
def bench_matmul(benchmark: Any, prec: str, count: int) -> None:
    info(benchmark, "matmul", prec, N, "mdla", threads=count)
    a, b = matrix(N, N, prec, 3), matrix(N, N, prec, 4)
    with threads(count):
        c = benchmark(mdla.matmul, a, b)
    assert bool(mdla.all(mdla.isfinite(c)))


@pytest.mark.parametrize("kernel", ["integer", "floating"])
@pytest.mark.parametrize("prec", ["dd", "td", "qd", "od", "hd"])
def bench_kernel(benchmark: Any, prec: str, kernel: str) -> None:
    """One kernel whatever the planner thinks of it."""
    limbs = mdla.precision(prec).limbs
    n = N if limbs <= 4 or kernel == "integer" else size(64, 12)
    info(benchmark, f"{kernel} kernel", prec, n, "mdla")
    a, b = (matrix(n, n, prec, seed).limbs[:, np.newaxis] for seed in (3, 4))
    out = np.empty((limbs, 1, n, n))
    with threads(1):
        benchmark(_native.matmul_direct, out, a, b, kernel, limbs + 1)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("operation", ["matmul", "floating kernel"])
def bench_xprec(benchmark: Any, operation: str) -> None:
    pytest.importorskip("xprec")
    info(benchmark, operation, "dd", N, "xprec")
    a, b = (to_xprec(matrix(N, N, "dd", seed)) for seed in (3, 4))
    benchmark(np.matmul, a, b)


def flint_matrix(a: mdla.MDArray) -> Any:
    """The same numbers as an arb_mat: limbs are exact in it and are added exactly."""
    import flint

    parts = [flint.arb_mat(limb.tolist()) for limb in a.limbs]
    return sum(parts[1:], parts[0])


@pytest.mark.parametrize("prec", FLINT)
@pytest.mark.parametrize("operation", ["matmul", "floating kernel"])
def bench_flint(benchmark: Any, prec: str, operation: str) -> None:
    flint = pytest.importorskip("flint")
    limbs = mdla.precision(prec).limbs
    n = N if operation == "matmul" or limbs <= 4 else size(64, 12)
    info(benchmark, operation, prec, n, "python-flint")
    before, flint.ctx.prec = flint.ctx.prec, FLINT[prec]
    try:
        a, b = (flint_matrix(matrix(n, n, prec, seed)) for seed in (3, 4))
        benchmark(a.__mul__, b)
    finally:
        flint.ctx.prec = before


def bench_numpy(benchmark: Any) -> None:
    """NumPy's BLAS, for comparison with the precision d."""
    info(benchmark, "matmul", "d", N, "numpy")
    a, b = (matrix(N, N, "d", seed).to_numpy() for seed in (3, 4))
    benchmark(np.matmul, a, b)


@pytest.mark.parametrize("n", [size(16, 4), size(64, 6)])
@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_small(benchmark: Any, prec: str, n: int) -> None:
    info(benchmark, "matmul", prec, n, "mdla")
    a, b = matrix(n, n, prec, 3), matrix(n, n, prec, 4)
    with threads(1):
        benchmark(mdla.matmul, a, b)


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_batch(benchmark: Any, prec: str) -> None:
    """Many small products in one call."""
    n = size(16, 4)
    benchmark.group = f"batch of {BATCH} matmul {prec} n={n}"
    benchmark.extra_info.update(
        operation=f"batch of {BATCH} matmul", prec=prec, n=n, peer="mdla", flops=2 * BATCH * n**3
    )
    a, b = (random_array((BATCH, n, n), prec, seed) - 1.0 for seed in (3, 4))
    with threads(1):
        benchmark(mdla.matmul, a, b)


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_complex(benchmark: Any, prec: str) -> None:
    n = size(128, 8)
    info(benchmark, "complex matmul", prec, n, "mdla")
    benchmark.extra_info["flops"] = 8 * n**3
    a, b = (matrix(n, n, prec, s) + matrix(n, n, prec, s + 1) * 1j for s in (3, 5))
    with threads(1):
        benchmark(mdla.matmul, a, b)
