# SPDX-License-Identifier: BSD-3-Clause
"""What the schemes that cut entries into pieces share: lanes, blocks, and sums of places.

A *lane* is a row of A or a column of B. Both schemes scale each lane by a power of two, cut its
entries into pieces of a fixed width, multiply pieces exactly, and add what belongs to one power of
two, a *place*, in integers. Lanes that cannot be cut so, and those with inf or nan, go to the
direct scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.gemm import engines
from mdla.gemm.direct import real_operands, unstacked
from mdla.gemm.plan import Problem

__all__ = [
    "carry",
    "depths",
    "exponents",
    "multiply",
    "round_places",
    "spans_of_lanes",
    "steps",
]

Planes = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Exponents = npt.NDArray[np.int32]

_NO_EXPONENT = -(2**20)
# Sums are rounded to limbs near 2**800: neither do they overflow nor their last bits underflow.
_LEVEL = 800


# -- exponents of lanes --------------------------------------------------------------------------


def exponents(x: Planes, axis: int) -> Exponents:
    """E with ``|x| < 2**E`` for all entries of each lane along the axis, kept with length one.

    The least such E; `_NO_EXPONENT` for lanes of zeros.
    """
    _, e = np.frexp(x[0])
    e[x[0] == 0] = _NO_EXPONENT
    top: Exponents = e.max(axis=axis, keepdims=True, initial=_NO_EXPONENT)
    return top


def depths(x: Planes, top: Exponents) -> Exponents:
    """By how many bits entries lie below ``2**top``, the exponents of their lanes; 0 for zeros."""
    _, e = np.frexp(x[0])
    return np.where(x[0] == 0, 0, top - e)


def spans_of_lanes(x: Planes, axis: int) -> Exponents:
    """Bits between the largest and the smallest entry that is not zero, for each lane."""
    widest: Exponents = depths(x, exponents(x, axis)).max(axis=axis, initial=0)
    return widest


# -- blocks ---------------------------------------------------------------------------------------


def steps(length: int, size: int) -> Iterator[slice]:
    """Slices of at most `size`, at least one, that cover ``range(length)``."""
    size = max(size, 1)
    for first in range(0, length, size):
        yield slice(first, min(first + size, length))


# -- sums of places ------------------------------------------------------------------------------


def carry(places: Integers, width: int) -> None:
    """Move what exceeds ``width`` bits to the place above, in place, from the last to the first.

    The number ``sum_t places[t] 2**(-width t)`` stays the same; all but the first place end in
    ``[-2**(width-1), 2**(width-1))``.
    """
    half = 1 << (width - 1)
    for t in range(len(places) - 1, 0, -1):
        over = (places[t] + half) >> width
        places[t] -= over << width
        places[t - 1] += over


def round_places(places: Integers, width: int, exponent: Exponents, limbs: int) -> Planes:
    """``2**exponent sum_t places[t] 2**(-width t)``, added exactly and rounded once.

    Args:
        places: Integers ``(T, m, n)`` below 2**62 in magnitude; T times width is below 1800.
        width: At most 26.
        exponent: Broadcasts to (m, n).
        limbs: The number N of limbs of the result.

    Returns:
        Planes (N, m, n); where they overflow, infinity without a tail.
    """
    top = 64 // width + 1
    digits = np.concatenate([np.zeros((top, *places.shape[1:]), np.int64), places])
    carry(digits, width)
    # As many places as fit make one double, so that few doubles are left to be sorted.
    joined = 52 // width
    terms = np.zeros((1, math.ceil(len(digits) / joined), *places.shape[1:]))
    for first, term in zip(range(0, len(digits), joined), terms[0], strict=True):
        total = digits[first].copy()
        for digit in digits[first + 1 : first + joined]:
            total = (total << width) + digit
        last = min(first + joined, len(digits)) - 1
        np.ldexp(total.astype(np.float64), _LEVEL - width * (last - top), out=term)
    out = np.empty((1, limbs, *places.shape[1:]))
    _native.normalize(out, terms)
    with np.errstate(all="ignore"):
        result: Planes = np.ldexp(out[0], exponent - np.int32(_LEVEL))
        result[1:, np.isinf(result[0])] = 0
    result[1:] += 0.0  # what underflows leaves no sign in a tail
    return result


# -- one product after the other -----------------------------------------------------------------


def multiply(
    problem: Problem,
    cannot: Callable[[int, Planes, Planes], tuple[Mask, Mask]],
    product: Callable[[int, Planes, Planes], Planes],
) -> Planes:
    """The product of a problem, matrix by matrix, with lanes that `product` cannot take set apart.

    Args:
        problem: Operands; complex factors are stacked so that each part of a result is one sum.
        cannot: Given the place in the batch and finite real planes (N, m, k) and (N, k, n), says
            which rows and which columns the scheme leaves to the direct scheme. Lanes with inf or
            nan are zeros here, they go there anyway.
        product: Given the same, with all these lanes zero, returns planes (N, m, n).

    Returns:
        Planes ``(c, N, *batch, m, n)``.
    """
    a, b = real_operands(problem)
    m, _, n = problem.shape
    limbs, count = a.shape[0], a.shape[1]
    out: Planes = np.zeros((limbs, count, a.shape[2], b.shape[3]))
    left: Mask = np.zeros((count, m), bool)
    right: Mask = np.zeros((count, n), bool)
    if out.size and a.shape[3]:
        for i in range(count):
            x, y, rows, columns = _finite(a[:, i], b[:, i], m, n)
            more_rows, more_columns = cannot(i, x, y)
            rows, columns = rows | _folded(more_rows, m), columns | _folded(more_columns, n)
            x, y = _without(x, rows, -2), _without(y, columns, -1)
            out[:, i] = product(i, x, y)
            left[i], right[i] = rows, columns
    result = unstacked(problem, out)
    if left.any() or right.any():
        _by_direct(problem, result, left, right)
    return result


def _folded(mask: Mask, length: int) -> Mask:
    """A mask over stacked real lanes as one over the lanes of the complex matrix."""
    folded: Mask = np.logical_or.reduce(mask.reshape(-1, length))
    return folded


def _without(x: Planes, mask: Mask, axis: int) -> Planes:
    """The planes with the marked lanes set to zero."""
    if not mask.any():
        return x
    every = np.tile(mask, x.shape[axis] // len(mask))
    return np.where(every[:, np.newaxis] if axis == -2 else every, 0.0, x)


def _finite(x: Planes, y: Planes, m: int, n: int) -> tuple[Planes, Planes, Mask, Mask]:
    rows = _folded(~np.isfinite(x[0]).all(axis=-1), m)
    columns = _folded(~np.isfinite(y[0]).all(axis=-2), n)
    return _without(x, rows, -2), _without(y, columns, -1), rows, columns


def _by_direct(problem: Problem, result: Planes, rows: Mask, columns: Mask) -> None:
    """Overwrite rows and columns of the result, masks (batch, m) and (batch, n)."""
    count, (m, _, n) = len(rows), problem.shape
    a, b = (
        _planes.broadcast(z, (*problem.batch, *z.shape[-2:])).reshape(
            *z.shape[:2], count, *z.shape[-2:]
        )
        for z in (problem.a, problem.b)
    )
    flat = result.reshape(*result.shape[:2], count, m, n)
    direct = engines.scheme("direct")

    def run(x: Planes, y: Planes) -> Planes:
        some = problem.with_planes(x, y, ())
        return direct.engine().run(some, direct.choose(some))

    for i in range(count):
        if rows[i].any():
            flat[:, :, i, rows[i]] = run(a[:, :, i][:, :, rows[i]], b[:, :, i])
        if columns[i].any():
            rest = np.ix_(~rows[i], columns[i])
            product = run(a[:, :, i][:, :, ~rows[i]], b[:, :, i][..., columns[i]])
            flat[:, :, i, rest[0], rest[1]] = product
