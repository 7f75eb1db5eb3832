# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues on float64 engines: a matrix product of the BLAS for each modulus.

Residues modulo primes below ``2**23`` are doubles, and float64 sums of 512 products of two are
exact. The integers are those of the int8 engines, and so are the bits of the result.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.costs import residue_seconds
from mdla.gemm.prepared import Prepared, residues_of
from mdla.gemm.residue_blocks import ByResidues, block_sizes
from mdla.gemm.residue_tables import words_for
from mdla.gemm.timing import stage
from mdla.gemm.wide_tables import BYTES, Wide, bits_for, constants, reconstruction, wide_system
from mdla.gemm.workspace import borrow, new_buffer

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem
    from mdla.gemm.residues import Item, Task

__all__ = ["Fp64", "finisher", "residue_planes", "wide_of"]

Planes = npt.NDArray[Any]

_LINE = 32  # lines of residues are multiples of this many long


class Fp64(ByResidues):
    """The engine ``"fp64-blas"``: NumPy's product of float64 matrices.

    Attributes:
        name: The name by which users ask for it.
    """

    name = "fp64-blas"

    def available(self) -> bool:
        """Always."""
        return True

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds with the threads in use; see `mdla.gemm.costs`."""
        return sum(self.stages(problem, choice).values())

    def stages(self, problem: Problem, choice: Choice) -> dict[str, float]:
        """Predicted seconds of each stage."""
        return residue_seconds(self.name, problem, choice)

    def workspace(self, problem: Problem) -> int:
        """Bytes of residues that a chosen product borrows; those of prepared operands are kept."""
        from mdla.gemm.residues import tasks

        some = zip(tasks(problem), problem.memo["items"], strict=True)
        return max((_blocks(task, wide_of(task, item))[1] for task, item in some), default=0)

    def multiply(self, task: Task, item: Item, outs: list[Planes], alpha: Any, beta: Any) -> None:
        """``outs = alpha A B + beta outs``, planes ``(N, m, n)`` for each part."""
        m, k, n = task.shape
        wide = wide_of(task, item)
        (mb, nb, kb), _ = _blocks(task, wide)
        with ExitStack() as stack:
            left = _Operand(wide, task, item, 0, (mb, kb), stack)
            right = _Operand(wide, task, item, 1, (nb, kb), stack)
            sums = stack.enter_context(borrow(_sum_bytes(wide, mb, nb)))
            product = stack.enter_context(borrow(_product_bytes(wide, mb, nb)))
            for j in range(0, n, nb):
                for i in range(0, m, mb):
                    rows, columns = min(mb, m - i), min(nb, n - j)
                    for s in range(0, max(k, 1), kb):
                        a, b = left.block(i, s), right.block(j, s)
                        with stage("products"):
                            _multiply(wide, a, b, sums, product, s > 0)
                    finish = finisher(
                        item, k, wide.native, reconstruction(wide.system, item.quantum)
                    )
                    size = _native.residue_product_bytes(wide.native, rows, columns)
                    at = slice(i, i + rows), slice(j, j + columns)
                    for part, out in enumerate(outs):
                        with stage("reconstruct"):
                            finish(product[part * size :], at, out, alpha, beta)


def wide_of(task: Task, item: Item) -> Wide:
    """The wide moduli for the integers of an item."""
    return wide_system(bits_for(item.bits, task.parts * task.shape[1]), task.parts)


def finisher(item: Item, k: int, forms: Any, tables: Any) -> Any:
    """A function that turns bytes of a block of products into results."""
    # All engines put bytes together with the same result.
    engines = ("int8-amx", "int8-vnni", "int8-portable")
    engine = next(x for x in engines if _native.has_residue_engine(x))

    def finish(
        product: npt.NDArray[np.int8], at: tuple[slice, slice], out: Planes, alpha: Any, beta: Any
    ) -> None:
        _native.residue_reconstruct(
            engine,
            k,
            forms,
            product,
            tables,
            -sum(item.bits),
            item.rows.exponents[at[0]],
            item.columns.exponents[at[1]],
            out[:, at[0], at[1]],
            alpha,
            beta,
        )

    return finish


def _multiply(
    wide: Wide,
    a: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int8],
    product: npt.NDArray[np.int8],
    add: bool,
) -> None:
    """Bytes of residues of the product of operands (forms, m, k) and (forms, n, k)."""
    (_, m, k), n = a.shape, b.shape[1]
    target = sums[: _sum_bytes(wide, m, n)].view(np.float64).reshape(wide.parts, m, n)
    for index, modulus in enumerate(wide.system.moduli):
        half, over = wide.halves(modulus)
        for s in range(0, max(k, 1), _native.wide_steps):
            steps = slice(s, s + _native.wide_steps)
            for part, of_form in enumerate(target):
                f = index * wide.parts + part
                np.matmul(a[f, :, steps], b[f, :, steps].T, out=of_form)
            _native.wide_reduce(
                target, modulus, half, over, product, wide.planes, BYTES * index, add or s > 0
            )


def _blocks(task: Task, wide: Wide) -> tuple[tuple[int, int, int], int]:
    """Rows, columns and inner length of the blocks, and the bytes of their residues."""
    fixed = (task.owners[0] is not None, task.owners[1] is not None)

    def sizes(mb: int, nb: int, kb: int) -> tuple[int, int, int]:
        return (
            _operand_bytes(wide, mb, kb),
            _operand_bytes(wide, nb, kb),
            _product_bytes(wide, mb, nb) + _sum_bytes(wide, mb, nb),
        )

    blocks = block_sizes(task.shape, sizes, fixed)
    a, b, c = sizes(*blocks)
    return blocks, (0 if fixed[0] else a) + (0 if fixed[1] else b) + c


def _operand_bytes(wide: Wide, lanes: int, steps: int) -> int:
    """Of residues, whichever of lanes and steps are the lines."""
    return 8 * wide.forms * max(_padded(lanes) * steps, lanes * _padded(steps))


def _product_bytes(wide: Wide, rows: int, columns: int) -> int:
    size: int = _native.residue_product_bytes(wide.native, rows, columns)
    return wide.parts * size


def _sum_bytes(wide: Wide, rows: int, columns: int) -> int:
    return 8 * wide.parts * rows * columns


def _padded(length: int) -> int:
    return -(-length // _LINE) * _LINE


def residue_planes(
    wide: Wide,
    x: Planes,
    exponents: npt.NDArray[np.int32],
    bits: int,
    conjugated: bool,
    buffer: npt.NDArray[np.int8],
) -> npt.NDArray[np.float64]:
    """Residues of planes (c, N, lanes, steps).

    Args:
        wide: The moduli.
        x: Entries.
        exponents: Of the lanes.
        bits: Of the integers.
        conjugated: Whether the entries are the conjugates of x.
        buffer: Where they are kept.

    Returns:
        Array (forms, lanes, steps) with unit stride where x has it.
    """
    lanes_are_lines = x.strides[-1] <= x.strides[-2]
    lines = x if lanes_are_lines else np.swapaxes(x, -1, -2)
    count, length = lines.shape[-2:]
    shape = wide.forms, count, _padded(length)
    out = buffer[: 8 * math.prod(shape)].view(np.float64).reshape(shape)
    words = words_for(bits)
    _native.wide_convert(
        lines,
        lanes_are_lines,
        exponents,
        bits,
        words,
        constants(wide, words, conjugated),
        wide.moduli,
        out,
    )
    residues = out[:, :, :length]
    return residues if lanes_are_lines else np.swapaxes(residues, -1, -2)


class _Operand:
    """The blocks of one operand as residues; the last one that was asked for is kept."""

    def __init__(
        self,
        wide: Wide,
        task: Task,
        item: Item,
        side: int,
        block: tuple[int, int],
        stack: ExitStack,
    ) -> None:
        self._wide = wide
        self._stage = ("convert A", "convert B")[side]
        # Planes (c, N, lanes, steps).
        self._x = task.a if side == 0 else np.swapaxes(task.b, -1, -2)
        self._exponents = (item.rows, item.columns)[side].exponents
        self._bits = item.bits[side]
        self._conjugated = task.conjugated[side]
        self._block = block
        self._at: tuple[int, int] | None = None
        owner = task.owners[side]
        self._owner: Prepared | None = owner if self._x.shape[-2:] == block else None
        self._key = (side, task.keys[side], self._bits, wide)
        if self._owner is None:
            self._buffer = stack.enter_context(borrow(_operand_bytes(wide, *block)))

    def block(self, lane: int, step: int) -> npt.NDArray[np.float64]:
        """Residues (forms, lanes, steps) of the block that begins there."""
        if self._owner is not None:
            return residues_of(self._owner, self._key, self._convert_whole)
        if self._at != (lane, step):
            self._residues = self._convert(self._buffer, lane, step)
            self._at = lane, step
        return self._residues

    def _convert_whole(self) -> npt.NDArray[np.float64]:
        return self._convert(new_buffer(_operand_bytes(self._wide, *self._block)), 0, 0)

    def _convert(
        self, buffer: npt.NDArray[np.int8], lane: int, step: int
    ) -> npt.NDArray[np.float64]:
        lanes, steps = self._block
        x = self._x[:, :, lane : lane + lanes, step : step + steps]
        exponents = self._exponents[lane : lane + lanes]
        with stage(self._stage):
            return residue_planes(self._wide, x, exponents, self._bits, self._conjugated, buffer)
