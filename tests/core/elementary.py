# SPDX-License-Identifier: BSD-3-Clause
"""Exact values of elementary functions by ball arithmetic, and arguments of every size."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdla
from mdla import _native
from mdla.core.precision import precision
from tests.oracle import error_in_eps, exact
from tests.registry import adversarial

#: Bits of the balls: exact arguments, up to all limbs, and 1000 bits of every value.
WORKING_BITS = 4400

_ARB = {
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.expm1(),
    "log": lambda x: x.log(),
    "log1p": lambda x: x.log1p(),
    "log2": lambda x: x.log() / flint.arb(2).log(),
    "log10": lambda x: x.log() / flint.arb(10).log(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tan": lambda x: x.tan(),
    "sinh": lambda x: x.sinh(),
    "cosh": lambda x: x.cosh(),
    "tanh": lambda x: x.tanh(),
    "arcsin": lambda x: x.asin(),
    "arccos": lambda x: x.acos(),
    "arctan": lambda x: x.atan(),
}

REAL = list(_ARB)

#: Beyond these magnitudes of arguments results leave the range of doubles.
_LIMITS = {"exp": 700, "expm1": 700, "sinh": 700, "cosh": 700}


def _ball(x):
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def _fraction(ball):
    """The midpoint of a ball whose radius is far below every precision."""
    assert ball.is_exact() or ball.rel_accuracy_bits() > 900, ball
    mantissa, exponent = ball.mid().man_exp()
    mantissa, exponent = int(mantissa), int(exponent)
    if exponent < -6000:
        mantissa, exponent = 0, 0  # far below the smallest subnormal
    return Fraction(mantissa << exponent) if exponent > 0 else Fraction(mantissa, 1 << -exponent)


def values(name, *arguments):
    """The exact values of a function at arrays of Fractions, or of pairs for complex ones."""
    out = np.empty(arguments[0].size, dtype=object)
    before = flint.ctx.prec
    flint.ctx.prec = WORKING_BITS
    try:
        for i, row in enumerate(zip(*(a.ravel() for a in arguments), strict=True)):
            out[i] = _value(name, row)
    finally:
        flint.ctx.prec = before
    return out.reshape(arguments[0].shape)


def _value(name, row):
    if isinstance(row[0], tuple):
        z = [flint.acb(_ball(re), _ball(im)) for re, im in row]
        w = z[0].pow(z[1]) if name == "power" else _ARB[name](z[0])
        return _fraction(w.real), _fraction(w.imag)
    balls = [_ball(Fraction(x)) for x in row]
    if name == "arctan2":
        return _fraction(flint.arb.atan2(*balls))
    if name == "hypot":
        return _fraction((balls[0] ** 2 + balls[1] ** 2).sqrt())
    if name == "power":
        return _fraction(balls[0] ** balls[1])
    return _fraction(_ARB[name](balls[0]))


def errors(name, *arrays):
    """Errors of a function in eps; what fades at the smallest subnormal is allowed beside."""
    got = getattr(mdla, name)(*arrays)
    want = values(name, *(exact(a) for a in arrays))
    return errors_against(got, want)


def errors_against(got, want):
    p = got.precision
    smallest = Fraction(float(np.finfo(p.dtype).smallest_subnormal))
    allowance = 4 * p.limbs * smallest / p.eps
    size = np.empty(want.shape, dtype=object)
    for index, value in np.ndenumerate(want):
        parts = value if isinstance(value, tuple) else (value,)
        # The modulus to within a relative error of 2**-60.
        square = sum(Fraction(x) ** 2 for x in parts)
        size[index] = _root(square) + allowance
    return error_in_eps(got, want, p.name, scale=size)


def _root(square):
    if square == 0:
        return Fraction(0)
    shift = max(0, 128 - (square.numerator.bit_length() - square.denominator.bit_length()))
    shift += shift % 2
    return Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << shift // 2)


def with_tails(rng, prec, lead):
    """Numbers with these leading limbs, the others random."""
    p = precision(prec)
    lead = np.asarray(lead, dtype=np.float64).astype(p.dtype)
    x = np.zeros((1, p.limbs, lead.size), dtype=p.dtype)
    x[0, 0] = lead
    unit = np.abs(lead) * np.finfo(p.dtype).eps / 4
    for k in range(1, p.limbs):
        x[0, k] = unit * rng.uniform(-1, 1, lead.size)
        unit = np.abs(x[0, k]) * np.finfo(p.dtype).eps / 4
    out = np.empty_like(x)
    _native.normalize(out, x)
    return mdla.MDArray(out)


def arguments(name, prec, rng, count):
    """Arguments over the whole range of a function: of every exponent, moderate, adversarial."""
    single = precision(prec).dtype.itemsize == 4
    largest, smallest = (120, -120) if single else (1020, -1000)
    limit = _LIMITS.get(name)
    if limit and single:
        limit = 85
    top = 0 if name in ("arcsin", "arccos") else math.log2(limit) if limit else largest
    third = count // 3
    signs = rng.choice([-1.0, 1.0], third)
    wide = signs * np.exp2(rng.uniform(smallest, top, third))
    near = signs * np.exp2(rng.uniform(-12, min(top, 5), third))
    if limit:
        near = rng.uniform(-limit, limit, third)
    rest = adversarial(
        rng, prec, count - 2 * third, (-12, min(int(top), 5)), -120 if single else -400
    )
    x = mdla.concatenate(
        [with_tails(rng, prec, wide), with_tails(rng, prec, near), mdla.MDArray(rest)]
    )
    if name in ("log", "log2", "log10"):
        return abs(x)
    if name == "log1p":
        return mdla.where((x > -1).astype(bool), x, abs(x))
    if name in ("arcsin", "arccos"):
        return mdla.where(abs(x) <= 1, x, 1 / x)
    return x


def complex_arguments(prec, rng, count):
    """Complex numbers with parts that are tiny, moderate, or near 1 in magnitude."""
    lowest = -60 if precision(prec).dtype.itemsize == 4 else -300

    def part():
        tiny = np.exp2(rng.uniform(lowest, 4, count))
        moderate = np.exp2(rng.uniform(-8, 4, count))
        near_one = 1 + rng.choice([-1, 1], count) * np.exp2(rng.uniform(-40, -2, count))
        chosen = np.choose(rng.integers(0, 3, count), [tiny, moderate, near_one])
        return with_tails(rng, prec, rng.choice([-1.0, 1.0], count) * chosen).planes

    return mdla.MDArray(np.concatenate([part(), part()]))
