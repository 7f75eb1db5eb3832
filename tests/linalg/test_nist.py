# SPDX-License-Identifier: BSD-3-Clause
"""Least squares on the NIST data sets, against certified values and exact solutions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.linalg import lstsq, qr, solve_triangular
from tests.linalg.nist import SETS, exact_solution


def digits(got, want):
    """Decimal digits that the entries share with the exact values, the least of them."""
    worst = max(abs(g / w - 1) if w else abs(g) for g, w in zip(got.tolist(), want, strict=True))
    if worst == 0:
        return math.inf
    return -(math.log2(worst.numerator) - math.log2(worst.denominator)) * math.log10(2)


@pytest.mark.parametrize("name", SETS)
def test_data_have_the_certified_solution(name):
    (a, b), certified = SETS[name]
    x, _ = exact_solution(a, b)
    for got, want in zip(x, certified, strict=True):
        assert abs(got / want - 1) < Fraction(1, 10**14)


@pytest.mark.parametrize("name", SETS)
def test_coefficients(name, prec):
    (a, b), _ = SETS[name]
    x, squares = exact_solution(a, b)
    # Digits that the precision has, less those that the condition costs at most.
    lost = {"longley": 14, "norris": 4, "pontius": 10, "wampler1": 10, "wampler2": 10}[name]
    lost += 3 if prec in ("d", "ds") else 0

    result = lstsq(mdla.array(a, prec=prec), mdla.array(b, prec=prec))

    assert result.rank == len(x)
    assert digits(result.x, x) >= mdla.finfo(prec).digits - lost
    if squares and prec not in ("d", "ds"):
        assert abs(result.residuals[0].item() / squares - 1) < Fraction(1, 10**8)
    # What the result says about its errors covers them.
    for got, want, error in zip(result.x.tolist(), x, result.errors, strict=True):
        assert abs(got - want) <= error
    q, r = qr(mdla.array(a, prec=prec))
    y = solve_triangular(r, q.T @ mdla.array(b, prec=prec))
    assert digits(y, x) >= mdla.finfo(prec).digits - lost


def test_wampler1_as_asked_for():
    (a, b), _ = SETS["wampler1"]
    for prec, bound in (("dd", 1e-25), ("qd", 1e-57)):
        x = lstsq(mdla.array(a, prec=prec), mdla.array(b, prec=prec)).x
        assert max(float(abs(v - 1)) for v in x.tolist()) <= bound


def filip():
    """Degree 10 through 82 points: decimals as strings, and their exact coefficients."""
    from mdla.demo import load_filip

    return load_filip()


FILIP = [
    "-1467.489614229795882287849",
    "-2772.179591933423928028448",
    "-2316.371081608930758821968",
    "-1127.97394098371569857167",
    "-354.4782337033487716107385",
    "-75.12420173937571389052208",
    "-10.87531803553425108528108",
    "-1.062214985889467664596611",
    "-0.06701911545934083759267341",
    "-0.002467810782754786508408545",
    "-0.00004029625250804036712971315",
]


@pytest.mark.parametrize(
    ("prec", "want"), [("dd", 14), ("td", 30), ("qd", 45), ("od", 107), ("hd", 230)]
)
def test_filip(prec, want):
    """kappa_2 is 1.8e15: float64 has no digit left, dd has its 16 beyond."""
    x, y, solution = filip()
    for got, known in zip(solution, FILIP, strict=True):
        assert abs(got / Fraction(known) - 1) < Fraction(1, 10**20)
    x, y = mdla.array(x, prec=prec), mdla.array(y, prec=prec)
    a = mdla.stack([x**k for k in range(11)], axis=1)

    result = lstsq(a, y)

    assert result.rank == 11
    assert digits(result.x, solution) >= want


def test_filip_input_routes():
    """Rounding x and y, or the powers, to double changes the solution: mdla shows by how much."""
    x, y, _ = filip()
    x, y = np.array([float(v) for v in x]), np.array([float(v) for v in y])
    exact = mdla.array(x, prec="qd")
    powers = mdla.stack([exact**k for k in range(11)], axis=1)
    rounded = lstsq(powers, y, prec="qd").x[0]
    assert abs(float(rounded) + 1467.4896142297884) < 5e-13
    formed = lstsq(x[:, np.newaxis] ** np.arange(11), y, prec="qd").x[0]
    assert abs(float(formed) + 1467.4896406575195) < 1e-6
