# SPDX-License-Identifier: BSD-3-Clause
"""Running a compiled program: at points, and at points whose coordinates are power series."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.poly.sweep import Program

__all__ = ["Task", "sweep_points", "sweep_series"]

Planes = npt.NDArray[Any]

# Work of one native call, in products of doubles: a fraction of a second, so that an interrupt is
# heeded in between.
_PER_CALL = 1e9


class Task(NamedTuple):
    """A program with its constants, planes ``(c, N, K)``, and how many results are what.

    Attributes:
        program: What to do, with ``values + derivatives`` results.
        constants: The constants of the program, rounded to the limbs of the points.
        values: The number m of values.
        derivatives: The number of derivatives, m n or 0.
    """

    program: Program
    constants: Planes
    values: int
    derivatives: int


def sweep_points(task: Task, points: Planes) -> tuple[Planes, Planes]:
    """Values ``(c, N, ..., m)`` and derivatives ``(c, N, ..., k)`` at points ``(c, N, ..., n)``.

    Results that no step stores are zero.
    """
    work = (points.shape[0] * points.shape[1]) ** 2
    return _swept(_native.sweep, task, points, (), 64, work)


def sweep_series(task: Task, points: Planes) -> tuple[Planes, Planes]:
    """The same where a last axis has the coefficients of series, ``(c, N, ..., n, d + 1)``.

    Trailing coefficients that are zero in all coordinates of neighbouring points cost nothing:
    polynomials of low degree are multiplied as such. Eight points run side by side.
    """
    length = points.shape[-1]
    work = (points.shape[0] * points.shape[1] * max(1, length)) ** 2 / 2
    return _swept(_native.series_sweep, task, points, (length,), 8, work)


def _swept(
    kernel: Callable[..., None],
    task: Task,
    points: Planes,
    tail: tuple[int, ...],
    least: int,
    work: float,
) -> tuple[Planes, Planes]:
    """Run a kernel on parts of a batch that take a fraction of a second each.

    Args:
        kernel: The native sweep.
        task: What to do.
        points: Planes (c, N, *batch, n, *tail).
        tail: The axes behind those of coordinates and results.
        least: Parts have multiples of so many points.
        work: Products of doubles that a step takes for one point.
    """
    planes, (*batch, n) = points.shape[:2], points.shape[2 : points.ndim - len(tail)]
    count = math.prod(batch)
    points = points.reshape(*planes, count, n, *tail)
    values = np.zeros((*planes, count, task.values, *tail))
    slopes = np.zeros((*planes, count, task.derivatives, *tail))
    step = int(_PER_CALL / (max(1, len(task.program.steps)) * work)) // least * least
    step = max(least, step)
    for begin in range(0, count, step):
        some = (slice(None), slice(None), slice(begin, begin + step))
        kernel(
            values[some],
            slopes[some],
            points[some],
            task.constants,
            task.program.steps,
            task.program.slots,
        )
    return (
        values.reshape(*planes, *batch, task.values, *tail),
        slopes.reshape(*planes, *batch, task.derivatives, *tail),
    )
