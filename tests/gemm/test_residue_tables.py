# SPDX-License-Identifier: BSD-3-Clause
"""The constants of products by residues: forms of entries, conversion, weights and bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from mdla.gemm import residue_tables as tables
from mdla.gemm.moduli import byte_moduli, max_bits, pair_moduli, residue_system
from mdla.gemm.residue_tables import (
    LEAST_QUANTUM,
    constants,
    forms_of,
    reconstruction,
    words_for,
)

SYSTEMS = [(bits, parts) for bits in (60, 110, 440, 1700) for parts in (1, 2)]


def symmetric(x, m):
    r = x % m
    return r - m if 2 * r > m else r


# -- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "parts"), SYSTEMS)
def test_products_of_forms_are_products(bits, parts):
    """Modulo every modulus, by the coefficients alone."""
    forms = forms_of(residue_system(bits), parts)
    rng = np.random.default_rng(bits)
    x, y = (
        [int(v) * 2**40 + int(w) for v, w in rng.integers(-(2**40), 2**40, (parts, 2))]
        for _ in range(2)
    )
    want = [x[0] * y[0]] if parts == 1 else [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]
    for m in forms.system.moduli:
        mine = [i for i, other in enumerate(forms.moduli) if other == m]
        values = [
            math.prod(sum(c * v for c, v in zip(forms.inputs[i], z, strict=True)) for z in (x, y))
            for i in mine
        ]
        for part, value in zip(forms.outputs, want, strict=True):
            assert (sum(part[i] * v for i, v in zip(mine, values, strict=True)) - value) % m == 0


@pytest.mark.parametrize(("bits", "parts"), SYSTEMS)
def test_numbers_of_forms(bits, parts):
    """One for real entries; for complex ones two where -1 is a square, else three."""
    forms = forms_of(residue_system(bits), parts)
    assert forms.parts == parts
    assert sorted(forms.moduli, key=lambda m: m > 255) == list(forms.moduli)
    for m in forms.system.moduli:
        square = any((j * j + 1) % m == 0 for j in range(m)) and m % 2
        assert forms.moduli.count(m) == (1 if parts == 1 else 2 if square else 3)
    assert forms.byte_count == sum(m < 256 for m in forms.moduli)
    assert forms.products == sum(1 if m < 256 else 3 for m in forms.moduli)


def test_forms_are_made_once():
    assert forms_of(residue_system(120), 2) is forms_of(residue_system(120), 2)


# -- conversion ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "parts"), SYSTEMS)
@pytest.mark.parametrize("conjugated", [False, True])
def test_constants_turn_bytes_into_residues(bits, parts, conjugated):
    """For the least, the largest and any integer of the words, offset included."""
    forms = forms_of(residue_system(bits), parts)
    p = min(bits // 2, 900 // parts)
    words = words_for(p)
    assert 32 * words >= p + 2
    table = constants(forms, words, conjugated).astype(int)
    assert table.shape[2:] == (16, 64)
    rows = table.transpose(0, 2, 1, 3).reshape(len(table) * 16, -1)
    used = 4 * parts * words
    assert not rows[:, used + 1 :].any()
    rng = np.random.default_rng(p)
    offset = 1 << (32 * words - 1)
    ends = [0, 1, -1, 2**p, -(2**p), 2**p - 1]
    for first, second in itertools.product(ends, [int(rng.integers(2**50)) % 2**p, 0]):
        entry = [first, second][:parts]
        stored = b"".join((x + offset).to_bytes(4 * words, "little") for x in entry)
        sums = (rows[:, : used + 1] * np.array([*stored, 1])).sum(axis=1)
        assert np.abs(sums).max() < 2**23
        signed = [entry[0], *(-x if conjugated else x for x in entry[1:])]
        padded = -(-forms.byte_count // 16) * 16
        for i, (m, coefficients) in enumerate(zip(forms.moduli, forms.inputs, strict=True)):
            if m < 256:
                got = sums[i]
            else:
                r = padded + 2 * (i - forms.byte_count)
                got = sums[r] + 128 * sums[r + 1]
            want = sum(c * x for c, x in zip(coefficients, signed, strict=True))
            assert (int(got) - want) % m == 0


@pytest.mark.parametrize("p", [2, 29, 30, 31, 61, 62, 63, 1506])
def test_words(p):
    """An integer of p bits and its sign, with room for the offset."""
    assert 32 * words_for(p) >= p + 2 > 32 * (words_for(p) - 1)


# -- reconstruction ------------------------------------------------------------------------------


def parts_of_tables(monkeypatch, forms, part, quantum):
    """What `reconstruction` hands to the native stage."""
    monkeypatch.setattr(tables._native, "reconstruction_tables", lambda *args: args)
    return reconstruction.__wrapped__(forms, part, quantum)


@pytest.mark.parametrize(("bits", "parts"), SYSTEMS)
@pytest.mark.parametrize("quantum", [24, 25, 31, 32, 63, 200])
def test_weights_and_what_they_leave_out(monkeypatch, bits, parts, quantum):
    """Digits stand for numbers close to the weights; `tie_width` bounds what that changes."""
    if quantum > bits:
        pytest.skip("not a quantum of this system")
    forms = forms_of(residue_system(bits), parts)
    M = forms.system.product
    for part in range(parts):
        (table, modulus, inverse, kept, shift, width, whole, whole_modulus, quads) = (
            parts_of_tables(monkeypatch, forms, part, quantum)
        )
        assert (shift % 8, shift + kept) == (0, quantum)
        assert LEAST_QUANTUM <= kept <= 31
        unit = Fraction(1, 2**shift)
        digits = table.astype(int).transpose(0, 2, 1, 3).reshape(len(table) * 16, -1)
        used = 4 * forms.chunks(quantum)
        assert not digits[used:].any()
        assert not digits[:, 4 * quads :].any()
        values = [sum(int(d) << 8 * i for i, d in enumerate(column)) for column in digits[:used].T]
        exact = [sum(int(w) << 32 * i for i, w in enumerate(row)) for row in whole]
        assert sum(int(w) << 32 * i for i, w in enumerate(whole_modulus)) == M
        chunks = sum(int(d) << 32 * i for i, d in enumerate(modulus))
        assert np.abs(modulus).max() <= 2**31
        assert abs(chunks - M * unit) <= Fraction(1, 2)
        assert abs(Fraction(inverse) * M * unit / 2 ** (32 * (len(modulus) - 1)) - 1) < 2.0**-52
        # The weights of bytes, and of low and high bytes of pairs, in their places.
        padded = -(-forms.byte_count // 4) * 4
        left_out = 0
        for i, (m, w) in enumerate(zip(forms.moduli, exact, strict=True)):
            columns = [(i, w, (m + 1) // 2)]
            if m > 255:
                at = padded + 2 * (i - forms.byte_count)
                columns = [(at, w, 128), (at + 1, 256 * w, 32)]
            for column, weight, most in columns:
                weight = symmetric(weight, M)
                assert abs(values[column] - weight * unit) <= Fraction(1, 2)
                left_out += most * abs(values[column] - weight * unit)
            for other in set(forms.system.moduli) - {m}:
                assert w % other == 0
        most = forms.largest_sum // 2 + 1
        assert left_out + most * abs(chunks - M * unit) <= width
        assert width <= 0.75 * forms.largest_sum + 2 < 2**16
        assert width == 0 or shift > 0


@pytest.mark.parametrize(("bits", "parts"), SYSTEMS)
def test_sums_of_a_reconstruction_fit(bits, parts):
    """In 32 bits, and in the chunks: the unit of the top one is below 2^16 M."""
    forms = forms_of(residue_system(bits), parts)
    pairs = len(forms.moduli) - forms.byte_count
    largest = sum((m + 1) // 2 for m in forms.moduli[: forms.byte_count]) + pairs * (128 + 32)
    assert forms.largest_sum == largest
    for quantum in (24, bits // 2):
        if forms.fits(quantum):
            assert largest * 128 * 257 < 2**31
            chunks = forms.chunks(quantum)
            shift = quantum - 24 - (quantum - 24) % 8
            assert Fraction(forms.system.product, 2 ** (shift + 1)) * largest < 2 ** (
                32 * chunks - 1
            )
            assert 2 ** (32 * (chunks - 1) + shift) < 2**16 * forms.system.product


def test_systems_that_do_not_fit():
    forms = forms_of(residue_system(max_bits()), 2)
    assert not forms.fits(max_bits() // 2)
    assert not forms_of(residue_system(3000), 1).fits(24)


# -- bounds on what the engines form -------------------------------------------------------------


def float_residue(x, m, fused):
    """``x - m round(x / m)`` in float32 for integers x, as the kernels form it."""
    x = x.astype(np.float64)
    inverse = float(np.float32(1.0) / np.float32(m))
    quotient = x * inverse  # exact: 24 bits times 24 bits
    if not fused:
        quotient = quotient.astype(np.float32).astype(np.float64)
    q = np.rint(quotient)
    return x - q * m


@pytest.mark.parametrize("fused", [False, True])
def test_residues_of_sums_are_bytes(fused):
    """Next to all ties of the quotient, where the residue is largest, up to the largest sum."""
    for m in byte_moduli():
        half = (m + 1) // 2
        most = max(512 * half * half + half, (255 * 256 + 1) * (m // 2))
        assert most < 2**23
        assert most / m < 2**15
        ties = np.arange(0.5, most / m) * m
        x = np.concatenate([np.floor(ties) + i for i in (-1, 0, 1, 2)])
        r = float_residue(x[x <= most], m, fused)
        assert np.abs(r).max() <= half <= 127


@pytest.mark.parametrize("fused", [False, True])
def test_residues_of_pairs_stay_below_their_bounds(fused):
    for m in pair_moduli():
        assert 14000 <= m <= 16256
        half = (m + 1) // 2
        # Sums of digits, reduced, times their factor, and the residue of before.
        before = m // 2 + 2
        for factor in (127, 16256 - m, 128):
            assert half * factor + before < 2**24 - m
        for most in (512 * 127**2, half * max(128, 16256 - m) + before):
            ties = np.arange(0.5, most / m) * m
            x = np.concatenate([np.floor(ties) + i for i in (-1, 0, 1, 2)])
            r = np.abs(float_residue(x[x <= most], m, fused)).max()
            assert r <= (half if most < 2**23 else before)
        assert (m // 2 + 2 + 128) >> 8 <= 32


def test_digits_of_pairs_are_bytes():
    """For all residues that conversion can form: a, b and a + b in a byte."""
    most = max((m + 1) // 2 for m in pair_moduli())
    r = np.arange(-most, most + 1)
    b = np.rint(r / 128)
    a = r - 128 * b
    for digit in (a, b, a + b):
        assert np.abs(digit).max() <= 127


def test_balanced_digits():
    rng = np.random.default_rng(3)
    for count, bits in itertools.product((1, 2, 7), (8, 32)):
        for x in [0, 1, -1, 2 ** (bits * count - 2), *map(int, rng.integers(-(2**60), 2**60, 9))]:
            digits = tables._digits(x, bits, count)
            assert sum(d << bits * i for i, d in enumerate(digits)) == x
            assert all(-(2 ** (bits - 1)) <= d < 2 ** (bits - 1) for d in digits[:-1])
