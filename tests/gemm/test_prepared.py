# SPDX-License-Identifier: BSD-3-Clause
"""Operands that are converted once: the same bits, on both sides, with any partner."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm.prepared import Prepared, prepare
from tests.gemm.residues import PRECS, check, each_engine, multiply
from tests.gemm.schemes import powers, random
from tests.oracle import assert_same_bits


@pytest.fixture
def conversions(monkeypatch):
    """The calls of the native conversion, as they come."""
    calls = []
    original = _native.residue_convert

    def convert(*args):
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(_native, "residue_convert", convert)
    return calls


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", [False, True])
def test_same_bits_on_both_sides(rng, prec, complex):
    a, b, c = (random(rng, shape, prec, complex) for shape in [(35, 20), (20, 33), (33, 35)])
    want, other = multiply(a, b), multiply(c, a)
    x, y, z = prepare(a), prepare(b), prepare(c)
    for _ in range(2):
        for left, right in [(x, b), (a, y), (x, y)]:
            assert_same_bits(multiply(left, right), want)
        for left, right in [(z, a), (c, x), (z, x)]:
            assert_same_bits(multiply(left, right), other)


def test_same_bits_by_every_engine(rng):
    """Residues that one engine made serve all others."""
    a, b = random(rng, (40, 70), "qd"), random(rng, (70, 37), "qd")
    want, x, y = multiply(a, b), prepare(a), prepare(b)
    for engine in each_engine():
        assert_same_bits(multiply(x, y, engine), want)


def test_converted_once(rng, conversions):
    a, x = random(rng, (33, 50), "dd"), prepare(random(rng, (50, 40), "dd"))
    for _ in range(3):
        multiply(a, x)
    assert sum(call[1] for call in conversions) == 1
    assert len(conversions) == 4
    for _ in range(2):  # its rows are something else
        multiply(x, random(rng, (40, 7), "dd"))
    assert len(conversions) == 4 + 3


def test_partners_that_need_more_bits(rng, conversions):
    """Of other precisions and spans: the bits are those of the plain product each time."""
    b = random(rng, (30, 20), "dd") * powers(rng, (30, 20), -8, 1)
    x = prepare(b)
    partners = [random(rng, (7, 30), "dd"), random(rng, (7, 30), "qd"), random(rng, (7, 30), "d")]
    partners += [partners[0] * powers(rng, (7, 30), -s, 1) for s in (20, 60, 200)]
    partners += [partners[0] + partners[0] * 1j]
    for _ in range(2):
        for a in partners:
            c = multiply(a, x)
            assert_same_bits(c, multiply(a, b))
            check(c, a, b)
    kept = len(conversions)
    for a in partners:
        multiply(a, x)
    # Nothing but the partners, of which the complex one counts for two, was converted again.
    assert len(conversions) - kept == len(partners) + 1


def test_batches(rng, conversions):
    a, x = random(rng, (3, 6, 20), "dd"), prepare(random(rng, (2, 1, 20, 9), "dd"))
    c = multiply(a, x)
    assert c.shape == (2, 3, 6, 9)
    assert_same_bits(c, multiply(a, x.array))
    conversions.clear()
    assert_same_bits(multiply(a, x), c)
    assert sum(call[1] for call in conversions) == 0


def test_direct_products_keep_nothing(rng):
    a = random(rng, (5, 4), "dd")
    x = prepare(a)
    assert_same_bits(mdla.matmul(x, a.T), a @ a.T)
    assert x.nbytes == 0
    multiply(x, a.T)
    assert x.nbytes > 0
    assert str(x.nbytes) in repr(x)
    assert "dd operand of shape (5, 4)" in repr(x)


def test_special_and_far_entries(rng):
    """What is repaired afterwards is repaired for prepared operands too."""
    a, b = random(rng, (70, 9), "dd"), random(rng, (9, 66), "dd")
    a[3, 2], b[4, 60] = np.inf, np.nan
    a[40, 1:] = a[40, 1:] * 2.0**-900
    b[0, 3] = b[0, 3] * 2.0**-900
    want = multiply(a, b)
    for left, right in [(prepare(a), b), (a, prepare(b)), (prepare(a), prepare(b))]:
        for _ in range(2):
            assert_same_bits(multiply(left, right), want)


def test_adjoints(rng):
    z, w = random(rng, (20, 33), "qd", True), random(rng, (20, 8), "qd", True)
    x = mdla.gemm.adjoint(z)
    assert x.shape == (33, 20)
    for right in (w, prepare(w), w.real):
        for _ in range(2):
            assert_same_bits(multiply(x, right), multiply(z.H.copy(), mdla_array(right)))
    twice = mdla.gemm.adjoint(x)
    assert_same_bits(multiply(twice, z.mT), multiply(z, z.mT))
    assert_same_bits(multiply(w.mT, mdla.gemm.adjoint(z.mT)), multiply(w.mT, z.conj()))
    real = random(rng, (9, 5), "dd")
    assert_same_bits(multiply(mdla.gemm.adjoint(real), real), multiply(real.T, real))
    with pytest.raises(ValueError, match="only matrices have an adjoint"):
        mdla.gemm.adjoint(mdla.ones(3, prec="dd"))


def mdla_array(x):
    return x.array if isinstance(x, Prepared) else x


def test_what_can_be_prepared():
    x = prepare([[1, 2], [3, 4]], prec="qd")
    assert isinstance(x, Prepared)
    assert (x.array.prec, x.shape) == ("qd", (2, 2))
    assert prepare(x) is x
    assert prepare(x, prec="od").array.prec == "od"
    assert prepare(np.ones((2, 3)), prec="dd").array.prec == "dd"
    assert_same_bits(multiply(x, x), multiply(x.array, x.array))
    with pytest.raises(TypeError):
        prepare(object())


@pytest.mark.parametrize(("left", "right"), list(itertools.product(["d", "dd", "ds"], ["d", "qd"])))
def test_precisions(rng, left, right):
    a, b = random(rng, (6, 30), left), random(rng, (30, 7), right)
    want = multiply(a, b)
    for x, y in [(prepare(a), b), (a, prepare(b)), (prepare(a), prepare(b))]:
        assert_same_bits(multiply(x, y), want)
    got = multiply(prepare(a), prepare(b), prec="od")
    assert_same_bits(got, multiply(a, b, prec="od"))
