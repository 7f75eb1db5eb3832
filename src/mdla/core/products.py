# SPDX-License-Identifier: BSD-3-Clause
"""Products of arrays.

What is a matrix product goes to `mdla.matmul`, through the table of `mdla.core.protocols`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mdla import _native
from mdla.core import planes as _planes, reductions
from mdla.core.arithmetic import conjugate, multiply
from mdla.core.array import MDArray
from mdla.core.manipulation import diagonal
from mdla.core.operands import to_array, unify
from mdla.core.protocols import implements, lookup

__all__ = ["dot", "inner", "kron", "outer", "tensordot", "trace", "vdot", "vecdot"]


@implements(np.dot)
def dot(a: Any, b: Any) -> MDArray:
    """The dot product of vectors, the matrix product of matrices, as ``numpy.dot``.

    For vectors of length K the error is at most K eps ``sum |a| |b|``; each product is rounded
    and added in the fixed order of `mdla.sum`.

    Raises:
        ValueError: The lengths differ.

    Example:
        >>> import mdla
        >>> print(mdla.dot(mdla.array(["1e100", 1, "-1e100"], prec="qd"), [1, 1, 1]))
        1.0
    """
    a, b = to_array(a), to_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.ndim == 1 and b.ndim == 1:
        return vecdot(a, b, _conjugate=False)
    if b.ndim > 2:
        return tensordot(a, b, axes=((-1,), (-2,)))
    product: MDArray = lookup(np.matmul)(a, b)
    return product


@implements(np.vecdot)
def vecdot(a: Any, b: Any, axis: int = -1, *, _conjugate: bool = True) -> MDArray:
    """``sum(conj(a) * b)`` along an axis of broadcast arrays."""
    a, b = to_array(a), to_array(b)
    if _conjugate:
        a = conjugate(a) if a.iscomplex else a
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("dot products take vectors, got a 0-d array; write a * b")
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(
            f"dot products need vectors of one length, got {a.shape[axis]} and {b.shape[axis]}"
        )
    (x, y), result, working = unify(a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    layout = reductions.Layout(shape, axis, False)
    x, y = (layout.gather(_planes.broadcast(p, shape)) for p in (x, y))
    parts = max(x.shape[0], y.shape[0])
    out = np.empty((parts, working.limbs, layout.rows), dtype=working.dtype)
    _native.dot(out, x, y)
    return layout.deliver(_planes.cast(out, result))


@implements(np.vdot)
def vdot(a: Any, b: Any) -> MDArray:
    """``sum(conj(a) * b)`` over all entries.

    Raises:
        ValueError: The sizes differ.
    """
    return vecdot(to_array(a).reshape(-1), to_array(b).reshape(-1))


@implements(np.inner)
def inner(a: Any, b: Any) -> MDArray:
    """Sums of products along the last axes: ``inner(a, b)[i, j] = dot(a[i], b[j])``."""
    a, b = to_array(a), to_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    return tensordot(a, b, axes=((-1,), (-1,)))


@implements(np.outer, np.linalg.outer)
def outer(a: Any, b: Any) -> MDArray:
    """All products of an entry of a (rows) and one of b (columns); both are raveled."""
    a, b = to_array(a).reshape(-1), to_array(b).reshape(-1)
    return multiply(a[:, np.newaxis], b[np.newaxis, :])


@implements(np.kron)
def kron(a: Any, b: Any) -> MDArray:
    """The Kronecker product: blocks ``a[i, j] * b``."""
    a, b = to_array(a), to_array(b)
    ndim = max(a.ndim, b.ndim)
    x = a.reshape((1,) * (ndim - a.ndim) + a.shape)
    y = b.reshape((1,) * (ndim - b.ndim) + b.shape)
    left = x.reshape(tuple(n for length in x.shape for n in (length, 1)))
    right = y.reshape(tuple(n for length in y.shape for n in (1, length)))
    shape = tuple(m * n for m, n in zip(x.shape, y.shape, strict=True))
    return multiply(left, right).reshape(shape)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> MDArray:
    """Sums of products over pairs of axes, by one matrix product; as ``numpy.tensordot``.

    Args:
        a: Numbers.
        b: Numbers.
        axes: A count n (the last n of a with the first n of b), or a pair of axis tuples.

    Raises:
        ValueError: The lengths of paired axes differ.
    """
    a, b = to_array(a), to_array(b)
    if isinstance(axes, (int, np.integer)):
        n = int(axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ValueError(f"cannot sum over {n} axes of arrays with {a.ndim} and {b.ndim}")
        axes = (tuple(range(a.ndim - n, a.ndim)), tuple(range(n)))
    left, right = (normalize_axis_tuple(s, x.ndim) for s, x in zip(axes, (a, b), strict=True))
    lengths = [a.shape[d] for d in left]
    if lengths != [b.shape[d] for d in right]:
        raise ValueError(
            f"paired axes have different lengths: {tuple(lengths)} in a, "
            f"{tuple(b.shape[d] for d in right)} in b"
        )
    rows = tuple(d for d in range(a.ndim) if d not in left)
    columns = tuple(d for d in range(b.ndim) if d not in right)
    inner_size = math.prod(lengths)
    row_shape = tuple(a.shape[d] for d in rows)
    column_shape = tuple(b.shape[d] for d in columns)
    x = a.transpose((*rows, *left)).reshape(math.prod(row_shape), inner_size)
    y = b.transpose((*right, *columns)).reshape(inner_size, math.prod(column_shape))
    product: MDArray = lookup(np.matmul)(x, y)
    return product.reshape(row_shape + column_shape)


@implements(np.trace, np.linalg.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
    """The sum of a diagonal."""
    return reductions.sum(diagonal(a, offset, axis1, axis2), -1)
