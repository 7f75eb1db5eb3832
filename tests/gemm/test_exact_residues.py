# SPDX-License-Identifier: BSD-3-Clause
"""Results on and next to ties, where large integers decide: one rounding, whatever the engine."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.core.precision import PRECISIONS
from mdla.gemm.moduli import residue_system
from mdla.gemm.residue_tables import forms_of, reconstruction
from tests.gemm.residue_stages import pack_product, reconstruct, residues
from tests.gemm.residues import (
    PRECS,
    assert_one_result,
    by_definition,
    each_int8_engine,
    exactly_rounded,
    int8_engines,
    items,
    nearest,
)
from tests.oracle import assert_same_bits

LIMBS = {p.limbs: name for name, p in PRECISIONS.items() if name in PRECS}


@pytest.mark.parametrize("limbs", LIMBS)
def test_reconstruction(rng, limbs):
    """Rounded to the quantum, ties to even, then to limbs: of any size, on and next to ties."""
    bits = 2 * (52 * limbs + 10)
    forms = forms_of(residue_system(bits), 1)
    most = int(forms.system.product / Fraction(2001, 1000))
    for quantum in (bits // 2 - 3, bits // 2 + 4, max(24, bits // 3)):
        if forms.chunks(quantum) <= limbs:
            continue
        unit = 2**quantum
        values = [0, most, -most, unit, -unit, unit // 2, -unit // 2, 3 * unit // 2, 1, -1]
        for _ in range(30):
            whole = int(rng.integers(1, 2**62)) ** int(rng.integers(1, 2 * limbs + 2)) % (
                most // unit
            )
            whole >>= int(rng.integers(0, max(1, whole.bit_length())))
            for near in (0, 1, -1, 2**18, -(2**18), unit // 4):
                value = whole * unit + unit // 2 + near
                values += [v for v in (value, -value) if abs(v) <= most]
        values = np.array(values[: len(values) // 4 * 4], object).reshape(4, -1)
        want = np.frompyfunc(lambda v, q=quantum: exactly_rounded(v, q), 1, 1)(values)
        tables = reconstruction(forms, 0, quantum)
        expected = mdla.array(want.tolist(), prec=LIMBS[limbs]).planes[0]
        zeros = np.zeros(values.shape[0], int), np.zeros(values.shape[1], int)
        for engine, shifted in itertools.product(int8_engines(), (0, 1)):
            product = pack_product(residues(values, forms, shifted), forms)
            got = reconstruct(engine, product, forms, tables, limbs, zeros)
            np.testing.assert_array_equal(got, expected)
    for engine in each_int8_engine():
        np.testing.assert_array_equal(
            reconstruct(engine, product, forms, tables, limbs, zeros), expected
        )


@pytest.mark.parametrize("limbs", [1, 2, 4])
def test_the_digits_of_a_number_are_unique(rng, limbs):
    """Chunks of exactly half a unit of the one above, by other multiples of M."""
    bits = 2 * (52 * limbs + 30)
    forms = forms_of(residue_system(bits), 1)
    quantum = bits // 2
    tables = reconstruction(forms, 0, quantum)
    shift = (quantum - 24) // 8 * 8
    count = forms.chunks(quantum) - 1
    values = []
    for _ in range(400):
        digits = rng.choice([2**31, -(2**31), 0, 1, -1, 2**31 - 1, int(rng.integers(2**31))], count)
        value = sum(int(d) << 32 * c for c, d in enumerate(digits)) << shift
        if abs(value) * 2001 < forms.system.product * 1000:
            values.append(value)
    values = np.array([values], object)
    zeros = [0], np.zeros(values.shape[1], int)
    results = []
    for shifted in (0, 1):
        product = pack_product(residues(values, forms, shifted), forms)
        for engine in int8_engines():
            results.append(reconstruct(engine, product, forms, tables, limbs, zeros))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", [False, True])
def test_products_on_ties(rng, prec, complex):
    """Odd multiples of half the quantum, exactly or but for the last bit of an operand."""
    a, b = mdla.ones((4, 6), prec=prec), mdla.ones((6, 3), prec=prec)
    if complex:
        a, b = a + 1j, b - 1j
    (item,) = items(a, b)
    p = item.bits[0]
    # 1 is 2^(p-1) in units of the integers, and half the quantum 2^(q-p) of its multiples.
    tie = Fraction(2) ** (item.quantum - 2 * p + 1)
    last = Fraction(2) ** (1 - p)
    parts = []
    for _ in range(1 + complex):
        x = mdla.ones((4, 6), prec=prec) * rng.choice([-1.0, 1.0], (4, 6))
        for i in range(4):
            odd = 2 * int(rng.integers(0, 99)) + 1
            x[i, 1] = odd * tie + (0, 0, last, -last)[i] if prec != "d" else odd * tie
        parts.append(x)
    a = parts[0] + parts[1] * 1j if complex else parts[0]
    c = assert_one_result(a, b)
    for part, want in zip((c.real, c.imag), by_definition(a, b), strict=False):
        assert_same_bits(part, nearest(want, prec))
