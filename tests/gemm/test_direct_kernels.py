# SPDX-License-Identifier: BSD-3-Clause
"""The native kernels of the direct product: bounds, digits, and the same bits everywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mdla import _native
from mdla.gemm.direct import _ROUNDINGS
from tests.gemm.kernels import (
    ENOUGH,
    LIMBS,
    SHAPES,
    by_integers,
    check,
    exact_products,
    hostile,
    multiply,
    span_of,
    suffices,
    uniform,
)
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, THREADS, each_level


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("shape", SHAPES)
def test_integer_kernel_keeps_its_bound(rng, prec, shape):
    m, k, n = shape
    for make in (uniform, hostile):
        a, b = make(rng, prec, (m, k)), make(rng, prec, (k, n))
        check(by_integers(a, b), a, b, prec)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("shape", SHAPES)
def test_floating_kernel_keeps_its_bound(rng, prec, shape):
    m, k, n = shape
    bound = max(k, k / 4 + _ROUNDINGS[LIMBS[prec]])
    wide = lambda rng, prec, shape: hostile(rng, prec, shape, (-60, 60))  # noqa: E731
    for make in (uniform, hostile, wide):
        a, b = make(rng, prec, (m, k)), make(rng, prec, (k, n))
        check(multiply(a, b, "floating"), a, b, prec, bound)


@pytest.mark.parametrize("prec", [p for p in DOUBLE_PRECS if p != "d"])
@pytest.mark.parametrize("shape", [(9, 640, 25), (1, 1030, 3), (17, 513, 8)])
def test_mixed_kernel_keeps_its_bound(rng, prec, shape):
    m, k, n = shape
    a, b = uniform(rng, prec, (m, k)), uniform(rng, prec, (k, n))
    if not suffices(a, b):
        assert prec in ("da", "hd") or k < 1000, "the check is needlessly strict"
        a, b = np.abs(a[:1]) * 0.2 + 0.75, np.abs(b[:1]) * 0.2 + 0.75
        a = np.concatenate([a, a * 2.0**-55, np.zeros((LIMBS[prec] - 2, *a.shape[1:]))])
        b = np.concatenate([b, -b * 2.0**-55, np.zeros((LIMBS[prec] - 2, *b.shape[1:]))])
        assert suffices(a, b)
    check(multiply(a, b, "mixed"), a, b, prec)


@pytest.mark.parametrize("prec", [p for p in DOUBLE_PRECS if p != "d"])
def test_mixed_kernel_is_refused_where_it_would_fail(rng, prec):
    """Short sums, a small row entry by entry, structural zeros: the check looks at every entry."""
    a, b = uniform(rng, prec, (20, 2000)), uniform(rng, prec, (2000, 30))
    assert not suffices(a[..., :10], b[:, :, :10])
    graded = a.copy()
    graded[:, :, 13, 1:] *= 2.0**-30
    assert not suffices(graded, b)
    sparse = b.copy()
    sparse[:, :, 5:, 17] = 0
    assert not suffices(a, sparse)
    one, few = graded[:, :, 13:14], b[..., :2]
    with pytest.raises(AssertionError, match="eps"):
        check(multiply(one, few, "mixed"), one, few, prec, 1)


@pytest.mark.parametrize("prec", ["dd", "td", "qd"])
def test_the_check_for_the_mixed_kernel(rng, prec):
    """Scaling of rows and columns, zero rows, inf and nan do not count; all machines agree."""
    a, b = uniform(rng, prec, (20, 600)), uniform(rng, prec, (600, 30))
    assert suffices(a, b)
    a *= 2.0 ** rng.integers(-300, 300, (20, 1))
    b *= 2.0 ** rng.integers(-300, 300, 30)
    a[:, :, 3] = 0
    b[:, :, :, 4] = 0
    a[0, 0, 5, 9] = np.inf
    b[0, 0, 7, 29] = np.nan
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            assert suffices(a, b)
            assert suffices(np.asfortranarray(a), b.swapaxes(2, 3).copy().swapaxes(2, 3))


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_every_number_of_digits(rng, prec):
    """All digit counts round the same sum, so they agree to the last bits."""
    a, b = uniform(rng, prec, (5, 40)), uniform(rng, prec, (40, 9))
    for digits in range(LIMBS[prec] + 1, _native.max_digits + 1):
        check(multiply(a, b, "integer", digits), a, b, prec)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("spread", [20, 43, 60, 95, 120, 200, 400])
def test_graded_entries_get_more_digits(rng, prec, spread):
    a, b = uniform(rng, prec, (6, 12)), uniform(rng, prec, (12, 5))
    a *= 2.0 ** rng.integers(0, spread + 1, a.shape[1:])
    b *= 2.0 ** rng.integers(0, spread + 1, b.shape[1:])
    digits = _native.digits_for(LIMBS[prec], span_of(a, b))
    if digits <= _native.max_digits:
        check(multiply(a, b, "integer", digits), a, b, prec)
    check(multiply(a, b, "floating"), a, b, prec, max(12, 3 + _ROUNDINGS[LIMBS[prec]]))


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_digits_are_needed(rng, prec):
    """The rule for the number of digits is not idle: two fewer break the promise."""
    a, b = uniform(rng, prec, (1, 2)), uniform(rng, prec, (2, 1))
    a[:, 0, 0, 1] *= 2.0**-150
    b[:, 0, 0, 0] *= 2.0**-150
    span = span_of(a, b)
    assert 148 <= span <= 156
    digits = _native.digits_for(LIMBS[prec], span)
    assert digits == LIMBS[prec] + 4
    check(multiply(a, b, "integer", digits), a, b, prec)
    with pytest.raises(AssertionError, match="eps"):
        check(multiply(a, b, "integer", digits - 2), a, b, prec)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("span", [2, 30, 42, 43, 94, 95])
def test_span_of_a_known_matrix(prec, span):
    """One product at a chosen distance below the scales of its row and column."""
    n = LIMBS[prec]
    a, b = np.zeros((n, 1, 1, 3)), np.zeros((n, 1, 3, 1))
    a[0, 0, 0] = [1.5, 0, 1.5 * 2.0 ** -(span - 2)]
    b[0, 0, :, 0] = [0, 1.5, 1.5]
    assert span_of(a, b, -1000) == span
    assert span_of(a, b) == span
    assert _native.digits_for(n, span) == n + 1 + (span > ENOUGH) + (span > 94)


def test_quick_span_is_an_upper_bound(rng):
    for _ in range(20):
        m, k, n = rng.integers(1, 40, 3)
        a, b = hostile(rng, "dd", (m, k), (-30, 30)), hostile(rng, "dd", (k, n), (-30, 30))
        a[:, :, rng.random((m, k)) < 0.2] = 0
        b[:, :, rng.random((k, n)) < 0.2] = 0
        e = np.where(a[0, 0] == 0, -(10**6), np.frexp(a[0, 0])[1])[:, :, np.newaxis]
        f = np.where(b[0, 0] == 0, -(10**6), np.frexp(b[0, 0])[1])[np.newaxis]
        most = (e + f).max(axis=1)
        scales = e.max(axis=1) + f.max(axis=1)
        want = (scales - most)[most > -(10**5)].max(initial=-2) + 2
        exact = span_of(a, b, -1000)
        # scales have one bit more where a mantissa is close to one
        assert want <= exact <= want + 2 or exact == 0
        assert span_of(a, b) >= exact


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
def test_same_bits_everywhere(rng, prec, kernel):
    """Instruction sets, threads, batches and the orientation of the tile do not show."""
    if kernel == "mixed" and prec == "d":
        return
    digits = LIMBS[prec] + 2
    k = 40 if kernel == "floating" and LIMBS[prec] > 5 else 140
    a, b = hostile(rng, prec, (3, 29, k)), hostile(rng, prec, (3, k, 31))
    a, b = a[:, 0], b[:, 0]
    reference = multiply(a, b, kernel, digits)
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            assert_same_bits(multiply(a, b, kernel, digits), reference)
            one = multiply(a[:, 1:2], b[:, 1:2], kernel, digits)
            assert_same_bits(one, reference[:, 1:2])
            turned = multiply(b.swapaxes(2, 3), a.swapaxes(2, 3), kernel, digits)
            assert_same_bits(turned.swapaxes(2, 3), reference)


@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
def test_small_items_share_threads(rng, kernel):
    a, b = uniform(rng, "qd", (200, 6, 7))[:, 0], uniform(rng, "qd", (200, 7, 5))[:, 0]
    results = []
    for threads in THREADS:
        _native.set_num_threads(threads)
        results.append(multiply(a, b, kernel, 5))
    assert_same_bits(results[0], results[1])
    if kernel != "mixed":
        check(results[0][:, ::50], a[:, ::50], b[:, ::50], "qd", 7 + _ROUNDINGS[4])


@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
@pytest.mark.parametrize("prec", ["dd", "od"])
def test_any_strides(rng, prec, kernel):
    m, k, n = 10, 33, 27
    a, b = uniform(rng, prec, (m, k)), uniform(rng, prec, (k, n))
    want = multiply(a, b, kernel, LIMBS[prec] + 1)

    def behind(x, kind):
        if kind == "fortran":
            return np.asfortranarray(x)
        if kind == "reversed":
            return x[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
        if kind == "sliced":
            padded = np.full((x.shape[0] + 1, 2, 3 * x.shape[2], 2 * x.shape[3]), np.nan)
            padded[1:, :1, ::3, 1::2] = x
            return padded[1:, :1, ::3, 1::2]
        return x.swapaxes(2, 3).copy().swapaxes(2, 3)

    kinds = ["fortran", "reversed", "sliced", "transposed"]
    for p, q in itertools.product(kinds, kinds):
        assert_same_bits(multiply(behind(a, p), behind(b, q), kernel, LIMBS[prec] + 1), want)


@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
def test_a_broadcast_operand(rng, kernel):
    a, b = uniform(rng, "dd", (7, 5, 9))[:, 0], uniform(rng, "dd", (9, 4))
    many = np.broadcast_to(b, (2, 7, 9, 4))
    got = multiply(a, many, kernel, 3)
    for item in range(7):
        assert_same_bits(got[:, item : item + 1], multiply(a[:, item : item + 1], b, kernel, 3))


@pytest.mark.parametrize("kernel", ["integer", "floating"])
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_inputs_are_not_changed(rng, prec, kernel):
    a, b = uniform(rng, prec, (9, 10)), uniform(rng, prec, (10, 11))
    before = a.copy(), b.copy()
    multiply(a, b, kernel, LIMBS[prec] + 1)
    assert_same_bits(a, before[0])
    assert_same_bits(b, before[1])


@pytest.mark.parametrize("kernel", ["integer", "floating"])
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_empty_shapes(prec, kernel):
    n = LIMBS[prec]
    for batch, m, k, cols in [(1, 3, 0, 4), (0, 3, 2, 4), (2, 0, 3, 4), (2, 3, 4, 0), (0, 0, 0, 0)]:
        a, b = np.ones((n, batch, m, k)), np.ones((n, batch, k, cols))
        out = multiply(a, b, kernel, n + 1)
        assert out.shape == (n, batch, m, cols)
        assert not out.any()


# -- k of any length -----------------------------------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
@pytest.mark.parametrize(
    "k", [4096, *(pytest.param(k, marks=pytest.mark.slow) for k in (131071, 131072))]
)
def test_long_sums(rng, prec, k):
    a, b = uniform(rng, prec, (1, k)), uniform(rng, prec, (k, 1))
    exact = exact_products(a, b)
    check(by_integers(a, b), a, b, prec, exact=exact)
    check(multiply(a, b, "floating"), a, b, prec, exact=exact)
    if prec != "d":
        assert suffices(a, b)
        check(multiply(a, b, "mixed"), a, b, prec, exact=exact)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_chunks_of_k(rng, prec):
    """Longer than one packed chunk at any number of digits, with an odd rest."""
    a, b = uniform(rng, prec, (9, 1601)), uniform(rng, prec, (1601, 3))
    for digits in (LIMBS[prec] + 1, _native.max_digits):
        check(multiply(a, b, "integer", digits), a, b, prec)


@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
def test_131072_terms_of_integers(rng, kernel):
    """Longer than a chunk of packed values and than any block, with an exact result."""
    k = 131072
    a, b = np.zeros((2, 1, 2, k)), np.zeros((2, 1, k, 3))
    a[0, 0], b[0, 0] = rng.integers(-(2**20), 2**20, (2, k)), rng.integers(-(2**20), 2**20, (k, 3))
    out = multiply(a, b, kernel, 3)
    want = a[0, 0].astype(object) @ b[0, 0].astype(object)
    np.testing.assert_array_equal(out[0, 0].astype(object), want)
    assert not out[1].any()


@pytest.mark.slow
def test_a_million_terms(rng):
    """All ones: sums reach the ends of every counter."""
    for prec in ("dd", "od"):
        n = LIMBS[prec]
        a, b = np.zeros((n, 1, 1, 10**6)), np.zeros((n, 1, 10**6, 1))
        a[0], b[0] = 1 - 2.0**-53, 1 - 2.0**-53
        a[1], b[1] = 2.0**-54, -(2.0**-54)
        exact = exact_products(a, b)
        for digits in (n + 1, _native.max_digits):
            check(multiply(a, b, "integer", digits), a, b, prec, exact=exact)
        check(multiply(a, b, "floating"), a, b, prec, exact=exact)
        check(multiply(a, b, "mixed"), a, b, prec, exact=exact)
