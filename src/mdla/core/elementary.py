# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions: exponentials, logarithms, trigonometric and hyperbolic functions.

Every function takes arrays and numbers of any kind (see `mdla.core.operands`) and returns an
`MDArray` of the same precision. The error is at most ``4 eps |f(x)|`` for real numbers, and for
complex ones ``|error| <= 4 eps |f(z)|``, while the result is in the range where it keeps all its
limbs (`finfo(prec).safe_min`); below, it fades as products do. Infinities, nans and signed zeros
behave as in C99, Annex F and G. Arguments of sin, cos and tan are reduced exactly, however large.
The algorithms are in the manual, section "Elementary functions" of "What a multiple double is".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdla.core import elementary_complex as _complex, planes as _planes
from mdla.core.arithmetic import absolute, divide
from mdla.core.array import MDArray
from mdla.core.constants import pi
from mdla.core.elementary_planes import real_function
from mdla.core.operands import to_array, unify
from mdla.core.protocols import implements

__all__ = [
    "angle",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def _apply(name: str, a: Any) -> MDArray:
    x = to_array(a)
    if x.iscomplex:
        result: MDArray = getattr(_complex, name)(x)
        return result
    return MDArray(real_function(name, x.precision, x.planes))


@implements(np.exp)
def exp(a: Any) -> MDArray:
    """``e**a``; 0 at -inf, infinite where it overflows.

    Raises:
        TypeError: ``a`` is no number, nor an array of numbers. As for all functions here.

    Example:
        >>> import mdla
        >>> print(mdla.exp(mdla.array(1, prec="qd")))
        2.71828182845904523536028747135266249775724709369995957496696762771
    """
    return _apply("exp", a)


@implements(np.expm1)
def expm1(a: Any) -> MDArray:
    """``e**a - 1``, with full relative precision near 0.

    Example:
        >>> import mdla
        >>> print(mdla.expm1(mdla.array("1e-40")))
        1e-40
    """
    return _apply("expm1", a)


@implements(np.log)
def log(a: Any) -> MDArray:
    """The natural logarithm, with full relative precision near 1.

    It is -inf at 0 and nan for negative real numbers; for complex ones the principal value, with
    an imaginary part of -pi .. pi.

    Example:
        >>> import mdla
        >>> print(mdla.log(mdla.array([2, 0, -1])))
        [0.693147180559945309417232121458                             -inf
                                      nan]
    """
    return _apply("log", a)


@implements(np.log1p)
def log1p(a: Any) -> MDArray:
    """``log(1 + a)``, with full relative precision near 0."""
    return _apply("log1p", a)


@implements(np.log2)
def log2(a: Any) -> MDArray:
    """The logarithm to base 2; exact for powers of two.

    Example:
        >>> import mdla
        >>> mdla.log2(mdla.array([8, 0.5])).tolist() == [3, -1]
        True
    """
    return _apply("log2", a)


@implements(np.log10)
def log10(a: Any) -> MDArray:
    """The logarithm to base 10."""
    return _apply("log10", a)


@implements(np.sin)
def sin(a: Any) -> MDArray:
    """The sine of an angle in radians, of any size.

    Example:
        >>> import mdla
        >>> print(mdla.sin(mdla.ldexp(mdla.array(1, prec="qd"), 1000)))
        -0.159201703086242438240048630820839033813686898777465015367510856942
    """
    return _apply("sin", a)


@implements(np.cos)
def cos(a: Any) -> MDArray:
    """The cosine of an angle in radians, of any size."""
    return _apply("cos", a)


@implements(np.tan)
def tan(a: Any) -> MDArray:
    """The tangent of an angle in radians, of any size.

    Next to an odd multiple of pi/2 it has the digits of the cosine, which fade below
    ``finfo(prec).safe_min``.
    """
    return _apply("tan", a)


@implements(np.arcsin)
def arcsin(a: Any) -> MDArray:
    """The angle in -pi/2 .. pi/2 with this sine; nan for real numbers beyond -1 .. 1."""
    return _apply("arcsin", a)


@implements(np.arccos)
def arccos(a: Any) -> MDArray:
    """The angle in 0 .. pi with this cosine; nan for real numbers beyond -1 .. 1."""
    return _apply("arccos", a)


@implements(np.arctan)
def arctan(a: Any) -> MDArray:
    """The angle in -pi/2 .. pi/2 with this tangent."""
    return _apply("arctan", a)


@implements(np.sinh)
def sinh(a: Any) -> MDArray:
    """The hyperbolic sine, with full relative precision near 0."""
    return _apply("sinh", a)


@implements(np.cosh)
def cosh(a: Any) -> MDArray:
    """The hyperbolic cosine."""
    return _apply("cosh", a)


@implements(np.tanh)
def tanh(a: Any) -> MDArray:
    """The hyperbolic tangent, with full relative precision near 0."""
    return _apply("tanh", a)


@implements(np.arctan2)
def arctan2(y: Any, x: Any) -> MDArray:
    """The angle of the point (x, y), in -pi .. pi, with the signs of zeros as in C99.

    Raises:
        TypeError: An operand is complex, or no number.
        ValueError: The shapes do not broadcast.

    Example:
        >>> import mdla
        >>> print(mdla.arctan2(mdla.array([1, 0]), -1))
        [2.35619449019234492884698253746 3.14159265358979323846264338328]
    """
    operands, result, working = unify(y, x)
    _real_only("arctan2", operands)
    return MDArray(_planes.cast(real_function("arctan2", working, *operands), result))


@implements(np.hypot)
def hypot(x: Any, y: Any) -> MDArray:
    """``sqrt(x**2 + y**2)`` without overflow or underflow on the way.

    Raises:
        TypeError: An operand is complex, or no number.
        ValueError: The shapes do not broadcast.

    Example:
        >>> import mdla
        >>> bool(mdla.hypot(mdla.array(3 * 2.0**800), 4 * 2.0**800) == 5 * 2.0**800)
        True
    """
    operands, result, working = unify(x, y)
    _real_only("hypot", operands)
    shape = np.broadcast_shapes(*(_planes.shape_of(p) for p in operands))
    z = np.empty((2, working.limbs, *shape), dtype=working.dtype)
    for part, planes in zip(z, operands, strict=True):
        part[...] = _planes.broadcast(_planes.cast(planes, working), shape)[0]
    return MDArray(_planes.cast(absolute(MDArray(z)).planes, result))


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> MDArray:
    """The angle of a complex number, in -pi .. pi, or in degrees.

    Example:
        >>> import mdla
        >>> print(mdla.angle(mdla.array(1j)))
        1.57079632679489661923132169163975
    """
    a = to_array(z)
    # A view of the zero imaginary part of real numbers would be read-only; any zero will do.
    imag = a.imag if a.iscomplex else 0.0
    turned = arctan2(imag, a.real)
    return divide(turned * 180, pi(turned.precision)) if deg else turned


def _real_only(name: str, operands: Any) -> None:
    if any(p.shape[0] == 2 for p in operands):
        raise TypeError(f"{name} takes real numbers; write mdla.angle(z) or abs(z) for complex z")
