"""Composition against exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.series import Series, exp, log, variable
from tests.series.reference import (
    ZERO,
    assert_coefficients,
    cauchy,
    pairs,
    plus,
    random_series,
    size,
    times,
)


def composed(s, t, length):
    """Exact coefficients, and the sums of moduli."""
    power, moduli = [(Fraction(1), Fraction(0))] + [ZERO] * (length - 1), None
    values, totals = [ZERO] * length, [Fraction(0)] * length
    bare = [(size(x), Fraction(0)) for x in t]
    moduli = list(power)
    for c in s[:length]:
        values = [plus(v, times(c, p)) for v, p in zip(values, power, strict=True)]
        totals = [u + size(c) * m[0] for u, m in zip(totals, moduli, strict=True)]
        power = cauchy(power, t, length)[0]
        moduli = cauchy(moduli, bare, length)[0]
    return values, totals


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 8, 11])
def test_compose(rng, prec, degree, is_complex):
    s = random_series(rng, (), degree, prec, is_complex)
    t = random_series(rng, (), degree + 1, prec, is_complex)
    t = t - t.coefficients[0]
    got = s.compose(t)
    assert (got.degree, got.prec) == (degree, prec)
    want, totals = composed(list(pairs(s)), list(pairs(t)), degree + 1)
    factor = Fraction(5, 2) if is_complex else 1
    steps = int(degree**0.5) + 1
    bounds = [factor * ((k + 1) ** 2 + steps) * u for k, u in enumerate(totals)]
    assert_coefficients(got, want, bounds, prec)


def test_compose_of_inverse_functions():
    t = variable(30, "qd")
    got = exp(t).compose(log(1 + t))
    assert np.all(abs((got - 1 - t).coefficients).to_numpy() <= 1000 * mdla.finfo("qd").eps)
    assert np.all(exp(t)(log(1 + t)) == got)


def test_compose_broadcasts(rng):
    s, t = random_series(rng, (2, 1), 6, "dd"), random_series(rng, (3,), 4, "qd")
    got = s.compose(t.shift(1))
    assert (got.shape, got.degree, got.prec) == ((2, 3), 5, "qd")
    assert np.all(got[1, 2] == s[1, 0].compose(t[2].shift(1)))
    assert Series([3]).compose(Series([0])).coefficients.tolist() == [3]


def test_compose_refuses():
    s = Series([1, 2])
    with pytest.raises(ValueError, match="constant term"):
        s.compose(1 + s)
    with pytest.raises(TypeError, match="write s\\(x\\)"):
        s.compose(1)
