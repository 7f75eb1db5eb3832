# SPDX-License-Identifier: BSD-3-Clause
"""Sums that overflow on the way to a finite result, and factors that are conjugated once only."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits

SCHEMES = ["auto", "direct", "crt", "slices", "quartered"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("parts", [1, 2])
def test_large_terms_may_cancel(scheme, parts, prec):
    factor = 1 if parts == 1 else 1j
    a = mdla.array([[1e200, 1e200, 1], [1, 2, 3]], prec=prec) * mdla.array(factor, prec=prec)
    b = mdla.array([[1e200, 1], [-1e200, 1], [3, 1]], prec=prec)
    if prec == "ds":
        pytest.skip("1e200 is no number of this format")
    product = mdla.matmul(a, b, scheme=scheme)
    assert mdla.isfinite(product).all()
    assert mdla.abs(product[0, 0]) <= 3
    assert (mdla.abs(product[:, 1]) >= 5).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_overflows_is_infinite(scheme):
    a = mdla.array([[1e200, 1e200], [np.inf, 1]], prec="qd")
    product = mdla.matmul(a, mdla.array([[1e200, -1e200], [1e200, 1]], prec="qd"), scheme=scheme)
    assert product[0, 0] == np.inf
    assert product[1, 0] == np.inf
    assert product[1, 1] == -np.inf


def test_far_tiles_of_large_entries(rng):
    """The same without the row that makes the tiles far."""
    a = mdla.ldexp(mdla.ones((40, 40), prec="dd"), 600)
    signs = np.where(np.arange(40) % 2, -1.0, 1.0)[:, np.newaxis]
    b = a * mdla.array(signs, prec="dd")
    a[0, 1:] = 2.0**-1000
    b[0, 1] = 2.0**-1000
    assert (mdla.matmul(a, b, scheme="crt")[1:, 2:] == 0).all()


def test_adjoints_in_batches_with_several_kernels():
    a = mdla.ones((2, 20, 20), prec="dd") * 1j
    a[0, 0, 1:] = 2.0**-200
    a[0, 1:, 0] = 2.0**-200
    b = mdla.ones((2, 20, 20), prec="dd") * (1 + 0j)
    b[0, 0] = 2.0**-300
    product = mdla.matmul(mdla.gemm.adjoint(a), b)
    assert product[1, 0, 0] == -20j
    assert_same_bits(product, mdla.matmul(a.mT.conj(), b))


@pytest.mark.parametrize("scheme", ["slices", "quartered"])
def test_adjoints_with_lanes_left_to_the_direct_scheme(scheme, rng):
    a = mdla.array(rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6)), prec="dd")
    a[0] *= 2.0 ** -np.arange(0, 1200, 200.0)
    a[:, 0] *= 2.0 ** -np.arange(0, 1200, 200.0)
    product = mdla.matmul(mdla.gemm.adjoint(a), a, scheme=scheme)
    assert_same_bits(product, mdla.matmul(a.H, a, scheme=scheme))


def test_simulated_engines_take_what_others_take():
    a = mdla.array([[np.nan, 1], [1, 2.0]], prec="dd")
    for tune in ("fixed", "machine"):
        product = mdla.matmul(a, a, scheme="crt", engine="fp8-simulated", tune=tune)
        assert_same_bits(product, mdla.matmul(a, a, scheme="crt", engine="int8-portable"))


def test_factors_of_updates_have_the_format_of_the_array(rng):
    """Whether or not memory is shared."""
    a = mdla.random.uniform((8, 8), prec="d", rng=rng) - 0.5
    shared, apart = a.copy(), a.copy()
    mdla.gemm.update(shared, shared, a, alpha=0.1, scheme="crt")
    mdla.gemm.update(apart, a, a, alpha=0.1, scheme="crt")
    assert_same_bits(shared, apart)
