# SPDX-License-Identifier: BSD-3-Clause
"""Values and derivatives at power series: errors, bits, and what python-flint says."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla import PolynomialSystem
from mdla.poly.families import cyclic, katsura
from mdla.series import Series
from tests.oracle import assert_normalised, assert_same_bits, error_in_eps
from tests.poly.reference import Gaussian, coefficient_of, gaussians, random_points, random_system
from tests.registry import DOUBLE_PRECS, THREADS, each_level

KINDS = pytest.mark.parametrize(
    ("complex_system", "complex_point"),
    [(False, False), (False, True), (True, False), (True, True)],
    ids=["real", "real at complex", "complex at real", "complex"],
)


class Exact:
    """A truncated series of exact complex numbers."""

    def __init__(self, coefficients):
        self.c = list(coefficients)

    def __add__(self, other):
        return Exact(a + b for a, b in zip(self.c, other.c, strict=True))

    def __sub__(self, other):
        return Exact(a - b for a, b in zip(self.c, other.c, strict=True))

    def __mul__(self, other):
        if isinstance(other, Gaussian):
            return Exact(a * other for a in self.c)
        return Exact(
            sum((self.c[i] * other.c[k - i] for i in range(k + 1)), Gaussian(0))
            for k in range(len(self.c))
        )

    def moduli(self):
        return Exact(Gaussian(a.size) for a in self.c)


def moduli(system):
    """The system whose coefficients are the moduli, a little enlarged."""
    c = [abs(c) * 1.001 for c in system.coefficients]
    return PolynomialSystem.from_supports(system.supports, c, variables=system.variables)


def series_at(rng, shape, degree, prec, is_complex, decay=0):
    points = random_points(rng, (*shape, degree + 1), prec, is_complex)
    return Series(points * mdla.array(0.5 ** (decay * np.arange(degree + 1)), prec=prec))


def check_bound(system, x, prec):
    """The errors at one point (n,) are within the documented bound."""
    value, jacobian = system.evaluate_and_jacobian(x)
    m, n = system.shape
    assert (value.shape, jacobian.shape) == ((m,), (m, n))
    assert (value.degree, jacobian.degree) == (x.degree, x.degree)
    point = [Exact(row) for row in gaussians(x.coefficients).tolist()]
    one = Exact([Gaussian(1), *[Gaussian(0)] * x.degree])
    exact = system.evaluate_and_jacobian_generic(point, one, coefficient_of)
    sizes = moduli(system).evaluate_and_jacobian_generic(
        [s.moduli() for s in point], one, coefficient_of
    )
    complex_ = value.iscomplex
    for k, (terms, degree) in enumerate(
        zip(map(len, system.supports), system.degrees, strict=True)
    ):
        bound = (2.5 if complex_ else 1) * (terms + degree * (np.arange(x.degree + 1) + 2))
        rows = [(value[k], exact.value[k], sizes.value[k])]
        rows += [(jacobian[k, j], exact.jacobian[k][j], sizes.jacobian[k][j]) for j in range(n)]
        for got, want, size in rows:
            assert_normalised(got.coefficients)
            errors = error_in_eps(
                got.coefficients,
                [c.pair if complex_ else c.re for c in want.c],
                prec,
                [s.re or 1 for s in size.c],
            )
            assert (errors <= bound).all()


@KINDS
def test_errors(complex_system, complex_point, prec, rng):
    system = random_system(rng, prec, complex_system)
    for degree, decay in ((0, 0), (3, 0), (9, 4)):
        check_bound(system, series_at(rng, (4,), degree, prec, complex_point, decay), prec)


@pytest.mark.slow
@KINDS
def test_errors_of_many(complex_system, complex_point, prec, rng):
    for m, n, t, top, degree, decay in [
        (1, 1, 5, 9, 17, 2),
        (2, 3, 4, 3, 8, -3),
        (3, 3, 5, 2, 1, 0),
        (1, 5, 3, 1, 17, 0),
    ]:
        system = random_system(rng, prec, complex_system, m, n, t, top)
        check_bound(system, series_at(rng, (n,), degree, prec, complex_point, decay), prec)


@KINDS
def test_bits(complex_system, complex_point, prec, rng):
    """Those of a point depend neither on neighbours nor on threads and instruction sets."""
    system = random_system(rng, prec, complex_system)
    x = series_at(rng, (13, 4), 10, prec, complex_point)
    value, jacobian = system.evaluate_and_jacobian(x)
    for b in (0, 7, 8, 12):
        one = system.evaluate_and_jacobian(x[b])
        assert_same_bits(one.value.coefficients, value[b].coefficients)
        assert_same_bits(one.jacobian.coefficients, jacobian[b].coefficients)
    assert_same_bits(system.jacobian(x[:6]).coefficients, jacobian[:6].coefficients)
    for threads in THREADS:
        mdla.set_num_threads(threads)
        for _ in each_level():
            again = system.evaluate_and_jacobian(x)
            assert_same_bits(again.value.coefficients, value.coefficients)
            assert_same_bits(again.jacobian.coefficients, jacobian.coefficients)
    again = system.evaluate(x)
    folded = Series(x.coefficients[:12].reshape(3, 4, 4, 11))
    assert_same_bits(
        system.evaluate(folded).coefficients, again.coefficients[:12].reshape(3, 4, 3, 11)
    )


def test_degree_zero_is_a_point(prec, rng):
    """Constants: what a point gives, up to rounding."""
    system = random_system(rng, prec, False)
    x = random_points(rng, (9, 4), prec, False)
    at_points = system.evaluate_and_jacobian(x)
    at_series = system.evaluate_and_jacobian(Series(x[..., np.newaxis]))
    bound = 1000 * mdla.finfo(prec).eps
    for a, b in zip(at_points, at_series, strict=True):
        assert (abs(a - b.coefficients[..., 0]) <= bound).all()
    # Trailing zeros change no bits, in a batch of polynomials of several degrees.
    mixed = np.zeros((9, 4, 6)) + mdla.array(x)[..., np.newaxis] * (np.arange(6) == 0)
    mixed[0, 1, 3] = 0.5
    values = system.evaluate(Series(mixed)).coefficients
    for b in (0, 1, 8):
        assert_same_bits(system.evaluate(Series(mixed[b])).coefficients, values[b])


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_generic_agrees(prec, rng):
    """The same program on Series objects."""
    system = random_system(rng, prec, False)
    x = series_at(rng, (4,), 6, prec, False)
    one = mdla.series.constant(mdla.ones((), prec=prec), 6)
    generic = system.evaluate_and_jacobian_generic([x[i] for i in range(4)], one)
    got = system.evaluate_and_jacobian(x)
    bound = 1e4 * mdla.finfo(prec).eps
    for k in range(3):
        assert (abs((got.value[k] - generic.value[k]).coefficients) <= bound).all()
        for j in range(4):
            miss = got.jacobian[k, j] - generic.jacobian[k][j]
            assert (abs(miss.coefficients) <= bound).all()


@pytest.mark.parametrize("make", [cyclic, katsura])
def test_flint(make, rng):
    """Balls of python-flint, at more bits, along x_i = exp-like series."""
    flint = pytest.importorskip("flint")
    degree, system = 24, make(4, "qd")
    n = system.shape[1]
    x = series_at(rng, (n,), degree, "qd", False, 1)
    precision, flint.ctx.prec, cap, flint.ctx.cap = flint.ctx.prec, 600, flint.ctx.cap, degree + 1
    try:

        def ball(v):
            return flint.arb(flint.fmpq(v.numerator, v.denominator))

        def fraction(v):
            return Gaussian(mdla.array(str(v.mid()), prec="od").item())

        point = [
            flint.arb_series([ball(v.re) for v in row])
            for row in gaussians(x.coefficients).tolist()
        ]
        balls = system.evaluate_and_jacobian_generic(
            point, flint.arb_series([1]), lambda c: ball(coefficient_of(c).re)
        )
        value, jacobian = system.evaluate_and_jacobian(x)
        for k in range(n):
            for got, want in [
                (value[k], balls.value[k]),
                *[(jacobian[k, j], balls.jacobian[k][j]) for j in range(n)],
            ]:
                for i, v in enumerate(gaussians(got.coefficients).tolist()):
                    miss = abs(ball(v.re) - want[i])
                    assert miss < 1e3 * (i + 2) * mdla.finfo("qd").eps
    finally:
        flint.ctx.prec, flint.ctx.cap = precision, cap


def test_precision_of_results():
    system = PolynomialSystem("x/3 + y;", prec="qd")
    t = mdla.series.variable(2, prec="dd")
    x = mdla.series.stack([t, t])
    assert system.evaluate(x).prec == "qd"
    assert system.evaluate(x.astype("od")).prec == "od"
    assert PolynomialSystem("i*x + y;", prec="dd").evaluate(x).iscomplex
    assert PolynomialSystem("x;", prec="ds").evaluate(x[:1].astype("ds")).prec == "ds"


def test_sizes():
    system = PolynomialSystem("x^2 + y;", prec="dd")
    value, jacobian = system.evaluate_and_jacobian(Series(mdla.zeros((3, 0, 2, 5))))
    assert (value.shape, jacobian.shape) == ((3, 0, 1), (3, 0, 1, 2))
    constants = PolynomialSystem("3; 0; 1 + i;")
    value, jacobian = constants.evaluate_and_jacobian(Series(mdla.zeros((5, 0, 3))))
    assert (value.coefficients.to_numpy() == [[3, 0, 0], [0, 0, 0], [1 + 1j, 0, 0]]).all()
    assert jacobian.shape == (5, 3, 0)


def test_long_batches_are_cut(monkeypatch, rng):
    system = random_system(rng, "dd", False)
    x = series_at(rng, (30, 4), 5, "dd", False)
    want = system.evaluate(x)
    monkeypatch.setattr("mdla.poly.evaluation._PER_CALL", 1)
    assert_same_bits(system.evaluate(x).coefficients, want.coefficients)


def test_not_finite(prec):
    """Infinities and nans reach the coefficients of their own and higher orders."""
    system = PolynomialSystem("x*y; x + y;", prec=prec)
    c = np.ones((9, 2, 4))
    c[3, 0, 2] = np.inf
    value = system.evaluate(Series(mdla.array(c, prec=prec))).coefficients.to_numpy()
    assert (value[3] == [[1, 2, np.inf, np.inf], [2, 2, np.inf, 2]]).all()
    assert (value[4] == [[1, 2, 3, 4], [2, 2, 2, 2]]).all()


def test_bad_series():
    system = PolynomialSystem("x*y - 1;")
    for shape in ((), (1,), (3,), (2, 3)):
        for method in (system.evaluate, system.jacobian, system.evaluate_and_jacobian):
            with pytest.raises(ValueError, match=r"length 2, one coordinate .* variables x, y"):
                method(Series(mdla.zeros((*shape, 4))))
