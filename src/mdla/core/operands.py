# SPDX-License-Identifier: BSD-3-Clause
"""Operands of any kind, brought to one format before an operation.

Arrays of mixed precision meet in the wider one. Python and NumPy numbers do not widen the result,
but they enter with their exact value: where the format of the result cannot hold it, the operation
runs in one that can, and its result is rounded once more. Fractions, decimals and the numbers of
other libraries are rounded once, to the format of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import convert, planes as _planes
from mdla.core.array import MDArray, wrap
from mdla.core.precision import PRECISIONS, Precision, promote
from mdla.core.protocols import UnknownOperandError
from mdla.core.rounding import Part, dyadic_of_limbs, limbs_of_part

__all__ = [
    "DEFAULT",
    "Operand",
    "apply",
    "exact_join",
    "in_format",
    "meet",
    "read",
    "to_array",
    "unify",
]

Planes = npt.NDArray[Any]

_D, _DD, _DS = PRECISIONS["d"], PRECISIONS["dd"], PRECISIONS["ds"]

#: The format of results where no operand says otherwise.
DEFAULT = _DD

# Integers up to here are exact doubles.
_DOUBLE_INTEGERS = 1 << 53

# NumPy has no deeper arrays either; a list that contains itself ends here.
_MAX_DEPTH = 64

# Formats by limb count, in which the exact value of a long integer is looked for.
_WIDTHS = sorted((p for p in PRECISIONS.values() if p.dtype == _D.dtype), key=lambda p: p.limbs)


class Operand(NamedTuple):
    """One operand, read but not yet brought to a common format.

    Attributes:
        planes: Its exact value; None where no format holds it and it will be rounded.
        holds: The format of the planes, or None.
        counts: The format with which it takes part in promotion; None for plain numbers.
        source: The object itself.
    """

    planes: Planes | None
    holds: Precision | None
    counts: Precision | None
    source: Any


def read(obj: Any) -> Operand:
    """Read an operand of any supported type.

    Raises:
        UnknownOperandError: The type is unknown, or a string.
    """
    if isinstance(obj, MDArray):
        return Operand(obj.planes, obj.precision, obj.precision, obj)
    reader = _READERS.get(type(obj))
    if reader is not None:
        return reader(obj)
    if isinstance(obj, np.ndarray):
        return _read_ndarray(obj)
    if isinstance(obj, np.generic):
        return _read_ndarray(np.asarray(obj))._replace(counts=None)
    if isinstance(obj, (list, tuple, range)):
        return _read_list(obj)
    if isinstance(obj, (str, bytes)):
        raise UnknownOperandError(
            f"arithmetic takes numbers, got the string {obj!r:.60}; write mdla.array({obj!r:.60})"
        )
    try:
        if not _is_array_like(obj):
            convert.exact_parts(obj)
    except TypeError as error:
        raise UnknownOperandError(str(error)) from None
    return Operand(None, None, None, obj)


def _is_array_like(obj: Any) -> bool:
    """Matrices of mpmath and python-flint, and other things with NumPy's protocols."""
    return hasattr(obj, "tolist") or hasattr(obj, "__array__")


def _read_float(x: float) -> Operand:
    return Operand(np.array([[x]]), _D, None, x)


def _read_complex(x: complex) -> Operand:
    return Operand(np.array([[x.real], [x.imag]]), _D, None, x)


def _read_int(x: int) -> Operand:
    if -_DOUBLE_INTEGERS <= x <= _DOUBLE_INTEGERS:
        return Operand(np.array([[float(x)]]), _D, None, x)
    return _read_parts(((x, 1), None), x)


def _read_parts(parts: tuple[Part, Part | None], source: Any) -> Operand:
    """A number that is exact in the narrowest format that holds it, if one does."""
    present = [part for part in parts if part is not None]
    for prec in _WIDTHS:
        limbs = [limbs_of_part(part, prec.limbs, prec.dtype) for part in present]
        if all(_is_exact(p, x) for p, x in zip(present, limbs, strict=True)):
            return Operand(np.array(limbs), prec, None, source)
    return Operand(None, None, None, source)


def _is_exact(part: Part, limbs: list[float]) -> bool:
    if not isinstance(part, tuple):
        return True
    if not np.isfinite(limbs[0]):
        return False
    top, shift = dyadic_of_limbs(limbs)
    return part[0] << shift == top * part[1]


def _read_ndarray(a: npt.NDArray[Any]) -> Operand:
    kind, size = a.dtype.kind, a.dtype.itemsize
    if kind == "b" or (kind in "iu" and size < 8) or (kind == "f" and size <= 8):
        counts = _D if kind == "f" and size == 8 else None
        return Operand(a.astype(np.float64)[np.newaxis, np.newaxis], _D, counts, a)
    if kind in "iu":
        return Operand(convert.to_planes(a, _DD), _DD, None, a)
    if kind == "c" and size <= 16:
        planes = np.stack([a.real, a.imag]).astype(np.float64)[:, np.newaxis]
        return Operand(planes, _D, _D if size == 16 else None, a)
    if kind in "fc":
        return Operand(convert.to_planes(a, _DD), _DD, _DD, a)
    if kind == "O":
        return Operand(None, None, _widest(a.ravel().tolist()), a)
    raise UnknownOperandError(f"arithmetic takes arrays of numbers, got an array of {a.dtype}")


def _read_list(items: Any) -> Operand:
    leaves: list[Any] = []
    pending = [(items, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _MAX_DEPTH:
            raise ValueError(f"lists nested more than {_MAX_DEPTH} deep; arrays have fewer axes")
        if isinstance(item, (list, tuple)):
            pending.extend((x, depth + 1) for x in item)
        elif isinstance(item, (str, bytes)):
            raise UnknownOperandError(
                "arithmetic takes numbers, got a list with strings; use mdla.array"
            )
        else:
            leaves.append(item)
    return Operand(None, None, _widest(leaves), items)


def _widest(leaves: list[Any]) -> Precision | None:
    found = {leaf.precision for leaf in leaves if isinstance(leaf, MDArray)}
    return promote(*found) if found else None


_READERS: dict[type, Callable[[Any], Operand]] = {
    float: _read_float,
    np.float64: _read_float,
    int: _read_int,
    bool: _read_int,
    complex: _read_complex,
    np.complex128: _read_complex,
}


def exact_join(a: Precision, b: Precision) -> Precision:
    """The narrowest format that holds every value of both."""
    if a.dtype == b.dtype:
        return promote(a, b)
    # Two floats of any distance fit into two doubles, but not into one.
    return promote(_DD, a, b)


def meet(*objs: Any, prec: Precision | None = None) -> tuple[list[Operand], Precision, Precision]:
    """The operands as they are, the format of the result, and the one in which they meet.

    Args:
        objs: The operands.
        prec: The format of the result where it is given.

    Raises:
        UnknownOperandError: An operand has an unknown type.
    """
    operands = [read(obj) for obj in objs]
    counted = [op.counts for op in operands if op.counts is not None]
    if not any(isinstance(obj, MDArray) for obj in objs):
        counted.append(DEFAULT)
    result = prec or promote(*counted)
    if result == _DS:
        operands = [_narrowed(op) for op in operands]
    working = result
    for op in operands:
        if op.holds is not None:
            working = exact_join(working, op.holds)
    return operands, result, working


def unify(*objs: Any, prec: Precision | None = None) -> tuple[list[Planes], Precision, Precision]:
    """Planes of all operands in one working format.

    Args:
        objs: The operands.
        prec: The format of the result where it is given.

    Returns:
        The planes (with the limbs of the working format, or a single limb), the format of the
        result, and the working format, which is at least as wide.

    Raises:
        UnknownOperandError: An operand has an unknown type.
    """
    operands, result, working = meet(*objs, prec=prec)
    return [in_format(op, working) for op in operands], result, working


def _narrowed(op: Operand) -> Operand:
    """A double that two floats hold, as two floats; for results in the format ds."""
    if op.planes is None or op.holds != _D or op.counts is not None:
        return op
    pair = _planes.cast(op.planes, _DS)
    exact = bool(np.all(_planes.compare("eq", _planes.cast(pair, _DD), op.planes)))
    return op._replace(planes=pair, holds=_DS) if exact else op


def in_format(op: Operand, working: Precision) -> Planes:
    """The planes of an operand in a format, or its single double as it is."""
    if op.planes is None:
        return convert.to_planes(op.source, working)
    if op.planes.shape[1] == 1 and op.planes.dtype == working.dtype:
        # The kernels take a single double as it is.
        return op.planes
    return _planes.cast(op.planes, working)


def apply(name: str, a: Any, *others: Any) -> MDArray:
    """Apply a native elementwise operation to operands of any kind."""
    if type(a) is MDArray and not others:
        return wrap(_native.elementwise(name, None, a.planes), a.precision)
    if type(a) is MDArray and len(others) == 1:
        # Two arrays of one format and shape, and an array with a double, need no preparation;
        # small arrays feel the difference.
        x, b = a.planes, others[0]
        if type(b) is MDArray:
            y = b.planes
            if x.shape == y.shape and x.dtype == y.dtype:
                return wrap(_native.elementwise(name, None, x, y), a.precision)
        elif x.dtype == _D.dtype and (
            type(b) is float or (type(b) is int and -_DOUBLE_INTEGERS <= b <= _DOUBLE_INTEGERS)
        ):
            y = _planes.repeated(float(b), x.shape[2:])
            return wrap(_native.elementwise(name, None, x, y), a.precision)
    operands, result, working = unify(a, *others)
    return wrap(_planes.cast(_planes.elementwise(name, working, *operands), result), result)


def to_array(obj: Any, prec: Precision | None = None) -> MDArray:
    """The operand as an MDArray: itself if it is one, else converted to prec or the default.

    Raises:
        TypeError: The object is no number, nor an array or list of numbers.
    """
    if isinstance(obj, MDArray):
        return obj if prec is None else obj.astype(prec, copy=False)
    operand = read(obj)
    return MDArray(convert.to_planes(obj, prec or operand.counts or DEFAULT))
