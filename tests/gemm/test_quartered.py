# SPDX-License-Identifier: BSD-3-Clause
"""The quartered product: each step as the paper has it, and the promise for every input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.gemm import lanes, quartered
from mdla.gemm.engines import Choice
from mdla.gemm.plan import read_problem
from tests.gemm import schemes
from tests.gemm.schemes import CASES, PRECS, check, operands, random
from tests.oracle import assert_same_bits, error_in_eps, exact, exact_abs_matmul, exact_matmul
from tests.registry import adversarial

LIMBS = [mdla.precision(prec).limbs for prec in PRECS]


def cut(planes, parts, axis=-1):
    return quartered.cut(planes, lanes.exponents(planes, axis), parts)


def value(quarters, shift=13, unit=0):
    """Exact ``sum_q quarters[q] 2**(-shift (q + 1) - unit)`` of integers."""
    flat = quarters.reshape(len(quarters), -1).astype(int).T.tolist()
    return [
        sum(Fraction(d, 1 << shift * (q + 1) + unit) for q, d in enumerate(row)) for row in flat
    ]


def below_one(rng, prec, count):
    """Limbs (N, 1, count) of adversarial positive numbers in [2**-13, 1)."""
    x = adversarial(rng, prec, count)[0]
    x = x * np.sign(x[0])
    x = np.ldexp(x, -np.frexp(x[0])[1] - rng.integers(0, 13, count))
    return x[:, np.newaxis]


# -- the bound (5) -------------------------------------------------------------------------------


def test_bound_5():
    largest = sum(2**i for i in range(26))
    assert quartered.MOST_TERMS == 67_108_865
    assert quartered.MOST_TERMS * largest <= 2**52 < (quartered.MOST_TERMS + 1) * largest
    # A quarter that has borrowed is below 2**14, and a double has 53 bits.
    assert quartered.MOST_TERMS // 2 * (2**14 - 2) ** 2 <= 2**53


def test_bound_5_is_checked():
    long = mdla.MDArray(np.broadcast_to(np.ones((1, 2, 1, 1)), (1, 2, 1, 3_050_403)))
    assert mdla.gemm.plan(long[:, :-1], long[:, :-1].T, scheme="quartered").digits == 11
    for call in (mdla.gemm.plan, mdla.matmul):
        with pytest.raises(ValueError, match=r"3,050,403.*'auto'.*blocks of at most 3,050,402"):
            call(long, long.T, scheme="quartered")
    imaginary = long * 1j
    with pytest.raises(ValueError, match="67,108,865"):
        mdla.gemm.plan(imaginary[:, ::2], imaginary[:, ::2].T, scheme="quartered")
    quartered.check_terms(300_000, 16)


@pytest.mark.parametrize("prec", PRECS)
def test_all_products_of_doubles_are_exact(rng, prec):
    """What is multiplied are integers, and no sum exceeds 53 bits."""

    def matmul(a, b):
        product = a @ b
        assert min(a.min(), b.min()) >= 0
        assert max(a.max(), b.max()) < 2**14
        whole = a.astype(np.int64) @ b.astype(np.int64)
        np.testing.assert_array_equal(whole, product)
        return product

    a, b = operands("adversarial", rng, prec)
    engine = quartered.Blas("checked", matmul)
    problem = read_problem(a, b)
    choice = Choice("convolute-b", quartered.parts_for(mdla.precision(prec).limbs))
    got = engine.run(problem, choice)
    assert_same_bits(got, mdla.matmul(a, b, scheme="quartered"))


# -- cutting -------------------------------------------------------------------------------------


def test_quarters_of_the_paper():
    """The 52 bits of section 2 and their four quarters."""
    bits = "1001000110100110011001001110110100100011010011001100"
    double = np.full((1, 1, 1), float(int(bits, 2)))
    want = ["1001000110100", "1100110010011", "1011010010001", "1010011001100"]
    got = quartered.quarters(double, 4)
    assert [f"{int(q):013b}" for q in got.ravel()] == want


def test_borrowing_between_doubles():
    """(7): 1/2 - 2^-60, 1/2 - 2^-54 (53 bits), and two borrows in a row past a zero."""
    limbs = np.array([[0.5, 0.5 - 2.0**-54, 0.5], [-(2.0**-60), 0, -(2.0**-120)], [0, 0, 0]])
    got = quartered.on_grid(limbs[:, np.newaxis], 3)[:, 0].T
    one = 2.0**52
    np.testing.assert_array_equal(got[0], [one / 2 - 1, one - 2.0**44, 0])
    # The last bit of the first double is added to the second.
    np.testing.assert_array_equal(got[1], [one / 2 - 1, one * 0.75, 0])
    np.testing.assert_array_equal(got[2], [one / 2 - 1, one - 1, one - 2.0**36])


@pytest.mark.parametrize("prec", PRECS)
def test_doubles_on_the_grid(rng, prec):
    """Nonnegative, of 52 bits, and their sum is that of the limbs cut at the last bit."""
    x = below_one(rng, prec, 300)
    count = len(x) + 1
    got = quartered.on_grid(x, count)
    assert got.min() >= 0
    assert got.max() < 2.0**52
    np.testing.assert_array_equal(got, np.floor(got))
    want = exact(x[np.newaxis]).ravel()
    for g, w in zip(value(got, 52), want, strict=True):
        assert abs(w - g) <= 2 * Fraction(1, 1 << 52 * count)


@pytest.mark.parametrize("prec", PRECS)
def test_balancing(rng, prec):
    """(8) leaves the sum as it is and lifts what has leading zeros, but no zeros."""
    doubles = quartered.on_grid(below_one(rng, prec, 300), len(below_one(rng, prec, 1)) + 1)
    plain = quartered.quarters(doubles, 4 * len(doubles) - 1)
    got = quartered.balance(plain)
    assert value(got, unit=1) == value(plain)
    assert got.min() >= 0
    assert got.max() <= 2**14 - 2
    zeros = np.repeat((doubles == 0), 4, axis=0)[: len(plain)]
    assert not got[zeros & (np.arange(len(plain)) % 4 != 3)[:, np.newaxis, np.newaxis]].any()
    low = (plain[1:] < 2**12) & (plain[1:] > 0) & (got[:-1] > 0)
    lifted = got[1:] >= 2**13 - 1
    assert lifted[low].mean() > 0.99
    assert low.any()


def test_balancing_by_hand():
    """1 + 2^-20: quarters 1, 0, 2^6 become 1 - b, b - b', b' + 2^6."""
    plain = np.zeros((8, 1, 1))
    plain[:3, 0, 0] = 2**12, 0, 2**6
    got = quartered.balance(plain)[:, 0, 0]
    np.testing.assert_array_equal(got, [2**13 - 1, 2**13 - 1, 2**13 + 2**7 - 1, 2**13, 0, 0, 0, 0])


@pytest.mark.parametrize("prec", PRECS)
def test_groups_are_the_matrix(rng, prec):
    """(6) and Problem 3.2: every entry is in one group, of its sign, on the grid of its lane."""
    a = random(rng, (7, 19), prec) * schemes.powers(rng, (7, 19), -40, 0)
    a[2], a[3, 4] = 0, 0
    parts = quartered.parts_for(mdla.precision(prec).limbs)
    side = cut(a.planes[0], parts)
    members = np.sum([mask for _, _, mask in side.groups], axis=0)
    np.testing.assert_array_equal(members, a.planes[0, 0] != 0)
    assert len({(sign, place) for sign, place, _ in side.groups}) == len(side.groups)
    top = lanes.exponents(a.planes[0], -1)
    for sign, place, mask in side.groups:
        assert (np.sign(a.planes[0, 0][mask]) == sign).all()
        scaled = np.ldexp(np.abs(a.planes[0, 0]), 13 * place - top)[mask]
        assert (scaled < 1).all()
        assert (scaled >= 2.0**-13).all()
    got = np.array(value(side.quarters, unit=1)).reshape(a.shape)
    for sign, place, mask in side.groups:
        for i, j in zip(*np.nonzero(mask), strict=True):
            entry = sign * got[i, j] * Fraction(2) ** int(top[i, 0] - 13 * place)
            want = exact(a.planes[..., i, j])[()]
            assert abs(want - entry) <= abs(want) * Fraction(1, 2 ** (13 * parts - 14))


# -- the two matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize("limbs", [2, 4, 8, 16])
def test_dimensions_of_table_2(limbs):
    """Table 2 divided by 8: all matrices become 8192 by 4096 and 4096 by 8192."""
    m, k = 2048 // limbs // 8, 1024 // limbs // 8
    seen = []

    def matmul(a, b):
        seen.append((a.shape, b.shape))
        return a @ b[:, :1] @ np.ones((1, b.shape[1]))

    a, b = np.ones((4 * limbs, m, k)), np.ones((4 * limbs, k, 1024))
    quartered.convolute_a(a, b, matmul)
    assert seen == [((1024, 512), (512, 1024))]
    # The other way round it is B that grows in both directions.
    quartered.convolute_b(b.transpose(0, 2, 1), a.transpose(0, 2, 1), matmul)
    assert seen[1] == ((1024, 512), (512, 1024))


def test_stacking_and_convoluting():
    """(2) and (4) with one entry and four quarters."""
    x = np.array([1.0, 2, 3, 4]).reshape(4, 1, 1)
    convoluted = [[1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1]]
    np.testing.assert_array_equal(quartered.stack_columns(x), [[1, 2, 3, 4]])
    np.testing.assert_array_equal(quartered.stack_rows(x), [[1], [2], [3], [4]])
    np.testing.assert_array_equal(quartered.convolute_columns(x), convoluted)
    np.testing.assert_array_equal(quartered.convolute_rows(x), np.transpose(convoluted))


def test_parts_of_the_product(rng):
    """Both variants give the convolutions (3)."""
    a = rng.integers(0, 2**14, (6, 3, 5)).astype(float)
    b = rng.integers(0, 2**14, (6, 5, 4)).astype(float)
    want = [sum(a[i] @ b[q - i] for i in range(q + 1)) for q in range(6)]
    for variant in quartered.VARIANTS.values():
        np.testing.assert_array_equal(variant(a, b, np.matmul), want)


# -- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("prec", "case"), CASES)
def test_promise(rng, prec, case):
    a, b = operands(case, rng, prec)
    check(mdla.matmul(a, b, scheme="quartered"), a, b, prec)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("k", [1, 2, 17, 300])
def test_lengths(rng, prec, k):
    a, b = operands("adversarial", rng, prec, (2, k, 3))
    check(mdla.matmul(a, b, scheme="quartered"), a, b, prec)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
@pytest.mark.parametrize("parts", [(True, False), (False, True), (True, True)])
def test_complex_operands(rng, prec, parts):
    a, b = random(rng, (4, 9), prec, parts[0]), random(rng, (9, 5), prec, parts[1])
    a[2] = a[2] * schemes.powers(rng, 9, -300, 300)
    check(mdla.matmul(a, b, scheme="quartered"), a, b, prec)


@pytest.mark.parametrize("prec", ["qd", "od", "hd"])
def test_as_many_quarters_as_it_takes(prec):
    """Entries at the lower end of their group whose quarters are full: one quarter less fails."""
    limbs = mdla.precision(prec).limbs
    full = mdla.array(2.0**-12, prec=prec) - 2.0 ** (-52 * (limbs + 1))
    a, b = mdla.zeros((1, 3), prec=prec), mdla.zeros((3, 1), prec=prec)
    a[0, 0], a[0, 1], b[1, 0], b[2, 0] = 0.75, full, full, 0.75
    want, scale = exact_matmul(a, b), exact_abs_matmul(a, b)
    errors = []
    for parts in (quartered.parts_for(limbs) - 1, quartered.parts_for(limbs)):
        c = quartered.multiply(a.planes[0], b.planes[0], parts, "convolute-b", np.matmul)
        errors.append(error_in_eps(c[np.newaxis], want, prec, scale).max())
    assert errors[0] > 3 > errors[1]


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("case", ["random", "adversarial, far apart", "graded by 40 bits"])
def test_variants_and_blocks_have_the_same_bits(rng, prec, case, monkeypatch):
    a, b = operands(case, rng, prec, (3, 13, 4))
    want = mdla.matmul(a, b, scheme="quartered")
    problem, parts = read_problem(a, b), quartered.parts_for(mdla.precision(prec).limbs)

    def shuffled(x, y):
        order = rng.permutation(x.shape[1])
        return x[:, order] @ y[order]

    for memory in (2**30, 3000 * parts**2, 1):
        monkeypatch.setenv("MDLA_GEMM_MEMORY", str(memory))
        for variant in quartered.VARIANTS:
            got = quartered.Blas("shuffled", shuffled).run(problem, Choice(variant, parts))
            assert_same_bits(got, want)


def test_bad_memory_limits(monkeypatch):
    a = mdla.eye(2, prec="dd")
    for text in ("-1", "much", "1X"):
        monkeypatch.setenv("MDLA_GEMM_MEMORY", text)
        with pytest.raises(ValueError, match="is no amount of memory"):
            mdla.matmul(a, a, scheme="quartered")


@pytest.mark.parametrize("prec", PRECS)
def test_special_values(rng, prec):
    schemes.check_special_values("quartered", prec, rng)


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def test_ends_of_the_range(prec):
    schemes.check_ends_of_the_range("quartered", prec)


def test_shapes(rng):
    schemes.check_shapes("quartered", rng)


def test_batches(rng):
    schemes.check_batches("quartered", rng)


def test_more_than_13_groups(rng):
    """Such rows and columns go to the direct scheme, the others keep their bits."""
    x = np.ones((2, 3, 3))
    x[1] = 0
    x[0, 1, 1], x[0, 2, 2] = 2.0**-168, 2.0**169
    rows, columns = quartered._too_wide(0, x, x)
    np.testing.assert_array_equal(rows, [False, False, True])
    np.testing.assert_array_equal(columns, [False, False, True])
    for plain, got in schemes.check_lanes_stay_apart("quartered", rng):
        assert_same_bits(got, plain)


def test_gram_matrices(rng):
    a = random(rng, (20, 6), "qd")
    gram = mdla.matmul(a.T, a, scheme="quartered")
    assert_same_bits(gram, gram.T)
    z = random(rng, (20, 6), "dd", complex=True)
    gram = mdla.matmul(z.H, z, scheme="quartered")
    assert not np.einsum("kii->ki", gram.imag.planes[0]).any()


def test_plans():
    a = mdla.ones((100, 200), prec="qd")
    plan = mdla.gemm.plan(a, a.T, scheme="quartered")
    assert (plan.scheme, plan.engine, plan.kernel) == ("quartered", "fp64-blas", "convolute-b")
    assert plan.digits == 19
    assert plan.seconds > 0
