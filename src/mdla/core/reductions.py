# SPDX-License-Identifier: BSD-3-Clause
"""Reductions along axes, in an order that depends on the length alone.

Sums follow the native tree of tiles and lanes; products, minima and maxima halve: with h the
larger half of K entries, entry i meets entry i + h, and the middle one of an odd count waits. So
the bits depend neither on threads nor on the instruction set. A nan makes the result nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, divide, sqrt, square, subtract
from mdla.core.array import MDArray
from mdla.core.comparison import choose
from mdla.core.operands import to_array
from mdla.core.protocols import implements

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "max",
    "mean",
    "min",
    "norm2",
    "prod",
    "std",
    "sum",
    "var",
]

Planes = npt.NDArray[Any]
Axis = int | tuple[int, ...] | None


class Layout:
    """An array seen as M rows of the K entries that are reduced together."""

    def __init__(self, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> None:
        """Sort the axes of an array into those reduced and those kept.

        Raises:
            numpy.exceptions.AxisError: An axis does not exist; a ValueError.
        """
        ndim = len(shape)
        self.reduced = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)
        self.kept = tuple(d for d in range(ndim) if d not in self.reduced)
        self.rows = math.prod(shape[d] for d in self.kept)
        self.length = math.prod(shape[d] for d in self.reduced)
        if keepdims:
            self.shape = tuple(1 if d in self.reduced else shape[d] for d in range(ndim))
        else:
            self.shape = tuple(shape[d] for d in self.kept)

    def gather(self, planes: Planes) -> Planes:
        """Planes of shape (c, N, M, K), a view where the strides allow it."""
        order = (0, 1, *(d + 2 for d in self.kept), *(d + 2 for d in self.reduced))
        return planes.transpose(order).reshape(*planes.shape[:2], self.rows, self.length)

    def deliver(self, planes: Planes) -> MDArray:
        """The array from planes of shape (c, N, M)."""
        return MDArray(planes.reshape(*planes.shape[:2], *self.shape))


@implements(np.sum)
def sum(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The sum along axes.

    With K terms the error is at most ``(log2 K + 32 ceil(log4096 K)) eps sum |a|``.

    Args:
        a: Numbers.
        axis: One axis, several, or None for all.
        keepdims: Whether reduced axes stay, with length one.

    Raises:
        ValueError: An axis does not exist.

    Example:
        >>> import mdla
        >>> print(mdla.sum(mdla.array([["1e100", 1], ["-1e100", 1]], prec="qd")))
        2.0
    """
    a = to_array(a)
    layout = Layout(a.shape, axis, keepdims)
    out = np.empty((*a.planes.shape[:2], layout.rows), dtype=a.planes.dtype)
    _native.sum(out, layout.gather(a.planes))
    return layout.deliver(out)


@implements(np.prod)
def prod(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The product along axes; 1 where there are no factors. With K factors the error is K eps."""
    a = to_array(a)
    layout = Layout(a.shape, axis, keepdims)
    if layout.length == 0:
        ones = np.zeros((*a.planes.shape[:2], layout.rows), dtype=a.planes.dtype)
        ones[0, 0] = 1
        return layout.deliver(ones)

    def times(x: Planes, y: Planes) -> Planes:
        return _planes.elementwise("mul", a.precision, x, y)

    return layout.deliver(_halve(layout.gather(a.planes), times))


@implements(np.min)
def min(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The smallest entry along axes.

    Raises:
        ValueError: There are no entries.
        TypeError: The entries are complex.
    """
    return _extremum("le", "min", a, axis, keepdims)


@implements(np.max)
def max(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The largest entry along axes; as `min`."""
    return _extremum("ge", "max", a, axis, keepdims)


def _extremum(order: str, name: str, a: Any, axis: Axis, keepdims: bool) -> MDArray:
    a = _ordered(a, name)
    layout = Layout(a.shape, axis, keepdims)
    if layout.length == 0:
        raise ValueError(f"{name} of no entries is not defined: the array has shape {a.shape}")
    return layout.deliver(_halve(layout.gather(a.planes), lambda x, y: choose(order, x, y)))


def _ordered(a: Any, name: str) -> MDArray:
    numbers = to_array(a)
    if numbers.iscomplex:
        raise TypeError(f"complex numbers have no order, so {name} is not defined; use abs(a)")
    return numbers


def _halve(planes: Planes, combine: Callable[[Planes, Planes], Planes]) -> Planes:
    """Reduce the last axis of planes (c, N, M, K) by halving."""
    while planes.shape[3] > 1:
        count = planes.shape[3]
        half = (count + 1) // 2
        paired = combine(planes[..., : count - half], planes[..., half:])
        if count - half < half:
            paired = np.concatenate([paired, planes[..., count - half : half]], axis=3)
        planes = paired
    return planes[..., 0]


@implements(np.argmin)
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> npt.NDArray[np.intp]:
    """The index of the first smallest entry, or of the first nan; of the raveled array for None.

    Raises:
        ValueError: There are no entries, or the axis does not exist.
        TypeError: The entries are complex.
    """
    return _position("lt", "argmin", a, axis, keepdims)


@implements(np.argmax)
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> npt.NDArray[np.intp]:
    """The index of the first largest entry, or of the first nan; as `argmin`."""
    return _position("gt", "argmax", a, axis, keepdims)


def _position(
    order: str, name: str, a: Any, axis: int | None, keepdims: bool
) -> npt.NDArray[np.intp]:
    a = _ordered(a, name)
    layout = Layout(a.shape, axis, keepdims)
    if layout.length == 0:
        raise ValueError(f"{name} of no entries is not defined: the array has shape {a.shape}")
    values = layout.gather(a.planes)
    index = np.broadcast_to(np.arange(layout.length), values.shape[2:])
    while values.shape[3] > 1:
        count = values.shape[3]
        half = (count + 1) // 2
        x, y = values[..., : count - half], values[..., half:]
        i, j = index[..., : count - half], index[..., half:]
        x_nan, y_nan = np.isnan(x[0, 0]), np.isnan(y[0, 0])
        beats = _planes.compare(order, y, x) & ~x_nan | y_nan & ~x_nan
        ties = _planes.compare("eq", y, x) | y_nan & x_nan
        take = beats | (ties & (j < i))
        middle = slice(count - half, half)
        values = np.concatenate([np.where(take, y, x), values[..., middle]], axis=3)
        index = np.concatenate([np.where(take, j, i), index[..., middle]], axis=1)
    position: npt.NDArray[np.intp] = index.reshape(layout.shape)[()]
    return position


@implements(np.any)
def any(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether an entry is not zero (a nan is not)."""
    return np.any(_nonzero(a), axis=axis, keepdims=keepdims)


@implements(np.all)
def all(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether no entry is zero."""
    return np.all(_nonzero(a), axis=axis, keepdims=keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many entries are not zero."""
    return np.count_nonzero(_nonzero(a), axis=axis, keepdims=keepdims)


def _nonzero(a: Any) -> npt.NDArray[np.bool_]:
    nonzero: npt.NDArray[np.bool_] = (to_array(a).planes[:, 0] != 0).any(axis=0)
    return nonzero


@implements(np.mean)
def mean(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The sum along axes divided by the count; nan where there are no entries."""
    a = to_array(a)
    return divide(sum(a, axis, keepdims=keepdims), Layout(a.shape, axis, keepdims).length)


@implements(np.var)
def var(a: Any, axis: Axis = None, *, ddof: int = 0, keepdims: bool = False) -> MDArray:
    """The mean of ``|a - mean(a)|**2`` along axes, over the count less ``ddof``."""
    a = to_array(a)
    rest = subtract(a, mean(a, axis, keepdims=True))
    squares = square(absolute(rest)) if a.iscomplex else square(rest)
    count = Layout(a.shape, axis, keepdims).length - ddof
    return divide(sum(squares, axis, keepdims=keepdims), builtin_max(count, 0))


def builtin_max(a: int, b: int) -> int:
    """The larger of two integers; the names min and max are arrays' here."""
    return a if a > b else b


@implements(np.std)
def std(a: Any, axis: Axis = None, *, ddof: int = 0, keepdims: bool = False) -> MDArray:
    """The square root of `var`."""
    return sqrt(var(a, axis, ddof=ddof, keepdims=keepdims))


@implements(np.cumsum)
def cumsum(a: Any, axis: int | None = None) -> MDArray:
    """Running sums along an axis, of the raveled array for None.

    Sums of neighbours are scanned recursively and shared, so each of the running sums is a tree of
    depth at most 2 log2 K.
    """
    return _scan("add", a, axis)


@implements(np.cumprod)
def cumprod(a: Any, axis: int | None = None) -> MDArray:
    """Running products along an axis; as `cumsum`."""
    return _scan("mul", a, axis)


def _scan(name: str, a: Any, axis: int | None) -> MDArray:
    a = to_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = normalize_axis_index(axis, a.ndim)

    def scan(x: Planes) -> Planes:
        count = x.shape[-1]
        if count < 2:
            return x.copy()
        pairs = scan(
            _planes.elementwise(name, a.precision, x[..., 0 : count - 1 : 2], x[..., 1::2])
        )
        out = np.empty(x.shape, dtype=x.dtype)
        out[..., 0] = x[..., 0]
        out[..., 1::2] = pairs
        odd = (count - 1) // 2
        if odd:
            out[..., 2::2] = _planes.elementwise(name, a.precision, pairs[..., :odd], x[..., 2::2])
        return out

    scanned = scan(np.moveaxis(a.planes, axis + 2, -1))
    return MDArray(np.ascontiguousarray(np.moveaxis(scanned, -1, axis + 2)))


def norm2(a: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """The Euclidean norm ``sqrt(sum |a|**2)`` along axes, Frobenius for a matrix.

    The entries are first scaled by an exact power of two, so that no square overflows, and none
    that matters underflows.

    Example:
        >>> import mdla
        >>> print(f"{mdla.norm2(mdla.array(['3e300', '4e300'])):.20e}")
        5.00000000000000000000e+300
    """
    a = to_array(a)
    layout = Layout(a.shape, axis, keepdims)
    planes = layout.gather(a.planes)
    if a.iscomplex:
        planes = np.concatenate([planes[:1], planes[1:]], axis=3)
    size = np.max(np.abs(planes[0, 0]), axis=1, initial=0)
    shift = np.where(np.isfinite(size) & (size > 0), np.frexp(size)[1], 0).astype(np.int32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scaled = np.ldexp(planes, -shift[:, np.newaxis])
        squares = np.empty((1, planes.shape[1], layout.rows), dtype=planes.dtype)
        _native.dot(squares, scaled, scaled)
        roots = np.ldexp(_planes.elementwise("sqrt", a.precision, squares), shift)
    roots[:, 1:][np.broadcast_to(~np.isfinite(roots[:, :1]), roots[:, 1:].shape)] = 0
    return layout.deliver(roots)
