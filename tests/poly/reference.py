# SPDX-License-Identifier: BSD-3-Clause
"""What values and derivatives are: exactly, and in plain array operations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import mdla
from tests.oracle import exact


class Gaussian:
    """An exact complex number; also the stranger that generic evaluation is tested with."""

    def __init__(self, re, im=0):
        self.re, self.im = Fraction(re), Fraction(im)

    def __add__(self, other):
        return Gaussian(self.re + other.re, self.im + other.im)

    def __sub__(self, other):
        return Gaussian(self.re - other.re, self.im - other.im)

    def __mul__(self, other):
        return Gaussian(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )

    def __eq__(self, other):
        return (self.re, self.im) == (other.re, other.im)

    def __hash__(self):
        return hash((self.re, self.im))

    def __repr__(self):
        return f"({self.re} + {self.im} i)"

    @property
    def pair(self):
        return self.re, self.im

    @property
    def size(self):
        """The modulus, as exact as a double."""
        scale = max(abs(self.re), abs(self.im))
        return scale * Fraction(math.hypot(self.re / scale, self.im / scale)) if scale else scale


def gaussians(a):
    """An object array of the exact numbers of an array."""
    flat = [Gaussian(*(v if isinstance(v, tuple) else (v, 0))) for v in exact(a).ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(a.shape)


def coefficient_of(constant):
    """The exact number for what generic evaluation gives."""
    if isinstance(constant, mdla.MDArray):
        return gaussians(constant)[()]
    return Gaussian(constant)


def terms(system, k):
    """Exponents and exact coefficients of polynomial k."""
    rows = system.supports[k].tolist()
    return list(zip(rows, gaussians(system.coefficients[k]), strict=True))


def power_product(x, exponents):
    product = Gaussian(1)
    for coordinate, exponent in zip(x, exponents, strict=True):
        for _ in range(exponent):
            product = product * coordinate
    return product


def slope_terms(some, j):
    """The terms of the derivative by variable j."""
    return [
        ([e - (i == j) for i, e in enumerate(exponents)], c * Gaussian(exponents[j]))
        for exponents, c in some
        if exponents[j]
    ]


def exact_sum(some, x):
    """The value of terms, and the sum of their moduli."""
    value, size = Gaussian(0), Fraction(0)
    for exponents, c in some:
        term = c * power_product(x, exponents)
        value, size = value + term, size + term.size
    return value, size


def exact_results(system, x):
    """For each result of a sweep at an exact point: value, sum of moduli."""
    m, n = system.shape
    polynomials = [terms(system, k) for k in range(m)]
    values = [exact_sum(some, x) for some in polynomials]
    slopes = [[exact_sum(slope_terms(some, j), x) for j in range(n)] for some in polynomials]
    return values, slopes


def plain(system, x):
    """Values and Jacobian at one point, term by term with array operations: the specification.

    p_k = sum_e c_ke x^e and dp_k / dx_j = sum_e c_ke e_j x^(e - 1_j).
    """
    m, n = system.shape
    one = mdla.ones((), prec=x.prec)
    value = mdla.zeros(m, prec=x.prec, complex=True)
    jacobian = mdla.zeros((m, n), prec=x.prec, complex=True)
    for k in range(m):
        for exponents, c in zip(system.supports[k].tolist(), system.coefficients[k], strict=True):
            value[k] = value[k] + c * math.prod(
                (x[i] ** e for i, e in enumerate(exponents)), start=one
            )
            for j in range(n):
                if exponents[j]:
                    reduced = [e - (i == j) for i, e in enumerate(exponents)]
                    jacobian[k, j] = jacobian[k, j] + c * exponents[j] * math.prod(
                        (x[i] ** e for i, e in enumerate(reduced)), start=one
                    )
    return value, jacobian


def random_system(rng, prec, is_complex, m=3, n=4, most_terms=6, top=3, simple=0.4):
    """Polynomials with coefficients of all limbs, a share of them one, minus one and the like."""
    supports, coefficients = [], []
    for _ in range(m):
        t = int(rng.integers(1, most_terms + 1))
        rows = rng.integers(0, top + 1, (t, n)) * (rng.random((t, n)) < 0.6)
        supports.append(np.unique(rows, axis=0))
        t = len(supports[-1])
        c = 2 * mdla.random.uniform(t, prec=prec, rng=rng) - 1
        if is_complex:
            c = c + mdla.array(1j) * (2 * mdla.random.uniform(t, prec=prec, rng=rng) - 1)
        short = mdla.array(rng.choice([1, -1, 2, -3, 0.5], t), prec=prec)
        coefficients.append(mdla.where(rng.random(t) < simple, short, c).astype(prec))
    return mdla.PolynomialSystem.from_supports(supports, coefficients, prec)


def random_points(rng, shape, prec, is_complex):
    x = 2 * mdla.random.uniform(shape, prec=prec, rng=rng) - 1
    if is_complex:
        x = x + mdla.array(1j) * (2 * mdla.random.uniform(shape, prec=prec, rng=rng) - 1)
    return x.astype(prec)
