# SPDX-License-Identifier: BSD-3-Clause
"""Scheme ``"direct"``: SIMD multiple-double products without a matrix engine.

Four kernels, each within ``k eps |A| |B|`` entry by entry, for each part of complex entries (proofs
in docs/direct.md):

- *integer*: rows and columns scaled by powers of two, entries cut into 52-bit digits, digit
  products summed exactly, one rounding for each result;
- *mixed*: the same with the last diagonal of digit products in doubles, for long sums of entries of
  about one size;
- *floating*: running sums, one for each order of magnitude, for any exponents;
- *dot*: every product and sum rounded, in the fixed tree of `mdla.sum`.

All give the same bits for any instruction set, block size and number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.precision import from_layout
from mdla.gemm.costs import direct_seconds
from mdla.gemm.engines import Choice, Scheme, register
from mdla.gemm.plan import Problem

__all__ = ["Direct", "Simd", "by_any_exponents", "grouped", "real_operands", "unstacked"]

Planes = npt.NDArray[Any]

# Fixed thresholds by the number of limbs, in multiply-adds and digits, found by timing; none of
# them depends on the machine, so neither do the bits.

# Products of at most this many multiply-adds are small: scaling and packing digits costs more than
# the floating kernel (for one limb: always).
_SMALL = {1: math.inf, 2: 30**3, 3: 14**3, 4: 10**3, 5: 6**3, 8: 2**3, 10: 2**3, 16: 0}
# A matrix times a vector is a matter of reading the matrix: cutting it into digits does not pay.
_DOT_LIMBS, _FLOATING_LIMBS = 3, 5
# The floating kernel rounds a sum of K terms to (K/4 + this) eps sum |a b|; docs/direct.md.
_ROUNDINGS = {1: 0, 2: 3, 3: 4.875, 4: 11.25, 5: 0, 8: 0, 10: 0, 16: 0}
# Digits up to which the integer kernel is faster than the floating one.
_MOST_DIGITS = {1: 2, 2: 4, 3: 7, 4: 11, 5: 17, 8: 24, 10: 24, 16: 24}
# The mixed kernel is looked at for sums and products of at least this many terms; whether it keeps
# its bound is then found out from the entries.
_MIXED_TERMS, _MIXED_SIZE = 96, 64**3


class Direct(Scheme):
    """Chooses one of the kernels by size, precision, exponent span and size of the entries."""

    def __init__(self) -> None:
        super().__init__("direct", [Simd()])

    def choose(self, problem: Problem) -> Choice:
        """The kernel: see the thresholds above."""
        limbs, parts = problem.working.limbs, math.prod(problem.parts)
        fixed = _by_shape(problem)
        if fixed is not None:
            return fixed
        floating = _any_exponents(problem)
        a, b = real_operands(problem)
        mixed = [False] * a.shape[1]
        if _tries_mixed(problem):
            mixed = _native.mixed_suffices(a, b, problem.shape[1])
            if all(mixed):
                return Choice("mixed", limbs)
        choices = []
        spans = _native.exponent_span(a, b, _native.quick_span)
        for use_mixed, span in zip(mixed, spans, strict=True):
            # A complex product of k terms has sums of 2 k, and k eps to keep.
            digits = _native.digits_for(limbs, span + (parts == 4))
            if use_mixed:
                choices.append(Choice("mixed", limbs))
            elif digits <= _MOST_DIGITS[limbs]:
                choices.append(Choice("integer", digits))
            else:
                choices.append(floating)
        return grouped(choices)._replace(span=max(spans))

    def typical(self, problem: Problem) -> Choice:
        """The kernel for entries of about one size."""
        limbs = problem.working.limbs
        integers = ("mixed", limbs) if _tries_mixed(problem) else ("integer", limbs + 1)
        return _by_shape(problem) or Choice(*integers)


def _by_shape(problem: Problem) -> Choice | None:
    """The kernel where the entries do not matter, else None."""
    limbs = problem.working.limbs
    m, k, n = problem.shape
    size = m * k * n * math.prod(problem.parts)
    vectors = (m == 1) + (n == 1)
    if limbs > 1 and (vectors == 2 or (vectors == 1 and limbs <= _DOT_LIMBS)):
        return Choice("dot")
    if size <= _SMALL[limbs] or (vectors and limbs <= _FLOATING_LIMBS) or 0 in problem.batch:
        return _any_exponents(problem)
    return None


def _tries_mixed(problem: Problem) -> bool:
    """Whether sums are long enough for the mixed kernel if the entries allow it."""
    limbs, parts = problem.working.limbs, math.prod(problem.parts)
    m, k, n = problem.shape
    terms = 2 * k if parts == 4 else k
    # Beyond dd, exact cancellation in A^H A needs the integer kernel.
    tried = limbs > 1 and (limbs == 2 or parts < 4)
    return tried and terms >= _MIXED_TERMS and m * k * n * parts >= _MIXED_SIZE


def grouped(choices: list[Choice]) -> Choice:
    """One choice for a batch of which each matrix has its own."""
    places: dict[Choice, list[int]] = {}
    for i, choice in enumerate(choices):
        places.setdefault(choice, []).append(i)
    largest = max(places, key=lambda c: len(places[c]))
    if len(places) == 1:
        return largest
    return largest._replace(groups=tuple((c, tuple(at)) for c, at in places.items()))


# Products of scaled entries stay below 2**930.
_OVERFLOW_SHIFT = 560


class Simd:
    """The CPU's vector units; the instruction set is chosen when the package is loaded."""

    name = "simd"

    def available(self) -> bool:
        """Always: there is a portable build of the kernels."""
        return True

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds with the threads in use; see `mdla.gemm.costs`."""
        return sum(self.stages(problem, choice).values())

    def stages(self, problem: Problem, choice: Choice) -> dict[str, float]:
        """The same by name."""
        return direct_seconds(problem, choice)

    def run(self, problem: Problem, choice: Choice) -> Planes:
        """Multiply."""
        out = self._run(problem, choice)
        if not np.isfinite(out[:, 0]).all():
            self._mend(problem, out)
        return out

    def _mend(self, problem: Problem, out: Planes) -> None:
        """Form results anew where sums of finite terms have overflowed on the way, scaled down.

        Such sums of absolute values are 2**1023 or more, and what scaling lets underflow is at most
        2**510 for each term.
        """
        a, b = problem.a, problem.b
        finite_rows = np.asarray(np.isfinite(a[:, 0]).all(axis=(0, -1)))
        finite_columns = np.asarray(np.isfinite(b[:, 0]).all(axis=(0, -2)))
        rows, columns = finite_rows[..., :, np.newaxis], finite_columns[..., np.newaxis, :]
        overflown = ~np.isfinite(out[:, 0]) & rows & columns
        if not overflown.any():
            return
        down = -_OVERFLOW_SHIFT
        small = problem.with_planes(np.ldexp(a, down), np.ldexp(b, down), problem.batch)
        again = self._run(small, _any_exponents(small))
        with np.errstate(over="ignore"):
            again = np.ldexp(again, 2 * _OVERFLOW_SHIFT)
        again[:, 1:][np.broadcast_to(np.isinf(again[:, :1]), again[:, 1:].shape)] = 0
        out[...] = np.where(overflown[:, np.newaxis], again, out)

    def _run(self, problem: Problem, choice: Choice) -> Planes:
        if choice.groups:
            return self._run_groups(problem, choice)
        if choice.kernel == "dot":
            return _by_dot(problem)
        return _by_tiles(problem, choice)

    def _run_groups(self, problem: Problem, choice: Choice) -> Planes:
        m, _, n = problem.shape
        count = math.prod(problem.batch)
        a, b = (
            _planes.broadcast(z, (*problem.batch, *z.shape[-2:])).reshape(
                *z.shape[:2], count, *z.shape[-2:]
            )
            for z in (problem.a, problem.b)
        )
        out: Planes = np.empty((max(a.shape[0], b.shape[0]), a.shape[1], count, m, n))
        for member, places in choice.groups:
            at = list(places)
            some = problem.with_planes(a[:, :, at], b[:, :, at], (len(at),))
            out[:, :, at] = self._run(some, member)
        return out.reshape(*out.shape[:2], *problem.batch, m, n)


def real_operands(problem: Problem) -> tuple[Planes, Planes]:
    """The operands of `_stack`, formed once."""
    if "stacked" not in problem.memo:
        problem.memo["stacked"] = _stack(problem)
    stacked: tuple[Planes, Planes] = problem.memo["stacked"]
    return stacked


def _stack(problem: Problem) -> tuple[Planes, Planes]:
    """The product as one batch of real products: planes (N, batch, m, k) and (N, batch, k, n).

    Complex factors are stacked so that each part of a result is one sum. With both complex, columns
    of A and rows of B alternate between real and imaginary parts and A has its rows twice,

        [ a  -b ] [ c ]     for the real part
        [ b   a ] [ d ]     for the imaginary part of (a + ib)(c + id),

    so that terms that cancel exactly stand next to each other: A^H A has a real diagonal.
    """
    a, b = problem.a, problem.b
    if a.shape[0] == 2 and b.shape[0] == 2:
        n_limbs, m, k = a.shape[1], a.shape[-2], a.shape[-1]
        rows = np.empty((n_limbs, *a.shape[2:-2], 2, m, k, 2))
        rows[..., 0, :, :, 0] = rows[..., 1, :, :, 1] = a[0]
        rows[..., 1, :, :, 0] = a[1]
        np.negative(a[1], out=rows[..., 0, :, :, 1])
        x: Planes = rows.reshape(n_limbs, *a.shape[2:-2], 2 * m, 2 * k)
        y = np.stack([b[0], b[1]], axis=-2).reshape(*b.shape[1:-2], 2 * k, b.shape[-1])
    elif a.shape[0] == 2:
        x, y = np.concatenate([a[0], a[1]], axis=-2), b[0]
    elif b.shape[0] == 2:
        x, y = a[0], np.concatenate([b[0], b[1]], axis=-1)
    else:
        x, y = a[0], b[0]
    return _one_batch(x, y, problem.batch)


def _one_batch(x: Planes, y: Planes, batch: tuple[int, ...]) -> tuple[Planes, Planes]:
    """Planes (N, *batch, ., .) with broadcast batches -> one batch axis each, of equal length."""
    if x.ndim == 3 and y.ndim == 3:
        return x[:, np.newaxis], y[:, np.newaxis]
    count = math.prod(batch)
    flat = []
    for z in (x, y):
        if z.shape[1:-2] == (1,) * (z.ndim - 3):  # one matrix for all
            z = z.reshape(z.shape[0], 1, *z.shape[-2:])
            z = np.broadcast_to(z, (z.shape[0], count, *z.shape[-2:]))
        else:
            z = z.reshape(z.shape[0], *(1,) * (len(batch) - z.ndim + 3), *z.shape[1:])
            z = np.broadcast_to(z, (z.shape[0], *batch, *z.shape[-2:]))
        flat.append(z.reshape(z.shape[0], count, *z.shape[-2:]))
    return flat[0], flat[1]


def _by_tiles(problem: Problem, choice: Choice) -> Planes:
    a, b = real_operands(problem)
    limbs = a.shape[0]
    if a.shape[1] > 1 and b.strides[1] == 0:
        # One matrix on the right: the batch on the left is a taller matrix.
        a, b = a.reshape(limbs, 1, a.shape[1] * a.shape[2], a.shape[3]), b[:, :1]
    out: Planes = np.empty((limbs, a.shape[1], a.shape[2], b.shape[3]))
    _native.matmul_direct(out, a, b, choice.kernel, choice.digits)
    return unstacked(problem, out)


def unstacked(problem: Problem, out: Planes) -> Planes:
    """Undo the stacking of `real_operands` in planes ``(N, batch, m', n')`` of a product."""
    m, _, n = problem.shape
    limbs, batch = out.shape[0], problem.batch
    left, right = problem.parts
    if left == 2:
        parts = np.moveaxis(out.reshape(limbs, *batch, 2, m, n), -3, 0)
    elif right == 2:
        parts = np.moveaxis(out.reshape(limbs, *batch, m, 2, n), -2, 0)
    else:
        return out.reshape(1, limbs, *batch, m, n)
    return np.ascontiguousarray(parts)


def by_any_exponents(a: Planes, b: Planes, limbs: int) -> Planes:
    """Product of planes ``(c, N, m, k)`` and ``(c, N, k, n)`` whatever the exponents.

    By the floating kernel, or for few terms by dot products; N up to ``limbs``.
    """
    working = from_layout(limbs, np.dtype(np.float64))
    problem = Problem((a, b), working, working, (), ())
    return Simd().run(problem, _any_exponents(problem))


def _any_exponents(problem: Problem) -> Choice:
    """The kernel for entries of any size."""
    k = problem.shape[1]
    terms = 2 * k if math.prod(problem.parts) == 4 else k
    return Choice("floating" if terms / 4 + _ROUNDINGS[problem.working.limbs] <= k else "dot")


def _by_dot(problem: Problem) -> Planes:
    """Every entry by the fixed tree of reductions; rows of A against columns of B."""
    m, k, n = problem.shape
    shape = (*problem.batch, m, n, k)
    x = problem.a[..., :, np.newaxis, :]
    y = np.swapaxes(problem.b, -1, -2)[..., np.newaxis, :, :]
    x, y = (_planes.broadcast(z, shape) for z in (x, y))
    count = math.prod(shape[:-1])
    parts, limbs = max(x.shape[0], y.shape[0]), x.shape[1]
    out: Planes = np.empty((parts, limbs, count))
    _native.dot(out, *(z.reshape(*z.shape[:2], count, k) for z in (x, y)))
    return out.reshape(parts, limbs, *shape[:-1])


register(Direct())
