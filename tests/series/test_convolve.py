# SPDX-License-Identifier: BSD-3-Clause
"""The native truncated product: errors, the same bits everywhere, infinities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.core.precision import precision
from tests.oracle import assert_normalised, error_in_eps, exact
from tests.registry import DOUBLE_PRECS, THREADS, each_level

KINDS = pytest.mark.parametrize("complex_", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=str)


def convolve(a, b, length):
    """Planes of the first coefficients of a product of planes (c, N, batch, ...)."""
    parts, limbs = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    out = np.full((parts, limbs, *a.shape[2:-1], length), np.nan)
    _native.series_convolve(out, a, b)
    return out


def random_series(rng, prec, shape, is_complex, decay=0):
    """Coefficients in (-1, 1), times 2^(-decay k)."""
    x = 2 * mdla.random.uniform(shape, prec=prec, rng=rng) - 1
    if is_complex:
        x = x + mdla.array(1j) * (2 * mdla.random.uniform(shape, prec=prec, rng=rng) - 1)
    return x.astype(prec).planes * 2.0 ** (-decay * np.arange(shape[-1]))


def multiply(x, y):
    if isinstance(x, tuple) or isinstance(y, tuple):
        (a, b), (c, d) = (v if isinstance(v, tuple) else (v, 0) for v in (x, y))
        return a * c - b * d, a * d + b * c
    return x * y


def add(x, y):
    return tuple(u + v for u, v in zip(x, y, strict=True)) if isinstance(x, tuple) else x + y


def size(x):
    """Between the modulus and its square root of two times."""
    return abs(x[0]) + abs(x[1]) if isinstance(x, tuple) else abs(x)


def exact_product(a, b, length):
    """Exact coefficients of one product, and the sums of the moduli of their terms."""
    x, y = exact(a).tolist(), exact(b).tolist()
    zero = (Fraction(0), Fraction(0)) if len(a) == 2 or len(b) == 2 else Fraction(0)
    values, sizes = [], []
    for k in range(length):
        value, total = zero, Fraction(0)
        for i in range(max(0, k - len(y) + 1), min(k, len(x) - 1) + 1):
            value = add(value, multiply(x[i], y[k - i]))
            total += size(x[i]) * size(y[k - i])
        values.append(value)
        sizes.append(total)
    return values, sizes


@KINDS
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("decay", [0, 3, -5])
def test_errors(prec, complex_, decay, rng):
    for la, lb, length, batch in [(1, 1, 1, 1), (17, 17, 17, 2), (4, 9, 12, 9), (20, 3, 14, 1)]:
        a = random_series(rng, prec, (batch, la), complex_[0], decay)
        b = random_series(rng, prec, (batch, lb), complex_[1], -decay)
        out = convolve(a, b, length)
        assert_normalised(out)
        for p in {0, batch - 1}:
            values, sizes = exact_product(a[:, :, p], b[:, :, p], length)
            errors = error_in_eps(out[:, :, p], values, prec, [s or 1 for s in sizes])
            assert (errors <= np.arange(length) + 2).all()


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_spread_exponents(prec, rng):
    """Coefficients of any size side by side: the bound is that of each coefficient by itself."""
    for n, batch in ((12, 1), (12, 9), (33, 1)):
        a, b = (
            random_series(rng, prec, (batch, n), False)
            * 2.0 ** rng.integers(-90, 90, (batch, n))
            * (rng.random((batch, n)) < 0.8)
            for _ in range(2)
        )
        out = convolve(a, b, n)
        values, sizes = exact_product(a[:, :, -1], b[:, :, -1], n)
        errors = error_in_eps(out[:, :, -1], values, prec, [s or 1 for s in sizes])
        assert (errors <= np.arange(n) + 2).all()
        np.testing.assert_array_equal(out[:, :, :1], convolve(a[:, :, :1], b[:, :, :1], n))


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_cancellation(prec, rng):
    """(1 - t)^-1 (1 - t) and z conj(z): what vanishes is zero, exactly."""
    ones = mdla.ones((1, 12), prec=prec).planes
    minus = mdla.array([[1, -1]], prec=prec).planes
    out = convolve(ones, minus, 12)
    assert (out[0, 0, 0] == [1] + 11 * [0]).all()
    assert (out[:, 1:] == 0).all()
    z = random_series(rng, prec, (1, 1), True)
    conjugate = np.stack([z[0], -z[1] + 0.0])
    assert (convolve(z, conjugate, 1)[1] == 0).all()


@KINDS
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_bits(prec, complex_, rng):
    """A series alone, in any batch, at every level, with any number of threads."""
    for n in (1, 8, 9, 67, 130) if precision(prec).limbs < 8 else (1, 9, 67):
        a = random_series(rng, prec, (13, n), complex_[0])
        b = random_series(rng, prec, (13, n), complex_[1])
        want = convolve(a, b, n)
        for p in (0, 7, 12):
            one = convolve(a[:, :, p : p + 1], b[:, :, p : p + 1], n)
            np.testing.assert_array_equal(one[:, :, 0], want[:, :, p])
        few = convolve(a[:, :, 3:8], b[:, :, 3:8], n)
        np.testing.assert_array_equal(few, want[:, :, 3:8])
        # Zeros that are written and zeros that are not there.
        short = a.copy()
        short[..., n // 3 + 1 :] = 0
        np.testing.assert_array_equal(
            convolve(short, b, n), convolve(short[..., : n // 3 + 1], b, n)
        )
        np.testing.assert_array_equal(
            convolve(b, short, n), convolve(b, short[..., : n // 3 + 1], n)
        )
    for count in THREADS:
        mdla.set_num_threads(count)
        for _ in each_level():
            np.testing.assert_array_equal(convolve(a, b, n), want)
            one = convolve(a[:, :, :1], b[:, :, :1], n)
            np.testing.assert_array_equal(one, want[:, :, :1])


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_strides_and_batches(prec, rng):
    a = random_series(rng, prec, (3, 4, 10), False)
    b = random_series(rng, prec, (3, 4, 10), False)
    want = convolve(a, b, 10)
    np.testing.assert_array_equal(
        convolve(np.asfortranarray(a), b[:, :, ::-1][:, :, ::-1], 10), want
    )
    repeated = np.broadcast_to(b[:, :, 1:2, 2:3], b.shape)
    alone = convolve(a, np.ascontiguousarray(repeated), 10)
    np.testing.assert_array_equal(convolve(a, repeated, 10), alone)
    assert convolve(a[:, :, :0], b[:, :, :0], 10).shape[2:] == (0, 4, 10)
    assert (convolve(a[..., :0], b, 10) == 0).all()
    assert convolve(a, b, 0).size == 0


@pytest.mark.parametrize("prec", DOUBLE_PRECS[1:])
def test_fewer_limbs(prec, rng):
    a, b = random_series(rng, prec, (9, 6), False), random_series(rng, "d", (9, 6), False)
    lifted = np.zeros_like(a)
    lifted[:, :1] = b
    np.testing.assert_array_equal(convolve(a, b, 6), convolve(a, lifted, 6))
    np.testing.assert_array_equal(convolve(b, a, 6), convolve(lifted, a, 6))


@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_not_finite(prec, batch):
    """What is not finite spreads to the coefficients behind it, by IEEE arithmetic."""
    limbs = precision(prec).limbs

    def series(leading):
        planes = np.zeros((1, limbs, batch, len(leading)))
        planes[0, 0] = leading
        return planes

    def check(a, b, want):
        for x, y in ((a, b), (b, a)):
            out = convolve(series(x), series(y), len(want))
            np.testing.assert_array_equal(out[0, 0], np.broadcast_to(want, (batch, len(want))))
            assert (out[0, 1:] == 0).all()

    inf, nan = np.inf, np.nan
    check([1, 2, inf, 1], [3, 1, 1, 1], [3, 7, inf, inf])
    check([1, 2, nan, 1], [3, 1, 1, 1], [3, 7, nan, nan])
    check([1, inf, -inf, 1], [1, 1, 1, 1], [1, inf, nan, nan])
    check([1, 1, inf], [0, 1, 1], [0, 1, nan])
    check([1e200, 1], [1e200, 1], [inf, 2e200])
    check([-1e200, 1], [1e200, 1], [-inf, 0])
