# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of the native kernels: operands, calls, and the check of the bound."""

from __future__ import annotations

import numpy as np

from mdla import _native
from mdla.core.precision import PRECISIONS
from tests.oracle import assert_close, assert_normalised, exact_abs_matmul, exact_matmul
from tests.registry import DOUBLE_PRECS, adversarial

LIMBS = {name: PRECISIONS[name].limbs for name in DOUBLE_PRECS}
# One more and one less than the tile of 8 x 24, and than a block of 64 packed values.
SHAPES = [
    (1, 1, 1),
    (3, 5, 2),
    (4, 63, 8),
    (8, 64, 24),
    (9, 65, 25),
    (17, 2, 7),
    (1, 130, 3),
    (2, 9, 50),
]
ENOUGH = _native.quick_span


def uniform(rng, prec, shape):
    """Planes (N, 1, *shape) of numbers whose limbs are all filled."""
    x = np.empty((LIMBS[prec], 1, *shape))
    x[0] = rng.uniform(-1, 1, x.shape[1:])
    for i in range(1, len(x)):
        x[i] = np.spacing(np.abs(x[i - 1])) * rng.uniform(-0.5, 0.5, x.shape[1:])
    return x


def hostile(rng, prec, shape, exponents=(-8, 8)):
    """Planes (N, 1, *shape) of adversarial numbers."""
    count = int(np.prod(shape))
    return adversarial(rng, prec, count, exponents)[0].reshape(LIMBS[prec], 1, *shape)


def multiply(a, b, kernel, digits=0):
    out = np.full((a.shape[0], a.shape[1], a.shape[2], b.shape[3]), np.nan)
    _native.matmul_direct(out, a, b, kernel, digits)
    return out


def by_integers(a, b):
    """The integer kernel with the digits that the span asks for."""
    return multiply(a, b, "integer", _native.digits_for(a.shape[0], span_of(a, b)))


def span_of(a, b, enough=ENOUGH):
    return max(_native.exponent_span(a, b, enough))


def suffices(a, b):
    return all(_native.mixed_suffices(a, b, a.shape[3]))


def exact_products(a, b):
    """Exact a b and |a| |b| of each item of the batch."""
    items = [
        (x[np.newaxis, :, i], y[np.newaxis, :, i]) for x, y in [(a, b)] for i in range(a.shape[1])
    ]
    return [(exact_matmul(x, y), exact_abs_matmul(x, y)) for x, y in items]


def check(out, a, b, prec, terms=None, exact=None):
    k = a.shape[3] if terms is None else terms
    for item, (want, scale) in enumerate(exact or exact_products(a, b)):
        result = out[np.newaxis, :, item]
        assert_close(result, want, prec, k, scale=scale)
        assert_normalised(result)
