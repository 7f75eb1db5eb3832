# SPDX-License-Identifier: BSD-3-Clause
"""The matrix product on matrix engines: against NumPy's DGEMM, by stages, and how well it is tuned.

Rates count 2 m n k operations, also for complex factors. Besides its benchmarks this file has two
commands, for a machine that does nothing else:

    python benchmarks/bench_gemm.py crossover   prints the thresholds of mdla.gemm.plan, in a minute
    python benchmarks/bench_gemm.py constants   writes src/mdla/gemm/cost_tables.py
"""

from __future__ import annotations

import functools
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from config import SMOKE, size, threads, to_xprec

import mdla
from mdla import _native
from mdla.gemm import engines

PRECS = ["d", "dd", "td", "qd", "pd", "od", "da", "hd"]
SIZES = [size(512, 8), size(1024, 12), size(2048, 16), size(4096, 20)]
ALL = os.cpu_count() or 1
COUNTS = sorted({1, ALL})
RESIDUE_ENGINES = [e.name for e in engines.scheme("crt").engines if e.available()]
FLINT = {"dd": 106, "qd": 212, "od": 424, "hd": 848}
# Seconds that one product may be predicted to take; other engines than the best get fewer.
LONGEST, LONGEST_OTHER = 60.0, 1.0


@functools.lru_cache(maxsize=4)
def matrix(
    m: int, n: int, prec: str, seed: int, entries: str = "uniform", parts: int = 1
) -> mdla.MDArray:
    """Random entries with all limbs filled: in (-0.5, 0.5), or normally distributed."""
    rng = np.random.default_rng(seed)

    def part() -> mdla.MDArray:
        if entries == "normal":
            return mdla.random.normal(size=(m, n), prec=prec, rng=rng)
        return mdla.random.uniform((m, n), prec=prec, rng=rng) - 0.5

    return part() if parts == 1 else part() + part() * 1j


def measure(benchmark: Any, run: Callable[[], Any], predicted: float) -> Any:
    """Time with as many rounds as fit about a second, at least one."""
    rounds = max(1, min(15, int(1.5 / max(predicted, 1e-3))))
    return benchmark.pedantic(run, rounds=rounds, warmup_rounds=1 if predicted < 5 else 0)


def stages_of(run: Callable[[], Any]) -> dict[str, float]:
    """Seconds of each stage of one run."""
    with mdla.gemm.stages() as seconds:
        run()
    return dict(seconds)


def info(benchmark: Any, operation: str, prec: str, n: int, peer: str, **more: Any) -> None:
    benchmark.group = f"{operation} {prec} n={n}"
    benchmark.extra_info.update(
        {"operation": operation, "prec": prec, "n": n, "peer": peer, "flops": 2 * n**3, **more}
    )


# -- against DGEMM --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", SIZES)
def bench_dgemm(benchmark: Any, n: int, count: int) -> None:
    """NumPy's BLAS with the same number of threads."""
    pytest.importorskip("threadpoolctl")
    info(benchmark, "square", "d", n, "numpy", threads=count)
    a, b = (matrix(n, n, "d", seed).to_numpy() for seed in (3, 4))
    with threads(count):
        measure(benchmark, lambda: a @ b, 2 * n**3 / 50e9)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("engine", [*RESIDUE_ENGINES, "simd"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("prec", PRECS)
def bench_square(benchmark: Any, prec: str, n: int, engine: str, count: int) -> None:
    """Every engine, and the direct scheme, where it does not take long."""
    info(benchmark, "square", prec, n, "mdla", engine=engine, threads=count)
    with threads(count):
        a, b = (matrix(n, n, prec, seed) for seed in (3, 4))
        run = product(a, b, scheme="direct" if engine == "simd" else "crt", engine=engine)
        predicted = mdla.gemm.plan(a, b, **run.options).seconds
        if predicted > (LONGEST if engine == RESIDUE_ENGINES[0] else LONGEST_OTHER):
            pytest.skip(f"about {predicted:.0f} s")
        c = measure(benchmark, run, predicted)
        benchmark.extra_info["stages"] = stages_of(run)
        benchmark.extra_info["predicted"] = predicted
    assert bool(mdla.all(mdla.isfinite(c)))


class product:  # noqa: N801 - a function with its arguments
    """A product that can be run many times."""

    def __init__(self, a: Any, b: Any, **options: str) -> None:
        self.a, self.b, self.options = a, b, options

    def __call__(self) -> mdla.MDArray:
        return mdla.matmul(self.a, self.b, **self.options)


@pytest.mark.parametrize("entries", ["uniform", "normal"])
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def bench_entries(benchmark: Any, prec: str, entries: str) -> None:
    """Normally distributed entries need a few bits more than uniform ones."""
    n = SIZES[1]
    info(benchmark, f"{entries} entries", prec, n, "mdla")
    with threads(1):
        run = product(*(matrix(n, n, prec, s, entries) for s in (3, 4)), scheme="crt")
        plan = mdla.gemm.plan(run.a, run.b, scheme="crt")
        benchmark.extra_info["products"] = plan.products
        measure(benchmark, run, plan.seconds)


# -- complex factors, skinny updates, peers ------------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
@pytest.mark.parametrize("parts", [1, 2])
def bench_complex(benchmark: Any, prec: str, parts: int) -> None:
    n = SIZES[1]
    info(benchmark, "complex" if parts == 2 else "real", prec, n, "mdla")
    with threads(1):
        run = product(*(matrix(n, n, prec, s, parts=parts) for s in (3, 4)), scheme="crt")
        measure(benchmark, run, mdla.gemm.plan(run.a, run.b, scheme="crt").seconds)
        benchmark.extra_info["stages"] = stages_of(run)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("k", [size(32, 3), size(64, 4), size(128, 5), size(1024, 12)])
def bench_skinny(benchmark: Any, k: int, count: int) -> None:
    """``C - V W`` in place with V prepared, and the square update that it is compared with."""
    n, prec = SIZES[1], "dd"
    info(benchmark, f"update, k = {k}", prec, n, "mdla", threads=count, flops=2 * n * n * k, k=k)
    with threads(count):
        v = mdla.gemm.prepare(matrix(n, k, prec, 3))
        w, c = matrix(k, n, prec, 4), matrix(n, n, prec, 5).copy()

        def run() -> None:
            mdla.gemm.update(c, v, w, alpha=-1, scheme="crt")

        measure(benchmark, run, 0.05)
        benchmark.extra_info["stages"] = stages_of(run)


@pytest.mark.parametrize("prec", FLINT)
def bench_beside_peers(benchmark: Any, prec: str) -> None:
    n = SIZES[0]
    info(benchmark, "beside peers", prec, n, "mdla")
    a, b = (matrix(n, n, prec, seed) for seed in (3, 4))
    with threads(1):
        measure(benchmark, product(a, b), mdla.gemm.plan(a, b).seconds)


def bench_xprec(benchmark: Any) -> None:
    pytest.importorskip("xprec")
    n = SIZES[0]
    info(benchmark, "beside peers", "dd", n, "xprec")
    a, b = (to_xprec(matrix(n, n, "dd", seed)) for seed in (3, 4))
    benchmark.pedantic(lambda: a @ b, rounds=1)


@pytest.mark.parametrize("prec", FLINT)
def bench_flint(benchmark: Any, prec: str) -> None:
    flint = pytest.importorskip("flint")
    n = SIZES[0]
    info(benchmark, "beside peers", prec, n, "python-flint")

    def arb(seed: int) -> Any:
        parts = [flint.arb_mat(limb.tolist()) for limb in matrix(n, n, prec, seed).limbs]
        return sum(parts[1:], parts[0])

    before, flint.ctx.prec = flint.ctx.prec, FLINT[prec]
    try:
        a, b = arb(3), arb(4)
        benchmark.pedantic(a.__mul__, args=(b,), rounds=1)
    finally:
        flint.ctx.prec = before


# -- what tune="machine" chooses -----------------------------------------------------------------

SQUARES = [16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048]
TALL = [(4096, 64, 64), (64, 64, 4096), (2048, 32, 32), (2048, 256, 64), (8, 512, 512)]
WIDE = [(512, 512, 8), (1, 512, 512), (512, 512, 1), (100, 1000, 10)]
THIN = [(512, k, 512) for k in (1, 2, 4, 8, 16, 32, 64)]
LONG = [(32, 2048, 32), (16, 8192, 16), (64, 16384, 64), (128, 65536, 16)]
SHAPES = [*((n, n, n) for n in SQUARES), *TALL, *WIDE, *THIN, *LONG]
PAIRS = [("direct", "simd"), *(("crt", e) for e in RESIDUE_ENGINES)]


@pytest.mark.parametrize("shape", SHAPES if not SMOKE else [(4, 4, 4), (33, 5, 34)], ids=str)
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def bench_tuned(benchmark: Any, prec: str, shape: tuple[int, int, int]) -> None:
    """The choice by predicted time against every pair of scheme and engine.

    But for those that take long and are predicted to be far behind.
    """
    m, k, n = shape
    info(benchmark, "tuned", prec, n, "mdla", shape=list(shape), flops=2 * m * k * n)
    with threads(1):
        a, b = matrix(m, k, prec, 3), matrix(k, n, prec, 4)
        plan = mdla.gemm.plan(a, b, tune="machine")
        runs = {"tuned": product(a, b, tune="machine")}
        for scheme, engine in PAIRS:
            rival = product(a, b, scheme=scheme, engine=engine)
            predicted = mdla.gemm.plan(a, b, **rival.options).seconds
            if predicted < max(0.5, 2.5 * plan.seconds):
                runs[f"{scheme} {engine}"] = rival
        least = race(runs)
        benchmark.pedantic(runs["tuned"], rounds=1)
    tuned = least.pop("tuned")
    best = min(least, key=lambda name: least[name])
    benchmark.extra_info.update(
        chosen=f"{plan.scheme} {plan.engine}", best=best, ratio=tuned / least[best], tuned=tuned
    )


def race(runs: dict[str, Callable[[], Any]], budget: float = 0.4) -> dict[str, float]:
    """The least seconds of each, in turns; those that are far behind run twice.

    The order changes, because a run finds the memory as the one before has left it.
    """
    least = {name: min(seconds_of(run) for _ in range(2)) for name, run in runs.items()}
    end = time.perf_counter() + budget
    rng = np.random.default_rng(3)
    for _ in range(20):
        close = [name for name, t in least.items() if t < 2.5 * min(least.values())]
        for name in rng.permutation(close):
            least[name] = min(least[name], seconds_of(runs[name]))
        if time.perf_counter() > end:
            break
    return least


def seconds_of(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# -- the commands --------------------------------------------------------------------------------


def crossover() -> None:
    """Print, for each number of limbs, from which order and least side on residues are faster."""
    with threads(1):
        for parts in (1, 2):
            print("_COMPLEX_THRESHOLDS = {" if parts == 2 else "_THRESHOLDS = {")
            for prec in PRECS:
                limbs = mdla.precision(prec).limbs
                x = 768 if limbs == 1 else 512 if limbs <= 4 else 256
                order = first(lambda n: (n, n, n), 32, 1024, prec, parts)
                most = max(order, 64)
                thin = first(lambda k, x=x: (x, k, x), 8, most, prec, parts)
                flat = first(lambda m, x=x: (m, x, x), 8, most, prec, parts)
                print(f"    {limbs}: ({order}, {max(thin, flat)}),  # {prec}: {thin}, {flat}")
            print("}")


def first(
    shape: Callable[[int], tuple[int, int, int]], low: int, high: int, prec: str, parts: int
) -> int:
    """About the least number, in steps of an eighth, from which on residues win; or the last."""
    while high - low > max(8, low // 8):
        middle = round(math.sqrt(low * high) / 8) * 8
        middle = min(max(middle, low + 8), high - 1)
        low, high = (low, middle) if wins(shape(middle), prec, parts) else (middle, high)
    return high


def wins(shape: tuple[int, int, int], prec: str, parts: int) -> bool:
    """Whether residues are faster than the direct scheme."""
    m, k, n = shape
    a, b = (matrix(*s, prec, 3, parts=parts) for s in ((m, k), (k, n)))
    runs = {name: product(a, b, scheme=name) for name in ("direct", "crt")}
    least = race(runs, budget=0.06)
    return least["crt"] < least["direct"]


HEAD = '''# SPDX-License-Identifier: BSD-3-Clause
"""Constants of the cost model as they are shipped: seconds on one thread, by instruction set.

Written by ``python benchmarks/bench_gemm.py constants``.
"""

from __future__ import annotations

__all__ = ["SHIPPED"]

SHIPPED: dict[str, dict[str, dict[str, float]]] = {'''


def constants() -> None:
    """Measure every instruction set and engine of this machine on one thread; write the table."""
    from mdla.gemm import calibration, cost_tables

    table = {name: dict(some) for name, some in cost_tables.SHIPPED.items()}
    before = _native.level()
    try:
        with threads(1):
            for level in _native.levels():
                _native.set_level(level)
                for subject, values in calibration.measure(6.0, 9).items():
                    place = "engines" if subject.startswith("int8-") else level
                    table[place][subject] = dict(values)
    finally:
        _native.set_level(before)
    table["portable"] = table["v2"]
    lines = [HEAD]
    for name, some in table.items():
        lines.append(f'    "{name}": {{')
        for subject, values in some.items():
            lines.append(f'        "{subject}": {{')
            lines += [f'            "{x}": {value:.3g},' for x, value in values.items()]
            lines.append("        },")
        lines.append("    },")
    lines.append("}\n")
    path = os.path.join(os.path.dirname(__file__), "..", "src", "mdla", "gemm", "cost_tables.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    {"crossover": crossover, "constants": constants}[sys.argv[1]]()
