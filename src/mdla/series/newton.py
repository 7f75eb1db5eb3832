# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method at power series."""

from __future__ import annotations

import math
import operator
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import negative, subtract
from mdla.core.array import MDArray
from mdla.linalg.inputs import Inputs, read_inputs, require_finite, stacked
from mdla.series.equations import Equations, read_equations
from mdla.series.series import Series
from mdla.series.toeplitz import LeadingMatrices, forward_substitution

__all__ = ["NewtonResult", "newton"]

Planes = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# A correction that is no smaller than this part of the one before it is a rounding error, if it is
# below the square root of eps.
_STAGNATION = 0.25


_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True)
class NewtonResult:
    """What `newton` returns; for a batch of paths the numbers are arrays of its shape.

    Attributes:
        x: The solution, a `Series` of shape ``(..., n)`` and the degree asked for.
        converged: Whether the residual is small in every degree.
        order: The largest degree up to which it is; -1 if there is none.
        residual: For each degree k, shape ``(..., degree + 1)``, the largest residual of an
            equation, relative to the size of its terms: ``max_i |f_ik| / s_ik`` with ``s_ik =
            (sum_j |J_j| |x_(k-j)|)_i``. Where that exceeds ``tol`` for a system, s_ik is the size
            of its terms, which may cancel: coefficient k of ``sum_e |c_e| |x|^e``. Of a function
            nothing is known of terms that cancel.
        update: The size of the last correction of the starting vector, relative to it.
        rcond: The estimated reciprocal condition of the leading matrix; 0 if its rank is less than
            n.
        steps: How often the starting vector was corrected.
    """

    x: Series
    converged: Any
    order: Any
    residual: Floats
    update: Any
    rcond: Any
    steps: Any


def newton(
    system: Any,
    x0: Any,
    degree: int,
    *,
    jacobian: Any = None,
    parameter: str | None = None,
    at: Any = 0,
    prec: Any = None,
    steps: int = 20,
    tol: float | None = None,
    rcond: float | None = None,
) -> NewtonResult:
    """The power series x(t) with ``f(x(t), at + t) = 0`` that begins with x0.

    The starting vector is corrected by Newton's method at ``t = 0`` until the corrections are
    rounding errors. Then each step doubles the number k of coefficients that are known: with J the
    derivatives of f by x,

        J(t) y(t) = -f(x(t)) / t^k  mod t^k,    x(t) <- x(t) + t^k y(t),

    a block lower triangular Toeplitz system, see `mdla.series.solve`, whose diagonal is the same
    for all steps and is factored once (N. Bliss and J. Verschelde, Linear Algebra Appl. 542 (2018)
    569-588; J. Verschelde, arXiv 2101.10881). With as many equations as unknowns it is solved by
    elimination, with more by least squares.

    In exact arithmetic every coefficient is final when it is found. To first order the error e of
    the computed ones satisfies ``J(t) e(t) = r(t)``, where the coefficients of r are rounding
    errors: of f at x, and of the solution of the leading system. All steps run in the full
    precision, since a correction of coefficients that were found with less would take all orders
    and so cost more than it saves. A solution is verified by its residual, an evaluation of its
    own.

    Args:
        system: An `mdla.PolynomialSystem`, one of whose variables is the parameter t; or anything
            with its ``variables``, ``shape``, ``prec`` and ``iscomplex``, and its ``evaluate``,
            ``jacobian`` and ``evaluate_and_jacobian`` at points and at series. Or a function
            ``f(x, t)`` of a `Series` x, shape ``(..., n)``, and a `Series` t, shape ``(...)``, that
            returns a `Series` of shape ``(..., m)`` or a list of m series of shape ``(...)``.
        x0: The starting vector, shape ``(n,)``, or one for each of several paths, ``(..., n)``. The
            variables of a system in their order, without the parameter.
        degree: The degree of the solution.
        jacobian: For a function: another one that returns its derivatives by x as a `Series` of
            shape ``(..., m, n)`` or m lists of n series. By default derivatives are formed in
            forward mode, which knows arithmetic and the functions of `mdla.series`.
        parameter: For a system: the name of the parameter, by default ``"t"``.
        at: The value of the parameter at the origin of the series; one for all paths, or an array
            that broadcasts against ``(...)``.
        prec: The precision to compute in; by default the widest of x0, at and the coefficients.
        steps: The largest number of corrections of the starting vector.
        tol: What counts as a rounding error, relative; by default ``16 (n + degree + 1) eps``.
        rcond: None if the columns of the leading matrix are to be independent; else the threshold
            for its rank, as in `mdla.lstsq`, and of all solutions of each leading system the
            smallest is taken.

    Returns:
        A `NewtonResult`.

    Raises:
        LinAlgError: The leading matrix is singular and there is no ``rcond``.
        ValueError: Shapes do not fit, there is no such parameter, the degree is negative or too
            high for the memory of this machine, or x0 does not lead to a solution at ``t = 0``.
        TypeError: ``system`` is of no such kind.

    Example:
        >>> import mdla
        >>> s = mdla.PolynomialSystem("x^2 - 1 - t;", prec="qd")
        >>> result = mdla.series.newton(s, [1], degree=3)
        >>> print(result.x.coefficients[0])
        [ 1.      0.5    -0.125   0.0625]
        >>> result.converged, result.order
        (True, 3)
        >>> mdla.series.newton(lambda x, t: mdla.series.exp(x) - 1 - t, [0], degree=3).order
        3
        >>> mdla.series.newton(s, [0], degree=3, at=-1)
        Traceback (most recent call last):
        ...
        numpy.linalg.LinAlgError: newton: the leading matrix is singular...
    """
    orders = _orders(degree)
    if steps < 1:
        raise ValueError(f"newton: steps must be positive, got {steps}")
    if tol is not None and not tol >= 0:
        raise ValueError(f"newton: tol must not be negative or nan, got {tol}")
    equations = read_equations(system, jacobian, parameter)
    inputs = read_inputs("newton", False, prec, x0=x0, at=at, coefficients=equations.coefficients)
    for name, planes in zip(("x0", "at"), inputs.planes, strict=False):
        require_finite("newton", name, planes)
    paths = _Paths(equations, inputs, orders, tol, rcond)
    paths.correct(steps)
    return paths.result(paths.expand(orders))


def _orders(degree: Any) -> list[int]:
    """The numbers of coefficients 1, ..., degree + 1, each at most twice the one before."""
    try:
        last = operator.index(degree)
    except TypeError:
        raise TypeError(f"newton: degree must be an integer, got {degree!r}") from None
    if last < 0:
        raise ValueError(f"newton: degree must not be negative, got {last}")
    orders = [last + 1]
    while orders[-1] > 1:
        orders.append((orders[-1] + 1) // 2)
    return orders[::-1]


class _Paths:
    """The solutions of all paths on their way.

    Attributes:
        x: Planes (c, N, *batch, n) of the starting vectors.
        at: Planes (c, N, *batch) of the parameters.
    """

    def __init__(
        self,
        equations: Equations,
        inputs: Inputs,
        orders: list[int],
        tol: float | None,
        rcond: float | None,
    ) -> None:
        x, at = inputs.planes[:2]
        shape = _planes.shape_of(x)
        if not shape or (equations.unknowns is not None and shape[-1] != equations.unknowns):
            raise ValueError(f"newton: x0 must have the shape {equations.shape_of_x0}, got {shape}")
        try:
            self.batch = np.broadcast_shapes(shape[:-1], _planes.shape_of(at))
        except ValueError:
            raise ValueError(
                f"newton: at has the shape {_planes.shape_of(at)}, which does not broadcast "
                f"against the paths of x0, {shape[:-1]}"
            ) from None
        self._equations, self._inputs = equations, inputs
        self.unknowns = shape[-1]
        self.x = np.array(_planes.broadcast(x, (*self.batch, self.unknowns)), order="C")
        self.at = np.array(_planes.broadcast(at, self.batch), order="C")
        self._eps = inputs.eps
        self._tol = 16 * (self.unknowns + orders[-1]) * self._eps if tol is None else tol
        self._rcond = rcond
        self._require_memory(orders[-1])
        self._evaluate()
        self._require_paths_apart()

    def _require_memory(self, count: int) -> None:
        """Raise ValueError where series of that many coefficients do not fit into memory."""
        n = self.unknowns
        m = self._equations.count or n
        numbers = (m * n + 4 * (m + n)) * count * max(1, math.prod(self.batch))
        needed = 8 * math.prod(self.x.shape[:2]) * numbers
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            raise ValueError(
                f"newton: a solution of degree {count - 1} takes {needed / 2**30:.3g} GiB of "
                f"memory, of which there are {there / 2**30:.3g} GiB; lower the degree, or take "
                "fewer paths at a time"
            )

    # -- the starting vectors ----------------------------------------------------------------------

    def _evaluate(self) -> None:
        """Values and leading matrices at the starting vectors."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, jacobian = self._equations.at_start(self.x, self.at)
        if not (np.isfinite(value[:, 0]).all() and np.isfinite(jacobian[:, 0]).all()):
            raise ValueError(
                "newton: the values or derivatives at t = 0 have infinities or nans; start with "
                "a vector where all functions are defined"
            )
        if len(value) == 2:
            self.x, self.at = _planes.as_complex(self.x), _planes.as_complex(self.at)
        self._value, self._jacobian = value, jacobian
        self._leading = LeadingMatrices("newton", jacobian, self._eps, self._rcond)

    def _require_paths_apart(self) -> None:
        """Raise ValueError where the last path is another one alone than among the others.

        A function that takes ``x[0]`` for the first unknown takes the first path of a batch.
        """
        if not self._value.size or not self.batch:
            return
        last: Any = (slice(None), slice(None), *(-1 for _ in self.batch))
        alone = self._equations.at_start(self.x[last], self.at[last])
        among = self._value[last], self._jacobian[last]
        if not all(_about(a, b, math.sqrt(self._eps)) for a, b in zip(alone, among, strict=True)):
            raise ValueError(
                "newton: values or derivatives of f for one path depend on the other paths; x has "
                "the shape (..., n) and t (...), so write x[..., 0] for the first unknown, and "
                "t[..., np.newaxis] beside x"
            )

    def correct(self, steps: int) -> None:
        """Newton's method at t = 0, until the corrections are rounding errors."""
        moving = np.ones(self.batch, dtype=bool)
        self.update = np.full(self.batch, math.inf)
        self.steps = np.zeros(self.batch, dtype=int)
        for _ in range(steps):
            value = stacked(self._value[..., np.newaxis], self.batch)
            step = self._leading.solve(value).reshape(self.x.shape)
            moved = subtract(MDArray(self.x), MDArray(step)).planes
            size = _relative(_magnitude(step), _magnitude(moved))
            settled = size <= self._tol
            settled |= (size <= math.sqrt(self._eps)) & (size >= _STAGNATION * self.update)
            self.update = np.where(moving, size, self.update)
            self.steps += moving
            self.x = np.where(moving[..., np.newaxis], moved, self.x)
            moving &= ~settled
            if step.any():
                self._evaluate()
            if not moving.any():
                return
        path = np.unravel_index(int(np.argmax(moving)), self.batch)
        which = f" of path [{', '.join(str(int(i)) for i in path)}]" if path else ""
        raise ValueError(
            f"newton: x0{which} does not lead to a solution at t = 0: after {steps} corrections "
            f"the last is still {self.update[path]:.1e} of the vector; start closer to a "
            "solution, or write more steps"
        )

    # -- the series --------------------------------------------------------------------------------

    def expand(self, orders: list[int]) -> Planes:
        """All coefficients, planes (c, N, *batch, n, degree + 1)."""
        x = self.x[..., np.newaxis]
        self._slopes = self._jacobian[..., np.newaxis]
        for known, target in pairwise(orders):
            longer = np.zeros((*x.shape[:-1], target))
            longer[..., :known] = x
            value = self._equations.values(longer, self.at)
            if target - known > 1:  # else it is the leading matrix
                self._slopes = self._equations.jacobian(x[..., : target - known], self.at)
            rest = negative(MDArray(value[..., known:])).planes
            found = forward_substitution(
                self._leading,
                self._stack(self._slopes, 3),
                self._stack(rest[..., np.newaxis, :], 3),
            )
            longer[..., known:] = found.reshape(*x.shape[:-1], target - known)
            x = longer
        return x

    def _stack(self, planes: Planes, axes: int) -> Planes:
        """One axis for all paths before the last axes."""
        return planes.reshape(
            *planes.shape[:2], math.prod(self.batch), *planes.shape[planes.ndim - axes :]
        )

    def result(self, x: Planes) -> NewtonResult:
        """The solution with its residual."""
        value = self._equations.values(x, self.at)
        residual = _absolute(value)
        # Products that underflow have errors of that size, whatever the precision.
        residual[residual <= 64 * (self.unknowns + x.shape[-1]) * _SMALLEST] = 0
        sizes = _sizes_of_terms(_absolute(self._slopes), _absolute(x), value.shape[-1])
        relative = _relative(residual, sizes)
        doubtful = ~(relative <= self._tol)
        if doubtful.any():
            with np.errstate(over="ignore", invalid="ignore"):
                sizes = np.fmax(sizes, self._equations.sizes(_absolute(x), _absolute(self.at)))
            relative = np.where(doubtful, _relative(residual, sizes), relative)
        residual = relative.max(axis=-2, initial=0.0)
        small = (residual <= self._tol) & np.isfinite(x[:, 0]).all(axis=(0, -2))
        order = np.cumprod(small, axis=-1).sum(axis=-1) - 1

        def plain(array: npt.NDArray[Any]) -> Any:
            return array if self.batch else array[()].item()

        return NewtonResult(
            x=Series(self._inputs.deliver(x)),
            converged=plain(order == x.shape[-1] - 1),
            order=plain(order),
            residual=residual,
            update=plain(self.update),
            rcond=plain(self._leading.rcond),
            steps=plain(self.steps),
        )


def _absolute(planes: Planes) -> Floats:
    """Absolute values as doubles."""
    lead = planes[:, 0]
    magnitudes: Floats = np.abs(lead[0]) if len(lead) == 1 else np.hypot(lead[0], lead[1])
    return magnitudes


def _about(a: Planes, b: Planes, tolerance: float) -> bool:
    """Whether two arrays have one shape and nearly the same numbers."""
    if a.shape != b.shape:
        return False
    return bool((_absolute(a - b) <= tolerance * (1 + _absolute(b))).all())


def _magnitude(planes: Planes) -> Floats:
    """The largest absolute value along the last axis."""
    largest: Floats = _absolute(planes).max(axis=-1, initial=0.0)
    return largest


def _relative(part: Floats, whole: Floats) -> Floats:
    """Their ratio, 0 for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(part == 0, 0.0, part / whole)


def _sizes_of_terms(slopes: Floats, x: Floats, length: int) -> Floats:
    """``(sum_j |J_j| |x_(k-j)|)_i``, shape (*batch, m, length).

    J is known to half the degree. Products of two series have a factor in the lower half, so at
    most a factor of about two is missing.
    """
    sizes = np.zeros((*slopes.shape[:-2], length))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(slopes.shape[-1]):
            sizes[..., j:] += slopes[..., j] @ x[..., : length - j]
    return sizes
