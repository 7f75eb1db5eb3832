# SPDX-License-Identifier: BSD-3-Clause
"""Rank and pseudoinverse, by singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdla.core import planes as _planes, reductions
from mdla.core.array import MDArray
from mdla.core.comparison import greater, not_equal
from mdla.core.operands import to_array
from mdla.core.protocols import implements
from mdla.gemm import matmul
from mdla.linalg.inputs import Inputs, read_inputs, require_finite, require_matrix
from mdla.linalg.svd import svd

__all__ = ["matrix_rank", "pinv"]


@implements(np.linalg.matrix_rank)
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None, prec: Any = None
) -> Any:
    """The number of singular values that exceed a tolerance, as ``numpy.linalg.matrix_rank``.

    Args:
        A: A matrix (m, n), a stack (..., m, n), or a vector, of rank 0 or 1.
        tol: The tolerance, one number or one for each matrix.
        hermitian: Whether A is Hermitian; then its lower triangle is read.
        rtol: The tolerance over the largest singular value; by default ``max(m, n) eps`` of the
            precision that is computed in.
        prec: The precision to compute in; by default that of ``A``.

    Returns:
        The rank, or an integer array (...) of ranks.

    Raises:
        ValueError: ``tol`` and ``rtol`` are both given, or an entry is not finite.

    Example:
        >>> import mdla
        >>> A = mdla.array([[1, 1], [1, "1.00000000000000000000001"]], prec="qd")
        >>> int(mdla.linalg.matrix_rank(A)), int(mdla.linalg.matrix_rank(A.astype("d")))
        (2, 1)
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: got tol and rtol; write one of them")
    inputs = read_inputs("matrix_rank", False, prec, A=A)
    require_finite("matrix_rank", "A", inputs.planes[0])
    matrix = MDArray(inputs.planes[0])
    if matrix.ndim < 2:
        return int(bool(not_equal(matrix, 0).any()))
    s = svd(matrix, compute_uv=False, hermitian=hermitian)
    limit = _limits(s, rtol, inputs) if tol is None else to_array(tol)[..., np.newaxis]
    return np.count_nonzero(greater(s, limit), axis=-1)


@implements(np.linalg.pinv)
def pinv(
    a: Any,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    rtol: Any = None,
    prec: Any = None,
    check_finite: bool = True,
) -> MDArray:
    """The Moore-Penrose inverse, by the singular values that exceed a tolerance.

    With the kept part ``A = U diag(s) V^H`` it is ``V diag(1 / s) U^H``; its relative error is at
    most ``c n eps`` times the ratio of the largest to the smallest kept singular value.

    Args:
        a: A matrix (m, n) or a stack (..., m, n).
        rcond: The tolerance over the largest singular value, one number or one for each matrix; by
            default ``max(m, n) eps`` of the precision that is computed in.
        hermitian: Whether A is Hermitian; then its lower triangle is read.
        rtol: NumPy's other name of ``rcond``.
        prec: The precision to compute in; by default that of ``a``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        The matrices (..., n, m).

    Raises:
        LinAlgError: ``a`` is no matrix.
        ValueError: ``rcond`` and ``rtol`` are both given, or an entry is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.pinv(mdla.array([[2, 0], [0, 0]])))
        [[0.5 0. ]
         [0.  0. ]]
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: got rcond and rtol, two names of one tolerance; write one of them")
    inputs = read_inputs("pinv", check_finite, prec, a=a)
    require_matrix("pinv", "a", inputs.planes[0])
    matrix = MDArray(inputs.planes[0])
    u, s, vh = svd(matrix, full_matrices=False, hermitian=hermitian, check_finite=check_finite)
    dropped = ~greater(s, _limits(s, rcond if rtol is None else rtol, inputs))
    dropped &= np.isfinite(s.planes[0, 0])
    s[dropped] = 1
    inverse = 1 / s
    inverse[dropped] = 0
    product = matmul(vh.H * inverse[..., np.newaxis, :], u.H)
    return inputs.deliver(_planes.cast(product.planes, matrix.precision))


def _limits(s: MDArray, rtol: Any, inputs: Inputs) -> MDArray:
    """Tolerances, with an axis for the singular values."""
    if s.shape[-1] == 0:
        return to_array(0.0, s.precision)
    largest = reductions.max(s, -1, keepdims=True)
    if rtol is None:
        rows, columns = inputs.planes[0].shape[-2:]
        rtol = max(rows, columns) * inputs.eps
    limit: MDArray = largest * to_array(rtol)[..., np.newaxis]
    return limit
