# SPDX-License-Identifier: BSD-3-Clause
"""What tracking gives: paths with their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core.array import MDArray

__all__ = ["Path", "Paths"]

Planes = npt.NDArray[Any]


class Path(NamedTuple):
    """One path.

    Attributes:
        status: ``"finite"``, ``"infinity"`` or ``"failed"``.
        x: The end point, shape ``(n,)``; nan where it is not finite.
        winding: How many times the path goes round t = 1 before it closes, 1 for regular ends; 0
            where that was not needed to be known.
        condition: The condition number, in the 1-norm, of the Jacobian at the end with rows and
            columns scaled by powers of two; infinite or huge for singular ends.
        residual: ``max_k |f_k(x)| / sum |c| max(|x_i|, 1)^exponents``: about the relative change
            of coefficients after which x is a solution, 1 being the unit that `TotalDegree` chose
            for each unknown.
        accuracy: For an end by circles the difference of the last two estimates, relative to the
            largest coordinate; else the last update of Newton's method.
        steps: The number of steps.
        prec: The widest precision that was worked in on the way.
        reason: Why the path failed, or ``""``.
        t: Where it was asked for, the values of t on the way.
        points: The points there, shape ``(steps, n)``, rounded to doubles.
    """

    status: str
    x: MDArray
    winding: int
    condition: float
    residual: float
    accuracy: float
    steps: int
    prec: str
    reason: str
    t: npt.NDArray[np.complex128] | None
    points: npt.NDArray[np.complex128] | None


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths that `track` followed, in the order of their starts; an item is a `Path`.

    Attributes:
        endpoints: Shape ``(paths, n)``, nan for paths that have no finite end.
        status: An array of ``"finite"``, ``"infinity"``, ``"failed"``.
        winding: See `Path`, as the other arrays.
        condition: The condition numbers.
        residual: The residuals.
        accuracy: The errors of end points.
        steps: The numbers of steps.
        prec: The widest precisions on the way.
        reason: Why paths failed.
        trails: Where they were asked for, t and points of each path.
    """

    endpoints: MDArray
    status: npt.NDArray[Any]
    winding: npt.NDArray[np.intp]
    condition: npt.NDArray[np.float64]
    residual: npt.NDArray[np.float64]
    accuracy: npt.NDArray[np.float64]
    steps: npt.NDArray[np.intp]
    prec: npt.NDArray[Any]
    reason: npt.NDArray[Any]
    trails: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...] | None = None

    def __len__(self) -> int:
        return len(self.status)

    def __iter__(self) -> Iterator[Path]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Path:
        i = range(len(self))[i]
        t, points = (None, None) if self.trails is None else self.trails[i]
        return Path(
            str(self.status[i]),
            self.endpoints[i],
            int(self.winding[i]),
            float(self.condition[i]),
            float(self.residual[i]),
            float(self.accuracy[i]),
            int(self.steps[i]),
            str(self.prec[i]),
            str(self.reason[i]),
            t,
            points,
        )

    @property
    def finite(self) -> npt.NDArray[np.intp]:
        """The numbers of the paths with finite ends."""
        return np.flatnonzero(self.status == "finite")

    @property
    def at_infinity(self) -> npt.NDArray[np.intp]:
        """The numbers of the paths that go to infinity."""
        return np.flatnonzero(self.status == "infinity")

    @property
    def failed(self) -> npt.NDArray[np.intp]:
        """The numbers of the paths that failed."""
        return np.flatnonzero(self.status == "failed")

    def __repr__(self) -> str:
        return (
            f"<{len(self)} paths: {len(self.finite)} finite, {len(self.at_infinity)} at infinity, "
            f"{len(self.failed)} failed>"
        )


def joined(parts: list[Paths]) -> Paths:
    """Paths one after the other."""
    values: dict[str, Any] = {}
    for field in fields(Paths):
        some = [getattr(part, field.name) for part in parts]
        if field.name == "endpoints":
            values[field.name] = MDArray(np.concatenate([a.planes for a in some], axis=2))
        elif field.name == "trails":
            values[field.name] = None if some[0] is None else sum(some, ())
        else:
            values[field.name] = np.concatenate(some)
    return Paths(**values)


def replaced(paths: Paths, index: npt.NDArray[np.intp], other: Paths) -> Paths:
    """Paths some of which are taken from others."""
    values: dict[str, Any] = {}
    for field in fields(Paths):
        old, new = getattr(paths, field.name), getattr(other, field.name)
        if field.name == "endpoints":
            planes = old.planes.copy()
            planes[:, :, index] = new.planes
            values[field.name] = MDArray(planes)
        elif field.name == "trails":
            if old is not None:
                trails = list(old)
                for i, trail in zip(index.tolist(), new, strict=True):
                    trails[i] = trail
                old = tuple(trails)
            values[field.name] = old
        else:
            # Strings of NumPy have one length for all.
            whole = old.astype(np.promote_types(old.dtype, new.dtype))
            whole[index] = new
            values[field.name] = whole
    return Paths(**values)
