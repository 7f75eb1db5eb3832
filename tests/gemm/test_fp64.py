# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues in float64 and in simulated E4M3: the bits of the int8 engines."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm import engines, fp8_engine, fp64, wide_tables
from mdla.gemm.moduli import ResidueSystem, from_residues, to_residues
from mdla.gemm.residue_tables import LEAST_QUANTUM
from mdla.gemm.wide_tables import BYTES, wide_system
from mdla.gemm.workspace import new_buffer
from tests.gemm.schemes import CASES, PRECS, operands, random
from tests.oracle import assert_same_bits, exact
from tests.registry import THREADS, each_level

REFERENCE = "int8-portable"


def multiply(a, b, engine):
    return mdla.matmul(a, b, scheme="crt", engine=engine)


def assert_engine(engine, a, b):
    assert_same_bits(multiply(a, b, engine), multiply(a, b, REFERENCE))


# -- the stages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2])
def test_wide_systems(parts):
    """Coprime moduli that hold the bits, with sums of 512 products below 2^53."""
    steps = _native.wide_steps
    # Residues exceed half of their modulus by at most 2^-20 of it.
    largest = wide_system(1, parts).system.moduli[0] / 2 * (1 + 2.0**-20)
    assert steps * largest**2 + largest <= 2**53
    assert largest < sum(127 * 256**i for i in range(BYTES))
    for bits in (1, 22, 23, 226, 2100 if parts == 2 else 3399):
        wide = wide_system(bits, parts)
        M = wide.system.product
        assert 2**bits <= M
        assert M // wide.system.moduli[-1] < 2**bits
        assert math.lcm(*wide.system.moduli) == M
        assert wide.planes <= 510
        for m in wide.system.moduli if parts == 2 else ():
            half, over = (int(x) for x in wide.halves(m))
            assert 2 * half % m == 1
            assert (2 * over) ** 2 % m == m - 1
    with pytest.raises(ValueError, match=r"up to \d+ bits, not 9999"):
        wide_system(9999, parts)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("columns", [False, True])
def test_residues_are_those_of_the_integers(rng, prec, columns):
    """Entries times a power of two, rounded; the same for each level and number of threads."""
    a = operands("adversarial", rng, prec, (37, 70, 1))[0].planes
    if columns:
        a = np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2)
    bits = 52 * a.shape[1] + 9
    top = np.frexp(np.abs(a[0, 0]).max(axis=1))[1].astype(np.int32)
    wide = wide_system(bits + 2, 1)
    buffer = new_buffer(8 * wide.forms * 128 * 128)
    scale = [2 ** (bits - int(e)) if e <= bits else None for e in top]
    want = exact(a)
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            got = fp64.residue_planes(wide, a, top, bits, False, buffer)
            assert np.abs(got).max() <= wide.system.moduli[0] / 2 * (1 + 2.0**-20)
            integers = from_residues(got.astype(np.int64), wide.system)
            for row, factor, x in zip(integers, scale, want, strict=True):
                off = [abs(i - factor * y) for i, y in zip(row, x, strict=True)]
                assert max(off) <= 0.5 + 2.0**-50


def test_both_layouts_give_the_same_residues(rng):
    """Complex entries too, with lanes or steps side by side, and of conjugates."""
    a = random(rng, (40, 33), "qd", complex=True).planes
    top, bits = np.zeros(40, np.int32), 215
    wide = wide_system(bits + 2, 2)
    buffers = [new_buffer(8 * wide.forms * 64 * 64) for _ in range(3)]
    swapped = np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2)
    conjugate = a.copy()
    conjugate[1] *= -1
    x, y, z = (
        fp64.residue_planes(wide, p, top, bits, c, buffer)
        for p, c, buffer in zip((a, swapped, conjugate), (False, False, True), buffers, strict=True)
    )
    np.testing.assert_array_equal(x, y)
    moduli = wide.moduli.astype(int)[:, np.newaxis, np.newaxis]
    np.testing.assert_array_equal(x.astype(int) % moduli, z.astype(int) % moduli)
    # x + jy and x - jy add up to 2x.
    real = wide_system(bits + 2, 1)
    integers = from_residues(
        fp64.residue_planes(real, a[:1], top, bits, False, new_buffer(10**6)).astype(np.int64),
        real.system,
    )
    for m, f, g in zip(wide.system.moduli, x[::2], x[1::2], strict=True):
        np.testing.assert_array_equal((f + g).astype(int) % m, (2 * integers % m).astype(int))


@pytest.mark.parametrize("parts", [1, 2])
def test_products_of_the_largest_residues(rng, parts):
    """As long as sums may be and longer, against integers."""
    wide = wide_system(60, parts)
    m, k, n = 33, 2 * _native.wide_steps + 5, 40
    half = wide.moduli.astype(int)[:, None, None] // 2
    a = half * rng.choice([-1, 1], (wide.forms, m, 1)) - np.zeros((m, k), int)
    b = half * rng.choice([-1, 1], (wide.forms, n, 1)) - np.zeros((n, k), int)
    sizes = fp64._sum_bytes(wide, m, n), fp64._product_bytes(wide, m, n)
    for _level in each_level():
        sums, product = map(new_buffer, sizes)
        for add in (False, True):
            fp64._multiply(wide, a.astype(float), b.astype(float), sums, product, add)
        of_forms = 2 * np.matmul(a.astype(object), b.astype(object).swapaxes(1, 2))
        for i, modulus in enumerate(wide.system.moduli):
            want = [of_forms[i]]
            if parts == 2:
                p, q = of_forms[2 * i : 2 * i + 2]
                half_, over = map(int, wide.halves(modulus))
                want = [(p + q) * half_, (p - q) * over]
            for part, x in enumerate(want):
                digits = _tiles(product, wide.planes * parts, m, n)
                first = part * wide.planes + BYTES * i
                got = sum(digits[first + j] << 8 * j for j in range(BYTES))
                assert not ((got - x) % modulus).any()


def _tiles(product, planes, m, n):
    """Byte planes of a product as matrices."""
    rows, columns = -(-m // 32), -(-n // 32)
    entries = product.reshape(planes, -1)[:, : rows * columns * 1024].astype(int)
    tiles = entries.reshape(planes, rows, columns, 32, 32).transpose(0, 1, 3, 2, 4)
    return tiles.reshape(planes, rows * 32, columns * 32)[:, :m, :n]


@pytest.mark.parametrize("quantum", [24, 31, 32, 77])
def test_integers_are_rounded_to_the_quantum(rng, quantum):
    """Ties to even, and numbers next to ties: exactly what Python's integers give."""
    bits = quantum + 100
    near = [0, 1, -1, 2**20, -(2**20)]
    values = [
        int(rng.integers(-(2**40), 2**40)) * 2 ** (quantum - 1) * s + d
        for d in near
        for s in (1, 2**20)
        for _ in range(12)
    ]
    values += [3 * 2 ** (quantum - 1) - 1, 2 ** (bits - 2) - 1, -(2 ** (bits - 2)), 0, 1]
    x = np.array(values, dtype=object)[:, np.newaxis]
    want = [round(v, quantum) for v in map(_Binary, values)]
    item = SimpleNamespace(
        bits=(0, 0),
        rows=SimpleNamespace(exponents=np.zeros(len(values), np.int32)),
        columns=SimpleNamespace(exponents=np.zeros(1, np.int32)),
    )
    at = slice(None), slice(None)
    wide = wide_system(bits, 1)
    product = new_buffer(fp64._product_bytes(wide, len(values), 1))
    for i, (m, r) in enumerate(
        zip(wide.system.moduli, to_residues(x, wide.system).astype(float), strict=True)
    ):
        _native.wide_reduce(r[np.newaxis], m, 0.0, 0.0, product, wide.planes, BYTES * i, False)
    count = bits // 8 + 1
    for forms, tables, of_bytes in [
        (wide.native, wide_tables.reconstruction(wide.system, quantum), product),
        (
            _native.byte_forms(count),
            wide_tables.byte_tables(count, quantum),
            fp8_engine._bytes(x, count),
        ),
    ]:
        out = np.empty((4, len(values), 1))
        fp64.finisher(item, 1, forms, tables)(of_bytes, at, out, None, None)
        assert [sum(int(limb) for limb in v) for v in out[:, :, 0].T] == want
    assert quantum >= LEAST_QUANTUM


class _Binary:
    """An integer that rounds to multiples of powers of two."""

    def __init__(self, value):
        self.value = value

    def __round__(self, quantum):
        quotient, rest = divmod(self.value, 2**quantum)
        half = 2 ** (quantum - 1)
        up = rest > half or (rest == half and quotient % 2 == 1)
        return (quotient + up) * 2**quantum


# -- the engines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["fp64-blas", "fp8-simulated"])
@pytest.mark.parametrize(("prec", "case"), CASES)
def test_same_bits(rng, prec, case, engine):
    assert_engine(engine, *operands(case, rng, prec))


@pytest.mark.parametrize("engine", ["fp64-blas", "fp8-simulated"])
@pytest.mark.parametrize("prec", PRECS)
def test_same_bits_of_complex_products(rng, prec, engine):
    a, b = (random(rng, shape, prec, complex=True) for shape in ((5, 9), (9, 34)))
    assert_engine(engine, a, b)
    assert_engine(engine, a, b.real)
    assert_engine(engine, mdla.gemm.adjoint(a), a)
    a[1, 2] = np.inf
    with np.errstate(invalid="ignore"):
        assert_engine(engine, a, b)


@pytest.mark.parametrize("complex", [False, True])
def test_blocks(rng, monkeypatch, complex):
    """More steps than one sum, and blocks of everything: bits are the same."""
    shapes = (70, 1100), (1100, 300)
    a, b = (random(rng, shape, "dd", complex) for shape in shapes)
    want = multiply(a, b, REFERENCE)
    assert_same_bits(multiply(a, b, "fp64-blas"), want)
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "1M")
    assert_same_bits(multiply(a, b, "fp64-blas"), want)
    assert_same_bits(multiply(mdla.gemm.prepare(a), b, "fp64-blas"), want)
    assert_same_bits(multiply(a, mdla.gemm.prepare(b), "fp64-blas"), want)


def test_levels_threads_and_layouts(rng):
    a, b = random(rng, (65, 130), "qd"), random(rng, (130, 47), "qd")
    want = multiply(a, b, REFERENCE)
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            assert_same_bits(multiply(a, b, "fp64-blas"), want)
            assert_same_bits(multiply(b.T, a.T, "fp64-blas").T, want)


def test_prepared_operands_are_converted_once(rng, monkeypatch):
    a, b = random(rng, (40, 50), "dd"), random(rng, (50, 60), "dd")
    want = multiply(a, b, "fp64-blas")
    left, right = mdla.gemm.prepare(a), mdla.gemm.prepare(b)
    assert_same_bits(multiply(left, right, "fp64-blas"), want)
    monkeypatch.setattr(fp64, "residue_planes", None)
    assert_same_bits(multiply(left, right, "fp64-blas"), want)


def test_updates(rng):
    a, b, c = (random(rng, (20, 20), "qd") for _ in range(3))
    results = []
    for engine in ("fp64-blas", "fp8-simulated", REFERENCE):
        d = c.copy()
        mdla.gemm.update(d, a, b, alpha=-1, beta=3, scheme="crt", engine=engine)
        results.append(d)
    for d in results[:-1]:
        assert_same_bits(d, results[-1])


def test_simulations_only_run_by_name():
    crt = engines.scheme("crt")
    simulated = crt.engine("fp8-simulated")
    assert simulated in crt.simulated
    assert simulated not in crt.engines
    alone = engines.Scheme("alone", [], simulated=[simulated])
    assert alone.engine("fp8-simulated") is simulated
    with pytest.raises(ValueError, match=r"engine 'auto'.*'fp8-simulated'"):
        alone.engine()


def test_simulated_products_of_many_bits(rng):
    """More than the moduli of E4M3 hold at once."""
    bits = fp8_engine._MOST_BITS
    a = np.array([[int(x) * 2 ** (bits - 70) + 1 for x in rng.integers(-(2**40), 2**40, 5)]])
    got = fp8_engine._product(a, a.T)
    assert got.item() == sum(int(x) ** 2 for x in a[0])
    assert ResidueSystem(fp8_engine.fp8_moduli()).bits == bits
