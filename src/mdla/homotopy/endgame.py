# SPDX-License-Identifier: BSD-3-Clause
"""The ends of paths: regular ones, singular ones by circles around t = 1, ends at infinity.

Near ``tau = 1 - t = 0`` a path is a power series in ``tau^(1/w)``, w its winding number. Going
round ``tau = 0`` on a circle w times closes the path, and the mean over equidistant points is the
end point, with an error that falls like ``r^K`` for K points in a round (A. Morgan, A. Sommese,
C. Wampler, "Computing singular solutions to nonlinear analytic systems", Numer. Math. 58 (1991)
669-684). In a patch a path that goes to infinity stays bounded, with ``x_0 ~ c tau^(m/w)``; the
exponent shows in ``tau x_0' / x_0`` long before ``x_0`` vanishes (P. Breiding, S. Timme, in
"HomotopyContinuation.jl", ICMS 2018; B. Huber, J. Verschelde, "Polyhedral end games for polynomial
continuation", Numer. Algorithms 18 (1998) 91-108).
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import elementary
from mdla.core.array import MDArray
from mdla.core.constants import pi
from mdla.homotopy import lanes
from mdla.homotopy.tracker import ON_CIRCLES, Front, Indices, Outcome

__all__ = ["End", "Ends"]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

# Exponents of x_0 are positive rationals with small denominators; less than this is a finite end.
_LEAST_EXPONENT = 0.04

# What counts for an end at infinity, at this many radii more than one: the exponent is the same to
# a part of it, the slope is near it or comes nearer, and the path grows with a positive power.
_RADII = 2
_SAME_EXPONENT, _SAME_SLOPE, _LEAST_GROWTH = 0.02, 0.05, 0.02

# Radii after which circles are tried even if x_0 seems to vanish.
_PATIENCE = 9

# The nearest pole, as seen from tau = r, is at -r (1 + 1/5 or more) if tau = 0 is the singularity:
# coefficients of (1 + s/r)^a have the ratio -(6 / (5 - a)) r.
_ALONE, _BESIDE = 1.25, 0.35

# The exponent of tau that dominates x - x(0), seen from two radii, changes at most by this part of
# it where the expansion in fractional powers governs the path.
_SAME_GROWTH = 0.15

# Two circles whose means agree to this power of eps give an end point.
_AGREEMENT = 2 / 3


class End(IntEnum):
    """What is known of a path's end."""

    OPEN = 0
    REGULAR = 1
    SINGULAR = 2
    INFINITY = 3
    FAILED = 4


class Ends:
    """The end of each path of a front; made by running all paths to their ends.

    Attributes:
        kind: The `End` of each path.
        reason: The last `Outcome`, for failures.
        winding: Winding numbers, 0 where unknown.
        accuracy: How far two estimates of a singular end differ.
    """

    def __init__(self, front: Front) -> None:
        count = len(front)
        self.front = front
        self.kind = np.full(count, End.OPEN, dtype=np.intp)
        self.reason = np.full(count, Outcome.ARRIVED, dtype=np.intp)
        self.winding = np.zeros(count, dtype=np.intp)
        self.accuracy = np.zeros(count)
        self._exponent = np.full(count, np.nan)
        self._gap = np.full(count, np.inf)
        self._growth = np.full(count, np.nan)
        self._resume = np.zeros(count, dtype=np.intp)
        self._failures = np.zeros(count, dtype=np.intp)
        self._seen = np.zeros(count, dtype=np.intp)
        self._spread = np.full(count, np.inf)
        self._mean = np.full((2, 1, *front.x.shape[2:]), np.nan)

    def run(self, index: Indices) -> None:
        """Move paths to their ends."""
        radius = self.front.options.endgame_radius
        rounds = 0
        while len(index):
            index = self._approach(index, radius)
            index = self._leave_at_infinity(index)
            calm = self._calm(index, rounds)
            if len(calm):
                self._circle(calm)
                self._back_off(calm, rounds)
                index = index[self.kind[index] == End.OPEN]
            radius /= 4
            rounds += 1
            if radius < self.front.options.smallest_radius:
                self._fail(index, np.full(len(index), Outcome.NO_CONVERGENCE))
                break

    def close(self) -> None:
        """What is still open has failed."""
        self.kind[self.kind == End.OPEN] = End.FAILED

    # -- steps towards the end ---------------------------------------------------------------------

    def _approach(self, index: Indices, radius: float) -> Indices:
        """Go on to tau = 0, or up to a radius where that is not in reach of one step."""
        outcome = self.front.advance(index, np.zeros((2, 1, len(index))), stop=radius)
        done = outcome == Outcome.ARRIVED
        self.kind[index[done]] = End.REGULAR
        self.winding[index[done]] = 1
        self.kind[index[outcome == Outcome.AT_INFINITY]] = End.INFINITY
        near = outcome == Outcome.NEAR
        lost = ~done & ~near & (outcome != Outcome.AT_INFINITY)
        self._fail(index[lost], outcome[lost])
        still: Indices = index[near]
        return still

    def _fail(self, index: Indices, outcome: npt.NDArray[np.intp]) -> None:
        """Give up paths, but where x_0 all but vanished they are at infinity."""
        slope, _, size = self._at_infinity(index)
        vanished = (slope > _LEAST_EXPONENT) & (size < 2.0**-24)
        self.kind[index] = np.where(vanished, End.INFINITY, End.FAILED)
        self.reason[index] = outcome

    def _at_infinity(self, index: Indices) -> tuple[Reals, Reals, Reals]:
        """The slope ``tau x_0' / x_0``, what it tends to, and x_0 relative to the largest.

        With u = log tau and L(u) = log x_0 the slope L' is ``m/w + c tau^a`` in first order, a
        multiple of 1/w; then ``m/w = L' - L''^2 / L'''``.
        """
        front = self.front
        if not front.homotopy.projective:
            return np.zeros(len(index)), np.zeros(len(index)), np.ones(len(index))
        tau = front.tau[:, :1, index]
        with np.errstate(all="ignore"):
            x, first, second, third = (front.escape[:, :, index, k] for k in range(4))
            tau2 = lanes.mul(tau, tau)
            y1 = lanes.div(lanes.mul(first, tau), x)
            y2 = lanes.div(lanes.mul(second, 2 * tau2), x)
            y3 = lanes.div(lanes.mul(third, 6 * lanes.mul(tau, tau2)), x)
            m2 = lanes.add(y1, y2)
            m3 = lanes.add(m2, lanes.add(2 * y2, y3))
            square = lanes.mul(y1, y1)
            l2 = lanes.sub(m2, square)
            l3 = lanes.add(lanes.sub(m3, 3 * lanes.mul(y1, m2)), 2 * lanes.mul(y1, square))
            change = np.where(l2 == 0, 0.0, lanes.div(lanes.mul(l2, l2), l3))
            size = lanes.magnitude(x) / lanes.largest(front.x[:, :1, index])
            return y1[0, 0], lanes.sub(y1, change)[0, 0], size

    def _leave_at_infinity(self, index: Indices) -> Indices:
        slope, exponent, size = self._at_infinity(index)
        before, gap_before = self._exponent[index], self._gap[index]
        with np.errstate(all="ignore"):
            gap = np.abs(slope - exponent)
            same = np.abs(exponent - before) <= _SAME_EXPONENT * exponent
            same &= (gap <= _SAME_SLOPE * exponent) | (gap < gap_before)
            same &= (exponent > _LEAST_EXPONENT) & (self.front.growth[index] > _LEAST_GROWTH)
        self._seen[index] = np.where(same, self._seen[index] + 1, 0)
        self._exponent[index], self._gap[index] = exponent, gap
        sure = (self._seen[index] >= _RADII) & (size < 0.125)
        self.kind[index[sure]] = End.INFINITY
        return index[~sure]

    def _calm(self, index: Indices, rounds: int) -> Indices:
        """The paths whose only singularity within their radius seems to be tau = 0."""
        front = self.front
        with np.errstate(all="ignore"):
            relative = lanes.div(front.pole[:, :, index], -front.tau[:, :1, index])
            calm = lanes.magnitude(lanes.sub(relative, lanes.constant(_ALONE, 1))) < _BESIDE
            growth, before = front.growth[index], self._growth[index]
            calm &= np.abs(growth - before) <= _SAME_GROWTH * growth
        self._growth[index] = growth
        if rounds < _PATIENCE:
            calm &= ~(self._exponent[index] > _LEAST_EXPONENT)
        calm &= rounds >= self._resume[index]
        return index[calm]

    def _back_off(self, index: Indices, rounds: int) -> None:
        """After two circles without success wait before the next two."""
        self._failures[index] += 1
        even = index[self._failures[index] % 2 == 0]
        self._resume[even] = rounds + 1 + np.minimum(1 << self._failures[even] // 2, 4)

    # -- circles -----------------------------------------------------------------------------------

    def _circle(self, index: Indices) -> None:
        """Go round tau = 0 until paths close; compare the means with those of the last radius."""
        front, samples = self.front, self.front.options.samples
        start, radius = front.x[:, :, index].copy(), front.tau[:, :, index].copy()
        separation = front.separation[index].copy()
        total: Planes = np.zeros(start.shape)
        winding = np.zeros(len(index), dtype=np.intp)
        spread, weights = np.zeros(len(index)), lanes.weights(start)
        open_: Indices = np.arange(len(index))
        for turn in range(1, front.options.max_winding + 1):
            for k in range(1, samples + 1):
                paths = index[open_]
                node = _root_of_unity(k % samples, samples)
                target = lanes.mul(radius[:, :, open_], lanes.resized(node, radius.shape[1]))
                if k == samples:
                    target = radius[:, :, open_]
                outcome = front.advance(paths, target, keep_patch=True, accuracy=ON_CIRCLES)
                went = outcome == Outcome.ARRIVED
                open_ = open_[went]
                if front.x.shape[1] > total.shape[1]:
                    total = lanes.resized(total, front.x.shape[1])
                here = front.x[:, :, index[open_]]
                total[:, :, open_] = lanes.add(total[:, :, open_], here)
                away = lanes.largest(lanes.sub(here, start[:, :, open_]))
                spread[open_] = np.maximum(spread[open_], away)
            here = front.x[:, :, index[open_]]
            away = lanes.sub(here, start[:, :, open_]) / weights[open_]
            distance = lanes.largest(away)
            closed = distance <= 0.05 * separation[open_]
            winding[open_[closed]] = turn
            open_ = open_[~closed]
            if not len(open_):
                break
        front.put(index, start, radius)
        found = np.flatnonzero(winding)
        if len(found):
            number = lanes.constant(
                (samples * winding[found])[:, None].astype(float), len(found), 1
            )
            mean = lanes.div(total[:, :, found], number)
            self._compare(index[found], mean, winding[found], spread[found])

    def _compare(
        self, index: Indices, mean: Planes, winding: npt.NDArray[np.intp], spread: Reals
    ) -> None:
        """Accept the means that agree with the last ones and solve the equations.

        Negative powers of tau average to zero as well; they show in circles that do not shrink.
        """
        front = self.front
        if mean.shape[1] > self._mean.shape[1]:
            self._mean = lanes.resized(self._mean, mean.shape[1])
        before = self._mean[:, :, index]
        self._mean[:, :, index] = lanes.resized(mean, self._mean.shape[1])
        same = (self.winding[index] == winding) & (spread < self._spread[index])
        self._spread[index] = spread
        with np.errstate(all="ignore"):
            if front.homotopy.projective:
                place = lanes.magnitude(mean).argmax(axis=-1)
                mean, before = _scaled(mean, place), _scaled(before, place)
            size = np.maximum(lanes.largest(mean), 1.0)
            difference = lanes.largest(lanes.sub(mean, before)) / size
        limbs = np.array([level.limbs for level in front.ladder])[front.level[index]]
        wanted = np.ldexp(1.0, -np.floor(52 * limbs * _AGREEMENT).astype(int))
        good = same & (difference <= wanted) & self._solves(mean)
        self.winding[index] = winding
        done = index[good]
        self.accuracy[done] = difference[good]
        self.kind[done] = End.SINGULAR
        front.put(done, mean[:, :, good], np.zeros((2, 1, len(done))))

    def _solves(self, mean: Planes) -> npt.NDArray[np.bool_]:
        """Whether points solve the equations at tau = 0 to half of a double's digits."""
        x = mean[:, :1]
        values, jacobian = self.front.homotopy.values_and_jacobian(x, np.zeros(x.shape[:3]))
        size = 1.0 + (lanes.magnitude(jacobian) * lanes.magnitude(x)[:, None]).max(axis=-1)
        solved: npt.NDArray[np.bool_] = np.all(lanes.magnitude(values) <= 2.0**-26 * size, axis=-1)
        return solved


def _scaled(x: Planes, place: npt.NDArray[np.intp]) -> Planes:
    """The representatives with a 1 at some place."""
    pivot = np.take_along_axis(x, place[None, None, :, None], axis=3)
    return lanes.div(x, np.broadcast_to(pivot, x.shape))


@lru_cache(maxsize=256)
def _root_of_unity(k: int, samples: int) -> Planes:
    """``exp(2 pi i k / samples)`` in the widest format, planes (2, 16, 1)."""
    angle: MDArray = pi("hd") * 2 * k / samples
    parts = elementary.cos(angle).planes[0], elementary.sin(angle).planes[0]
    return np.stack(parts)[..., None]
