# SPDX-License-Identifier: BSD-3-Clause
"""The native entry points refuse programs that would reach memory that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from mdla import _native
from mdla.poly.sweep import Operation
from tests.test_native_fuzz import LIMBS, guarded, random_planes, strided

MUL, ADD, SUB, SCALE, SCALE_REAL, SCALE_LANE, FILL, STORE = (int(op) for op in Operation)


def sweep(steps=((STORE, 0, 0, 0),), slots=2, **given):
    """A call for 3 points in 2 variables, with one value, two derivatives and two constants."""
    operands = {
        "values": np.zeros((1, 2, 3, 1)),
        "derivatives": np.zeros((1, 2, 3, 2)),
        "x": np.ones((1, 2, 3, 2)),
        "constants": np.ones((1, 2, 2)),
        "steps": np.array(steps, dtype=np.int32).reshape(-1, 4),
    }
    _native.sweep(**{**operands, **given}, slots=slots)


def series_sweep(steps=((STORE, 0, 0, 0),), slots=2, **given):
    """The same at series of degree 3."""
    operands = {
        "values": np.zeros((1, 2, 3, 1, 4)),
        "derivatives": np.zeros((1, 2, 3, 2, 4)),
        "x": np.ones((1, 2, 3, 2, 4)),
        "constants": np.ones((1, 2, 2)),
        "steps": np.array(steps, dtype=np.int32).reshape(-1, 4),
    }
    _native.series_sweep(**{**operands, **given}, slots=slots)


STEPS = {
    "an unknown operation": [8, 0, 0, 0],
    "a negative operation": [-1, 0, 0, 0],
    "a slot too many": [ADD, 2, 0, 1],
    "a negative slot": [ADD, -1, 0, 1],
    "a first factor that is none": [MUL, 1, 2, 0],
    "a second factor that is none": [SUB, 1, 0, 2],
    "a product over its first factor": [MUL, 1, 1, 0],
    "a product over its second factor": [MUL, 1, 0, 1],
    "a multiple over its factor": [SCALE, 1, 1, 0],
    "a constant that is none": [SCALE, 1, 0, 2],
    "a negative constant": [SCALE_LANE, 1, 0, -1],
    "a real constant that is none": [SCALE_REAL, 1, 0, 2],
    "a fill with no constant": [FILL, 1, 2, 0],
    "a result that is none": [STORE, 3, 0, 0],
    "a negative result": [STORE, -1, 0, 0],
    "a result of no slot": [STORE, 0, 2, 0],
}


@pytest.mark.parametrize("name", STEPS)
def test_bad_steps(name):
    with pytest.raises(ValueError, match=r"^sweep: "):
        sweep([STEPS[name]])
    with pytest.raises(ValueError, match=r"^series_sweep: "):
        series_sweep([STEPS[name]])


OPERANDS = {
    "values of other points": {"values": np.zeros((1, 2, 4, 1))},
    "values of other limbs": {"values": np.zeros((1, 4, 3, 1))},
    "values of other parts": {"values": np.zeros((2, 2, 3, 1))},
    "derivatives of other points": {"derivatives": np.zeros((1, 2, 2, 2))},
    "derivatives as matrices": {"derivatives": np.zeros((1, 2, 3, 1, 2))},
    "one point": {"x": np.ones((1, 2, 2))},
    "limbs that do not exist": {
        "x": np.ones((1, 7, 3, 2)),
        "values": np.zeros((1, 7, 3, 1)),
        "derivatives": np.zeros((1, 7, 3, 2)),
        "constants": np.ones((1, 7, 2)),
    },
    "complex constants of real points": {"constants": np.ones((2, 2, 2))},
    "constants of other limbs": {"constants": np.ones((1, 4, 2))},
    "a matrix of constants": {"constants": np.ones((1, 2, 2, 2))},
    "steps of another type": {"steps": np.zeros((1, 4))},
    "steps of long integers": {"steps": np.zeros((1, 4), dtype=np.int64)},
    "steps of three": {"steps": np.zeros((1, 3), dtype=np.int32)},
    "steps with gaps": {"steps": np.zeros((4, 8), dtype=np.int32)[:, ::2]},
    "read-only values": {"values": np.broadcast_to(0.0, (1, 2, 3, 1))},
    "too few slots": {"slots": 1},
    "more slots than steps": {"slots": 4},
    "endless slots": {"slots": 1 << 60},
    "negative slots": {"slots": -1},
    "no array": {"x": [1.0, 2.0]},
}


@pytest.mark.parametrize("name", OPERANDS)
def test_bad_operands(name):
    with pytest.raises((ValueError, TypeError, BufferError)):
        sweep(**OPERANDS[name])
    # As series, of degree 3.
    lifted = {
        key: np.repeat(value[..., np.newaxis], 4, axis=-1)
        if key in ("values", "derivatives", "x") and isinstance(value, np.ndarray)
        else value
        for key, value in OPERANDS[name].items()
    }
    if "read-only" in name:
        lifted = {"values": np.broadcast_to(0.0, (1, 2, 3, 1, 4))}
    with pytest.raises((ValueError, TypeError, BufferError)):
        series_sweep(**lifted)


@pytest.mark.parametrize("name", ["values", "derivatives", "x"])
def test_bad_degrees(name):
    shape = {"values": (1, 2, 3, 1), "derivatives": (1, 2, 3, 2), "x": (1, 2, 3, 2)}[name]
    for degree in (0, 2, 5):
        with pytest.raises(ValueError, match="different numbers of coefficients"):
            series_sweep(**{name: np.zeros((*shape, degree))})
    with pytest.raises(ValueError, match="wrong number of axes"):
        series_sweep(**{name: np.zeros(shape)})


def test_no_coefficients():
    empty = {"values": (1, 2, 3, 1, 0), "derivatives": (1, 2, 3, 2, 0), "x": (1, 2, 3, 2, 0)}
    series_sweep(**{name: np.zeros(shape) for name, shape in empty.items()})


def test_complex_multiples_of_real_constants():
    complex_ = {name: np.zeros((2, 2, 3, k)) for name, k in (("values", 1), ("derivatives", 2))}
    complex_["x"] = np.ones((2, 2, 3, 2))
    sweep([(SCALE_REAL, 1, 0, 1)], **complex_)
    with pytest.raises(ValueError, match="needs complex constants"):
        sweep([(SCALE, 1, 0, 1)], **complex_)


def test_what_no_step_stores_stays():
    values, derivatives = np.full((1, 2, 3, 1), 7.0), np.full((1, 2, 3, 2), 7.0)
    sweep([(STORE, 2, 1, 0)], values=values, derivatives=derivatives)
    assert (values == 7).all()
    assert (derivatives[..., 0] == 7).all()
    assert (derivatives[..., 1] == 1).all()


def result(*shape):
    zeros = np.zeros(shape)
    return guarded(zeros) if zeros.size else zeros


def random_program(rng, parts, slots, constants, results):
    """Any steps that are allowed; the parts of the constants that they need."""
    count, own = int(rng.integers(1, 30)), int(rng.integers(1, parts + 1))
    slots += int(rng.integers(0, count + 1))
    steps = np.zeros((count, 4), dtype=np.int32)
    for step in steps:
        operation = int(rng.integers(0, 8))
        out, a, b = rng.integers(0, slots, 3)
        if operation in (MUL, SCALE) and out in (a, b):
            operation = ADD
        if operation == SCALE and own < parts:
            operation = SCALE_REAL
        if operation in (SCALE, SCALE_REAL, SCALE_LANE):
            b = rng.integers(0, constants)
        elif operation == FILL:
            a = rng.integers(0, constants)
        elif operation == STORE:
            out = rng.integers(0, results)
        step[:] = operation, out, a, b
    # Runs of neighbouring results, over the end of the values.
    tail = [(STORE, r, r % slots, 0) for r in range(int(rng.integers(0, results + 1)))]
    return np.concatenate([steps, np.array(tail, dtype=np.int32).reshape(-1, 4)]), slots, own


@pytest.mark.parametrize("limbs", LIMBS)
def test_random_programs_between_guard_pages(limbs):
    """Any steps on any values, odd strides, arrays that end where memory ends: no crash."""
    rng = np.random.default_rng(limbs)
    for _ in range(150):
        parts, n, m, k = (int(v) for v in rng.integers([1, 1, 1, 0], [3, 5, 4, 40]))
        points, constants = int(rng.choice([0, 1, 3, 8, 9, 65, 130])), int(rng.integers(1, 4))
        steps, slots, own = random_program(rng, parts, n, constants, m + k)
        x = strided(rng, random_planes(rng, (parts, limbs, points, n), wild=True))
        before = x.copy()
        c = strided(rng, random_planes(rng, (own, limbs, constants), wild=True))
        values = result(parts, limbs, points, m)
        derivatives = result(parts, limbs, points, k)
        _native.sweep(values, derivatives, x, c, steps, slots)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("limbs", LIMBS)
def test_random_programs_at_series(limbs):
    rng = np.random.default_rng(limbs)
    for _ in range(60):
        parts, n, m, k = (int(v) for v in rng.integers([1, 1, 1, 0], [3, 5, 4, 9]))
        points, constants = int(rng.choice([0, 1, 3, 7, 9, 12])), int(rng.integers(1, 4))
        length = int(rng.choice([0, 1, 2, 7, 8, 9, 20]))
        steps, slots, own = random_program(rng, parts, n, constants, m + k)
        wild = bool(rng.integers(2))
        x = random_planes(rng, (parts, limbs, points, n, length), wild=wild)
        if rng.integers(2):
            x[..., length // 2 :] = 0
        x = strided(rng, x)
        before = x.copy()
        c = strided(rng, random_planes(rng, (own, limbs, constants), wild=wild))
        values = result(parts, limbs, points, m, length)
        derivatives = result(parts, limbs, points, k, length)
        _native.series_sweep(values, derivatives, x, c, steps, slots)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("limbs", LIMBS)
def test_random_products_of_series(limbs):
    rng = np.random.default_rng(limbs)
    for _ in range(60):
        parts = [int(v) for v in rng.integers(1, 3, 2)]
        batch = tuple(int(v) for v in rng.choice([0, 1, 2, 5, 9, 17], size=rng.integers(0, 3)))
        lengths = [int(v) for v in rng.choice([0, 1, 2, 7, 8, 9, 30, 70], size=3)]
        factors = [
            strided(rng, random_planes(rng, (c, own, *batch, length), wild=True))
            for c, own, length in zip(
                parts, (limbs, int(rng.choice([1, limbs]))), lengths[:2], strict=True
            )
        ]
        before = [f.copy() for f in factors]
        out = result(max(parts), limbs, *batch, lengths[2])
        _native.series_convolve(out, *factors)
        for f, g in zip(factors, before, strict=True):
            np.testing.assert_array_equal(f, g)


PRODUCTS = {
    "no coefficients axis": [(1, 2), (1, 2), (1, 2)],
    "batches differ": [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 2, 4)],
    "a batch is missing": [(1, 2, 3, 4), (1, 2, 4), (1, 2, 3, 4)],
    "too few limbs": [(1, 2, 4), (1, 3, 4), (1, 2, 4)],
    "too few parts": [(1, 2, 4), (2, 2, 4), (1, 2, 4)],
    "too many parts": [(2, 2, 4), (1, 2, 4), (1, 2, 4)],
    "three parts": [(3, 2, 4), (3, 2, 4), (3, 2, 4)],
    "limbs that do not exist": [(1, 7, 4), (1, 7, 4), (1, 7, 4)],
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_bad_products(name):
    with pytest.raises(ValueError, match=r"limbs|parts|batches|axes|axis"):
        _native.series_convolve(*map(np.ones, PRODUCTS[name]))
