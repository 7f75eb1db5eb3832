# SPDX-License-Identifier: BSD-3-Clause
"""What polynomials are made from: strings, mappings and arrays, all read exactly."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import convert
from mdla.core.array import MDArray
from mdla.core.precision import Precision, promote
from mdla.core.rounding import Part
from mdla.poly.expansion import ExpansionError, require_degree
from mdla.poly.parsing import NAME, RESERVED, parse_polynomials
from mdla.poly.sweep import Constant, Monomial, Term

__all__ = ["Exact", "read_polynomials", "read_supports", "require_finite", "rounded"]

Planes = npt.NDArray[Any]

#: The terms of each polynomial, the names of the variables, and the widest format of the arrays
#: among the coefficients, None where there are none.
Exact = tuple[list[list[Term]], list[str], Precision | None]

_KINDS = (
    "a string such as 'x^2 - 2*y;', or a list of strings or of mappings {exponents: coefficient}"
)


def read_polynomials(polynomials: Any, variables: Iterable[str] | None) -> Exact:
    """Read a string, or a sequence of strings or mappings.

    Raises:
        ValueError: See `mdla.PolynomialSystem`.
        TypeError: Likewise.
    """
    names = _checked_names(variables)
    if isinstance(polynomials, str):
        return (*parse_polynomials([polynomials], names), None)
    if isinstance(polynomials, Mapping | bytes) or not isinstance(polynomials, Iterable):
        raise TypeError(
            f"PolynomialSystem takes {_KINDS}, got {type(polynomials).__name__}; "
            "write [p] for a system of one polynomial"
        )
    items = list(polynomials)
    if not items:
        raise ValueError(f"a system has at least one polynomial; write {_KINDS}")
    if all(isinstance(item, str) for item in items):
        return (*parse_polynomials(items, names), None)
    for item in items:
        if not isinstance(item, Mapping):
            raise TypeError(
                f"PolynomialSystem takes {_KINDS}, got a {type(item).__name__} among them"
            )
    return _collected([item.items() for item in items], names)


def read_supports(
    supports: Iterable[Any], coefficients: Iterable[Any], variables: Iterable[str] | None
) -> Exact:
    """Read arrays of exponents and of coefficients.

    Raises:
        ValueError: See `mdla.PolynomialSystem.from_supports`.
        TypeError: Likewise.
    """
    rows, numbers = list(supports), list(coefficients)
    if len(rows) != len(numbers):
        raise ValueError(
            f"from_supports: {len(rows)} supports, but coefficients of {len(numbers)} polynomials; "
            "give one array of each for every polynomial"
        )
    if not rows:
        raise ValueError("from_supports: a system has at least one polynomial")
    widths = set()
    pairs: list[list[tuple[Any, Any]]] = []
    for k, (support, own) in enumerate(zip(rows, numbers, strict=True)):
        exponents = np.asarray(support)
        if exponents.size and exponents.dtype.kind not in "iu":
            raise TypeError(
                f"from_supports: exponents are integers, support {k} has dtype {exponents.dtype}"
            )
        values = list(own)
        if exponents.ndim != 2 and not (exponents.size == 0 and not values):
            raise ValueError(
                f"from_supports: support {k} must have shape (t, n), a row for each term, got "
                f"shape {exponents.shape}"
            )
        if exponents.shape[0] != len(values):
            raise ValueError(
                f"from_supports: support {k} has {exponents.shape[0]} rows, but there are "
                f"{len(values)} coefficients"
            )
        if exponents.ndim == 2:
            widths.add(exponents.shape[1])
        pairs.append(list(zip(map(tuple, exponents.tolist()), values, strict=True)))
    names = _checked_names(variables)
    if names is None and not any(pairs) and widths:
        names = _numbered(max(widths))
    return _collected(pairs, names)


def _collected(polynomials: Sequence[Iterable[tuple[Any, Any]]], names: list[str] | None) -> Exact:
    """Terms of pairs of exponents and coefficients; like ones are added."""
    count = None if names is None else len(names)
    formats: set[Precision] = set()
    collected = []
    for k, items in enumerate(polynomials):
        terms: dict[Monomial, Constant] = {}
        for key, coefficient in items:
            exponents = key if isinstance(key, tuple | list) else (key,)
            monomial = _monomial(exponents, k)
            if count is None:
                count = len(exponents)
            elif count != len(exponents):
                raise ValueError(
                    f"polynomial {k} has a term with {len(exponents)} exponents, {exponents}, but "
                    f"there are {count} variables; give one exponent for each variable"
                )
            real, imag = _exact(coefficient, formats, k, exponents)
            before = terms.get(monomial, (Fraction(0), Fraction(0)))
            terms[monomial] = (before[0] + real, before[1] + imag)
        collected.append(list(terms.items()))
    names = _numbered(count or 0) if names is None else names
    return collected, names, promote(*formats) if formats else None


def _numbered(count: int) -> list[str]:
    return [f"x{i + 1}" for i in range(count)]


def _monomial(exponents: Sequence[Any], k: int) -> Monomial:
    pairs = []
    for i, exponent in enumerate(exponents):
        try:
            e = operator.index(exponent)
        except TypeError:
            raise TypeError(
                f"polynomial {k} has the exponent {exponent!r}; exponents are integers, one for "
                "each variable"
            ) from None
        if e < 0:
            raise ValueError(
                f"polynomial {k} has the exponent {e}; multiply by a power of the variable, "
                "exponents must not be negative"
            )
        if e:
            pairs.append((i, e))
    try:
        require_degree(sum(e for _, e in pairs))
    except ExpansionError as error:
        raise ValueError(f"polynomial {k}: {error}") from None
    return tuple(pairs)


def _exact(coefficient: Any, formats: set[Precision], k: int, exponents: Sequence[Any]) -> Constant:
    """The exact parts of a coefficient; the format of an array is noted."""
    parts: list[Part]
    if isinstance(coefficient, MDArray):
        if coefficient.ndim:
            raise TypeError(
                f"polynomial {k} has a coefficient of shape {coefficient.shape}; a coefficient is "
                "a single number"
            )
        formats.add(coefficient.precision)
        parts = [
            convert.to_fraction(part).as_integer_ratio() if np.isfinite(part[0]) else float(part[0])
            for part in coefficient.planes
        ]
    else:
        real, imag = convert.exact_parts(coefficient)
        parts = [real, 0.0 if imag is None else imag]
    for part in parts:
        if not isinstance(part, tuple) and not math.isfinite(part):
            raise ValueError(
                f"polynomial {k}: the coefficient of exponents {tuple(exponents)} is {part}; "
                "coefficients must be finite"
            )
    fractions = [Fraction(*part) if isinstance(part, tuple) else Fraction(part) for part in parts]
    return fractions[0], fractions[1] if len(fractions) == 2 else Fraction(0)


def _checked_names(variables: Iterable[str] | None) -> list[str] | None:
    if variables is None:
        return None
    if isinstance(variables, str):
        raise TypeError(f"variables is a list of names; write variables={variables.split()!r}")
    names = list(variables)
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
            raise ValueError(
                f"{name!r} is no name of a variable; write a letter followed by letters, digits "
                "and underscores, but not i or I, which are the imaginary unit"
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"variables names {twice} twice; each variable has a name of its own")
    return names


def rounded(numbers: Sequence[Constant], prec: Precision) -> Planes:
    """Planes (c, N, K) of exact numbers, each rounded once; complex where one is."""
    parts = [[c[0] for c in numbers], [c[1] for c in numbers]]
    planes = [convert.to_planes(part, prec) for part in parts[: 1 + any(parts[1])]]
    return np.concatenate(planes).reshape(len(planes), prec.limbs, len(numbers))


def require_finite(
    polynomials: Sequence[Sequence[Term]], planes: Planes, names: Sequence[str]
) -> None:
    """Raise ValueError where a coefficient was too large to be rounded to limbs."""
    finite = np.isfinite(planes[:, 0]).all(axis=0)
    if finite.all():
        return
    position = int(np.argmin(finite))
    for k, terms in enumerate(polynomials):
        if position < len(terms):
            powers = "*".join(f"{names[i]}^{e}" for i, e in terms[position][0])
            raise ValueError(
                f"polynomial {k}: the coefficient of {powers or '1'} is beyond the range of "
                "doubles; use another unit for the variables"
            )
        position -= len(terms)
