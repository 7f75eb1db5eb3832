# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives in forward mode: for x = a + t they are the derivatives of the series by t."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import series
from mdla.series.dual import Dual

FUNCTIONS = [
    *("arccos", "arcsin", "arctan", "cos", "cosh", "exp", "expm1", "log", "log1p"),
    *("sin", "sinh", "sqrt", "tan", "tanh"),
]


def check(function, prec="qd", at=Fraction(3, 10), degree=8):
    """A function of one variable, for numbers or for an array of them."""
    x = series.variable(degree, prec=prec, at=mdla.array(at, prec))
    result = function(Dual(x, series.constant(mdla.ones((*x.shape, 1)), degree, prec)))
    value = function(x)
    assert (result.shape, result.ndim, result.degree) == (value.shape, value.ndim, value.degree)
    assert np.all(result.value == value)
    slope = value.derivative().coefficients
    error = abs(result.tangent.coefficients[..., 0, :degree] - slope)
    assert mdla.max(error) <= 1000 * mdla.finfo(prec).eps * (1 + mdla.max(abs(slope)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function = getattr(series, name)
    for prec in ("dd", "qd", "hd"):
        check(function, prec)
    check(function, at=np.array([[0.3, 0.2 - 0.1j]]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x * x - 3 * x,
        lambda x: 2 - x,
        lambda x: +x - (-x),
        lambda x: x - Fraction(1, 3),
        lambda x: x / 7 + 1 / x + x / (1 + x),
        lambda x: x**0 + x,
        lambda x: x**3 + x**-2 + x ** Fraction(1, 2),
        lambda x: series.power(x, Fraction(1, 3)),
        lambda x: x**x,
        lambda x: mdla.array("0.1", "qd") * x + x * mdla.array("0.1", "qd"),
        lambda x: np.float64(0.5) - x,
    ],
)
def test_arithmetic(function):
    check(function)
    check(function, at=np.array([0.3, 0.7]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0] * x[..., 1] + x[-1],
        lambda x: x[1:] / x[:2],
        lambda x: x * np.array([1.0, 2, 3]) + mdla.array([1, 0, 1]),
        lambda x: np.array([[1.0], [2]]) - x,
        lambda x: series.stack([x, x * x]),
        lambda x: series.stack([x, x * x], axis=-1),
        lambda x: series.concatenate([x, x[:1]]),
        lambda x: series.concatenate([x, x], axis=-1),
        lambda x: sum(list(x), 0 * x[0]),
    ],
)
def test_shapes(function):
    """As functions of one variable that enters all coordinates."""
    check(function, at=np.array([0.3, 0.7, 0.4]))


def test_what_does_not_depend_on_the_unknowns():
    x = Dual.variables(series.variable(3, at=[1, 2]))
    mixed = series.stack([x[0], series.variable(3)])
    assert mixed.tangent.shape == (2, 2)
    assert mixed.tangent.coefficients[0, 0, 0] == 1
    assert not mixed.tangent.coefficients[1].to_numpy().any()


def test_units():
    x = Dual.variables(series.variable(2, at=np.ones((4, 3))))
    assert x.tangent.shape == (4, 3, 3)
    assert len(x) == 4
    assert "dual" in repr(x)
    assert (x.tangent.coefficients[..., 0].to_numpy() == np.eye(3)).all()
    assert not x.tangent.coefficients[..., 1:].to_numpy().any()


@pytest.mark.parametrize("prec", ["dd", "qd"])
def test_powers_of_constants(prec):
    check(lambda x: 2**x, prec)
    check(lambda x: Fraction(1, 3) ** x, prec)
    check(lambda x: np.array([2.0, 3.0]) ** x, prec)
    check(lambda x: mdla.array([[2], [3]], prec) ** x, prec, at=[0.25, 0.5])


def test_lists_are_constants():
    for at in (0.3, [0.3, 0.5]):
        check(lambda x: [2, 3] * x, at=at)
        check(lambda x: x / [2, 3], at=at)
    # Two unknowns: factors belong to the values, not to the unknowns.
    x = Dual.variables(series.constant([1, 2], 1))
    y = [2, 3] * series.stack([x[0] + x[1], x[0] - x[1]])
    assert np.all(y.tangent.coefficients[..., 0].to_numpy() == [[2, 2], [3, -3]])


def test_matrix_products():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    t = series.variable(8)
    moving = series.stack([1 + t, t, 2 * t, 1 - t]).reshape(2, 2)
    for at in ([0.25, 0.5], [[0.25, 0.5], [1, 2]]):
        check(lambda x: a @ x, at=at)
        check(lambda x: mdla.array(a) @ x, at=at)
        check(lambda x: x @ a, at=at)
        check(lambda x: x @ x, at=at)
        check(lambda x: x @ [1, 2], at=at)
    x = Dual.variables(series.constant([1, 2], 8))
    assert np.all((moving @ x).tangent == moving)
    assert np.all((x @ moving).tangent == moving.T)
    found = series.newton(lambda x, t: a @ x - t, [0, 0], degree=2)
    assert mdla.max(abs(found.x.coefficients - [[0, 0.4, 0], [0, 0.2, 0]])) < 1e-16
