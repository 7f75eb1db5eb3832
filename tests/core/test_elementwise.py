# SPDX-License-Identifier: BSD-3-Clause
"""The native arithmetic of every precision against exact integers.

Errors are in units of eps. Where a bound is stated, known worst inputs satisfy it and break a
tighter one; the inputs that break simpler algorithms are kept as fixed cases.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from mdla.core.precision import precision
from tests.core.elementwise import BINARY, REAL, check, from_hex, operands_of, planes, run
from tests.oracle import assert_same_bits, integers, is_normalised
from tests.registry import DOUBLE_PRECS, PRECS, adversarial, numbers, second_operand

# -- adversarial sweeps ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
def test_errors_stay_below_eps(name, prec, rng):
    check(name, prec, operands_of(name, prec, rng, 4000))


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_errors_stay_below_eps_in_a_long_sweep(name, prec, rng):
    for _ in range(10):
        check(name, prec, operands_of(name, prec, rng, 20000))


@pytest.mark.parametrize("prec", PRECS)
@given(x=numbers("hd"), y=numbers("hd"), z=numbers("hd"))
def test_any_numbers(prec, x, y, z):
    p = precision(prec)
    x, y, z = (planes(prec, limbs[0, : p.limbs].astype(p.dtype)) for limbs in (x, y, z))
    if p.dtype.itemsize == 4:
        # Doubles cast to floats are no longer normalised.
        x, y, z = (np.where(is_normalised(v), v, planes(prec, [v[0, 0, 0]])) for v in (x, y, z))
    for name in BINARY:
        check(name, prec, (x, y))
        check(name, prec, (x, x))
        check(name, prec, (x, -x))
    check("sqrt", prec, (np.abs(x) if p.limbs == 1 else np.where(x[:, :1] < 0, -x, x),))
    check("fma", prec, (x, y, z))


@pytest.mark.parametrize("name", ["add", "mul"])
def test_commutative_bit_for_bit(name, prec, rng):
    count = 100000 if precision(prec).limbs <= 4 else 20000
    x = adversarial(rng, prec, count)
    y = second_operand(rng, prec, x)
    assert_same_bits(run(name, prec, x, y), run(name, prec, y, x), (x, y))


def test_total_cancellation_is_exact(prec, rng):
    x = adversarial(rng, prec, 2000)
    for zero in (run("add", prec, x, -x), run("sub", prec, x, x)):
        assert_same_bits(zero, np.zeros_like(zero))
    # Numbers that differ in one limb only: the difference is exact.
    y = x.copy()
    cut = precision(prec).limbs // 2
    y[:, cut:] = 0
    difference = run("sub", prec, x, y)
    assert list(integers(difference)[0]) == [
        a - b for a, b in zip(integers(x)[0], integers(y)[0], strict=True)
    ]


# -- bounds from both sides ----------------------------------------------------------------------

#: operation, precision, bound and a bound that is too tight (log2, in eps), operands in hex: found
#: by hill climbing over the bits of the limbs.
WORST = [
    (
        "add",
        "ds",
        -1.41,
        -1.43,
        "-0x1.0000020000000p+2 0x1p-22",
        "-0x1p+2 0x1.a000020000000p-43",
    ),
    (
        "mul",
        "ds",
        -0.99,
        -1.01,
        "0x1.0000020000000p-3 -0x1.fffffe0000000p-28",
        "0x1.0000020000000p-1 -0x1.fffffe0000000p-26",
    ),
    (
        "div",
        "ds",
        -0.67,
        -0.69,
        "-0x1.001ffa0000000p+3 -0x1.fff4200000000p-22",
        "-0x1.0008000000000p+6 0x1p-18",
    ),
    (
        "sqrt",
        "ds",
        -0.35,
        -0.37,
        "0x1.0040020000000p-2 -0x1.ff9fe40000000p-27",
    ),
    (
        "add",
        "dd",
        -1.41,
        -1.43,
        "0x1p+2 -0x1.fff7fbfbfbfffp-52",
        "-0x1.fffffffffffffp+0 -0x1.0000000000001p-106",
    ),
    (
        "mul",
        "dd",
        -0.99,
        -1.01,
        "-0x1.0000000000001p-2 0x1.fffffffffffffp-56",
        "0x1.0000000000001p+0 -0x1.fffffffffffffp-54",
    ),
    (
        "div",
        "dd",
        -0.67,
        -0.69,
        "-0x1.000002f820241p+4 0x1.ffffffff87fe0p-50",
        "-0x1.0000010000000p+0 -0x1p-53",
    ),
    (
        "sqrt",
        "dd",
        -0.35,
        -0.37,
        "0x1.0000010000001p+2 -0x1.fffffdfffff9ep-52",
    ),
    (
        "add",
        "td",
        -1.99,
        -2.01,
        "0x1.fffffffffffffp-3 0x1p-56 -0x1.7466dbd08fe08p-111",
        "-0x1p-1 0x1p-54 -0x1.fff3ff7b2bfb8p-108",
    ),
    (
        "mul",
        "td",
        -0.99,
        -1.01,
        "0x1p+1 0x1p-52 0x1.0000000000001p-106",
        "-0x1.0000000000001p+0 -0x1p-53 -0x1.0000000000001p-107",
    ),
    (
        "div",
        "td",
        -1.84,
        -1.86,
        "-0x1.01fff00200400p+2 0x1.000020bfffdf8p-52 -0x1.0000000fff000p-108",
        "0x1.0000000000040p-2 0x1.ffffffffff9ffp-56 -0x1p-114",
    ),
    (
        "sqrt",
        "td",
        -2.41,
        -2.43,
        "0x1.0000000000003p+2 0x1.5000000000000p-101 -0x1.fffffffffffffp-159",
    ),
    (
        "add",
        "qd",
        -2.99,
        -3.01,
        "-0x1.fffffffffffffp+1 -0x1.fffff97ff0012p-59 "
        "0x1.0010000000000p-113 -0x1.7c06004001000p-167",
        "0x1p+3 -0x1p-50 0x1p-103 -0x1.fffffbfe123ffp-157",
    ),
    (
        "mul",
        "qd",
        -0.38,
        -0.4,
        "-0x1.0003b7e5d4228p+1 -0x1p-52 -0x1.48e71e688832fp-106 -0x1.ffffffdffdf03p-160",
        "0x1.000007ff7bfa1p+2 0x1p-51 0x1.fffffffffffffp-105 0x1.ffff7f0d3fd00p-159",
    ),
    (
        "div",
        "qd",
        -0.99,
        -1.01,
        "0x1.000020011ff40p+0 -0x1.020001fffc080p-106 "
        "-0x1.0003df76e2000p-203 0x1.0000001f00000p-257",
        "0x1.0000000000001p-2 -0x1.fffffffffffffp-56 0x1.cfaa91790dbebp-110 0x1.ffffe9ffc5fffp-164",
    ),
    (
        "sqrt",
        "qd",
        -2.54,
        -2.56,
        "0x1.0000000000101p+0 0x1.deb7ef4000000p-57 0x1.810ae7994218fp-112 0x1.f757f7ff7d602p-166",
    ),
]


@pytest.mark.parametrize(
    ("name", "prec", "bound", "too_tight", "limbs"), [(*w[:4], w[4:]) for w in WORST]
)
def test_worst_inputs_known(name, prec, bound, too_tight, limbs):
    operands = tuple(planes(prec, from_hex(text)) for text in limbs)
    error = check(name, prec, operands, 2.0**bound)
    assert error > 2.0**too_tight, f"{math.log2(error):.4f}: the bound can be tightened"


def test_the_product_that_nine_flops_get_wrong():
    """Zhang and Aiken's shortest product of two limbs exceeds eps here; mdla's does not."""
    x = planes("dd", from_hex("-0x1.0000000020001p0 -0x1.ffffffffffbfdp-54"))
    y = planes("dd", from_hex("0x1.000000001ffffp0 0x1.ffffffffffbffp-54"))
    check("mul", "dd", (x, y), 0.51)


def test_the_products_that_plain_networks_get_wrong():
    """Zhang and Aiken's products of three and four limbs reach 1.19 and 1.06 eps here."""
    x = from_hex("-0x1.0000000002001p-2 -0x1.ffff80000000ep-56 -0x1.414a8a000f025p-110")
    y = from_hex("0x1.0000402000001p+0 0x1.0000000000000p-53 0x1.fffffffffffffp-107")
    check("mul", "td", (planes("td", x), planes("td", y)), 0.51)
    x = from_hex("0x1.00020000803e1p-1 0x1p-54 0x1p-107 0x1.ffffffffffffdp-161")
    y = from_hex("-0x1.00000000005f0p-2 -0x1p-55 -0x1.ffffdfe718081p-109 -0x1.a4040587c9009p-169")
    check("mul", "qd", (planes("qd", x), planes("qd", y)), 0.3)


# -- sums that break simpler algorithms ----------------------------------------------------------


def halves(count, first=0):
    """Limbs that are each exactly half an ulp of the one before: 2^first, 2^(first-53), ..."""
    return [2.0 ** (first - 53 * i) for i in range(count)]


FAILED_SUMS = {
    "fast two_sum in the first pass": (
        from_hex("0x1.fffffffffffffp0 0x1.f7fffffffffffp-54"),
        from_hex("0x1.fffffffffffffp0 0x1.fffffffffffffp-54"),
    ),
    "merge and four passes": (
        from_hex(
            "0x1.00fffffffffffp0 0x1.fffffffffffffp-55 "
            "-0x1.fffffffffffffp-109 0x1.fffffffffffffp-163"
        ),
        from_hex("-0x1.00fffffffffffp0 -0x1.803cc661696p-54 -0x1p-107"),
    ),
    "merge and three passes": (halves(16), [-v for v in halves(8)]),
    "merge and eight passes": (
        from_hex(
            "0x1p0 0x1.57798777401c5p-55 0x1.0000000000001p-109 0x1.7ffffffffffffp-163 "
            "0x1.fffffffffffffp-217 0x1p-270 0x1.fffffffffdfffp-324 0x1.fffffffffffffp-378"
        ),
        [-v for v in halves(8)],
    ),
    "no merge, three passes": (
        from_hex("0x1p1 -0x1.0000000000001p-53 0x1p-106 -0x1.8000000000002p-161"),
        from_hex("-0x1.fffffffffffffp0 -0x1p-53 -0x1.fffffffffffffp-107 -0x1.8p-161"),
    ),
    "no merge, six passes": (
        from_hex(
            "0x1.fffffffffffffp0 -0x1.fffffffffffffp-54 -0x1.fffffffffffffp-108 "
            "-0x1.fffffffffffffp-162 0x1.fffffffffffffp-216"
        ),
        from_hex(
            "-0x1.fffffffffffffp0 0x1.fffffffffffffp-54 0x1.8p-109 0x1.f7d1703afap-163 0x1p-216 "
            "0x1.0000100000881p-270 0x1.fffffffffffffp-324 0x1.d1cd520ed4e71p-378"
        ),
    ),
    "two passes, sorted, without holding": (
        [-v for v in halves(8)],
        [1.0, 2.0**-53, -(2.0**-108), *(-(2.0 ** (-161 - 53 * i)) for i in range(5))],
    ),
    "triangle from the second limb": (
        [2.0**-41, 2.0**-95],
        from_hex("-0x1p-41 -0x1.0000000000001p-95"),
    ),
    "tie repair with zeros between": (
        [1.0, -(2.0**-53), 2.0**-106, -(2.0**-159)],
        from_hex("-0x1p0 0x1p-53 0x1.aep-110 -0x1.d0b42cp-171"),
    ),
    "chain of ties": (
        [2.0**42, *halves(7, -11)],
        [
            float.fromhex("-0x1.fffffc7cac64cp41"),
            *(-v for v in halves(5, -12)),
            2.0**-277,
            -(2.0**-330),
        ],
    ),
}


@pytest.mark.parametrize("case", FAILED_SUMS)
def test_sums_that_break_simpler_algorithms(case, prec):
    p = precision(prec)
    if p.dtype.itemsize == 4:
        return
    x, y = (planes(prec, limbs[: p.limbs]) for limbs in FAILED_SUMS[case])
    for left, right in ((x, y), (y, x), (-x, -y)):
        check("add", prec, (left, right))
        check("sub", prec, (left, -right))
    assert_same_bits(run("add", prec, x, y), run("add", prec, y, x))
    # And with every limb moved by a power of two.
    for shift in (-100, 37, 300):
        check("add", prec, (np.ldexp(x, shift), np.ldexp(y, shift)))


PATTERNS = {
    "alternating halves": lambda n: [(-1) ** i * 2.0 ** (-53 * i) for i in range(n)],
    "all ones": lambda n: [
        float.fromhex("0x1.fffffffffffffp0") * 2.0 ** (-54 * i) for i in range(n)
    ],
    "low bits": lambda n: [
        float.fromhex("0x1.0000000000001p0") * 2.0 ** (-54 * i) for i in range(n)
    ],
    "wide gaps": lambda n: [2.0 ** (-60 * i) for i in range(n)],
    "hundreds of bits": lambda n: [2.0 ** (-300 * i) for i in range(min(n, 3))],
    "one limb": lambda n: [float.fromhex("0x1.fffffffffffffp0")],
    "zero": lambda n: [0.0],
}


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_patterns_against_each_other(prec):
    n = precision(prec).limbs
    single = [sign * planes(prec, make(n)) for make in PATTERNS.values() for sign in (1, -1)]
    x = np.concatenate([v for v in single for _ in single], axis=2)
    y = np.concatenate(single * len(single), axis=2)
    for name in ("add", "sub", "mul"):
        check(name, prec, (x, y))
    check("div", prec, (x[:, :, y[0, 0] != 0], y[:, :, y[0, 0] != 0]))
    for shift in (1, 52, 53, 54, 106, 200):
        check("add", prec, (x, np.ldexp(y, -shift)))
