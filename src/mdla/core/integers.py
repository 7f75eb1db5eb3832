# SPDX-License-Identifier: BSD-3-Clause
"""Rounding to integers, and division with remainder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, add, divide, fma, multiply, negative, subtract
from mdla.core.array import MDArray
from mdla.core.comparison import greater_equal, isfinite, less, not_equal, where
from mdla.core.operands import to_array, unify
from mdla.core.protocols import implements

__all__ = ["ceil", "divmod", "floor", "floor_divide", "remainder", "rint", "round", "trunc"]

Planes = npt.NDArray[Any]

# Each pass takes some 50 bits off a quotient, and quotients have at most 2,100 bits.
_PASSES = 64


@implements(np.floor)
def floor(a: Any) -> MDArray:
    """The largest integer that is at most a, exactly.

    Raises:
        TypeError: The entries are complex.

    Example:
        >>> import mdla
        >>> mdla.floor(mdla.array("12345678901234567890.5")).item()
        Fraction(12345678901234567890, 1)
    """
    a = _real(a, "floor")
    return MDArray(_tidy(_Parts(a.planes).whole, None, a))


@implements(np.ceil)
def ceil(a: Any) -> MDArray:
    """The smallest integer that is at least a, exactly."""
    return negative(floor(negative(_real(a, "ceil"))))


@implements(np.trunc, np.fix)
def trunc(a: Any) -> MDArray:
    """The integer part of a, towards zero, exactly."""
    a = _real(a, "trunc")
    return MDArray(_planes.select(a.planes[0, 0] < 0, ceil(a).planes, floor(a).planes))


@implements(np.rint)
def rint(a: Any) -> MDArray:
    """The nearest integer, exactly; ties to the even one."""
    a = _real(a, "rint")
    parts = _Parts(a.planes)
    with np.errstate(invalid="ignore"):
        odd = np.fmod(np.fmod(parts.whole, 2).sum(axis=(0, 1)), 2) != 0
    tie_up = (parts.rest > 0) | ((parts.rest == 0) & odd)
    up = (parts.fraction > 0.5) | ((parts.fraction == 0.5) & tie_up)
    return MDArray(_tidy(parts.whole, up, a))


@implements(np.round)
def round(a: Any, decimals: int = 0) -> MDArray:
    """The nearest number with so many decimals, ties to even; ``rint(a * 10**d) / 10**d``."""
    a = to_array(a)
    if a.iscomplex:
        parts = [round(part, decimals).planes for part in (a.real, a.imag)]
        return MDArray(np.concatenate(parts))
    if decimals == 0:
        return rint(a)
    scale = to_array(10 ** abs(decimals), a.precision)
    if decimals > 0:
        return divide(rint(multiply(a, scale)), scale)
    return multiply(rint(divide(a, scale)), scale)


class _Parts:
    """Real planes cut at the binary point.

    The first limb that is no integer decides: what follows it is less than half its ulp and never
    reaches the next integer.

    Attributes:
        whole: Limbs of the floor, not yet normalised.
        fraction: What that limb has above its floor, in [0, 1); 0 for integers.
        rest: The sign of the limbs that follow it.
    """

    def __init__(self, planes: Planes) -> None:
        limbs = planes[0]
        count = limbs.shape[0]
        self.whole = np.zeros(planes.shape, dtype=planes.dtype)
        self.fraction = np.zeros(limbs.shape[1:], dtype=planes.dtype)
        self.rest = np.zeros(limbs.shape[1:], dtype=planes.dtype)
        done = np.zeros(limbs.shape[1:], dtype=bool)
        for i in range(count):
            limb = np.where(done, 0, limbs[i]) if i else limbs[0]
            whole = np.floor(limb)
            self.whole[0, i] = whole
            cut = whole != limb
            with np.errstate(invalid="ignore"):
                self.fraction = np.where(cut, limb - whole, self.fraction)
            if i + 1 < count:
                self.rest = np.where(cut, np.sign(limbs[i + 1]), self.rest)
            done |= cut


def _tidy(whole: Planes, up: npt.NDArray[np.bool_] | None, a: MDArray) -> Planes:
    """Normalised planes of whole limbs, plus one where asked for."""
    if up is not None:
        whole = np.concatenate([whole, up[np.newaxis, np.newaxis].astype(whole.dtype)], axis=1)
    # A single limb that is not zero needs no more; that is nearly always so.
    alone = ~np.any(whole[0, 1:], axis=0)
    if np.all(alone):
        return np.ascontiguousarray(whole[:, : a.precision.limbs])
    tidy = np.ascontiguousarray(whole[:, : a.precision.limbs])
    some = ~alone
    tidy[:, :, some] = _planes.normalise(whole[:, :, some], a.precision)
    return tidy


def _real(a: Any, name: str) -> MDArray:
    numbers = to_array(a)
    if numbers.iscomplex:
        raise TypeError(f"{name} is not defined for complex numbers; apply it to .real and .imag")
    return numbers


@implements(np.remainder)
def remainder(a: Any, b: Any) -> MDArray:
    """``a - floor(a / b) * b``, with the sign of b; nan for b = 0.

    Raises:
        TypeError: An operand is complex.
    """
    return divmod(a, b)[1]


@implements(np.floor_divide)
def floor_divide(a: Any, b: Any) -> MDArray:
    """``floor(a / b)``."""
    return divmod(a, b)[0]


@implements(np.divmod)
def divmod(a: Any, b: Any) -> tuple[MDArray, MDArray]:
    """Quotient and remainder: integers q and ``r = a - q * b`` with r between 0 and b.

    Example:
        >>> import mdla
        >>> q, r = mdla.divmod(mdla.array("1e40"), 7)
        >>> (7 * q + r).item() == 10**40, r.item()
        (True, Fraction(4, 1))
    """
    planes, result, working = unify(a, b)
    x, y = (_real(MDArray(_planes.cast(p, working)), "division with remainder") for p in planes)
    usual = np.asarray(isfinite(x) & isfinite(y) & not_equal(y, 0))
    rest, divisor = where(usual, x, 0.0), where(usual, y, 1.0)
    size = absolute(divisor)
    quotient = MDArray(np.zeros_like(rest.planes))
    for _ in range(_PASSES):
        step = trunc(divide(rest, divisor))
        quotient = add(quotient, step)
        rest = fma(negative(step), divisor, rest)
        if not np.any(greater_equal(absolute(rest), size)):
            break
    opposite = not_equal(rest, 0) & (less(rest, 0) != less(divisor, 0))
    rest = where(opposite, add(rest, divisor), rest)
    quotient = where(opposite, subtract(quotient, 1), quotient)
    if not np.all(usual):
        head, below = x.planes[0, 0], y.planes[0, 0]
        with np.errstate(all="ignore"):
            special = np.remainder(head, below)
            whole = np.floor_divide(head, below)
        # What is smaller than an infinite divisor of its sign stays with all its limbs.
        keeps = np.isinf(below) & (special == head)
        rest = where(usual | keeps, where(usual, rest, x), special)
        quotient = where(usual, quotient, whole)
    return quotient.astype(result, copy=False), rest.astype(result, copy=False)
