# SPDX-License-Identifier: BSD-3-Clause
"""NumPy calls mdla, or raises TypeError: nothing drops limbs without a word."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg

import mdla
from mdla.core.protocols import FUNCTIONS, implements, lookup
from tests.oracle import assert_same_bits

THIRD = ["1/3", "2/3", "-1/7"]


def third(prec="qd"):
    return mdla.array(THIRD, prec=prec)


# -- ufuncs --------------------------------------------------------------------------------------

UNARY = {
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.fabs: abs,
    np.sqrt: mdla.sqrt,
    np.square: lambda a: a * a,
    np.reciprocal: lambda a: 1 / a,
    np.conjugate: mdla.conjugate,
    np.sign: mdla.sign,
    np.floor: mdla.floor,
    np.ceil: mdla.ceil,
    np.trunc: mdla.trunc,
    np.rint: mdla.rint,
}
BINARY = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.mod: operator.mod,
    np.minimum: mdla.minimum,
    np.maximum: mdla.maximum,
}
COMPARE = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_unary_ufuncs(prec, ufunc):
    a = abs(third(prec)) + 1
    got = ufunc(a)
    assert got.prec == prec
    assert_same_bits(got, UNARY[ufunc](a))


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_binary_ufuncs(prec, ufunc):
    a = third(prec)
    for b in (a[::-1], 2, 0.5, np.ones(3, np.float32), Fraction(1, 3), mdla.array(5, prec=prec)):
        assert_same_bits(ufunc(a, b), BINARY[ufunc](a, b))
        assert_same_bits(ufunc(b, a), BINARY[ufunc](b, a))
        assert ufunc(b, a).prec == prec


@pytest.mark.parametrize("ufunc", COMPARE, ids=lambda f: f.__name__)
def test_comparing_ufuncs(prec, ufunc):
    a = third(prec)
    for b in (a[::-1], 0.5, np.array([0.25, 1, -1]), Fraction(1, 3)):
        for x, y in ((a, b), (b, a)):
            got = ufunc(x, y)
            assert type(got) is np.ndarray
            assert got.dtype == bool
            assert np.array_equal(got, COMPARE[ufunc](x, y))


def test_other_ufuncs(prec):
    a = third(prec)
    q, r = np.divmod(a, 2)
    assert (q == a // 2).all()
    assert (r == a % 2).all()
    assert np.array_equal(np.isfinite(a), [True] * 3)
    assert np.array_equal(np.isnan(a), [False] * 3)
    assert np.array_equal(np.isinf(a / 0), [True] * 3)
    assert np.array_equal(np.signbit(a), [False, False, True])
    assert_same_bits(np.power(a, 3), a**3)
    assert_same_bits(np.ldexp(a, 3), mdla.ldexp(a, 3))
    assert_same_bits(np.vecdot(a, a), mdla.vecdot(a, a))


def test_ndarray_on_the_left(prec):
    a = third(prec)
    x = np.array([1.0, 2.0, 4.0])
    for op in (operator.add, operator.sub, operator.mul, operator.truediv):
        got = op(x, a)
        assert isinstance(got, mdla.MDArray)
        assert got.prec == ("d" if prec == "ds" else prec)
        assert_same_bits(got, op(mdla.array(x, prec="d"), a))
    assert isinstance(np.float64(2) * a, mdla.MDArray)
    assert isinstance(np.int64(2) - a, mdla.MDArray)
    assert isinstance(np.float32(2) / a[0], mdla.MDArray)
    assert isinstance(np.array(2.0) + a, mdla.MDArray)
    assert np.array_equal(x > a, [True] * 3)
    x2 = x.copy()
    with pytest.raises(TypeError, match="drop limbs"):
        x2 += a
    assert np.array_equal(x2, x)


def test_reduce_and_accumulate(prec):
    a = mdla.array([["1/3", 2], [4, "1/7"]], prec=prec)
    for ufunc, name in (
        (np.add, "sum"),
        (np.multiply, "prod"),
        (np.minimum, "min"),
        (np.maximum, "max"),
    ):
        assert_same_bits(ufunc.reduce(a), getattr(a, name)(0))
        assert_same_bits(ufunc.reduce(a, axis=1), getattr(a, name)(1))
        assert_same_bits(
            ufunc.reduce(a, axis=None, keepdims=True), getattr(mdla, name)(a, keepdims=True)
        )
        assert_same_bits(ufunc.reduce(a, 1), getattr(a, name)(1))
    assert_same_bits(np.add.accumulate(a), a.cumsum(0))
    assert_same_bits(np.multiply.accumulate(a, axis=1), a.cumprod(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.exp2(a),
        lambda a: np.sinc(a),
        lambda a: np.logaddexp(a, a),
        lambda a: np.heaviside(a, 1.0),
        lambda a: np.bitwise_and(a, 1),
        lambda a: np.logical_and(a, a),
        lambda a: np.add.outer(a, a),
        lambda a: np.add.at(a, [0], 1),
        lambda a: np.subtract.reduce(a),
        lambda a: np.add.reduceat(a, [0, 1]),
        lambda a: np.maximum.accumulate(a),
        lambda a: np.add(a, 1, dtype=np.float64),
        lambda a: np.add(a, 1, dtype=np.float32),
        lambda a: np.add(a, 1, where=[True, False, True]),
        lambda a: np.add(a, 1, casting="unsafe"),
        lambda a: np.add(np.ones(3), a, out=np.empty(3)),
        lambda a: np.sqrt(a, out=np.empty(3)),
        lambda a: np.equal(a, a, out=np.empty(3)),
        lambda a: np.add.reduce(a, dtype=float),
        lambda a: np.add.reduce(a, initial=1),
    ],
)
def test_unsupported_ufunc_calls_raise(call):
    a = third()
    with pytest.raises(TypeError, match=r"[a-z]{4}"):
        call(a)
    assert_same_bits(a, third())


def test_out(prec):
    a = third(prec)
    out = mdla.empty_like(a)
    assert np.add(a, a, out=out) is out
    assert_same_bits(out, a + a)
    assert np.multiply(a, 2, out) is out
    assert (np.sum(a, out=mdla.zeros((), prec)) == a.sum()).all()
    wide = mdla.zeros(3, "hd")
    np.add(a, 1, out=wide)
    assert (wide == a + 1).all()
    mask = np.empty(3, bool)
    assert np.less(a, 1, out=mask) is mask
    assert mask.all()
    q, r = mdla.empty_like(a), mdla.empty_like(a)
    np.divmod(a, 2, out=(q, r))
    assert (r == a % 2).all()
    np.add(np.ones(3), 2, out=wide)
    assert (wide == 3).all()
    np.add(a, a, out=a)
    assert (a == 2 * third(prec)).all() or prec == "hd"


def test_out_of_the_wrong_kind():
    a = third("qd")
    for out, error, words in [
        (np.empty(3), TypeError, "float64: it would drop limbs"),
        (mdla.zeros(3, "dd"), TypeError, "precision dd, the result qd"),
        (mdla.zeros(4, "qd"), ValueError, r"shape \(4,\)"),
        (mdla.zeros((2, 2), "qd"), ValueError, "shape"),
        (np.empty(3, bool), TypeError, "must be an MDArray"),
    ]:
        with pytest.raises(error, match=words):
            np.add(a, 1, out=out)
    with pytest.raises(TypeError, match="NumPy array of bool"):
        np.less(a, 1, out=mdla.zeros(3))
    with pytest.raises(TypeError, match="drop limbs"):
        np.sum(a, out=np.empty(()))
    with pytest.raises(TypeError, match="complex"):
        np.add(a, 1j, out=mdla.zeros(3, "qd"))


# -- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.median(a),
        lambda a: np.histogram(a),
        lambda a: np.interp(a, a, a),
        lambda a: np.pad(a, 1),
        lambda a: np.linalg.tensorinv(mdla.eye(2)),
        lambda a: np.linalg.tensorsolve(mdla.eye(2), mdla.ones(2)),
        lambda a: np.fft.fft(a),
        lambda a: np.gradient(a),
        lambda a: np.unique(a),
        lambda a: np.percentile(a, 50),
        lambda a: np.cross(a, a),
        lambda a: np.polyfit(a, a, 1),
        lambda a: np.convolve(a, a),
        lambda a: np.sum(a, dtype=np.float64),
        lambda a: np.sum(a, 0, np.float64),
        lambda a: np.mean(a, where=[True, True, False]),
        lambda a: np.sum(a, initial=3),
        lambda a: np.full_like(a, 1, dtype=float),
        lambda a: np.concatenate([a, a], dtype=float),
        lambda a: np.copyto(np.empty(3), a),
        lambda a: np.array_str(a),
        lambda a: np.save("never_written.npy", a),
    ],
)
def test_unsupported_functions_raise(call):
    with pytest.raises(TypeError, match=r"[a-z]{4}"):
        call(third())


# -- conversion to NumPy -------------------------------------------------------------------------


def test_no_silent_conversion(prec):
    a = third(prec)
    for call in (
        np.asarray,
        np.array,
        np.ascontiguousarray,
        np.asanyarray,
        lambda x: np.array([x, x]),
    ):
        for x in (a, a[0], a + 1j):
            with pytest.raises(TypeError, match=r"a\.to_numpy\(\)"):
                call(x)


def test_explicit_conversion(prec):
    a = third(prec)
    assert np.array_equal(np.asarray(a, dtype=np.float64), a.to_numpy())
    assert np.array_equal(np.asarray(a, dtype=np.complex128), a.to_numpy())
    assert np.array_equal(np.asarray(a, dtype=object), a.to_numpy(object))
    assert np.array(a, dtype=float, copy=True).dtype == float
    with pytest.raises(ValueError, match="copy"):
        np.array(a, dtype=float, copy=False)
    with pytest.raises(TypeError, match=r"\.real"):
        np.asarray(a + 1j, dtype=float)
    # The array that is written to names the type, and each number is rounded once.
    x = np.zeros(3)
    x[:] = a
    assert np.array_equal(x, a.to_numpy())


@pytest.mark.parametrize("name", ["qr", "svd", "lu", "inv", "det", "eigvals"])
def test_scipy_dispatches_or_raises(name):
    a = mdla.array([["1/3", 2], [3, "1/7"]], prec="qd")
    with pytest.raises((TypeError, ValueError)):
        getattr(scipy.linalg, name)(a)


# -- other libraries -----------------------------------------------------------------------------


class Foreign:
    """An array library that wraps others, as Dask does."""

    __array_priority__ = 2000

    def __init__(self, calls):
        self.calls = calls

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.calls.append(ufunc.__name__)
        return self

    def __array_function__(self, function, types, args, kwargs):
        self.calls.append(function.__name__)
        return self

    def __radd__(self, other):
        self.calls.append("radd")
        return self

    def __add__(self, other):
        self.calls.append("add")
        return self


def test_unknown_types_get_their_turn(prec):
    calls = []
    a, other = third(prec), Foreign(calls)
    assert a + other is other
    assert other + a is other
    assert np.add(a, other) is other
    assert np.concatenate([a, other]) is other
    assert calls == ["radd", "add", "add", "concatenate"]
    with pytest.raises(TypeError):
        a - other


def test_dask(prec):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(1)
    a = mdla.random.normal((4, 6), prec=prec, rng=rng)
    x = da.from_array(a, chunks=(2, 3), asarray=False)
    for lazy, want in [
        (x + x, a + a),
        (x + a, a + a),
        (a + x, a + a),
        (a * x, a * a),
        (2 * x - 1, 2 * a - 1),
        (x[1:, ::2], a[1:, ::2]),
        (x.T, a.T),
    ]:
        got = lazy.compute()
        assert isinstance(got, mdla.MDArray)
        assert_same_bits(got, want)
    total = x.sum(axis=0).compute()
    assert isinstance(total, mdla.MDArray)
    assert mdla.allclose(total, a.sum(0), rtol=float(8 * mdla.finfo(prec).eps), atol=1e-13)


# -- the table -----------------------------------------------------------------------------------


def test_the_table():
    assert lookup(np.add) is mdla.add
    with pytest.raises(TypeError, match=r"numpy\.exp2 is not supported on MDArray"):
        lookup(np.exp2)
    for function in FUNCTIONS.values():
        assert function.__doc__

    @implements(np.i0)
    def i0(x):
        return x

    try:
        a = third()
        assert np.i0(a) is a
    finally:
        del FUNCTIONS[np.i0]
