# SPDX-License-Identifier: BSD-3-Clause
"""The registry of number formats: how many limbs, of which kind, and how exact.

A number in a format with ``limbs = N`` is an unevaluated sum of N doubles (two floats for ``ds``).
Everything that depends on a format asks here; nothing else lists the formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["PRECISIONS", "FInfo", "Precision", "finfo", "from_layout", "precision", "promote"]


@dataclass(frozen=True)
class Precision:
    """One number format.

    Attributes:
        name: The short name users write, such as ``"qd"``.
        limbs: The number N of limbs.
        dtype: The NumPy dtype of one limb.

    Example:
        >>> import mdla
        >>> mdla.precision("qd").limbs
        4
    """

    name: str
    limbs: int
    dtype: np.dtype[Any]

    @property
    def limb_bits(self) -> int:
        """Significand bits of one limb: 53 for double, 24 for float."""
        return int(np.finfo(self.dtype).nmant) + 1

    @property
    def eps_exponent(self) -> int:
        """The integer k with eps = 2**k."""
        return -(self.limb_bits - 1) * self.limbs

    @property
    def eps(self) -> Fraction:
        """The bound on the relative error of + - * / and sqrt, 2**(-52 N), or 2**(-46) for ds."""
        return Fraction(1, 1 << -self.eps_exponent)

    @property
    def bits(self) -> int:
        """Nominal significand bits: limbs times the bits of one limb."""
        return self.limb_bits * self.limbs

    @property
    def digits(self) -> int:
        """Decimal digits that every value carries: the floor of -log10(eps)."""
        return len(str(1 << -self.eps_exponent)) - 1

    def __str__(self) -> str:
        return self.name


def _registry() -> dict[str, Precision]:
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    rows: list[tuple[str, int, np.dtype[Any]]] = [
        ("ds", 2, single),
        ("d", 1, double),
        ("dd", 2, double),
        ("td", 3, double),
        ("qd", 4, double),
        ("pd", 5, double),
        ("od", 8, double),
        ("da", 10, double),
        ("hd", 16, double),
    ]
    return {name: Precision(name, limbs, dtype) for name, limbs, dtype in rows}


#: Every format by its name, from the narrowest to the widest.
PRECISIONS: dict[str, Precision] = _registry()

_BY_LAYOUT = {(p.limbs, p.dtype): p for p in PRECISIONS.values()}


def precision(prec: Any) -> Precision:
    """Return the `Precision` meant by a name, by a `Precision` or by an array that has one.

    Args:
        prec: A name such as ``"dd"``, a `Precision`, or an `MDArray`.

    Raises:
        ValueError: The name is not one of the registered formats.
        TypeError: ``prec`` is none of the accepted kinds.

    Example:
        >>> import mdla
        >>> mdla.precision("od").bits
        424
    """
    if isinstance(prec, Precision):
        return prec
    if isinstance(prec, str):
        found = PRECISIONS.get(prec)
        if found is None:
            raise ValueError(f"unknown precision {prec!r}; write one of {', '.join(PRECISIONS)}")
        return found
    carried = getattr(prec, "precision", None)
    if isinstance(carried, Precision):
        return carried
    raise TypeError(
        f"a precision is a name such as 'dd' (one of {', '.join(PRECISIONS)}) or an MDArray, "
        f"got {type(prec).__name__}"
    )


def from_layout(limbs: int, dtype: Any) -> Precision:
    """Return the format stored as ``limbs`` planes of ``dtype``.

    Raises:
        ValueError: No registered format has that layout.
    """
    found = _BY_LAYOUT.get((limbs, np.dtype(dtype)))
    if found is None:
        known = ", ".join(f"{p.name} = {p.limbs} x {p.dtype}" for p in PRECISIONS.values())
        raise ValueError(f"no precision has {limbs} limbs of {np.dtype(dtype)}; known: {known}")
    return found


def promote(*precs: Precision) -> Precision:
    """Return the widest of the formats, the one with the smallest eps."""
    return min(precs, key=lambda p: p.eps_exponent)


@dataclass(frozen=True)
class FInfo:
    """What a format can hold, in the manner of ``numpy.finfo``.

    All the floats here are exact powers of two or the largest double, so nothing is rounded.

    Attributes:
        prec: The name of the format.
        limbs: The number of limbs.
        bits: The nominal significand bits.
        digits: Decimal digits that every value carries.
        eps: The relative error bound of one operation, ``2**(-52 * limbs)``.
        max: The largest leading limb; the largest value exceeds it by less than half its ulp.
        tiny: The smallest positive normal leading limb.
        smallest_subnormal: The smallest positive value.
        safe_min: Products and quotients whose size stays above this keep all their limbs; below
            it the last limbs fade into the subnormal range, and the error is absolute.
    """

    prec: str
    limbs: int
    bits: int
    digits: int
    eps: float
    max: float
    tiny: float
    smallest_subnormal: float
    safe_min: float


def finfo(prec: Any) -> FInfo:
    """Return the limits of a format.

    Args:
        prec: A name, a `Precision`, or an `MDArray`.

    Raises:
        ValueError: The name is not one of the registered formats.

    Example:
        >>> import mdla
        >>> mdla.finfo("dd").eps == 2.0**-104
        True
        >>> mdla.finfo("qd").digits
        62
    """
    p = precision(prec)
    limb = np.finfo(p.dtype)
    # The rounding errors of a product are representable while they stay above the smallest
    # subnormal; the error of limb i lies about limb_bits * (i + 1) bits below the leading limb.
    safe = float(limb.smallest_normal) * 2.0 ** (p.limb_bits * (p.limbs - 1))
    return FInfo(
        prec=p.name,
        limbs=p.limbs,
        bits=p.bits,
        digits=p.digits,
        eps=2.0**p.eps_exponent,
        max=float(limb.max),
        tiny=float(limb.smallest_normal),
        smallest_subnormal=float(limb.smallest_subnormal),
        safe_min=safe,
    )
