# SPDX-License-Identifier: BSD-3-Clause
"""Roots of polynomials."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import absolute, conjugate, reciprocal
from mdla.core.array import MDArray
from mdla.core.comparison import where
from mdla.core.creation import array, zeros
from mdla.core.manipulation import concatenate
from mdla.core.protocols import implements
from mdla.linalg.inputs import LinAlgError, read_inputs, require_finite
from mdla.linalg.spectral import at_limbs, from_double, resolution, times_two

__all__ = ["roots"]

Planes = npt.NDArray[Any]

# The largest scaled coefficient is near two to the first power, the smallest one is not below it by
# more than the second.
_TOP, _SPREAD = 300, 1200

# Steps for each limb: a root of multiplicity m gains 104 / m bits of a limb at the rate
# 1 - 2 / (m + 1), which takes about 18 steps whatever m is.
_STEPS = 60


@implements(np.roots)
def roots(p: Any, *, prec: Any = None) -> MDArray:
    """The roots of ``p[0] x^n + p[1] x^(n-1) + ... + p[n]``, as ``numpy.roots``.

    The eigenvalues of the companion matrix in double precision are refined all together by the
    iteration of Ehrlich and Aberth (O. Aberth, Math. Comp. 27 (1973) 339-344; D. A. Bini, Numer.
    Algorithms 13 (1996) 179-200), moved apart before where they coincide, until the value of the
    polynomial at each is within the rounding errors of its evaluation,
    ``|p(z)| <= 8 n eps sum |p_k| |z|^(n-k)``. So each root is exact for coefficients that are
    changed by at most 8 n eps relatively: simple roots are as accurate as their condition allows,
    and a root of multiplicity m appears as m numbers around it, at a distance of the order of
    ``eps^(1/m)``.

    Args:
        p: The coefficients, highest power first: a vector; leading zeros are ignored, trailing
            ones give roots that are zero.
        prec: The precision to compute in; by default that of ``p``.

    Returns:
        The roots (n,), in no particular order; real if ``p`` is real and all of them are, within
        their errors. Of real coefficients, other roots come in conjugate pairs.

    Raises:
        ValueError: ``p`` is no vector, or not finite.
        LinAlgError: The iteration did not converge.

    Example:
        >>> import mdla
        >>> print(mdla.sort(mdla.roots(mdla.array([2, -6, 4, 0], prec="qd"))))
        [0. 1. 2.]
    """
    inputs = read_inputs("roots", False, prec, p=p)
    planes = inputs.planes[0]
    require_finite("roots", "p", planes)
    if len(_planes.shape_of(planes)) != 1:
        raise ValueError(
            f"roots: p must be a vector of coefficients, got shape {_planes.shape_of(planes)}; "
            "write p.reshape(-1)"
        )
    kept = np.flatnonzero((planes[:, 0] != 0).any(axis=0))
    if len(kept) == 0:
        return inputs.deliver(planes[..., :0])
    first, last = kept[0], kept[-1]
    scaled, exponent = _scaled(planes[..., first : last + 1])
    z = times_two(_refined(scaled), exponent)
    nulls = zeros(planes.shape[2] - 1 - last, prec=z.precision)
    return inputs.deliver(concatenate([z, nulls]).planes)


def _scaled(planes: Planes) -> tuple[MDArray, int]:
    """Coefficients for ``x = 2^s y`` with roots y of geometric mean about 1, and s."""
    n = planes.shape[2] - 1
    powers = np.arange(n, -1, -1)
    size = np.abs(planes[:, 0]).max(axis=0)
    height = np.frexp(size)[1]
    s = round(int(height[-1] - height[0]) / n) if n else 0
    lift = s * powers
    top = int((height + lift)[size > 0].max())
    if int((height + lift)[size > 0].min()) < top - _SPREAD:
        raise ValueError(
            "roots: the coefficients, with x scaled so that the product of the roots is about 1, "
            f"differ by more than 2^{_SPREAD}, so doubles cannot hold them; write x in another "
            "unit, or divide large and small roots off first"
        )
    return MDArray(np.ldexp(planes, lift - top + _TOP)), s


def _refined(p: MDArray) -> MDArray:
    """The roots of a polynomial whose first and last coefficients are not zero."""
    limbs, n = p.precision.limbs, len(p) - 1
    if n == 0:
        return p[:0]
    a = p.astype(p.precision, complex=True)
    z = array(_start(p), prec="d").astype("d", complex=True)
    # The number of limbs doubles with the digits that are right.
    for k in (*(k for k in (2, 4, 8) if k < limbs), limbs):
        z = _iterate(at_limbs(a, k), at_limbs(z, k))
    return _paired(z, a) if not p.iscomplex else z


def _start(p: MDArray) -> npt.NDArray[np.complex128]:
    """Approximations in double precision."""
    leading = times_two(p, -_TOP).to_numpy()
    n = len(leading) - 1
    with np.errstate(all="ignore"):
        monic = leading[1:] / leading[0]
    if np.isfinite(monic).all() and np.abs(monic).max() < 2.0**500:
        companion = np.zeros((n, n), dtype=monic.dtype)
        companion[0], companion[np.arange(1, n), np.arange(n - 1)] = -monic, 1
        found = np.linalg.eigvals(companion).astype(complex)
        if (found != 0).all():
            return found
    return _circles(leading)


def _circles(p: npt.NDArray[Any]) -> npt.NDArray[np.complex128]:
    """Points on circles with the radii that the Newton polygon of the coefficients gives (Bini)."""
    n = len(p) - 1
    with np.errstate(divide="ignore"):
        height = np.log2(np.abs(p[::-1]))
    hull = [0]
    for k in np.flatnonzero(np.isfinite(height))[1:]:
        while len(hull) > 1:
            i, j = hull[-2:]
            if (height[j] - height[i]) * (k - i) > (height[k] - height[i]) * (j - i):
                break
            hull.pop()
        hull.append(int(k))
    points = []
    for i, j in itertools.pairwise(hull):
        radius = 2.0 ** np.clip((height[i] - height[j]) / (j - i), -1000, 1000)
        angle = 2 * np.pi * (np.arange(j - i) / (j - i) + i / n) + 0.7
        points.append(radius * np.exp(1j * angle))
    return np.concatenate(points)


def _iterate(a: MDArray, z: MDArray) -> MDArray:
    """Steps of Ehrlich and Aberth until every root is within the rounding errors of p."""
    limbs, n = a.precision.limbs, len(z)
    active = np.arange(n)
    error = resolution(max(limbs // 2, 1))
    for step in range(_STEPS * limbs):
        newton, done = _newton(a, z[active])
        active, newton = active[~done], newton[~done]
        if len(active) == 0:
            return z
        if step == 0:
            # Conjugates would stay so, although close roots of real coefficients may be real.
            z[active] = z[active] + z[active] * _turns(np.full(len(active), error), limbs)
            continue
        if _separate(z, active, error):
            continue
        difference = z[active][:, np.newaxis] - z
        same = ~np.any(difference.planes[:, 0], axis=0)
        difference[same] = 1
        inverse = reciprocal(difference)
        inverse[same] = 0
        change = newton / (1 - newton * inverse.sum(axis=1))
        z[active] = z[active] - change
        small = absolute(change).to_numpy() <= resolution(limbs) * absolute(z[active]).to_numpy()
        active = active[~small]
        if len(active) == 0:
            return z
    raise LinAlgError(
        f"roots: {len(active)} of {n} roots did not converge; ask for a wider prec, or scale x so "
        "that the roots have moderate size"
    )


def _separate(z: MDArray, active: npt.NDArray[np.intp], error: float) -> bool:
    """Move equal numbers apart: their steps would be equal for ever; whether there were any.

    m equal ones go to a circle of the radius ``|z| error^(1/m)``, up to which m roots of a
    polynomial with a relative error of this size can coincide.
    """
    limbs = z.planes.reshape(-1, len(z))
    _, group, count = np.unique(limbs, axis=1, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    moved = active[count[group[active]] > 1]
    if len(moved) == 0:
        return False
    share = count[group[moved]]
    z[moved] = z[moved] + z[moved] * _turns(error ** (1 / share), z.precision.limbs)
    return True


def _turns(radius: npt.NDArray[np.float64], limbs: int) -> MDArray:
    """Numbers of these radii, at angles that share no symmetry with roots."""
    angle = 2 * np.pi * np.arange(len(radius)) * (np.sqrt(5) - 1) / 2 + 0.7
    return at_limbs(from_double(radius * np.exp(1j * angle)), limbs)


def _newton(a: MDArray, z: MDArray) -> tuple[MDArray, npt.NDArray[np.bool_]]:
    """``p / p'`` at z, and where p is within the rounding errors of its evaluation.

    Horner's rule for p, p' and ``sum |a_k| |z|^(n-k)``; for |z| > 1 of the reversed polynomial q,
    ``p(z) = z^n q(1 / z)``, so that no power overflows: 3 n multiply-adds for each z.
    """
    n = len(a) - 1
    outside = absolute(z).to_numpy() > 1
    x = where(outside, reciprocal(where(outside, z, 1)), z)
    value, slope, size = 0 * x, 0 * x, np.zeros(len(z))
    modulus = absolute(x).to_numpy()
    sizes = absolute(a).to_numpy()
    for k in range(n + 1):
        slope = slope * x + value
        value = value * x + where(outside, a[n - k], a[k])
        size = size * modulus + np.where(outside, sizes[n - k], sizes[k])
    bound = 8 * n * resolution(a.precision.limbs) * size
    done = absolute(value).to_numpy() <= bound
    # With w = 1 / z: p(z) / p'(z) = z q(w) / (n q(w) - w q'(w)).
    denominator = where(outside, n * value - x * slope, slope)
    flat = ~np.any(denominator.planes[:, 0], axis=0)
    denominator[flat] = 1
    return value / denominator * where(outside, z, 1), done


def _paired(z: MDArray, a: MDArray) -> MDArray:
    """Roots of real coefficients, real or in exact pairs.

    A root is real if the real axis is within its error, estimated by Newton's step for a value of
    the size of the rounding errors; then the rest is matched with its conjugates. Where that does
    not come out even, nothing is changed.
    """
    height = z.imag.to_numpy()
    flat = z.copy()
    flat.imag = 0
    is_real = _newton(a, flat)[1]
    upper, lower = (np.flatnonzero(~is_real & (sign * height > 0)) for sign in (1, -1))
    if len(upper) != len(lower):
        return z
    pairs = z[upper]
    z = concatenate([flat[is_real], pairs, conjugate(pairs)])
    return z.real if len(upper) == 0 else z
