# SPDX-License-Identifier: BSD-3-Clause
"""Everything people call a number, to planes and back.

`to_planes` turns a number, a nested list or an array of numbers into planes ``(c, N, *shape)``.
The rule is the same for every source: the exact value is taken and rounded once, to the nearest
sum of limbs (`mdla.core.rounding`). Python integers, fractions, decimals and strings, NumPy
arrays of any real, integer or complex type, mpmath, gmpy2 and python-flint numbers have exact
values; the latter three are recognised by the module of their type and never imported. A ball of
python-flint stands for its midpoint, and a constant of mpmath for the constant itself.

The way back is in `mdla.core.export`, whose functions are also found here.
"""

from __future__ import annotations

import array
import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from .export import (
    hash_number as hash_number,
    to_complex as to_complex,
    to_decimal as to_decimal,
    to_flint as to_flint,
    to_float as to_float,
    to_float_array as to_float_array,
    to_fraction as to_fraction,
    to_gmpy2 as to_gmpy2,
    to_int as to_int,
    to_mpmath as to_mpmath,
    to_objects as to_objects,
    to_python as to_python,
)
from .parsing import parse_number
from .precision import Precision, precision
from .rounding import (
    FloatArray,
    Part,
    limbs_of_part,
    ratio_of_dyadic,
    resize_limbs,
    two_sum,
)

Parts: TypeAlias = tuple[Part, Part | None]

# NumPy has no deeper arrays either; a list that contains itself ends here.
_MAX_DEPTH = 64


def to_planes(obj: Any, prec: Any) -> FloatArray:
    """Planes ``(c, N, *shape)`` of a number, a nested list of numbers or an array.

    The limbs x_0, x_1, ... of an exact value v are ``x_i = RN(v - x_0 - ... - x_(i-1))``, so that
    ``|v - sum(x)| <= ulp(x_(N-1)) / 2``; values beyond the largest double become infinite as they
    do in float64. c is 2 where any of the numbers is complex, else 1.

    Args:
        obj: A number (int, float, complex, Fraction, Decimal, str, a NumPy scalar, a number of
            mpmath, gmpy2 or python-flint), nested lists or tuples of numbers and arrays, a NumPy
            array, or an array with planes in its attribute ``planes``.
        prec: A precision as `mdla.precision` accepts it.

    Raises:
        ValueError: A string is no number, or the lists are ragged or nested too deeply.
        TypeError: An object has no exact value, such as a date or None.

    Example:
        >>> from mdla.core.convert import to_planes
        >>> to_planes("0.1", "dd").tolist()
        [[0.1, -5.551115123125783e-18]]
        >>> to_planes([1, 2 + 1j], "d").shape
        (2, 1, 2)
    """
    fmt = precision(prec)
    block = _array_planes(obj, fmt)
    if block is not None:
        return block
    if isinstance(obj, list | tuple | range):
        leaves: list[Any] = []
        shape = _flatten(obj, leaves, 1, fmt)
        return _assemble(leaves, shape, fmt)
    return _planes_of_parts([exact_parts(obj)], (), fmt)


def exact_parts(obj: Any) -> Parts:
    """The exact real and imaginary part of a single number; the latter None if it is real.

    Raises:
        TypeError: The object is no number with an exact value.
        ValueError: A string cannot be read.
    """
    reader = _READERS.get(type(obj))
    if reader is None:
        reader = _find_reader(obj)
        if reader is None:
            raise TypeError(_unknown(obj))
    return reader(obj)


def _unknown(obj: Any) -> str:
    name = f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")
    return (
        f"cannot convert an object of type {name} exactly; pass numbers (int, float, complex, "
        "Fraction, Decimal, str), NumPy arrays or nested lists of them"
    )


# -- single numbers ------------------------------------------------------------------------------


def _read_decimal(x: Decimal) -> Parts:
    if not x.is_finite() or x.is_zero():
        # A signalling nan refuses to become a float.
        return (math.nan if x.is_nan() else float(x)), None
    if abs(x.adjusted()) > 400:
        return math.copysign(
            math.inf if x.adjusted() > 0 else 0.0, -1 if x.is_signed() else 1
        ), None
    return x.as_integer_ratio(), None


def _read_rational(x: Any) -> Parts:
    return (int(x.numerator), int(x.denominator)), None


def _read_generic(x: Any) -> Parts:
    """A NumPy scalar; those of Python's own types have been recognised before."""
    if isinstance(x, np.bool_ | np.integer):
        return (int(x), 1), None
    if isinstance(x, np.longdouble):
        if not np.isfinite(x) or x == 0:
            return float(x), None
        top, bottom = x.as_integer_ratio()
        return (int(top), int(bottom)), None
    if isinstance(x, np.floating):
        return float(x), None
    if isinstance(x, np.complexfloating):
        return _read_generic(x.real)[0], _read_generic(x.imag)[0]
    raise TypeError(_unknown(x))


def _read_mpf_tuple(raw: Any) -> Part:
    """The raw form of mpmath: (sign, mantissa, exponent, bits)."""
    sign, mantissa, exponent = int(raw[0]), int(raw[1]), int(raw[2])
    if mantissa == 0:
        return {0: 0.0, -456: math.inf, -789: -math.inf}.get(exponent, math.nan)
    return ratio_of_dyadic(-mantissa if sign else mantissa, exponent)


def _read_mpmath(x: Any) -> Parts:
    if hasattr(x, "_mpc_"):
        real, imag = x._mpc_
        return _read_mpf_tuple(real), _read_mpf_tuple(imag)
    if hasattr(x, "_mpf_"):
        # A constant knows all its digits: take enough of them for the widest format.
        raw = x.func(1024, "n") if callable(getattr(x, "func", None)) else x._mpf_
        return _read_mpf_tuple(raw), None
    raise TypeError(_unknown(x))


def _read_gmpy2(x: Any) -> Parts:
    name = type(x).__name__
    if name in ("mpz", "xmpz"):
        return (int(x), 1), None
    if name == "mpq":
        return _read_rational(x)
    if name == "mpc":
        return _read_gmpy2(x.real)[0], _read_gmpy2(x.imag)[0]
    if name == "mpfr":
        if x.is_nan() or x.is_infinite() or x.is_zero():
            return float(x), None
        mantissa, exponent = x.as_mantissa_exp()
        return ratio_of_dyadic(int(mantissa), int(exponent)), None
    raise TypeError(_unknown(x))


def _read_flint(x: Any) -> Parts:
    name = type(x).__name__
    if name == "fmpz":
        return (int(x), 1), None
    if name == "fmpq":
        return (int(x.p), int(x.q)), None
    if name == "acb":
        return _read_flint(x.real)[0], _read_flint(x.imag)[0]
    if name in ("arb", "arf"):
        middle = x.mid() if name == "arb" else x
        if middle.is_nan() or not middle.is_finite():
            return float(middle), None
        mantissa, exponent = middle.man_exp()
        return ratio_of_dyadic(int(mantissa), int(exponent)), None
    raise TypeError(_unknown(x))


_READERS: dict[type, Callable[[Any], Parts]] = {
    float: lambda x: (x, None),
    int: lambda x: ((x, 1), None),
    bool: lambda x: ((int(x), 1), None),
    complex: lambda x: (x.real, x.imag),
    str: parse_number,
    Fraction: _read_rational,
    Decimal: _read_decimal,
}

_FOREIGN: dict[str, Callable[[Any], Parts]] = {
    "mpmath": _read_mpmath,
    "gmpy2": _read_gmpy2,
    "flint": _read_flint,
}


def _find_reader(obj: Any) -> Callable[[Any], Parts] | None:
    """The reader of a type that is not listed itself: a subclass or a guest."""
    foreign = _FOREIGN.get(_home(obj))
    if foreign is not None:
        return foreign
    if hasattr(obj, "exact_ratio"):  # a constant of this package, which imports this module
        return lambda x: (x.exact_ratio(), None)
    for base in (str, Fraction, Decimal, bool, int):
        if isinstance(obj, base):
            return _READERS[base]
    if isinstance(obj, float):
        return lambda x: (float(x), None)
    if isinstance(obj, complex):
        return lambda x: (float(x.real), float(x.imag))
    if isinstance(obj, np.generic):
        return _read_generic
    if isinstance(obj, numbers.Rational):
        return _read_rational
    if hasattr(obj, "__index__"):
        return lambda x: ((x.__index__(), 1), None)
    return None


def _home(obj: Any) -> str:
    """The top-level package that a type comes from."""
    module: str = type(obj).__module__
    return module.partition(".")[0]


def _planes_of_parts(parts: list[Parts], shape: tuple[int, ...], fmt: Precision) -> FloatArray:
    """Planes of a list of exact numbers in C order."""
    count, dtype = fmt.limbs, fmt.dtype
    is_complex = any(imag is not None for _, imag in parts)
    planes = np.empty((1 + is_complex, count, len(parts)), dtype=dtype)
    planes[0] = _rows((real for real, _ in parts), len(parts), fmt)
    if is_complex:
        planes[1] = _rows((0.0 if i is None else i for _, i in parts), len(parts), fmt)
    return planes.reshape(1 + is_complex, count, *shape)


def _rows(parts: Iterable[Part], size: int, fmt: Precision) -> FloatArray:
    limbs = [limbs_of_part(part, fmt.limbs, fmt.dtype) for part in parts]
    return np.array(limbs, dtype=fmt.dtype).reshape(size, fmt.limbs).T


# -- lists ---------------------------------------------------------------------------------------


def _flatten(
    items: list[Any] | tuple[Any, ...] | range, leaves: list[Any], depth: int, fmt: Precision
) -> tuple[int, ...]:
    """Append the numbers of nested lists to ``leaves``, arrays as planes; return the shape."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"lists nested more than {_MAX_DEPTH} deep; arrays have fewer dimensions")
    if all(type(x) in _READERS for x in items):
        leaves.extend(items)
        return (len(items),)
    inner: tuple[int, ...] | None = None
    for position, item in enumerate(items):
        if isinstance(item, list | tuple | range):
            shape = _flatten(item, leaves, depth + 1, fmt)
        else:
            block = _array_planes(item, fmt)
            leaves.append(item if block is None else block)
            shape = () if block is None else block.shape[2:]
        if inner is None:
            inner = shape
        elif shape != inner:
            raise ValueError(
                f"ragged lists: item {position} at depth {depth} has shape {shape}, the items "
                f"before it have shape {inner}; give all rows the same length"
            )
    assert inner is not None
    return (len(items), *inner)


def _assemble(leaves: list[Any], shape: tuple[int, ...], fmt: Precision) -> FloatArray:
    """Planes of the given shape from the leaves of nested lists."""
    kinds = set(map(type, leaves))
    if np.ndarray in kinds:
        # Rows may be arrays here and lists there; in C order they follow each other anyway.
        blocks = [
            leaf.reshape(*leaf.shape[:2], math.prod(leaf.shape[2:]))
            if type(leaf) is np.ndarray
            else _planes_of_parts([exact_parts(leaf)], (1,), fmt)
            for leaf in leaves
        ]
        if any(block.shape[0] == 2 for block in blocks):
            blocks = [_as_complex(block) for block in blocks]
        joined = np.concatenate(blocks, axis=2)
        return joined.reshape(joined.shape[0], fmt.limbs, *shape)
    if kinds <= {float}:
        return _numeric_planes(np.array(leaves, dtype=np.float64), fmt, shape)
    if kinds <= {float, complex}:
        return _numeric_planes(np.array(leaves, dtype=np.complex128), fmt, shape)
    if kinds <= {int, bool}:
        try:
            return _numeric_planes(np.array(leaves, dtype=np.int64), fmt, shape)
        except OverflowError:
            pass
    return _planes_of_parts([exact_parts(leaf) for leaf in leaves], shape, fmt)


def _as_complex(planes: FloatArray) -> FloatArray:
    if planes.shape[0] == 2:
        return planes
    return np.concatenate([planes, np.zeros_like(planes)])


# -- arrays --------------------------------------------------------------------------------------


def _array_planes(obj: Any, fmt: Precision) -> FloatArray | None:
    """Planes of an array of any provenance; None for a list and for a single number."""
    if type(obj) in _READERS or isinstance(obj, list | tuple | range | np.generic):
        return None
    if isinstance(obj, np.ndarray):
        if isinstance(obj, np.ma.MaskedArray):
            raise TypeError("masked arrays have no mdla counterpart; call .filled() or .data first")
        return _ndarray_planes(np.asarray(obj), fmt)
    planes = getattr(obj, "planes", None)
    if isinstance(planes, np.ndarray) and planes.ndim >= 2:
        return _resize_planes(planes, fmt)
    home = _home(obj)
    if home == "mpmath" and hasattr(obj, "tolist"):
        shape = (int(obj.rows), int(obj.cols))
    elif home == "flint" and hasattr(obj, "nrows"):
        shape = (int(obj.nrows()), int(obj.ncols()))
    elif home in _FOREIGN:
        return None
    elif isinstance(obj, array.array | memoryview) or hasattr(obj, "__array__"):
        return _ndarray_planes(np.asarray(obj), fmt)
    else:
        return None
    return _assemble([x for row in obj.tolist() for x in row], shape, fmt)


def _resize_planes(planes: FloatArray, fmt: Precision) -> FloatArray:
    return np.stack([resize_limbs(part, fmt.limbs, fmt.dtype) for part in planes])


def _ndarray_planes(a: np.ndarray[Any, Any], fmt: Precision) -> FloatArray:
    if a.dtype.kind in "biufc":
        return _numeric_planes(a, fmt, a.shape)
    if a.dtype.kind in "OUT":
        leaves: list[Any] = []
        for item in a.ravel().tolist():
            block = _array_planes(item, fmt)
            if block is not None and block.ndim > 2:
                raise TypeError(
                    f"an object array may hold numbers only, found an array of shape "
                    f"{block.shape[2:]}; use a nested list"
                )
            leaves.append(item if block is None else block)
        return _assemble(leaves, a.shape, fmt)
    raise TypeError(
        f"cannot convert an array of dtype {a.dtype} exactly; pass a real, integer or complex "
        "array, or an object array of numbers"
    )


def _numeric_planes(a: np.ndarray[Any, Any], fmt: Precision, shape: tuple[int, ...]) -> FloatArray:
    """Planes of a NumPy array of booleans, integers, floats or complex numbers, vectorised."""
    a = a.reshape(shape)
    parts = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    planes = np.empty((len(parts), fmt.limbs, *shape), dtype=fmt.dtype)
    for plane, part in zip(planes, parts, strict=True):
        plane[...] = _real_limbs(part, fmt)
    return planes


def _real_limbs(a: np.ndarray[Any, Any], fmt: Precision) -> FloatArray:
    if a.dtype.kind in "iu" and a.dtype.itemsize == 8:
        # Both halves are exact doubles, so their two_sum is the integer in two limbs.
        high = (a >> 32).astype(np.float64) * 2.0**32
        low = (a & 0xFFFFFFFF).astype(np.float64)
        return resize_limbs(np.stack(two_sum(high, low)), fmt.limbs, fmt.dtype)
    if a.dtype.kind == "f" and a.dtype.itemsize > 8:
        return _long_double_limbs(a, fmt)
    return resize_limbs(a.astype(np.float64)[np.newaxis], fmt.limbs, fmt.dtype)


def _long_double_limbs(a: np.ndarray[Any, Any], fmt: Precision) -> FloatArray:
    out = np.zeros((fmt.limbs, *a.shape), dtype=fmt.dtype)
    rest = a.copy()
    with np.errstate(all="ignore"):
        for i in range(fmt.limbs):
            limb = rest.astype(fmt.dtype)
            # A remainder below the smallest double leaves no signed zero behind.
            out[i] = limb if i == 0 else limb + fmt.dtype.type(0)
            rest = np.where(np.isfinite(limb), rest - limb, 0)
    return out
