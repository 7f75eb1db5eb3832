# SPDX-License-Identifier: BSD-3-Clause
"""Operators and methods of `MDArray`, each one entry of the table in `mdla.core.protocols`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from mdla.core.protocols import FUNCTIONS, UnknownOperandError, introduce, is_foreign, lookup

if TYPE_CHECKING:
    from mdla.core.array import MDArray

__all__ = ["Operators"]

Axis = int | tuple[int, ...] | None
Binary = Callable[[Any, Any], "MDArray"]
Comparison = Callable[[Any, Any], npt.NDArray[np.bool_]]


def _forward(ufunc: Any) -> Binary:
    def method(self: Any, other: Any) -> Any:
        if type(other) is not type(self) and is_foreign(other, type(self)):
            introduce(type(other), type(self))
            return NotImplemented
        try:
            return FUNCTIONS[ufunc](self, other)
        except UnknownOperandError:
            return NotImplemented

    return method


def _comparison(ufunc: Any) -> Comparison:
    compare: Any = _forward(ufunc)
    return cast(Comparison, compare)


def _reflected(ufunc: Any) -> Binary:
    def method(self: Any, other: Any) -> Any:
        if is_foreign(other, type(self)):
            return ufunc(other, self) if introduce(type(other), type(self)) else NotImplemented
        try:
            return FUNCTIONS[ufunc](other, self)
        except UnknownOperandError:
            return NotImplemented

    return method


def _in_place(ufunc: Any) -> Binary:
    forward = _forward(ufunc)

    def method(self: Any, other: Any) -> Any:
        result = forward(self, other)
        if result is NotImplemented or self.ndim == 0:
            # A 0-d array is a number: other names for it, and dictionaries, keep the old value.
            return result
        if result.shape != self.shape:
            raise ValueError(
                f"the result has shape {result.shape}, which does not fit into {self.shape}"
            )
        self[...] = result
        return self

    return method


def _array(function: Any, *args: Any, **kwargs: Any) -> MDArray:
    result: MDArray = lookup(function)(*args, **kwargs)
    return result


def _indices(function: Any, *args: Any) -> npt.NDArray[np.intp]:
    result: npt.NDArray[np.intp] = lookup(function)(*args)
    return result


class Operators:
    """Mixin with what `MDArray` forwards to functions."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def iscomplex(self) -> bool:
            """As in `MDArray`, like all of this block."""

        def copy(self) -> MDArray:
            """Copy."""

        def __setitem__(self, index: Any, value: Any) -> None: ...

    __add__ = _forward(np.add)
    __radd__ = _reflected(np.add)
    __iadd__ = _in_place(np.add)
    __sub__ = _forward(np.subtract)
    __rsub__ = _reflected(np.subtract)
    __isub__ = _in_place(np.subtract)
    __mul__ = _forward(np.multiply)
    __rmul__ = _reflected(np.multiply)
    __imul__ = _in_place(np.multiply)
    __truediv__ = _forward(np.divide)
    __rtruediv__ = _reflected(np.divide)
    __itruediv__ = _in_place(np.divide)
    __floordiv__ = _forward(np.floor_divide)
    __rfloordiv__ = _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __mod__ = _forward(np.remainder)
    __rmod__ = _reflected(np.remainder)
    __imod__ = _in_place(np.remainder)
    __pow__ = _forward(np.power)
    __rpow__ = _reflected(np.power)
    __ipow__ = _in_place(np.power)
    __matmul__ = _forward(np.matmul)
    __rmatmul__ = _reflected(np.matmul)
    __imatmul__ = _in_place(np.matmul)
    __divmod__ = _forward(np.divmod)
    __rdivmod__ = _reflected(np.divmod)

    __eq__ = _comparison(np.equal)  # type: ignore[assignment]
    __ne__ = _comparison(np.not_equal)  # type: ignore[assignment]
    __lt__ = _comparison(np.less)
    __le__ = _comparison(np.less_equal)
    __gt__ = _comparison(np.greater)
    __ge__ = _comparison(np.greater_equal)

    def __neg__(self) -> MDArray:
        return _array(np.negative, self)

    def __pos__(self) -> MDArray:
        return self.copy()

    def __abs__(self) -> MDArray:
        return _array(np.absolute, self)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    # -- shape -------------------------------------------------------------------------------------

    @property
    def T(self) -> MDArray:
        """The array with its axes reversed, a view."""
        return self.transpose()

    @property
    def mT(self) -> MDArray:
        """The array with its last two axes exchanged, a view."""
        return _array(np.matrix_transpose, self)

    @property
    def H(self) -> MDArray:
        """The conjugate transpose of the last two axes."""
        return self.mT.conj()

    def conj(self) -> MDArray:
        """The complex conjugate; the array itself if it is real."""
        return _array(np.conjugate, self) if self.iscomplex else cast("MDArray", self)

    conjugate = conj

    def reshape(self, *shape: Any) -> MDArray:
        """The entries in another shape, a view where possible."""
        return _array(np.reshape, self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> MDArray:
        """The entries along one axis, a view where possible."""
        return self.reshape(-1)

    def flatten(self) -> MDArray:
        """A copy of the entries along one axis."""
        return self.reshape(-1).copy()

    def transpose(self, *axes: Any) -> MDArray:
        """The array with its axes permuted, a view."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return _array(np.transpose, self, order)

    def swapaxes(self, axis1: int, axis2: int) -> MDArray:
        """The array with two axes exchanged, a view."""
        return _array(np.swapaxes, self, axis1, axis2)

    def squeeze(self, axis: Axis = None) -> MDArray:
        """The array without axes of length one, a view."""
        return _array(np.squeeze, self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> MDArray:
        """See `mdla.repeat`."""
        return _array(np.repeat, self, repeats, axis)

    def take(self, indices: Any, axis: int | None = None) -> MDArray:
        """See `mdla.take`."""
        return _array(np.take, self, indices, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
        """See `mdla.diagonal`."""
        return _array(np.diagonal, self, offset, axis1, axis2)

    # -- reductions --------------------------------------------------------------------------------

    def sum(self, axis: Axis = None, keepdims: bool = False) -> MDArray:
        """See `mdla.sum`."""
        return _array(np.sum, self, axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> MDArray:
        """See `mdla.prod`."""
        return _array(np.prod, self, axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> MDArray:
        """See `mdla.mean`."""
        return _array(np.mean, self, axis, keepdims=keepdims)

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> MDArray:
        """See `mdla.var`."""
        return _array(np.var, self, axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> MDArray:
        """See `mdla.std`."""
        return _array(np.std, self, axis, ddof=ddof, keepdims=keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> MDArray:
        """See `mdla.min`."""
        return _array(np.min, self, axis, keepdims=keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> MDArray:
        """See `mdla.max`."""
        return _array(np.max, self, axis, keepdims=keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """See `mdla.any`."""
        return lookup(np.any)(self, axis, keepdims=keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """See `mdla.all`."""
        return lookup(np.all)(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None) -> npt.NDArray[np.intp]:
        """See `mdla.argmin`."""
        return _indices(np.argmin, self, axis)

    def argmax(self, axis: int | None = None) -> npt.NDArray[np.intp]:
        """See `mdla.argmax`."""
        return _indices(np.argmax, self, axis)

    def cumsum(self, axis: int | None = None) -> MDArray:
        """See `mdla.cumsum`."""
        return _array(np.cumsum, self, axis)

    def cumprod(self, axis: int | None = None) -> MDArray:
        """See `mdla.cumprod`."""
        return _array(np.cumprod, self, axis)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
        """See `mdla.trace`."""
        return _array(np.trace, self, offset, axis1, axis2)

    def dot(self, other: Any) -> MDArray:
        """See `mdla.dot`."""
        return _array(np.dot, self, other)

    # -- order and rounding ------------------------------------------------------------------------

    def sort(self, axis: int = -1) -> None:
        """Sort in place along an axis."""
        self[...] = _array(np.sort, self, axis)

    def argsort(self, axis: int = -1) -> npt.NDArray[np.intp]:
        """See `mdla.argsort`."""
        return _indices(np.argsort, self, axis)

    def clip(self, min: Any = None, max: Any = None) -> MDArray:
        """See `mdla.clip`."""
        return _array(np.clip, self, min, max)

    def round(self, decimals: int = 0) -> MDArray:
        """See `mdla.round`."""
        return _array(np.round, self, decimals)
