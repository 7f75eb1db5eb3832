# SPDX-License-Identifier: BSD-3-Clause
"""The product by slices: exact pieces, the promise for every input, one result on all engines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm import engines, lanes, slices
from mdla.gemm.engines import Choice
from mdla.gemm.int8 import MOST_TERMS, int8_matmul
from mdla.gemm.plan import read_problem
from tests.gemm import schemes
from tests.gemm.schemes import CASES, PRECS, check, operands, random
from tests.oracle import assert_same_bits, error_in_eps, exact, exact_abs_matmul, exact_matmul
from tests.registry import THREADS

ENGINES = [engine.name for engine in engines.scheme("slices").engines]
LIMBS = [mdla.precision(prec).limbs for prec in PRECS]


def multiply(a, b, engine="auto"):
    return mdla.matmul(a, b, scheme="slices", engine=engine)


# -- pieces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
def test_slices_are_the_entries(rng, prec):
    """Integers of at most 2^20, and what they leave is below the last unit."""
    for case in ("random", "adversarial", "adversarial, far apart", "powers of two"):
        x = operands(case, rng, prec)[0].planes[0]
        top = lanes.exponents(x, -1)
        count = slices.slices_for(len(x), 0)
        got = slices.cut(x, top, count)
        assert np.abs(got).max() <= 2**20
        np.testing.assert_array_equal(got, np.rint(got))
        digits = got.astype(int).astype(object)
        weights = [Fraction(1, 1 << slices.WIDTH * s + 20) for s in range(count)]
        values = sum(d * w for d, w in zip(digits, weights, strict=True))
        values = values * np.vectorize(lambda e: Fraction(2) ** int(e), otypes=[object])(top)
        rest = np.abs(values - exact(x[np.newaxis]))
        unit = np.vectorize(lambda e: Fraction(2) ** int(e), otypes=[object])(top)
        assert (rest <= unit * Fraction(1, 1 << slices.WIDTH * (count - 1) + 20)).all()


def test_bytes_of_slices(rng):
    """Three bytes of at most 64, for every slice that there can be."""
    ends = [2.0**20, -(2.0**20), 2.0**20 - 1, 64, -64, 8192, 8256, -8256, 0]
    x = np.concatenate([rng.integers(-(2**20), 2**20 + 1, 5000), ends])[np.newaxis]
    got = slices.Int8().convert(x)
    assert got.dtype == np.int8
    assert np.abs(got.astype(int)).max() <= 64
    value = sum(byte.astype(np.int64) << 7 * p for p, byte in enumerate(got))
    np.testing.assert_array_equal(value, x)


def test_longest_exact_sums():
    """Products of slices, and of bytes, as large and as many as they can be."""
    assert slices.Float64.longest * 2**40 <= 2**53
    assert MOST_TERMS * 2**14 < 2**31 <= (MOST_TERMS + 1) * 2**14
    for engine in engines.scheme("slices").engines:
        k = engine.longest
        a, b = np.full((1, k), 2.0**20), np.full((k, 1), 2.0**20)
        a[0, ::7] -= 1
        product = engine.product(engine.convert(a), engine.convert(b))
        assert product.dtype == np.int64
        assert product.item() == k * 2**40 - len(a[0, ::7]) * 2**20


def test_int8_matmul(rng):
    a = rng.integers(-128, 128, (5, 300)).astype(np.int8)
    b = rng.integers(-128, 128, (300, 7)).astype(np.int8)
    product = int8_matmul(a, b)
    assert product.dtype == np.int32
    np.testing.assert_array_equal(product, a.astype(int) @ b.astype(int))
    lowest = np.full((1, MOST_TERMS), -128, np.int8)
    assert int8_matmul(lowest, lowest.T).item() == MOST_TERMS * 2**14
    long = np.zeros((1, MOST_TERMS + 1), np.int8)
    with pytest.raises(ValueError, match=r"131072.*at most 131071"):
        int8_matmul(long, long.T)


# -- how many slices -----------------------------------------------------------------------------


@pytest.mark.parametrize("limbs", LIMBS)
def test_enough_slices(limbs):
    """The condition of docs/slices.md, for every number of slices that is used."""
    assert slices.most_span(limbs) > 40
    for count in range(slices.slices_for(limbs, 0), slices.most_slices(limbs) + 1):
        span = slices.span_of(count, limbs)
        assert slices.slices_for(limbs, span) <= count < slices.slices_for(limbs, span + 1)
        # In units of eps times the largest term of a sum, with what rounding leaves.
        wrong = Fraction(count + 3, 4) * Fraction(2) ** (52 * limbs + span + 4 - 21 * count)
        assert wrong <= 0.49
        # Integers of a block stay below 2^62, terms of the sum above the smallest normal number.
        assert count * min(2**21 // count, 2**13) * 2**40 <= 2**61
        assert slices.WIDTH * (count + 2) < 1800


@pytest.mark.parametrize("prec", PRECS)
def test_as_many_slices_as_it_takes(rng, prec):
    """At the largest span of a number of slices, one less breaks the promise."""
    limbs = mdla.precision(prec).limbs
    count = slices.slices_for(limbs, 0) + 2
    below = slices.span_of(count, limbs) // 2
    a, b = mdla.zeros((1, 3), prec=prec), mdla.zeros((3, 1), prec=prec)
    tiny = (random(rng, (2,), prec) + 3) * 2.0 ** -(below + 2)
    a[0, 0], a[0, 1], b[1, 0], b[2, 0] = 0.75, tiny[0], tiny[1], 0.75
    plan = mdla.gemm.plan(a, b, scheme="slices")
    assert plan.digits == count
    assert abs(plan.span - 2 * below) <= 4
    want, scale = exact_matmul(a, b), exact_abs_matmul(a, b)
    engine = slices.Float64("fp64-blas", np.matmul)
    errors = []
    for fewer in (1, 0):
        c = engine.run(read_problem(a, b), Choice("slices", count - fewer, 0))
        errors.append(error_in_eps(c, want, prec, scale).max())
    assert errors[0] > 3 > errors[1]


def test_one_limb_in_a_wide_precision_needs_the_slices_of_the_wide():
    """Entries of one double: products have 106 bits, so sums in qd are exact."""
    x = mdla.array([[1.0, 2.0**-52], [2.0**-30, 1 / 3]], prec="qd")
    c = multiply(x, x)
    want = exact_matmul(x, x)
    assert (exact(c) == want).all()
    assert mdla.gemm.plan(x, x, scheme="slices").digits >= 11


# -- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("prec", "case"), CASES)
def test_promise(rng, prec, case):
    a, b = operands(case, rng, prec)
    c = multiply(a, b)
    check(c, a, b, prec)
    for engine in ENGINES:
        assert_same_bits(multiply(a, b, engine), c)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("k", [1, 2, 17, 300])
def test_lengths(rng, prec, k):
    a, b = operands("adversarial", rng, prec, (2, k, 3))
    check(multiply(a, b), a, b, prec)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
@pytest.mark.parametrize("parts", [(True, False), (False, True), (True, True)])
def test_complex_operands(rng, prec, parts):
    a, b = random(rng, (4, 9), prec, parts[0]), random(rng, (9, 5), prec, parts[1])
    a[2] = a[2] * schemes.powers(rng, 9, -300, 300)
    check(multiply(a, b), a, b, prec)


def test_long_sums(rng):
    """Longer than a block of either engine, of integers: the result is exact."""
    k = 140_000
    x, y = rng.integers(-(2**30), 2**30, (2, k)), rng.integers(-(2**30), 2**30, (k, 1))
    want = x.astype(object) @ y.astype(object)
    a, b = mdla.array(x, prec="dd"), mdla.array(y, prec="dd")
    for engine in ENGINES:
        assert (exact(multiply(a, b, engine)) == want).all()


def test_sums_beyond_64_bits():
    """The longest products of the most slices, all of them large: carries between blocks."""
    k, count = 250_000, slices.slices_for(16, 0)
    digits = [2**19] + [2**20 - 1] * (count - 2) + [0]
    x = sum(Fraction(d, 2 ** (slices.WIDTH * (s + 1))) for s, d in enumerate(digits))
    planes = np.broadcast_to(mdla.array([[x]], prec="hd").planes, (1, 16, 1, k))
    a = mdla.MDArray(planes)
    cut = slices.cut(planes[0, ..., :1], np.array([[-1]], np.int32), count)
    np.testing.assert_array_equal(cut.ravel(), digits)
    c = multiply(a, a.T)
    want = [[k * x * x]]
    assert error_in_eps(c, want, "hd", want).max() <= 1


# -- one result ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
def test_engines_threads_and_blocks_have_the_same_bits(rng, prec, monkeypatch):
    a, b = operands("random", rng, prec, (9, 25, 20))
    want = multiply(a, b)
    for threads in THREADS:
        _native.set_num_threads(threads)
        for memory in (2**30, 60_000):
            monkeypatch.setenv("MDLA_GEMM_MEMORY", str(memory))
            for engine in ENGINES:
                assert_same_bits(multiply(a, b, engine), want)


def test_the_smallest_blocks(rng, monkeypatch):
    """One entry at a time."""
    a, b = operands("adversarial", rng, "qd", (3, 7, 2))
    want = multiply(a, b)
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "1")
    for engine in ENGINES:
        assert_same_bits(multiply(a, b, engine), want)


def test_batches(rng):
    for engine in ENGINES:
        schemes.check_batches("slices", rng, engine=engine)


def test_a_batch_whose_matrices_need_different_numbers_of_slices(rng):
    a, b = random(rng, (3, 6, 30), "dd"), random(rng, (3, 30, 5), "dd")
    a[1] = a[1] * schemes.powers(rng, (6, 30), -40, 1)
    b[1] = b[1] * schemes.powers(rng, (30, 5), -40, 1)
    plan = mdla.gemm.plan(a, b, scheme="slices")
    assert {choice.digits for choice, _ in plan.choice.groups} == {
        6,
        plan.choice.groups[1][0].digits,
    }
    assert len(plan.choice.groups) > 1
    c = multiply(a, b)
    for i in range(3):
        assert_same_bits(c[i], multiply(a[i], b[i]))
        check(c[i], a[i], b[i], "dd")


# -- lanes that are left to the direct scheme ----------------------------------------------------


def test_lanes_that_spread_too_far(rng):
    """One row, one column, or both; the others are multiplied by slices, within the promise."""
    a, b = random(rng, (5, 30), "qd"), random(rng, (30, 6), "qd")
    assert mdla.gemm.plan(a, b, scheme="slices").span < 20
    for _plain, _got in schemes.check_lanes_stay_apart("slices", rng):
        pass
    most = slices.most_span(4)
    none = np.zeros(5, bool), np.zeros(6, bool)
    row, column = a.planes[0].copy(), b.planes[0].copy()
    row[:, 1] *= 2.0 ** np.linspace(-600, 300, 30).round()
    column[:, :, 2] *= 2.0 ** np.linspace(-600, 300, 30).round()
    for x, y, rows, columns in [
        (row, b.planes[0], [1], []),
        (a.planes[0], column, [], [2]),
    ]:
        x = x.copy()
        y = y.copy()
        # Where the large entries meet zeros, the span is that of the lane.
        if rows:
            y[:, 20:] = 0
        else:
            x[:, :, 20:] = 0
        got = slices.wide_lanes(x, y, most)
        want = none[0].copy(), none[1].copy()
        want[0][rows], want[1][columns] = True, True
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("prec", PRECS)
def test_special_values(rng, prec):
    schemes.check_special_values("slices", prec, rng)


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def test_ends_of_the_range(prec):
    schemes.check_ends_of_the_range("slices", prec)


def test_shapes(rng):
    schemes.check_shapes("slices", rng)


def test_gram_matrices(rng):
    a = random(rng, (20, 6), "qd")
    gram = multiply(a.T, a)
    assert_same_bits(gram, gram.T)
    z = random(rng, (20, 6), "dd", complex=True)
    assert not np.einsum("kii->ki", multiply(z.H, z).imag.planes[0]).any()


def test_plans():
    a = mdla.ones((100, 200), prec="qd")
    plan = mdla.gemm.plan(a, a.T, scheme="slices")
    assert (plan.scheme, plan.kernel, plan.digits, plan.span) == ("slices", "slices", 11, 0)
    assert plan.engine in ENGINES
    for engine in ENGINES:
        assert 0 < mdla.gemm.plan(a, a.T, scheme="slices", engine=engine).seconds < 10
