# SPDX-License-Identifier: BSD-3-Clause
"""Square systems of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.protocols import implements
from mdla.linalg import batched
from mdla.linalg.elimination import LUFactors
from mdla.linalg.householder import reduce
from mdla.linalg.inputs import (
    Inputs,
    LinAlgError,
    exponents_along,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)
from mdla.linalg.triangular import require_right_side, substitute

__all__ = ["solve"]

Planes = npt.NDArray[Any]

# Partial pivoting lets the entries grow by 2^(n-1) at worst and by about n^(2/3) in practice; up to
# this factor, or n if that is more, the backward error is as good as that of reflections.
_GROWTH = 16

# Exactly singular matrices have shown reciprocal conditions up to 0.75 eps after rounding (n = 2,
# one limb), and smaller ones the larger n is.
_SINGULAR = 4


@implements(np.linalg.solve)
def solve(a: Any, b: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """Solve ``A x = b`` for a square A.

    Rows and columns are scaled by powers of two, and the scaled matrix is factored with partial
    pivoting; by Householder reflections instead where a stack of small matrices is worked on side
    by side, or where the entries of U grow. The computed x satisfies ``(A + E) x = b`` with
    ``|E| <= c n eps P^T |L| |U|`` in the scaled matrix, and so ``||E|| <= c n^2 eps ||A||`` with the
    growth allowed (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorems
    9.4 and 19.5).

    A matrix counts as singular when the reciprocal condition number of the scaled matrix, in the
    1-norm, is below ``4 eps``: then hardly a digit of x would be right, and an error is raised
    instead. This does not depend on the units of the unknowns and equations.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        prec: The precision to compute in; by default the widest of ``a`` and ``b``, and ``"dd"``
            when neither is an MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        x with the shape of b; for stacks the leading axes are broadcast.

    Raises:
        LinAlgError: A is not square, the sizes do not match, or A is singular, exactly or to
            working precision.
        ValueError: The precision does not exist, or an operand is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.solve([[4, 1], [2, 3]], [9, 7], prec="qd"))
        [2. 1.]
        >>> mdla.linalg.solve([[1, 2], [2, 4]], [1, 1])
        Traceback (most recent call last):
        ...
        numpy.linalg.LinAlgError: solve: a is singular...
    """
    inputs = read_inputs("solve", check_finite, prec, a=a, b=b)
    matrix, right = inputs.planes
    require_matrix("solve", "a", matrix, square=True)
    right, is_vector = require_right_side("solve", matrix, right)
    batch = np.broadcast_shapes(_planes.shape_of(matrix)[:-2], _planes.shape_of(right)[:-2])
    if batch and batched.is_small(matrix):
        x, rcond = batched.solve(stacked(matrix, batch), stacked(right, batch))
        _require_regular(rcond, batch, inputs)
    else:
        x = np.array(stacked(right, batch), order="C")
        rcond = np.ones(x.shape[2])
        for i, one in enumerate(np.moveaxis(stacked(matrix, batch), 2, 0)):
            rcond[i] = _solve_one(one, x[:, :, i])
            _require_regular(rcond[: i + 1], batch, inputs)
    x = x.reshape(*x.shape[:2], *batch, *x.shape[3:])
    return inputs.deliver(x[..., 0] if is_vector else x)


def _solve_one(a: Planes, x: Planes) -> float:
    """X <- A^-1 X in place; returns the reciprocal condition of the scaled A, 0 if singular."""
    factors = LUFactors(a)
    if factors.growth > max(_GROWTH, a.shape[-1]):
        return _solve_by_reflections(a, x)
    if not factors.is_singular:
        x[...] = factors.solve(x)
    return factors.rcond


def _solve_by_reflections(a: Planes, x: Planes) -> float:
    """The same without pivots, so that nothing grows, at twice the cost and more."""
    n = a.shape[-1]
    work = np.concatenate([a, x], axis=3)
    matrix = work[..., :n]
    # Rows first, with the right-hand sides; then columns.
    times_power(work, -exponents_along(matrix, -1))
    exponents = exponents_along(matrix, -2)
    times_power(matrix, -exponents)
    reduce(work, n)
    rcond: float = _native.reciprocal_condition(matrix)
    if rcond == 0:
        return rcond
    solution = np.ascontiguousarray(work[..., n:])
    substitute(matrix, solution, lower=False)
    times_power(solution, -exponents.swapaxes(-1, -2))
    x[...] = solution
    return rcond


def _require_regular(
    rcond: npt.NDArray[np.float64], batch: tuple[int, ...], inputs: Inputs
) -> None:
    least = _SINGULAR * inputs.eps
    bad = np.flatnonzero(rcond < least)
    if not len(bad):
        return
    value = rcond[bad[0]]
    index = ", ".join(str(int(i)) for i in np.unravel_index(bad[0], batch)) if batch else ""
    which = f"a[{index}]" if index else "a"
    advice = "write mdla.lstsq(a, b) for a least-squares solution"
    if value == 0:
        raise LinAlgError(f"solve: {which} is singular; {advice}")
    raise LinAlgError(
        f"solve: {which} is singular to working precision: its reciprocal condition number is "
        f"about {value:.1e}, less than {_SINGULAR} eps = {least:.1e} in {inputs.result.name}; "
        f"{advice}, or ask for a wider prec if the entries are that exact"
    )
