# SPDX-License-Identifier: BSD-3-Clause
"""Functions of square matrices: powers and the exponential."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, add, multiply
from mdla.core.array import MDArray
from mdla.core.convert import to_planes
from mdla.core.creation import asarray, eye
from mdla.core.precision import Precision, from_layout
from mdla.core.protocols import implements
from mdla.gemm import matmul
from mdla.linalg.inputs import LinAlgError, read_inputs, require_matrix, stacked, times_power
from mdla.linalg.solve import inv

__all__ = ["expm", "matrix_power"]

Planes = npt.NDArray[Any]


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int, *, prec: Any = None) -> MDArray:
    """``A @ A @ ... @ A``, n factors, by repeated squaring; the inverse's powers for n < 0.

    At most ``2 log2(n)`` products, each within ``k eps |X| |Y|``; the error is that of a product of
    n rounded factors, ``n^2 eps |A|^n`` for small n eps (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 18.1).

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        n: The exponent, an integer. 0 gives the identity.
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.

    Returns:
        An array of the shape of a.

    Raises:
        LinAlgError: a is not square, or n < 0 and a is singular in the sense of `mdla.solve`.
        TypeError: n is no integer.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.matrix_power([[1, 1], [1, 0]], 10))
        [[89. 55.]
         [55. 34.]]
    """
    try:
        exponent = operator.index(n)
    except TypeError:
        raise TypeError(
            f"matrix_power: the exponent must be an integer, got {type(n).__name__}; "
            "write expm(n * logarithm) for other powers"
        ) from None
    inputs = read_inputs("matrix_power", False, prec, a=a)
    require_matrix("matrix_power", "a", inputs.planes[0], square=True)
    base = MDArray(inputs.planes[0])
    if exponent < 0:
        try:
            base, exponent = inv(base, check_finite=False), -exponent
        except LinAlgError as error:
            message = str(error).replace("inv:", f"matrix_power: n = {exponent} needs an inverse:")
            raise LinAlgError(message) from None
    power = _identity_like(base.planes) if exponent == 0 else None
    while exponent:
        if exponent & 1:
            power = base if power is None else matmul(power, base)
        exponent >>= 1
        if exponent:
            base = matmul(base, base)
    assert power is not None
    return inputs.deliver(np.array(power.planes))


def _identity_like(planes: Planes) -> MDArray:
    identity = np.zeros_like(planes)
    diagonal = np.arange(planes.shape[-1])
    identity[0, 0, ..., diagonal, diagonal] = 1
    return MDArray(identity)


def expm(a: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """The matrix exponential ``exp(A) = I + A + A^2/2 + ...`` by scaling and squaring.

    ``exp(A) = T_m(2^-s A)^(2^s)``, T_m the Taylor polynomial. Without rounding errors the result
    is ``exp(A + E)`` with ``||E|| <= eps ||A||`` (the bound is derived at `radius_log2`); degree m
    and s are those with the fewest products. The scaling is by ``||(|A|^p)||^(1/p)`` instead of
    ``||A||``, which may be much larger (A. H. Al-Mohy and N. J. Higham, SIAM J. Matrix Anal. Appl.
    31 (2009) 970-989, theorem 4.2). T_m takes about ``2 sqrt(m)`` products (M. S. Paterson and
    L. J. Stockmeyer, SIAM J. Comput. 2 (1973) 60-66). Rounding errors are about ``n eps ||A||``
    in the same sense for normal matrices.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        An array of the shape of a.

    Raises:
        LinAlgError: a is not square.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.expm([[0, 1], [0, 0]]))
        [[1. 1.]
         [0. 1.]]
    """
    inputs = read_inputs("expm", check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix("expm", "a", planes, square=True)
    batch = _planes.shape_of(planes)[:-2]
    out = np.array(stacked(planes, batch), order="C")
    if out.shape[-1]:
        for i in range(out.shape[2]):
            out[:, :, i] = _exponential(out[:, :, i])
    return inputs.deliver(out.reshape(*out.shape[:2], *batch, *out.shape[3:]))


class Scheme(NamedTuple):
    """How to evaluate the exponential.

    Attributes:
        degree: The degree m = step * blocks of the Taylor polynomial.
        step: The powers X^2, ..., X^step are formed.
        squarings: s.
    """

    degree: int
    step: int
    squarings: int


# The largest degree that is looked at, enough for 16 limbs without scaling at norms around 1.
_MOST = 400


@cache
def radius_log2(degree: int, eps_exponent: int) -> float:
    """log2 of the largest theta at which the Taylor polynomial of a degree is good enough.

    ``T_m(X) = exp(X + H)`` with ``H = log(I + G)``, ``G = exp(-X) T_m(X) - I = -exp(-X) R(X)``, R
    the remainder of the series. As power series both have the majorant
    ``g(t) = e^t t^(m+1) / (m+1)! / (1 - t / (m+2))``, so ``||H|| <= -log(1 - g(theta))``, and
    ``<= eps theta`` if ``g(theta) <= eps theta / 2``.
    """

    def excess(log2_theta: float) -> float:
        theta = 2.0**log2_theta
        log_g: float = theta + degree * math.log(theta) - math.lgamma(degree + 2)
        return log_g - math.log1p(-theta / (degree + 2)) - (eps_exponent - 1) * math.log(2)

    low, high = -1100.0, math.log2((degree + 2) / 2)
    if excess(high) <= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low


def scheme(sizes: list[float], eps_exponent: int) -> Scheme:
    """The scheme with the fewest products.

    Args:
        sizes: ``log2 ||(|A|^p)||^(1/p)`` for p = 1, 2, ...
        eps_exponent: eps is two to this power.
    """
    best, least = Scheme(1, 1, 0), math.inf
    for step in range(1, math.isqrt(_MOST) + 1):
        for blocks in (step, step + 1):
            degree = step * blocks
            # A series that starts with X^(m+1) may be bounded with p (p - 1) <= m + 1.
            size = min(
                max(sizes[p - 1], sizes[p])
                for p in range(1, len(sizes))
                if p * (p - 1) <= degree + 1
            )
            squarings = math.ceil(max(size - radius_log2(degree, eps_exponent), 0.0))
            cost = step - 1 + blocks - 1 + squarings
            if cost < least:
                best, least = Scheme(degree, step, squarings), cost
    return best


# Powers of |A| whose norms are looked at.
_POWERS = 9


def _sizes(a: MDArray) -> list[float]:
    """log2 of ``||(|A|^p)||_1^(1/p)``, from products with a vector of ones."""
    size = absolute(a).astype("d")
    vector, exponent = np.ones(a.shape[0]), 0
    sizes: list[float] = []
    # Sums in the fixed order of the package, so that nothing depends on the machine.
    for p in range(1, _POWERS + 1):
        vector = matmul(asarray(vector, prec="d"), size).to_numpy()
        largest = float(vector.max())
        if largest == 0:
            return [*sizes, *[-math.inf] * (_POWERS + 1 - p)]
        shift = math.frexp(largest)[1] if math.isfinite(largest) else 1024
        vector = np.ldexp(vector, -shift)
        exponent += shift
        sizes.append((math.log2(float(vector.max())) + exponent) / p)
    return sizes


def _exponential(a: Planes) -> Planes:
    working = from_layout(a.shape[1], np.float64)
    if not np.isfinite(a[:, 0]).all():
        return np.full_like(a, np.nan)
    # |A| is scaled so that its row sums do not overflow.
    lift = max(0, math.frexp(float(np.abs(a[:, 0]).max()))[1] - 900)
    scaled = a.copy()
    times_power(scaled, np.array([[-lift]], dtype=np.int32))
    sizes = [size + lift for size in _sizes(MDArray(scaled))]
    plan = scheme(sizes, working.eps_exponent)
    scaled = a.copy()
    times_power(scaled, np.array([[-plan.squarings]], dtype=np.int32))
    result = _taylor(MDArray(scaled), plan, working)
    for _ in range(plan.squarings):
        result = matmul(result, result)
    return result.planes


def _taylor(x: MDArray, plan: Scheme, working: Precision) -> MDArray:
    """``T_m(X)`` by the scheme of Paterson and Stockmeyer: Horner's in X^step."""
    powers = [eye(x.shape[0], prec=working.name), x]
    while len(powers) <= plan.step:
        powers.append(matmul(x, powers[-1]))
    result = None
    for block in reversed(range(0, plan.degree, plan.step)):
        last = plan.step if result is None else plan.step - 1
        part = _combination(powers[: last + 1], block, working)
        result = part if result is None else add(matmul(powers[plan.step], result), part)
    assert result is not None
    return result


def _combination(powers: list[MDArray], first: int, working: Precision) -> MDArray:
    """Sum of ``X^k / (first + k)!``, the smallest terms first."""
    total = None
    for k in reversed(range(len(powers))):
        term = multiply(powers[k], _reciprocal_factorial(first + k, working))
        total = term if total is None else add(total, term)
    assert total is not None
    return total


@cache
def _reciprocal_factorial(k: int, working: Precision) -> MDArray:
    return MDArray(to_planes(Fraction(1, math.factorial(k)), working))
