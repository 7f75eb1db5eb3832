# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues on int8 engines: a product of bytes for each form of a byte modulus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.residue_blocks import InBlocks
from mdla.gemm.residue_tables import constants, reconstruction, words_for

if TYPE_CHECKING:
    from mdla.gemm.residues import Item, Task

__all__ = ["Int8"]

Planes = npt.NDArray[Any]


class Int8(InBlocks):
    """An engine that multiplies int8 matrices with sums in int32.

    Args:
        name: ``"int8-amx"``, ``"int8-vnni"`` or ``"int8-portable"``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def available(self) -> bool:
        """Whether the processor and the operating system have it."""
        return bool(_native.has_residue_engine(self.name))

    def stages_of(self, task: Task, item: Item) -> _Stages:
        """The native stages on residues of one byte and of pairs."""
        return _Stages(self.name, task, item)


@dataclass(frozen=True, slots=True)
class _Stages:
    engine: str
    task: Task
    item: Item

    def operand_bytes(self, lanes: int, steps: int) -> int:
        size: int = _native.residue_operand_bytes(self.item.forms.native, lanes, steps)
        return size

    def product_bytes(self, rows: int, columns: int) -> int:
        size: int = _native.residue_product_bytes(self.item.forms.native, rows, columns)
        return size

    def key(self, side: int) -> Any:
        return self.item.bits[side], self.item.forms.moduli

    def convert(
        self, side: int, x: Planes, lanes: slice, buffer: npt.NDArray[np.int8]
    ) -> npt.NDArray[Any]:
        item = self.item
        bits = item.bits[side]
        words = words_for(bits)
        _native.residue_convert(
            self.engine,
            side == 1,
            x,
            (item.rows, item.columns)[side].exponents[lanes],
            bits,
            words,
            constants(item.forms, words, self.task.conjugated[side]),
            item.forms.native,
            buffer,
        )
        return buffer

    def multiply(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        shape: tuple[int, int, int],
        buffer: npt.NDArray[np.int8],
        add: bool,
    ) -> None:
        _native.residue_multiply(self.engine, *shape, self.item.forms.native, a, b, buffer, add)

    def finish(
        self,
        part: int,
        at: tuple[slice, slice],
        buffer: npt.NDArray[np.int8],
        out: Planes,
        alpha: Any,
        beta: Any,
    ) -> None:
        item = self.item
        _native.residue_reconstruct(
            self.engine,
            self.task.shape[1],
            item.forms.native,
            buffer,
            reconstruction(item.forms, part, item.quantum),
            -sum(item.bits),
            item.rows.exponents[at[0]],
            item.columns.exponents[at[1]],
            out[:, at[0], at[1]],
            alpha,
            beta,
        )
