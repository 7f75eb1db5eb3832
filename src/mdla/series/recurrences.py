# SPDX-License-Identifier: BSD-3-Clause
"""Functions of power series, one degree after the other.

All recurrences have one form: the coefficient of degree k comes from one sum of products of known
coefficients, ``sum_j x_j y_(k-j)``, over all series of a batch side by side. This is the classical
way (D. E. Knuth, The Art of Computer Programming 2, section 4.7), with ``length^2 / 2`` products
for each sum. Newton's iteration with doubling lengths needs fewer products, but its errors are
relative to the largest coefficient; here each coefficient keeps an error relative to its own size
wherever the terms of the sum do not cancel.

With errors of at most ``p = min(k + 1, log2 k + 33)`` eps in each sum, the coefficients have errors
of at most ``(k + 1) (p + 3) eps M_k`` (2.5 times that for complex numbers) to first order, where
M(t) satisfies the same recurrence with the moduli of all terms.

Planes have the shape (c, N, length, rows), see `mdla.series.products`, of doubles, and constant
terms (c, N, rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.precision import Precision, from_layout
from mdla.series.products import product_order

__all__ = [
    "Unfolding",
    "circular",
    "exponential",
    "integral_of_quotient",
    "power",
    "quotient",
    "scaled_derivative",
    "square_root",
    "tangent",
]

Planes = npt.NDArray[Any]


class Unfolding:
    """A series that becomes known degree by degree.

    Attributes:
        planes: (c, N, length, rows).
        reverse: The same from the last degree down, as `product_order` wants it.
    """

    __slots__ = ("planes", "reverse")

    def __init__(self, like: Planes, first: Planes) -> None:
        self.planes = np.zeros(like.shape, dtype=like.dtype)
        self.reverse = np.zeros(like.shape, dtype=like.dtype)
        self.put(0, first)

    def put(self, k: int, value: Planes) -> None:
        """Set the coefficient of degree k."""
        self.planes[:, :, k] = value
        self.reverse[:, :, -1 - k] = value


def _sum(x: Planes, y: Unfolding, k: int, low: int, high: int) -> Planes:
    """``sum_(j=low..high) x_j y_(k-j)``."""
    return product_order(x, y.reverse, k, low, high)


def _format(planes: Planes) -> Precision:
    return from_layout(planes.shape[1], planes.dtype)


def _double(value: float) -> Planes:
    return np.full((1, 1, 1), float(value))


def scaled_derivative(a: Planes) -> Planes:
    """``t a'(t)``: the coefficients ``k a_k``."""
    degrees = np.arange(a.shape[2], dtype=np.float64).reshape(1, 1, -1, 1)
    return _planes.elementwise("mul", _format(a), a, degrees)


def integral(b: Planes, first: Planes) -> Planes:
    """The series a with ``t a'(t) = b(t)`` and a given constant term."""
    degrees = np.arange(b.shape[2], dtype=np.float64).reshape(1, 1, -1, 1)
    degrees[:, :, 0] = 1
    a = _planes.elementwise("div", _format(b), b, degrees)
    a[:, :, 0] = first
    return a


def quotient(a: Planes, b: Planes) -> Planes:
    """``c = a / b`` by ``c_k = (a_k - sum_(j=1..k) b_j c_(k-j)) / b_0``; M = |a| / (2 |b_0| - |b|).

    Here and below |a| is the series of the moduli.
    """
    prec = _format(a)
    b0 = b[:, :, 0]
    c = Unfolding(a, _planes.elementwise("div", prec, a[:, :, 0], b0))
    for k in range(1, a.shape[2]):
        rest = _planes.elementwise("sub", prec, a[:, :, k], _sum(b, c, k, 1, k))
        c.put(k, _planes.elementwise("div", prec, rest, b0))
    return c.planes


def integral_of_quotient(a: Planes, b: Planes, first: Planes) -> Planes:
    """The series c with ``c' = a' / b`` and a given constant term, as logarithms are."""
    return integral(quotient(scaled_derivative(a), b), first)


def square_root(a: Planes, first: Planes) -> Planes:
    """``c^2 = a`` by ``c_k = (a_k - sum_(j=1..k-1) c_j c_(k-j)) / (2 c_0)``.

    M = 2 |c_0| - sqrt(2 |a_0| - |a|).
    """
    prec = _format(a)
    twice = 2 * first
    c = Unfolding(a, first)
    for k in range(1, a.shape[2]):
        rest = _planes.elementwise("sub", prec, a[:, :, k], _sum(c.planes, c, k, 1, k - 1))
        c.put(k, _planes.elementwise("div", prec, rest, twice))
    return c.planes


def power(a: Planes, exponent: Planes, first: Planes) -> Planes:
    """``c = a^p`` by ``k a_0 c_k = sum_(j=1..k) (p j - (k - j)) a_j c_(k-j)``.

    The recurrence of J. C. P. Miller (P. Henrici, JACM 3 (1956) 10-15), which follows from
    ``a c' = p a' c``. M = |c_0| (2 - |a| / |a_0|)^(-|p|).

    Args:
        a: The series.
        exponent: p, planes (c, N, rows), or (c, N, 1) for all rows.
        first: ``a_0^p``.
    """
    prec = _format(a)
    length = a.shape[2]
    degrees = np.arange(length, dtype=np.float64).reshape(1, 1, -1, 1)
    multiples = _planes.elementwise("mul", prec, exponent[:, :, np.newaxis], degrees)
    a0 = a[:, :, 0]
    c = Unfolding(a, first)
    for k in range(1, length):
        some = slice(1, k + 1)
        weights = _planes.elementwise("sub", prec, multiples[:, :, some], k - degrees[:, :, some])
        weighted = _planes.elementwise("mul", prec, weights, a[:, :, some])
        total = _planes.elementwise("div", prec, _sum(weighted, c, k - 1, 0, k - 1), _double(k))
        c.put(k, _planes.elementwise("div", prec, total, a0))
    return c.planes


def exponential(a: Planes, first: Planes) -> Planes:
    """``c = exp(a)`` by ``k c_k = sum_(j=1..k) j a_j c_(k-j)``; M = |c_0| exp(|a| - |a_0|)."""
    prec = _format(a)
    slope = scaled_derivative(a)
    c = Unfolding(a, first)
    for k in range(1, a.shape[2]):
        c.put(k, _planes.elementwise("div", prec, _sum(slope, c, k, 1, k), _double(k)))
    return c.planes


def circular(a: Planes, cosine: Planes, sine: Planes, sign: float) -> tuple[Planes, Planes]:
    """``c' = sign a' s`` and ``s' = a' c``: cosine and sine for -1, hyperbolic ones for 1.

    Both go through one sum of twice the rows: ``k s_k = sum_(j=1..k) j a_j c_(k-j)`` and
    ``k c_k = sign sum_(j=1..k) j a_j s_(k-j)``. M = |c_0| cosh(u) + |s_0| sinh(u) for c, and with
    sinh and cosh exchanged for s, where u = |a| - |a_0|.
    """
    prec = _format(a)
    rows = a.shape[3]
    slope = scaled_derivative(a)
    slope = np.concatenate([slope, slope], axis=3)
    both = Unfolding(slope, np.concatenate([cosine, sine], axis=2))
    for k in range(1, a.shape[2]):
        sums = _planes.elementwise("div", prec, _sum(slope, both, k, 1, k), _double(k))
        both.put(k, np.concatenate([sign * sums[..., rows:], sums[..., :rows]], axis=2))
    return both.planes[..., :rows], both.planes[..., rows:]


def tangent(a: Planes, first: Planes, slope_first: Planes, sign: float) -> Planes:
    """``y' = a' w`` with ``w = 1 + sign y^2``: the tangent for 1, the hyperbolic one for -1.

    ``k y_k = sum_(j=1..k) j a_j w_(k-j)`` and then ``w_k = sign sum_(j=0..k) y_j y_(k-j)``. M is
    the solution of ``M' = |a|' (|w_0| - |y_0|^2 + M^2)``.

    Args:
        a: The series.
        first: ``y_0``.
        slope_first: ``w_0``, which must not suffer from cancellation.
        sign: See above.
    """
    prec = _format(a)
    slope = scaled_derivative(a)
    y, w = Unfolding(a, first), Unfolding(a, slope_first)
    for k in range(1, a.shape[2]):
        y.put(k, _planes.elementwise("div", prec, _sum(slope, w, k, 1, k), _double(k)))
        w.put(k, sign * _sum(y.planes, y, k, 0, k))
    return y.planes
