# SPDX-License-Identifier: BSD-3-Clause
"""Dual series: values that carry their derivatives along, the forward mode of differentiation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.elementary import log
from mdla.core.operands import to_array
from mdla.core.precision import Precision
from mdla.series import functions, joining
from mdla.series.series import Series

__all__ = ["Dual"]

# The derivatives of functions, from the argument v and the value y.
_SLOPES: dict[str, Callable[[Series, Series], Any]] = {
    "arccos": lambda v, y: -1 / functions.sqrt((1 - v) * (1 + v)),
    "arcsin": lambda v, y: 1 / functions.sqrt((1 - v) * (1 + v)),
    "arctan": lambda v, y: 1 / (1 + v * v),
    "cos": lambda v, y: -functions.sin(v),
    "cosh": lambda v, y: functions.sinh(v),
    "exp": lambda v, y: y,
    "expm1": lambda v, y: functions.exp(v),
    "log": lambda v, y: 1 / v,
    "log1p": lambda v, y: 1 / (1 + v),
    "sin": lambda v, y: functions.cos(v),
    "sinh": lambda v, y: functions.cosh(v),
    "sqrt": lambda v, y: 1 / (2 * y),
    "tan": lambda v, y: 1 + y * y,
    "tanh": lambda v, y: 1 / functions.cosh(v) ** 2,
}


class Dual:
    """A function of n unknowns at a point, with its derivatives: ``v + sum_j d_j e_j``.

    The e_j are units whose products vanish, so arithmetic follows the rules of differentiation,
    ``(a + a' e) (b + b' e) = a b + (a b' + a' b) e`` (A. Griewank and A. Walther, Evaluating
    Derivatives, 2008, chapter 3). Operations with series, arrays and numbers, which have no
    derivatives, and with other duals have the shapes that their values give.

    Attributes:
        value: A `Series` of any shape ``(...)``.
        tangent: The derivatives, a `Series` of shape ``(..., n)``.
    """

    __slots__ = ("tangent", "value")
    __array_ufunc__ = None  # NumPy's and mdla's arrays leave operations to this class

    def __init__(self, value: Series, tangent: Series) -> None:
        self.value = value
        self.tangent = tangent

    @classmethod
    def variables(cls, x: Series) -> Dual:
        """The unknowns themselves, x of shape ``(..., n)``."""
        n = x.shape[-1]
        planes = x.coefficients.planes
        unit = np.zeros((1, *planes.shape[1:-1], n, planes.shape[-1]))
        unit[0, 0, ..., range(n), range(n), 0] = 1
        return cls(x, Series(MDArray(unit)))

    @classmethod
    def constant(cls, value: Series, n: int) -> Dual:
        """A series that depends on none of n unknowns."""
        planes = value.coefficients.planes
        zero = np.zeros((1, *planes.shape[1:-1], n, planes.shape[-1]))
        return cls(value, Series(MDArray(zero)))

    # -- what it is --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of axes of the value."""
        return len(self.value.shape)

    @property
    def degree(self) -> int:
        """The degree of the value."""
        return self.value.degree

    @property
    def prec(self) -> str:
        """The name of the precision."""
        return self.value.prec

    @property
    def precision(self) -> Precision:
        """The precision."""
        return self.value.coefficients.precision

    def __repr__(self) -> str:
        return f"<dual of {self.value!r}>"

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Dual:
        parts = index if isinstance(index, tuple) else (index,)
        if any(part is Ellipsis for part in parts):
            return Dual(self.value[index], self.tangent[(*parts, slice(None))])
        return Dual(self.value[index], self.tangent[index])

    def __iter__(self) -> Iterator[Dual]:
        return (self[i] for i in range(len(self)))

    # -- arithmetic --------------------------------------------------------------------------------

    def __pos__(self) -> Dual:
        return self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return self._joined(self.value + other.value, self.tangent, other.tangent)
        return self._joined(self.value + other, self.tangent)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return self._joined(
                self.value * other.value,
                _column(other.value) * self.tangent,
                _column(self.value) * other.tangent,
            )
        return self._joined(self.value * other, _column(other) * self.tangent)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            tangent = (self.tangent - _column(value) * other.tangent) / _column(other.value)
            return self._joined(value, tangent)
        return self._joined(self.value / other, self.tangent / _column(other))

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return self._joined(value, -_column(value) * self.tangent / _column(self.value))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (Dual, Series)):
            return functions.exp(exponent * functions.log(self))
        if np.ndim(exponent) == 0 and exponent == 0:
            return self._joined(self.value**0, 0 * self.tangent)
        slope = exponent * self.value ** (exponent - 1)
        return self._joined(self.value**exponent, _column(slope) * self.tangent)

    def _joined(self, value: Series, *tangents: Series) -> Dual:
        """A result, its derivatives a sum that is broadcast to the shape of the value."""
        total = tangents[0]
        for tangent in tangents[1:]:
            total = total + tangent
        shape = (*value.shape, total.shape[-1])
        if total.shape != shape:
            planes = total.coefficients.planes
            total = Series(MDArray(_planes.broadcast(planes, (*shape, planes.shape[-1]))))
        return Dual(value, total)

    def __rpow__(self, base: Any) -> Dual:
        value = base**self.value
        # The constant term of the value is base^v, so log(base) needs no series of its own.
        logarithm = log(to_array(base, self.precision))
        return self._joined(value, _column(value * logarithm) * self.tangent)

    def __matmul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return self._product(
                self.value @ other.value,
                lambda j: self.tangent[..., j] @ other.value + self.value @ other.tangent[..., j],
            )
        return self._product(self.value @ other, lambda j: self.tangent[..., j] @ other)

    def __rmatmul__(self, other: Any) -> Dual:
        return self._product(other @ self.value, lambda j: other @ self.tangent[..., j])

    def _product(self, value: Series, slope: Callable[[int], Series]) -> Dual:
        """A product of vectors and matrices, from its derivatives by each of the unknowns."""
        n = self.tangent.shape[-1]
        if n == 0:
            return Dual.constant(value, n)
        return Dual(value, joining.stack([slope(j) for j in range(n)], axis=-1))

    # -- functions ---------------------------------------------------------------------------------

    def __series_function__(
        self, function: Callable[..., Series], first: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """A function of `mdla.series`, see `mdla.series.dispatch`."""
        name = function.__name__
        if name == "power":
            return self.__pow__(*args, **kwargs)
        if name in _SLOPES:
            value = function(self.value)
            return Dual(value, _column(_SLOPES[name](self.value, value)) * self.tangent)
        return self._join(function, list(first), *args, **kwargs)

    def _join(self, function: Callable[..., Series], items: list[Any], axis: int = 0) -> Dual:
        """Stacked or concatenated duals and series; the axis counts in the shape of values."""
        n = self.tangent.shape[-1]
        duals = [x if isinstance(x, Dual) else Dual.constant(x, n) for x in items]
        value = function([x.value for x in duals], axis=axis)
        tangent = function([x.tangent for x in duals], axis=axis if axis >= 0 else axis - 1)
        return Dual(value, tangent)


def _column(x: Any) -> Any:
    """A series or array with an axis of length one for the derivatives; numbers as they are."""
    if isinstance(x, Series):
        return Series(x.coefficients[..., np.newaxis, :])
    if isinstance(x, (list, tuple)):
        x = to_array(x)
    if isinstance(x, (MDArray, np.ndarray)) and x.ndim:
        return x[..., np.newaxis]
    return x
