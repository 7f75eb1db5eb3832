# SPDX-License-Identifier: BSD-3-Clause
"""Products, norms and linear algebra, called through NumPy's functions and as mdla's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdla
from tests.oracle import assert_close, assert_same_bits


def test_functions_keep_all_limbs(prec):
    a = mdla.array([["1/3", 2], [-4, "1/7"]], prec=prec)
    calls = {
        "sum": lambda m: m.sum(a),
        "prod": lambda m: m.prod(a, axis=0),
        "mean": lambda m: m.mean(a, 1, keepdims=True),
        "var": lambda m: m.var(a, ddof=1),
        "min": lambda m: m.min(a, axis=1),
        "cumsum": lambda m: m.cumsum(a, 1),
        "concatenate": lambda m: m.concatenate([a, a], axis=1),
        "stack": lambda m: m.stack((a, a)),
        "where": lambda m: m.where(a > 0, a, 0),
        "dot": lambda m: m.dot(a[0], a[1]),
        "vdot": lambda m: m.vdot(a, a),
        "outer": lambda m: m.outer(a[0], a[1]),
        "kron": lambda m: m.kron(a, a),
        "trace": lambda m: m.trace(a),
        "sort": lambda m: m.sort(a, axis=0),
        "clip": lambda m: m.clip(a, 0, 1),
        "triu": lambda m: m.triu(a),
        "reshape": lambda m: m.reshape(a, (4, 1)),
        "diagonal": lambda m: m.diagonal(a),
        "round": lambda m: m.round(a),
        "ones_like": lambda m: m.ones_like(a),
        "real": lambda m: m.real(a),
    }
    for name, call in calls.items():
        got, want = call(np), call(mdla)
        assert isinstance(got, mdla.MDArray), name
        assert got.prec == prec, name
        assert_same_bits(got, want)


def test_matrix_products(prec, rng):
    x, y = rng.integers(-5, 6, (3, 4)).astype(float), rng.integers(-5, 6, (4, 2)).astype(float)
    a, b = mdla.array(x, prec=prec), mdla.array(y, prec=prec)
    for got, want in [
        (a @ b, x @ y),
        (np.matmul(a, b), x @ y),
        (x @ b, x @ y),
        (a @ y, x @ y),
        (np.dot(a, b), x @ y),
        (a.dot(b), x @ y),
        (a @ b[:, 0], x @ y[:, 0]),
        (a[0] @ b, x[0] @ y),
        (a[0] @ b[:, 1], x[0] @ y[:, 1]),
        (np.inner(a, b.T), np.inner(x, y.T)),
        (np.inner(a[0], b[:, 0]), np.inner(x[0], y[:, 0])),
        (np.tensordot(a, b, 1), np.tensordot(x, y, 1)),
        (np.tensordot(a, a), np.tensordot(x, x)),
        (np.tensordot(a, b, ((1,), (0,))), np.tensordot(x, y, ((1,), (0,)))),
        (mdla.tensordot(a, b, 0), np.tensordot(x, y, 0)),
        (np.dot(a, 2), x * 2),
        (mdla.dot(a, mdla.stack([b, b])), np.dot(x, np.stack([y, y]))),
        (np.kron(a, b), np.kron(x, y)),
        (np.kron(a[0], b), np.kron(x[0], y)),
        (np.outer(a, b), np.outer(x, y)),
    ]:
        assert isinstance(got, mdla.MDArray)
        assert got.shape == np.shape(want)
        assert np.array_equal(got.to_numpy(), want)
    c = a.copy()
    c @= mdla.eye(4, prec=prec)
    assert np.array_equal(c.to_numpy(), x)


def test_conjugation_in_products(prec):
    z, w = mdla.array([1 + 2j, 3 - 1j], prec=prec), mdla.array([2 - 1j, 1j], prec=prec)
    x, y = z.to_numpy(), w.to_numpy()
    assert complex(np.vdot(z, w)) == np.vdot(x, y)
    assert complex(np.dot(z, w)) == np.dot(x, y)
    assert complex(np.inner(z, w)) == np.inner(x, y)
    assert complex(mdla.vecdot(z, w)) == np.vecdot(x, y)
    assert np.vdot(z, z).imag == 0
    with pytest.raises(ValueError, match="2 and 3"):
        mdla.dot(z, mdla.ones(3))
    with pytest.raises(ValueError, match="different lengths"):
        mdla.tensordot(z, mdla.ones(3), 1)


def test_norms(prec, rng):
    x = rng.integers(-5, 6, (3, 4)).astype(float)
    a = mdla.array(x, prec=prec)
    for order in (None, "fro", 1, -1, math.inf, -math.inf):
        assert np.isclose(float(np.linalg.norm(a, order)), np.linalg.norm(x, order))
        got = mdla.norm(a, order, keepdims=True)
        assert got.shape == (1, 1)
    for order in (None, 0, 1, 2, math.inf, -math.inf):
        for axis in (0, 1):
            got = np.linalg.norm(a, order, axis=axis)
            assert np.allclose(got.to_numpy(), np.linalg.norm(x, order, axis=axis))
    assert np.isclose(float(mdla.norm(a[0], 1)), np.linalg.norm(x[0], 1))
    assert mdla.norm(mdla.array([3, 4j], prec=prec)).iscomplex is False
    assert_close(mdla.norm(mdla.array([3, 4j], prec=prec)), 5, prec, 2)
    stacked = mdla.norm(mdla.stack([a, 2 * a]), 1, axis=(1, 2))
    assert np.allclose(stacked.to_numpy(), np.linalg.norm(x, 1) * np.array([1, 2]))
    with pytest.raises(ValueError, match="unknown matrix norm"):
        mdla.norm(a, 3)
    with pytest.raises(ValueError, match="unknown vector norm"):
        mdla.norm(a[0], "fro")
    with pytest.raises(ValueError, match="one or two axes"):
        mdla.norm(mdla.ones((2, 2, 2)), 1)


def test_linear_algebra_through_numpy(prec):
    a = mdla.array([["1/3", 2], [3, "1/7"]], prec=prec)
    b = mdla.array(["1/5", 1], prec=prec)
    q, r = np.linalg.qr(a)
    x = np.linalg.solve(a, b)
    least, *_ = np.linalg.lstsq(a, b)
    for value in (q, r, x, least):
        assert isinstance(value, mdla.MDArray)
        assert value.prec == prec
    scale = 100 * float(mdla.finfo(prec).eps)
    assert float(abs(q @ r - a).max()) < scale
    assert float(abs(a @ x - b).max()) < scale
    assert float(abs(least - x).max()) < scale
