# SPDX-License-Identifier: BSD-3-Clause
"""Results that products by integers do not give: of inf and nan, and of entries too far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native

if TYPE_CHECKING:
    from mdla.gemm.residues import Item, Task

__all__ = ["repair"]

Planes = npt.NDArray[Any]


def repair(task: Task, item: Item, outs: list[Planes]) -> None:
    """Form the results anew that residues cannot give.

    Rows and columns with inf or nan follow IEEE arithmetic; tiles marked in ``item.far`` are formed
    by the direct kernels, which take entries of any size.
    """
    if item.far is not None:
        _form_tiles(task, item.far, outs)
    rows = np.flatnonzero(item.rows.exponents == _native.special_lane)
    columns = np.flatnonzero(item.columns.exponents == _native.special_lane)
    for out, special in zip(outs, _ieee(task, rows, slice(None)), strict=True):
        out[:, rows] = 0
        out[0, rows] = special
    for out, special in zip(outs, _ieee(task, slice(None), columns), strict=True):
        out[:, :, columns] = 0
        out[0][:, columns] = special


def _ieee(task: Task, rows: Any, columns: Any) -> list[npt.NDArray[np.float64]]:
    """Products of rows and columns of which each pair has an inf or nan.

    Such a sum is inf or nan whatever its finite terms are, so these only count by their signs,
    and no order of summation matters.
    """
    a, b = (_signs(z[:, 0]) for z in task.factors(rows, columns))
    with np.errstate(invalid="ignore"):
        if task.parts == 1:
            return [_product(a[0], b[0])]
        return [
            _product(a[0], b[0]) - _product(a[1], b[1]),
            _product(a[0], b[1]) + _product(a[1], b[0]),
        ]


def _signs(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(np.isfinite(x), np.sign(x), x)


def _product(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    product: npt.NDArray[np.float64] = np.einsum("ik,kj->ij", a, b)
    return product


def _form_tiles(task: Task, far: npt.NDArray[np.bool_], outs: list[Planes]) -> None:
    from mdla.gemm.direct import by_any_exponents
    from mdla.gemm.residues import TILE

    for i, row in enumerate(far):
        # Runs of neighbouring tiles in one call; bits of direct products do not depend on that.
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]])))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            rows, columns = slice(i * TILE, (i + 1) * TILE), slice(first * TILE, last * TILE)
            parts = by_any_exponents(*task.factors(rows, columns), task.limbs)
            for out, part in zip(outs, parts, strict=True):
                out[:, rows, columns] = part
