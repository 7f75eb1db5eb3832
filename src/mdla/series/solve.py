# SPDX-License-Identifier: BSD-3-Clause
"""Linear systems whose matrix and right-hand side are power series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.operands import to_array
from mdla.linalg.inputs import LinAlgError, read_inputs
from mdla.series.series import Series
from mdla.series.toeplitz import LeadingMatrices, forward_substitution

__all__ = ["solve"]

Planes = npt.NDArray[Any]


def solve(
    a: Any, b: Any, *, rcond: float | None = None, prec: Any = None, check_finite: bool = True
) -> Series:
    """The series x(t) with ``A(t) x(t) = b(t)``.

    With ``A(t) = A_0 + A_1 t + ...`` this is a block lower triangular Toeplitz system,

        A_0 x_k = b_k - sum_(j=1)^k A_j x_(k-j),    k = 0, 1, ...,

    solved by one factorisation of A_0, elimination with partial pivoting, and a forward
    substitution whose sums are matrix products (N. Bliss and J. Verschelde, Linear Algebra Appl.
    542 (2018) 569-588). The computed x_k solves its equation with the backward error of
    `mdla.solve` and a right-hand side with an error of at most ``(n k + log2 k + 1) eps (|b_k| +
    sum_j |A_j| |x_(k-j)|)``. So ``A(t) x(t) - b(t)`` is small in every degree; the error of x grows
    with the coefficients of the inverse of A(t), as in every triangular system.

    With m > n rows the x_k are least-squares solutions by QR, each for the ones before it. If there
    is a solution of all equations, it is found.

    Args:
        a: A `Series` of matrices (m, n), m >= n, or of a stack (..., m, n). An array counts as
            constant.
        b: A `Series` of vectors (..., m) if it has fewer axes than ``a``, else of matrices
            (..., m, k); or an array likewise.
        rcond: None if the columns of A_0 are to be independent. Else the threshold for its rank as
            in `mdla.lstsq`; for every order the smallest of the solutions is taken, and the
            residual tells whether the orders behind admit it.
        prec: The precision to compute in; by default the widest of ``a`` and ``b``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        A `Series` of shape (..., n) or (..., n, k), of the smaller of the degrees.

    Raises:
        LinAlgError: Shapes do not match, or A_0 is singular to working precision, or has fewer rows
            than columns, and there is no ``rcond``.
        ValueError: The precision does not exist, or an operand is not finite.

    Example:
        >>> import mdla
        >>> t = mdla.series.variable(3, prec="qd")
        >>> x = mdla.series.solve([[2]], mdla.series.stack([1 + t]))
        >>> print(x.coefficients)
        [[0.5 0.5 0.  0. ]]
        >>> A = mdla.series.stack([1 + t, 0 * t, t, 1 - t]).reshape(2, 2)
        >>> print(mdla.series.solve(A, [1, 1]).coefficients)
        [[ 1. -1.  1. -1.]
         [ 1.  0.  1.  0.]]
    """
    degrees = [x.degree for x in (a, b) if isinstance(x, Series)]
    length = min(degrees, default=0) + 1
    inputs = read_inputs("solve", check_finite, prec, a=_coefficients(a), b=_coefficients(b))
    matrix, right = (planes[..., :length] for planes in inputs.planes)
    rows, is_vector = matrix.shape[-3] if matrix.ndim >= 5 else -1, right.ndim < matrix.ndim
    if rows < 0:
        raise LinAlgError(
            f"solve: a must be a matrix of series, got shape {_planes.shape_of(matrix)[:-1]}"
        )
    if is_vector:
        right = right[..., np.newaxis, :]
    own = _planes.shape_of(right)
    if len(own) < 3 or own[-3] != rows:
        raise LinAlgError(
            f"solve: a has {rows} rows, so b needs the shape (..., {rows}), or (..., {rows}, k) "
            f"with as many axes as a, got {own[:-2] if is_vector else own[:-1]}"
        )
    before, behind = _planes.shape_of(matrix)[:-3], own[:-3]
    try:
        batch = np.broadcast_shapes(before, behind)
    except ValueError:
        raise LinAlgError(
            f"solve: the stacks of a, {before}, and b, {behind}, do not match"
        ) from None
    unknowns, columns, paths = matrix.shape[-2], right.shape[-2], math.prod(batch)
    whole = np.zeros((*right.shape[:2], *batch, rows, columns, length))
    whole[..., : own[-1]] = _planes.broadcast(right, (*batch, rows, columns, own[-1]))
    whole = whole.reshape(*right.shape[:2], paths, rows, columns, length)
    if math.prod(before) == 1:  # all right-hand sides are its columns
        whole = np.moveaxis(whole, 2, 3)
        whole = whole.reshape(*right.shape[:2], 1, rows, paths * columns, length)
    else:
        matrix = _planes.broadcast(matrix, (*batch, *_planes.shape_of(matrix)[-3:]))
    leading = LeadingMatrices("solve", matrix[..., 0], inputs.eps, rcond)
    every = matrix.reshape(*matrix.shape[:2], whole.shape[2], *matrix.shape[-3:])
    x = forward_substitution(leading, every, whole)
    if math.prod(before) == 1:
        x = x.reshape(*x.shape[:2], unknowns, paths, columns, length).swapaxes(2, 3)
    x = x.reshape(*x.shape[:2], *batch, unknowns, columns, length)
    return Series(inputs.deliver(x[..., 0, :] if is_vector else x))


def _coefficients(x: Any) -> Any:
    """Coefficients with the degree as last axis."""
    return x.coefficients if isinstance(x, Series) else to_array(x)[..., np.newaxis]
