# SPDX-License-Identifier: BSD-3-Clause
"""The simulated E4M3 engine: the format, the digits, and integers equal to those of int8."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mdla.core.precision import PRECISIONS
from mdla.gemm.fp8 import (
    BLOCK,
    LARGEST_DIGIT,
    Fp8,
    decode,
    encode,
    fp8_moduli,
    fp8_system,
    matmul,
    representable,
    split_modulus,
)
from mdla.gemm.model import crt_bits
from mdla.gemm.moduli import (
    PAIR_BASE,
    from_residues,
    pair_digits,
    residue_system,
    to_residues,
)

NAN = (0x7F, 0xFF)
FINITE = [c for c in range(256) if c not in NAN]


def value(code):
    """The number of a code by the definition of the format, exactly."""
    sign, exponent, fraction = code >> 7, code >> 3 & 15, code & 7
    size = Fraction(fraction, 8) if exponent == 0 else 1 + Fraction(fraction, 8)
    return (-1) ** sign * size * Fraction(2) ** (max(exponent, 1) - 7)


def nearest(x):
    """The code of the nearest value, ties to even, saturating."""
    codes = range(0x7F) if math.copysign(1, x) > 0 else range(0x80, 0xFF)
    distance = {c: abs(value(c) - min(max(Fraction(x), -448), 448)) for c in codes}
    return min(codes, key=lambda c: (distance[c], c & 1))


class TestFormat:
    def test_all_codes(self):
        decoded = decode(np.arange(256))
        assert decoded.dtype == np.float32
        assert all(Fraction(float(decoded[c])) == value(c) for c in FINITE)
        assert np.isnan(decoded[list(NAN)]).all()
        assert np.signbit(decoded[0x80])

    def test_codes_come_back(self):
        assert encode(decode(np.arange(256))).tolist() == list(range(256))

    def test_ties_and_their_neighbours(self):
        positive = [float(value(c)) for c in range(0x7F)]
        ties = [(a + b) / 2 for a, b in pairwise(positive)]
        for tie in ties:
            for x in (tie, np.nextafter(tie, 0), np.nextafter(tie, 500)):
                assert encode([x, -x]).tolist() == [nearest(x), nearest(-x)]

    @given(st.floats(width=32, allow_nan=False, allow_infinity=False))
    def test_nearest(self, x):
        assert encode(x) == nearest(x)

    def test_saturation(self):
        assert decode(encode([448.0, 464.1, 1e30, np.inf])).tolist() == [448.0] * 4
        assert decode(encode([-464.1, -np.inf])).tolist() == [-448.0] * 2
        assert np.isnan(decode(encode([np.nan, -np.nan]))).all()

    def test_integers(self):
        expected = [x for x in range(500) if any(value(c) == x for c in range(0x7F))]
        assert [x for x in range(500) if representable(x)] == expected
        assert set(range(17)) | set(range(16, 33, 2)) == {x for x in expected if x <= 32}


class TestProduct:
    def test_exact_up_to_the_block(self):
        x = encode(np.full((1, BLOCK), float(LARGEST_DIGIT)))
        assert matmul(x, x.T)[0, 0] == 2**24 == BLOCK * LARGEST_DIGIT**2

    def test_inexact_beyond(self):
        """One more odd product is lost: the block is as long as it can be."""
        x = np.full((1, BLOCK + 1), float(LARGEST_DIGIT))
        y = x.copy()
        x[0, -1] = y[0, -1] = 1.0
        exact = int((x.astype(int) @ y.T.astype(int))[0, 0])
        assert exact == 2**24 + 1
        assert int(matmul(encode(x), encode(y.T))[0, 0]) != exact

    def test_is_that_of_the_values(self):
        rng = np.random.default_rng(4)
        a, b = rng.choice(FINITE, (7, 50)), rng.choice(FINITE, (50, 3))
        a, b = ((c & 0xB8).astype(np.uint8) for c in (a, b))  # powers of two
        a, b = (np.where(np.abs(decode(c)) < 1, 0x38, c).astype(np.uint8) for c in (a, b))
        exact = np.frompyfunc(value, 1, 1)(a) @ np.frompyfunc(value, 1, 1)(b)
        assert (matmul(a, b) == exact).all()


class TestModuli:
    def test_are_coprime(self):
        moduli = fp8_moduli()
        assert all(math.gcd(a, b) == 1 for i, a in enumerate(moduli) for b in moduli[:i])
        assert list(moduli) == sorted(moduli, reverse=True)

    @pytest.mark.parametrize("modulus", fp8_moduli()[::7])
    def test_digits(self, modulus):
        """Each factor is an E4M3 integer up to 32, and three products give all of r r'."""
        split = split_modulus(modulus)
        left, right = (decode(t).astype(np.int64) for t in (split.left, split.right))
        assert np.abs([left, right]).max() <= LARGEST_DIGIT
        assert representable([left, right]).all()
        r = np.arange(modulus)
        for s in np.random.default_rng(modulus).permutation(modulus)[:50]:
            combined = sum(w * left[i] * right[i, s] for i, w in enumerate(split.weights))
            np.testing.assert_array_equal((combined - r * s) % modulus, 0)

    def test_both_kinds_are_used(self):
        """Twelve moduli for float64: six squares, and six primes with a sum of digits."""
        kinds = [math.isqrt(m) ** 2 == m for m in fp8_system(crt_bits("d", 1024)).moduli]
        assert (sum(kinds), len(kinds)) == (6, 12)
        karatsuba = split_modulus(1283)
        low, high, total = decode(karatsuba.left)
        np.testing.assert_array_equal(low + high, total)

    @pytest.mark.parametrize("modulus", [34**2, 51**2, 1277])
    def test_others_have_no_digits(self, modulus):
        with pytest.raises(ValueError, match="remainders modulo"):
            split_modulus(modulus)

    def test_systems_are_minimal(self):
        for bits in range(0, 1700, 61):
            system = fp8_system(bits)
            assert system.product >= 2**bits
            assert math.prod(system.moduli[:-1]) < 2 ** max(bits, 1)
        most = math.prod(fp8_moduli()).bit_length() - 1
        assert fp8_system(most).moduli == fp8_moduli()
        with pytest.raises(ValueError, match=f"up to {most} bits"):
            fp8_system(most + 1)


def by_int8(a, b, bits):
    """A B through the residue system of int8 engines: bytes, and pairs by Karatsuba."""
    system = residue_system(bits)
    planes = []
    for x, y, m in zip(to_residues(a, system), to_residues(b, system), system.moduli, strict=True):
        if m <= 255:
            planes.append(x @ y % m)
            continue
        (p, q), (r, s) = (tuple(d.astype(np.int64) for d in pair_digits(z)) for z in (x, y))
        low, high, mixed = p @ r, q @ s, (p + q) @ (r + s)
        planes.append(low + PAIR_BASE * (mixed - low - high) + PAIR_BASE**2 * high)
    return from_residues(np.stack(planes), system)


def integers(rng, bits, shape):
    """Python integers of so many bits and either sign."""
    words = -(-bits // 60)
    parts = rng.integers(0, 2**60, (words, *shape)).astype(object)
    x = sum(part << 60 * i for i, part in enumerate(parts)) >> (60 * words - bits)
    return x * rng.choice([-1, 1], shape).astype(object)


class TestEngine:
    @pytest.mark.parametrize("prec", ["d", "dd", "qd"])
    @pytest.mark.parametrize("shape", [(3, 5, 2), (1, 1, 1), (4, 257, 3), (2, 3001, 2)])
    def test_same_integers_as_int8(self, prec, shape):
        rng = np.random.default_rng(7)
        m, k, n = shape
        bits = crt_bits(prec, k)
        p = 52 * PRECISIONS[prec].limbs + 2
        a, b = integers(rng, p, (m, k)), integers(rng, p, (k, n))
        product = Fp8().multiply(a, b, bits)
        assert (product == a @ b).all()
        assert (product == by_int8(a, b, bits)).all()
        assert product.dtype == object

    @pytest.mark.parametrize("prec", ["od", "da"])
    def test_wide_precisions(self, prec):
        rng = np.random.default_rng(8)
        p = 52 * PRECISIONS[prec].limbs + 2
        a, b = integers(rng, p, (2, 20)), integers(rng, p, (20, 2))
        bits = crt_bits(prec, 20)
        assert (Fp8().multiply(a, b, bits) == a @ b).all()
        assert (by_int8(a, b, bits) == a @ b).all()

    def test_inner_dimension_beyond_a_block(self):
        """With the remainders whose digits are largest, so that sums reach 2**24 and beyond."""
        modulus = fp8_moduli()[0]
        split = split_modulus(modulus)
        largest = int(np.argmax(np.abs(decode(split.left)).sum(axis=0)))
        a = np.full((1, 2 * BLOCK + 5), largest, dtype=object)
        a[0, 0] = 15  # an odd product, lost in any sum beyond 2**24
        exact = (a @ a.T)[0, 0]
        bits = exact.bit_length() + 1
        assert Fp8().multiply(a, a.T, bits)[0, 0] == exact
        assert modulus in fp8_system(bits).moduli

    @pytest.mark.parametrize("sign", [1, -1])
    def test_largest_result(self, sign):
        """|A B| just below 2**(bits-1)."""
        bits = 61
        a = np.array([[2**30]], dtype=object)
        b = np.array([[sign * (2**30 - 1)]], dtype=object)
        assert Fp8().multiply(a, b, bits)[0, 0] == sign * 2**30 * (2**30 - 1)

    @pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 3), (2, 4, 0)])
    def test_empty(self, shape):
        m, k, n = shape
        a, b = np.zeros((m, k), dtype=object), np.zeros((k, n), dtype=object)
        product = Fp8().multiply(a, b, 60)
        assert product.shape == (m, n)
        assert (product == 0).all()

    def test_runs_on_the_product_it_is_given(self):
        """Every product of codes goes through the engine: 3 for each modulus and block."""
        shapes = []

        def counted(x, y):
            shapes.append((x.shape, y.shape, x.dtype, y.dtype))
            return matmul(x, y)

        a = np.full((2, BLOCK + 1), 10**6, dtype=object)
        product = Fp8(product=counted).multiply(a, a.T, 60)
        assert (product == (BLOCK + 1) * 10**12).all()
        assert len(shapes) == 2 * 3 * len(fp8_system(60).moduli)
        assert {s[2] for s in shapes} == {s[3] for s in shapes} == {np.dtype(np.uint8)}
        assert max(s[0][1] for s in shapes) == BLOCK

    def test_an_engine_that_rounds_is_noticed(self):
        def without_last_bit(x, y):
            return 2 * np.floor(matmul(x, y) / 2)

        a = integers(np.random.default_rng(5), 54, (2, 500))
        bits = crt_bits("d", 500)
        assert (Fp8(product=without_last_bit).multiply(a, a.T, bits) != a @ a.T).any()
