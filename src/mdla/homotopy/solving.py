# SPDX-License-Identifier: BSD-3-Clause
"""`solve`: all isolated solutions of a square system of polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core.array import MDArray
from mdla.core.precision import Precision
from mdla.homotopy.options import TrackOptions
from mdla.homotopy.results import Paths
from mdla.homotopy.systems import TotalDegree
from mdla.homotopy.tracking import close_groups, radii, track, tracked_precision
from mdla.poly.system import PolynomialSystem

__all__ = ["Solution", "Solutions", "solve"]


class Solution(NamedTuple):
    """One solution.

    Attributes:
        x: The point, shape ``(n,)``.
        multiplicity: The number of paths that end there: the multiplicity of an isolated solution.
        singular: Whether the Jacobian is singular there.
        real: Whether the imaginary parts vanish within the errors.
        condition: See `Path`.
        residual: The largest of the paths that end there, see `Path`.
        winding: The winding numbers of these paths.
        paths: Their numbers.
    """

    x: MDArray
    multiplicity: int
    singular: bool
    real: bool
    condition: float
    residual: float
    winding: tuple[int, ...]
    paths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Solutions:
    """The solutions of a system, a sequence of `Solution`, and the paths that led to them.

    Attributes:
        solutions: The solutions, by the first path of each.
        paths: All paths; every one is finite, at infinity, or failed with a reason.
    """

    solutions: tuple[Solution, ...]
    paths: Paths

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __getitem__(self, i: int) -> Solution:
        return self.solutions[i]

    @property
    def x(self) -> MDArray:
        """All solutions, shape ``(solutions, n)``."""
        first = [s.paths[0] for s in self.solutions]
        return MDArray(self.paths.endpoints.planes[:, :, np.array(first, dtype=np.intp)])

    @property
    def regular(self) -> tuple[Solution, ...]:
        """Those with a regular Jacobian."""
        return tuple(s for s in self.solutions if not s.singular)

    @property
    def singular(self) -> tuple[Solution, ...]:
        """Those with a singular Jacobian."""
        return tuple(s for s in self.solutions if s.singular)

    @property
    def real(self) -> tuple[Solution, ...]:
        """The real ones."""
        return tuple(s for s in self.solutions if s.real)

    def __repr__(self) -> str:
        return (
            f"<{len(self)} solutions, {len(self.regular)} regular, {len(self.real)} real; "
            f"{self.paths!r}".replace("; <", "; ")
        )


def solve(
    system: PolynomialSystem | str,
    prec: Any = "dd",
    *,
    rng: np.random.Generator | int | None = 0,
    options: TrackOptions | None = None,
    executor: Any = None,
    progress: bool = False,
) -> Solutions:
    """All isolated solutions of n polynomials in n variables, with multiplicities.

    As many paths as the product of the degrees are tracked from roots of unity, see `TotalDegree`
    and `track`; ends are put into groups of one solution each. For a random gamma, with probability
    one, each isolated solution is the end of as many paths as its multiplicity; where the solutions
    are curves or surfaces, some points of these are found, as singular solutions.

    Args:
        system: n polynomials in n variables, or their text.
        prec: The precision of the solutions. Coefficients of a system are taken as they are stored.
        rng: A generator or a seed for gamma.
        options: As in `track`, like executor and progress.
        executor: Where to compute.
        progress: Whether to show the progress.

    Raises:
        ValueError: The system is not square, a polynomial is zero, or there are more than a million
            paths.
        TypeError: ``system`` is no `mdla.PolynomialSystem`.

    Example:
        >>> import mdla
        >>> found = mdla.homotopy.solve(mdla.PolynomialSystem("x^2 + y^2 - 5; x*y - 2;"))
        >>> found
        <4 solutions, 4 regular, 4 real; 4 paths: 4 finite, 0 at infinity, 0 failed>
        >>> sorted(found.x.real.to_numpy().round(12).tolist())
        [[-2.0, -1.0], [-1.0, -2.0], [1.0, 2.0], [2.0, 1.0]]
    """
    target = tracked_precision("solve", prec)
    if isinstance(system, str):
        system = PolynomialSystem(system, target)
    homotopy = TotalDegree(system, rng)
    paths = track(
        homotopy,
        homotopy.starts,
        target.name,
        options=options,
        executor=executor,
        progress=progress,
    )
    groups = close_groups(homotopy, paths, paths.finite, target)
    found = tuple(_solution(paths, group, homotopy.units, target) for group in groups)
    return Solutions(found, paths)


def _solution(
    paths: Paths, own: npt.NDArray[np.intp], units: npt.NDArray[np.intp], prec: Precision
) -> Solution:
    eps = 2.0**prec.eps_exponent
    x = paths.endpoints[int(own[0])]
    condition = float(paths.condition[own[0]])
    singular = len(own) > 1 or int(paths.winding[own[0]]) != 1 or not condition < 1 / eps
    scaled = np.abs(np.ldexp(x.planes[:, 0], -units))
    allowed = max(float(radii(paths, own[:1], prec)[0]), 4 * eps) * scaled.max(initial=1.0)
    real = bool(scaled[1].max(initial=0.0) <= allowed)
    return Solution(
        x,
        len(own),
        singular,
        real,
        condition,
        float(paths.residual[own].max()),
        tuple(paths.winding[own].tolist()),
        tuple(own.tolist()),
    )
