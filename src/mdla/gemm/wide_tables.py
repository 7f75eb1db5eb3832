# SPDX-License-Identifier: BSD-3-Clause
"""Tables of constants for products by residues in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.moduli import ResidueSystem, root_of_minus_one, wide_moduli
from mdla.gemm.residue_tables import symmetric, tables

__all__ = ["BYTES", "Wide", "bits_for", "byte_tables", "constants", "reconstruction", "wide_system"]

#: Bytes of a residue of a product.
BYTES = 3
_BITS: int = _native.wide_bits


@dataclass(frozen=True)
class Wide:
    """Wide moduli, and the forms of real or complex entries.

    A complex entry x + iy has the forms x + jy and x - jy for each modulus, ``j**2 = -1``; see
    `mdla.gemm.residue_tables`.

    Attributes:
        system: The moduli; all are 1 modulo 4 for complex entries.
        parts: 1 for real entries, 2 for complex ones.
    """

    system: ResidueSystem
    parts: int

    @property
    def forms(self) -> int:
        """Float64 matrix products: forms of an entry, those of one modulus side by side."""
        return self.parts * len(self.system.moduli)

    @property
    def planes(self) -> int:
        """Bytes of the residues of one part of a product."""
        return BYTES * len(self.system.moduli)

    @property
    def native(self) -> Any:
        """The bytes as the native stage of the reconstruction knows them."""
        return _byte_forms(self.planes)

    @property
    def moduli(self) -> npt.NDArray[np.float64]:
        """The modulus of each form."""
        return np.repeat(np.array(self.system.moduli, dtype=np.float64), self.parts)

    def halves(self, modulus: int) -> tuple[float, float]:
        """1/2 and 1/2j modulo one of the moduli."""
        if self.parts == 1:
            return 0.0, 0.0
        j = _root(modulus)
        half, over = (symmetric(pow(x, -1, modulus), modulus) for x in (2, 2 * j))
        return float(half), float(over)


@lru_cache(maxsize=64)
def wide_system(bits: int, parts: int) -> Wide:
    """The fewest moduli with product at least ``2**bits``.

    Raises:
        ValueError: There are not enough.

    Example:
        >>> len(wide_system(226, 1).system.moduli)
        10
    """
    moduli = [m for m in wide_moduli(_BITS) if parts == 1 or m % 4 == 1]
    product = 1
    for count, m in enumerate(moduli, start=1):
        product *= m
        if product >= 2**bits:
            return Wide(ResidueSystem(tuple(moduli[:count])), parts)
    raise ValueError(f"wide moduli hold up to {product.bit_length() - 1} bits, not {bits}")


def _root(m: int) -> int:
    """Some j with ``j**2 = -1``: moduli for complex entries are primes 1 modulo 4."""
    j = root_of_minus_one(m)
    assert j is not None
    return j


@lru_cache(maxsize=64)
def _byte_forms(count: int) -> Any:
    return _native.byte_forms(count)


@lru_cache(maxsize=64)
def constants(wide: Wide, words: int, conjugated: bool = False) -> npt.NDArray[np.float64]:
    """Rows of constants that turn the halves of words of an entry into its residues.

    Row f holds ``c_q 2**(16 i) mod m`` for half i of part q, and what takes the offsets
    ``2**(32 words - 1)`` away. Of conjugated entries the second part has the other sign. Shape
    (forms, 2 parts words + 1).
    """
    rows = []
    for m in wide.system.moduli:
        inputs: list[tuple[int, ...]] = [(1,)]
        if wide.parts == 2:
            j = _root(m)
            inputs = [(1, -j), (1, j)] if conjugated else [(1, j), (1, -j)]
        for coefficients in inputs:
            row = [c * pow(2, 16 * i, m) for c in coefficients for i in range(2 * words)]
            row.append(-sum(coefficients) * pow(2, 32 * words - 1, m))
            rows.append([symmetric(x, m) for x in row])
    return np.array(rows, dtype=np.float64)


@lru_cache(maxsize=256)
def reconstruction(system: ResidueSystem, quantum: int) -> Any:
    """What puts bytes of residues together and rounds the sum to multiples of ``2**quantum``."""
    M = system.product
    weights = [symmetric(w << 8 * i, M) for w in system.crt_weights for i in range(BYTES)]
    return tables(M, weights, weights, [128] * len(weights), quantum)


@lru_cache(maxsize=64)
def byte_tables(count: int, quantum: int) -> Any:
    """The same for integers that are given by their bytes: by residues modulo ``2**(8 count)``."""
    M = 1 << 8 * count
    weights = [symmetric(1 << 8 * i, M) for i in range(count)]
    return tables(M, weights, weights, [128] * count, quantum)


def bits_for(bits: tuple[int, int], terms: int) -> int:
    """Bits of M for sums of products of integers of so many bits; M is above twice the largest."""
    return sum(bits) + math.ceil(math.log2(2.001 * max(1, terms)))
