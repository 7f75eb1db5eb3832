# SPDX-License-Identifier: BSD-3-Clause
"""Conversion both ways: exact where it can be, rounded once where it cannot."""

from __future__ import annotations

import array as stdlib_array
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mdla
from mdla.core import convert
from mdla.core.convert import to_planes
from mdla.core.precision import precision
from mdla.core.rounding import nearest_single, resize_limbs
from tests.oracle import (
    assert_normalised,
    assert_same_bits,
    exact,
    integers,
)
from tests.registry import PRECS, adversarial, exact_values


def value(planes):
    """The exact value of a real number."""
    return exact(planes)[()]


def greedy(x, prec):
    """The greedy limbs of a Fraction, by the definition: RN of what is left over."""
    p = precision(prec)
    limbs = []
    for _ in range(p.limbs):
        try:
            limb = float(x) if p.dtype.itemsize == 8 else nearest_single(*x.as_integer_ratio())
        except OverflowError:
            limb = math.copysign(math.inf, x)
        limbs.append(limb)
        if math.isinf(limb):
            break
        x -= Fraction(limb)
    return limbs + [0.0] * (p.limbs - len(limbs))


def limbs_of(planes):
    """The limbs of a real 0-d number as Python floats."""
    assert planes.shape[0] == 1
    assert planes.ndim == 2
    return [float(v) for v in planes[0]]


# -- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
@given(x=exact_values())
def test_fraction_is_rounded_once(prec, x):
    planes = to_planes(Fraction(x), prec)
    assert limbs_of(planes) == greedy(Fraction(x), prec)
    assert_normalised(planes)


@given(num=st.integers(-(2**80), 2**80), exponent=st.integers(-240, 60), den=st.integers(1, 2**70))
def test_nearest_single_is_numpys_rounding(num, exponent, den):
    # Fractions of few bits are exact doubles, whose cast to float32 rounds once.
    top = num >> max(num.bit_length() - 50, 0)
    scaled = Fraction(top) * Fraction(2) ** exponent
    with np.errstate(over="ignore"):
        expected = float(np.float32(float(scaled)))
    assert nearest_single(*scaled.as_integer_ratio()) == expected
    # Any other fraction lies between its neighbours' midpoints.
    x = Fraction(num, den)
    single = np.float32(nearest_single(num, den))
    below, above = np.nextafter(single, np.float32([-np.inf, np.inf]))
    assert (Fraction(float(below)) + Fraction(float(single))) / 2 <= x
    assert x <= (Fraction(float(above)) + Fraction(float(single))) / 2


@pytest.mark.parametrize("prec", PRECS)
def test_overflow_and_underflow(prec):
    head = np.finfo(precision(prec).dtype).max
    largest = float(head)
    half = (Fraction(largest) - Fraction(float(np.nextafter(head, head.dtype.type(0))))) / 2
    assert limbs_of(to_planes(Fraction(largest) + half, prec))[0] == math.inf
    assert limbs_of(to_planes(-Fraction(largest) - half, prec))[0] == -math.inf
    below = to_planes(Fraction(largest) + half - Fraction(1, 2**60), prec)
    assert limbs_of(below)[0] == largest
    assert_normalised(below)
    for tiny in ("1e-2000", "1e-1000000000000", Decimal("1e-500"), Fraction(1, 10**500)):
        assert limbs_of(to_planes(tiny, prec)) == [0.0] * precision(prec).limbs
    for text in ("-1e-2000", Decimal("-1e-500"), Fraction(-1, 10**500), "-0", "-0/3", "-0x0p5"):
        first = to_planes(text, prec)[0, 0]
        assert first == 0
        assert np.signbit(first)
        assert not np.signbit(to_planes(text, prec)[0, 1:]).any()
    for huge in ("1e2000", "1" + "0" * 5000, "1e1000000000000", 10**5000, Decimal("1e999999")):
        assert limbs_of(to_planes(huge, prec)) == [math.inf] + [0.0] * (precision(prec).limbs - 1)


def test_the_largest_number_is_an_array():
    largest = float(np.finfo(float).max)
    x = mdla.from_limbs([largest, 2.0**969])
    assert_same_bits(to_planes(x, "dd"), to_planes(Fraction(largest) + 2**969, "dd"))
    with pytest.raises(ValueError, match="normalised"):
        mdla.from_limbs([largest, 2.0**971])
    with pytest.raises(ValueError, match="normalised"):
        mdla.from_limbs([2.0**-1074, 2.0**-1074])
    assert mdla.from_limbs([1.0, 2.0**-53]).prec == "dd"
    with pytest.raises(ValueError, match="normalised"):
        mdla.from_limbs([1.0, 2.0**-53 * (1 + 2.0**-52)])


def test_numbers_far_out_of_range_are_never_expanded():
    assert to_planes("1e" + "9" * 5000, "dd")[0, 0] == math.inf
    assert to_planes("-0x1p-" + "9" * 5000, "dd")[0, 0] == 0
    mpmath = pytest.importorskip("mpmath")
    gmpy2 = pytest.importorskip("gmpy2")
    assert to_planes(mpmath.mpf((0, 1, 10**12, 1)), "dd")[0, 0] == math.inf
    assert to_planes(gmpy2.exp10(gmpy2.mpfr(-(10**8))), "dd")[0, 0] == 0


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number",
    [
        2**60 + 1,
        1493026669447931676,
        12345678901234567890,
        2**64 - 1,
        -(2**63),
        2**100 + 1,
        2**105 - 1,
    ],
)
def test_integers_are_exact_in_dd(number):
    planes = to_planes(number, "dd")
    assert convert.to_int(planes) == number
    assert convert.to_int(to_planes(str(number), "dd")) == number


def test_large_integers_are_rounded_once(prec):
    for number in (3**200, -(7**100), 2**900 + 2**400 + 1):
        assert limbs_of(to_planes(number, prec)) == greedy(Fraction(number), prec)


def test_plain_numbers(prec):
    zeros = [0.0] * (precision(prec).limbs - 1)
    for number in (
        True,
        1,
        1.0,
        np.int8(1),
        np.uint64(1),
        np.float16(1),
        np.bool_(True),
        Decimal(1),
    ):
        assert limbs_of(to_planes(number, prec)) == [1.0, *zeros]
    assert to_planes(0.5 - 2j, prec)[:, 0].tolist() == [0.5, -2.0]
    assert to_planes(np.complex64(0.5 - 2j), prec)[:, 0].tolist() == [0.5, -2.0]
    for special in (math.inf, -math.inf, math.nan):
        for number in (special, str(special), Decimal(special), np.float32(special)):
            planes = to_planes(number, prec)
            np.testing.assert_array_equal(planes[0, :1], [special])
            assert not planes[0, 1:].any()
    assert np.isnan(to_planes(Decimal("sNaN"), prec)[0, 0])
    assert np.signbit(to_planes(-0.0, prec)[0, 0])


def test_a_string_is_not_the_float_of_that_name():
    assert value(to_planes("0.1", "d")) == Fraction(0.1)
    for prec in ("dd", "td", "qd", "od"):
        assert value(to_planes(0.1, prec)) == Fraction(0.1)
        assert value(to_planes("0.1", prec)) != Fraction(0.1)
        assert abs(value(to_planes("0.1", prec)) - Fraction(1, 10)) <= precision(prec).eps


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "longdouble"])
def test_numpy_floats_are_exact(name, prec, rng):
    kind = np.dtype(name)
    bits = np.finfo(kind).nmant + 1
    x = rng.integers(-(2**62), 2**62, 200).astype(np.longdouble) * np.longdouble(2) ** -50
    x = x.astype(kind).reshape(10, 20)
    planes = to_planes(x, prec)
    assert planes.shape == (1, precision(prec).limbs, 10, 20)
    for got, item in zip(planes.reshape(*planes.shape[:2], -1).T, x.ravel(), strict=True):
        expected = greedy(Fraction(*map(int, item.as_integer_ratio())), prec)
        assert got[:, 0].tolist() == expected
    if bits <= precision(prec).bits - 2:
        assert [value(to_planes(v, prec)) for v in x[0]] == list(exact(planes)[0])


@pytest.mark.parametrize(
    "name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_numpy_integers_are_exact(name, prec, rng):
    info = np.iinfo(name)
    x = rng.integers(info.min, info.max, 300, dtype=name, endpoint=True)
    x[:4] = info.min, info.max, 0, 1
    planes = to_planes(x, prec)
    if info.bits < precision(prec).bits or info.bits < 64:
        scaled = integers(planes)[0]
        assert [int(v) << 1074 for v in x] == list(scaled)
    for got, item in zip(planes[0].T.tolist(), x.tolist(), strict=True):
        assert got == greedy(Fraction(item), prec)


def test_int64_beyond_53_bits_in_arrays():
    x = np.array([2**60 + 1, 1493026669447931676, -(2**63)], dtype=np.int64)
    assert [int(v) for v in exact(to_planes(x, "dd"))] == x.tolist()
    largest = np.array([2**64 - 1], dtype=np.uint64)
    assert int(exact(to_planes(largest, "dd"))[0]) == 2**64 - 1


def test_numpy_complex_bool_and_object_arrays(prec):
    z = np.array([[1 + 2j, -0.5j], [np.inf, 0]], dtype=np.complex64)
    planes = to_planes(z, prec)
    assert planes.shape == (2, precision(prec).limbs, 2, 2)
    np.testing.assert_array_equal(planes[0, 0], z.real)
    np.testing.assert_array_equal(planes[1, 0], z.imag)
    assert to_planes(np.array([True, False]), prec)[0, 0].tolist() == [1.0, 0.0]
    mixed = np.array([Fraction(1, 3), "1/3", Decimal("0.25"), 7, None], dtype=object)
    with pytest.raises(TypeError, match="NoneType"):
        to_planes(mixed, prec)
    planes = to_planes(mixed[:4], prec)
    assert_same_bits(planes[..., 0], planes[..., 1])
    assert planes[0, 0, 2:].tolist() == [0.25, 7.0]
    assert_same_bits(to_planes(np.array(["0.1", "1e-30"]), prec), to_planes(["0.1", "1e-30"], prec))


def test_strides_and_byte_orders_do_not_matter(prec, rng):
    x = rng.standard_normal((6, 8)).astype(">f8")
    assert_same_bits(
        to_planes(x[::2, ::-1].T, prec), to_planes(np.array(x[::2, ::-1].T, float), prec)
    )
    z = np.asfortranarray(x + 1j * x)
    assert_same_bits(to_planes(z.T, prec), to_planes(np.ascontiguousarray(z.T), prec))
    assert_same_bits(to_planes(memoryview(np.arange(3.0)), prec), to_planes([0.0, 1.0, 2.0], prec))
    assert_same_bits(
        to_planes(stdlib_array.array("q", [2**60 + 1]), prec), to_planes([2**60 + 1], prec)
    )


# -- nested lists --------------------------------------------------------------------------------


def test_nested_lists(prec):
    limbs = precision(prec).limbs
    assert to_planes([], prec).shape == (1, limbs, 0)
    assert to_planes([[], []], prec).shape == (1, limbs, 2, 0)
    assert to_planes([[1, 2.5], ("1/3", Fraction(1, 3))], prec).shape == (1, limbs, 2, 2)
    assert to_planes(range(5), prec)[0, 0].tolist() == [0, 1, 2, 3, 4]
    assert to_planes([[1, 2j]], prec).shape == (2, limbs, 1, 2)
    assert to_planes(["0.1", "1e-30"], prec).shape == (1, limbs, 2)
    rows = [np.arange(3.0), [1, 2, 3], (np.float32(0.5), "1/4", 1j)]
    planes = to_planes(rows[:2], prec)
    assert planes[0, 0].tolist() == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(ValueError, match="ragged"):
        to_planes([*rows, [1, 2]], prec)
    assert to_planes([[1, 2, 3], rows[2]], prec)[1, 0].tolist() == [[0, 0, 0], [0, 0, 1]]


def test_lists_of_mixed_numbers_lose_nothing():
    planes = to_planes([2**60 + 1, 0.5, 2**70 + 1], "dd")
    assert list(exact(planes)) == [2**60 + 1, Fraction(1, 2), 2**70 + 1]
    planes = to_planes([0.5, np.array(2**60 + 1), 1 + 0j], "dd")
    assert exact(planes)[1] == (2**60 + 1, 0)


def test_bad_input():
    with pytest.raises(ValueError, match=r"ragged.*item 1 at depth 1"):
        to_planes([[1, 2], [3]], "dd")
    with pytest.raises(ValueError, match="ragged"):
        to_planes([[1, 2], 3], "dd")
    with pytest.raises(ValueError, match="unknown precision"):
        to_planes(1, "quad")
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested more than"):
        to_planes(endless, "dd")
    for bad in (
        None,
        {},
        {1},
        b"1",
        object(),
        [1, None],
        np.datetime64("2020-01-01"),
        iter([1]),
    ):
        with pytest.raises(TypeError, match="exactly"):
            to_planes(bad, "dd")
    for bad in (np.array(["2020-01-01"], "M8[D]"), np.zeros(2, dtype="i4,f8"), np.array([b"1"])):
        with pytest.raises(TypeError, match="dtype"):
            to_planes(bad, "dd")
    with pytest.raises(TypeError, match="masked"):
        to_planes(np.ma.array([1.0, 2.0], mask=[0, 1]), "dd")
    with pytest.raises(TypeError, match="numbers only"):
        to_planes(np.array([np.arange(2), None], dtype=object), "dd")


# -- strings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5", Fraction(3, 2)),
        ("  -2.5e1 \n", -25),
        ("+.5", Fraction(1, 2)),
        ("5.", 5),
        ("1_000.25", Fraction(4001, 4)),
        ("7/15", Fraction(7, 15)),
        ("-7 / 15", Fraction(-7, 15)),
        ("0x1.8p-3", Fraction(3, 16)),
        ("-0X.8P+1", -1),
        ("0x10", 16),
        ("1E3", 1000),
        ("0e99999999999999999999", 0),
        ("0" * 10000 + "7", 7),
        ("0." + "0" * 5000 + "7e5001", 7),
        ("7" + "0" * 5000 + "e-5000", 7),
    ],
)
def test_strings(text, expected):
    for prec in PRECS:
        assert limbs_of(to_planes(text, prec)) == greedy(Fraction(expected), prec)


@pytest.mark.parametrize(
    ("text", "real", "imag"),
    [
        ("1+2j", 1, 2),
        ("(1-2J)", 1, -2),
        (" 1 + 2j ", 1, 2),
        ("j", 0, 1),
        ("-j", 0, -1),
        ("3-j", 3, -1),
        ("2.5j", 0, 2.5),
        ("1e-3+1e+2j", "1e-3", 100),
        ("0.333333333333333333333333+1j", "0.333333333333333333333333", 1),
        ("1/3-1/7j", "1/3", "-1/7"),
        ("0x1p4-0x1p-4j", 16, -0.0625),
        ("inf-nanj", math.inf, math.nan),
        ("-infinityj", 0, -math.inf),
        ("-0.0-0.0j", -0.0, -0.0),
    ],
)
def test_complex_strings(text, real, imag, prec):
    planes = to_planes(text, prec)
    assert_same_bits(planes[:1], to_planes(real, prec))
    assert_same_bits(planes[1:], to_planes(imag, prec))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("   ", 3),
        ("abc", 0),
        ("1.2.3", 3),
        ("1,5", 1),
        ("1__0", 1),
        ("1e", 1),
        ("--1", 1),
        ("1+2", 3),
        ("1+", 2),
        ("1j2", 2),
        ("1j+2", 2),
        ("1/0", 2),
        ("1/-3", 1),
        ("1.5/3", 3),
        ("0x", 1),
        ("0xg", 1),
        (".", 0),
        ("(1", 0),
        ("()", 1),
        ("1 2", 2),
        ("infin", 3),
        ("٣", 0),
        ("1" * 10000 + "x", 10000),
    ],
)
def test_unreadable_strings(text, position):
    with pytest.raises(ValueError, match=rf"at position {position}; write for example") as caught:
        to_planes(text, "dd")
    assert len(str(caught.value)) < 250
    with pytest.raises(ValueError, match="at position"):
        to_planes([["1", text]], "dd")


@given(x=st.floats(allow_nan=False))
def test_strings_agree_with_python(x):
    assert to_planes(repr(x), "d")[0, 0] == x
    assert to_planes(x.hex(), "dd")[0].tolist() == [x, 0.0]


@given(text=st.text(alphabet="0123456789.eEjJ+-/_xXpPinfaty() ", max_size=12))
def test_any_string_is_read_or_refused(text):
    planes, refusal = None, "at position"
    try:
        planes = to_planes(text, "d")
    except ValueError as error:
        refusal = str(error)
    assert "at position" in refusal
    for kind in (float, complex):
        try:
            expected = kind(text)
        except ValueError:
            continue
        # Whatever Python reads, we read alike.
        assert planes is not None
        np.testing.assert_array_equal(convert.to_complex(planes), complex(expected))


@given(digits=st.integers(1, 10**300), exponent=st.integers(-350, 100))
def test_decimal_strings_are_rounded_once(digits, exponent):
    text = f"{digits}e{exponent}"
    for prec in ("ds", "dd", "qd", "hd"):
        expected = greedy(Fraction(digits) * Fraction(10) ** exponent, prec)
        assert limbs_of(to_planes(text, prec)) == expected
        assert limbs_of(to_planes(Decimal(text), prec)) == expected


# -- other formats -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", PRECS)
@pytest.mark.parametrize("target", PRECS)
def test_between_precisions(source, target, rng):
    x = adversarial(rng, source, 400)
    from_p, to_p = precision(source), precision(target)
    got = resize_limbs(x[0], to_p.limbs, to_p.dtype)
    assert got.dtype == to_p.dtype
    if from_p.dtype == to_p.dtype and to_p.limbs >= from_p.limbs:
        assert np.array_equal(got[: from_p.limbs], x[0])
        assert not got[from_p.limbs :].any()
        return
    for limbs, exact_value in zip(got.T.tolist(), exact(x), strict=True):
        assert limbs == greedy(exact_value, target)


def test_single_numbers_between_precisions():
    # A tie that the limbs cut off decide.
    x = np.array([1.0, 2.0**-53, 2.0**-106])
    assert resize_limbs(x, 1, np.dtype(float)).tolist() == [1.0 + 2.0**-52]
    assert resize_limbs(-x, 1, np.dtype(float)).tolist() == [-1.0 - 2.0**-52]
    assert resize_limbs(x[:2], 1, np.dtype(float)).tolist() == [1.0]


def test_between_precisions_keeps_specials_and_shapes(prec):
    for special in (math.inf, -math.inf, math.nan, -0.0):
        for source in PRECS:
            x = to_planes(np.full((2, 3), special), source)[0]
            p = precision(prec)
            got = resize_limbs(x, p.limbs, p.dtype)
            assert_same_bits(got[None], to_planes(np.full((2, 3), special), prec))


def test_too_large_for_single():
    x = to_planes(["1e300", "-1e39", "3.4e38", "1e-60", "-1e-60"], "qd")
    got = resize_limbs(x[0], 2, np.dtype(np.float32))
    assert got[0, :2].tolist() == [math.inf, -math.inf]
    assert got[1].tolist()[:2] == [0, 0]
    assert not got[:, 3:].any()
    assert np.signbit(got[0]).tolist() == [False, True, False, False, True]
    assert not np.signbit(got[1, 3:]).any()


def test_an_array_with_planes_is_taken_as_it_is(rng):
    class Wrapped:
        def __init__(self, planes):
            self.planes = planes

    x = adversarial(rng, "qd", 12).reshape(1, 4, 3, 4)
    assert_same_bits(to_planes(Wrapped(x), "qd"), x)
    assert to_planes(Wrapped(x), "od").shape == (1, 8, 3, 4)
    number = Wrapped(to_planes("1/3", "qd"))
    assert_same_bits(to_planes([[number, 1]], "qd"), to_planes([["1/3", 1]], "qd"))
    assert_same_bits(
        to_planes(np.array([number, 2], dtype=object), "qd"), to_planes(["1/3", 2], "qd")
    )
