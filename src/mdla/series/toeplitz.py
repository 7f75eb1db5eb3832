# SPDX-License-Identifier: BSD-3-Clause
"""Linear systems of power series: block lower triangular Toeplitz systems.

With ``A(t) = A_0 + A_1 t + ...`` and likewise b and x, ``A(t) x(t) = b(t)`` says, order by order,

    A_0 x_k = b_k - (A_1 x_(k-1) + ... + A_k x_0),    k = 0, 1, ...

so one factorisation of A_0 and a forward substitution solve it (N. Bliss and J. Verschelde, The
method of Gauss-Newton to compute power series solutions of polynomial homotopies, Linear Algebra
Appl. 542 (2018) 569-588; J. Verschelde, arXiv 2101.10881). The substitution is recursive: what the
first half of the orders contributes to the second one is a single matrix product,

    [A_1 A_2 A_3 ...] [x_(k-1); x_(k-2); ...],    a column for each order k,

which `mdla.matmul` forms with one rounding of each long sum. For an n x n matrix and d orders that
is n^2 d^2 / 2 multiply-adds where matrices are multiplied by a vector one after the other, and
about twice as many here, in products that are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.arithmetic import add, subtract
from mdla.core.array import MDArray
from mdla.gemm import Prepared, adjoint, matmul, prepare
from mdla.linalg import QR, batched
from mdla.linalg.elimination import LUFactors
from mdla.linalg.inputs import (
    LinAlgError,
    exponents_along,
    stacked,
    times_power,
    wide_matrices,
)
from mdla.linalg.lstsq import lstsq
from mdla.linalg.solve import GROWTH, SINGULAR

__all__ = ["LeadingMatrices", "forward_substitution"]

Planes = npt.NDArray[Any]

# Up to this order a single column is substituted without division into blocks.
_UNDIVIDED = 128

# Bytes of the arrangement of x for one product.
_BYTES = 1 << 26


class _Factorisation(Protocol):
    """What is kept of one or several leading matrices."""

    def solve(self, r: Planes) -> Planes:
        """Solutions (c, N, B, n, k) for right-hand sides (c, N, B, m, k)."""


class LeadingMatrices:
    """A stack of factored matrices A_0, m >= n.

    Args:
        function: The caller's name, for messages.
        a: Planes (c, N, *batch, m, n), finite.
        eps: The unit of the precision of results.
        rcond: None if the columns are to be independent. Else the threshold for the rank of
            `mdla.lstsq`, which then gives the smallest solutions.

    Attributes:
        rcond: Estimated reciprocal condition numbers (*batch), 0 where the rank is less than n.

    Raises:
        LinAlgError: A matrix has more columns than rows, or is singular to working precision, and
            there is no ``rcond``.
        ValueError: ``rcond`` is nan.
    """

    rcond: npt.NDArray[np.float64]

    def __init__(self, function: str, a: Planes, eps: float, rcond: float | None = None) -> None:
        self.batch = _planes.shape_of(a)[:-2]
        m, n = a.shape[-2:]
        if rcond is not None and np.isnan(rcond):
            raise ValueError(f"{function}: rcond is nan; write None for independent columns")
        if m < n and rcond is None:
            raise LinAlgError(
                f"{function}: the leading matrix has shape ({m}, {n}), fewer rows than columns, so "
                "solutions are not unique; write rcond=0, or another threshold, for the smallest"
            )
        matrices = stacked(a, self.batch)
        count = matrices.shape[2]
        found = np.ones(count)
        self._members: list[tuple[Any, _Factorisation]] = []
        if rcond is not None:
            least = _Smallest(matrices, rcond)
            found, self._members = least.rcond, [(slice(None), least)]
        else:
            apart = np.ones(count, dtype=bool)
            if self.batch and batched.is_small(matrices):
                apart = wide_matrices(matrices)
                # A mask would copy the stack.
                some: Any = ~apart if apart.any() else slice(None)
                together, found[some] = _side_by_side(matrices[:, :, some])
                self._members.append((some, together))
            for i in np.flatnonzero(apart):
                one, found[i] = _alone(matrices[:, :, i])
                self._members.append((slice(i, i + 1), one))
            self._require_regular(function, found, max(SINGULAR, n if m > n else 0) * eps)
        self.rcond = found.reshape(self.batch)
        self._columns = n

    def _require_regular(self, function: str, rcond: npt.NDArray[np.float64], least: float) -> None:
        bad = np.flatnonzero(~(rcond >= least))
        if not len(bad):
            return
        place = ", ".join(str(int(i)) for i in np.unravel_index(bad[0], self.batch))
        which = f" of system [{place}]" if place else ""
        raise LinAlgError(
            f"{function}: the leading matrix{which} is singular: its reciprocal condition number "
            f"is about {rcond[bad[0]]:.1e}, less than {least:.1e}, so no order determines the "
            "next; move to another point of t, write rcond= for smallest solutions in the sense "
            "of lstsq, or a wider prec if the data are that exact"
        )

    def solve(self, r: Planes) -> Planes:
        """Solutions (c, N, B, n, k) for right-hand sides (c, N, B, m, k), B the batch raveled."""
        if len(self._members) == 1:
            return self._members[0][1].solve(r)
        x = np.empty((*r.shape[:3], self._columns, r.shape[-1]))
        for some, factors in self._members:
            x[:, :, some] = factors.solve(r[:, :, some])
        return x


class _Inverse:
    """Small square matrices whose inverses are formed, with a correction of each solution.

    ``x = X y``, then ``x + X (y - A x)``: one step of refinement in the same precision makes the
    componentwise backward error that of a backward stable solver, whatever the first one was, if
    the matrix is not too close to singular (R. Skeel, Math. Comp. 35 (1980) 817-832). The last
    product is formed of doubles, since the correction is small. Products of stacks run side by
    side, which two substitutions would do less well.
    """

    def __init__(self, a: Planes, inverse: Planes) -> None:
        self._a, self._inverse = _operand(a), _operand(inverse)
        self._leading = MDArray(np.ascontiguousarray(self._inverse.planes[:, :1]))

    def solve(self, r: Planes) -> Planes:
        y = _operand(r)
        x = matmul(self._inverse, y)
        rest = subtract(y, matmul(self._a, x))
        first = MDArray(np.ascontiguousarray(rest.planes[:, :1]))
        x = add(x, matmul(self._leading, first))
        return x.planes.reshape(*r.shape[:3], *x.planes.shape[-2:])


def _operand(planes: Planes) -> MDArray:
    """Planes (c, N, B, m, n) for a product; one matrix is multiplied faster than a stack of one."""
    return MDArray(planes[:, :, 0] if planes.shape[2] == 1 else planes)


def _side_by_side(a: Planes) -> tuple[_Factorisation, npt.NDArray[np.float64]]:
    """A stack of small matrices, by ``Q R`` if they are not square, and their conditions."""
    m, n = a.shape[-2:]
    if m == n:
        inverse, rcond = batched.solve(a, _identities(a))
        return _Inverse(a, inverse), rcond
    q, r = batched.qr(a, "reduced")
    inverse, rcond = batched.solve(r, _identities(r))
    triangle, left = _Inverse(r, inverse), adjoint(MDArray(q))
    return _Applied(lambda b: triangle.solve(matmul(left, MDArray(b)).planes)), rcond


def _alone(a: Planes) -> tuple[_Factorisation, float]:
    """One matrix: by elimination, or where entries grow or it is not square by reflections."""
    m, n = a.shape[-2:]
    if m == n:
        factors = LUFactors(a)
        if not factors.growth > max(GROWTH, n):
            return _Eliminated(factors), factors.rcond
    reflections = QR(MDArray(a), check_finite=False)
    rcond = 1.0 if n == 0 else _native.reciprocal_condition(_unit_columns(reflections.R.planes))
    return (
        _Applied(lambda b: reflections.solve(MDArray(b[:, :, 0])).planes[:, :, np.newaxis]),
        rcond,
    )


class _Eliminated:
    """One matrix with LU factors."""

    def __init__(self, factors: LUFactors) -> None:
        self._factors = factors

    def solve(self, r: Planes) -> Planes:
        lu, right = self._factors, r[:, :, 0]
        if right.shape[-1] > 1 or len(lu.order) > _UNDIVIDED:
            return lu.solve(right)[:, :, np.newaxis]
        x = np.ascontiguousarray(right[:, :, lu.order])
        times_power(x, -lu.row_exponents[lu.order])
        _native.substitute(lu.factors, x, True, True)
        _native.substitute(lu.factors, x, False, False)
        times_power(x, -lu.column_exponents.T)
        return x[:, :, np.newaxis]


class _Applied:
    """Factors that a function applies."""

    def __init__(self, solve: Callable[[Planes], Planes]) -> None:
        self.solve = solve


def _identities(like: Planes) -> Planes:
    n = like.shape[-1]
    one = np.zeros((*like.shape[:2], 1, n, n))
    one[0, 0, :, range(n), range(n)] = 1
    return np.broadcast_to(one, like.shape)


def _unit_columns(r: Planes) -> Planes:
    """Columns scaled by powers of two: the units of the unknowns do not matter."""
    scaled = r.copy()
    times_power(scaled, -exponents_along(scaled, -2))
    return scaled


class _Smallest:
    """Matrices of any rank: the smallest of the least-squares solutions."""

    def __init__(self, a: Planes, threshold: float) -> None:
        self._a, self._threshold = MDArray(a), threshold
        probe = np.zeros((*a.shape[:-1], 1))
        self.rcond = np.asarray(lstsq(self._a, MDArray(probe), rcond=threshold).rcond)

    def solve(self, r: Planes) -> Planes:
        found = lstsq(self._a, MDArray(r), rcond=self._threshold, check_finite=False)
        return found.x.planes


def forward_substitution(leading: LeadingMatrices, a: Planes, b: Planes) -> Planes:
    """The x with ``A(t) x(t) = b(t)``, order by order.

    Each x_k solves its equation with the backward error of the leading factorisation and a
    right-hand side with an error of at most ``(n k + log2 d + 1) eps (|b_k| + sum_j |A_j|
    |x_(k-j)|)``, for each part of a complex entry.

    Args:
        leading: The factored A_0, a batch that ravels to B.
        a: Planes (c, N, B, m, n, e) of A_0, ..., A_(e-1); what follows counts as zero.
        b: Planes (c, N, B, m, k, d).

    Returns:
        Planes (c, N, B, n, k, d).
    """
    return _Substitution(leading, a, b).solution()


def _windows(known: Planes, width: int) -> Planes:
    """W[..., j, i, k, c] = known[..., i, c, J - 1 - j + k], J windows of a width, as a view."""
    *steps, row, column, order = known.strides
    *outer, n, columns, length = known.shape
    count = length - width + 1
    return np.lib.stride_tricks.as_strided(
        known[..., count - 1 :],
        (*outer, count, n, width, columns),
        (*steps, -order, row, order, column),
        writeable=False,
    )


class _Substitution:
    """The state of one forward substitution."""

    def __init__(self, leading: LeadingMatrices, a: Planes, b: Planes) -> None:
        self._leading = leading
        *outer, m, n, orders = a.shape
        behind = np.moveaxis(a[..., 1:], -1, -2)  # (..., m, j, n)
        self._row = np.ascontiguousarray(behind).reshape(*outer, m, (orders - 1) * n)
        self._behind = orders - 1
        self._prepared: dict[int, Prepared] = {}
        self._rest = np.array(b, order="C")
        self._x = np.zeros((*b.shape[:3], n, *b.shape[4:]))

    def solution(self) -> Planes:
        self._run(0, self._x.shape[-1])
        return self._x

    def _run(self, low: int, high: int) -> None:
        """Find the orders from low to high, whose right-hand sides lack nothing before low."""
        if high - low <= 1:
            if high > low:
                self._x[..., low] = self._leading.solve(self._rest[..., low])
            return
        half = 1 << ((high - low - 1).bit_length() - 1)
        middle = low + half
        self._run(low, middle)
        self._update(low, middle, high)
        self._run(middle, high)

    def _update(self, low: int, middle: int, high: int) -> None:
        """Subtract what the orders from low to middle contribute to those from middle to high."""
        blocks = min(high - 1 - low, self._behind)
        if not blocks or not self._x.size:
            return
        *outer, n, columns, _ = self._x.shape
        left = self._left(blocks)
        step = max(1, _BYTES // (8 * math.prod(outer) * blocks * n * columns))
        for first in range(middle, high, step):
            last = min(first + step, high)
            begin = max(low, first - blocks)
            if begin >= middle:
                break
            # Order k of block j is x_(k-j): windows of a series that is zero around what is known.
            known = np.zeros((*outer, n, columns, blocks + last - first - 1))
            known[..., begin - first + blocks : middle - first + blocks] = self._x[
                ..., begin:middle
            ]
            right = _windows(known, last - first).reshape(*outer, blocks * n, -1)
            product = matmul(left, _operand(right)).planes
            product = product.reshape(*outer, -1, last - first, columns).swapaxes(-1, -2)
            rest = MDArray(self._rest[..., first:last])
            self._rest[..., first:last] = subtract(rest, MDArray(product)).planes

    def _left(self, blocks: int) -> Prepared:
        """The matrices A_1, ... side by side."""
        if blocks not in self._prepared:
            n = self._x.shape[3]
            self._prepared[blocks] = prepare(_operand(self._row[..., : blocks * n]))
        return self._prepared[blocks]
