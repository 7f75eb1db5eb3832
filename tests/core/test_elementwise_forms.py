# SPDX-License-Identifier: BSD-3-Clause
"""The native arithmetic in its other forms: one-limb, complex, compared, strided, threaded."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mdla import _native
from mdla.core.precision import precision
from tests.core.elementwise import (
    BINARY,
    REAL,
    allowance,
    assert_special,
    operands_of,
    planes,
    run,
)
from tests.oracle import (
    assert_normalised,
    assert_same_bits,
    bits_of,
    error_in_eps,
    exact,
    exact_results,
    hex_limbs,
    integers,
    is_normalised,
    result_errors,
)
from tests.registry import SHAPES, adversarial, each_level, second_operand

INF, NAN = math.inf, math.nan

# -- a single limb as operand ---------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY)
def test_an_operand_of_one_limb(name, prec, rng):
    x = adversarial(rng, prec, 2000)
    y = second_operand(rng, prec, x)[:, :1]
    y = np.where(y == 0, x[:, :1], y)
    full = np.concatenate([y, np.zeros_like(x[:, 1:])], axis=1)
    for a, b, exact_a, exact_b in ((x, y, x, full), (y, x, full, x)):
        if name == "div" and not b[:, 0].all():
            continue
        got = run(name, prec, np.ascontiguousarray(a), np.ascontiguousarray(b))
        results = exact_results(name, exact_a, exact_b)
        errors = result_errors(got, results, prec, allowance(name, prec, (exact_a, exact_b)))
        at = (int(errors.argmax()),)
        assert errors[at] <= 1, (hex_limbs(exact_a, at), hex_limbs(exact_b, at), hex_limbs(got, at))
        assert_normalised(got, (exact_a, exact_b))


# -- comparison ----------------------------------------------------------------------------------


def test_comparison_is_exact(prec, rng):
    x = adversarial(rng, prec, 3000)
    y = np.where(rng.random(3000) < 0.8, -second_operand(rng, prec, x), x)
    got = np.empty(3000, dtype=np.int8)
    _native.compare_signs(got, x, y)
    a, b = integers(x)[0], integers(y)[0]
    assert got.tolist() == [(u > v) - (u < v) for u, v in zip(a, b, strict=True)]
    assert 0.1 < (got == 0).mean() < 0.9


def test_comparison_of_equal_values_with_other_limbs():
    # 1 + 2^-52 - 2^-53 has two normalised forms.
    x, y = planes("dd", [1.0, 2.0**-53]), planes("dd", [1.0 + 2.0**-52, -(2.0**-53)])
    assert is_normalised(x).all()
    assert is_normalised(y).all()
    got = np.empty(1, dtype=np.int8)
    _native.compare_signs(got, x, y)
    assert got[0] == 0


def test_comparison_of_specials(prec):
    got = np.empty(1, dtype=np.int8)
    for x, y, sign in (
        (INF, INF, 0),
        (INF, 1, 1),
        (1, INF, -1),
        (-INF, INF, -1),
        (-INF, -INF, 0),
        (0.0, -0.0, 0),
        (NAN, 1, 2),
        (1, NAN, 2),
        (NAN, NAN, 2),
        (INF, NAN, 2),
    ):
        _native.compare_signs(got, planes(prec, [x]), planes(prec, [y]))
        assert got[0] == sign, (x, y, got)


# -- complex -------------------------------------------------------------------------------------


def complex_operands(prec, rng, count):
    x, z = adversarial(rng, prec, count, (-20, 20)), adversarial(rng, prec, count, (-20, 20))
    y, w = second_operand(rng, prec, x), adversarial(rng, prec, count, (-20, 20))
    return np.concatenate([x, z]), np.concatenate([w, y])


def exact_complex(name, z, w):
    pairs = zip(exact(z), exact(w), strict=True)
    if name == "add":
        return [(a + c, b + d) for (a, b), (c, d) in pairs]
    if name == "sub":
        return [(a - c, b - d) for (a, b), (c, d) in pairs]
    if name == "mul":
        return [(a * c - b * d, a * d + b * c) for (a, b), (c, d) in pairs]
    return [
        ((a * c + b * d) / (c * c + d * d), (b * c - a * d) / (c * c + d * d))
        for (a, b), (c, d) in pairs
    ]


#: Normwise bounds in eps: sums part by part, a product two products and a sum in each part, a
#: quotient a product, a squared modulus and a division.
COMPLEX_BOUNDS = {"add": 1, "sub": 1, "mul": 3, "div": 6}


@pytest.mark.parametrize("name", BINARY)
def test_complex_errors(name, prec, rng):
    z, w = complex_operands(prec, rng, 400)
    got = run(name, prec, z, w)
    errors = error_in_eps(got, exact_complex(name, z, w), prec)
    at = (int(errors.argmax()),)
    assert errors[at] <= COMPLEX_BOUNDS[name], (
        hex_limbs(z, at),
        hex_limbs(w, at),
        hex_limbs(got, at),
    )
    assert_normalised(got, (z, w))


def test_product_with_the_conjugate_is_real(prec, rng):
    z, _ = complex_operands(prec, rng, 2000)
    conjugate = z.copy()
    conjugate[1] = -conjugate[1]
    for got in (run("mul", prec, z, conjugate), run("mul", prec, conjugate, z)):
        assert not got[1].any()
        assert (got[0, 0] >= 0).all()
    w = complex_operands(prec, rng, 2000)[1]
    assert_same_bits(run("mul", prec, z, w), run("mul", prec, w, z), (z, w))


def test_complex_modulus_and_root(prec, rng):
    z, _ = complex_operands(prec, rng, 300)
    p = precision(prec)
    size = run("abs", prec, z)
    squares = [a * a + b * b for a, b in exact(z)]
    for value, square in zip(exact(size), squares, strict=True):
        # | |z|^2 - square | <= 2 * bound * eps * square
        assert abs(value**2 - square) <= 4 * p.eps * square
    assert_normalised(size)
    root = run("sqrt", prec, z)
    assert_normalised(root)
    assert (root[0, 0] >= 0).all()
    for (re, im), (a, b), square in zip(exact(root), exact(z), squares, strict=True):
        miss_re, miss_im = re * re - im * im - a, 2 * re * im - b
        assert miss_re**2 + miss_im**2 <= (16 * p.eps) ** 2 * square


def test_complex_specials(prec):
    def number(re, im):
        return np.concatenate([planes(prec, [re]), planes(prec, [im])])

    # Neither the modulus nor a quotient over- or underflows on the way.
    for k in (1000, -1000) if precision(prec).dtype.itemsize == 8 else (120, -120):
        size = run("abs", prec, number(3 * 2.0**k, 4 * 2.0**k))
        assert error_in_eps(size, [5 * Fraction(2) ** k], prec) <= 4
        got = run("div", prec, number(2.0**k, 2.0**k), number(2.0**k, -(2.0**k)))
        assert error_in_eps(got, [(0, 1)], prec) <= 4
    assert_special(run("abs", prec, number(INF, NAN))[..., 0], INF)
    assert_special(run("abs", prec, number(1, -INF))[..., 0], INF)
    assert_special(run("abs", prec, number(0.0, -0.0))[..., 0], 0.0)
    assert_special(run("sqrt", prec, number(-4.0, 0.0))[1:, :, 0], 2.0)
    assert_special(run("sqrt", prec, number(-4.0, -0.0))[1:, :, 0], -2.0)


# -- memory layouts, levels, threads -------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_and_strides(shape, prec, rng):
    p = precision(prec)
    size = math.prod(shape)
    x = adversarial(rng, prec, size + 1)
    y = second_operand(rng, prec, x)
    expected = run("add", prec, x, y)[:, :, :size].reshape(1, p.limbs, *shape)
    a, b = (v[:, :, :size].reshape(1, p.limbs, *shape) for v in (x, y))
    assert_same_bits(run("add", prec, a, b), expected)
    reversed_copies = [np.array(v[..., ::-1])[..., ::-1] if shape else v for v in (a, b)]
    assert_same_bits(run("add", prec, *reversed_copies), expected)
    fortran = [np.asfortranarray(v) for v in (a, b)]
    assert_same_bits(run("add", prec, *fortran), expected)
    limbs_last = [np.moveaxis(np.ascontiguousarray(np.moveaxis(v, 1, -1)), -1, 1) for v in (a, b)]
    assert_same_bits(run("add", prec, *limbs_last), expected)
    spaced = [np.repeat(v, 2, axis=-1)[..., ::2] if shape else v for v in (a, b)]
    assert_same_bits(run("add", prec, *spaced), expected)
    assert_same_bits(_native.elementwise("add", None, a, b), expected)


def test_broadcast_operands(prec, rng):
    x = adversarial(rng, prec, 35).reshape(1, -1, 5, 7)
    row, column, number = x[:, :, :1], x[:, :, :, :1], x[:, :, :1, :1]
    for other in (row, column, number):
        wide = np.broadcast_to(other, x.shape)
        for name in ("add", "mul"):
            expected = run(name, prec, x, np.ascontiguousarray(wide))
            assert_same_bits(run(name, prec, x, wide), expected)
            assert_same_bits(run(name, prec, wide, x), expected)


@pytest.mark.parametrize("name", [*REAL, "abs", "neg"])
def test_every_level_gives_the_same_bits(name, prec, rng):
    count = 1003
    operands = operands_of(name if name in REAL else "sqrt", prec, rng, count)
    # Specials in some lanes must not disturb their neighbours.
    for x in operands:
        where = rng.integers(0, count, 40)
        x[:, :, where] = 0
        x[0, 0, where] = rng.choice([0.0, -0.0, INF, -INF, NAN], 40)
    z = tuple(np.concatenate([x, x[..., ::-1]]) for x in operands)
    results = {}
    for level in each_level():
        results[level] = run(name, prec, *operands), run(name, prec, *z)
    assert _native.level() in results
    first = next(iter(results.values()))
    for real, complex_ in results.values():
        assert_same_bits(real, first[0], operands)
        assert_same_bits(complex_, first[1], z)


@pytest.mark.parametrize("name", [*BINARY, "sqrt"])
def test_a_number_does_not_depend_on_its_neighbours(name, prec, rng):
    # One lane of a pack in an extreme range must not send the others another way.
    p = precision(prec)
    top = 1000 if p.dtype.itemsize == 8 else 110
    operands = [
        np.ldexp(x, rng.integers(-top, 20, 64) * (rng.random(64) < 0.5))
        for x in operands_of(name, prec, rng, 64)
    ]
    for x in operands:
        x[:, 1:][:, :, ~is_normalised(x)] = 0
    if name == "div":
        operands[1][0, 0][operands[1][0, 0] == 0] = 1
    together = run(name, prec, *operands)
    for i in range(64):
        alone = run(name, prec, *(x[:, :, i : i + 1] for x in operands))
        assert_same_bits(alone, together[:, :, i : i + 1], [x[:, :, i : i + 1] for x in operands])


@pytest.mark.parametrize("name", BINARY)
def test_threads_and_positions_do_not_matter(name, prec, rng):
    count = 30011
    x = np.tile(adversarial(rng, prec, 101), 298)[:, :, :count]
    y = np.tile(adversarial(rng, prec, 103), 292)[:, :, :count]
    results = []
    for threads in (1, 2):
        _native.set_num_threads(threads)
        results.append(run(name, prec, x, y))
    assert_same_bits(results[0], results[1])
    for i in (0, 1, 7, 8, 4095, 4096, 30010):
        alone = run(name, prec, x[:, :, i : i + 1], y[:, :, i : i + 1])
        assert_same_bits(alone, results[0][:, :, i : i + 1])


# -- normalisation -------------------------------------------------------------------------------


def test_normalize_restores_any_limbs(prec, rng):
    p = precision(prec)
    for terms in (1, 2, p.limbs, 2 * p.limbs + 1):
        parts = [adversarial(rng, prec, 300)[:, :1] for _ in range(terms)]
        signs = rng.choice([-1, 1], (1, terms, 300)).astype(p.dtype)
        x = np.concatenate(parts, axis=1) * signs
        out = np.full((1, p.limbs, 300), np.nan, dtype=p.dtype)
        _native.normalize(out, x)
        errors = result_errors(out, (list(integers(x)[0]), [1] * 300), prec)
        assert errors.max() <= 1
        assert_normalised(out, (x,))
        if terms > 1:
            shuffled = np.full_like(out, np.nan)
            _native.normalize(shuffled, np.ascontiguousarray(x[:, ::-1]))
            assert (bits_of(shuffled) == bits_of(out)).all()


def test_normalize_keeps_specials(prec):
    p = precision(prec)
    for limbs, expected in (
        ([INF, 1.0], INF),
        ([1.0, -INF], -INF),
        ([INF, -INF], NAN),
        ([NAN, 1.0], NAN),
    ):
        x = np.array(limbs, dtype=p.dtype)[None, :, None]
        out = np.zeros((1, p.limbs, 1), dtype=p.dtype)
        _native.normalize(out, x)
        assert_special(out[..., 0], expected)
