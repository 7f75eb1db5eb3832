# SPDX-License-Identifier: BSD-3-Clause
"""What a system of polynomials consists of: variables, monomials, rounded coefficients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mdla.core import convert
from mdla.core.array import MDArray
from mdla.core.precision import Precision, precision
from mdla.poly import inputs
from mdla.poly.formatting import system_text
from mdla.poly.sweep import Constant, Monomial, Program, Term

__all__ = ["Terms"]

Planes = npt.NDArray[Any]


class Terms:
    """Polynomials as data: read, compared, printed and stored, but not yet evaluated."""

    __slots__ = (
        "__weakref__",
        "_coefficients",
        "_constants",
        "_monomials",
        "_precision",
        "_programs",
        "_variables",
    )

    _variables: tuple[str, ...]
    _monomials: tuple[tuple[Monomial, ...], ...]
    _precision: Precision
    _coefficients: Planes  # (c, N, number of terms of all polynomials)
    _programs: dict[bool, Program]
    _constants: dict[tuple[bool, int], Planes]

    def _set(self, polynomials: list[list[Term]], names: Sequence[str], prec: Precision) -> None:
        """Take over exact terms: rounded, those that vanish left out, in the canonical order."""
        parts = [c for terms in polynomials for _, c in terms]
        rounded = inputs.rounded(parts, prec)
        inputs.require_finite(polynomials, rounded, names)
        kept = np.any(rounded != 0, axis=(0, 1))
        order: list[int] = []
        monomials = []
        position = 0
        for terms in polynomials:
            own = [i for i in range(len(terms)) if kept[position + i]]
            own.sort(key=lambda i: _rank(terms[i][0]))
            monomials.append(tuple(terms[i][0] for i in own))
            order += [position + i for i in own]
            position += len(terms)
        coefficients = rounded[:, :, order]
        if coefficients.shape[0] == 2 and not coefficients[1].any():
            coefficients = coefficients[:1]
        self._fill(tuple(names), tuple(monomials), prec, coefficients)

    def _fill(
        self,
        variables: tuple[str, ...],
        monomials: tuple[tuple[Monomial, ...], ...],
        prec: Precision,
        coefficients: Planes,
    ) -> None:
        self._variables = variables
        self._monomials = monomials
        self._precision = prec
        self._coefficients = np.ascontiguousarray(coefficients)
        self._coefficients.flags.writeable = False
        self._programs = {}
        self._constants = {}

    # -- what it is --------------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self._variables

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers m of polynomials and n of variables; that of the Jacobian."""
        return len(self._monomials), len(self._variables)

    @property
    def precision(self) -> Precision:
        """The number format of the coefficients."""
        return self._precision

    @property
    def prec(self) -> str:
        """The name of the number format of the coefficients."""
        return self._precision.name

    @property
    def iscomplex(self) -> bool:
        """Whether a coefficient has an imaginary part."""
        return bool(self._coefficients.shape[0] == 2)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The degree of each polynomial; 0 for constants, and for the zero polynomial as well."""
        # The terms are sorted by degree.
        return tuple(_degree(own[0]) if own else 0 for own in self._monomials)

    @property
    def total_degree(self) -> int:
        """The product of the degrees, Bezout's bound for the isolated roots of a square system."""
        return math.prod(self.degrees)

    @property
    def supports(self) -> list[npt.NDArray[np.int64]]:
        """For each polynomial its exponents, shape ``(t, n)``, a row for each term."""
        rows = []
        for own in self._monomials:
            row = np.zeros((len(own), len(self._variables)), dtype=np.int64)
            for k, monomial in enumerate(own):
                for i, exponent in monomial:
                    row[k, i] = exponent
            rows.append(row)
        return rows

    @property
    def coefficients(self) -> list[MDArray]:
        """For each polynomial its coefficients, shape ``(t,)``, in the order of `supports`."""
        ends = itertools.accumulate(len(own) for own in self._monomials)
        return [
            MDArray(self._coefficients[:, :, end - len(own) : end].copy())
            for own, end in zip(self._monomials, ends, strict=True)
        ]

    def astype(self, prec: Any) -> Self:
        """The system with its coefficients in another precision: exact if wider, else rounded once.

        Coefficients such as 1/3 do not become more exact; make the system from its source instead.

        Raises:
            ValueError: No precision has that name.

        Example:
            >>> import mdla
            >>> s = mdla.PolynomialSystem("x/3;", prec="qd")
            >>> s.astype("dd") == mdla.PolynomialSystem("x/3;", prec="dd")
            True
        """
        target = precision(prec)
        system = self.__class__.__new__(self.__class__)
        system._set(self._terms(), self._variables, target)
        return system

    def _terms(self) -> list[list[Term]]:
        """The terms of each polynomial with the exact values of their coefficients."""
        exact = iter(_fractions(self._coefficients))
        return [[(monomial, next(exact)) for monomial in own] for own in self._monomials]

    # -- comparison, text and storage --------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether variables, monomials and the exact values of all coefficients are the same."""
        if not isinstance(other, Terms):
            return NotImplemented
        if self._variables != other._variables or self._monomials != other._monomials:
            return False
        a, b = self._coefficients, other._coefficients
        if a.shape == b.shape and np.array_equal(a, b):
            return True
        return a.shape[0] == b.shape[0] and _fractions(a) == _fractions(b)

    def __hash__(self) -> int:
        return hash((self._variables, self._monomials))

    def __str__(self) -> str:
        return system_text(self._monomials, self._coefficients, self._precision, self._variables)

    def __repr__(self) -> str:
        m, n = self.shape
        text = str(self) if self._coefficients.shape[2] <= 12 else ""
        if not text or len(text) > 300:
            return f"<PolynomialSystem of {m} polynomials in {n} variables, prec={self.prec!r}>"
        return f"PolynomialSystem({text!r}, prec={self.prec!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            type(self),
            self._variables,
            self._monomials,
            self.prec,
            self._coefficients,
        )


def _fractions(planes: Planes) -> list[Constant]:
    """The exact numbers of planes (c, N, K)."""
    real, *imag = ([convert.to_fraction(limbs) for limbs in part.T.tolist()] for part in planes)
    return list(zip(real, imag[0] if imag else [Fraction(0)] * len(real), strict=True))


def _degree(monomial: Monomial) -> int:
    return sum(exponent for _, exponent in monomial)


def _rank(monomial: Monomial) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Sorts by falling degree, and lexicographically among monomials of one degree."""
    return -_degree(monomial), tuple((i, -exponent) for i, exponent in monomial)


def _restore(
    kind: type[Terms],
    variables: tuple[str, ...],
    monomials: tuple[tuple[Monomial, ...], ...],
    prec: str,
    coefficients: Planes,
) -> Terms:
    """Rebuild a pickled system."""
    system = kind.__new__(kind)
    system._fill(variables, monomials, precision(prec), coefficients)
    return system
