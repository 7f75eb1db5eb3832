# SPDX-License-Identifier: BSD-3-Clause
"""The direct matrix product beside xprec (dd), python-flint's arb_mat and NumPy's float64."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads, to_xprec

import mdla

N = size(256, 20)
FLOPS = 2 * N**3
BITS = {"dd": 106, "qd": 212, "od": 424, "hd": 848}
KERNELS = {"integer": ["dd", "td", "qd", "pd", "od", "da", "hd"], "floating": ["dd", "td", "qd"]}


def info(benchmark: Any, operation: str, prec: str, peer: str, used: int = 1) -> None:
    benchmark.group = f"{operation} {prec}"
    benchmark.extra_info.update(
        operation=operation, prec=prec, n=N, peer=peer, threads=used, flops=FLOPS
    )


def run_kernel(kernel: str, a: mdla.MDArray, b: mdla.MDArray) -> np.ndarray:
    """One kernel of the direct scheme, whatever the planner would choose."""
    digits = mdla.gemm.plan(a, b).digits if kernel == "integer" else 0
    out = np.empty((a.limbs.shape[0], 1, N, N))
    from mdla import _native

    _native.matmul_direct(out, a.limbs[:, None], b.limbs[:, None], kernel, digits)
    return out


@pytest.mark.parametrize("used", [1, 2])
@pytest.mark.parametrize("prec", ["d", "ds", "dd", "td", "qd", "pd", "od", "da", "hd"])
def bench_matmul(benchmark: Any, prec: str, used: int) -> None:
    a, b = random_array((N, N), prec, 3), random_array((N, N), prec, 4)
    info(benchmark, "matmul", prec, "mdla", used)
    with threads(used):
        c = benchmark(operator.matmul, a, b)
    # Column sums are a second way to the same numbers.
    gap = mdla.max(abs(mdla.sum(c, axis=0) - mdla.sum(a, axis=0) @ b))
    assert gap < 4 * N**2 * float(mdla.precision(prec).eps) * N


@pytest.mark.parametrize("prec", KERNELS["floating"])
def bench_floating_kernel(benchmark: Any, prec: str) -> None:
    a, b = random_array((N, N), prec, 3), random_array((N, N), prec, 4)
    info(benchmark, "matmul, floating kernel", prec, "mdla")
    with threads(1):
        out = benchmark(run_kernel, "floating", a, b)
    assert np.allclose(out[0, 0], (a @ b).to_numpy(), rtol=1e-14)


@pytest.mark.parametrize("operation", ["matmul", "matmul, floating kernel"])
def bench_xprec(benchmark: Any, operation: str) -> None:
    a, b = to_xprec(random_array((N, N), "dd", 3)), to_xprec(random_array((N, N), "dd", 4))
    info(benchmark, operation, "dd", "xprec")
    benchmark.pedantic(operator.matmul, (a, b), rounds=size(5, 1))


@pytest.mark.parametrize("operation", ["matmul", "matmul, floating kernel"])
@pytest.mark.parametrize("prec", BITS)
def bench_flint(benchmark: Any, operation: str, prec: str) -> None:
    import flint

    if operation != "matmul" and prec not in KERNELS["floating"]:
        pytest.skip("this kernel is not timed at that precision")
    a, b = random_array((N, N), prec, 3), random_array((N, N), prec, 4)
    info(benchmark, operation, prec, "python-flint")
    before = flint.ctx.prec
    flint.ctx.prec = BITS[prec]
    try:
        x, y = (
            flint.arb_mat(
                [
                    [sum((flint.arb(float(v)) for v in limbs), flint.arb(0)) for limbs in row]
                    for row in np.moveaxis(m.limbs, 0, -1)
                ]
            )
            for m in (a, b)
        )
        benchmark.pedantic(operator.mul, (x, y), rounds=size(3, 1))
    finally:
        flint.ctx.prec = before


def bench_float64(benchmark: Any) -> None:
    rng = np.random.default_rng(3)
    info(benchmark, "matmul", "d", "numpy (all its threads)")
    benchmark(operator.matmul, rng.uniform(size=(N, N)), rng.uniform(size=(N, N)))


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_complex(benchmark: Any, prec: str) -> None:
    a = random_array((N, N), prec, 3) + 1j * random_array((N, N), prec, 5)
    b = random_array((N, N), prec, 4) + 1j * random_array((N, N), prec, 6)
    info(benchmark, "complex matmul", prec, "mdla")
    with threads(1):
        c = benchmark(operator.matmul, a, b)
    assert c.shape == (N, N)
