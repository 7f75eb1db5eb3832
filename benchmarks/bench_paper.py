# SPDX-License-Identifier: BSD-3-Clause
"""The quartered product of "Multiple Double Arithmetic on NVIDIA Tensor Cores": its two tables.

    OMP_NUM_THREADS=1 python benchmarks/bench_paper.py

prints the columns of Table 1 for this machine, other schemes on the same inputs beside them, and
the dimensions of Table 2. What is timed and counted:

- t_DGEMM: all products of matrices of doubles within one quartered product (the paper's t_WMMA);
- t_quartered: the whole product: cutting, making the two matrices, DGEMM, parts and sum (t_TC);
- t_direct: the direct scheme, multiple-double arithmetic on vector units (t_CUDA);
- f_DGEMM: 2 rows x inner x columns of all matrices of doubles over t_DGEMM, zeros of (4) included;
- f_direct: 2 n^3 over t_direct: one multiple-double product and one sum each count as one;
- t_crt, t_slices: other schemes on the same inputs;
- eps_max: the largest |C_quartered - C_direct|, (9).

Entries are either in (1/2, 1), so that there is one sign and one exponent group, or in (-1/2, 1/2),
so that all four products (6) and several groups take part. With 4 N quarters, as in the paper, the
first have no bits left to meet the promise; the scheme takes 4 N + 3.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
from config import SMOKE, size, threads

import mdla
from mdla.gemm import engines, quartered

SIZES = {"dd": [size(128, 8), size(256, 10), size(512, 12)], "qd": [size(128, 8), size(256, 10)]}
CASES = [(prec, sizes[1]) for prec, sizes in SIZES.items()]
# The first column of Table 1.
LONG = size(1024, 16)
ENTRIES = {"one group": (0.5, 1.0), "both signs": (-0.5, 0.5)}
# Rows and columns of A in Table 2.
TABLE_2 = {"d": (8192, 4096), "dd": (1024, 512), "qd": (512, 256), "od": (256, 128)}
TABLE_2["hd"] = (128, 64)


def matrix(n: int, prec: str, entries: str, seed: int) -> mdla.MDArray:
    """Entries of one kind, all limbs filled."""
    low, high = ENTRIES[entries]
    uniform = mdla.random.uniform((n, n), prec=prec, rng=np.random.default_rng(seed))
    return uniform * (high - low) + low


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for mdla and, where threadpoolctl is there, for NumPy's BLAS."""
    with ExitStack() as stack:
        stack.enter_context(threads(1))
        try:
            import threadpoolctl
        except ImportError:
            pass
        else:
            stack.enter_context(threadpoolctl.threadpool_limits(1))
        yield


class Recorder:
    """NumPy's product of matrices, its calls timed and counted."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.flops = 0
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        start = time.perf_counter()
        product = np.matmul(a, b)
        self.seconds += time.perf_counter() - start
        self.flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        self.shapes.append((a.shape, b.shape))
        return product


def by_quarters(
    a: mdla.MDArray, b: mdla.MDArray, parts: int, matmul: Any, variant: str = "convolute-b"
) -> mdla.MDArray:
    """The product with a given number of quarters."""
    planes = quartered.multiply(a.planes[0], b.planes[0], parts, variant, matmul)
    return mdla.MDArray(planes[np.newaxis])


def eps_max(c: mdla.MDArray, d: mdla.MDArray) -> float:
    """(9)."""
    return float(abs(c - d).max())


def others() -> dict[str, Callable[[mdla.MDArray, mdla.MDArray], mdla.MDArray]]:
    """The schemes that the quartered one is compared with."""
    names = [name for name in ("direct", "crt", "slices") if name in engines.schemes()]
    return {name: lambda a, b, s=name: mdla.matmul(a, b, scheme=s) for name in names}


# -- for pytest-benchmark ------------------------------------------------------------------------


def info(benchmark: Any, operation: str, entries: str, prec: str, n: int, **more: Any) -> None:
    benchmark.group = f"{prec} n={n}, {entries}"
    benchmark.extra_info.update(
        operation=f"{operation}, {entries}", prec=prec, n=n, peer="mdla", flops=2 * n**3, **more
    )


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize(("prec", "n"), CASES)
def bench_quartered(benchmark: Any, prec: str, n: int, entries: str) -> None:
    a, b = (matrix(n, prec, entries, seed) for seed in (3, 4))
    with one_thread():
        c = benchmark(mdla.matmul, a, b, scheme="quartered")
        recorder = Recorder()
        by_quarters(a, b, quartered.parts_for(mdla.precision(prec).limbs), recorder)
    info(benchmark, "quartered", entries, prec, n, eps_max=eps_max(c, a @ b))
    benchmark.extra_info.update(dgemm_seconds=recorder.seconds, dgemm_flops=recorder.flops)
    assert benchmark.extra_info["eps_max"] <= 2 * n * n * mdla.finfo(prec).eps


@pytest.mark.parametrize("scheme", others())
@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize(("prec", "n"), CASES)
def bench_others(benchmark: Any, prec: str, n: int, entries: str, scheme: str) -> None:
    info(benchmark, scheme, entries, prec, n)
    a, b = (matrix(n, prec, entries, seed) for seed in (3, 4))
    with one_thread():
        c = benchmark(others()[scheme], a, b)
    assert bool(mdla.all(mdla.isfinite(c)))


@pytest.mark.parametrize("prec", list(TABLE_2)[1:])
def bench_table_2(benchmark: Any, prec: str) -> None:
    """Makes the two matrices of Table 2: A convoluted, B stacked."""
    rows = benchmark(table_2, prec)
    benchmark.extra_info.update(operation="matrices of Table 2", prec=prec, n=rows, peer="mdla")


def table_2(prec: str) -> int:
    """Build the matrices of one column of Table 2 and check their dimensions."""
    scale = size(1, 16)
    top, inner = (length // scale for length in TABLE_2["d"])
    m, k = (length // scale for length in TABLE_2[prec])
    parts = 4 * mdla.precision(prec).limbs
    left = quartered.convolute_rows(np.ones((parts, m, k)))
    right = quartered.stack_rows(np.ones((parts, k, top)))
    assert left.shape == (top, inner)
    assert right.shape == (inner, top)
    return m


# -- as a script ---------------------------------------------------------------------------------


def seconds(call: Callable[[], Any], n: int) -> float:
    """The median of three runs after one; of a long one, the first."""
    times = []
    for _ in range(4 if n < LONG else 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times[-3:])


def column(prec: str, n: int, entries: str, parts: int) -> dict[str, str]:
    """One column of Table 1."""
    a, b = (matrix(n, prec, entries, seed) for seed in (3, 4))
    recorders: list[Recorder] = []
    products: list[mdla.MDArray] = []

    def run() -> None:
        recorders.append(Recorder())
        products.append(by_quarters(a, b, parts, recorders[-1]))

    whole = seconds(run, n)
    inside = statistics.median(r.seconds for r in recorders[-3:])
    times = {name: seconds(lambda f=f: f(a, b), n) for name, f in others().items()}
    reference = mdla.matmul(a, b, scheme="direct")
    return {
        "precision": prec,
        "n": str(n),
        "entries": entries,
        "quarters": str(parts),
        "t_DGEMM": f"{inside:.4f}",
        "t_quartered": f"{whole:.4f}",
        **{f"t_{name}": f"{taken:.4f}" for name, taken in times.items()},
        "f_DGEMM": f"{recorders[-1].flops / inside / 1e9:.1f}",
        "f_direct": f"{2 * n**3 / times['direct'] / 1e9:.1f}",
        "eps_max": f"{eps_max(products[-1], reference):.1e}",
    }


def print_table(rows: list[dict[str, str]]) -> None:
    """A markdown table."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|---" * len(rows[0]) + "|")
    for row in rows:
        print("| " + " | ".join(row.values()) + " |")


def main() -> None:
    """Print both tables."""
    rows = []
    with one_thread():
        for prec, n in [(prec, n) for prec, sizes in SIZES.items() for n in sizes]:
            limbs = mdla.precision(prec).limbs
            rows.append(column(prec, n, "one group", 4 * limbs))
            rows += [column(prec, n, e, quartered.parts_for(limbs)) for e in ENTRIES]
        for prec in SIZES:
            rows.append(column(prec, LONG, "one group", 4 * mdla.precision(prec).limbs))
    print("Table 1: times in seconds, f in Gflop/s, one thread\n")
    print_table(rows)
    print("\nTable 2: rows and columns of A")
    print_table([{p: f"{m} x {k}" for p, (m, k) in TABLE_2.items()}])
    for prec in list(TABLE_2)[1:]:
        table_2(prec)
    scale = " (divided by 16)" if SMOKE else ""
    print(f"built with 4 N quarters: all become 8192 x 4096, times 4096 x 8192{scale}")


if __name__ == "__main__":
    main()
