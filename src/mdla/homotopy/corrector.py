# SPDX-License-Identifier: BSD-3-Clause
"""The corrector: Newton's method at fixed t, for many paths side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.homotopy import lanes
from mdla.homotopy.predictor import bordered
from mdla.homotopy.systems import Deformation

__all__ = ["Correction", "Patch", "correct"]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

# Quadratic convergence needs no more than this in any stage.
_ITERATIONS = 4

# A stage with few limbs hands over at this power of its eps, near all that it can give.
_HANDOVER = 0.85


class Patch(NamedTuple):
    """Affine patches ``v x = c`` of projective space.

    Attributes:
        vector: v, planes (2, 1, P, n).
        value: c, planes (2, N, P).
    """

    vector: Planes
    value: Planes

    def at(self, index: Any) -> Patch:
        """The patches of some paths."""
        return Patch(self.vector[:, :, index], self.value[:, :, index])

    def residual(self, x: Planes) -> Planes:
        """``v x - c`` with the limbs of x."""
        value = lanes.resized(self.value, x.shape[1])
        return lanes.sub(lanes.dot(self.vector, x), value)


class Correction(NamedTuple):
    """What Newton's method found.

    Attributes:
        x: The points, planes (2, N, P, n).
        converged: Whether the last update was small enough.
        update: The last update's size.
        rcond: The reciprocal condition of the last Jacobian.
    """

    x: Planes
    converged: npt.NDArray[np.bool_]
    update: Reals
    rcond: Reals


def correct(
    homotopy: Deformation,
    x: Planes,
    tau: Planes,
    patch: Patch | None,
    stages: tuple[int, ...],
    separation: Reals,
    trust: Reals,
    accuracy: float,
) -> Correction:
    """Newton's method with the limbs of each stage in turn.

    An iteration solves ``J dx = -H(x)`` (with ``v (x + dx) = c`` in a patch) and adds dx. Its error
    is about ``|dx|^2 / separation``; the last stage ends when that is at most ``eps^accuracy``, the
    ones before when it is near all that their limbs can give. A path is given up when its first
    update exceeds ``trust``, or when updates stop shrinking by a factor of 4. All these are
    relative to `lanes.weights`.

    Args:
        homotopy: The homotopy.
        x: Planes (2, N, P, n), N the limbs of the last stage.
        tau: Planes (2, N, P).
        patch: The patches, or None for affine coordinates.
        stages: Numbers of limbs, ascending.
        separation: The distance at which Newton's method stops to converge, for each path.
        trust: The largest first update.
        accuracy: The exponent.
    """
    count = x.shape[2]
    x = np.array(x)
    weights = lanes.weights(x)
    alive = np.ones(count, dtype=bool)
    first = np.full(count, np.nan)
    last = np.full(count, np.inf)
    rcond = np.ones(count)
    for limbs in stages:
        eps = 2.0 ** (-52 * limbs)
        final = limbs == stages[-1]
        wanted = eps**accuracy if final else eps**_HANDOVER
        todo = np.flatnonzero(alive)
        previous = np.full(count, np.inf)
        for _ in range(_ITERATIONS):
            if not len(todo):
                break
            part = None if patch is None else patch.at(todo)
            here = lanes.resized(x, limbs)[:, :, todo]
            values, jacobian = homotopy.values_and_jacobian(
                here, lanes.resized(tau, limbs)[:, :, todo]
            )
            right = np.zeros((*here.shape, 1))
            right[..., : values.shape[3], 0] = values
            if part is not None:
                right[..., -1, 0] = part.residual(here)
            vector = None if part is None else part.vector
            dx, rcond[todo] = lanes.solve(bordered(jacobian, vector), right)
            dx = dx[..., 0]
            x[:, :, todo] = lanes.sub(x[:, :, todo], dx)
            update = lanes.largest(dx / weights[todo])
            fresh = np.isnan(first[todo])
            first[todo] = np.where(fresh, update, first[todo])
            with np.errstate(all="ignore"):
                error = update * update / np.minimum(separation[todo], 1.0)
                done = (error <= wanted) & (update < trust[todo])
                shrinks = update <= 0.25 * previous[todo]
                lost = ~done & ((fresh & ~(update <= trust[todo])) | ~shrinks)
            last[todo] = update
            previous[todo] = update
            if final:
                alive[todo[lost]] = False
            else:
                # Rounding errors may stop a narrow stage; the next one sees whether that matters.
                alive[todo[lost & ~(update <= trust[todo])]] = False
            todo = todo[~done & ~lost]
        if final:
            alive[todo] = False
    return Correction(x, alive, last, rcond)
