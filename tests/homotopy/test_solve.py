# SPDX-License-Identifier: BSD-3-Clause
"""All solutions of systems with known counts, singular ends, ends at infinity."""

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.homotopy import solve
from mdla.poly import families

# The bound for dd; what is computed is near eps.
RESIDUAL = 1e-25


def require_counts(found, count, prec="dd"):
    """All paths accounted for, as many regular distinct solutions, residuals near eps."""
    paths = found.paths
    assert len(paths.finite) + len(paths.at_infinity) + len(paths.failed) == len(paths)
    assert not len(paths.failed)
    assert len(found) == len(found.regular) == len(paths.finite) == count
    assert max(s.residual for s in found) <= 2**6 * mdla.finfo(prec).eps
    x = found.x.to_numpy()
    scale = np.maximum(1, np.abs(x).max(axis=1))
    apart = np.abs(x[:, None] - x[None]).max(axis=2) / scale
    assert np.min(apart + 2 * np.eye(len(x))) > 2.0**-40


@pytest.mark.parametrize(
    ("make", "n", "count"),
    [(families.katsura, 5, 32), (families.cyclic, 5, 70), (families.noon, 3, 21)],
)
@pytest.mark.parametrize("prec", ["d", "dd"])
def test_known_counts(make, n, count, prec):
    system = make(n)
    found = solve(system, prec)
    assert len(found.paths) == system.total_degree
    require_counts(found, count, prec)
    # By the definition of the issue: values themselves.
    if prec == "dd":
        assert mdla.max(abs(system.evaluate(found.x))) < RESIDUAL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "n", "count"),
    [
        (families.katsura, 6, 64),
        (families.katsura, 7, 128),
        (families.katsura, 8, 256),
        (families.noon, 4, 73),
        (families.noon, 5, 233),
    ],
)
def test_larger_counts(make, n, count):
    system = make(n)
    found = solve(system)
    require_counts(found, count)
    assert mdla.max(abs(system.evaluate(found.x))) < RESIDUAL


@pytest.mark.slow
def test_cyclic_6():
    found = solve(families.cyclic(6))
    require_counts(found, 156)
    assert len(found.paths.at_infinity) == 720 - 156


@pytest.mark.parametrize("prec", ["d", "td", "qd", "od"])
def test_precisions(prec):
    found = solve(families.katsura(3, prec), prec)
    require_counts(found, 8, prec)
    assert found.x.prec == prec


def test_rational_intersections():
    found = solve(mdla.PolynomialSystem("x + 2*y - 3; y*(x - y);"), "qd")
    points = sorted(tuple(Fraction(str(v)) for v in s.x.real.to_numpy().round(9)) for s in found)
    assert points == [(1, 1), (3, 0)]
    exact = {0: [3, 0], 1: [1, 1]}
    for s in found:
        near = min(exact.values(), key=lambda p: float(mdla.max(abs(s.x - np.array(p)))))
        assert mdla.max(abs(s.x - np.array(near))) <= 2**4 * mdla.finfo("qd").eps
        assert s.real
        assert not s.singular


@pytest.mark.parametrize("power", [2, 3, 4])
@pytest.mark.parametrize("prec", ["d", "dd"])
def test_multiple_root(power, prec):
    found = solve(mdla.PolynomialSystem(f"(x - 3)^{power};"), prec)
    assert len(found) == 1
    root = found[0]
    assert root.multiplicity == power
    assert root.singular
    assert root.real
    assert root.winding == (power,) * power
    # Circles agree to eps^(2/3).
    assert abs(root.x[0] - 3) < mdla.finfo(prec).eps ** 0.6


@pytest.mark.slow
def test_root_of_multiplicity_12():
    found = solve(mdla.PolynomialSystem("(x - 3)^12;"))
    assert [s.multiplicity for s in found] == [12]
    assert abs(found[0].x[0] - 3) < mdla.finfo("dd").eps ** 0.6


@pytest.mark.slow
def test_wilkinson():
    found = solve(families.wilkinson(20))
    roots = np.sort(found.x.to_numpy().real[:, 0])
    assert len(found.real) == 20
    assert np.array_equal(roots, np.arange(1, 21))


def test_a_double_point_and_simple_ones():
    # Two circles touch at (1, 0) and meet nowhere else but at the circular points at infinity.
    found = solve(mdla.PolynomialSystem("x^2 + y^2 - 1; (x - 2)^2 + y^2 - 1;"))
    assert [s.multiplicity for s in found] == [2]
    assert len(found.paths.at_infinity) == 2
    assert mdla.max(abs(found[0].x - np.array([1, 0]))) < mdla.finfo("dd").eps ** 0.6


def test_solution_at_the_origin():
    found = solve(mdla.PolynomialSystem("x^2 - x*y; y^2 + x;"))
    near_zero = [s for s in found if mdla.max(abs(s.x)) < 0.5]
    assert [s.multiplicity for s in near_zero] == [3]
    assert len(found) == 2


def test_inconsistent_and_constant():
    assert len(solve(mdla.PolynomialSystem("x + y - 1; x + y - 2;"))) == 0
    found = solve(mdla.PolynomialSystem("x - 1; 5;", variables=["x", "y"]))
    assert len(found) == len(found.paths) == 0
    assert found.x.shape == (0, 2)


def test_linear_and_univariate():
    found = solve(mdla.PolynomialSystem("x + 2*y - 5; 3*x - y - 1;"))
    assert mdla.max(abs(found.x - np.array([[1, 2]]))) <= 2**3 * mdla.finfo("dd").eps
    found = solve(mdla.PolynomialSystem("x^3 - 8;"))
    assert len(found) == 3
    assert len(found.real) == 1


def test_complex_coefficients_and_scales():
    found = solve(mdla.PolynomialSystem("x^2 - 1e-40*i; y^2 + i*x*1e60;"))
    assert len(found) == 4
    x, y = found.x[:, 0], found.x[:, 1]
    eps = mdla.finfo("dd").eps
    tiny = mdla.array("1e-40") * mdla.array(1j)
    assert mdla.max(abs(x * x / tiny - 1)) <= 2**6 * eps
    assert mdla.max(abs(y * y + mdla.array(1j) * x * mdla.array("1e60"))) <= 2**6 * eps * 1e40


def test_a_text():
    assert [len(solve("x^2 - 2; y - x;", prec)) for prec in ("d", "qd")] == [2, 2]


def test_gamma_does_not_matter():
    a = solve(families.katsura(3), rng=1).x.to_numpy()
    b = solve(families.katsura(3), rng=2).x.to_numpy()
    distance = np.abs(a[:, None] - b[None]).max(axis=2)
    assert np.all(distance.min(axis=0) < 2.0**-45)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x + y;", "infinitely many"),
        ("x^2; x; x + 1;", "overdetermined"),
        ("x^1000*y; y^1001 - x;", "more than 1,000,000 paths"),
    ],
)
def test_refused(text, words):
    with pytest.raises(ValueError, match=words):
        solve(mdla.PolynomialSystem(text))


def test_refused_zero_polynomial():
    system = mdla.PolynomialSystem([{(1, 0): 1}, {(0, 1): 0}])
    with pytest.raises(ValueError, match="polynomial 1 is zero"):
        solve(system)


def test_refused_arguments():
    system = mdla.PolynomialSystem("x^2 - 1;")
    with pytest.raises(TypeError, match="PolynomialSystem"):
        solve(3)
    with pytest.raises(ValueError, match="not tracked in ds"):
        solve(system, "ds")
    with pytest.raises(ValueError, match="unknown precision"):
        solve(system, "xx")
    with pytest.raises(ValueError, match="max_steps must be an integer of at least 1"):
        mdla.homotopy.TrackOptions(max_steps=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        mdla.homotopy.TrackOptions(pole_fraction=1.5)
