# SPDX-License-Identifier: BSD-3-Clause
"""The native stages of products by residues, one by one, against integers; bad calls raise."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm.moduli import residue_system
from mdla.gemm.residue_tables import constants, forms_of, reconstruction, words_for
from tests.gemm.residue_stages import (
    aligned,
    convert,
    operand_planes,
    pack,
    pack_product,
    product_of,
    reconstruct,
    residues,
    unpack,
    unpack_product,
)
from tests.gemm.residues import each_int8_engine, int8_engines
from tests.gemm.schemes import hostile, random
from tests.oracle import exact
from tests.registry import THREADS
from tests.test_native_fuzz import guarded

LIMBS = (1, 2, 3, 4, 5, 8, 10, 16)


def congruent(values, wanted, forms):
    """Whether integers, for each form an array, are residues of the wanted ones."""
    return all(
        not ((v.astype(object) - w) % m).any()
        for v, w, m in zip(values, wanted, forms.moduli, strict=True)
    )


def forms_values(planes, forms):
    """Digits of residues in an operand -> values modulo the form's modulus."""
    count = forms.byte_count
    planes = planes.astype(np.int64)
    a, b, s = (planes[count + i :: 3] for i in range(3))
    np.testing.assert_array_equal(a + b, s)
    return np.concatenate([planes[:count], a + 128 * b])


# -- conversion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "td", "qd", "pd", "od", "da", "hd"])
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_conversion(rng, prec, complex, columns):
    """Integers within half a unit of the scaled entries, or 2^-50 more, and their residues."""
    limbs = mdla.precision(prec).limbs
    forms = forms_of(residue_system(300), 1 + complex)
    sizes = [(5, 63, 0), (33, 66, 30), (16, 3, -20)] if limbs <= 4 else [(5, 30, 4)]
    for lanes, steps, extra in sizes:
        bits = 52 * limbs + extra
        exponents = rng.integers(1, 40, lanes)
        scale = [Fraction(2) ** (bits - int(e)) for e in exponents]
        planes, wanted, ties = [], [], np.zeros((lanes, steps), bool)
        for _ in range(1 + complex):
            planes.append(hostile(rng, (lanes, steps), prec, (-30, 0)).planes)
            scaled = exact(planes[-1]) * np.array(scale, object)[:, np.newaxis]
            wanted.append(np.frompyfunc(round, 1, 1)(scaled))
            # Where a number is within 2^-50 of a tie, the integer may be the other one.
            near = np.abs(np.abs(scaled - wanted[-1]) - Fraction(1, 2)) <= Fraction(1, 2**50)
            ties |= near.astype(bool)
        total = [
            sum(c * w for c, w in zip(coefficients, wanted, strict=True))
            for coefficients in forms.inputs
        ]
        results = []
        for engine in each_int8_engine():
            operand = convert(engine, np.concatenate(planes), exponents, bits, forms, columns)
            values = forms_values(unpack(operand, forms, lanes, steps, columns), forms)
            results.append(values.astype(object) % np.array(forms.moduli)[:, None, None])
            for v, w, m in zip(values, total, forms.moduli, strict=True):
                assert not ((v.astype(object) - w) % m)[~ties].any()
        assert all((r == results[0]).all() for r in results)


def test_lanes_without_exponents_are_zero(rng):
    forms = forms_of(residue_system(120), 1)
    x = rng.uniform(-1, 1, (1, 2, 40, 70))
    x[0, 0, 3], x[0, 0, 4, 7], x[0, 1, 4, 7] = 0, np.inf, 0
    exponents = np.zeros(40, np.int32)
    exponents[[3, 4]] = _native.zero_lane, _native.special_lane
    for engine, columns in itertools.product(int8_engines(), (False, True)):
        values = unpack(convert(engine, x, exponents, 60, forms, columns), forms, 40, 70, columns)
        assert not values[:, 3].any()
        assert values[:, [0, 1, 2, 5]].any()


@pytest.mark.parametrize("columns", [False, True])
def test_conversion_of_any_strides(rng, columns):
    forms = forms_of(residue_system(400), 2)
    x = rng.uniform(-1, 1, (2, 3, 66, 130)) * 2.0 ** np.array([0, -54, -109])[:, None, None]
    want = convert(int8_engines()[0], x, np.zeros(66), 150, forms, columns)
    padded = np.full((2, 3, 132, 390), np.nan)
    padded[..., ::2, 1::3] = x
    for view in (
        np.asfortranarray(x),
        np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2),
        x[..., ::-1, ::-1].copy()[..., ::-1, ::-1],
        padded[..., ::2, 1::3],
        x[::-1, ::-1].copy()[::-1, ::-1],
    ):
        got = convert(int8_engines()[0], view, np.zeros(66), 150, forms, columns)
        shape = (forms, 66, 130, columns)
        np.testing.assert_array_equal(unpack(got, *shape), unpack(want, *shape))


# -- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 65, 512, 1100])
@pytest.mark.parametrize("kind", ["largest", "mixed", "random"])
def test_products_of_residues(rng, k, kind):
    """The largest residues there are, of one sign and of both; for bytes and pairs."""
    forms = forms_of(residue_system(420), 1)
    m, n = (33, 35) if kind == "random" and k < 512 else (3, 5)
    digits = operand_planes(forms)
    a, b = (rng.integers(-63, 64, (digits, s, k)) for s in (m, n))
    count = forms.byte_count
    moduli = np.array(forms.moduli[:count])[:, None, None]
    for x in (a, b):
        x[:count] = rng.integers(-(moduli // 2), moduli // 2 + 1, x[:count].shape)
        if kind != "random":
            # One more than half of m is as much as rounded quotients make of a residue.
            x[:count] = (moduli + 1) // 2
            x[count:] = np.array([64, 63, 127] * (len(x[count:]) // 3))[:, None, None]
        if kind == "mixed":
            x[:, ::2] *= -1
        x[count + 2 :: 3] = x[count::3] + x[count + 1 :: 3]
    packed = pack(a, forms, False), pack(b, forms, True)
    np.testing.assert_array_equal(unpack(packed[0], forms, m, k, False), a)
    np.testing.assert_array_equal(unpack(packed[1], forms, n, k, True), b)
    u, v = forms_values(a, forms), forms_values(b, forms)
    want = [x.astype(object) @ y.T.astype(object) for x, y in zip(u, v, strict=True)]
    for engine in each_int8_engine():
        product = product_of(engine, *packed, (m, k, n), forms)
        got = unpack_product(product, forms, m, n)
        assert congruent(got, want, forms)
        bound = [(q + 1) // 2 if q < 256 else q // 2 + 2 for q in forms.moduli]
        assert (np.abs(got).max(axis=(1, 2)) <= bound).all()
        twice = unpack_product(product_of(engine, *packed, (m, k, n), forms, product), forms, m, n)
        assert congruent(twice, [2 * w for w in want], forms)


def test_products_without_steps():
    forms = forms_of(residue_system(420), 1)
    empty = aligned(_native.residue_operand_bytes(forms.native, 3, 0))
    for engine in int8_engines():
        product = product_of(engine, empty, empty, (3, 0, 3), forms)
        assert not product.any()
        product[:] = 5
        assert (product_of(engine, empty, empty, (3, 0, 3), forms, product) == 5).all()


# -- results ---------------------------------------------------------------------------------------


def test_results_in_strided_memory(rng):
    forms = forms_of(residue_system(220), 1)
    values = np.array(
        [[int(v) << 60 for v in rng.integers(-(2**62), 2**62, 50)] for _ in range(40)]
    )
    product = pack_product(residues(values, forms), forms)
    tables = reconstruction(forms, 0, 100)
    e = np.zeros(40, np.int32), np.zeros(50, np.int32)
    want = reconstruct("int8-portable", product, forms, tables, 2, e)
    room = np.full((50, 2, 80), 7.0)
    for target in (room[:, :, ::2].transpose(1, 2, 0), room[::-1, ::-1, 40:].transpose(1, 2, 0)):
        args = ("int8-portable", 1, forms.native, product, tables, 0, *e, target, None, None)
        _native.residue_reconstruct(*args)
        np.testing.assert_array_equal(target, want)
    assert (room[:, :, 1:40:2] == 7).all()


@pytest.mark.parametrize("alpha", [None, -2.5])
@pytest.mark.parametrize("beta", [None, 1.0, 0.3])
def test_added_to_results(rng, alpha, beta):
    """alpha product + beta out: a product, and a product and a sum, rounded one after the other."""
    forms = forms_of(residue_system(220), 1)
    values = np.array(
        [[int(v) << 90 for v in rng.integers(-(2**60), 2**60, 35)] for _ in range(33)]
    )
    product = pack_product(residues(values, forms), forms)
    tables = reconstruction(forms, 0, 80)
    e = np.zeros(33, np.int32), np.zeros(35, np.int32)
    plain = mdla.MDArray(reconstruct("int8-portable", product, forms, tables, 2, e)[np.newaxis])
    old = random(rng, plain.shape, "dd") * 2.0**150
    want = plain if alpha is None else plain * mdla.array(alpha, prec="dd")
    if beta is not None:
        want = want + old * mdla.array(beta, prec="dd")
    for engine in each_int8_engine():
        out = old.planes[0].copy()
        factors = [None if x is None else np.array([x, 0.0]) for x in (alpha, beta)]
        _native.residue_reconstruct(engine, 1, forms.native, product, tables, 0, *e, out, *factors)
        np.testing.assert_array_equal(out, want.planes[0])


# -- bad calls -----------------------------------------------------------------------------------


def good_calls():
    """A call of each native function that works, by its keyword arguments."""
    forms = forms_of(residue_system(420), 1)
    f, words = forms.native, words_for(50)
    size, product = _native.residue_operand_bytes, _native.residue_product_bytes
    e = np.zeros(5, np.int32)
    return {
        "residue_convert": {
            "engine": "int8-portable",
            "columns": False,
            "x": guarded(np.ones((1, 2, 5, 70))),
            "exponents": guarded(e + 1),
            "bits": 50,
            "words": words,
            "constants": guarded(constants(forms, words)),
            "forms": f,
            "out": guarded(np.zeros(size(f, 5, 70), np.int8)),
        },
        "residue_multiply": {
            "engine": "int8-portable",
            "m": 5,
            "k": 70,
            "n": 7,
            "forms": f,
            "a": guarded(np.ones(size(f, 5, 70), np.int8)),
            "b": guarded(np.ones(size(f, 7, 70), np.int8)),
            "out": guarded(np.zeros(product(f, 5, 7), np.int8)),
            "add": False,
        },
        "residue_reconstruct": {
            "engine": "int8-portable",
            "k": 70,
            "forms": f,
            "product": guarded(np.ones(product(f, 5, 5), np.int8)),
            "tables": reconstruction(forms, 0, 208),
            "exponent": -416,
            "row_exponents": guarded(e),
            "column_exponents": guarded(e),
            "out": guarded(np.zeros((4, 5, 5))),
            "alpha": None,
            "beta": None,
        },
    }


# Exponents that no lane has.
FAR = [-(2**31), _native.zero_lane - 1, _native.special_lane + 1, 2**31 - 1]

WRONG = {
    "engine": ["int8", "", None, 3],
    "columns": [None],
    "x": [None, np.ones((1, 2, 5)), np.ones((3, 2, 5, 70)), np.ones((1, 17, 5, 70)),
          np.ones((1, 2, 5, 70), np.float32), np.ones((0, 2, 5, 70)), np.ones((1, 0, 5, 70)),
          np.ones((1, 2, 6, 70)), np.ones((2, 2, 50, 7))],
    "exponents": [None, np.zeros(4, np.int32), np.zeros(5), np.zeros(10, np.int32)[::2], [],
                  *(np.full(5, e, np.int32) for e in FAR)],
    "bits": [-1, 0, 1, 63, 2000, 10**6, 2**40, 1.5, None],
    "words": [-1, 0, 1, 65, 2**20, None],
    "constants": [None, np.zeros(3, np.int8), np.zeros((9, 9, 9), np.int16)],
    "forms": [None, 3],
    "out": [None, np.zeros(10, np.int8), np.zeros(10**6, np.int16), np.zeros(10**6),
            np.broadcast_to(np.int8(0), 10**6), np.zeros((4, 5)), np.zeros((7, 5, 5)),
            np.zeros((4, 5, 5), np.float32), np.zeros((0, 5, 5)), np.zeros((17, 5, 5))],
    "m": [-1, 10**4, 2**62, 2**63 - 1, 2**70, None],
    "k": [-1, 10**5, 2**62, 2**63 - 1, None],
    "n": [-1, 10**4, 2**62, 2**63 - 1],
    "a": [None, np.zeros(100, np.int8), np.zeros(10**6, np.uint8), np.zeros(10**6)],
    "b": [None, np.zeros(100, np.int8), np.zeros(10**7, np.int8)[::-1]],
    "product": [None, np.zeros(100, np.int8), np.zeros(10**6, np.int16)],
    "tables": [None, 0],
    "exponent": [2**40, None, *FAR],
    "row_exponents": [None, np.zeros(4, np.int32), np.zeros(5, np.int64),
                      *(np.full(5, e, np.int32) for e in FAR)],
    "column_exponents": [None, np.zeros(4, np.int32), np.zeros(5, np.int64),
                         *(np.full(5, e, np.int32) for e in FAR)],
    "add": [None],
    "alpha": [np.zeros(3), 1.0, np.zeros(4, np.float32), np.zeros((8,))[::2]],
    "beta": [np.zeros(1), np.zeros(4, int)],
}  # fmt: skip


@pytest.mark.parametrize("name", list(good_calls()))
def test_bad_calls_raise(name):
    """One wrong argument at a time. The length k of a reconstruction only matters to layouts."""
    function = getattr(_native, name)
    for engine in int8_engines():
        function(**good_calls()[name] | {"engine": engine})
    for argument in good_calls()[name]:
        for value in WRONG[argument] if (name, argument) != ("residue_reconstruct", "k") else []:
            with pytest.raises((ValueError, TypeError, BufferError)):
                function(**good_calls()[name] | {argument: value})


def test_residues_are_aligned():
    """Conversion writes whole lines of the cache."""
    call = good_calls()["residue_convert"]
    room = aligned(call["out"].size + 64)
    for off in (1, 16, 32, 63):
        with pytest.raises(ValueError, match="multiple of 64"):
            _native.residue_convert(**call | {"out": room[off:]})


@pytest.mark.parametrize(
    ("byte_moduli", "pairs"),
    [([2], []), ([256], []), ([-3], []), ([], [13999]), ([], [16257]), ([3] * 257, []), (None, [])],
)
def test_bad_forms(byte_moduli, pairs):
    with pytest.raises((ValueError, TypeError)):
        _native.residue_forms(byte_moduli, pairs)


def test_bad_sizes():
    forms = forms_of(residue_system(120), 1).native
    for size in (_native.residue_operand_bytes, _native.residue_product_bytes):
        assert size(forms, 0, 0) >= 0
        for bad in [(-1, 5), (5, -1), (2**62, 2), (2**40, 2**40), (2**63 - 1, 2**63 - 1)]:
            with pytest.raises(ValueError, match="product by residues"):
                size(forms, *bad)


def test_bad_tables():
    def tables(**changes):
        good = {
            "weights": np.zeros((1, 1, 16, 64), np.int8),
            "modulus": np.ones(4),
            "inverse": 1.0,
            "quantum": 24,
            "shift": 0,
            "tie_width": 0.0,
            "whole_weights": np.zeros((3, 4), np.uint32),
            "whole_modulus": np.ones(4, np.uint32),
            "quads": 1,
        }
        return _native.reconstruction_tables(**good | changes)

    assert tables() is not None
    for change in [
        {"weights": np.zeros(5, np.int8)},
        {"weights": np.zeros((1, 1, 16, 64))},
        {"modulus": np.ones(0)},
        {"modulus": np.ones(500)},
        {"modulus": np.ones(4, np.float32)},
        {"quantum": 0},
        {"quantum": 32},
        {"shift": -8},
        {"shift": 10**6},
        {"tie_width": -1.0},
        {"tie_width": np.nan},
        {"whole_weights": np.zeros((3, 4))},
        {"whole_modulus": np.ones(4, np.int64)},
        {"quads": 0},
        {"quads": 10**6},
    ]:
        with pytest.raises((ValueError, TypeError)):
            tables(**change)
    call = good_calls()["residue_reconstruct"]
    with pytest.raises(ValueError, match="other moduli"):
        _native.residue_reconstruct(**call | {"tables": tables()})
    # As many chunks as limbs are too few.
    forms = forms_of(residue_system(420), 1)
    few = reconstruction(forms, 0, 400)
    with pytest.raises(ValueError, match="other moduli"):
        _native.residue_reconstruct(**call | {"tables": few, "out": np.zeros((16, 5, 5))})


def test_any_numbers_at_all(rng):
    """Garbage in, garbage out, next to pages that must not be touched."""
    specials = np.array([0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e-310, 3.0])
    forms = forms_of(residue_system(300), 2)
    f = forms.native
    for engine in each_int8_engine():
        for threads, (lanes, steps) in itertools.product(THREADS, [(1, 1), (33, 65), (5, 130)]):
            _native.set_num_threads(threads)
            limbs, columns = int(rng.choice(LIMBS)), bool(rng.integers(2))
            x = guarded(rng.choice(specials, (2, limbs, lanes, steps)))
            e = guarded(rng.integers(-2000, 2000, lanes).astype(np.int32))
            out = guarded(np.zeros(_native.residue_operand_bytes(f, lanes, steps), np.int8))
            table = guarded(constants(forms, 4))
            _native.residue_convert(engine, columns, x, e, 126, 4, table, f, out)
            out[:] = rng.integers(-128, 128, out.size)
            product = guarded(np.zeros(_native.residue_product_bytes(f, lanes, lanes), np.int8))
            _native.residue_multiply(engine, lanes, steps, lanes, f, out, out, product, True)
            product[:] = rng.integers(-128, 128, product.size)
            tables = reconstruction(forms, 1, 140)
            r = guarded(np.zeros((2, lanes, lanes)))
            _native.residue_reconstruct(
                engine,
                steps,
                f,
                product,
                tables,
                int(rng.integers(-3000, 3000)),
                e,
                e,
                r,
                None,
                None,
            )
