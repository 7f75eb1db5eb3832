# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions on real planes: the calls of the native kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.elementary_tables import define
from mdla.core.precision import PRECISIONS, Precision

__all__ = ["real_function", "sincos", "wider"]

Planes = npt.NDArray[Any]

_DD = PRECISIONS["dd"]

_BY_WIDTH = sorted((p for p in PRECISIONS.values() if p.dtype == np.float64), key=lambda p: p.limbs)


def wider(prec: Precision) -> Precision:
    """The next wider format, for the steps of a composed function; the widest is its own."""
    if prec.dtype != np.float64:
        return _DD
    more = [p for p in _BY_WIDTH if p.limbs > prec.limbs]
    return more[0] if more else prec


def real_function(name: str, prec: Precision, *operands: Planes) -> Planes:
    """Apply a native elementary function to real operands of one format.

    Args:
        name: exp, expm1, log, log1p, log2, log10, sin, cos, tan, sinh, cosh, tanh, arcsin, arccos,
            arctan, arctan2, or sincos, whose result is the complex ``cos + i sin``.
        prec: The format of the result. An operand has its limb count, or a single limb.
        operands: Planes whose shapes broadcast.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    if prec.dtype != np.float64:
        # Two floats are few bits for a double double, which takes their whole range along.
        wide = tuple(_planes.cast(p, _DD) for p in operands)
        return _planes.cast(real_function(name, _DD, *wide), prec)
    shape = np.broadcast_shapes(*(_planes.shape_of(p) for p in operands))
    out = np.empty((2 if name == "sincos" else 1, prec.limbs, *shape), dtype=prec.dtype)
    define(prec.limbs)
    _native.elementary(name, out, *(_planes.broadcast(p, shape) for p in operands))
    return out


def sincos(prec: Precision, operand: Planes) -> tuple[Planes, Planes]:
    """Sine and cosine of real planes, for little more than the price of one."""
    both = real_function("sincos", prec, operand)
    return both[1:], both[:1]
