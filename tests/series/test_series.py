"""The class: shape, degree, operators, values."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.series import Series, constant, variable
from tests.oracle import exact
from tests.series.reference import random_series


def same(s, t):
    return s.shape == t.shape and s.prec == t.prec and bool(np.all(s == t))


def test_construction(prec):
    s = Series(["0.1", 2, 3], prec)
    assert (s.degree, s.shape, s.ndim, s.prec, s.iscomplex) == (2, (), 0, prec, False)
    assert Series(s, "hd").prec == "hd"
    assert Series([1, 2, 3], degree=1).degree == 1
    assert Series(mdla.ones((2, 3)), degree=5).coefficients.shape == (2, 6)
    assert Series([1, 1j]).iscomplex
    assert same(pickle.loads(pickle.dumps(s)), s)
    assert same(copy.deepcopy(s), s)


@pytest.mark.parametrize("bad", [1, [], np.zeros((2, 0))])
def test_construction_refuses(bad):
    with pytest.raises(ValueError, match=r"\(\.\.\., degree \+ 1\)"):
        Series(bad)


def test_shape(rng):
    s = random_series(rng, (2, 3), 4, "dd")
    c = s.coefficients
    assert len(s) == 2
    assert [x.shape for x in s] == [(3,), (3,)]
    assert s.T.shape == (3, 2)
    assert mdla.array_equal(s.T.coefficients, c.transpose((1, 0, 2)))
    assert same(s.mT, s.T)
    assert mdla.array_equal(s[1, 2].coefficients, c[1, 2])
    assert mdla.array_equal(s[..., 1].coefficients, c[:, 1])
    assert mdla.array_equal(s[:, [0, 2]].coefficients, c[:, [0, 2]])
    assert mdla.array_equal(s[np.array([True, False])].coefficients, c[:1])
    assert s[:, np.newaxis].shape == (2, 1, 3)
    assert s.reshape(6).shape == s.reshape((6,)).shape == s.reshape(-1).shape == (6,)
    assert s.reshape(3, 2).shape == (3, 2)
    with pytest.raises(IndexError, match="axes of a Series are those of its shape"):
        s[0, 0, 0]
    with pytest.raises(TypeError, match="degree"):
        len(s[0, 0])
    with pytest.raises(TypeError, match="single series"):
        iter(s[0, 0])


def test_degree():
    s = Series([1, 2, 3])
    assert s.truncate(1).coefficients.tolist() == [1, 2]
    assert s.truncate(4).coefficients.tolist() == [1, 2, 3, 0, 0]
    assert s.derivative().coefficients.tolist() == [2, 6]
    assert s.integral(5).coefficients.tolist() == [5, 1, 1, 1]
    assert s.integral(mdla.array([1, 2])).shape == (2,)
    assert s.shift(2).coefficients.tolist() == [0, 0, 1, 2, 3]
    assert s.shift(2).shift(-2).coefficients.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="degree 0"):
        Series([1]).derivative()
    with pytest.raises(ValueError, match="no power series"):
        s.shift(-1)
    with pytest.raises(ValueError, match="no power series"):
        Series([0]).shift(-1)
    with pytest.raises(ValueError, match="0 or more"):
        s.truncate(-1)
    with pytest.raises(TypeError, match="integer"):
        s.truncate(2.0)


def test_sums_with_constants(prec):
    s = Series([1, 2, 3], prec)
    for one in (1, 1.0, Fraction(1), mdla.array(1, prec), np.float64(1)):
        assert (s + one).coefficients.tolist() == [2, 2, 3]
        assert (one + s).coefficients.tolist() == [2, 2, 3]
        assert (s - one).coefficients.tolist() == [0, 2, 3]
        assert (one - s).coefficients.tolist() == [0, -2, -3]
    some = [1, 2]
    assert (s + some).coefficients.tolist() == [[2, 2, 3], [3, 2, 3]]
    assert (np.ones((2, 1)) + s).shape == (2, 1)
    assert (s + 1j).iscomplex
    assert (-s).coefficients.tolist() == [-1, -2, -3]
    third = s + Fraction(1, 3)
    assert abs(exact(third.coefficients)[0] - Fraction(4, 3)) <= 2 * mdla.precision(prec).eps


def test_products_with_constants(prec):
    s = Series([1, 2, 4], prec)
    for two in (2, 2.0, Fraction(2), mdla.array(2, prec), np.float64(2)):
        assert (s * two).coefficients.tolist() == [2, 4, 8]
        assert (two * s).coefficients.tolist() == [2, 4, 8]
        assert (s / two).coefficients.tolist() == [0.5, 1, 2]
    assert (mdla.array([1, 2], prec) * s).coefficients.tolist() == [[1, 2, 4], [2, 4, 8]]
    assert (s * np.ones(3)).shape == (3,)
    assert (s / np.array([1, 2])).coefficients.tolist() == [[1, 2, 4], [0.5, 1, 2]]


def test_degrees_and_precisions_meet():
    s, t = Series([1, 2, 3], "dd"), Series([1, 1], "qd")
    for result in (s + t, s - t, s * t, s / t):
        assert (result.degree, result.prec) == (1, "qd")
    assert (s * mdla.array(1, "od")).prec == "od"


def test_equality():
    s = Series([[1, 2], [3, 4]])
    assert (s == s.truncate(5)).tolist() == [True, True]
    assert (s == Series([1, 2])).tolist() == [True, False]
    assert (s != Series([1, 2])).tolist() == [False, True]
    assert bool(Series([2, 0]) == 2)
    assert s != "text"


def test_unknown_operands():
    s = Series([1, 2])
    for operation in (
        lambda: s + "a",
        lambda: "a" + s,
        lambda: s * None,
        lambda: s / object(),
        lambda: object() / s,
        lambda: Series([[1, 2]]) @ "a",
        lambda: s ** "a",
    ):
        with pytest.raises(TypeError):
            operation()


def test_variable_and_constant():
    assert variable(2, at=[1, 2]).coefficients.tolist() == [[1, 1, 0], [2, 1, 0]]
    assert variable(0, at=3).coefficients.tolist() == [3]
    assert variable(1, "od").prec == "od"
    assert constant(mdla.ones(2, "qd"), 3).prec == "qd"
    with pytest.raises(ValueError, match="0 or more"):
        variable(-1)


def test_systems_of_polynomials_take_series():
    system = mdla.PolynomialSystem("x^2*y - 1/3; x + y;", prec="qd")
    x = variable(3, "qd", at=[1, 2])
    found = system.evaluate_and_jacobian_generic(list(x), constant(1, 3, "qd"))
    assert same(found.value[0], x[0] * x[0] * x[1] - mdla.array("1/3", "qd"))
    assert same(found.jacobian[0][0], 2 * x[0] * x[1])


def test_values(rng, prec):
    s = random_series(rng, (2, 3), 5, prec)
    x = mdla.random.uniform(3, prec=prec, rng=rng)
    got = s(x)
    assert got.shape == (2, 3)
    want = exact(s.coefficients)
    points = exact(x)
    for i in range(2):
        for j in range(3):
            value = sum(c * points[j] ** k for k, c in enumerate(want[i, j]))
            total = sum(abs(c) * points[j] ** k for k, c in enumerate(want[i, j]))
            assert abs(exact(got)[i, j] - value) <= 10 * mdla.precision(prec).eps * total
    assert Series([2, 1])(mdla.array([1, 2, 3])).tolist() == [3, 4, 5]
    assert Series([2])(mdla.array([1, 2, 3])).tolist() == [2, 2, 2]


def test_arrays_of_integer_powers():
    # By repeated squaring each, so that the constant term may be zero; the others by recurrence.
    t = variable(3, prec="qd")
    assert np.all(t ** [1, 2] == mdla.series.stack([t, t * t]))
    assert np.all(t ** np.array(2) == t * t)
    assert np.all(t ** [2 + 0j] == t * t)
    s = mdla.series.stack([t, 2 + t])
    powers = s ** [[3, -2], [0, 0.5]]
    one = constant(1, 3)
    assert np.all(powers[0] == mdla.series.stack([t * t * t, one / (s[1] * s[1])]))
    assert np.all(powers[1] == mdla.series.stack([one, s[1] ** 0.5]))
    mixed = (1 + t) ** [np.inf, np.nan, 2]
    assert np.all(mixed[2] == (1 + t) * (1 + t))
    assert (Series(mdla.zeros((0, 3))) ** [2]).shape == (0,)


def test_powers_have_the_wider_precision():
    s = 1 + variable(3, prec="qd") / 3
    for exponent in (3, [3], 0.5, 0, -1):
        assert (s ** mdla.array(exponent, "od")).prec == "od"
    wide = s.astype("od")
    assert np.all(s ** mdla.array(3, "od") == wide * wide * wide)


def test_constants_have_values_at_infinity():
    s = Series([2])
    assert s(np.inf) == 2
    assert s(mdla.array([1, np.inf], "od")).prec == "od"
    assert s([1, 1j]).iscomplex


def test_integers_of_numpy_are_shapes_and_shifts():
    x = variable(2, at=[1, 2])
    assert x.reshape(np.int64(2)).shape == (2,)
    assert (x * variable(2)).shift(np.int64(-1)).degree == 1
    for n in (-1.5, 1.5, "1"):
        with pytest.raises(TypeError, match="integer"):
            x.shift(n)


def test_truth_is_refused():
    for s in (variable(2), variable(2, at=[1, 2])):
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(s)


def test_first_powers_are_copies():
    t = variable(2)
    (t**1).coefficients[0] = 5
    assert t.coefficients[0] == 0
