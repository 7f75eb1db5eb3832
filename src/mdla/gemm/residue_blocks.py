# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues, block by block so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mdla.gemm.costs import residue_seconds
from mdla.gemm.prepared import Prepared, residues_of
from mdla.gemm.timing import stage
from mdla.gemm.workspace import borrow, limit, new_buffer

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem
    from mdla.gemm.residues import Item, Task

__all__ = ["ByResidues", "InBlocks", "Stages", "block_sizes"]

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


class Stages(Protocol):
    """The stages of one task on an engine, on blocks of its operands and result.

    Residues are whatever the engine multiplies, kept in buffers of bytes.
    """

    def operand_bytes(self, lanes: int, steps: int) -> int:
        """Bytes of the residues of a block of an operand."""

    def product_bytes(self, rows: int, columns: int) -> int:
        """Bytes of the residues of a block of the result, and of what is needed to form them."""

    def key(self, side: int) -> Any:
        """What the residues of an operand depend on besides its entries."""

    def convert(
        self, side: int, x: Planes, lanes: slice, buffer: npt.NDArray[np.int8]
    ) -> npt.NDArray[Any]:
        """Residues, in the buffer, of planes (c, N, lanes, steps), some lanes of operand A or B."""

    def multiply(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        shape: tuple[int, int, int],
        buffer: npt.NDArray[np.int8],
        add: bool,
    ) -> None:
        """Form residues of a product of shape (rows, steps, columns), or add to them."""

    def finish(
        self,
        part: int,
        at: tuple[slice, slice],
        buffer: npt.NDArray[np.int8],
        out: Planes,
        alpha: Any,
        beta: Any,
    ) -> None:
        """``out = alpha C + beta out`` at the rows and columns of a block, for one part."""


class InBlocks(ByResidues):
    """An engine that works block by block: it has a name and gives the `Stages` of a task."""

    name: str

    def stages_of(self, task: Task, item: Item) -> Stages:
        """What the engine does for one task."""
        raise NotImplementedError

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
        return max((_blocks(task, self.stages_of(task, item))[1] for task, item in some), default=0)

    def multiply(self, task: Task, item: Item, outs: list[Planes], alpha: Any, beta: Any) -> None:
        """``outs = alpha A B + beta outs``, planes ``(N, m, n)`` for each part."""
        m, k, n = task.shape
        stages = self.stages_of(task, item)
        (mb, nb, kb), _ = _blocks(task, stages)
        with ExitStack() as stack:
            left = _Operand(stages, task, 0, (mb, kb), stack)
            right = _Operand(stages, task, 1, (nb, kb), stack)
            buffer = stack.enter_context(borrow(stages.product_bytes(mb, nb)))
            for j in range(0, n, nb):
                for i in range(0, m, mb):
                    at = slice(i, min(i + mb, m)), slice(j, min(j + nb, n))
                    rows, columns = (s.stop - s.start for s in at)
                    for s in range(0, max(k, 1), kb):
                        a, b = left.block(i, s), right.block(j, s)
                        shape = rows, min(kb, k - s), columns
                        with stage("products"):
                            stages.multiply(a, b, shape, buffer, s > 0)
                    for part, out in enumerate(outs):
                        with stage("reconstruct"):
                            stages.finish(part, at, buffer, out, alpha, beta)


class _Operand:
    """The blocks of one operand as residues; the last one that was asked for is kept."""

    def __init__(
        self, stages: Stages, task: Task, side: int, block: tuple[int, int], stack: ExitStack
    ) -> None:
        self._stages = stages
        self._side = side
        # Planes (c, N, lanes, steps).
        self._x = task.a if side == 0 else np.swapaxes(task.b, -1, -2)
        self._block = block
        self._at: tuple[int, int] | None = None
        whole = self._x.shape[-2:] == block
        self._owner: Prepared | None = task.owners[side] if whole else None
        self._key = (side, task.keys[side], stages.key(side))
        if self._owner is None:
            self._buffer = stack.enter_context(borrow(stages.operand_bytes(*block)))

    def block(self, lane: int, step: int) -> npt.NDArray[Any]:
        """Residues of the block that begins there."""
        if self._owner is not None:
            return residues_of(self._owner, self._key, self._convert_whole)
        if self._at != (lane, step):
            self._residues = self._convert(self._buffer, lane, step)
            self._at = lane, step
        return self._residues

    def _convert_whole(self) -> npt.NDArray[Any]:
        return self._convert(new_buffer(self._stages.operand_bytes(*self._block)), 0, 0)

    def _convert(self, buffer: npt.NDArray[np.int8], lane: int, step: int) -> npt.NDArray[Any]:
        lanes = slice(lane, lane + self._block[0])
        x = self._x[:, :, lanes, step : step + self._block[1]]
        with stage("convert B" if self._side else "convert A"):
            return self._stages.convert(self._side, x, lanes, buffer)


def _blocks(task: Task, stages: Stages) -> tuple[tuple[int, int, int], int]:
    """Rows, columns and inner length of the blocks, and the bytes of their residues."""
    fixed = (task.owners[0] is not None, task.owners[1] is not None)
    m, _, n = task.shape
    if all(fixed) and stages.product_bytes(m, n) > limit():
        fixed = (True, False)  # something has to be cut

    def sizes(mb: int, nb: int, kb: int) -> tuple[int, int, int]:
        return (
            stages.operand_bytes(mb, kb),
            stages.operand_bytes(nb, kb),
            stages.product_bytes(mb, nb),
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
