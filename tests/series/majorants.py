"""Elementary functions of series in ball arithmetic, and the majorants of the error bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

#: Bits of the balls.
WORKING_BITS = 4000


def _ball(pair):
    return flint.acb(*(flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in pair))


def _fraction(ball):
    mantissa, exponent = (int(x) for x in ball.mid().man_exp())
    return Fraction(mantissa << exponent) if exponent > 0 else Fraction(mantissa, 1 << -exponent)


I = flint.acb(0, 1)  # noqa: E741

#: Functions of acb_series z and further balls.
BALLS = {
    "sqrt": lambda z: z.sqrt(),
    "exp": lambda z: z.exp(),
    "expm1": lambda z: z.exp() - 1,
    "log": lambda z: z.log(),
    "log1p": lambda z: (z + 1).log(),
    "sin": lambda z: z.sin(),
    "cos": lambda z: z.cos(),
    "tan": lambda z: z.tan(),
    "sinh": lambda z: -I * (I * z).sin(),
    "cosh": lambda z: (I * z).cos(),
    "tanh": lambda z: -I * (I * z).tan(),
    "arcsin": lambda z: (z / (1 - z * z).sqrt()).atan(),
    "arccos": lambda z: flint.acb.pi() / 2 - (z / (1 - z * z).sqrt()).atan(),
    "arctan": lambda z: z.atan(),
    "quotient": lambda z, w: z / w,
    "power": lambda z, p: (z.log() * p[0]).exp(),
}


def values(name, *operands):
    """Exact coefficients (pairs) of a function of series given as lists of pairs."""
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = WORKING_BITS, len(operands[0])
    try:
        z = [flint.acb_series([_ball(c) for c in a]) for a in operands]
        found = BALLS[name](*z)
        return [
            (_fraction(found[k].real), _fraction(found[k].imag)) for k in range(len(operands[0]))
        ]
    finally:
        flint.ctx.prec, flint.ctx.cap = before


# -- majorants: the recurrences with moduli ------------------------------------------------------


def _moduli(a):
    return [math.hypot(float(re), float(im)) for re, im in a]


def _slope(a):
    return [k * x for k, x in enumerate(a)]


def _integral(b, first):
    return [first] + [x / k for k, x in enumerate(b) if k]


def _quotient(a, b):
    c = [a[0] / b[0]]
    for k in range(1, len(a)):
        c.append((a[k] + sum(b[j] * c[k - j] for j in range(1, k + 1))) / b[0])
    return c


def _sqrt(a):
    c = [math.sqrt(a[0])]
    for k in range(1, len(a)):
        c.append((a[k] + sum(c[j] * c[k - j] for j in range(1, k))) / (2 * c[0]))
    return c


def _exp(a, first):
    c = [first]
    for k in range(1, len(a)):
        c.append(sum(j * a[j] * c[k - j] for j in range(1, k + 1)) / k)
    return c


def _power(a, p):
    c = [1.0]
    for k in range(1, len(a)):
        terms = ((abs(p) * j + k - j) * a[j] * c[k - j] for j in range(1, k + 1))
        c.append(sum(terms) / (k * a[0]))
    return c


def _circular(a, cosine, sine, which):
    c, s = [cosine], [sine]
    for k in range(1, len(a)):
        s.append(sum(j * a[j] * c[k - j] for j in range(1, k + 1)) / k)
        c.append(sum(j * a[j] * s[k - j] for j in range(1, k + 1)) / k)
    return (c, s)[which]


def _tangent(a, y0, w0):
    y, w = [y0], [w0]
    for k in range(1, len(a)):
        y.append(sum(j * a[j] * w[k - j] for j in range(1, k + 1)) / k)
        w.append(sum(y[j] * y[k - j] for j in range(k + 1)))
    return y


def _one_and_square(a, first):
    squares = [sum(a[j] * a[k - j] for j in range(k + 1)) for k in range(len(a))]
    return [first, *squares[1:]]


def _arc(a, first, root):
    return _integral(_quotient(_slope(a), root), first)


def majorant(name, value, a, *more):
    """M of the error bound for series a (lists of pairs), ``value`` the exact result."""
    z = complex(float(a[0][0]), float(a[0][1]))
    size, first = _moduli(a), math.hypot(*map(float, value[0]))
    if name == "quotient":
        return _quotient(size, _moduli(more[0]))
    if name == "sqrt":
        return _sqrt(size)
    if name == "power":
        return [first * x for x in _power(size, math.hypot(*map(float, more[0][0])))]
    if name in ("exp", "expm1"):
        return [first, *_exp(size, abs(np.exp(z)))[1:]]
    if name in ("log", "log1p"):
        divisor = [abs(z + (name == "log1p")), *size[1:]]
        return _arc(size, first, divisor)
    if name in ("sin", "cos"):
        return _circular(size, abs(np.cos(z)), abs(np.sin(z)), name == "sin")
    if name in ("sinh", "cosh"):
        return _circular(size, abs(np.cosh(z)), abs(np.sinh(z)), name == "sinh")
    if name in ("tan", "tanh"):
        cosine = np.cos(z) if name == "tan" else np.cosh(z)
        return _tangent(size, first, 1 / abs(cosine) ** 2)
    if name == "arctan":
        return _arc(size, first, _one_and_square(size, abs(1 + z * z)))
    assert name in ("arcsin", "arccos")
    return _arc(size, first, _sqrt(_one_and_square(size, abs(1 - z * z))))
