# SPDX-License-Identifier: BSD-3-Clause
"""Shape, joining, order: the same moves as NumPy's, on views where NumPy gives views."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits, exact
from tests.registry import PRECS, SHAPES, adversarial

X = np.arange(24.0).reshape(2, 3, 4)


def same(got, want, prec=None):
    assert isinstance(got, mdla.MDArray)
    assert got.shape == np.shape(want)
    assert np.array_equal(got.to_numpy(), want)
    assert prec is None or got.prec == prec


MOVES = [
    (np.reshape, (4, 6)),
    (np.reshape, (-1, 2)),
    (np.reshape, -1),
    (np.ravel,),
    (np.transpose,),
    (np.transpose, (2, 0, 1)),
    (np.swapaxes, 0, -1),
    (np.moveaxis, 0, -1),
    (np.moveaxis, (0, 1), (2, 0)),
    (np.matrix_transpose,),
    (np.expand_dims, 1),
    (np.expand_dims, (0, -1)),
    (np.broadcast_to, (5, 2, 3, 4)),
    (np.atleast_1d,),
    (np.atleast_2d,),
    (np.flip,),
    (np.flip, 1),
    (np.diagonal,),
    (np.diagonal, 1, 1, 2),
]
COPIES = [
    (np.repeat, 2),
    (np.repeat, [1, 0, 2], 1),
    (np.tile, 2),
    (np.tile, (2, 1, 3, 1)),
    (np.roll, 5),
    (np.roll, -1, 1),
    (np.roll, (1, 2), (0, 2)),
    (np.take, [3, -1, 0]),
    (np.take, [[0, 1], [2, 0]], 1),
    (np.triu,),
    (np.triu, -1),
    (np.tril, 1),
    (np.copy,),
]


@pytest.mark.parametrize("move", MOVES + COPIES, ids=lambda m: f"{m[0].__name__}{m[1:]}")
def test_moves(prec, move):
    function, *args = move
    a = mdla.array(X, prec=prec)
    for got in (function(a, *args), getattr(mdla, function.__name__)(a, *args)):
        same(got, function(X, *args), prec)
        assert np.shares_memory(got.planes, a.planes) == (move in MOVES)
    same(function(a + 1j * a, *args), function(X + 1j * X, *args), prec)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_go_round(prec, shape):
    x = np.arange(math.prod(shape)).reshape(shape)
    a = mdla.array(x, prec=prec)
    same(a.ravel(), x.ravel())
    same(a.flatten(), x.ravel())
    same(a.reshape(*shape), x) if shape else same(a.reshape(()), x)
    same(a.reshape(-1).reshape(shape), x)
    same(a.T.T, x)
    same(a[None].squeeze(0), x)
    same(np.squeeze(a), np.squeeze(x))


def test_properties(prec, rng):
    z = mdla.random.normal((2, 3, 4), prec=prec, rng=rng, complex=True)
    assert_same_bits(z.H, z.mT.conj())
    assert_same_bits(z.mT, z.transpose(0, 2, 1))
    assert_same_bits(z.transpose((2, 1, 0)), z.T)
    assert_same_bits(z.swapaxes(0, 1), z.transpose(1, 0, 2))
    assert (np.shape(z), np.ndim(z), np.size(z), np.size(z, 1)) == ((2, 3, 4), 3, 24, 3)
    assert np.iscomplexobj(z)
    assert np.isrealobj(np.real(z))
    with pytest.raises(ValueError, match="two axes"):
        mdla.ones(3, prec).mT  # noqa: B018


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: a.reshape(5, 5), r"shape \(2, 3, 4\) into"),
        (lambda a: a.reshape(-1, 7), "cannot reshape"),
        (lambda a: a.reshape(-1, -1), "cannot reshape"),
        (lambda a: a.transpose(0, 1), "each of the 3 axes"),
        (lambda a: a.transpose(0, 1, 1), "repeated axis"),
        (lambda a: a.swapaxes(0, 3), "out of bounds"),
        (lambda a: a.squeeze(0), "axis 0 of length 2"),
        (lambda a: mdla.broadcast_to(a, (3, 4)), "cannot broadcast"),
        (lambda a: mdla.broadcast_to(a, (2, 3, 5)), "broadcast"),
        (lambda a: mdla.diagonal(a[0, 0]), "two axes"),
        (lambda a: mdla.triu(a[0, 0]), "two axes"),
        (lambda a: mdla.diag(a), "vector or a matrix"),
        (lambda a: mdla.concatenate([]), "at least one"),
        (lambda a: mdla.concatenate([a, a[0]]), "same number of axes"),
        (lambda a: mdla.concatenate([a, a[:, :1]]), "axis 0"),
        (lambda a: mdla.concatenate([a[0, 0, 0], a[0, 0, 0]]), "use mdla.stack"),
        (lambda a: mdla.stack([a, a[0]]), "one shape"),
    ],
)
def test_bad_calls(call, words):
    with pytest.raises(ValueError, match=words):
        call(mdla.array(X))


def test_joining(prec):
    a, b = mdla.array(X, prec=prec), mdla.array(-X, prec=prec)
    for axis in (0, 1, -1, None):
        same(np.concatenate([a, b, a], axis=axis), np.concatenate([X, -X, X], axis=axis), prec)
    for axis in (0, 1, -1):
        same(np.stack([a, b], axis=axis), np.stack([X, -X], axis=axis), prec)
    same(np.vstack([a[0, 0], b[0]]), np.vstack([X[0, 0], -X[0]]), prec)
    same(np.hstack([a[0, 0], b[0, 1]]), np.hstack([X[0, 0], -X[0, 1]]), prec)
    same(np.hstack([a, b]), np.hstack([X, -X]), prec)
    same(mdla.block([[a[0], b[0]], [b[1], a[1]]]), np.block([[X[0], -X[0]], [-X[1], X[1]]]))
    same(np.block([a[0, 0], b[0, 0]]), np.block([X[0, 0], -X[0, 0]]))
    same(mdla.concatenate(a), np.concatenate(X))
    parts = np.split(a, 2, axis=2)
    same(parts[1], np.split(X, 2, axis=2)[1])
    assert np.shares_memory(parts[1].planes, a.planes)
    with pytest.raises(ValueError, match="equal division"):
        mdla.split(a, 5, 2)


def test_joining_promotes():
    third = mdla.array(["1/3"], prec="dd")
    joined = mdla.concatenate([third, mdla.array(["1/7"], prec="qd"), np.array([0.5]), [2]])
    assert joined.prec == "qd"
    assert joined[0] == third[0]
    assert joined[1] == mdla.array("1/7", prec="qd")
    assert mdla.stack([mdla.ones(1, "ds"), mdla.ones(1, "dd")]).prec == "dd"
    assert mdla.stack([1, 2.5]).prec == "dd"
    assert mdla.concatenate([third, [1j]]).iscomplex
    with pytest.raises(TypeError, match=r"strings|number"):
        mdla.concatenate([third, ["1/3"]])


def test_diagonals(prec):
    a = mdla.array(X[0], prec=prec)
    for k in (-1, 0, 2):
        same(mdla.diag(a, k), np.diag(X[0], k))
        same(np.diag(a[0], k), np.diag(X[0, 0], k))
    a.diagonal()[...] = 7
    assert np.array_equal(np.diag(a.to_numpy()), [7, 7, 7])
    same(a.trace(), 21)
    same(np.trace(a + 1j * a, 1), np.trace(a.to_numpy() * (1 + 1j), 1))
    same(mdla.trace(mdla.array(X, prec=prec), 0, 1, 2), np.trace(X, 0, 1, 2))


def test_triangles_drop_what_they_cut_off(prec):
    a = mdla.array([[1, math.nan], [math.inf, 2]], prec=prec)
    same(mdla.triu(mdla.tril(a)), [[1, 0], [0, 2]])


# -- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_sort_shapes(prec, shape, rng):
    x = rng.permutation(math.prod(shape)).astype(float).reshape(shape)
    a = mdla.array(x, prec=prec)
    same(mdla.sort(a, None), np.sort(x, None), prec)
    for axis in range(len(shape)):
        same(np.sort(a, axis=axis), np.sort(x, axis), prec)
        assert np.array_equal(np.argsort(a, axis=axis), np.argsort(x, axis))
        b = a.copy()
        assert b.sort(axis) is None
        same(b, np.sort(x, axis))


@pytest.mark.parametrize("name", PRECS)
def test_sort_by_exact_values(name, rng):
    planes = adversarial(rng, name, 400, exponents=(0, 2))
    # Neighbours in every limb, and values whose limbs are not the nearest ones.
    planes[:, :, 200:] = planes[:, :, :200]
    planes[:, -1, 200:] = np.nextafter(planes[:, -1, 200:], planes.dtype.type(-np.inf))
    a = mdla.from_limbs(planes[0], normalize=True)
    values = exact(a)
    order = a.argsort()
    assert list(order) == sorted(range(400), key=values.__getitem__)
    assert np.array_equal(exact(mdla.sort(a)), sorted(values))


def test_sort_across_ties():
    half_ulp, tiny = 2.0**-53, 2.0**-160
    one, more = (1.0, half_ulp, tiny), (1 + 2 * half_ulp, -half_ulp, -tiny)
    a = mdla.from_limbs(np.array([one, more, one, more]).T)
    assert a[0] > a[1]
    assert list(a.argsort()) == [1, 3, 0, 2]
    assert (a.argmin(), a.argmax()) == (1, 0)
    b = mdla.from_limbs(np.array([(1 + 2 * half_ulp, -half_ulp, 0), (1.0, half_ulp, 0)]).T)
    assert b[0] == b[1]
    assert list(b.argsort()) == [0, 1]


def test_sort_puts_nan_last(prec):
    x = np.array([math.nan, 1, -math.inf, math.inf, math.nan, -0.0, 0.0])
    a = mdla.array(x, prec=prec)
    assert np.array_equal(a.argsort(), np.argsort(x, kind="stable"))
    assert np.array_equal(mdla.sort(a).to_numpy(), np.sort(x), equal_nan=True)
    with pytest.raises(TypeError, match="no order"):
        mdla.sort(a * 1j)
