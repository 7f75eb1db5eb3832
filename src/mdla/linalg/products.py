# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products of planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core.array import MDArray
from mdla.core.precision import Precision
from mdla.gemm import adjoint as adjoint_of, matmul, update

__all__ = ["adjoint", "adjoint_times", "multiply", "subtract_product"]

Planes = npt.NDArray[Any]


def multiply(a: Planes, b: Planes, prec: Precision | None = None) -> Planes:
    """The matrix product of planes, in the wider of their formats or in another one."""
    return matmul(MDArray(a), MDArray(b), prec=prec).planes


def adjoint_times(a: Planes, b: Planes, prec: Precision | None = None) -> Planes:
    """A^H B, without a copy of A^H."""
    return matmul(adjoint_of(MDArray(a)), MDArray(b), prec=prec).planes


def subtract_product(c: Planes, a: Planes, b: Planes) -> None:
    """C <- C - A B in place."""
    update(MDArray(c), MDArray(a), MDArray(b), alpha=-1)


def adjoint(a: Planes) -> Planes:
    """The conjugate transpose; a view of real planes."""
    a = a.swapaxes(-1, -2)
    if a.shape[0] == 2:
        a = a.copy()
        np.negative(a[1], out=a[1])
    return a
