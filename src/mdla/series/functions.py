# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions of power series.

Each function f has ``f(s)(t) = f(s(t))`` to the degree of s. The constant term is the function of
the constant term, with its error of at most 4 eps; the others follow from a recurrence, with the
error bound of `mdla.series.recurrences`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import arithmetic as numbers, elementary, planes as _planes
from mdla.core.array import MDArray
from mdla.series import arithmetic, recurrences
from mdla.series.arithmetic import Unfolded, unfold
from mdla.series.dispatch import dispatched
from mdla.series.products import convolve_planes
from mdla.series.series import Series

__all__ = [
    "arccos",
    "arcsin",
    "arctan",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "power",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

Planes = npt.NDArray[Any]


def _read(name: str, s: Any) -> Series:
    if not isinstance(s, Series):
        raise TypeError(
            f"mdla.series.{name} takes a Series, got {type(s).__name__}; write mdla.{name} for "
            "numbers"
        )
    return s


def _unfolded(name: str, s: Any) -> Unfolded:
    return unfold(_read(name, s).degree + 1, s.coefficients)


@dispatched
def sqrt(s: Any) -> Series:
    """``r(t)^2 = s(t)``, with the principal root of the constant term.

    Args:
        s: A series of any shape, real or complex.

    Returns:
        The series r, of the same shape, degree and precision; nan where a real constant term is
        negative, infinities or nans where it is zero.

    Raises:
        TypeError: ``s`` is no Series. As for all functions here.

    Example:
        >>> import mdla
        >>> print(mdla.series.sqrt(mdla.series.variable(4, at=1)).coefficients)
        [ 1.         0.5       -0.125      0.0625    -0.0390625]
    """
    x = _unfolded("sqrt", s)
    return Series(x.deliver(recurrences.square_root(x.planes[0], x.first(numbers.sqrt))))


@dispatched
def power(s: Any, exponent: Any) -> Series:
    """``s(t)^p``, the same as ``s**p``.

    Integer powers go by repeated squaring, with an error of at most ``|p| (k + 1) eps (|s|^p)_k``
    for positive p; others by the recurrence of J. C. P. Miller; p may be an array, which
    broadcasts, of both kinds. A series as exponent gives ``exp(p log(s))``.

    Raises:
        TypeError: ``s`` is no Series, or the exponent no number.

    Example:
        >>> import mdla
        >>> from fractions import Fraction
        >>> t = mdla.series.variable(3)
        >>> print(mdla.series.power(1 + 8 * t, Fraction(1, 2)).coefficients)
        [ 1.  4. -8. 32.]
    """
    result: Series = _read("power", s) ** exponent
    return result


@dispatched
def exp(s: Any) -> Series:
    """``e^(s(t))``.

    Example:
        >>> import mdla
        >>> print(mdla.series.exp(mdla.series.variable(3)).coefficients * 6)
        [6. 6. 3. 1.]
    """
    return Series(arithmetic.exp(_read("exp", s).coefficients))


@dispatched
def expm1(s: Any) -> Series:
    """``e^(s(t)) - 1``, with a constant term of full relative precision."""
    x = _unfolded("expm1", s)
    planes = recurrences.exponential(x.planes[0], x.first(elementary.exp))
    planes[:, :, 0] = x.first(elementary.expm1)
    return Series(x.deliver(planes))


@dispatched
def log(s: Any) -> Series:
    """``log(s(t))``, the integral of ``s' / s``.

    Example:
        >>> import mdla
        >>> print(mdla.series.log(mdla.series.variable(4, at=1)).coefficients * 12)
        [ 0. 12. -6.  4. -3.]
    """
    return Series(arithmetic.log(_read("log", s).coefficients))


@dispatched
def log1p(s: Any) -> Series:
    """``log(1 + s(t))``, with a constant term of full relative precision."""
    x = _unfolded("log1p", s)
    a = x.planes[0]
    shifted = a.copy()
    shifted[:, :, 0] = x.first(lambda a0: numbers.add(1, a0))
    first = x.first(elementary.log1p)
    return Series(x.deliver(recurrences.integral_of_quotient(a, shifted, first)))


def _circular(name: str, s: Any, which: int) -> Series:
    x = _unfolded(name, s)
    sign, pair = (-1.0, ("cos", "sin")) if name in ("cos", "sin") else (1.0, ("cosh", "sinh"))
    cosine, sine = (x.first(getattr(elementary, function)) for function in pair)
    return Series(x.deliver(recurrences.circular(x.planes[0], cosine, sine, sign)[which]))


@dispatched
def sin(s: Any) -> Series:
    """``sin(s(t))``, from the recurrence of sine and cosine together.

    Example:
        >>> import mdla
        >>> print(mdla.series.sin(mdla.series.variable(5)).coefficients * 120)
        [  0. 120.   0. -20.   0.   1.]
    """
    return _circular("sin", s, 1)


@dispatched
def cos(s: Any) -> Series:
    """``cos(s(t))``."""
    return _circular("cos", s, 0)


@dispatched
def sinh(s: Any) -> Series:
    """``sinh(s(t))``."""
    return _circular("sinh", s, 1)


@dispatched
def cosh(s: Any) -> Series:
    """``cosh(s(t))``."""
    return _circular("cosh", s, 0)


def _tangent(name: str, s: Any, cosine: Callable[[Any], MDArray], sign: float) -> Series:
    x = _unfolded(name, s)
    # The derivative at the constant term, without the cancellation of 1 - tanh^2.
    slope = x.first(lambda a0: numbers.reciprocal(numbers.square(cosine(a0))))
    first = x.first(getattr(elementary, name))
    return Series(x.deliver(recurrences.tangent(x.planes[0], first, slope, sign)))


@dispatched
def tan(s: Any) -> Series:
    """``tan(s(t))``, from ``tan' = 1 + tan^2``.

    Example:
        >>> import mdla
        >>> print(mdla.series.tan(mdla.series.variable(5)).coefficients * 15)
        [ 0. 15.  0.  5.  0.  2.]
    """
    return _tangent("tan", s, elementary.cos, 1.0)


@dispatched
def tanh(s: Any) -> Series:
    """``tanh(s(t))``, from ``tanh' = 1 - tanh^2``."""
    return _tangent("tanh", s, elementary.cosh, -1.0)


def _one_minus_square(a: Planes) -> Planes:
    """``(1 - a) (1 + a)``, whose constant term does not suffer where it is small."""
    prec = MDArray(a).precision
    minus, plus = _planes.elementwise("neg", prec, a), a.copy()
    one = np.ones((1, 1, 1))
    minus[:, :, 0] = _planes.elementwise("sub", prec, one, a[:, :, 0])
    plus[:, :, 0] = _planes.elementwise("add", prec, one, a[:, :, 0])
    return _multiplied(minus, plus)


def _multiplied(a: Planes, b: Planes) -> Planes:
    """The product of planes with the degree in front of the rows."""
    product = convolve_planes(a.swapaxes(2, 3), b.swapaxes(2, 3), a.shape[2])
    return np.ascontiguousarray(product.swapaxes(2, 3))


def _arc(name: str, s: Any, sign: float) -> Series:
    """The integral of ``sign s' / sqrt(1 - s^2)``."""
    x = _unfolded(name, s)
    a = x.planes[0]
    square = _one_minus_square(a)
    root = recurrences.square_root(square, numbers.sqrt(MDArray(square[:, :, 0])).planes)
    first = x.first(getattr(elementary, name))
    return Series(x.deliver(recurrences.integral_of_quotient(sign * a, root, first)))


@dispatched
def arcsin(s: Any) -> Series:
    """``arcsin(s(t))``, the integral of ``s' / sqrt(1 - s^2)``.

    Example:
        >>> import mdla
        >>> print(mdla.series.arcsin(mdla.series.variable(5)).coefficients * 120)
        [  0. 120.   0.  20.   0.   9.]
    """
    return _arc("arcsin", s, 1.0)


@dispatched
def arccos(s: Any) -> Series:
    """``arccos(s(t))``, the integral of ``-s' / sqrt(1 - s^2)``."""
    return _arc("arccos", s, -1.0)


@dispatched
def arctan(s: Any) -> Series:
    """``arctan(s(t))``, the integral of ``s' / (1 + s^2)``.

    Example:
        >>> import mdla
        >>> print(mdla.series.arctan(mdla.series.variable(5)).coefficients * 15)
        [ 0. 15.  0. -5.  0.  3.]
    """
    x = _unfolded("arctan", s)
    a = x.planes[0]
    if len(a) == 2:
        # 1 + s^2 = 1 - (i s)^2, in the form that keeps small constant terms.
        turned = np.stack([_planes.elementwise("neg", MDArray(a).precision, a[1:])[0], a[0]])
        square = _one_minus_square(turned)
    else:
        square = _multiplied(a, a)
        square[:, :, 0] = numbers.add(1, MDArray(square[:, :, 0])).planes
    first = x.first(elementary.arctan)
    return Series(x.deliver(recurrences.integral_of_quotient(a, square, first)))
