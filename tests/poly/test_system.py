# SPDX-License-Identifier: BSD-3-Clause
"""Making, comparing, printing and storing systems."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdla
from mdla import PolynomialSystem
from mdla.core.precision import precision
from mdla.poly.families import cyclic, eco, katsura, noon, wilkinson
from tests.oracle import assert_same_bits
from tests.poly.reference import random_system
from tests.registry import adversarial


def test_mappings(prec):
    system = PolynomialSystem([{(2, 0): 1, (1, 1): "1/3", (0, 0): -1}, {(0, 1): 0.5}, {}], prec)
    assert system.variables == ("x1", "x2")
    assert (system.shape, system.degrees, system.total_degree) == ((3, 2), (2, 1, 0), 0)
    assert (system.prec, system.precision) == (prec, precision(prec))
    assert not system.iscomplex
    np.testing.assert_array_equal(system.supports[0], [[2, 0], [1, 1], [0, 0]])
    assert_same_bits(system.coefficients[0], mdla.array([1, "1/3", -1], prec=prec))
    assert system.supports[2].shape == (0, 2)
    assert system.coefficients[2].shape == (0,)


def test_kinds_of_coefficients(prec):
    """All are exact and rounded once."""
    third = mdla.array("1/3", prec="hd")
    numbers = [1, 0.1, Fraction(1, 7), Decimal("0.1"), "1e-3", 1 + 2j, "1/3-0.1j", np.float32(0.1)]
    numbers += [np.int64(5), mpmath.mpf("0.3"), True, third]
    mapping = {(k,): c for k, c in enumerate(numbers)}
    system = PolynomialSystem([mapping], prec)
    assert system.iscomplex
    want = mdla.array(numbers[::-1], prec=prec, complex=True)
    assert_same_bits(system.coefficients[0], want)
    assert PolynomialSystem([mapping]).prec == "hd"
    assert PolynomialSystem([{(1,): 1}]).prec == "dd"


def test_like_terms_are_added_exactly():
    tenth = Fraction(1, 10)
    system = PolynomialSystem.from_supports([[[1], [1], [0], [0]]], [[tenth, tenth, 1e300, -1e300]])
    assert system == PolynomialSystem([{(1,): "0.2"}])
    assert len(system.coefficients[0]) == 1
    # Cancellation in a string happens before rounding.
    assert PolynomialSystem("1/3*x - x/3 + 1e-1*x;") == PolynomialSystem("0.1*x;")


def test_from_supports(prec, rng):
    supports = [rng.integers(0, 4, (5, 3)), np.zeros((0, 3), int), [[1, 0, 2]]]
    supports[0] = np.unique(supports[0], axis=0)
    coefficients = [mdla.random.uniform(len(supports[0]), prec=prec, rng=rng), [], ["2/3"]]
    system = PolynomialSystem.from_supports(supports, coefficients, variables=["x", "y", "z"])
    assert system.prec == prec
    assert system.variables == ("x", "y", "z")
    again = PolynomialSystem.from_supports(
        system.supports, system.coefficients, variables=system.variables
    )
    assert again == system
    for rows, c in zip(supports, coefficients, strict=True):
        for row, number in zip(rows, c, strict=True):
            k = 0 if rows is supports[0] else 2
            position = system.supports[k].tolist().index(list(row))
            assert system.coefficients[k][position] == mdla.array(number, prec=prec)
    assert PolynomialSystem.from_supports([np.zeros((0, 2), int)], [[]]).shape == (1, 2)


@pytest.mark.parametrize("is_complex", [False, True])
def test_text_reads_back(is_complex, prec, rng):
    for _ in range(5):
        system = random_system(rng, prec, is_complex)
        again = PolynomialSystem(str(system), prec, variables=system.variables)
        assert again == system
        assert PolynomialSystem(str(system), prec) == system
        for a, b in zip(system.coefficients, again.coefficients, strict=True):
            assert_same_bits(a, b)


def test_text_of_adversarial_coefficients(prec, rng):
    planes = adversarial(rng, prec, 200)
    system = PolynomialSystem.from_supports([np.arange(200)[:, np.newaxis]], [mdla.MDArray(planes)])
    assert PolynomialSystem(str(system), prec) == system


def test_text():
    def text(s, **options):
        return str(PolynomialSystem(s, **options))

    assert text("y + x;", variables=["x", "y"]) == "x + y;"
    assert text("x*y - 1; -x^3;") == "x*y - 1;\n-x^3;"
    assert text("x - x;") == "x - x + 0;"
    assert text("x; y;", variables=["y", "x"]) == "y - y + x - x + x;\ny;"
    assert text("-x; y;", variables=["y", "x"]) == "y - y + x - x -x;\ny;"
    assert text("(1-2*i)*x + i*y - i*z + 2*i;") == "(1 - 2*i)*x + i*y - i*z + 2*i;"
    assert text("1.5e-30*x - 1e40;") == "1.5e-30*x - 1e+40;"
    for s in ("x - x;", "x; y;", "-x; y; 3 - 0.1*i;"):
        names = None if "- x" in s else ["y", "x"]
        system = PolynomialSystem(s, variables=names)
        assert PolynomialSystem(str(system)) == system


def test_equality_and_hash():
    a = PolynomialSystem("x^2 - 1/2; x*y;")
    assert a == PolynomialSystem([{(0, 0): -0.5, (2, 0): 1}, {(1, 1): 1}], variables=["x", "y"])
    assert a == PolynomialSystem("x^2 - 1/2; x*y;", prec="hd")
    assert hash(a) == hash(PolynomialSystem("x^2 - 1/2; x*y;", prec="hd"))
    others = ["x^2 - 1/2; x*y; 1", "x^2 - 1/4; x*y;", "x^2 - 1/2; x*z;", "x - 1/2; x*y;"]
    for other in [*others, "x^2 - 1/2 + i; x*y;"]:
        assert a != PolynomialSystem(other)
    assert a != "x^2 - 1/2; x*y;"
    # A third depends on the precision.
    assert PolynomialSystem("x/3;") != PolynomialSystem("x/3;", prec="qd")


def test_storage(prec, rng):
    system = random_system(rng, prec, True)
    system.evaluate(mdla.zeros(4))
    for again in (pickle.loads(pickle.dumps(system)), copy.copy(system), copy.deepcopy(system)):
        assert again == system
        assert (again.prec, hash(again)) == (prec, hash(system))
        x = rng.standard_normal((3, 4))
        assert_same_bits(again.jacobian(x), system.jacobian(x))


def test_systems_do_not_change():
    system = PolynomialSystem("x + 2;")
    system.coefficients[0][0] = 5
    system.supports[0][0] = 7
    assert system == PolynomialSystem("x + 2;")
    with pytest.raises(AttributeError):
        system.variables = ("y",)


def test_astype():
    system = PolynomialSystem("x/3 + 1/7*i; 1e-20*x + 1;", prec="hd")
    for name in ("d", "dd", "qd"):
        assert system.astype(name) == PolynomialSystem(str(system), prec=name)
        assert system.astype(name).prec == name
    wide = system.astype("dd").astype("od")
    assert wide == system.astype("dd")
    assert wide.prec == "od"
    with pytest.raises(ValueError, match="unknown precision"):
        system.astype("xd")
    # What rounds to zero is gone.
    assert PolynomialSystem("1e-60*x + 1;", prec="qd").astype("ds").degrees == (0,)


def test_repr():
    assert repr(PolynomialSystem("x - 1;", prec="qd")) == "PolynomialSystem('x - 1;', prec='qd')"
    assert repr(cyclic(5)) == "<PolynomialSystem of 5 polynomials in 5 variables, prec='dd'>"


def test_bad_mappings():
    system = PolynomialSystem
    with pytest.raises(ValueError, match=r"term with 3 exponents, .* but there are 2 variables"):
        system([{(1, 2): 1}, {(1, 2, 3): 1}])
    with pytest.raises(ValueError, match="2 exponents"):
        system([{(1, 2): 1}], variables=["x"])
    with pytest.raises(ValueError, match="exponent -1; multiply"):
        system([{(1, -1): 1}])
    with pytest.raises(TypeError, match="exponents are integers"):
        system([{(1, 0.5): 1}])
    with pytest.raises(TypeError, match="exponents are integers"):
        system([{"xy": 1}])
    with pytest.raises(ValueError, match=r"degree is 1048577; the largest .* 1048576"):
        system([{(1 << 20, 1): 1}])
    with pytest.raises(ValueError, match="more than"):
        system([{(10**40,): 1}])
    with pytest.raises(ValueError, match="inf; coefficients must be finite"):
        system([{(1,): np.inf}])
    with pytest.raises(ValueError, match="nan; coefficients must be finite"):
        system([{(1,): mdla.array(np.nan)}])
    with pytest.raises(ValueError, match=r"coefficient of x1\^1 is beyond the range"):
        system([{(1,): 10**400}])
    with pytest.raises(ValueError, match="beyond the range"):
        system([{(1,): 1e300}], prec="ds")
    with pytest.raises(TypeError, match="single number"):
        system([{(1,): mdla.ones(2)}])
    with pytest.raises(TypeError, match="cannot convert"):
        system([{(1,): None}])
    with pytest.raises(ValueError, match="cannot read 'a' as a number"):
        system([{(1,): "a"}])
    with pytest.raises(TypeError, match=r"write \[p\] for a system"):
        system({(1,): 1})
    for bad in (5, None, b"x;"):
        with pytest.raises(TypeError, match="takes a string such as"):
            system(bad)
    with pytest.raises(TypeError, match="got a int among"):
        system([{(1,): 1}, 3])
    with pytest.raises(TypeError, match="got a str among"):
        system([{(1,): 1}, "x"])
    with pytest.raises(ValueError, match="at least one polynomial"):
        system([])
    with pytest.raises(ValueError, match="unknown precision"):
        system("x;", prec="xx")


def test_bad_supports():
    make = PolynomialSystem.from_supports
    with pytest.raises(ValueError, match="2 supports, but coefficients of 1"):
        make([[[1]], [[2]]], [[1]])
    with pytest.raises(ValueError, match="has 2 rows, but there are 1"):
        make([[[1], [2]]], [[1]])
    with pytest.raises(ValueError, match=r"shape \(t, n\)"):
        make([[1, 2]], [[1, 1]])
    with pytest.raises(TypeError, match="float64"):
        make([[[0.5]]], [[1]])
    with pytest.raises(ValueError, match="at least one"):
        make([], [])
    with pytest.raises(ValueError, match="exponents"):
        make([[[1, 2]], [[1]]], [[1], [1]])


def test_bad_names():
    for bad in ("i", "I", "2x", "", "x y", "x-1", 5):
        with pytest.raises(ValueError, match="no name of a variable"):
            PolynomialSystem([{(1,): 1}], variables=[bad])
    with pytest.raises(ValueError, match="names x twice"):
        PolynomialSystem([{(1, 1): 1}], variables=["x", "x"])
    with pytest.raises(TypeError, match="list of names"):
        PolynomialSystem("x;", variables="x y")


# -- families ------------------------------------------------------------------------------------


def test_cyclic():
    for n in (2, 5, 7):
        system = cyclic(n)
        assert system.degrees == tuple(range(1, n + 1))
        root = np.exp(2j * np.pi * np.arange(n) / n)
        # Ratios of neighbours are roots of unity: sums over the circle vanish, of odd n the product
        # is one.
        values = system.evaluate(root).to_numpy()
        assert abs(values[:-1]).max() < 1e-14
        assert abs(values[-1]) < 1e-14 or n % 2 == 0


def test_katsura():
    for n in (1, 4, 8):
        system = katsura(n)
        assert system.shape == (n + 1, n + 1)
        assert system.total_degree == 2**n
        # All spins alike: u_0 = 1 and nothing else.
        assert not system.evaluate([1] + [0] * n).to_numpy().any()
    # Against the sums as they are published.
    n, u = 5, np.random.default_rng(3).integers(-9, 10, 6)
    u_at = lambda k: int(u[abs(k)]) if abs(k) <= n else 0  # noqa: E731
    want = [sum(u_at(k) * u_at(m - k) for k in range(-n, n + 1)) - u_at(m) for m in range(n)]
    want.append(sum(u_at(k) for k in range(-n, n + 1)) - 1)
    assert katsura(n).evaluate(u).to_numpy().tolist() == want


def test_noon_and_eco():
    x = np.random.default_rng(4).integers(-9, 10, 6).tolist()
    n = len(x)
    want = [
        Fraction(x[i] * sum(x[j] ** 2 for j in range(n) if j != i)) - Fraction(11, 10) * x[i] + 1
        for i in range(n)
    ]
    assert mdla.allclose(noon(n).evaluate(x), mdla.array(want), rtol=1e-30)
    assert noon(n).degrees == (3,) * n
    want = [
        (x[k - 1] + sum(x[i - 1] * x[i + k - 1] for i in range(1, n - k))) * x[n - 1] - k
        for k in range(1, n)
    ]
    want.append(sum(x[: n - 1]) + 1)
    assert eco(n).evaluate(x).to_numpy().tolist() == want
    assert eco(8).degrees == (3,) * 6 + (2, 1)


def test_wilkinson():
    system = wilkinson()
    assert system.degrees == (20,)
    assert not system.evaluate(np.arange(1, 21)[:, np.newaxis]).to_numpy().any()
    product = PolynomialSystem("*".join(f"(x - {k})" for k in range(1, 21)))
    assert product == system
    assert system.evaluate([0]).item() == 2432902008176640000


@pytest.mark.parametrize(("make", "least"), [(cyclic, 2), (katsura, 1), (noon, 2), (eco, 3)])
def test_families_refuse(make, least):
    with pytest.raises(ValueError, match=f"n >= {least}, got {least - 1}"):
        make(least - 1)
    assert make(least, "qd").prec == "qd"
