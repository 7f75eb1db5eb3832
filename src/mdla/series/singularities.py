# SPDX-License-Identifier: BSD-3-Clause
"""Where the nearest singularity of a power series is, by the ratio theorem of Fabry.

If the quotients ``c_(k-1) / c_k`` converge to z, then z is a singular point of the series on its
circle of convergence (E. Fabry, Ann. sci. ENS 13 (1896) 367-399). Next to an algebraic or
logarithmic singularity they have an expansion ``z (1 + a / k + b / k^2 + ...)``, so that Richardson
extrapolation in 1 / k finds z with many more digits (N. Bliss, J. Verschelde, arXiv 2301.12659).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core.arithmetic import absolute, add, divide, ldexp, multiply, sqrt, subtract
from mdla.core.array import MDArray
from mdla.core.comparison import where
from mdla.core.creation import full
from mdla.core.manipulation import stack
from mdla.core.powers import power
from mdla.core.precision import Precision, finfo
from mdla.series.products import read_degree
from mdla.series.scaling import balanced
from mdla.series.series import Series

__all__ = ["RadiusResult", "SingularityResult", "nearest_singularity", "radius_of_convergence"]

Floats = npt.NDArray[np.float64]

# More levels of extrapolation than that lose more to rounding than they gain.
_MOST_LEVELS = 32


class SingularityResult(NamedTuple):
    """What `nearest_singularity` returns.

    Attributes:
        location: The singular point of each series, complex; infinite for polynomials. Of two
            conjugate ones the upper one is given.
        error: Estimates of the absolute errors, float64; infinite where there is none.
    """

    location: MDArray
    error: npt.NDArray[np.float64]


class RadiusResult(NamedTuple):
    """What `radius_of_convergence` returns.

    Attributes:
        radius: The radius of each series, real; infinite for polynomials.
        error: Estimates of the absolute errors, float64; infinite where there is none.
    """

    radius: MDArray
    error: npt.NDArray[np.float64]


def nearest_singularity(s: Series, levels: int | None = None) -> SingularityResult:
    """The singular point that is nearest to the origin, from the last coefficients.

    Two models are fitted and the one with the smaller estimate of its error is taken, for each
    series by itself:

    - one singularity w: the quotients ``c_(k-1) / c_k``, extrapolated to 1 / k = 0;
    - two at about the same distance, such as conjugate ones: sum and product of the roots of
      ``1 = p w + q w^2``, where ``c_j = p c_(j-1) + q c_(j-2)`` for j = k and k - 1, extrapolated.

    Coefficients that vanish regularly, as those of a series in t^g, are left out: then w = t^g, and
    the principal root of w is given. If the last coefficients are zero, more of them than between
    any two others, the series is a polynomial and has no singularity; but where they are zero by
    underflow, the coefficients before count as the last ones. Among zeros in other places the
    second model is tried; else there remains the root test,
    ``|c_j / c_k|^(1 / (k - j))`` for the last two coefficients that are not zero, which gives a
    modulus as a real location, with an infinite error.

    Errors are estimates, and those of conjugate branch points decrease as 1 / k only. The quotients
    of an entire function grow; its location then has an error of its own size.

    Args:
        s: Series of any shape.
        levels: The number of levels of extrapolation; 0 for the plain quotient of the last two
            coefficients. By default, up to 32 where the estimate of the error is smallest.

    Raises:
        TypeError: ``s`` is no Series, or the number of levels no integer.
        ValueError: The number of levels is negative.

    Example:
        >>> import mdla
        >>> s = mdla.series.sqrt(1 + mdla.series.variable(64, prec="qd"))
        >>> found = mdla.series.nearest_singularity(s, levels=0)
        >>> float(found.location.real)
        -1.024
        >>> found = mdla.series.nearest_singularity(s)
        >>> bool(abs(found.location + 1) <= found.error), bool(found.error < 1e-38)
        (True, True)
    """
    if not isinstance(s, Series):
        raise TypeError(
            f"nearest_singularity takes a Series, got {type(s).__name__}; write "
            "mdla.series.Series(a) for coefficients a, lowest power first"
        )
    wanted = None if levels is None else read_degree(levels)
    c, exponents = balanced(s.coefficients)
    rows = c.reshape(-1, c.shape[-1])
    location = full(len(rows), np.inf, c.prec).astype(c.prec, complex=True)
    error = np.full(len(rows), np.inf)
    nonzero = (rows.planes[:, 0] != 0).any(axis=0)
    patterns: dict[_Pattern, list[int]] = {}
    sizes = np.abs(s.coefficients.planes[:, 0]).max(axis=0).reshape(nonzero.shape)
    for i, known in enumerate(nonzero):
        known = known[: _length(sizes[i], c.precision)]
        patterns.setdefault(_pattern(known), []).append(i)
    for pattern, where_ in patterns.items():
        w, accuracy = _estimate(rows[np.array(where_)], pattern, wanted)
        location[np.array(where_)], error[where_] = w, accuracy
    shift = exponents.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.ldexp(error, shift)
    location = ldexp(location, shift)
    return SingularityResult(location.reshape(s.shape), error.reshape(s.shape))


def radius_of_convergence(s: Series, levels: int | None = None) -> RadiusResult:
    """The distance from the origin to the nearest singularity, see `nearest_singularity`.

    Args:
        s: Series of any shape.
        levels: As for `nearest_singularity`.

    Raises:
        TypeError: As for `nearest_singularity`.
        ValueError: As for `nearest_singularity`.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(40, prec="qd")
        >>> radius, error = mdla.series.radius_of_convergence(1 / (4 + t * t))
        >>> bool(radius == 2)
        True
    """
    location, error = nearest_singularity(s, levels)
    return RadiusResult(absolute(location), error)


class _Pattern(NamedTuple):
    """Which coefficients are used: ``used`` of them at the distance ``gap`` up to ``last``."""

    last: int
    gap: int
    used: int
    before: int


def _length(sizes: Floats, prec: Precision) -> int:
    """How many coefficients count: where they fade out of the range of doubles, those before.

    Zeros behind a coefficient show a polynomial unless the next one could be no other number.
    """
    index = np.flatnonzero(sizes)
    if len(index) < 3 or index[-1] == len(sizes) - 1:
        return len(sizes)
    last, before = np.log2(sizes[index[-1]]), np.log2(sizes[index[-2]])
    if not 2 * last - before < np.log2(np.finfo(sizes.dtype).smallest_subnormal):
        return len(sizes)
    whole = np.flatnonzero(sizes >= finfo(prec).safe_min)
    return int(whole[-1]) + 1 if len(whole) > 2 else len(sizes)


def _pattern(known: npt.NDArray[np.bool_]) -> _Pattern:
    """The pattern of the coefficients that are not zero; `used` is 0 for polynomials.

    1 stands for irregular gaps; then `before` is the coefficient before the last.
    """
    index = np.flatnonzero(known[1:]) + 1
    if len(index) < 2:
        return _Pattern(0, 0, 0, 0)
    last = int(index[-1])
    gap = math.gcd(*(int(b - a) for a, b in itertools.pairwise(index)))
    if len(known) - 1 - last >= np.diff(index).max():
        return _Pattern(0, 0, 0, 0)
    distances = last - index[::-1]
    run = int((distances == gap * np.arange(len(index))).cumprod().sum())
    if run >= 2 and (run > 2 or len(index) == 2):
        if last - gap * run == 0 and known[0]:
            run += 1  # the constant term goes on with the sequence
        return _Pattern(last, gap, run, 0)
    return _Pattern(last, gap, 1, int(index[-2]))


def _estimate(c: MDArray, pattern: _Pattern, levels: int | None) -> tuple[MDArray, Floats]:
    """Locations and errors for rows with one pattern."""
    last, gap, count, _ = pattern
    if count == 0:
        finite = np.isfinite(c.planes).all(axis=(0, 1, 3))
        return full(len(c), np.inf, c.prec), np.where(finite, 0.0, np.inf)
    if count == 1:
        return _irregular(c, pattern, levels)
    used = c[:, [last - gap * i for i in range(count)]]
    # The sequence in w = t^g, the last coefficient first.
    w, error = _single(used, last / gap, levels)
    if count >= 5 and levels != 0:
        pair, pair_error = _pair(used, last / gap, levels)
        better = pair_error < error
        w, error = where(better, pair, w), np.where(better, pair_error, error)
    return _rooted(w, error, gap)


def _irregular(c: MDArray, pattern: _Pattern, levels: int | None) -> tuple[MDArray, Floats]:
    """Two singularities where they explain the zeros in between, else the root test."""
    last, gap, _, before = pattern
    size = absolute(divide(c[:, before], c[:, last]))
    w = power(size, Fraction(1, last - before)).astype(c.prec, complex=True)
    error = np.full(len(c), np.inf)
    tail = c[:, list(range(last, 0, -gap))]
    if tail.shape[1] < 5 or levels == 0:
        return w, error
    pair, pair_error = _rooted(*_pair(tail, last / gap, levels), gap)
    good = pair_error < absolute(pair).to_numpy() / 4
    return where(good, pair, w), np.where(good, pair_error, error)


def _rooted(w: MDArray, error: Floats, gap: int) -> tuple[MDArray, Floats]:
    """From ``w = z^gap`` to z."""
    if gap == 1:
        return w, error
    z = power(w.astype(w.prec, complex=True), Fraction(1, gap))
    with np.errstate(all="ignore"):
        return z, error / absolute(w).to_numpy() * absolute(z).to_numpy() / gap


def _single(c: MDArray, top: float, levels: int | None) -> tuple[MDArray, Floats]:
    return _extrapolated(divide(c[:, 1:], c[:, :-1]), top, levels)


def _pair(c: MDArray, top: float, levels: int | None) -> tuple[MDArray, Floats]:
    """Of two singularities at about one distance the nearer, or the upper one."""
    a, b, d, e = c[:, :-3], c[:, 1:-2], c[:, 2:-1], c[:, 3:]
    # a = p b + q d and b = p d + q e; the sum -p / q and the product -1 / q of the roots.
    determinant, over = b * e - d * d, a * d - b * b
    total, total_error = _extrapolated(divide(a * e - b * d, over), top, levels)
    product, product_error = _extrapolated(divide(determinant, over), top, levels)
    half = total / 2
    inner = half * half - product
    root = sqrt(inner.astype(c.prec, complex=True))
    sign = 1 - 2 * (absolute(half + root).to_numpy() > absolute(half - root).to_numpy())
    upper = (sign * root.imag.to_numpy() >= 0) | (inner.imag.to_numpy() != 0)
    sign = np.where(upper | (inner.real.to_numpy() > 0), sign, -sign)
    w = add(half, multiply(root, sign))
    with np.errstate(all="ignore"):
        distance = 2 * absolute(root).to_numpy()
        error = (absolute(w).to_numpy() * total_error + product_error) / distance
    return w, np.where(np.isfinite(error), error, np.inf)


def _extrapolated(x: MDArray, top: float, levels: int | None) -> tuple[MDArray, Floats]:
    """Limits of sequences ``x_i = x(k)``, k = top - i, as k grows, and estimates of their errors.

    Neville's scheme for the polynomial in 1 / k through neighbours, at 0. The error of a level is
    estimated by the correction that the next one brings, the larger of those at the last two
    places.
    """
    values, errors = [x[:, 0]], []
    most = min(x.shape[1] - 1, _MOST_LEVELS if levels is None else levels + 1)
    for level in range(1, most + 1):
        n = x.shape[1] - 1
        k = top - np.arange(n)
        finer = divide(subtract(multiply(x[:, :n], k), multiply(x[:, 1:], k - level)), level)
        corrections = absolute(finer[:, :2] - x[:, : min(n, 2)]).to_numpy()
        values.append(finer[:, 0])
        errors.append(np.where(np.isfinite(corrections), corrections, np.inf).max(axis=1))
        x = finer
    table = np.array([*errors, np.full(len(x), np.inf)])
    best = np.argmin(table, axis=0) if levels is None else np.full(len(x), min(levels, most))
    rows = np.arange(len(x))
    return stack(values, axis=1)[rows, best], table[best, rows]
