"""Cauchy products and products of matrices of series, against exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.series import Series, convolve
from tests.series.reference import (
    ZERO,
    assert_coefficients,
    cauchy,
    pairs,
    plus,
    random_series,
)


@pytest.mark.parametrize("kinds", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(("p", "q", "degree"), [(0, 0, None), (5, 5, 5), (7, 2, None), (2, 9, 14)])
def test_convolve(rng, prec, kinds, p, q, degree):
    a = random_series(rng, (), p, prec, kinds[0])
    b = random_series(rng, (), q, prec, kinds[1])
    got = Series(convolve(a.coefficients, b.coefficients, degree))
    length = (p + q if degree is None else degree) + 1
    want, sizes = cauchy(pairs(a), pairs(b), length)
    assert got.prec == prec
    assert got.iscomplex == any(kinds)
    factor = 2.5 if any(kinds) else 1
    bounds = [Fraction(factor) * (k + 1) * s for k, s in enumerate(sizes)]
    assert_coefficients(got, want, bounds, prec)


def test_convolve_broadcasts(rng):
    a = random_series(rng, (3, 1), 4, "qd")
    b = random_series(rng, (2,), 6, "dd")
    got = convolve(a.coefficients, b.coefficients, 5)
    assert got.shape == (3, 2, 6)
    assert got.prec == "qd"
    one = convolve(a.coefficients[1, 0], b.coefficients[1], 5)
    assert mdla.array_equal(got[1, 1], one)


def test_infinities_stay_at_their_degree():
    a = mdla.array([1, 2, np.inf, 1])
    got = convolve(a, mdla.array([1, 0, 0, 1]), 3).to_numpy()
    np.testing.assert_array_equal(got[:3], [1, 2, np.inf])


def test_infinities_stay_at_their_degree_in_matrices():
    a = Series(mdla.array([[[1, 2, np.inf, 1]]]))
    b = Series(mdla.array([[[1, 0, 0, 1]]]))
    got = (a @ b).coefficients.to_numpy()[0, 0]
    np.testing.assert_array_equal(got[:3], [1, 2, np.inf])


def test_empty_batches():
    assert convolve(mdla.zeros((0, 3)), mdla.zeros(4)).shape == (0, 6)
    s = Series(mdla.zeros((0, 2, 3)))
    assert (s @ Series(mdla.zeros((2, 4, 3)))).shape == (0, 4)


def test_convolve_refuses():
    with pytest.raises(ValueError, match="write a \\* b"):
        convolve(mdla.array(1), mdla.array([1]))
    with pytest.raises(ValueError, match="degree is 0 or more"):
        convolve([1], [1], -1)
    with pytest.raises(TypeError, match="degree is an integer"):
        convolve([1], [1], 1.5)


@pytest.mark.parametrize("kinds", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("degree", [0, 2, 6])
def test_matrix_product(rng, prec, kinds, degree):
    n, m, p = 2, 3, 2
    a = random_series(rng, (n, m), degree, prec, kinds[0])
    b = random_series(rng, (m, p), degree + 1, prec, kinds[1])
    got = a @ b
    assert got.shape == (n, p)
    assert got.degree == degree
    x, y = pairs(a), pairs(b)
    for i in range(n):
        for j in range(p):
            products = [cauchy(x[i, h], y[h, j], degree + 1) for h in range(m)]
            want, bounds = [], []
            for k in range(degree + 1):
                value = ZERO
                for values, _ in products:
                    value = plus(value, values[k])
                want.append(value)
                total = sum(sizes[k] for _, sizes in products)
                bounds.append((k + 1 + m) * total * (2 if any(kinds) else 1))
            assert_coefficients(got[i, j], want, bounds, prec)


def test_matrix_product_of_vectors_and_stacks(rng):
    a = random_series(rng, (4, 2, 3), 3, "dd")
    v = random_series(rng, (3,), 3, "dd")
    w = random_series(rng, (2,), 3, "dd")
    assert (a @ v).shape == (4, 2)
    assert (w @ a).shape == (4, 3)
    assert (v @ v).shape == ()
    constant = mdla.random.uniform((3, 5), prec="qd", rng=rng)
    got = a @ constant
    assert got.shape == (4, 2, 5)
    assert got.prec == "qd"
    assert np.all(got == a @ mdla.series.constant(constant, 3))
    left = constant.T @ a.mT
    assert np.all(left == got.mT)


def test_matrix_product_refuses(rng):
    a = random_series(rng, (2, 3), 2, "dd")
    with pytest.raises(ValueError, match="inner dimensions 3 and 2"):
        a @ a
    with pytest.raises(ValueError, match="write a \\* b"):
        a @ a[0, 0]
