# SPDX-License-Identifier: BSD-3-Clause
"""From the ends of paths to results: refined end points, residuals and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.precision import Precision
from mdla.homotopy import lanes
from mdla.homotopy.corrector import correct
from mdla.homotopy.endgame import End, Ends
from mdla.homotopy.results import Paths
from mdla.homotopy.systems import Deformation
from mdla.homotopy.tracker import Front, Outcome
from mdla.linalg.refine import PRECISIONS_BY_LIMBS

__all__ = ["NO_START", "finish"]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# The limbs of the last Newton iterations, so that end points are right to their last digits.
_WIDER = {1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 8: 16, 10: 16, 16: 16}

# Below this part of the largest coordinate x_0 is zero: more than errors of ends by circles.
_ZERO = {1: 2.0**-30, 2: 2.0**-60}

# Where Newton's method does not converge at t = 1, an end with x_0 below this part of the largest
# coordinate is at infinity.
_SMALL = 2.0**-20

# The least reciprocal condition of the Jacobian of a regular end, in eps.
_SOUND = 2.0**10

_REASONS = {
    Outcome.NO_CONVERGENCE: "Newton's method does not converge in the widest precision tried",
    Outcome.TOO_MANY_STEPS: "more steps than max_steps",
    Outcome.NOT_FINITE: "numbers beyond the range of doubles",
}
_NO_SOLUTION = "its end does not solve the equations"

#: Why a path that never began has failed.
NO_START = "the start is no solution at t = 0"


def finish(front: Front, ends: Ends, started: npt.NDArray[np.bool_], prec: Precision) -> Paths:
    """The results of a front whose paths have come to their ends.

    Args:
        front: The paths.
        ends: Their ends.
        started: Which starts were solutions at t = 0.
        prec: The format of end points.
    """
    homotopy = front.homotopy
    kind = ends.kind.copy()
    regular = np.flatnonzero((kind == End.REGULAR) | ((kind == End.SINGULAR) & (ends.winding == 1)))
    accuracy = ends.accuracy.copy()
    lost = regular[~_refine(front, regular, accuracy, prec)]
    lost = lost[kind[lost] == End.REGULAR]
    kind[lost] = End.FAILED
    ends.reason[lost] = Outcome.NO_CONVERGENCE
    has_end = (kind == End.REGULAR) | (kind == End.SINGULAR)
    if homotopy.projective:
        with np.errstate(all="ignore"):
            size = lanes.magnitude(front.x[..., 0]) / lanes.largest(front.x)
        away = size <= _ZERO[min(prec.limbs, 2)]
        kind = np.where(has_end & away, End.INFINITY, kind)
        kind[lost[size[lost] < _SMALL]] = End.INFINITY
        has_end &= ~away
    finite = np.flatnonzero(has_end)
    n = len(homotopy.variables)
    endpoints = np.full((2, prec.limbs, len(front), n), np.nan)
    endpoints[:, 1:] = 0
    affine = homotopy.to_affine(front.x[:, :, finite])
    endpoints[:, :, finite] = _planes.cast(affine, prec)
    residual = np.full(len(front), np.nan)
    condition = np.full(len(front), np.nan)
    residual[finite], condition[finite] = _quality(homotopy, endpoints[:, :, finite])
    # No end is a solution only because Newton's method stood still there.
    wrong = finite[~(residual[finite] <= 2.0 ** (prec.eps_exponent / 2))]
    has_end[wrong] = False
    kind[wrong] = End.FAILED
    endpoints[:, 0, wrong] = residual[wrong] = condition[wrong] = np.nan
    endpoints[:, 1:, wrong] = 0
    status = np.select([has_end, kind == End.INFINITY], ["finite", "infinity"], "failed")
    failed = status == "failed"
    reason = np.where(failed, [_REASONS.get(Outcome(int(k)), "") for k in ends.reason], "")
    reason = np.where(failed & ~started, NO_START, reason).astype("U80")
    reason[wrong] = _NO_SOLUTION
    widest = np.array([PRECISIONS_BY_LIMBS[level.limbs].name for level in front.ladder])
    return Paths(
        MDArray(endpoints),
        status,
        np.where(failed, 0, ends.winding),
        condition,
        residual,
        np.where(has_end, accuracy, np.nan),
        front.steps,
        widest[front.level],
        reason,
        _trails(front),
    )


def _refine(
    front: Front, index: Indices, accuracy: Reals, prec: Precision
) -> npt.NDArray[np.bool_]:
    """Newton's method at t = 1 for regular ends, with more limbs than results have.

    Returns:
        Whether it converged.
    """
    limbs = _WIDER[prec.limbs]
    # Not with fewer limbs than the points have: for an ill-conditioned end that would lead astray.
    stages = dict.fromkeys((prec.limbs, limbs))
    count = len(index)
    if not count:
        return np.zeros(0, dtype=bool)
    front.renew(index)
    found = correct(
        front.homotopy,
        lanes.resized(front.x, limbs)[:, :, index],
        np.zeros((2, limbs, count)),
        None if front.patch is None else front.patch.at(index),
        tuple(stages),
        np.ones(count),
        np.full(count, 2.0**-10),
        0.9,
    )
    # At a singular Jacobian small updates say nothing.
    sound = found.converged & (found.rcond > _SOUND * 2.0**prec.eps_exponent)
    good = index[sound]
    accuracy[good] = found.update[sound]
    front.put(good, found.x[:, :, sound], np.zeros((2, 1, len(good))))
    return sound


def _quality(homotopy: Deformation, x: Planes) -> tuple[Reals, Reals]:
    """Residuals and condition numbers at points (2, N, P, n)."""
    system = homotopy.target()
    if not x.shape[2]:
        return np.zeros(0), np.zeros(0)
    wider = MDArray(lanes.resized(x, _WIDER[x.shape[1]]))
    value, jacobian = system.evaluate_and_jacobian(wider)
    with np.errstate(all="ignore"):
        reach = np.maximum(lanes.magnitude(x), np.ldexp(1.0, homotopy.units))
        size = system.majorant().evaluate(MDArray(reach[None, None])).planes[0, 0]
        found = lanes.magnitude(_planes.as_complex(value.planes))
        residual = np.where(found == 0, 0.0, found / size).max(axis=-1)
        matrix = lanes.resized(_planes.as_complex(jacobian.planes), x.shape[1])
        right = np.zeros((*matrix.shape[:4], 1))
        _, rcond = lanes.solve(np.ascontiguousarray(matrix), right)
        return residual, 1.0 / rcond


def _trails(front: Front) -> tuple[tuple[Any, Any], ...] | None:
    """The recorded points of each path as complex doubles."""
    if front.trail is None:
        return None
    found: list[list[tuple[complex, Any]]] = [[] for _ in range(len(front))]
    for index, x, tau in front.trail:
        points = MDArray(front.homotopy.to_affine(x)).to_numpy()
        times = 1.0 - MDArray(tau).to_numpy()
        for i, t, point in zip(index.tolist(), times, points, strict=True):
            found[i].append((t, point))
    n = len(front.homotopy.variables)
    return tuple(
        (
            np.array([t for t, _ in own], dtype=complex),
            np.array([point for _, point in own], dtype=complex).reshape(len(own), n),
        )
        for own in found
    )
