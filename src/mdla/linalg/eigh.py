# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.ordering import argsort
from mdla.core.protocols import implements
from mdla.gemm import adjoint, matmul
from mdla.linalg.inputs import Inputs, LinAlgError, read_inputs, require_matrix
from mdla.linalg.spectral import (
    START,
    THETA,
    Step,
    at_limbs,
    by_stack,
    clusters,
    correctable,
    corrected,
    defect,
    from_double,
    limbs_for,
    most,
    orthonormal,
    over,
    peel,
    quotient,
    resolution,
    rounding,
    times_two,
)

__all__ = ["EighResult", "eigh", "eigvalsh"]

Planes = npt.NDArray[Any]


class EighResult(NamedTuple):
    """What `eigh` returns.

    Attributes:
        eigenvalues: Real, in ascending order.
        eigenvectors: Column j belongs to eigenvalue j.
    """

    eigenvalues: MDArray
    eigenvectors: MDArray


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L", *, prec: Any = None, check_finite: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices, ``A X = X diag(w)``.

    LAPACK's result in double precision is refined by matrix products (T. Ogita and K. Aishima,
    Japan J. Indust. Appl. Math. 35 (2018) 1007-1035, algorithm 1; clustered eigenvalues as in part
    II, 36 (2019) 435-460: the cluster's block is diagonalised by itself). The computed results
    satisfy ``||A X - X diag(w)|| <= c n eps ||A||`` and ``||X^H X - I|| <= c n eps``, and so each
    eigenvalue has an error of at most ``c n eps ||A||``, however close they are. The signs and
    phases of the eigenvectors are not specified.

    Args:
        a: A Hermitian matrix (n, n) or a stack (..., n, n), of which one triangle is read;
            imaginary parts of the diagonal are ignored.
        UPLO: ``"L"`` reads the lower triangle, ``"U"`` the upper one.
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans; with False a matrix that
            has them gives nans.

    Returns:
        The eigenvalues (..., n), ascending, and the eigenvectors (..., n, n), as columns.

    Raises:
        LinAlgError: A is not square.
        ValueError: UPLO or the precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> w, X = mdla.linalg.eigh(mdla.array([[2, 1], [1, 2]], prec="qd"))
        >>> print(w)
        [1. 3.]
    """
    inputs, planes = _read("eigh", a, UPLO, prec, check_finite)
    n = planes.shape[-1]
    w, x = by_stack(planes, _decompose, (False, (n,)), (True, (n, n)))
    return EighResult(inputs.deliver(w), inputs.deliver(x))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L", *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """Eigenvalues of Hermitian matrices: those of `eigh`, which see, at the same cost.

    Args:
        a: A Hermitian matrix (n, n) or a stack (..., n, n), of which one triangle is read.
        UPLO: ``"L"`` reads the lower triangle, ``"U"`` the upper one.
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        The eigenvalues (..., n), ascending.

    Raises:
        LinAlgError: A is not square.
        ValueError: UPLO or the precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.eigvalsh([[0, -2j], [2j, 0]], prec="qd"))
        [-2.  2.]
    """
    inputs, planes = _read("eigvalsh", a, UPLO, prec, check_finite)
    n = planes.shape[-1]
    (w,) = by_stack(planes, lambda p: _decompose(p)[:1], (False, (n,)))
    return inputs.deliver(w)


def _read(function: str, a: Any, uplo: str, prec: Any, check_finite: bool) -> tuple[Inputs, Planes]:
    """The operand with its triangle mirrored."""
    if str(uplo).upper() not in ("L", "U"):
        raise ValueError(f"{function}: unknown UPLO {uplo!r}; write 'L' or 'U'")
    inputs = read_inputs(function, check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes)
    shape = _planes.shape_of(planes)
    if shape[-1] != shape[-2]:
        raise LinAlgError(
            f"{function}: a must be square, got shape {shape}; write mdla.linalg.svd(a) for others"
        )
    return inputs, _mirrored(planes, lower=str(uplo).upper() == "L")


def _mirrored(planes: Planes, lower: bool) -> Planes:
    """The Hermitian matrix that a triangle stands for."""
    kept = np.tril(planes) if lower else np.triu(planes)
    other = np.swapaxes(np.tril(planes, -1) if lower else np.triu(planes, 1), -1, -2)
    if planes.shape[0] == 2:
        i = np.arange(planes.shape[-1])
        kept[1][..., i, i] = 0
        other = np.stack([other[0], -other[1]])
    # One of each two limbs is zero.
    full: Planes = kept + other
    return full


def _decompose(planes: Planes) -> list[Planes]:
    """Eigenvalues (1, N, n) and eigenvectors of one Hermitian matrix (c, N, n, n)."""
    limbs, n = planes.shape[1], planes.shape[-1]
    if not np.isfinite(planes[:, 0]).all():
        return [np.full((1, limbs, n), np.nan), np.full(planes.shape, np.nan)]
    a, exponent = peel(MDArray(planes))
    w, x = diagonalise(a)
    order = argsort(w)
    return [times_two(w, exponent).planes[..., order], x.planes[..., order]]


def diagonalise(a: MDArray) -> tuple[MDArray, MDArray]:
    """Eigenvalues, not ordered, and eigenvectors of a Hermitian matrix with entries up to 1.

    One step takes ``R = I - X^H X`` and ``S = X^H A X``. In the orthonormal basis
    ``X (I + R / 2)`` the matrix is ``S + (R S + S R) / 2`` but for squares of small terms; its
    off-diagonal entry d_ij over the difference ``w_j - w_i`` of eigenvalues is the correction
    F_ij, and X becomes ``X (I + R / 2) (I + F + F^2 / 2)``, where F is skew. To first order that is
    Ogita and Aishima's X + X E; the square of F keeps X orthonormal where eigenvalues are close.
    The off-diagonal entries that are left are of the size of ``F D``, the defect of orthonormality
    of the size of ``F^4 + R^2``.

    3 products of n^3 with the limbs of the step, two with the limbs of the correction, one in
    double precision; n^2 operations else.
    """
    limbs, n = a.precision.limbs, a.shape[0]
    first, vectors = np.linalg.eigh(a.to_numpy())
    x = from_double(vectors)
    if limbs == 1:
        return from_double(first), x
    size, error, now, visits = float(np.abs(first).max(initial=0.0)), START, 2, 0
    diagonal = np.arange(n)
    # Each step lowers what is left by 2^-20 or more, and one that ends a climb may repeat.
    for _ in range(8 + 4 * limbs):
        now = max(now, limbs_for(error * error, limbs))
        eps = resolution(now)
        visits += now == limbs
        r = defect(x, now)
        s = matmul(adjoint(x), matmul(at_limbs(a, now), x, prec=r.precision), prec=r.precision)
        w = s[diagonal, diagonal].real
        s = s + times_two(r * (w[:, np.newaxis] + w), -1)
        # Exactly Hermitian, or rounding errors over small gaps would make F not skew.
        s = times_two(s + s.H, -1)
        w = s[diagonal, diagonal].real
        s[diagonal, diagonal] = 0
        gap = w - w[:, np.newaxis]
        rest = np.abs(s.to_numpy())
        ratio = over(rest, np.abs(gap.to_numpy()))
        half = most(r.to_numpy()) / 2
        # Below the squares of R, which S has only to first order, entries say nothing either.
        second = 4 * half * half
        noise = (rounding(n, visits) * eps + second) * size
        apart = correctable(rest, ratio, noise, eps)
        small = np.where(apart, ratio, 0)
        spill = small @ rest
        groups = list(clusters((ratio > THETA) & (rest > noise + spill + spill.T)))
        blocks = [s[np.ix_(j, j)] for j in groups]
        for j in groups:
            apart[np.ix_(j, j)] = False
        step = Step(half, most(small), 2 * most(spill) / max(size, eps) + second, eps)
        finished = now == limbs and not groups and step.left <= eps
        few = limbs_for(step.error / max(step.turn + step.half, eps), limbs)
        f = quotient(s, gap, apart, few)
        x = corrected(x, times_two(r, -1), f, step, limbs)
        if finished:
            return w, at_limbs(x, limbs)
        error = max(step.left, eps)
        for j, block in zip(groups, blocks, strict=True):
            block[np.arange(len(j)), np.arange(len(j))] = w[j] - w[j[0]]
            scaled, k = peel(block)
            rotation = orthonormal(np.linalg.eigh(scaled.to_numpy())[1], step.error, limbs)
            x[:, j] = matmul(x[:, j], rotation)
            error = max(error, 2.0**k / size * START)
    raise LinAlgError("eigh: the eigenvectors did not converge")
