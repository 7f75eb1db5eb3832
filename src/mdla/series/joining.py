# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of series from smaller ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from mdla.core import manipulation
from mdla.core.array import MDArray
from mdla.series.dispatch import dispatched
from mdla.series.series import Series

__all__ = ["concatenate", "stack"]


@dispatched
def stack(series: Iterable[Series], axis: int = 0) -> Series:
    """Join series of one shape along a new axis.

    Args:
        series: The series. The result has the smallest of their degrees and the widest of their
            precisions.
        axis: Where the new axis is in the shape of the result.

    Raises:
        ValueError: There are no series, or their shapes differ.
        TypeError: One of them is no Series.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(3)
        >>> mdla.series.stack([t, 1 + t * t]).shape
        (2,)
    """
    items = _read("stack", series)
    if any(s.shape != items[0].shape for s in items):
        raise ValueError(f"series to stack need one shape, got {[s.shape for s in items]}")
    axis = normalize_axis_index(axis, items[0].ndim + 1)
    return Series(manipulation.stack(_of_one_degree(items), axis))


@dispatched
def concatenate(series: Iterable[Series], axis: int = 0) -> Series:
    """Join arrays of series along an axis.

    Args:
        series: The arrays. The result has the smallest of their degrees and the widest of their
            precisions.
        axis: The axis, counted in their shape.

    Raises:
        ValueError: There are no series, they have no axes, or their other axes differ.
        TypeError: One of them is no Series.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(3, at=[1, 2])
        >>> mdla.series.concatenate([t, t]).shape
        (4,)
    """
    items = _read("concatenate", series)
    if items[0].ndim == 0:
        raise ValueError("single series cannot be concatenated; use mdla.series.stack")
    axis = normalize_axis_index(axis, items[0].ndim)
    return Series(manipulation.concatenate(_of_one_degree(items), axis))


def _read(name: str, series: Iterable[Any]) -> list[Series]:
    items = list(series)
    if not items:
        raise ValueError(f"{name}: there are no series to join; give at least one")
    for s in items:
        if not isinstance(s, Series):
            raise TypeError(
                f"{name} takes Series, got {type(s).__name__}; write "
                "mdla.series.constant(a, degree) for constants"
            )
    return items


def _of_one_degree(items: list[Series]) -> list[MDArray]:
    length = min(s.degree for s in items) + 1
    return [s.coefficients[..., :length] for s in items]
