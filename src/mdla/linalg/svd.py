# SPDX-License-Identifier: BSD-3-Clause
"""The singular value decomposition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core.arithmetic import absolute
from mdla.core.array import MDArray
from mdla.core.ordering import argsort
from mdla.core.protocols import implements
from mdla.gemm import adjoint, matmul
from mdla.linalg import householder
from mdla.linalg.eigh import eigh
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

__all__ = ["SVDResult", "svd", "svdvals"]

Planes = npt.NDArray[Any]


class SVDResult(NamedTuple):
    """What `svd` returns.

    Attributes:
        U: The left singular vectors, as columns.
        S: The singular values, in descending order.
        Vh: The conjugate transpose of the right singular vectors, which are its rows.
    """

    U: MDArray
    S: MDArray
    Vh: MDArray


@implements(np.linalg.svd)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    *,
    prec: Any = None,
    check_finite: bool = True,
) -> Any:
    """The singular value decomposition ``A = U diag(S) Vh`` of matrices.

    LAPACK's result in double precision is refined by matrix products (T. Ogita and K. Aishima, J.
    Comput. Appl. Math. 369 (2020) 112512, algorithm 1), with clusters of singular values as in
    `mdla.linalg.eigh`; a matrix that is not square is reduced by QR before. The computed results
    satisfy ``||A - U diag(S) Vh|| <= c n eps ||A||``, ``||U^H U - I|| <= c n eps`` and likewise V,
    n the larger side, and so each singular value has an error of at most ``c n eps ||A||``. Signs
    and phases of the vectors are not specified.

    Args:
        a: A matrix (m, n) or a stack (..., m, n); k is the smaller of m and n.
        full_matrices: Whether U is (m, m) and Vh (n, n), or (m, k) and (k, n).
        compute_uv: Whether to return the vectors.
        hermitian: Whether A is Hermitian; then its lower triangle is read, as by `eigh`.
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans; with False a matrix that
            has them gives nans.

    Returns:
        U, S (..., k), descending, and Vh; only S without ``compute_uv``.

    Raises:
        LinAlgError: ``a`` is no matrix, or Hermitian and not square.
        ValueError: The precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> U, S, Vh = mdla.linalg.svd(mdla.array([[3, 0], [4, 5]], prec="qd"))
        >>> print(S**2)
        [45. 5.]
    """
    if hermitian:
        return _svd_hermitian(a, compute_uv, prec, check_finite)
    inputs, planes = _read("svd", a, prec, check_finite)
    if not compute_uv:
        return _values(inputs, planes)
    m, n = planes.shape[-2:]
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)
    u, s, v = by_stack(
        planes,
        lambda p: _decompose(p, left, right),
        (True, (m, left)),
        (False, (k,)),
        (True, (n, right)),
    )
    return SVDResult(inputs.deliver(u), inputs.deliver(s), inputs.deliver(v).H)


@implements(np.linalg.svdvals)
def svdvals(a: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """The singular values of matrices: those of `svd`, which see.

    Args:
        a: A matrix (m, n) or a stack (..., m, n).
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        The singular values (..., min(m, n)), descending.

    Raises:
        LinAlgError: ``a`` is no matrix.
        ValueError: The precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.svdvals([[0, 2], [0, 0]]))
        [2. 0.]
    """
    return _values(*_read("svdvals", a, prec, check_finite))


def _read(function: str, a: Any, prec: Any, check_finite: bool) -> tuple[Inputs, Planes]:
    inputs = read_inputs(function, check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes)
    return inputs, planes


def _values(inputs: Inputs, planes: Planes) -> MDArray:
    k = min(planes.shape[-2:])
    (s,) = by_stack(planes, lambda p: _decompose(p, k, k)[1:2], (False, (k,)))
    return inputs.deliver(s)


def _svd_hermitian(a: Any, compute_uv: bool, prec: Any, check_finite: bool) -> Any:
    """From the eigenvalues: U has their vectors, V those times the signs."""
    w, x = eigh(a, prec=prec, check_finite=check_finite)
    order = argsort(absolute(w), -1)[np.newaxis, np.newaxis, ..., ::-1]
    values = np.take_along_axis(w.planes, order, -1)
    s = absolute(MDArray(values))
    if not compute_uv:
        return s
    u = np.take_along_axis(x.planes, order[..., np.newaxis, :], -1)
    v = np.copysign(1.0, values[:, :1, ..., np.newaxis, :]) * u
    return SVDResult(MDArray(u), s, MDArray(v).H)


def _decompose(planes: Planes, left: int, right: int) -> list[Planes]:
    """The first columns of U, S and the first columns of V of one matrix (c, N, m, n)."""
    m, n = planes.shape[-2:]
    if m < n:
        return _decompose(householder.adjoint(planes), right, left)[::-1]
    head = planes.shape[:2]
    if not np.isfinite(planes[:, 0]).all():
        shapes = ((*head, m, left), (1, head[1], n), (*head, n, right))
        return [np.full(shape, np.nan) for shape in shapes]
    a, exponent = peel(MDArray(planes))
    work = np.array(a.planes, order="C")
    reflectors = householder.factor(work, n) if m > n else []
    u, s, v = diagonalise(MDArray(work[:, :, :n]))
    order = argsort(s)[::-1]
    wide = np.zeros((*head, m, left))
    wide[:, :, :n, :n] = u.planes[..., order]
    extra = np.arange(n, left)
    wide[0, 0, extra, extra] = 1
    householder.apply(reflectors, wide)
    return [wide, times_two(s, exponent).planes[..., order], v.planes[..., order]]


def diagonalise(a: MDArray) -> tuple[MDArray, MDArray, MDArray]:
    """U, the singular values, not ordered, and V of a square matrix with entries up to 1.

    One step takes ``R = I - U^H U``, ``Q = I - V^H V`` and ``T = U^H A V``. In the orthonormal
    bases ``U (I + R / 2)`` and ``V (I + Q / 2)`` the matrix is ``T + (R T + T Q) / 2`` but for
    squares of small terms. With H and K the Hermitian and the skew part of its off-diagonal
    entries, ``P_ij = H_ij / (s_j - s_i)`` and ``M_ij = K_ij / (s_j + s_i)``, the corrections are
    ``F = P + M`` for U and ``G = P - M`` for V, both skew, applied as in `mdla.linalg.eigh`. Where
    P would be large, the cluster's block of H is diagonalised by one rotation of both bases; where
    M would, both singular values are small, and the block of T gets rotations of its own.

    4 products of n^3 with the limbs of the step, 4 with the limbs of the correction, one in double
    precision; n^2 operations else.
    """
    limbs, n = a.precision.limbs, a.shape[0]
    left_vectors, first, right_vectors = np.linalg.svd(a.to_numpy())
    u, v = from_double(left_vectors), from_double(right_vectors.conj().T)
    if limbs == 1:
        return u, from_double(first), v
    size, error, now, visits = float(first.max(initial=0.0)), START, 2, 0
    diagonal = np.arange(n)
    # Each step lowers what is left by 2^-20 or more, and one that ends a climb may repeat.
    for _ in range(8 + 4 * limbs):
        now = max(now, limbs_for(error * error, limbs))
        eps = resolution(now)
        visits += now == limbs
        r, q = defect(u, now), defect(v, now)
        t = matmul(adjoint(u), matmul(at_limbs(a, now), v, prec=r.precision), prec=r.precision)
        s = t[diagonal, diagonal].real
        t = t + times_two(r * s + q * s[:, np.newaxis], -1)
        s = t[diagonal, diagonal].real
        h, k = times_two(t + t.H, -1), times_two(t - t.H, -1)
        h[diagonal, diagonal] = 0
        difference, total = s - s[:, np.newaxis], s + s[:, np.newaxis]
        rest_h, rest_k = np.abs(h.to_numpy()), np.abs(k.to_numpy())
        ratio_p = over(rest_h, np.abs(difference.to_numpy()))
        ratio_m = over(rest_k, np.abs(total.to_numpy()))
        half = max(most(r.to_numpy()), most(q.to_numpy())) / 2
        # Below the squares of R and Q, which T has only to first order, entries say nothing either.
        second = 4 * half * half
        noise = (rounding(n, visits) * eps + second) * size
        apart_p = correctable(rest_h, ratio_p, noise, eps)
        apart_m = correctable(rest_k, ratio_m, noise, eps)
        small = np.where(apart_p, ratio_p, 0) + np.where(apart_m, ratio_m, 0)
        spill = small @ (rest_h + rest_k)
        floor = noise + spill + spill.T
        edges_m = (ratio_m > THETA) & (rest_k > floor)
        groups = []
        for j in clusters(edges_m | ((ratio_p > THETA) & (rest_h > floor))):
            square = np.ix_(j, j)
            apart_p[square] = False
            if edges_m[square].any():
                apart_m[square] = False
                groups.append((j, t[square], True))
            else:
                shifted = h[square]
                shifted[np.arange(len(j)), np.arange(len(j))] = s[j] - s[j[0]]
                groups.append((j, shifted, False))
        step = Step(half, most(small), 2 * most(spill) / max(size, eps) + second, eps)
        finished = now == limbs and not groups and step.left <= eps
        few = limbs_for(step.error / max(step.turn + step.half, eps), limbs)
        p = quotient(h, difference, apart_p, few)
        m = quotient(k, total, apart_m, few)
        u = corrected(u, times_two(r, -1), p + m, step, limbs)
        v = corrected(v, times_two(q, -1), p - m, step, limbs)
        if finished:
            negative = np.signbit(s.planes[0, 0])
            v.planes[..., negative] *= -1
            return at_limbs(u, limbs), absolute(s), at_limbs(v, limbs)
        error = max(step.left, eps)
        for j, block, is_null in groups:
            scaled, exponent = peel(block)
            left_side, right_side = _rotations(scaled.to_numpy(), is_null)
            u[:, j] = matmul(u[:, j], orthonormal(left_side, step.error, limbs))
            v[:, j] = matmul(v[:, j], orthonormal(right_side, step.error, limbs))
            error = max(error, 2.0**exponent / size * START)
    raise LinAlgError("svd: the singular vectors did not converge")


def _rotations(block: npt.NDArray[Any], is_null: bool) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Rotations of U and of V that diagonalise the block of a cluster."""
    if is_null:
        left, _, right = np.linalg.svd(block)
        return left, right.conj().T
    both = np.linalg.eigh(block)[1]
    return both, both
