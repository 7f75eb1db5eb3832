# SPDX-License-Identifier: BSD-3-Clause
"""Blocked Householder QR on planes, in place.

The columns are taken in blocks. A block is halved recursively down to narrow panels, by products
down to a width and by a native kernel below it (E. Elmroth and F. Gustavson, IBM J. Res. Dev. 44
(2000) 605-624), and then applied to the columns behind it by `mdla.matmul` and
`mdla.gemm.update`, where nearly all arithmetic happens. Its reflectors are kept as
H = I - V T V^H with T upper triangular, the compact form of R. Schreiber and C. Van Loan (SIAM J.
Sci. Stat. Comput. 10 (1989) 53-57).

Conventions are LAPACK's: the diagonal of R is real, its entry j has the sign opposite to the entry
it replaces (zero counts as positive), and a column that is zero below the diagonal gets H = I.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core.arithmetic import negative
from mdla.core.array import MDArray
from mdla.linalg.gram import gram_block
from mdla.linalg.inputs import exponents_along, is_moderate, times_power
from mdla.linalg.products import adjoint, adjoint_times, multiply, subtract_product
from mdla.linalg.progress import stage

__all__ = [
    "BlockReflector",
    "adjoint",
    "apply",
    "apply_adjoint",
    "factor",
    "factor_pivoted",
    "form_q",
    "multiply",
    "reduce",
    "subtract_product",
]

Planes = npt.NDArray[Any]

# Columns of a native panel by the number of limbs: a product costs the less in comparison the more
# limbs there are.
_PANEL = {1: 16, 2: 16, 3: 8, 4: 8, 5: 8, 8: 8, 10: 8, 16: 4}

# Up to this many columns are one panel: the calls would cost more than the arithmetic.
_WHOLE = {1: 32, 2: 32, 3: 24, 4: 24, 5: 16, 8: 16, 10: 12, 16: 8}

# Up to this many columns a block is left to the native kernel.
_NATIVE = {1: 64, 2: 64, 3: 64, 4: 64, 5: 32, 8: 32, 10: 32, 16: 32}

# A block of so many columns or more, and that many times as many rows, is first tried by its Gram
# matrix, by the number of limbs; with few limbs the reflectors are cheaper. From measurements.
_GRAM = {4: (64, 16), 5: (64, 10), 8: (64, 6), 10: (64, 6), 16: (32, 3)}

# A column shorter than this times the first one waits for the next round of pivoting, so that
# rounding errors of the double precision in which the order is chosen do not matter.
_PIVOT_RANGE = 2.0**-20

# Columns whose order is chosen at a time, so that an interrupt is heeded in between.
_PIVOT_ROUND = 128


class BlockReflector(NamedTuple):
    """H = I - V T V^H on the rows from ``first`` on, a product of elementary reflectors.

    Attributes:
        first: The first row it acts on.
        v: Unit lower trapezoidal, the vectors of the elementary reflectors.
        t: Upper triangular; the diagonal has the coefficients of the elementary reflectors.
    """

    first: int
    v: Planes
    t: Planes


def widths(limbs: int, count: int) -> tuple[int, int]:
    """Columns of the panels and of the blocks for ``count`` columns."""
    if count <= _WHOLE[limbs]:
        return count, count
    panel = _PANEL[limbs]
    block = max(32, panel)
    while block * 8 < count:
        block *= 2
    return panel, block


def factor(work: Planes, count: int, keep: bool = True, first: int = 0) -> list[BlockReflector]:
    """Triangularise ``count`` columns of planes (c, N, m, n), from row and column ``first`` on.

    The columns behind them are transformed along. The work array must be C-contiguous.

    Returns:
        The reflectors with product Q: the old work array is Q times the new one. Empty, and less
        work for the same bits, without ``keep``.
    """
    parts, limbs, rows, columns = work.shape
    panel, width = widths(limbs, count)
    reflectors = []
    with stage("QR factorisation", count, "column") as advance:
        for start in range(first, first + count, max(width, 1)):
            w = min(width, first + count - start)
            stop = start + w
            if not keep and stop == columns and w <= panel:
                # Nobody asks for the last reflectors.
                _native.qr_panel(work[:, :, start:, start:], w)
                break
            block = BlockReflector(
                start, np.zeros((parts, limbs, rows - start, w)), np.zeros((parts, limbs, w, w))
            )
            _factor_block(block.v, block.t, work[:, :, start:, start:stop], panel)
            if stop < columns:
                _apply_adjoint(block, work[:, :, :, stop:])
            if keep:
                reflectors.append(block)
            advance(w)
    return reflectors


def _factor_block(v: Planes, t: Planes, a: Planes, panel: int) -> None:
    """Triangularise A (c, N, m, w) by I - V T V^H; V and T are zero before."""
    limbs, rows, w = a.shape[1:]
    half = _NATIVE[limbs]
    least, aspect = _GRAM.get(limbs, (w + 1, 1))
    if w >= least and rows >= aspect * w and gram_block(v, t, a):
        return
    if w <= half:
        _native.qr_block(v, t, a, panel)
        return
    while 2 * half < w:
        half *= 2
    left = BlockReflector(0, v[..., :half], t[:, :, :half, :half])
    right = BlockReflector(half, v[:, :, half:, half:], t[:, :, half:, half:])
    _factor_block(left.v, left.t, a[..., :half], panel)
    _apply_adjoint(left, a[..., half:])
    _factor_block(right.v, right.t, a[:, :, half:, half:], panel)
    # (I - V1 T1 V1^H)(I - V2 T2 V2^H) = I - V T V^H
    inner = adjoint_times(left.v[:, :, half:], right.v)
    corner = multiply(left.t, multiply(inner, right.t))
    t[:, :, :half, half:] = negative(MDArray(corner)).planes


def reduce(work: Planes, count: int) -> None:
    """Triangularise the first columns and transform the others, right-hand sides, along."""
    whole = _WHOLE[work.shape[1]]
    if count <= whole and work.shape[3] <= 2 * whole:
        # All of it fits into a panel.
        _native.qr_panel(work, count)
    else:
        factor(work, count, keep=False)


def _apply_adjoint(block: BlockReflector, c: Planes) -> None:
    """C <- H^H C in place for one block reflector."""
    c = c[:, :, block.first :]
    inner = adjoint_times(block.v, c)
    subtract_product(c, block.v, adjoint_times(block.t, inner))


def _apply(block: BlockReflector, c: Planes) -> None:
    """C <- H C in place for one block reflector."""
    c = c[:, :, block.first :]
    inner = adjoint_times(block.v, c)
    subtract_product(c, block.v, multiply(block.t, inner))


def apply(reflectors: list[BlockReflector], c: Planes) -> None:
    """C <- Q C in place, for the product Q of the reflectors."""
    for block in reversed(reflectors):
        _apply(block, c)


def apply_adjoint(reflectors: list[BlockReflector], c: Planes) -> None:
    """C <- Q^H C in place, for the product Q of the reflectors."""
    for block in reflectors:
        _apply_adjoint(block, c)


def form_q(reflectors: list[BlockReflector], like: Planes, rows: int, columns: int) -> Planes:
    """The first columns of Q."""
    q = np.zeros((*like.shape[:2], rows, columns))
    diagonal = np.arange(min(rows, columns))
    q[0, 0, diagonal, diagonal] = 1
    with stage("forming Q", len(reflectors), "block") as advance:
        for block in reversed(reflectors):
            _apply(block, q[..., block.first :])
            advance(1)
    return q


def factor_pivoted(
    work: Planes,
    count: int,
    columns: int,
    keep: bool = True,
    exponents: npt.NDArray[np.int32] | None = None,
) -> tuple[list[BlockReflector], npt.NDArray[np.intp]]:
    """As `factor`, with column pivoting among the first ``columns`` columns.

    The order is that of the longest rests, chosen in rounds: in double precision as far as that is
    exact enough, then again from the remaining columns, exactly updated. Columns that are scaled
    by ``2**-exponents`` (1, columns) are compared as they were before.

    Returns:
        The reflectors, and the order: column j of the permuted matrix is column ``order[j]``.
    """
    order = np.arange(columns)
    units = np.zeros((1, columns), dtype=np.int32) if exponents is None else exponents
    reflectors: list[BlockReflector] = []
    first = 0
    with stage("QR factorisation with pivoting", count, "column") as advance:
        while first < count:
            rest = work[:, :1, first:, first:columns]
            most = min(count - first, _PIVOT_ROUND)
            lengths = _comparable(rest, units[:, order[first:]])
            taken, chosen = _native.pivot_order(lengths, _PIVOT_RANGE, most)
            if taken == 0:
                # Only zeros are left (or nans, which have no order).
                taken = count - first
            else:
                work[..., first:columns] = work[..., first:columns][..., chosen]
                order[first:] = order[first:][chosen]
            reflectors += factor(work, taken, keep, first)
            first += taken
            advance(taken)
    return reflectors, order


def _comparable(columns: Planes, exponents: npt.NDArray[np.int32]) -> Planes:
    """Columns times ``2**exponents``, and all times a power that brings the longest near one.

    What is too short for doubles then is zero, and waits for another round.
    """
    sizes = (exponents + exponents_along(columns, -2))[:, columns.any(axis=(0, 1, 2))]
    if not exponents.any() and is_moderate(sizes):
        return columns
    columns = columns.copy()
    if sizes.size:
        times_power(columns, exponents - sizes.max())
    return columns
