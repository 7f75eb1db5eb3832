# SPDX-License-Identifier: BSD-3-Clause
"""Residue systems: the moduli, their digits, and the integers they hold."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mdla.gemm.moduli import (
    PAIR_BASE,
    ResidueSystem,
    byte_moduli,
    complex_products,
    complex_system,
    from_residues,
    max_bits,
    pair_digits,
    pair_moduli,
    residue_system,
    to_residues,
    wide_moduli,
)

LENT = (2, 3, 5, 7, 11, 13)  # primes of which products stay below 256


def is_prime(p):
    return p > 1 and all(p % d for d in range(2, math.isqrt(p) + 1))


def coprime(moduli):
    return all(math.gcd(a, b) == 1 for i, a in enumerate(moduli) for b in moduli[:i])


def largest_products(limit=255):
    """The largest product of n pairwise coprime numbers up to the limit, for each n.

    No number has two primes from 17 on; a number is one of them or none, times powers of the six
    smaller ones. The state is the set of smaller primes used so far, and n.
    """
    smooth = {}  # set of primes -> the numbers up to the limit made of just those, ascending
    for v in range(1, limit + 1):
        support = frozenset(p for p in LENT if v % p == 0)
        if v == math.prod(p ** max(e for e in range(9) if v % p**e == 0) for p in support):
            smooth.setdefault(support, []).append(v)
    best = {(frozenset(), 0): 1}
    choices = [[(s, vs[-1])] for s, vs in smooth.items() if s]
    for p in (p for p in range(17, limit + 1) if is_prime(p)):
        fitting = [(s, [v for v in vs if p * v <= limit]) for s, vs in smooth.items()]
        choices.append([(s, p * vs[-1]) for s, vs in fitting if vs])
    for options in choices:
        grown = dict(best)
        for (used, n), product in best.items():
            for support, v in options:
                if not support & used:
                    state = (support | used, n + 1)
                    grown[state] = max(grown.get(state, 0), product * v)
        best = grown
    counts = sorted({n for _, n in best})
    return [max(product for (_, c), product in best.items() if c == n) for n in counts]


class TestModuli:
    def test_bytes_and_pairs_are_coprime_and_descend(self):
        moduli = byte_moduli() + pair_moduli()
        assert coprime(moduli)
        for family in (byte_moduli(), pair_moduli()):
            assert all(a > b for a, b in pairwise(family))
        assert max(byte_moduli()) <= 255
        assert min(pair_moduli()) > 255

    def test_first_bytes_have_nearly_the_largest_product(self):
        """Within 0.2 bits up to 47 moduli: the fifth power of the ratio is below 2."""
        best = largest_products()
        bytes_ = byte_moduli()
        for n in range(1, 48):
            product = math.prod(bytes_[:n])
            assert product <= best[n], n
            assert 2 * product**5 > best[n] ** 5, n

    def test_more_bytes_gain_less_than_pairs(self):
        """The best sets of more bytes would add fewer bits per product than a pair adds."""
        best, count = largest_products(), len(byte_moduli())
        for n in range(count + 1, len(best)):
            assert best[n] ** 3 < pair_moduli()[0] ** (n - count) * math.prod(byte_moduli()) ** 3

    def test_there_are_enough_pairs_for_16_limbs_with_a_span_of_400_bits(self):
        assert max_bits() >= 2 * (52 * 16 + 2 + 400) + 20

    @pytest.mark.parametrize("bits", range(12, 27))
    def test_wide_moduli_are_the_largest_primes(self, bits):
        moduli = wide_moduli(bits)
        expected = [p for p in range(moduli[-1], 2**bits) if p % 2 and is_prime_fast(p)]
        assert list(moduli) == expected[::-1]
        assert len(moduli) == 200

    def test_wide_sums_are_exact_to_the_last_term(self):
        bits = 21
        half = wide_moduli(bits)[0] // 2
        x = np.full(2 ** (55 - 2 * bits), float(half))
        x[::3] = 1 - half
        exact = sum(int(v) ** 2 for v in x)
        assert int(x @ x) == exact
        assert exact > 2**52

    @pytest.mark.parametrize("bits", [11, 27])
    def test_wide_moduli_of_other_sizes_are_refused(self, bits):
        with pytest.raises(ValueError, match="12 to 26 bits"):
            wide_moduli(bits)


def is_prime_fast(p):
    """Fermat tests to three bases: no composite below 2**26 with 200 larger primes passes."""
    return all(pow(a, p - 1, p) == 1 for a in (2, 3, 5)) and all(
        p % d for d in range(3, min(math.isqrt(p) + 1, 600), 2)
    )


class TestPairDigits:
    def test_all_residues_of_all_moduli_have_digits_of_a_byte(self):
        for m in pair_moduli():
            r = np.arange(-(m // 2), m // 2 + 1)
            a, b = (d.astype(np.int64) for d in pair_digits(r))
            np.testing.assert_array_equal(a + PAIR_BASE * b, r)
            assert np.abs(a).max() <= 64
            assert np.abs(b).max() <= 63
            assert np.abs(a + b).max() <= 127

    def test_next_prime_has_a_residue_without(self):
        m = next(p for p in range(pair_moduli()[0] + 1, 2**15) if is_prime(p))
        _, b = pair_digits(np.array([m // 2]))
        assert b[0] > 63

    def test_three_products_of_digits_give_the_product(self):
        rng = np.random.default_rng(271)
        m = pair_moduli()[0]
        r, s = rng.integers(-(m // 2), m // 2 + 1, (2, 1000))
        (a, b), (c, d) = (tuple(x.astype(np.int64) for x in pair_digits(v)) for v in (r, s))
        low, high, mixed = a * c, b * d, (a + b) * (c + d)
        np.testing.assert_array_equal(
            low + PAIR_BASE * (mixed - low - high) + PAIR_BASE**2 * high, r * s
        )


class TestResidueSystem:
    def test_has_the_fewest_products(self):
        """Against every number of bytes and pairs."""
        byte, pair = byte_moduli(), pair_moduli()
        reached = [
            (b + 3 * p, math.prod(byte[:b]) * math.prod(pair[:p]))
            for b in range(len(byte) + 1)
            for p in range(60)
        ]
        for bits in range(1, 800, 7):
            system = residue_system(bits)
            assert system.product >= 2**bits
            assert system.products == min(cost for cost, held in reached if held >= 2**bits)

    def test_counts_and_weights(self):
        system = residue_system(500)
        n = system.byte_count
        assert system.moduli == byte_moduli()[:n] + pair_moduli()[: len(system.moduli) - n]
        assert system.products == n + 3 * (len(system.moduli) - n)
        assert 2**system.bits <= system.product < 2 ** (system.bits + 1)
        for i, weight in enumerate(system.crt_weights):
            assert 0 <= weight < system.product
            assert [weight % m for m in system.moduli] == [
                int(i == j) for j in range(len(system.moduli))
            ]

    def test_is_cached(self):
        assert residue_system(321) is residue_system(321)

    def test_limits(self):
        assert residue_system(max_bits()).product >= 2 ** max_bits()
        assert residue_system(0).moduli == ()
        with pytest.raises(ValueError, match=f"up to {max_bits()} bits"):
            residue_system(max_bits() + 1)


class TestComplexSystem:
    def test_moduli_are_coprime_and_enough(self):
        for bits in [*range(1, 300, 13), *range(300, max_bits(), 101), max_bits()]:
            system = complex_system(bits)
            assert system.product >= 2**bits
            assert math.lcm(*system.moduli) == system.product
            n = system.byte_count
            assert max(system.moduli[:n], default=3) <= 255 < min(system.moduli[n:], default=256)
            assert set(system.moduli[n:]) <= set(pair_moduli())

    @pytest.mark.parametrize("bits", [50, 120, 230, 440, 850, 1700])
    def test_close_to_the_fewest_products(self, bits):
        """Against the best system if moduli could be cut to measure, and against real ones."""
        system = complex_system(bits)
        found = sum(complex_products(m) for m in system.moduli)
        left, least = float(bits), 0.0
        everything = complex_system(max_bits()).moduli
        for m in sorted(everything, key=lambda m: -math.log2(m) / complex_products(m)):
            part = min(left, math.log2(m))
            least += complex_products(m) * part / math.log2(m)
            left -= part
        assert found <= least + 3
        assert found <= sum(complex_products(m) for m in residue_system(bits).moduli)

    def test_limits(self):
        assert complex_system(0).moduli == ()
        assert complex_system(99) is complex_system(99)
        with pytest.raises(ValueError, match=f"up to {max_bits()} bits"):
            complex_system(max_bits() + 40)


SYSTEMS = [
    residue_system(120),
    complex_system(300),
    residue_system(500),
    ResidueSystem(wide_moduli(20)[:5]),
]


class TestResidues:
    @given(st.sampled_from(SYSTEMS), st.data())
    def test_integers_come_back(self, system, data):
        half = system.product // 2
        x = data.draw(st.lists(st.integers(-half + 1, half - 1), min_size=1, max_size=5))
        r = to_residues(np.array(x, dtype=object), system)
        assert from_residues(r, system).tolist() == x

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_ends_of_the_interval(self, system):
        M = system.product
        x = np.array([-((M - 1) // 2), -1, 0, 1, M // 2], dtype=object)
        assert from_residues(to_residues(x, system), system).tolist() == x.tolist()
        beyond = to_residues(np.array([M // 2 + 1], dtype=object), system)
        assert from_residues(beyond, system)[0] == M // 2 + 1 - M

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_residues_are_symmetric(self, system):
        x = np.arange(-2000, 2000)
        r = to_residues(x, system)
        for plane, m in zip(r, system.moduli, strict=True):
            assert ((x - plane) % m == 0).all()
            assert (2 * plane <= m).all()
            assert (2 * plane > -m).all()

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 2, 4)])
    def test_any_shape(self, shape):
        system = residue_system(100)
        x = np.empty(shape, dtype=object)
        x[...] = 3**50
        r = to_residues(x, system)
        assert r.shape == (len(system.moduli), *shape)
        assert r.dtype == np.int64
        back = from_residues(r, system)
        assert back.shape == shape
        assert (back == x).all()

    def test_products_of_residues_are_residues_of_products(self):
        rng = np.random.default_rng(99)
        a = 3 ** rng.integers(0, 50, (3, 40)).astype(object) * rng.choice([-1, 1], (3, 40))
        b = 5 ** rng.integers(0, 34, (40, 2)).astype(object)
        system = residue_system(2 + (3**49 * 5**33 * 40).bit_length())
        r = np.stack(
            [
                x @ y % m
                for x, y, m in zip(
                    to_residues(a, system), to_residues(b, system), system.moduli, strict=True
                )
            ]
        )
        assert (from_residues(r, system) == a @ b).all()
