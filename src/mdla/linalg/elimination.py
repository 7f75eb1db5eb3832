# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian elimination on planes: LU factors with partial pivoting, and what follows from them.

The columns are halved recursively (S. Toledo, SIAM J. Matrix Anal. Appl. 18 (1997) 1065-1081) down
to blocks that a native kernel factors. Between the halves stand a triangular system with many
right-hand sides and a product, where nearly all arithmetic happens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.linalg.householder import adjoint, multiply
from mdla.linalg.inputs import equilibrate, times_power
from mdla.linalg.progress import stage
from mdla.linalg.triangular import substitute

__all__ = ["LUFactors", "ScaledLU", "factor", "order_of", "solve_factored"]

Planes = npt.NDArray[Any]
Order = npt.NDArray[np.intp]

# Columns of a native block and of its panels by the number of limbs.
_BLOCK = {1: 64, 2: 128, 3: 64, 4: 64, 5: 64, 8: 64, 10: 64, 16: 64}
_PANEL = {1: 16, 2: 16, 3: 8, 4: 8, 5: 8, 8: 8, 10: 4, 16: 4}


def factor(work: Planes) -> list[int]:
    """``P A = L U`` in place of planes (c, N, m, n), with partial pivoting.

    U comes on and above the diagonal, the unit lower trapezoidal L below it. The pivot of a column
    is the entry with the largest ``|re| + |im|``, the first of equals. Rows must be contiguous.

    Returns:
        The pivots: rows j and ``pivots[j] >= j`` were exchanged, for j = 0, 1, ...
    """
    count = min(work.shape[-2:])
    left, right = work[..., :count], work[..., count:]
    with stage("LU factorisation", count, "column") as advance:
        pivots = _eliminate(left, advance)
    if count and right.shape[-1]:
        _native.exchange_rows(right, pivots)
        substitute(left, right, lower=True, unit=True)
    return pivots


def _eliminate(a: Planes, advance: Callable[[int], None]) -> list[int]:
    width, block = a.shape[-1], _BLOCK[a.shape[1]]
    if width <= block:
        pivots: list[int] = _native.lu_block(a, _PANEL[a.shape[1]])
        advance(width)
        return pivots
    half = block
    while 2 * half < width:
        half *= 2
    left, right = a[..., :half], a[..., half:]
    first = _eliminate(left, advance)
    _native.exchange_rows(right, first)
    top, rest = right[:, :, :half], right[:, :, half:]
    substitute(left[:, :, :half], top, lower=True, unit=True)
    _native.subtract_in_place(rest, multiply(left[:, :, half:], top))
    second = _eliminate(rest, advance)
    _native.exchange_rows(left[:, :, half:], second)
    return first + [half + j for j in second]


def order_of(pivots: list[int], rows: int) -> Order:
    """The order of the rows after exchanges: row i of ``P A`` is row ``order[i]`` of A."""
    order = list(range(rows))
    for j, pivot in enumerate(pivots):
        order[j], order[pivot] = order[pivot], order[j]
    return np.array(order, dtype=np.intp)


def solve_factored(factors: Planes, order: Order, b: Planes, trans: str) -> Planes:
    """The solution of ``op(A) x = b``, new planes, for ``A[order] = L U``; trans as in SciPy."""
    if trans == "N":
        x = np.ascontiguousarray(b[:, :, order])
        substitute(factors, x, lower=True, unit=True)
        substitute(factors, x, lower=False)
        return x
    transpose = adjoint(factors) if trans == "C" else factors.swapaxes(-1, -2)
    y = np.array(b, order="C")
    substitute(transpose, y, lower=True)
    substitute(transpose, y, lower=False, unit=True)
    x = np.empty_like(y)
    x[:, :, order] = y
    return x


class ScaledLU:
    """LU factors of a square matrix S that is scaled already: ``S[order] = L U``.

    It works for every number of limbs, real and complex. A solution x of ``S x = b`` satisfies
    ``(S + E) x = b`` with ``|E| <= c n eps P^T |L| |U|`` (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., theorem 9.4): small as long as `growth` is.

    Attributes:
        factors: Planes (c, N, n, n): U on and above the diagonal, L below it.
        pivots: Rows j and ``pivots[j]`` were exchanged in step j.
        order: Row i of ``L U`` is row ``order[i]`` of S.

    Args:
        scaled: Planes (c, N, n, n), C-contiguous, which become the factors.
    """

    def __init__(self, scaled: Planes) -> None:
        self.factors = scaled
        sizes = np.abs(scaled[:, 0]).sum(axis=0)
        self._norm = float(sizes.sum(axis=0).max(initial=0.0))
        self._largest = float(sizes.max(initial=0.0))
        self.pivots = factor(self.factors)
        self.order = order_of(self.pivots, scaled.shape[-1])

    @property
    def limbs(self) -> int:
        """Limbs of the factors."""
        return int(self.factors.shape[1])

    @property
    def growth(self) -> float:
        """The largest entry of U over that of the scaled matrix; 1 for a zero matrix."""
        largest = float(np.triu(np.abs(self.factors[:, 0]).sum(axis=0)).max(initial=0.0))
        return largest / self._largest if self._largest else 1.0

    @property
    def is_singular(self) -> bool:
        """Whether a pivot is zero."""
        return not np.diagonal(self.factors[:, 0], axis1=-2, axis2=-1).any(axis=0).all()

    @cached_property
    def rcond(self) -> float:
        """About ``1 / (||S||_1 ||S^-1||_1)`` of the matrix; 0 if a pivot is zero.

        Exact up to rounding for small n; for large n the norm of the inverse is estimated from
        below (N. J. Higham, ACM TOMS 14 (1988) 381-396), rarely by more than a factor of 3.
        """
        value: float = _native.reciprocal_condition_lu(self.factors, self._norm)
        return value

    def solve(self, b: Planes, trans: str = "N") -> Planes:
        """The solution of ``op(S) x = b``, new planes, for planes b (c, N, n, k).

        Args:
            b: Right-hand sides.
            trans: "N" for S, "T" for its transpose, "C" for its conjugate transpose.
        """
        return solve_factored(self.factors, self.order, b, trans)


class LUFactors(ScaledLU):
    """LU factors of a square matrix, which is scaled by powers of two first, ``2**-r A 2**-c``.

    The exponents r of the rows and c of the columns bring the largest entry of each column of the
    scaled matrix to [1/2, 1), after the same was done for its rows. So nothing over- or underflows
    that need not, and neither the units of the unknowns nor those of the equations matter.

    Attributes:
        row_exponents: The exponents r, shape (n, 1).
        column_exponents: The exponents c, shape (1, n).

    Args:
        a: Planes (c, N, n, n), which are not changed.
    """

    def __init__(self, a: Planes) -> None:
        scaled, self.row_exponents, self.column_exponents = equilibrate(a)
        super().__init__(scaled)

    def solve(self, b: Planes, trans: str = "N") -> Planes:
        """The solution of ``op(A) x = b``; arguments as above."""
        x = np.array(b, order="C")
        before, after = self.row_exponents, self.column_exponents.swapaxes(-1, -2)
        if trans != "N":
            before, after = after, before
        times_power(x, -before)
        x = super().solve(x, trans)
        times_power(x, -after)
        return x
