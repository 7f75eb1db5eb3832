# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method at series: known solutions, every kind of equations, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

import mdla
from mdla import PolynomialSystem
from mdla.core.precision import precision
from mdla.linalg import LinAlgError
from mdla.series import Series, newton
from tests.oracle import assert_normalised, assert_same_bits, error_in_eps
from tests.registry import DOUBLE_PRECS

SHOWN = ["dd", "qd", "od", "hd"]


def binomial(power, degree):
    """The coefficients of (1 + t)^power."""
    c = [Fraction(1)]
    for k in range(1, degree + 1):
        c.append(c[-1] * (power - k + 1) / k)
    return c


def exponential(rate, degree):
    """The coefficients of exp(rate t)."""
    return [Fraction(rate) ** k / math.factorial(k) for k in range(degree + 1)]


def errors(x, wanted, prec):
    """The relative errors of coefficients (..., d + 1) in units of eps."""
    return error_in_eps(x, wanted, prec)


# -- one equation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 10, 64, 128, 152])
@pytest.mark.parametrize("prec", SHOWN)
def test_square_root(prec, degree):
    """x^2 = 1 + t: every coefficient within 100 d eps, and the figures of the literature."""
    result = newton(PolynomialSystem("x^2 - 1 - t;", prec=prec), [1], degree)
    x = result.x.coefficients[0]
    assert (x.prec, result.x.shape, result.x.degree) == (prec, (1,), degree)
    assert errors(x, binomial(Fraction(1, 2), degree), prec).max() <= 100 * degree
    assert (result.converged, result.order) == (True, degree)
    if degree >= 10:
        assert errors(x[10], Fraction(-2431, 262144), prec).max() <= 1000
    if degree >= 64:
        # The ratio theorem of Fabry: the ratios tend to -1, where the branch point is.
        assert abs(x[63] / x[64] - Fraction(-1024, 1000)) < Fraction(1, 10**15)


@pytest.mark.parametrize("prec", SHOWN)
def test_other_roots(prec):
    """Also the branch -sqrt(1 + t), and sqrt(2 + t) around t = 1."""
    system = PolynomialSystem("x^2 - 1 - t;", prec=prec)
    other = newton(system, [-1], 30).x.coefficients[0]
    assert errors(-other, binomial(Fraction(1, 2), 30), prec).max() <= 3000
    shifted = newton(system, [1.4], 30, at=1).x.coefficients[0] / mdla.sqrt(mdla.array(2, prec))
    wanted = [c / 2**k for k, c in enumerate(binomial(Fraction(1, 2), 30))]
    assert errors(shifted, wanted, prec).max() <= 3000


@pytest.mark.parametrize("prec", SHOWN)
def test_against_flint(prec):
    """A cubic with a complex coefficient beside an inverse series in ball arithmetic."""
    degree = 40
    system = PolynomialSystem("x^3 + (1 + i)*x - t;", prec=prec)
    result = newton(system, [0], degree)
    with flint.ctx.workprec(2 * precision(prec).bits):
        flint.ctx.cap = degree + 1
        wanted = flint.acb_series([0, flint.acb(1, 1), 0, 1]).reversion()
        x = result.x.coefficients[0]
        sizes = [abs(wanted[k]) for k in range(degree + 1)]
        for k in range(degree + 1):
            parts = (sum(map(flint.arb, p.planes[0, :, k].tolist())) for p in (x.real, x.imag))
            assert abs(flint.acb(*parts) - wanted[k]) <= bound(sizes, k, prec)
    assert result.converged


def bound(sizes, k, prec):
    """100 d eps of the largest of neighbouring coefficients: every second one vanishes."""
    near = [s.abs_upper() for s in sizes[max(0, k - 1) : k + 2]]
    return max(near) * (100 * len(sizes)) * flint.arb(mdla.finfo(prec).eps)


def test_functions_of_series():
    """exp(x) = 1 + t by a function, derivatives in forward mode or given."""
    wanted = [Fraction(0)] + [Fraction((-1) ** (k + 1), k) for k in range(1, 25)]
    for prec in SHOWN:
        for jacobian in (None, lambda x, t: [[mdla.series.exp(x[0])]]):
            start = mdla.zeros(1, prec=prec)
            result = newton(
                lambda x, t: [mdla.series.exp(x[0]) - 1 - t], start, 24, jacobian=jacobian
            )
            got = result.x.coefficients[0]
            assert got[0] == 0
            assert errors(got[1:], wanted[1:], prec).max() <= 2400
            assert result.converged


# -- monomial homotopies ---------------------------------------------------------------------------


def monomial_homotopy(n, degree, prec, coefficients):
    """``x_1 ... x_i = g(t)^(a_1 + ... + a_i)``, as in arXiv 2101.10881, and the a_i."""
    rates = [Fraction((3 * i + 1) % 7 - 3, 8) for i in range(n)]
    polynomials, total = [], Fraction(0)
    for i, rate in enumerate(rates):
        total += rate
        terms = {(1,) * (i + 1) + (0,) * (n - i): 1}
        for k, c in enumerate(coefficients(total, degree)):
            terms[(*(0,) * n, k)] = -c
        polynomials.append(terms)
    names = [*(f"x{i}" for i in range(n)), "t"]
    return PolynomialSystem(polynomials, prec, variables=names), rates


SLOW = pytest.mark.slow
HOMOTOPIES = [
    *((n, degree, prec) for n, degree in [(1, 8), (2, 40), (5, 24), (12, 10)] for prec in SHOWN),
    *((32, 32, prec) for prec in ["dd", "qd"]),
    (64, 64, "qd"),
    *(pytest.param(32, 32, prec, marks=SLOW) for prec in ["od", "hd"]),
    *(pytest.param(64, 64, prec, marks=SLOW) for prec in ["dd", "od", "hd"]),
]


@pytest.mark.parametrize(("n", "degree", "prec"), HOMOTOPIES)
def test_powers(n, degree, prec):
    """x_i = (1 + t)^a_i, every coefficient to a relative error."""
    system, rates = monomial_homotopy(n, degree, prec, binomial)
    result = newton(system, [1] * n, degree)
    assert result.converged
    assert_normalised(result.x.coefficients)
    for x, rate in zip(result.x.coefficients, rates, strict=True):
        assert errors(x, binomial(rate, degree), prec).max() <= 100 * degree


@pytest.mark.parametrize(("n", "degree", "prec"), HOMOTOPIES)
def test_exponentials(n, degree, prec):
    """x_i = exp(a_i t): errors are those of larger exponentials, which cancel."""
    system, rates = monomial_homotopy(n, degree, prec, exponential)
    result = newton(system, [1] * n, degree)
    assert result.converged
    majorant = exponential(2, degree)
    for x, rate in zip(result.x.coefficients, rates, strict=True):
        wanted = exponential(rate, degree)
        assert error_in_eps(x, wanted, prec, majorant).max() <= 100 * degree


@pytest.mark.parametrize("prec", SHOWN)
@pytest.mark.parametrize(("n", "degree"), [(3, 152), (5, 32)])
def test_cyclic_products(prec, n, degree):
    """x_i x_(i+1) = (1 + t)^(a_i + a_(i+1)), n odd: x_i = (1 + t)^a_i."""
    powers = [Fraction(i - 2, 4) for i in range(n)]
    polynomials = []
    for i in range(n):
        terms = {(*(int(j in (i, (i + 1) % n)) for j in range(n)), 0): 1}
        for k, c in enumerate(binomial(powers[i] + powers[(i + 1) % n], degree)):
            terms[(*(0,) * n, k)] = -c
        polynomials.append(terms)
    system = PolynomialSystem(polynomials, prec, variables=[*"abcde"[:n], "t"])
    result = newton(system, [1] * n, degree)
    assert result.converged
    for x, power in zip(result.x.coefficients, powers, strict=True):
        wanted = binomial(power, degree)
        scale = [max(abs(c), Fraction(1, (k + 1) ** 2)) for k, c in enumerate(wanted)]
        assert error_in_eps(x, wanted, prec, scale).max() <= 100 * degree


# -- batches, precisions, kinds of equations -------------------------------------------------------


def test_paths(rng):
    """Every path for itself, with the bits that it has alone in a batch."""
    system = PolynomialSystem("x^2*y - 1 - t; x*y^2 - 1 + 3*t;", prec="dd")
    starts = 1 + rng.uniform(-0.2, 0.2, (3, 4, 2)) + 1j * rng.uniform(-0.2, 0.2, (3, 4, 2))
    at = rng.uniform(-0.1, 0.1, 4)
    every = newton(system, starts, 7, at=at)
    assert (every.x.shape, every.x.degree) == ((3, 4, 2), 7)
    for name in ("converged", "order", "update", "rcond", "steps"):
        assert getattr(every, name).shape == (3, 4)
    assert every.residual.shape == (3, 4, 8)
    assert every.converged.all()
    assert (every.rcond > 0.01).all()
    for i, j in ((0, 0), (2, 3)):
        one = newton(system, starts[i, j : j + 1], 7, at=at[j])
        assert_same_bits(one.x.coefficients[0], every.x.coefficients[i, j])
        assert one.steps[0] == every.steps[i, j]
        assert one.residual[0].tolist() == every.residual[i, j].tolist()


def test_overdetermined_equations():
    system = PolynomialSystem("x^2 - 1 - t; x*y - 1; y^2*(1 + t) - 1;", prec="qd")
    for starts in ([1, 1], [[1, 1], [-1, -1]]):
        result = newton(system, starts, 20)
        assert np.all(result.converged)
        first = result.x.coefficients.reshape(-1, 2, 21)[0]
        assert errors(first[0], binomial(Fraction(1, 2), 20), "qd").max() <= 2000
        assert errors(first[1], binomial(Fraction(-1, 2), 20), "qd").max() <= 2000


def test_equations_without_solution_do_not_converge():
    """Least squares of t = 0 are a start, but no solution of the equations."""
    system = PolynomialSystem("x - 1 - t; x - 1.000001 + t;", prec="dd")
    result = newton(system, [1], 4)
    assert (result.converged, result.order) == (False, -1)
    at_start = PolynomialSystem("x - 1 - t; x - 1 + t;", prec="dd")
    assert newton(at_start, [1], 4).order == 0


def test_rank_on_request():
    """One equation for two unknowns: of all solutions the smallest in each order."""
    system = PolynomialSystem("x^2 + y^2 - 2 - 2*t;", prec="qd")
    with pytest.raises(LinAlgError, match=r"shape \(1, 2\), fewer rows than columns"):
        newton(system, [1, 1], 8)
    result = newton(system, [1, 1], 8, rcond=0)
    assert result.converged
    for x in result.x.coefficients:
        assert errors(x, binomial(Fraction(1, 2), 8), "qd").max() <= 800


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_starts_are_corrected(prec):
    result = newton(PolynomialSystem("x^2 - 2 - t;", prec=prec), [1.5], 0)
    assert abs(result.x.coefficients[0, 0] ** 2 - 2) <= 8 * mdla.finfo(prec).eps
    assert result.update <= 16 * 2 * mdla.finfo(prec).eps
    assert 2 <= result.steps <= 12
    assert result.converged


def test_precision_is_the_widest():
    system = PolynomialSystem("x^2 - 1 - t;", prec="qd")
    assert newton(system, [1], 2).x.prec == "qd"
    assert newton(system, mdla.ones(1, prec="od"), 2).x.prec == "od"
    assert newton(system, [1], 2, prec="dd").x.prec == "dd"
    assert newton(system, [1], 2, at=mdla.array(0, "hd")).x.prec == "hd"
    assert newton(system, [1], 2, prec="ds").x.prec == "ds"
    assert newton(lambda x, t: [x[0] ** 2 - 1 - t], [1], 2).x.prec == "dd"


def test_complex_coefficients_make_complex_solutions():
    result = newton(PolynomialSystem("x^2 + 1 + i*t;"), [1j], 5)
    assert result.x.iscomplex
    assert result.converged
    function = newton(lambda x, t: [x[0] - 1j * t], [0], 3)
    assert function.x.coefficients[0].to_numpy().tolist() == [0, 1j, 0, 0]


def test_name_and_place_of_the_parameter():
    system = PolynomialSystem("s - x^2 + 1; y - s*x;", variables=["x", "s", "y"], prec="qd")
    result = newton(system, [1, 0], 12, parameter="s")
    assert errors(result.x.coefficients[0], binomial(Fraction(1, 2), 12), "qd").max() <= 1200
    assert result.x.coefficients[1, 0] == 0
    assert errors(result.x.coefficients[1, 1], 1, "qd").max() <= 10


def test_functions_with_batches():
    def f(x, t):
        a, b = x[..., 0], x[..., 1]
        return [a * b - 1 - t, a / b - 1 + t]

    alone = newton(f, mdla.array([1, 1], "qd"), 6)
    every = newton(f, mdla.array([[1, 1], [-1, -1], [1.1, 1.2]], "qd"), 6)
    assert every.x.shape == (3, 2)
    assert every.converged.all()
    eps = mdla.finfo("qd").eps
    for i, sign in enumerate((1, -1, 1)):
        difference = every.x.coefficients[i] * sign - alone.x.coefficients
        assert mdla.max(abs(difference)) <= 100 * eps


def test_functions_that_return_one_series():
    result = newton(lambda x, t: x * x - 1 - t[..., np.newaxis], [[1], [-1]], 5)
    assert result.converged.all()
    given = newton(lambda x, t: x * x - 1 - t, [1], 5, jacobian=lambda x, t: [[2 * x[0]]])
    assert given.converged


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def test_terms_that_cancel(prec):
    """Residuals are judged by the terms of f, not by what is left of them."""
    result = newton(PolynomialSystem("(x-1)^8*(x-3) - t;", prec=prec), [3], 20)
    assert result.converged


@pytest.mark.parametrize(("prec", "gap"), [("dd", "1e-10"), ("qd", "1e-20")])
def test_nearly_double_roots(prec, gap):
    system = PolynomialSystem(f"(x - 1)^2 - {gap} - t;", prec=prec)
    start = mdla.array(1) + mdla.sqrt(mdla.array(gap, prec=prec))
    result = newton(system, [start], 6)
    assert result.converged


def test_coefficients_beyond_the_range_of_doubles():
    """Those before them are found, and it is said where they end."""
    result = newton(PolynomialSystem("x^2 - 1e-140 - t;", prec="d"), [1e-70], 8)
    assert (result.converged, result.order) == (False, 2)
    assert np.isfinite(result.x.coefficients[0, :3].to_numpy()).all()


def test_zero_sizes():
    system = PolynomialSystem("x^2 - 1 - t;")
    assert newton(system, np.ones((0, 1)), 3).x.shape == (0, 1)
    assert newton(system, np.ones((2, 0, 1)), 3).converged.shape == (2, 0)
    assert newton(system, [1], 0).x.degree == 0


@pytest.mark.parametrize("starts", [[[1], [-1]], [[1], [-1], [-2]]])
def test_functions_that_mix_paths(starts):
    with pytest.raises(ValueError, match=r"depend on the other paths.*x\[\.\.\., 0\]"):
        newton(lambda x, t: [x[0] ** 2 - 1 - t], starts, 2)
    with pytest.raises(ValueError, match=r"depend on the other paths.*t\[\.\.\., np\.newaxis\]"):
        newton(lambda x, t: x * x - 1 - t, starts, 2)
    assert newton(lambda x, t: [x[..., 0] ** 2 - 1 - t], starts, 2).converged.all()


# -- what is refused -------------------------------------------------------------------------------


def test_singular_leading_matrices():
    system = PolynomialSystem("x^2 - t;", prec="qd")
    with pytest.raises(LinAlgError, match=r"leading matrix is singular.*rcond="):
        newton(system, [0], 4)
    with pytest.raises(LinAlgError, match=r"system \[1\] is singular"):
        newton(system, [[1], [0]], 4, at=[1, 0])
    pair = PolynomialSystem("x + y - t; 2*x + 2*y - 2*t;")
    with pytest.raises(LinAlgError, match="leading matrix is singular"):
        newton(pair, [0, 0], 4)


def test_starts_that_lead_nowhere():
    with pytest.raises(ValueError, match="does not lead to a solution at t = 0: after 20"):
        newton(PolynomialSystem("x^2 + 1 - t;"), [0.7], 4)
    with pytest.raises(ValueError, match=r"x0 of path \[1\] does not lead"):
        newton(PolynomialSystem("x^2 + 1 - t;"), [[1j], [0.7]], 4)
    with pytest.raises(ValueError, match="infinities or nans; start with a vector where"):
        newton(lambda x, t: [mdla.series.log(x[0]) - t], [-1.0], 4)
    with pytest.raises(ValueError, match="x0 has infinities or nans"):
        newton(PolynomialSystem("x - t;"), [np.inf], 4)


def test_wrong_shapes():
    system = PolynomialSystem("x^2 + y - t; x - y;")
    with pytest.raises(ValueError, match=r"x0 must have the shape \(2,\).*variables x, y, got"):
        newton(system, [1], 4)
    with pytest.raises(ValueError, match=r"x0 must have the shape \(2,\).*got \(\)"):
        newton(system, 1, 4)
    with pytest.raises(ValueError, match=r"at has the shape \(3,\).*paths of x0, \(2,\)"):
        newton(system, np.ones((2, 2)), 4, at=[0, 1, 2])
    with pytest.raises(ValueError, match=r"f returned series of shape \(3,\) for x of shape"):
        newton(lambda x, t: [x], np.ones(3), 2)
    with pytest.raises(ValueError, match="f must return a Series of shape"):
        newton(lambda x, t: 5, [1], 2)
    with pytest.raises(ValueError, match="f returned no values"):
        newton(lambda x, t: [], [1], 2)
    with pytest.raises(ValueError, match="f returned a series of degree 0 where x has degree"):
        newton(lambda x, t: [Series([0.0])], [1], 2, jacobian=lambda x, t: [[1]])
    with pytest.raises(ValueError, match="jacobian returned rows of length 2 for 1 unknowns"):
        newton(lambda x, t: [x[0] - t], [1], 2, jacobian=lambda x, t: [[1, 2]])


def test_wrong_arguments():
    system = PolynomialSystem("x^2 - 1 - s;")
    with pytest.raises(ValueError, match=r"no variable 't', its variables are x, s"):
        newton(system, [1], 4)
    with pytest.raises(ValueError, match="no variable 'r'"):
        newton(system, [1], 4, parameter="r")
    with pytest.raises(ValueError, match=r"a function f.x, t. has its parameter"):
        newton(lambda x, t: [x[0] - t], [1], 4, parameter="t")
    with pytest.raises(ValueError, match="a system has its own derivatives"):
        newton(system, [1], 4, parameter="s", jacobian=lambda x, t: x)
    with pytest.raises(TypeError, match=r"system must be an mdla.PolynomialSystem or a function"):
        newton("x^2 - 1 - t;", [1], 4)
    with pytest.raises(TypeError, match="jacobian must be a function"):
        newton(lambda x, t: [x[0] - t], [1], 4, jacobian=3)
    with pytest.raises(ValueError, match="degree must not be negative, got -1"):
        newton(system, [1], -1, parameter="s")
    with pytest.raises(TypeError, match=r"degree must be an integer, got 2\.5"):
        newton(system, [1], 2.5, parameter="s")
    with pytest.raises(ValueError, match="steps must be positive"):
        newton(system, [1], 2, parameter="s", steps=0)
    for name, value in (("tol", math.nan), ("tol", -1.0), ("rcond", math.nan)):
        with pytest.raises(ValueError, match=f"{name}"):
            newton(system, [1], 2, parameter="s", **{name: value})
    with pytest.raises(ValueError, match=r"takes .* GiB of memory, of which there are"):
        newton(system, [1], 10**12, parameter="s")


def test_messages_fit_newton():
    system = PolynomialSystem("x - t;")
    for x0, at, name in (([math.nan], 0, "x0"), ([0], math.inf, "at")):
        with pytest.raises(
            ValueError, match=f"newton: {name} has infinities or nans; remove them$"
        ):
            newton(system, x0, 2, at=at)
    with pytest.raises(ValueError, match=r"must have the shape \(m,\), so write"):
        newton(lambda x, t: x[0] - t, [0], 2)
    with pytest.raises(ValueError, match=r"must have the shape \(2, m\), so write"):
        newton(lambda x, t: Series(mdla.zeros((3, 2, x.degree + 1))), [[0], [1]], 2)
