# SPDX-License-Identifier: BSD-3-Clause
"""MDArray: what it is, conversion to Python and NumPy, identity, pickle."""

from __future__ import annotations

import copy
import math
import multiprocessing
import operator
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits, exact
from tests.registry import DOUBLE_PRECS, PRECS, SHAPES, adversarial


def sample(rng, prec, shape, complex_=False):
    return mdla.random.normal(shape, prec=prec, rng=rng, complex=complex_)


# -- attributes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_attributes(prec, shape, complex_):
    fmt = mdla.precision(prec)
    a = mdla.zeros(shape, prec, complex=complex_)
    assert (a.shape, a.ndim, a.size) == (shape, len(shape), math.prod(shape))
    assert a.prec == prec
    assert a.precision == fmt
    assert a.iscomplex is complex_
    assert a.limbs.shape == ((2,) if complex_ else ()) + (fmt.limbs, *shape)
    assert a.planes.shape == (1 + complex_, fmt.limbs, *shape)
    assert a.limbs.dtype == fmt.dtype
    assert a.nbytes == a.planes.nbytes
    assert np.shares_memory(a.limbs, a.planes) or a.size == 0
    assert a.T.shape == shape[::-1]


def test_limbs_go_round(prec, rng):
    for complex_ in (False, True):
        a = sample(rng, prec, (2, 3), complex_)
        b = mdla.from_limbs(a.limbs, complex=complex_)
        assert_same_bits(a, b)
        assert np.shares_memory(b.planes, a.planes)
        assert b.prec == prec


def test_real_and_imaginary_parts_are_views(prec):
    z = mdla.array([1 + 2j, 3 - 4j], prec=prec)
    z.real[0] = 7
    z.imag = [5, 6]
    assert np.array_equal(z.to_numpy(), [7 + 5j, 3 + 6j])
    z.real = 0
    assert np.array_equal(z.to_numpy(), [5j, 6j])
    x = mdla.ones(3, prec)
    assert np.array_equal(x.imag.to_numpy(), np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        x.imag[0] = 1


def test_the_constructor_says_what_to_write():
    with pytest.raises(TypeError, match=r"write mdla\.array"):
        mdla.MDArray([1.0, 2.0])
    with pytest.raises(ValueError, match=r"\(c, N, \*shape\)"):
        mdla.MDArray(np.zeros(3))
    with pytest.raises(ValueError, match="6 limbs"):
        mdla.MDArray(np.zeros((1, 6, 2)))
    with pytest.raises(ValueError, match="int64"):
        mdla.MDArray(np.zeros((1, 2, 2), dtype=np.int64))


# -- astype --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", PRECS)
def test_astype_is_exact_or_correctly_rounded(prec, target, rng):
    a = mdla.MDArray(adversarial(rng, prec, 200))
    b = a.astype(target)
    assert b.prec == target
    if mdla.precision(target).limbs >= mdla.precision(prec).limbs and target != "ds" != prec:
        assert np.array_equal(exact(b), exact(a))
    # The same as from the exact values.
    assert np.array_equal(exact(b), exact(mdla.array(a.to_numpy(object), prec=target)))


def test_astype_copies_unless_told(prec):
    a = mdla.ones(2, prec)
    assert a.astype(prec) is not a
    assert not np.shares_memory(a.astype(prec).planes, a.planes)
    assert a.astype(prec, copy=False) is a
    z = a.astype(prec, complex=True)
    assert z.iscomplex
    assert np.array_equal(z.to_numpy(), [1, 1])
    with pytest.raises(TypeError, match=r"\.real or abs"):
        z.astype(prec, complex=False)


def test_astype_rejects_numpy_types():
    a = mdla.ones(2)
    for kind in (float, np.float64, np.dtype("f4"), complex):
        with pytest.raises(TypeError, match=r"to_numpy\(dtype\)"):
            a.astype(kind)
    with pytest.raises(ValueError, match="ds, d, dd, td, qd"):
        a.astype("quad")
    assert a.astype(object).prec == "dd"


# -- to NumPy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_to_numpy_rounds_once(prec, dtype, rng):
    a = mdla.MDArray(adversarial(rng, prec, 300, exponents=(-10, 10)))
    got = a.to_numpy(dtype)
    assert got.dtype == dtype
    for value, want in zip(got, exact(a), strict=True):
        # No neighbour is closer.
        error = abs(Fraction(float(value)) - want)
        for direction in (-np.inf, np.inf):
            neighbour = np.nextafter(value, dtype(direction))
            assert not np.isfinite(neighbour) or error <= abs(Fraction(float(neighbour)) - want)


@pytest.mark.parametrize("name", DOUBLE_PRECS[1:])
def test_to_numpy_sees_limbs_behind_a_tie(name):
    half_ulp = 2.0**-53
    for tail in (2.0**-200, -(2.0**-200)):
        limbs = np.zeros(mdla.precision(name).limbs)
        limbs[:2] = 1, half_ulp
        if len(limbs) > 2:
            limbs[2] = tail
        a = mdla.from_limbs(limbs)
        assert float(a) == float(a.item())
        assert a.to_numpy() == float(a.item())


def test_to_numpy_of_other_types(prec):
    a = mdla.array([[1, 2], [3, 4]], prec=prec)
    assert np.array_equal(a.to_numpy(int), [[1, 2], [3, 4]])
    assert a.to_numpy(np.uint8).dtype == np.uint8
    assert a.to_numpy(np.longdouble).dtype == np.longdouble
    assert a.to_numpy(complex).dtype == np.complex128
    assert a.to_numpy(object)[1, 1] == Fraction(4)
    assert np.array_equal((a - 1).to_numpy(bool), [[False, True], [True, True]])
    with pytest.raises(ValueError, match=r"write|round"):
        (a / 2).to_numpy(int)
    with pytest.raises(ValueError, match=r"300 is no uint8|round"):
        mdla.array(300, prec=prec).to_numpy(np.uint8)
    z = a + 1j
    assert z.to_numpy().dtype == np.complex128
    for dtype in (float, int, object):
        with pytest.raises(TypeError, match=r"\.real|a\.real"):
            z.to_numpy(dtype)


# -- to Python -----------------------------------------------------------------------------------


def test_item_and_tolist(prec):
    a = mdla.array([[0.5, 2], [3, -1]], prec=prec)
    assert a.item(0, 0) == Fraction(1, 2)
    assert a.item(1, -1) == -1
    assert a[1, 0].item() == 3
    assert mdla.ones((1, 1), prec).item() == 1
    assert a.tolist() == [[Fraction(1, 2), 2], [3, -1]]
    assert mdla.array(math.inf, prec=prec).item() == math.inf
    assert math.isnan(mdla.array(math.nan, prec=prec).item())
    assert mdla.array(1 + 2j, prec=prec).item() == 1 + 2j
    with pytest.raises(ValueError, match=r"a\.item\(0, 1\)"):
        a.item()
    with pytest.raises(IndexError):
        a.item(5, 0)


def test_python_conversions(prec):
    a = mdla.array("2.5", prec=prec)
    assert (float(a), int(a), complex(a)) == (2.5, 2, 2.5 + 0j)
    assert (math.floor(a), math.ceil(a), math.trunc(a), round(a)) == (2, 3, 2, 2)
    assert (int(-a), math.floor(-a), math.ceil(-a), round(-a)) == (-2, -3, -2, -2)
    assert operator.index(mdla.array(7, prec=prec)) == 7
    assert [10, 20, 30][mdla.array(1, prec=prec)] == 20
    assert bool(a)
    assert not mdla.array(0, prec=prec)
    assert not mdla.array([[0]], prec=prec)
    assert bool(mdla.array(math.nan, prec=prec))
    with pytest.raises(TypeError, match="integer"):
        operator.index(a)
    with pytest.raises(TypeError, match="0-d"):
        float(mdla.ones(1, prec))
    with pytest.raises(TypeError, match=r"\.real"):
        float(mdla.array(1j, prec=prec))
    with pytest.raises(ValueError, match=r"a\.any\(\)"):
        bool(mdla.ones(2, prec))
    with pytest.raises(OverflowError):
        int(mdla.array(math.inf, prec=prec))
    assert complex(mdla.array(1 + 2j, prec=prec)) == 1 + 2j


def test_big_integers_are_exact():
    assert int(mdla.array(2**60 + 1)) == 2**60 + 1
    assert int(mdla.array(1493026669447931676)) == 1493026669447931676
    assert int(mdla.array(12345678901234567890)) == 12345678901234567890
    assert int(mdla.array(2**100 + 1)) == 2**100 + 1
    assert int(mdla.array(np.uint64(2**64 - 1))) == 2**64 - 1
    assert mdla.array(np.array([2**60 + 1, -(2**62) - 1])).tolist() == [2**60 + 1, -(2**62) - 1]


def test_text(prec):
    assert str(mdla.array("0.5", prec=prec)) == "0.5"
    assert eval(repr(mdla.array(["0.1", 2], prec=prec)), {"mdla": mdla}).prec == prec
    assert f"{mdla.array('0.5', prec=prec):.3f}" == "0.500"


def test_repr_goes_round(prec, rng):
    a = mdla.MDArray(adversarial(rng, prec, 50))
    b = eval(repr(a), {"mdla": mdla, "float": float})
    assert np.array_equal(exact(a), exact(b))
    assert b.prec == prec


# -- identity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 2**52 + 1, 2**100, 0.1, -2.5, 1e300, Fraction(1, 2), Decimal("0.375"), 1j, 2.5 - 1j,
     math.inf, -math.inf, -0.0],
)  # fmt: skip
def test_equal_numbers_have_equal_hashes(prec, value):
    a = mdla.array(value, prec=prec)
    if a == value:
        assert hash(a) == hash(value)
        assert {value: "found"}[a] == "found"
        assert a in {value}
    else:
        # Only ds cannot hold all of these.
        assert prec == "ds"


def test_hashes_of_more_bits(rng):
    for name in DOUBLE_PRECS:
        a = mdla.MDArray(adversarial(rng, name, 50))
        for x, value in zip(a, exact(a), strict=True):
            assert hash(x) == hash(value)
            assert hash(x.astype("hd")) == hash(value)
        z = a + 1j * a
        assert hash(z[0]) == hash(z.astype("hd")[0])
    assert hash(mdla.array("0.1")) != hash(0.1)


def test_arrays_are_not_hashable(prec):
    with pytest.raises(TypeError, match="0-d"):
        hash(mdla.zeros(1, prec))


# -- copies and processes ------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("complex_", [False, True])
def test_pickle(prec, protocol, complex_, rng):
    for a in (sample(rng, prec, (3, 4), complex_), sample(rng, prec, (), complex_)):
        for view in (a, a.T):
            back = pickle.loads(pickle.dumps(view, protocol))
            assert_same_bits(view, back)
            assert back.prec == prec


def test_pickle_of_slices_and_empty_arrays(prec):
    a = mdla.arange(10, prec=prec)[::-2]
    assert_same_bits(a, pickle.loads(pickle.dumps(a)))
    empty = mdla.zeros((0, 3), prec)
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 3)


def test_pickle_out_of_band(rng):
    a = sample(rng, "qd", (50, 50))
    buffers = []
    data = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert_same_bits(a, pickle.loads(data, buffers=buffers))


def test_copies_are_independent(prec, rng):
    a = sample(rng, prec, (3, 3))
    for b in (copy.copy(a), copy.deepcopy(a), a.copy(), a.T.copy().T, mdla.copy(a), +a):
        assert_same_bits(a, b)
        b[0, 0] = 5
        assert a[0, 0] != 5
    nested = copy.deepcopy({"a": [a]})
    assert_same_bits(nested["a"][0], a)


def square(x):
    return x * x


def test_multiprocessing(rng):
    a = sample(rng, "qd", (4, 3))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        rows = pool.map(square, list(a))
    assert_same_bits(mdla.stack(rows), a * a)


# -- the package ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["mdla,numpy,scipy.linalg", "numpy,scipy.linalg,mdla"])
def test_import_order_and_no_device_library(order):
    code = f"""
import {order}, sys
assert "cupy" not in sys.modules and "mpmath" not in sys.modules
assert repr(mdla.array("0.1")) == "mdla.array('0.1', prec='dd')"
print(mdla.finfo("qd").digits)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "62"


def test_finfo(prec):
    info = mdla.finfo(prec)
    fmt = mdla.precision(prec)
    assert info.eps == float(fmt.eps)
    assert Fraction(info.eps) == fmt.eps
    assert 10**fmt.digits <= 1 / fmt.eps < 10 ** (fmt.digits + 1)
    assert mdla.finfo(mdla.ones(2, prec)) == info
    assert prec in repr(info)
    # One is distinguishable from one plus eps, and sums do not lose it.
    assert mdla.array(1, prec=prec) + mdla.array(fmt.eps, prec=prec) != 1


def test_precision_names():
    with pytest.raises(ValueError, match="ds, d, dd, td, qd, pd, od, da, hd"):
        mdla.zeros(2, "quad")
    with pytest.raises(TypeError, match="got int"):
        mdla.zeros(2, 4)
    assert mdla.precision(mdla.precision("od")).limbs == 8
    assert str(mdla.precision("od")) == "od"
