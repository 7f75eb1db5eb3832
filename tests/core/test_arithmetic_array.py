# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of arrays with each other and with everything else that is a number."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mdla
from tests.oracle import assert_close, assert_normalised, assert_same_bits, exact
from tests.registry import DOUBLE_PRECS, PRECS, SHAPES, adversarial, second_operand

OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}


def complex_op(name, x, y):
    """Exact result for pairs (re, im)."""
    (a, b), (c, d) = x, y
    if name in ("add", "subtract"):
        op = OPERATORS[name]
        return op(a, c), op(b, d)
    if name == "multiply":
        return a * c - b * d, a * d + b * c
    size = c * c + d * d
    return (a * c + b * d) / size, (b * c - a * d) / size


def scale_of(name, x, y):
    """What errors of a complex operation are measured by: the result's absolute value, roughly."""
    re, im = complex_op(name, x, y)
    return abs(re) + abs(im)


def pairs(rng, prec, count, complex_=False):
    x = adversarial(rng, prec, count, exponents=(-30, 30), lowest=-300)
    y = second_operand(rng, prec, x, lowest=-300)
    y[:, :, y[0, 0] == 0] = 0
    y[0, 0, y[0, 0] == 0] = 1
    if complex_:
        x = np.concatenate([x, adversarial(rng, prec, count, exponents=(-30, 30), lowest=-300)])
        y = np.concatenate([y, adversarial(rng, prec, count, exponents=(-30, 30), lowest=-300)])
    return mdla.MDArray(x), mdla.MDArray(y)


# -- accuracy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATORS)
def test_real_operations(prec, name, rng):
    x, y = pairs(rng, prec, 400)
    got = OPERATORS[name](x, y)
    want = np.array([OPERATORS[name](p, q) for p, q in zip(exact(x), exact(y), strict=True)])
    assert_close(got, want, prec, 1, operands=(x, y))
    assert_normalised(got)
    assert_same_bits(got, getattr(mdla, name)(x, y))
    assert_same_bits(got, getattr(np, name)(x, y))


@pytest.mark.parametrize("name", OPERATORS)
def test_complex_operations(prec, name, rng):
    x, y = pairs(rng, prec, 200, complex_=True)
    got = OPERATORS[name](x, y)
    want, scales = np.empty(200, dtype=object), np.empty(200, dtype=object)
    for i, (p, q) in enumerate(zip(exact(x), exact(y), strict=True)):
        want[i] = complex_op(name, p, q)
        (a, b), (c, d) = p, q
        scales[i] = (
            (abs(a) + abs(b)) * (abs(c) + abs(d)) if name == "multiply" else scale_of(name, p, q)
        )
    assert_close(got, want, prec, 8, scale=scales, operands=(x, y))
    assert_normalised(got)


def test_sqrt_square_reciprocal(prec, rng):
    x = abs(mdla.MDArray(adversarial(rng, prec, 300, exponents=(-30, 30), lowest=-300)))
    root = mdla.sqrt(x)
    eps = mdla.precision(prec).eps
    for r, v in zip(exact(root), exact(x), strict=True):
        # r = sqrt(v)(1 + d), |d| <= eps, so r^2 lies within (1 +- eps)^2 of v.
        assert v * (1 - eps) ** 2 <= r * r <= v * (1 + eps) ** 2
    assert_close(mdla.square(x), [v * v for v in exact(x)], prec, 1)
    assert_close(mdla.reciprocal(x), [1 / v for v in exact(x)], prec, 1)


def test_fma_keeps_the_product(prec):
    # (1 + h)(1 - h) - 1 = -h^2
    fmt = mdla.precision(prec)
    h = max(fmt.eps, Fraction(2) ** (-60 if prec == "ds" else -400))
    a = mdla.array(1 + h, prec=prec)
    b = mdla.array(1 - h, prec=prec)
    lost = Fraction(2) ** ((1 - fmt.limb_bits) * min(2 * fmt.limbs, 19))
    assert abs(mdla.fma(a, b, -1).item() + h**2) <= fmt.eps * h**2 + lost


def test_complex_roots_and_absolute_values(prec, rng):
    z = mdla.random.normal(100, prec=prec, rng=rng, complex=True)
    root = mdla.sqrt(z)
    assert (root.real >= 0).all()
    back = root * root - z
    eps = mdla.precision(prec).eps
    assert (abs(back) <= 20 * eps * abs(z)).all()
    assert (abs(abs(z) ** 2 - (z * z.conj()).real) <= 20 * eps * abs(z) ** 2).all()
    assert np.array_equal(mdla.sqrt(mdla.array([-4 + 0j, 1j * 0], prec=prec)).to_numpy(), [2j, 0])


# -- kinds of operands ---------------------------------------------------------------------------

NUMBERS = [
    3,
    -(2**53) - 1,
    2**100 + 1,
    2**300 + 1,
    True,
    0.1,
    -2.5,
    np.float64(0.1),
    np.float32(0.1),
    np.int8(-3),
    np.int64(2**60 + 1),
    np.uint64(2**64 - 1),
    np.longdouble(1) / 3,
    np.bool_(True),
]


def value_of(number):
    if isinstance(number, (np.longdouble, np.float32)):
        return Fraction(*map(int, number.as_integer_ratio()))
    if isinstance(number, np.generic):
        number = number.item()
    return Fraction(number)


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("name", OPERATORS)
def test_exact_scalars_on_both_sides(prec, name, number):
    op = OPERATORS[name]
    a = mdla.array(["1/3", -7, "0.1"], prec=prec)
    v = value_of(number)
    if v > 2**200 and prec in ("ds", "hd"):
        pytest.skip("beyond the range of ds; the quotient is below the safe range of hd")
    # The last rounding, from a wider format where the number did not fit, takes half an ulp more.
    for got, want in [
        (op(a, number), [op(x, v) for x in exact(a)]),
        (op(number, a), [op(v, x) for x in exact(a)]),
    ]:
        assert isinstance(got, mdla.MDArray)
        assert got.prec == prec
        assert_close(got, want, prec, 1.25)


def test_long_integers_cancel_exactly():
    for name in DOUBLE_PRECS:
        big = mdla.array(2**300, prec=name)
        assert (big - (2**300 + 1)).item() == -1
        assert ((2**300 + 1) - big).item() == 1
    assert (mdla.array(2**60, prec="d") - np.int64(2**60 + 1)).item() == -1


@pytest.mark.parametrize("number", [Fraction(1, 3), Decimal("0.1"), Fraction(-7, 2)], ids=repr)
@pytest.mark.parametrize("name", OPERATORS)
def test_rounded_scalars_on_both_sides(prec, name, number):
    op = OPERATORS[name]
    a = mdla.array(["1/7", -7, 5], prec=prec)
    b = mdla.array(number, prec=prec)
    assert_same_bits(op(a, number), op(a, b))
    assert_same_bits(op(number, a), op(b, a))


def test_complex_scalars(prec):
    a = mdla.array([1, 2], prec=prec)
    for number in (1 + 2j, np.complex128(1 + 2j), np.complex64(1 + 2j)):
        assert np.array_equal((a + number).to_numpy(), [2 + 2j, 3 + 2j])
        assert np.array_equal((number * a).to_numpy(), [1 + 2j, 2 + 4j])
        assert np.array_equal((number - a).to_numpy(), [2j, -1 + 2j])
        assert np.array_equal((a / (1 + 1j)).to_numpy(), [0.5 - 0.5j, 1 - 1j])


@pytest.mark.parametrize("kind", ["mpf", "mpfr", "mpq", "arb", "fmpq", "mpc", "acb"])
def test_numbers_of_other_libraries(prec, kind):
    def make():
        if kind in ("mpf", "mpc"):
            mpmath = pytest.importorskip("mpmath")
            return mpmath.mpf("0.375") if kind == "mpf" else mpmath.mpc("0.375", "-2")
        if kind in ("mpfr", "mpq"):
            gmpy2 = pytest.importorskip("gmpy2")
            return gmpy2.mpfr("0.375") if kind == "mpfr" else gmpy2.mpq(3, 8)
        flint = pytest.importorskip("flint")
        return {
            "arb": lambda: flint.arb("0.375"),
            "fmpq": lambda: flint.fmpq(3, 8),
            "acb": lambda: flint.acb("0.375", "-2"),
        }[kind]()

    number = make()
    value = 0.375 - 2j if kind in ("mpc", "acb") else 0.375
    a = mdla.array([1, 2], prec=prec)
    for op in OPERATORS.values():
        assert_same_bits(op(a, number), op(a, value))
        assert_same_bits(op(number, a), op(value, a))
    assert (a != number).all()
    assert (mdla.array(value, prec=prec) == number).all()
    assert number == mdla.array(value, prec=prec)


def test_arrays_and_lists(prec):
    a = mdla.array([[1, 2], [3, 4]], prec=prec)
    row = np.array([10, 20])
    others = [row, row.astype(float), row.astype(np.float32), row.astype(object)]
    others += [[10, 20], (10, 20), range(10, 21, 10), mdla.array(row, prec=prec)]
    for other in others:
        assert np.array_equal((a + other).to_numpy(), [[11, 22], [13, 24]])
        assert np.array_equal((other + a).to_numpy(), [[11, 22], [13, 24]])
        assert np.array_equal((other - a).to_numpy(), [[9, 18], [7, 16]])
        assert isinstance(other - a, mdla.MDArray)
        assert isinstance(a * other, mdla.MDArray)


@pytest.mark.parametrize(
    "bad", ["1", b"1", None, {}, object(), np.array(["1"]), ["1"], np.datetime64(1, "s")]
)
def test_no_numbers(bad):
    a = mdla.ones(2)
    for op in OPERATORS.values():
        with pytest.raises(TypeError):
            op(a, bad)
        with pytest.raises(TypeError):
            op(bad, a)
    with pytest.raises(TypeError):
        mdla.add(a, bad)
    assert (a == 1).all()


def test_lists_without_end():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="64 deep"):
        mdla.ones(2) + endless
    with pytest.raises(ValueError, match="64 deep"):
        mdla.array(endless)
    with pytest.raises(ValueError, match="ragged"):
        mdla.add(mdla.ones(2), [[1, 2], [3]])


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match="broadcast"):
        mdla.ones((2, 3)) + mdla.ones((2, 4))
    with pytest.raises(ValueError, match="broadcast"):
        mdla.ones((2, 3)) * np.ones(2)


# -- promotion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("other", PRECS)
def test_mixed_precisions_give_the_wider(prec, other, rng):
    x = mdla.MDArray(adversarial(rng, prec, 100))
    y = mdla.MDArray(adversarial(rng, other, 100))
    wider = min(prec, other, key=lambda p: mdla.precision(p).eps)
    for op in OPERATORS.values():
        got = op(x, y)
        assert got.prec == wider
        want = np.array([op(p, q) for p, q in zip(exact(x), exact(y), strict=True)])
        assert_close(got, want, wider, 1.25, operands=(x, y))


def test_float64_arrays_are_operands_of_precision_d():
    half = np.array([0.5, 0.1])
    assert (mdla.ones(2, "ds") + half).prec == "d"
    assert (mdla.ones(2, "ds") + 0.1).prec == "ds"
    assert (mdla.ones(2, "ds") + half.astype("f4")).prec == "ds"
    assert (mdla.ones(2, "dd") + half).prec == "dd"
    assert (mdla.ones(2, "d") + half.astype(np.longdouble)).prec == "dd"
    assert mdla.add(1, 2).prec == "dd"
    assert mdla.add(half, 1).prec == "dd"
    assert (mdla.ones(2, "d") + np.arange(2)).prec == "d"


# -- broadcasting and strides --------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
def test_broadcasting_and_strides(prec, complex_, rng):
    a = mdla.random.normal((4, 6), prec=prec, rng=rng, complex=complex_)
    b = mdla.random.normal((6, 4), prec=prec, rng=rng, complex=complex_)
    views = [(a, b.T), (a[::2, ::-1], a[1::2, 1:2]), (a, a[0, :]), (a[:, 3:4], a[2]),
             (a[None], b.T[:, None]), (a, a[1, 2]), (a[1:3, 2:], 3), (a[1:1], a[0])]  # fmt: skip
    for x, y in views:
        for op in OPERATORS.values():
            got = op(x, y)
            y_full = y if isinstance(y, int) else mdla.broadcast_to(y, got.shape).copy()
            x_full = mdla.broadcast_to(x, got.shape).copy()
            assert_same_bits(got, op(x_full, y_full))
    assert_same_bits(a + a[0, :], mdla.stack([row + a[0] for row in a]))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(prec, shape, rng):
    a = mdla.random.uniform(shape, prec=prec, rng=rng)
    for result in (a + a, a * 2, a / (a + 1), -a, abs(a), mdla.sqrt(a), a + 1j, mdla.fma(a, a, 1)):
        assert result.shape == shape
    assert (a - a == 0).all()
    assert (a + a == mdla.ldexp(a, 1)).all()


def test_commutative_bit_for_bit(prec, rng):
    x, y = pairs(rng, prec, 2000)
    assert_same_bits(x + y, y + x)
    assert_same_bits(x * y, y * x)
    z = mdla.MDArray(np.concatenate([x.planes, y.planes]))
    w = mdla.MDArray(np.concatenate([y.planes[:, :, ::-1], x.planes]))
    assert_same_bits(z + w, w + z)
    assert_same_bits(z * w, w * z)
    assert ((z * z.conj()).imag == 0).all()
    assert ((z.conj() * z).imag == 0).all()


def test_no_dependence_on_threads(prec, rng):
    a = mdla.random.normal((300, 70), prec=prec, rng=rng)
    results = []
    for threads in (1, 2, 3):
        mdla.set_num_threads(threads)
        results.append(
            [a + a.sum(), a * a, a / 3, a.sum(0), a.prod(1), mdla.vecdot(a, a[0]), a.cumsum()]
        )
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert_same_bits(x, y)


# -- specials ------------------------------------------------------------------------------------


def test_ieee_specials(prec):
    def number(x):
        return mdla.array(x, prec=prec)

    inf, nan, big = math.inf, math.nan, float(mdla.finfo(prec).max)
    one, zero = number(1), number(0)
    cases = [
        (one / zero, inf),
        (-one / zero, -inf),
        (zero / zero, nan),
        (one / number(inf), 0),
        (number(inf) + 1, inf),
        (number(inf) - number(inf), nan),
        (number(inf) * 2, inf),
        (2 * number(inf), inf),
        (number(inf) * zero, nan),
        (zero * number(inf), nan),
        (number(big) * number(big), inf),
        (number(big) + number(big), inf),
        (number(big) * 10, inf),
        (number(inf) / number(inf), nan),
        (number(nan) + 1, nan),
        (mdla.sqrt(zero), 0),
        (mdla.sqrt(number(inf)), inf),
        (mdla.sqrt(-one), nan),
        (mdla.sqrt(number(nan)), nan),
        (1 / number(-inf), -0.0),
        (abs(number(-inf)), inf),
        (mdla.fma(number(inf), 0, 1), nan),
        (mdla.fma(number(big), 2, -inf), -inf),
    ]
    if prec != "ds":
        cases += [(number(1e300) ** 2, inf), (2 / number(1e-310), inf)]
    for i, (got, want) in enumerate(cases):
        assert np.array_equal(float(got), want, equal_nan=True), (i, got, want)
        assert not got.limbs[1:].any(), i
    assert math.copysign(1, float(mdla.sqrt(number(-0.0)))) == -1
    assert math.copysign(1, float(-zero)) == -1
    assert math.copysign(1, float(zero * -1)) == -1


def test_specials_leave_their_neighbours_alone(prec, rng):
    x = mdla.random.normal(100, prec=prec, rng=rng)
    y = mdla.random.normal(100, prec=prec, rng=rng)
    spoilt = x.copy()
    places = [3, 10, 50, 99]
    spoilt[places] = [math.inf, math.nan, 0, -math.inf]
    rest = np.setdiff1d(np.arange(100), places)
    for op in OPERATORS.values():
        assert_same_bits(op(spoilt, y)[rest], op(x, y)[rest])
        assert_same_bits(op(y, spoilt)[rest], op(y, x)[rest])


@pytest.mark.parametrize("name", DOUBLE_PRECS)
def test_scaling_by_powers_of_two_and_fading(name):
    a = mdla.ldexp(mdla.array(1 + 2.0**-52, prec=name), -520)
    info = mdla.finfo(name)
    product = a * a
    # The square of 2^-520 lies far outside the safe range of long formats: no nan, small error.
    assert (
        abs(product.item() - a.item() ** 2)
        <= Fraction(2) ** -1074 * 4 + a.item() ** 2 * mdla.precision(name).eps
    )
    for shift in (-200, -50, 0, 200):
        x = mdla.array("1/3", prec=name)
        scaled = mdla.ldexp(x, shift)
        if abs(float(scaled)) ** 2 > info.safe_min:
            assert_same_bits(scaled * scaled, mdla.ldexp(x * x, 2 * shift))
            assert_same_bits(scaled / x, mdla.ldexp(x / x, shift))


# -- powers, signs, scaling ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 10, 31, -1, -2, -9])
@pytest.mark.parametrize("complex_", [False, True])
def test_integer_powers(prec, n, complex_):
    a = mdla.array([1.5, -0.75, 2, 1.1], prec=prec)
    if complex_:
        a = a + 0.5j
    got = a**n

    def exact_power(x):
        if not complex_:
            return x**n
        re, im = Fraction(1), Fraction(0)
        for _ in range(abs(n)):
            re, im = re * x[0] - im * x[1], re * x[1] + im * x[0]
        size = re * re + im * im
        return (re, im) if n >= 0 else (re / size, -im / size)

    want = np.empty(4, dtype=object)
    want[:] = [exact_power(x) for x in exact(a)]
    assert_close(got, want, prec, 4 * abs(n) + 4)


def test_other_powers(prec):
    a = mdla.array([4, 9, 2], prec=prec)
    assert_same_bits(a**0.5, mdla.sqrt(a))
    assert_same_bits(a ** Fraction(1, 2), mdla.sqrt(a))
    assert np.array_equal((a**1.5).to_numpy()[:2], [8, 27])
    assert np.array_equal((a**-0.5).to_numpy()[:1], [0.5])
    assert np.array_equal((a ** np.array([0, 1, -1])).to_numpy(), [1, 9, 0.5])
    assert np.array_equal((a ** np.array([0.5, 1.5, 2])).to_numpy(), [2, 27, 4])
    assert np.array_equal((2 ** mdla.array([1, -2, 10], prec=prec)).to_numpy(), [2, 0.25, 1024])
    assert np.array_equal((a ** mdla.array([2, 0, 1], prec=prec)).to_numpy(), [16, 1, 2])
    assert np.array_equal(np.power(a, 2).to_numpy(), [16, 81, 4])
    assert (mdla.array(0, prec=prec) ** 0).item() == 1
    assert (mdla.array(0, prec=prec) ** -1).item() == math.inf
    assert (mdla.array(1, prec=prec) ** 10**30).item() == 1
    with pytest.raises(TypeError):
        a ** "2"


def test_signs(prec):
    a = mdla.array([-2.5, 0, 3, -math.inf, math.nan], prec=prec)
    assert np.array_equal(mdla.sign(a).to_numpy(), [-1, 0, 1, -1, math.nan], equal_nan=True)
    assert np.array_equal(abs(a).to_numpy(), [2.5, 0, 3, math.inf, math.nan], equal_nan=True)
    assert np.array_equal((-a).to_numpy(), [2.5, 0, -3, math.inf, math.nan], equal_nan=True)
    z = mdla.array([3 + 4j, 0, -2j], prec=prec)
    assert np.allclose(mdla.sign(z).to_numpy(), [0.6 + 0.8j, 0, -1j])
    assert np.array_equal(z.conj().to_numpy(), [3 - 4j, 0, 2j])
    assert np.array_equal(np.conj(z).to_numpy(), [3 - 4j, 0, 2j])
    assert a.conj() is a


def test_ldexp(prec):
    a = mdla.array(["1/3", 3], prec=prec)
    assert mdla.ldexp(a, 10).tolist() == [x * 1024 for x in exact(a)]
    assert mdla.ldexp(a, [-3, 2]).tolist() == [exact(a)[0] / 8, 12]
    assert_same_bits(np.ldexp(a, 1), a + a)
    huge = mdla.ldexp(a, 100000)
    assert np.array_equal(huge.to_numpy(), [math.inf, math.inf])
    assert_normalised(huge)
    assert_normalised(mdla.ldexp(a, -1050 if prec != "ds" else -140))
    assert (mdla.ldexp(a, -100000) == 0).all()
    with pytest.raises(TypeError, match="integer"):
        mdla.ldexp(a, 0.5)


@pytest.mark.parametrize(
    ("base", "exponent", "prec"),
    [("1e-50", -2, "hd"), ("1e-60", -3, "hd"), ("1e-110", -2, "od"), ("1e-140", -2, "qd")],
)
def test_negative_powers_stay_in_range(base, exponent, prec):
    x = mdla.array(base, prec=prec)
    exact = x.item() ** exponent
    for got in (x**exponent, mdla.power(x, np.array([exponent]))[0]):
        assert abs(got.item() / exact - 1) <= 4 * abs(exponent) * mdla.precision(prec).eps


def test_negative_powers_reach_the_smallest_numbers():
    assert mdla.array(2) ** -1074 == 5e-324
    assert float(mdla.array(10) ** -309) == 1e-309
