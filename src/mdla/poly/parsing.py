# SPDX-License-Identifier: BSD-3-Clause
"""Strings to polynomials: the format of PHCpack (J. Verschelde, ACM TOMS 25 (1999) 251-276)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from mdla.core.parsing import integer_of_digits
from mdla.poly.expansion import (
    IMAGINARY_UNIT,
    MAX_DEGREE,
    Budget,
    ExpansionError,
    Number,
    Sum,
    accumulate,
    terms_of,
)
from mdla.poly.sweep import Term

__all__ = ["NAME", "RESERVED", "parse_polynomials"]

#: How a variable is written, and the names that mean the imaginary unit.
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
RESERVED = ("i", "I")

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<hex>0[xX](?P<hexint>[0-9a-fA-F]+)(?:\.(?P<hexfrac>[0-9a-fA-F]*))?
        [pP](?P<hexexp>[+-]?[0-9]+))
    | (?P<number>(?=\.?[0-9])(?P<int>[0-9]*)(?:\.(?P<frac>[0-9]*))?(?:[eE](?P<exp>[+-]?[0-9]+))?)
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<operator>\*\*|[-+*/^();])
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.ASCII,
)

# A first line with the numbers of polynomials and of variables; something follows it.
_HEADER = re.compile(r"\s*([0-9]+)(?:[ \t]+([0-9]+))?[ \t\r]*\n(?=\s*\S)")

# Powers of ten and two in numbers: beyond what doubles hold, so that products may come back.
_MAX_EXPONENT = 5000

_MAX_DEPTH = 100

_OPERAND = "a number, a variable or '('"
_OPERATOR = "an operator or ';'"


def parse_polynomials(
    texts: Sequence[str], variables: Sequence[str] | None
) -> tuple[list[list[Term]], list[str]]:
    """The exact terms of polynomials, and the names of their variables.

    Args:
        texts: Polynomials, each text with one or several.
        variables: The names of the variables; None takes them as they first occur.

    Raises:
        ValueError: A text cannot be read; the message has the position and what was expected.
    """
    reader = _Reader(variables)
    polynomials: list[dict[int, Number]] = []
    for k, text in enumerate(texts):
        reader.place = f"string {k}, " if len(texts) > 1 else ""
        polynomials += reader.read(text)
    return [terms_of(p) for p in polynomials], reader.names


class _Reader:
    """A recursive descent over the tokens of a text."""

    def __init__(self, variables: Sequence[str] | None) -> None:
        self.known = None if variables is None else list(variables)
        self.names: list[str] = list(variables or ())
        self.index = {name: k for k, name in enumerate(self.names)}
        self.budget = Budget()
        self.place = ""

    def read(self, text: str) -> list[dict[int, Number]]:
        self.text = text
        self.depth = 0
        header = _HEADER.match(text)
        self.position = header.end() if header else 0
        self.advance()
        polynomials: list[dict[int, Number]] = []
        while self.kind != "end" or not polynomials:
            polynomials.append(self.sum().terms)
            if self.token == ";":
                self.advance()
            elif self.kind != "end":
                self.fail(_OPERATOR)
        if header:
            self.check_header(header, len(polynomials))
        return polynomials

    def check_header(self, header: re.Match[str], count: int) -> None:
        declared = int(header[1][:18])
        if declared != count:
            raise ValueError(
                f"the first line says {header[1][:18]} polynomials, but {count} follow; correct "
                "the number, or end each polynomial with ';'"
            )
        declared = int((header[2] or header[1])[:18])
        if declared < len(self.names) or (declared > len(self.names) and self.known is None):
            raise ValueError(
                f"the first line says {declared} variables, but the polynomials have "
                f"{len(self.names)} ({', '.join(self.names[:10])}); correct the number, or name "
                "all variables with variables=[...]"
            )

    # -- tokens ------------------------------------------------------------------------------------

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :]
            self.start = self.position + len(rest) - len(rest.lstrip())
            self.token = self.text[self.start]
            self.fail(f"{_OPERAND} or an operator")
        assert match.lastgroup is not None
        self.match, self.kind = match, match.lastgroup
        self.token = match[self.kind]
        self.start = match.start(self.kind)
        self.position = match.end()

    def fail(self, expected: str) -> NoReturn:
        got = repr(self.token) if self.start < len(self.text) else "the end of the text"
        self.refuse(f"expected {expected}, got {got}", self.start)

    def refuse(self, reason: str, position: int) -> NoReturn:
        begin = max(0, position - 30)
        shown = self.text[begin : position + 30]
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        raise ValueError(
            f"cannot read a polynomial: {reason} at position {position} ({self.place}line {line}, "
            f"column {column}), near {shown!r}; write for example 'x^2 + 3.5*x*y - 2/3;'"
        )

    # -- grammar -----------------------------------------------------------------------------------

    def sum(self) -> Sum:
        total: dict[int, Number] = {}
        degree = 0
        sign = 1
        if self.token in ("+", "-"):
            sign = self.sign()
        while True:
            term = self.product()
            accumulate(total, term if sign > 0 else term.scaled(-1))
            degree = max(degree, term.degree)
            if self.token not in ("+", "-"):
                return Sum(total, degree)
            # As in x + -3*y, which programs write.
            sign = self.sign()
            if self.token in ("+", "-"):
                sign *= self.sign()

    def sign(self) -> int:
        sign = -1 if self.token == "-" else 1
        self.advance()
        return sign

    def product(self) -> Sum:
        product = self.power()
        while self.token in ("*", "/"):
            position, divides = self.start, self.token == "/"
            self.advance()
            factor = self.power()
            try:
                product = product.times(factor.reciprocal() if divides else factor, self.budget)
            except ExpansionError as error:
                self.refuse(str(error), position)
        return product

    def power(self) -> Sum:
        base = self.atom()
        if self.token not in ("^", "**"):
            return base
        position = self.start
        self.advance()
        bracket = self.token == "("
        if bracket:
            self.advance()
        exponent = self.exponent()
        if bracket:
            self.close()
        if self.token in ("^", "**"):
            self.fail("parentheses around one of two powers")
        try:
            return base.to_power(exponent, self.budget)
        except ExpansionError as error:
            self.refuse(str(error), position)

    def exponent(self) -> int:
        if self.kind != "number" or not self.token.isdigit():
            self.fail("a nonnegative integer as exponent")
        if len(self.token.lstrip("0")) > 18:
            self.refuse(f"the exponent is larger than {MAX_DEGREE}", self.start)
        exponent = int(self.token)
        self.advance()
        return exponent

    def atom(self) -> Sum:
        if self.kind == "name":
            result = self.name()
        elif self.kind == "number":
            result = Sum.constant(self.decimal())
        elif self.kind == "hex":
            result = Sum.constant(self.hexadecimal())
        elif self.token == "(":
            return self.parenthesised()
        else:
            self.fail(_OPERAND)
        self.advance()
        return result

    def parenthesised(self) -> Sum:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.refuse(f"parentheses nested more than {_MAX_DEPTH} deep", self.start)
        self.advance()
        inner = self.sum()
        self.close()
        self.depth -= 1
        return inner

    def close(self) -> None:
        if self.token != ")":
            self.fail("')'")
        self.advance()

    def name(self) -> Sum:
        if self.token in RESERVED:
            return Sum({IMAGINARY_UNIT: 1}, 0)
        index = self.index.get(self.token)
        if index is None:
            if self.known is not None:
                self.fail(f"one of the variables {', '.join(self.known[:20])}")
            index = self.index[self.token] = len(self.names)
            self.names.append(self.token)
        return Sum.variable(index)

    # -- numbers -----------------------------------------------------------------------------------

    def decimal(self) -> Number:
        whole, fraction = self.match["int"] or "", self.match["frac"] or ""
        exponent = self.scale(self.match["exp"]) - len(fraction)
        return _scaled(integer_of_digits(whole + fraction), 10, exponent)

    def hexadecimal(self) -> Number:
        whole, fraction = self.match["hexint"], self.match["hexfrac"] or ""
        exponent = self.scale(self.match["hexexp"]) - 4 * len(fraction)
        return _scaled(integer_of_digits(whole + fraction, 16), 2, exponent)

    def scale(self, digits: str | None) -> int:
        if digits is None:
            return 0
        size = digits.lstrip("+-0")
        if len(size) > 9 or int(size or "0") > _MAX_EXPONENT:
            self.refuse(f"the exponent {digits[:20]} is beyond +-{_MAX_EXPONENT}", self.start)
        return int(digits)


def _scaled(mantissa: int, base: int, exponent: int) -> Number:
    return mantissa * base**exponent if exponent >= 0 else Fraction(mantissa, base**-exponent)
