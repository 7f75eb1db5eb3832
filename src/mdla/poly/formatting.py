# SPDX-License-Identifier: BSD-3-Clause
"""Polynomials as text that reads back exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core.precision import Precision
from mdla.core.printing import format_number
from mdla.poly.sweep import Monomial

__all__ = ["system_text"]

Planes = npt.NDArray[Any]


def system_text(
    monomials: Sequence[Sequence[Monomial]],
    coefficients: Planes,
    prec: Precision,
    variables: Sequence[str],
) -> str:
    """One polynomial a line, each ended by a semicolon.

    Where the variables do not first occur in their order, the first polynomial begins with
    differences ``x - x`` that say it, as is the custom for PHCpack.

    Args:
        monomials: Those of each polynomial.
        coefficients: Their coefficients one behind the other, planes ``(c, N, K)``.
        prec: The precision of the planes.
        variables: The names.
    """
    position = 0
    lines = []
    for some in monomials:
        terms = []
        for monomial in some:
            terms.append(_term(monomial, coefficients[:, :, position], prec, variables))
            position += 1
        lines.append(_joined(terms) or "0")
    occurring = dict.fromkeys(i for some in monomials for monomial in some for i, _ in monomial)
    if list(occurring) != list(range(len(variables))):
        order = " + ".join(f"{name} - {name}" for name in variables)
        lines[0] = f"{order} {lines[0]}" if lines[0][0] == "-" else f"{order} + {lines[0]}"
    return "\n".join(f"{line};" for line in lines)


def _joined(terms: list[str]) -> str:
    return "".join(
        term if k == 0 else f" - {term[1:]}" if term[0] == "-" else f" + {term}"
        for k, term in enumerate(terms)
    )


def _term(
    monomial: Monomial, coefficient: Planes, prec: Precision, variables: Sequence[str]
) -> str:
    powers = [variables[i] if e == 1 else f"{variables[i]}^{e}" for i, e in monomial]
    number = _number(coefficient, prec)
    if powers and number in ("1", "-1"):
        return number.removesuffix("1") + "*".join(powers)
    return "*".join([number, *powers])


def _number(coefficient: Planes, prec: Precision) -> str:
    real, *imag = (_real(part, prec) for part in coefficient)
    if not imag or imag == ["0"]:
        return real
    unit = {"1": "i", "-1": "-i"}.get(imag[0], f"{imag[0]}*i")
    return unit if real == "0" else f"({_joined([real, unit])})"


def _real(limbs: Planes, prec: Precision) -> str:
    if not np.any(limbs):
        return "0"
    return format_number(limbs, prec).removesuffix(".0")
