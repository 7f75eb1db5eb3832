# SPDX-License-Identifier: BSD-3-Clause
"""A unit for t in which the coefficients of a series neither grow nor decay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mdla.core.arithmetic import ldexp
from mdla.core.array import MDArray

__all__ = ["balanced", "rescaled"]


def balanced(c: MDArray) -> tuple[MDArray, npt.NDArray[np.int64]]:
    """Coefficients ``c_k 2^(e k)`` of series ``(..., d + 1)``, exactly, and the exponents e.

    ``-e`` is the slope of the straight line of least squares through the exponents of the
    coefficients that are not zero, rounded: ``2^e`` is near the radius of convergence.
    """
    size = np.abs(c.planes[:, 0]).max(axis=0)
    known = (size > 0) & np.isfinite(size)
    height = np.where(known, np.frexp(np.where(known, size, 1))[1], 0).astype(float)
    degrees = np.arange(size.shape[-1], dtype=float)
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    away = np.where(known, degrees - (degrees * known).sum(axis=-1, keepdims=True) / count, 0)
    spread = (away**2).sum(axis=-1)
    slope = (away * height).sum(axis=-1) / np.where(spread > 0, spread, 1)
    exponents = -np.rint(slope).astype(np.int64)
    return rescaled(c, exponents), exponents


def rescaled(c: MDArray, exponents: npt.NDArray[np.int64]) -> MDArray:
    """``c_k 2^(e k)``: the series in ``t / 2^e``."""
    return ldexp(c, exponents[..., np.newaxis] * np.arange(c.shape[-1]))
