# SPDX-License-Identifier: BSD-3-Clause
"""Running a compiled program: at points, and at points whose coordinates are power series."""

from __future__ import annotations

import math
from collections.abc import Iterator
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
    parts, limbs = points.shape[:2]
    *batch, n = points.shape[2:]
    count = math.prod(batch)
    points = points.reshape(parts, limbs, count, n)
    values = np.zeros((parts, limbs, count, task.values))
    slopes = np.zeros((parts, limbs, count, task.derivatives))
    for some in _shares(task, count, 64, (parts * limbs) ** 2):
        _native.sweep(
            values[:, :, some],
            slopes[:, :, some],
            points[:, :, some],
            task.constants,
            task.program.steps,
            task.program.slots,
        )
    return (
        values.reshape(parts, limbs, *batch, task.values),
        slopes.reshape(parts, limbs, *batch, task.derivatives),
    )


def sweep_series(task: Task, points: Planes) -> tuple[Planes, Planes]:
    """The same where a last axis has the coefficients of series, ``(c, N, ..., n, d + 1)``.

    Trailing coefficients that are zero in all coordinates of neighbouring points cost nothing:
    polynomials of low degree are multiplied as such.
    """
    parts, limbs = points.shape[:2]
    *batch, n, length = points.shape[2:]
    count = math.prod(batch)
    points = points.reshape(parts, limbs, count, n, length)
    values = np.zeros((parts, limbs, count, task.values, length))
    slopes = np.zeros((parts, limbs, count, task.derivatives, length))
    # Eight points run side by side.
    for some in _shares(task, count, 8, (parts * limbs * max(1, length)) ** 2 / 2):
        _native.series_sweep(
            values[:, :, some],
            slopes[:, :, some],
            points[:, :, some],
            task.constants,
            task.program.steps,
            task.program.slots,
        )
    return (
        values.reshape(parts, limbs, *batch, task.values, length),
        slopes.reshape(parts, limbs, *batch, task.derivatives, length),
    )


def _shares(task: Task, count: int, least: int, work: float) -> Iterator[slice]:
    """Parts of a batch, multiples of `least` points, that take a fraction of a second each."""
    step = int(_PER_CALL / (max(1, len(task.program.steps)) * work)) // least * least
    for begin in range(0, count, max(least, step)):
        yield slice(begin, begin + max(least, step))
