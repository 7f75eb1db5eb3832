# SPDX-License-Identifier: BSD-3-Clause
"""What the functions of this floor do with their arguments before and after the work."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import unify
from mdla.core.precision import PRECISIONS, Precision, precision

__all__ = [
    "Inputs",
    "LinAlgError",
    "equilibrate",
    "exponents_along",
    "read_inputs",
    "require_matrix",
    "stacked",
    "wide_matrices",
]

LinAlgError = np.linalg.LinAlgError
Planes = npt.NDArray[Any]

_DD, _DS = PRECISIONS["dd"], PRECISIONS["ds"]


class Inputs(NamedTuple):
    """Operands in the format that the work is done in.

    Attributes:
        planes: One array of planes per operand, all with the same parts and limbs.
        result: The format of the results.
    """

    planes: list[Planes]
    result: Precision

    @property
    def eps(self) -> float:
        """The eps of the results as a double."""
        return math.ldexp(1.0, self.result.eps_exponent)

    def deliver(self, planes: Planes) -> MDArray:
        """A result as an array in the format of the results."""
        return MDArray(_planes.cast(planes, self.result))


def read_inputs(function: str, check_finite: bool, prec: Any, **operands: Any) -> Inputs:
    """Bring operands to one format, the one asked for or the widest among them.

    Two floats (``ds``) are computed with as two doubles, which hold them exactly.

    Raises:
        ValueError: ``check_finite`` and an operand has an infinity or a nan; or no precision has
            the name ``prec``.
        TypeError: An operand is no array of numbers.
    """
    wanted = None if prec is None else precision(prec)
    read, result, _ = unify(*operands.values(), prec=wanted)
    working = _DD if result == _DS else result
    parts = max(p.shape[0] for p in read)
    planes = []
    for name, p in zip(operands, read, strict=True):
        p = _planes.cast(p, working)
        if check_finite and not np.isfinite(p[:, 0]).all():
            raise ValueError(
                f"{function}: {name} has infinities or nans; remove them, or write "
                "check_finite=False to compute with them"
            )
        planes.append(_planes.as_complex(p) if parts == 2 else p)
    return Inputs(planes, result)


def require_finite(function: str, name: str, planes: Planes) -> None:
    """Raise ValueError for infinities and nans where nothing can be computed with them."""
    if not np.isfinite(planes[:, 0]).all():
        raise ValueError(f"{function}: {name} has infinities or nans; remove them")


def require_matrix(function: str, name: str, planes: Planes, square: bool = False) -> None:
    """Raise LinAlgError unless the planes hold a matrix or a stack of (square) matrices."""
    shape = _planes.shape_of(planes)
    if len(shape) < 2:
        raise LinAlgError(
            f"{function}: {name} must be a matrix or a stack of matrices, got shape {shape}; "
            f"write {name}.reshape(-1, 1) for one column"
        )
    if square and shape[-1] != shape[-2]:
        raise LinAlgError(
            f"{function}: {name} must be square, got shape {shape}; "
            "write mdla.lstsq(a, b) for other systems"
        )


def stacked(planes: Planes, batch: tuple[int, ...]) -> Planes:
    """Planes (c, N, *batch, rows, columns) as (c, N, B, rows, columns), leading axes broadcast."""
    rows, columns = planes.shape[-2:]
    planes = _planes.broadcast(planes, (*batch, rows, columns))
    return planes.reshape(*planes.shape[:2], math.prod(batch), rows, columns)


# Powers of two up to here in the data cost no bits of any format, so nothing need be scaled.
_MODERATE = 100

# 2**e and 2**-e are normal doubles up to here.
_NORMAL = 1022


def exponents_along(planes: Planes, *axes: int) -> npt.NDArray[np.int32]:
    """The exponents e of the largest entries along axes, in [2^(e-1), 2^e); 0 for zeros.

    The axes stay, with length one.
    """
    largest = np.abs(planes[:, 0]).max(axis=(0, *axes), initial=0.0, keepdims=True)[0]
    exponents = np.where(np.isfinite(largest), np.frexp(largest)[1], 0)
    return exponents.astype(np.int32)


def is_moderate(exponents: npt.NDArray[np.int32]) -> bool:
    """Whether numbers of this size can be worked with as they are."""
    return bool(np.all(np.abs(exponents) <= _MODERATE))


def times_power(planes: Planes, exponents: npt.NDArray[np.int32]) -> None:
    """Multiply by ``2**exponents`` in place; they broadcast against the last axes."""
    if not exponents.any():
        return
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if np.abs(exponents).max() <= _NORMAL:
            np.multiply(planes, np.ldexp(1.0, exponents), out=planes)
        else:
            np.ldexp(planes, exponents, out=planes)


def equilibrate(
    a: Planes,
) -> tuple[Planes, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Scale rows and then columns by powers of two to largest entries in [1/2, 1).

    Both are applied at once, so that nothing that is large within its column is lost on the way.

    Returns:
        The scaled planes, a C-contiguous copy, and the exponents of the rows (m, 1) and of the
        columns (1, n): what was divided by.
    """
    scaled = np.array(a, order="C")
    lead = np.abs(scaled[:, 0]).max(axis=0, initial=0.0)
    if not _is_wide(lead):
        rows = exponents_along(scaled, -1)
        times_power(scaled, -rows)
        columns = exponents_along(scaled, -2)
        times_power(scaled, -columns)
        return scaled, rows, columns
    present = np.isfinite(lead) & (lead > 0)
    exponents = np.where(present, np.frexp(lead)[1], _ABSENT).astype(np.int32)
    rows = exponents.max(axis=-1, keepdims=True, initial=_ABSENT)
    rows = np.where(rows == _ABSENT, 0, rows).astype(np.int32)
    columns = np.where(present, exponents - rows, _ABSENT).max(
        axis=-2, keepdims=True, initial=_ABSENT
    )
    columns = np.where(columns == _ABSENT, 0, columns).astype(np.int32)
    times_power(scaled, -(rows + columns))
    return scaled, rows, columns


# Entries of a stack whose magnitudes stay in the caches, in memory that need not be mapped anew.
_ENTRIES = 1 << 14

# The exponent of no entry.
_ABSENT = -(10**6)


def _is_wide(lead: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Of magnitudes (..., m, n), the matrices of which scaling by rows could lose limbs."""
    entries = lead.reshape(*lead.shape[:-2], lead.shape[-2] * lead.shape[-1])
    above = entries.max(axis=-1, initial=0.0) > 2.0**_MODERATE
    below = np.where(entries > 0, entries, 1.0).min(axis=-1, initial=1.0) < 2.0**-_MODERATE
    return np.asarray(above | below)


def wide_matrices(stack: Planes) -> npt.NDArray[np.bool_]:
    """Of planes (c, N, B, m, n), the matrices with entries far from 1."""
    found = np.empty(stack.shape[2], dtype=bool)
    portion = max(1, _ENTRIES // max(1, stack.shape[3] * stack.shape[4]))
    for first in range(0, len(found), portion):
        some = slice(first, first + portion)
        found[some] = _is_wide(np.abs(stack[:, 0, some]).max(axis=0, initial=0.0))
    return found
