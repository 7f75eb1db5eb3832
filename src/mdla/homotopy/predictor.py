# SPDX-License-Identifier: BSD-3-Clause
"""The predictor: the power series of a path, its Padé approximants, and how far they reach.

At a point of each path the solution x(s) of ``H(x(s), tau + s direction) = 0`` is expanded to
degree 7. With c_k its coefficients, the approximant [5/1] of each coordinate is ::

    x(s) ~ c_0 + c_1 s + ... + c_5 s^5 + c_6 s^6 / (1 + q s),    q = -c_6 / c_5

its pole, at distance ``|c_5 / c_6|``, estimates that of the nearest singularity of the path
(theorem of Fabry), and ``(c_7 + q c_6) s^7`` is the first term of its error. The step follows from
both before it is taken (S. Telen, M. Van Barel, J. Verschelde, "A robust numerical path tracking
algorithm for polynomial homotopy continuation", SIAM J. Sci. Comput. 42 (2020) A3610-A3637,
algorithm 4.1): a fraction of the distance to the pole, and an error that is a fraction of the
distance to the nearest other path, which the curvature of H bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.homotopy import lanes
from mdla.homotopy.systems import Deformation

__all__ = ["DEGREE", "Expansion", "expand", "predict", "step_length"]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

#: The degree of the series: [5/1] and one coefficient more for the error.
DEGREE = 7

# Coefficients below this part of the largest of the vector are rounding errors to a degree that
# their quotients say nothing.
_NOISE = 2.0**-36

# The difference that takes second derivatives, half the bits of a double.
_DIFFERENCE = 2.0**-24


class Expansion(NamedTuple):
    """The series at a point of each of P paths, with what follows from them.

    Attributes:
        coefficients: Planes (2, N, P, n, DEGREE + 1).
        ratio: q of the approximants, planes (2, N, P, n).
        place: The nearest pole, planes (2, 1, P).
        pole: Its distance.
        error: The size of the error's leading coefficient, in the units of `lanes.weights`.
        separation: A bound on the distance to the nearest other path, in the same units.
        rcond: The reciprocal condition of the Jacobian.
    """

    coefficients: Planes
    ratio: Planes
    place: Planes
    pole: Reals
    error: Reals
    separation: Reals
    rcond: Reals

    def at(self, index: Any) -> Expansion:
        """The paths of an index."""
        return Expansion(
            self.coefficients[:, :, index],
            self.ratio[:, :, index],
            self.place[:, :, index],
            self.pole[index],
            self.error[index],
            self.separation[index],
            self.rcond[index],
        )

    def put(self, index: Any, other: Expansion) -> None:
        """Replace the paths of an index."""
        self.coefficients[:, :, index] = other.coefficients
        self.ratio[:, :, index] = other.ratio
        self.place[:, :, index] = other.place
        self.pole[index] = other.pole
        self.error[index] = other.error
        self.separation[index] = other.separation
        self.rcond[index] = other.rcond


def expand(
    homotopy: Deformation, x: Planes, tau: Planes, direction: Planes, patch: Planes | None
) -> Expansion:
    """The expansions at x (2, N, P, n), tau (2, N, P), along directions (2, 1, P).

    The coefficients follow order by order from the Jacobian at the point,
    ``J c_k = -[s^k] H(c_0 + ... + c_(k-1) s^(k-1), tau + s direction)``, in a patch with
    ``v c_k = 0``.
    """
    limbs, count, n = x.shape[1:]
    _, jacobian = homotopy.values_and_jacobian(x, tau)
    inverse, curvature, rcond = _invert(homotopy, x, tau, jacobian, patch)
    m = jacobian.shape[3]
    series = np.zeros((2, limbs, count, n, DEGREE + 1))
    series[..., 0] = x
    inverse = np.ascontiguousarray(inverse[..., :m])
    along = homotopy.along(tau, direction)
    for k in range(1, DEGREE + 1):
        rest = homotopy.coefficient(np.ascontiguousarray(series[..., : k + 1]), along)
        series[..., k] = -lanes.matvec(inverse, rest)
    weights = lanes.weights(x)
    five, six, seven = (series[..., k] / weights for k in (5, 6, 7))
    size5, size6 = lanes.magnitude(five), lanes.magnitude(six)
    with np.errstate(all="ignore"):
        known = (size5 > _NOISE * size5.max(axis=-1, keepdims=True)) & (
            size6 > _NOISE * size6.max(axis=-1, keepdims=True)
        )
        ratio = np.where(known, -lanes.div(six, np.where(known, five, 1.0)), 0.0)
        distance = np.where(known, size5 / np.where(known, size6, 1.0), np.inf)
        nearest = distance.argmin(axis=-1)[:, None]
        pole = np.take_along_axis(distance, nearest, axis=-1)[:, 0]
        place = np.take_along_axis(ratio[:, :1], nearest[None, None], axis=-1)[..., 0]
        place = lanes.div(lanes.constant(-1.0, 1), place)
        error = lanes.largest(lanes.add(seven, lanes.mul(ratio, six)))
        separation = 2.0 / curvature
    return Expansion(series, ratio, place, pole, error, separation, rcond)


def _invert(
    homotopy: Deformation, x: Planes, tau: Planes, jacobian: Planes, patch: Planes | None
) -> tuple[Planes, Reals, Reals]:
    """The inverses of the Jacobians, the norms of ``J^-1 H''`` and reciprocal conditions.

    The second derivative is taken along one direction, the same for all paths, with components of
    size 1 and phases spread like the multiples of the golden section; it enters in the norm that
    is largest for the rows.
    """
    n = x.shape[3]
    m = jacobian.shape[3]
    weights = lanes.weights(x)
    turns = 2 * math.pi * ((np.arange(n) * 0.6180339887498949) % 1)
    probe = lanes.constant(np.exp(1j * turns), 1, n)
    step = _DIFFERENCE * weights * probe
    _, beside = homotopy.values_and_jacobian(lanes.add(x, step), tau)
    right = np.zeros((*x.shape[:3], n, n + n))
    right[0, 0, :, range(n), range(n)] = 1
    right[..., :m, n:] = lanes.sub(beside, jacobian)
    solved, rcond = lanes.solve(bordered(jacobian, patch), right)
    with np.errstate(all="ignore"):
        rows = (lanes.magnitude(solved[..., n:]) * weights[:, None, :]).sum(axis=-1) / weights
        curvature = rows.max(axis=-1) / _DIFFERENCE
    return solved[..., :n], curvature, rcond


def bordered(jacobian: Planes, patch: Planes | None) -> Planes:
    """The Jacobian with the row of the patch."""
    if patch is None:
        return jacobian
    limbs = jacobian.shape[1]
    row = lanes.resized(patch, limbs)[:, :, :, None, :]
    return np.concatenate([jacobian, row], axis=3)


def step_length(
    expansion: Expansion, pole_fraction: float, error_fraction: float, error_limit: float
) -> Reals:
    """How far to go: ``min(beta_1 D, (beta_2 eta / |e|)^(1/7))`` for each path."""
    with np.errstate(all="ignore"):
        allowed = np.minimum(error_fraction * expansion.separation, error_limit)
        quotient = np.clip(allowed / expansion.error, 2.0**-1000, 2.0**1000)
        by_error = lanes.seventh_root(np.where(np.isfinite(quotient), quotient, 2.0**-1000))
        length = np.minimum(pole_fraction * expansion.pole, by_error)
    return np.where(np.isfinite(length), length, 0.0)


def predict(expansion: Expansion, length: Reals) -> Planes:
    """The approximants' increments ``x(s) - c_0`` at s = length, planes (2, N, P, n)."""
    c = expansion.coefficients
    s = lanes.constant(length, len(length))[..., None]
    bottom = lanes.mul(expansion.ratio, s)
    bottom = lanes.add(bottom, lanes.constant(1.0, 1, 1))
    with np.errstate(all="ignore"):
        total = lanes.div(c[..., 6], bottom)
        for k in (5, 4, 3, 2, 1):
            total = lanes.add(lanes.mul(total, s), c[..., k])
        return lanes.mul(total, s)
