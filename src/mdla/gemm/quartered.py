# SPDX-License-Identifier: BSD-3-Clause
"""Scheme ``"quartered"``: doubles in parts of 13 bits, multiplied as one matrix of doubles.

The product of "Multiple Double Arithmetic on NVIDIA Tensor Cores"; numbers in brackets are those of
its equations, docs/quartered.md has the bound and the rules that the paper leaves open.

1. Entries are grouped by sign (6) and by the exponent of their leading quarter (Problem 3.2), and
   each double of an entry is cut into four quarters of 13 bits (1). Doubles of opposite sign borrow
   from the one before (7), quarters with leading zeros from theirs (8).
2. The quarters of one matrix are stacked, those of the other convoluted, (2) and (4).
3. One product of matrices of doubles, exact by (5), for each pair of groups.
4. The parts (3) of the result are extracted; parts of one order of magnitude are added, exactly.
5. The parts are added in multiple-double arithmetic.

The result does not depend on what multiplies the doubles, nor on the order in which it adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.gemm import lanes, workspace
from mdla.gemm.engines import Choice, Scheme, register
from mdla.gemm.plan import Problem

__all__ = [
    "GROUPS",
    "MOST_TERMS",
    "QUARTER",
    "VARIANTS",
    "Blas",
    "Quartered",
    "multiply",
    "parts_for",
]

Planes = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Exponents = npt.NDArray[np.int32]
Product = Callable[[Planes, Planes], Planes]

#: Bits in a quarter of a double.
QUARTER = 13
#: A_0 + A_1 + ... + A_12 of Problem 3.2.
GROUPS = 13
#: The largest N of (5): how many products of two quarters a double adds without rounding.
MOST_TERMS = 2**52 // sum(2**i for i in range(26))

# A double has four quarters; three more keep the promise, see docs/quartered.md.
_GUARD = 3


def parts_for(limbs: int) -> int:
    """Quarters of an entry of N doubles, ``4 N + 3``."""
    return 4 * limbs + _GUARD


def check_terms(inner: int, limbs: int) -> None:
    """The bound (5). A quarter that has borrowed has 14 bits, so a product counts twice.

    Raises:
        ValueError: The inner dimension is too long.
    """
    parts = parts_for(limbs)
    if 2 * inner * parts > MOST_TERMS:
        most = MOST_TERMS // (2 * parts)
        raise ValueError(
            f"scheme 'quartered' adds at most {MOST_TERMS:,} products of quarters exactly, and an "
            f"inner dimension of {inner:,} with {parts} quarters for each entry needs "
            f"{2 * inner * parts:,}; write scheme='auto', or add the products of blocks of at most "
            f"{most:,} columns of A and rows of B"
        )


# -- 1. cutting doubles --------------------------------------------------------------------------


def on_grid(x: Planes, count: int) -> Planes:
    """Positive numbers below one as sums of `count` nonnegative doubles of 52 bits.

    The doubles lie on the grid 2**-52, 2**-104, ...: what a limb has below the last bit of its
    place is added to the next double, and a negative double borrows from the one before (7).

    Args:
        x: Limbs (N, m, k).
        count: At most N + 1 are of use.

    Returns:
        Integers (count, m, k): double s in units of ``2**(-52 (s + 1))``, below 2**52.
    """
    y = np.zeros((count, *x.shape[1:]))
    for i, limb in enumerate(x):
        rest = limb
        for s in range(i, count):
            unit = 2.0 ** (-52 * (s + 1))
            whole = np.trunc(rest / unit)
            y[s] += whole
            rest = rest - whole * unit
            if not rest.any():
                break
    for s in range(count - 1, 0, -1):
        negative = y[s] < 0
        y[s - 1] -= negative
        y[s] += negative * 2.0**52
    return y


def quarters(doubles: Planes, parts: int) -> Planes:
    """Integers (count, m, k) below 2**52 -> integers (parts, m, k) below 2**13, as (1)."""
    whole = doubles.astype(np.int64)
    shifts = np.arange(3, -1, -1).reshape(4, *(1,) * (whole.ndim - 1)) * QUARTER
    cut = (whole[:, np.newaxis] >> shifts) & (2**QUARTER - 1)
    pieces: Planes = cut.reshape(-1, *whole.shape[1:])[:parts].astype(np.float64)
    return pieces


def balance(x: Planes) -> Planes:
    """Lift quarters with leading zeros by half a unit of the quarter before them (8).

    A double that is zero stays so, and a quarter that is zero lends nothing.

    Args:
        x: Integers (parts, m, k) below 2**13.

    Returns:
        Integers (parts, m, k) below 2**14, in units of half a last place.
    """
    y = 2 * x
    for q in range(1, len(y)):
        filled = x[q // 4 * 4 : q // 4 * 4 + 4].any(axis=0)
        lifted = filled & (x[q] < 2 ** (QUARTER - 1)) & (y[q - 1] > 0)
        y[q - 1] -= lifted
        y[q] += lifted * 2.0**QUARTER
    return y


class Side(NamedTuple):
    """An operand, cut.

    Attributes:
        quarters: (parts, m, k), of absolute values; the leading quarter of an entry comes first.
        groups: The sign, the place of the leading quarter below the top of the lane, and the
            entries of each group that has any.
    """

    quarters: Planes
    groups: list[tuple[int, int, Mask]]


def cut(x: Planes, top: Exponents, parts: int) -> Side:
    """Group and quarter the entries of planes (N, m, k) whose lanes are below ``2**top``."""
    signs = np.sign(x[0])
    places = lanes.depths(x, top) // QUARTER
    # Whatever its group, an entry starts within the first 13 bits below one.
    scaled = np.ldexp(x * signs, np.where(signs == 0, 0, QUARTER * places - top))
    pieces = balance(quarters(on_grid(scaled, math.ceil(parts / 4)), parts))
    groups = [
        (sign, int(place), (signs == sign) & (places == place))
        for sign in (1, -1)
        for place in np.unique(places[signs == sign])
    ]
    return Side(pieces, groups)


# -- 2. to 4. one product of matrices of doubles -------------------------------------------------


def stack_columns(x: Planes) -> Planes:
    """``[A_0 A_1 ...]`` of (4): (parts, m, k) -> (m, parts k)."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def stack_rows(x: Planes) -> Planes:
    """The same one below the other: (parts, k, n) -> (parts k, n)."""
    return x.reshape(-1, x.shape[2])


def convolute_columns(x: Planes) -> Planes:
    """Block (i, q) is quarter q - i, as B in (4): (parts, k, n) -> (parts k, parts n)."""
    parts, k, n = x.shape
    out = np.zeros((parts, k, parts, n))
    for q in range(parts):
        out[: q + 1, :, q] = x[q::-1]
    return out.reshape(parts * k, parts * n)


def convolute_rows(x: Planes) -> Planes:
    """Block (q, i) is quarter q - i: (parts, m, k) -> (parts m, parts k)."""
    parts, m, k = x.shape
    out = np.zeros((parts, m, parts, k))
    for q in range(parts):
        out[q, :, : q + 1] = x[q::-1].transpose(1, 0, 2)
    return out.reshape(parts * m, parts * k)


def convolute_b(a: Planes, b: Planes, matmul: Product) -> Planes:
    """Stack A and convolute B, (4); parts (parts, m, n) of the product as in (3)."""
    parts, m, n = len(a), a.shape[1], b.shape[2]
    product = matmul(stack_columns(a), convolute_columns(b))
    return product.reshape(m, parts, n).transpose(1, 0, 2)


def convolute_a(a: Planes, b: Planes, matmul: Product) -> Planes:
    """Convolute A and stack B; the same parts."""
    parts, m, n = len(a), a.shape[1], b.shape[2]
    return matmul(convolute_rows(a), stack_rows(b)).reshape(parts, m, n)


#: The two ways to make one product of matrices of doubles.
VARIANTS: dict[str, Callable[[Planes, Planes, Product], Planes]] = {
    "convolute-b": convolute_b,
    "convolute-a": convolute_a,
}


def add_products(places: Planes, a: Side, b: Side, variant: str, matmul: Product) -> None:
    """Add the parts of all pairs of groups (6), for which all sums are exact.

    Args:
        places: (T, m, n); place t is in units of ``2**(-13 (t + 2) - 2)``.
        a: (parts, m, k).
        b: (parts, k, n).
        variant: Which matrix to convolute.
        matmul: Exact for integers as long as no sum exceeds 2**53.
    """
    for sign_a, place_a, mask_a in a.groups:
        for sign_b, place_b, mask_b in b.groups:
            inner = mask_a.any(axis=0) & mask_b.any(axis=1)
            if not inner.any():
                continue
            rows, columns = mask_a[:, inner].any(axis=1), mask_b[inner].any(axis=0)
            left = a.quarters[:, rows][:, :, inner] * mask_a[rows][:, inner]
            right = b.quarters[:, inner][:, :, columns] * mask_b[inner][:, columns]
            parts = VARIANTS[variant](left, right, matmul)
            first = place_a + place_b
            at = np.arange(first, first + len(parts))
            into = np.ix_(at, np.flatnonzero(rows), np.flatnonzero(columns))
            places[into] += sign_a * sign_b * parts


def multiply(a: Planes, b: Planes, parts: int, variant: str, matmul: Product) -> Planes:
    """The product of real planes (N, m, k) and (N, k, n) with entries in at most 13 groups.

    With ``parts = 4 N + 3`` quarters, ``|C - AB| <= (1/2 + k/100) eps (|A| |B|)`` in every entry.
    """
    (limbs, m, inner), n = a.shape, b.shape[2]
    rows, columns = lanes.exponents(a, -1), lanes.exponents(b, -2)
    # Leading parts of products lie on these places, by the groups that there are.
    first = sum(
        int(lanes.spans_of_lanes(x, s).max(initial=0)) // QUARTER for x, s in ((a, -1), (b, -2))
    )
    out: Planes = np.empty((limbs, m, n))
    height, depth, width = block_shape(m, inner, n, parts)
    for r in lanes.steps(m, height):
        for c in lanes.steps(n, width):
            places = np.zeros((parts + first, r.stop - r.start, c.stop - c.start))
            for k in lanes.steps(inner, depth):
                x = cut(a[:, r, k], rows[r], parts)
                y = cut(b[:, k, c], columns[:, c], parts)
                add_products(places, x, y, variant, matmul)
            exponent = rows[r] + columns[:, c] - np.int32(2 * QUARTER + 2)
            out[:, r, c] = lanes.round_places(places.astype(np.int64), QUARTER, exponent, limbs)
    return out


def block_shape(m: int, k: int, n: int, parts: int) -> tuple[int, int, int]:
    """Rows, inner steps and columns of a block, so that its matrices keep to the memory limit.

    The largest is convoluted, ``parts**2`` times a block of A or B; an eighth is left for it.
    """
    doubles = workspace.limit() // 8 // 8 // parts**2
    depth = min(k, max(1, math.isqrt(doubles)))
    height, width = (min(length, max(1, doubles // depth)) for length in (m, n))
    return height, min(k, max(1, doubles // max(height, width))), width


# -- the scheme ----------------------------------------------------------------------------------


class Quartered(Scheme):
    """The paper's product, for every finite input within ``k eps |A| |B|``."""

    def __init__(self) -> None:
        super().__init__("quartered", [Blas("fp64-blas", np.matmul)])

    def choose(self, problem: Problem) -> Choice:
        """The variant; `digits` is the number of quarters.

        Raises:
            ValueError: The inner dimension is beyond the bound (5).
        """
        complex_terms = 2 if problem.parts == (2, 2) else 1
        limbs = problem.working.limbs
        check_terms(complex_terms * problem.shape[1], limbs)
        return Choice("convolute-b", parts_for(limbs))


class Blas:
    """Anything that multiplies matrices of doubles.

    Args:
        name: The name by which users ask for it.
        matmul: Given C-contiguous float64 matrices of integers, returns their product; exact while
            no sum exceeds 2**53. NumPy's is, and so is that of FP64 tensor cores.
    """

    def __init__(self, name: str, matmul: Product) -> None:
        self.name = name
        self._matmul = matmul

    def available(self) -> bool:
        """Always."""
        return True

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds on one thread, for entries of both signs in one group."""
        flops = 2 * problem.multiply_adds * 4 * choice.digits**2
        return 1e-4 + flops / 40e9

    def run(self, problem: Problem, choice: Choice) -> Planes:
        """Multiply."""

        def product(_: int, x: Planes, y: Planes) -> Planes:
            return multiply(x, y, choice.digits, choice.kernel, self._matmul)

        return lanes.multiply(problem, _too_wide, product)


def _too_wide(_: int, x: Planes, y: Planes) -> tuple[Mask, Mask]:
    """Lanes with entries in more than 13 groups."""
    bits = QUARTER * GROUPS
    return lanes.spans_of_lanes(x, -1) >= bits, lanes.spans_of_lanes(y, -2) >= bits


register(Quartered())
