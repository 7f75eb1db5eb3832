# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions of complex numbers z = x + iy, composed of those of real ones.

Each formula avoids cancellation beyond what the size of the whole result covers (Kahan, "Branch
cuts for complex elementary functions", 1987, for the inverse functions). Functions with more steps
than 4 eps allow run in the next wider format, and are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, ldexp, reciprocal, sqrt
from mdla.core.array import MDArray
from mdla.core.constants import ln2, ln10, pi
from mdla.core.elementary_planes import real_function, sincos, wider

__all__ = [
    "arccos",
    "arcsin",
    "arctan",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

Function = Callable[[MDArray], MDArray]

# From here on e^|x| or its square may leave the range of doubles: then its root is used twice.
_LARGE = 350.0


def _widened(function: Function) -> Function:
    """Compute in the next wider format and round the result once."""

    @wraps(function)
    def run(z: MDArray) -> MDArray:
        return function(z.astype(wider(z.precision), copy=False)).astype(z.precision, copy=False)

    return run


def _with_limits(function: Function) -> Function:
    """Give arguments with an infinite or unknown part the limits of C99, Annex G.

    NumPy has those tables. Their finite entries are 0, 1 and multiples of pi/4, which become exact.
    """
    ufunc = getattr(np, function.__name__)

    @wraps(function)
    def run(z: MDArray) -> MDArray:
        ordinary = np.isfinite(_lead(z.real)) & np.isfinite(_lead(z.imag))
        if np.all(ordinary):
            return function(z)
        argument = np.empty(ordinary.shape, dtype=complex)
        argument.real, argument.imag = _lead(z.real), _lead(z.imag)
        with np.errstate(all="ignore"):
            limits = np.asarray(ufunc(argument))
        result = function(MDArray(_planes.select(ordinary, z.planes, np.zeros_like(z.planes))))
        parts = [_limit(limits.real, result.real), _limit(limits.imag, result.imag)]
        return _where(ordinary, result, _join(*parts))

    return run


def _limit(values: npt.NDArray[np.float64], like: MDArray) -> MDArray:
    planes = np.zeros(like.planes.shape, dtype=like.planes.dtype)
    planes[0, 0] = values
    quarters = np.rint(np.where(np.isfinite(values), values, 0) * 4 / np.pi)
    angles = (quarters != 0) & (np.abs(values - quarters * (np.pi / 4)) < 2.0**-40)
    exact = ldexp(pi(like.precision), -2) * quarters
    return _where(angles, exact.astype(like.precision), MDArray(planes))


def _real(name: str, *operands: MDArray) -> MDArray:
    return MDArray(real_function(name, operands[0].precision, *(x.planes for x in operands)))


def _join(x: MDArray, y: MDArray) -> MDArray:
    return MDArray(np.concatenate([x.planes, y.planes]))


def _where(condition: npt.NDArray[np.bool_], a: MDArray, b: MDArray) -> MDArray:
    return MDArray(_planes.select(condition, a.planes, b.planes))


def _lead(x: MDArray) -> npt.NDArray[Any]:
    """The leading limbs, which decide about branches."""
    lead: npt.NDArray[Any] = x.planes[0, 0]
    return lead


def _constant(value: float, like: MDArray) -> MDArray:
    planes = np.zeros(like.planes.shape, dtype=like.planes.dtype)
    planes[:, 0] = value
    return MDArray(planes)


def _with_sign(x: MDArray, sign: MDArray) -> MDArray:
    """``|x|`` with the sign of another number, zeros included."""
    turn = np.signbit(_lead(x)) != np.signbit(_lead(sign))
    return _where(turn, -x, x)


def _times(a: MDArray, b: MDArray) -> MDArray:
    """A product in which a zero wins over infinity and nan, as in C99, Annex G."""
    product = a * b
    zero = (_lead(a) == 0) | (_lead(b) == 0)
    if not np.any(zero & np.isnan(_lead(product))):
        return product
    sign = np.where(np.signbit(_lead(a)) != np.signbit(_lead(b)), -1.0, 1.0)
    signed = _constant(0.0, product)
    signed.planes[0, 0] = np.copysign(0.0, sign)
    return _where(zero & np.isnan(_lead(product)), signed, product)


def _parts(z: MDArray) -> tuple[MDArray, MDArray]:
    return z.real, z.imag


def _trigonometric(x: MDArray) -> tuple[MDArray, MDArray]:
    sine, cosine = sincos(x.precision, x.planes)
    return MDArray(sine), MDArray(cosine)


@_with_limits
def exp(z: MDArray) -> MDArray:
    """``e^x (cos y + i sin y)``."""
    x, y = _parts(z)
    sine, cosine = _trigonometric(y)
    size = _real("exp", x)
    parts = [_times(size, cosine), _times(size, sine)]
    large = np.abs(_lead(x)) > 2 * _LARGE
    if np.any(large):
        # Factors that neither overflow nor vanish before the product does.
        root = _real("exp", ldexp(x, -1))
        near = large & (np.abs(_lead(x)) < 4 * _LARGE)
        parts = [
            _where(near, _times(_times(root, f), root), p)
            for f, p in zip((cosine, sine), parts, strict=True)
        ]
    real, imag = parts
    imag = _where(_lead(y) == 0, y, imag)
    real = _where(_lead(y) == 0, size, real)
    return _join(real, imag)


def _log_of_size(x: MDArray, y: MDArray) -> MDArray:
    """``log |x + iy|``; near 1 as ``log1p((|z| - 1)(|z| + 1)) / 2`` without a root."""
    swap = np.abs(_lead(y)) > np.abs(_lead(x))
    a, b = absolute(_where(swap, y, x)), absolute(_where(swap, x, y))
    # Where |z| overflows or its last limbs fade, a power of two is taken out.
    lowest, highest = (-200, 1000) if x.planes.dtype == np.float64 else (-60, 120)
    exponent = np.where(np.isfinite(_lead(a)), np.frexp(_lead(a))[1], 0)
    exponent = np.where((exponent < lowest) | (exponent > highest), exponent, 0)
    size = absolute(ldexp(_join(x, y), -exponent))
    result = _real("log", size)
    if np.any(exponent):
        result = _where(exponent != 0, result + ln2(x.precision) * exponent, result)
    near = (exponent == 0) & (_lead(size) > 0.5) & (_lead(size) < 2)
    if np.any(near):
        square = (a - 1) * (a + 1) + b * b
        result = _where(near, ldexp(_real("log1p", square), -1), result)
    return result


@_with_limits
def log(z: MDArray) -> MDArray:
    """``log |z| + i arg z``."""
    x, y = _parts(z)
    return _join(_log_of_size(x, y), _real("arctan2", y, x))


@_widened
def log2(z: MDArray) -> MDArray:
    """``log z / log 2``."""
    quotient: MDArray = log(z) / ln2(z.precision)
    return quotient


@_widened
def log10(z: MDArray) -> MDArray:
    """``log z / log 10``."""
    quotient: MDArray = log(z) / ln10(z.precision)
    return quotient


@_widened
def log1p(z: MDArray) -> MDArray:
    """``log(1 + z)``, its real part ``log1p(x (2 + x) + y^2) / 2`` where z is small."""
    x, y = _parts(z)
    shifted = x + 1
    size = absolute(z)
    real = _log_of_size(shifted, y)
    small = _lead(size) < 0.5
    if np.any(small):
        square = x * (x + 2) + y * y
        real = _where(small, ldexp(_real("log1p", square), -1), real)
    return _join(real, _real("arctan2", y, shifted))


@_widened
def expm1(z: MDArray) -> MDArray:
    """``expm1(x) cos y - 2 sin(y/2)^2 + i e^x sin y``."""
    x, y = _parts(z)
    small = (np.abs(_lead(x)) < 1) & np.isfinite(_lead(y))
    whole = exp(z)
    cosine = _trigonometric(y)[1]
    half = _trigonometric(ldexp(y, -1))[0]
    real = _real("expm1", x) * cosine - 2 * half * half
    return _join(_where(small, real, whole.real - 1), whole.imag)


def _hyperbolic_products(x: MDArray, for_cosh: MDArray, for_sinh: MDArray) -> list[MDArray]:
    """``for_cosh cosh x`` and ``for_sinh sinh x`` without overflow before the products do."""
    parts = [_times(for_cosh, _real("cosh", x)), _times(for_sinh, _real("sinh", x))]
    large = (np.abs(_lead(x)) > 2 * _LARGE) & (np.abs(_lead(x)) < 4 * _LARGE)
    if np.any(large):
        root = _real("exp", ldexp(absolute(x), -1))
        half = ldexp(root, -1)
        parts = [
            _where(large, _times(_times(half, for_cosh), root), parts[0]),
            _where(large, _times(_times(_with_sign(half, x), for_sinh), root), parts[1]),
        ]
    return parts


@_with_limits
def sinh(z: MDArray) -> MDArray:
    """``sinh x cos y + i cosh x sin y``."""
    x, y = _parts(z)
    sine, cosine = _trigonometric(y)
    imag, real = _hyperbolic_products(x, sine, cosine)
    return _join(real, imag)


@_with_limits
def cosh(z: MDArray) -> MDArray:
    """``cosh x cos y + i sinh x sin y``."""
    x, y = _parts(z)
    sine, cosine = _trigonometric(y)
    return _join(*_hyperbolic_products(x, cosine, sine))


@_with_limits
def sin(z: MDArray) -> MDArray:
    """``sin x cosh y + i cos x sinh y``."""
    x, y = _parts(z)
    sine, cosine = _trigonometric(x)
    return _join(*_hyperbolic_products(y, sine, cosine))


@_with_limits
def cos(z: MDArray) -> MDArray:
    """``cos x cosh y - i sin x sinh y``."""
    x, y = _parts(z)
    sine, cosine = _trigonometric(x)
    return _join(*_hyperbolic_products(y, cosine, -sine))


def _tangents(x: MDArray, y: MDArray) -> tuple[MDArray, MDArray]:
    """tanh(x + iy): ``(sinh x cosh x, sin y cos y) / (sinh(x)^2 + cos(y)^2)``, no cancellation."""
    large = np.abs(_lead(x)) >= _LARGE
    clean = _where(large, _constant(0.0, x), x)
    sine, cosine = _trigonometric(y)
    s, c = _real("sinh", clean), _real("cosh", clean)
    size = s * s + cosine * cosine
    product = sine * cosine
    real, imag = s * c / size, product / size
    if np.any(large):
        # What e^(-2 |x|) adds to 1 is below every format's last limb.
        falling = _real("exp", -absolute(x))
        one = _with_sign(_constant(1.0, x), x)
        real = _where(large, one, real)
        imag = _where(large, 4 * falling * product * falling, imag)
    return real, _where(_lead(y) == 0, y, imag)


@_with_limits
@_widened
def tanh(z: MDArray) -> MDArray:
    """See `_tangents`."""
    return _join(*_tangents(*_parts(z)))


@_with_limits
@_widened
def tan(z: MDArray) -> MDArray:
    """``-i tanh(i z)``."""
    x, y = _parts(z)
    real, imag = _tangents(-y, x)
    return _join(imag, -real)


def _roots(z: MDArray) -> tuple[MDArray, MDArray]:
    """sqrt(1 - z) and sqrt(1 + z), with signs of zero imaginary parts kept."""
    x, y = _parts(z)
    return sqrt(_join(1 - x, -y)), sqrt(_join(1 + x, y))


def _arcsinh(x: MDArray) -> MDArray:
    """``log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))`` with the sign of x."""
    a = absolute(x)
    large = _lead(a) > 2.0**500
    small = _where(large, _constant(0.0, x), a)
    square = small * small
    result = _real("log1p", small + square / (1 + sqrt(1 + square)))
    if np.any(large):
        result = _where(large, _real("log", a) + ln2(x.precision), result)
    return _with_sign(result, x)


@_with_limits
@_widened
def arcsin(z: MDArray) -> MDArray:
    """``atan2(x, Re(p q)) + i asinh(Im(conj(p) q))``, p = sqrt(1 - z), q = sqrt(1 + z)."""
    p, q = _roots(z)
    real = p.real * q.real - p.imag * q.imag
    imag = p.real * q.imag - p.imag * q.real
    return _join(_real("arctan2", z.real, real), _arcsinh(imag))


@_with_limits
@_widened
def arccos(z: MDArray) -> MDArray:
    """``2 atan2(Re p, Re q) + i asinh(Im(conj(q) p))``, p = sqrt(1 - z), q = sqrt(1 + z)."""
    p, q = _roots(z)
    imag = q.real * p.imag - q.imag * p.real
    return _join(ldexp(_real("arctan2", p.real, q.real), 1), _arcsinh(imag))


@_with_limits
@_widened
def arctan(z: MDArray) -> MDArray:
    """Half the angle of (1 - |z|^2, 2 x), and ``log1p(4 y / (x^2 + (1 - y)^2)) / 4``."""
    large = _lead(absolute(z)) >= 2.0**400
    x, y = _parts(_where(large, _constant(0.0, z), z))
    a = absolute(y)
    swap = _lead(a) > np.abs(_lead(x))
    u, v = _where(swap, y, x), _where(swap, x, y)
    real = ldexp(_real("arctan2", ldexp(x, 1), (1 - u) * (1 + u) - v * v), -1)
    distance = x * x + (1 - a) * (1 - a)
    imag = _with_sign(ldexp(_real("log1p", ldexp(a, 2) / distance), -2), y)
    if np.any(large):
        # atan z = +- pi/2 - atan(1/z)
        inverse = reciprocal(z)
        quarter = _with_sign(_constant(0.0, x) + ldexp(pi(x.precision), -1), z.real)
        real = _where(large, quarter - inverse.real, real)
        imag = _where(large, -inverse.imag, imag)
    return _join(real, imag)
