# SPDX-License-Identifier: BSD-3-Clause
"""Paths on their way: steps of many paths side by side, each with its own t and precision."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.homotopy import lanes
from mdla.homotopy.corrector import Patch, correct
from mdla.homotopy.options import TrackOptions
from mdla.homotopy.predictor import Expansion, expand, predict, step_length
from mdla.homotopy.systems import Deformation

__all__ = ["Front", "Level", "Outcome", "levels"]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# A step that was halved this often shows that something else is wrong.
_HALVINGS = 10

# Relative errors that Newton's method may leave, as powers of eps: on the way, and on circles whose
# points are averaged.
ON_THE_WAY, ON_CIRCLES = 0.75, 0.9

# Predicted errors beyond this would cost Newton's method an iteration more.
_ERROR_LIMIT = 2.0**-12


# A point with a coordinate x_0 this small has left the numbers that anybody calls finite.
_VANISHED = 2.0**-90


class Outcome(IntEnum):
    """How an advance of a path ended."""

    ARRIVED = 0
    NEAR = 1
    NO_CONVERGENCE = 2
    TOO_MANY_STEPS = 3
    NOT_FINITE = 4
    AT_INFINITY = 5


class Level(NamedTuple):
    """The limbs of the predictor, and those of Newton's method, stage by stage."""

    predictor: int
    stages: tuple[int, ...]

    @property
    def limbs(self) -> int:
        """The limbs of the points."""
        return self.stages[-1]


def levels(limbs: int, climbs: int) -> tuple[Level, ...]:
    """The levels of precision for points of that many limbs, from the first on."""
    found = []
    for k in range(climbs + 1):
        predictor = 1 << k
        top = max(limbs, 2 * predictor)
        if k == 0 and limbs == 1:
            top = 1
        elif limbs == 1:
            predictor, top = 1 << (k - 1), 1 << k
        if top > 16:
            break
        stages = [predictor]
        while 2 * stages[-1] < top:
            stages.append(2 * stages[-1])
        if stages[-1] != top:
            stages.append(top)
        found.append(Level(predictor, tuple(stages)))
    return tuple(found)


class Front:
    """The state of P paths.

    Attributes:
        x: Points, planes (2, N, P, n) with as many limbs as the highest level in use.
        tau: ``1 - t``, planes (2, N, P).
        patch: The patches; None in affine coordinates.
        level: The level of each path.
        steps: How many steps each has made.
        pole: The nearest pole in tau as seen from the last point, planes (2, 1, P).
        separation: The bound on the distance to the nearest other path there.
        growth: The exponent a of ``x - x(0) ~ tau^a`` as it seems there.
        escape: The first coefficients of x_0 there, as a series in tau, planes (2, 1, P, 4).
        trail: Where asked for, the points that were passed: paths, x and tau.
    """

    def __init__(
        self,
        homotopy: Deformation,
        x: Planes,
        ladder: tuple[Level, ...],
        options: TrackOptions,
        record: bool = False,
    ) -> None:
        limbs = ladder[0].limbs
        count = x.shape[2]
        self.homotopy = homotopy
        self.ladder = ladder
        self.options = options
        self.x = np.array(lanes.resized(x, limbs))
        self.tau = np.zeros((2, limbs, count))
        self.tau[0, 0] = 1
        self.patch: Patch | None = None
        if homotopy.projective:
            self.patch = Patch(np.zeros((2, 1, *x.shape[2:])), np.zeros((2, limbs, count)))
        self.level = np.zeros(count, dtype=np.intp)
        self.steps = np.zeros(count, dtype=np.intp)
        self.pole = np.full((2, 1, count), np.inf)
        self.growth = np.zeros(count)
        self.escape = np.zeros((2, 1, count, 4))
        self.separation = np.zeros(count)
        self.trail: list[tuple[Indices, Planes, Planes]] | None = [] if record else None
        self.renew(np.arange(count))

    def __len__(self) -> int:
        return int(self.x.shape[2])

    # -- representatives ---------------------------------------------------------------------------

    def renew(self, index: Indices) -> None:
        """New patches through the points, which are scaled to largest coordinates about 1."""
        if self.patch is None or not len(index):
            return
        x = self.x[:, :, index]
        size = lanes.largest(x)
        exponent = np.where(np.isfinite(size), np.frexp(size)[1], 0)
        x = np.ldexp(x, -exponent[:, None])
        self.x[:, :, index] = x
        vector = lanes.conjugate(x[:, :1])
        self.patch.vector[:, :, index] = vector
        self.patch.value[:, :, index] = lanes.dot(vector, x)

    def _widen(self, limbs: int) -> None:
        if self.x.shape[1] < limbs:
            self.x = lanes.resized(self.x, limbs)
            self.tau = lanes.resized(self.tau, limbs)
            if self.patch is not None:
                self.patch = self.patch._replace(value=lanes.resized(self.patch.value, limbs))

    def put(self, index: Indices, x: Planes, tau: Planes) -> None:
        """Points and parameters of some paths, with as many limbs as they are given."""
        self._widen(x.shape[1])
        self.x[:, :, index] = lanes.resized(x, self.x.shape[1])
        self.tau[:, :, index] = lanes.resized(tau, self.x.shape[1])

    # -- progress ----------------------------------------------------------------------------------

    def advance(
        self,
        index: Indices,
        target: Planes,
        *,
        stop: float = 0.0,
        keep_patch: bool = False,
        accuracy: float = ON_THE_WAY,
    ) -> npt.NDArray[np.intp]:
        """Move paths along straight lines in the plane of tau.

        Args:
            index: The paths.
            target: Where they go, planes (2, N, len(index)).
            stop: Within this distance of the target a path stops that would need another step.
            keep_patch: Whether the patches stay, so that points are analytic in tau.
            accuracy: Of the points, see `correct`.

        Returns:
            The `Outcome` of each.
        """
        outcome = np.full(len(index), Outcome.NO_CONVERGENCE, dtype=np.intp)
        waiting = np.arange(len(index))
        for k, level in enumerate(self.ladder):
            self.level[index[waiting]] = np.maximum(self.level[index[waiting]], k)
            mine = waiting[self.level[index[waiting]] == k]
            if len(mine):
                self._widen(level.limbs)
                some = index[mine]
                march = _March(self, level, some, target[:, :, mine], stop, keep_patch, accuracy)
                outcome[mine] = march.run()
            waiting = np.flatnonzero(outcome == Outcome.NO_CONVERGENCE)
        return outcome

    def correct_at(self, index: Indices, level: Level) -> npt.NDArray[np.bool_]:
        """Newton's method where the paths are; whether it converged."""
        count = len(index)
        patch = None if self.patch is None else self.patch.at(index)
        found = correct(
            self.homotopy,
            lanes.resized(self.x, level.limbs)[:, :, index],
            lanes.resized(self.tau, level.limbs)[:, :, index],
            patch,
            level.stages,
            np.ones(count),
            np.full(count, 2.0**-10),
            ON_THE_WAY,
        )
        good = index[found.converged]
        self.put(good, found.x[:, :, found.converged], self.tau[:, :, good])
        return found.converged


class _March:
    """Paths of one level on their way to their targets."""

    def __init__(
        self,
        front: Front,
        level: Level,
        index: Indices,
        target: Planes,
        stop: float,
        keep_patch: bool,
        accuracy: float,
    ) -> None:
        self.front, self.level, self.index = front, level, index
        self.stop, self.keep_patch, self.accuracy = stop, keep_patch, accuracy
        self.target = lanes.resized(target, level.limbs)
        self.outcome = np.full(len(index), -1, dtype=np.intp)
        self.made = np.zeros(len(index), dtype=np.intp)
        self.halvings = np.zeros(len(index), dtype=np.intp)
        self.expansion: Expansion | None = None
        self.stale = np.ones(len(index), dtype=bool)

    def run(self) -> npt.NDArray[np.intp]:
        if self.level != self.front.ladder[0]:
            # The points may come from fewer limbs.
            good = self.front.correct_at(self.index, self.level)
            self.outcome[~good] = Outcome.NO_CONVERGENCE
        active = np.flatnonzero(self.outcome < 0)
        while len(active):
            self._step(active)
            active = active[self.outcome[active] < 0]
        return self.outcome

    def _point(self, some: Indices, limbs: int) -> tuple[Planes, Planes, Patch | None]:
        front, at = self.front, self.index[some]
        x = lanes.resized(front.x, limbs)[:, :, at]
        tau = lanes.resized(front.tau, limbs)[:, :, at]
        return x, tau, None if front.patch is None else front.patch.at(at)

    def _step(self, active: Indices) -> None:
        front, options = self.front, self.front.options
        x, tau, patch = self._point(active, self.level.limbs)
        way = lanes.sub(self.target[:, :, active], tau)[:, :1]
        distance = lanes.magnitude(way)
        arrived = distance == 0
        self.outcome[active[arrived]] = Outcome.ARRIVED
        late = self.made[active] >= options.max_steps
        self.outcome[active[late & ~arrived]] = Outcome.TOO_MANY_STEPS
        going = ~arrived & ~late
        if not going.any():
            return
        some = active[going]
        x, tau, way, distance = x[:, :, going], tau[:, :, going], way[:, :, going], distance[going]
        direction = way / distance
        patch = None if patch is None else patch.at(going)
        expansion = self._expanded(some, direction)
        size = np.maximum(lanes.largest(x), 2.0**-500)
        length = step_length(expansion, options.pole_fraction, options.error_fraction, _ERROR_LIMIT)
        length = np.ldexp(length, -self.halvings[some])
        whole = length >= distance
        length = np.where(whole, distance, np.minimum(length, 0.5 * distance + 0.25 * length))
        # A step too short for the limbs of tau, or a Jacobian that is singular for the predictor.
        eps = 2.0 ** (-52 * self.level.predictor)
        stuck = ~(length > 2.0**-40 * np.minimum(distance, 1.0))
        nearness = np.minimum(expansion.separation, 1.0)
        stuck |= ~(expansion.rcond * nearness > 2.0**10 * eps)
        stuck |= self.halvings[some] > _HALVINGS
        near = ~whole & ~stuck & (distance <= self.stop)
        lost = ~np.isfinite(size)
        self.outcome[some[stuck]] = Outcome.NO_CONVERGENCE
        self.outcome[some[near]] = Outcome.NEAR
        self.outcome[some[lost]] = Outcome.NOT_FINITE
        gone = np.zeros(len(some), dtype=bool)
        if front.homotopy.projective:
            gone = lanes.magnitude(x[..., 0]) < _VANISHED * size
            self.outcome[some[gone]] = Outcome.AT_INFINITY
        go = np.flatnonzero(~stuck & ~near & ~lost & ~gone)
        if not len(go):
            return
        some, expansion = some[go], expansion.at(go)
        step = lanes.mul(direction[:, :, go], lanes.constant(length[go], len(go)))
        arrives = whole[go]
        tau_next = lanes.add(tau[:, :, go], step)
        tau_next[:, :, arrives] = self.target[:, :, some[arrives]]
        guess = lanes.add(x[:, :, go], predict(expansion, length[go]))
        found = correct(
            front.homotopy,
            guess,
            tau_next,
            None if patch is None else patch.at(go),
            self.level.stages,
            expansion.separation,
            np.minimum(options.trust_fraction * expansion.separation, 0.125),
            self.accuracy,
        )
        good = found.converged
        at = self.index[some]
        front.steps[at] += 1
        self.made[some] += 1
        front.put(at[good], found.x[:, :, good], tau_next[:, :, good])
        if not self.keep_patch:
            front.renew(at[good])
        if front.trail is not None and good.any():
            where = at[good]
            front.trail.append((where, front.x[:, :, where], front.tau[:, :, where]))
        self.stale[some[good]] = True
        self.halvings[some[good]] = 0
        self.halvings[some[~good]] += 1
        self.outcome[some[good & arrives]] = Outcome.ARRIVED

    def _expanded(self, some: Indices, direction: Planes) -> Expansion:
        """The expansions at the points, new where a path has moved."""
        front = self.front
        fresh = np.flatnonzero(self.stale[some])
        if len(fresh):
            where = some[fresh]
            x, tau, patch = self._point(where, self.level.predictor)
            vector = None if patch is None else patch.vector
            new = expand(front.homotopy, x, tau, direction[:, :, fresh], vector)
            if self.expansion is None:
                n = len(self.index)
                self.expansion = Expansion(
                    *(np.zeros((*p.shape[:2], n, *p.shape[3:])) for p in new[:3]),
                    *(np.zeros(n) for _ in new[3:]),
                )
            self.expansion.put(where, new)
            self.stale[where] = False
            at = self.index[where]
            front.pole[:, :, at] = lanes.mul(new.place, direction[:, :, fresh])
            front.separation[at] = new.separation
            front.growth[at] = _growth(new.coefficients[:, :1], tau[:, :1], direction[:, :, fresh])
            if patch is not None:
                escape = new.coefficients[:, :1, :, 0, :4]
                front.escape[:, :, at] = _in_tau(escape, direction[:, :, fresh])
        assert self.expansion is not None
        return self.expansion.at(some)


def _in_tau(series: Planes, direction: Planes) -> Planes:
    """The coefficients of series in s as those in tau."""
    turn = lanes.conjugate(direction)
    power = turn
    out = series.copy()
    for k in range(1, series.shape[-1]):
        out[..., k] = lanes.mul(out[..., k], power)
        power = lanes.mul(power, turn)
    return out


def _growth(series: Planes, tau: Planes, direction: Planes) -> Reals:
    """The exponent of tau in D x, D = tau d/dtau, that fits ``D D x`` best: a where x ~ tau^a.

    With s = direction (tau' - tau), D x is ``z x_1`` and D D x ``z x_1 + 2 z^2 x_2`` for
    ``z = tau / direction``, so that a is the real part of ``1 + 2 z <x_1, x_2> / <x_1, x_1>``.
    """
    first, second = series[..., 1], series[..., 2]
    turn = lanes.mul(tau, lanes.conjugate(direction))
    weights = lanes.weights(series[..., 0])
    mirrored = lanes.conjugate(first / weights)
    with np.errstate(all="ignore"):
        quotient = lanes.div(
            lanes.dot(mirrored, second / weights), lanes.dot(mirrored, first / weights)
        )
        result: Reals = 1.0 + 2.0 * lanes.mul(turn, quotient)[0, 0]
    return result
