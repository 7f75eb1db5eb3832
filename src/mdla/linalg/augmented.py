# SPDX-License-Identifier: BSD-3-Clause
"""Refinement of least-squares problems by the augmented system.

The solution x of ``min ||A x - b||`` and its residual r are those of

    [ I    A ] [ r ]   [ b ]
    [ A^H  0 ] [ x ] = [ 0 ].

With A ~ Q R factored with few limbs, a right-hand side (f, g) is solved for by h = R^-H g,
c = Q^H f, dx = R^-1 (c - h) and dr = f - Q (c - h); so both x and r are refined, and what a step
gains depends on the condition of A and not on its square (A. Bjoerck, BIT 7 (1967) 257-278;
J. Demmel, Y. Hida, E. J. Riedy and X. S. Li, ACM Trans. Math. Softw. 35 (2009) article 28).
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg

from mdla import _native
from mdla.core.array import MDArray
from mdla.linalg.householder import adjoint, apply, apply_adjoint, factor
from mdla.linalg.inputs import exponents_along, times_power
from mdla.linalg.progress import stage
from mdla.linalg.refine import (
    Pace,
    Refined,
    System,
    join_parts,
    largest,
    least_rcond,
    ratio,
    split_parts,
)
from mdla.linalg.triangular import substitute

__all__ = ["Float64QR", "ReflectorQR", "refine_augmented"]

Planes = npt.NDArray[Any]


class OrthogonalFactors(Protocol):
    """What refinement needs of a QR factorisation."""

    @property
    def limbs(self) -> int:
        """Limbs of its numbers."""

    @property
    def rcond(self) -> float:
        """An estimate of the reciprocal condition number of R."""

    def solve(self, f: Planes, g: Planes) -> tuple[Planes, Planes]:
        """(dr, dx) of the augmented system, approximately."""


class Float64QR:
    """LAPACK's QR factorisation of the leading limbs."""

    limbs = 1

    def __init__(self, a: Planes) -> None:
        self._q, self._r = scipy.linalg.qr(join_parts(a), mode="economic", check_finite=False)
        self.rcond: float = _native.reciprocal_condition(split_parts(self._r))

    def solve(self, f: Planes, g: Planes) -> tuple[Planes, Planes]:
        """(dr, dx) of the augmented system."""
        right = join_parts(f)
        h = self._substitute(join_parts(g), "C")
        y = self._q.conj().T @ right - h
        return split_parts(right - self._q @ y), split_parts(self._substitute(y, "N"))

    def _substitute(self, b: npt.NDArray[Any], trans: str) -> npt.NDArray[Any]:
        x: npt.NDArray[Any] = scipy.linalg.solve_triangular(
            self._r, b, trans=trans, check_finite=False
        )
        return x


class ReflectorQR:
    """The QR factorisation with some limbs; Q stays a product of reflectors."""

    def __init__(self, a: Planes, limbs: int) -> None:
        self.limbs = limbs
        work = np.array(a[:, :limbs], order="C")
        self._order = a.shape[3]
        self._reflectors = factor(work, self._order)
        self._r = work[:, :, : self._order]
        self.rcond: float = _native.reciprocal_condition(self._r)

    def solve(self, f: Planes, g: Planes) -> tuple[Planes, Planes]:
        """(dr, dx) of the augmented system."""
        n = self._order
        h = np.array(g, order="C")
        substitute(adjoint(self._r), h, lower=True)
        # Q^H f = (c, d); dr = Q (h, d).
        rotated = np.array(f, order="C")
        apply_adjoint(self._reflectors, rotated)
        y = (MDArray(rotated[:, :, :n]) - MDArray(h)).planes
        substitute(self._r, y, lower=False)
        rotated[:, :, :n] = h
        apply(self._reflectors, rotated)
        return rotated, y


def refine_augmented(
    a: Planes, b: Planes, factors: OrthogonalFactors
) -> tuple[Refined, Planes] | None:
    """Minimise ``||A x - b||`` from a factorisation of A; None if that does not succeed.

    Args:
        a: Planes (c, N, m, n), m >= n, columns scaled to similar sizes.
        b: Planes (c, N, m, k).
        factors: A factorisation of A with fewer limbs.

    Returns:
        The solution x and the residual vectors ``r = b - A x``, planes (c, N, m, k). The backward
        error is that of the augmented system, norm by norm.
    """
    parts, limbs, rows, columns = b.shape
    order = a.shape[3]
    if factors.rcond < least_rcond(factors.limbs, order):
        return None
    eps = math.ldexp(1.0, -52 * limbs)
    direct, turned = System(a), System(adjoint(a))
    f = direct.wide(b)
    g = direct.wide(np.zeros((parts, limbs, order, columns)))
    x, r = MDArray(np.zeros((parts, limbs, order, columns))), MDArray(np.zeros(b.shape))
    pace = Pace(eps)
    reach = largest(b)
    with stage("refinement", 52 * limbs, "bit") as advance:
        while True:
            dr, dx = _correction(factors, f.planes, g.planes)
            x, r = x + MDArray(dx), r + MDArray(dr)
            # The larger part counts: of a small residual, the first dr is nothing but noise.
            size = np.maximum(ratio(largest(dx), largest(x.planes)), ratio(largest(dr), reach))
            state = pace.step(size, np.ones(columns))
            advance(pace.gained)
            if state is None:
                return None
            if state:
                break
            direct.subtract(f, dx)
            f = f - MDArray(dr)
            turned.subtract(g, dr)
    # Anew, since the residuals so far were updated.
    f = direct.subtract_limbs(direct.wide(b) - r, x.planes)
    g = turned.subtract_limbs(direct.wide(np.zeros((parts, limbs, order, columns))), r.planes)
    _, last = _correction(factors, f.planes, g.planes)
    berr = _normwise(a, b, x.planes, f.planes, g.planes)
    ferr = ratio(largest(last), largest(x.planes))
    reached = direct.reach(factors.rcond)
    if not (berr <= 16 * rows * eps).all() or not (ferr <= 16 * eps + reached).all():
        return None
    return Refined(x.planes, pace.steps, berr, 2 * ferr + eps + reached), r.planes


def _correction(factors: OrthogonalFactors, f: Planes, g: Planes) -> tuple[Planes, Planes]:
    """The residuals are scaled by powers of two, as they become very small."""
    f, g = f[:, : factors.limbs].copy(), g[:, : factors.limbs].copy()
    exponents = exponents_along(np.concatenate([f, g], axis=2), -2)
    times_power(f, -exponents)
    times_power(g, -exponents)
    dr, dx = factors.solve(f, g)
    times_power(dr, exponents)
    times_power(dx, exponents)
    return dr, dx


def _normwise(a: Planes, b: Planes, x: Planes, f: Planes, g: Planes) -> npt.NDArray[np.float64]:
    """How far the augmented system is from holding, in relation to A, b and x."""
    magnitudes = np.abs(join_parts(a))
    rows, columns = (float(magnitudes.sum(axis=i).max(initial=0.0)) for i in (1, 0))
    reach = largest(b)
    worst: npt.NDArray[np.float64] = np.maximum(
        ratio(largest(f), rows * largest(x) + reach), ratio(largest(g), columns * reach)
    )
    return worst
