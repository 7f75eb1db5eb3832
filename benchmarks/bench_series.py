# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method at power series, beside python-flint and mpmath.

The equations are the monomial homotopies of J. Verschelde, arXiv 2101.10881,

    x_1 x_2 ... x_i = (1 + t)^(a_1 + ... + a_i),    i = 1, ..., n,

with the solution x_i = (1 + t)^a_i. Those in python-flint and mpmath are the textbook's algorithm
(Bliss and Verschelde 2018): each step doubles the number of coefficients, evaluates values and
derivatives to the new degree, with shared prefixes and suffixes, and substitutes order by order;
the leading matrix is inverted once. `HalvedFlint` goes like mdla only to half the degree with the
derivatives and solves for the new coefficients only.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from config import random_array, size, threads

import mdla

ORDER = size(64, 4)
DEGREE = size(32, 5)
PATHS = size(256, 4)
BITS = {"dd": 106, "qd": 212, "od": 424}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def rates(n: int) -> list[Fraction]:
    """The numbers a_i, whose powers fill all bits: numbers with few are faster in flint."""
    return [Fraction((3 * i + 1) % 7 - 3, 9) for i in range(n)]


def binomial(power: Fraction, degree: int) -> list[Fraction]:
    """The coefficients of (1 + t)^power."""
    coefficients = [Fraction(1)]
    for k in range(degree):
        coefficients.append(coefficients[-1] * (power - k) / (k + 1))
    return coefficients


def right_sides(n: int, degree: int) -> list[list[Fraction]]:
    """The coefficients of the right-hand sides."""
    total, rows = Fraction(0), []
    for rate in rates(n):
        total += rate
        rows.append(binomial(total, degree))
    return rows


def monomial_homotopy(n: int, degree: int, prec: str) -> mdla.PolynomialSystem:
    polynomials = []
    for i, row in enumerate(right_sides(n, degree)):
        terms: dict[tuple[int, ...], Any] = {(1,) * (i + 1) + (0,) * (n - i): 1}
        for k, c in enumerate(row):
            terms[(0,) * n + (k,)] = -c
        polynomials.append(terms)
    return mdla.PolynomialSystem(polynomials, prec, variables=[*(f"x{i}" for i in range(n)), "t"])


def require_solution(coefficients: list[list[float]], bound: float, n: int, degree: int) -> None:
    for rate, row in zip(rates(n), coefficients, strict=True):
        for got, want in zip(row, binomial(rate, degree), strict=True):
            assert abs(got - want) <= bound * max(1, abs(want))


# -- the same algorithm for any kind of numbers ----------------------------------------------------


class Plain:
    """Newton's method with series of a library; subclasses know its series and matrices."""

    one: Any

    def __init__(self, n: int, degree: int) -> None:
        self.n, self.degree = n, degree

    def series(self, row: list[Any], length: int) -> Any:
        raise NotImplementedError

    def coefficients(self, series: Any, length: int) -> list[Any]:
        raise NotImplementedError

    def multiply(self, a: Any, b: Any, length: int) -> Any:
        raise NotImplementedError

    def invert(self, rows: list[list[Any]]) -> Any:
        raise NotImplementedError

    def matrix(self, rows: list[list[Any]]) -> Any:
        raise NotImplementedError

    def apply(self, matrix: Any, vector: Any) -> Any:
        raise NotImplementedError

    def column(self, entries: list[Any]) -> Any:
        raise NotImplementedError

    def entries(self, column: Any) -> list[Any]:
        raise NotImplementedError

    def prefixes(self, x: list[Any], length: int) -> list[Any]:
        products = [x[0]]
        for factor in x[1:]:
            products.append(self.multiply(products[-1], factor, length))
        return products

    def slopes(self, x: list[Any], length: int) -> list[list[Any]]:
        """Row i has the derivatives of x_0 ... x_i, products of a prefix and a suffix."""
        before = self.prefixes(x, length)
        rows: list[list[Any]] = [[] for _ in x]
        for j in range(self.n):
            rows[j].append(before[j - 1] if j else self.series([self.one], length))
            behind = None
            for i in range(j + 1, self.n):
                behind = x[i] if behind is None else self.multiply(behind, x[i], length)
                rows[i].append(self.multiply(before[j - 1], behind, length) if j else behind)
        return rows

    def first(self, known: int) -> int:
        """The first order that a step solves for."""
        return 0

    def solve(self, right: list[list[Any]]) -> list[list[Any]]:
        """The coefficients of x from those of the right-hand sides."""
        n, steps = self.n, [self.degree + 1]
        while steps[-1] > 1:
            steps.append((steps[-1] + 1) // 2)
        steps.reverse()
        zero = 0 * self.one
        x = [[self.one] for _ in range(n)]
        inverse = None
        for known, target in pairwise(steps):
            first = self.first(known)
            some = target - first
            products = self.prefixes([self.series(row, target) for row in x], target)
            rest = []
            for product, row in zip(products, right, strict=True):
                value = self.coefficients(product, target)
                rest.append([row[k] - value[k] for k in range(first, target)])
            slopes = self.slopes([self.series(row[:some], some) for row in x], some)
            lists = [[self.coefficients(entry, some) for entry in row] for row in slopes]
            matrices = [
                self.matrix([[e[j] for e in row] + [zero] * (n - len(row)) for row in lists])
                for j in range(some)
            ]
            if inverse is None:
                inverse = self.invert(matrices[0])
            found: list[Any] = []
            for k in range(some):
                r = self.column([row[k] for row in rest])
                for j in range(1, k + 1):
                    r = r - self.apply(matrices[j], found[k - j])
                found.append(self.apply(inverse, r))
            for row in x:
                row.extend([zero] * (target - known))
            for k in range(some):
                for row, entry in zip(x, self.entries(found[k]), strict=True):
                    row[first + k] += entry
        return x


class Flint(Plain):
    """With arb_series and arb_mat."""

    def __init__(self, n: int, degree: int) -> None:
        import flint

        super().__init__(n, degree)
        self.flint = flint
        self.one = flint.arb(1)

    def series(self, row: list[Any], length: int) -> Any:
        self.flint.ctx.cap = length
        return self.flint.arb_series(row)

    def coefficients(self, series: Any, length: int) -> list[Any]:
        return [series[k] for k in range(length)]

    def multiply(self, a: Any, b: Any, length: int) -> Any:
        return a * b

    def matrix(self, rows: list[list[Any]]) -> Any:
        return self.flint.arb_mat(rows)

    def invert(self, matrix: Any) -> Any:
        n = self.n
        identity = self.flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
        return matrix.solve(identity, algorithm="lu")

    def apply(self, matrix: Any, vector: Any) -> Any:
        return matrix * vector

    def column(self, entries: list[Any]) -> Any:
        return self.flint.arb_mat(self.n, 1, entries)

    def entries(self, column: Any) -> list[Any]:
        return column.entries()


class HalvedFlint(Flint):
    """As mdla: derivatives to half the degree, and only new coefficients."""

    def first(self, known: int) -> int:
        return known


class Mpmath(Plain):
    """With lists of mpf."""

    def __init__(self, n: int, degree: int) -> None:
        import mpmath

        super().__init__(n, degree)
        self.mp = mpmath.mp
        self.one = mpmath.mpf(1)

    def series(self, row: list[Any], length: int) -> Any:
        return row + [0 * self.one] * (length - len(row))

    def coefficients(self, series: Any, length: int) -> list[Any]:
        return series[:length]

    def multiply(self, a: Any, b: Any, length: int) -> Any:
        fdot, backward = self.mp.fdot, b[length - 1 :: -1]
        return [fdot(a[: k + 1], backward[length - 1 - k :]) for k in range(length)]

    def matrix(self, rows: list[list[Any]]) -> Any:
        return rows

    def invert(self, matrix: Any) -> Any:
        return (self.mp.matrix(matrix) ** -1).tolist()

    def apply(self, matrix: Any, vector: Any) -> Any:
        fdot = self.mp.fdot
        return Column(fdot(row, vector) for row in matrix)

    def column(self, entries: list[Any]) -> Any:
        return Column(entries)

    def entries(self, column: Any) -> list[Any]:
        return list(column)


class Column(list[Any]):
    """A vector with subtraction."""

    def __sub__(self, other: list[Any]) -> Column:
        return Column(a - b for a, b in zip(self, other, strict=True))


def describe(benchmark: Any, prec: str, peer: str, n: int = ORDER) -> None:
    benchmark.group = f"Newton at series, monomial homotopy n = {ORDER}, degree {DEGREE}"
    benchmark.extra_info.update(
        operation=f"Newton at series, degree {DEGREE}", prec=prec, n=n, peer=peer
    )


@pytest.mark.parametrize("prec", ["d", "dd", "td", "qd", "pd", "od", "da", "hd"])
def bench_newton(benchmark: Any, prec: str) -> None:
    describe(benchmark, prec, "mdla")
    system = monomial_homotopy(ORDER, DEGREE, prec)
    result = benchmark(mdla.series.newton, system, [1] * ORDER, DEGREE)
    assert result.converged
    rows = result.x.coefficients.tolist()
    require_solution(rows, 1000 * ORDER * mdla.finfo(prec).eps, ORDER, DEGREE)


@pytest.mark.parametrize("kind", [Flint, HalvedFlint])
def bench_newton_flint(benchmark: Any, kind: type[Flint]) -> None:
    import flint

    describe(benchmark, "qd", "python-flint" + (", halved" if kind is HalvedFlint else ""))
    solver = kind(ORDER, DEGREE)
    with flint.ctx.workprec(BITS["qd"]):
        right = [
            [flint.arb(flint.fmpq(c.numerator, c.denominator)) for c in row]
            for row in right_sides(ORDER, DEGREE)
        ]
        x = benchmark(solver.solve, right)
        rows = [[Fraction(float(c.mid())) for c in row] for row in x]
    require_solution(rows, 1e-14, ORDER, DEGREE)


def bench_newton_mpmath(benchmark: Any) -> None:
    import mpmath

    describe(benchmark, "qd", "mpmath")
    solver = Mpmath(ORDER, DEGREE)
    with mpmath.workprec(BITS["qd"]):
        right = [
            [mpmath.mpf(c.numerator) / c.denominator for c in row]
            for row in right_sides(ORDER, DEGREE)
        ]
        x = benchmark.pedantic(solver.solve, (right,), rounds=1)
        rows = [[Fraction(float(c)) for c in row] for row in x]
    require_solution(rows, 1e-14, ORDER, DEGREE)


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_solve(benchmark: Any, prec: str) -> None:
    """A block Toeplitz system with a full matrix in every degree."""
    benchmark.group = f"A(t) x(t) = b(t), n = {ORDER}, degree {DEGREE}"
    benchmark.extra_info.update(
        operation=f"solve at series, degree {DEGREE}", prec=prec, n=ORDER, peer="mdla"
    )
    a = random_array((ORDER, ORDER, DEGREE + 1), prec) - 1
    a[..., 0] = a[..., 0] + ORDER * mdla.eye(ORDER, prec=prec)
    b = random_array((ORDER, DEGREE + 1), prec, seed=4)
    A, right = mdla.series.Series(a), mdla.series.Series(b)
    x = benchmark(mdla.series.solve, A, right)
    rest = (A @ x - right).coefficients
    assert mdla.max(abs(rest)) <= 1000 * ORDER * mdla.finfo(prec).eps


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def bench_paths(benchmark: Any, prec: str) -> None:
    """Many paths of a small system side by side, as trackers have them."""
    benchmark.group = f"Newton at series, {PATHS} complex paths of 5 unknowns, degree 8"
    benchmark.extra_info.update(
        operation="Newton at series, degree 8, paths", prec=prec, n=PATHS, peer="mdla"
    )
    names = [f"x{i}" for i in range(5)]
    cyclic = "; ".join(f"{names[i]}*{names[(i + 1) % 5]} - 1 - {i + 1}*t" for i in range(5))
    system = mdla.PolynomialSystem(cyclic + ";", prec, variables=[*names, "t"])
    angles = random_array((PATHS, 5), prec) / 100
    starts = 1 + angles * (angles - mdla.array(1j, prec=prec))
    result = benchmark(mdla.series.newton, system, starts, 8)
    assert result.converged.all()
