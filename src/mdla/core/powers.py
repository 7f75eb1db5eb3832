# SPDX-License-Identifier: BSD-3-Clause
"""Powers: by repeated squaring for integer exponents, by logarithm and exponential for others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, multiply, reciprocal, sqrt
from mdla.core.array import MDArray
from mdla.core.comparison import equal, greater
from mdla.core.elementary import exp, log
from mdla.core.elementary_planes import wider
from mdla.core.operands import meet, to_array, unify
from mdla.core.precision import Precision
from mdla.core.protocols import implements

__all__ = ["power"]


@implements(np.power, np.float_power)
def power(a: Any, exponent: Any) -> MDArray:
    """``a**exponent``.

    An integer power n is formed by repeated squaring, with an error of at most about ``|n| eps``
    times the result, twice that for a negative one, which is a power of the reciprocal; a half one
    starts from the square root. Others are ``exp(exponent * log(a))`` in the next wider format,
    with an error of at most 4 eps times the result; in hd, which has none, at most
    ``(4 + |exponent * log(a)| / 4) eps``.

    Args:
        a: The base.
        exponent: A number or an array of numbers.

    Returns:
        The powers; nan for negative real bases with exponents that are neither integers nor
        halves, 1 for exponents 0 and for the base 1, as in C99.

    Raises:
        TypeError: An operand is no number.
        ValueError: The shapes do not broadcast.

    Example:
        >>> import mdla
        >>> mdla.power(mdla.array(10), [2, -1]) == [100, mdla.array("0.1")]
        array([ True,  True])
        >>> print(mdla.power(2, mdla.array("1/12")))
        1.05946309435929526456182529494634
    """
    twice, known = _twice(exponent)
    result = _result_of(a, exponent)
    if not known.all():
        general = _general_power(a, exponent, result)
        if not known.any():
            return general
        whole = _array_power_of_halves(to_array(a, result), twice)
        return MDArray(_planes.select(known, whole.planes, general.planes))
    a = to_array(a, result)
    if twice.ndim == 0:
        n = int(twice)
        return _integer_power(a, n // 2) if n % 2 == 0 else _integer_power(sqrt(a), n)
    return _array_power_of_halves(a, twice)


def _result_of(a: Any, exponent: Any) -> Precision:
    """The format of a power: an exponent with limbs takes part, as any operand."""
    return meet(*(x for x in (a, exponent) if isinstance(x, MDArray) or x is a))[1]


def _twice(exponent: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The exponents times two as Python integers, where they are such; and where they are."""
    if isinstance(exponent, (int, np.integer)) or (
        isinstance(exponent, float) and float(2 * exponent).is_integer()
    ):
        return np.asarray(int(2 * exponent), dtype=object), np.asarray(True)
    exponents = to_array(exponent)
    known = np.zeros(exponents.shape, dtype=bool)
    twice = np.zeros(exponents.shape, dtype=object)
    if exponents.iscomplex:
        return twice, known
    for index, x in np.ndenumerate(np.asarray(exponents.to_numpy(object))):
        if isinstance(x, Fraction) and x.denominator <= 2:
            known[index] = True
            twice[index] = int(2 * x)
    return twice, known


def _general_power(a: Any, exponent: Any, result: Precision) -> MDArray:
    """``exp(exponent * log(a))``, with the exceptions of C99 for 0, 1 and infinity."""
    wide = wider(result)
    planes, _, working = unify(a, exponent, prec=wide)
    x, y = (MDArray(_planes.cast(p, working)) for p in planes)
    if not (x.iscomplex or y.iscomplex):
        # Infinite numbers have no parity that could give a negative base a sign.
        infinite = np.isinf(x.planes[0, 0]) | np.isinf(y.planes[0, 0])
        x = MDArray(_planes.select(infinite, absolute(x).planes, x.planes))
    product = y * log(x)
    raised = exp(product).astype(result)
    one = equal(y, 0) | equal(x, 1)
    if np.any(one):
        raised = MDArray(_planes.select(one, _ones_like(raised.planes), raised.planes))
    if x.iscomplex or y.iscomplex:
        # log 0 has no direction: 0^y vanishes where Re y > 0.
        vanishes = equal(x, 0) & greater(y.real, 0)
        raised = MDArray(_planes.select(vanishes, np.zeros_like(raised.planes), raised.planes))
    return raised


def _integer_power(a: MDArray, n: int) -> MDArray:
    if n < 0:
        # The power of the reciprocal, since the positive power may leave the range.
        return _integer_power(reciprocal(a), -n)
    result: MDArray | None = None
    square_ = a
    while n:
        if n & 1:
            result = square_ if result is None else multiply(result, square_)
        n >>= 1
        if n:
            square_ = multiply(square_, square_)
    if result is None:
        return MDArray(_ones_like(a.planes))
    return result.copy() if result is a else result


def _array_power_of_halves(a: MDArray, twice: npt.NDArray[Any]) -> MDArray:
    halves: npt.NDArray[np.bool_] = (twice % 2 != 0).astype(bool)
    whole = _array_power(a, twice // 2)
    if not np.any(halves):
        return whole
    return MDArray(_planes.select(halves, _array_power(sqrt(a), twice).planes, whole.planes))


def _array_power(a: MDArray, exponents: npt.NDArray[Any]) -> MDArray:
    """Elementwise integer powers; all entries go through the squarings of the largest."""
    shape = np.broadcast_shapes(a.shape, exponents.shape)
    base = _planes.broadcast(a.planes, shape)
    exponents = np.broadcast_to(exponents, shape)
    size: npt.NDArray[Any] = np.abs(exponents)
    inverse = _planes.elementwise("div", a.precision, _ones_like(base), base)
    base = _planes.select((exponents < 0).astype(bool), inverse, base)
    result = _ones_like(base)
    started = np.zeros(shape, dtype=bool)
    for bit in range(max((int(n).bit_length() for n in size.ravel()), default=0)):
        if bit:
            base = _planes.elementwise("mul", a.precision, base, base)
        take = ((size >> bit) & 1).astype(bool)
        product = _planes.elementwise("mul", a.precision, result, base)
        product = _planes.select(started, product, base)
        result = _planes.select(take, product, result)
        started |= take
    return MDArray(result)


def _ones_like(planes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    ones = np.zeros(planes.shape, dtype=planes.dtype)
    ones[0, 0] = 1
    return ones
