# SPDX-License-Identifier: BSD-3-Clause
"""Iterative refinement: solve with a cheap factorisation, correct with accurate residuals, verify.

Square systems: with A ~ L U factored with few limbs, from x = 0, r = b,

    d = (L U)^-1 r,    x <- x + d,    r <- r - A d,

d with the limbs of the factorisation, r with more than x, so that x is correct to its last bits
whatever the condition (J. Demmel et al., ACM Trans. Math. Softw. 32 (2006) 325-351, algorithm 1).
Each step gains about ``-log2(rho)`` bits, rho being the ratio of successive corrections.

A solution is accepted only if every correction was at most half the one before, the last is below
eps, the factorisation was far enough from singular, and the componentwise backward error of the
result,

    max_i |b - A x|_i / (|A| |x| + |b|)_i,

formed anew, is a few eps. Small residuals alone prove nothing: singular systems have them, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from mdla import gemm
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.precision import PRECISIONS, Precision
from mdla.linalg.inputs import exponents_along, times_power
from mdla.linalg.progress import stage

__all__ = [
    "DOUBLED_FROM",
    "HOPELESS",
    "METHODS",
    "PRECISIONS_BY_LIMBS",
    "DoubledLU",
    "Factorisation",
    "Float64LU",
    "Info",
    "Pace",
    "Refined",
    "System",
    "Work",
    "climb",
    "correction",
    "examine",
    "extended",
    "join_parts",
    "largest",
    "least_rcond",
    "next_factorisation",
    "ratio",
    "refine",
    "require_method",
    "split_parts",
]

Planes = npt.NDArray[Any]
Found = TypeVar("Found")

METHODS = "auto", "direct", "refine"

# A reciprocal condition that no factorisation is trusted with.
HOPELESS = 5e-324

PRECISIONS_BY_LIMBS = {p.limbs: p for p in PRECISIONS.values() if p.dtype == np.float64}

# Products by residues keep those of the matrix for all steps; below this order they are slower.
_RESIDUES_FROM = 96
# Bytes of residues for a byte of entries: some bits more than theirs, and more if complex.
_RESIDUE_BYTES = 3
# A correction must be smaller than the one before by this factor.
_MOST_RHO = 0.5
# Bits that a step must be expected to gain.
_LEAST_GAIN = 8
# Relative cost of an operation within a factorisation, and within the products of a step, by the
# number of limbs.
_FACTOR_COST = {1: 0.2, 2: 1.0, 3: 1.6, 4: 2.3, 5: 3.2, 8: 8.0, 10: 10.0, 16: 22.0}
_STEP_COST = {2: 1.0, 3: 1.7, 4: 2.4, 5: 3.3, 8: 7.0, 10: 10.0, 16: 20.0}
# Making the matrix ready for products takes as long as this many steps.
_FIRST_STEPS = 4
# From so many limbs on, corrections by float64 factors are refined themselves.
DOUBLED_FROM = 8
_INNER_STEPS, _DOUBLED_GAIN = 2, 88
# What a step takes besides, in such operations.
_STEP_OVERHEAD = 3e6
# One column costs as much as some columns, since the matrix must be read for it.
_COLUMNS_AT_LEAST = 6


class Factorisation(Protocol):
    """What refinement needs of a factored matrix."""

    @property
    def limbs(self) -> int:
        """Limbs of its numbers."""

    @property
    def rcond(self) -> float:
        """An estimate of 1 / (||A||_1 ||A^-1||_1); 0 for an exactly singular matrix."""

    def solve(self, b: Planes) -> Planes:
        """A^-1 b approximately, for planes with as many limbs."""


@dataclass(frozen=True)
class Info:
    """How a system was solved, and what is known of the solution.

    Attributes:
        method: ``"direct"`` or ``"refine"``.
        factorisation: The precision of the factorisation.
        steps: Corrections after the first solution.
        rcond: The estimated reciprocal condition number, of the matrix scaled by powers of two.
        berr: The backward error of each right-hand side: `solve_info` and `lstsq` say which one.
        ferr: A bound or estimate of the largest error of each solution, relative to its largest
            entry.
    """

    method: str
    factorisation: str
    steps: int
    rcond: float
    berr: npt.NDArray[np.float64] | None
    ferr: npt.NDArray[np.float64]


@dataclass
class Refined:
    """A solution and what is known of it.

    Attributes:
        x: The solution.
        steps: Corrections that were made.
        berr: The componentwise backward error, one number for each column of x.
        ferr: A bound of ``max |x - exact| / max |exact|`` for each column, from what would be the
            next correction.
    """

    x: Planes
    steps: int
    berr: npt.NDArray[np.float64]
    ferr: npt.NDArray[np.float64]


def join_parts(planes: Planes) -> npt.NDArray[Any]:
    """The leading limbs as an array of floats or complex numbers."""
    lead: npt.NDArray[Any] = planes[0, 0]
    return lead if len(planes) == 1 else lead + 1j * planes[1, 0]


def split_parts(x: npt.NDArray[Any]) -> Planes:
    """Planes of one limb from floats or complex numbers."""
    parts = [x.real, x.imag] if np.iscomplexobj(x) else [x]
    return np.stack(parts)[:, np.newaxis].astype(np.float64)


class Float64LU:
    """LAPACK's LU factorisation of the leading limbs."""

    limbs = 1

    def __init__(self, a: Planes) -> None:
        lead = np.asfortranarray(join_parts(a))
        getrf, gecon, self._getrs = lapack.get_lapack_funcs(("getrf", "gecon", "getrs"), (lead,))
        norm = float(np.abs(lead).sum(axis=0).max(initial=0.0))
        self._lu, self._pivots, info = getrf(lead, overwrite_a=True)
        self.rcond = 0.0 if info > 0 else float(gecon(self._lu, norm)[0])

    def solve(self, b: Planes) -> Planes:
        """A^-1 b."""
        x, _ = self._getrs(self._lu, self._pivots, join_parts(b))
        return split_parts(x)


def extended(form: Precision) -> Precision:
    """The format of residuals: the next wider one, where there is one."""
    wider = [p for limbs, p in sorted(PRECISIONS_BY_LIMBS.items()) if limbs > form.limbs]
    return wider[0] if wider else form


class Work(NamedTuple):
    """Operations with numbers of whatever precision.

    Attributes:
        order: Unknowns.
        direct: Of a factorisation and a solution with it.
        step: Of the products for residuals in one step.
    """

    order: int
    direct: float
    step: float

    @staticmethod
    def of_square(order: int, columns: int) -> Work:
        """LU factorisation and products with the matrix."""
        return Work(
            order,
            2 / 3 * order**3 + 2 * order**2 * columns,
            2 * order**2 * (columns + _COLUMNS_AT_LEAST),
        )

    @staticmethod
    def of_least_squares(rows: int, order: int, columns: int) -> Work:
        """QR factorisation, and products with the matrix and its adjoint."""
        return Work(
            order,
            2 * order**2 * (rows - order / 3) + 4 * rows * order * columns,
            4 * rows * order * (columns + _COLUMNS_AT_LEAST),
        )


class DoubledLU:
    """LAPACK's LU factors, with solutions refined to two limbs by products with so many of A.

    Where products with all limbs of A are dear, fewer of them are needed so.
    """

    limbs = 2

    def __init__(self, a: Planes, factor: Float64LU) -> None:
        self.rcond = factor.rcond
        self._factor = factor
        self._system = System(a[:, :2])

    def solve(self, b: Planes) -> Planes:
        """A^-1 b to about 90 bits, or what some steps give."""
        residual = self._system.wide(b)
        x = MDArray(np.zeros(b.shape))
        for _ in range(_INNER_STEPS):
            d = correction(self._factor, residual.planes)
            x = x + MDArray(d)
            self._system.subtract(residual, d)
        planes: Planes = (x + MDArray(correction(self._factor, residual.planes))).planes
        return planes


def next_factorisation(limbs: int, start: int, work: Work, rcond: float) -> int | None:
    """Limbs of the factorisation to try next, ``start`` at least; None: no refinement.

    Args:
        limbs: Limbs of the solution.
        start: The first that has not been tried.
        work: What there is to do.
        rcond: The reciprocal condition number, or 0 if it is not known: then a factorisation may
            be tried that serves half of the condition numbers it can.
    """
    best, least = None, work.direct * _FACTOR_COST[limbs]
    for f in sorted(_FACTOR_COST):
        if not start <= f < limbs or (rcond and rcond < least_rcond(f, work.order)):
            continue
        gain = 52 * f + math.log2(rcond) if rcond else 26 * f
        if gain < _LEAST_GAIN:
            continue
        share = (limbs + f) / (2 * limbs)
        residuals = work.step * _STEP_COST[limbs] * share + _STEP_OVERHEAD
        if f == 1 and limbs >= DOUBLED_FROM:
            gain = min(_DOUBLED_GAIN, (_INNER_STEPS + 1) * gain)
            residuals += _INNER_STEPS * (work.step * _STEP_COST[2] + _STEP_OVERHEAD)
        steps = math.ceil(52 * limbs / gain) + 1 + _FIRST_STEPS
        cost = work.direct * _FACTOR_COST[f] + steps * residuals
        if cost < least:
            best, least = f, cost
    return best


def climb(
    limbs: int,
    work: Work,
    method: str,
    attempt: Callable[[int], tuple[Found | None, float]],
) -> Found | None:
    """Attempts with more and more limbs, below those of the solution, until one succeeds.

    Args:
        limbs: Limbs of the solution.
        work: What there is to do.
        method: ``"auto"``: only what is predicted to be faster than a direct solution;
            ``"refine"``: whatever the steps cost; ``"direct"``: nothing.
        attempt: From the limbs of the factorisation, what was found, if anything, and the
            reciprocal condition number, 0 if it is not known.
    """
    if method == "direct" or work.order == 0:
        return None
    if method == "refine":
        work = work._replace(direct=1e300)
    f = next_factorisation(limbs, 1, work, 0.0)
    while f is not None:
        found, rcond = attempt(f)
        if found is not None or math.isnan(rcond):
            return found
        f = next_factorisation(limbs, f + 1, work, rcond)
    return None


def require_method(function: str, method: str) -> None:
    """Raise ValueError for a method that does not exist."""
    if method not in METHODS:
        raise ValueError(
            f"{function}: unknown method {method!r}; write 'auto', 'direct' or 'refine'"
        )


def least_rcond(limbs: int, order: int) -> float:
    """The smallest reciprocal condition with which a factorisation is trusted.

    64 n units in the last place leave room for the estimate, which may be too large.
    """
    return math.ldexp(64.0 * order, -52 * limbs)


class System:
    """A matrix whose products with vectors are taken to more than its own precision.

    Attributes:
        a: Planes (c, N, m, n).
        form: The format of residuals.
    """

    def __init__(self, a: Planes) -> None:
        self.a = a
        self.form = extended(PRECISIONS_BY_LIMBS[a.shape[1]])
        self._limbs = 1
        # The residues of a small matrix are dearer than direct products with it, and those of a
        # huge one are too large to be kept.
        self._scheme, self._matrix = "auto", gemm.Prepared(MDArray(a))
        if min(a.shape[2:]) >= _RESIDUES_FROM and _RESIDUE_BYTES * a.nbytes <= gemm.memory_limit():
            self._scheme = "crt"

    def wide(self, b: Planes) -> MDArray:
        """A right-hand side as a residual."""
        return MDArray(_planes.cast(b, self.form).copy())

    def subtract(self, residual: MDArray, d: Planes) -> None:
        """``r = r - A d`` in place."""
        self._limbs = d.shape[1]
        gemm.update(residual, self._matrix, MDArray(d), alpha=-1, scheme=self._scheme)

    def subtract_limbs(self, residual: MDArray, x: Planes) -> MDArray:
        """``r - A x`` for an x with as many limbs as A.

        They are multiplied side by side in groups of as many as corrections had, for which A is
        ready.
        """
        columns, limbs = x.shape[3], self._limbs
        most = -(-x.shape[1] // limbs) * limbs
        x = np.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0), (0, 0)))
        groups = np.split(x, most // limbs, axis=1)
        product = gemm.matmul(
            self._matrix,
            MDArray(np.concatenate(groups, axis=3)),
            prec=self.form,
            scheme=self._scheme,
        )
        for i in range(len(groups)):
            residual = residual - product[:, i * columns : (i + 1) * columns]
        return residual

    def reach(self, rcond: float) -> float:
        """What errors of residuals may leave of the error of a solution."""
        return math.ldexp(16.0 * max(self.a.shape[2:]), self.form.eps_exponent) / rcond

    def berr(self, residual: MDArray, b: Planes, x: Planes) -> npt.NDArray[np.float64]:
        """The largest ``|b - A x| / (|A| |x| + |b|)`` in each column."""
        bound = np.abs(join_parts(self.a)) @ np.abs(join_parts(x)) + np.abs(join_parts(b))
        relative = ratio(np.abs(join_parts(residual.planes)), bound)
        worst: npt.NDArray[np.float64] = relative.max(axis=0, initial=0.0)
        return worst


def examine(system: System, b: Planes, x: Planes, factor: Factorisation) -> Refined:
    """What is known of a solution x of A x = b, from its residual and the correction due to it."""
    residual = system.subtract_limbs(system.wide(b), x)
    relative = ratio(largest(correction(factor, residual.planes)), largest(x))
    eps = math.ldexp(1.0, -52 * b.shape[1])
    ferr = 2 * relative + eps + system.reach(factor.rcond)
    return Refined(x, 0, system.berr(residual, b, x), ferr)


def refine(a: Planes, b: Planes, factor: Factorisation) -> Refined | None:
    """Solve A x = b from a factorisation of A; None if that does not succeed.

    Args:
        a: Planes (c, N, n, n), rows and columns scaled to similar sizes.
        b: Planes (c, N, n, k).
        factor: A factorisation of A with fewer limbs.
    """
    _, limbs, order, _ = b.shape
    if factor.rcond < least_rcond(factor.limbs, order):
        return None
    eps = math.ldexp(1.0, -52 * limbs)
    system = System(a)
    residual = system.wide(b)
    x = MDArray(np.zeros(b.shape))
    pace = Pace(eps)
    with stage("refinement", 52 * limbs, "bit") as advance:
        while True:
            d = correction(factor, residual.planes)
            x = x + MDArray(d)
            state = pace.step(largest(d), largest(x.planes))
            advance(pace.gained)
            if state is None:
                return None
            if state:
                break
            system.subtract(residual, d)
    # Anew, since the residuals so far were updated.
    found = examine(system, b, x.planes, factor)
    # Where there are no wider residuals the solution is as exact as that of a direct method.
    within = (found.berr <= 16 * order * eps) & (
        found.ferr <= 33 * eps + 3 * system.reach(factor.rcond)
    )
    return replace(found, steps=pace.steps) if within.all() else None


class Pace:
    """Watches the sizes of corrections.

    Attributes:
        steps: How many there were.
        gained: Bits that the last one has gained.
    """

    def __init__(self, eps: float) -> None:
        self.steps = self.gained = self._bits = 0
        self._eps = eps
        self._previous: npt.NDArray[np.float64] | None = None

    def step(self, size: npt.NDArray[np.float64], of: npt.NDArray[np.float64]) -> bool | None:
        """Whether a correction of this size is the last one; None if it should not be so large."""
        self.steps += 1
        if not np.isfinite(size).all():
            return None
        large = size > self._eps * of
        if self._previous is not None and (large & (size > _MOST_RHO * self._previous)).any():
            return None
        self._previous = size
        with np.errstate(divide="ignore"):
            worst = float(np.max(size[large] / of[large], initial=self._eps))
        bits = max(self._bits, int(-math.log2(min(worst, 1.0))))
        self.gained, self._bits = bits - self._bits, bits
        return not large.any()


def largest(planes: Planes) -> npt.NDArray[np.float64]:
    """The largest magnitude in each column."""
    sizes: npt.NDArray[np.float64] = np.abs(join_parts(planes)).max(axis=0, initial=0.0)
    return sizes


def ratio(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The quotient a / b, 0 for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: npt.NDArray[np.float64] = np.where(a == 0, 0.0, a / b)
    return quotient


def correction(factor: Factorisation, residual: Planes) -> Planes:
    """A^-1 r; the residual is scaled by a power of two, as it becomes very small."""
    r = residual[:, : factor.limbs].copy()
    exponents = exponents_along(r, -2)
    times_power(r, -exponents)
    d = factor.solve(r)
    times_power(d, exponents)
    return d
