# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of matrices: small ones go side by side through the lanes, larger ones one by one."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.linalg import batched, qr
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.test_qr import check
from tests.oracle import assert_same_bits
from tests.registry import each_level

SHAPES = [(1, 1), (4, 4), (9, 5), (5, 9)]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_matrix_of_a_stack(shape, is_complex, prec, rng):
    m, n = shape
    a = uniform(3 * m, n, prec, is_complex, rng).reshape(3, m, n)
    for mode in ("reduced", "complete"):
        q, r = qr(a, mode=mode)
        for i in range(3):
            check(a[i], q[i], r[i], prec)
        assert_same_bits(
            qr(a, mode="raw")[0].mT[:, *np.triu_indices(min(m, n), 0, n)],
            r[:, *np.triu_indices(min(m, n), 0, n)],
        )
    assert_same_bits(qr(a, mode="r"), qr(a).R)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_families_side_by_side(is_complex, prec, rng):
    """A lane does not depend on its neighbours, however odd they are."""
    for m, n in [(6, 6), (8, 5)]:
        matrices = [f(m, n, prec, is_complex, rng) for f in FAMILIES.values()]
        a = mdla.stack(matrices)
        q, r = qr(a)
        for i in range(len(matrices)):
            check(a[i], q[i], r[i], prec)
        alone = qr(a[3:4])
        assert_same_bits(alone.Q, q[3:4])
        assert_same_bits(alone.R, r[3:4])


def test_same_signs_as_one_matrix(rng):
    a = uniform(20, 5, "dd", True, rng).reshape(4, 5, 5)
    q, r = qr(a)
    for i in range(4):
        one = qr(a[i])
        assert mdla.norm(one.R - r[i]) <= 200 * mdla.finfo("dd").eps
        assert mdla.norm(one.Q - q[i]) <= 200 * mdla.finfo("dd").eps


def test_raw_reflectors(prec, rng):
    a = uniform(18, 5, prec, True, rng).reshape(2, 9, 5)
    h, tau = qr(a, mode="raw")
    assert h.shape == (2, 5, 9)
    assert tau.shape == (2, 5)
    for i in range(2):
        want = qr(a[i], mode="raw")
        assert mdla.norm(h[i] - want[0]) <= 500 * mdla.finfo(prec).eps * mdla.norm(h[i])
        assert mdla.norm(tau[i] - want[1]) <= 500 * mdla.finfo(prec).eps


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 200])
def test_size_of_the_stack_does_not_matter(count, rng):
    a = uniform(200 * 3, 3, "qd", False, rng).reshape(200, 3, 3)
    want = qr(a)
    got = qr(a[:count])
    assert_same_bits(got.Q, want.Q[:count])
    assert_same_bits(got.R, want.R[:count])


def test_same_bits_on_all_levels_and_threads(rng):
    a = uniform(300 * 6, 6, "qd", True, rng).reshape(300, 6, 6)
    want = qr(a)
    for _ in each_level():
        for threads in (1, 2, 3):
            _native.set_num_threads(threads)
            got = qr(a)
            assert_same_bits(got.Q, want.Q)
            assert_same_bits(got.R, want.R)


def test_stacks_with_several_axes_and_strides(rng):
    a = uniform(4 * 3 * 5, 6, "dd", False, rng).reshape(4, 3, 5, 6).mT
    q, r = qr(a)
    assert q.shape == (4, 3, 6, 5)
    assert r.shape == (4, 3, 5, 5)
    check(a[2, 1], q[2, 1], r[2, 1], "dd")
    reversed_ = qr(a[::-1, :, ::-1])
    check(a[3, 0, ::-1], reversed_.Q[0, 0], reversed_.R[0, 0], "dd")


def test_large_matrices_of_a_stack(monkeypatch, rng):
    a = uniform(3 * 9, 7, "dd", False, rng).reshape(3, 9, 7)
    monkeypatch.setattr(batched, "is_small", lambda planes: False)
    for mode in ("reduced", "complete"):
        q, r = qr(a, mode=mode)
        for i in range(3):
            check(a[i], q[i], r[i], "dd")
            assert_same_bits(qr(a[i], mode=mode).R, r[i])
    h, tau = qr(a, mode="raw")
    assert h.shape == (3, 7, 9)
    assert tau.shape == (3, 7)


def test_pivoting_of_stacks(rng):
    a = uniform(2 * 3 * 7, 6, "td", False, rng).reshape(2, 3, 7, 6)
    q, r, p = qr(a, pivoting=True)
    assert p.shape == (2, 3, 6)
    check(a[1, 2][:, p[1, 2]], q[1, 2], r[1, 2], "td")


def test_nonfinite_lanes_do_not_spread(rng):
    a = uniform(9 * 3, 3, "dd", False, rng).reshape(9, 3, 3)
    want = qr(a)
    a[4, 0, 0] = np.nan
    a[5, 1, 1] = np.inf
    got = qr(a, check_finite=False)
    good = [0, 1, 2, 3, 6, 7, 8]
    assert_same_bits(got.Q[good], want.Q[good])
    assert not np.isfinite(got.R[4].to_numpy()).all()
