# SPDX-License-Identifier: BSD-3-Clause
"""Scheme ``"crt"``: exact integer products by the Chinese remainder theorem (Ozaki scheme II).

Rows of A and columns of B are scaled by powers of two and rounded to integers of p bits; the
product of the integer matrices is formed exactly, modulo small numbers, on a matrix engine; it is
put together, rounded to a multiple of a power of two far below the error bound, and once more to
the limbs of the result. So ``|C - AB| <= k eps |A| |B|`` entry by entry, and every engine, block
size and number of threads gives the same bits (proof in docs/crt.md; K. Ozaki, Y. Uchino and
T. Imamura, arXiv 2504.08009).

How many bits are needed follows from the entries: their number p is such that the rounding of the
integers stays below the promise for the smallest entry of |A| |B|. Results whose entries of A and
B lie too far apart, tiles of 32 x 32 of them, are left to the direct kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.engines import Choice, Scheme, register
from mdla.gemm.fp8_engine import Fp8Simulated
from mdla.gemm.fp64 import Fp64
from mdla.gemm.int8_engines import Int8
from mdla.gemm.moduli import complex_system, residue_system
from mdla.gemm.plan import Problem, conjugate
from mdla.gemm.prepared import Prepared, survey_of
from mdla.gemm.repair import repair
from mdla.gemm.residue_tables import LEAST_QUANTUM, Forms, forms_of, words_for
from mdla.gemm.survey import Survey, least_sum, survey
from mdla.gemm.timing import stage

__all__ = ["TILE", "Item", "Residues", "Task", "tasks"]

Planes = npt.NDArray[Any]

#: Results are left to the direct kernels in tiles of this many rows and columns.
TILE = 32

# Integers have at least this many bits in float64, so that results are better than those of a
# float64 product even where the promise asks for less, and entries differ in size.
_DOUBLE_BITS = 54
# Bits of an integer, and words of 32 bits of all parts of an entry, that the engines take: entries
# are cut at units from 2**460 down to 2**-996, where numbers far below them do not yet underflow.
_MOST_BITS, _MOST_WORDS = 29 * 52 - 2, 64
# A multiply-add by the floating kernel takes as long as this many of an int8 product. That decides
# which tiles are left to it; fixed, so that the bits depend on no machine.
_FLOATING_COST = {1: 70, 2: 800, 3: 2600, 4: 5600, 5: 1e4, 8: 8e4, 10: 1.5e5, 16: 6e5}

# Bits by which the entries of a lane usually differ, at most.
_USUAL_SPREAD = 27

# Of entries of about one size, the bound of `least_sum` is the number of terms divided by this.
_TYPICAL = 10


@dataclass(slots=True)
class Task:
    """One product of two real or two complex matrices within a problem.

    Attributes:
        a: Planes ``(c, N, m, k)``, with the limbs that the operand came with.
        b: Planes ``(c, N, k, n)``.
        limbs: Limbs of the result.
        keys: What tells the two matrices from others of their operands.
        owners: The prepared operands that they belong to, if any.
        conjugated: Whether the factors are the conjugates of a and b.
        target: Index of the result in planes without the axes of limbs, rows and columns: for
            each part of the result.
    """

    a: Planes
    b: Planes
    limbs: int
    keys: tuple[Any, Any]
    owners: tuple[Prepared | None, Prepared | None]
    conjugated: tuple[bool, bool]
    target: tuple[tuple[Any, ...], ...]

    @property
    def parts(self) -> int:
        """1 for real factors, 2 for complex ones."""
        return len(self.a)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, k, n)."""
        return self.a.shape[-2], self.a.shape[-1], self.b.shape[-1]

    def factors(self, rows: Any, columns: Any) -> tuple[Planes, Planes]:
        """Some rows of the one factor and some columns of the other, conjugated where they are."""
        left, right = self.conjugated
        a, b = self.a[:, :, rows], self.b[..., columns]
        return conjugate(a) if left else a, conjugate(b) if right else b


@dataclass(frozen=True, slots=True)
class Item:
    """How one task is done.

    Attributes:
        rows: Survey of A, both parts of a complex row one after the other.
        columns: Survey of the columns of B.
        bits: Bits of the integers of A and of B.
        quantum: The exact product is rounded to multiples of ``2**quantum``.
        forms: The residues that are formed.
        span: Bits by which the sums of the results that are formed lie below the scales of rows
            and columns, at most.
        far: For each tile of results whether it is left to the direct kernels; None: none is.
    """

    rows: Survey
    columns: Survey
    bits: tuple[int, int]
    quantum: int
    forms: Forms
    span: int
    far: npt.NDArray[np.bool_] | None


class Residues(Scheme):
    """Chooses bits and moduli from the sizes of the entries."""

    def __init__(self) -> None:
        amx, vnni, portable = map(Int8, ("int8-amx", "int8-vnni", "int8-portable"))
        super().__init__("crt", [amx, vnni, Fp64(), portable], simulated=[Fp8Simulated()])

    def choose(self, problem: Problem) -> Choice:
        """The bits and moduli of every matrix of the batch; see `Item`."""
        with stage("survey"):
            items = [item_of(task) for task in tasks(problem)]
        problem.memo["items"] = items
        if not items:
            return Choice("residues")
        widest = max(items, key=lambda item: item.forms.products)
        return Choice(
            "residues",
            span=widest.span,
            bits=widest.bits,
            products=widest.forms.products,
            moduli=widest.forms.system.moduli,
            far=sum(0 if i.far is None else float(i.far.mean()) for i in items) / len(items),
        )

    def typical(self, problem: Problem) -> Choice:
        """The bits and moduli for entries of about one size."""
        task = next(tasks(problem), None)
        if task is None:
            return Choice("residues")
        terms = max(1, task.parts * task.shape[1])
        bits = _bits_for(task, math.log2(max(1.0, terms / _TYPICAL)))
        own = [min(bits, 53 * x.shape[1]) for x in (task.a, task.b)]
        forms = forms_of(_system_for(sum(own), task), task.parts)
        return Choice(
            "residues",
            span=0,
            bits=(own[0], own[1]),
            products=forms.products,
            moduli=forms.system.moduli,
        )


def tasks(problem: Problem) -> Iterator[Task]:
    """The products of matrices that make up a problem.

    A real matrix times a complex one is two real products.
    """
    a, b = problem.own
    left, right = problem.parts
    for index in np.ndindex(*problem.batch):
        x, y = (_matrix(z, index) for z in (a, b))
        keys = (_key(a, index), _key(b, index))

        def task(x: Planes, y: Planes, keys: Any, *target: Any) -> Task:
            limbs = problem.working.limbs
            return Task(x, y, limbs, keys, problem.owners, problem.conjugated, target)

        if left == right:
            yield task(x, y, keys, *((part, index) for part in range(left)))
        else:
            x, y = (
                conjugate(z) if c else z for z, c in zip((x, y), problem.conjugated, strict=True)
            )
            for p, q in product(range(left), range(right)):
                yield task(
                    x[p : p + 1], y[q : q + 1], ((keys[0], p), (keys[1], q)), (max(p, q), index)
                )


def _matrix(planes: Planes, index: tuple[int, ...]) -> Planes:
    at: tuple[Any, ...] = (slice(None), slice(None), *_key(planes, index))
    matrix: Planes = planes[at]
    return matrix


def _key(planes: Planes, index: tuple[int, ...]) -> tuple[int, ...]:
    """The place of a matrix among the broadcast ones of an operand."""
    axes = planes.shape[2:-2]
    own = index[len(index) - len(axes) :]
    return tuple(0 if n == 1 else i for i, n in zip(own, axes, strict=True))


def item_of(task: Task) -> Item:
    """Decide how a task is done, from the sizes of its entries alone."""
    k = task.shape[1]
    rows = survey_of(task.owners[0], "rows", task.keys[0], lambda: survey(_lanes(task.a)))
    columns = survey_of(
        task.owners[1], "columns", task.keys[1], lambda: survey(_lanes(_swapped(task.b)))
    )
    least = least_sum(rows, columns)
    far, span = None, 0
    if least > 0:
        bits = _bits_for(task, math.log2(min(least, 2.0**60)))
        span = max(0, math.ceil(-math.log2(min(least, 1.0))))
    else:
        spans = _tile_spans(task, rows, columns)
        span, bits = _best_span(task, spans)
        far = spans > span if (spans > span).any() else None
    own = [_own_bits(task, side, s, bits) for side, s in enumerate((rows, columns))]
    for side, x in enumerate((task.a, task.b)):
        if task.owners[side] is None and task.owners[1 - side] is not None:
            # Zeros more or less, so that the residues that are kept meet the same moduli again.
            own[side] = max(own[side], min(bits, 53 * x.shape[1] + _USUAL_SPREAD))
    terms = max(1, task.parts * k)
    quantum = sum(own) - bits + _quantum_above(terms)
    if quantum < LEAST_QUANTUM:
        # More bits, all of them zeros, for what is exact with fewer; rather not for an operand
        # whose residues are kept.
        side = min((0, 1), key=lambda i: (own[i] >= bits, task.owners[i] is not None, own[i]))
        own[side] += LEAST_QUANTUM - quantum
    return Item(
        rows,
        columns,
        (own[0], own[1]),
        max(quantum, LEAST_QUANTUM),
        forms_of(_system_for(sum(own), task), task.parts),
        span,
        far,
    )


def _quantum_above(terms: int) -> int:
    """How many bits above the errors of the integers results are rounded.

    At most so many that half the quantum is ``terms / 8``, and ``sqrt(terms) / 4`` for long sums:
    no more than what rounding errors of the integers add up to as a rule.
    """
    beta = terms.bit_length()
    return min(beta - 3, (beta + 1) // 2 - 2)


def _swapped(planes: Planes) -> Planes:
    return np.swapaxes(planes, -1, -2)


def _lanes(planes: Planes) -> npt.NDArray[np.float64]:
    """Leading limbs as lanes; both parts of a complex lane one after the other."""
    leading: npt.NDArray[np.float64] = planes[0, 0]
    return leading if planes.shape[0] == 1 else np.concatenate([leading, planes[1, 0]], axis=1)


def _bits_for(task: Task, least: float) -> int:
    """Bits p of the integers if all entries of the scaled |A| |B| are ``2**least`` or more.

    Rounding K terms of integers, and the sum to its quantum, is an error of ``1.125 K 2**-p`` at
    most; rounding to limbs one of 0.51 eps times the sum.
    """
    k = max(1, task.shape[1])
    terms = task.parts * k
    needed = 52 * task.limbs + math.log2(1.125 * terms / (k - 0.51)) - least
    floor = 52 * task.limbs - terms.bit_length() // 2 - 1 if task.limbs > 1 else _DOUBLE_BITS
    # Even numbers only, so that a prepared operand meets the same one again.
    return 2 * math.ceil(max(needed + 1e-6, floor) / 2)


def _system_for(bits: int, task: Task) -> Any:
    """Moduli for sums of products of so many bits: M is above twice the largest."""
    terms = max(1, task.parts * task.shape[1])
    bits += math.ceil(math.log2(2.001 * terms))
    return residue_system(bits) if task.parts == 1 else complex_system(bits)


def _tile_spans(task: Task, rows: Survey, columns: Survey) -> npt.NDArray[np.int32]:
    """For each tile of results, how far the largest term lies below the scales, in bits."""
    b = np.ascontiguousarray(_swapped(_lanes(_swapped(task.b))))
    halves = [_lanes(task.a)]
    if task.parts == 2:  # the imaginary part has the other pairs of factors
        halves.append(_lanes(task.a[::-1]))
    spans = [_native.tile_spans(a, b, rows.exponents, columns.exponents, TILE) for a in halves]
    worst: npt.NDArray[np.int32] = np.max(spans, axis=0)
    return worst


def _best_span(task: Task, spans: npt.NDArray[np.int32]) -> tuple[int, int]:
    """The span that is provided for, and the bits it needs: what costs least altogether."""
    best = None
    # The largest span of every sixteenth of the tiles is worth a thought.
    candidates = np.unique(np.quantile(spans, np.linspace(0, 1, 17), method="higher"))
    for span in candidates:
        bits = _bits_for(task, -(int(span) + 2))
        if bits > _MOST_BITS or task.parts * words_for(bits) > _MOST_WORDS:
            break
        forms = forms_of(_system_for(2 * bits, task), task.parts)
        if not forms.fits(bits):
            break
        far = np.count_nonzero(spans > span)
        cost = forms.products * spans.size + far * _FLOATING_COST[task.limbs] * task.parts**2
        if best is None or cost < best[0]:
            best = cost, int(span), bits
    if best is None:  # no span is small enough: all tiles are left to the direct kernels
        return -1, _bits_for(task, -2)
    return best[1:]


def _own_bits(task: Task, side: int, s: Survey, bits: int) -> int:
    """Bits that hold the entries of an operand with fewer limbs exactly, if fewer than ``bits``.

    The integers are then the same, without some zeros at their ends.
    """
    x = (task.a, _swapped(task.b))[side]
    if x.shape[1] == task.limbs or x.size == 0:
        return bits
    owner = task.owners[side]
    if owner is None:
        return min(bits, _exact_bits(x, s))
    key = ("exact bits", side, task.keys[side])
    exact: int = owner.keep(key, lambda: _exact_bits(x, s))
    return min(bits, exact)


def _exact_bits(x: Planes, s: Survey) -> int:
    """From the largest entry of a lane down to the last bit in it, at most."""
    lowest = x[:, -1:]
    if not lowest.all():  # the last bit of some entry is in a limb further up
        lowest = x
    exponents = np.ascontiguousarray(lowest).view(np.int64) & (0x7FF << 52)
    if lowest is x:
        exponents[x == 0] = 0x7FF << 52
    last = np.maximum(exponents.min(axis=(0, 1, 3)) >> 52, 1) - 1075
    regular = (s.exponents != _native.zero_lane) & (s.exponents != _native.special_lane)
    needed = (s.exponents - last)[regular]
    return max(2, int(needed.max(initial=2)))


def run(engine: Any, problem: Problem, out: Planes, alpha: Any, beta: Any) -> None:
    """``out = alpha A B + beta out`` by residues, on planes ``(c, N, *batch, m, n)``.

    alpha and beta are limbs of real factors, None for 1 and for 0.
    """
    for task, item in zip(tasks(problem), problem.memo["items"], strict=True):
        outs = [out[(part, slice(None), *index)] for part, index in task.target]
        whole = outs
        mended = item.far is not None or any(
            (s.exponents == _native.special_lane).any() for s in (item.rows, item.columns)
        )
        if not mended:
            engine.multiply(task, item, outs, alpha, beta)
            continue
        apart = alpha is not None or beta is not None
        if apart:  # what is mended replaces whole results: form the product by itself
            outs = [np.empty(x.shape) for x in outs]
        if item.far is None or not item.far.all():
            engine.multiply(task, item, outs, None, None)
        with stage("repair"):
            repair(task, item, outs)
        if apart:
            _combine(whole, outs, alpha, beta)


def _combine(targets: list[Planes], products: list[Planes], alpha: Any, beta: Any) -> None:
    for target, x in zip(targets, products, strict=True):
        planes = _scaled(x, alpha)
        if beta is not None:
            old = _scaled(np.ascontiguousarray(target), beta)
            planes = _native.elementwise("add", None, planes[np.newaxis], old[np.newaxis])[0]
        target[...] = planes


def _scaled(x: Planes, factor: Any) -> Planes:
    """The planes times a factor of as many limbs; exact for 1, which may be None, and for -1."""
    if factor is None or (factor[0] == 1 and not factor[1:].any()):
        return x
    scaled: Planes
    if factor[0] == -1 and not factor[1:].any():
        scaled = np.negative(x)
    else:
        factors = np.broadcast_to(factor[:, np.newaxis, np.newaxis], x.shape)
        scaled = _native.elementwise("mul", None, x[np.newaxis], factors[np.newaxis])[0]
    return scaled


register(Residues())
