# SPDX-License-Identifier: BSD-3-Clause
"""Quotients, powers, composition and values, on arrays of coefficients.

The operators and methods of `mdla.series.Series` are these. Arrays have the degree as their last
axis; leading axes broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import elementary, planes as _planes, powers
from mdla.core.arithmetic import add, multiply
from mdla.core.array import MDArray
from mdla.core.creation import ones, zeros, zeros_like
from mdla.core.manipulation import broadcast_to, concatenate, stack
from mdla.core.operands import meet, to_array, unify
from mdla.core.precision import PRECISIONS, Precision
from mdla.gemm import matmul
from mdla.series import recurrences
from mdla.series.products import convolve, degree_first, degree_last

__all__ = ["Unfolded", "compose", "divide", "evaluate", "exp", "log", "power", "unfold"]

Planes = npt.NDArray[Any]

_DD, _DS = PRECISIONS["dd"], PRECISIONS["ds"]


class Unfolded(NamedTuple):
    """Series as the recurrences want them.

    Attributes:
        planes: For each operand planes (c, N, length, rows), all with the same c and N.
        shape: The broadcast shape of the operands, without the degree; rows are its size.
        result: The format of the results.
    """

    planes: list[Planes]
    shape: tuple[int, ...]
    result: Precision

    @property
    def precision(self) -> Precision:
        """The format that the work is done in."""
        return _DD if self.result == _DS else self.result

    def first(self, function: Callable[[MDArray], MDArray], which: int = 0) -> Planes:
        """Planes (c, N, rows) of a function of the constant terms of an operand."""
        return function(MDArray(self.planes[which][:, :, 0])).planes

    def deliver(self, planes: Planes) -> MDArray:
        """Coefficients (*shape, length)."""
        return MDArray(_planes.cast(degree_last(planes, self.shape), self.result))


def unfold(length: int, *arrays: MDArray) -> Unfolded:
    """Bring coefficients to one format, shape and length."""
    read, result, _ = unify(*arrays)
    working = _DD if result == _DS else result
    parts = max(p.shape[0] for p in read)
    shape = np.broadcast_shapes(*(p.shape[2:-1] for p in read))
    planes = []
    for p in read:
        p = degree_first(_planes.cast(p, working), shape, length)
        planes.append(_planes.as_complex(p) if parts == 2 else p)
    return Unfolded(planes, shape, result)


def divide(a: MDArray, b: MDArray, length: int) -> MDArray:
    """``a / b``, see `recurrences.quotient`."""
    operands = unfold(length, a, b)
    return operands.deliver(recurrences.quotient(*operands.planes))


def exp(a: MDArray) -> MDArray:
    """``e^a``, see `recurrences.exponential`."""
    x = unfold(a.shape[-1], a)
    return x.deliver(recurrences.exponential(x.planes[0], x.first(elementary.exp)))


def log(a: MDArray) -> MDArray:
    """``log a``, the integral of ``a' / a``."""
    x = unfold(a.shape[-1], a)
    planes = x.planes[0]
    return x.deliver(recurrences.integral_of_quotient(planes, planes, x.first(elementary.log)))


def power(a: MDArray, exponent: Any) -> MDArray:
    """``a**exponent`` for a number or an array of numbers.

    Integers n go by repeated squaring, with an error of at most ``|n| (k + 1) eps (|a|^|n|)_k`` for
    n > 0, and a quotient after that for n < 0, so that the constant term may be zero for n > 0;
    others go by `recurrences.power`.
    """
    n = _integer(exponent)
    result = meet(a, *(x for x in [exponent] if isinstance(x, MDArray)))[1]
    if n is not None:
        return _integer_power(a.astype(result, copy=False), n)
    exponents = to_array(exponent, _DD if result == _DS else result)
    if exponents.size and exponents.ndim:
        return _powers(a, exponents, result)
    return _other_power(a, exponents, result)


def _powers(a: MDArray, exponents: MDArray, result: Precision) -> MDArray:
    """Powers with an array of exponents, each as it would be by itself."""
    shape = np.broadcast_shapes(a.shape[:-1], exponents.shape)
    rows = broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1])
    p = broadcast_to(exponents, shape).reshape(-1)
    limbs = p.planes
    whole = (np.isfinite(limbs) & (limbs == np.rint(limbs))).all(axis=(0, 1))
    whole &= (limbs[1:] == 0).all(axis=(0, 1))
    out = zeros(rows.shape, result, complex=a.iscomplex or p.iscomplex)
    if not whole.all():
        out[~whole] = _other_power(rows[~whole], p[~whole], result)
    if whole.any():
        groups: dict[int, list[int]] = {}
        for i in np.flatnonzero(whole):
            n = sum(int(limb) for limb in limbs[0, :, i])
            groups.setdefault(n, []).append(int(i))
        for n, places in groups.items():
            some = rows[np.array(places)].astype(result, copy=False)
            out[np.array(places)] = _integer_power(some, n)
    return out.reshape(*shape, a.shape[-1])


def _other_power(a: MDArray, exponents: MDArray, result: Precision) -> MDArray:
    operands = unfold(a.shape[-1], a.astype(result), exponents.astype(result)[..., np.newaxis])
    x, p = operands.planes
    p = p[:, :, 0] if exponents.ndim else p[:, :, 0, :1]
    first = operands.first(lambda a0: powers.power(a0, MDArray(p)))
    return operands.deliver(recurrences.power(x, p, first))


def _integer(exponent: Any) -> int | None:
    """The integer that a number is, None for other numbers and for arrays."""
    if isinstance(exponent, np.ndarray) and exponent.ndim == 0:
        exponent = exponent.item()
    if isinstance(exponent, int | np.integer):
        return int(exponent)
    if isinstance(exponent, MDArray) and exponent.ndim == 0 and not exponent.iscomplex:
        exponent = exponent.item()
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return exponent.numerator
    if isinstance(exponent, float) and exponent.is_integer():
        return int(exponent)
    return None


def _integer_power(a: MDArray, n: int) -> MDArray:
    length = a.shape[-1]
    if n < 0:
        one = ones((1,), a.precision)
        return divide(one, _integer_power(a, -n), length)
    result: MDArray | None = None
    while n:
        if n & 1:
            result = a if result is None else convolve(result, a, length - 1)
        n >>= 1
        if n:
            a = convolve(a, a, length - 1)
        elif result is a:  # the first power shares no memory with the series
            result = a.copy()
    if result is None:
        rest = zeros((*a.shape[:-1], length - 1), a.precision)
        return concatenate([ones((*a.shape[:-1], 1), a.precision), rest], axis=-1)
    return result


def compose(s: MDArray, t: MDArray, length: int) -> MDArray:
    """``s(t(x))`` for t with constant term zero.

    The baby steps and giant steps of R. P. Brent and H. T. Kung (JACM 25 (1978) 581-595, algorithm
    2.1): with m about ``sqrt(length)`` the powers ``t^i`` for i <= m, one product of the matrix of
    coefficients, cut into rows of m, with the matrix of these powers, and Horner's rule in ``t^m``:
    about ``2 sqrt(length)`` products of series and ``length^2`` multiply-adds. The error is at most
    ``((k + 1)^2 + m) eps sum_j |s_j| (|t|^j)_k``.
    """
    rows = math.isqrt(length - 1) + 1
    t = t[..., :length]
    steps = -(-length // rows)
    one = zeros(t.shape, t.precision)
    one[..., 0] = 1
    raised = [one, t]
    while len(raised) <= rows:
        raised.append(convolve(raised[-1], t, length - 1))
    s = s[..., :length]
    missing = steps * rows - s.shape[-1]
    padded = concatenate([s, zeros((*s.shape[:-1], missing), s.precision)], axis=-1)
    blocks = matmul(
        padded.reshape(*s.shape[:-1], steps, rows),
        stack(raised[:rows], axis=-2),
    )
    result = blocks[..., steps - 1, :]
    for i in range(steps - 2, -1, -1):
        result = add(convolve(result, raised[rows], length - 1), blocks[..., i, :])
    return result


def evaluate(s: MDArray, x: Any) -> MDArray:
    """``c_0 + c_1 x + ... + c_d x^d`` by Horner's rule.

    2 d operations; the error is at most ``2 d eps sum_k |c_k| |x|^k``, 1.5 times that for complex
    numbers.
    """
    value = s[..., -1]
    for k in range(s.shape[-1] - 2, -1, -1):
        value = add(multiply(value, x), s[..., k])
    if s.shape[-1] == 1:
        # Also a constant has the shape of x, infinite or not, and the wider format.
        x = x if isinstance(x, MDArray) else to_array(x, meet(s, x)[1])
        value = add(zeros_like(x), value)
    return value
