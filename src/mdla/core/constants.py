# SPDX-License-Identifier: BSD-3-Clause
"""Mathematical constants at the full precision of every format.

A `Constant` is exact as long as it is not asked for limbs: ``mdla.pi("qd")`` is the array nearest
to pi, and ``mdla.array(mdla.pi, prec="qd")`` the same. The digits are computed with integers at
first use, with a proved enclosure: each function below returns an integer v with
``|c * 2**bits - v| <= 1``, from ``_GUARD`` more bits in which all truncations add up to less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .precision import precision
from .rounding import FloatArray, Ratio

__all__ = [
    "CONSTANTS",
    "Constant",
    "e",
    "euler_gamma",
    "golden_ratio",
    "ln2",
    "ln10",
    "pi",
    "sqrt2",
]

# Every series below has fewer than 2**12 terms at the bits used here, each of them cut off by less
# than a few units, so that this many guard bits leave an error far below one unit.
_GUARD = 32

# Bits of the fixed-point values that conversions start from: more than the widest format can see,
# whose limbs rarely have gaps.
_BITS = 1280


class Constant:
    """A real number known to any number of bits.

    Calling it gives the nearest array of a format.

    Example:
        >>> import mdla
        >>> print(mdla.pi("dd"))
        3.1415926535897932384626433832795
        >>> mdla.pi
        <mdla constant pi = 3.1415926535897932384626433832795...>
    """

    __slots__ = ("_compute", "name")

    def __init__(self, name: str, compute: Callable[[int], int]) -> None:
        """Name a constant c and tell how to compute ``c * 2**bits`` to within one unit."""
        self.name = name
        self._compute = compute

    def fixed(self, bits: int) -> int:
        """An integer v with ``|c * 2**bits - v| <= 1``."""
        return _shrink(_cached(self._compute, bits + _GUARD), _GUARD)

    def exact_ratio(self) -> Ratio:
        """A fraction that rounds to the same limbs as the constant, in every format."""
        return self.fixed(_BITS), 1 << _BITS

    def planes(self, prec: Any) -> FloatArray:
        """The constant as planes ``(1, N)`` of a format."""
        from .convert import to_planes

        return to_planes(self, prec)

    def __call__(self, prec: Any = "dd") -> Any:
        """The constant as a 0-d array of a format."""
        from .creation import array

        return array(self, prec=precision(prec))

    def __float__(self) -> float:
        """The nearest double."""
        top, bottom = self.exact_ratio()
        return top / bottom

    def __repr__(self) -> str:
        """The name and the first digits."""
        digits = str(self.fixed(160) * 10**31 >> 160)
        # All constants lie between 0.1 and 10.
        digits = digits.rjust(32, "0")
        return f"<mdla constant {self.name} = {digits[0]}.{digits[1:]}...>"


@lru_cache(maxsize=64)
def _cached(compute: Callable[[int], int], bits: int) -> int:
    return compute(bits)


def _shrink(value: int, bits: int) -> int:
    """``value / 2**bits`` rounded to the nearest integer."""
    return (value + (1 << (bits - 1))) >> bits


def _inverse_series(x: int, bits: int, alternating: bool) -> int:
    """``atan(1/x)`` (alternating) or ``atanh(1/x)`` by its Taylor series, times ``2**bits``."""
    power = (1 << bits) // x
    total, k = power, 1
    while power:
        power //= x * x
        k += 2
        term = power // k
        total += -term if alternating and k % 4 == 3 else term
    return total


def _pi(bits: int) -> int:
    """Machin 1706: pi = 16 atan(1/5) - 4 atan(1/239)."""
    return 16 * _inverse_series(5, bits, True) - 4 * _inverse_series(239, bits, True)


def _e(bits: int) -> int:
    """The sum of 1/k!."""
    term = 1 << bits
    total, k = term, 0
    while term:
        k += 1
        term //= k
        total += term
    return total


def _ln2(bits: int) -> int:
    """Log 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    return (
        18 * _inverse_series(26, bits, False)
        - 2 * _inverse_series(4801, bits, False)
        + 8 * _inverse_series(8749, bits, False)
    )


def _ln10(bits: int) -> int:
    """Log 10 = 3 log 2 + log(5/4), and log(5/4) = 2 atanh(1/9)."""
    return 3 * _ln2(bits) + 2 * _inverse_series(9, bits, False)


def _sqrt2(bits: int) -> int:
    return math.isqrt(1 << (2 * bits + 1))


def _golden_ratio(bits: int) -> int:
    """(1 + sqrt 5) / 2."""
    return ((1 << bits) + math.isqrt(5 << (2 * bits))) >> 1


def _euler_gamma(bits: int) -> int:
    """Brent and McMillan, Math. Comp. 34, 1980, algorithm B1: gamma = U/V - log n.

    With A_0 = -log n, B_0 = 1, B_k = B_(k-1) n^2 / k^2, A_k = (A_(k-1) n^2 / k + B_k) / k the sums
    U of A_k and V of B_k give gamma to within pi exp(-4n).
    """
    log_n = bits // 5
    n = 1 << log_n.bit_length()
    # exp(-4n) < 2**-bits, as n > bits / 5 and 4 / (5 log 2) > 1.15.
    bits += 2 * n  # the terms grow like exp(2n) before they fall
    log = n.bit_length() - 1
    a = -log * _ln2(bits)
    b = 1 << bits
    u, v, k = a, b, 1
    while abs(a) > 1 or b > 1:
        b = b * n * n // (k * k)
        a = (a * n * n // k + b) // k
        u += a
        v += b
        k += 1
    return (u << bits) // v >> (2 * n)


pi = Constant("pi", _pi)
e = Constant("e", _e)
ln2 = Constant("ln2", _ln2)
ln10 = Constant("ln10", _ln10)
sqrt2 = Constant("sqrt2", _sqrt2)
golden_ratio = Constant("golden_ratio", _golden_ratio)
euler_gamma = Constant("euler_gamma", _euler_gamma)

#: All constants by name.
CONSTANTS = {
    constant.name: constant for constant in (pi, e, ln2, ln10, sqrt2, golden_ratio, euler_gamma)
}
