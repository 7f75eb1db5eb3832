# SPDX-License-Identifier: BSD-3-Clause
"""NumPy indexing carried over to planes.

NumPy indexes the array with its part and limb axes moved behind the shape, so that every rule of
NumPy (views, fancy indices that are apart, masks, new axes) holds by itself for the shape.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["get_item", "set_item"]

Planes = npt.NDArray[Any]


def get_item(planes: Planes, index: Any) -> Planes:
    """Planes of the selected entries: a view for basic indices, else a copy in C order."""
    key, basic, scalar = _resolve(index, planes.ndim - 2)
    if basic:
        try:
            picked = planes[(slice(None), slice(None), *key)]
        except IndexError as error:
            # NumPy counts the two axes of the planes too.
            text = re.sub(r"axis (\d+)", lambda m: f"axis {int(m[1]) - 2}", str(error))
            raise IndexError(text) from None
        # One entry is a number of its own, not a window into the array it came from.
        return picked.copy() if scalar else picked
    picked = _limbs_last(planes)[_open_ended(key)]
    return np.array(np.moveaxis(picked, (-2, -1), (0, 1)), order="C")


def set_item(planes: Planes, index: Any, value: Planes) -> None:
    """Write the entries of value, which broadcasts, to the selected places."""
    key = _open_ended(_resolve(index, planes.ndim - 2)[0])
    target, source = _limbs_last(planes), _limbs_last(value)
    try:
        target[key] = source
    except ValueError as error:
        if "read-only" in str(error):
            raise ValueError("this array is a read-only view; write to a.copy()") from None
        want = target[key].shape[:-2]
        raise ValueError(
            f"cannot assign an array of shape {value.shape[2:]} to a selection of shape {want}"
        ) from None


def _limbs_last(planes: Planes) -> Planes:
    return planes.transpose(*range(2, planes.ndim), 0, 1)


def _open_ended(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index of the shape as one that leaves two more axes alone."""
    if any(entry is Ellipsis for entry in key):
        return (*key, slice(None), slice(None))
    return (*key, Ellipsis)


def _resolve(index: Any, ndim: int) -> tuple[tuple[Any, ...], bool, bool]:
    """The index of the shape, checked, whether it is basic, and whether it picks one entry."""
    items = index if isinstance(index, tuple) else (index,)
    key: list[Any] = []
    used = 0
    basic = True
    open_ended = False
    for item in items:
        entry, axes, is_basic = _entry(item)
        key.append(entry)
        used += axes
        basic = basic and is_basic
        if entry is Ellipsis:
            if open_ended:
                raise IndexError("an index can only have a single ellipsis ('...')")
            open_ended = True
    if used > ndim:
        raise IndexError(f"too many indices: the array has {ndim} axes, but {used} were indexed")
    scalar = basic and not open_ended and used == ndim and all(_is_integer(e) for e in key)
    return tuple(key), basic, scalar


def _is_integer(entry: Any) -> bool:
    return isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)


def _entry(item: Any) -> tuple[Any, int, bool]:
    """One index: itself, how many axes it uses up, and whether it is basic."""
    if item is None or item is Ellipsis:
        return item, 0, True
    if isinstance(item, slice) or _is_integer(item):
        return item, 1, True
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item), 0, False
    if isinstance(item, (list, tuple, range)):
        array = np.asarray(item)
        if array.size == 0 and array.dtype != np.bool_:
            array = array.astype(np.intp)
    elif isinstance(item, np.ndarray):
        array = item
    elif hasattr(item, "__index__") and not hasattr(item, "planes"):
        return item.__index__(), 1, True
    else:
        raise _bad_index(type(item).__name__)
    if array.dtype == np.bool_:
        return array, array.ndim, False
    if array.dtype.kind in "iu":
        return array, 1, False
    raise _bad_index(f"an array of {array.dtype}")


def _bad_index(what: str) -> IndexError:
    return IndexError(
        f"indices are integers, slices, '...', None, or arrays of integers or bools, got {what}"
    )
