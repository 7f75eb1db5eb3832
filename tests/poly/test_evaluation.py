# SPDX-License-Identifier: BSD-3-Clause
"""Values and derivatives: their errors, and that a point gives the same bits everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla import PolynomialSystem
from mdla.core.precision import precision
from mdla.poly.families import cyclic, eco, katsura, noon, wilkinson
from mdla.poly.sweep import Operation
from tests.oracle import assert_normalised, assert_same_bits, error_in_eps
from tests.poly.reference import (
    Gaussian,
    coefficient_of,
    exact_results,
    gaussians,
    plain,
    random_points,
    random_system,
)
from tests.registry import DOUBLE_PRECS, THREADS, each_level

KINDS = pytest.mark.parametrize(
    ("complex_system", "complex_point"),
    [(False, False), (False, True), (True, False), (True, True)],
    ids=["real", "real at complex", "complex at real", "complex"],
)


def products(system, derivatives=True):
    steps = system._program(derivatives).steps
    return int((steps[:, 0] == Operation.MUL).sum())


def check_bound(system, x, prec):
    """The errors at points (B, n) are within the documented bound."""
    value, jacobian = system.evaluate_and_jacobian(x)
    assert (value.prec, value.shape) == (prec, (len(x), system.shape[0]))
    assert (jacobian.prec, jacobian.shape) == (prec, (len(x), *system.shape))
    assert_normalised(value)
    assert_normalised(jacobian)
    factor = 2.5 if value.iscomplex else 1
    for b, point in enumerate(gaussians(x)):
        values, slopes = exact_results(system, point)
        for k, (t, degree) in enumerate(
            zip(map(len, system.supports), system.degrees, strict=True)
        ):
            wanted = [values[k], *slopes[k]]
            got = mdla.concatenate([value[b, k : k + 1], jacobian[b, k]])
            want = [w.pair if value.iscomplex else w.re for w, _ in wanted]
            sizes = [size for _, size in wanted]
            errors = error_in_eps(got, want, prec, sizes)
            assert errors.max() <= factor * (t + degree)


@KINDS
def test_errors(complex_system, complex_point, prec, rng):
    for _ in range(3):
        system = random_system(rng, prec, complex_system)
        check_bound(system, random_points(rng, (3, 4), prec, complex_point), prec)


@pytest.mark.slow
@KINDS
def test_errors_of_many(complex_system, complex_point, prec, rng):
    for m, n, t, top in [(1, 1, 9, 12), (2, 2, 9, 9), (5, 7, 5, 2), (4, 9, 3, 1), (3, 3, 12, 4)]:
        for _ in range(2):
            system = random_system(rng, prec, complex_system, m, n, t, top)
            check_bound(system, random_points(rng, (4, n), prec, complex_point), prec)


@pytest.mark.parametrize("make", [cyclic, katsura, noon, eco])
def test_errors_of_families(make, prec, rng):
    system = make(4, prec=prec)
    check_bound(system, random_points(rng, (2, system.shape[1]), prec, True), prec)


def test_errors_near_a_root(prec, rng):
    """Heavy cancellation leaves an error below that of the terms' moduli."""
    system = wilkinson(20, prec=prec)
    check_bound(system, mdla.array([[1], [7], [20], ["7.5"]], prec=prec), prec)


@KINDS
def test_plain_operations_agree(complex_system, complex_point, rng):
    """The specification in array operations, with which the sweep agrees up to rounding."""
    for prec in ("d", "dd", "qd", "hd"):
        system = random_system(rng, prec, complex_system)
        x = random_points(rng, 4, prec, complex_point)
        for got, want in zip(system.evaluate_and_jacobian(x), plain(system, x), strict=True):
            assert mdla.allclose(got, want, rtol=1e4 * mdla.finfo(prec).eps, atol=0) or (
                mdla.max(abs(got - want)) <= 1e3 * mdla.finfo(prec).eps
            )


@KINDS
@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_kernel_and_generic_run_give_the_same_bits(complex_system, complex_point, prec, rng):
    # Arrays of complex numbers have no shorter product with a double, as the kernel has.
    is_complex = complex_system or complex_point
    system = random_system(rng, prec, complex_system, simple=0 if is_complex else 0.5)
    x = random_points(rng, 4, prec, complex_point)
    one = mdla.ones((), prec=prec, complex=is_complex)
    point = [coordinate.astype(prec, complex=is_complex or None) for coordinate in x]
    value, jacobian = system.evaluate_and_jacobian(x)
    generic = system.evaluate_and_jacobian_generic(point, one)

    def same(got, want):
        # Zeros of either sign are the same.
        assert_same_bits(got.planes + 0.0, mdla.stack(want).planes + 0.0)

    same(value, generic.value)
    same(jacobian, [mdla.stack(row) for row in generic.jacobian])
    same(system.evaluate(x), system.evaluate_generic(point, one))


def test_generic_objects(rng):
    """Exact numbers in the generic run: the results are exact."""
    for is_complex in (False, True):
        system = random_system(rng, "dd", is_complex, m=4, n=5, most_terms=8)
        point = [Gaussian(int(a), int(b)) for a, b in rng.integers(-5, 6, (5, 2))]
        values, slopes = exact_results(system, point)
        got = system.evaluate_and_jacobian_generic(point, Gaussian(1), coefficient_of)
        want = [value for value, _ in values]
        # Multiples of coefficients are rounded once; those of the values are not multiples.
        assert got.value == want
        assert system.evaluate_generic(point, Gaussian(1), coefficient_of) == want
        assert [len(row) for row in got.jacobian] == [5] * 4
        simple = PolynomialSystem.from_supports(
            system.supports, [np.arange(1, len(s) + 1) for s in system.supports]
        )
        _, slopes = exact_results(simple, point)
        got = simple.evaluate_and_jacobian_generic(point, Gaussian(1), coefficient_of)
        assert got.jacobian == [[slope for slope, _ in row] for row in slopes]


@KINDS
def test_batches(complex_system, complex_point, prec, rng):
    """The bits of a point do not depend on its neighbours, threads or instruction sets."""
    system = random_system(rng, prec, complex_system, m=5, n=4)
    x = random_points(rng, (301, 4), prec, complex_point)
    value, jacobian = system.evaluate_and_jacobian(x)
    for b in (0, 7, 8, 128, 300):
        one = system.evaluate_and_jacobian(x[b])
        assert_same_bits(one.value, value[b])
        assert_same_bits(one.jacobian, jacobian[b])
    for count in (1, 7, 9, 64):
        assert_same_bits(system.evaluate_and_jacobian(x[:count]).jacobian, jacobian[:count])
    for threads in THREADS:
        mdla.set_num_threads(threads)
        for _ in each_level():
            again = system.evaluate_and_jacobian(x)
            assert_same_bits(again.value, value)
            assert_same_bits(again.jacobian, jacobian)
    assert_same_bits(system.jacobian(x), jacobian)
    folded = x[:300].reshape(3, 5, 20, 4)
    value = system.evaluate(x)
    assert_same_bits(system.evaluate(x[17]), value[17])
    assert_same_bits(system.evaluate(folded), value[:300].reshape(3, 5, 20, 5))
    assert_same_bits(system.jacobian(folded), jacobian[:300].reshape(3, 5, 20, 5, 4))


def test_strides(rng):
    system = random_system(rng, "td", False)
    x = random_points(rng, (4, 50), "td", False)
    want = system.jacobian(x.T.copy())
    assert_same_bits(system.jacobian(x.T), want)
    assert_same_bits(system.jacobian(x.T[::-2]), want[::-2])
    assert_same_bits(system.jacobian(mdla.broadcast_to(x[:, 0], (3, 4)))[2], want[0])


def test_long_batches_are_cut(monkeypatch, rng):
    system = random_system(rng, "dd", False)
    x = random_points(rng, (200, 4), "dd", False)
    want = system.evaluate(x)
    monkeypatch.setattr("mdla.poly.evaluation._PER_CALL", 1)
    assert_same_bits(system.evaluate(x), want)


def test_precision_of_results(rng):
    system = PolynomialSystem("x/3 + y;", prec="qd")
    assert system.evaluate(mdla.ones(2, prec="dd")).prec == "qd"
    assert system.evaluate(mdla.ones(2, prec="od")).prec == "od"
    assert system.evaluate(np.ones(2)).prec == "qd"
    assert system.evaluate([1, 2]).prec == "qd"
    assert system.evaluate(np.ones(2, dtype=complex)).iscomplex
    assert PolynomialSystem("x;", prec="d").evaluate([0.5]).prec == "d"
    assert PolynomialSystem("x;", prec="ds").evaluate(mdla.ones(1, prec="ds")).prec == "ds"
    # The third in qd, whatever the point brings.
    assert system.evaluate(mdla.array([3, 0], prec="od"))[0] == 3 * mdla.array("1/3", "qd").item()


def test_sizes():
    system = PolynomialSystem("x^2 + y;", prec="dd")
    assert system.evaluate(mdla.zeros((0, 2))).shape == (0, 1)
    assert system.jacobian(mdla.zeros((3, 0, 2))).shape == (3, 0, 1, 2)
    constants = PolynomialSystem("3; 0; 1 + i;")
    assert constants.shape == (3, 0)
    value, jacobian = constants.evaluate_and_jacobian(mdla.zeros((5, 0)))
    assert (value.to_numpy() == [3, 0, 1 + 1j]).all()
    assert jacobian.shape == (5, 3, 0)
    unused = PolynomialSystem("x;", variables=["w", "x", "y"])
    assert (unused.jacobian([1, 2, 3]).to_numpy() == [[0, 1, 0]]).all()


def test_extreme_numbers(prec):
    wide = precision(prec).dtype == np.float64
    big = 1e300 if wide else 1e38
    system = PolynomialSystem("x^2 + y; x - y;", prec=prec)
    value = system.evaluate(mdla.array([[big, 1], [np.inf, 1], [np.nan, 1]], prec=prec)).to_numpy()
    assert np.isinf(value[0, 0])
    assert value[0, 1] == mdla.array(big, prec=prec).to_numpy() - 1
    assert np.isinf(value[1]).all()
    assert np.isnan(value[2]).all()
    tiny = mdla.array([5e-324 if wide else 1e-45, 0], prec=prec)
    assert (system.evaluate(tiny) == [0, tiny[0]]).all()
    # Derivatives by variables that do not occur are zero even where x is not finite.
    jacobian = PolynomialSystem("x; y;", prec=prec).jacobian(mdla.array([np.nan, 1], prec=prec))
    assert (jacobian == mdla.eye(2)).all()


def test_powers(rng):
    """High powers by squaring; the bound counts their degree all the same."""
    system = PolynomialSystem("x^1000000 + x^3*y^77 - 2;", prec="qd")
    assert products(system) < 80
    x = mdla.array([["1.000001", "0.99"]], prec="qd")
    got = system.evaluate(x)[0, 0]
    import mpmath

    with mpmath.workprec(400):
        a, b = (mpmath.mpf(v.item().numerator) / v.item().denominator for v in x[0])
        want = a**1000000 + a**3 * b**77 - 2
        value = mpmath.mpf(got.item().numerator) / got.item().denominator
        assert abs(value - want) <= 1000003 * mdla.finfo("qd").eps * (want + 4)


def test_products_are_shared():
    # One product of n variables: prefixes, suffixes, products of both, and the value.
    for n in (3, 4, 10, 50):
        names = [f"x{i}" for i in range(n)]
        assert products(PolynomialSystem("*".join(names))) == 3 * n - 5
    # Monomials and derivatives that recur cost nothing.
    assert products(PolynomialSystem("x*y*z; 2*x*y*z - x*y; y*z + 3*x*z")) == 4
    assert products(PolynomialSystem("x^2*y; x*y^2; x*y; x^2 - y^2;")) == 5
    # Cyclic n: intervals on the circle, and the products with a gap.
    n = 10
    intervals, gaps = n * (n - 2), sum(n * (k - 2) for k in range(3, n))
    assert products(cyclic(n)) <= intervals + gaps
    assert products(cyclic(n), derivatives=False) == n * (n - 2) + 1


def test_sparse_systems_of_hundreds(rng):
    n = 300
    supports, coefficients = [], []
    for _ in range(n):
        rows = np.zeros((6, n), dtype=int)
        for row in rows:
            row[rng.choice(n, 4, replace=False)] = rng.integers(1, 3, 4)
        supports.append(rows)
        coefficients.append(rng.standard_normal(6))
    system = PolynomialSystem.from_supports(supports, coefficients)
    # At most 3 products for each variable of a monomial, and two for its factors and powers.
    assert products(system) <= n * 6 * 4 * 5
    x = rng.standard_normal((3, n))
    value, jacobian = system.evaluate_and_jacobian(x)
    for k in (0, 299):
        powers = np.prod(x[:, np.newaxis] ** supports[k], axis=-1)
        np.testing.assert_allclose(value.to_numpy()[:, k], powers @ coefficients[k], atol=1e-10)
    # Euler: sum_j x_j dp/dx_j = sum_e |e| c_e x^e.
    euler = (jacobian * mdla.array(x)[:, np.newaxis]).sum(axis=-1).to_numpy()
    powers = np.prod(x[:, np.newaxis] ** supports[5], axis=-1)
    np.testing.assert_allclose(
        euler[:, 5], powers @ (coefficients[5] * supports[5].sum(axis=1)), atol=1e-10
    )
    assert PolynomialSystem(str(system)) == system


def test_bad_points():
    system = PolynomialSystem("x*y - 1;")
    for bad in ([1], [1, 2, 3], mdla.ones((4, 3)), 5, mdla.ones((2, 0))):
        for method in (system.evaluate, system.jacobian, system.evaluate_and_jacobian):
            with pytest.raises(ValueError, match=r"length 2, one coordinate .* variables x, y"):
                method(bad)
    with pytest.raises(TypeError):
        system.evaluate(["a", "b"])
    with pytest.raises(ValueError, match="must have 2 objects"):
        system.evaluate_generic([1], 1)
    with pytest.raises(ValueError, match="must have 2 objects"):
        system.evaluate_and_jacobian_generic([1, 2, 3], 1)
