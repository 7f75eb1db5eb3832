# SPDX-License-Identifier: BSD-3-Clause
"""Norms and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mdla.core import reductions
from mdla.core.arithmetic import absolute
from mdla.core.array import MDArray
from mdla.core.comparison import isfinite, isnan, not_equal
from mdla.core.operands import to_array
from mdla.core.protocols import implements
from mdla.core.reductions import Axis, norm2
from mdla.gemm import matmul
from mdla.linalg.inputs import LinAlgError, read_inputs, require_matrix
from mdla.linalg.svd import svd, svdvals

__all__ = ["cond", "norm"]


@implements(np.linalg.norm)
def norm(a: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> MDArray:
    """A vector or matrix norm, as ``numpy.linalg.norm``.

    Sums and roots have errors of at most c n eps times the norm; so do the norms by singular
    values (2, -2 and "nuc"), which take as long as `mdla.linalg.svdvals`, relative to the largest.

    Args:
        a: Numbers.
        ord: For vectors None or 2 (Euclidean), 1, inf, -inf or 0; for matrices None or "fro", 1
            (largest column sum), -1, inf (largest row sum), -inf, 2 (largest singular value), -2
            (smallest one) or "nuc" (their sum).
        axis: The axis of vectors or the two axes of matrices; None takes all, and a vector or
            matrix as what it is.
        keepdims: Whether reduced axes stay, with length one.

    Returns:
        The norms; nan for norms by singular values of what is not finite, 0 for what is empty.

    Raises:
        ValueError: The order is not supported for that many axes, or asks for the smallest of no
            numbers.

    Example:
        >>> import mdla
        >>> print(mdla.norm(mdla.array([3, 4])))
        5.0
        >>> print(mdla.norm(mdla.array([[3, 0], [0, 4]]), "nuc"))
        7.0
    """
    a = to_array(a)
    if ord is None:
        return norm2(a, axis, keepdims=keepdims)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if len(axes) == 1:
        return _vector_norm(a, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(a, ord, axes, keepdims)
    raise ValueError(f"ord={ord!r} needs one or two axes, got {len(axes)}; give axis=")


def _vector_norm(a: MDArray, ord: Any, axis: int, keepdims: bool) -> MDArray:
    if ord == 2:
        return norm2(a, axis, keepdims=keepdims)
    if ord == 0:
        count = not_equal(a, 0).sum(axis=axis, keepdims=keepdims)
        return to_array(count, a.precision)
    size = absolute(a)
    if ord == np.inf:
        return _largest(size, axis, keepdims)
    if ord == -np.inf:
        return _least(size, axis, keepdims)
    if ord == 1:
        return reductions.sum(size, axis, keepdims=keepdims)
    raise ValueError(f"unknown vector norm ord={ord!r}; write None, 0, 1, 2, inf or -inf")


def _largest(sizes: MDArray, axis: int, keepdims: bool = True) -> MDArray:
    """The largest of numbers that are not negative; 0 if there are none."""
    reduce = reductions.max if sizes.shape[axis] else reductions.sum
    return reduce(sizes, axis, keepdims=keepdims)


def _least(sizes: MDArray, axis: int, keepdims: bool = True) -> MDArray:
    if sizes.shape[axis] == 0:
        raise ValueError(
            "norm: the norms by a smallest one (ord -1, -2, -inf) are not defined where there is "
            "none; write 1, 2 or inf, which give 0"
        )
    return reductions.min(sizes, axis, keepdims=keepdims)


def _matrix_norm(a: MDArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> MDArray:
    if ord == "fro":
        return norm2(a, axes, keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, kept = (axes[0], axes[1]) if abs(ord) == 1 else (axes[1], axes[0])
        sums = reductions.sum(absolute(a), summed, keepdims=True)
        extreme = _largest if ord > 0 else _least
        result = extreme(sums, kept)
    elif ord in (2, -2, "nuc"):
        result = _singular_norm(a, ord, axes)
    else:
        raise ValueError(
            f"unknown matrix norm ord={ord!r}; write None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    if keepdims:
        return result
    squeezed: MDArray = result.squeeze(axes)
    return squeezed


def _singular_norm(a: MDArray, ord: Any, axes: tuple[int, ...]) -> MDArray:
    """The norms by singular values; the reduced axes stay."""
    matrices = MDArray(np.moveaxis(a.planes, [axis + 2 for axis in axes], [-2, -1]))
    s = svdvals(matrices, check_finite=False)[..., np.newaxis]
    if ord == "nuc":
        result = reductions.sum(s, -2, keepdims=True)
    elif ord == 2:
        result = _largest(s, -2)
    else:
        result = _least(s, -2)
    return MDArray(np.moveaxis(result.planes, [-2, -1], [axis + 2 for axis in axes]))


@implements(np.linalg.cond)
def cond(a: Any, p: Any = None, *, prec: Any = None) -> MDArray:
    """The condition number ``norm(A, p) norm(inv(A), p)``, as ``numpy.linalg.cond``.

    Up to 1 / eps it has the leading digits of the condition number: the relative error is at most
    ``c n eps`` times the condition number. Beyond that it is a number of that size or larger, or
    inf.

    Args:
        a: A matrix (m, n) or a stack (..., m, n), square unless p is None, 2 or -2.
        p: None or 2 for the ratio of the largest to the smallest singular value, -2 for its
            reciprocal; 1, -1, inf, -inf or "fro", see `norm`.
        prec: The precision to compute in; by default that of ``a``.

    Returns:
        The condition numbers (...), inf for exactly singular matrices, nan for those with nans.

    Raises:
        LinAlgError: ``a`` is no matrix, its matrices have no entries, or they are not square and p
            needs an inverse.
        ValueError: There is no such norm or precision.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.cond(mdla.array([[4, 0], [0, "0.5"]])))
        8.0
        >>> print(mdla.linalg.cond([[1, 2], [2, 4]], 1))
        inf
    """
    inputs = read_inputs("cond", False, prec, a=a)
    planes = inputs.planes[0]
    by_values = p in (None, 2, -2)
    require_matrix("cond", "a", planes, square=not by_values)
    matrix = MDArray(planes)
    if 0 in matrix.shape[-2:]:
        raise LinAlgError(f"cond: a matrix needs entries, got shape {matrix.shape}")
    if by_values:
        s = svdvals(matrix, check_finite=False)
        ends = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        result = ends[0] / ends[1]
    else:
        if p not in (1, -1, np.inf, -np.inf, "fro"):
            raise ValueError(f"cond: unknown p {p!r}; write None, 'fro', 1, -1, 2, -2, inf or -inf")
        u, s, vh = svd(matrix, check_finite=False)
        inverse = matmul(vh.H / s[..., np.newaxis, :], u.H)
        result = norm(matrix, p, (-2, -1)) * norm(inverse, p, (-2, -1))
    # 0 / 0 and inf * 0 come from singular matrices, unless the entries were nans already.
    result = result.copy()
    result[~isfinite(result) & ~isnan(matrix).any(axis=(-2, -1))] = np.inf
    return inputs.deliver(result.planes)
