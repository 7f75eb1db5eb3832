# SPDX-License-Identifier: BSD-3-Clause
"""Padé approximants of power series."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdla.core.arithmetic import absolute, divide, ldexp
from mdla.core.array import MDArray
from mdla.core.creation import full, ones, zeros
from mdla.core.manipulation import concatenate, flip, stack
from mdla.linalg.inputs import LinAlgError
from mdla.linalg.qr import qr
from mdla.linalg.roots import roots
from mdla.linalg.solve import solve
from mdla.linalg.svd import svd
from mdla.series import arithmetic
from mdla.series.products import convolve, read_degree
from mdla.series.scaling import balanced, rescaled
from mdla.series.series import Series

__all__ = ["PadeApproximant", "pade", "robust_pade"]


class PadeApproximant(NamedTuple):
    """A rational function ``(a_0 + ... + a_L t^L) / (1 + b_1 t + ... + b_M t^M)``, or many.

    Attributes:
        numerator: The coefficients a, shape ``(..., L + 1)``, lowest power first.
        denominator: The coefficients b, shape ``(..., M + 1)``, lowest power first, ``b_0 = 1``.
    """

    numerator: MDArray
    denominator: MDArray

    def __call__(self, x: Any) -> MDArray:
        """The values at x, whose shape broadcasts against that of the series; Horner's rule."""
        top = arithmetic.evaluate(self.numerator, x)
        return divide(top, arithmetic.evaluate(self.denominator, x))

    def poles(self) -> MDArray:
        """The zeros of the denominator, complex ``(..., M)`` in ascending order of modulus.

        Where its degree is less than M, the last ones are infinite.

        Example:
            >>> import mdla
            >>> t = mdla.series.variable(6, prec="qd")
            >>> r = mdla.series.pade(1 / ((1 - t) * (1 + 2 * t)), 1, 2)
            >>> r.poles().to_numpy()
            array([-0.5+0.j,  1. +0.j])
        """
        b = self.denominator
        m = b.shape[-1] - 1
        rows = b.reshape(-1, m + 1)
        found = zeros((len(rows), m), b.precision, complex=True)
        for i in range(len(rows)):
            z = roots(flip(rows[i]))
            z = z[np.argsort(absolute(z).to_numpy(), kind="stable")]
            found[i, : len(z)] = z
            found[i, len(z) :] = full(m - len(z), np.inf, b.prec)
        return found.reshape(*b.shape[:-1], m)


def pade(s: Series, L: int, M: int) -> PadeApproximant:
    """The Padé approximant [L/M]: ``s(t) b(t) - a(t) = O(t^(L+M+1))``, ``b(0) = 1``.

    The coefficients of the denominator solve the linear equations
    ``sum_(j=0..M) b_j c_(L+i-j) = 0``, i = 1, ..., M (G. A. Baker, P. Graves-Morris, Padé
    Approximants, 1996, section 1.1), after t has been scaled by a power of two so that the
    coefficients have similar sizes; those of the numerator are ``a_k = sum_j b_j c_(k-j)``. Where
    these equations are singular to working precision, `robust_pade` gives the approximant, which
    then belongs to smaller degrees.

    Args:
        s: Series of any shape, of degree L + M at least.
        L: The degree of the numerator.
        M: The degree of the denominator. (``scipy.interpolate.pade`` takes them the other way
            round.)

    Returns:
        A `PadeApproximant` in the precision of the series.

    Raises:
        ValueError: The degree of the series is less than L + M, or a coefficient is not finite.
        TypeError: ``s`` is no Series, or a degree no integer.

    Example:
        >>> import mdla
        >>> r = mdla.series.pade(mdla.series.exp(mdla.series.variable(4)), 2, 2)
        >>> print(r.numerator * 12, r.denominator * 12)
        [12.  6.  1.] [12. -6.  1.]
    """
    c, L, M = _read("pade", s, L, M)
    scaled, exponents = balanced(c)
    try:
        b = _denominator(scaled, L, M)
    except LinAlgError:
        # Some of them are singular; which, the stack does not say.
        return _each(scaled, exponents, L, M, _regular_or_robust)
    return _unscaled(convolve(b, scaled, L), b, exponents)


def robust_pade(s: Series, L: int, M: int, tol: float | None = None) -> PadeApproximant:
    """The Padé approximant [L/M], with degrees that are lowered where the table is degenerate.

    The algorithm of P. Gonnet, S. Güttel and L. N. Trefethen (SIAM Review 55 (2013) 101-117,
    algorithm 2): degrees are lowered until the matrix of ``sum_j b_j c_(L+i-j) = 0`` has full rank,
    singular values up to ``tol`` times the norm of the coefficients counting as zero; b is its null
    vector, from a singular value decomposition and a QR factorisation of the matrix with columns
    scaled by that, and zeros at both ends are removed. Pairs of a spurious pole and a zero do not
    occur.

    Args:
        s: Series of any shape, of degree L + M at least.
        L: The degree of the numerator.
        M: The degree of the denominator.
        tol: The relative tolerance; by default ``16 (L + M + 1) eps``, for coefficients with
            errors of working precision.

    Returns:
        A `PadeApproximant` of the shapes of `pade`; what degrees do not need is zero.

    Raises:
        ValueError: As for `pade`, or ``tol`` is negative or not a number.
        TypeError: As for `pade`.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(8)
        >>> r = mdla.series.robust_pade((1 + t) / (1 - t), 4, 4)
        >>> print(r.numerator, r.denominator)
        [1. 1. 0. 0. 0.] [ 1. -1.  0.  0.  0.]
    """
    c, L, M = _read("robust_pade", s, L, M)
    if tol is not None and not tol >= 0:
        raise ValueError(f"robust_pade: tol is a relative tolerance of 0 or more, got {tol}")
    scaled, exponents = balanced(c)
    return _each(scaled, exponents, L, M, lambda one, L, M: _robust(one, L, M, tol))


def _read(function: str, s: Any, L: Any, M: Any) -> tuple[MDArray, int, int]:
    if not isinstance(s, Series):
        raise TypeError(
            f"{function} takes a Series, got {type(s).__name__}; write mdla.series.Series(a) for "
            "coefficients a, lowest power first"
        )
    L, M = read_degree(L), read_degree(M)
    if s.degree < L + M:
        raise ValueError(
            f"{function}: [{L}/{M}] needs a series of degree {L + M}, got degree {s.degree}; write "
            "s.truncate(L + M) if s is a polynomial"
        )
    c = s.coefficients[..., : L + M + 1]
    if not np.isfinite(c.planes[:, 0]).all():
        raise ValueError(f"{function}: s has infinities or nans; remove these series")
    return c, L, M


def _toeplitz(c: MDArray, L: int, M: int) -> MDArray:
    """The matrix of entries ``c_(L+i-j)``, i = 1, ..., M, j = 0, ..., M; zero below c_0."""
    index = L + np.arange(1, M + 1)[:, np.newaxis] - np.arange(M + 1)
    picked = c[..., np.maximum(index, 0)]
    picked[..., index < 0] = 0
    return picked


def _denominator(c: MDArray, L: int, M: int) -> MDArray:
    one = ones((*c.shape[:-1], 1), c.precision)
    if M == 0:
        return one
    t = _toeplitz(c, L, M)
    return concatenate([one, solve(t[..., 1:], -t[..., :1])[..., 0]], axis=-1)


def _regular_or_robust(c: MDArray, L: int, M: int) -> tuple[MDArray, MDArray]:
    try:
        b = _denominator(c, L, M)
    except LinAlgError:
        return _robust(c, L, M, None)
    return convolve(b, c, L), b


def _each(c: MDArray, exponents: Any, L: int, M: int, approximant: Any) -> PadeApproximant:
    """The approximants of all series of an array, one by one."""
    rows = c.reshape(-1, c.shape[-1])
    found = [approximant(row, L, M) for row in rows]
    a, b = (
        stack([_filled(pair[i], n + 1) for pair in found]).reshape(*c.shape[:-1], n + 1)
        if found
        else zeros((*c.shape[:-1], n + 1), c.precision)
        for i, n in enumerate((L, M))
    )
    return _unscaled(a, b, exponents)


def _filled(x: MDArray, length: int) -> MDArray:
    return concatenate([x, zeros(length - len(x), x.precision)])


def _unscaled(a: MDArray, b: MDArray, exponents: Any) -> PadeApproximant:
    return PadeApproximant(rescaled(a, -exponents), rescaled(b, -exponents))


def _robust(c: MDArray, L: int, M: int, tol: float | None) -> tuple[MDArray, MDArray]:
    """Numerator and denominator of one series, of the degrees that are left."""
    eps = 2.0**c.precision.eps_exponent
    relative = 16 * (L + M + 1) * eps if tol is None else tol
    # Sizes near one, so that norms and products keep all their bits.
    top = int(np.frexp(np.abs(c.planes[:, 0]).max())[1])
    c = ldexp(c, -top)
    sizes = absolute(c).to_numpy()
    threshold = relative * float(np.linalg.norm(sizes))
    one = ones(1, c.precision)
    if np.linalg.norm(sizes[: L + 1]) <= threshold:
        return zeros(1, c.precision), one
    b = one
    while M > 0:
        t = _toeplitz(c, L, M)
        factors = svd(t, full_matrices=True)
        rank = int((factors.S.to_numpy() > threshold).sum())
        if rank == M:
            b = _null_vector(t, factors.Vh[-1].conj(), eps)
            break
        L, M = max(L - (M - rank), 0), rank
    a = convolve(b, c, L)
    kept = np.flatnonzero(absolute(b).to_numpy() > relative)
    first = int(kept[0])
    b = b[first : kept[-1] + 1]
    a = a[first:]
    kept = np.flatnonzero(absolute(a).to_numpy() > threshold)
    a = a[: kept[-1] + 1] if len(kept) else zeros(1, c.precision)
    return ldexp(divide(a, b[0]), top), divide(b, b[0])


def _null_vector(t: MDArray, b: MDArray, eps: float) -> MDArray:
    """The null vector of t from an approximation, with zeros where they belong.

    As in the paper: of ``(t D)^H`` with D = diag(|b| + sqrt(eps)) the last column q of the
    orthogonal factor gives ``D q``.
    """
    weights = absolute(b) + float(np.sqrt(eps))
    q = qr((t * weights).H, mode="complete").Q[:, -1]
    v = weights * q
    size = absolute(v).to_numpy()
    return divide(v, v[int(np.argmax(size))])
