# SPDX-License-Identifier: BSD-3-Clause
"""Shape, order and selection: what moves numbers without changing them.

Most functions hand the planes to the NumPy function of the same name, with their axes counted
behind the part and limb axes; views stay views.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import DEFAULT, read, to_array
from mdla.core.precision import promote
from mdla.core.protocols import implements

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "block",
    "broadcast_to",
    "concatenate",
    "copy",
    "diag",
    "diagonal",
    "expand_dims",
    "flip",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "tile",
    "transpose",
    "tril",
    "triu",
    "vstack",
]

Planes = npt.NDArray[Any]


# -- shape ---------------------------------------------------------------------------------------


@implements(np.reshape)
def reshape(a: Any, shape: Any) -> MDArray:
    """The entries in C order in another shape, a view where possible; -1 is worked out.

    Raises:
        ValueError: The sizes differ.
    """
    a = to_array(a)
    wanted = tuple(shape) if isinstance(shape, Sequence) else (int(shape),)
    known = math.prod(n for n in wanted if n != -1)
    if wanted.count(-1) == 1 and known > 0 and a.size % known == 0:
        wanted = tuple(a.size // known if n == -1 else n for n in wanted)
    if any(n < 0 for n in wanted) or math.prod(wanted) != a.size:
        raise ValueError(f"cannot reshape an array of shape {a.shape} into shape {shape}")
    return MDArray(a.planes.reshape(*a.planes.shape[:2], *wanted))


@implements(np.ravel)
def ravel(a: Any) -> MDArray:
    """The entries along one axis, a view where possible."""
    return reshape(a, -1)


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> MDArray:
    """The array with its axes permuted, by default reversed; a view."""
    a = to_array(a)
    order = tuple(range(a.ndim))[::-1] if axes is None else normalize_axis_tuple(axes, a.ndim)
    if len(order) != a.ndim:
        raise ValueError(f"axes {axes} do not name each of the {a.ndim} axes once")
    return MDArray(a.planes.transpose(0, 1, *(d + 2 for d in order)))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(a: Any) -> MDArray:
    """The array with its last two axes exchanged, a view.

    Raises:
        ValueError: There are less than two axes.
    """
    a = to_array(a)
    if a.ndim < 2:
        raise ValueError(f"a matrix transpose needs at least two axes, got shape {a.shape}")
    return swapaxes(a, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> MDArray:
    """The array with two axes exchanged, a view."""
    a = to_array(a)
    first, second = (normalize_axis_index(d, a.ndim) + 2 for d in (axis1, axis2))
    return MDArray(a.planes.swapaxes(first, second))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> MDArray:
    """The array with axes moved to other places, a view."""
    a = to_array(a)
    places = (tuple(d + 2 for d in normalize_axis_tuple(x, a.ndim)) for x in (source, destination))
    return MDArray(np.moveaxis(a.planes, *places))


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> MDArray:
    """The array without axes of length one (all, or those given), a view."""
    a = to_array(a)
    if axis is None:
        axes = tuple(d for d in range(a.ndim) if a.shape[d] == 1)
    else:
        axes = normalize_axis_tuple(axis, a.ndim)
    for d in axes:
        if a.shape[d] != 1:
            raise ValueError(f"cannot squeeze axis {d} of length {a.shape[d]}")
    return MDArray(np.squeeze(a.planes, tuple(d + 2 for d in axes)))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> MDArray:
    """The array with axes of length one inserted, a view."""
    a = to_array(a)
    count = len(axis) if isinstance(axis, Sequence) else 1
    axes = normalize_axis_tuple(axis, a.ndim + count)
    return MDArray(np.expand_dims(a.planes, tuple(d + 2 for d in axes)))


@implements(np.broadcast_to)
def broadcast_to(a: Any, shape: Any) -> MDArray:
    """A read-only view with a broadcast shape."""
    a = to_array(a)
    wanted = tuple(shape) if isinstance(shape, Sequence) else (int(shape),)
    if len(wanted) < a.ndim:
        raise ValueError(f"cannot broadcast an array of shape {a.shape} to shape {wanted}")
    planes = _planes.align(a.planes, len(wanted))
    return MDArray(np.broadcast_to(planes, (*planes.shape[:2], *wanted)))


@implements(np.atleast_1d)
def atleast_1d(a: Any) -> MDArray:
    """The array with at least one axis, a view."""
    a = to_array(a)
    return a if a.ndim else reshape(a, 1)


@implements(np.atleast_2d)
def atleast_2d(a: Any) -> MDArray:
    """The array with at least two axes, new ones in front; a view."""
    a = to_array(a)
    return a if a.ndim >= 2 else MDArray(_planes.align(a.planes, 2))


@implements(np.copy)
def copy(a: Any) -> MDArray:
    """A copy with limbs of its own."""
    return to_array(a).copy()


# -- joining and splitting -----------------------------------------------------------------------


def _common(arrays: Any) -> list[Planes]:
    """Planes of several arrays in their widest format, all real or all complex."""
    if isinstance(arrays, MDArray):
        arrays = list(arrays)
    items = [x if isinstance(x, MDArray) else read(x) for x in arrays]
    if not items:
        raise ValueError("there are no arrays to join; give at least one")
    counted = [
        x.precision if isinstance(x, MDArray) else x.counts or DEFAULT
        for x in items
        if isinstance(x, MDArray) or x.counts is not None
    ]
    prec = promote(*counted) if counted else DEFAULT
    planes = [to_array(x if isinstance(x, MDArray) else x.source, prec).planes for x in items]
    if any(p.shape[0] == 2 for p in planes):
        planes = [_planes.as_complex(p) for p in planes]
    return planes


@implements(np.concatenate)
def concatenate(arrays: Any, axis: int | None = 0) -> MDArray:
    """Join arrays along an axis, raveled for None; mixed precisions give the widest.

    Raises:
        ValueError: There are no arrays, they are 0-d, or their other axes differ.

    Example:
        >>> import mdla
        >>> mdla.concatenate([mdla.zeros(2, "dd"), mdla.ones(1, "qd")]).prec
        'qd'
    """
    planes = _common(arrays)
    shapes = [_planes.shape_of(p) for p in planes]
    if axis is None:
        planes = [p.reshape(*p.shape[:2], -1) for p in planes]
        return MDArray(np.concatenate(planes, axis=2))
    if any(len(s) == 0 for s in shapes):
        raise ValueError("0-d arrays cannot be concatenated; use mdla.stack")
    if any(len(s) != len(shapes[0]) for s in shapes):
        raise ValueError(f"arrays to concatenate need the same number of axes, got shapes {shapes}")
    axis = normalize_axis_index(axis, len(shapes[0]))
    if any(s[:axis] + s[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :] for s in shapes):
        raise ValueError(f"arrays to concatenate along axis {axis} have shapes {shapes}")
    return MDArray(np.concatenate(planes, axis=axis + 2))


@implements(np.stack)
def stack(arrays: Any, axis: int = 0) -> MDArray:
    """Join arrays of one shape along a new axis.

    Raises:
        ValueError: There are no arrays, or their shapes differ.
    """
    planes = _common(arrays)
    shapes = [_planes.shape_of(p) for p in planes]
    if any(s != shapes[0] for s in shapes):
        raise ValueError(f"arrays to stack need one shape, got {shapes}")
    return MDArray(np.stack(planes, axis=normalize_axis_index(axis, len(shapes[0]) + 1) + 2))


@implements(np.vstack)
def vstack(arrays: Any) -> MDArray:
    """Join arrays as rows."""
    return concatenate([atleast_2d(MDArray(p)) for p in _common(arrays)], 0)


@implements(np.hstack)
def hstack(arrays: Any) -> MDArray:
    """Join arrays as columns; vectors end to end."""
    items = [atleast_1d(MDArray(p)) for p in _common(arrays)]
    return concatenate(items, 0 if items[0].ndim == 1 else 1)


@implements(np.block)
def block(arrays: Any) -> MDArray:
    """An array from nested lists of blocks: the innermost lists join columns, the next ones rows.

    Example:
        >>> import mdla
        >>> one = mdla.eye(2)
        >>> mdla.block([[one, 2 * one], [3 * one, one]]).shape
        (4, 4)
    """

    def depth(item: Any) -> int:
        return 1 + max((depth(x) for x in item), default=0) if isinstance(item, list) else 0

    levels = depth(arrays)

    def build(item: Any, level: int, ndim: int) -> MDArray:
        if not isinstance(item, list):
            return MDArray(_planes.align(to_array(item).planes, ndim))
        return concatenate([build(x, level + 1, ndim) for x in item], axis=-(levels - level))

    def most_axes(item: Any) -> int:
        if isinstance(item, list):
            return max((most_axes(x) for x in item), default=0)
        return to_array(item).ndim

    return build(arrays, 0, max(levels, most_axes(arrays)))


@implements(np.split)
def split(a: Any, sections: Any, axis: int = 0) -> list[MDArray]:
    """Views of a cut along an axis: a number of equal parts, or the indices of the cuts."""
    a = to_array(a)
    axis = normalize_axis_index(axis, a.ndim)
    return [MDArray(p) for p in np.split(a.planes, sections, axis=axis + 2)]


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> MDArray:
    """Each entry repeated, along an axis or raveled."""
    a = to_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return MDArray(np.repeat(a.planes, repeats, axis=normalize_axis_index(axis, a.ndim) + 2))


@implements(np.tile)
def tile(a: Any, reps: Any) -> MDArray:
    """The array repeated as a whole."""
    a = to_array(a)
    counts = tuple(reps) if isinstance(reps, Sequence) else (int(reps),)
    planes = _planes.align(a.planes, len(counts))
    counts = (1,) * (planes.ndim - 2 - len(counts)) + counts
    return MDArray(np.tile(planes, (1, 1, *counts)))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> MDArray:
    """The entries shifted along axes, those that fall off coming back at the other end."""
    a = to_array(a)
    if axis is None:
        return roll(a.reshape(-1), shift, 0).reshape(a.shape)
    axes = tuple(d + 2 for d in normalize_axis_tuple(axis, a.ndim))
    return MDArray(np.roll(a.planes, shift, axes if len(axes) > 1 else axes[0]))


@implements(np.flip)
def flip(a: Any, axis: Any = None) -> MDArray:
    """The entries in reverse order along axes (all for None), a view."""
    a = to_array(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return MDArray(np.flip(a.planes, tuple(d + 2 for d in axes)))


@implements(np.take)
def take(a: Any, indices: Any, axis: int | None = None) -> MDArray:
    """The entries at integer indices along an axis, of the raveled array for None.

    Raises:
        IndexError: An index is out of range.
    """
    a = to_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    index = np.asarray(indices)
    if index.dtype.kind not in "iu" and index.size:
        raise IndexError(f"indices are integers, got {index.dtype}")
    axis = normalize_axis_index(axis, a.ndim)
    return MDArray(np.take(a.planes, index.astype(np.intp), axis=axis + 2))


# -- matrices ------------------------------------------------------------------------------------


@implements(np.diagonal, np.linalg.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
    """A diagonal along the new last axis, a view.

    Raises:
        ValueError: There are less than two axes.
    """
    a = to_array(a)
    if a.ndim < 2:
        raise ValueError(f"a diagonal needs at least two axes, got shape {a.shape}")
    first, second = (normalize_axis_index(d, a.ndim) + 2 for d in (axis1, axis2))
    view = np.diagonal(a.planes, offset, first, second)
    if a.planes.flags.writeable:
        # NumPy marks diagonals read-only; here they follow the array, as other views do.
        view.flags.writeable = True
    return MDArray(view)


@implements(np.diag)
def diag(a: Any, k: int = 0) -> MDArray:
    """A copy of the k-th diagonal of a matrix, or the matrix with a vector as k-th diagonal.

    Raises:
        ValueError: The array has neither one nor two axes.
    """
    a = to_array(a)
    if a.ndim == 2:
        return diagonal(a, k).copy()
    if a.ndim != 1:
        raise ValueError(f"diag takes a vector or a matrix, got shape {a.shape}")
    n = a.shape[0] + abs(k)
    out = MDArray(np.zeros((*a.planes.shape[:2], n, n), dtype=a.planes.dtype))
    diagonal(out, k)[...] = a
    return out


@implements(np.triu)
def triu(a: Any, k: int = 0) -> MDArray:
    """A copy with zeros below the k-th diagonal."""
    return _triangle(a, lambda rows, columns: columns - rows >= k)


@implements(np.tril)
def tril(a: Any, k: int = 0) -> MDArray:
    """A copy with zeros above the k-th diagonal."""
    return _triangle(a, lambda rows, columns: columns - rows <= k)


def _triangle(a: Any, keep: Any) -> MDArray:
    a = to_array(a)
    if a.ndim < 2:
        raise ValueError(f"a triangle needs at least two axes, got shape {a.shape}")
    mask = keep(np.arange(a.shape[-2])[:, np.newaxis], np.arange(a.shape[-1]))
    return MDArray(np.where(mask, a.planes, a.planes.dtype.type(0)))


# -- properties that NumPy asks for --------------------------------------------------------------


@implements(np.shape)
def shape(a: MDArray) -> tuple[int, ...]:
    """The shape."""
    return a.shape


@implements(np.ndim)
def ndim(a: MDArray) -> int:
    """The number of axes."""
    return a.ndim


@implements(np.size)
def size(a: MDArray, axis: int | None = None) -> int:
    """The number of entries, or the length of an axis."""
    return a.size if axis is None else a.shape[axis]


@implements(np.iscomplexobj)
def iscomplexobj(a: MDArray) -> bool:
    """Whether the array is complex."""
    return a.iscomplex


@implements(np.isrealobj)
def isrealobj(a: MDArray) -> bool:
    """Whether the array is real."""
    return not a.iscomplex
