# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the native elementwise operations, shared by their tests."""

from __future__ import annotations

import numpy as np

from mdla import _native
from mdla.core.precision import precision
from tests.oracle import assert_normalised, exact_results, hex_limbs, integers, result_errors
from tests.registry import adversarial, second_operand

BINARY = ["add", "sub", "mul", "div"]
REAL = [*BINARY, "sqrt", "fma"]

#: What a result may miss on top of its relative error, in units of the smallest subnormal: the
#: rounding errors of a product fade below it.
FADED = 4


def run(name, prec, *operands):
    """Apply a native operation to planes of one shape."""
    p = precision(prec)
    parts = 1 if name == "abs" else max(x.shape[0] for x in operands)
    out = np.full((parts, p.limbs, *operands[0].shape[2:]), np.nan, dtype=p.dtype)
    _native.elementwise(name, out, *operands)
    return out


def planes(prec, *columns):
    """Planes of numbers given by their limbs, missing ones zero."""
    p = precision(prec)
    out = np.zeros((1, p.limbs, len(columns)), dtype=p.dtype)
    for i, limbs in enumerate(columns):
        out[0, : len(limbs), i] = limbs
    return out


def from_hex(text):
    """Limbs from hexadecimal floats separated by blanks."""
    return [float.fromhex(word) for word in text.split()]


def allowance(name, prec, operands):
    """What is allowed besides ``eps |result|``, in units of 2**-1074."""
    p = precision(prec)
    unit = FADED if p.dtype.itemsize == 8 else FADED << (1074 - 149)
    count = operands[0].shape[2]
    if name != "fma" or p.limbs == 1:
        return [unit] * count
    # The product inside keeps min(2 N, 19) limbs.
    bits = (p.limb_bits - 1) * min(2 * p.limbs, 19)
    x, y = integers(operands[0])[0], integers(operands[1])[0]
    return [unit + (abs(a * b) >> (1074 + bits)) for a, b in zip(x, y, strict=True)]


def operands_of(name, prec, rng, count):
    """Adversarial operands of an operation."""
    x = adversarial(rng, prec, count)
    if name == "sqrt":
        return (np.where(x[:, :1] < 0, -x, x),)
    y = second_operand(rng, prec, x)
    if name == "sub":
        return x, -y
    if name in ("mul", "div", "fma"):
        y = np.where(rng.random(count) < 0.5, adversarial(rng, prec, count), y)
    if name == "div":
        # A shifted operand may be so small that the quotient overflows in single precision.
        least = 0.0 if precision(prec).dtype.itemsize == 8 else 2.0**-60
        y = np.where(np.abs(y[:, :1]) <= least, x, y)
    if name == "fma":
        return x, y, second_operand(rng, prec, run("mul", prec, x, y))
    return x, y


def check(name, prec, operands, bound=1.0):
    """Require the error bound and normalised results; return the largest error."""
    got = run(name, prec, *operands)
    assert np.isfinite(got).all()
    errors = result_errors(
        got, exact_results(name, *operands), prec, allowance(name, prec, operands)
    )
    at = (int(np.argmax(errors)),)
    assert errors[at] <= bound, (
        f"{prec} {name}: error {errors[at]:.6g} eps for "
        f"{' and '.join(hex_limbs(x, at) for x in operands)}, got {hex_limbs(got, at)}"
    )
    assert_normalised(got, operands)
    return float(errors[at])


def assert_special(got, expected):
    assert not got[0, 1:].any(), hex_limbs(got)
    np.testing.assert_array_equal(got[0, 0], expected)
    if expected == 0:
        assert np.signbit(got[0, 0]) == np.signbit(expected), hex_limbs(got)
