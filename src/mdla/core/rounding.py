# SPDX-License-Identifier: BSD-3-Clause
"""Exact numbers to limbs and back, each rounded once.

An exact real number travels through the package as a *part*: a Python float (taken exactly, so
that infinities, nans and signed zeros keep their meaning) or a pair ``(numerator, denominator)``
of integers with a positive denominator. Its limbs are the greedy ones: limb i is the
round-to-nearest-even double of what limbs 0..i-1 leave over. Their sum differs from the number by
at most half a unit in the last place of the last limb.

The vectorised half of this module works on planes and needs neither integers nor a loop over
elements: sums are rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd", IEEE TC 57, 2008) until the last one, which is
rounded to nearest and therefore correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ratio: TypeAlias = tuple[int, int]
Part: TypeAlias = float | Ratio
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

# A number of this many bits above or below one has left the range of every limb type; exact
# numbers beyond it are never expanded into integers, so that 1e1000000000 costs nothing.
_RANGE_BITS = 1200

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def nearest_double(num: int, den: int) -> float:
    """The double nearest to ``num/den``, ties to even; infinity where it overflows."""
    try:
        return num / den
    except OverflowError:
        return _signed(math.inf, num)


def nearest_single(num: int, den: int) -> float:
    """The float32 nearest to ``num/den``, ties to even, as a Python float."""
    magnitude = abs(num)
    exponent = magnitude.bit_length() - den.bit_length() - 24
    # The quotient has 24 or 25 bits; one more step makes it 24 where it had 25.
    if (magnitude >> exponent if exponent > 0 else magnitude << -exponent) >= den << 24:
        exponent += 1
    exponent = max(exponent, -149)
    if exponent > 0:
        quotient, rest = divmod(magnitude, den << exponent)
        half = (den << exponent) - 2 * rest
    else:
        quotient, rest = divmod(magnitude << -exponent, den)
        half = den - 2 * rest
    if half < 0 or (half == 0 and quotient & 1):
        quotient += 1
    if exponent > 128:
        return _signed(math.inf, num)
    value = math.ldexp(quotient, exponent)
    if value > _FLOAT32_MAX:
        value = math.inf
    return _signed(value, num)


def _signed(value: float, sign: int) -> float:
    """Copysign for an integer of any size."""
    return -value if sign < 0 else value


def ratio_of_dyadic(mantissa: int, exponent: int) -> Part:
    """The part ``mantissa * 2**exponent``; beyond the range of doubles a float, inf or zero."""
    top = mantissa.bit_length() + exponent
    if mantissa == 0:
        return 0.0
    if top > _RANGE_BITS:
        return _signed(math.inf, mantissa)
    if top < -_RANGE_BITS:
        return _signed(0.0, mantissa)
    return (mantissa << exponent, 1) if exponent >= 0 else (mantissa, 1 << -exponent)


def limbs_of_ratio(num: int, den: int, count: int, dtype: np.dtype[Any]) -> list[float]:
    """The ``count`` greedy limbs of ``num/den``: each is nearest to what the others leave over."""
    nearest = nearest_double if dtype.itemsize == 8 else nearest_single
    limbs: list[float] = []
    shift = 0  # what is left over is num / (den * 2**shift)
    for _ in range(count):
        limb = nearest(num, den << shift)
        # A remainder that rounds to zero leaves no sign behind.
        limbs.append(limb if limb or not limbs else 0.0)
        if limb == 0 or not math.isfinite(limb):
            break
        top, bottom = limb.as_integer_ratio()
        bits = bottom.bit_length() - 1
        if bits > shift:
            num <<= bits - shift
            shift = bits
        num -= (top * den) << (shift - bits)
        if num == 0:
            break
    limbs.extend([0.0] * (count - len(limbs)))
    return limbs


def limbs_of_part(part: Part, count: int, dtype: np.dtype[Any]) -> list[float]:
    """The greedy limbs of a part; floats keep their infinities, nans and signed zeros."""
    if isinstance(part, tuple):
        return limbs_of_ratio(part[0], part[1], count, dtype)
    if dtype.itemsize == 8 or part == 0 or not math.isfinite(part):
        return [part] + [0.0] * (count - 1)
    return limbs_of_ratio(*part.as_integer_ratio(), count, dtype)


def dyadic_of_limbs(limbs: Iterable[float]) -> tuple[int, int]:
    """The exact sum of finite limbs as ``(mantissa, shift)``, meaning ``mantissa / 2**shift``."""
    total, shift = 0, 0
    for limb in limbs:
        if limb == 0:
            continue
        top, bottom = float(limb).as_integer_ratio()
        bits = bottom.bit_length() - 1
        if bits > shift:
            total <<= bits - shift
            shift = bits
        total += top << (shift - bits)
    return total, shift


def is_canonical(limbs: Sequence[float], dtype: np.dtype[Any]) -> bool:
    """Whether finite limbs are the greedy limbs of their own sum."""
    mantissa, shift = dyadic_of_limbs(limbs)
    return limbs_of_ratio(mantissa, 1 << shift, len(limbs), dtype) == list(limbs)


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``(s, e)`` with s the rounded sum and ``s + e == a + b`` exactly (Knuth 1969)."""
    s = a + b
    bb = s - a
    return s, (a - (s - bb)) + (b - bb)


def odd_sum(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a + b`` rounded to odd: an inexact sum becomes the neighbour with an odd last bit."""
    with np.errstate(all="ignore"):
        s, e = two_sum(a, b)
        s = np.asarray(s)
        inexact = (e != 0) & np.isfinite(s) & ((s.view(np.int64) & 1) == 0)
        return np.where(inexact, np.nextafter(s, np.copysign(np.inf, e)), s)


def odd_tail(limbs: FloatArray) -> FloatArray:
    """The sum of the float64 planes ``limbs[1:]`` rounded to odd; zero where there are none."""
    count = limbs.shape[0]
    if count == 1:
        return np.zeros(limbs.shape[1:])
    tail: FloatArray = limbs[count - 1]
    for i in range(count - 2, 0, -1):
        tail = odd_sum(limbs[i], tail)
    return tail


def nearest_array(limbs: FloatArray) -> npt.NDArray[np.float64]:
    """The doubles nearest to the sums of normalised limbs ``(N, *shape)``, ties to even."""
    if limbs.dtype.itemsize == 4:
        # Two float32 limbs: one rounding of an exact pair.
        wide = limbs.astype(np.float64)
        tail = wide[1] if limbs.shape[0] > 1 else np.zeros(limbs.shape[1:])
    else:
        wide = np.asarray(limbs, dtype=np.float64)
        tail = odd_tail(wide)
    with np.errstate(all="ignore"):
        # x + 0 would turn -0 into 0, and inf + nan is no business of the tail.
        rounded: npt.NDArray[np.float64] = wide[0] + tail
        return np.where((tail == 0) | ~np.isfinite(wide[0]), wide[0], rounded)


def odd_array(limbs: FloatArray) -> npt.NDArray[np.float64]:
    """The sums of normalised limbs rounded to odd, ready for one more rounding to fewer bits."""
    wide = limbs.astype(np.float64)
    tail = odd_tail(wide)
    return np.where((tail == 0) | ~np.isfinite(wide[0]), wide[0], odd_sum(wide[0], tail))


def resize_limbs(limbs: FloatArray, count: int, dtype: np.dtype[Any]) -> FloatArray:
    """Normalised limbs ``(M, *shape)`` of one type as ``count`` limbs of another.

    More limbs of the same type keep the bits and append zeros. Fewer limbs are the greedy limbs
    of the exact sum, so that the value is rounded once.
    """
    have = limbs.shape[0]
    out: FloatArray = np.zeros((count, *limbs.shape[1:]), dtype=dtype)
    if limbs.dtype != dtype:
        (_to_doubles if dtype.itemsize == 8 else _to_singles)(limbs, out)
        return out
    keep = min(have, count)
    out[:keep] = limbs[:keep]
    if have > count:
        suspect = _prefix_is_not_greedy(limbs, count)
        if np.any(suspect):
            _repair(limbs.reshape(have, -1), out.reshape(count, -1), np.flatnonzero(suspect))
    return out


def _to_doubles(limbs: FloatArray, out: FloatArray) -> None:
    """At most two float32 limbs to doubles: the sum and its rounding error are exact."""
    wide = limbs.astype(out.dtype)
    out[0] = nearest_array(limbs)
    if len(out) > 1 and len(wide) > 1:
        with np.errstate(all="ignore"):
            rest = (wide[0] - out[0]) + wide[1]
        out[1] = np.where(np.isfinite(out[0]), rest, 0.0)


def _to_singles(limbs: FloatArray, out: FloatArray) -> None:
    """Doubles to at most two float32 limbs."""
    wide = limbs.astype(np.float64)
    tail = odd_tail(wide)
    with np.errstate(all="ignore"):
        out[0] = odd_array(limbs).astype(np.float32)
        if len(out) > 1:
            left = wide[0] - out[0].astype(np.float64)
            low = np.where(tail == 0, left, odd_sum(left, tail)).astype(np.float32)
            # Adding zero clears the sign of a remainder that rounds to nothing.
            out[1] = np.where(np.isfinite(out[0]), low + np.float32(0), np.float32(0))


def _repair(limbs: FloatArray, out: FloatArray, columns: npt.NDArray[np.intp]) -> None:
    """Greedy limbs by integer arithmetic for the few numbers that need it."""
    for column in columns.tolist():
        top, shift = dyadic_of_limbs(limbs[:, column].tolist())
        out[:, column] = limbs_of_ratio(top, 1 << shift, len(out), out.dtype)


def _prefix_is_not_greedy(limbs: FloatArray, count: int) -> npt.NDArray[np.bool_]:
    """Where the first ``count`` limbs are not the greedy limbs of the sum of all limbs."""
    wide = limbs.astype(np.float64) if limbs.dtype.itemsize == 4 else limbs
    suspect: npt.NDArray[np.bool_] = np.zeros(limbs.shape[1:], dtype=bool)
    tail: FloatArray = wide[-1]
    for i in range(limbs.shape[0] - 2, -1, -1):
        if i < count:
            with np.errstate(all="ignore"):
                total = wide[i] + tail
                if limbs.dtype.itemsize == 4:
                    total = odd_sum(wide[i], tail).astype(np.float32)
                suspect = np.logical_or(suspect, total != wide[i])
        tail = odd_sum(wide[i], tail)
    finite: npt.NDArray[np.bool_] = np.isfinite(wide[0])
    return np.logical_and(suspect, finite)
