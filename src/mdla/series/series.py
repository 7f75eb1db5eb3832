# SPDX-License-Identifier: BSD-3-Clause
"""Truncated power series."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from mdla.core.arithmetic import add, divide, multiply, subtract
from mdla.core.array import MDArray
from mdla.core.comparison import equal
from mdla.core.creation import array, zeros
from mdla.core.elementary import log
from mdla.core.manipulation import broadcast_to, concatenate
from mdla.core.operands import meet, read, to_array
from mdla.core.precision import Precision
from mdla.core.protocols import UnknownOperandError
from mdla.series import arithmetic
from mdla.series.products import convolve, matmul, read_degree

__all__ = ["Series", "is_operand"]

Planes = npt.NDArray[Any]


class Series:
    """An array of power series ``s(t) = c_0 + c_1 t + ... + c_d t^d + O(t^(d+1))``.

    A series knows its coefficients up to its degree d and nothing beyond. Operators take series,
    arrays and numbers, which are constants; shapes broadcast as in NumPy, the degree of the result
    is the smaller one, its precision the wider. ``@`` multiplies matrices of series. Each
    coefficient of a sum has an error of at most eps, of a product ``(k + 2) eps sum |a_j|
    |b_(k-j)|`` (2.5 times that for complex numbers), as long as no product leaves the range of
    doubles.

    Where a quotient, a root or a logarithm has no power series, because a constant term is zero,
    coefficients become infinite or nan, as numbers do on dividing by zero; in a batch this leaves
    the other series alone.

    Args:
        coefficients: Numbers of shape ``(*shape, d + 1)``: **the last axis is the degree**.
        prec: The precision; by default that of the coefficients, ``"dd"`` for plain numbers.
        degree: Another degree: see `truncate`.

    Raises:
        ValueError: There are no coefficients, or the precision is unknown.
        TypeError: The coefficients are no numbers.

    Example:
        >>> import mdla
        >>> s = mdla.series.Series([1, "0.5", "-0.125"])
        >>> s.degree, s.shape, s.prec
        (2, (), 'dd')
        >>> print((s * s).coefficients)
        [1. 1. 0.]
    """

    __slots__ = ("_coefficients",)
    __array_ufunc__ = None  # NumPy's arrays leave the operators to this class
    __hash__ = None  # type: ignore[assignment]

    _coefficients: MDArray

    def __init__(self, coefficients: Any, prec: Any = None, degree: int | None = None) -> None:
        if isinstance(coefficients, Series):
            coefficients = coefficients.coefficients
        if not isinstance(coefficients, MDArray):
            coefficients = array(coefficients, prec)
        if coefficients.ndim == 0 or coefficients.shape[-1] == 0:
            raise ValueError(
                "Series takes coefficients of shape (..., degree + 1), got shape "
                f"{coefficients.shape}; write mdla.series.constant(a, degree) for constants"
            )
        if prec is not None:
            coefficients = coefficients.astype(prec, copy=False)
        if degree is not None:
            coefficients = _with_degree(coefficients, read_degree(degree))
        self._coefficients = coefficients

    # -- what it is --------------------------------------------------------------------------------

    @property
    def coefficients(self) -> MDArray:
        """The coefficients, shape ``(*shape, degree + 1)``; not copied."""
        return self._coefficients

    @property
    def degree(self) -> int:
        """The degree d of the last known coefficient."""
        return self._coefficients.shape[-1] - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of series, without the axis of the degree."""
        return self._coefficients.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of axes, without the one of the degree."""
        return self._coefficients.ndim - 1

    @property
    def prec(self) -> str:
        """The name of the number format."""
        return self._coefficients.prec

    @property
    def precision(self) -> Precision:
        """The number format."""
        return self._coefficients.precision

    @property
    def iscomplex(self) -> bool:
        """Whether the coefficients are complex numbers."""
        return self._coefficients.iscomplex

    @property
    def real(self) -> Series:
        """The real parts of the coefficients: the real part of ``s(t)`` for real t."""
        return Series(self._coefficients.real)

    @property
    def imag(self) -> Series:
        """The imaginary parts of the coefficients."""
        return Series(self._coefficients.imag)

    def conj(self) -> Series:
        """The series with conjugate coefficients."""
        return Series(self._coefficients.conj())

    def astype(self, prec: Any, complex: bool | None = None) -> Series:
        """The series with coefficients in another format, see `MDArray.astype`."""
        return Series(self._coefficients.astype(prec, complex, copy=False))

    def __repr__(self) -> str:
        return f"Series({self._coefficients!r})"

    # -- shape -------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        raise TypeError("a Series is neither true nor false; write np.all(s == r) for equality")

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a single series has no length; len(s.coefficients) is degree + 1")
        return self.shape[0]

    def __iter__(self) -> Iterator[Series]:
        if self.ndim == 0:
            raise TypeError("cannot iterate over a single series; iterate over s.coefficients")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Series:
        items = index if isinstance(index, tuple) else (index,)
        tail = () if any(item is Ellipsis for item in items) else (Ellipsis,)
        try:
            return Series(self._coefficients[(*items, *tail, slice(None))])
        except IndexError as error:
            raise IndexError(
                f"{error}; the axes of a Series are those of its shape {self.shape}, degrees are "
                "in s.coefficients"
            ) from None

    def reshape(self, *shape: Any) -> Series:
        """The series in another shape."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], SupportsIndex) else shape
        return Series(self._coefficients.reshape((*wanted, self.degree + 1)))

    @property
    def T(self) -> Series:
        """The array of series with its axes reversed."""
        order = (*range(self.ndim)[::-1], self.ndim)
        return Series(self._coefficients.transpose(order))

    @property
    def mT(self) -> Series:
        """The array of series with its last two axes exchanged."""
        return Series(self._coefficients.swapaxes(-2, -3))

    # -- degree ------------------------------------------------------------------------------------

    def truncate(self, degree: int) -> Series:
        """The series to another degree; beyond its own it is taken for a polynomial.

        Raises:
            TypeError: The degree is no integer.
            ValueError: The degree is negative.

        Example:
            >>> import mdla
            >>> print(mdla.series.Series([1, 2]).truncate(3).coefficients)
            [1. 2. 0. 0.]
        """
        return Series(_with_degree(self._coefficients, read_degree(degree)))

    def derivative(self) -> Series:
        """The derivative ``s'(t)``, of degree d - 1; exact up to one rounding.

        Raises:
            ValueError: The degree is 0, so that nothing is known of the derivative.

        Example:
            >>> import mdla
            >>> print(mdla.series.Series([5, 1, 1, 1]).derivative().coefficients)
            [1. 2. 3.]
        """
        if self.degree == 0:
            raise ValueError(
                "nothing is known of the derivative of a series of degree 0; write "
                "s.truncate(1).derivative() for a constant"
            )
        factors = np.arange(1.0, self.degree + 1)
        return Series(multiply(self._coefficients[..., 1:], factors).astype(self.prec, copy=False))

    def integral(self, constant: Any = 0) -> Series:
        """The series of degree d + 1 with this derivative and a given constant term.

        Raises:
            TypeError: The constant is no number.

        Example:
            >>> import mdla
            >>> print(mdla.series.Series([1, 2, 3]).integral().coefficients)
            [0. 1. 1. 1.]
        """
        divisors = np.arange(1.0, self.degree + 2)
        rest = divide(self._coefficients, divisors).astype(self.prec, copy=False)
        first = add(zeros(self.shape, self.precision), constant)
        rest = broadcast_to(rest, (*first.shape, self.degree + 1))
        return Series(concatenate([first[..., np.newaxis], rest], axis=-1))

    def shift(self, n: int) -> Series:
        """``t^n s(t)``, of degree d + n; for a negative n the n lowest coefficients must be zero.

        Raises:
            TypeError: n is no integer.
            ValueError: A negative n would drop coefficients that are not zero, or all of them.

        Example:
            >>> import mdla
            >>> t = mdla.series.variable(3)
            >>> print((mdla.series.sin(t).shift(-1) / mdla.series.cos(t)).coefficients * 3)
            [3. 0. 1.]
        """
        c = self._coefficients
        if not isinstance(n, SupportsIndex):
            raise TypeError(f"shift takes an integer, got {n!r:.60}")
        n = operator.index(n)
        if n >= 0:
            null = zeros((*self.shape, read_degree(n)), c.precision)
            return Series(concatenate([null, c], axis=-1))
        if -n > self.degree or bool(np.any(c.planes[..., :-n] != 0)):
            raise ValueError(
                f"t^{n} s(t) is no power series: the {-n} lowest of the {self.degree + 1} "
                "coefficients must be zero, and one must remain"
            )
        return Series(c[..., -n:])

    # -- values ------------------------------------------------------------------------------------

    def __call__(self, x: Any) -> Any:
        """``c_0 + c_1 x + ... + c_d x^d`` by Horner's rule; for a Series x, see `compose`.

        The error is at most ``2 d eps sum_k |c_k| |x|^k``, 1.5 times that for complex numbers.

        Args:
            x: Numbers whose shape broadcasts against the shape of the series.

        Returns:
            An `MDArray`.

        Example:
            >>> import mdla
            >>> mdla.series.Series([[1, 1, 1], [0, 0, 1]])(3).to_numpy()
            array([13.,  9.])
        """
        if isinstance(x, Series):
            return self.compose(x)
        return arithmetic.evaluate(self._coefficients, x)

    def compose(self, t: Series) -> Series:
        """The series of ``s(t(x))``, to the smaller degree; t has no constant term.

        The algorithm is that of R. P. Brent and H. T. Kung (JACM 25 (1978) 581-595, algorithm 2.1);
        the error is at most ``((k + 1)^2 + sqrt(d) + 1) eps sum_j |s_j| (|t|^j)_k``.

        Raises:
            TypeError: ``t`` is no Series.
            ValueError: Its constant term is not zero, or the shapes do not broadcast.

        Example:
            >>> import mdla
            >>> t = mdla.series.variable(4)
            >>> print((1 / (1 - t)).compose(t + t * t).coefficients)
            [1. 1. 2. 3. 5.]
        """
        if not isinstance(t, Series):
            raise TypeError(
                f"compose takes a Series, got {type(t).__name__}; write s(x) for values"
            )
        if bool(np.any(t._coefficients.planes[..., 0] != 0)):
            raise ValueError(
                "compose: t has a constant term, and s(t) is a series only for a t without; "
                "expand s at this term, or write s(x) for values of a polynomial"
            )
        length = min(self.degree, t.degree) + 1
        return Series(arithmetic.compose(self._coefficients, t._coefficients, length))

    # -- arithmetic --------------------------------------------------------------------------------

    def __neg__(self) -> Series:
        return Series(-self._coefficients)

    def __pos__(self) -> Series:
        return self

    def __add__(self, other: Any) -> Any:
        return _termwise(add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _termwise(lambda a, b: add(b, a), self, other)

    def __sub__(self, other: Any) -> Any:
        return _termwise(subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _termwise(add, -self, other)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Series):
            factor = _factor(other)
            if factor is None:
                return NotImplemented
            return Series(multiply(self._coefficients, factor))
        degree = min(self.degree, other.degree)
        return Series(convolve(self._coefficients, other._coefficients, degree))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, Series):
            factor = _factor(other)
            return NotImplemented if factor is None else Series(divide(self._coefficients, factor))
        length = min(self.degree, other.degree) + 1
        return Series(arithmetic.divide(self._coefficients, other._coefficients, length))

    def __rtruediv__(self, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        return _constant_like(other, self) / self

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Series):
            product = exponent * Series(arithmetic.log(self._coefficients))
            return Series(arithmetic.exp(product.coefficients))
        if not is_operand(exponent):
            return NotImplemented
        return Series(arithmetic.power(self._coefficients, exponent))

    def __rpow__(self, base: Any) -> Any:
        if not is_operand(base):
            return NotImplemented
        product = self * log(_constant_like(base, self).coefficients[..., 0])
        return Series(arithmetic.exp(product.coefficients))

    def __matmul__(self, other: Any) -> Any:
        return _matrix_product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matrix_product(other, self)

    def __eq__(self, other: Any) -> Any:
        """Whether all coefficients up to the smaller degree agree, an array of bool."""
        if not isinstance(other, Series):
            if not is_operand(other):
                return NotImplemented
            other = _constant_like(other, self)
        length = min(self.degree, other.degree) + 1
        same = equal(self._coefficients[..., :length], other._coefficients[..., :length])
        return np.all(same, axis=-1)

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else np.logical_not(same)


def _with_degree(coefficients: MDArray, degree: int) -> MDArray:
    missing = degree + 1 - coefficients.shape[-1]
    if missing <= 0:
        return coefficients[..., : degree + 1]
    null = zeros((*coefficients.shape[:-1], missing), coefficients.precision)
    return concatenate([coefficients, null], axis=-1)


def is_operand(obj: Any) -> bool:
    """Whether an object is a number or an array of numbers."""
    try:
        read(obj)
    except UnknownOperandError:
        return False
    return True


def _factor(obj: Any) -> Any:
    """A constant in the shape in which it meets coefficients; None for unknown objects."""
    if not is_operand(obj):
        return None
    if isinstance(obj, MDArray | np.ndarray):
        return obj[..., np.newaxis]
    return to_array(obj)[..., np.newaxis] if isinstance(obj, list | tuple) else obj


def _constant_like(obj: Any, s: Series) -> Series:
    """A number or array as a constant series of the degree of s, in the wider format."""
    result = meet(obj, s._coefficients)[1]
    known = obj if isinstance(obj, MDArray) else array(obj, result)
    return Series(known[..., np.newaxis], degree=s.degree)


def _termwise(operation: Callable[[Any, Any], MDArray], s: Series, other: Any) -> Any:
    """A sum or difference; a constant takes part in the constant term."""
    if isinstance(other, Series):
        length = min(s.degree, other.degree) + 1
        return Series(operation(s.coefficients[..., :length], other.coefficients[..., :length]))
    if not is_operand(other):
        return NotImplemented
    first = operation(s.coefficients[..., 0], other)
    rest = broadcast_to(s.coefficients[..., 1:], (*first.shape, s.degree))
    return Series(concatenate([first[..., np.newaxis], rest.astype(first.prec)], axis=-1))


def _matrix_product(a: Any, b: Any) -> Any:
    """``a @ b`` for a series and another operand, in this or the other order."""
    degrees = [s.degree for s in (a, b) if isinstance(s, Series)]
    operands = []
    for x in (a, b):
        if not isinstance(x, Series):
            if not is_operand(x):
                return NotImplemented
            x = _constant_like(x, b if x is a else a).truncate(0)
        operands.append(x.coefficients)
    left, right = operands
    return Series(matmul(left, right, min(degrees) + 1))
