# SPDX-License-Identifier: BSD-3-Clause
"""Indexing and assignment, compared with NumPy on arrays of the same numbers."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import mdla
from tests.oracle import assert_same_bits

BASIC = [
    np.s_[0],
    np.s_[-1],
    np.s_[1:],
    np.s_[::-1],
    np.s_[1, 2],
    np.s_[1, 2, 3],
    np.s_[..., 0],
    np.s_[0, ...],
    np.s_[..., 0, 1:3],
    np.s_[:, None, 1],
    np.s_[None],
    np.s_[...],
    np.s_[()],
    np.s_[1, ..., 2, None],
    np.s_[5:],
    np.s_[np.int64(1)],
    np.s_[1, ..., 2, 3],
]
MASK = np.arange(24).reshape(2, 3, 4) % 5 == 0
FANCY = [
    np.s_[[0, 1]],
    np.s_[[1, 0, -1], 2],
    np.s_[:, [0, 2]],
    np.s_[:, [0, 2], [1, 3]],
    np.s_[[0, 1], :, [1, 3]],
    np.s_[0, :, [1, 3]],
    np.s_[..., [3, 0]],
    np.s_[[0], ..., [1]],
    np.s_[:, np.array([[0, 1], [2, 0]])],
    np.s_[MASK],
    np.s_[:, MASK[0, :, 0]],
    np.s_[MASK[:, :, 0]],
    np.s_[[True, False]],
    np.s_[..., np.array([True, False, True, False])],
    np.s_[[]],
    np.s_[:, None, [0, 1]],
    np.s_[True],
    np.s_[np.array(False)],
    np.s_[range(2)],
]


def pair(prec, complex_=False):
    x = np.arange(24.0).reshape(2, 3, 4)
    if complex_:
        x = x + 1j * x[::-1]
    return x, mdla.array(x, prec=prec)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("index", BASIC + FANCY, ids=str)
def test_get(prec, index, complex_):
    x, a = pair(prec, complex_)
    got = a[index]
    assert isinstance(got, mdla.MDArray)
    assert got.prec == prec
    assert got.shape == np.shape(x[index])
    assert np.array_equal(got.to_numpy(), x[index])


@pytest.mark.parametrize("index", BASIC, ids=str)
def test_basic_slices_are_views(index):
    _, a = pair("qd")
    got = a[index]
    picks_one = got.ndim == 0 and Ellipsis not in (index if isinstance(index, tuple) else (index,))
    assert np.shares_memory(got.planes, a.planes) == (not picks_one and got.size > 0)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("index", BASIC + FANCY, ids=str)
def test_set(prec, index, complex_):
    x, a = pair(prec, complex_)
    for value in (7.5, x[index] * 2 + 1, mdla.array(x[index] - 3, prec=prec)):
        x[index] = value.to_numpy() if isinstance(value, mdla.MDArray) else value
        a[index] = value
        assert np.array_equal(a.to_numpy(), x)


def test_set_broadcasts_and_overlaps(prec):
    x, a = pair(prec)
    for index, value in [(np.s_[:, 1], [1, 2, 3, 4]), (np.s_[0], np.ones((1, 4))), (np.s_[:], 0)]:
        x[index] = value
        a[index] = value
        assert np.array_equal(a.to_numpy(), x)
    x, a = pair(prec)
    x[:, 1:], a[:, 1:] = x[:, :-1].copy(), a[:, :-1]
    assert np.array_equal(a.to_numpy(), x)
    x[..., ::-1], a[..., ::-1] = x.copy(), a
    assert np.array_equal(a.to_numpy(), x)


def test_writing_through_a_view(prec):
    a = mdla.zeros((3, 4), prec)
    a.T[1] = [1, 2, 3]
    a[:, 2][1] = 9
    a.reshape(12)[11] = 5
    a.real[0, 0] = 4
    assert np.array_equal(a.to_numpy(), [[4, 1, 0, 0], [0, 2, 9, 0], [0, 3, 0, 5]])


def test_an_entry_is_a_number_of_its_own(prec):
    a = mdla.array([1, 2], prec=prec)
    first = a[0]
    a[0] = a[1]
    a[1] = first
    assert np.array_equal(a.to_numpy(), [2, 1])


def test_assignment_takes_every_kind_of_number():
    a = mdla.zeros(6, "dd")
    a[0], a[1], a[2] = 1, "0.1", 0.5
    a[3], a[4] = np.float32(0.25), np.int64(2**62 + 1)
    a[5] = mdla.array("1/3", prec="hd")
    assert a[1] == mdla.array("0.1")
    assert a[4] == 2**62 + 1
    assert a[5] == mdla.array("1/3")
    a[:3] = ["1/7", 2, 3]
    assert a[0] == mdla.array("1/7")


def test_wider_into_narrower_rounds_and_narrower_into_wider_is_exact(prec):
    third = mdla.array(["1/3", "2/3"], prec="hd")
    a = mdla.zeros(2, prec)
    a[...] = third
    assert_same_bits(a, mdla.array(["1/3", "2/3"], prec=prec))
    wide = mdla.zeros(2, "hd")
    wide[...] = a
    assert (wide == a).all()


def test_complex_into_real_raises(prec):
    a = mdla.zeros(2, prec)
    with pytest.raises(TypeError, match="complex"):
        a[0] = 1j
    assert (a == 0).all()
    z = mdla.zeros(2, prec, complex=True)
    z[...] = [1, 2]
    assert np.array_equal(z.to_numpy(), [1, 2])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (np.s_[5], "out of bounds"),
        (np.s_[0, 0, 0, 0], "too many indices"),
        (np.s_[..., ...], "single ellipsis"),
        (np.s_[0.5], "got float"),
        (np.s_["a"], "got str"),
        (np.s_[[0.5]], "float64"),
        (np.s_[np.ones(3, bool)], "boolean"),
        (np.s_[[0, 7]], "out of bounds"),
        (np.s_[..., 0, 0, 0, 0], "too many indices"),
    ],
)
def test_bad_indices(index, words):
    _, a = pair("dd")
    with pytest.raises(IndexError, match=words):
        a[index]
    with pytest.raises(IndexError, match=words):
        a[index] = 1


def test_bad_assignment():
    a = mdla.zeros((2, 3))
    with pytest.raises(ValueError, match=r"shape \(2,\) to a selection of shape \(3,\)"):
        a[0] = [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        mdla.broadcast_to(a, (4, 2, 3))[0] = 1
    with pytest.raises(ValueError, match="as a number"):
        a[0] = "one"
    assert (a == 0).all()


def test_iteration(prec):
    a = mdla.array([[1, 2], [3, 4]], prec=prec)
    assert [[int(x) for x in row] for row in a] == [[1, 2], [3, 4]]
    first, _ = a
    first[0] = 9
    assert a[0, 0] == 9
    assert len(a) == 2
    assert len(mdla.zeros((0, 3), prec)) == 0
    for bad in (iter, len):
        with pytest.raises(TypeError, match="0-d"):
            bad(mdla.array(1, prec=prec))


def test_contains(prec):
    a = mdla.array(["0.1", 2], prec=prec)
    assert 2 in a
    assert mdla.array("0.1", prec=prec) in a
    assert 3 not in a
    assert "x" not in a


# -- every mixture of indices --------------------------------------------------------------------

LENGTHS = (2, 3, 4, 5)


def entries(length):
    """One index of any kind for an axis."""
    integer = st.integers(-length, length - 1)
    lists = st.lists(integer, min_size=2, max_size=2)
    masks = hnp.arrays(bool, (length,))
    return st.one_of(integer, st.slices(length), lists, masks, st.sampled_from([None, ..., True]))


@given(st.data())
def test_mixed_indices_as_numpy(data):
    x = np.arange(120.0).reshape(LENGTHS)
    a = mdla.array(x, prec="dd")
    count = data.draw(st.integers(0, 5))
    index = tuple(data.draw(entries(LENGTHS[min(i, 3)])) for i in range(count))
    try:
        want = x[index]
    except IndexError:
        with pytest.raises(IndexError):
            a[index]
        return
    got = a[index]
    assert got.shape == np.shape(want)
    assert np.array_equal(got.to_numpy(), want)
    x[index] = -7
    a[index] = -7
    assert np.array_equal(a.to_numpy(), x)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3), st.booleans())
def test_broadcasting_as_numpy(shapes, complex_):
    x, y = (np.arange(float(np.prod(s, dtype=int))).reshape(s) - 3 for s in shapes.input_shapes)
    y = y * 1j if complex_ else y
    a, b = mdla.array(x, prec="td"), mdla.array(y, prec="td")
    for function in (np.add, np.subtract, np.multiply):
        for right in (b, y):
            got = function(a, right)
            assert got.shape == shapes.result_shape
            assert np.array_equal(got.to_numpy(), function(x, y))
    assert np.array_equal(a == b, x == y)
    assert np.array_equal(np.where(a == b, a, b).to_numpy(), np.where(x == y, x, y))


@pytest.mark.parametrize(("index", "axis"), [((3,), 0), ((0, 9), 1), ((0, -5), 1)])
def test_errors_count_the_axes_of_the_array(index, axis):
    with pytest.raises(IndexError, match=f"axis {axis} "):
        mdla.zeros((3, 4))[index]
