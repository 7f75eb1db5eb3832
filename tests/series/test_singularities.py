"""Nearest singularities of series whose singularities are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdla
from mdla import series as ms
from tests.series.reference import random_series

DEGREE = 64


def conjugate(t):
    return t / (4 - 2 * t**2 + t**4)


# Functions of t, singular points, accuracies from dd on.
CASES = {
    "branch": (lambda t: ms.sqrt(1 + t), -1, 1e-11),
    "logarithm": (lambda t: ms.log(2 - t), 2, 1e-11),
    "pole": (lambda t: 1 / (1 - t), 1, 1e-13),
    "double pole": (lambda t: 1 / (3 - t) ** 2, 3, 1e-11),
    "times entire": (lambda t: ms.sqrt(1 + t) * ms.cos(t) / (4 - t), -1, 1e-9),
    "even": (lambda t: 1 / (4 + t * t), 2j, 1e-13),
    "even branch": (lambda t: ms.sqrt(4 + t * t), 2j, 1e-11),
    "odd": (ms.arctan, 1j, 1e-11),
    "tangent": (ms.tan, math.pi / 2, 1e-13),
    "complex": (lambda t: (1 - (1 + 2j) * t) ** 0.25, 0.2 - 0.4j, 1e-11),
    "conjugate poles": (lambda t: 1 / (1 - t + t * t), 0.5 + math.sqrt(0.75) * 1j, 1e-13),
    "odd with conjugate poles": (conjugate, (1 + math.sqrt(3) * 1j) ** 0.5, 1e-13),
    "conjugate branches": (lambda t: ms.sqrt(1 - 1.2 * t + t * t), 0.6 + 0.8j, 0.1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
def test_known_singularities(prec, name):
    function, location, accuracy = CASES[name]
    s = function(ms.variable(DEGREE, prec))
    found = ms.nearest_singularity(s)
    assert found.location.iscomplex
    assert found.location.prec == prec
    radius, error = ms.radius_of_convergence(s)
    assert radius == abs(found.location)
    assert error == found.error
    if prec == "d":
        accuracy = max(accuracy, 1e-3)
    assert abs(complex(found.location) - location) <= accuracy
    assert float(error) <= 10 * accuracy


def test_plain_quotient(prec):
    s = ms.sqrt(1 + ms.variable(DEGREE, prec))
    found = ms.nearest_singularity(s, levels=0)
    assert abs(complex(found.location) + 1.024) <= 100 * DEGREE * mdla.finfo(prec).eps + 1e-15
    assert 0.02 < float(found.error) < 0.03


def test_more_precision_and_levels_find_more_digits():
    errors = [
        float(abs(ms.nearest_singularity(ms.sqrt(1 + ms.variable(128, p))).location + 1))
        for p in ("dd", "qd", "od")
    ]
    assert errors[0] < 1e-15
    assert errors[1] < 1e-30
    assert errors[2] < 1e-50
    s = ms.sqrt(1 + ms.variable(64, "qd"))
    by_level = [float(abs(ms.nearest_singularity(s, n).location + 1)) for n in range(6)]
    assert by_level == sorted(by_level, reverse=True)


def test_estimates_of_errors_hold(rng):
    """For random branch points with an analytic background further out."""
    t = ms.variable(48, "qd")
    for _ in range(20):
        z = complex(rng.normal(), rng.normal())
        far = 3 * z * np.exp(1j * rng.uniform(0, 6.28))
        s = ((1 - t / mdla.array(z)) ** 0.5) + 1 / (1 - t / mdla.array(far))
        found = ms.nearest_singularity(s)
        assert abs(complex(found.location) - z) <= 3 * float(found.error) + 1e-15 * abs(z)
        assert float(found.error) < 1e-5 * abs(z)


def test_units_of_t():
    s = ms.sqrt(1 + ms.variable(40, "dd"))
    far = ms.Series(mdla.ldexp(s.coefficients, -20 * np.arange(41)))
    a, b = ms.nearest_singularity(s), ms.nearest_singularity(far)
    assert mdla.array_equal(mdla.ldexp(a.location, 20), b.location)
    assert b.error == 2.0**20 * a.error


@pytest.mark.parametrize(
    "coefficients",
    [[3], [0, 0, 0], [1, 2, 0], [0, 1], [1, 2, 3, 0, 0], [0, 1, 0, 1, 0, 0, 0], [5, 0, 0, 1, 0, 0]],
)
def test_polynomials_have_none(coefficients):
    radius, error = ms.radius_of_convergence(ms.Series(coefficients))
    assert np.isinf(float(radius))
    assert error == 0


def test_irregular_gaps():
    c = np.zeros(65)
    c[2 ** np.arange(7)] = 4.0 ** (2 ** np.arange(7))
    radius, error = ms.radius_of_convergence(ms.Series(c))
    assert abs(float(radius) - 0.25) < 1e-13
    assert np.isinf(error)


def test_entire_functions_have_large_errors():
    radius, error = ms.radius_of_convergence(ms.exp(ms.variable(40)), levels=0)
    assert float(radius) == 40
    assert error >= 39


def test_batches(rng):
    t = ms.variable(30, "dd")
    s = ms.stack([ms.sqrt(1 + t), 1 / (4 + t * t), ms.constant(2, 30), ms.exp(t) / (2 - t)])
    s = s.reshape(2, 2)
    location, error = ms.nearest_singularity(s)
    assert location.shape == error.shape == (2, 2)
    for i, j in np.ndindex(2, 2):
        one = ms.nearest_singularity(s[i, j])
        assert mdla.array_equal(one.location, location[i, j])
        assert one.error == error[i, j]
    assert ms.nearest_singularity(ms.Series(mdla.zeros((0, 5)))).location.shape == (0,)
    radius, _ = ms.radius_of_convergence(random_series(rng, (50,), 20, "dd", True))
    assert radius.shape == (50,)


def test_infinities_and_short_series():
    location, error = ms.nearest_singularity(ms.Series([[1, np.inf, 1], [1, np.nan, 2]]))
    assert location.shape == (2,)
    assert np.isinf(error).all()
    location, error = ms.nearest_singularity(ms.Series([1, 2, 1]))
    assert np.isfinite(complex(location))
    with pytest.raises(TypeError, match="takes a Series"):
        ms.nearest_singularity([1, 2])
    with pytest.raises(ValueError, match="0 or more"):
        ms.nearest_singularity(ms.variable(3), -1)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_underflow_makes_no_polynomials(prec):
    t = ms.variable(40, prec=prec)
    found = ms.nearest_singularity(
        ms.stack([1 / (1 - t * 1e-20), ms.sqrt(1 + t * 1e-16), (1 + t * 1e-20) ** 4])
    )
    for i, z in enumerate((1e20, -1e16)):
        assert abs(found.location[i] / z - 1) < 1e-6
        assert abs(found.location[i] - z) <= 10 * found.error[i] + 1e-14 * abs(z)
    assert np.isinf(found.location[2].to_numpy())
