# SPDX-License-Identifier: BSD-3-Clause
"""What every test runs over: precisions, shapes, instruction sets, and adversarial numbers.

A new precision or level is tested everywhere by being registered in the package. N = 1 is always
in the list, so that plain doubles check the generic code.
"""

from __future__ import annotations

import os

import numpy as np
from hypothesis import settings, strategies as st

from mdla.core.precision import PRECISIONS, precision
from tests.oracle import is_normalised

#: All precisions by name, narrowest first.
PRECS = list(PRECISIONS)

#: Those made of doubles.
DOUBLE_PRECS = [name for name, p in PRECISIONS.items() if p.dtype == np.float64]

#: Sizes just off the SIMD widths (4, 8), and shapes that are empty, 0-d and of several axes.
SHAPES = [(), (0,), (1,), (3,), (7,), (8,), (9,), (33,), (2, 0, 3), (1, 1), (3, 5), (2, 3, 17)]

#: Inner lengths just off the lanes of a reduction (128 lanes, 32 rows a tile).
LENGTHS = [0, 1, 2, 127, 128, 129, 255, 257, 4095, 4096, 4097, 8200]

THREADS = [1, 2]


def each_level():
    """Run the body of a loop once per instruction set level of this machine."""
    from mdla import _native

    before = _native.level()
    try:
        for name in _native.levels():
            _native.set_level(name)
            yield name
    finally:
        _native.set_level(before)


# -- hypothesis ----------------------------------------------------------------------------------

settings.register_profile("local", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=1000, deadline=None, print_blob=True)


def load_profile():
    """Choose the hypothesis profile by the environment variable MDLA_TEST_PROFILE."""
    settings.load_profile(os.environ.get("MDLA_TEST_PROFILE", "local"))


def finite_floats(prec="d"):
    """Finite floats of the limb type, subnormals included."""
    width = 8 * precision(prec).dtype.itemsize
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


@st.composite
def numbers(draw, prec, lowest=-900, exponents=(-60, 60)):
    """Planes ``(1, N)`` of one adversarial normalised number."""
    seed = draw(st.integers(0, 2**32 - 1))
    return adversarial(np.random.default_rng(seed), prec, 1, exponents, lowest)[..., 0]


def exact_values():
    """Fractions of every size and kind."""
    dyadic = st.builds(
        lambda m, e: m * 2**e if e >= 0 else st_fraction(m, 2**-e),
        st.integers(-(2**200), 2**200),
        st.integers(-300, 300),
    )
    return st.one_of(st.fractions(), st.integers(-(2**400), 2**400), dyadic)


def st_fraction(num, den):
    """A Fraction; a name of its own keeps the strategies above readable."""
    from fractions import Fraction

    return Fraction(num, den)


# -- adversarial numbers -------------------------------------------------------------------------


def _mantissas(rng, count, bits):
    """Integers in ``[2**(bits-1), 2**bits)``: random, powers of two, all ones, few bits ..."""
    top = np.int64(1) << (bits - 1)
    random = rng.integers(0, top, count) | top
    low = top | np.int64(1)
    few = top.repeat(count)
    for _ in range(3):
        few |= np.int64(1) << rng.integers(0, bits, count)
    zeros = random >> (bits // 2) << (bits // 2)
    kinds = [
        random,
        np.full(count, top),
        np.full(count, 2 * top - 1),
        np.full(count, low),
        few,
        zeros,
    ]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def _gaps(rng, count):
    """Bits between one limb and the next: -1 for an exact half ulp, else at least 0."""
    kinds = [
        np.full(count, -1),
        np.zeros(count, dtype=np.int64),
        rng.integers(1, 8, count),
        rng.integers(40, 61, count),
        rng.integers(0, 401, count),
    ]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def _signs(rng, count, limbs):
    """All equal, alternating or random."""
    ones = np.ones((limbs, count))
    alternating = ones.copy()
    alternating[1::2] = -1
    random = rng.choice([-1.0, 1.0], (limbs, count))
    return np.choose(rng.integers(0, 3, count), [ones, alternating, random]) * rng.choice(
        [-1.0, 1.0], count
    )


def _tail(rng, prec, first_exponents, limbs, lowest, force=None):
    """Normalised limbs ``(limbs, count)`` with leading exponents not above the given ones."""
    p = precision(prec)
    bits, count = p.limb_bits, len(first_exponents)
    dense = rng.random(count) < 1 / 8
    signs = _signs(rng, count, limbs)
    stop = np.where(rng.random(count) < 1 / 4, rng.integers(1, limbs + 1, count), limbs)
    out = np.zeros((limbs, count))
    exponent = np.asarray(first_exponents, dtype=np.int64).copy()
    alive = np.ones(count, dtype=bool)
    top = np.int64(1) << (bits - 1)
    for i in range(limbs):
        mantissa = _mantissas(rng, count, bits)
        dense_mantissa = rng.integers(0, top, count) | top
        mantissa = np.where(dense, dense_mantissa, mantissa)
        if i > 0:
            gap = np.where(dense, rng.integers(0, 2, count), _gaps(rng, count))
            exponent = exponent - bits - 1 - gap
            mantissa = np.where(gap < 0, top, mantissa)
        alive &= (exponent >= lowest) & (i < stop)
        value = np.ldexp(
            mantissa.astype(np.float64), np.maximum(exponent - bits + 1, -1100).astype(int)
        )
        out[i] = np.where(alive, value * signs[i], 0.0)
    return out


def adversarial(rng, prec, count, exponents=(-60, 60), lowest=-900):
    """Planes ``(1, N, count)`` of normalised numbers made to break expansion arithmetic.

    Per limb the mantissa is random, a power of two, all ones, one with its last bit, or has few
    bits; the gap below it is none (an exact half ulp), 0 to 7, 40 to 60 or up to 400 bits; signs
    are equal, alternating or random; a quarter has zero limbs from some place on, and an eighth is
    dense and random.

    Args:
        rng: A numpy Generator.
        prec: The precision.
        count: How many numbers.
        exponents: Range of the leading exponents.
        lowest: No limb has an exponent below this.
    """
    p = precision(prec)
    if p.dtype.itemsize == 4:
        exponents, lowest = (max(exponents[0], -20), min(exponents[1], 20)), max(lowest, -120)
    first = rng.integers(exponents[0], exponents[1] + 1, count)
    return _tail(rng, prec, first, p.limbs, lowest).astype(p.dtype)[np.newaxis]


def second_operand(rng, prec, x, lowest=-900):
    """Planes like x: independent numbers, or x negated and spoilt in one of many ways.

    The ways: whole, truncated, shifted by limbs, a common prefix with a fresh tail, one limb
    changed by a unit in some bit, and the same exponents with other mantissas.
    """
    p = precision(prec)
    limbs, count = p.limbs, x.shape[2]
    own = x[0].astype(np.float64)
    spread = 20 if p.dtype.itemsize == 4 else 60
    near = adversarial(rng, prec, count, (-spread, spread), lowest)[0].astype(np.float64)
    exponent = np.frexp(own[0])[1] - 1
    reach = p.limb_bits * limbs + 8
    far_exponents = exponent - rng.integers(0, min(reach, 60 if spread == 20 else 400), count)
    far = _tail(
        rng,
        prec,
        np.maximum(far_exponents, max(lowest, -120) if spread == 20 else lowest),
        limbs,
        max(lowest, -120) if spread == 20 else lowest,
    )
    index = np.arange(limbs)[:, None]
    cut = rng.integers(0, limbs, count)
    truncated = np.where(index <= cut, -own, 0.0)
    shift = rng.integers(1, limbs + 1, count) if limbs > 1 else np.zeros(count, dtype=int)
    source = index + shift
    shifted = np.where(
        source < limbs, -np.take_along_axis(own, np.minimum(source, limbs - 1), 0), 0.0
    )
    head = np.where(index <= cut, own, 0.0)
    last = np.take_along_axis(own, cut[None], 0)[0]
    start = np.frexp(last)[1] - 1 - p.limb_bits - 1 - rng.integers(0, 3, count)
    fresh = _tail(
        rng,
        prec,
        np.where(last == 0, -2000, start),
        limbs,
        max(lowest, -120) if spread == 20 else lowest,
    )
    moved = np.take_along_axis(fresh, np.clip(index - cut - 1, 0, limbs - 1), 0)
    prefix = -np.where(index <= cut, head, moved)
    bit = rng.integers(0, p.limb_bits, count)
    unit = np.ldexp(1.0, (np.frexp(last)[1] - 1 - bit).astype(int)) * rng.choice([-1, 1, 2], count)
    changed = np.where((index == cut) & (last != 0), -own - unit, -own)
    other = np.ldexp(
        _mantissas(rng, count, p.limb_bits).astype(np.float64),
        (np.frexp(own)[1] - p.limb_bits).astype(int),
    ) * rng.choice([-1.0, 1.0], own.shape)
    other = np.where(own == 0, 0.0, other)
    ways = [near, far, -own, truncated, shifted, prefix, changed, other, near, far]
    y = np.choose(rng.integers(0, len(ways), count), ways).astype(p.dtype)[np.newaxis]
    # Some changes break the rule of half an ulp; the plain negative takes their place.
    return np.where(is_normalised(y), y, -x)
