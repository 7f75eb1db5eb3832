# SPDX-License-Identifier: BSD-3-Clause
"""Products of truncated power series: the Cauchy product, and products of matrices of series.

Kernels work on planes whose last axis is the degree. Recurrences, and what is here, keep them with
the degree in front, ``(c, N, length, rows)``: then the coefficients of one degree, of all series of
a batch, lie side by side, as the native sums of products want them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native, gemm
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import to_array, unify
from mdla.core.precision import PRECISIONS

__all__ = [
    "convolve",
    "convolve_planes",
    "degree_first",
    "degree_last",
    "matmul",
    "matmul_planes",
    "product_order",
    "read_degree",
]

Planes = npt.NDArray[Any]

# Work of one native call, in products of doubles.
_PER_CALL = 1e9
# So many degrees of a product of matrices are formed by one product: 1.5 to 2 times as fast as one
# at a time for matrices of 64 rows, never slower from 8 on, and few zeros are multiplied.
_DEGREES_TOGETHER = 4


def convolve(a: Any, b: Any, degree: int | None = None) -> MDArray:
    """The truncated Cauchy product ``c_k = sum_(j=0..k) a_j b_(k-j)`` along the last axes.

    The error of each coefficient is at most ``(k + 2) eps sum_j |a_j| |b_(k-j)|``, 2.5 times that
    for complex numbers.

    Args:
        a: Coefficients ``(..., p + 1)``, the one of ``t^k`` at index k.
        b: Coefficients ``(..., q + 1)``; the leading axes broadcast.
        degree: The last degree d that is wanted; by default ``p + q``, the whole product, as
            ``numpy.convolve``. Beyond ``p + q`` there are zeros.

    Returns:
        Coefficients ``(..., d + 1)`` in the wider precision.

    Raises:
        ValueError: An operand has no coefficients, leading axes do not broadcast, or the degree
            is negative.
        TypeError: An operand is no array of numbers, or the degree is no integer.

    Example:
        >>> import mdla
        >>> print(mdla.series.convolve(mdla.array([1, 2]), mdla.array([1, 3, 5])))
        [ 1.  5. 11. 10.]
        >>> print(mdla.series.convolve([1, 1], [[1, -1], [2, 0]], degree=1))
        [[1. 0.]
         [2. 2.]]
    """
    a, b = to_array(a), to_array(b)
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] == 0 or b.shape[-1] == 0:
        raise ValueError(
            f"convolve: coefficients have shape (..., degree + 1), got {a.shape} and {b.shape}; "
            "write a * b for numbers"
        )
    length = a.shape[-1] + b.shape[-1] - 1 if degree is None else read_degree(degree) + 1
    (x, y), result, working = unify(a, b)
    product = convolve_planes(_planes.cast(x, working), _planes.cast(y, working), length)
    return MDArray(_planes.cast(product, result))


def read_degree(degree: Any) -> int:
    """A degree that was given as an argument.

    Raises:
        TypeError: It is no integer.
        ValueError: It is negative.
    """
    try:
        d = int(degree.__index__())
    except AttributeError:
        raise TypeError(f"a degree is an integer, got {degree!r:.60}") from None
    if d < 0:
        raise ValueError(f"a degree is 0 or more, got {d}")
    return d


def degree_first(planes: Planes, shape: tuple[int, ...], length: int) -> Planes:
    """A copy of planes (c, N, *shape, L), broadcast to a shape, as (c, N, length, rows).

    What is longer is cut, what is shorter ends in zeros.
    """
    some = planes[..., :length]
    some = _planes.broadcast(some, (*shape, some.shape[-1]))
    out = np.zeros((*planes.shape[:2], length, math.prod(shape)), dtype=planes.dtype)
    rows = some.reshape(*planes.shape[:2], math.prod(shape), some.shape[-1])
    out[:, :, : some.shape[-1]] = rows.swapaxes(2, 3)
    return out


def degree_last(planes: Planes, shape: tuple[int, ...]) -> Planes:
    """The inverse of `degree_first`: planes (c, N, *shape, length)."""
    rows = np.ascontiguousarray(planes.swapaxes(2, 3))
    return rows.reshape(*planes.shape[:2], *shape, planes.shape[2])


def product_order(x: Planes, reverse: Planes, k: int, low: int, high: int) -> Planes:
    """One coefficient of a product, ``sum_(j=low..high) x_j y_(k-j)``, planes (c, N, rows).

    Products are rounded and added in the fixed tree of `mdla.sum`: 2 (high - low + 1) operations
    for each row and an error of at most ``(high - low + 1) eps sum |x_j| |y_(k-j)|``.

    Args:
        x: Planes (c, N, length, rows).
        reverse: Those of y from the last degree down: ``reverse[length - 1 - j] = y_j``.
        k: The degree.
        low: The first j.
        high: The last j; below the first one the sum is zero.
    """
    first = reverse.shape[2] - 1 - k
    out = np.empty((max(len(x), len(reverse)), x.shape[1], x.shape[3]), dtype=x.dtype)
    _native.dot(
        out,
        x[:, :, low : high + 1].swapaxes(2, 3),
        reverse[:, :, first + low : first + high + 1].swapaxes(2, 3),
    )
    return out


def convolve_planes(a: Planes, b: Planes, length: int) -> Planes:
    """Planes (c, N, *shape, length) of the product of (c, N, *shape, L) planes with equal limbs.

    Leading axes broadcast. The kernel (``series/native/convolve_kernels.cpp``) adds the terms of
    each coefficient by increasing degree of a, ``length^2 / 2`` multiply-adds for each series, with
    the same bits in every batch. Two floats (``ds``) are computed with as two doubles, which hold
    them exactly.
    """
    if a.dtype == np.float32:
        a, b = (_planes.cast(x, PRECISIONS["dd"]) for x in (a, b))
        return _planes.cast(convolve_planes(a, b, length), PRECISIONS["ds"])
    shape = np.broadcast_shapes(a.shape[2:-1], b.shape[2:-1])
    factors = [_planes.broadcast(x, (*shape, x.shape[-1])) for x in (a, b)]
    out = np.empty((max(len(a), len(b)), a.shape[1], *shape, length))
    work = (a.shape[1] * length) ** 2 * len(a) * len(b)
    # A fraction of a second each, so that an interrupt is heeded in between.
    for some in _portions(shape, max(1, int(_PER_CALL / max(1, work)))):
        _native.series_convolve(out[some], *(x[some] for x in factors))
    return out


def _portions(shape: tuple[int, ...], most: int) -> Iterator[tuple[Any, ...]]:
    """Indices of planes that cut a batch into parts of about so many series, along one axis."""
    if math.prod(shape) <= most:
        yield (slice(None), slice(None))
        return
    axis = int(np.argmax(shape))
    step = max(8, most // (math.prod(shape) // shape[axis]))
    for begin in range(0, shape[axis], step):
        yield (*(slice(None),) * (axis + 2), slice(begin, begin + step))


def matmul(a: MDArray, b: MDArray, length: int) -> MDArray:
    """Products of vectors and matrices of series, with the rules of ``numpy.matmul``.

    Args:
        a: Coefficients (..., n, m, L), or (m, L) for a vector.
        b: Coefficients (..., m, p, L), or (m, L) for a vector.
        length: The number of degrees of the result.

    Raises:
        ValueError: An operand is a single series, or the inner dimensions differ.
    """
    shapes = a.shape[:-1], b.shape[:-1]
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(
            f"@ takes vectors and matrices of series, got shapes {shapes[0]} and {shapes[1]}; "
            "write a * b for single ones"
        )
    rows = a if a.ndim > 2 else a[np.newaxis]
    columns = b if b.ndim > 2 else b[:, np.newaxis]
    if rows.shape[-2] != columns.shape[-3]:
        raise ValueError(
            f"@: the inner dimensions {rows.shape[-2]} and {columns.shape[-3]} of series of shapes "
            f"{shapes[0]} and {shapes[1]} differ"
        )
    planes, result, working = unify(rows[..., :length], columns[..., :length])
    x, y = (_planes.cast(p, working) for p in planes)
    product = MDArray(_planes.cast(matmul_planes(x, y, length), result))
    product = product if a.ndim > 2 else product[..., 0, :, :]
    return product if b.ndim > 2 else product[..., 0, :]


def matmul_planes(a: Planes, b: Planes, length: int) -> Planes:
    """Planes (c, N, *batch, n, p, length) of the products of matrices of series.

    ``C_k = sum_j A_j B_(k-j)`` for a few degrees together is one product of matrices, here for two
    of them, ::

        [C_k    ]   [ 0   A_0 ... A_k    ]   [B_(k+1)]
        [C_(k+1)] = [A_0  A_1 ... A_(k+1)] @ [  ...  ]
                                             [B_0    ]

    which goes to the engine that suits its size; what the engine does to the entries of B is done
    once for these degrees. That takes about ``n m p length^2 / 2`` multiply-adds for inner
    dimension m. The error is at most ``m (k + 4) eps sum_j |A_j| |B_(k-j)|``, and below
    ``(k + 1 + m) eps`` times this sum in all tests, since the kernels add exactly as long as
    exponents are not spread far.

    Args:
        a: Planes (c, N, *batch, n, m, L).
        b: Planes (c, N, *batch, m, p, L), with equal limbs; the leading axes broadcast.
        length: The number of degrees; both L are at most that.
    """
    n, m, p = a.shape[-3], a.shape[-2], b.shape[-2]
    last_a, last_b = a.shape[-1] - 1, b.shape[-1] - 1
    # The zeros that fill up a product would make nans of infinities.
    finite = np.isfinite(a[:, 0]).all() and np.isfinite(b[:, 0]).all()
    step = min(_DEGREES_TOGETHER, length) if finite else 1
    # A_j is block j + step - 1 of a row, B_j is block last_b - j of a column.
    left = np.zeros((*a.shape[:-2], last_a + 2 * step - 1, m), dtype=a.dtype)
    left[..., step - 1 : step + last_a, :] = np.moveaxis(a, -1, -2)
    left = left.reshape(*left.shape[:-2], left.shape[-2] * m)
    right = np.ascontiguousarray(np.moveaxis(b[..., ::-1], -1, -3))
    right = right.reshape(*right.shape[:-3], (last_b + 1) * m, p)
    batch = np.broadcast_shapes(a.shape[2:-3], b.shape[2:-3])
    out = np.zeros((max(len(a), len(b)), a.shape[1], *batch, n, p, length), dtype=a.dtype)
    for k in range(0, min(length, last_a + last_b + 1), step):
        count = min(step, length - k)
        low, high = max(0, k - last_a), min(last_b, k + count - 1)
        width = (high - low + 1) * m
        starts = ((k + i - high + step - 1) * m for i in range(count))
        rows = np.concatenate([left[..., s : s + width] for s in starts], axis=-2)
        columns = right[..., (last_b - high) * m : (last_b - low + 1) * m, :]
        some = gemm.matmul(MDArray(rows), MDArray(columns)).planes
        some = some.reshape(*some.shape[:-2], count, n, p)
        out[..., k : k + count] = np.moveaxis(some, -3, -1)
    return out
