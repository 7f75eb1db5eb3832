# SPDX-License-Identifier: BSD-3-Clause
"""The operand survey: exponents, capped sums and tile spans against exact integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mdla import _native
from mdla.gemm.survey import Survey, least_sum, survey
from tests.registry import THREADS, each_level
from tests.test_native_fuzz import guarded

ZERO, SPECIAL = _native.zero_lane, _native.special_lane
UNITS = 2**_native.survey_bits
TINY, HUGE = 5e-324, np.finfo(float).max
# Around the vectors (2 to 16 numbers) and strips (16 to 64 lanes) of all instruction sets.
SHAPES = [(1, 1), (2, 17), (3, 5), (5, 66), (8, 1), (9, 31), (16, 2), (17, 33), (66, 7), (131, 9)]


def _signs(rng, shape):
    return rng.choice([-1.0, 1.0], shape)


def _wide(rng, shape):
    """Entries of 1e-300 to 1e300 within a lane."""
    return 10.0 ** rng.uniform(-300, 300, shape) * _signs(rng, shape)


def _subnormal(rng, shape):
    return rng.integers(-(2**20), 2**20, shape) * TINY


def _least_normal(rng, shape):
    """Lanes on both sides of where the fast path gives up, with subnormal entries."""
    top = np.ldexp(1.0, rng.integers(-1030, -990, (shape[0], 1)))
    return np.where(
        rng.random(shape) < 0.5, top * rng.uniform(-1, 1, shape), _subnormal(rng, shape)
    )


def _extreme(rng, shape):
    return rng.choice([HUGE, -HUGE, HUGE / 2, 1.0, 2.0**-1022, TINY, -TINY, 0.0], shape)


def _constant(rng, shape):
    """Lanes of one number: at a power of two, just below it, at a cap, a unit below one."""
    values = [1.0, 1 - 2.0**-53, -0.75, 0.5 - 1 / UNITS, 3e5]
    return np.broadcast_to(rng.choice(values, (shape[0], 1)), shape).copy()


def _sparse(rng, shape):
    return np.where(rng.random(shape) < 0.1, rng.standard_normal(shape), 0.0)


def _special(rng, shape):
    x = rng.standard_normal(shape)
    x[rng.random(shape) < 0.02] = np.inf
    x[rng.random(shape) < 0.02] = -np.nan
    x[rng.random(shape[0]) < 0.3] = 0
    return x


MAKERS = [
    lambda rng, shape: rng.uniform(-1, 1, shape),
    lambda rng, shape: rng.standard_normal(shape),
    _wide,
    _subnormal,
    _least_normal,
    _extreme,
    _constant,
    _sparse,
    _special,
]


def exact_lane(x):
    """Exponent and exact capped sums, as the definition has them."""
    if not all(map(math.isfinite, x)):
        return SPECIAL, None
    most = max(map(abs, x), default=0.0)
    if most == 0:
        return ZERO, None
    _, exponent = math.frexp(most)
    scale = Fraction(2) ** -exponent
    sums = []
    for cap in map(Fraction, _native.survey_caps):
        terms = (min(abs(Fraction(v)) * scale, cap) for v in x)
        sums.append(Fraction(sum(t * UNITS // 1 for t in terms), UNITS) / cap)
    return exponent, sums


def exact_survey(x):
    lanes = [exact_lane(row.tolist()) for row in x]
    regular = [sums for _, sums in lanes if sums]
    if not regular:
        return [e for e, _ in lanes], [math.inf] * len(_native.survey_caps)
    return [e for e, _ in lanes], [min(column) for column in zip(*regular, strict=True)]


def layouts(x):
    """The same values behind all kinds of strides."""
    sliced = np.full((2 * x.shape[0], 3 * x.shape[1] + 1), np.nan)
    sliced[::2, 1::3] = x
    return {
        "rows": x,
        "columns": np.asfortranarray(x),
        "sliced": sliced[::2, 1::3],
        "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "wide rows": np.hstack([x, np.full((x.shape[0], 5), np.nan)])[:, : x.shape[1]],
        "wide columns": np.hstack([x.T, np.full((x.shape[1], 5), np.nan)])[:, : x.shape[0]].T,
    }


def assert_survey(found, want):
    exponents, capped = want
    assert found.exponents.tolist() == exponents
    assert [c if c == math.inf else Fraction(c) for c in found.capped] == capped


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_survey_is_exact_everywhere(rng, make, shape):
    """Every layout and instruction set agrees with the definition."""
    x = make(rng, shape)
    want = exact_survey(x)
    for behind in layouts(x).values():
        for _level in each_level():
            assert_survey(survey(behind), want)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (40, 0)])
def test_empty_operands(shape):
    s = survey(np.empty(shape))
    assert s.exponents.tolist() == [ZERO] * shape[0]
    assert s.capped == (math.inf,) * len(_native.survey_caps)
    assert s.steps == shape[1]


def test_each_cap_has_its_own_least_lane():
    """A few large entries are less than many small ones, or more where those are cut off less."""
    few, many = np.zeros(64), np.full(64, 2.0**-6)
    few[:4], many[0] = 0.75, 0.75
    few, many, both = (survey(np.stack(x)).capped for x in ([few], [many], [few, many]))
    assert few == (4.0,) * len(few)
    assert both == (many[0], *few[1:])
    assert many[0] < 4 < many[1]


def test_every_lane_can_be_the_least(rng):
    """In any place of a vector; its entries reach far below the last unit that is counted."""
    lane = rng.uniform(0.5, 1, 33) * 2.0 ** -np.arange(0, 66, 2)
    want = exact_lane(lane.tolist())[1]
    for place in range(70):
        x = np.ones((70, 33))
        x[place] = rng.permutation(lane)
        for behind in (x, np.asfortranarray(x)):
            for _level in each_level():
                assert survey(behind).capped == tuple(map(float, want))


@pytest.mark.parametrize("exponent", range(-1010, -994))
def test_where_subnormal_entries_begin_to_count(rng, exponent):
    entries = [0.0, TINY, 2.0**-1022, np.nextafter(2.0**-1022, 0), 2.0**-1021, 2.0**-1030]
    lane = np.append(np.ldexp(0.75, exponent), rng.choice(entries, 40))
    x = np.tile(lane, (40, 1))
    want = exact_survey(x)
    assert want[0] == [exponent] * 40
    for behind in (x, np.asfortranarray(x)):
        for _level in each_level():
            assert_survey(survey(behind), want)


@pytest.mark.parametrize("shape", [(3, 300_001), (70, 20_001), (20, 4097), (700, 701)])
@pytest.mark.parametrize("constant", [False, True])
def test_long_lanes_and_many_lanes(rng, shape, constant):
    """Longer than the work space of any kernel and than 32-bit sums, and enough for threads."""
    x = np.full(shape, 0.75) if constant else rng.standard_normal(shape)
    exponents = np.frexp(np.abs(x).max(axis=1))[1]
    units = np.floor(np.ldexp(np.abs(x), _native.survey_bits - exponents[:, np.newaxis]))
    sums = [
        np.minimum(units, c * UNITS).sum(axis=1).min() / (c * UNITS) for c in _native.survey_caps
    ]
    for behind in (x, np.asfortranarray(x)):
        for _level in each_level():
            for threads in THREADS:
                _native.set_num_threads(threads)
                assert_survey(survey(behind), (exponents.tolist(), sums))


# -- the bound of sums ---------------------------------------------------------------------------


def exact_least_sum(a, b, x, y):
    """The least sum over regular lanes of numbers whose tails make them as small as they can be."""
    tail = (1 - Fraction(1, 2**53)) ** 2
    rows = [
        [abs(Fraction(v)) / Fraction(2) ** int(e) for v in lane]
        for lane, e in zip(a.tolist(), x.exponents, strict=True)
        if e not in (ZERO, SPECIAL)
    ]
    columns = [
        [abs(Fraction(v)) / Fraction(2) ** int(e) for v in lane]
        for lane, e in zip(b.T.tolist(), y.exponents, strict=True)
        if e not in (ZERO, SPECIAL)
    ]
    sums = (sum(map(Fraction.__mul__, r, c), Fraction(0)) for r in rows for c in columns)
    return min(sums, default=None), tail


@pytest.mark.parametrize("left", MAKERS)
@pytest.mark.parametrize("right", MAKERS)
def test_least_sum_is_a_lower_bound(rng, left, right):
    for m, k, n in [(3, 1, 4), (5, 2, 3), (4, 17, 5), (6, 60, 6)]:
        a, b = left(rng, (m, k)), right(rng, (n, k)).T
        x, y = survey(a), survey(b.T)
        least, tail = exact_least_sum(a, b, x, y)
        bound = least_sum(x, y)
        if least is None:
            assert bound == math.inf
        else:
            assert 0 <= Fraction(bound) <= least * tail


@pytest.mark.parametrize("k", [1, 2, 17, 1024])
def test_least_sum_of_powers_of_two(k):
    """All entries at the first cap: the bound is the sum but for what tails may take."""
    x = survey(np.ones((3, k)))
    assert x.exponents.tolist() == [1, 1, 1]
    bound = Fraction(least_sum(x, x))
    assert Fraction(k, 4) * (1 - Fraction(1, 2**49)) < bound
    assert bound <= Fraction(k, 4) * (1 - Fraction(1, 2**53)) ** 2


@pytest.mark.parametrize("scale", [0.51, 0.75, 1.0])
@pytest.mark.parametrize("kind", ["uniform", "standard_normal"])
def test_least_sum_is_useful(rng, kind, scale):
    a, b = (getattr(rng, kind)(size=s) * scale for s in [(200, 1024), (1024, 200)])
    x, y = survey(a), survey(b.T)
    least = (
        np.ldexp(np.abs(a), -x.exponents[:, np.newaxis]) @ np.ldexp(np.abs(b), -y.exponents)
    ).min()
    assert least / 3 < least_sum(x, y) < least


def test_least_sum_of_what_does_not_meet(rng):
    a, b = np.zeros((4, 60)), np.zeros((60, 4))
    a[:, ::2] = rng.standard_normal((4, 30))
    b[1::2] = rng.standard_normal((30, 4))
    assert least_sum(survey(a), survey(b.T)) == 0.0


def test_least_sum_needs_lanes_of_one_length():
    with pytest.raises(ValueError, match="rows of 3 and columns of 4"):
        least_sum(survey(np.ones((2, 3))), survey(np.ones((2, 4))))


def test_surveys_are_values():
    s = survey(np.ones((2, 3)))
    assert isinstance(s, Survey)
    with pytest.raises(AttributeError):
        s.steps = 4


# -- spans of tiles ------------------------------------------------------------------------------

ABSENT = -(10**6)


def exponents_of(x):
    return np.where(np.isfinite(x) & (x != 0), np.frexp(x)[1], ABSENT)


def exact_spans(a, b, ea, eb, tile):
    e, f = exponents_of(a), exponents_of(b)
    most = np.full((a.shape[0], b.shape[1]), 2 * ABSENT)
    for k in range(a.shape[1]):
        np.maximum(most, e[:, k, np.newaxis] + f[k], out=most)
    regular = ~np.isin(ea, (ZERO, SPECIAL))[:, np.newaxis] & ~np.isin(eb, (ZERO, SPECIAL))
    spans = ea[:, np.newaxis].astype(np.int64) + eb - most
    spans[~regular | (most < ABSENT // 2)] = 0
    spans = np.pad(spans, [(0, -n % tile) for n in spans.shape])
    down, across = spans.shape[0] // tile, spans.shape[1] // tile
    return spans.reshape(down, tile, across, tile).max(axis=(1, 3), initial=0)


def assert_spans(a, b, tile=32):
    ea, eb = survey(a).exponents, survey(b.T).exponents
    want = exact_spans(a, b, ea, eb, tile)
    for x, y in zip(layouts(a).values(), layouts(b).values(), strict=True):
        for _level in each_level():
            found = _native.tile_spans(x, y, ea, eb, tile)
            assert found.dtype == np.int32
            np.testing.assert_array_equal(found, want)
    return want


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (33, 2, 31), (8, 17, 64), (70, 40, 130), (9, 300, 65)]
)
def test_tile_spans_are_exact(rng, make, shape):
    m, k, n = shape
    assert_spans(make(rng, (m, k)), make(rng, (n, k)).T)


@pytest.mark.parametrize("spread", [10, 60, 70, 130, 500])
def test_tile_spans_of_graded_entries(rng, spread):
    """Tiles that need bytes and tiles that need 16 bits side by side."""
    a, b = rng.standard_normal((100, 20)), rng.standard_normal((20, 150))
    a[40:] *= 2.0 ** rng.integers(-spread, spread + 1, a[40:].shape)
    b[:, 50:] *= 2.0 ** rng.integers(-spread, spread + 1, b[:, 50:].shape)
    a[:, rng.random(20) < 0.3] = 0
    want = assert_spans(a, b)
    assert spread < 130 or (want.min() < 63 and want.max() > 127)


@pytest.mark.parametrize(
    "span", [0, 1, 61, 62, 63, 64, 65, 125, 126, 127, 128, 254, 255, 256, 2000]
)
def test_span_of_a_known_tile(span):
    """One product at a chosen distance below the scales of its row and column."""
    half, rest = 2.0 ** -(span // 2), 2.0 ** -(span - span // 2)
    a, b = np.array([[1.0, 0.0, half]]), np.array([[0.0], [1.0], [rest]])
    assert assert_spans(a, b) == [[span]]
    assert assert_spans(a[:, ::-1].copy() * [[HUGE]], b[::-1].copy()) == [[span]]


def test_the_largest_span():
    a = np.array([[HUGE, 0.0, TINY]])
    assert assert_spans(a, a[:, [1, 0, 2]].T) == [[2 * (1024 + 1073)]]


def test_no_products_no_span(rng):
    a, b = np.zeros((40, 6)), np.zeros((6, 40))
    a[:, :3], b[3:] = _wide(rng, (40, 3)), _wide(rng, (3, 40))
    assert not assert_spans(a, b).any()
    b[0, 39] = b[3, 39]
    want = assert_spans(a, b)
    assert not want[:, 0].any()
    assert want[:, 1].all()


@pytest.mark.parametrize("tile", [8, 40, 64, 1000, 1 << 62])
def test_other_tiles(rng, tile):
    a, b = _wide(rng, (90, 3)), rng.standard_normal((3, 130))
    ea, eb = survey(a).exponents, survey(b.T).exponents
    small = min(tile, 1000)
    want = exact_spans(a, b, ea, eb, small)
    np.testing.assert_array_equal(_native.tile_spans(a, b, ea, eb, tile), want)


def test_more_results_than_a_block(rng):
    """More rows and columns than are kept at a time, split among threads in any way."""
    a, b = rng.standard_normal((1100, 5)), rng.standard_normal((5, 1090))
    a[500:] = _wide(rng, (600, 5))
    ea, eb = survey(a).exponents, survey(b.T).exponents
    want = exact_spans(a, b, ea, eb, 32)
    for threads in (1, 2, 3):
        _native.set_num_threads(threads)
        np.testing.assert_array_equal(_native.tile_spans(a, b, ea, eb, 32), want)


def test_long_inner_dimension(rng):
    k = 300_000
    a, b = rng.standard_normal((9, k)) * 2.0**-100, rng.standard_normal((k, 3)) * 2.0**-100
    a[:, -1], b[0] = 1, 1
    ea, eb = survey(a).exponents, survey(b.T).exponents
    want = 0
    for i in range(9):
        for j in range(3):
            most = (exponents_of(a[i]) + exponents_of(b[:, j])).max()
            want = max(want, ea[i] + eb[j] - most)
    assert _native.tile_spans(a, b, ea, eb, 32) == [[want]]
    assert want > 63


def test_exponents_above_those_of_the_lanes_count(rng):
    a, b = rng.standard_normal((40, 7)), rng.standard_normal((7, 40))
    ea, eb = survey(a).exponents, survey(b.T).exponents
    once = _native.tile_spans(a, b, ea, eb, 32)
    np.testing.assert_array_equal(_native.tile_spans(a, b, ea + 1, eb + 100, 32), once + 101)
    for wrong in (ea - 1, ea + 100_000, ea - 100_000):
        with pytest.raises(ValueError, match="exponents"):
            _native.tile_spans(a, b, wrong.astype(np.int32), eb, 32)


# -- bad calls -----------------------------------------------------------------------------------


def bad_calls():
    f, i = np.ones, lambda *shape: np.zeros(shape, np.int32)
    s, t = _native.survey, _native.tile_spans
    good = f((2, 3)), f((3, 4)), i(2), i(4)
    return [
        lambda: s(f(3), i(3)),
        lambda: s(f((2, 3, 4)), i(2)),
        lambda: s(f((2, 3), np.float32), i(2)),
        lambda: s(f((2, 3), int), i(2)),
        lambda: s(f((2, 3)).astype(">f8"), i(2)),
        lambda: s(f((2, 3)), i(3)),
        lambda: s(f((2, 3)), i(2, 1)),
        lambda: s(f((2, 3)), np.zeros(2, np.int64)),
        lambda: s(f((2, 3)), i(4)[::2]),
        lambda: s(f((2, 3)), np.broadcast_to(np.int32(0), 2)),
        lambda: s([[1.0]], i(1)),
        lambda: s(f((2, 3)), [0, 0]),
        lambda: t(f((2, 3)), f((4, 3)), i(2), i(3), 32),
        lambda: t(f((2, 3)), f(3), i(2), i(1), 32),
        lambda: t(good[0], good[1], i(3), i(4), 32),
        lambda: t(good[0], good[1], i(2), i(3), 32),
        lambda: t(good[0], good[1], f(2), f(4), 32),
        *(lambda tile=tile: t(*good, tile) for tile in (0, -32, 7, 33)),
        lambda: survey(f(3)),
        lambda: survey(f((2, 3), np.float32)),
    ]


@pytest.mark.parametrize("call", bad_calls())
def test_bad_calls_raise(call):
    with pytest.raises(ValueError, match=r"^(survey|tile_spans): "):
        call()


def test_nothing_is_read_or_written_beyond_the_ends(rng):
    """Arrays end at an unmapped page."""
    for _ in range(40):
        m, k, n = (int(v) for v in rng.choice([1, 2, 3, 7, 9, 15, 17, 33, 65], 3))
        a, b = guarded(_special(rng, (m, k))), guarded(_wide(rng, (n, k)))
        for _level in each_level():
            ea, eb = guarded(np.zeros(m, np.int32)), guarded(np.zeros(n, np.int32))
            _native.survey(a, ea)
            _native.survey(b, eb)
            _native.tile_spans(a, b.T, ea, eb, 32)
            across = guarded(np.zeros(k, np.int32))
            _native.survey(a.T, across)
            _native.tile_spans(a.T, a, across, across, 32)
