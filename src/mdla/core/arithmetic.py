# SPDX-License-Identifier: BSD-3-Clause
"""Elementwise arithmetic.

Every function takes arrays and numbers of any kind and mix (see `mdla.core.operands`), broadcasts
them, and returns an `MDArray` with normalised limbs. The relative error of one operation on real
numbers is at most eps(prec); for complex ones each part has an error of at most a few eps times
the absolute value of the result. Infinities and nans behave as in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import apply, to_array
from mdla.core.protocols import implements

__all__ = [
    "abs",
    "absolute",
    "add",
    "conj",
    "conjugate",
    "divide",
    "fma",
    "imag",
    "ldexp",
    "multiply",
    "negative",
    "positive",
    "real",
    "reciprocal",
    "sign",
    "sqrt",
    "square",
    "subtract",
]


@implements(np.add)
def add(a: Any, b: Any) -> MDArray:
    """``a + b``, with an error of at most eps ``|a + b|``.

    Raises:
        TypeError: An operand is no number.
        ValueError: The shapes do not broadcast.

    Example:
        >>> import mdla
        >>> (mdla.add(mdla.array(2**200, prec="qd"), 1) - 2**200).item()
        Fraction(1, 1)
    """
    return apply("add", a, b)


@implements(np.subtract)
def subtract(a: Any, b: Any) -> MDArray:
    """``a - b``, with an error of at most eps ``|a - b|``."""
    return apply("sub", a, b)


@implements(np.multiply)
def multiply(a: Any, b: Any) -> MDArray:
    """``a * b``, with an error of at most eps ``|a * b|``; commutative bit for bit."""
    return apply("mul", a, b)


@implements(np.divide)
def divide(a: Any, b: Any) -> MDArray:
    """``a / b``, with an error of at most eps ``|a / b|``; division by zero as in float64.

    Example:
        >>> import mdla
        >>> print(mdla.divide(1, mdla.array([3, 0])))
        [0.333333333333333333333333333333                              inf]
    """
    return apply("div", a, b)


def fma(a: Any, b: Any, c: Any) -> MDArray:
    """``a * b + c``, the product kept to M = min(2 N, 19) limbs.

    The error is at most eps times the result, and ``2**(-52 M) |a * b|``.

    Example:
        >>> import mdla
        >>> mdla.fma(3, mdla.array("0.5"), 1).item()
        Fraction(5, 2)
    """
    return apply("fma", a, b, c)


@implements(np.sqrt)
def sqrt(a: Any) -> MDArray:
    """The square root with ``sqrt(a)**2 == a``, with an error of at most eps ``sqrt(a)``.

    It is nan for negative real numbers and the principal root for complex ones.

    Example:
        >>> import mdla
        >>> print(mdla.sqrt(mdla.array([2, 4])))
        [1.41421356237309504880168872421 2.                             ]
    """
    return apply("sqrt", a)


@implements(np.square)
def square(a: Any) -> MDArray:
    """``a * a``."""
    a = to_array(a)
    return apply("mul", a, a)


@implements(np.reciprocal)
def reciprocal(a: Any) -> MDArray:
    """``1 / a``."""
    return apply("div", 1.0, to_array(a))


@implements(np.negative)
def negative(a: Any) -> MDArray:
    """``-a``, exactly."""
    return apply("neg", a)


@implements(np.positive)
def positive(a: Any) -> MDArray:
    """A copy of a."""
    return to_array(a).copy()


@implements(np.absolute, np.fabs)
def absolute(a: Any) -> MDArray:
    """The absolute value: exact for real numbers, ``sqrt(re**2 + im**2)`` for complex ones."""
    return apply("abs", a)


@implements(np.conjugate)
def conjugate(a: Any) -> MDArray:
    """The complex conjugate, exactly."""
    z = to_array(a)
    if not z.iscomplex:
        return z.copy()
    planes = np.empty(z.planes.shape, dtype=z.planes.dtype)
    planes[0] = z.planes[0]
    planes[1:] = _planes.elementwise("neg", z.precision, z.planes[1:])
    return MDArray(planes)


@implements(np.real)
def real(a: Any) -> MDArray:
    """The real part, a view."""
    return to_array(a).real


@implements(np.imag)
def imag(a: Any) -> MDArray:
    """The imaginary part, a view."""
    return to_array(a).imag


@implements(np.sign)
def sign(a: Any) -> MDArray:
    """-1, 0 or 1; ``z / |z|`` (0 at 0) for complex numbers; nan for nan."""
    a = to_array(a)
    if a.iscomplex:
        size = absolute(a)
        size[np.asarray(size == 0)] = 1
        return divide(a, size)
    planes = np.zeros(a.planes.shape, dtype=a.planes.dtype)
    planes[:, 0] = np.sign(a.planes[:, 0])
    return MDArray(planes)


@implements(np.ldexp)
def ldexp(a: Any, exponent: npt.ArrayLike) -> MDArray:
    """``a * 2**exponent``, exactly where nothing over- or underflows.

    Raises:
        TypeError: The exponent is no integer.
    """
    a = to_array(a)
    shift = np.asarray(exponent)
    if shift.dtype.kind not in "iu":
        raise TypeError(f"ldexp takes integer exponents, got {shift.dtype}")
    # Every change of sign or size beyond this is an overflow or zero anyway.
    shift = np.clip(shift, -5000, 5000).astype(np.int32)
    shape = np.broadcast_shapes(a.shape, shift.shape)
    with np.errstate(over="ignore", under="ignore"):
        planes = np.ldexp(_planes.align(a.planes, len(shape)), shift)
    # A limb that overflows takes its number along; limbs below the smallest subnormal are rounded.
    planes[:, 1:][np.broadcast_to(~np.isfinite(planes[:, :1]), planes[:, 1:].shape)] = 0
    tiny = np.finfo(planes.dtype).smallest_normal
    if bool(np.any((planes != 0) & (np.abs(planes) < tiny))):
        planes = _planes.normalise(planes, a.precision)
    return MDArray(planes)


# The short names of NumPy.
abs = absolute
conj = conjugate
