# SPDX-License-Identifier: BSD-3-Clause
"""QR of a tall block from its Gram matrix: two products instead of reflections column by column.

For A = Q R with a positive diagonal of R, R is the Cholesky factor of A^H A, and the reflectors
with H [S; 0] = Q for signs S follow from Q by elimination without exchanges (G. Ballard, J. Demmel,
L. Grigori, M. Jacquelin, N. Knight and H. D. Nguyen, J. Parallel Distrib. Comput. 85 (2015) 3-31,
section 5). What makes it stable is that the Gram matrix, and all that is done with matrices (w, w),
have more limbs than A; so the loss of Cholesky QR, the square of the condition number (Y. Yamamoto,
Y. Nakatsukasa, Y. Yanagisawa and T. Fukaya, ETNA 44 (2015) 306-326), falls below eps. Where the
limbs do not suffice, the block is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.precision import PRECISIONS, from_layout
from mdla.gemm import update
from mdla.linalg.inputs import exponents_along, is_moderate, times_power
from mdla.linalg.products import adjoint, adjoint_times, multiply

__all__ = ["gram_block"]

Planes = npt.NDArray[Any]

# The formats that the Gram matrix is tried in, by the number of limbs of A: one more limb, and
# twice as many where exponents of doubles reach.
_WIDER = {
    1: ("dd",),
    2: ("td", "qd"),
    3: ("qd", "od"),
    4: ("pd", "od"),
    5: ("od", "da"),
    8: ("da", "hd"),
    10: ("hd",),
    16: ("hd",),
}

# ||R^-1||_1 ||R^-1||_inf, for columns of length 1/2 to 1, up to which products with R^-1 keep the
# format of A: they lose the root of it, which is less than a column loses to its reflectors.
_MILD = 256.0

# Its limit where no format is wider than that of A: the loss of orthogonality is that much times
# the rounding errors of the Gram matrix.
_SAME = 512.0

# Order of the matrices that native kernels factor by vectors, by the number of limbs.
_LEAF = {2: 32, 3: 32, 4: 32, 5: 32, 8: 16, 10: 16, 16: 16}


def gram_block(v: Planes, t: Planes, a: Planes) -> bool:
    """Triangularise A (c, N, m, w), m >= 2 w, by I - V T V^H, if it is far from dependent columns.

    With G = A^H A = R^H R, X = R^-1 and E the error of G and of its Cholesky factor, the loss of
    orthogonality is ||X^H E X||; it is accepted while m ||R||_F^2 ||X||_F^2 u <= eps, u the eps of
    the wider format, and A = Q R holds to eps |Q| |R| since Q is A X up to a rounding. Two products
    of m w^2 multiply-adds and about 3 w^3 in the wider format.

    Args:
        v: Zeros (c, N, m, w), filled with V.
        t: Zeros (c, N, w, w), filled with T.
        a: Replaced by R above zeros.

    Returns:
        Whether it was done; otherwise nothing has changed. Refused are also columns of extreme
        exponents, and those that are zero below row w, which may need no reflector.
    """
    w = a.shape[3]
    if not is_moderate(exponents_along(a, -2)) or not a[:, 0, w:].any(axis=(0, 1)).all():
        return False
    bits = 0.0
    for name in _WIDER[a.shape[1]]:
        wide = PRECISIONS[name]
        more = wide.limbs - a.shape[1]
        if bits > 52 * more:
            continue
        factors = _cholesky_with_inverse(adjoint_times(a, a, wide))
        if factors is None:
            # The condition number is beyond every other format, too.
            return False
        r, x, size, loss = factors
        loss *= a.shape[2]
        # Written so that nan fails.
        if loss <= math.ldexp(1.0, 52 * more) if more else size <= _SAME:
            _reflect(v, t, a, r, x, size <= _MILD)
            return True
        if not math.isfinite(loss):
            return False
        bits = math.log2(loss)
    return False


def _cholesky_with_inverse(gram: Planes) -> tuple[Planes, Planes, float, float] | None:
    """R and X = R^-1 with G = R^H R, in place of G; None if G is not positive definite.

    Also ||X||_1 ||X||_inf and ||R||_F^2 ||X||_F^2 for columns of length 1/2 to 1.
    """
    squares = np.diagonal(gram[0, 0])
    if not (np.isfinite(squares) & (squares > 0)).all():
        return None
    exponents = ((np.frexp(squares)[1] + 1) >> 1).astype(np.int32)[np.newaxis]
    times_power(gram, -exponents)
    times_power(gram, -exponents.T)
    if not _cholesky(gram):
        return None
    r, x = np.triu(gram), _inverse(gram)
    with np.errstate(over="ignore", invalid="ignore"):
        size_r, size_x = (np.hypot.reduce(p[:, 0], axis=0) for p in (r, x))
        size = float(size_x.sum(axis=0).max() * size_x.sum(axis=1).max())
        loss = float(np.square(size_r).sum() * np.square(size_x).sum())
    times_power(r, exponents)
    times_power(x, -exponents.T)
    return r, x, size, loss


def _cholesky(g: Planes) -> bool:
    """``G = R^H R`` in place of the upper triangle; False where a pivot is not positive."""
    half = _half(g)
    if not half:
        return bool(_native.cholesky_leaf(g) == g.shape[-1])
    head, right, rest = g[..., :half, :half], g[..., :half, half:], g[..., half:, half:]
    if not _cholesky(head):
        return False
    _native.substitute_block(adjoint(head), right, True, False)
    _native.subtract_in_place(rest, adjoint_times(right, right))
    return _cholesky(rest)


def _inverse(u: Planes) -> Planes:
    """The inverse of the upper triangle of U, by halves."""
    half = _half(u)
    if not half:
        return _substituted(u, lower=False)
    first, second = _inverse(u[..., :half, :half]), _inverse(u[..., half:, half:])
    return _upper(first, multiply(first, multiply(u[..., :half, half:], second)), second)


def _substituted(t: Planes, lower: bool) -> Planes:
    """The inverse of the upper or of the unit lower triangle of T."""
    x = np.zeros(t.shape)
    diagonal = np.arange(t.shape[-1])
    x[0, 0, diagonal, diagonal] = 1
    _native.substitute_block(t, x, lower, lower)
    return x


def _upper(first: Planes, corner: Planes, second: Planes) -> Planes:
    """The matrix of blocks [first, -corner; 0, second]."""
    n = first.shape[-1] + second.shape[-1]
    x, half = np.zeros((*first.shape[:2], n, n)), first.shape[-1]
    x[..., :half, :half] = first
    x[..., half:, half:] = second
    _native.subtract_in_place(x[..., :half, half:], corner)
    return x


def _signed_lu(a: Planes) -> tuple[list[int], Planes, Planes]:
    """``A - S = L U`` in place of A, see `_native.signed_lu_leaf`, by halves.

    Returns:
        The signs, L^-H and U^-1. L and U are well conditioned, so that products with their
        inverses may take the place of substitution.
    """
    half = _half(a)
    if not half:
        signs = _native.signed_lu_leaf(a)
        return signs, adjoint(_substituted(a, lower=True)), _substituted(a, lower=False)
    head, right = a[..., :half, :half], a[..., :half, half:]
    below, rest = a[..., half:, :half], a[..., half:, half:]
    signs, l1, u1 = _signed_lu(head)
    right[...] = adjoint_times(l1, right)
    below[...] = multiply(below, u1)
    _native.subtract_in_place(rest, multiply(below, right))
    more, l2, u2 = _signed_lu(rest)
    return (
        signs + more,
        _upper(l1, multiply(l1, multiply(adjoint(below), l2)), l2),
        _upper(u1, multiply(u1, multiply(right, u2)), u2),
    )


def _half(a: Planes) -> int:
    """Columns of the first part when a matrix is halved; 0 if it is not."""
    half = _LEAF[a.shape[1]]
    if a.shape[-1] <= half:
        return 0
    while 2 * half < a.shape[-1]:
        half *= 2
    return half


def _reflect(v: Planes, t: Planes, a: Planes, r: Planes, x: Planes, mild: bool) -> None:
    """V, T and S R for A = (A X) R, A X = Q with orthonormal columns.

    I - V T V^H begins with the columns Q S, so with V1 the top of V: Q1 - S = V1 U,
    V2 = Q2 U^-1 and T = -U S V1^-H.
    """
    w = a.shape[3]
    narrow = from_layout(a.shape[1], a.dtype)
    top = multiply(a[:, :, :w], x)
    found, inverse_l, inverse_u = _signed_lu(top)
    signs = np.array(found, dtype=float)
    upper, lower = np.triu(top), np.tril(top, -1)
    diagonal = np.arange(w)
    lower[0, 0, diagonal, diagonal] = 1
    y = multiply(x, inverse_u)
    v[:, :, :w] = _planes.cast(lower, narrow)
    if mild:
        update(MDArray(v[:, :, w:]), MDArray(a[:, :, w:]), MDArray(_planes.cast(y, narrow)), beta=0)
    else:
        v[:, :, w:] = _planes.cast(multiply(a[:, :, w:], y), narrow)
    # The rows of S L^-H with the other sign.
    _change_signs(inverse_l, -signs)
    t[...] = _planes.cast(np.triu(multiply(upper, inverse_l)), narrow)
    _change_signs(r, signs)
    a[:, :, :w] = np.triu(_planes.cast(r, narrow))
    a[:, :, w:] = 0


def _change_signs(a: Planes, signs: npt.NDArray[np.float64]) -> None:
    """Multiply rows by signs in place; zeros stay positive."""
    a *= signs[:, np.newaxis]
    a += 0.0
