# SPDX-License-Identifier: BSD-3-Clause
"""Sums and dot products: error bounds, and the same bits whatever the threads and levels are."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from mdla import _native
from mdla.core.precision import precision
from tests.oracle import (
    SCALE,
    assert_normalised,
    assert_same_bits,
    bits_of,
    integers,
)
from tests.registry import LENGTHS, PRECS, THREADS, adversarial, each_level

LANES, ROWS = 128, 32


def native_sum(prec, a):
    """Sums over the last axis of planes (c, N, M, K)."""
    p = precision(prec)
    out = np.full((a.shape[0], p.limbs, a.shape[2]), np.nan, dtype=p.dtype)
    _native.sum(out, a)
    return out


def native_dot(prec, a, b):
    """Sums of products over the last axis."""
    p = precision(prec)
    out = np.full((max(a.shape[0], b.shape[0]), p.limbs, a.shape[2]), np.nan, dtype=p.dtype)
    _native.dot(out, a, b)
    return out


def apply(name, prec, *operands):
    p = precision(prec)
    parts = max(x.shape[0] for x in operands)
    out = np.empty((parts, p.limbs, *operands[0].shape[2:]), dtype=p.dtype)
    _native.elementwise(name, out, *(np.ascontiguousarray(x) for x in operands))
    return out


def tree_sum(prec, terms):
    """Version 1 of the tree as it is documented, one elementwise addition after another.

    Tiles of 32 rows of 128 lanes; lane j adds its elements in order; the lanes are added in
    halves; the results of the tiles are reduced in the same way.
    """
    length = terms.shape[3]
    if length == 0:
        return np.zeros(terms.shape[:3], dtype=terms.dtype)
    results = []
    for start in range(0, length, LANES * ROWS):
        tile = terms[..., start : start + LANES * ROWS]
        lanes = tile[..., :LANES].copy()
        for row in range(LANES, tile.shape[3], LANES):
            more = tile[..., row : row + LANES]
            lanes[..., : more.shape[3]] = apply("add", prec, lanes[..., : more.shape[3]], more)
        half = LANES // 2
        while half:
            upper = lanes[..., half : 2 * half]
            lanes[..., : upper.shape[3]] = apply("add", prec, lanes[..., : upper.shape[3]], upper)
            lanes = lanes[..., :half]
            half //= 2
        results.append(lanes)
    joined = np.concatenate(results, axis=3)
    return joined[..., 0] if joined.shape[3] == 1 else tree_sum(prec, joined)


def numbers_of(prec, rng, *shape, exponents=(-30, 30)):
    x = adversarial(rng, prec, math.prod(shape), exponents, lowest=-800)
    return x.reshape(1, x.shape[1], *shape)


def sum_bound(length):
    """The stated bound in eps: so many additions lie on the longest path of the tree."""
    levels = max(1, math.ceil(math.log(max(length, 2), LANES * ROWS)))
    return math.ceil(math.log2(max(length, 1))) + ROWS * levels


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", LENGTHS)
def test_sum_against_exact(prec, length, rng):
    if length > 4096 and precision(prec).limbs not in (1, 2, 4):
        length = 4097
    a = numbers_of(prec, rng, 2, length)
    got = native_sum(prec, a)
    assert_normalised(got)
    terms = integers(a)[0]
    eps = precision(prec).eps
    for value, row in zip(integers(got)[0], terms, strict=True):
        size = sum(map(abs, row))
        assert abs(value - sum(row)) <= sum_bound(length) * eps * size
        if size == 0:
            assert value == 0


@pytest.mark.parametrize("length", [0, 1, 2, 127, 129, 1000])
def test_dot_against_exact(prec, length, rng):
    a, b = numbers_of(prec, rng, 2, length), numbers_of(prec, rng, 2, length)
    got = native_dot(prec, a, b)
    assert_normalised(got)
    x, y = integers(a)[0], integers(b)[0]
    eps = precision(prec).eps
    # What fades below the smallest subnormal.
    faded = (4 * length) << (SCALE + (0 if precision(prec).dtype.itemsize == 8 else SCALE - 149))
    for value, u, v in zip(integers(got)[0], x, y, strict=True):
        terms = [p * q for p, q in zip(u, v, strict=True)]
        size = sum(map(abs, terms))
        assert abs((value << SCALE) - sum(terms)) <= (sum_bound(length) + 1) * eps * size + faded


def test_complex_dot_against_exact(prec, rng):
    a = np.concatenate([numbers_of(prec, rng, 3, 40) for _ in range(2)])
    b = np.concatenate([numbers_of(prec, rng, 3, 40) for _ in range(2)])
    got = native_dot(prec, a, b)
    (ar, ai), (br, bi), (gr, gi) = integers(a), integers(b), integers(got)
    eps = precision(prec).eps
    for m in range(3):
        real = sum(p * q for p, q in zip(ar[m], br[m], strict=True))
        real -= sum(p * q for p, q in zip(ai[m], bi[m], strict=True))
        imag = sum(p * q for p, q in zip(ar[m], bi[m], strict=True))
        imag += sum(p * q for p, q in zip(ai[m], br[m], strict=True))
        size = sum(
            (abs(p) + abs(q)) * (abs(r) + abs(s))
            for p, q, r, s in zip(ar[m], ai[m], br[m], bi[m], strict=True)
        )
        for value, want in ((gr[m], real), (gi[m], imag)):
            assert abs((value << SCALE) - want) <= (sum_bound(40) + 2) * eps * size
    # With the conjugate the imaginary part vanishes exactly.
    conjugate = a.copy()
    conjugate[1] = -conjugate[1]
    assert not native_dot(prec, a, conjugate)[1].any()


def test_cancellation():
    # [1e100, 1, -1e100] . [1, 1, 1] is 1 in qd; in dd the 1 is lost.
    a = np.zeros((1, 4, 1, 3))
    a[0, 0, 0] = 1e100, 1, -1e100
    b = np.zeros((1, 4, 1, 3))
    b[0, 0] = 1
    assert native_dot("qd", a, b)[0, :, 0].tolist() == [1, 0, 0, 0]
    x = np.zeros((1, 4, 1, 1000))
    x[0, 0, 0] = np.tile([2.0**100, 2.0**-100, -(2.0**100), 2.0**-100], 250)
    assert native_sum("qd", x)[0, :, 0].tolist() == [500 * 2.0**-100, 0, 0, 0]


def test_specials(prec):
    p = precision(prec)
    for length in (1, 5, 200, 5000):
        a = np.zeros((1, p.limbs, 1, length), dtype=p.dtype)
        a[0, 0] = 1
        for special, expected in (
            (math.inf, math.inf),
            (-math.inf, -math.inf),
            (math.nan, math.nan),
        ):
            a[0, 0, 0, length // 2] = special
            for got in (native_sum(prec, a), native_dot(prec, a, np.abs(a))):
                assert not got[0, 1:].any()
                np.testing.assert_array_equal(got[0, 0], [expected])
        if length > 1:
            a[0, 0, 0, 0], a[0, 0, 0, -1] = math.inf, -math.inf
            assert np.isnan(native_sum(prec, a)[0, 0]).all()
    empty = np.zeros((1, p.limbs, 3, 0), dtype=p.dtype)
    assert_same_bits(native_sum(prec, empty), np.zeros((1, p.limbs, 3), dtype=p.dtype))
    assert native_sum(prec, np.zeros((1, p.limbs, 0, 5), dtype=p.dtype)).shape == (1, p.limbs, 0)


# -- the tree ------------------------------------------------------------------------------------


def test_tree_version():
    # A change of the tree changes digits that users have seen: raise the version with it.
    assert _native.tree_version == 1


@pytest.mark.parametrize("length", LENGTHS)
def test_sum_follows_the_documented_tree(prec, length, rng):
    a = numbers_of(prec, rng, 2, length)
    assert_same_bits(native_sum(prec, a), tree_sum(prec, a))


@pytest.mark.parametrize("length", [1, 128, 129, 4097])
def test_dot_rounds_the_products_first(prec, length, rng):
    a, b = numbers_of(prec, rng, 2, length), numbers_of(prec, rng, 2, length)
    assert_same_bits(native_dot(prec, a, b), tree_sum(prec, apply("mul", prec, a, b)))
    z, w = np.concatenate([a, b]), np.concatenate([b, -a])
    assert_same_bits(native_dot(prec, z, w), tree_sum(prec, apply("mul", prec, z, w)))


@pytest.mark.parametrize(
    "length", [4096 * 64 + 5, pytest.param(4096 * 4096 + 5, marks=pytest.mark.slow)]
)
def test_long_sums(length, rng):
    # Beyond 4096 tiles their results need tiles of their own.
    x = np.zeros((1, 1, 1, length))
    x[0, 0, 0] = rng.standard_normal(length)
    assert_same_bits(native_sum("d", x), tree_sum("d", x))


# -- threads, levels, layouts --------------------------------------------------------------------


def test_threads_and_levels_do_not_matter(prec, rng):
    count = 9000 if precision(prec).limbs <= 4 else 4500
    shapes = [(1, count), (3, 5000), (700, 33), (40, 129)]
    for rows, length in shapes if precision(prec).limbs <= 4 else shapes[:1] + shapes[3:]:
        a, b = numbers_of(prec, rng, rows, length), numbers_of(prec, rng, rows, length)
        seen = []
        for _ in each_level():
            for threads in THREADS:
                _native.set_num_threads(threads)
                seen.append((native_sum(prec, a), native_dot(prec, a, b)))
        for total, product in seen[1:]:
            assert_same_bits(total, seen[0][0])
            assert_same_bits(product, seen[0][1])


def test_layouts_do_not_matter(prec, rng):
    p = precision(prec)
    a, b = numbers_of(prec, rng, 9, 301), numbers_of(prec, rng, 9, 301)
    total, product = native_sum(prec, a), native_dot(prec, a, b)
    across = [np.array(x.swapaxes(2, 3)).swapaxes(2, 3) for x in (a, b)]
    spaced = [np.repeat(x, 3, axis=3)[..., ::3] for x in (a, b)]
    backwards = [np.array(x[..., ::-1, ::-1])[..., ::-1, ::-1] for x in (a, b)]
    limbs_last = [np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1) for x in (a, b)]
    for x, y in (across, spaced, backwards, limbs_last):
        assert_same_bits(native_sum(prec, x), total)
        assert_same_bits(native_dot(prec, x, y), product)
    # A row does not depend on its neighbours.
    for m in (0, 4, 8):
        assert_same_bits(native_sum(prec, a[:, :, m : m + 1]), total[:, :, m : m + 1])
    # Broadcast operands are read where they are.
    row = np.broadcast_to(b[:, :, :1], b.shape)
    assert_same_bits(native_dot(prec, a, row), native_dot(prec, a, np.ascontiguousarray(row)))
    repeated = np.broadcast_to(a[..., :1], (1, p.limbs, 9, 301))
    assert_same_bits(native_sum(prec, repeated), native_sum(prec, np.ascontiguousarray(repeated)))


def test_real_times_complex(prec, rng):
    a, z = (
        numbers_of(prec, rng, 3, 50),
        np.concatenate([numbers_of(prec, rng, 3, 50) for _ in range(2)]),
    )
    for got in (native_dot(prec, a, z), native_dot(prec, z, a)):
        assert_same_bits(got[:1], native_dot(prec, a, z[:1]))
        assert_same_bits(got[1:], native_dot(prec, a, z[1:]))


# -- golden bits ---------------------------------------------------------------------------------


def fixed_numbers(prec, rows, length):
    """Numbers that depend on nothing but integer arithmetic: no generator may change them."""
    p = precision(prec)
    bits = p.limb_bits
    planes = np.zeros((1, p.limbs, rows, length), dtype=p.dtype)
    state = np.arange(1, rows * length + 1, dtype=np.uint64).reshape(rows, length)
    for i in range(p.limbs):
        # A multiplicative hash (Knuth), one more step for each limb.
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        top = (state >> np.uint64(12)).astype(np.int64) % (1 << (bits - 1))
        mantissa = (top + (1 << (bits - 1))).astype(np.float64)
        sign = np.where(state >> np.uint64(63), -1.0, 1.0)
        size = (state >> np.uint64(50)).astype(np.int64) % 9 if i == 0 else 0
        exponent = -(bits + 1) * i - (bits - 1) + size
        planes[0, i] = np.ldexp(mantissa * sign, np.asarray(exponent, dtype=np.int32))
    return planes


#: SHA-256 of the bits of sums and of dot products, for each precision.
GOLDEN = {
    "ds": ("5e120f1ffdbdf193", "556ed1187dedfd61"),
    "d": ("c907c9bebb76deda", "8314cfab02c1b799"),
    "dd": ("39019179fe6b6ca1", "74ee3a1832230593"),
    "td": ("fe2b6c1acc056d68", "7e24c08cbe156a3e"),
    "qd": ("e0d285237617739a", "260f2c52f24ba5a2"),
    "pd": ("9f5f32c530da2994", "aa35fa678b76c25c"),
    "od": ("7d3b4e6aa35d8293", "24df3aeea4affbd6"),
    "da": ("765b0cbd512b7186", "ca661823ffbb4016"),
    "hd": ("bddf63eb0112d2a1", "2a93ad795d6c02b8"),
}


def fingerprint(results):
    digest = hashlib.sha256()
    for got in results:
        digest.update(bits_of(got).astype("<u8").tobytes())
    return digest.hexdigest()[:16]


@pytest.mark.parametrize("prec", PRECS)
def test_golden_bits(prec):
    a, b = fixed_numbers(prec, 3, 9001), fixed_numbers(prec, 3, 9001)[..., ::-1]
    assert_normalised(a)
    sums = [native_sum(prec, a), native_sum(prec, a[..., :77])]
    assert (fingerprint(sums), fingerprint([native_dot(prec, a, b)])) == GOLDEN[prec]
