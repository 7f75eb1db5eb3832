# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues on int8 engines, block by block so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.costs import residue_seconds
from mdla.gemm.prepared import Prepared, residues_of
from mdla.gemm.residue_tables import constants, reconstruction, words_for
from mdla.gemm.timing import stage
from mdla.gemm.workspace import borrow, limit, new_buffer

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem
    from mdla.gemm.residues import Item, Task

__all__ = ["ByResidues", "Int8", "block_sizes"]

Planes = npt.NDArray[Any]

# Blocks are multiples of what the engines work on.
_PANEL, _CHUNK = 32, 512
_SMALLEST_BLOCK = 256


class ByResidues:
    """What engines of the scheme have in common; each has a `multiply` for one task."""

    def run(self, problem: Problem, choice: Choice) -> Planes:
        """Multiply."""
        from mdla.gemm.residues import run

        m, _, n = problem.shape
        shape = (max(problem.parts), problem.working.limbs, *problem.batch, m, n)
        # From a line of the cache on: tiles of results are written in whole lines.
        room = np.empty(math.prod(shape) + 8)
        skip = -room.ctypes.data // 8 % 8
        out: Planes = room[skip : skip + math.prod(shape)].reshape(shape)
        run(self, problem, out, None, None)
        return out

    def update(self, problem: Problem, choice: Choice, out: Planes, alpha: Any, beta: Any) -> None:
        """``out = alpha A B + beta out`` for limbs of real factors."""
        from mdla.gemm.residues import run

        run(self, problem, out, alpha, beta if beta.any() else None)


class Int8(ByResidues):
    """An engine that multiplies int8 matrices with sums in int32.

    Args:
        name: ``"int8-amx"``, ``"int8-vnni"`` or ``"int8-portable"``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def available(self) -> bool:
        """Whether the processor and the operating system have it."""
        return bool(_native.has_residue_engine(self.name))

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
        return max((_blocks(task, item)[1] for task, item in some), default=0)

    def multiply(self, task: Task, item: Item, outs: list[Planes], alpha: Any, beta: Any) -> None:
        """``outs = alpha A B + beta outs``, planes ``(N, m, n)`` for each part."""
        m, k, n = task.shape
        native = item.forms.native
        (mb, nb, kb), _ = _blocks(task, item)
        with ExitStack() as stack:
            left = _Operand(self.name, task, item, 0, (mb, kb), stack)
            right = _Operand(self.name, task, item, 1, (nb, kb), stack)
            sums = stack.enter_context(borrow(_native.residue_product_bytes(native, mb, nb)))
            for j in range(0, n, nb):
                for i in range(0, m, mb):
                    rows, columns = min(mb, m - i), min(nb, n - j)
                    for s in range(0, max(k, 1), kb):
                        steps = min(kb, k - s)
                        a, b = left.block(i, s), right.block(j, s)
                        with stage("products"):
                            _native.residue_multiply(
                                self.name, rows, steps, columns, native, a, b, sums, s > 0
                            )
                    for part, out in enumerate(outs):
                        with stage("reconstruct"):
                            _native.residue_reconstruct(
                                self.name,
                                k,
                                native,
                                sums,
                                reconstruction(item.forms, part, item.quantum),
                                -sum(item.bits),
                                item.rows.exponents[i : i + rows],
                                item.columns.exponents[j : j + columns],
                                out[:, i : i + rows, j : j + columns],
                                alpha,
                                beta,
                            )


class _Operand:
    """The blocks of one operand as residues; the last one that was asked for is kept."""

    def __init__(
        self,
        engine: str,
        task: Task,
        item: Item,
        side: int,
        block: tuple[int, int],
        stack: ExitStack,
    ) -> None:
        self._engine = engine
        self._item = item
        self._side = side
        # Planes (c, N, lanes, steps).
        self._x = task.a if side == 0 else np.swapaxes(task.b, -1, -2)
        self._survey = (item.rows, item.columns)[side]
        self._block = block
        self._at: tuple[int, int] | None = None
        owner = task.owners[side]
        whole = self._x.shape[-2:] == block
        self._owner: Prepared | None = owner if whole else None
        self._conjugated = task.conjugated[side]
        self._key = (side, task.keys[side], item.bits[side], item.forms.moduli)
        if self._owner is None:
            self._buffer = stack.enter_context(borrow(self._size(*block)))

    def _size(self, lanes: int, steps: int) -> int:
        size: int = _native.residue_operand_bytes(self._item.forms.native, lanes, steps)
        return size

    def block(self, lane: int, step: int) -> npt.NDArray[np.int8]:
        """Residues of the block that begins there."""
        if self._owner is not None:
            return residues_of(self._owner, self._key, self._convert_whole)
        if self._at != (lane, step):
            self._convert(self._buffer, lane, step)
            self._at = lane, step
        return self._buffer

    def _convert_whole(self) -> npt.NDArray[np.int8]:
        buffer = new_buffer(self._size(*self._block))
        self._convert(buffer, 0, 0)
        return buffer

    def _convert(self, buffer: npt.NDArray[np.int8], lane: int, step: int) -> None:
        lanes, steps = self._block
        x = self._x[:, :, lane : lane + lanes, step : step + steps]
        bits = self._item.bits[self._side]
        words = words_for(bits)
        with stage("convert B" if self._side else "convert A"):
            _native.residue_convert(
                self._engine,
                self._side == 1,
                x,
                self._survey.exponents[lane : lane + lanes],
                bits,
                words,
                constants(self._item.forms, words, self._conjugated),
                self._item.forms.native,
                buffer,
            )


def _blocks(task: Task, item: Item) -> tuple[tuple[int, int, int], int]:
    """Rows, columns and inner length of the blocks, and the bytes of their residues."""
    native = item.forms.native
    fixed = (task.owners[0] is not None, task.owners[1] is not None)

    def sizes(mb: int, nb: int, kb: int) -> tuple[int, int, int]:
        return (
            _native.residue_operand_bytes(native, mb, kb),
            _native.residue_operand_bytes(native, nb, kb),
            _native.residue_product_bytes(native, mb, nb),
        )

    blocks = block_sizes(task.shape, sizes, fixed)
    a, b, c = sizes(*blocks)
    return blocks, (0 if fixed[0] else a) + (0 if fixed[1] else b) + c


def block_sizes(
    shape: tuple[int, int, int],
    sizes: Callable[[int, int, int], tuple[int, int, int]],
    fixed: tuple[bool, bool],
) -> tuple[int, int, int]:
    """Rows, columns and inner length of blocks within the memory limit.

    Args:
        shape: (m, k, n) of the product.
        sizes: Bytes for A, B and C, of blocks of (rows, columns, inner length).
        fixed: Whether A and B are kept whole and so do not count.

    Returns:
        ``(mb, nb, kb)``; at the least what the engines work on, however low the limit.
    """
    m, k, n = shape
    most = limit()
    mb, nb, kb = max(m, 1), max(n, 1), max(k, 1)

    def excess() -> bool:
        a, b, c = sizes(mb, nb, kb)
        return (0 if fixed[0] else a) + (0 if fixed[1] else b) + c > most

    def halved(x: int, unit: int) -> int:
        return max(unit, math.ceil(x / 2 / unit) * unit)

    # Long blocks first: every result is put together once, and every operand converted once as
    # long as one side is whole. So the rows are cut, then the inner length, then the columns.
    for smallest in (4 * _SMALLEST_BLOCK, _SMALLEST_BLOCK, _PANEL):
        while excess() and not fixed[0] and mb > smallest:
            mb = halved(mb, _PANEL)
        while excess() and not any(fixed) and kb > max(4 * smallest, _CHUNK):
            kb = halved(kb, _CHUNK)
        while excess() and not fixed[1] and nb > smallest:
            nb = halved(nb, _PANEL)
    return min(mb, max(m, 1)), min(nb, max(n, 1)), min(kb, max(k, 1))
