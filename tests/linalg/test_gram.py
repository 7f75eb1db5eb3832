# SPDX-License-Identifier: BSD-3-Clause
"""QR of tall blocks by their Gram matrix: accuracy, conventions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.core.array import MDArray
from mdla.linalg import gram, householder, qr
from mdla.linalg.gram import gram_block
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import Exact, column_residual, orthogonality, root_of_ratio
from tests.oracle import assert_normalised, assert_same_bits, planes_of
from tests.registry import DOUBLE_PRECS


@pytest.fixture(params=DOUBLE_PRECS)
def prec(request):
    return request.param


@pytest.fixture
def forced(monkeypatch):
    """Every block of at least two columns that is twice as tall is tried."""
    limbs = [mdla.precision(p).limbs for p in DOUBLE_PRECS]
    monkeypatch.setattr(householder, "_GRAM", dict.fromkeys(limbs, (2, 2)))
    monkeypatch.setattr(householder, "widths", lambda *_: (2, 4))
    monkeypatch.setattr(householder, "_NATIVE", dict.fromkeys(limbs, 2))
    monkeypatch.setattr(gram, "_LEAF", dict.fromkeys(limbs, 2))


def block(a):
    """V, T and R of a block; None if it is refused."""
    planes = a.planes.copy()
    m, w = a.shape
    v, t = (np.zeros((*planes.shape[:2], k, w)) for k in (m, w))
    if not gram_block(v, t, planes):
        assert not v.any()
        assert not t.any()
        assert np.array_equal(planes, a.planes, equal_nan=True)
        return None
    for p in (v, t, planes):
        assert_normalised(MDArray(p))
    return v, t, planes


def by_columns(a):
    """The same by reflections, column by column."""
    planes = a.planes.copy()
    m, w = a.shape
    v, t = (np.zeros((*planes.shape[:2], k, w)) for k in (m, w))
    _native.qr_block(v, t, planes, 4)
    return v, t, planes


def first_columns(v, t):
    """Those of I - V T V^H."""
    v, t = MDArray(v), MDArray(t)
    w = t.shape[0]
    return mdla.eye(*v.shape, prec=v.prec) - v @ (t @ v[:w].H)


def check(a, v, t, r, prec):
    w = a.shape[1]
    q = first_columns(v, t)
    assert column_residual(a, q, MDArray(r[:, :, :w]), prec) <= 10 * w
    assert orthogonality(q, prec) <= 10 * w
    # H is unitary: T + T^H = T^H V^H V T.
    v, t = Exact.of(MDArray(v)), Exact.of(MDArray(t))
    image = v @ t
    square = (image.H @ image) - t
    miss = square - t.H
    assert root_of_ratio(miss.norm_squared(), 1, mdla.finfo(prec).eps) <= 20 * w


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(2, 1), (6, 3), (24, 9)], ids=str)
def test_agrees_with_columns(shape, is_complex, prec, rng, forced):
    """V, T and R to rounding errors, signs and real diagonal included."""
    a = uniform(*shape, prec, is_complex, rng)
    found, want = block(a), by_columns(a)
    if found is None and prec == "hd":
        pytest.skip("too ill conditioned for no limb more")
    check(a, *found, prec)
    w = shape[1]
    eps = float(mdla.finfo(prec).eps)
    for x, y in zip(found, want, strict=True):
        difference = abs((MDArray(x) - MDArray(y)).to_numpy()).max()
        assert difference <= 1000 * w * eps
    r = found[2]
    assert not r[:, :, w:].any()
    assert not np.tril(r[:, :, :w], -1).any()
    assert not np.tril(found[1], -1).any()
    if is_complex:
        assert not np.diagonal(r[1], axis1=1, axis2=2).any()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family, is_complex, prec, rng, forced):
    """What is not refused is as exact as by reflections."""
    a = FAMILIES[family](20, 6, prec, is_complex, rng)
    found = block(a)
    if found is not None:
        check(a, *found, prec)
    q, r = qr(a)
    assert orthogonality(q, prec) <= 60
    if family not in ("scaled_columns", "scaled_rows", "small"):  # limbs below the range of doubles
        assert column_residual(a, q, r, prec) <= 60


@pytest.mark.parametrize("exponent", [-10, -26, -50, -70, -98, -130, -200])
def test_nearly_dependent_columns(exponent, prec, rng, forced):
    """Columns that agree to that many bits: exact whatever the test says, refused if hopeless."""
    for is_complex in (False, True):
        a = uniform(24, 8, prec, is_complex, rng).copy()
        noise = uniform(24, 4, prec, is_complex, rng)
        a[:, 4:] = a[:, :4] + mdla.ldexp(noise, exponent)
        found = block(a)
        bits = -mdla.precision(prec).eps_exponent
        if found is not None:
            check(a, *found, prec)
            assert -exponent < bits
        elif prec not in ("da", "hd"):
            # One limb more suffices for the square of the condition number, times 2^18 or so.
            assert -2 * exponent > 52 - 20
        q, r = qr(a)
        assert orthogonality(q, prec) <= 80
        assert column_residual(a, q, r, prec) <= 80


def test_refusals(prec, rng, forced):
    """Dependent columns, zeros, extreme exponents, infinities: left to reflections."""
    good = uniform(16, 4, prec, False, rng)
    cases = {name: good.copy() for name in ("twice", "zero", "huge", "tiny", "inf", "nan", "done")}
    cases["twice"][:, 2] = cases["twice"][:, 1]
    cases["zero"][:, 3] = 0
    cases["huge"][:, 1] = mdla.ldexp(good[:, 1], 900)
    cases["tiny"][:, 1] = mdla.ldexp(good[:, 1], -300)
    cases["inf"][9, 1] = np.inf
    cases["nan"][0, 0] = np.nan
    cases["done"][4:, 2] = 0  # may need no reflector
    for name, a in cases.items():
        assert block(a) is None, name


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_zero_counts_as_positive(is_complex, prec):
    for zero in (0.0, -0.0):
        a = mdla.array([[zero, 1], [1, 2], [0, 3], [1, 1j if is_complex else 1]], prec=prec)
        r = block(a)[2]
        assert r[0, 0, 0, 0] < 0


def test_one_whole_matrix_with_wide_blocks(rng, monkeypatch):
    """The leaf takes part in a factorisation of ordinary widths."""
    calls = []

    def counted(v, t, a):
        calls.append(gram_block(v, t, a))
        return calls[-1]

    monkeypatch.setattr(householder, "gram_block", counted)
    a = uniform(200, 40, "od", False, rng)
    monkeypatch.setitem(householder._GRAM, 8, (16, 2))
    q, r = qr(a)
    assert calls
    assert all(calls)
    eps = mdla.finfo("od").eps
    wide = [x.astype("hd") for x in (a, q, r)]
    assert mdla.norm(wide[0] - wide[1] @ wide[2]) <= 400 * eps * mdla.norm(a)
    assert mdla.norm(wide[1].T @ wide[1] - mdla.eye(40, prec="hd")) <= 400 * eps


def test_same_bits_on_all_threads(rng):
    a = uniform(300, 48, "qd", False, rng)
    want = block(a)
    for threads in (1, 2, 3):
        _native.set_num_threads(threads)
        for x, y in zip(block(a), want, strict=True):
            assert_same_bits(MDArray(x), MDArray(y))


def test_signed_elimination(prec, rng):
    """A - S = L U with pivots of at least one in size."""
    for is_complex in (False, True):
        for n in (1, 7, 20):
            q = qr(uniform(n + 3, n, prec, is_complex, rng)).Q[:n]
            factors = q.planes.copy()
            signs = _native.signed_lu_leaf(factors)
            lower = mdla.tril(MDArray(factors), -1) + mdla.eye(n, prec=prec)
            upper = mdla.triu(MDArray(factors))
            s = np.diag(np.array(signs, dtype=float))
            miss = (Exact.of(q) - Exact.of(mdla.array(s, prec=prec))) - (
                Exact.of(lower) @ Exact.of(upper)
            )
            assert set(signs) <= {-1, 1}
            eps = mdla.finfo(prec).eps
            assert root_of_ratio(miss.norm_squared(), 1, eps) <= 10 * n
            real = np.diagonal(planes_of(upper)[0, 0].astype(float))
            assert (np.sign(real) == -np.array(signs)).all()
            assert (abs(real) >= 1).all()
