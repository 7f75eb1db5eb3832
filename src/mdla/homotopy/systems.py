# SPDX-License-Identifier: BSD-3-Clause
"""Homotopies: systems of equations H(x, t) = 0 that deform from t = 0 to t = 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core.array import MDArray
from mdla.core.precision import Precision
from mdla.homotopy import lanes
from mdla.poly.evaluation import sweep_points, sweep_series
from mdla.poly.system import PolynomialSystem

__all__ = ["Deformation", "Homotopy", "TotalDegree"]

Planes = npt.NDArray[Any]

# A start system with more paths than this does not end in a day.
_MOST_PATHS = 1_000_000


class Deformation(ABC):
    """What the tracker knows of a homotopy.

    The parameter is ``tau = 1 - t``: near the end t = 1 it keeps its relative accuracy. Planes have
    shape (2, N, P, ...), N the number of limbs to compute with, P points.

    Attributes:
        size: The number of coordinates of a point.
        projective: Whether the equations are homogeneous, one less than there are coordinates, and
            coordinate 0 is zero at infinity.
        precision: The format of the coefficients.
        units: The exponents of powers of two that are natural units of the unknowns.
    """

    size: int
    projective: bool
    precision: Precision
    units: npt.NDArray[np.intp]

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """The names of the unknowns."""

    @abstractmethod
    def values_and_jacobian(self, x: Planes, tau: Planes) -> tuple[Planes, Planes]:
        """H and its derivatives by x, shape (2, N, P, m, n)."""

    @abstractmethod
    def along(self, tau: Planes, direction: Planes) -> Planes:
        """What `coefficient` needs to know of the parameter ``tau + s direction``."""

    @abstractmethod
    def coefficient(self, x: Planes, along: Planes) -> Planes:
        """The last coefficient (2, N, P, m) of H at series (2, N, P, n, d + 1) of degree d > 0."""

    @abstractmethod
    def from_affine(self, x: Planes) -> Planes:
        """The coordinates that are tracked of points that are given."""

    @abstractmethod
    def to_affine(self, x: Planes) -> Planes:
        """The points of tracked coordinates."""

    @abstractmethod
    def target(self) -> PolynomialSystem:
        """The system at t = 1 in the unknowns that are given."""


def _values_and_jacobian(system: PolynomialSystem, x: Planes) -> tuple[Planes, Planes]:
    """Values (2, N, P, m) and derivatives (2, N, P, m, n) at points (2, N, P, n)."""
    values, slopes = sweep_points(system.sweep_task(True, x.shape[1]), x)
    return values, slopes.reshape(*values.shape, x.shape[3])


def _at_series(system: PolynomialSystem, x: Planes) -> Planes:
    """Values (2, N, P, m, d + 1) at power series (2, N, P, n, d + 1)."""
    return sweep_series(system.sweep_task(False, x.shape[1]), x)[0]


class Homotopy(Deformation):
    """A polynomial system whose variable ``parameter`` deforms it.

    ``H(x, t) = 0`` for t from 0 to 1 has n equations in n unknowns and the parameter. Solutions are
    tracked as they are, in affine coordinates.

    Args:
        system: n polynomials in n + 1 variables.
        parameter: The name of the variable t.

    Raises:
        TypeError: ``system`` is no `mdla.PolynomialSystem`.
        ValueError: No variable has that name, or there are not as many polynomials as unknowns.

    Example:
        >>> import mdla
        >>> h = mdla.homotopy.Homotopy(mdla.PolynomialSystem("x^2 - 1 - 3*t;"))
        >>> paths = mdla.homotopy.track(h, [[1], [-1]])
        >>> paths.endpoints.to_numpy().real
        array([[ 2.],
               [-2.]])
    """

    projective = False

    def __init__(self, system: PolynomialSystem, parameter: str = "t") -> None:
        _require_system("Homotopy", system)
        if parameter not in system.variables:
            raise ValueError(
                f"Homotopy: no variable is named {parameter!r}; name one of "
                f"{', '.join(system.variables)} with parameter="
            )
        m, n = system.shape
        if m != n - 1:
            raise ValueError(
                f"Homotopy: {n - 1} unknowns and the parameter {parameter!r} need {n - 1} "
                f"polynomials, got {m}"
            )
        self.size = m
        self.precision = system.precision
        self.parameter = parameter
        self.system = system
        self.units = np.zeros(m, dtype=np.intp)
        self._place = system.variables.index(parameter)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the unknowns."""
        return tuple(name for name in self.system.variables if name != self.parameter)

    def _points(self, x: Planes, tau: Planes) -> Planes:
        t = lanes.sub(lanes.constant(1.0, *tau.shape[2:]), tau)
        return np.insert(x, self._place, t, axis=3)

    def values_and_jacobian(self, x: Planes, tau: Planes) -> tuple[Planes, Planes]:
        """H and its Jacobian at points."""
        values, slopes = _values_and_jacobian(self.system, self._points(x, tau))
        return values, np.delete(slopes, self._place, axis=4)

    def along(self, tau: Planes, direction: Planes) -> Planes:
        """The coefficients of t, planes (2, N, P, 2)."""
        t = np.zeros((*tau.shape, 2))
        t[..., 0] = lanes.sub(lanes.constant(1.0, *tau.shape[2:]), tau)
        t[:, : direction.shape[1], :, 1] = -direction
        return t

    def coefficient(self, x: Planes, along: Planes) -> Planes:
        """The last coefficient of H at power series."""
        t = np.zeros((*x.shape[:3], x.shape[4]))
        t[..., :2] = along
        values: Planes = _at_series(self.system, np.insert(x, self._place, t, axis=3))[..., -1]
        return values

    def from_affine(self, x: Planes) -> Planes:
        """The coordinates that are tracked."""
        return x

    def to_affine(self, x: Planes) -> Planes:
        """The points of tracked coordinates."""
        return x

    def target(self) -> PolynomialSystem:
        """The system at t = 1."""
        supports, coefficients = [], []
        for exponents, numbers in zip(self.system.supports, self.system.coefficients, strict=True):
            supports.append(np.delete(exponents, self._place, axis=1))
            coefficients.append(numbers)
        return PolynomialSystem.from_supports(
            supports, coefficients, self.precision, variables=self.variables
        )


class TotalDegree(Deformation):
    """The homotopy from roots of unity to the solutions of a square polynomial system.

    ::

        H(x, t) = gamma (1 - t) G(x) + t F(x),    g_i(x) = x_i^d_i - x_0^d_i

    with F the given system, made homogeneous of degrees d_i by a coordinate x_0. The start system G
    has the d_1 ... d_n solutions whose coordinates are roots of unity, Bezout's number. For all but
    finitely many gamma on the unit circle the paths are smooth for t < 1 and their ends include
    all isolated solutions of F (A. Sommese, C. Wampler, The Numerical Solution of Systems of
    Polynomials, 2005, theorem 8.4.1); those that go to infinity end at x_0 = 0.

    Equations and unknowns of F are scaled by powers of two that bring the logarithms of the
    coefficients as near to zero as can be in the sense of least squares (A. Morgan, Solving
    Polynomial Systems Using Continuation for Engineering and Scientific Problems, 1987, chapter 5);
    G stands in the scaled unknowns.

    Args:
        system: n polynomials in n variables.
        rng: Draws gamma: a NumPy generator or a seed.

    Raises:
        TypeError: ``system`` is no `mdla.PolynomialSystem`.
        ValueError: The system is not square, a polynomial is zero, or there are more than a million
            paths.

    Example:
        >>> import mdla
        >>> h = mdla.homotopy.TotalDegree(mdla.PolynomialSystem("x^2 + y - 1; x*y + 2;"))
        >>> h.starts.shape
        (4, 2)
    """

    projective = True

    def __init__(self, system: PolynomialSystem, rng: np.random.Generator | int | None = 0) -> None:
        _require_system("TotalDegree", system)
        _require_square("TotalDegree", system)
        n = system.shape[1]
        self.size = n + 1
        self.precision = system.precision
        self.system = system
        angle = np.random.default_rng(rng).uniform(0.25, 2 * math.pi - 0.25)
        self.gamma = complex(math.cos(angle), math.sin(angle))
        self._gamma = lanes.constant(self.gamma, 1)
        self.units = _units(system)
        self._swept = _start_and_target(system, self.units)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the unknowns."""
        return self.system.variables

    @property
    def starts(self) -> MDArray:
        """The solutions at t = 0 to double precision, shape (paths, n)."""
        degrees = self.system.degrees
        count = math.prod(degrees)
        x = np.zeros((2, 1, count, len(degrees)))
        rest = np.arange(count)
        for i in reversed(range(len(degrees))):
            rest, turn = np.divmod(rest, degrees[i])
            x[0, 0, :, i] = np.cos(2 * np.pi * turn / degrees[i])
            x[1, 0, :, i] = np.sin(2 * np.pi * turn / degrees[i])
        return MDArray(np.ldexp(x, self.units))

    def _weights(self, tau: Planes) -> tuple[Planes, Planes]:
        """The factors gamma tau and 1 - tau, with an axis for the equations."""
        start = lanes.mul(tau, self._gamma)
        end = lanes.sub(lanes.constant(1.0, *tau.shape[2:]), tau)
        return start[..., None], end[..., None]

    def _combine(self, both: Planes, start: Planes, end: Planes) -> Planes:
        half = both.shape[3] // 2
        return lanes.add(
            lanes.mul(both[:, :, :, :half], start), lanes.mul(both[:, :, :, half:], end)
        )

    def values_and_jacobian(self, x: Planes, tau: Planes) -> tuple[Planes, Planes]:
        """H and its Jacobian at points."""
        both, slopes = _values_and_jacobian(self._swept, x)
        start, end = self._weights(tau)
        half = both.shape[3] // 2
        jacobian = lanes.mul(slopes[:, :, :, half:], end[..., None])
        # A row of G's Jacobian has two entries.
        rows = np.concatenate([np.arange(half), np.arange(half)])
        columns = np.concatenate([np.zeros(half, dtype=int), np.arange(half) + 1])
        part = lanes.mul(slopes[:, :, :, rows, columns], start)
        here = jacobian[:, :, :, rows, columns]
        jacobian[:, :, :, rows, columns] = lanes.add(here, part)
        return self._combine(both, start, end), jacobian

    def along(self, tau: Planes, direction: Planes) -> Planes:
        """The factors of G_(k-1), G_k, F_(k-1), F_k in coefficient k, planes (2, N, P, 4)."""
        start, end = self._weights(tau)
        out = np.zeros((*tau.shape, 4))
        out[:, :1, :, 0] = lanes.mul(direction, self._gamma)
        out[..., 1] = start[..., 0]
        out[:, :1, :, 2] = -direction
        out[..., 3] = end[..., 0]
        return out

    def coefficient(self, x: Planes, along: Planes) -> Planes:
        """The last coefficient of H at power series."""
        both = _at_series(self._swept, x)[..., -2:]
        parts, limbs, count, rows = both.shape[:4]
        terms = both.reshape(parts, limbs, count, 2, rows // 2, 2).swapaxes(3, 4)
        return lanes.matvec(terms.reshape(parts, limbs, count, rows // 2, 4), along)

    def from_affine(self, x: Planes) -> Planes:
        """The coordinates that are tracked."""
        out = np.zeros((*x.shape[:3], self.size))
        out[0, 0, :, 0] = 1
        out[..., 1:] = np.ldexp(x, -self.units)
        return out

    def to_affine(self, x: Planes) -> Planes:
        """The points of tracked coordinates."""
        x = lanes.div(x[..., 1:], np.broadcast_to(x[..., :1], x[..., 1:].shape))
        return np.ldexp(x, self.units)

    def target(self) -> PolynomialSystem:
        """The system at t = 1."""
        return self.system


def _require_system(function: str, system: Any) -> None:
    if not isinstance(system, PolynomialSystem):
        raise TypeError(
            f"{function}: expected an mdla.PolynomialSystem, got {type(system).__name__}; "
            "write mdla.PolynomialSystem(text)"
        )


def _require_square(function: str, system: PolynomialSystem) -> None:
    m, n = system.shape
    if m > n:
        raise ValueError(
            f"{function}: {m} polynomials in {n} variables are overdetermined; track "
            f"{n} random combinations of them and keep the ends that solve all"
        )
    if m < n:
        raise ValueError(
            f"{function}: {m} polynomials in {n} variables have infinitely many solutions or "
            f"none; add {n - m} equations, such as random linear ones"
        )
    for k, support in enumerate(system.supports):
        if not len(support):
            raise ValueError(f"{function}: polynomial {k} is zero; leave it out")
    if system.total_degree > _MOST_PATHS:
        raise ValueError(
            f"{function}: the product of the degrees is {system.total_degree:,}, more than "
            f"{_MOST_PATHS:,} paths; give a homotopy with fewer paths to mdla.homotopy.track"
        )


def _units(system: PolynomialSystem) -> npt.NDArray[np.intp]:
    """The exponents s of units ``x_i = 2^s_i y_i`` that bring coefficients near to one another."""
    m, n = system.shape
    rows, right = [np.eye(n, m + n, m) * 2.0**-10], [np.zeros(n)]
    for k, (support, numbers) in enumerate(zip(system.supports, system.coefficients, strict=True)):
        row = np.zeros((len(support), m + n))
        row[:, k] = 1
        row[:, m:] = support
        rows.append(row)
        lead = np.abs(numbers.planes[:, 0]).max(axis=0)
        right.append(-np.frexp(lead)[1].astype(float))
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0][m:]
    return np.clip(np.rint(found), -200, 200).astype(np.intp)


def _start_and_target(system: PolynomialSystem, units: npt.NDArray[np.intp]) -> PolynomialSystem:
    """The 2 n homogeneous polynomials of G and F in x_0, y_1, ..., y_n."""
    supports, coefficients = [], []
    n = system.shape[1]
    for i, degree in enumerate(system.degrees):
        exponents = np.zeros((2, n + 1), dtype=np.int64)
        exponents[0, i + 1] = degree
        exponents[1, 0] = degree
        supports.append(exponents)
        coefficients.append(MDArray(np.array([[[1.0, -1.0]]])))
    for own, numbers, degree in zip(
        system.supports, system.coefficients, system.degrees, strict=True
    ):
        missing = degree - own.sum(axis=1, keepdims=True)
        supports.append(np.concatenate([missing, own], axis=1))
        lead = np.abs(numbers.planes[:, 0]).max(axis=0)
        scale = own @ units
        largest = (np.frexp(lead)[1] + scale).max()
        coefficients.append(MDArray(np.ldexp(numbers.planes, scale - largest)))
    return PolynomialSystem.from_supports(supports, coefficients, system.precision)
