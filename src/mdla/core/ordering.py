# SPDX-License-Identifier: BSD-3-Clause
"""Sorting by exact values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdla.core import planes as _planes
from mdla.core.array import MDArray, object_array
from mdla.core.operands import to_array
from mdla.core.protocols import implements

__all__ = ["argsort", "sort"]

Planes = npt.NDArray[Any]


@implements(np.sort)
def sort(a: Any, axis: int | None = -1) -> MDArray:
    """The entries in ascending order along an axis (raveled for None); nans last.

    Raises:
        TypeError: The entries are complex.

    Example:
        >>> import mdla
        >>> print(mdla.sort(mdla.array([3, 1, 2])))
        [1. 2. 3.]
    """
    a = to_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    order = argsort(a, axis)
    axis = normalize_axis_index(axis, a.ndim)
    return MDArray(np.take_along_axis(a.planes, order[np.newaxis, np.newaxis], axis=axis + 2))


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1) -> npt.NDArray[np.intp]:
    """The indices that sort along an axis (raveled for None); equal entries keep their order.

    Raises:
        TypeError: The entries are complex.
    """
    a = to_array(a)
    if a.iscomplex:
        raise TypeError("complex numbers have no order; sort by a.real or abs(a)")
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = normalize_axis_index(axis, a.ndim)
    limbs = np.moveaxis(a.planes[0], axis + 1, -1)
    # Limb by limb is the order of the values wherever no limb is exactly half an ulp.
    order = np.lexsort(limbs[::-1], axis=-1)
    ordered = np.take_along_axis(limbs, order[np.newaxis], axis=-1)
    low, high = ordered[np.newaxis, ..., :-1], ordered[np.newaxis, ..., 1:]
    sign = _planes.signs(low, high)
    same = sign == 0
    # Equal values with different limbs are rare too, and would not keep their order.
    strange = (sign == 1) | (same & np.any(low != high, axis=(0, 1)))
    for row in map(tuple, np.argwhere(strange.any(axis=-1))):
        values = object_array(limbs[(np.newaxis, slice(None), *row)])
        keys = [_key(value) for value in values]
        order[row] = sorted(range(len(keys)), key=keys.__getitem__)
    return np.moveaxis(order, -1, axis)


def _key(value: Fraction | float) -> tuple[bool, Fraction | float]:
    """Nans behind everything, also behind infinity."""
    return (True, 0) if value != value else (False, value)
