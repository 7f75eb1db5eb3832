# SPDX-License-Identifier: BSD-3-Clause
"""The native arithmetic at the ends of the exponent range, and on what IEEE 754 calls special."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdla.core.precision import finfo, precision
from tests.core.elementwise import (
    BINARY,
    REAL,
    allowance,
    assert_special,
    check,
    operands_of,
    planes,
    run,
)
from tests.oracle import (
    assert_same_bits,
    exact_results,
    hex_limbs,
    integers,
    is_normalised,
    result_errors,
)
from tests.registry import adversarial, second_operand

# -- scaling and the ends of the range ------------------------------------------------------------


def products_in_range(x, y):
    """Where no product of two limbs loses bits below the smallest normal number."""
    p = precision_of(x)
    floor = float(np.finfo(x.dtype).smallest_normal) * 2.0 ** (p + 2)
    good = np.ones(x.shape[2], dtype=bool)
    with np.errstate(all="ignore"):
        for a in x[0].astype(np.longdouble):
            for b in y[0].astype(np.longdouble):
                good &= (a == 0) | (b == 0) | (np.abs(a * b) >= floor)
    return good


def precision_of(x):
    """Bits of a limb."""
    return np.finfo(x.dtype).nmant + 1


@pytest.mark.parametrize("name", REAL)
def test_scaling_by_powers_of_two_changes_nothing(name, prec, rng):
    p = precision(prec)
    reach = 250 if p.dtype.itemsize == 8 else 25
    operands = operands_of(name, prec, rng, 500)
    base = run(name, prec, *operands)
    tested = 0
    for _ in range(6):
        k, m = (int(v) for v in rng.integers(-reach, reach, 2))
        factors, result = {
            "add": ((k, k), k),
            "sub": ((k, k), k),
            "mul": ((k, m), k + m),
            "div": ((k, m), k - m),
            "sqrt": ((2 * k,), k),
            "fma": ((k, m, k + m), k + m),
        }[name]
        with np.errstate(all="ignore"):
            scaled = [np.ldexp(x, f) for x, f in zip(operands, factors, strict=True)]
            expected = np.ldexp(base, result)
            kept = np.isfinite(expected).all(axis=(0, 1))
            for x, s, f in zip(
                (*operands, base), (*scaled, expected), (*factors, result), strict=True
            ):
                kept &= (np.ldexp(s, -f) == x).all(axis=(0, 1))
        # Only where no limb of an operand, of the result or on the way has faded.
        safe = finfo(prec).safe_min * 2.0 ** (p.limb_bits + 5)
        if name in ("mul", "fma"):
            pairs = [(operands[0], operands[1]), (scaled[0], scaled[1])]
        elif name == "div":
            pairs = [(base, operands[1]), (expected, scaled[1])]
        else:
            pairs = [(base, base), (expected, expected)] if name == "sqrt" else []
        if name == "fma":
            safe *= 2.0 ** (p.limb_bits * (min(2 * p.limbs, 19) - p.limbs))
        for x, y in pairs:
            kept &= np.abs(x[0, 0].astype(float)) * np.abs(y[0, 0]) >= safe
            # More limbs are multiplied at a scale of their own.
            if p.limbs <= 4:
                kept &= products_in_range(x, y)
        tested += kept.sum()
        got = run(name, prec, *scaled)
        assert_same_bits(got[:, :, kept], expected[:, :, kept], [s[:, :, kept] for s in scaled])
    # A product of 19 limbs fills the whole range of a double.
    assert tested > 300 or (name == "fma" and p.limbs > 4)


def test_square_whose_error_term_is_no_double(prec):
    # a = 2^-520 (1 + 2^-52): a^2 = 2^-1040 (1 + 2^-51 + 2^-104) needs bits below 2^-1074.
    if precision(prec).dtype.itemsize == 4:
        return
    a = planes(prec, [2.0**-520 * (1 + 2.0**-52)])
    check("mul", prec, (a, a))
    check("fma", prec, (a, a, planes(prec, [2.0**-1040])))
    for k in (200, 260, 500):
        check("mul", prec, (np.ldexp(a, k), np.ldexp(a, k)))


@pytest.mark.parametrize("name", REAL)
def test_outside_the_safe_range_there_is_no_nan(name, prec, rng):
    p = precision(prec)
    top = 1023 if p.dtype.itemsize == 8 else 127
    x = adversarial(rng, prec, 600)
    y = second_operand(rng, prec, x)
    y = np.where(y[:, :1] == 0, x, y)
    sizes = rng.integers(-top - 50, top, (3, 600))
    with np.errstate(over="ignore"):
        moved = [np.ldexp(v, s) for v, s in zip((x, y, x), sizes, strict=True)]
    moved = [
        np.where(np.isfinite(v).all(axis=1, keepdims=True) & is_normalised(v), v, 1) for v in moved
    ]
    moved = [
        np.concatenate([v[:, :1], np.where(v[:, :1] == 1, 0, v[:, 1:])], 1).astype(p.dtype)
        for v in moved
    ]
    if name == "sqrt":
        moved[0] = np.where(moved[0][:, :1] < 0, -moved[0], moved[0])
    operands = moved[: {"sqrt": 1, "fma": 3}.get(name, 2)]
    if name == "div":
        operands[1] = np.where(operands[1][:, :1] == 0, 1, operands[1]).astype(p.dtype)
    got = run(name, prec, *operands)
    lead = got[0, 0]
    assert not np.isnan(got).any()
    # What is infinite overflows in exact arithmetic too, or within an ulp of it.
    wanted = exact_results(name, *operands)
    largest = int(float(np.finfo(p.dtype).max)) << 1074
    for value, num, den in zip(lead, *wanted, strict=True):
        if np.isinf(value):
            assert abs(num) * 2 >= largest * abs(den)
            assert (value > 0) == ((num > 0) == (den > 0))
    finite = np.isfinite(lead)
    assert is_normalised(got).all()
    if name in ("add", "sub", "mul"):
        kept = [v[:, :, finite] for v in operands]
        results = tuple([v for v, ok in zip(part, finite, strict=True) if ok] for part in wanted)
        errors = result_errors(got[:, :, finite], results, prec, allowance(name, prec, kept))
        # At the upper end a sum may lose its tail to the overflow of an intermediate; a subnormal
        # factor is not scaled up to full length. Neither costs more than half of the leading limb.
        full = np.abs(lead[finite]) < np.finfo(p.dtype).max / 4
        if name == "mul":
            for v in kept:
                full &= np.abs(v[0, 0]) >= np.finfo(p.dtype).smallest_normal
        at = (int(np.argmax(np.where(full, errors, 0))),)
        assert (errors[full] <= 1).all(), (
            errors[at],
            [hex_limbs(v, at) for v in (*kept, got[:, :, finite])],
        )
        assert errors.max(initial=0) <= 2.0 ** -(p.eps_exponent + 1)


# -- IEEE specials -------------------------------------------------------------------------------

INF, NAN = math.inf, math.nan

SPECIALS = [
    ("div", 1, 0, INF),
    ("div", -1, 0, -INF),
    ("div", 1, -0.0, -INF),
    ("div", 0, 0, NAN),
    ("div", 1, INF, 0),
    ("div", -1, INF, -0.0),
    ("div", INF, INF, NAN),
    ("div", INF, 2, INF),
    ("div", INF, 0, INF),
    ("div", 0, INF, 0),
    ("div", 0, 5, 0),
    ("div", -0.0, 5, -0.0),
    ("div", NAN, 1, NAN),
    ("div", 1, NAN, NAN),
    ("div", 0, NAN, NAN),
    ("add", INF, 1, INF),
    ("add", 1, INF, INF),
    ("add", INF, INF, INF),
    ("add", INF, -INF, NAN),
    ("add", -INF, 1, -INF),
    ("add", NAN, 1, NAN),
    ("add", 0, 0, 0),
    ("add", -0.0, -0.0, -0.0),
    ("add", 0.0, -0.0, 0),
    ("add", 1, -1, 0),
    ("sub", INF, INF, NAN),
    ("sub", 1, INF, -INF),
    ("sub", 0.0, 0.0, 0.0),
    ("sub", -0.0, 0.0, -0.0),
    ("sub", 1, 1, 0.0),
    ("mul", INF, 2, INF),
    ("mul", 2, INF, INF),
    ("mul", -2, INF, -INF),
    ("mul", INF, 0, NAN),
    ("mul", 0, INF, NAN),
    ("mul", 0, NAN, NAN),
    ("mul", 0, 5, 0),
    ("mul", -0.0, 5, -0.0),
    ("mul", -3, 0.0, -0.0),
    ("mul", -3, -0.0, 0.0),
]


@pytest.mark.parametrize(("name", "x", "y", "expected"), SPECIALS)
def test_ieee_specials(name, x, y, expected, prec):
    # Alone, and in the middle of ordinary numbers, which stay what they are.
    for width in (1, 5, 19):
        a, b = planes(prec, *[[3.0]] * width), planes(prec, *[[7.0]] * width)
        plain = run(name, prec, a, b)
        a[0, 0, width // 2], b[0, 0, width // 2] = x, y
        got = run(name, prec, a, b)
        assert_special(got[:, :, width // 2], expected)
        others = np.arange(width) != width // 2
        assert_same_bits(got[:, :, others], plain[:, :, others])


@pytest.mark.parametrize("tail", [0.0, 2.0**-60, -(2.0**-60)])
def test_specials_meet_numbers_with_tails(tail, prec):
    n = precision(prec).limbs
    x = planes(prec, [1.0, tail][:n])
    for special in (INF, -INF, NAN):
        s = planes(prec, [special])
        for name in BINARY:
            for a, b in ((x, s), (s, x)):
                with np.errstate(all="ignore"):
                    expected = {
                        "add": np.add,
                        "sub": np.subtract,
                        "mul": np.multiply,
                        "div": np.divide,
                    }[name](a[0, 0, 0], b[0, 0, 0])
                assert_special(run(name, prec, a, b)[..., 0], expected)
        got = run("fma", prec, x, x, s)[..., 0]
        assert_special(got, special)
    zero = planes(prec, [0.0])
    assert_special(run("div", prec, x, zero)[..., 0], INF)
    assert_special(run("mul", prec, x, zero)[..., 0], 0.0)
    assert_special(run("fma", prec, zero, planes(prec, [INF]), x)[..., 0], NAN)
    assert_same_bits(run("fma", prec, zero, x, x), x)
    assert_same_bits(run("add", prec, x, zero), x)
    assert_same_bits(run("add", prec, zero, x), x)


def test_overflow(prec):
    p = precision(prec)
    largest = float(np.finfo(p.dtype).max)
    big = 1e300 if p.dtype.itemsize == 8 else 1e38
    tiny = 1e-310 if p.dtype.itemsize == 8 else 1e-40
    assert_special(run("mul", prec, planes(prec, [big]), planes(prec, [big]))[..., 0], INF)
    assert_special(run("mul", prec, planes(prec, [-big]), planes(prec, [big]))[..., 0], -INF)
    assert_special(run("add", prec, *[planes(prec, [largest])] * 2)[..., 0], INF)
    assert_special(
        run("sub", prec, planes(prec, [-largest]), planes(prec, [largest]))[..., 0], -INF
    )
    assert_special(run("div", prec, planes(prec, [2.0]), planes(prec, [tiny]))[..., 0], INF)
    assert_special(run("div", prec, planes(prec, [big]), planes(prec, [1 / big]))[..., 0], INF)
    assert_special(run("fma", prec, *[planes(prec, [big])] * 3)[..., 0], INF)
    # The largest number survives what does not enlarge it.
    one = planes(prec, [1.0])
    m = planes(prec, [largest])
    for got in (
        run("mul", prec, m, one),
        run("div", prec, m, one),
        run("sub", prec, m, planes(prec, [0.0])),
    ):
        assert_same_bits(got, m)
    check("sqrt", prec, (m,))


def test_square_roots(prec):
    for x, expected in (
        (0.0, 0.0),
        (-0.0, -0.0),
        (INF, INF),
        (-1.0, NAN),
        (-INF, NAN),
        (NAN, NAN),
        (4.0, 2.0),
    ):
        assert_special(run("sqrt", prec, planes(prec, [x]))[..., 0], expected)
    if precision(prec).limbs > 1:
        assert_special(run("sqrt", prec, planes(prec, [-1.0, 2.0**-60]))[..., 0], NAN)


def test_square_of_a_square_root(prec, rng):
    x = operands_of("sqrt", prec, rng, 1000)[0]
    root = run("sqrt", prec, x)
    again = run("mul", prec, root, root)
    safe = np.abs(x[0, 0]) > finfo(prec).safe_min * 2.0**60
    errors = result_errors(
        again[:, :, safe], (list(integers(x[:, :, safe])[0]), [1] * safe.sum()), prec
    )
    # Twice the error of the root and once that of the product.
    assert errors.max() <= 3


def test_signs(prec, rng):
    x = adversarial(rng, prec, 200)
    minus = -x
    minus[:, 1:] += 0  # zeros in the tail have no sign
    assert_same_bits(run("neg", prec, x), minus)
    expected = np.where(x[:, :1] < 0, -x, x)
    got = run("abs", prec, x)
    assert (got == expected).all()
    assert not np.signbit(got[0, 0]).any()
    for special, size in ((-INF, INF), (NAN, NAN), (-0.0, 0.0)):
        assert_special(run("abs", prec, planes(prec, [special]))[..., 0], size)
