# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, conjugate, sqrt
from mdla.core.array import MDArray
from mdla.core.creation import array
from mdla.core.protocols import implements
from mdla.core.reductions import norm2
from mdla.gemm import adjoint, matmul
from mdla.linalg.inputs import Inputs, LinAlgError, read_inputs, require_matrix
from mdla.linalg.qr import qr
from mdla.linalg.spectral import (
    START,
    at_limbs,
    by_stack,
    from_double,
    inverse_defect,
    limbs_for,
    most,
    orthonormal,
    over,
    peel,
    plus_product,
    quotient,
    resolution,
    times_two,
)

__all__ = ["EigResult", "eig", "eigvals"]

Planes = npt.NDArray[Any]

# Steps for one eigenvalue and limb before giving up (defective eigenvalues converge linearly), and
# between exceptional shifts.
_MOST_STEPS, _EXCEPTIONAL = 60, 11

# Where refinement by products is left for the Schur form: conditions of the eigenvectors in double
# precision, sums of corrections, and residuals over sqrt(n) eps ||A||.
_WORST_CONDITION, _WORST_STEP, _GOOD = 2.0**40, 2.0**-10, 4

# Entries of eigenvectors are kept below two to this power, out of reach of overflow.
_LARGE = 100


class EigResult(NamedTuple):
    """What `eig` returns.

    Attributes:
        eigenvalues: In no particular order.
        eigenvectors: Column j belongs to eigenvalue j and has norm 1.
    """

    eigenvalues: MDArray
    eigenvectors: MDArray


@implements(np.linalg.eig)
def eig(a: Any, *, prec: Any = None, check_finite: bool = True) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices, ``A X = X diag(w)``.

    Where the eigenvectors are well enough conditioned, LAPACK's result in double precision is
    refined by matrix products, which squares its error in each step; in ``"d"`` it is the result
    if each pair has a small residual, and else dd is used. Otherwise the matrix is
    brought to the Schur form ``A = Z T Z^H``, T upper triangular: by LAPACK, whose Z is made
    unitary to working precision, then by shifted QR steps (G. H. Golub and C. F. Van Loan, Matrix
    Computations, 4th ed., sections 7.5 and 7.6), and the eigenvectors of T come from back
    substitution. The eigenvalues are
    those of a matrix A + E with ``||E|| <= c n eps ||A||``, and each pair satisfies
    ``||A x - w x|| <= c n eps ||A||``; ill-conditioned eigenvalues, such as those of defective
    matrices, are as accurate as that allows, and their eigenvectors may be nearly dependent.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans; with False a matrix that
            has them gives nans.

    Returns:
        The eigenvalues (..., n) and the eigenvectors (..., n, n), as columns. For a real array
        whose eigenvalues are all real, to within ``4 n eps ||A||``, both are real; else both are
        complex. Those of a real matrix come in exact conjugate pairs, unless ill-conditioned ones
        are off the real axis by more than that and it cannot be told which are pairs.

    Raises:
        LinAlgError: A is not square.
        ValueError: The precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> w, X = mdla.linalg.eig(mdla.array([[0, 1], [-4, 0]], prec="qd"))
        >>> print(abs(w))
        [2. 2.]
    """
    inputs, planes = _read("eig", a, prec, check_finite)
    n = planes.shape[-1]
    w, x = by_stack(_planes.as_complex(planes), _decompose, (True, (n,)), (True, (n, n)))
    if planes.shape[0] == 1:
        w, x = _for_real(w, x)
    return EigResult(inputs.deliver(w), inputs.deliver(x))


@implements(np.linalg.eigvals)
def eigvals(a: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """Eigenvalues of square matrices: those of `eig`, which see.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        The eigenvalues (..., n), real if ``a`` is and they all are.

    Raises:
        LinAlgError: A is not square.
        ValueError: The precision does not exist, or an entry is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.sort(mdla.linalg.eigvals([[2, 1], [1, 2]])))
        [1. 3.]
    """
    return eig(a, prec=prec, check_finite=check_finite).eigenvalues


def _read(function: str, a: Any, prec: Any, check_finite: bool) -> tuple[Inputs, Planes]:
    inputs = read_inputs(function, check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes)
    shape = _planes.shape_of(planes)
    if shape[-1] != shape[-2]:
        raise LinAlgError(
            f"{function}: a must be square, got shape {shape}; write mdla.linalg.svd(a) for others"
        )
    return inputs, planes


def _decompose(planes: Planes) -> list[Planes]:
    """Eigenvalues (2, N, n) and eigenvectors of one matrix (2, N, n, n)."""
    n = planes.shape[-1]
    if not np.isfinite(planes[:, 0]).all():
        return [np.full((*planes.shape[:2], n), np.nan), np.full(planes.shape, np.nan)]
    a, exponent = peel(MDArray(planes))
    w, x = (_in_double(a) if a.precision.limbs == 1 else None) or _refined_or_by_schur_form(a)
    x = x / norm2(x, 0)
    real = planes[1].any(axis=0).sum() == 0
    if real:
        w, x = _paired(w, x, _tolerance(a))
    return [times_two(w, exponent).planes, x.planes]


def _in_double(a: MDArray) -> tuple[MDArray, MDArray] | None:
    """LAPACK's result, None where a pair has no small residual, for LAPACK balances the matrix."""
    w, x = (from_double(part) for part in np.linalg.eig(a.to_numpy()))
    return (w, x) if _is_good(at_limbs(a, 2), w, x, 1) else None


def _refined_or_by_schur_form(a: MDArray) -> tuple[MDArray, MDArray]:
    """By at least two limbs."""
    limbs = a.precision.limbs
    wide = at_limbs(a, max(limbs, 2))
    w, x = refined(wide) or _by_schur_form(wide)
    return at_limbs(w, limbs), at_limbs(x, limbs)


def _is_good(a: MDArray, w: MDArray, x: MDArray, limbs: int) -> bool:
    """Whether each pair has a residual of a few eps of a format."""
    lengths = (norm2(matmul(a, x) - x * w, 0) / norm2(x, 0)).to_numpy()
    bound = _GOOD * len(a) ** 0.5 * resolution(limbs) * float(norm2(a))
    return bool(lengths.max(initial=0.0) <= bound)


def _by_schur_form(a: MDArray) -> tuple[MDArray, MDArray]:
    t, z = schur(a)
    i = np.arange(len(a))
    return t[i, i], matmul(z, triangular_vectors(t))


def refined(a: MDArray) -> tuple[MDArray, MDArray] | None:
    """Eigenvalues and vectors of a complex matrix by products, None where that does not converge.

    LAPACK's X and ``Y = X^-1`` are refined together. With ``R = I - Y X`` and ``S = Y A X`` the
    matrix in the basis X is ``(I + R) S`` up to R^2; its diagonal holds the eigenvalues w, and an
    off-diagonal entry over ``w_j - w_i`` is the correction F_ij: X becomes ``X (I + F)``, Y becomes
    ``(I - F) (I + R) Y``, which leaves squares of F and R. 3 products of n^3 with the limbs of the
    step and two with the limbs of the correction. Rounding errors are magnified by the condition of
    X, so the steps have a limb more where there is a format with it, and the residual decides.
    """
    limbs, n = a.precision.limbs, len(a)
    _, vectors = np.linalg.eig(a.to_numpy())
    try:
        inverse = np.linalg.inv(vectors)
    except np.linalg.LinAlgError:
        return None
    condition = max(most(vectors) * most(inverse), 1.0)
    if not condition <= _WORST_CONDITION:
        return None
    eps = resolution(limbs)
    widest = limbs_for(eps / condition, 16)
    x, y, i, error = from_double(vectors), from_double(inverse), np.arange(n), START * condition
    for _ in range(8 + limbs):
        now = limbs_for(error * error / condition, widest)
        p = inverse_defect(y, x, now)
        s = matmul(y, matmul(at_limbs(a, now), x, prec=p.precision), prec=p.precision)
        s = s + p * s[i, i]
        w = s[i, i]
        s[i, i] = 0
        gap = w - w[:, np.newaxis]
        rest = np.abs(s.to_numpy())
        ratio = over(rest, np.abs(gap.to_numpy()))
        step = most(ratio) + most(p.to_numpy())
        if not step <= _WORST_STEP:
            return None
        error = max(2 * step * step, resolution(now))
        f = quotient(s, gap, rest > 0, limbs_for(error / 16 / max(step, eps), now))
        x = plus_product(x, f, step, error / 16, now)
        if error * condition <= eps or (now == widest and error <= 4 * eps):
            break
        y = plus_product(y.mT, (p - f).mT, step, error / 16, now).mT
    x, w = at_limbs(x, limbs), at_limbs(w, limbs)
    return (w, x) if _is_good(a, w, x, limbs) else None


def _tolerance(a: MDArray) -> float:
    """Changes of an eigenvalue that are within the backward error."""
    return 4 * len(a) * resolution(a.precision.limbs) * float(norm2(a))


def schur(a: MDArray) -> tuple[MDArray, MDArray]:
    """T, upper triangular, and a unitary Z with ``A = Z T Z^H``, for complex A, entries up to 1.

    Each step takes the QR factors of ``T_k - mu I``, T_k the leading block that is not triangular
    yet and mu Wilkinson's shift, and the block becomes ``R Q + mu I``. With a start from double
    precision the last row converges in 2 to 5 steps, linearly if the eigenvalue is defective. One
    step is a QR factorisation and three products of order k.
    """
    limbs, n = a.precision.limbs, len(a)
    _, vectors = scipy.linalg.schur(a.to_numpy(), output="complex")
    z = at_limbs(orthonormal(vectors, resolution(limbs) / 16, limbs), limbs)
    t = matmul(adjoint(z), matmul(a, z))
    small = 2 * resolution(limbs) * float(norm2(a))
    for k in range(n, 1, -1):
        for step in range(_MOST_STEPS * limbs):
            if float(norm2(t[k - 1, : k - 1])) <= small:
                break
            shift = _wilkinson_shift(t[k - 2 : k, k - 2 : k])
            if step % _EXCEPTIONAL == _EXCEPTIONAL - 1:
                shift = shift + float(norm2(t[k - 1, : k - 1]))
            _step(t, z, k, shift)
        else:
            raise LinAlgError("eig: the QR iteration did not converge")
        t[k - 1, : k - 1] = 0
    return t, z


def _step(t: MDArray, z: MDArray, k: int, shift: MDArray) -> None:
    i = np.arange(k)
    block = t[:k, :k].copy()
    block[i, i] = block[i, i] - shift
    q, r = qr(block, check_finite=False)
    block = matmul(r, q)
    block[i, i] = block[i, i] + shift
    t[:k, :k] = block
    t[:k, k:] = matmul(adjoint(q), t[:k, k:])
    z[:, :k] = matmul(z[:, :k], q)


def _wilkinson_shift(b: MDArray) -> MDArray:
    """The eigenvalue of a 2 x 2 block that is nearer to its last entry."""
    half = times_two(b[0, 0] - b[1, 1], -1)
    product = b[0, 1] * b[1, 0]
    root = sqrt(half * half + product)
    plus, minus = half + root, half - root
    far = plus if float(absolute(plus)) >= float(absolute(minus)) else minus
    if not np.any(far.planes):
        return b[1, 1]
    return b[1, 1] - product / far


def triangular_vectors(t: MDArray) -> MDArray:
    """Eigenvectors of an upper triangular matrix, as the columns of an upper triangular one.

    Column k solves ``(T - t_kk I) y = 0`` from row k - 1 up, all columns together: n vector-matrix
    products. A difference ``t_ii - t_kk`` below ``eps ||T||`` is replaced by that, as LAPACK's
    trevc does, and columns that grow are scaled by powers of two.
    """
    limbs, n = t.precision.limbs, len(t)
    y = array(np.eye(n), prec=t.precision).astype(t.precision, complex=True)
    i = np.arange(n)
    w = t[i, i]
    least = resolution(limbs) * max(float(norm2(t)), 0.5)
    for row in range(n - 2, -1, -1):
        tail = slice(row + 1, n)
        gap = w[tail] - w[row]
        gap[absolute(gap) < least] = least
        y[row, tail] = matmul(t[row, tail], y[tail, tail]) / gap
        size = np.frexp(np.abs(y.planes[:, 0, row, tail]).max(axis=0))[1]
        grown = np.where(size > _LARGE, -size, 0)
        if grown.any():
            np.ldexp(y.planes[..., tail], grown, out=y.planes[..., tail])
    return y


def _paired(w: MDArray, x: MDArray, tolerance: float) -> tuple[MDArray, MDArray]:
    """Eigenvalues of a real matrix, real or in exact pairs, and their vectors.

    What lies nearer to the real axis than the backward error is real, and of two conjugates one is
    computed from the other. Where rounding errors have spoilt the pairs, nothing is changed.
    """
    height = w.imag.to_numpy()
    is_real = np.abs(height) <= tolerance
    upper, lower = (np.flatnonzero(~is_real & (sign * height > 0)) for sign in (1, -1))
    w, x = w.copy(), x.copy()
    if len(upper) == len(lower):
        order = np.concatenate([np.flatnonzero(is_real), np.repeat(upper, 2)])
        w, x = w[order], x[:, order]
        count = int(is_real.sum())
        w[count + 1 :: 2] = conjugate(w[count + 1 :: 2])
        x[:, count + 1 :: 2] = conjugate(x[:, count + 1 :: 2])
        is_real = np.arange(len(w)) < count
    w.planes[1][..., is_real] = 0
    x[:, is_real] = _real_vectors(x[:, is_real])
    return w, x


def _real_vectors(x: MDArray) -> MDArray:
    """Complex columns turned to real vectors of norm 1."""
    # Squares add up to the largest length when the phase of sum(x^2) is taken out.
    squares = (x * x).sum(axis=0)
    phase = np.exp(-0.5j * np.angle(squares.to_numpy()))
    turned = (x * array(phase, prec=x.precision)).real
    return turned / norm2(turned, 0)


def _for_real(w: Planes, x: Planes) -> tuple[Planes, Planes]:
    """Without the imaginary parts if there are none, as NumPy does."""
    if np.any(w[1]) or np.isnan(w[1]).any():
        return w, x
    return w[:1], x[:1]
