# SPDX-License-Identifier: BSD-3-Clause
"""Products by residues block by block: shapes, strides, batches, threads and memory limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm.residue_blocks import block_sizes
from tests.gemm import schemes
from tests.gemm.residues import assert_one_result, available, check, multiply
from tests.gemm.schemes import hostile, random
from tests.oracle import assert_same_bits, exact

PARTS = list(itertools.product((False, True), repeat=2))
# One less and one more than tiles, panels, and chunks of steps.
EDGES = [31, 32, 33, 63, 64, 65, 511, 512, 513, 1025]


# -- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", EDGES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lengths(rng, size, axis):
    shape = [3, 4, 5]
    shape[axis] = size
    m, k, n = shape
    a, b = hostile(rng, (m, k), "dd"), hostile(rng, (k, n), "dd")
    check(assert_one_result(a, b), a, b)


@pytest.mark.parametrize("size", [31, 33, 65, 513])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lengths_of_complex_matrices(rng, size, axis):
    shape = [3, 2, 4]
    shape[axis] = size
    m, k, n = shape
    a, b = random(rng, (m, k), "dd", True), random(rng, (k, n), "dd", True)
    check(assert_one_result(a, b), a, b)


@pytest.mark.parametrize("k", [131_071, 131_072, pytest.param(300_000, marks=pytest.mark.slow)])
def test_long_sums(rng, k):
    """Of integers, so that results are exact."""
    x, y = rng.integers(-(2**22), 2**22, (3, k)), rng.integers(-(2**22), 2**22, (k, 3))
    x[1], y[:, 1] = 2**22 - 1, 1 - 2**22
    got = multiply(mdla.array(x, prec="dd"), mdla.array(y, prec="dd"))
    assert (exact(got) == (x @ y).astype(object)).all()


@pytest.mark.slow
@pytest.mark.parametrize("prec", ["d", "qd", "hd"])
def test_longest_sums(rng, prec):
    a, b = random(rng, (3, 300_000), prec), random(rng, (300_000, 3), prec)
    check(multiply(a, b), a, b)


def test_shapes(rng):
    schemes.check_shapes("crt", rng)


def test_empty_sums():
    for k, complex in itertools.product((0, 1), (False, True)):
        a = mdla.zeros((3, k), prec="dd") * (1j if complex else 1)
        c = multiply(a, mdla.zeros((k, 40), prec="dd"))
        assert c.shape == (3, 40)
        assert not c.planes.any()


# -- strides and batches -------------------------------------------------------------------------


def views(x):
    """The same matrices behind other strides."""
    planes = x.planes
    padded = np.full((*planes.shape[:-1], 3 * planes.shape[-1]), np.nan)
    padded[..., 1::3] = planes
    for p in (
        np.asfortranarray(planes),
        planes[..., ::-1].copy()[..., ::-1],
        planes[..., ::-1, :].copy()[..., ::-1, :],
        np.swapaxes(np.swapaxes(planes, -1, -2).copy(), -1, -2),
        padded[..., 1::3],
    ):
        yield mdla.MDArray(p)


@pytest.mark.parametrize("complex", [False, True])
def test_strides(rng, complex):
    a, b = random(rng, (35, 70), "td", complex), random(rng, (70, 37), "td", complex)
    want = multiply(a, b)
    for x in views(a):
        assert_same_bits(multiply(x, b), want)
    for y in views(b):
        assert_same_bits(multiply(a, y), want)
    assert_same_bits(multiply(a[::2, 1:], b[1:, ::-3]), want_of(a[::2, 1:], b[1:, ::-3]))


def want_of(a, b):
    return multiply(mdla.MDArray(a.planes.copy()), mdla.MDArray(b.planes.copy()))


def test_transposed_and_conjugated_operands(rng):
    a, b = random(rng, (20, 33), "qd", True), random(rng, (20, 35), "qd", True)
    want = multiply(a.H.copy(), b)
    assert_same_bits(multiply(a.H, b), want)
    assert_same_bits(multiply(mdla.gemm.adjoint(a), b), want)
    assert_same_bits(multiply(a.T, b.conj()), multiply(a.H, b).conj())


def test_broadcast_operands(rng):
    """Stride 0 along every axis."""
    row, one = random(rng, (1, 40), "dd"), random(rng, (1, 1), "dd")
    full = np.broadcast_to(row.planes, (1, 2, 33, 40))
    flat = np.broadcast_to(one.planes, (1, 2, 40, 34))
    a, b = mdla.MDArray(full), mdla.MDArray(flat)
    assert_same_bits(multiply(a, b), want_of(a, b))
    c = multiply(a, b)
    assert_same_bits(c, mdla.MDArray(np.broadcast_to(c.planes[..., :1, :1], c.planes.shape)))


def test_batches(rng):
    schemes.check_batches("crt", rng)


@pytest.mark.parametrize("parts", PARTS)
def test_batches_broadcast(rng, parts):
    a, b = random(rng, (2, 1, 3, 20), "dd", parts[0]), random(rng, (5, 20, 4), "dd", parts[1])
    c = multiply(a, b)
    assert c.shape == (2, 5, 3, 4)
    for i, j in itertools.product(range(2), range(5)):
        assert_same_bits(c[i, j], multiply(a[i, 0], b[j]))
        check(c[i, j], a[i, 0], b[j])


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od", "ds"])
@pytest.mark.parametrize("parts", PARTS)
def test_real_and_complex(rng, prec, parts):
    a, b = random(rng, (4, 9), prec, parts[0]), random(rng, (9, 5), prec, parts[1])
    c = assert_one_result(a, b)
    assert c.iscomplex == any(parts)
    check(c, a, b)


# -- threads and memory --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prec", "complex", "shape"),
    [("dd", False, (100, 530, 70)), ("dd", True, (40, 520, 40)), ("od", False, (33, 130, 66))],
)
def test_large_products_on_all_threads(rng, prec, complex, shape):
    """Large enough to be shared out; a few rows against the oracle."""
    m, k, n = shape
    a, b = random(rng, (m, k), prec, complex), random(rng, (k, n), prec, complex)
    c = assert_one_result(a, b, threads=True)
    check(c[::32, ::32], a[::32], b[:, ::32])


class Recorder:
    """Counts the calls of a native stage, and their sizes."""

    def __init__(self, monkeypatch, name):
        self.calls = []
        original = getattr(_native, name)

        def call(*args):
            self.calls.append(args)
            return original(*args)

        monkeypatch.setattr(_native, name, call)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("memory", [1, 300_000, "1M", "4M"])
def test_memory_limits_change_no_bit(rng, monkeypatch, memory, complex):
    """Blocks of rows, of columns and of steps, down to the smallest."""
    m, k, n = (37, 600, 36) if complex else (70, 1100, 68)
    a, b = random(rng, (m, k), "dd", complex), random(rng, (k, n), "dd", complex)
    want = multiply(a, b)
    monkeypatch.setenv("MDLA_GEMM_MEMORY", str(memory))
    for engine in available():
        assert_same_bits(multiply(a, b, engine), want)


def test_every_kind_of_block_occurs(rng, monkeypatch):
    a, b = random(rng, (70, 1100), "dd"), random(rng, (1100, 68), "dd")
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "1")
    products = Recorder(monkeypatch, "residue_multiply")
    conversions = Recorder(monkeypatch, "residue_convert")
    multiply(a, b)
    sizes = {call[1:4] for call in products.calls}
    assert sizes == {(m, k, n) for m in (32, 6) for k in (512, 76) for n in (32, 4)}
    assert len(products.calls) == 27
    # A block is converted again only when another of its operand came between.
    assert len(conversions.calls) == 54


def test_prepared_operands_keep_their_bits_in_blocks(rng, monkeypatch):
    a, b = random(rng, (70, 600), "qd"), random(rng, (600, 68), "qd")
    want = multiply(a, b)
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "1")
    x, y = mdla.gemm.prepare(a), mdla.gemm.prepare(b)
    for left, right in [(x, b), (a, y), (x, y)]:
        assert_same_bits(multiply(left, right), want)


@pytest.mark.parametrize("fixed", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("memory", [0, 1, 10**4, 10**5, 10**6, 10**7, 10**9, 10**12])
def test_block_sizes(monkeypatch, memory, fixed):
    """Within the limit, or the smallest there are; no larger than the matrices."""
    monkeypatch.setenv("MDLA_GEMM_MEMORY", str(memory))
    sides = [0, 1, 31, 33, 100, 511, 513, 3000]

    def sizes(mb, nb, kb):
        return 30 * mb * kb, 30 * nb * kb, 30 * mb * nb

    for m, k, n in itertools.product(sides, repeat=3):
        mb, nb, kb = block_sizes((m, k, n), sizes, fixed)
        assert 1 <= mb <= max(m, 1)
        assert 1 <= nb <= max(n, 1)
        assert 1 <= kb <= max(k, 1)
        for block, size, unit in ((mb, m, 32), (nb, n, 32), (kb, k, 512)):
            assert block == max(size, 1) or block % unit == 0
        if any(fixed):
            assert kb == max(k, 1)
        assert not fixed[0] or mb == max(m, 1)
        assert not fixed[1] or nb == max(n, 1)
        used = sum(
            x for x, kept in zip(sizes(mb, nb, kb), (*fixed, False), strict=True) if not kept
        )
        smallest = (mb <= 32 or fixed[0]) and (nb <= 32 or fixed[1]) and (kb <= 512 or any(fixed))
        assert used <= memory or smallest


def test_one_side_is_converted_once(rng, monkeypatch):
    """As long as only rows are cut, or only rows and steps of a single block of columns."""
    a, b = random(rng, (300, 200), "dd"), random(rng, (200, 40), "dd")
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "2M")
    conversions = Recorder(monkeypatch, "residue_convert")
    multiply(a, b)
    of_columns = [call[1] for call in conversions.calls]
    assert of_columns.count(True) == 1
    assert of_columns.count(False) > 1
