# SPDX-License-Identifier: BSD-3-Clause
"""Polynomial systems that solvers are measured by, with published equations and root counts."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from mdla.poly.system import PolynomialSystem

__all__ = ["cyclic", "eco", "katsura", "noon", "wilkinson"]

Exponents = dict[int, int]


def cyclic(n: int, prec: Any = None) -> PolynomialSystem:
    """The cyclic n-roots.

    The sums of products of k neighbours on a circle, and the product of all::

        sum_(i=0..n-1) x_i x_(i+1) ... x_(i+k-1) = 0, k = 1, ..., n-1,    x_0 x_1 ... x_(n-1) = 1

    with indices modulo n. Isolated roots: 70 for n = 5, 156 for 6, 924 for 7; for n = 4, 8, 9 there
    are curves or surfaces of roots.

    Source: G. Bjorck and R. Froberg, "A faster way to count the solutions of inhomogeneous systems
    of algebraic equations, with applications to cyclic n-roots", J. Symb. Comput. 12 (1991)
    329-336.

    Raises:
        ValueError: n < 2.

    Example:
        >>> from mdla.poly.families import cyclic
        >>> print(cyclic(3))
        x0 + x1 + x2;
        x0*x1 + x0*x2 + x1*x2;
        x0*x1*x2 - 1;
    """
    _require("cyclic", n, 2)
    sums = [[({(i + j) % n: 1 for j in range(k)}, 1) for i in range(n)] for k in range(1, n)]
    last: list[tuple[Exponents, Any]] = [({i: 1 for i in range(n)}, 1), ({}, -1)]
    return _system([*sums, last], [f"x{i}" for i in range(n)], prec)


def katsura(n: int, prec: Any = None) -> PolynomialSystem:
    """Katsura's magnetism problem in the n + 1 variables u_0, ..., u_n.

    ::

        sum_(l=-n..n) u_|l| u_|m-l| = u_m, m = 0, ..., n-1,    u_0 + 2 (u_1 + ... + u_n) = 1

    with u_k = 0 for k > n. It has 2^n roots, all isolated.

    Source: S. Katsura, "Spin glass problem by the method of integral equation of the effective
    field", in New Trends in Magnetism, World Scientific 1990, 110-121; W. Boege, R. Gebauer and
    H. Kredel, J. Symb. Comput. 2 (1986) 83-98.

    Raises:
        ValueError: n < 1.

    Example:
        >>> from mdla.poly.families import katsura
        >>> print(katsura(2))
        u0^2 + 2*u1^2 + 2*u2^2 - u0;
        2*u0*u1 + 2*u1*u2 - u1;
        u0 + 2*u1 + 2*u2 - 1;
    """
    _require("katsura", n, 1)
    polynomials = []
    for m in range(n):
        terms: list[tuple[Exponents, Any]] = [({m: 1}, -1)]
        for i in range(-n, n + 1):
            if abs(m - i) <= n:
                terms.append((_product(abs(i), abs(m - i)), 1))
        polynomials.append(terms)
    polynomials.append([({0: 1}, 1), *(({i: 1}, 2) for i in range(1, n + 1)), ({}, -1)])
    return _system(polynomials, [f"u{i}" for i in range(n + 1)], prec)


def noon(n: int, prec: Any = None) -> PolynomialSystem:
    """Noonburg's neural network, an adaptive Lotka-Volterra system.

    ::

        x_i (sum_(j != i) x_j^2) - 1.1 x_i + 1 = 0, i = 1, ..., n

    It has 3^n - 2 n roots: 21, 73, 233 for n = 3, 4, 5.

    Source: V. W. Noonburg, "A neural network modeled by an adaptive Lotka-Volterra system", SIAM J.
    Appl. Math. 49 (1989) 1779-1792.

    Raises:
        ValueError: n < 2.

    Example:
        >>> from mdla.poly.families import noon
        >>> print(noon(2))
        x1*x2^2 - 1.1*x1 + 1;
        x1^2*x2 - 1.1*x2 + 1;
    """
    _require("noon", n, 2)
    polynomials = [
        [
            *(({i: 1, j: 2}, 1) for j in range(n) if j != i),
            ({i: 1}, Fraction(-11, 10)),
            ({}, 1),
        ]
        for i in range(n)
    ]
    return _system(polynomials, [f"x{i + 1}" for i in range(n)], prec)


def eco(n: int, prec: Any = None) -> PolynomialSystem:
    """An economics problem in n variables.

    ::

        (x_k + sum_(i=1..n-k-1) x_i x_(i+k)) x_n = k, k = 1, ..., n-1,    x_1 + ... + x_(n-1) = -1

    It has 2^(n-2) roots: 64 for n = 8.

    Source: A. Morgan, Solving Polynomial Systems Using Continuation for Engineering and Scientific
    Problems, Prentice-Hall 1987, p. 148.

    Raises:
        ValueError: n < 3.

    Example:
        >>> from mdla.poly.families import eco
        >>> print(eco(3))
        x1*x2*x3 + x1*x3 - 1;
        x2*x3 - 2;
        x1 + x2 + 1;
    """
    _require("eco", n, 3)
    polynomials: list[list[tuple[Exponents, Any]]] = []
    for k in range(1, n):
        terms: list[tuple[Exponents, Any]] = [({k - 1: 1, n - 1: 1}, 1), ({}, -k)]
        for i in range(1, n - k):
            terms.append(({i - 1: 1, i + k - 1: 1, n - 1: 1}, 1))
        polynomials.append(terms)
    polynomials.append([*(({i: 1}, 1) for i in range(n - 1)), ({}, 1)])
    return _system(polynomials, [f"x{i + 1}" for i in range(n)], prec)


def wilkinson(n: int = 20, prec: Any = None) -> PolynomialSystem:
    """Wilkinson's polynomial ``(x - 1) (x - 2) ... (x - n)``, multiplied out.

    Its roots react to relative changes of the coefficients by up to 5e13 for n = 20. The
    coefficients are exact in dd for n <= 27.

    Source: J. H. Wilkinson, "The evaluation of the zeros of ill-conditioned polynomials. Part I",
    Numer. Math. 1 (1959) 150-166.

    Raises:
        ValueError: n < 1.

    Example:
        >>> from mdla.poly.families import wilkinson
        >>> print(wilkinson(3))
        x^3 - 6*x^2 + 11*x - 6;
    """
    _require("wilkinson", n, 1)
    coefficients = [1]  # from the constant on
    for root in range(1, n + 1):
        shifted, scaled = [0, *coefficients], [*(root * c for c in coefficients), 0]
        coefficients = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return _system([[({0: k}, c) for k, c in enumerate(coefficients)]], ["x"], prec)


def _system(
    polynomials: Iterable[Iterable[tuple[Exponents, Any]]], names: list[str], prec: Any
) -> PolynomialSystem:
    """From terms given by the exponents of the variables that occur; like terms are added."""
    collected = []
    for terms in polynomials:
        own: dict[tuple[int, ...], Any] = {}
        for exponents, coefficient in terms:
            key = tuple(exponents.get(i, 0) for i in range(len(names)))
            own[key] = own.get(key, 0) + coefficient
        collected.append(own)
    return PolynomialSystem(collected, prec, variables=names)


def _product(i: int, j: int) -> Exponents:
    return {i: 2} if i == j else {i: 1, j: 1}


def _require(family: str, n: int, least: int) -> None:
    if n < least:
        raise ValueError(f"{family}(n) needs n >= {least}, got {n}")
