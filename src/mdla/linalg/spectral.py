# SPDX-License-Identifier: BSD-3-Clause
"""What the refinements of eigenvectors and singular vectors share.

A refinement starts from LAPACK's result in double precision and improves it by matrix products.
Each step squares the error, so early steps work with few limbs, and the products with corrections
need only the limbs by which a correction exceeds the error that it leaves.

Pairs of vectors whose correction would not be small belong to one cluster. A cluster's projected
block, shifted by one of its values, is a small matrix known to many digits; LAPACK's result for it,
made orthonormal to working precision, rotates the vectors of the cluster, which lowers the block's
off-diagonal entries by about 2^-26. So every step makes progress, whatever the values are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.precision import PRECISIONS
from mdla.gemm import adjoint, matmul

__all__ = [
    "START",
    "THETA",
    "Step",
    "at_limbs",
    "by_stack",
    "clusters",
    "correctable",
    "corrected",
    "defect",
    "from_double",
    "inverse_defect",
    "limbs_for",
    "most",
    "orthonormal",
    "over",
    "peel",
    "plus_product",
    "quotient",
    "resolution",
    "rounding",
    "times_two",
]

Planes = npt.NDArray[Any]

#: A correction larger than this is not small: its square would exceed what a step can repair.
THETA = 2.0**-26

#: Relative error at which double precision starts.
START = 2.0**-48

_FORMATS = {p.limbs: p for p in PRECISIONS.values() if p.dtype == np.float64}


def limbs_for(error: float, most_limbs: int) -> int:
    """The least number of limbs of a format with eps up to ``error``, at most ``most_limbs``."""
    if error <= 0:
        return most_limbs
    return next((n for n in _FORMATS if n >= most_limbs or 2.0 ** (-52 * n) <= error), most_limbs)


def resolution(limbs: int) -> float:
    """The eps of a format."""
    return math.ldexp(1.0, -52 * limbs)


def at_limbs(x: MDArray, limbs: int) -> MDArray:
    """The numbers rounded to so many limbs."""
    return MDArray(_planes.cast(x.planes, _FORMATS[limbs]))


def from_double(x: npt.NDArray[Any]) -> MDArray:
    """A NumPy array as one of one limb."""
    parts = (x.real, x.imag) if np.iscomplexobj(x) else (x,)
    return MDArray(np.stack(parts)[:, np.newaxis])


def times_two(x: MDArray, exponent: int) -> MDArray:
    """The numbers times ``2**exponent``, exactly while they stay in range."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return MDArray(np.ldexp(x.planes, exponent))


def peel(x: MDArray) -> tuple[MDArray, int]:
    """The numbers over ``2**k``, the largest in [1/2, 1), and k; zeros stay."""
    largest = float(np.abs(x.planes[:, 0]).max(initial=0.0))
    k = math.frexp(largest)[1] if largest > 0 else 0
    return times_two(x, -k), k


def most(x: npt.NDArray[Any]) -> float:
    """The largest row sum of absolute values."""
    return float(np.abs(x).sum(axis=1).max(initial=0.0))


def defect(x: MDArray, limbs: int) -> MDArray:
    """``I - X^H X``, in so many limbs."""
    return _one_minus(matmul(adjoint(x), x, prec=_FORMATS[limbs]))


def inverse_defect(y: MDArray, x: MDArray, limbs: int) -> MDArray:
    """``I - Y X``, in so many limbs."""
    return _one_minus(matmul(y, x, prec=_FORMATS[limbs]))


def _one_minus(product: MDArray) -> MDArray:
    r = -product
    i = np.arange(len(r))
    r[i, i] = r[i, i] + 1
    return r


def plus_product(x: MDArray, e: MDArray, size: float, error: float, limbs: int) -> MDArray:
    """``X + X E`` in the limbs for ``error``; E of norm ``size`` needs only some of them."""
    kept = max(limbs_for(error, limbs), x.precision.limbs)
    if size <= error:
        return at_limbs(x, kept)
    few = limbs_for(error / size, kept)
    step = matmul(at_limbs(x, min(few, x.precision.limbs)), at_limbs(e, few), prec=_FORMATS[few])
    return at_limbs(x, kept) + step


class Step(NamedTuple):
    """Sizes of what a step does and leaves, relative to the matrix.

    Attributes:
        half: Norm of half the defect of orthonormality before the step.
        turn: Norm of the skew correction F.
        spill: Off-diagonal entries that products of corrections leave, and squares of
            the defect.
        eps: That of the limbs of the step.
    """

    half: float
    turn: float
    spill: float
    eps: float

    @property
    def defect(self) -> float:
        """Bound of the defect of orthonormality after ``X (I + G) (I + F + F^2 / 2)``."""
        return self.turn**4 + 4 * self.half * self.half

    @property
    def polished(self) -> list[float]:
        """Defects of orthonormality before each step of Newton and Schulz, and after the last.

        The first step is taken if the defect would be the largest error that is left; others until
        its square, which the next projected matrix contains, is not the largest.
        """
        least = max(self.eps, 2.0**10 * self.spill)
        sizes = [self.defect]
        while sizes[-1] > (least if len(sizes) == 1 else math.sqrt(least)):
            sizes.append(sizes[-1] ** 2)
        return sizes

    @property
    def left(self) -> float:
        """Largest of the errors after the step."""
        return max(self.spill, self.polished[-1])

    @property
    def error(self) -> float:
        """Error up to which the corrections are computed."""
        return max(self.spill, self.eps) / 16


def corrected(x: MDArray, g: MDArray, f: MDArray, step: Step, limbs: int) -> MDArray:
    """``X (I + G) (I + F + F^2 / 2)`` for G half the defect of X and a skew F.

    Where F is large the result gets more steps of Newton and Schulz, see `orthonormal`.
    """
    few, error = f.precision.limbs, step.error
    e = at_limbs(g, few) + f
    second = step.turn * (step.turn + step.half)
    if second > error:
        short = limbs_for(error / second, few)
        factor = at_limbs(g, short) + times_two(at_limbs(f, short), -1)
        e = e + matmul(factor, at_limbs(f, short), prec=_FORMATS[short])
    x = plus_product(x, e, step.turn + step.half, error, limbs)
    for size, left in itertools.pairwise(step.polished):
        r = defect(x, limbs_for(min(error, left), limbs))
        x = plus_product(x, times_two(r, -1), size, error, limbs)
    return x


def orthonormal(w: npt.NDArray[Any], error: float, limbs: int) -> MDArray:
    """The orthonormal matrix next to W, whose columns are orthonormal in double precision.

    Newton and Schulz's iteration ``W + W (I - W^H W) / 2`` squares the defect (N. J. Higham,
    Functions of Matrices, SIAM 2008, section 8.3).
    """
    x, left = from_double(w), START
    while left > error:
        size, left = left, left * left
        goal = max(left, error)
        r = defect(x, limbs_for(goal, limbs))
        x = plus_product(x, times_two(r, -1), size, goal, limbs)
    return x


def over(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A / b, with 0 / 0 = 0."""
    out = np.zeros_like(a)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(a, b, out=out, where=a != 0)
    return out


def rounding(n: int, visits: int) -> float:
    """Off-diagonal entries in eps that count as rounding errors.

    They are about the square root of n; a step in full precision that is repeated for nothing
    allows for more.
    """
    return (4 + math.sqrt(n) / 2) * (1 + visits / 4)


def correctable(
    rest: npt.NDArray[Any], ratio: npt.NDArray[Any], noise: float, eps: float
) -> npt.NDArray[np.bool_]:
    """Where an off-diagonal entry over a gap is a correction: small, and not of rounding errors."""
    # Rounding error over a small gap says nothing, and would spoil orthonormality by its fourth
    # power.
    done = (rest <= noise) & (ratio**4 * len(rest) > eps)
    found: npt.NDArray[np.bool_] = (rest > 0) & (ratio <= THETA) & ~done
    return found


def quotient(a: MDArray, b: MDArray, where: npt.NDArray[np.bool_], limbs: int) -> MDArray:
    """A / b in so many limbs, and zero elsewhere."""
    a, b = a.copy(), b.copy()
    a[~where], b[~where] = 0, 1
    return at_limbs(a, limbs) / at_limbs(b, limbs)


def clusters(edges: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.intp]]:
    """The index sets of two or more, or with a loop, that edges connect."""
    if not edges.any():
        return
    count, label = connected_components(csr_array(edges), directed=False)
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count + 1))
    for i in range(count):
        members = order[starts[i] : starts[i + 1]]
        if len(members) > 1 or edges[members[0], members[0]]:
            yield members


def by_stack(planes: Planes, function: Any, *shapes: tuple[bool, tuple[int, ...]]) -> list[Planes]:
    """Apply a function to each matrix of planes (c, N, ..., m, n) and stack its results.

    Args:
        planes: The matrices.
        function: Takes planes of one matrix and gives a list of planes.
        shapes: For each result whether it may be complex, and the shape for one matrix.
    """
    batch = _planes.shape_of(planes)[:-2]
    stack = planes.reshape(*planes.shape[:2], math.prod(batch), *planes.shape[-2:])
    out = [
        np.empty((planes.shape[0] if whole else 1, planes.shape[1], stack.shape[2], *shape))
        for whole, shape in shapes
    ]
    for i in range(stack.shape[2]):
        for target, result in zip(out, function(stack[:, :, i]), strict=True):
            target[:, :, i] = result
    return [p.reshape(*p.shape[:2], *batch, *p.shape[3:]) for p in out]
