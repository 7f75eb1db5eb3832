# SPDX-License-Identifier: BSD-3-Clause
"""LU factorisation with partial pivoting, with SciPy's names and conventions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray, wrap
from mdla.linalg import batched
from mdla.linalg.elimination import factor, order_of, solve_factored
from mdla.linalg.inputs import (
    Inputs,
    LinAlgError,
    exponents_along,
    is_moderate,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)
from mdla.linalg.triangular import operation, require_right_side

__all__ = ["LUFactorResult", "LUResult", "PermutedLUResult", "lu", "lu_factor", "lu_solve"]

Planes = npt.NDArray[Any]
Pivots = npt.NDArray[np.int32]


class LUResult(NamedTuple):
    """A = P L U.

    Attributes:
        p: The permutation matrix P, or the indices p with ``A = L[p] @ U``.
        l: Unit lower trapezoidal, (..., m, k).
        u: Upper trapezoidal, (..., k, n).
    """

    p: Any
    l: MDArray  # noqa: E741
    u: MDArray


class PermutedLUResult(NamedTuple):
    """A = (P L) U.

    Attributes:
        pl: The product P L, (..., m, k).
        u: Upper trapezoidal, (..., k, n).
    """

    pl: MDArray
    u: MDArray


class LUFactorResult(NamedTuple):
    """The factors in one matrix, as `lu_solve` takes them.

    Attributes:
        lu: U on and above the diagonal, L below it without its ones, (..., m, n).
        piv: Rows j and ``piv[..., j]`` were exchanged, for j = 0, 1, ..., k - 1.
    """

    lu: MDArray
    piv: npt.NDArray[np.int32]


def lu(
    a: Any,
    permute_l: bool = False,
    *,
    p_indices: bool = False,
    prec: Any = None,
    check_finite: bool = True,
) -> LUResult | PermutedLUResult:
    """LU factorisation with partial pivoting, ``A = P L U``.

    The computed factors satisfy ``P L U = A + E`` with ``|E| <= c k eps P |L| |U|``, k = min(m, n)
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3). The pivot
    of a column is its entry with the largest ``|re| + |im|``. Columns of extreme exponents are
    scaled by powers of two, which changes no pivot and no bit. Stacks of small matrices are worked
    on side by side, in fixed point with digits enough for the bound, so a matrix may have other
    last bits there than alone.

    Args:
        a: A matrix (m, n) or a stack (..., m, n).
        permute_l: Whether to return ``P @ L`` in the place of P and L.
        p_indices: Whether to return the indices p with ``A = L[p] @ U`` in the place of P.
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        P, L and U, or ``P @ L`` and U.

    Raises:
        LinAlgError: a is no matrix.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> a = mdla.array([[1, 2], [4, 2]], prec="qd")
        >>> p, l, u = mdla.linalg.lu(a)
        >>> print(u)
        [[4.  2. ]
         [0.  1.5]]
        >>> bool((p @ l @ u == a).all())
        True
    """
    inputs, stack, batch = _read("lu", a, prec, check_finite)
    count, m, n = stack.shape[2:]
    k = min(m, n)
    lower = np.zeros((*stack.shape[:2], count, m, k))
    upper = np.zeros((*stack.shape[:2], count, k, n))
    work, pivots = _factor_all(stack, batch)
    lower[...] = np.tril(work[..., :k], -1)
    upper[...] = np.triu(work[..., :k, :])
    rows = np.argsort(_orders(pivots, m), axis=1)
    lower[0, 0, :, range(k), range(k)] = 1
    u = _unstacked(inputs, upper, batch)
    if permute_l:
        permuted = np.take_along_axis(lower, rows[np.newaxis, np.newaxis, :, :, np.newaxis], 3)
        return PermutedLUResult(_unstacked(inputs, permuted, batch), u)
    unit = _unstacked(inputs, lower, batch)
    if p_indices:
        return LUResult(rows.reshape(*batch, m), unit, u)
    p = np.zeros((1, stack.shape[1], count, m, m))
    p[0, 0, np.arange(count)[:, np.newaxis], np.arange(m), rows] = 1
    return LUResult(_unstacked(inputs, p, batch), unit, u)


def lu_factor(a: Any, *, prec: Any = None, check_finite: bool = True) -> LUFactorResult:
    """LU factorisation with partial pivoting in the form that `lu_solve` takes.

    The factors are those of `lu`.

    Args:
        a: A matrix (m, n) or a stack (..., m, n).
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        The factors in one matrix, and the exchanges of rows.

    Raises:
        LinAlgError: a is no matrix.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> lu, piv = mdla.linalg.lu_factor([[1, 2], [4, 2]])
        >>> print(lu)
        [[4.   2.  ]
         [0.25 1.5 ]]
        >>> piv
        array([1, 1], dtype=int32)
    """
    inputs, stack, batch = _read("lu_factor", a, prec, check_finite)
    factors, pivots = _factor_all(stack, batch)
    return LUFactorResult(
        _unstacked(inputs, factors, batch), pivots.reshape(*batch, pivots.shape[1])
    )


def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: Any = 0,
    *,
    prec: Any = None,
    check_finite: bool = True,
) -> MDArray:
    """Solve ``op(A) x = b`` with the factors of `lu_factor`.

    The computed x satisfies ``(op(A) + E) x = b`` with ``|E| <= c n eps P |L| |U|`` (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.4). Nothing is said about the
    condition of A: `mdla.solve` does that.

    Args:
        lu_and_piv: The result of `lu_factor` for a square matrix, or a stack of them.
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        trans: 0 or "N" for A, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
        prec: The precision to compute in; by default the widest of the factors and ``b``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        x with the shape of b; for stacks the leading axes are broadcast.

    Raises:
        LinAlgError: The factors are not square, the sizes do not match, or a pivot is zero.
        ValueError: ``trans`` or the precision does not exist, an operand is not finite, or piv does
            not belong to the factors.

    Example:
        >>> import mdla
        >>> factors = mdla.linalg.lu_factor([[4, 1], [2, 3]])
        >>> print(mdla.linalg.lu_solve(factors, [9, 7]))
        [2. 1.]
    """
    op = operation("lu_solve", trans)
    try:
        factors, piv = lu_and_piv
    except (TypeError, ValueError):
        raise ValueError(
            "lu_solve: the first argument must be the pair (lu, piv) of lu_factor; "
            "write lu_solve(lu_factor(a), b)"
        ) from None
    inputs = read_inputs("lu_solve", check_finite, prec, lu=factors, b=b)
    t, right = inputs.planes
    require_matrix("lu_solve", "lu", t, square=True)
    right, is_vector = require_right_side("lu_solve", t, right)
    n = t.shape[-1]
    piv = _read_pivots(piv, (*_planes.shape_of(t)[:-2], n))
    batch = np.broadcast_shapes(_planes.shape_of(t)[:-2], _planes.shape_of(right)[:-2])
    x = np.array(stacked(right, batch), order="C")
    t = stacked(t, batch)
    piv = np.broadcast_to(piv, (*batch, n)).reshape(x.shape[2], n)
    zero = np.argwhere((np.diagonal(t[:, 0], axis1=-2, axis2=-1) == 0).all(axis=0))
    if len(zero):
        raise LinAlgError(
            f"lu_solve: pivot {int(zero[0][1])} of lu is zero, so a is singular; "
            "write mdla.lstsq(a, b) for a least-squares solution"
        )
    for i in range(x.shape[2]):
        order = order_of(piv[i].tolist(), n)
        x[:, :, i] = solve_factored(t[:, :, i], order, x[:, :, i], op)
    x = x.reshape(*x.shape[:2], *batch, *x.shape[3:])
    return inputs.deliver(x[..., 0] if is_vector else x)


def _read_pivots(piv: Any, shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """The exchanges of rows given to `lu_solve`, checked."""
    n, pivots = shape[-1], np.asarray(piv)
    advice = "write lu_solve(lu_factor(a), b)"
    if pivots.shape != shape:
        raise ValueError(f"lu_solve: piv must have the shape {shape}, got {pivots.shape}; {advice}")
    if pivots.size and pivots.dtype.kind not in "iu":
        raise ValueError(f"lu_solve: piv must hold integers, got {pivots.dtype}; {advice}")
    wrong = pivots[(pivots < 0) | (pivots >= n)]
    if wrong.size:
        raise ValueError(
            f"lu_solve: piv must hold row numbers from 0 to {n - 1}, got {wrong[0]}; {advice}"
        )
    return pivots.astype(np.intp)


def _read(
    function: str, a: Any, prec: Any, check_finite: bool
) -> tuple[Inputs, Planes, tuple[int, ...]]:
    inputs = read_inputs(function, check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes)
    batch = _planes.shape_of(planes)[:-2]
    return inputs, stacked(planes, batch), batch


def _unstacked(inputs: Inputs, planes: Planes, batch: tuple[int, ...]) -> MDArray:
    planes = planes.reshape(*planes.shape[:2], *batch, *planes.shape[3:])
    return wrap(_planes.cast(planes, inputs.result), inputs.result)


def _factor_all(stack: Planes, batch: tuple[int, ...]) -> tuple[Planes, Pivots]:
    """The factors of planes (c, N, B, m, n) in one, and the exchanges (B, min(m, n))."""
    if batch and batched.has_small_order(stack):
        return _factor_side_by_side(stack)
    count, m, n = stack.shape[2:]
    factors = np.empty(stack.shape)
    pivots = np.empty((count, min(m, n)), dtype=np.int32)
    for i in range(count):
        factors[:, :, i], pivots[i] = _factor_one(stack[:, :, i])
    return factors, pivots


def _factor_side_by_side(stack: Planes) -> tuple[Planes, Pivots]:
    exponents = exponents_along(stack, -2)
    scaled = stack
    if not is_moderate(exponents):
        scaled = stack.copy()
        times_power(scaled, -exponents)
    factors, order = batched.lu(scaled)
    if scaled is not stack:
        upper = np.triu(factors)
        times_power(upper, exponents)
        factors = upper + np.tril(factors, -1)  # L has no scale
    # After a zero pivot the order of equal rows is not the usual one, and a row that filled a
    # matrix up may be in it.
    leading = np.diagonal(factors[:, 0], axis1=-2, axis2=-1)
    odd = (leading == 0).all(axis=0).any(axis=-1)
    odd |= ~np.isfinite(factors[:, 0]).all(axis=(0, -2, -1))
    order[odd] = np.arange(order.shape[1])
    pivots = _exchanges(order, min(stack.shape[-2:]))
    # The kernel may have exchanged rows twice: below the pivots the rows of L come as the
    # exchanges leave them.
    left = _orders(pivots, order.shape[1])
    if not np.array_equal(left, order):
        where = np.take_along_axis(np.argsort(order, axis=1), left, axis=1)
        factors = np.take_along_axis(factors, where[np.newaxis, np.newaxis, ..., np.newaxis], 3)
    for i in np.flatnonzero(odd):
        factors[:, :, i], pivots[i] = _factor_one(stack[:, :, i])
    return factors, pivots


def _exchanges(order: npt.NDArray[np.intp], count: int) -> Pivots:
    """The exchanges of rows that bring rows ``order[:, :count]`` to the top, for a stack."""
    each = np.arange(len(order))
    rows = np.broadcast_to(np.arange(order.shape[1]), order.shape).copy()
    places = rows.copy()  # places[rows] = 0, 1, ...
    pivots = np.empty((len(order), count), dtype=np.int32)
    for j in range(count):
        pivots[:, j] = place = places[each, order[:, j]]
        moved = rows[:, j].copy()
        rows[each, place], places[each, moved] = moved, place
        rows[:, j], places[each, order[:, j]] = order[:, j], j
    return pivots


def _orders(pivots: Pivots, count: int) -> npt.NDArray[np.intp]:
    """As `order_of`, for a stack (B, k) of exchanges."""
    each = np.arange(len(pivots))
    orders = np.broadcast_to(np.arange(count), (len(pivots), count)).copy()
    for j in range(pivots.shape[1]):
        other = orders[each, pivots[:, j]]
        orders[each, pivots[:, j]] = orders[:, j]
        orders[:, j] = other
    return orders


def _factor_one(a: Planes) -> tuple[Planes, list[int]]:
    """The factors of one matrix, and the exchanges."""
    work = np.array(a, order="C")
    exponents = exponents_along(work, -2)
    if is_moderate(exponents):
        return work, factor(work)
    times_power(work, -exponents)
    pivots = factor(work)
    # L has no scale.
    k = min(work.shape[-2:])
    multipliers = np.tril(work[..., :k], -1)
    work = np.triu(work)
    times_power(work, exponents)
    work[..., :k] += multipliers
    return work, pivots
