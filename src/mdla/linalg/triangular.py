# SPDX-License-Identifier: BSD-3-Clause
"""Triangular systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.linalg.householder import multiply
from mdla.linalg.inputs import LinAlgError, read_inputs, require_matrix, stacked

__all__ = ["operation", "require_right_side", "solve_triangular", "substitute"]

Planes = npt.NDArray[Any]

# Order of the systems with few right-hand sides, or one, that the native kernel solves by vectors,
# and of those with many that it solves by halves, by the number of limbs.
_LEAF = {1: 64, 2: 32, 3: 32, 4: 16, 5: 16, 8: 8, 10: 8, 16: 8}
_LEAF_OF_ONE = {1: 128, 2: 128, 3: 64, 4: 64, 5: 32, 8: 32, 10: 32, 16: 32}
_BLOCK = {1: 64, 2: 128, 3: 64, 4: 64, 5: 64, 8: 32, 10: 32, 16: 32}
_MANY = 8

# SciPy's names of the operations on a matrix.
_TRANS: dict[Any, str] = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    prec: Any = None,
    check_finite: bool = True,
) -> MDArray:
    """Solve ``op(A) x = b`` for a triangular A; op is the identity, transpose or adjoint.

    The computed x satisfies ``(op(A) + E) x = b`` with ``|E| <= c n eps |op(A)|`` entry by entry
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 8.5).

    Args:
        a: A matrix (n, n) or a stack (..., n, n); the other triangle is not read.
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        trans: 0 or "N" for A, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
        lower: Whether A (not op(A)) is lower triangular.
        unit_diagonal: Whether the diagonal counts as ones and is not read.
        prec: The precision to compute in; by default the widest of ``a`` and ``b``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        x with the shape of b; for stacks the leading axes are broadcast.

    Raises:
        LinAlgError: A is not square, the sizes do not match, or the diagonal has a zero.
        ValueError: ``trans`` or the precision does not exist, or an operand is not finite.

    Example:
        >>> import mdla
        >>> A = mdla.array([[2, 1], [0, 4]])
        >>> print(mdla.linalg.solve_triangular(A, [4, 8]))
        [1. 2.]
        >>> mdla.linalg.solve_triangular([[1, 2], [0, 0]], [1, 1])
        Traceback (most recent call last):
        ...
        numpy.linalg.LinAlgError: solve_triangular: entry [1, 1] of a is zero, so a is singular...
    """
    op = operation("solve_triangular", trans)
    inputs = read_inputs("solve_triangular", check_finite, prec, a=a, b=b)
    t, right = inputs.planes
    require_matrix("solve_triangular", "a", t, square=True)
    right, is_vector = require_right_side("solve_triangular", t, right)
    if not unit_diagonal:
        _require_nonzero_diagonal(t)
    if op != "N":
        t, lower = t.swapaxes(-1, -2), not lower
    if op == "C" and t.shape[0] == 2:
        t = np.stack([t[0], -t[1]])
    batch = np.broadcast_shapes(_planes.shape_of(t)[:-2], _planes.shape_of(right)[:-2])
    x = np.array(stacked(right, batch), order="C")
    t = stacked(t, batch)
    if t.shape[-1] <= _LEAF[t.shape[1]]:
        _native.substitute(t, x, lower, unit_diagonal)
    else:
        for i in range(x.shape[2]):
            substitute(t[:, :, i], x[:, :, i], lower, unit_diagonal)
    x = x.reshape(*x.shape[:2], *batch, *x.shape[3:])
    return inputs.deliver(x[..., 0] if is_vector else x)


def operation(function: str, trans: Any) -> str:
    """Its letter "N", "T" or "C" for a name of an operation on a matrix.

    Raises:
        ValueError: There is no such name.
    """
    try:
        return _TRANS[trans]
    except (KeyError, TypeError):  # what is not hashable is no name either
        raise ValueError(
            f"{function}: unknown trans {trans!r}; write 0 or 'N' for a, 1 or 'T' for its "
            "transpose, 2 or 'C' for its conjugate transpose"
        ) from None


def require_right_side(function: str, a: Planes, b: Planes) -> tuple[Planes, bool]:
    """The right-hand side as a matrix or stack, and whether it was a vector.

    Raises:
        LinAlgError: Its length is not that of the columns of a, or the stacks do not match.
    """
    shape, rows = _planes.shape_of(b), a.shape[-2]
    is_vector = len(shape) == 1
    if is_vector:
        b = b[..., np.newaxis]
    if not shape or b.shape[-2] != rows:
        raise LinAlgError(
            f"{function}: a has {rows} rows, so b needs the shape ({rows},) or (..., {rows}, k), "
            f"got {shape}"
        )
    try:
        np.broadcast_shapes(_planes.shape_of(a)[:-2], _planes.shape_of(b)[:-2])
    except ValueError:
        raise LinAlgError(
            f"{function}: the stacks of a, shape {_planes.shape_of(a)}, and b, shape {shape}, "
            "do not match"
        ) from None
    return b, is_vector


def _require_nonzero_diagonal(t: Planes) -> None:
    diagonal = np.diagonal(t[:, 0], axis1=-2, axis2=-1)
    zero = np.argwhere((diagonal == 0).all(axis=0))
    if len(zero):
        *system, j = (int(i) for i in zero[0])
        where = f" of system {tuple(system)}" if system else ""
        raise LinAlgError(
            f"solve_triangular: entry [{j}, {j}] of a{where} is zero, so a is singular; "
            "write mdla.lstsq(a, b) for a least-squares solution"
        )


def substitute(t: Planes, x: Planes, lower: bool, unit: bool = False) -> None:
    """X <- T^-1 X in place for planes T (c, N, n, n) and X (c, N, n, k) with contiguous rows."""
    n = t.shape[-1]
    if x.shape[-1] == 1:
        leaf, kernel = _LEAF_OF_ONE[t.shape[1]], _native.substitute
    elif x.shape[-1] < _MANY:
        leaf, kernel = _LEAF[t.shape[1]], _native.substitute
    else:
        leaf, kernel = _BLOCK[t.shape[1]], _native.substitute_block
    if n <= leaf:
        kernel(t, x, lower, unit)
        return
    half = leaf
    while 2 * half < n:
        half *= 2
    head, tail = slice(None, half), slice(half, None)
    first, second = (head, tail) if lower else (tail, head)
    substitute(t[:, :, first, first], x[:, :, first], lower, unit)
    _native.subtract_in_place(x[:, :, second], multiply(t[:, :, second, first], x[:, :, first]))
    substitute(t[:, :, second, second], x[:, :, second], lower, unit)
