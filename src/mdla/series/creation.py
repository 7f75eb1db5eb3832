# SPDX-License-Identifier: BSD-3-Clause
"""Series to begin with: constants, and the variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdla.core.creation import array
from mdla.series.products import read_degree
from mdla.series.series import Series

__all__ = ["constant", "variable"]


def variable(degree: int, prec: Any = None, at: Any = 0) -> Series:
    """The series ``at + t``.

    Args:
        degree: The degree.
        prec: The precision; by default that of ``at``, ``"dd"`` for plain numbers.
        at: The constant term, a number or an array.

    Raises:
        TypeError: The degree is no integer, or ``at`` no number.
        ValueError: The degree is negative, or the precision is unknown.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(3)
        >>> print(((1 + t) * (1 - t)).coefficients)
        [ 1.  0. -1.  0.]
    """
    s = constant(at, degree, prec)
    if s.degree > 0:
        s.coefficients[..., 1] = 1  # no other array has these coefficients
    return s


def constant(a: Any, degree: int, prec: Any = None) -> Series:
    """The constant series ``a``.

    Args:
        a: A number or an array.
        degree: The degree.
        prec: The precision; by default that of ``a``, ``"dd"`` for plain numbers.

    Raises:
        TypeError: The degree is no integer, or ``a`` no number.
        ValueError: The degree is negative, or the precision is unknown.

    Example:
        >>> import mdla
        >>> mdla.series.constant([1, 2], 8, prec="qd").shape
        (2,)
    """
    a = array(a, prec)
    return Series(a[..., np.newaxis], degree=read_degree(degree))
