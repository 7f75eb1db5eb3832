# SPDX-License-Identifier: BSD-3-Clause
"""PHCpack's format, expansion, and what is said about text that cannot be read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from mdla import PolynomialSystem
from mdla.poly.expansion import terms_of
from mdla.poly.parsing import parse_polynomials


def parsed(text, variables=None):
    """{dense exponents: exact number or pair} of a single polynomial."""
    (terms,), names = parse_polynomials([text], variables)
    out = {}
    for monomial, (real, imag) in terms:
        exponents = [0] * len(names)
        for i, e in monomial:
            exponents[i] = e
        out[tuple(exponents)] = (real, imag) if imag else real
    return out


READ = {
    "x^2 + 3.5*x*y - 1;": {(2, 0): 1, (1, 1): Fraction(7, 2), (0, 0): -1},
    "x**2": {(2,): 1},
    "x^(3)": {(3,): 1},
    "-x": {(1,): -1},
    "+ x - -x": {(1,): 2},
    "x + -3*x": {(1,): -2},
    "-x^2": {(2,): -1},
    "2/3*x": {(1,): Fraction(2, 3)},
    "x/3/2": {(1,): Fraction(1, 6)},
    "6/2*x": {(1,): 3},
    "1.5e-3*x + 1E2 + .5 + 2.": {(1,): Fraction(3, 2000), (0,): Fraction(205, 2)},
    "0x1.8p1*x": {(1,): 3},
    "i*x": {(1,): (0, 1)},
    "I^2*x": {(1,): -1},
    "i^3": {(): (0, -1)},
    "(2*i)^5": {(): (0, 32)},
    "(1+i)^2": {(): (0, 2)},
    "x/(1 - i)": {(1,): (Fraction(1, 2), Fraction(1, 2))},
    "1/i": {(): (0, -1)},
    "(0.1 - 2.0*i)*x*y": {(1, 1): (Fraction(1, 10), -2)},
    "+( 3.05E-01 + 9.5E-01*i)*x": {(1,): (Fraction(61, 200), Fraction(19, 20))},
    "(x + y)^3": {(3, 0): 1, (2, 1): 3, (1, 2): 3, (0, 3): 1},
    "(x - y)*(x + y)": {(2, 0): 1, (0, 2): -1},
    "((x))": {(1,): 1},
    "(x+1)^0 + 0^0": {(0,): 2},
    "(x - x)^3 + y": {(0, 1): 1},
    "(x/2)^3": {(3,): Fraction(1, 8)},
    "(1/3 + 1/6)^2*x": {(1,): Fraction(1, 4)},
    "1e-500*1e500*x": {(1,): 1},
    "x_1*Y2 - alpha": {(1, 1, 0): 1, (0, 0, 1): -1},
    "e*x + E": {(1, 1, 0): 1, (0, 0, 1): 1},
    "x -\n\t y\r\n": {(1, 0): 1, (0, 1): -1},
    "1\nx^2 - 1;": {(2,): 1, (0,): -1},
    "1 2\nx*y": {(1, 1): 1},
    "  1   2  \n\n x*y;": {(1, 1): 1},
}


@pytest.mark.parametrize("text", READ)
def test_read(text):
    assert parsed(text) == READ[text]


def test_several_polynomials():
    polynomials, names = parse_polynomials(["2\nx - y;\n y;", "z"], None)
    assert len(polynomials) == 3
    assert names == ["x", "y", "z"]
    assert PolynomialSystem("x;y;").shape == (2, 2)
    assert PolynomialSystem(["x;", "y;", "x*y"]).shape == (3, 2)
    assert PolynomialSystem("1 3\nx + y;", variables=["x", "y", "z"]).shape == (1, 3)


def test_cancelled_variables_count():
    assert PolynomialSystem("x + y + z - x - y - z + z^2 - x;").variables == ("x", "y", "z")


FAULTS = {
    "": ("a number, a variable or '(', got the end of the text", 0),
    "  ": ("got the end of the text", 2),
    ";": ("got ';'", 0),
    "x;;y": ("got ';'", 2),
    "x +": ("got the end of the text", 3),
    "x * + y": ("got '+'", 4),
    "x y": ("expected an operator or ';', got 'y'", 2),
    "2x": ("expected an operator or ';', got 'x'", 1),
    "2 (x)": ("got '('", 2),
    "1.2.3": ("got '.3'", 3),
    "2e": ("got 'e'", 1),
    "x^-1": ("a nonnegative integer as exponent, got '-'", 2),
    "x^1.5": ("as exponent, got '1.5'", 2),
    "x^y": ("as exponent, got 'y'", 2),
    "x^2^3": ("parentheses around one of two powers", 3),
    "x^(2": ("expected ')', got the end", 4),
    "(x": ("expected ')', got the end", 2),
    "(x;": ("expected ')', got ';'", 2),
    "x)": ("an operator or ';', got ')'", 1),
    "x/y": ("a number was expected after '/'", 1),
    "x/(y-y)": ("division by zero", 1),
    "x/0.0": ("division by zero", 1),
    "x $ y": ("got '$'", 2),
    "x = 1": ("got '='", 2),
    "x + 'a'": ('got "\'"', 4),
    "x + é": ("got 'é'", 4),
    "1e9999*x": ("the exponent 9999 is beyond", 0),
    "1e" + "9" * 50: ("beyond", 0),
    "0x1p99999": ("beyond", 0),
    "x^1048577": ("degree is 1048577", 1),
    "x^" + "9" * 5000: ("exponent is larger than 1048576", 2),
    "x^1000000*x^1000000": ("degree is 2000000", 9),
    "(x+y+z)^9999": ("multiplying out takes more", 7),
    "7^9999999": ("more than 131072 bits", 1),
    "(10^5000)^100": ("more than 131072 bits", 9),
    "(" * 101 + "x" + ")" * 101: ("nested more than 100 deep", 100),
    "(" * 100000: ("nested more than 100 deep", 100),
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda t: t[:20])
def test_faults(text):
    expected, position = FAULTS[text]
    with pytest.raises(ValueError, match="cannot read a polynomial") as caught:
        PolynomialSystem(text)
    assert expected in str(caught.value)
    assert f"at position {position} " in str(caught.value)
    assert "write for example" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_faults_name_line_and_string():
    with pytest.raises(ValueError, match=r"position 8 \(line 3, column 3\)"):
        PolynomialSystem("x\n+ y\n+ *z")
    with pytest.raises(ValueError, match=r"position 1 \(string 1, line 1, column 2\)"):
        PolynomialSystem(["x;", "2x;"])
    with pytest.raises(ValueError, match="one of the variables x, y, got 'z' at position 4"):
        PolynomialSystem("x + z", variables=["x", "y"])


def test_faults_of_the_first_line():
    with pytest.raises(ValueError, match="says 3 polynomials, but 2 follow"):
        PolynomialSystem("3\nx;y;")
    with pytest.raises(ValueError, match=r"says 3 variables, but the polynomials have 2 \(x, y\)"):
        PolynomialSystem("2 3\nx;y;")
    with pytest.raises(ValueError, match="says 1 variables"):
        PolynomialSystem("1\nx*y;")
    with pytest.raises(ValueError, match="says 1 variables"):
        PolynomialSystem("2 1\nx;y;", variables=["x", "y"])


def test_large_expansions():
    assert parsed("(x + y + 1)^30")[(10, 10)] == 5550996791340  # 30! / 10!^3
    binomial = parsed("(x - 1/2)^200")
    assert len(binomial) == 201
    assert binomial[(0,)] == Fraction(1, 2**200)
    with pytest.raises(ValueError, match="beyond the range of doubles"):
        PolynomialSystem("((x+1)^700)^2;")
    with pytest.raises(ValueError, match="more than 100000 terms"):
        PolynomialSystem("*".join(f"(x{k} + 1)" for k in range(18)))


@given(st.text(alphabet="xyi0123.e+-*/^(); \n", max_size=25))
def test_any_text_is_read_or_refused(text):
    try:
        system = PolynomialSystem(text)
    except ValueError:
        return
    assert PolynomialSystem(str(system)) == system


SUMS = st.recursive(
    st.sampled_from(["x", "y", "2", "0.5", "i", "1/3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]})^{t[1]}"),
    ),
    max_leaves=8,
)


@given(SUMS)
def test_expansion_against_python(text):
    """The expanded polynomial has the value of the text at exact points."""
    from tests.poly.reference import Gaussian, power_product

    (terms,), _ = parse_polynomials([text], ["x", "y"])
    x, y = Gaussian(Fraction(2, 3), 1), Gaussian(-3, Fraction(1, 5))
    total = Gaussian(0)
    for monomial, (real, imag) in terms:
        exponents = [dict(monomial).get(i, 0) for i in range(2)]
        total = total + Gaussian(real, imag) * power_product([x, y], exponents)

    class Value(Gaussian):
        def __pow__(self, exponent):
            return Value(*power_product([self], [exponent]).pair)

        def _wrapped(self, name, other):
            return Value(*getattr(Gaussian, name)(self, other).pair)

        def __add__(self, other):
            return self._wrapped("__add__", other)

        def __sub__(self, other):
            return self._wrapped("__sub__", other)

        def __mul__(self, other):
            return self._wrapped("__mul__", other)

    import re

    source = re.sub(r"1/3|0\.5|(?<!\^)\b2\b", lambda m: f"V(F('{m[0]}'))", text)
    names = {"V": Value, "F": Fraction, "x": Value(*x.pair), "y": Value(*y.pair)}
    want = eval(source.replace("^", "**"), {**names, "i": Value(0, 1)})
    assert total == want


def test_terms_of():
    assert terms_of({0: 3, 1: 2}) == [((), (3, 2))]
