# SPDX-License-Identifier: BSD-3-Clause
"""Equations f(x, t) = 0 as Newton's method wants them: values and derivatives on planes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.creation import asarray, zeros
from mdla.series.dual import Dual
from mdla.series.series import Series

__all__ = ["Equations", "read_equations"]

Planes = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Equations(ABC):
    """m functions of n unknowns x and a parameter t, at batches of points and of series.

    Attributes:
        unknowns: n, or None where it is that of the starting vector.
        count: m, or None where it is known only from values.
        coefficients: A number with the precision of the functions, complex if they are.
    """

    unknowns: int | None = None
    count: int | None = None
    coefficients: Any = 0

    @property
    @abstractmethod
    def shape_of_x0(self) -> str:
        """The shape of starting vectors, for messages."""

    @abstractmethod
    def at_start(self, x: Planes, at: Planes) -> tuple[Planes, Planes]:
        """Values (c, N, *batch, m) and derivatives (c, N, *batch, m, n) at (c, N, *batch, n)."""

    @abstractmethod
    def values(self, x: Planes, at: Planes) -> Planes:
        """Values (c, N, *batch, m, k) at series (c, N, *batch, n, k) and the parameter at + t."""

    @abstractmethod
    def jacobian(self, x: Planes, at: Planes) -> Planes:
        """Derivatives (c, N, *batch, m, n, k) there."""

    def sizes(self, x: Floats, at: Floats) -> Floats:
        """Sizes (*batch, m, k) of the terms of values, from those of x and of the parameter.

        Zero where nothing is known of them.
        """
        return np.zeros(())


def read_equations(system: Any, jacobian: Any, parameter: str | None) -> Equations:
    """The equations of a system or a function.

    Raises:
        TypeError: ``system`` is neither, or ``jacobian`` is no function.
        ValueError: There is no such parameter, or an argument is for the other kind.
    """
    if hasattr(system, "variables") and hasattr(system, "evaluate_and_jacobian"):
        if jacobian is not None:
            raise ValueError(
                "newton: a system has its own derivatives; leave jacobian away, or pass a function"
            )
        return _SystemEquations(system, parameter)
    if not callable(system):
        raise TypeError(
            f"newton: system must be an mdla.PolynomialSystem or a function f(x, t), got "
            f"{type(system).__name__}"
        )
    if parameter is not None:
        raise ValueError(
            f"newton: parameter={parameter!r} names a variable of a system; a function f(x, t) "
            "has its parameter as second argument"
        )
    if jacobian is not None and not callable(jacobian):
        raise TypeError(
            f"newton: jacobian must be a function of (x, t), got {type(jacobian).__name__}"
        )
    return _FunctionEquations(system, jacobian)


def _series_of_parameter(at: Planes, length: int) -> Planes:
    """The coefficients of at + t."""
    t = np.zeros((*at.shape, length))
    t[..., 0] = at
    if length > 1:
        t[0, 0, ..., 1] = 1
    return t


class _SystemEquations(Equations):
    """A system of polynomials, one of whose variables is the parameter."""

    def __init__(self, system: Any, parameter: str | None) -> None:
        names = tuple(system.variables)
        name = "t" if parameter is None else parameter
        if name not in names:
            raise ValueError(
                f"newton: the system has no variable {name!r}, its variables are "
                f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}; write parameter= "
                "for the name of the one that is the parameter of the series"
            )
        self._system = system
        self._place = names.index(name)
        self._names = [name for i, name in enumerate(names) if i != self._place]
        self.unknowns = len(self._names)
        self._others: Any = [i for i in range(len(names)) if i != self._place]
        if self._place == self.unknowns:
            self._others = slice(self.unknowns)  # no copies
        self.count = int(system.shape[0])
        self.coefficients = zeros((), prec=system.prec)
        if system.iscomplex:
            self.coefficients = self.coefficients.astype(system.prec, complex=True)

    @property
    def shape_of_x0(self) -> str:
        names = ", ".join(self._names[:8]) + (", ..." if len(self._names) > 8 else "")
        n = self.unknowns
        return f"({n},) or (..., {n}), a number for each of the variables {names or '(none)'}"

    def _joined(self, x: Planes, t: Planes, axis: int) -> MDArray:
        """All variables in their order."""
        shape = list(x.shape)
        shape[axis] += 1
        joined = np.empty(shape)
        moved = np.moveaxis(joined, axis, 0)
        moved[self._others] = np.moveaxis(x, axis, 0)
        moved[self._place] = t
        return MDArray(joined)

    def at_start(self, x: Planes, at: Planes) -> tuple[Planes, Planes]:
        points = self._joined(x, at, -1)
        value, slopes = self._system.evaluate_and_jacobian(points, prec=points.prec)
        return value.planes, slopes.planes[..., self._others]

    def _at_series(self, x: Planes, at: Planes) -> Series:
        return Series(self._joined(x, _series_of_parameter(at, x.shape[-1]), -2))

    def values(self, x: Planes, at: Planes) -> Planes:
        points = self._at_series(x, at)
        value: Planes = self._system.evaluate(points, prec=points.prec).coefficients.planes
        return value

    def jacobian(self, x: Planes, at: Planes) -> Planes:
        points = self._at_series(x, at)
        slopes: Planes = self._system.jacobian(points, prec=points.prec).coefficients.planes
        return slopes[..., self._others, :]

    def sizes(self, x: Floats, at: Floats) -> Floats:
        if not hasattr(self._system, "majorant"):
            return super().sizes(x, at)
        points = self._at_series(x[np.newaxis, np.newaxis], at[np.newaxis, np.newaxis])
        found: Floats = self._system.majorant().evaluate(points).coefficients.planes[0, 0]
        return found


class _FunctionEquations(Equations):
    """A function of series, with derivatives in forward mode or by another function."""

    shape_of_x0 = "(n,) or (..., n)"

    def __init__(self, function: Callable[..., Any], jacobian: Callable[..., Any] | None) -> None:
        self._function, self._jacobian = function, jacobian

    def at_start(self, x: Planes, at: Planes) -> tuple[Planes, Planes]:
        point = x[..., np.newaxis]
        value, slopes = self.values(point, at), self.jacobian(point, at)
        if value.shape[-2] != slopes.shape[-3]:
            raise ValueError(
                f"newton: f returned {value.shape[-2]} values and jacobian {slopes.shape[-3]} rows"
            )
        parts = max(len(value), len(slopes))
        if parts == 2:
            value, slopes = _planes.as_complex(value), _planes.as_complex(slopes)
        return value[..., 0], slopes[..., 0]

    def values(self, x: Planes, at: Planes) -> Planes:
        arguments = _arguments(x, at)
        return _read("f", self._function(*arguments), x, 1)

    def jacobian(self, x: Planes, at: Planes) -> Planes:
        series, t = _arguments(x, at)
        if self._jacobian is None:
            return _read_tangents(self._function(Dual.variables(series), t), x)
        slopes = _read("jacobian", self._jacobian(series, t), x, 2)
        if slopes.shape[-2] != x.shape[-2]:
            raise ValueError(
                f"newton: jacobian returned rows of length {slopes.shape[-2]} for "
                f"{x.shape[-2]} unknowns"
            )
        return slopes


def _arguments(x: Planes, at: Planes) -> tuple[Series, Series]:
    parameter = _series_of_parameter(at, x.shape[-1])
    return Series(MDArray(x)), Series(MDArray(parameter))


def _read(name: str, result: Any, x: Planes, axes: int) -> Planes:
    """What a function returned, as planes (c, N, *batch, m, k) or (c, N, *batch, m, n, k)."""
    if isinstance(result, (list, tuple)):
        if not result:
            raise ValueError(f"newton: {name} returned no values; return a list of series")
        parts = [_read(name, entry, x, axes - 1) for entry in result]
        if len({part.shape[2:] for part in parts}) > 1:
            raise ValueError(f"newton: {name} returned rows of different lengths")
        return _stacked(parts, -1 - axes)
    batch, unknowns, length = _planes.shape_of(x)[:-2], x.shape[-2], x.shape[-1]
    if isinstance(result, Series):
        coefficients = result.coefficients
        if coefficients.shape[-1] < length:
            raise ValueError(
                f"newton: {name} returned a series of degree {coefficients.shape[-1] - 1} where x "
                f"has degree {length - 1}; write constants as numbers, and truncate nothing"
            )
        planes = coefficients.planes[..., :length]
    elif axes:
        raise ValueError(
            f"newton: {name} must return a Series of shape (..., m{', n' * (axes - 1)}) or "
            f"{'a list' if axes == 1 else 'lists'} of series, got {type(result).__name__}"
        )
    else:
        constant = asarray(result).planes
        planes = np.zeros((*constant.shape, length))
        planes[..., 0] = constant
    planes = _planes.cast(planes, MDArray(x).precision)
    own = _planes.shape_of(planes)[:-1]
    tail = own[len(own) - axes :] if len(own) >= axes else own
    if len(tail) < axes or not _fits(own, batch, axes):
        wanted = [*map(str, batch), *("m", str(unknowns))[:axes]]
        raise ValueError(
            f"newton: {name} returned series of shape {own} for x of shape "
            f"{(*batch, unknowns)}; they must have the shape "
            f"({', '.join(wanted)}{',' * (len(wanted) == 1)}), so write x[..., 0] for the first "
            "unknown of every path"
        )
    return np.ascontiguousarray(_planes.broadcast(planes, (*batch, *tail, length)))


def _fits(own: tuple[int, ...], batch: tuple[int, ...], axes: int) -> bool:
    """Whether the leading axes broadcast to those of the batch."""
    try:
        return np.broadcast_shapes(own[: len(own) - axes], batch) == batch
    except ValueError:
        return False


def _stacked(parts: list[Planes], axis: int) -> Planes:
    """Planes joined along a new axis, complex if one of them is."""
    if max(len(part) for part in parts) == 2:
        parts = [_planes.as_complex(part) for part in parts]
    return np.stack(parts, axis=axis)


def _read_tangents(result: Any, x: Planes) -> Planes:
    """The derivatives that a function of dual series returned: (c, N, *batch, m, n, k)."""
    if isinstance(result, Dual):
        return _read("f", result.tangent, x, 2)
    if isinstance(result, (list, tuple)):
        rows = []
        for entry in result:
            if isinstance(entry, Dual):
                tangent = entry.tangent
                rows.append(_read_row(tangent, x))
            else:  # it does not depend on x
                rows.append(np.zeros((1, *x.shape[1:])))
        return _stacked(rows, -3)
    values = _read("f", result, x, 1)
    return np.zeros((*values.shape[:-1], x.shape[-2], x.shape[-1]))


def _read_row(tangent: Series, x: Planes) -> Planes:
    """The derivatives of one function: (c, N, *batch, n, k)."""
    one_row = MDArray(np.expand_dims(tangent.coefficients.planes, -3))
    return _read("f", Series(one_row), x, 2)[..., 0, :, :]
