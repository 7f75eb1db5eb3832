# SPDX-License-Identifier: BSD-3-Clause
"""Constants of the elementary functions, computed with integers at the first use of a precision.

Every number is formed in fixed point with more bits than the format can see and rounded once to
its limbs. `define` hands them to the native kernels, which plan their series from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core.constants import ln2, ln10, pi
from mdla.core.rounding import limbs_of_ratio

__all__ = ["define"]

Table = npt.NDArray[np.float64]

#: Bits of 2/pi that the reduction of the largest double with the most words looks at.
_TWO_OVER_PI_BITS = 3584

#: The tables have steps of 2**-7: what they leave is at most 2**-8, and its square 2**-16.
_STEP_BITS, _REACH = 7, 128


@lru_cache(maxsize=32)
def define(limbs: int) -> None:
    """Make the constants for numbers of ``limbs`` doubles known to the native kernels."""
    bits = 54 * limbs + 128
    _native.define_elementary(limbs, {**_steps(limbs, bits), **_constants(limbs, bits)})


def _table(values: Iterable[int], limbs: int, bits: int) -> Table:
    """Fixed-point values as limbs, one number after the other."""
    rows = []
    for value in values:
        for _ in range(limbs):
            # The nearest double, ties to even, and what it leaves over, exactly.
            limb = float(value)
            value -= int(limb)
            rows.append(math.ldexp(limb, -bits))
    return np.array(rows)


def _steps(limbs: int, bits: int) -> dict[str, Table]:
    """Functions of ``j / 128`` for j = -128 .. 128, as far as reductions meet them."""
    one, guarded = 1 << bits, bits + 64
    exponentials = [x >> 64 for x in _exponentials(guarded)]
    shifts = [_shift(j) for j in range(-_REACH, _REACH + 1)]
    steps = [Fraction(j, 1 << _STEP_BITS) for j in range(_REACH + 1)]
    angles = [_atan(a, guarded) >> 64 for a in steps]
    return {
        "exp": _table(exponentials, limbs, bits),
        "expm1": _table([x - one if x else 0 for x in exponentials], limbs, bits),
        "shift": np.array(shifts),
        "log": _table([-_log1p(d, guarded) >> 64 for d in shifts], limbs, bits),
        "atan": _table([-x for x in angles[:0:-1]] + angles, limbs, bits),
    }


def _shift(j: int) -> float:
    """The double nearest to ``1 / (1 + a) - 1`` with ``a = j / 128``.

    Reductions meet sqrt(1/2) - 1 .. sqrt(2) - 1 only; beyond 0.42 there is none.
    """
    a = Fraction(j, 1 << _STEP_BITS)
    return float(1 / (1 + a) - 1) if abs(a) < Fraction(27, 64) else 0.0


def _exponentials(bits: int) -> list[int]:
    """``e**(j / 128)``, powers of two numbers; 0 beyond log(2) / 2."""
    step = 1 << (bits - _STEP_BITS)
    table = {0: 1 << bits}
    for sign in (-1, 1):
        base = _series(sign * step, bits, lambda k: k)
        power = 1 << bits
        for j in range(1, (3 << _STEP_BITS) >> 3):
            power = power * base >> bits
            table[sign * j] = power
    return [table.get(j, 0) for j in range(-_REACH, _REACH + 1)]


def _series(x: int, bits: int, divisor: Callable[[int], int]) -> int:
    """The sum of terms ``t_k = t_(k-1) x / divisor(k)``, t_0 = 1, in fixed point."""
    term = total = 1 << bits
    k = 0
    while term not in (0, -1):
        k += 1
        term = (term * x >> bits) // divisor(k)
        total += term
    return total


def _odd_series(x: int, bits: int, sign: int) -> int:
    """``x + sign x**3 / 3 + x**5 / 5 + ...``: atanh for sign 1, atan for sign -1."""
    square = sign * (x * x >> bits)
    power, total, k = x, x, 1
    while power not in (0, -1):
        power = power * square >> bits
        k += 2
        total += power // k
    return total


def _log1p(d: float, bits: int) -> int:
    """``log(1 + d) = 2 atanh(d / (2 + d))``."""
    top, bottom = d.as_integer_ratio()
    return 2 * _odd_series((top << bits) // (2 * bottom + top), bits, 1)


def _atan(a: Fraction, bits: int) -> int:
    """``atan(a)``, above 1/2 as ``atan(1/2) + atan((2 a - 1) / (2 + a))``."""
    if a > Fraction(1, 2):
        return _arc(Fraction(1, 2), bits) + _arc((2 * a - 1) / (2 + a), bits)
    return _arc(a, bits)


def _arc(a: Fraction, bits: int) -> int:
    return _odd_series((a.numerator << bits) // a.denominator, bits, -1)


def _constants(limbs: int, bits: int) -> dict[str, Table]:
    one, guarded = 1 << bits, bits + 64
    sines, cosines = _circle(102, guarded)
    log2, log10, half_turn = ln2.fixed(bits), ln10.fixed(bits), pi.fixed(bits)
    # Its product with an exponent, of 11 bits, is exact.
    kept = 53 * limbs - 12
    high = log2 >> (bits - kept) << (bits - kept)
    factorials = [math.factorial(k) for k in range(_factorials_needed(limbs))]
    odds = range(1, 7 * limbs + 8, 2)
    low = ln2.fixed(2 * bits) - (high << bits)
    return {
        "sin": _table([x >> 64 for x in sines], limbs, bits),
        "cos": _table([x >> 64 for x in cosines], limbs, bits),
        "factorials": _reciprocals(factorials, limbs),
        "factorial_digits": _digits(factorials, limbs),
        "odds": _reciprocals(odds, limbs),
        "odd_digits": _digits(odds, limbs),
        "ln2_high": _table([high], limbs, bits),
        "ln2_low": np.array(limbs_of_ratio(low, 1 << (2 * bits), limbs, np.dtype(np.float64))),
        "ln2": _table([log2], limbs, bits),
        "inverse_ln2": _table([(one << bits) // log2], limbs, bits),
        "log10_2": _table([(log2 << bits) // log10], limbs, bits),
        "inverse_ln10": _table([(one << bits) // log10], limbs, bits),
        "half_pi": _table([half_turn], limbs, bits + 1),
        "pi_quarters": _table([k * half_turn for k in range(5)], limbs, bits + 2),
        "two_over_pi": np.array(_two_over_pi(), dtype=np.float64),
    }


def _factorials_needed(limbs: int) -> int:
    """Terms r**k / k! with r = 2**-8 are below 2**(-52 limbs - 8) from here on."""
    k, size = 1, 0.0
    while size < 52 * limbs + 16:
        k += 1
        size += 8 + math.log2(k)
    return k + 4


def _reciprocals(integers: Iterable[int], limbs: int) -> Table:
    dtype = np.dtype(np.float64)
    return np.array([limbs_of_ratio(1, n, limbs, dtype) for n in integers]).ravel()


def _digits(integers: Iterable[int], limbs: int) -> Table:
    """Reciprocals in digits of 50 bits: the integer part and ``limbs + 1`` after the point."""
    shifts = range(50 * (limbs + 1), -1, -50)
    mask = (1 << 50) - 1
    fixed = [(1 << shifts[0]) // n for n in integers]
    return np.array([[(v >> s) & mask for s in shifts] for v in fixed], dtype=np.float64).ravel()


def _circle(count: int, bits: int) -> tuple[list[int], list[int]]:
    """Sine and cosine of ``j / 128`` for j below count, by repeated turning."""
    h = 1 << (bits - _STEP_BITS)
    square = -(h * h >> bits)
    cosine = _series(square, bits, lambda k: 2 * k * (2 * k - 1))
    sine = _series(square, bits, lambda k: 2 * k * (2 * k + 1)) * h >> bits
    sines, cosines = [0], [1 << bits]
    for _ in range(count - 1):
        s, c = sines[-1], cosines[-1]
        sines.append(s * cosine + c * sine >> bits)
        cosines.append(c * cosine - s * sine >> bits)
    return sines, cosines


@lru_cache(maxsize=1)
def _two_over_pi() -> list[int]:
    """The bits of 2/pi after the point, 32 at a time."""
    bits = _TWO_OVER_PI_BITS + 64
    value = ((2 << (2 * bits)) // pi.fixed(bits)) >> 64
    return [(value >> shift) & 0xFFFFFFFF for shift in range(_TWO_OVER_PI_BITS - 32, -1, -32)]
