# SPDX-License-Identifier: BSD-3-Clause
"""Text: what is printed reads back to the same bits, and never looks like a float64."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import mdla
from mdla.core import printing
from mdla.core.convert import to_decimal, to_planes
from mdla.core.precision import precision
from mdla.core.printing import array_format, array_repr, array_str, format_number
from mdla.core.rounding import is_canonical
from tests.oracle import assert_same_bits, exact
from tests.registry import PRECS, adversarial, exact_values


def evaluate(text):
    """The planes of what a repr evaluates to."""
    return eval(text, {"mdla": mdla}).planes


@pytest.fixture(autouse=True)
def _default_options():
    with printing.printoptions(precision=None, threshold=1000, edgeitems=3, linewidth=75):
        yield


# -- single numbers ------------------------------------------------------------------------------


def random_numbers(rng, prec, count):
    """Dense numbers of every size, sparse ones, and doubles lifted to the precision."""
    p = precision(prec)
    reach = 30 if p.dtype.itemsize == 4 else 300
    sizes = [Fraction(10) ** int(e) for e in rng.integers(-reach, reach, count)]
    dense = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 2**63, (count, 2))]
    planes = to_planes([x * s for x, s in zip(dense, sizes, strict=True)], prec)
    lifted = to_planes(
        rng.standard_normal(count) * 10.0 ** rng.integers(-reach, reach, count), prec
    )
    return np.concatenate([planes, lifted, adversarial(rng, prec, count)], axis=2)


def test_numbers_read_back_to_the_same_bits(prec, rng):
    planes = random_numbers(rng, prec, 150)
    for i in range(planes.shape[2]):
        x = planes[:, :, i]
        text = format_number(x, prec)
        again = to_planes(text, prec)
        if is_canonical([float(v) for v in x[0]], x.dtype):
            assert_same_bits(again, x)
        else:
            assert exact(again)[()] == exact(x)[()]
        assert_same_bits(evaluate(array_repr(x, prec)), x)


@pytest.mark.slow
def test_many_numbers_read_back_to_the_same_bits(prec, rng):
    planes = random_numbers(rng, prec, 10000)
    for i in range(planes.shape[2]):
        assert_same_bits(evaluate(array_repr(planes[:, :, i], prec)), planes[:, :, i])


@pytest.mark.parametrize("prec", PRECS)
@given(x=exact_values())
def test_any_value_reads_back(prec, x):
    planes = to_planes(x, prec)
    assert_same_bits(to_planes(format_number(planes, prec), prec), planes)


def test_sparse_limbs():
    for last in (2.0**-300, -(2.0**-1000), 2.0**-1074):
        for head in (1.0, 2.0**60, 0.1):
            planes = np.array([[head, last]])
            assert_same_bits(to_planes(format_number(planes, "dd"), "dd"), planes)
            wide = np.array([[head, 2.0**-80, last, 0.0]])
            assert_same_bits(to_planes(format_number(wide, "qd"), "qd"), wide)


def test_numbers_are_short_where_they_can_be(prec):
    for text in ("0.1", "1.0", "-2.5", "1e-05", "0.001", "12345.0", "1e+30", "7e-25"):
        assert format_number(to_planes(text, prec), prec) == text
    assert format_number(to_planes("2.3", prec), prec) == "2.3"


def test_doubles_print_as_python_prints_them(rng):
    # Not always the very shortest: 15 digits are tried first, then 16 and 17.
    for x in (
        0.1,
        1 / 3,
        2 / 3,
        1e22,
        5e-324,
        123456789012345680.0,
        -1e-300,
        1.7976931348623157e308,
    ):
        assert float(format_number([x], "d")) == x
        assert len(format_number([x], "d")) <= len(repr(x)) + 1
    assert format_number([0.1 + 0.2], "d") == repr(0.1 + 0.2)


def test_lifted_doubles_show_what_they_are():
    tenth = to_planes(0.1, "dd")
    assert format_number(tenth, "dd") == "0.1000000000000000055511151231257827021181583404541015625"
    # A long expansion of few bits is clearer in hexadecimal.
    assert format_number(to_planes(1e-40, "dd"), "dd") == "0x1.16c262777579cp-133"
    assert format_number(to_planes("1e-40", "dd"), "dd") == "1e-40"
    # Where the tail has faded, decimals are short again.
    assert format_number(to_planes("1e-300", "hd"), "hd") == "1e-300"
    assert format_number(to_planes(5e-324, "hd"), "hd") == "5e-324"


def test_specials(prec):
    for text in ("inf", "-inf", "nan", "0.0", "-0.0"):
        assert format_number(to_planes(text, prec), prec) == text
        assert format_number(to_planes(text, prec), prec, digits=5) in (
            text,
            text.replace("0.0", "0.0"),
        )


def test_digits_are_those_of_the_exact_value(prec, rng):
    planes = adversarial(rng, prec, 50)
    for i in range(50):
        x = planes[:, :, i]
        for digits in (1, 2, 17, 60):
            text = format_number(x, prec, digits=digits)
            shown = Fraction(text)
            rounded = to_decimal(x)
            expected = Fraction(Decimal(f"{rounded:.{digits - 1}e}"))
            assert shown == expected
            mantissa = text.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
            assert len(mantissa) >= digits


def test_ties_round_to_even():
    assert format_number([0.125], "d", digits=2) == "0.12"
    assert format_number([0.375], "d", digits=2) == "0.38"
    assert format_number([2.5, 2.0**-200], "dd", digits=1) == "3.0"
    assert format_number([2.5], "d", digits=1) == "2.0"
    assert format_number([9.5], "d", digits=1) == "10.0"
    assert format_number([999.5], "d", digits=3) == "1000.0"
    assert format_number([0.0009995], "d", digits=3) in ("0.001", "0.00100", "0.000999", "0.001000")


def test_eighth_power_with_34_digits():
    x = Fraction(111, 100000) ** 8
    assert float(format_number(to_planes(x, "d"), "d")) == 2.3045377697175681e-24
    for prec in ("td", "qd", "od", "hd"):
        text = format_number(to_planes(x, prec), prec, digits=34)
        assert text == "2.304537769717568100000000000000000e-24"
        assert format_number(to_planes(x, prec), prec) == "2.3045377697175681e-24"
    assert format_number(to_planes(x, "dd"), "dd") == "2.3045377697175681e-24"


def test_format_specifications():
    third = to_planes("1/3", "qd")
    assert array_format(third, "qd", ".40f") == "0." + "3" * 40
    assert array_format(third, "qd", ".30e") == "3." + "3" * 30 + "e-1"
    assert array_format(third, "qd", "") == format_number(third, "qd")
    assert array_format(to_planes("inf", "qd"), "qd", ".3f") == "inf"
    assert array_format(to_planes("1/3-2j", "qd"), "qd", ".2f") == "0.33-2.00j"
    with pytest.raises(TypeError, match="printoptions"):
        array_format(to_planes([1, 2], "qd"), "qd", ".3f")
    with pytest.raises(ValueError, match=r"[Ff]ormat"):
        array_format(third, "qd", "nonsense")
    with pytest.raises(ValueError, match="at least 1"):
        format_number(third, "qd", digits=0)


def test_complex_numbers(prec):
    for text in ("1/3+2j", "-1e-30-1/7j", "0.0-0.0j", "inf+nanj", "1e+300-infj"):
        z = to_planes(text, prec)
        assert_same_bits(to_planes(format_number(z, prec), prec), z)
        assert_same_bits(evaluate(array_repr(z, prec)), z)
    assert format_number(to_planes("1-2.5j", prec), prec) == "1.0-2.5j"
    assert format_number(to_planes("-2.5j", prec), prec) == "0.0-2.5j"


# -- limbs that no number reproduces -------------------------------------------------------------


TIE = [1.0 + 2.0**-52, -(2.0**-53)]


def test_repr_of_limbs_that_are_not_greedy():
    x = np.array([TIE])
    assert array_repr(x, "dd").startswith("mdla.from_limbs([float.fromhex(")
    assert_same_bits(evaluate(array_repr(x, "dd")), x)
    assert exact(to_planes(format_number(x, "dd"), "dd"))[()] == exact(x)[()]
    z = np.array([TIE, [0.5, 0.0]])
    assert "complex=True" in array_repr(z, "dd")
    assert_same_bits(evaluate(array_repr(z, "dd")), z)
    a = to_planes([[1, 2], ["inf", "nan"]], "dd")
    a[0, :, 0, 0] = TIE
    assert_same_bits(evaluate(array_repr(a, "dd")), a)
    # Asking for digits asks for a number.
    with printing.printoptions(precision=5):
        assert array_repr(x, "dd") == "mdla.array('1.0000', prec='dd')"


# -- arrays --------------------------------------------------------------------------------------


def test_repr_of_arrays_reads_back(prec, rng):
    x = adversarial(rng, prec, 24)
    for shape in ((24,), (1, 24), (4, 6), (2, 3, 4), (2, 1, 3, 4)):
        a = x.reshape(*x.shape[:2], *shape)
        assert_same_bits(evaluate(array_repr(a, prec)), a)
    z = np.concatenate([x, x[..., ::-1]]).reshape(2, x.shape[1], 6, 4)
    assert_same_bits(evaluate(array_repr(z, prec)), z)
    for shape in ((0,), (2, 0), (0, 3, 1)):
        for parts in (1, 2):
            p = precision(prec)
            empty = np.zeros((parts, p.limbs, *shape), dtype=p.dtype)
            again = evaluate(array_repr(empty, prec))
            assert_same_bits(again, empty)
    for shape in ((1,), (1, 1)):
        one = x[..., :1].reshape(*x.shape[:2], *shape)
        assert_same_bits(evaluate(array_repr(one, prec)), one)


def test_layout():
    a = to_planes([["1/3", "-2/3", 1], [10, "1e-3", 0]], "dd")
    assert array_str(a, "dd") == (
        "[[ 0.33333333333333333333333333333 -0.66666666666666666666666666667\n"
        "   1.                             ]\n"
        " [10.                               0.001\n"
        "   0.                             ]]"
    )
    with printing.printoptions(precision=5):
        assert array_str(a, "dd") == ("[[ 0.333 -0.667  1.   ]\n [10.     0.001  0.   ]]")
    assert array_repr(to_planes([1, 2], "qd"), "qd") == "mdla.array(['1.0', '2.0'], prec='qd')"
    assert array_repr(to_planes("1/3", "dd"), "dd") == (
        "mdla.array('0.333333333333333333333333333333332', prec='dd')"
    )
    assert array_str(to_planes([], "dd"), "dd") == "[]"
    cube = to_planes(np.arange(8).reshape(2, 2, 2), "td")
    assert array_str(cube, "td") == "[[[0. 1.]\n  [2. 3.]]\n\n [[4. 5.]\n  [6. 7.]]]"


def test_layout_is_numpys(rng):
    # For numbers that are short in both, the text is NumPy's own.
    for shape in ((7,), (30,), (3, 4), (2, 3, 2), (1200,), (40, 50), (5, 0), (12, 12, 12)):
        x = rng.integers(-99, 99, shape).astype(float) / 4
        with np.printoptions(precision=17, floatmode="maxprec"):
            expected = str(x)
        assert array_str(to_planes(x, "d"), "d") == expected
        if x.size and len(shape) < 3 and x.size < 1000:
            # The quotes are ours; the brackets and line breaks follow the same rules.
            lines = array_repr(to_planes(x, "d"), "d").splitlines()
            assert max(map(len, lines)) <= 75


def test_columns_with_exponents():
    a = to_planes(["1/3", "1e-20", "-1e20", 0, "inf"], "dd")
    with printing.printoptions(precision=4):
        assert array_str(a, "dd") == ("[ 3.333e-01  1.000e-20 -1.000e+20  0.000e+00        inf]")


def test_complex_columns():
    z = to_planes(["1/3+2j", "-1/7j", 5], "dd")
    with printing.printoptions(precision=3):
        assert array_str(z, "dd") == "[0.33+2.j   0.  -0.14j 5.  +0.j  ]"


def test_summaries_are_fast_and_short():
    a = np.zeros((1, 4, 3000, 1000))
    a[0, 0] = np.arange(3000)[:, None]
    start = time.perf_counter()
    text = array_repr(a, "qd")
    plain = array_str(a, "qd")
    assert time.perf_counter() - start < 1
    assert "..." in text
    assert "shape=(3000, 1000)" in text
    assert text.endswith("prec='qd')")
    assert len(plain.splitlines()) == 7
    with printing.printoptions(threshold=5, edgeitems=1):
        assert array_str(to_planes(range(10), "dd"), "dd") == "[0. ... 9.]"
    with printing.printoptions(threshold=5, edgeitems=0):
        assert array_str(to_planes(range(10), "dd"), "dd") == "[...]"


def test_the_default_display_does_not_look_like_float64(prec, rng):
    x = to_planes(rng.standard_normal(3), prec)
    x = to_planes([Fraction(float(v)) + Fraction(1, 3) for v in x[0, 0]], prec)
    assert f"prec='{prec}'" in array_repr(x, prec)
    assert "'" in array_repr(x, prec)
    if precision(prec).bits > 53:
        for text in array_str(x, prec).strip("[]").split():
            assert len(text.lstrip("-0.").replace(".", "")) >= precision(prec).digits - 3
    assert repr(x[0, 0]) not in array_repr(x, prec)


# -- options -------------------------------------------------------------------------------------


def test_options_are_kept_and_restored():
    before = printing.get_printoptions()
    with printing.printoptions(precision=7, linewidth=40) as inside:
        assert inside.precision == 7
        assert printing.get_printoptions().linewidth == 40
        printing.set_printoptions(threshold=10)
        assert printing.get_printoptions().threshold == 10
        assert printing.get_printoptions().precision == 7
    assert printing.get_printoptions() == before
    with pytest.raises(ZeroDivisionError), printing.printoptions(edgeitems=1):
        raise ZeroDivisionError
    assert printing.get_printoptions() == before


@pytest.mark.parametrize(
    "bad",
    [
        {"precision": 0},
        {"precision": 1.5},
        {"threshold": -1},
        {"linewidth": None},
        {"edgeitems": True},
    ],
)
def test_bad_options(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        printing.set_printoptions(**bad)


def test_precision_option_rounds():
    a = to_planes(["1/3", "2/3"], "od")
    with printing.printoptions(precision=5):
        assert array_str(a, "od") == "[0.3333 0.6667]"
        assert array_repr(a, "od") == "mdla.array(['0.33333', '0.66667'], prec='od')"
        assert array_str(to_planes("2/3", "od"), "od") == "0.66667"


def test_linewidth(rng):
    a = to_planes([Fraction(int(v), 7) for v in rng.integers(1, 1000, 20)], "dd")
    for width in (20, 50, 75, 120, 500):
        with printing.printoptions(linewidth=width):
            for text in (array_str(a, "dd"), array_repr(a, "dd")):
                longest = max(map(len, text.splitlines()))
                # One element is the least that a line can hold.
                assert longest <= max(width, 60)
            assert_same_bits(evaluate(array_repr(a, "dd")), a)


def test_nothing_is_lost_by_python_limits_on_digits():
    x = to_planes(math.ldexp(1.0, 1000), "hd")
    assert Fraction(format_number(x, "hd", digits=302)) == 2**1000
    assert len(format_number(x, "hd", digits=6000)) >= 6000


def test_str_is_decimal_where_repr_is_hexadecimal():
    for x in (mdla.array(2) ** 1000, mdla.array(1e300), mdla.array(3, prec="qd") ** -200):
        assert "0x" not in str(x)
        assert "0x" not in f"{x}"
    assert str(mdla.array(2) ** 1000).startswith("1.07150860718626732094842504906")
