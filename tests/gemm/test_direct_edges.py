# SPDX-License-Identifier: BSD-3-Clause
"""The native kernels of the direct product: zeros, range, special values, bad calls."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from mdla import _native
from mdla.gemm.direct import _ROUNDINGS
from tests.gemm.kernels import LIMBS, check, hostile, multiply, suffices, uniform
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, each_level
from tests.test_native_fuzz import guarded

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
    if limbs > 5:
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
