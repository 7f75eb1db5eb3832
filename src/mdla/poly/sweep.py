# SPDX-License-Identifier: BSD-3-Clause
"""From polynomials to a straight-line program for their values and derivatives.

Every quantity that is needed is a power product: the monomials, and for the derivative by each of
their variables the monomial divided by it. With ``x^e = x^(e - 1_S) prod_(i in S) x_i``, S the
variables that occur, the products of all variables but one are those of a prefix and a suffix::

    f_j = x^(e - 1_S) x_(S_1) ... x_(S_j),    b_j = x_(S_j) ... x_(S_s),
    x^e / x_(S_j) = f_(j-1) b_(j+1)

which is the reverse mode applied to Speelpenning's product (A. Griewank and A. Walther, Evaluating
Derivatives, 2008; J. Verschelde, arXiv 2101.10881). It takes at most 3 s products for the value
and all s derivatives, s the number of variables. A power product is formed once, however many
monomials, polynomials and derivatives need it.

The program knows no numbers: kernels run it on vectors over many points, and `run` on any objects
with ``+ - *``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Constant", "Monomial", "Operation", "Program", "Term", "compile_program", "run"]

#: The variables that occur, in order, and their positive exponents.
Monomial = tuple[tuple[int, int], ...]

#: The exact real and imaginary part of a number.
Constant = tuple[Fraction, Fraction]

Term = tuple[Monomial, Constant]


class Operation(IntEnum):
    """What a step does, as in ``sweep_operation`` of the kernel."""

    MUL = 0
    ADD = 1
    SUB = 2
    SCALE = 3
    SCALE_REAL = 4
    SCALE_LANE = 5
    FILL = 6
    STORE = 7


_MUL, _ADD, _SUB, _SCALE, _SCALE_REAL, _SCALE_LANE, _FILL, _STORE = Operation

#: Which of the fields out, a, b of a step are slots.
_READS = {
    _MUL: (2, 3),
    _ADD: (2, 3),
    _SUB: (2, 3),
    _SCALE: (2,),
    _SCALE_REAL: (2,),
    _SCALE_LANE: (2,),
    _FILL: (),
    _STORE: (2,),
}

Step = tuple[Operation, int, int, int]


class Program(NamedTuple):
    """A straight-line program.

    Attributes:
        steps: Rows ``(operation, out, a, b)``, int32. Slots 0 to n - 1 hold the point at first.
            Result k is the value of polynomial k, and result m + k n + j its derivative by
            variable j; derivatives that vanish identically have no step.
        slots: How many slots there are.
        constants: The exact numbers that steps refer to.
    """

    steps: npt.NDArray[np.int32]
    slots: int
    constants: tuple[Constant, ...]


def compile_program(
    polynomials: Sequence[Sequence[Term]], variables: int, derivatives: bool
) -> Program:
    """The program for the values of polynomials, and for their derivatives where asked for.

    Args:
        polynomials: The terms of each, by increasing degree; each monomial occurs once.
        variables: How many variables there are.
        derivatives: Whether derivatives are results, too.
    """
    builder = _Builder(polynomials, variables)
    for k, terms in enumerate(polynomials):
        value = _Sum(builder)
        slopes: dict[int, _Sum] = {}
        for monomial, (real, imag) in terms:
            if derivatives:
                for (j, exponent), part in zip(
                    monomial, builder.derivatives(monomial), strict=True
                ):
                    slope = slopes.setdefault(j, _Sum(builder))
                    slope.add(part, (real * exponent, imag * exponent))
            value.add(builder.value(monomial), (real, imag))
        value.store(k)
        for j, slope in sorted(slopes.items()):
            slope.store(len(polynomials) + k * variables + j)
    return builder.program()


def run(
    program: Program,
    x: Sequence[Any],
    one: Any,
    results: Sequence[Any],
    constant: Callable[[Constant], Any],
) -> list[Any]:
    """Run a program on any objects with ``+ - *``.

    Args:
        program: What to do.
        x: An object for each variable.
        one: The object that constants are multiplied with to become such objects.
        results: What is returned where no step stores a result.
        constant: Gives a factor for the right side of ``object * factor``.

    Returns:
        The results.
    """
    factors = [constant(c) for c in program.constants]
    slots: list[Any] = [*x, *[None] * (program.slots - len(x))]
    out = list(results)
    for operation, target, a, b in program.steps.tolist():
        if operation == _STORE:
            out[target] = slots[a]
        elif operation == _MUL:
            slots[target] = slots[a] * slots[b]
        elif operation == _ADD:
            slots[target] = slots[a] + slots[b]
        elif operation == _SUB:
            slots[target] = slots[a] - slots[b]
        elif operation == _FILL:
            slots[target] = one * factors[a]
        else:
            slots[target] = slots[a] * factors[b]
    return out


class _Builder:
    """Steps in which every value has a number of its own, the variables the first ones."""

    def __init__(self, polynomials: Iterable[Iterable[Term]], variables: int) -> None:
        top = max((e for p in polynomials for m, _ in p for _, e in m), default=0)
        # A power product is an integer, whose digits are the exponents: products are sums.
        width = top.bit_length() + 1
        self.units = [1 << (width * i) for i in range(variables)]
        self.known = {unit: i for i, unit in enumerate(self.units)}
        self.variables = variables
        self.steps: list[Step] = []
        self.constants: dict[Constant, int] = {}

    def emit(self, operation: Operation, a: int, b: int = 0) -> int:
        self.steps.append((operation, self.variables + len(self.steps), a, b))
        return self.steps[-1][1]

    def constant(self, value: Constant) -> int:
        return self.constants.setdefault(value, len(self.constants))

    # -- power products ----------------------------------------------------------------------------

    def product(self, left: int, right: int) -> int:
        """Form the product of two power products, one of which may be empty; its key."""
        key = left + right
        if left and right and key not in self.known:
            self.known[key] = self.emit(_MUL, self.known[left], self.known[right])
        return key

    def power(self, i: int, exponent: int) -> int:
        """Form a power of a variable; its key."""
        unit = self.units[i]
        key = exponent * unit
        if exponent == 0 or key in self.known:
            return key
        half = 1 if key - unit in self.known else exponent // 2
        return self.product(self.power(i, exponent - half), self.power(i, half))

    def common_factor(self, support: Monomial) -> int:
        """Form the monomial divided by each of its variables once; its key."""
        key = 0
        for i, exponent in support:
            if exponent > 1:
                key = self.product(key, self.power(i, exponent - 1))
        return key

    def value(self, monomial: Monomial) -> int | None:
        """The number of a monomial's value, None for the constant one."""
        if not monomial:
            return None
        key = sum(exponent * self.units[i] for i, exponent in monomial)
        if key not in self.known:
            quotient = next((i for i, _ in monomial if key - self.units[i] in self.known), None)
            if quotient is not None:
                self.product(key - self.units[quotient], self.units[quotient])
            else:
                support = _rotated(monomial, self.variables)
                prefix = self.common_factor(support)
                for i, _ in support:
                    prefix = self.product(prefix, self.units[i])
        return self.known[key]

    def derivatives(self, monomial: Monomial) -> list[int | None]:
        """The numbers of the monomial divided by each of its variables; None for a quotient 1."""
        units = self.units
        key = sum(exponent * units[i] for i, exponent in monomial)
        support = _rotated(monomial, self.variables)
        missing = [
            j
            for j, (i, _) in enumerate(support)
            if key != units[i] and key - units[i] not in self.known
        ]
        if missing:
            prefixes = [self.common_factor(support)]
            for i, _ in support[: missing[-1]]:
                prefixes.append(self.product(prefixes[-1], units[i]))
            # suffixes[-1 - j] lacks the first j + 1 variables.
            suffixes = [0]
            for i, _ in support[: missing[0] : -1]:
                suffixes.append(self.product(units[i], suffixes[-1]))
            for j in missing:
                self.product(prefixes[j], suffixes[len(support) - 1 - j])
        return [None if key == units[i] else self.known[key - units[i]] for i, _ in monomial]

    # -- slots -------------------------------------------------------------------------------------

    def program(self) -> Program:
        """The steps with slots, which are used again as soon as their value is of no more use."""
        last = {i: -1 for i in range(self.variables)}
        for position, step in enumerate(self.steps):
            for field in _READS[step[0]]:
                last[step[field]] = position
        slot = {i: i for i in range(self.variables)}
        free = [i for i in range(self.variables) if last[i] < 0]
        count = self.variables
        rows = np.zeros((len(self.steps), 4), dtype=np.int32)
        for position, step in enumerate(self.steps):
            operation, out = step[:2]
            row: list[int] = list(step)
            for field in _READS[operation]:
                row[field] = slot[step[field]]
            if operation != _STORE:
                # A product may not overwrite its factors, so their slots are released after it.
                if free:
                    row[1] = slot[out] = heapq.heappop(free)
                else:
                    row[1] = slot[out] = count
                    count += 1
            for value in {step[field] for field in _READS[operation]}:
                if last[value] == position:
                    heapq.heappush(free, slot[value])
            if operation != _STORE and out not in last:
                heapq.heappush(free, slot[out])
            rows[position] = row
        return Program(rows, count, tuple(self.constants))


class _Sum:
    """A linear combination of power products as it grows."""

    def __init__(self, builder: _Builder) -> None:
        self.builder = builder
        self.total: int | None = None

    def add(self, value: int | None, factor: Constant) -> None:
        """Add a factor times a value; None is the empty product."""
        builder = self.builder
        operation = _ADD
        if value is None:
            term = builder.emit(_FILL, builder.constant(factor))
        elif _is_integer(factor, 1):
            term = value
        elif _is_integer(factor, -1) and self.total is not None:
            operation, term = _SUB, value
        else:
            term = builder.emit(_kind(factor), value, builder.constant(factor))
        self.total = term if self.total is None else builder.emit(operation, self.total, term)

    def store(self, result: int) -> None:
        """Make the sum a result; an empty one is the zero that is there."""
        if self.total is not None:
            self.builder.steps.append((_STORE, result, self.total, 0))


def _is_integer(factor: Constant, value: int) -> bool:
    # Several times as fast as a comparison of Fractions.
    real, imag = factor
    return real.numerator == value and real.denominator == 1 and not imag


def _kind(factor: Constant) -> Operation:
    real, imag = factor
    if imag:
        return _SCALE
    return _SCALE_LANE if is_double(real) else _SCALE_REAL


def is_double(x: Fraction) -> bool:
    """Whether a number of ordinary size is one double."""
    try:
        return float(x) == x
    except OverflowError:
        return False


def _rotated(monomial: Monomial, variables: int) -> Monomial:
    """The variables in cyclic order, the widest gap between neighbours before the first.

    Then prefixes and suffixes of x_8 x_9 x_0 are those of a run of variables like any other, and
    more of them are shared.
    """
    if len(monomial) < 3:
        return monomial
    places = [i for i, _ in monomial]
    gaps = [(places[0] - places[-1]) % variables, *(b - a for a, b in pairwise(places))]
    start = gaps.index(max(gaps))
    return monomial[start:] + monomial[:start]
