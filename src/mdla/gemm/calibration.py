# SPDX-License-Identifier: BSD-3-Clause
"""Measures the constants of the cost model: products of small matrices, in under a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core.random import uniform
from mdla.gemm import costs, engines, machine
from mdla.gemm.plan import Problem, read_problem
from mdla.gemm.timing import stages

__all__ = ["measure"]

_MOST_ROUNDS = 9
# How much the constants of other machines count, beside one sample.
_STIFFNESS = 0.3
# The part of the overhead that is spent in each stage.
_OF_CALLS = 0.1

# Products that tell the constants of a stage apart: (precision, m, k, n).
_RESIDUES = [
    *(("d", *s) for s in [(8, 8, 8), (256, 320, 256), (480, 512, 480), (32, 1500, 32)]),
    *(("dd", *s) for s in [(96, 96, 96), (224, 256, 224), (32, 1024, 96), (512, 32, 512)]),
    *(("qd", *s) for s in [(8, 8, 8), (160, 128, 160)]),
    *(("od", *s) for s in [(8, 8, 8), (96, 64, 96)]),
]
_DIRECT = [
    *(("d", *s) for s in [(8, 8, 8), (40, 40, 40), (160, 160, 160), (8, 1024, 8), (200, 2, 200)]),
    *(("dd", *s) for s in [(4, 4, 4), (16, 16, 16), (30, 30, 30), (8, 110, 30), (4, 4, 1000)]),
    *(("dd", *s) for s in [(160, 160, 1), (1, 1000, 1), (40, 40, 1), (1, 512, 512)]),
    *(("dd", *s) for s in [(34, 34, 34), (96, 80, 96), (256, 2, 256), (8, 4000, 8)]),
    *(("dd", *s) for s in [(64, 512, 64), (128, 256, 128), (16, 4096, 16), (256, 96, 256)]),
    *(("qd", *s) for s in [(16, 16, 16), (48, 48, 48), (160, 2, 160), (96, 256, 96)]),
    *(("qd", *s) for s in [(16, 2048, 16), (4, 256, 256)]),
    *(("od", *s) for s in [(32, 32, 32), (128, 1, 128), (8, 256, 192), (64, 256, 64)]),
]


class _Sample(NamedTuple):
    """One product that is timed, and what the model says it consists of."""

    subject: str
    quantities: costs.Quantities
    run: Callable[[], Any]


def measure(budget: float = 0.9, most_engines: int = 2) -> machine.Constants:
    """Time the direct kernels and the engines of this machine with the threads in use.

    Args:
        budget: Seconds; a slow machine takes what one round of measurements needs.
        most_engines: How many engines for residues, the best first; slower ones keep the shipped
            constants, as they are never chosen.
    """
    end = time.perf_counter() + budget
    samples = [*_direct_samples(), *_residue_samples(most_engines)]
    best: list[dict[str, float]] = [{} for _ in samples]
    for turn in range(_MOST_ROUNDS):
        for sample, times in zip(samples, best, strict=True):
            if turn == 0 or time.perf_counter() < end:
                for _ in range(2):  # the first finds the caches as another sample left them
                    _keep_least(times, _timed(sample.run))
    prior = machine.shipped()
    subjects = dict.fromkeys(s.subject for s in samples)
    return {
        subject: _fitted(
            [(s.quantities, t) for s, t in zip(samples, best, strict=True) if s.subject == subject],
            prior[subject],
        )
        for subject in subjects
    }


def _direct_samples() -> list[_Sample]:
    scheme = engines.scheme("direct")
    runner = scheme.engine()
    found = []
    for prec, *shape in _DIRECT:
        a, b = _operands(prec, shape)
        problem = read_problem(a, b)
        subject, quantities = costs.direct_quantities(problem, scheme.choose(problem), 1)
        found.append(_Sample(subject, quantities, _run(scheme, runner, a, b)))
    return found


def _residue_samples(most_engines: int) -> list[_Sample]:
    scheme = engines.scheme("crt")
    found = []
    for prec, *shape in _RESIDUES:
        a, b = _operands(prec, shape)
        problem = read_problem(a, b)
        choice = scheme.choose(problem)
        for runner in [e for e in scheme.engines if e.available()][:most_engines]:
            quantities = costs.residue_quantities(runner.name, problem, choice)
            found.append(_Sample(runner.name, quantities, _run(scheme, runner, a, b)))
    return found


def _operands(prec: str, shape: list[int]) -> tuple[Any, Any]:
    m, k, n = shape
    rng = np.random.default_rng(7)
    return uniform((m, k), prec=prec, rng=rng) - 0.5, uniform((k, n), prec=prec, rng=rng) - 0.5


def _run(scheme: engines.Scheme, runner: engines.Engine, a: Any, b: Any) -> Callable[[], Any]:
    def run() -> None:
        problem: Problem = read_problem(a, b)
        runner.run(problem, scheme.choose(problem))

    return run


def _timed(run: Callable[[], Any]) -> dict[str, float]:
    with stages() as times:
        start = time.perf_counter()
        run()
        total = time.perf_counter() - start
    return {**times, "total": total}


def _keep_least(times: dict[str, float], new: dict[str, float]) -> None:
    for name, x in new.items():
        times[name] = min(x, times.get(name, x))


def _fitted(
    samples: list[tuple[costs.Quantities, dict[str, float]]], prior: Mapping[str, float]
) -> dict[str, float]:
    """Constants with which the model comes close to the times, as ratios.

    A stage has its own overhead; all of it together, and what belongs to no stage, is the overhead
    of the model.
    """
    found: dict[str, float] = {}
    left = np.array([times["total"] for _, times in samples])
    calls = [q.get("overhead", {}) for q, _ in samples]
    for stage, names in ((s, list(some)) for s, some in samples[0][0].items() if s != "overhead"):
        rows = np.array([[q[stage][name] for name in names] for q, _ in samples])
        times = np.array([t.get(stage, t["total"]) for _, t in samples])
        at_call = np.array([_OF_CALLS * sum(c[x] * prior[x] for x in c) for c in calls])
        expected = rows @ [prior[name] for name in names] + at_call
        x = _close_to([prior[name] for name in names], rows, times, at_call / expected)
        found.update(zip(names, x.tolist(), strict=True))
        left = left - rows @ x
    if calls[0]:
        names = list(calls[0])
        small = np.argsort([times["total"] for _, times in samples])[:3]
        rows = np.array([[c[name] for name in names] for c in calls])[small]
        x = _close_to([prior[n] for n in names], rows, np.maximum(left[small], 1e-6), 0.0)
        found.update(zip(names, x.tolist(), strict=True))
    return found


def _close_to(
    prior: list[float], rows: npt.NDArray[np.float64], times: npt.NDArray[np.float64], other: Any
) -> npt.NDArray[np.float64]:
    """Find x with ``rows @ x`` close to the times, in proportions close to those of others.

    What the samples do not tell apart so stays as it is elsewhere, in proportion.

    Args:
        prior: The constants of other machines.
        rows: Quantities, one row a sample.
        times: What was measured.
        other: The share of each time that is something else.
    """
    scaled = rows * prior / times[:, np.newaxis]
    wanted = np.broadcast_to(1.0 - other, times.shape)
    faster = np.median(scaled.sum(axis=1) / wanted)
    n = len(prior)
    system = np.vstack([scaled, _STIFFNESS * faster * np.eye(n)])
    x = np.linalg.lstsq(system, np.concatenate([wanted, _STIFFNESS * np.ones(n)]), rcond=None)[0]
    close: npt.NDArray[np.float64] = np.maximum(x, 0.1 / faster) * prior
    return close
