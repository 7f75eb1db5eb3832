# SPDX-License-Identifier: BSD-3-Clause
"""Reductions of arrays: axes as NumPy's, accuracy, empty axes, specials, the same bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from tests.oracle import assert_close, assert_same_bits, exact
from tests.registry import LENGTHS, PRECS, SHAPES, adversarial, each_level

AXES = [None, 0, 1, -1, (0, 1), (0, 2), (-1, 0), ()]


def integers(rng, shape, prec, complex_=False):
    """Small integers, whose sums and products float64 has exactly."""
    x = rng.integers(-3, 4, shape).astype(float)
    if complex_:
        x = x + 1j * rng.integers(-3, 4, shape)
    return x, mdla.array(x, prec=prec)


def values_of(result):
    return result.to_numpy() if isinstance(result, mdla.MDArray) else result


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_axes(prec, axis, keepdims, complex_, rng):
    x, a = integers(rng, (2, 3, 4), prec, complex_)
    names = ["sum", "mean", "any", "all", "count_nonzero"]
    names += [] if complex_ else ["prod", "min", "max"]
    for name in names:
        want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        results = [getattr(m, name)(a, axis=axis, keepdims=keepdims) for m in (mdla, np)]
        if name != "count_nonzero":
            results.append(getattr(a, name)(axis, keepdims=keepdims))
        for got in map(values_of, results):
            assert got.shape == np.shape(want)
            assert np.allclose(got, want, rtol=1e-12)
    norms = mdla.norm2(a, axis, keepdims=keepdims)
    want = np.sqrt((abs(x) ** 2).sum(axis=axis, keepdims=keepdims))
    assert norms.shape == np.shape(want)
    assert not norms.iscomplex
    assert np.allclose(norms.to_numpy(), want)


def test_bad_axes(prec):
    a = mdla.ones((2, 3), prec)
    for name in ("sum", "prod", "min", "max", "mean", "any", "norm2", "cumsum", "argmin"):
        with pytest.raises(ValueError, match="axis 2 is out of bounds"):
            getattr(mdla, name)(a, 2)
    with pytest.raises(ValueError, match="repeated axis"):
        a.sum((0, 0))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", PRECS)
def test_sum_is_accurate(name, length, rng):
    a = mdla.MDArray(adversarial(rng, name, length))
    values = exact(a)
    size = sum(map(abs, values), Fraction(0)) or 1
    bound = math.log2(max(length, 2)) + 32 * math.ceil(math.log(max(length, 2), 4096))
    assert_close(a.sum(), sum(values, Fraction(0)), name, bound, scale=size)


@pytest.mark.parametrize("name", PRECS)
def test_dot_and_norm_are_accurate(name, rng):
    for length in (1, 2, 129, 1000):
        a = mdla.MDArray(adversarial(rng, name, length, exponents=(-30, 30), lowest=-250))
        b = mdla.MDArray(adversarial(rng, name, length, exponents=(-30, 30), lowest=-250))
        products = exact(a) * exact(b)
        assert_close(a.dot(b), products.sum(), name, length, scale=abs(products).sum())
        norm = mdla.norm2(a)
        eps = mdla.precision(name).eps
        squares = (exact(a) ** 2).sum()
        assert abs(norm.item() ** 2 - squares) <= 2 * (length + 2) * eps * squares


def test_bits_depend_neither_on_threads_nor_on_the_instruction_set(prec, rng):
    a = mdla.random.normal((3, 9001), prec=prec, rng=rng)
    z = mdla.random.normal((200, 40), prec=prec, rng=rng, complex=True)

    def results():
        out = [a.sum(1), a.sum(), z.sum(0), z.sum(1), a.prod(1), mdla.norm2(a), mdla.norm2(z, 0)]
        return [*out, a[0].dot(a[1]), z.cumsum(1), z[0].dot(z[1]), a.max(1), a.var(1)]

    first = results()
    for threads in (1, 2, 5):
        _native.set_num_threads(threads)
        for _ in each_level():
            for x, y in zip(first, results(), strict=True):
                assert_same_bits(x, y)


def test_layout_does_not_matter(prec, rng):
    a = mdla.random.normal((30, 130), prec=prec, rng=rng)
    for axis in (0, 1, None):
        for name in ("sum", "prod", "max"):
            want = getattr(a, name)(axis)
            other = getattr(a.T.copy().T, name)(axis)
            assert_same_bits(want, other)
    assert_same_bits(a.sum(1)[3], a[3].sum())
    assert_same_bits(a.sum(0)[3], a[:, 3].sum())
    assert_same_bits(a[::-1, ::-1].sum(0), a[::-1, ::-1].copy().sum(0))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_empty(prec, shape):
    a = mdla.zeros(shape, prec)
    for axis in (None, 0, -1):
        assert np.array_equal(a.sum(axis).to_numpy(), np.zeros(shape).sum(axis))
        assert np.array_equal(a.prod(axis).to_numpy(), np.ones(shape).prod(axis))
        assert np.array_equal(mdla.norm2(a, axis).to_numpy(), np.zeros(shape).sum(axis))
        assert np.array_equal(a.any(axis), np.zeros(shape).any(axis))
        assert np.array_equal(a.all(axis), np.zeros(shape).all(axis))
        assert a.cumsum(axis).shape == np.zeros(shape).cumsum(axis).shape
        if axis is None or shape[axis] == 0:
            for name in ("min", "max", "argmin", "argmax"):
                with pytest.raises(ValueError, match="no entries"):
                    getattr(a, name)(axis)
    assert math.isnan(float(a.mean()))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(prec, shape, rng):
    x, a = integers(rng, shape, prec)
    assert a.sum().item() == x.sum()
    assert a.sum(keepdims=True).shape == (1,) * len(shape)
    for axis in range(len(shape)):
        assert np.array_equal(a.sum(axis).to_numpy(), x.sum(axis))
        assert np.array_equal(a.cumsum(axis).to_numpy(), x.cumsum(axis))
        assert np.array_equal(a.cumprod(axis).to_numpy(), x.cumprod(axis))
        if x.shape[axis]:
            for name in ("argmin", "argmax"):
                assert np.array_equal(getattr(a, name)(axis), getattr(x, name)(axis))
                got, want = (getattr(np, name)(y, axis=axis, keepdims=True) for y in (a, x))
                assert np.array_equal(got, want)


@pytest.mark.parametrize(
    "x",
    [
        [1, np.nan, 2],
        [np.inf, 1, -np.inf],
        [np.inf, 1, 2],
        [-np.inf, np.nan, 1],
        [0.0, -0.0],
        [np.nan],
    ],
    ids=str,
)
def test_specials(prec, x):
    a, v = mdla.array(x, prec=prec), np.array(x)
    with np.errstate(all="ignore"):
        for name in ("sum", "prod", "min", "max"):
            want = getattr(v, name)()
            assert np.array_equal(getattr(a, name)().to_numpy(), want, equal_nan=True)
        assert (a.argmin(), a.argmax()) == (v.argmin(), v.argmax())
        norm = np.linalg.norm(v)
        assert np.array_equal(mdla.norm2(a).to_numpy(), norm, equal_nan=True)
        assert np.array_equal(a.cumsum().to_numpy(), v.cumsum(), equal_nan=True)


def test_norm2_neither_overflows_nor_underflows(prec):
    info = mdla.finfo(prec)
    three, four = mdla.array(3, prec=prec), mdla.array(4, prec=prec)
    for exponent in (int(math.log2(info.max)) - 3, int(math.log2(info.tiny)) + 2, 0):
        a = mdla.ldexp(mdla.stack([three, four]), exponent)
        assert_close(mdla.norm2(a), 5 * Fraction(2) ** exponent, prec, 2)
        assert mdla.norm(a) == mdla.norm2(a + 0j)
        # The bits are those of the unscaled vector.
        b = mdla.array(["1/3", "1/7"], prec=prec)
        if exponent > 0:
            scaled = mdla.norm2(mdla.ldexp(b, exponent))
            assert_same_bits(scaled, mdla.ldexp(mdla.norm2(b), exponent))
    assert_close(mdla.norm2(mdla.array([info.max, 1], prec=prec)), info.max, prec, 2)
    assert mdla.norm2(mdla.zeros(3, prec)) == 0
    smallest = mdla.array([info.smallest_subnormal], prec=prec)
    assert mdla.norm2(smallest) == info.smallest_subnormal


def test_large_cancellation_survives():
    a = mdla.array([1e100, 1, -1e100], prec="qd")
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2]):
        assert a[order].sum() == 1
        assert a[order].dot(mdla.ones(3, "qd")) == 1
    assert mdla.dot(a.astype("dd"), [1, 1, 1]) == 1
    assert mdla.dot(a.astype("dd"), [1, 1, 1]).prec == "dd"


def test_statistics(prec, rng):
    x, a = integers(rng, (6, 4), prec)
    z, b = integers(rng, (6, 4), prec, complex_=True)
    for v, c in ((x, a), (z, b)):
        for axis in (None, 0, 1):
            assert np.allclose(c.mean(axis).to_numpy(), v.mean(axis), rtol=1e-6)
            assert np.allclose(c.var(axis).to_numpy(), v.var(axis), rtol=1e-6)
            assert np.allclose(np.std(c, axis, ddof=1).to_numpy(), v.std(axis, ddof=1), rtol=1e-6)
            assert not c.var(axis).iscomplex
    third = mdla.array([0, 0, 1], prec=prec).mean()
    assert third == mdla.array(1, prec=prec) / 3


def test_complex_has_no_order(prec):
    z = mdla.array([1j, 2], prec=prec)
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(TypeError, match="no order"):
            getattr(z, name)()


def test_running_sums_are_accurate(prec, rng):
    a = mdla.MDArray(adversarial(rng, prec, 300))
    values = exact(a)
    sums, sizes = np.cumsum(values), np.cumsum(abs(values))
    assert_close(a.cumsum(), sums, prec, 20, scale=sizes)
    b = mdla.array(np.linspace(0.9, 1.1, 50), prec=prec)
    assert_close(b.cumprod(), np.cumprod(exact(b)), prec, 50)
