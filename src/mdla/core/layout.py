# SPDX-License-Identifier: BSD-3-Clause
"""Nested brackets around the texts of an array's elements, in NumPy's layout."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .rounding import FloatArray


class LayoutOptions(Protocol):
    """The print options that concern the layout."""

    @property
    def threshold(self) -> int:
        """Arrays of more elements than this are summarised."""

    @property
    def edgeitems(self) -> int:
        """Elements shown at each end of a summarised axis."""

    @property
    def linewidth(self) -> int:
        """Characters of a line."""


def shown_part(planes: FloatArray, options: LayoutOptions) -> FloatArray:
    """The corners of planes ``(c, N, *shape)`` that a summary shows, next to each other.

    Only they are converted to text, so that showing an array costs the same whatever its size.
    """
    edge = options.edgeitems
    for axis in range(2, planes.ndim):
        size = planes.shape[axis]
        if size > 2 * edge:
            index = np.r_[0:edge, size - edge : size]
            planes = np.take(planes, index, axis=axis)
    return planes


def lay_out(
    texts: Any, shape: tuple[int, ...], options: LayoutOptions, separator: str, indent: int
) -> str:
    """The texts of an array of the given shape in nested brackets.

    Args:
        texts: Object array of strings: all elements, or those of `shown_part`.
        shape: The shape of the whole array.
        options: The print options.
        separator: What stands between the elements of a row.
        indent: Blanks before each line but the first, in addition to those for the brackets.
    """
    if not shape:
        return str(texts[()])
    total = 1
    for size in shape:
        total *= size
    gaps = [total > options.threshold and size > 2 * options.edgeitems for size in shape]
    return _block(texts, gaps, options, separator, indent + 1)


def _block(
    texts: Any, gaps: list[bool], options: LayoutOptions, separator: str, indent: int
) -> str:
    edge = options.edgeitems
    if texts.ndim == 1:
        items = list(texts)
        if gaps[0]:
            items.insert(edge, "...")
        return _row(items, options.linewidth, separator, indent)
    blocks = [_block(row, gaps[1:], options, separator, indent + 1) for row in texts]
    if gaps[0]:
        blocks.insert(edge, "...")
    between: str = separator.rstrip() + "\n" * (texts.ndim - 1) + " " * indent
    return "[" + between.join(blocks) + "]"


def _row(items: list[str], width: int, separator: str, indent: int) -> str:
    """One row, broken where the line is full."""
    lines: list[str] = []
    line = ""
    for i, item in enumerate(items):
        piece = item if i == len(items) - 1 else item + separator
        # The closing brackets need room for one character at least.
        if line and indent + len(line) + len(item) + 1 > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line)
    return "[" + ("\n" + " " * indent).join(lines) + "]"
