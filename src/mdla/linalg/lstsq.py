# SPDX-License-Identifier: BSD-3-Clause
"""Linear least squares."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.protocols import implements
from mdla.linalg import batched
from mdla.linalg.augmented import Float64QR, ReflectorQR, refine_augmented
from mdla.linalg.householder import adjoint, apply, factor, factor_pivoted, reduce
from mdla.linalg.inputs import (
    exponents_along,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)
from mdla.linalg.progress import shown
from mdla.linalg.refine import (
    HOPELESS,
    PRECISIONS_BY_LIMBS,
    Info,
    Refined,
    Work,
    climb,
    largest,
    least_rcond,
    require_method,
)
from mdla.linalg.triangular import require_right_side, substitute

__all__ = ["LstsqResult", "lstsq"]

Planes = npt.NDArray[Any]


class _Fields(NamedTuple):
    x: MDArray
    residuals: MDArray
    rank: Any
    s: None


class LstsqResult(_Fields):
    """What `lstsq` returns: NumPy's four parts, and two attributes.

    Attributes:
        x: The solution.
        residuals: The sums of squares of the residuals of each right-hand side; empty if the
            rank is less than n, or m <= n.
        rank: The rank of A.
        s: None (singular values, when a driver computes them).
        rcond: An estimate of the reciprocal condition number of A with columns scaled by powers
            of two; 0 if the rank is less than n.
        errors: Estimates of the errors of the entries of x, of the order of magnitude only
            (usually too large); inf if the rank is less than n.
        info: An `mdla.linalg.Info` that says how it was solved, an array of them for a stack. The
            backward error, after refinement only, is that of the augmented system, in maximum
            norms: ``max(||b - r - A x|| / (||A|| ||x|| + ||b||), ||A^H r|| / (||A^H|| ||b||))``.
    """

    rcond: Any = None
    errors: Any = None
    info: Any = None


@implements(np.linalg.lstsq)
def lstsq(
    a: Any,
    b: Any,
    rcond: float | None = None,
    *,
    prec: Any = None,
    driver: str = "qr",
    method: str = "auto",
    check_finite: bool = True,
    progress: bool = False,
) -> LstsqResult:
    """Minimise ``||A x - b||``; of several solutions, return the one with the smallest ``||x||``.

    By Householder QR, with column pivoting where the rank may be less than n, and then a second QR
    of the rows of R (a complete orthogonal factorisation, G. Golub and C. Van Loan, Matrix
    Computations, 4th ed., section 5.5). The computed x solves exactly a problem with ``A + E`` and
    ``b + f``, where ``||E||_F <= c n eps ||A||_F`` and ``||f|| <= c n eps ||b||`` (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 20.3).

    The rank is the number of entries on the diagonal of R that exceed ``rcond`` times the largest.

    Large problems of full rank are refined instead: A is factored with fewer limbs, float64 first,
    and x and the residual are corrected by the augmented system until the last bits agree (see
    `mdla.linalg.Info`); where that does not converge more limbs are taken, and in the end all.

    Args:
        a: A matrix (m, n), or a stack of them. Small ones with m >= n are solved side by side,
            and those among them whose rank may be less than n once more, one after the other.
        b: A vector (m,), or a matrix or stack of matrices (..., m, k).
        rcond: The threshold for the rank, for A as it is. By default ``max(m, n) eps``, applied
            to A with columns scaled by powers of two, so that the units of the unknowns do not
            matter. Negative: no threshold.
        prec: The precision to compute in; by default the widest of ``a`` and ``b``, and ``"dd"``
            when neither is an MDArray.
        driver: ``"qr"``, the only one in this version.
        method: ``"direct"`` factors A in the precision of the result, ``"refine"`` tries to do
            with less first, and ``"auto"`` does so where that is predicted to be faster.
        check_finite: Whether to raise ValueError for infinities and nans.
        progress: Whether to show the progress of long work on stderr, by tqdm where it is
            installed.

    Returns:
        A named tuple ``(x, residuals, rank, s)``, see `LstsqResult`, which also has estimates of
        the condition and of the errors as attributes.

    Raises:
        LinAlgError: The sizes of ``a`` and ``b`` do not match.
        ValueError: The driver, method or precision does not exist, ``rcond`` is nan, or an operand
            is not finite.

    Example:
        >>> import mdla
        >>> A = mdla.array([[1, 0], [1, 1], [1, 2], [1, 3]], prec="qd")
        >>> x, residuals, rank, s = mdla.linalg.lstsq(A, [1, 3, 5, 7])
        >>> print(x.to_numpy().round(12), rank)
        [1. 2.] 2
        >>> print(mdla.linalg.lstsq([[1, 1], [2, 2]], [2, 4]).rank)
        1
    """
    if driver != "qr":
        raise ValueError(f"lstsq: unknown driver {driver!r}; write 'qr', the only one so far")
    require_method("lstsq", method)
    if rcond is not None and not rcond == rcond:
        raise ValueError("lstsq: rcond is nan; write None for max(m, n) eps")
    inputs = read_inputs("lstsq", check_finite, prec, a=a, b=b)
    matrix, right = inputs.planes
    require_matrix("lstsq", "a", matrix)
    right, is_vector = require_right_side("lstsq", matrix, right)
    batch = np.broadcast_shapes(_planes.shape_of(matrix)[:-2], _planes.shape_of(right)[:-2])
    left, right = stacked(matrix, batch), stacked(right, batch)
    count, (m, n), k = left.shape[2], left.shape[3:], right.shape[4]
    x = np.zeros((*right.shape[:3], n, k))
    squares = np.zeros((1, right.shape[1], count, k))
    rank, rconds = np.zeros(count, dtype=int), np.zeros(count)
    errors = np.full((count, n, k), math.inf)
    infos = np.empty(count, dtype=object)
    settled = np.zeros(count, dtype=bool)
    if batch and m >= n and method != "refine" and batched.is_small(left):
        stack = _Stack(left, right, rcond, inputs.eps)
        x, squares, rconds, errors = stack.x, stack.squares, stack.rcond, stack.errors
        settled, rank = stack.settled, np.full(count, n)
        infos[:] = [_direct(x[:, :, i], rconds[i], errors[i]) for i in range(count)]
    for i in np.flatnonzero(~settled):
        with shown(progress):
            problem = _Problem(left[:, :, i], right[:, :, i], rcond, inputs.eps, method)
        infos[i] = problem.info
        x[:, :, i] = problem.x
        squares[:, :, i] = problem.squares
        rank[i], rconds[i], errors[i] = problem.rank, problem.rcond, problem.errors
    has_residuals = m > n and bool(np.all(rank == n))
    if not has_residuals:
        squares = squares[..., :0]

    def unstacked(p: Any, shape: tuple[int, ...]) -> Any:
        return p.reshape(*p.shape[: p.ndim - 1 - len(shape)], *batch, *shape)

    shape = (n,) if is_vector else (n, k)
    result = LstsqResult(
        inputs.deliver(unstacked(x if not is_vector else x[..., 0], shape)),
        inputs.deliver(unstacked(squares, squares.shape[3:])),
        rank.reshape(batch) if batch else int(rank[0]),
        None,
    )
    result.rcond = rconds.reshape(batch) if batch else float(rconds[0])
    result.errors = unstacked(errors if not is_vector else errors[..., 0], shape)
    result.info = infos.reshape(batch) if batch else infos[0]
    return result


class _Stack:
    """Small problems with m >= n side by side, as those of rank n far from a smaller one."""

    def __init__(self, a: Planes, b: Planes, rcond: float | None, eps: float) -> None:
        (m, n), k = a.shape[3:], b.shape[4]
        tolerance = max(m, n) * eps if rcond is None else max(rcond, 0.0)
        matrix, right = np.array(a, order="C"), np.array(b, order="C")
        columns = exponents_along(matrix, *((-2,) if rcond is None else (-2, -1)))
        exponents = exponents_along(right, -2)
        times_power(matrix, -columns)
        times_power(right, -exponents)
        self.x, rest, self.rcond = batched.lstsq(matrix, right)
        self.settled = self.rcond > 4 * n * tolerance
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.sqrt(np.sum(self.x[:, 0] ** 2, axis=(0, 2)))
        rows = np.moveaxis(rest, 3, 2)
        self.squares = _sums_of_squares(rows.reshape(*rows.shape[:3], len(self.rcond) * k))
        self.squares = self.squares.reshape(*self.squares.shape[:2], len(self.rcond), k)
        residual_norms = np.sqrt(self.squares[0, 0])
        times_power(self.squares, 2 * exponents[:, 0])
        size = np.sqrt(np.sum(matrix[:, 0] ** 2, axis=(0, 2, 3)))
        shift = exponents - np.broadcast_to(columns, (len(size), 1, n)).swapaxes(1, 2)
        error = _first_order_error(eps, self.rcond[:, None], length, residual_norms, size[:, None])
        with np.errstate(over="ignore", invalid="ignore"):
            self.errors = np.ldexp(np.broadcast_to(error[:, None], (len(size), n, k)), shift)
        times_power(self.x, shift)


def _first_order_error(eps: float, rcond: Any, length: Any, residual_norms: Any, size: Any) -> Any:
    """Wedin's bound to first order, ||dy|| <= eps (kappa ||y|| + kappa^2 ||r|| / ||A||)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        kappa = np.divide(1.0, rcond)
        return eps * kappa * (length + kappa * residual_norms / np.maximum(size, 1e-300))


def _direct(x: Planes, rcond: float, errors: npt.NDArray[np.float64]) -> Info:
    """What is known of a direct solution."""
    lead = np.abs(x[0, 0]).max(axis=0, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ferr = np.where(lead == 0, 0.0, errors.max(axis=0, initial=0.0) / lead)
    return Info("direct", PRECISIONS_BY_LIMBS[x.shape[1]].name, 0, float(rcond), None, ferr)


class _Problem:
    """One least-squares problem; computing is all it does."""

    x: Planes
    squares: Planes
    rank: int
    rcond: float
    errors: npt.NDArray[np.float64]

    def __init__(self, a: Planes, b: Planes, rcond: float | None, eps: float, method: str) -> None:
        self.m, self.n, self.k = *a.shape[2:], b.shape[3]
        self.eps = eps
        self.tolerance = max(self.m, self.n) * eps if rcond is None else max(rcond, 0.0)
        work = np.concatenate([a, b], axis=3)
        matrix, right = work[..., : self.n], work[..., self.n :]
        # With a threshold of the user's the ratios of the columns matter and are kept.
        self.columns = exponents_along(matrix, *((-2,) if rcond is None else (-2, -1)))
        self.columns = np.broadcast_to(self.columns, (1, self.n))
        self.right = exponents_along(right, -2)
        times_power(matrix, -self.columns)
        times_power(right, -self.right)
        self.rank, self.rcond = self.n, 0.0
        self.errors = np.full((self.n, self.k), math.inf)
        self.refined: Info | None = None
        if self.m >= self.n:
            if self._refine(matrix, right, method):
                return
            self._reduce(work)
            if self.rcond > 4 * self.n * self.tolerance:
                # Far from a smaller rank: pivoting would find rank n.
                self._finish(work, np.arange(self.n))
                return
            work = np.ascontiguousarray(work[:, :, : self.n])
        else:
            self.squares = np.zeros((1, a.shape[1], self.k))
        self._solve_pivoted(work)

    @property
    def info(self) -> Info:
        """What was done."""
        if self.refined is not None:
            return self.refined
        return _direct(self.x, self.rcond, self.errors)

    def _refine(self, a: Planes, b: Planes, method: str) -> bool:
        """Whether a factorisation with fewer limbs was enough."""

        def attempt(f: int) -> tuple[Info | None, float]:
            factors = Float64QR(a) if f == 1 else ReflectorQR(a, f)
            if factors.rcond < least_rcond(f, self.n):
                return None, 0.0
            if factors.rcond <= 4 * self.n * self.tolerance:  # the rank is in question
                return None, HOPELESS
            found = refine_augmented(a, b, factors)
            return found and self._accept(f, factors.rcond, *found), factors.rcond

        if not (np.isfinite(a[:, 0]).all() and np.isfinite(b[:, 0]).all()):
            return False
        work = Work.of_least_squares(self.m, self.n, self.k)
        self.refined = climb(a.shape[1], work, method, attempt)
        return self.refined is not None

    def _accept(self, limbs: int, rcond: float, solution: Refined, r: Planes) -> Info:
        self.rcond = rcond
        self.squares = _sums_of_squares(r)
        times_power(self.squares, 2 * self.right[0])
        errors = np.broadcast_to(solution.ferr * largest(solution.x), (self.n, self.k))
        self.errors = np.ldexp(errors, self._exponents())
        self._deliver(solution.x, np.arange(self.n))
        info = _direct(self.x, rcond, self.errors)  # in the units of x
        return replace(
            info,
            method="refine",
            factorisation=PRECISIONS_BY_LIMBS[limbs].name,
            steps=solution.steps - 1,
            berr=solution.berr,
        )

    def _reduce(self, work: Planes) -> None:
        """R and Q^H b; the rest of b is the residual."""
        reduce(work, self.n)
        self.rcond = _native.reciprocal_condition(work[:, :, : self.n, : self.n])
        self.squares = _sums_of_squares(work[:, :, self.n :, self.n :])
        self.residual_norms = np.sqrt(self.squares[0, 0])
        times_power(self.squares, 2 * self.right[0])

    def _finish(self, work: Planes, order: npt.NDArray[np.intp]) -> None:
        """The solution for rank n from R and Q^H b, and its errors."""
        n = self.n
        y = np.ascontiguousarray(work[:, :, :n, n:])
        substitute(work[:, :, :n, :n], y, lower=False)
        if self.m >= n and self.rcond > 0:
            self._estimate_errors(work, y, order)
        self._deliver(y, order)

    def _estimate_errors(self, work: Planes, y: Planes, order: npt.NDArray[np.intp]) -> None:
        size = math.sqrt(float(np.sum(work[:, 0, : self.n, : self.n] ** 2)))
        length = np.sqrt(np.sum(y[:, 0] ** 2, axis=(0, 1)))
        error = _first_order_error(self.eps, self.rcond, length, self.residual_norms, size)
        with np.errstate(over="ignore", invalid="ignore"):
            self.errors = np.ldexp(np.broadcast_to(error, (self.n, self.k)), self._exponents())

    def _exponents(self) -> npt.NDArray[np.int32]:
        """What the scaled solution is to be multiplied by."""
        exponents: npt.NDArray[np.int32] = self.right - self.columns.T
        return exponents

    def _deliver(self, y: Planes, order: npt.NDArray[np.intp]) -> None:
        self.x = np.empty(y.shape)
        self.x[:, :, order] = y
        times_power(self.x, self._exponents())

    def _solve_pivoted(self, work: Planes) -> None:
        """Determine the rank of the first n columns, and solve with it."""
        n, count = self.n, min(work.shape[2], self.n)
        _, order = factor_pivoted(work, count, n, keep=False)
        diagonal = np.abs(np.diagonal(work[0, 0, :count, :count]))
        if not np.isfinite(diagonal).all():
            self.rank, self.x = 0, np.full((*work.shape[:2], n, self.k), math.nan)
            self.x[:, 1:] = 0
            return
        self.rank = int(np.sum(diagonal > self.tolerance * diagonal.max(initial=0.0)))
        if self.rank == n:
            self._finish(work, order)
            return
        self.rcond = 0.0
        self.errors = np.full((n, self.k), math.inf)
        rank = self.rank
        if rank == 0:
            self.x = np.zeros((*work.shape[:2], n, self.k))
            return
        # R x = c for the first rows of R, in the units of x: R^H = Z L, x = Z L^-H c. The units
        # that all columns have in common stay out until the end, where no limb can fade.
        common = self.columns.max()
        rows = adjoint(work[:, :, :rank, :n]).copy()
        times_power(rows, self.columns.T[order] - common)
        scale = exponents_along(rows, -2)
        times_power(rows, -scale)
        reflectors = factor(rows, rank)
        y = np.zeros((*work.shape[:2], n, self.k))
        head = np.ascontiguousarray(work[:, :, :rank, n:])
        times_power(head, -scale.T)
        substitute(adjoint(rows[:, :, :rank]), head, lower=True)
        y[:, :, :rank] = head
        apply(reflectors, y)
        self.x = np.empty(y.shape)
        self.x[:, :, order] = y
        times_power(self.x, self.right - common)


def _sums_of_squares(r: Planes) -> Planes:
    """Planes (1, N, k) of the sums of |r|^2 over the rows of r (c, N, m, k)."""
    rows = np.moveaxis(r, 3, 2)
    out = np.zeros((1, *rows.shape[1:3]))
    if rows.shape[3] == 0:
        return out
    flat = rows if len(rows) == 1 else np.concatenate([rows[:1], rows[1:]], axis=3)
    _native.dot(out, flat, flat)
    return out
