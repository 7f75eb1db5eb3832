# SPDX-License-Identifier: BSD-3-Clause
"""Products of bytes: exact on every engine, for all shapes and layouts."""

from __future__ import annotations

import numpy as np
import pytest

from mdla import _native
from mdla.gemm.int8 import MOST_TERMS, int8_matmul
from tests.registry import THREADS, each_level

# Just off the tiles of 16 and 32, the 64 steps of a tile, and chunks and blocks of them.
SHAPES = [
    (1, 1, 1),
    (3, 0, 5),
    (0, 4, 3),
    (4, 3, 0),
    (31, 63, 33),
    (32, 64, 16),
    (33, 65, 47),
    (65, 2049, 17),
    (5, 70, 513),
    (40, 4097, 530),
]


def bytes_of(rng, shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_against_integers(rng, m, k, n):
    a, b = bytes_of(rng, (m, k)), bytes_of(rng, (k, n))
    want = a.astype(np.int64) @ b.astype(np.int64)
    padded = bytes_of(rng, (2 * m, 3 * k))
    padded[::2, ::3] = a
    layouts = [
        (a, b),
        (np.asfortranarray(a), np.asfortranarray(b)),
        (padded[::2, ::3], np.ascontiguousarray(b[:, ::-1])[:, ::-1]),
    ]
    for _level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            for x, y in layouts:
                got = int8_matmul(x, y)
                assert got.dtype == np.int32
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("value", [-128, 127])
def test_the_largest_sums(value):
    """The longest inner dimension of the largest products, of either sign."""
    a = np.full((2, MOST_TERMS), -128, np.int8)
    b = np.full((MOST_TERMS, 3), value, np.int8)
    for _level in each_level():
        np.testing.assert_array_equal(int8_matmul(a, b), np.full((2, 3), -128 * value * MOST_TERMS))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((2, 3)), np.ones((3, 2), np.int8)),
        (np.ones((2, 3), np.int8), np.ones((3, 2), np.uint8)),
        (np.ones((2, 3), np.int8), np.ones((4, 2), np.int8)),
        (np.ones((2, 3), np.int8), np.ones((1, 3, 2), np.int8)),
    ],
)
def test_other_arrays_are_refused(a, b):
    with pytest.raises(ValueError, match="int8 matrices"):
        int8_matmul(a, b)
