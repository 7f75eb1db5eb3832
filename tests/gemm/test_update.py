# SPDX-License-Identifier: BSD-3-Clause
"""mdla.gemm.update: alpha A B + beta C in place, by every scheme."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits

SCHEMES = ["crt", "direct"]


def random(rng, shape, prec, complex=False):
    a = mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5
    return a + (mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5) * 1j if complex else a


def operands(rng, prec, complex=False):
    return tuple(random(rng, s, prec, complex) for s in ((37, 40), (40, 70), (37, 70)))


def expected(a, b, c, alpha, beta, scheme):
    """The same by whole arrays; factors as arrays, so that they are multiplied limb by limb."""
    product = mdla.matmul(a, b, scheme=scheme)
    scaled = {1: product, -1: -product}.get(alpha)
    if scaled is None:
        scaled = mdla.array(alpha, prec=a.prec) * product
    if beta == 0:
        return scaled
    return scaled + (c if beta == 1 else mdla.array(beta, prec=a.prec) * c)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (-1, 1), (1, 0), ("0.1", 1), (-1, "0.7")])
def test_bits_are_those_of_separate_steps(rng, scheme, prec, complex, alpha, beta):
    a, b, c = operands(rng, prec, complex)
    factors = [mdla.array(x, prec=prec) if isinstance(x, str) else x for x in (alpha, beta)]
    got = c.copy()
    mdla.gemm.update(got, a, b, *factors, scheme=scheme)
    assert_same_bits(got, expected(a, b, c, alpha, beta, scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("alpha", [1, -1, 2])
@pytest.mark.parametrize("beta", [0, 1, 3])
def test_inf_and_nan(rng, scheme, alpha, beta):
    """They reach their rows and columns, and leave the rest as it would be without them."""
    a, b, c = operands(rng, "dd")
    want = c.copy()
    mdla.gemm.update(want, a, b, alpha, beta, scheme=scheme)
    a[3, 5], b[2, 9] = np.nan, -np.inf
    got = c.copy()
    mdla.gemm.update(got, a, b, alpha, beta, scheme=scheme)
    rows, columns = np.arange(37) != 3, np.arange(70) != 9
    assert not np.isfinite(got.planes[0, 0][~rows]).any()
    assert not np.isfinite(got.planes[0, 0][:, ~columns]).any()
    assert_same_bits(got[rows][:, columns], want[rows][:, columns])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_views_and_aliases(rng, scheme):
    a, b, c = operands(rng, "qd")
    want = c.copy()
    mdla.gemm.update(want, a, b, -1, 1, scheme=scheme)
    target = mdla.zeros((70, 37), prec="qd")
    target[...] = c.T
    mdla.gemm.update(target.T, a, b, -1, 1, scheme=scheme)
    assert_same_bits(target.T, want)
    square = random(rng, (40, 40), "qd")
    want = square + mdla.matmul(square, square, scheme=scheme)
    mdla.gemm.update(square, square, square, scheme=scheme)
    assert_same_bits(square, want)


def test_old_entries_do_not_matter_with_beta_zero(rng):
    a, b, c = operands(rng, "dd")
    c[...] = np.nan
    mdla.gemm.update(c, a, b, beta=0, scheme="crt")
    assert_same_bits(c, mdla.matmul(a, b, scheme="crt"))


def test_bad_calls(rng):
    a, b, c = operands(rng, "dd")
    with pytest.raises(TypeError, match="must be an mdla array"):
        mdla.gemm.update(np.zeros((37, 70)), a, b)
    with pytest.raises(ValueError, match="has the shape"):
        mdla.gemm.update(c.T, a, b)
    with pytest.raises(ValueError, match="single number"):
        mdla.gemm.update(c, a, b, alpha=[1, 2])
    with pytest.raises(ValueError, match="complex and C is real"):
        mdla.gemm.update(c, a, b, alpha=1j)
