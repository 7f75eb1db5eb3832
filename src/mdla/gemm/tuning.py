# SPDX-License-Identifier: BSD-3-Clause
"""``tune="machine"``: scheme and engine by the time that the cost model predicts.

Shape and precision alone rank the pairs of scheme and engine, by what entries of about one size
would take; other entries take longer. So the first one is taken, and only where a close rival may
be faster with the entries as they are, both are looked at. Rankings are kept, because to predict
takes longer than a small product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mdla.gemm import engines, machine

if TYPE_CHECKING:
    from mdla.gemm.plan import Problem

__all__ = ["fastest"]

# Rivals within this factor are looked at.
_CLOSE = 2.0
_MOST_RANKINGS = 4096


class _Pair(NamedTuple):
    """What may be run, and the least time that it takes."""

    bound: float
    scheme: engines.Scheme
    engine: engines.Engine


# For each kind of problem the fastest pair, and the fastest of another scheme if it is close.
_rankings: dict[Any, tuple[_Pair, _Pair | None]] = {}


def fastest(
    problem: Problem, schemes: tuple[str, ...], engine: str = "auto"
) -> tuple[engines.Scheme, engines.Engine, engines.Choice]:
    """The scheme and the engine with the least predicted time, and what they do.

    Args:
        problem: The operands.
        schemes: Names of the schemes to choose from.
        engine: ``"auto"``, or the name of the only engine to choose.
    """
    here = machine.ensure_measured(_measure)
    a, b = problem.own
    left, right = problem.owners
    kind = (
        a.shape,
        b.shape,
        problem.working.limbs,
        left is None,
        right is None,
        schemes,
        engine,
        here,
    )
    ranking = _rankings.get(kind)
    if ranking is None:
        ranking = _ranked(problem, schemes, engine)
        if len(_rankings) >= _MOST_RANKINGS:
            _rankings.clear()
        _rankings[kind] = ranking
    (_, scheme, runner), rival = ranking
    choice = scheme.choose(problem)
    if rival is not None:
        seconds = runner.predict(problem, choice)
        if rival.bound < seconds:
            other = rival.scheme.choose(problem)
            if rival.engine.predict(problem, other) < seconds:
                return rival.scheme, rival.engine, other
    return scheme, runner, choice


def _ranked(problem: Problem, schemes: tuple[str, ...], engine: str) -> tuple[_Pair, _Pair | None]:
    """The fastest pair for entries of about one size, and its rival."""
    pairs = []
    for name in schemes:
        scheme = engines.scheme(name)
        typical = scheme.typical(problem) or scheme.choose(problem)
        pairs += [
            _Pair(runner.predict(problem, typical), scheme, runner)
            for runner in (*scheme.engines, *(scheme.simulated if engine != "auto" else ()))
            if runner.available() and engine in ("auto", runner.name)
        ]
    pairs.sort(key=lambda pair: pair.bound)
    first = pairs[0]
    rivals = (pair for pair in pairs if pair.scheme is not first.scheme)
    rival = next(rivals, None)
    close = rival is not None and rival.bound < _CLOSE * first.bound
    return first, rival if close else None


def _measure() -> machine.Constants:
    from mdla.gemm.calibration import measure

    constants = measure()
    _rankings.clear()
    return constants
