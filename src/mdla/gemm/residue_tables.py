# SPDX-License-Identifier: BSD-3-Clause
"""Tables of constants for products by residues: what the native stages multiply by.

An operand is kept as residues of *forms* of its entries. A real entry x has one form for each
modulus, x itself. A complex entry x + iy has two where -1 is a square modulo m, x + jy and x - jy
with j**2 = -1, and else three, x, y and x + y; the products of equal forms of two entries give the
real and the imaginary part of the product of the entries,

    P = (x + jy)(u + jv),  Q = (x - jy)(u - jv):     re = (P + Q) / 2,   im = (P - Q) / 2j,
    P = x u,  Q = y v,  R = (x + y)(u + v):          re = P - Q,         im = R - P - Q,

(modulo m; Uchino, Ozaki and Imamura, arXiv 2609.05419). So converting is a matrix product with
powers of 256 times the coefficients of the forms, and reconstructing one with weights times the
coefficients of the parts, whatever the entries are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.gemm.moduli import PAIR_BASE, ResidueSystem, root_of_minus_one

__all__ = [
    "LEAST_QUANTUM",
    "Forms",
    "constants",
    "forms_of",
    "reconstruction",
    "symmetric",
    "tables",
    "words_for",
]

#: Results are rounded to multiples of at least ``2**LEAST_QUANTUM``, so that this many bits lie
#: between the rounding and what truncated weights leave out.
LEAST_QUANTUM = 24
_TILE = 16, 64  # rows of constants, bytes of each
# One less than the native stage takes, since M of other engines may be 23 bits longer.
_MOST_CHUNKS = 55


def symmetric(x: int, m: int) -> int:
    """The remainder of x modulo m in (-m/2, m/2]."""
    r = x % m
    return r - m if 2 * r > m else r


@dataclass(frozen=True)
class Forms:
    """The forms of real or complex entries for a system of moduli, those of bytes first.

    Attributes:
        system: The moduli.
        moduli: The modulus of each form.
        inputs: Of each form, the coefficients of the parts of an entry.
        outputs: For each part of a product, the coefficients of the products of the forms.
        native: What the native stages know of it.
    """

    system: ResidueSystem
    moduli: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    native: Any

    @property
    def byte_count(self) -> int:
        """How many forms, the first ones, have residues of one byte."""
        return sum(m <= 255 for m in self.moduli)

    @property
    def products(self) -> int:
        """Int8 matrix products."""
        return 3 * len(self.moduli) - 2 * self.byte_count

    @property
    def parts(self) -> int:
        """1 for real entries, 2 for complex ones."""
        return len(self.inputs[0])

    @property
    def largest_sum(self) -> int:
        """What the bytes of residues of a product add up to at most, in magnitude."""
        pairs = len(self.moduli) - self.byte_count
        return sum((m + 1) // 2 for m in self.moduli[: self.byte_count]) + pairs * (128 + 32)

    def fits(self, quantum: int) -> bool:
        """Whether products can be put together and rounded to multiples of ``2**quantum``.

        Sums of a reconstruction must stay below ``2**31``, and its chunks be few enough.
        """
        return self.largest_sum * 128 * 257 < 2**31 and self.chunks(quantum) <= _MOST_CHUNKS

    def chunks(self, quantum: int) -> int:
        """Chunks of 32 bits that a reconstruction forms, down to some bits below the quantum."""
        return _chunks(self.system.product, self.largest_sum, quantum)


@lru_cache(maxsize=64)
def forms_of(system: ResidueSystem, parts: int) -> Forms:
    """The forms of entries of one or two parts."""
    moduli: list[int] = []
    inputs: list[tuple[int, ...]] = []
    outputs: list[list[int]] = [[] for _ in range(parts)]
    for m in system.moduli:
        root = root_of_minus_one(m) if parts == 2 else None
        if parts == 1:
            some: list[tuple[int, ...]] = [(1,)]
            parts_of: list[tuple[int, ...]] = [(1,)]
        elif root is not None:
            half, over = pow(2, -1, m), pow(2 * root, -1, m)
            some, parts_of = [(1, root), (1, m - root)], [(half, half), (over, m - over)]
        else:
            some, parts_of = [(1, 0), (0, 1), (1, 1)], [(1, -1, 0), (-1, -1, 1)]
        moduli += [m] * len(some)
        inputs += some
        for of_part, coefficients in zip(outputs, parts_of, strict=True):
            of_part += coefficients
    native = _native.residue_forms([m for m in moduli if m <= 255], [m for m in moduli if m > 255])
    return Forms(system, tuple(moduli), tuple(inputs), tuple(map(tuple, outputs)), native)


def words_for(bits: int) -> int:
    """Words of 32 bits for integers of magnitude at most ``2**bits`` and the rounding of them."""
    return (bits + 2 + 31) // 32


@lru_cache(maxsize=64)
def constants(forms: Forms, words: int, conjugated: bool = False) -> npt.NDArray[np.int8]:
    """Rows of constants that turn the bytes of an entry into its residues.

    Row r holds ``c_q 2**(8 i) mod m`` for byte i of part q, and then, against the word 1 that
    follows, what takes the offsets ``2**(32 words - 1)`` away. For a pair modulus it is two rows,
    digits to the base 128. Of conjugated entries the second part has the other sign. int8, shape
    (groups, tiles, 16, 64).
    """
    parts = forms.parts
    tiles = (parts * words + 16) // 16
    rows: list[list[int]] = []
    signs = (1, -1 if conjugated else 1)
    for m, inputs in zip(forms.moduli, forms.inputs, strict=True):
        coefficients = [c * s for c, s in zip(inputs, signs, strict=False)]
        row = [c * pow(256, i, m) for c in coefficients for i in range(4 * words)]
        row.append(-sum(coefficients) * pow(2, 32 * words - 1, m))
        row = [symmetric(x, m) for x in row]
        if m <= 255:
            rows.append(row)
        else:
            high = [(x + PAIR_BASE // 2) // PAIR_BASE for x in row]
            rows += [[x - PAIR_BASE * h for x, h in zip(row, high, strict=True)], high]
        if m <= 255 and len(rows) == forms.byte_count:
            rows += [[]] * (-len(rows) % _TILE[0])
    rows += [[]] * (-len(rows) % _TILE[0])
    table = np.zeros((len(rows), tiles * _TILE[1]), dtype=np.int8)
    for to, row in zip(table, rows, strict=True):
        to[: len(row)] = row
    return np.ascontiguousarray(table.reshape(-1, _TILE[0], tiles, _TILE[1]).transpose(0, 2, 1, 3))


@lru_cache(maxsize=256)
def reconstruction(forms: Forms, part: int, quantum: int) -> Any:
    """What puts one part of products together and rounds it to multiples of ``2**quantum``.

    Args:
        forms: The forms of the operands.
        part: 0, or 1 for the imaginary part.
        quantum: At least 24.
    """
    M = forms.system.product
    weights = [
        symmetric(w * c, M) for w, c in zip(_weights(forms), forms.outputs[part], strict=True)
    ]
    byte_count = forms.byte_count
    # The bytes that the native stage reads, four by four: byte residues, then low and high bytes
    # of pair residues.
    of_bytes = weights[:byte_count] + [0] * (-byte_count % 4)
    largest = [(m + 1) // 2 for m in forms.moduli[:byte_count]] + [0] * (-byte_count % 4)
    for w in weights[byte_count:]:
        of_bytes += [w, symmetric(256 * w, M)]
        largest += [128, 32]
    return tables(M, weights, of_bytes, largest, quantum)


def tables(
    M: int, weights: list[int], of_bytes: list[int], largest: list[int], quantum: int
) -> Any:
    """What adds up bytes times weights modulo M and rounds to multiples of ``2**quantum``.

    Args:
        M: The modulus.
        weights: The weight of each residue, at most M / 2 in magnitude.
        of_bytes: The weight of each byte of the residues.
        largest: What each byte is at most, in magnitude.
        quantum: At least 24.
    """
    shift, largest_sum = _shift_for(quantum), sum(largest)
    # What is left out of the weights, and of M, which is taken off up to half the sum of all bytes.
    left_out = sum(x * _left_out(w, shift) for x, w in zip(largest, of_bytes, strict=True))
    left_out += (largest_sum // 2 + 1) * _left_out(M, shift)
    of_bytes = of_bytes + [0] * (-len(of_bytes) % 4)
    quads = len(of_bytes) // 4
    chunks = _chunks(M, largest_sum, quantum)
    tiles = (quads + 15) // 16
    groups = (chunks + 3) // 4
    table = np.zeros((groups * _TILE[0], tiles * _TILE[1]), dtype=np.int8)
    for column, w in enumerate(of_bytes):
        table[: 4 * chunks, column] = _digits(_shifted(w, shift), 8, 4 * chunks)
    modulus = np.array(_digits(_shifted(M, shift), 32, chunks), dtype=np.float64)
    top = 32 * (chunks - 1)
    whole_words = (M.bit_length() + 31) // 32
    return _native.reconstruction_tables(
        np.ascontiguousarray(table.reshape(groups, 16, tiles, 64).transpose(0, 2, 1, 3)),
        modulus,
        (1 << (top + shift)) / M,
        quantum - shift,
        shift,
        float(-(-left_out >> shift)),
        np.array([_words(w % M, whole_words) for w in weights], dtype=np.uint32),
        np.array(_words(M, whole_words), dtype=np.uint32),
        quads,
    )


def _weights(forms: Forms) -> list[int]:
    """The weight of the modulus of each form."""
    of_modulus = dict(zip(forms.system.moduli, forms.system.crt_weights, strict=True))
    return [of_modulus[m] for m in forms.moduli]


def _chunks(M: int, largest_sum: int, quantum: int) -> int:
    multiples = math.ceil(math.log2(largest_sum / 2 + 1))
    bits = M.bit_length() + multiples + 1 - _shift_for(quantum)
    return max(2, (bits + 31) // 32)


def _shift_for(quantum: int) -> int:
    """Bits below the lowest chunk, whole bytes."""
    return (quantum - LEAST_QUANTUM) // 8 * 8


def _shifted(x: int, shift: int) -> int:
    """``x / 2**shift``, rounded to nearest."""
    return (x + (1 << shift >> 1)) >> shift


def _left_out(x: int, shift: int) -> int:
    """What `_shifted` changes, times ``2**shift``."""
    return abs((_shifted(x, shift) << shift) - x)


def _digits(x: int, bits: int, count: int) -> list[int]:
    """Balanced digits of x to the base ``2**bits``, the lowest first; the last takes the rest."""
    digits = []
    half = 1 << (bits - 1)
    for _ in range(count - 1):
        d = ((x + half) & (2 * half - 1)) - half
        digits.append(d)
        x = (x - d) >> bits
    return [*digits, x]


def _words(x: int, count: int) -> list[int]:
    return [x >> (32 * i) & 0xFFFFFFFF for i in range(count)]
