# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues on float64 engines: a matrix product of the BLAS for each modulus.

Residues modulo primes below ``2**23`` are doubles, and float64 sums of 512 products of two are
exact. The integers are those of the int8 engines, and so are the bits of the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.residue_blocks import InBlocks
from mdla.gemm.residue_tables import words_for
from mdla.gemm.wide_tables import BYTES, Wide, bits_for, constants, reconstruction, wide_system

if TYPE_CHECKING:
    from mdla.gemm.residues import Item, Task

__all__ = ["Fp64", "finisher", "residue_planes", "wide_of"]

Planes = npt.NDArray[Any]

_LINE = 32  # lines of residues are multiples of this many long


class Fp64(InBlocks):
    """The engine ``"fp64-blas"``: NumPy's product of float64 matrices.

    Attributes:
        name: The name by which users ask for it.
    """

    name = "fp64-blas"

    def available(self) -> bool:
        """Always."""
        return True

    def stages_of(self, task: Task, item: Item) -> _Stages:
        """Residues as float64 matrices, their products as bytes."""
        return _Stages(wide_of(task, item), task, item)


@dataclass(frozen=True, slots=True)
class _Stages:
    wide: Wide
    task: Task
    item: Item

    def operand_bytes(self, lanes: int, steps: int) -> int:
        # Whichever of lanes and steps are the lines.
        return 8 * self.wide.forms * max(_padded(lanes) * steps, lanes * _padded(steps))

    def product_bytes(self, rows: int, columns: int) -> int:
        # The bytes of all parts, and behind them the products for one modulus.
        return _product_bytes(self.wide, rows, columns) + _sum_bytes(self.wide, rows, columns)

    def key(self, side: int) -> Any:
        return self.item.bits[side], self.wide

    def convert(
        self, side: int, x: Planes, lanes: slice, buffer: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        exponents = (self.item.rows, self.item.columns)[side].exponents[lanes]
        conjugated = self.task.conjugated[side]
        return residue_planes(self.wide, x, exponents, self.item.bits[side], conjugated, buffer)

    def multiply(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        shape: tuple[int, int, int],
        buffer: npt.NDArray[np.int8],
        add: bool,
    ) -> None:
        rows, _, columns = shape
        sums = buffer[_product_bytes(self.wide, rows, columns) :]
        _multiply(self.wide, a, b, sums, buffer, add)

    def finish(
        self,
        part: int,
        at: tuple[slice, slice],
        buffer: npt.NDArray[np.int8],
        out: Planes,
        alpha: Any,
        beta: Any,
    ) -> None:
        wide, item = self.wide, self.item
        tables = reconstruction(wide.system, item.quantum)
        finish = finisher(item, self.task.shape[1], wide.native, tables)
        rows, columns = (x.stop - x.start for x in at)
        size = _product_bytes(wide, rows, columns) // wide.parts
        finish(buffer[part * size :], at, out, alpha, beta)


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
