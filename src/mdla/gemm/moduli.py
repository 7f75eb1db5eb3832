# SPDX-License-Identifier: BSD-3-Clause
"""Residue systems: an integer is known by its remainders modulo pairwise coprime numbers.

By the Chinese remainder theorem the remainders of x modulo ``m_1, ..., m_L`` determine x in an
interval of length ``M = m_1 ... m_L``, and they can be added and multiplied one by one. So an exact
integer matrix product becomes L products of matrices of small integers (Ozaki, Uchino and Imamura,
"Ozaki scheme II", arXiv 2504.08009).

Three families of moduli serve three kinds of matrix engines:

- *bytes*, at most 255: remainders fit int8, one int8 product each;
- *pairs*, primes up to 16256: a remainder is ``a + 128 b`` with a, b and a + b in int8, three int8
  products each (Karatsuba);
- *wide*, primes below a power of two: for products in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "PAIR_BASE",
    "ResidueSystem",
    "byte_moduli",
    "complex_products",
    "complex_system",
    "from_residues",
    "max_bits",
    "pair_digits",
    "pair_moduli",
    "residue_system",
    "root_of_minus_one",
    "to_residues",
    "wide_moduli",
]

PAIR_BASE = 128
_PAIR_LIMIT = 16256
_PAIR_COUNT = 220
_WIDE_COUNT = 200

# Every prime below 256 can divide only one modulus, so the small primes are lent to larger ones.
# With these six composites (the other moduli are primes) the product of the n largest moduli is
# within 0.2 bits of the best that n pairwise coprime numbers below 256 can have, for each n up to
# 47; the best sets themselves are not nested. Found by dynamic programming over the primes up to
# 13; the tests repeat it. More than 49 moduli gain less than a pair does for the same work.
_COMPOSITES = (253, 248, 247, 243, 235, 203)
_SMALLEST_BYTE = 17

# For complex products the primes 1 modulo 4 are lent to each other only, so that -1 stays a square.
_COMPLEX_COMPOSITES = (253, 248, 243, 221, 205, 133)


@dataclass(frozen=True)
class ResidueSystem:
    """Pairwise coprime moduli.

    Attributes:
        moduli: The moduli ``m_l``.
    """

    moduli: tuple[int, ...]

    @cached_property
    def product(self) -> int:
        """``M``, the product of the moduli."""
        return math.prod(self.moduli)

    @property
    def bits(self) -> int:
        """The largest b with ``2**b <= M``: integers below ``2**(b-1)`` in magnitude are held."""
        return self.product.bit_length() - 1

    @cached_property
    def crt_weights(self) -> tuple[int, ...]:
        """``W_l`` in [0, M): 1 modulo ``m_l`` and 0 modulo the others, so x = sum W_l r_l mod M."""
        M = self.product
        return tuple(M // m * pow(M // m, -1, m) for m in self.moduli)

    @property
    def byte_count(self) -> int:
        """How many moduli, the first ones, have remainders of one byte."""
        return sum(m <= 255 for m in self.moduli)

    @property
    def products(self) -> int:
        """Int8 matrix products for one exact product: one for a byte and three for a pair."""
        return 3 * len(self.moduli) - 2 * self.byte_count


@lru_cache
def byte_moduli() -> tuple[int, ...]:
    """Pairwise coprime integers up to 253, descending; remainders lie in [-126, 126].

    For each n the first n have a product close to the largest possible one, so n bytes hold as many
    bits as they can.

    Example:
        >>> byte_moduli()[:8]
        (253, 251, 248, 247, 243, 241, 239, 235)
    """
    primes = _primes_below(256, 54)
    chosen = [p for p in primes if p >= _SMALLEST_BYTE and all(c % p for c in _COMPOSITES)]
    return tuple(sorted((*_COMPOSITES, *chosen), reverse=True))


@lru_cache
def pair_moduli() -> tuple[int, ...]:
    """The largest primes up to 16256, descending: see `pair_digits`.

    Example:
        >>> pair_moduli()[:4]
        (16253, 16249, 16231, 16229)
    """
    return _primes_below(_PAIR_LIMIT + 1, _PAIR_COUNT)


@lru_cache
def wide_moduli(bits: int) -> tuple[int, ...]:
    """The 200 largest primes below ``2**bits``, descending.

    Symmetric remainders are below ``2**(bits-1)`` in magnitude, so float64 sums of K products are
    exact if ``K <= 2**(55 - 2 bits)``.

    Args:
        bits: From 12 to 26.

    Raises:
        ValueError: The primes would be too small, or their products too large for float64.

    Example:
        >>> wide_moduli(22)[:3]
        (4194301, 4194287, 4194277)
    """
    if not 12 <= bits <= 26:
        raise ValueError(f"wide moduli have 12 to 26 bits, got {bits}")
    return _primes_below(2**bits, _WIDE_COUNT)


def pair_digits(residues: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Digits of symmetric remainders r modulo a pair modulus: ``r = a + 128 b``.

    |a| <= 64, |b| <= 63 and |a + b| <= 127, so three int8 products give all of
    ``r r' = a a' + 128 ((a + b) (a' + b') - a a' - b b') + 128**2 b b'``.

    Args:
        residues: Integers of magnitude at most 8127.

    Returns:
        a and b, as int8.
    """
    high = (residues + PAIR_BASE // 2) // PAIR_BASE
    return (residues - PAIR_BASE * high).astype(np.int8), high.astype(np.int8)


@lru_cache
def residue_system(bits: int) -> ResidueSystem:
    """The system of bytes and pairs with ``M >= 2**bits`` that takes the fewest int8 products.

    Bytes come first, and of equally cheap systems the one with fewest pairs is taken.

    Args:
        bits: At least 0; integers x with ``|x| < 2**(bits-1)`` are to be held.

    Raises:
        ValueError: There are not enough moduli; see `max_bits`.

    Example:
        >>> system = residue_system(120)
        >>> len(system.moduli), system.products, system.bits
        (16, 16, 125)
        >>> residue_system(440).products
        70
    """
    if bits > max_bits():
        raise ValueError(f"residue systems hold up to {max_bits()} bits, {bits} were asked for")
    byte, pair = byte_moduli(), pair_moduli()
    best: ResidueSystem | None = None
    for pairs in range(len(pair) + 1):
        if best is not None and 3 * pairs >= best.products:
            break
        product, count = math.prod(pair[:pairs]), 0
        while product < 2**bits and count < len(byte):
            product, count = product * byte[count], count + 1
        system = ResidueSystem(byte[:count] + pair[:pairs])
        if product >= 2**bits and (best is None or system.products < best.products):
            best = system
    assert best is not None
    return best


@lru_cache
def complex_system(bits: int) -> ResidueSystem:
    """The system of bytes and pairs with ``M >= 2**bits`` for products of complex integers.

    A product of complex numbers takes two products modulo m where -1 is a square, and else three;
    so moduli are taken in the order of the bits they hold for each int8 product, and those at the
    end that turn out not to be needed are left out again. Bytes come first.

    Args:
        bits: As in `residue_system`.

    Raises:
        ValueError: There are not enough moduli; see `max_bits`.

    Example:
        >>> system = complex_system(120)
        >>> len(system.moduli), sum(complex_products(m) for m in system.moduli)
        (17, 34)
    """
    chosen: list[int] = []
    product = 1
    for m in _complex_order():
        if product >= 2**bits:
            break
        chosen.append(m)
        product *= m
    if product < 2**bits:
        raise ValueError(f"residue systems hold up to {max_bits()} bits, {bits} were asked for")
    for m in sorted(chosen, key=lambda m: (-complex_products(m), m)):
        if product // m >= 2**bits:
            chosen.remove(m)
            product //= m
    return ResidueSystem(tuple(sorted(chosen, key=lambda m: (m > 255, -m))))


@lru_cache(maxsize=1024)
def complex_products(m: int) -> int:
    """Int8 products for one product of complex numbers modulo m."""
    return (2 if root_of_minus_one(m) is not None else 3) * (1 if m <= 255 else 3)


@lru_cache
def _complex_order() -> tuple[int, ...]:
    primes = _primes_below(256, 54)
    bytes_ = [p for p in primes if p >= _SMALLEST_BYTE and all(c % p for c in _COMPLEX_COMPOSITES)]
    every = (*bytes_, *_COMPLEX_COMPOSITES, *pair_moduli())
    return tuple(sorted(every, key=lambda m: (-math.log2(m) / complex_products(m), -m)))


@lru_cache
def max_bits() -> int:
    """The bits that all bytes and pairs hold together, real or complex."""
    return min(
        ResidueSystem(byte_moduli() + pair_moduli()).bits, ResidueSystem(_complex_order()).bits
    )


@lru_cache(maxsize=1024)
def root_of_minus_one(m: int) -> int | None:
    """Some j with ``j**2 = -1`` modulo m, below 256 or a prime; None without one, or for even m."""
    if m % 2 == 0 or (m > 255 and m % 4 == 3):
        return None
    if m <= 255:
        candidates: Iterable[int] = range(1, m)
    else:  # x**((m-1)/2) = -1 for half of all x
        candidates = (pow(x, (m - 1) // 4, m) for x in range(2, m))
    return next((j for j in candidates if (j * j + 1) % m == 0), None)


def to_residues(integers: Any, system: ResidueSystem) -> npt.NDArray[np.int64]:
    """Symmetric remainders of integers, the reference for faster conversions.

    Args:
        integers: Array of Python integers (dtype object) or of NumPy integers, any shape.
        system: The moduli.

    Returns:
        int64 array ``(L, *shape)``; entry l is in ``(-m_l/2, m_l/2]``.
    """
    x = np.asarray(integers, dtype=object)
    out = np.empty((len(system.moduli), *x.shape), dtype=np.int64)
    for i, m in enumerate(system.moduli):
        out[i] = x % m
        out[i] -= m * (out[i] > m // 2)
    return out


def from_residues(residues: npt.NDArray[np.int64], system: ResidueSystem) -> npt.NDArray[Any]:
    """The integers of least magnitude with these remainders, the reference for reconstructions.

    Args:
        residues: Integers ``(L, *shape)``; any representatives of the remainders.
        system: The moduli.

    Returns:
        Array of Python integers in ``(-M/2, M/2]``.
    """
    M = system.product
    total: npt.NDArray[Any] = np.zeros(residues.shape[1:], dtype=object)
    for plane, weight in zip(residues, system.crt_weights, strict=True):
        total += weight * plane.astype(object)
    total %= M
    total[2 * total > M] -= M
    return total


def _primes_below(limit: int, count: int) -> tuple[int, ...]:
    """The largest primes below the limit, descending."""
    # Gaps between primes average log(limit): four times as many numbers are enough.
    first = max(2, limit - 4 * count * limit.bit_length())
    prime = np.ones(limit - first, dtype=bool)
    for d in range(2, math.isqrt(limit) + 1):
        prime[max(d * d, first + -first % d) - first :: d] = False
    return tuple(first + int(i) for i in np.flatnonzero(prime)[::-1][:count])
