# SPDX-License-Identifier: BSD-3-Clause
"""Making arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import convert, planes as _planes
from mdla.core.arithmetic import fma
from mdla.core.array import MDArray
from mdla.core.operands import read, to_array, unify
from mdla.core.precision import Precision, from_layout, precision, promote
from mdla.core.protocols import UnknownOperandError, implements

__all__ = [
    "arange",
    "array",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_limbs",
    "full",
    "full_like",
    "identity",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

Planes = npt.NDArray[Any]
Shape = int | Sequence[int]


def array(obj: Any, prec: Any = None, *, complex: bool = False) -> MDArray:
    """A new array of numbers, each the exact value of its source rounded once.

    Args:
        obj: A number, a nested list of numbers, or an array. Numbers are int, float, complex,
            Fraction, Decimal, strings such as ``"0.1"``, ``"7/15"`` and ``"1+2j"``, NumPy scalars,
            and those of mpmath, gmpy2 and python-flint.
        prec: The precision; by default that of the arrays in ``obj``, else ``"dd"``.
        complex: Whether the array is complex even if no number is.

    Raises:
        ValueError: The precision is unknown, a string is no number, or the lists are ragged.
        TypeError: An object is no number.

    Example:
        >>> import mdla
        >>> print(mdla.array(["0.1", "1/3"], prec="dd"))
        [0.1                              0.333333333333333333333333333333]
    """
    if prec is None:
        prec = _carried(obj)
    prec = precision(prec)
    if isinstance(obj, MDArray):
        planes = _planes.cast(obj.planes, prec)
        planes = np.array(planes, order="C") if planes is obj.planes else planes
    else:
        planes = convert.to_planes(obj, prec)
    return MDArray(_planes.as_complex(planes) if complex else planes)


def _carried(obj: Any) -> Any:
    """The precision that the arrays in an object have."""
    if isinstance(obj, MDArray):
        return obj.precision
    if isinstance(obj, (list, tuple)) or (isinstance(obj, np.ndarray) and obj.dtype.kind == "O"):
        try:
            return read(obj).counts or "dd"
        except UnknownOperandError:
            # Strings, which have no precision of their own; arrays beside them have.
            return _widest_within(obj) or "dd"
    return "dd"


def _widest_within(obj: Any) -> Precision | None:
    """The widest precision of the arrays in nested lists, None where there are none."""
    if isinstance(obj, MDArray):
        return obj.precision
    if not isinstance(obj, (list, tuple, np.ndarray)):
        return None
    found = {p for p in map(_widest_within, obj) if p is not None}
    return promote(*found) if found else None


def asarray(obj: Any, prec: Any = None) -> MDArray:
    """The object as an array: itself where it is one of that precision, else as `array`.

    Example:
        >>> import mdla
        >>> a = mdla.zeros(3)
        >>> mdla.asarray(a) is a
        True
    """
    if isinstance(obj, MDArray) and (prec is None or precision(prec) == obj.precision):
        return obj
    return array(obj, prec)


def from_limbs(
    limbs: Any, prec: Any = None, *, complex: bool = False, normalize: bool = False
) -> MDArray:
    """The array whose entries are the sums of given limbs.

    Args:
        limbs: float64 (or float32) limbs of shape ``(N, *shape)``; with ``complex=True``
            ``(2, N, *shape)``, real parts first. They are not copied where they can be kept.
        prec: The precision; by default the one with N limbs of that type.
        complex: Whether real and imaginary limbs are given.
        normalize: Whether to sum the limbs anew, in any number, size and order. Otherwise
            each must be at most half an ulp of the one before.

    Raises:
        ValueError: There is no precision with so many limbs, the shape does not fit, or the limbs
            are not normalised.
        TypeError: The limbs are not of a floating type.

    Example:
        >>> import mdla
        >>> print(mdla.from_limbs([0.1, -5.551115123125783e-18]))
        0.1
        >>> mdla.from_limbs([2.0**-60, 1.0], prec="dd", normalize=True).limbs.tolist()
        [1.0, 8.673617379884035e-19]
    """
    want = None if prec is None else precision(prec)
    planes = np.asarray(limbs)
    if planes.dtype.kind in "iu" or (want is not None and not normalize):
        planes = planes.astype(want.dtype if want else np.float64, copy=False)
    if planes.dtype not in (np.float64, np.float32):
        raise TypeError(f"limbs are float64 (float32 for ds), got {planes.dtype}")
    if not complex:
        planes = planes[np.newaxis]
    if planes.ndim < 2 or planes.shape[0] != (2 if complex else 1):
        raise ValueError(
            f"limbs have shape {'(2, N, *shape)' if complex else '(N, *shape)'}, got "
            f"{np.shape(limbs)}"
        )
    if normalize:
        want = want or from_layout(planes.shape[1], planes.dtype)
        # Other limb types meet in double, which holds them all.
        if planes.dtype != want.dtype:
            wide = precision("hd")
            summed = _planes.normalise(planes.astype(np.float64), wide)
            return MDArray(_planes.cast(summed, want))
        return MDArray(_planes.normalise(planes, want))
    found = from_layout(planes.shape[1], planes.dtype)
    if want is not None and found != want:
        raise ValueError(
            f"precision {want} has {want.limbs} limbs of {want.dtype}, got {found.limbs} of "
            f"{found.dtype}; write normalize=True to sum them to {want}"
        )
    if not _planes.is_normalised(planes):
        raise ValueError(
            "the limbs are not normalised (each at most half an ulp of the one before, zeros "
            "last); write normalize=True to restore that"
        )
    return MDArray(planes)


def checked_shape(shape: Shape) -> tuple[int, ...]:
    """The lengths of axes from what users write.

    Raises:
        TypeError: They are no integers.
        ValueError: One is negative.
    """
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    try:
        checked = tuple(int(n.__index__()) for n in sizes)
    except (AttributeError, TypeError):
        raise TypeError(f"a shape is an integer or a tuple of integers, got {shape!r}") from None
    if any(n < 0 for n in checked):
        raise ValueError(f"a shape has no negative lengths, got {shape!r}")
    return checked


def zeros(shape: Shape, prec: Any = "dd", *, complex: bool = False) -> MDArray:
    """An array of zeros.

    Args:
        shape: The lengths of the axes.
        prec: The precision.
        complex: Whether the array is complex.

    Raises:
        ValueError: A length is negative, or the precision is unknown.

    Example:
        >>> import mdla
        >>> mdla.zeros((2, 0), prec="od").shape
        (2, 0)
    """
    fmt = precision(prec)
    planes = np.zeros((2 if complex else 1, fmt.limbs, *checked_shape(shape)), dtype=fmt.dtype)
    return MDArray(planes)


#: Planes of arbitrary bits would not be normalised, so an empty array is one of zeros.
empty = zeros


def ones(shape: Shape, prec: Any = "dd", *, complex: bool = False) -> MDArray:
    """An array of ones; as `zeros`."""
    out = zeros(shape, prec, complex=complex)
    out.planes[0, 0] = 1
    return out


def full(shape: Shape, value: Any, prec: Any = None, *, complex: bool = False) -> MDArray:
    """An array filled with a value, which broadcasts.

    Example:
        >>> import mdla
        >>> print(mdla.full(2, "0.5"))
        [0.5 0.5]
    """
    source = array(value, prec)
    out = zeros(shape, source.precision, complex=complex or source.iscomplex)
    out[...] = source
    return out


def eye(n: int, m: int | None = None, k: int = 0, prec: Any = "dd") -> MDArray:
    """A matrix with ones on its k-th diagonal, n by n or n by m."""
    rows, columns = checked_shape((n, n if m is None else m))
    out = zeros((rows, columns), prec)
    out.planes[0, 0] = np.eye(rows, columns, k)
    return out


def identity(n: int, prec: Any = "dd") -> MDArray:
    """The n by n identity."""
    return eye(n, prec=prec)


def arange(start: Any, stop: Any = None, step: Any = 1, prec: Any = None) -> MDArray:
    """The numbers ``start + i * step`` below ``stop`` (above for a negative step).

    The count is that of the exact values, and the steps do not add up errors: each entry is one
    fused multiply-add.

    Args:
        start: The first number; the end where ``stop`` is not given.
        stop: The end, not included.
        step: The difference.
        prec: The precision; by default the widest of the arguments, else ``"dd"``.

    Raises:
        ValueError: The step is zero, or an argument is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.arange("0", "0.3", "0.1", prec="d"))
        [0.  0.1 0.2]
    """
    if stop is None:
        start, stop = 0, start
    first, last, width = (
        _exact(x, n) for x, n in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    if width == 0:
        raise ValueError("arange needs a step other than zero")
    prec = prec or _widest_within([start, stop, step]) or "dd"
    count = max(0, math.ceil((last - first) / width))
    return fma(np.arange(count), array(width, prec), array(first, prec))


def _exact(value: Any, name: str) -> Fraction:
    real, imag = (value.item(), None) if isinstance(value, MDArray) else convert.exact_parts(value)
    if imag is not None:
        raise TypeError(f"{name} must be real, got {value!r}")
    if isinstance(real, tuple):
        return Fraction(*real)
    if isinstance(real, float) and not math.isfinite(real):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return Fraction(real)


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, prec: Any = None
) -> MDArray:
    """Num numbers at equal distances from start to stop, both exact.

    Args:
        start: The first number or array.
        stop: The last number or array.
        num: How many, along a new first axis.
        endpoint: Whether stop is among them.
        prec: The precision.

    Raises:
        ValueError: num is negative.

    Example:
        >>> import mdla
        >>> mdla.linspace(0, 1, 4)[1] == mdla.array("1/3")
        np.True_
    """
    (count,) = checked_shape(num)
    fmt = None if prec is None else precision(prec)
    (x, y), result, working = unify(
        *(array(v, fmt) if isinstance(v, str) else v for v in (start, stop)), prec=fmt
    )
    first, last = (MDArray(_planes.cast(p, working)) for p in (x, y))
    gaps = max(count - 1 if endpoint else count, 1)
    index = np.arange(count, dtype=np.float64).reshape(-1, *(1,) * max(first.ndim, last.ndim))
    spread = (fma(last, index, first * (gaps - index)) / gaps).astype(result, copy=False)
    if count:
        spread[0] = first
    if count > 1 and endpoint:
        spread[-1] = last
    return spread


# -- of the shape of another array ---------------------------------------------------------------


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, prec: Any = None, shape: Shape | None = None) -> MDArray:
    """Zeros in the shape, precision and kind (real or complex) of another array."""
    a = to_array(a)
    if prec is None or (isinstance(prec, (type, np.dtype)) and np.dtype(prec) == a.dtype):
        prec = a.precision
    return zeros(a.shape if shape is None else shape, prec, complex=a.iscomplex)


empty_like = zeros_like


@implements(np.ones_like)
def ones_like(a: Any, prec: Any = None, shape: Shape | None = None) -> MDArray:
    """Ones in the shape, precision and kind of another array."""
    out = zeros_like(a, prec, shape)
    out.planes[0, 0] = 1
    return out


@implements(np.full_like)
def full_like(a: Any, fill_value: Any, prec: Any = None, shape: Shape | None = None) -> MDArray:
    """A value in the shape, precision and kind of another array."""
    out = zeros_like(a, prec, shape)
    out[...] = fill_value
    return out
