# SPDX-License-Identifier: BSD-3-Clause
"""Operations on planes, the arrays of limbs of shape ``(c, N, *shape)``.

c is 1 for real and 2 for complex numbers, N the number of limbs. The elementwise native kernels are
called from here, which brings their operands to one shape, and for many short steps from
`mdla.homotopy.lanes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core.precision import Precision
from mdla.core.rounding import resize_limbs

__all__ = [
    "align",
    "as_complex",
    "broadcast",
    "by_sign",
    "cast",
    "compare",
    "elementwise",
    "is_normalised",
    "normalise",
    "repeated",
    "select",
    "shape_of",
    "signs",
]

Planes = npt.NDArray[Any]


def shape_of(planes: Planes) -> tuple[int, ...]:
    """The shape of the array that the planes store."""
    return planes.shape[2:]


def cast(planes: Planes, prec: Precision) -> Planes:
    """The same numbers in another format: exact when it is wider, else rounded once.

    Returns the planes themselves when they have that format already.
    """
    if planes.shape[1] == prec.limbs and planes.dtype == prec.dtype:
        return planes
    out = np.empty((planes.shape[0], prec.limbs, *shape_of(planes)), dtype=prec.dtype)
    for part in range(planes.shape[0]):
        out[part] = resize_limbs(planes[part], prec.limbs, prec.dtype)
    return out


def as_complex(planes: Planes) -> Planes:
    """Append a zero imaginary part to real planes."""
    if planes.shape[0] == 2:
        return planes
    out = np.zeros((2, *planes.shape[1:]), dtype=planes.dtype)
    out[0] = planes[0]
    return out


def align(planes: Planes, ndim: int) -> Planes:
    """Insert axes of length one in front of the shape, as broadcasting does."""
    missing = ndim - (planes.ndim - 2)
    if missing <= 0:
        return planes
    return planes[(slice(None), slice(None)) + (None,) * missing]


def broadcast(planes: Planes, shape: tuple[int, ...]) -> Planes:
    """The planes seen with a broadcast shape (a read-only view)."""
    if shape_of(planes) == shape:
        return planes
    planes = align(planes, len(shape))
    return np.broadcast_to(planes, (*planes.shape[:2], *shape))


def repeated(value: float, shape: tuple[int, ...]) -> Planes:
    """One double seen as planes (1, 1, *shape)."""
    ndim = len(shape) + 2
    return np.ndarray((1, 1, *shape), np.float64, np.array(value), strides=(0,) * ndim)


def normalise(planes: Planes, prec: Precision) -> Planes:
    """Any limbs, in any order, to the normalised limbs of their sum in the given format."""
    out = np.empty((planes.shape[0], prec.limbs, *shape_of(planes)), dtype=prec.dtype)
    _native.normalize(out, planes)
    return out


def select(condition: npt.NDArray[np.bool_], a: Planes, b: Planes) -> Planes:
    """Numbers of a where the condition holds, of b elsewhere; all three broadcast."""
    if a.shape[0] != b.shape[0]:
        a, b = as_complex(a), as_complex(b)
    shape = np.broadcast_shapes(condition.shape, shape_of(a), shape_of(b))
    return np.where(condition, align(a, len(shape)), align(b, len(shape)))


def elementwise(name: str, prec: Precision, *operands: Planes) -> Planes:
    """Apply a native elementwise operation to operands of one format.

    Args:
        name: add, sub, mul, div, fma, sqrt, abs or neg.
        prec: The format of the result. An operand has its limb count, or a single limb.
        operands: Planes; real and complex ones mix, shapes broadcast.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    shape = shape_of(operands[0])
    if any(shape_of(p) != shape for p in operands):
        shape = np.broadcast_shapes(*(shape_of(p) for p in operands))
        operands = tuple(broadcast(p, shape) for p in operands)
    if any(p.shape[1] == prec.limbs for p in operands):
        return _native.elementwise(name, None, *operands)
    parts = 1 if name == "abs" else max(p.shape[0] for p in operands)
    return _native.elementwise(name, np.empty((parts, prec.limbs, *shape), prec.dtype), *operands)


_BY_SIGN: dict[str, Callable[[Any], Any]] = {
    "eq": lambda sign: sign == 0,
    "ne": lambda sign: sign != 0,
    "lt": lambda sign: sign == -1,
    "le": lambda sign: sign <= 0,
    "gt": lambda sign: sign == 1,
    "ge": lambda sign: (sign == 0) | (sign == 1),
}


def compare(name: str, a: Planes, b: Planes) -> npt.NDArray[np.bool_]:
    """Compare the exact values elementwise: eq, ne, lt, le, gt or ge; nan compares as in IEEE.

    Raises:
        TypeError: An ordering of complex numbers was asked for.
    """
    if a.shape[0] == b.shape[0] == 1:
        return by_sign(name, signs(a, b))
    if name not in ("eq", "ne"):
        raise TypeError(
            f"complex numbers have no order, so {name!r} is not defined; "
            "compare a.real, a.imag or abs(a)"
        )
    a, b = as_complex(a), as_complex(b)
    equal: npt.NDArray[np.bool_] = (signs(a[:1], b[:1]) == 0) & (signs(a[1:], b[1:]) == 0)
    return equal if name == "eq" else ~equal


def by_sign(name: str, sign: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """What a comparison says where the difference has these signs, see `signs`."""
    result: npt.NDArray[np.bool_] = _BY_SIGN[name](sign)
    return result


def signs(a: Planes, b: Planes) -> npt.NDArray[np.int8]:
    """The sign of the exact difference of real numbers, 2 where one of them is nan."""
    shape = np.broadcast_shapes(shape_of(a), shape_of(b))
    out = np.empty(shape, dtype=np.int8)
    _native.compare_signs(out, broadcast(a, shape), broadcast(b, shape))
    return out


def is_normalised(planes: Planes) -> bool:
    """Whether each limb is at most half an ulp of the one before, zeros last, inf and nan alone."""
    high, low = planes[:, :-1], planes[:, 1:]
    with np.errstate(invalid="ignore"):
        size = np.abs(high)
        # The spacing at the largest double overflows; that of its half is what is asked for.
        small = np.spacing(np.minimum(size, 1))
        half_ulp = np.where(size > 1, np.spacing(0.5 * size), 0.5 * small)
        fits = np.abs(low) <= np.where(high == 0, 0, half_ulp)
    # inf and nan stand alone: below them only zeros.
    alone = ~np.isfinite(high) & (low == 0)
    return bool(np.all((fits & np.isfinite(high)) | alone))
