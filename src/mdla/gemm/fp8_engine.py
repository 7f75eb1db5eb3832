# SPDX-License-Identifier: BSD-3-Clause
"""The engine ``"fp8-simulated"``: integers multiplied as an E4M3 matrix engine would do it.

It shows that such an engine gives the bits of the others. Its integers are Python's, so it is
thousands of times slower and only runs when it is asked for by name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.fp8 import Fp8, fp8_moduli
from mdla.gemm.fp64 import finisher, residue_planes
from mdla.gemm.moduli import from_residues
from mdla.gemm.residue_blocks import ByResidues
from mdla.gemm.wide_tables import Wide, bits_for, byte_tables, wide_system
from mdla.gemm.workspace import new_buffer

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem
    from mdla.gemm.residues import Item, Task

__all__ = ["Fp8Simulated"]

Planes = npt.NDArray[Any]
Integers = npt.NDArray[Any]

# Seconds for a multiply-add and one modulus.
_SECONDS = 1e-8
_MOST_BITS = math.prod(fp8_moduli()).bit_length() - 1


class Fp8Simulated(ByResidues):
    """Exact products of integers by `mdla.gemm.fp8.Fp8`.

    Attributes:
        name: The name by which users ask for it.
    """

    name = "fp8-simulated"

    def available(self) -> bool:
        """Always."""
        return True

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds on one thread."""
        bits = sum(choice.bits or (0, 0))
        return 1e-2 + problem.multiply_adds * bits * _SECONDS

    def multiply(self, task: Task, item: Item, outs: list[Planes], alpha: Any, beta: Any) -> None:
        """``outs = alpha A B + beta outs``, planes ``(N, m, n)`` for each part."""
        m, k, n = task.shape
        bits = bits_for(item.bits, task.parts * k)
        count = bits // 8 + 1
        finish = finisher(item, k, _native.byte_forms(count), byte_tables(count, item.quantum))
        a = _integers(task.a, item.rows.exponents, item.bits[0])
        b = _integers(np.swapaxes(task.b, -1, -2), item.columns.exponents, item.bits[1])
        for x, conjugated in zip((a, b), task.conjugated, strict=True):
            if conjugated:
                x[1] = -x[1]
        products = [[_product(x, y.T) for y in b] for x in a]
        parts = [products[0][0]]
        if task.parts == 2:
            (xu, xv), (yu, yv) = products
            parts = [xu - yv, xv + yu]
        for part, out in zip(parts, outs, strict=True):
            finish(_bytes(part, count), (slice(0, m), slice(0, n)), out, alpha, beta)


def _integers(x: Planes, exponents: npt.NDArray[np.int32], bits: int) -> list[Integers]:
    """The integers that stand for planes (c, N, lanes, steps), put together from residues."""
    x = np.where((exponents == _native.special_lane)[:, np.newaxis], 0.0, x)
    wide: Wide = wide_system(bits + 2, 1)
    size = 8 * wide.forms * (x.shape[-2] + 32) * (x.shape[-1] + 32)
    return [
        from_residues(
            residue_planes(wide, part[np.newaxis], exponents, bits, False, new_buffer(size)).astype(
                np.int64
            ),
            wide.system,
        )
        for part in x
    ]


def _product(a: Integers, b: Integers) -> Integers:
    """``A B``, in halves of the longer entries where there are not enough moduli."""
    bits = _bits_of(a) + _bits_of(b) + a.shape[1].bit_length() + 1
    if bits <= _MOST_BITS:
        return Fp8().multiply(a, b, bits)
    if _bits_of(a) < _bits_of(b):
        return _product(b.T, a.T).T
    half = _bits_of(a) // 2
    high = a >> half
    return (_product(high, b) << half) + _product(a - (high << half), b)


def _bits_of(x: Integers) -> int:
    return max((int(v).bit_length() for v in x.ravel()), default=0)


def _bytes(x: Integers, count: int) -> npt.NDArray[np.int8]:
    """Balanced bytes of integers as the reconstruction reads them."""
    m, n = x.shape
    product = new_buffer(_native.residue_product_bytes(_native.byte_forms(count), m, n))
    columns = -(-n // 32)
    plane = product.size // count
    # Bytes of the sum with 128 in each are those of x with 128 added to each.
    offset = sum(128 << 8 * i for i in range(count))
    for i, j in np.ndindex(m, n):
        at = (i // 32 * columns + j // 32) * 1024 + i % 32 * 32 + j % 32
        digits = np.frombuffer((int(x[i, j]) + offset).to_bytes(count, "little"), np.uint8)
        product[at : at + plane * count : plane] = (digits ^ 128).view(np.int8)
    return product
