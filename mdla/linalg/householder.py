# SPDX-License-Identifier: BSD-3-Clause
"""Blocked Householder QR on planes, in place.

The columns are taken in blocks. Within a block they are halved recursively down to a panel that a
native kernel factors; a half is applied to the rest by matrix products, as a block is, so that
nearly all arithmetic happens in `mdla.matmul`. A block of reflectors is kept in the compact form
H = I - V T V^H (R. Schreiber and C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989) 53-57; the
recursion: E. Elmroth and F. Gustavson, IBM J. Res. Dev. 44 (2000) 605-624).

Conventions are LAPACK's: the diagonal of R is real, its entry j has the sign opposite to the entry
it replaces (zero counts as positive), and a column that is zero below the diagonal gets H = I.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core.array import MDArray
from mdla.gemm import matmul

__all__ = [
    "BlockReflector",
    "adjoint",
    "apply",
    "apply_adjoint",
    "factor",
    "factor_pivoted",
    "multiply",
]

Planes = npt.NDArray[Any]

# Columns of a native panel by the number of limbs: a product costs the less in comparison the more
# limbs there are.
_PANEL = {1: 32, 2: 32, 3: 16, 4: 16, 5: 8, 8: 8, 10: 4, 16: 4}

# A column shorter than this times the first one waits for the next round of pivoting, so that
# rounding errors of the double precision in which the order is chosen do not matter.
_PIVOT_RANGE = 2.0**-20


class BlockReflector(NamedTuple):
    """H = I - V T V^H on the rows from ``first`` on."""

    first: int
    v: Planes
    t: Planes


def multiply(a: Planes, b: Planes) -> Planes:
    """The matrix product of planes."""
    return matmul(MDArray(a), MDArray(b)).planes


def adjoint(a: Planes) -> Planes:
    """The conjugate transpose; a view of real planes."""
    a = a.swapaxes(-1, -2)
    if a.shape[0] == 2:
        a = a.copy()
        np.negative(a[1], out=a[1])
    return a


def panel_width(limbs: int) -> int:
    """Columns of the panels factored by the native kernel."""
    return _PANEL[limbs]


def block_width(limbs: int, count: int) -> int:
    """Columns of the blocks: an eighth of all, a power of two times the panel."""
    width = panel_width(limbs)
    while width * 8 < count:
        width *= 2
    return width


def factor(work: Planes, count: int, keep: bool = True, first: int = 0) -> list[BlockReflector]:
    """Triangularise columns ``first .. first + count`` of planes (c, N, m, n) from row ``first`` on.

    The other columns behind them are transformed along. The work array must be C-contiguous.

    Returns:
        The reflectors with product Q: the old work array is Q times the new one. Empty, and less
        work, without ``keep``.
    """
    parts, limbs, rows, columns = work.shape
    width = block_width(limbs, count)
    reflectors = []
    for start in range(first, first + count, width):
        w = min(width, first + count - start)
        stop = start + w
        if not keep and stop == first + count and columns - start <= 2 * panel_width(limbs):
            # Nobody asks for the last reflectors; what they change fits into the panel.
            _native.qr_panel(None, None, work[:, :, start:, start:], w)
            break
        v = np.zeros((parts, limbs, rows - start, w))
        t = np.zeros((parts, limbs, w, w))
        _factor_block(work[:, :, start:, start:stop], v, t)
        if stop < columns:
            apply_adjoint(work[:, :, start:, stop:], v, t)
        if keep:
            reflectors.append(BlockReflector(start, v, t))
    return reflectors


def _factor_block(a: Planes, v: Planes, t: Planes) -> None:
    """Triangularise all columns of a, and fill in V and T, which come as zeros."""
    width = a.shape[3]
    panel = panel_width(a.shape[1])
    if width <= panel:
        _native.qr_panel(v, t, a, width)
        return
    half = panel
    while 2 * half < width:
        half *= 2
    v1, t1 = v[:, :, :, :half], t[:, :, :half, :half]
    v2, t2 = v[:, :, half:, half:], t[:, :, half:, half:]
    _factor_block(a[:, :, :, :half], v1, t1)
    apply_adjoint(a[:, :, :, half:], v1, t1)
    _factor_block(a[:, :, half:, half:], v2, t2)
    # (I - V1 T1 V1^H)(I - V2 T2 V2^H) = I - V T V^H
    inner = multiply(adjoint(v1[:, :, half:]), v2)
    np.negative(multiply(t1, multiply(inner, t2)), out=t[:, :, :half, half:])


def apply_adjoint(c: Planes, v: Planes, t: Planes) -> None:
    """C <- H^H C in place, for H = I - V T V^H."""
    _native.subtract_in_place(c, multiply(v, multiply(adjoint(t), multiply(adjoint(v), c))))


def apply(reflectors: list[BlockReflector], c: Planes) -> None:
    """C <- Q C in place, for the product Q of the reflectors."""
    for first, v, t in reversed(reflectors):
        rest = c[:, :, first:]
        _native.subtract_in_place(rest, multiply(v, multiply(t, multiply(adjoint(v), rest))))


def form_q(reflectors: list[BlockReflector], like: Planes, rows: int, columns: int) -> Planes:
    """The first columns of Q."""
    q = np.zeros((*like.shape[:2], rows, columns))
    diagonal = np.arange(min(rows, columns))
    q[0, 0, diagonal, diagonal] = 1
    for first, v, t in reversed(reflectors):
        rest = q[:, :, first:, first:]
        _native.subtract_in_place(rest, multiply(v, multiply(t, multiply(adjoint(v), rest))))
    return q


def factor_pivoted(
    work: Planes, count: int, columns: int, keep: bool = True
) -> tuple[list[BlockReflector], npt.NDArray[np.intp]]:
    """As `factor`, with column pivoting among the first ``columns`` columns.

    The order is that of the longest rests, chosen in rounds: in double precision as far as that is
    exact enough, then again from the remaining columns, exactly updated.

    Returns:
        The reflectors, and the order: column j of the permuted matrix is column ``order[j]``.
    """
    order = np.arange(columns)
    reflectors: list[BlockReflector] = []
    first = 0
    while first < count:
        taken, chosen = _native.pivot_order(work[:, :, first:, first:columns], _PIVOT_RANGE)
        if taken == 0:
            # Only zeros are left (or nans, which have no order).
            taken = count - first
        else:
            work[..., first:columns] = work[..., first:columns][..., chosen]
            order[first:] = order[first:][chosen]
        taken = min(taken, count - first)
        reflectors += factor(work, taken, keep, first)
        first += taken
    return reflectors, order
