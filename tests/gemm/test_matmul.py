# SPDX-License-Identifier: BSD-3-Clause
"""mdla.matmul: NumPy's rules for shapes, every mix of operands, and the promise of the bound."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from tests.oracle import (
    assert_close,
    assert_normalised,
    assert_same_bits,
    exact_abs_matmul,
    exact_matmul,
)
from tests.registry import PRECS, THREADS, adversarial, each_level

SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((4, 5), (5, 6)),
    ((9, 17), (17, 25)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3,), (2, 3, 4)),
    ((2, 4, 3), (3,)),
    ((2, 0, 3, 4), (4, 5)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0,), (0,)),
    ((0, 2, 3), (3, 0)),
]


def random(rng, shape, prec, complex=False):
    a = mdla.random.uniform(shape, prec=prec, rng=rng) * 2 - 1
    if not complex:
        return a
    return a + (mdla.random.uniform(shape, prec=prec, rng=rng) * 2 - 1) * 1j


def hostile(rng, shape, prec, complex=False):
    count = int(np.prod(shape))
    parts = [adversarial(rng, prec, count, (-9, 9)) for _ in range(1 + complex)]
    planes = np.concatenate(parts)
    return mdla.MDArray(planes.reshape(*planes.shape[:2], *shape))


def check(c, a, b, prec):
    """The promise, for each part."""
    k = a.shape[-1]
    want, scale = exact_matmul(a, b), exact_abs_matmul(a, b)
    if not c.iscomplex:
        assert_close(c, want, prec, k, scale=scale)
    else:
        for i, part in enumerate((c.real, c.imag)):
            exact = np.frompyfunc(lambda z, i=i: z[i], 1, 1)(want)
            assert_close(part, exact, prec, k, scale=scale)
    assert_normalised(c)


# -- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("parts", [(False, False), (True, False), (False, True), (True, True)])
def test_shapes_are_those_of_numpy(rng, left, right, parts):
    """Small integers are exact in every format, so NumPy's result is the exact one."""
    a, b = (
        rng.integers(-9, 10, shape).astype(complex if c else float)
        for shape, c in zip((left, right), parts, strict=True)
    )
    if parts[0]:
        a = a + 1j * rng.integers(-9, 10, left)
    if parts[1]:
        b = b + 1j * rng.integers(-9, 10, right)
    want = a @ b
    for prec in ("d", "dd", "qd", "od"):
        got = mdla.array(a, prec=prec) @ mdla.array(b, prec=prec)
        assert got.shape == np.shape(want)
        assert got.iscomplex == any(parts)
        np.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        ((2, 3), (4, 5), r"\(2, 3\) and \(4, 5\).*length 3.*second last.*length 4"),
        ((3,), (4,), r"\(3,\) and \(4,\).*only"),
        ((2, 3, 4), (5, 4, 6), r"\(2, 3, 4\) and \(5, 4, 6\).*broadcast"),
        ((), (3,), r"write A \* B"),
        ((3, 3), (), r"write A \* B"),
    ],
)
def test_shapes_that_do_not_fit(left, right, text):
    a, b = mdla.zeros(left, prec="dd"), mdla.zeros(right, prec="dd")
    for call in (mdla.matmul, lambda x, y: x @ y, mdla.gemm.plan, np.matmul):
        with pytest.raises(ValueError, match=text):
            call(a, b)


def test_unknown_names():
    a = mdla.eye(3, prec="dd")
    with pytest.raises(
        ValueError, match=r"unknown scheme 'strassen'; write one of 'auto', 'direct'"
    ):
        mdla.matmul(a, a, scheme="strassen")
    with pytest.raises(ValueError, match=r"no engine 'abacus'; write one of 'auto', 'simd'"):
        mdla.matmul(a, a, engine="abacus")
    with pytest.raises(ValueError, match="unknown precision"):
        mdla.matmul(a, a, prec="xd")
    assert_same_bits(mdla.matmul(a, a, scheme="direct", engine="simd"), a @ a)


def test_operands_of_unknown_type():
    a = mdla.eye(2, prec="dd")
    for other in ("ab", object(), None):
        with pytest.raises(TypeError):
            mdla.matmul(a, other)
        with pytest.raises(TypeError):
            a @ other


# -- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (2, 2, 2), (3, 5, 4), (8, 17, 9), (2, 300, 3), (26, 40, 1)]
)
@pytest.mark.parametrize("parts", [(False, False), (True, False), (False, True), (True, True)])
def test_bound(rng, prec, shape, parts):
    m, k, n = shape
    for make in (random, hostile):
        a, b = make(rng, (m, k), prec, parts[0]), make(rng, (k, n), prec, parts[1])
        check(a @ b, a, b, prec)


@pytest.mark.parametrize("prec", ["dd", "td", "qd"])
@pytest.mark.parametrize("complex", [False, True])
def test_bound_where_the_mixed_kernel_runs(rng, prec, complex):
    a, b = random(rng, (60, 1000), prec), random(rng, (1000, 3 if complex else 8), prec, complex)
    assert mdla.gemm.plan(a, b).kernel == "mixed"
    check(a @ b, a, b, prec)


@pytest.mark.parametrize("prec", PRECS)
def test_rows_and_columns_of_different_sizes(rng, prec):
    """Rows scaled by 2^(+-40 i): the bound is entry by entry."""
    wide = 8 if prec == "ds" else 40
    a, b = random(rng, (7, 20), prec), random(rng, (20, 6), prec)
    a = a * (2.0 ** (wide * np.arange(-3, 4)))[:, np.newaxis]
    b = b * 2.0 ** (-wide * np.arange(-2.0, 4.0))
    check(a @ b, a, b, prec)


@pytest.mark.parametrize("prec", [p for p in PRECS if p != "ds"])
def test_entries_from_1e_150_to_1e150_in_one_row(rng, prec):
    a, b = random(rng, (5, 24), prec), random(rng, (24, 9), prec)
    lowest = 0 if mdla.precision(prec).limbs > 8 else -498
    a = a * 2.0 ** rng.integers(lowest, 498, a.shape).astype(float)
    check(a @ b, a, b, prec)
    # Each row has one entry of size 1e150, and it meets a tiny one.
    a[:, 0] = "1e150"
    b[0] = "1e-150"
    plan = mdla.gemm.plan(a, b)
    assert plan.kernel in ("floating", "dot") or plan.digits > mdla.precision(prec).limbs + 1
    check(a @ b, a, b, prec)


@pytest.mark.parametrize("prec", [p for p in PRECS if p != "ds"])
def test_graded_entries(rng, prec):
    """Every amount of grading, so that every number of digits and the change of kernel occur."""
    kernels = set()
    for spread in (10, 30, 50, 80, 130, 220, 400):
        m = 30 if prec == "dd" else 12
        a, b = random(rng, (m, 40), prec), random(rng, (40, 25), prec)
        a = a * 2.0 ** rng.integers(0, spread, a.shape).astype(float)
        b = b * 2.0 ** rng.integers(0, spread, b.shape).astype(float)
        plan = mdla.gemm.plan(a, b)
        kernels.add((plan.kernel, plan.digits))
        check(a @ b, a, b, prec)
    assert prec == "d" or len(kernels) >= 3


@pytest.mark.parametrize("prec", ["dd", "td", "qd"])
@pytest.mark.parametrize("k", range(1, 17))
def test_short_sums_of_entries_of_any_size(rng, prec, k):
    """Where the floating kernel's bound does not reach, another kernel is used."""
    for complex in (False, True):
        a, b = hostile(rng, (4, k), prec, complex), hostile(rng, (k, 3), prec, complex)
        a = a * 2.0 ** rng.integers(-200, 200, a.shape).astype(float)
        check(a @ b, a, b, prec)


@pytest.mark.parametrize("prec", PRECS)
def test_huge_terms_that_cancel(prec):
    big = "1e30" if prec == "ds" else "1e100"
    a = mdla.array([[big, 1, "-" + big]], prec=prec)
    ones = mdla.ones((3, 1), prec=prec)
    results = [
        a @ ones,
        (ones.T @ a.T),
        a[0] @ ones[:, 0],
        (a @ mdla.ones((3, 4), prec=prec))[:, :1],
    ]
    for r in results:
        check(r.reshape(1, 1), a, ones, prec)
    if mdla.precision(prec).limbs >= 2 and prec != "ds":
        assert [r.item() for r in results[:3]] == [1, 1, 1]


@pytest.mark.parametrize("prec", [p for p in PRECS if p != "ds"])
@pytest.mark.parametrize("n", [3, 40, 100])
def test_gram_matrices(rng, prec, n):
    """A^T A is symmetric bit for bit, and A^H A has a real diagonal."""
    a = random(rng, (n, 5), prec)
    gram = a.T @ a
    assert_same_bits(gram, gram.T)
    z = random(rng, (n, 5), prec, complex=True)
    gram = z.H @ z
    check(gram, z.H, z, prec)
    assert not np.einsum("kii->ki", gram.imag.planes[0]).any()


# -- operands of every kind ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"), list(itertools.product(["ds", "d", "dd", "qd"], repeat=2))
)
def test_mixed_precisions_meet_in_the_wider(rng, left, right):
    a, b = random(rng, (5, 7), left), random(rng, (7, 6), right)
    c = a @ b
    wider = min((mdla.precision(p) for p in (left, right)), key=lambda p: p.eps)
    assert c.prec == wider.name
    check(c, a, b, c.prec)


def test_numpy_operands_and_lists(rng):
    a = random(rng, (4, 5), "qd")
    x = rng.standard_normal((5, 3))
    assert_same_bits(a @ x, a @ mdla.array(x, prec="qd"))
    assert_same_bits(x.T @ a.T, mdla.array(x.T, prec="qd") @ a.T)
    assert_same_bits(np.matmul(a, x), a @ x)
    assert_same_bits(np.dot(a, x), a @ x)
    integers = rng.integers(-(2**62), 2**62, (5, 2))
    check(a @ integers, a, mdla.array(integers, prec="qd"), "qd")
    assert_same_bits(a @ integers, a @ mdla.array(integers, prec="qd"))
    assert_same_bits(a @ [1, 2, 3, 4, 5], a @ mdla.array([1, 2, 3, 4, 5], prec="qd"))
    z = x + 1j * rng.standard_normal(x.shape)
    assert_same_bits(a @ z, a @ mdla.array(z, prec="qd"))
    assert mdla.matmul(x.T, x).prec == mdla.matmul(mdla.array(x.T), mdla.array(x)).prec


def test_prec_lifts_exactly(rng):
    x, y = rng.standard_normal((6, 7)), rng.standard_normal((7, 5))
    c = mdla.matmul(x, y, prec="od")
    assert c.prec == "od"
    check(c, mdla.array(x, prec="od"), mdla.array(y, prec="od"), "od")
    a = random(rng, (3, 4), "qd")
    narrow = mdla.matmul(a, a.T, prec="dd")
    assert narrow.prec == "dd"
    check(narrow, a, a.T, "dd")


def test_in_place_and_out(rng):
    a, b = random(rng, (4, 4), "dd"), random(rng, (4, 4), "dd")
    want = a @ b
    out = mdla.empty((4, 4), prec="dd")
    np.matmul(a, b, out=out)
    assert_same_bits(out, want)
    c = a.copy()
    c @= b
    assert_same_bits(c, want)


@pytest.mark.parametrize("prec", PRECS)
def test_views(rng, prec):
    a, b = random(rng, (14, 15), prec), random(rng, (15, 16), prec)
    views = [
        (a[::2], b),
        (a[:, ::-1], b[::-1]),
        (a.T[:, :9].T, b[:, 3:8]),
        (a[3:4], b[:, 5:6]),
        (b.T, a.T),
        (a.reshape(2, 7, 15)[::-1], b),
    ]
    for x, y in views:
        assert_same_bits(x @ y, x.copy() @ y.copy())


@pytest.mark.parametrize("prec", ["dd", "qd", "hd"])
def test_batches_have_the_bits_of_single_products(rng, prec):
    a, b = random(rng, (2, 3, 10, 11), prec), random(rng, (3, 11, 12), prec)
    c = a @ b
    for i, j in itertools.product(range(2), range(3)):
        assert_same_bits(c[i, j], a[i, j] @ b[j])
    assert_same_bits(a @ b[0], mdla.stack([mdla.stack([x @ b[0] for x in y]) for y in a]))


def test_a_batch_whose_matrices_need_different_kernels(rng):
    """Small and large spans, long sums: each product has the bits it has alone."""
    a, b = random(rng, (2, 3, 20, 300), "dd"), random(rng, (2, 3, 300, 50), "dd")
    a[0, 1] = a[0, 1] * 2.0 ** rng.integers(-30, 1, (20, 300)).astype(float)
    a[1, 0] = a[1, 0] * 2.0 ** rng.integers(-400, 400, (20, 300)).astype(float)
    b[1, 0] = b[1, 0] * 2.0 ** rng.integers(-400, 400, (300, 50)).astype(float)
    plan = mdla.gemm.plan(a, b)
    assert plan.kernel == "mixed"
    assert {choice.kernel for choice, _ in plan.choice.groups} == {"mixed", "integer", "floating"}
    c = a @ b
    for i, j in itertools.product(range(2), range(3)):
        assert_same_bits(c[i, j], a[i, j] @ b[i, j])
        assert_same_bits((a @ b[0, 2])[i, j], a[i, j] @ b[0, 2])


@pytest.mark.parametrize("prec", PRECS)
def test_the_same_bits_on_every_level_and_number_of_threads(rng, prec):
    pairs = [
        (random(rng, shape, prec, p), random(rng, other, prec, q))
        for shape, other in [
            ((3, 4), (4, 5)),
            ((20, 30), (30, 40)),
            ((64, 150), (150, 60)),
            ((5, 9), (9,)),
        ]
        for p, q in [(False, False), (True, True), (True, False)]
        if mdla.precision(prec).limbs <= 4 or shape[0] <= 20
    ]
    want = [a @ b for a, b in pairs]
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            for (a, b), c in zip(pairs, want, strict=True):
                assert_same_bits(a @ b, c)


# -- special values ------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("shape", [(2, 2, 2), (12, 40, 30)])
def test_special_values(rng, prec, shape):
    m, k, n = shape
    x, y = (
        rng.standard_normal((m, k)).astype(np.float32),
        rng.standard_normal((k, n)).astype(np.float32),
    )
    x[0, 0], x[1, 1], y[1, 0] = np.inf, 0, np.nan
    y[0, 1] = 0
    with np.errstate(invalid="ignore"):
        want = x.astype(float) @ y.astype(float)
    c = mdla.array(x, prec=prec) @ mdla.array(y, prec=prec)
    touched = ~np.isfinite(want)
    np.testing.assert_array_equal(c.to_numpy()[touched], want[touched])
    assert np.isfinite(c.to_numpy()[~touched]).all()
    assert not c.planes[0, 1:][:, touched].any()


def test_special_values_of_complex_numbers(rng):
    a = random(rng, (9, 10), "dd", complex=True)
    b = random(rng, (10, 12), "dd", complex=True)
    plain = a @ b
    a[2, 3] = complex(np.inf, 0)
    c = a @ b
    assert not np.isfinite(c.planes[:, 0, 2]).any()
    rest = np.arange(9) != 2
    assert_same_bits(c[rest], plain[rest])


@pytest.mark.parametrize("prec", [p for p in PRECS if p != "ds"])
def test_overflow(prec):
    a = mdla.array([[1e200, 1], [1, 1e-200]], prec=prec)
    c = a @ mdla.array([[1e200, 0], [0, 1]], prec=prec)
    assert c[0, 0].item() == np.inf
    np.testing.assert_array_equal(c.to_numpy(), [[np.inf, 1], [1e200, 1e-200]])
    c = a @ mdla.array([[1e-200, 0], [0, 1e200]], prec=prec)
    assert c[1, 1].item() == Fraction(1e-200) * Fraction(1e200) or prec == "d"


# -- plans ---------------------------------------------------------------------------------------


def test_plans_say_what_runs():
    a = mdla.ones((100, 200), prec="qd")
    plan = mdla.gemm.plan(a, a.T)
    assert (plan.scheme, plan.engine, plan.prec) == ("direct", "simd", "qd")
    assert plan.shape == (100, 200, 100)
    assert plan.batch == ()
    assert plan.multiply_adds == 2_000_000
    assert 0 < plan.seconds < 1
    text = str(plan)
    for word in ("qd", "(100 x 200) (200 x 100)", "direct", plan.kernel, "simd"):
        assert word in text
    many = mdla.gemm.plan(mdla.ones((7, 1, 3, 4), prec="dd"), mdla.ones((5, 4, 2), prec="dd"))
    assert many.batch == (7, 5)
    assert many.multiply_adds == 7 * 5 * 3 * 4 * 2
    z = mdla.ones((3, 4), prec="dd") * 1j
    assert mdla.gemm.plan(z, z.T).multiply_adds == 4 * 36
    with pytest.raises(AttributeError):
        plan.kernel = "dot"


def test_thresholds_of_the_direct_kernels_are_fixed(rng):
    """What decides about bits: shape, precision and entries."""
    cases = {
        ("dd", 2, 2, 2): "dot",
        ("dd", 30, 30, 30): "floating",
        ("dd", 31, 31, 31): "integer",
        ("dd", 256, 256, 256): "mixed",
        ("dd", 300, 300, 1): "dot",
        ("qd", 8, 8, 8): "dot",
        ("qd", 5, 20, 5): "floating",
        ("qd", 11, 11, 11): "integer",
        ("qd", 40, 40, 1): "floating",
        ("od", 40, 40, 1): "integer",
        ("hd", 2, 1, 1): "integer",
        ("hd", 1, 50, 1): "dot",
        ("d", 300, 300, 300): "floating",
    }
    for (prec, m, k, n), kernel in cases.items():
        for _level in each_level():
            a, b = random(rng, (m, k), prec), random(rng, (k, n), prec)
            plan = mdla.gemm.plan(a, b, scheme="direct")
            assert plan.kernel == kernel, (prec, m, k, n)
