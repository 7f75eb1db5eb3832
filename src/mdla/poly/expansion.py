# SPDX-License-Identifier: BSD-3-Clause
"""Sums of terms with exact coefficients, multiplied out.

A monomial is an integer whose digits of 32 bits are its exponents, the lowest digit that of the
imaginary unit and digit ``j + 1`` that of variable j; so a product of monomials is a sum of
integers, whatever variables are yet to come. Coefficients are ints, or Fractions where they must.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from mdla.poly.sweep import Monomial, Term

__all__ = ["IMAGINARY_UNIT", "MAX_DEGREE", "Budget", "ExpansionError", "Sum", "terms_of"]

#: The largest degree of a polynomial.
MAX_DEGREE = 1 << 20

#: The most terms that a polynomial may have after it is multiplied out.
MAX_TERMS = 100_000

# Products of terms for one system: about a second.
_MAX_PRODUCTS = 1_000_000

# Digits of coefficients, in bits: far beyond what doubles hold, far below what takes time.
_MAX_BITS = 1 << 17

_WIDTH = 32
_DIGIT = (1 << _WIDTH) - 1

#: The monomial i.
IMAGINARY_UNIT = 1

Number = int | Fraction


class ExpansionError(ValueError):
    """What keeps a polynomial from being multiplied out; the message has no position yet."""


class Budget:
    """How much work multiplying out may still take."""

    def __init__(self) -> None:
        self.products = _MAX_PRODUCTS

    def spend(self, products: int) -> None:
        """Take some from the budget.

        Raises:
            ExpansionError: There is not enough left.
        """
        self.products -= products
        if self.products < 0:
            raise ExpansionError(
                f"multiplying out takes more than {_MAX_PRODUCTS} products of terms; "
                "write the system with an additional variable for the inner sum"
            )


class Sum(NamedTuple):
    """A polynomial.

    Attributes:
        terms: The coefficients by monomial, none of them zero.
        degree: A bound of its degree.
    """

    terms: dict[int, Number]
    degree: int

    @classmethod
    def constant(cls, value: Number) -> Sum:
        """A number."""
        return cls({0: _plain(value)} if value else {}, 0)

    @classmethod
    def variable(cls, index: int) -> Sum:
        """The variable with this index."""
        return cls({1 << (_WIDTH * (index + 1)): 1}, 1)

    def scaled(self, factor: Number) -> Sum:
        """The product with a number that is not zero."""
        return Sum({m: _plain(c * factor) for m, c in self.terms.items()}, self.degree)

    def plus(self, other: Sum) -> Sum:
        """The sum."""
        total = dict(self.terms)
        accumulate(total, other)
        return Sum(total, max(self.degree, other.degree))

    def times(self, other: Sum, budget: Budget) -> Sum:
        """The product, multiplied out.

        Raises:
            ExpansionError: It is too large.
        """
        degree = self.degree + other.degree
        require_degree(degree)
        budget.spend(len(self.terms) * len(other.terms))
        total: dict[int, Number] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                m, c = m1 + m2, _plain(c1 * c2)
                if m & _DIGIT == 2:
                    m, c = m - 2, -c
                total[m] = _plain(total[m] + c) if m in total else c
        if len(total) > MAX_TERMS:
            raise ExpansionError(
                f"the product has more than {MAX_TERMS} terms; "
                "write the system with an additional variable for the inner sum"
            )
        total = {m: c for m, c in total.items() if c}
        _require_length(total)
        return Sum(total, degree)

    def to_power(self, exponent: int, budget: Budget) -> Sum:
        """The power by repeated products of the sum with itself.

        Raises:
            ExpansionError: It is too large.
        """
        require_degree(self.degree * exponent)
        _require_length(self.terms, exponent)
        if len(self.terms) == 1:
            ((m, c),) = self.terms.items()
            if m & _DIGIT == 0:
                return Sum({m * exponent: c**exponent}, self.degree * exponent)
            turn = (1, 1, -1, -1)[exponent % 4]
            m = (m - IMAGINARY_UNIT) * exponent + exponent % 2
            return Sum({m: turn * c**exponent}, self.degree * exponent)
        power, square = Sum.constant(1), self
        if self.degree > 0:
            # Of sums, products with the short one are cheaper than squares.
            for _ in range(exponent):
                power = power.times(self, budget)
            return power
        while exponent:
            if exponent & 1:
                power = power.times(square, budget)
            exponent >>= 1
            if exponent:
                square = square.times(square, budget)
        return power

    def reciprocal(self) -> Sum:
        """1 / the number that this is.

        Raises:
            ExpansionError: It is no number, or zero.
        """
        if any(m > IMAGINARY_UNIT for m in self.terms):
            raise ExpansionError("a number was expected after '/', got a sum with variables")
        real, imag = self.terms.get(0, 0), self.terms.get(IMAGINARY_UNIT, 0)
        square = Fraction(real * real + imag * imag)
        if not square:
            raise ExpansionError("division by zero")
        parts = {0: _plain(real / square), IMAGINARY_UNIT: _plain(-imag / square)}
        return Sum({m: c for m, c in parts.items() if c}, 0)


def accumulate(total: dict[int, Number], other: Sum) -> None:
    """Add a sum to terms in place."""
    for m, c in other.terms.items():
        if m not in total:
            total[m] = c
            continue
        c = _plain(total[m] + c)
        if c:
            total[m] = c
        else:
            del total[m]


def terms_of(terms: dict[int, Number]) -> list[Term]:
    """The terms with their monomials as pairs of variable and exponent."""
    parts: dict[int, list[Fraction]] = {}
    for m, c in terms.items():
        imaginary = m & _DIGIT
        parts.setdefault(m - imaginary, [Fraction(0), Fraction(0)])[imaginary] = Fraction(c)
    return [(_pairs(m), (real, imag)) for m, (real, imag) in parts.items()]


def require_degree(degree: int) -> None:
    """Raise ExpansionError for a degree beyond the largest one."""
    if degree > MAX_DEGREE:
        shown = degree if degree < 10**18 else "more than 10^18"
        raise ExpansionError(f"the degree is {shown}; the largest that is possible is {MAX_DEGREE}")


def _pairs(m: int) -> Monomial:
    pairs = []
    while m:
        digit = ((m & -m).bit_length() - 1) // _WIDTH
        exponent = m >> (_WIDTH * digit) & _DIGIT
        pairs.append((digit - 1, exponent))
        m -= exponent << (_WIDTH * digit)
    return tuple(pairs)


def _plain(value: Number) -> Number:
    return value.numerator if value.denominator == 1 else value


def _require_length(terms: dict[int, Number], exponent: int = 1) -> None:
    bits = max(
        (c.numerator.bit_length() + c.denominator.bit_length() for c in terms.values()), default=0
    )
    # Powers of one stay what they are.
    if bits > 2 and bits * exponent > _MAX_BITS:
        raise ExpansionError(f"a coefficient has more than {_MAX_BITS} bits")
