# SPDX-License-Identifier: BSD-3-Clause
"""MDArray: an N-dimensional array of multiple-double numbers.

This module stores and selects. Everything that computes is defined above it and found through the
table in `mdla.core.protocols`, by the operators and methods here as well as by NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import convert, indexing, planes as _planes, printing, protocols
from mdla.core.operators import Operators
from mdla.core.precision import Precision, from_layout, precision

__all__ = ["MDArray", "object_array", "wrap"]

Planes = npt.NDArray[Any]


class MDArray(Operators):
    """An array whose entries are sums of N floating-point limbs.

    Entry ``x`` is ``limbs[0] + limbs[1] + ... + limbs[N-1]``, exactly. Make arrays with
    `mdla.array`, `mdla.zeros` and the like; this constructor only wraps planes that are known to
    be normalised.

    Indexing, broadcasting, operators and methods are those of ``numpy.ndarray``, with these
    differences: mixed precisions give the wider one; a scalar is a 0-d array, which is hashable,
    and which ``+=`` and its kin replace instead of changing it in place; what would lose
    limbs raises TypeError.

    Args:
        planes: Limbs of shape ``(c, N, *shape)``, c = 1 for real, 2 for complex numbers, float64
            (float32 for the precision ds). They are not copied.

    Raises:
        TypeError: ``planes`` is no NumPy array.
        ValueError: No precision has that layout.

    Example:
        >>> import mdla
        >>> a = mdla.array([["0.1", 2], [3, 4]], prec="dd")
        >>> a.shape, a.prec, (a @ a).shape
        ((2, 2), 'dd', (2, 2))
    """

    __slots__ = ("__weakref__", "_precision", "planes")
    __array_priority__ = 1000.0

    planes: Planes
    _precision: Precision

    def __init__(self, planes: Planes) -> None:
        if not isinstance(planes, np.ndarray):
            raise TypeError(
                f"MDArray wraps an array of limbs, got {type(planes).__name__}; "
                "write mdla.array(obj, prec) to convert"
            )
        if planes.ndim < 2 or planes.shape[0] not in (1, 2):
            raise ValueError(
                f"planes have shape (c, N, *shape) with c = 1 or 2, got {planes.shape}; "
                "write mdla.array(obj, prec) to convert"
            )
        self._precision = from_layout(planes.shape[1], planes.dtype)
        self.planes = planes

    # -- what it is --------------------------------------------------------------------------------

    @property
    def precision(self) -> Precision:
        """The number format."""
        return self._precision

    @property
    def prec(self) -> str:
        """The name of the number format, such as ``"dd"``."""
        return self._precision.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """``dtype(object)``: no NumPy type holds these numbers. `prec` names the format."""
        return np.dtype(object)

    @property
    def iscomplex(self) -> bool:
        """Whether the entries are complex numbers."""
        return bool(self.planes.shape[0] == 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.planes.shape[2:]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.planes.ndim - 2

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.planes.shape[2:])

    @property
    def nbytes(self) -> int:
        """The bytes taken by all limbs."""
        return self.planes.nbytes

    @property
    def limbs(self) -> Planes:
        """The limbs, not copied: shape ``(N, *shape)``, or ``(2, N, *shape)`` for complex.

        Example:
            >>> import mdla
            >>> mdla.array("0.1", prec="dd").limbs.tolist()
            [0.1, -5.551115123125783e-18]
        """
        return self.planes if self.iscomplex else self.planes[0]

    @property
    def real(self) -> MDArray:
        """The real part, a view."""
        return MDArray(self.planes[:1])

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> MDArray:
        """The imaginary part, a view; read-only zeros for a real array."""
        if self.iscomplex:
            return MDArray(self.planes[1:])
        zero = np.zeros((), dtype=self.planes.dtype)
        return MDArray(np.broadcast_to(zero, self.planes.shape))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # -- entries -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a 0-d MDArray has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[MDArray]:
        if self.ndim == 0:
            raise TypeError("cannot iterate over a 0-d MDArray")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> MDArray:
        return wrap(indexing.get_item(self.planes, index), self._precision)

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.set_item(self.planes, index, self._fitted(value))

    def _fitted(self, value: Any) -> Planes:
        """Planes of a value, rounded to this format, for writing into this array."""
        if isinstance(value, MDArray):
            fitted = _planes.cast(value.planes, self._precision)
        else:
            fitted = convert.to_planes(value, self._precision)
        if fitted.shape[0] > self.planes.shape[0]:
            raise TypeError(
                "cannot write complex numbers into a real array; "
                "write a.astype(a.prec, complex=True) first, or take .real"
            )
        return _planes.as_complex(fitted) if self.iscomplex else fitted

    def fill(self, value: Any) -> None:
        """Set every entry to one value."""
        self[...] = value

    def item(self, *index: Any) -> Any:
        """One entry as an exact Python number.

        Returns:
            A Fraction; a float for an infinity or nan; a complex for a complex entry that fits.

        Raises:
            ValueError: The array has several entries and no index was given, or a complex entry
                has more than 53 bits (take its parts).

        Example:
            >>> import mdla
            >>> mdla.array("0.5").item()
            Fraction(1, 2)
        """
        one = self[index[0] if len(index) == 1 else index] if index else self.reshape(-1)
        if one.size != 1:
            raise ValueError(
                f"item() needs an index to pick one of {self.size} entries, as in a.item(0, 1)"
            )
        return _python_number(one.planes.reshape(one.planes.shape[:2]))

    def tolist(self) -> Any:
        """The entries as (nested lists of) exact Python numbers, see `item`."""
        return convert.to_objects(self.planes, _python_number).tolist()

    # -- conversion --------------------------------------------------------------------------------

    def astype(self, prec: Any, complex: bool | None = None, copy: bool = True) -> MDArray:
        """The same numbers in another format: exact if it is wider, else rounded once.

        Args:
            prec: The precision, such as ``"qd"``.
            complex: True appends a zero imaginary part.
            copy: False returns the array itself where nothing changes.

        Raises:
            TypeError: ``prec`` is no precision, or ``complex=False`` and the array is complex.

        Example:
            >>> import mdla
            >>> mdla.array("0.1", prec="qd").astype("dd").limbs.tolist()
            [0.1, -5.551115123125783e-18]
        """
        if isinstance(prec, (type, np.dtype)):
            if np.dtype(prec) != np.dtype(object):
                raise TypeError(
                    f"astype takes a precision such as 'dd', got {prec!r}; "
                    "write a.to_numpy(dtype) for a NumPy array"
                )
            prec = self._precision
        if complex is False and self.iscomplex:
            raise TypeError("a complex array stays complex; take .real or abs()")
        planes = _planes.cast(self.planes, precision(prec))
        planes = _planes.as_complex(planes) if complex else planes
        if planes is self.planes:
            return self.copy() if copy else self
        return MDArray(planes)

    def to_numpy(self, dtype: Any = None) -> npt.NDArray[Any]:
        """The nearest NumPy numbers, each the exact value correctly rounded.

        Args:
            dtype: float64 by default (complex128 for complex); another floating type; an integer
                type, which takes only values it holds; bool, which is true where a number is not
                zero; or object, which gives exact Fractions.

        Raises:
            TypeError: The type is real and the array complex, or it holds no numbers.
            ValueError: A value is no integer of that type.

        Example:
            >>> import mdla
            >>> mdla.array(["0.1", 2]).to_numpy()
            array([0.1, 2. ])
        """
        kind = None if dtype is None else np.dtype(dtype)
        if kind is not None and kind.kind == "O":
            return object_array(self.planes)
        if kind is not None and kind.kind == "b":
            return np.asarray((self.planes[:, 0] != 0).any(axis=0))
        if kind is not None and kind.kind in "iu":
            return self._to_integers(kind)
        return convert.to_float_array(self.planes, kind)

    def _to_integers(self, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        if self.iscomplex:
            raise TypeError(f"cannot convert complex numbers to {kind}; take .real first")
        numbers = object_array(self.planes)
        limits = np.iinfo(kind)
        for x in numbers.ravel():
            if not (limits.min <= x <= limits.max and x.denominator == 1):
                raise ValueError(f"{x} is no {kind}; round with mdla.rint, floor or trunc first")
        return numbers.astype(kind)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if dtype is None:
            raise TypeError(
                f"converting an MDArray ({self.prec}) to NumPy would drop limbs; write "
                "a.to_numpy(), or np.asarray(a, dtype=...), to round, or dtype=object for Fractions"
            )
        if copy is False:
            raise ValueError("an MDArray cannot be seen as a NumPy array without a copy")
        return self.to_numpy(dtype)

    def _single(self, kind: str) -> Planes:
        if self.ndim != 0:
            raise TypeError(
                f"only a 0-d MDArray converts to {kind}, this one has shape {self.shape}; "
                "index an entry, or write a.to_numpy()"
            )
        return self.planes

    def __float__(self) -> float:
        return convert.to_float(self._single("float"))

    def __complex__(self) -> complex:
        return convert.to_complex(self._single("complex"))

    def __int__(self) -> int:
        return convert.to_int(self._single("int"))

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> int:
        return int(protocols.lookup(np.floor)(self))

    def __ceil__(self) -> int:
        return int(protocols.lookup(np.ceil)(self))

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is None:
            return int(protocols.lookup(np.rint)(self))
        return protocols.lookup(np.round)(self, ndigits)

    def __index__(self) -> int:
        value = _python_number(self._single("an index"))
        if getattr(value, "denominator", 0) != 1:
            raise TypeError(f"only an integer serves as an index, got {self!s}")
        return int(value)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth of an array of {self.size} entries is ambiguous; "
                "write a.any() or a.all()"
            )
        return bool(np.any(self.planes))

    def __hash__(self) -> int:
        if self.ndim != 0:
            raise TypeError("only a 0-d MDArray is hashable")
        return convert.hash_number(self.planes)

    # -- text and storage --------------------------------------------------------------------------

    def __repr__(self) -> str:
        return printing.array_repr(self.planes, self._precision)

    def __str__(self) -> str:
        return printing.array_str(self.planes, self._precision)

    def __format__(self, spec: str) -> str:
        return printing.array_format(self.planes, self._precision, spec)

    def copy(self) -> MDArray:
        """A copy with limbs of its own."""
        return MDArray(np.array(self.planes, order="C"))

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> MDArray:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.prec, np.ascontiguousarray(self.planes))

    # -- NumPy -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return protocols.array_ufunc(MDArray, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.array_function(MDArray, func, types, args, kwargs)


def wrap(planes: Planes, prec: Precision) -> MDArray:
    """The array of planes that are known to have a format; for calls where microseconds count."""
    array = MDArray.__new__(MDArray)
    array.planes = planes
    array._precision = prec
    return array


def object_array(planes: Planes) -> npt.NDArray[np.object_]:
    """An object array of exact Fractions (floats for infinities and nans).

    Raises:
        TypeError: The numbers are complex, for which Python has no exact type.
    """
    if planes.shape[0] == 2:
        raise TypeError("Python has no exact complex type; convert a.real and a.imag")
    return convert.to_objects(planes, _python_number)


def _python_number(planes: Planes) -> Any:
    """The exact Python number of planes (c, N): a Fraction wherever there is one."""
    if planes.shape[0] == 2:
        return convert.to_python(planes)
    return convert.to_fraction(planes) if math.isfinite(planes[0, 0]) else float(planes[0, 0])


def _restore(prec: str, planes: Planes) -> MDArray:
    """Rebuild a pickled array; the name guards against a change of layout."""
    restored = MDArray(planes)
    if restored.prec != prec:
        raise ValueError(f"the pickle holds an array of precision {prec}, not {restored.prec}")
    return restored
