# SPDX-License-Identifier: BSD-3-Clause
"""Scheme ``"slices"``: Ozaki scheme I, error-free products of slices of the entries.

Rows of A and columns of B are scaled by powers of two and their entries cut into S slices of 21
bits, ``a = sum_s a_s 2**(-21 (s + 1))`` with integers ``|a_s| <= 2**20``. Products of slices are
exact, those with ``i + j < S`` are formed, all of one diagonal i + j are added in integers, and
each result is rounded once; docs/slices.md proves ``|C - AB| <= k eps (|A| |B|)``.

Ozaki, Ogita, Oishi, Rump, "Error-free transformations of matrix multiplication by using fast
routines of matrix multiplication and its applications", Numer. Algorithms 59, 2012. The form with
bytes follows Ootomo, Ozaki, Yokota, "DGEMM on integer matrix multiplication unit", arXiv
2306.11975: a slice of 21 bits is three of 7, so both engines form the same integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm import int8, lanes, workspace
from mdla.gemm.direct import grouped, real_operands
from mdla.gemm.engines import Choice, Scheme, register
from mdla.gemm.plan import Problem

__all__ = ["WIDTH", "Float64", "Int8", "Slices", "most_span", "multiply", "slices_for"]

Planes = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

#: Bits in a slice.
WIDTH = 21
# Slices are cut off numbers below 2**_LEVEL, so that the last do not underflow.
_LEVEL = 960
# The native span is counted from scales of at least one bit more on each side.
_SCALES = 2


def span_of(count: int, limbs: int) -> int:
    """The exponent span at which S slices keep the promise for N limbs.

    Each term of a sum is wrong by at most ``(S + 3) / 4`` units of ``2**(-21 S)``, and one of them
    is at least ``2**(-span - 4)``; docs/slices.md.
    """
    return WIDTH * count - 52 * limbs - 4 - (count + 2).bit_length()


def slices_for(limbs: int, span: int) -> int:
    """The least number of slices for a span."""
    count = 1
    while span_of(count, limbs) < span:
        count += 1
    return count


def most_slices(limbs: int) -> int:
    """Twice as many slices as for entries of one size; beyond, other schemes are cheaper."""
    return 2 * slices_for(limbs, 0)


def most_span(limbs: int) -> int:
    """The exponent span beyond which rows or columns go to the direct scheme."""
    return span_of(most_slices(limbs), limbs)


# -- cutting -------------------------------------------------------------------------------------


def cut(x: Planes, top: npt.NDArray[np.int32], count: int) -> Planes:
    """Slices (count, m, k) of planes (N, m, k) whose lanes are below ``2**top``.

    Integers of at most ``2**20`` in magnitude; slice s is in units of ``2**(top - 21 s - 20)``.
    """
    slices = np.zeros((count, *x.shape[1:]))
    for i, limb in enumerate(x):
        rest = np.ldexp(limb, _LEVEL - 1 - top)
        for s in range(53 * i // WIDTH, count):
            unit = 2.0 ** (_LEVEL - WIDTH * (s + 1))
            whole = np.rint(rest / unit)
            slices[s] += whole
            rest -= whole * unit
            if not rest.any():
                break
    for s in range(count - 1, 0, -1):
        over = np.rint(slices[s] * 2.0**-WIDTH)
        slices[s] -= over * 2.0**WIDTH
        slices[s - 1] += over
    return slices


# -- engines -------------------------------------------------------------------------------------


class Exact:
    """What multiplies matrices of integers up to 2**20 in magnitude, exactly.

    Attributes:
        name: The name by which users ask for it.
        longest: The longest inner dimension of one product.
        seconds: For one multiply-add of slices on one thread, about.
    """

    name: str
    longest: int
    seconds: float

    def available(self) -> bool:
        """Always."""
        return True

    def convert(self, slices: Planes) -> Planes:
        """Matrices of integers in the form that `product` takes; the last two axes stay."""
        raise NotImplementedError

    def product(self, a: Planes, b: Planes) -> Integers:
        """The exact product of two converted matrices."""
        raise NotImplementedError

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds on one thread."""
        pairs = choice.digits * (choice.digits + 1) // 2
        return 1e-4 + problem.multiply_adds * pairs * self.seconds

    def run(self, problem: Problem, choice: Choice) -> Planes:
        """Multiply."""
        choices = {i: member for member, places in choice.groups for i in places}
        most = most_span(problem.working.limbs)

        def cannot(i: int, x: Planes, y: Planes) -> tuple[Mask, Mask]:
            if (choices.get(i, choice).span or 0) <= most:
                return np.zeros(x.shape[1], bool), np.zeros(y.shape[2], bool)
            return wide_lanes(x, y, most - _twice(problem))

        def product(i: int, x: Planes, y: Planes) -> Planes:
            return multiply(x, y, choices.get(i, choice).digits, self)

        return lanes.multiply(problem, cannot, product)


class Float64(Exact):
    """Slices as doubles: 2**13 products of 40 bits are added exactly.

    Args:
        name: The name by which users ask for it.
        matmul: Given float64 matrices of integers, returns their product; exact while no sum
            exceeds 2**53.
    """

    longest = 2**13
    seconds = 2 / 50e9

    def __init__(self, name: str, matmul: Callable[[Planes, Planes], Planes]) -> None:
        self.name = name
        self._matmul = matmul

    def convert(self, slices: Planes) -> Planes:
        """As they are."""
        return slices

    def product(self, a: Planes, b: Planes) -> Integers:
        """One product of matrices of doubles."""
        return self._matmul(a, b).astype(np.int64)


class Int8(Exact):
    """Each slice as three bytes of 7 bits, each product as nine."""

    name = "int8"
    longest = int8.MOST_TERMS
    seconds = 9 * 2 / 50e9

    def convert(self, slices: Planes) -> Planes:
        """(3, ..., m, k) of bytes of at most 64 in magnitude, the last first."""
        out = np.empty((3, *slices.shape), np.int8)
        rest = slices
        for byte in out:
            over = np.rint(rest / 128)
            byte[...] = rest - 128 * over
            rest = over
        return out

    def product(self, a: Planes, b: Planes) -> Integers:
        """``sum_pq a_p b_q 128**(p + q)``."""
        total = np.zeros((a.shape[-2], b.shape[-1]), np.int64)
        for p in range(3):
            for q in range(3):
                total += int8.int8_matmul(a[p], b[q]).astype(np.int64) << 7 * (p + q)
        return total


# -- the product ---------------------------------------------------------------------------------


def multiply(a: Planes, b: Planes, count: int, engine: Exact) -> Planes:
    """The product of real planes (N, m, k) and (N, k, n) by `count` slices of each entry."""
    (limbs, m, inner), n = a.shape, b.shape[2]
    rows, columns = lanes.exponents(a, -1), lanes.exponents(b, -2)
    out: Planes = np.empty((limbs, m, n))
    height, depth, width = block_shape(m, inner, n, count)
    for r in lanes.steps(m, height):
        for c in lanes.steps(n, width):
            # Two places on top take what the sums carry.
            places = np.zeros((count + 2, r.stop - r.start, c.stop - c.start), np.int64)
            for k in lanes.steps(inner, depth):
                x = cut(a[:, r, k], rows[r], count)
                y = cut(b[:, k, c], columns[:, c], count)
                add_diagonals(places[2:], x, y, engine)
                lanes.carry(places, WIDTH)
            exponent = rows[r] + columns[:, c] + np.int32(2)
            out[:, r, c] = lanes.round_places(places, WIDTH, exponent, limbs)
    return out


def add_diagonals(places: Integers, x: Planes, y: Planes, engine: Exact) -> None:
    """Add ``sum_(i + j = d) x_i y_j`` to place d, for slices x (S, m, k) and y (S, k, n).

    With slices of x side by side and those of y below each other in reverse, a diagonal is one
    product of matrices: ``[x_0 ... x_d] [y_d; ...; y_0]``.
    """
    count, m, k = x.shape
    left = engine.convert(np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(m, count * k))
    right = engine.convert(np.ascontiguousarray(y[::-1]).reshape(count * k, -1))
    for d in range(count):
        first = (count - 1 - d) * k
        for s in lanes.steps((d + 1) * k, engine.longest):
            below = slice(first + s.start, first + s.stop)
            places[d] += engine.product(left[..., s], right[..., below, :])


def block_shape(m: int, k: int, n: int, count: int) -> tuple[int, int, int]:
    """Rows, inner steps and columns of a block whose slices keep to the memory limit.

    An inner step is short enough for sums of one diagonal to fit 62 bits.
    """
    doubles = max(1, workspace.limit() // 8 // 8 // count)
    side = min(1024, math.isqrt(doubles))
    height, width = min(m, side), min(n, side)
    return height, min(k, 2**21 // count, doubles // max(height, width)), width


# -- the scheme ----------------------------------------------------------------------------------


class Slices(Scheme):
    """Chooses the number of slices by precision and exponent span."""

    def __init__(self) -> None:
        super().__init__("slices", [Float64("fp64-blas", np.matmul), Int8()])

    def choose(self, problem: Problem) -> Choice:
        """`digits` is the number of slices, `span` in bits as counted from the largest entries.

        Where the span is beyond `most_span`, rows or columns go to the direct scheme.
        """
        limbs = problem.working.limbs
        a, b = real_operands(problem)
        if a.shape[1] == 0:
            return Choice("slices", slices_for(limbs, 0))
        more = _twice(problem)
        enough = span_of(slices_for(limbs, 0), limbs) + _SCALES - more
        choices = []
        for found in _native.exponent_span(a, b, enough):
            span = max(0, found - _SCALES) + more
            count = min(slices_for(limbs, span), most_slices(limbs))
            choices.append(Choice("slices", count, span))
        largest = max(choice.span or 0 for choice in choices)
        return grouped(choices)._replace(span=largest)


def _twice(problem: Problem) -> int:
    """One bit more for complex products: sums of k terms become sums of 2 k, and k eps stay."""
    return int(problem.parts == (2, 2))


def wide_lanes(x: Planes, y: Planes, most: int) -> tuple[Mask, Mask]:
    """Rows and columns without which the exponent span is at most `most`.

    Columns alone or rows alone where that is enough, the fewer first. The span of a row and a
    column is at most the sum of the bits that each spreads over, so without all that spread over
    more than half of `most` it is small.
    """
    rows = lanes.spans_of_lanes(x, -1) > most // 2
    columns = lanes.spans_of_lanes(y, -2) > most // 2
    no_rows, no_columns = np.zeros_like(rows), np.zeros_like(columns)
    attempts = [(no_rows, columns), (rows, no_columns)]
    if rows.mean() < columns.mean():
        attempts.reverse()
    for some_rows, some_columns in attempts:
        some_x = np.where(some_rows[:, np.newaxis], 0.0, x)
        some_y = np.where(some_columns, 0.0, y)
        found = _native.exponent_span(some_x[:, np.newaxis], some_y[:, np.newaxis], most)
        if found[0] - _SCALES <= most:
            return some_rows, some_columns
    return rows, columns


register(Slices())
