# SPDX-License-Identifier: BSD-3-Clause
"""Making arrays: values, shapes, exact ends, and the answers to bad input."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import assert_close, assert_normalised, assert_same_bits, exact
from tests.registry import DOUBLE_PRECS, PRECS, SHAPES, adversarial

# -- array and asarray ----------------------------------------------------------------------------


def test_sources_of_a_third_agree(prec):
    third = mdla.array("1/3", prec=prec)
    assert_same_bits(third, mdla.array(Fraction(1, 3), prec=prec))
    assert_same_bits(third, mdla.array(Decimal("0." + "3" * 300), prec=prec))
    assert_same_bits(third, mdla.array(mdla.array("1/3", prec="hd"), prec=prec))
    assert mdla.array("0.1", prec=prec) == mdla.array(Decimal("0.1"), prec=prec)


def test_default_precision():
    assert mdla.array(1).prec == "dd"
    assert mdla.array([[1, 2.5], [3, "0.1"]]).prec == "dd"
    assert mdla.array(np.ones(2)).prec == "dd"
    qd = mdla.ones(2, "qd")
    assert mdla.array(qd).prec == "qd"
    assert mdla.array([qd, mdla.ones(2, "td")]).prec == "qd"
    assert mdla.array([qd[0], 1, 0.5]).prec == "qd"
    assert mdla.asarray([1]).prec == "dd"


def test_array_copies_and_asarray_does_not(prec):
    a = mdla.ones(3, prec)
    b = mdla.array(a)
    b[0] = 5
    assert a[0] == 1
    assert mdla.asarray(a) is a
    assert mdla.asarray(a, prec) is a
    assert mdla.asarray(a, "hd").prec == "hd"
    x = np.ones(3)
    c = mdla.array(x, prec="d")
    c[0] = 7
    assert x[0] == 1


def test_nested_lists_of_arrays(prec):
    row = mdla.array(["1/3", 2], prec=prec)
    a = mdla.array([row, [3, "0.1"], (row[0], 4.5)], prec=prec)
    assert a.shape == (3, 2)
    assert_same_bits(a[0], row)
    assert_same_bits(a[2, 0], row[0])
    z = mdla.array([row, [1j, 0]], prec=prec)
    assert z.iscomplex
    assert mdla.array(row, complex=True).iscomplex
    assert mdla.array([[], []], prec=prec).shape == (2, 0)


def test_complex_strings():
    a = mdla.array("0.333333333333333333333333333333+1j", prec="dd")
    assert a.imag == 1
    assert a.real == mdla.array("0.333333333333333333333333333333")
    assert np.array_equal(
        mdla.array(["0.1", "1e-30"]) == mdla.stack([mdla.array("0.1"), mdla.array("1e-30")]),
        [True] * 2,
    )


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ("one", ValueError),
        (None, TypeError),
        ({}, TypeError),
        ([1, None], TypeError),
        ([[1, 2], [3]], ValueError),
        (np.array(["2020-01-01"], dtype="M8[D]"), TypeError),
        (object(), TypeError),
        ([1, "x"], ValueError),
        ([mdla, 1], TypeError),
    ],
)
def test_bad_objects(bad, error):
    for make in (mdla.array, mdla.asarray):
        with pytest.raises(error, match=r"[a-z]{3}"):
            make(bad)


# -- from_limbs ----------------------------------------------------------------------------------


def test_from_limbs_checks(prec, rng):
    fmt = mdla.precision(prec)
    planes = adversarial(rng, prec, 500)
    a = mdla.from_limbs(planes[0])
    assert a.prec == prec
    assert_same_bits(a, planes)
    z = mdla.from_limbs(np.concatenate([planes, -planes]), complex=True)
    assert np.array_equal(exact(z.imag), -exact(a))
    if fmt.limbs > 1:
        for spoil in (planes[0, ::-1], np.abs(planes[0]) + 1):
            with pytest.raises(ValueError, match="normalize=True"):
                mdla.from_limbs(spoil)
        b = mdla.from_limbs(planes[0, ::-1], normalize=True)
        assert np.array_equal(exact(b), exact(a))
        assert_normalised(b)
        holes = np.zeros((fmt.limbs, 1), dtype=fmt.dtype)
        holes[1] = 1
        with pytest.raises(ValueError, match="not normalised"):
            mdla.from_limbs(holes)
        lonely = np.full((fmt.limbs, 1), np.inf, dtype=fmt.dtype)
        with pytest.raises(ValueError, match="not normalised"):
            mdla.from_limbs(lonely)
    infinite = np.zeros((fmt.limbs, 2), dtype=fmt.dtype)
    infinite[0] = np.inf, np.nan
    assert math.isinf(float(mdla.from_limbs(infinite)[0]))


def test_from_limbs_shapes_and_types():
    with pytest.raises(ValueError, match="6 limbs"):
        mdla.from_limbs(np.zeros((6, 2)))
    with pytest.raises(TypeError, match="complex128"):
        mdla.from_limbs(np.zeros((2, 2), complex))
    with pytest.raises(ValueError, match=r"\(2, N, \*shape\)"):
        mdla.from_limbs(np.zeros((4, 2)), complex=True)
    with pytest.raises(ValueError, match=r"\(N, \*shape\)"):
        mdla.from_limbs(1.0)
    with pytest.raises(ValueError, match=r"4 limbs of float64"):
        mdla.from_limbs(np.zeros(2), prec="qd")
    assert mdla.from_limbs(np.zeros((2, 3), np.float32)).prec == "ds"
    assert mdla.from_limbs(np.zeros((2, 3)), prec="ds").prec == "ds"
    assert mdla.from_limbs([[1, 2], [0, 0]]).prec == "dd"
    assert (
        mdla.from_limbs([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], prec="dd", normalize=True).item() == 28
    )


def test_from_limbs_normalises_exactly(prec, rng):
    fmt = mdla.precision(prec)
    limbs = rng.standard_normal((9, 300)).astype(fmt.dtype)
    limbs *= np.exp2(rng.integers(-60 if prec == "ds" else -300, 1, limbs.shape)).astype(fmt.dtype)
    a = mdla.from_limbs(limbs, prec=prec, normalize=True)
    assert_normalised(a)
    want = [sum((Fraction(float(v)) for v in column), Fraction(0)) for column in limbs.T]
    assert_close(a, want, prec, 1)
    wide = mdla.from_limbs(limbs.astype(np.float64), prec=prec, normalize=True)
    assert_close(wide, want, prec, 1)


# -- filled --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_filled(prec, shape):
    for complex_ in (False, True):
        assert np.array_equal(mdla.zeros(shape, prec, complex=complex_).to_numpy(), np.zeros(shape))
        assert np.array_equal(mdla.ones(shape, prec, complex=complex_).to_numpy(), np.ones(shape))
        assert np.array_equal(
            mdla.full(shape, 2.5, prec, complex=complex_).to_numpy(), np.full(shape, 2.5)
        )
        assert mdla.empty(shape, prec, complex=complex_).iscomplex is complex_
    a = mdla.ones(shape, prec, complex=True)
    for like, value in ((np.zeros_like, 0), (np.ones_like, 1), (mdla.empty_like, 0)):
        b = like(a)
        assert (b.shape, b.prec, b.iscomplex) == (shape, prec, True)
        assert np.array_equal(b.to_numpy(), np.full(shape, value))
    b = np.full_like(a, 3)
    assert (b.prec, b.shape) == (prec, shape)
    assert mdla.zeros_like(a, "qd").prec == "qd"
    assert mdla.zeros_like(a, shape=(2,)).shape == (2,)


def test_full_broadcasts():
    assert mdla.full((2, 3), mdla.array(["1/3", 2, 3], prec="td")).prec == "td"
    assert mdla.full(2, 1j).iscomplex
    assert mdla.full(2, "1/3", "qd")[0] == mdla.array("1/3", prec="qd")


def test_eye(prec):
    for args in ((3,), (2, 4), (3, 3, 1), (3, 2, -1), (0,)):
        assert np.array_equal(mdla.eye(*args, prec=prec).to_numpy(), np.eye(*args))
    assert np.array_equal(mdla.identity(2, prec).to_numpy(), np.eye(2))


@pytest.mark.parametrize(
    "make", [mdla.zeros, mdla.ones, mdla.empty, lambda s: mdla.full(s, 1), mdla.eye]
)
def test_bad_shapes(make):
    with pytest.raises(ValueError, match="negative"):
        make(-1)
    for bad in (2.5, "3", None, (2, "a")):
        with pytest.raises(TypeError, match=r"shape|integer"):
            make(bad)


# -- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [(5,), (2, 7), (0, 1, 0.25), (5, 0, -2), (3, 3), (3, 1), (-2.5, 2.6, 0.5), (0, 7, 3), (0, -3)],
)
def test_arange_as_numpy(prec, args):
    assert np.array_equal(mdla.arange(*args, prec=prec).to_numpy(), np.arange(*map(float, args)))


def test_arange_counts_exactly(prec):
    # Ten steps of a tenth end before one, which float64 gets wrong for other multiples.
    for n in range(1, 30):
        a = mdla.arange("0", f"{n}/10", "1/10", prec=prec)
        assert a.size == n
        assert_close(a, [Fraction(i, 10) for i in range(n)], prec, 1)
    a = mdla.arange("1/3", 2, Fraction(1, 3), prec=prec)
    assert_close(a, [Fraction(1 + i, 3) for i in range(5)], prec, 1.01)
    with pytest.raises(ValueError, match="step other than zero"):
        mdla.arange(0, 1, 0)
    with pytest.raises(ValueError, match="stop must be finite"):
        mdla.arange(math.inf)
    with pytest.raises(TypeError, match="start must be real"):
        mdla.arange(1j, 2)


def test_linspace(prec):
    a = mdla.linspace("-1/3", "2/7", 8, prec=prec)
    assert a[0] == mdla.array("-1/3", prec=prec)
    assert a[-1] == mdla.array("2/7", prec=prec)
    start, stop = Fraction(-1, 3), Fraction(2, 7)
    assert_close(
        a, [start + i * (stop - start) / 7 for i in range(8)], prec, 4, scale=[Fraction(1, 3)] * 8
    )
    assert np.array_equal(mdla.linspace(0, 8, 5, prec=prec).to_numpy(), [0, 2, 4, 6, 8])
    assert np.array_equal(
        mdla.linspace(0, 8, 4, endpoint=False, prec=prec).to_numpy(), [0, 2, 4, 6]
    )
    assert np.array_equal(mdla.linspace(3, 8, 1, prec=prec).to_numpy(), [3])
    assert mdla.linspace(3, 8, 0, prec=prec).shape == (0,)
    assert mdla.linspace(mdla.zeros(2, prec), [1, 2], 3).shape == (3, 2)
    assert mdla.linspace(mdla.zeros(2, prec), 1, 3).prec == prec
    assert mdla.linspace(0, 1).prec == "dd"
    assert mdla.linspace(0, 1 + 1j, 3, prec=prec).iscomplex
    with pytest.raises(ValueError, match="negative"):
        mdla.linspace(0, 1, -1)


@pytest.mark.parametrize("name", DOUBLE_PRECS)
def test_grid_of_a_least_squares_problem(name):
    """The nodes of A = linspace(-32, 32, 64): odd multiples of 32/63."""
    a = mdla.linspace(-32, 32, 64, prec=name)
    assert_close(a, [Fraction(32 * (2 * i - 63), 63) for i in range(64)], name, 66)
    assert (a + a[::-1] == 0).all()


def test_precision_is_checked_everywhere():
    for call in (
        lambda: mdla.zeros(2, "q"),
        lambda: mdla.array(1, "double"),
        lambda: mdla.eye(2, prec="x"),
        lambda: mdla.arange(3, prec="x"),
        lambda: mdla.linspace(0, 1, prec="x"),
        lambda: mdla.random.normal(2, prec="x"),
        lambda: mdla.finfo("x"),
    ):
        with pytest.raises(ValueError, match=", ".join(PRECS)):
            call()


def test_arrays_beside_strings_keep_their_limbs():
    x = mdla.array("0.1", prec="qd")
    for mixed in ([x, 0.5, "1/3"], [[x], ["1"]], (x, "2")):
        assert mdla.array(mixed).prec == "qd"
    assert mdla.array([x, "1/3"])[0] == x
    assert mdla.arange(0, 1, x).prec == "qd"
    assert mdla.arange(x, 1)[0] == x
