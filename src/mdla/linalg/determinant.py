# SPDX-License-Identifier: BSD-3-Clause
"""Determinants, from LU factors with exponents kept apart."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import arithmetic, planes as _planes
from mdla.core.array import MDArray
from mdla.core.convert import to_planes
from mdla.core.export import to_fraction
from mdla.core.precision import Precision, from_layout
from mdla.core.protocols import implements
from mdla.linalg.elimination import LUFactors
from mdla.linalg.inputs import (
    Inputs,
    exponents_along,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)

__all__ = ["SlogdetResult", "det", "slogdet"]

Planes = npt.NDArray[Any]

# Bits beyond the precision in which logarithms are formed; exponents of determinants have fewer.
_GUARD = 96


class SlogdetResult(NamedTuple):
    """``det(A) = sign * exp(logabsdet)``.

    Attributes:
        sign: 1, -1 or 0, exactly; a number of modulus 1 (to rounding) or 0 for a complex A, exactly
            a power of i if the product of the pivots is real or imaginary.
        logabsdet: The natural logarithm of the modulus; -inf for a determinant that is zero.
    """

    sign: MDArray
    logabsdet: MDArray


@implements(np.linalg.det)
def det(a: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """The determinant.

    The product of the pivots of ``P A = L U`` is the determinant of ``A + E``, up to a relative
    error n eps, with ``|E| <= c n eps P |L| |U|`` (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 14.6). So its relative error is about ``n eps cond(A)``,
    and that of a singular matrix need not come out as zero. Nothing overflows on the way.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        An array of shape (...); the determinant of a matrix of order 0 is 1.

    Raises:
        LinAlgError: a is not square.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.det([[1, 2], [3, 4]]))
        -2.0
    """
    inputs, products, batch = _determinants("det", a, prec, check_finite)
    out = np.empty((*inputs.planes[0].shape[:2], len(products)))
    for i, (mantissa, exponent) in enumerate(products):
        out[:, :, i] = arithmetic.ldexp(MDArray(mantissa), exponent).planes[:, :, 0]
    return inputs.deliver(out.reshape(*out.shape[:2], *batch))


@implements(np.linalg.slogdet)
def slogdet(a: Any, *, prec: Any = None, check_finite: bool = True) -> SlogdetResult:
    """The sign and the logarithm of the modulus of the determinant.

    Exponents are kept apart from the product of the pivots, so there is no overflow; the logarithm
    has an absolute error of about ``n eps cond(A)``, see `det`.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        Two arrays of shape (...).

    Raises:
        LinAlgError: a is not square.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> sign, logabsdet = mdla.linalg.slogdet(mdla.eye(300) * 1000)
        >>> print(sign, logabsdet.to_numpy())
        1.0 2072.326583694641
    """
    inputs, products, batch = _determinants("slogdet", a, prec, check_finite)
    working = from_layout(inputs.planes[0].shape[1], np.float64)
    signs = np.empty((*inputs.planes[0].shape[:2], len(products)))
    logs = np.empty((1, working.limbs, len(products)))
    for i, (mantissa, exponent) in enumerate(products):
        signs[:, :, i] = _sign(mantissa)[:, :, 0]
        logs[:, :, i] = _log_of_modulus(mantissa, exponent, working)
    return SlogdetResult(
        inputs.deliver(signs.reshape(*signs.shape[:2], *batch)),
        inputs.deliver(logs.reshape(*logs.shape[:2], *batch)),
    )


def _determinants(
    function: str, a: Any, prec: Any, check_finite: bool
) -> tuple[Inputs, list[tuple[Planes, int]], tuple[int, ...]]:
    inputs = read_inputs(function, check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes, square=True)
    batch = _planes.shape_of(planes)[:-2]
    stack = stacked(planes, batch)
    return inputs, [_determinant(stack[:, :, i]) for i in range(stack.shape[2])], batch


def _determinant(a: Planes) -> tuple[Planes, int]:
    """Planes of one number m of moderate size, and e, for the determinant ``2**e m``."""
    factors = LUFactors(a)
    mantissa, exponent = _product(np.diagonal(factors.factors, axis1=-2, axis2=-1).copy())
    if sum(pivot != j for j, pivot in enumerate(factors.pivots)) % 2:
        mantissa = arithmetic.negative(MDArray(mantissa)).planes
    return mantissa, exponent + int(factors.row_exponents.sum() + factors.column_exponents.sum())


def _product(x: Planes) -> tuple[Planes, int]:
    """The product of the numbers of planes (c, N, n) in pairs, with its exponent apart."""
    exponent = 0
    if x.shape[-1] == 0:
        x = np.zeros((*x.shape[:-1], 1))
        x[0, 0] = 1
    while True:
        scale = exponents_along(x[..., np.newaxis], -1)[..., 0]
        times_power(x, -scale)
        exponent += int(scale.sum())
        n = x.shape[-1]
        if n == 1:
            return x, exponent
        pairs = arithmetic.multiply(MDArray(x[..., : n - n % 2 : 2]), MDArray(x[..., 1::2])).planes
        x = np.concatenate([pairs, x[..., n - n % 2 :]], axis=-1)


def _sign(mantissa: Planes) -> Planes:
    """``m / |m|``, without a rounding if m is real or imaginary; 0 for 0, nan if not finite."""
    leading = mantissa[:, 0]
    if np.isfinite(leading).all() and np.count_nonzero(leading) == len(leading) == 2:
        x = MDArray(mantissa)
        return arithmetic.divide(x, arithmetic.absolute(x)).planes
    sign = np.zeros_like(mantissa)
    sign[:, 0] = np.sign(leading) if np.isfinite(leading).all() else np.nan
    return sign


def _log_of_modulus(mantissa: Planes, exponent: int, working: Precision) -> Planes:
    """``log |2**e m|`` as planes of one number (1, N), rounded once."""
    if not np.isfinite(mantissa).all() or not mantissa.any():
        with np.errstate(divide="ignore"):
            return to_planes(float(np.log(np.abs(mantissa[:, 0]).max())), working)
    square = sum(to_fraction(part[:, 0]) ** 2 for part in mantissa)
    bits = -working.eps_exponent + _GUARD
    log = _log(Fraction(square), bits) + 2 * exponent * _log(Fraction(2), bits)
    return to_planes(Fraction(log, 2 << bits), working)


def _log(x: Fraction, bits: int) -> int:
    """``log(x) 2**bits`` of a positive number of moderate size, within a few units.

    2 artanh(z) for ``z = (x - 1) / (x + 1)``, by its series; x is brought to [1/2, 2] before.
    """
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    if abs(shift) > 1:
        return _log(x / Fraction(2) ** shift, bits) + shift * _log(Fraction(2), bits)
    power = ((x.numerator - x.denominator) << bits) // (x.numerator + x.denominator)
    square = power * power >> bits
    total, k = 0, 1
    while power not in (0, -1):
        total += power // k
        power = power * square >> bits
        k += 2
    return 2 * total
