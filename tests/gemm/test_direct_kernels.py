"""The native kernels of the direct product against exact integers."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest

from mdla import _native
from mdla.core.precision import PRECISIONS
from mdla.gemm.direct import _ROUNDINGS
from tests.oracle import (
    assert_close,
    assert_normalised,
    assert_same_bits,
    exact_abs_matmul,
    exact_matmul,
)
from tests.registry import DOUBLE_PRECS, THREADS, adversarial, each_level
from tests.test_native_fuzz import guarded

LIMBS = {name: PRECISIONS[name].limbs for name in DOUBLE_PRECS}
# One more and one less than the tile of 8 x 24, and than a block of 64 packed values.
SHAPES = [
    (1, 1, 1),
    (3, 5, 2),
    (4, 63, 8),
    (8, 64, 24),
    (9, 65, 25),
    (17, 2, 7),
    (1, 130, 3),
    (2, 9, 50),
]
ENOUGH = _native.quick_span


def uniform(rng, prec, shape):
    """Planes (N, 1, *shape) of numbers whose limbs are all filled."""
    x = np.empty((LIMBS[prec], 1, *shape))
    x[0] = rng.uniform(-1, 1, x.shape[1:])
    for i in range(1, len(x)):
        x[i] = np.spacing(np.abs(x[i - 1])) * rng.uniform(-0.5, 0.5, x.shape[1:])
    return x


def hostile(rng, prec, shape, exponents=(-8, 8)):
    """Planes (N, 1, *shape) of adversarial numbers."""
    count = int(np.prod(shape))
    return adversarial(rng, prec, count, exponents)[0].reshape(LIMBS[prec], 1, *shape)


def multiply(a, b, kernel, digits=0):
    out = np.full((a.shape[0], a.shape[1], a.shape[2], b.shape[3]), np.nan)
    _native.matmul_direct(out, a, b, kernel, digits)
    return out


def by_integers(a, b):
    """The integer kernel with the digits that the span asks for."""
    return multiply(a, b, "integer", _native.digits_for(a.shape[0], span_of(a, b)))


def span_of(a, b, enough=ENOUGH):
    return max(_native.exponent_span(a, b, enough))


def suffices(a, b):
    return all(_native.mixed_suffices(a, b, a.shape[3]))


def exact_products(a, b):
    """Exact a b and |a| |b| of each item of the batch."""
    items = [
        (x[np.newaxis, :, i], y[np.newaxis, :, i]) for x, y in [(a, b)] for i in range(a.shape[1])
    ]
    return [(exact_matmul(x, y), exact_abs_matmul(x, y)) for x, y in items]


def check(out, a, b, prec, terms=None, exact=None):
    k = a.shape[3] if terms is None else terms
    for item, (want, scale) in enumerate(exact or exact_products(a, b)):
        result = out[np.newaxis, :, item]
        assert_close(result, want, prec, k, scale=scale)
        assert_normalised(result)


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


# -- zeros, cancellation, the ends of the range --------------------------------------------------


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_what_is_zero_stays_zero(rng, prec):
    """Zero rows and columns, structural zeros, and exact cancellation give exact zeros."""
    a, b = uniform(rng, prec, (6, 8)), uniform(rng, prec, (8, 7))
    a[:, :, 2] = 0
    b[:, :, :, 3] = -0.0
    a[:, :, 4, ::2] = 0  # row 4 and column 5 never meet
    b[:, :, 1::2, 5] = 0
    a[:, :, 5, 4:] = a[:, :, 5, :4]
    b[:, :, 4:, 6] = -b[:, :, :4, 6]
    for kernel in ("integer", "floating"):
        out = multiply(a, b, kernel, LIMBS[prec] + 1)
        for zero in (out[:, :, 2], out[..., 3], out[:, :, 4, 5]):
            assert not zero.any()
            assert not np.signbit(zero).any()
        check(out, a, b, prec, 8 + _ROUNDINGS[LIMBS[prec]])
    assert not multiply(a, b, "integer", LIMBS[prec] + 1)[:, :, 5, 6].any()


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "floating"])
def test_exact_results_are_exact(rng, prec, kernel):
    """Integers, and the identity times numbers of about one size."""
    limbs = LIMBS[prec]
    a, b = np.zeros((limbs, 1, 30, 50)), np.zeros((limbs, 1, 50, 9))
    a[0, 0], b[0, 0] = rng.integers(-1000, 1000, (30, 50)), rng.integers(-1000, 1000, (50, 9))
    out = multiply(a, b, kernel, limbs + 1)
    np.testing.assert_array_equal(out[0], a[0] @ b[0])
    assert not out[1:].any()
    if limbs > 8:
        return  # the last limbs lie beyond the digits
    eye = np.zeros((limbs, 1, 50, 50))
    eye[0, 0] = np.eye(50)
    for x in (uniform(rng, prec, (50, 9)), b):
        x = x * 2.0 ** rng.integers(-8, 0, (50, 9))
        assert_same_bits(multiply(eye, x, kernel, limbs + 1), x + 0.0)
        assert_same_bits(multiply(x.swapaxes(2, 3), eye, kernel, limbs + 1), x.swapaxes(2, 3) + 0.0)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_neighbours_that_cancel_are_exact(rng, prec):
    """x y - y x next to each other is zero in all kernels: A^H A has a real diagonal."""
    k = 71
    for make in (uniform, hostile):
        x, y = make(rng, prec, (1, k)), make(rng, prec, (1, k))
        a = np.stack([x, -y], axis=-1).reshape(LIMBS[prec], 1, 1, 2 * k)
        b = np.stack([y, x], axis=-1).reshape(LIMBS[prec], 1, 2 * k, 1)
        assert not multiply(a, b, "integer", LIMBS[prec] + 1).any()
        assert not multiply(a, b, "floating").any()
        if prec == "dd" or (make is uniform and prec != "d"):
            assert not multiply(a, b, "mixed").any()


@pytest.mark.parametrize("prec", [p for p in DOUBLE_PRECS if p != "d"])
def test_the_floating_kernel_sees_through_cancellation(rng, prec):
    """Leading sums that cancel leave what is below them."""
    limbs = LIMBS[prec]
    x = hostile(rng, prec, (1, 4), (-3, 3))
    a, b = np.zeros((limbs, 1, 1, 9)), np.zeros((limbs, 1, 9, 1))
    b[0] = 1
    a[..., :4], a[..., 4:8] = x, -x
    a[0, ..., 8] = 2.0**-40
    out = multiply(a, b, "floating")
    assert out[0, 0, 0, 0] == 2.0**-40
    check(out, a, b, prec)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "floating"])
def test_scaling_by_powers_of_two_is_exact(rng, prec, kernel):
    a, b = uniform(rng, prec, (5, 20)), uniform(rng, prec, (20, 6))
    want = multiply(a, b, kernel, LIMBS[prec] + 1)
    rows = 2.0 ** (40 * np.arange(5))[:, np.newaxis]
    columns = 2.0 ** (40 * np.arange(6)[::-1])
    got = multiply(a * rows, b * columns, kernel, LIMBS[prec] + 1)
    assert_same_bits(got, want * rows * columns)


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_the_integer_kernel_at_the_ends_of_the_range(rng, prec):
    """Scaling must neither overflow nor lose bits of tiny entries."""
    a, b = uniform(rng, prec, (2, 30)), uniform(rng, prec, (30, 3))
    want = multiply(a, b, "integer", LIMBS[prec] + 1)
    digits = LIMBS[prec] + 1
    tiny = 2.0 ** (54 * LIMBS[prec] - 960)
    for x, y in [(2.0**1000, 2.0**-100), (tiny, 1 / tiny), (2.0**510, 2.0**500)]:
        assert_same_bits(multiply(a * x, b * y, "integer", digits), want * (x * y))


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "floating"])
def test_subnormal_entries(prec, kernel):
    n = LIMBS[prec]
    a, b = np.zeros((n, 1, 1, 3)), np.zeros((n, 1, 3, 2))
    a[0, 0, 0] = [5e-324, -1e-323, 1e-310]
    b[0, 0, :, 0] = [2.0**60, 2.0**60, 0]
    b[0, 0, :, 1] = [0.25, 0, 0]
    out = multiply(a, b, kernel, n + 1)
    assert out[0, 0, 0, 0] == -(2.0**-1014)
    assert abs(out[0, 0, 0, 1]) <= 5e-324
    assert not out[1:].any()


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "floating"])
def test_overflow_is_infinity_without_a_tail(rng, prec, kernel):
    a, b = uniform(rng, prec, (3, 5)), uniform(rng, prec, (5, 4))
    a, b = np.abs(a), np.abs(b)
    a[1:] = b[1:] = 0
    a[:, :, 1] *= 2.0**1000
    b[:, :, :, 2] *= 2.0**1000
    out = multiply(a, b, kernel, LIMBS[prec] + 1)
    assert out[0, 0, 1, 2] == np.inf
    assert not out[1:, 0, 1, 2].any()
    rest = np.isfinite(out[0, 0])
    rest[1, 2] = True
    assert rest.all()


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_special_entries(rng, prec, kernel, value):
    """Their rows and columns are those of IEEE arithmetic, all others keep their bits."""
    if kernel == "mixed" and prec == "d":
        return
    digits = LIMBS[prec] + 1
    a, b = uniform(rng, prec, (10, 12)), uniform(rng, prec, (12, 30))
    b[:, :, 4, 7:9] = 0
    plain = multiply(a, b, kernel, digits)
    a[:, 0, 3, 4], b[:, 0, 2, 25] = 0, 0
    a[0, 0, 3, 4] = b[0, 0, 2, 25] = value
    out = multiply(a, b, kernel, digits)
    with np.errstate(invalid="ignore"):
        want = a[0, 0] @ b[0, 0]
    touched = np.zeros(want.shape, dtype=bool)
    touched[3], touched[:, 25] = True, True
    np.testing.assert_array_equal(out[0, 0][touched], want[touched])
    assert not out[1:, 0][:, touched].any()
    assert_same_bits(out[:, 0][:, ~touched], plain[:, 0][:, ~touched])


def test_special_entries_in_every_place(rng):
    """More of them than tiles, in both operands, at every level and number of threads."""
    a, b = uniform(rng, "qd", (20, 40)), uniform(rng, "qd", (40, 50))
    for x in (a, b):
        where = rng.random(x.shape[1:]) < 0.01
        x[:, where] = 0
        x[0, where] = rng.choice([np.inf, -np.inf, np.nan, 1e300], int(where.sum()))
    with np.errstate(invalid="ignore", over="ignore"):
        want = a[0, 0] @ b[0, 0]
    special = ~np.isfinite(want)
    for _level in each_level():
        for kernel in ("integer", "floating"):
            out = multiply(a, b, kernel, 6)
            np.testing.assert_array_equal(out[0, 0][special], want[special])
            assert np.isfinite(out[0, 0][~special]).all()


@pytest.mark.parametrize("kernel", ["integer", "mixed", "floating"])
@pytest.mark.parametrize("limbs", [2, 5, 16])
def test_memory_beyond_the_arrays_is_not_touched(rng, kernel, limbs):
    """Arrays end at an unmapped page; a kernel that reads or writes past one is killed."""
    for m, k, n in [(1, 1, 1), (8, 3, 24), (7, 65, 25), (9, 128, 8), (24, 9, 8), (3, 64, 48)]:
        x, y = (
            guarded(rng.uniform(-1, 1, shape)) for shape in [(limbs, 1, m, k), (limbs, 1, k, n)]
        )
        out = guarded(np.zeros((limbs, 1, m, n)))
        for _level in each_level():
            _native.matmul_direct(out, x, y, kernel, limbs + 1)
            _native.exponent_span(x, y, -1000)
            _native.mixed_suffices(x, y, k)


def test_an_interrupt_ends_a_long_product(rng):
    """Signals are looked for between blocks."""

    def alarm(signum, frame):
        raise KeyboardInterrupt

    a = np.broadcast_to(uniform(rng, "hd", (1, 1)), (16, 1, 3000, 3000))
    out = np.empty((16, 1, 3000, 3000))
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            _native.matmul_direct(out, a, a, "integer", 24)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- bad calls -----------------------------------------------------------------------------------


def test_bad_calls_raise():
    f = np.ones
    call = _native.matmul_direct
    good = f((2, 1, 3, 4)), f((2, 1, 4, 5))
    out = f((2, 1, 3, 5))
    bad = [
        (out, *good, "integers", 3),
        (out[:1], good[0][:1], good[1][:1], "mixed", 0),
        (out, *good, "integer", 2),
        (out, *good, "integer", 25),
        (out, *good, "integer", -1),
        (f((2, 1, 3, 4)), *good, "floating", 0),
        (f((2, 1, 3, 10))[..., ::2], *good, "floating", 0),
        (out, good[1], good[0], "floating", 0),
        (f((7, 1, 3, 5)), f((7, 1, 3, 4)), f((7, 1, 4, 5)), "floating", 0),
        (f((0, 1, 3, 5)), f((0, 1, 3, 4)), f((0, 1, 4, 5)), "floating", 0),
        (out.astype(np.float32), *good, "floating", 0),
        (out, good[0].astype(np.float32), good[1], "floating", 0),
        (out[0], good[0][0], good[1][0], "floating", 0),
        (np.broadcast_to(f(1), (2, 1, 3, 5)), *good, "floating", 0),
    ]
    for arguments in bad:
        with pytest.raises((ValueError, TypeError, BufferError)):
            call(*arguments)
    for probe in (lambda a, b: _native.exponent_span(a, b, 0), suffices):
        with pytest.raises(ValueError, match="direct product"):
            probe(good[1], good[0])
