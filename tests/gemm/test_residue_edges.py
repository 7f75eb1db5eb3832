# SPDX-License-Identifier: BSD-3-Clause
"""Hard cases of products by residues: ends of the range, infinities, grading tests, large spans."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mdla
from mdla.gemm.direct import by_any_exponents
from tests.gemm import schemes
from tests.gemm.residues import PRECS, assert_one_result, available, check, items, multiply
from tests.gemm.schemes import powers, random
from tests.oracle import assert_normalised, assert_same_bits

BOTH = [False, True]


def reach(prec):
    """Numbers of the format above 2**-reach have all their limbs."""
    return 1020 - 53 * mdla.precision(prec).limbs


# -- the ends of the range -----------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
def test_ends_of_the_range(prec):
    schemes.check_ends_of_the_range("crt", prec)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", BOTH)
def test_scaled_rows_and_columns(rng, prec, complex):
    """Powers of two in front of rows and columns change no bit but those of the exponents."""
    a, b = random(rng, (5, 20), prec, complex), random(rng, (20, 6), prec, complex)
    want = multiply(a, b).planes
    far = min(400, reach(prec) // 2)
    rows, columns = (2.0 ** rng.choice([-far, -1, 0, far], n) for n in (5, 6))
    x = mdla.MDArray(a.planes * rows[:, np.newaxis])
    y = mdla.MDArray(b.planes * columns)
    np.testing.assert_array_equal(
        assert_one_result(x, y).planes, want * rows[:, np.newaxis] * columns
    )


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od", "hd"])
def test_exponents_spread_within_rows(rng, prec):
    """1e-300 to 1e300 in each row of A, in each column of B, in both."""
    low = -min(990, reach(prec))
    for left, right in itertools.product(BOTH, BOTH):
        a, b = random(rng, (6, 15), prec), random(rng, (15, 7), prec)
        if left:
            a = a * powers(rng, (6, 15), low // (1 + right), 990 // (1 + right))
        if right:
            b = b * powers(rng, (15, 7), low // (1 + left), 990 // (1 + left))
        c = assert_one_result(a, b)
        room = all(x is None or x.span < reach(prec) for x in items(a, b))
        if room and not (left and right):
            check(c, a, b)
        assert_normalised(c)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_subnormal_entries(rng, prec):
    """Whole lanes of them, and among large ones."""
    tiny = mdla.array(rng.integers(-(2**30), 2**30, (7, 20)) * 5e-324, prec=prec)
    b = random(rng, (20, 6), prec) * 2.0**1000
    check(assert_one_result(tiny, b), tiny, b)
    mixed = tiny.copy()
    mixed[::2, 3] = 1.0
    c = assert_one_result(mixed, b)
    check(c, mixed, b)
    assert not multiply(tiny, tiny.T).planes.any()


@pytest.mark.parametrize("prec", PRECS)
def test_overflow(rng, prec):
    """Infinite without tails in some entries, finite in others, for every number of chunks."""
    for span in (0, 100, 300):
        a, b = random(rng, (5, 8), prec) + 2, random(rng, (8, 4), prec) + 2
        low = 2.0 ** -(span // 2)
        a[:, 0], b[1:] = a[:, 0] * low, b[1:] * low
        rows = np.array([2.0**900, 1, 2.0**600, -(2.0**1000), 2.0**300])
        columns = np.array([2.0**300, 2.0**-300, 2.0**460, 1.0])
        x, y = mdla.MDArray(a.planes * rows[:, np.newaxis]), mdla.MDArray(b.planes * columns)
        c = assert_one_result(x, y)
        with np.errstate(over="ignore"):
            want = multiply(a, b).planes * rows[:, np.newaxis] * columns
        infinite = np.isinf(want[0, 0])
        assert infinite.any()
        assert not infinite.all()
        np.testing.assert_array_equal(c.planes[0, 0], want[0, 0])
        assert not c.planes[0, 1:, infinite].any()
        if reach(prec) > 300 + span:
            np.testing.assert_array_equal(c.planes[..., ~infinite], want[..., ~infinite])


@pytest.mark.parametrize("prec", ["dd", "od", "hd"])
def test_tails_that_underflow(rng, prec):
    """Results fade at the end of the range: absolute errors of a few of the smallest numbers."""
    a, b = random(rng, (5, 9), prec), random(rng, (9, 4), prec)
    far = 2.0 ** -(reach(prec) // 2 + 30)
    x, y = mdla.MDArray(a.planes * far), mdla.MDArray(b.planes * far)
    c = assert_one_result(x, y)
    assert_normalised(c)
    limbs = mdla.precision(prec).limbs
    error = mdla.MDArray(c.planes) - mdla.MDArray(multiply(a, b).planes * far * far)
    assert np.abs(error.planes[:, 0]).max() <= 2 * limbs * 5e-324


# -- infinities and nans -------------------------------------------------------------------------


@pytest.mark.parametrize("prec", [*PRECS, "ds"])
def test_special_values(rng, prec):
    schemes.check_special_values("crt", prec, rng)


@pytest.mark.parametrize("left", BOTH)
@pytest.mark.parametrize("right", BOTH)
def test_special_rows_and_columns(rng, left, right):
    """As the direct scheme gives them; every other entry, and part of one, keeps its bits."""
    a, b = random(rng, (40, 50), "dd", left), random(rng, (50, 45), "dd", right)
    plain = multiply(a, b)
    p, q = a.planes.copy(), b.planes.copy()
    for planes, part, place, value in [
        (p, 0, (0, 3), np.inf),
        (p, 0, (33, 49), np.nan),
        (p, 0, (39, 0), -np.inf),
        (q, 0, (7, 5), -np.inf),
        (q, 0, (0, 44), np.nan),
        (p, -1, (39, 1), np.inf),
        (q, -1, (9, 5), np.inf),
    ]:
        planes[(part, slice(None), *place)] = value, 0
    a, b = mdla.MDArray(p), mdla.MDArray(q)
    c = assert_one_result(a, b)
    want = mdla.matmul(a, b, scheme="direct").planes[:, 0]
    special = ~np.isfinite(want)
    np.testing.assert_array_equal(c.planes[:, 0][special], want[special])
    assert not c.planes[:, 1][special].any()
    kept = ~special[:, np.newaxis] & np.ones((1, 2, 1, 1), bool)
    np.testing.assert_array_equal(c.planes[kept], plain.planes[kept])


def test_all_special():
    a = mdla.array(np.full((3, 4), np.nan), prec="qd")
    assert np.isnan(multiply(a, a.T).planes[0, 0]).all()
    zero = mdla.zeros((4, 2), prec="qd")
    c = multiply(a, zero)
    assert np.isnan(c.planes[0, 0]).all()
    assert not c.planes[0, 1:].any()
    huge = mdla.array([[1e308, np.inf]], prec="dd")
    assert multiply(huge, mdla.array([[-1e308], [1]], prec="dd")).item() == np.inf


# -- results that are too far below their scales -------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@pytest.mark.parametrize("complex", BOTH)
def test_far_tiles(rng, prec, complex):
    """Only the tiles with large spans are formed by direct kernels."""
    a, b = random(rng, (130, 5), prec, complex), random(rng, (5, 129), prec, complex)
    # Row 40 has a large entry where column 3 has a small one.
    a[40, 1:] = a[40, 1:] * 2.0**-900
    b[0, 3] = b[0, 3] * 2.0**-900
    a, b = a * 2.0**300, b * 2.0**300
    (item,) = items(a, b)
    far = np.zeros((5, 5), bool)
    far[1, 0] = True
    np.testing.assert_array_equal(item.far, far)
    c = multiply(a, b)
    for engine in available():
        assert_same_bits(multiply(a, b, engine), c)
    for i, j in [(40, 3), (40, 4), (41, 3), (40, 128), (129, 3), (63, 31), (64, 32)]:
        if prec != "hd" or (i, j) != (40, 3):  # tails underflow there
            check(c[i : i + 1, j : j + 1], a[i : i + 1], b[:, j : j + 1])
    tile = slice(32, 64), slice(0, 32)
    direct = by_any_exponents(
        a.planes[:, :, tile[0]], b.planes[..., tile[1]], mdla.precision(prec).limbs
    )
    assert_same_bits(c.planes[:, :, tile[0], tile[1]], direct)


@pytest.mark.parametrize(("prec", "far"), [("d", 750), ("dd", 740), ("od", 560)])
def test_everything_far(rng, prec, far):
    """No tile can be formed by residues."""
    scale = 2.0 ** np.array([far, 0, -far])
    a = random(rng, (40, 3), prec) * scale
    b = random(rng, (3, 33), prec) * scale[::-1, np.newaxis]
    a[:, 1] = 0
    (item,) = items(a, b)
    assert item.span == -1
    assert item.far.all()
    c = assert_one_result(a, b)
    check(c[::20, ::16], a[::20], b[:, ::16])


# -- the tests of Demmel, Li, Langou, Pereira, Gates and Rubio Gonzalez ---------------------------
# "How to grade the accuracy of an implementation of the BLAS", BLIS Retreat 2024.


def graded(a, b):
    """The product, of few limbs by every engine."""
    return assert_one_result(a, b) if a.planes.shape[1] <= 4 else multiply(a, b)


def positive(rng, shape, prec, complex):
    """Entries with parts in [1, 2)."""
    a = mdla.random.uniform(shape, prec=prec, rng=rng) + 1
    return a + positive(rng, shape, prec, False) * 1j if complex else a


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", BOTH)
def test_grading_zeros(rng, prec, complex):
    """Test 1b: zeros of a row meet the entries of a column, so the result is exactly zero."""
    n = 10
    a, b = random(rng, (n, n), prec, complex), random(rng, (n, n), prec, complex)
    rows, columns = rng.permutation(n)[:5], rng.permutation(n)[:5]
    for i, j in zip(rows, columns, strict=True):
        zeros = rng.random(n) < 0.5
        a[i, np.flatnonzero(zeros)] = 0
        b[np.flatnonzero(~zeros), j] = 0
    c = graded(a, b)
    assert not c.planes[..., rows, columns].any()
    check(c, a, b)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", BOTH)
def test_grading_scaled_and_shifted(rng, prec, complex):
    """Test 2b: A = X D, B = D^-1 X^H, both shifted around: each row has its scale elsewhere."""
    n = 10
    far = min(500, reach(prec) // 2 - 20)
    for most in (5, 60, far):
        x = positive(rng, (n,), prec, complex)
        d = 2.0 ** np.round(np.linspace(most, -most, n))
        shifts = (np.arange(n)[:, np.newaxis] + np.arange(n)) % n
        y, z = x.planes * d, x.conj().planes / d
        a, b = mdla.MDArray(y[..., shifts]), mdla.MDArray(z[..., shifts])
        c = graded(a, b)
        # The smallest sums are 2^(-2 far) of the largest: small parts of them would underflow.
        check(c, a, b)
        if complex:
            assert not np.einsum("kii->ki", c.imag.planes[0]).any()
        assert_same_bits(multiply(b.T, a.T).T, c)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", BOTH)
def test_grading_one_large_row_and_column(rng, prec, complex):
    """Test 3b: A = X D, B = D^-1 Y, and the last row of A and column of B are large throughout."""
    n = 10
    far = min(500, reach(prec) // 2 - 20)
    d = 2.0 ** rng.permutation(np.round(np.linspace(far, -far, n)))
    x, y = positive(rng, (n, n), prec, complex), positive(rng, (n, n), prec, complex)
    p, q = x.planes * d, y.planes / d[:, np.newaxis]
    p[..., -1, :] = x.planes[..., -1, :] * 2.0**far
    q[..., :, -1] = y.planes[..., :, -1] * 2.0**far
    a, b = mdla.MDArray(p), mdla.MDArray(q)
    check(graded(a, b), a, b)
