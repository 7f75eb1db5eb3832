# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of the schemes: operands that are hard to multiply, and their promise."""

from __future__ import annotations

import itertools

import numpy as np

import mdla
from tests.oracle import (
    assert_close,
    assert_normalised,
    assert_same_bits,
    exact_abs_matmul,
    exact_matmul,
)
from tests.registry import adversarial

#: What every scheme is tested with: one limb (as the check of the generic code), dd, qd, od, hd.
PRECS = ["d", "dd", "qd", "od", "hd"]


def random(rng, shape, prec, complex=False):
    """Entries in (-1, 1), all limbs filled."""
    a = mdla.random.uniform(shape, prec=prec, rng=rng) * 2 - 1
    return a + random(rng, shape, prec) * 1j if complex else a


def hostile(rng, shape, prec, exponents=(-9, 9)):
    planes = adversarial(rng, prec, int(np.prod(shape)), exponents)
    return mdla.MDArray(planes.reshape(*planes.shape[:2], *shape))


def powers(rng, shape, low, high):
    return 2.0 ** rng.integers(low, high, shape).astype(float)


def _room(prec):
    """Products of numbers above 2**-room keep all their limbs."""
    return 1000 - 53 * mdla.precision(prec).limbs


def _scaled_lanes(rng, a, b, prec):
    """Rows and columns times 2**(+-400), or as far as the last limbs allow."""
    far = min(400, _room(prec) // 2)
    rows, columns = (far * rng.choice([-1.0, 0, 1], n) for n in (len(a), b.shape[1]))
    return a * (2.0**rows)[:, np.newaxis], b * 2.0**columns


def _cancelling(rng, a, b, prec):
    """Sums far smaller than their terms."""
    tiny = random(rng, b.shape, prec) * 2.0**-70
    return mdla.concatenate([a, a], axis=1), mdla.concatenate([b, tiny - b])


def _graded(bits):
    """Columns of A times 2**i and rows of B times 2**-i: all products are of one size."""

    def make(rng, a, b, prec):
        scale = 2.0 ** np.linspace(0, min(bits, _room(prec) // 2), a.shape[1]).round()
        order = rng.permutation(scale)
        return a * order, b * (1 / order)[:, np.newaxis]

    return make


_MAKERS = {
    "random": lambda rng, a, b, prec: (a, b),
    "adversarial": lambda rng, a, b, prec: (
        hostile(rng, a.shape, prec),
        hostile(rng, b.shape, prec),
    ),
    "adversarial, far apart": lambda rng, a, b, prec: (
        hostile(rng, a.shape, prec, (-70, 70)),
        hostile(rng, b.shape, prec, (-70, 70)),
    ),
    "rows and columns scaled": _scaled_lanes,
    "1e300 to 1e-300 in a row": lambda rng, a, b, prec: (
        a * powers(rng, a.shape, -_room(prec), 990),
        b,
    ),
    "1e300 to 1e-300 in a column": lambda rng, a, b, prec: (
        a,
        b * powers(rng, b.shape, -_room(prec), 990),
    ),
    "spread on both sides": lambda rng, a, b, prec: (
        a * powers(rng, a.shape, 0, 400),
        b * powers(rng, b.shape, 0, 400),
    ),
    "graded by 40 bits": _graded(40),
    "graded by 200 bits": _graded(200),
    "graded by 900 bits": _graded(900),
    "cancelling": _cancelling,
    "one limb": lambda rng, a, b, prec: tuple(mdla.array(x.to_numpy(), prec=prec) for x in (a, b)),
    "powers of two": lambda rng, a, b, prec: tuple(
        mdla.array(powers(rng, x.shape, -9, 9) * rng.choice([-1, 0, 1], x.shape), prec=prec)
        for x in (a, b)
    ),
}

#: The names of the hard operands, with every precision; floats do not reach as far as most do.
CASES = [
    (prec, case)
    for prec in [*PRECS, "td", "pd", "da", "ds"]
    for case in _MAKERS
    if prec != "ds" or case in ("random", "one limb", "powers of two")
]


def operands(name, rng, prec, shape=(4, 17, 3)):
    """A and B of a case."""
    m, k, n = shape
    return _MAKERS[name](rng, random(rng, (m, k), prec), random(rng, (k, n), prec), prec)


def check(c, a, b, prec):
    """The promise, for each part."""
    k = a.shape[-1]
    want, scale = exact_matmul(a, b), exact_abs_matmul(a, b)
    parts = [(c, want)]
    if c.iscomplex:
        parts = [
            (part, np.frompyfunc(lambda z, i=i: z[i], 1, 1)(want))
            for i, part in enumerate((c.real, c.imag))
        ]
    for part, exact in parts:
        assert_close(part, exact, prec, k, scale=scale)
    assert_normalised(c)


def check_special_values(scheme, prec, rng):
    """Inf and nan as IEEE says, in their rows and columns only."""
    a, b = random(rng, (6, 9), prec), random(rng, (9, 7), prec)
    plain = mdla.matmul(a, b, scheme=scheme)
    a[2, 3], a[2, 5], b[1, 4], b[3, 1] = np.inf, -np.inf, np.nan, 0
    with np.errstate(invalid="ignore"):
        want = a.planes[0, 0] @ b.planes[0, 0]
    got = mdla.matmul(a, b, scheme=scheme)
    touched = np.zeros(want.shape, bool)
    touched[2], touched[:, 4] = True, True
    np.testing.assert_array_equal(got.planes[0, 0][touched], want[touched])
    assert not got.planes[0, 1:][:, touched].any()
    touched[:, 1] = True  # an entry of this column was changed
    rest = (slice(None), slice(None), ~touched)
    np.testing.assert_array_equal(got.planes[rest], plain.planes[rest])


def check_ends_of_the_range(scheme, prec):
    """Overflow gives infinity without a tail, subnormal entries are entries."""
    a = mdla.array([[1e200, 1], [1, 1e-200], [5e-324, 2.0**-1060]], prec=prec)
    c = mdla.matmul(a, [[1e200, 0], [0, 1]], scheme=scheme)
    want = [[np.inf, 1], [1e200, 1e-200], [5e-324 * 1e200, 2.0**-1060]]
    np.testing.assert_array_equal(c.planes[0, 0], want)
    assert not c.planes[0, 1:, 0, 0].any()
    big = random(np.random.default_rng(1), (3, 5), prec) * 2.0**900
    c = mdla.matmul(big, big.T, scheme=scheme)
    assert np.isinf(c.planes[0, 0]).all()
    assert not c.planes[0, 1:].any()
    tiny = big * 2.0**-1800
    assert not mdla.matmul(tiny, tiny.T, scheme=scheme).planes.any()
    huge = mdla.array([[2.0**1023, 2.0**1023]], prec=prec)
    assert mdla.matmul(huge, [[1], [1]], scheme=scheme).item() == np.inf
    assert mdla.matmul(huge, [[1], [-1]], scheme=scheme).item() == 0
    assert mdla.matmul(huge, [[0.5], [0.25]], scheme=scheme).item() == 1.5 * 2.0**1022


def check_shapes(scheme, rng):
    """NumPy's rules, k = 0 and empty operands included; small integers are exact."""
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((0, 2, 3), (3, 0)),
        ((0, 2, 3), (3, 4)),
    ]
    for (left, right), p, q in itertools.product(shapes, (False, True), (False, True)):
        x, y = (
            rng.integers(-9, 10, shape) + (1j * rng.integers(-9, 10, shape) if c else 0)
            for shape, c in ((left, p), (right, q))
        )
        got = mdla.matmul(mdla.array(x, prec="dd"), mdla.array(y, prec="dd"), scheme=scheme)
        assert got.iscomplex == (p or q)
        np.testing.assert_array_equal(got.to_numpy(), x @ y)


def check_batches(scheme, rng, **options):
    """Each product of a batch has the bits that it has alone, hard ones beside easy ones."""
    a, b = random(rng, (2, 3, 5, 11), "dd"), random(rng, (3, 11, 4), "dd")
    a[0, 1] = a[0, 1] * powers(rng, (5, 11), -30, 1)
    a[1, 0, 3] = a[1, 0, 3] * powers(rng, 11, -400, 400)
    a[1, 2, 1, 1] = np.inf
    c = mdla.matmul(a, b, scheme=scheme, **options)
    for i, j in itertools.product(range(2), range(3)):
        assert_same_bits(c[i, j], mdla.matmul(a[i, j], b[j], scheme=scheme, **options))


def check_lanes_stay_apart(scheme, rng):
    """Rows and columns that spread too far change no bit of the others."""
    for hard_row, hard_column in [(True, False), (False, True), (True, True)]:
        a, b = random(rng, (5, 30), "qd"), random(rng, (30, 6), "qd")
        plain = mdla.matmul(a, b, scheme=scheme)
        rows, columns = np.ones(5, bool), np.ones(6, bool)
        if hard_row:
            a[1] = a[1] * powers(rng, 30, -600, 600)
            rows[1] = False
        if hard_column:
            b[:, 2] = b[:, 2] * powers(rng, 30, -600, 300)
            columns[2] = False
        c = mdla.matmul(a, b, scheme=scheme)
        check(c, a, b, "qd")
        yield plain[rows][:, columns], c[rows][:, columns]
