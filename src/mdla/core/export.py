# SPDX-License-Identifier: BSD-3-Clause
"""Planes to the numbers of other libraries, exactly or rounded once.

A single number is given by its N limbs, or by the planes ``(1, N)`` or ``(2, N)`` of a 0-d array;
the functions for real numbers refuse the latter. Normalised limbs are assumed by `to_float_array`
only; everything else works with the exact sum of whatever limbs it is given.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .rounding import FloatArray, dyadic_of_limbs, nearest_array, nearest_double, odd_array

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _parts(limbs: Any) -> list[list[float]]:
    """One list of limbs for a real number, two for a complex one, as Python floats."""
    values = np.asarray(limbs, dtype=np.float64)
    if values.ndim == 1:
        values = values[np.newaxis]
    if values.ndim != 2 or not 1 <= values.shape[0] <= 2:
        raise TypeError(
            f"only a single number can be converted, got an array of shape {values.shape[2:]}; "
            "index an element first"
        )
    parts: list[list[float]] = values.tolist()
    return parts


def _real(limbs: Any, kind: str) -> list[float]:
    parts = _parts(limbs)
    if len(parts) == 2:
        raise TypeError(f"cannot convert a complex number to {kind}; take .real or abs() first")
    return parts[0]


def to_fraction(limbs: Any) -> Fraction:
    """The exact value of a real number as a Fraction.

    Raises:
        OverflowError: The number is infinite.
        ValueError: The number is a nan.

    Example:
        >>> from mdla.core.convert import to_fraction
        >>> to_fraction([1.0, 2.0**-60]) - 1 == 2.0**-60
        True
    """
    real = _real(limbs, "a Fraction")
    if not math.isfinite(real[0]):
        return Fraction(real[0])  # raises, with Python's own words
    mantissa, shift = dyadic_of_limbs(real)
    return Fraction(mantissa, 1 << shift)


def to_int(limbs: Any) -> int:
    """The exact value of a real number, truncated towards zero as ``int`` does."""
    real = _real(limbs, "an int")
    if not math.isfinite(real[0]):
        return int(real[0])  # raises
    mantissa, shift = dyadic_of_limbs(real)
    return mantissa >> shift if mantissa >= 0 else -(-mantissa >> shift)


def to_float(limbs: Any) -> float:
    """The double nearest to the exact value of a real number, ties to even."""
    return _nearest(_real(limbs, "a float"))


def to_complex(limbs: Any) -> complex:
    """The complex double nearest to a number in each part."""
    parts = _parts(limbs)
    return complex(_nearest(parts[0]), _nearest(parts[1]) if len(parts) == 2 else 0.0)


def _nearest(limbs: list[float]) -> float:
    if not math.isfinite(limbs[0]) or not any(limbs[1:]):
        return limbs[0]
    mantissa, shift = dyadic_of_limbs(limbs)
    return nearest_double(mantissa, 1 << shift)


def to_python(limbs: Any) -> float | complex | Fraction:
    """A number as the plainest Python object that holds it exactly.

    That is a float, or a complex of floats, where the value fits into one, else a Fraction.

    Raises:
        ValueError: A complex number does not fit into Python's complex.
    """
    parts = _parts(limbs)
    values = [_nearest(part) for part in parts]
    exact = [
        not math.isfinite(value) or dyadic_of_limbs(part) == dyadic_of_limbs([value])
        for part, value in zip(parts, values, strict=True)
    ]
    if all(exact):
        return values[0] if len(values) == 1 else complex(*values)
    if len(parts) == 1:
        return to_fraction(parts[0])
    raise ValueError("a complex number with more than 53 bits has no Python type; take its parts")


def to_decimal(limbs: Any) -> Decimal:
    """The exact value of a real number as a Decimal, whatever the current decimal context is."""
    real = _real(limbs, "a Decimal")
    if not math.isfinite(real[0]) or not any(real):
        return Decimal(real[0])
    mantissa, shift = dyadic_of_limbs(real)
    # n / 2^k = n 5^k / 10^k has a finite expansion.
    return _EXACT.scaleb(Decimal(mantissa * 5**shift), -shift)


def to_mpmath(limbs: Any) -> Any:
    """The exact value as an mpmath ``mpf`` or ``mpc``; mpmath's working precision is not used."""
    from mpmath import mp
    from mpmath.libmp import from_float, from_man_exp

    def raw(part: list[float]) -> Any:
        if not math.isfinite(part[0]):
            return from_float(part[0])
        mantissa, shift = dyadic_of_limbs(part)
        return from_man_exp(mantissa, -shift)

    parts = _parts(limbs)
    if len(parts) == 2:
        return mp.make_mpc((raw(parts[0]), raw(parts[1])))
    return mp.make_mpf(raw(parts[0]))


def to_gmpy2(limbs: Any) -> Any:
    """The exact value as a gmpy2 ``mpfr`` or ``mpc`` of at least 53 bits per limb."""
    import gmpy2

    parts = _parts(limbs)
    sums = [dyadic_of_limbs(part) if math.isfinite(part[0]) else (0, 0) for part in parts]
    # The trailing zeros of a mantissa need no room.
    needed = [abs(m).bit_length() - ((m & -m).bit_length() - 1) if m else 2 for m, _ in sums]
    bits = max(53 * len(parts[0]), *needed)
    values = []
    for part, (mantissa, shift) in zip(parts, sums, strict=True):
        if not math.isfinite(part[0]) or mantissa == 0:
            values.append(gmpy2.mpfr(part[0], bits))
        else:
            values.append(gmpy2.mpfr(gmpy2.mpq(mantissa, 1 << shift), bits))
    return values[0] if len(values) == 1 else gmpy2.mpc(*values, precision=bits)


def to_flint(limbs: Any) -> Any:
    """The exact value as a python-flint ``arb`` or ``acb`` of radius zero."""
    import flint

    def ball(part: list[float]) -> Any:
        if not math.isfinite(part[0]):
            return flint.arb(part[0])
        mantissa, shift = dyadic_of_limbs(part)
        return flint.arb((mantissa, -shift))

    parts = _parts(limbs)
    return ball(parts[0]) if len(parts) == 1 else flint.acb(ball(parts[0]), ball(parts[1]))


def hash_number(limbs: Any) -> int:
    """The hash of a number: that of the equal int, float, Fraction, Decimal or complex."""
    parts = _parts(limbs)
    real = _hash_real(parts[0])
    if len(parts) == 1:
        return real
    # Python's rule for complex numbers (sys.hash_info.imag), wrapped like a C integer.
    width = sys.hash_info.width
    value = (real + sys.hash_info.imag * _hash_real(parts[1])) % (1 << width)
    if value >= 1 << (width - 1):
        value -= 1 << width
    return -2 if value == -1 else value


def _hash_real(limbs: list[float]) -> int:
    if math.isnan(limbs[0]):
        # Python hashes a nan by its identity, which limbs do not have.
        return 0
    if math.isinf(limbs[0]) or not any(limbs[1:]):
        return hash(limbs[0])
    return hash(to_fraction(limbs))


def to_float_array(planes: FloatArray, dtype: Any = None) -> npt.NDArray[Any]:
    """The nearest NumPy numbers to an array of normalised limbs, each rounded once.

    Args:
        planes: Planes ``(c, N, *shape)``.
        dtype: A real or complex floating type; default float64, or complex128 for c = 2.

    Raises:
        TypeError: The type is real and the planes are complex, or it is no floating type.
    """
    is_complex = planes.shape[0] == 2
    kind = np.dtype((np.complex128 if is_complex else np.float64) if dtype is None else dtype)
    if kind.kind not in "fc":
        raise TypeError(f"cannot round to dtype {kind}; ask for a floating type")
    if is_complex and kind.kind == "f":
        raise TypeError(f"cannot convert complex numbers to {kind}; take .real or abs() first")
    if kind.kind == "f":
        return _round_to(planes[0], kind)
    out = np.zeros(planes.shape[2:], dtype=kind)
    out.real = _round_to(planes[0], out.real.dtype)
    if is_complex:
        out.imag = _round_to(planes[1], out.real.dtype)
    return out


def _round_to(limbs: FloatArray, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    size = np.finfo(kind).nmant
    if size == 52:
        return nearest_array(limbs).astype(kind, copy=False)
    with np.errstate(over="ignore"):
        if size < 52:
            short: npt.NDArray[Any] = odd_array(limbs).astype(kind)
            return short
        # A longer type: the head is exact in it, and the tail rounded to odd decides all ties.
        wide = limbs.astype(np.float64)
        tail = odd_array(limbs[1:]) if limbs.shape[0] > 1 else np.zeros(limbs.shape[1:])
        head: npt.NDArray[Any] = wide[0].astype(kind)
        return np.where((tail == 0) | ~np.isfinite(wide[0]), head, head + tail.astype(kind))


def to_objects(planes: FloatArray, convert: Callable[[Any], Any]) -> npt.NDArray[np.object_]:
    """An object array of ``convert(number)`` for each number of an array, e.g. of Fractions.

    Example:
        >>> from mdla.core.convert import to_fraction, to_objects, to_planes
        >>> to_objects(to_planes(["1/4", 2], "dd"), to_fraction).tolist()
        [Fraction(1, 4), Fraction(2, 1)]
    """
    shape = planes.shape[2:]
    size = math.prod(shape)
    numbers = np.moveaxis(planes.reshape(*planes.shape[:2], size), 2, 0)
    out = np.empty(size, dtype=object)
    for i in range(size):
        out[i] = convert(numbers[i])
    return out.reshape(shape)
