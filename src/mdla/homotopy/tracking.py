# SPDX-License-Identifier: BSD-3-Clause
"""`track`: all paths of a homotopy from their starts to their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mdla.core import convert, planes as _planes
from mdla.core.array import MDArray
from mdla.core.precision import Precision, precision
from mdla.homotopy.endgame import Ends
from mdla.homotopy.finish import NO_START, finish
from mdla.homotopy.options import TrackOptions
from mdla.homotopy.results import Paths, joined, replaced
from mdla.homotopy.systems import Deformation
from mdla.homotopy.tracker import Front, levels
from mdla.linalg.progress import shown, stage
from mdla.linalg.refine import PRECISIONS_BY_LIMBS

__all__ = ["track"]

Planes = npt.NDArray[Any]

# Paths that go side by side: so many that the few difficult ones among them have company, too, and
# Python's share of the time stays small.
_TOGETHER = 2048

# Paths of one task for an executor.
_TASK = 64


def track(
    homotopy: Deformation,
    starts: Any,
    prec: Any = "dd",
    *,
    options: TrackOptions | None = None,
    executor: Any = None,
    progress: bool = False,
    record: bool = False,
) -> Paths:
    """Follow the solutions of ``H(x, t) = 0`` from t = 0 to t = 1.

    Predictors are Padé approximants of each path's power series, whose poles and errors determine
    the step beforehand (S. Telen, M. Van Barel, J. Verschelde, SIAM J. Sci. Comput. 42 (2020)
    A3610-A3637); Newton's method corrects. A path goes on in about twice the precision when its
    Jacobian is too ill-conditioned for the one it has. Near t = 1 the ends are told apart: regular
    ones, singular ones by Cauchy's integral with their winding numbers, and those at infinity.

    Paths are worked on side by side and do not influence one another: a path gives the same bits
    in any set of starts, with any executor and number of threads.

    Args:
        homotopy: A `TotalDegree` or `Homotopy`.
        starts: Solutions at t = 0, shape ``(paths, n)``, to a few digits at least.
        prec: The precision of the end points and, at least, of Newton's method on the way.
        options: Constants of the tracker.
        executor: Tasks of some paths each are given to its ``submit``: an executor of
            ``concurrent.futures``, a Dask client and their like.
        progress: Whether to show the progress on stderr, by tqdm where it is installed.
        record: Whether to keep t and points of all steps, for pictures.

    Raises:
        ValueError: The starts have the wrong shape or are not finite, or the precision does not
            exist or has float32 limbs.
        TypeError: Something is no homotopy, executor or array of numbers.

    Example:
        >>> import mdla
        >>> h = mdla.homotopy.TotalDegree(mdla.PolynomialSystem("x^2 - 2;"))
        >>> paths = mdla.homotopy.track(h, h.starts)
        >>> paths
        <2 paths: 2 finite, 0 at infinity, 0 failed>
        >>> bool(mdla.max(abs(paths.endpoints**2 - 2)) < 1e-30)
        True
    """
    if not isinstance(homotopy, Deformation):
        raise TypeError(
            f"track: expected a homotopy, got {type(homotopy).__name__}; write "
            "mdla.homotopy.TotalDegree(system) or Homotopy(system, parameter='t')"
        )
    target = tracked_precision("track", prec)
    chosen = TrackOptions() if options is None else options
    planes = _read_starts(homotopy, starts)
    with shown(progress):
        paths = _run(homotopy, planes, target, chosen, executor, record)
        failed = paths.failed[paths.reason[paths.failed] != NO_START]
        doubtful = np.union1d(_same_ends(homotopy, paths, planes, target), failed)
        if len(doubtful):
            again = _run(
                homotopy, planes[:, :, doubtful], target, _careful(chosen), executor, record
            )
            paths = replaced(paths, doubtful, again)
    return paths


def tracked_precision(function: str, prec: Any) -> Precision:
    """The precision asked for.

    Raises:
        ValueError: There is none of that name, or its limbs are floats.
    """
    target = precision(prec)
    if target != PRECISIONS_BY_LIMBS.get(target.limbs):
        names = ", ".join(p.name for p in PRECISIONS_BY_LIMBS.values())
        raise ValueError(
            f"{function}: paths are not tracked in {target.name}; write one of {names}"
        )
    return target


def _read_starts(homotopy: Deformation, starts: Any) -> Planes:
    planes = (
        starts.planes
        if isinstance(starts, MDArray)
        else convert.to_planes(starts, PRECISIONS_BY_LIMBS[2])
    )
    n = len(homotopy.variables)
    shape = _planes.shape_of(planes)
    if len(shape) != 2 or shape[1] != n:
        raise ValueError(
            f"track: starts have shape (paths, {n}), one coordinate for each of "
            f"{', '.join(homotopy.variables[:8])}; got {shape}"
        )
    if not np.isfinite(planes).all():
        raise ValueError("track: starts have infinities or nans; remove them")
    return _planes.as_complex(_planes.cast(planes, PRECISIONS_BY_LIMBS[planes.shape[1]]))


def _run(
    homotopy: Deformation,
    starts: Planes,
    prec: Precision,
    options: TrackOptions,
    executor: Any,
    record: bool,
) -> Paths:
    count = starts.shape[2]
    size = _TOGETHER if executor is None else _TASK
    tasks = [
        (homotopy, np.ascontiguousarray(starts[:, :, i : i + size]), prec.name, options, record)
        for i in range(0, max(count, 1), size)
    ]
    parts = []
    with stage("paths", count, "path") as advance:
        for part in _results(tasks, executor):
            advance(len(part))
            parts.append(part)
    return joined(parts)


def _results(tasks: list[tuple[Any, ...]], executor: Any) -> Iterator[Paths]:
    if executor is None:
        yield from (_track_some(*task) for task in tasks)
        return
    submit: Callable[..., Any] | None = getattr(executor, "submit", None)
    if submit is None:
        raise TypeError(
            f"track: executor has no method submit, got {type(executor).__name__}; give a "
            "concurrent.futures executor or a dask.distributed.Client"
        )
    futures = [submit(_track_some, *task) for task in tasks]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _track_some(
    homotopy: Deformation, starts: Planes, prec: str, options: TrackOptions, record: bool
) -> Paths:
    """Paths that go side by side."""
    target = precision(prec)
    ladder = levels(target.limbs, options.max_climbs)
    front = Front(homotopy, homotopy.from_affine(starts), ladder, options, record)
    every = np.arange(len(front))
    started = front.correct_at(every, ladder[0])
    front.renew(every)
    ends = Ends(front)
    ends.run(every[started])
    ends.close()
    return finish(front, ends, started, target)


def _careful(options: TrackOptions) -> TrackOptions:
    """Options with shorter steps, and more precision."""
    return replace(
        options,
        pole_fraction=options.pole_fraction / 4,
        error_fraction=options.error_fraction / 1000,
        max_steps=8 * options.max_steps,
        max_climbs=options.max_climbs + 1,
    )


def _same_ends(
    homotopy: Deformation, paths: Paths, starts: Planes, prec: Precision
) -> npt.NDArray[np.intp]:
    """The paths with different starts and one regular end: one of them has left its path."""
    regular = paths.finite[paths.winding[paths.finite] == 1]
    groups = close_groups(homotopy, paths, regular, prec)
    found = []
    for own in groups:
        if len(own) > 1 and len(np.unique(starts[:, 0, own], axis=1)[0]) > 1:
            found += own.tolist()
    return np.array(sorted(found), dtype=np.intp)


def radii(paths: Paths, index: npt.NDArray[np.intp], prec: Precision) -> npt.NDArray[np.float64]:
    """How far from one another computed ends of one solution may be, relative to their size."""
    eps = 2.0**prec.eps_exponent
    regular = paths.winding[index] == 1
    with np.errstate(all="ignore"):
        rounding = np.minimum(2.0**6 * eps * paths.condition[index], eps**0.5)
    rounding = np.where(np.isfinite(rounding), rounding, eps**0.5)
    circles = np.maximum(2.0**10 * paths.accuracy[index], eps**0.5)
    reach: npt.NDArray[np.float64] = np.where(regular, rounding, circles)
    return reach


def close_groups(
    homotopy: Deformation, paths: Paths, index: npt.NDArray[np.intp], prec: Precision
) -> list[npt.NDArray[np.intp]]:
    """Paths in groups whose ends are near to one another, ordered by their first members.

    Neighbours are looked for along a line in space, onto which all points are projected.
    """
    x = np.ldexp(paths.endpoints.planes[:, :, index], -homotopy.units)
    count, n = x.shape[2:]
    lead = x[0, 0] + 1j * x[1, 0]
    reach = radii(paths, index, prec) * np.abs(lead).max(axis=-1, initial=1.0)
    angles = np.arange(n) * 0.6180339887498949
    line = (lead * np.exp(2j * np.pi * angles)).real.sum(axis=-1) / n
    order = np.argsort(line, kind="stable")
    widest = reach.max(initial=0.0)
    pairs: list[tuple[int, int]] = []
    beyond = np.searchsorted(line[order], line[order] + 4 * widest, side="right")
    for place, last in enumerate(beyond.tolist()):
        i, others = order[place], order[place + 1 : last]
        apart = np.abs((x[:, :, i, np.newaxis] - x[:, :, others]).sum(axis=1)).max(axis=(0, 2))
        pairs += [(i, j) for j in others[apart <= np.maximum(reach[i], reach[others])]]
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    near = coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    labels = connected_components(near, directed=False)[1]
    first = np.unique(labels, return_index=True)[1]
    return [index[labels == labels[i]] for i in np.sort(first)]
