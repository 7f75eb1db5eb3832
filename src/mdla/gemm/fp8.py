# SPDX-License-Identifier: BSD-3-Clause
"""Exact integer matrix products from 8-bit floating-point ones, simulated on the CPU.

The matrix engines of recent GPUs are fastest for E4M3: a sign, 4 bits of exponent and 3 of
fraction, products summed in float32. E4M3 holds the integers up to 16 and the even ones up to 32,
so a remainder modulo m becomes two such digits, and three products of digit matrices give the
product modulo m. Two kinds of moduli allow that (Uchino, Ozaki and Imamura, arXiv 2603.10634):

- *squares* ``m = s**2``: remainders are ``q0 + s q1``, the product of the upper digits vanishes;
- *Karatsuba* moduli: remainders are ``q0 + w q1`` with q0, q1 and q0 + q1 all in E4M3.

Float32 sums are exact while they stay below ``2**24``. Everything else is as in `mdla.gemm.moduli`,
so the integers, and hence the bits of the scheme, are those of int8 engines. The product of codes
is a parameter: `matmul` simulates it, the instruction of a GPU takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.gemm.moduli import ResidueSystem, from_residues, to_residues

__all__ = [
    "BLOCK",
    "LARGEST_DIGIT",
    "Fp8",
    "SplitModulus",
    "decode",
    "encode",
    "fp8_moduli",
    "fp8_system",
    "matmul",
    "representable",
    "split_modulus",
]

Codes = npt.NDArray[np.uint8]
Product = Callable[[Codes, Codes], npt.NDArray[np.float32]]

LARGEST_DIGIT = 32
# |q q'| <= 2**10, so float32 sums of this many products are integers up to 2**24: exact.
BLOCK = 2**24 // LARGEST_DIGIT**2

_NAN = 0x7F
_SQUARE_ROOTS = (49, 47, 45, 43, 41, 37, 32, 31, 29)


def decode(codes: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The values of E4M3 codes.

    A code has a sign s, four bits e and three bits f: its value is ``(-1)**s 2**(e-7) (1 + f/8)``,
    or ``(-1)**s 2**-6 f/8`` where e = 0. There are no infinities; e = 15 with f = 7 is nan (OCP
    8-bit floating point specification, revision 1.0).

    Example:
        >>> decode([0x01, 0x38, 0x58, 0x7E, 0xFE, 0x7F]).tolist()
        [0.001953125, 1.0, 16.0, 448.0, -448.0, nan]
    """
    return _values()[np.asarray(codes, dtype=np.uint8)]


def encode(values: npt.ArrayLike) -> Codes:
    """The nearest E4M3 code, ties to the even one.

    Magnitudes beyond 448, infinity among them, saturate at 448, as GPUs convert by default; nan
    stays nan.

    Example:
        >>> decode(encode([17.0, 19.0, 1e9, -0.001])).tolist()
        [16.0, 20.0, 448.0, -0.001953125]
    """
    x = np.asarray(values, dtype=np.float64)
    finite = _values()[:_NAN].astype(np.float64)
    # Positive codes are in the order of their values, and an odd code has even neighbours.
    middle = (finite[1:] + finite[:-1]) / 2
    below = np.searchsorted(middle, np.abs(x), side="left")
    upto = np.searchsorted(middle, np.abs(x), side="right")
    code = np.where(np.isnan(x), _NAN, np.where(below % 2 == 0, below, upto))
    return np.where(np.signbit(x), code | 0x80, code).astype(np.uint8)


def representable(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether numbers are E4M3 values.

    Example:
        >>> [x for x in range(40) if not representable(x)]
        [17, 19, 21, 23, 25, 27, 29, 31, 33, 34, 35, 37, 38, 39]
    """
    x = np.asarray(values, dtype=np.float64)
    return np.asarray(decode(encode(x)) == x)


def matmul(a: Codes, b: Codes) -> npt.NDArray[np.float32]:
    """``decode(a) @ decode(b)`` in float32, what one instruction of a matrix engine does.

    Exact, whatever the order of summation, for integers with ``sum |a| |b| <= 2**24`` in each
    entry: K up to `BLOCK` for digits up to `LARGEST_DIGIT`.

    Args:
        a: E4M3 codes (m, K).
        b: E4M3 codes (K, n).
    """
    return np.asarray(decode(a) @ decode(b))


@dataclass(frozen=True, eq=False)
class SplitModulus:
    """How products modulo m are made of three products of digits.

    For remainders r and r', ``r r' = sum_i weights[i] * left[i, r] * right[i, r'] (mod m)``.

    Attributes:
        modulus: m.
        base: ``s`` or ``w``, the weight of the upper digit.
        left: E4M3 codes (3, m) of the factors that r gives on the left of a product.
        right: E4M3 codes (3, m) of those on the right.
        weights: Three integers.
    """

    modulus: int
    base: int
    left: Codes
    right: Codes
    weights: tuple[int, int, int]

    def multiply(
        self, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], product: Product
    ) -> npt.NDArray[np.int64]:
        """``a @ b`` modulo m, in [0, m), for remainders of any sign and any inner dimension."""
        m = self.modulus
        total = np.zeros((a.shape[0], b.shape[1]), dtype=np.int64)
        for start in range(0, a.shape[1], BLOCK):
            x, y = a[:, start : start + BLOCK] % m, b[start : start + BLOCK] % m
            for weight, left, right in zip(self.weights, self.left, self.right, strict=True):
                total += weight * product(left[x], right[y]).astype(np.int64)
            total %= m
        return total


@cache
def split_modulus(modulus: int) -> SplitModulus:
    """The digits for one modulus.

    For a square ``s**2``, ``(q0 + s q1)(q0' + s q1') = q0 q0' + s q1 q0' + s q0 q1'``; digits are
    taken modulo s. For other moduli, ``(q0 + w q1)(q0' + w q1')`` is

        (1 - w) q0 q0' + w (w - 1) q1 q1' + w (q0 + q1) (q0' + q1')

    with the smallest w for which each remainder has such digits.

    Raises:
        ValueError: There are no digits for this modulus.

    Example:
        >>> split_modulus(49**2).weights, split_modulus(1283).base
        ((1, 49, 49), 201)
    """
    digits = _digits()
    root = math.isqrt(modulus)
    if root**2 == modulus:
        lower = _first_of_each(digits % root, digits, root)
        if lower is None:
            raise ValueError(f"remainders modulo {root} are no E4M3 integers up to 32")
        low = lower[np.arange(modulus) % root]
        high = lower[(np.arange(modulus) - low) // root % root]
        return SplitModulus(
            modulus, root, _codes(low, high, low), _codes(low, low, high), (1, root, root)
        )
    low, high = (g.ravel() for g in np.meshgrid(digits, digits, indexing="ij"))
    allowed = np.isin(low + high, digits)
    pairs = np.stack([low[allowed], high[allowed]], axis=-1)
    for w in range(2, modulus // 2 + 1):
        chosen = _first_of_each((pairs[:, 0] + w * pairs[:, 1]) % modulus, pairs, modulus)
        if chosen is not None:
            codes = _codes(chosen[:, 0], chosen[:, 1], chosen.sum(axis=1))
            return SplitModulus(modulus, w, codes, codes, (1 - w, w * (w - 1), w))
    raise ValueError(f"remainders modulo {modulus} are no sums of two E4M3 digits")


@cache
def fp8_moduli() -> tuple[int, ...]:
    """Pairwise coprime moduli for E4M3, descending: squares up to 49**2 and primes up to 1283.

    49 is the largest root: odd remainders above 16 are no E4M3 values, but 49 less they are even
    and down to -32.

    Example:
        >>> fp8_moduli()[:8]
        (2401, 2209, 2025, 1849, 1681, 1369, 1283, 1279)
    """
    chosen = [s**2 for s in _SQUARE_ROOTS]
    for p in range(max(_SQUARE_ROOTS) + 4, 1284):
        if all(p % d for d in range(2, math.isqrt(p) + 1)):
            try:
                chosen.append(split_modulus(p).modulus)
            except ValueError:  # one of the few primes above 1103 without digits
                continue
    return tuple(sorted(chosen, reverse=True))


@lru_cache
def fp8_system(bits: int) -> ResidueSystem:
    """The fewest moduli with product at least ``2**bits``; each takes three products.

    Float64 matrices with K about 1,000 need 115 to 126 bits, 12 moduli. Counts of products in the
    literature are ``3 r + 1`` for r moduli: the one more bounds |A| |B| for the scaling of
    GEMMul8's accurate mode, which mdla does not need.

    Raises:
        ValueError: There are not enough moduli.

    Example:
        >>> len(fp8_system(120).moduli), fp8_system(120).bits
        (12, 126)
    """
    moduli = fp8_moduli()
    product = 1
    for count, m in enumerate(moduli):
        if product >= 2**bits:
            return ResidueSystem(moduli[:count])
        product *= m
    if product >= 2**bits:
        return ResidueSystem(moduli)
    raise ValueError(f"E4M3 moduli hold up to {product.bit_length() - 1} bits, {bits} were asked")


@dataclass(frozen=True)
class Fp8:
    """Exact integer matrix products by E4M3 products.

    Attributes:
        product: Multiplies matrices of E4M3 codes into float32, exactly for sums up to ``2**24``.
        name: The engine's name.
    """

    product: Product = matmul
    name: str = "fp8-simulated"

    def multiply(self, a: npt.NDArray[Any], b: npt.NDArray[Any], bits: int) -> npt.NDArray[Any]:
        """``A @ B`` as Python integers.

        Args:
            a: Python integers (m, K), dtype object.
            b: Python integers (K, n), dtype object.
            bits: ``|A @ B| < 2**(bits-1)`` in every entry.

        Returns:
            Python integers (m, n), dtype object.

        Raises:
            ValueError: There are not enough moduli for so many bits.

        Example:
            >>> import numpy as np
            >>> a = np.array([[10**20, -3]], dtype=object)
            >>> print(Fp8().multiply(a, a.T, bits=135))
            [[10000000000000000000000000000000000000009]]
        """
        system = fp8_system(bits)
        left, right = to_residues(a, system), to_residues(b, system)
        planes = [
            split_modulus(m).multiply(x, y, self.product)
            for m, x, y in zip(system.moduli, left, right, strict=True)
        ]
        return from_residues(np.stack(planes), system)


@lru_cache
def _values() -> npt.NDArray[np.float32]:
    codes = np.arange(128)
    exponent, fraction = codes >> 3, codes & 7
    normal = np.ldexp(1 + fraction / 8, exponent - 7)
    positive = np.where(exponent == 0, fraction * 2.0**-9, normal)
    positive[_NAN] = np.nan
    return np.concatenate([positive, -positive]).astype(np.float32)


@lru_cache
def _digits() -> npt.NDArray[np.int64]:
    """E4M3 integers up to `LARGEST_DIGIT`, the small ones first."""
    integers = np.arange(-LARGEST_DIGIT, LARGEST_DIGIT + 1)
    integers = integers[representable(integers)]
    return integers[np.argsort(np.abs(integers), kind="stable")]


def _first_of_each(
    remainders: npt.NDArray[np.int64], values: npt.NDArray[np.int64], modulus: int
) -> npt.NDArray[np.int64] | None:
    """For each remainder the first value that has it, or None if one has none."""
    if np.count_nonzero(np.bincount(remainders, minlength=modulus)) < modulus:
        return None
    return values[np.unique(remainders, return_index=True)[1]]


def _codes(*factors: npt.NDArray[np.int64]) -> Codes:
    return encode(np.stack(factors).astype(np.float32))
