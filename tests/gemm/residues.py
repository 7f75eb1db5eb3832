# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of products by residues: ways to run them, and their definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import mdla
from mdla import _native
from mdla.core.precision import PRECISIONS
from mdla.gemm import engines
from mdla.gemm.plan import read_problem
from tests.oracle import assert_close, assert_normalised, assert_same_bits, integers
from tests.registry import THREADS, each_level

#: Every precision whose numbers are made of doubles, by name.
PRECS = [name for name, p in PRECISIONS.items() if p.dtype == np.float64]


def multiply(a, b, engine="auto", prec=None):
    return mdla.matmul(a, b, prec=prec, scheme="crt", engine=engine)


def available():
    """The engines of this machine, at the level in use."""
    return [e.name for e in engines.scheme("crt").engines if e.available()]


def int8_engines():
    """Those whose stages are native functions of residues."""
    return [name for name in available() if name.startswith("int8-")]


def each_int8_engine():
    """The same for each instruction set level, as `each_engine`."""
    for _level in each_level():
        yield from int8_engines()


def each_engine():
    """Run the body of a loop for each engine of each instruction set level."""
    for _level in each_level():
        yield from available()


def assert_one_result(a, b, prec=None, threads=False):
    """Require the same bits from every engine and level; return the result.

    With threads also for each number of them: for products that are large enough to be shared out.
    """
    want = multiply(a, b, prec=prec)
    for engine in each_engine():
        for count in THREADS if threads else THREADS[:1]:
            _native.set_num_threads(count)
            assert_same_bits(multiply(a, b, engine, prec), want)
    return want


# -- the promise ---------------------------------------------------------------------------------


def exact_parts(a, b):
    """Of each part of ``a @ b`` the exact values, and the sums of the magnitudes of its terms.

    Both in integers times ``2**2148``. The sums are at most ``|a| |b|``, also for complex entries.
    """
    x, y = integers(a), integers(b)
    if len(x) == len(y) == 2:
        terms = [[(x[0], y[0], 1), (x[1], y[1], -1)], [(x[0], y[1], 1), (x[1], y[0], 1)]]
    elif len(x) == len(y) == 1:
        terms = [[(x[0], y[0], 1)]]
    else:
        terms = [[(p, q, 1)] for p in x for q in y]
    values = [sum(s * (p @ q) for p, q, s in part) for part in terms]
    return values, [sum(np.abs(p) @ np.abs(q) for p, q, _ in part) for part in terms]


def check(c, a, b, prec=None):
    """The promise, for each part."""
    prec = c.prec if prec is None else prec
    unit = Fraction(1, 2**2148)
    for part, value, scale in zip((c.real, c.imag), *exact_parts(a, b), strict=False):
        assert_close(part, value * unit, prec, a.shape[-1], scale=scale * unit)
    assert_normalised(c)


# -- the definition ------------------------------------------------------------------------------


def items(a, b, prec=None):
    """How each product of a problem is done."""
    problem = read_problem(a, b, prec)
    engines.scheme("crt").choose(problem)
    return problem.memo["items"]


def lane_exponents(planes):
    """E with 2**(E-1) <= the largest leading limb < 2**E of each lane; (c, N, lanes, steps)."""
    leading = np.abs(np.concatenate(list(planes[:, 0]), axis=-1))
    return np.frexp(leading.max(axis=-1, initial=0))[1].tolist()


def rounded_integers(lanes, exponents, bits):
    """Entries as integers of so many bits below the exponents, ties to even."""
    out = np.empty(lanes.shape, dtype=object)
    for i, k in np.ndindex(*lanes.shape):
        out[i, k] = round(lanes[i, k] * Fraction(2) ** (bits - exponents[i]))
    return out


def exactly_rounded(value, quantum):
    """An integer rounded to a multiple of ``2**quantum``, ties to even."""
    return round(Fraction(value, 2**quantum)) * 2**quantum


def by_definition(a, b):
    """Exact values of the parts of a product by residues, before limbs are formed."""
    (item,) = items(a, b)
    assert item.far is None
    x, y = (np.frompyfunc(lambda v: Fraction(v, 2**1074), 1, 1)(integers(z)) for z in (a, b))
    y = np.swapaxes(y, -1, -2)
    rows, columns = lane_exponents(a.planes), lane_exponents(np.swapaxes(b.planes, -1, -2))
    p, q = (
        [rounded_integers(part, exponents, bits) for part in z]
        for z, exponents, bits in zip((x, y), (rows, columns), item.bits, strict=True)
    )
    if len(p) == 2:
        sums = [p[0] @ q[0].T - p[1] @ q[1].T, p[0] @ q[1].T + p[1] @ q[0].T]
    else:
        sums = [p[0] @ q[0].T]
    result = []
    for total in sums:
        part = np.empty(total.shape, dtype=object)
        for i, j in np.ndindex(*total.shape):
            scale = rows[i] + columns[j] - sum(item.bits)
            part[i, j] = exactly_rounded(total[i, j], item.quantum) * Fraction(2) ** scale
        result.append(part)
    return result


def nearest(values, prec):
    """Exact numbers in limbs, each limb the double nearest to what is left."""
    return mdla.array([[v for v in row] for row in values], prec=prec)
