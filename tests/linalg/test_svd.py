# SPDX-License-Identifier: BSD-3-Clause
"""The singular value decomposition."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdla
from mdla.core.precision import precision
from mdla.linalg import LinAlgError, svd, svdvals
from tests.linalg import matrices, measures
from tests.linalg.measures import Exact
from tests.linalg.spectra import (
    GENERAL,
    HERMITIAN,
    diagonal,
    family,
    hermitian,
    multiprecision,
    nested_to,
    relative,
)
from tests.oracle import exact, planes_of

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def check(a, prec):
    """Residual, orthogonality, order and signs of the thin and the full `svd`; exact."""
    m, n = a.shape
    k, larger = min(m, n), max(m, n)
    for full, left, right in ((False, k, k), (True, m, n)):
        u, s, vh = svd(a, full_matrices=full)
        assert (u.shape, s.shape, vh.shape) == ((m, left), (k,), (right, n))
        assert (u.iscomplex, s.iscomplex, vh.iscomplex) == (a.iscomplex, False, a.iscomplex)
        assert u.prec == s.prec == vh.prec == prec
        assert bool((s[1:] <= s[:-1]).all())
        assert bool((s >= 0).all())
        whole = Exact.of(a)
        miss = whole - Exact.of(u[:, :k]) @ diagonal(s) @ Exact.of(vh[:k])
        assert relative(miss, whole, prec) <= 4 * larger
        assert measures.orthogonality(u, prec) <= 4 * larger
        assert measures.orthogonality(vh.H, prec) <= 4 * larger


@COMPLEX
@pytest.mark.parametrize("name", GENERAL)
def test_residual_and_orthogonality(name, is_complex, prec, rng):
    check(GENERAL[name](prec, is_complex, rng), prec)


@pytest.mark.slow
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@COMPLEX
@pytest.mark.parametrize("name", HERMITIAN)
def test_hermitian_matrices(name, is_complex, prec, rng):
    check(HERMITIAN[name](prec, is_complex, rng), prec)


@COMPLEX
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (4, 1), (9, 7), (7, 9), (40, 5)])
def test_shapes(m, n, is_complex, prec, rng):
    check(matrices.uniform(m, n, prec, is_complex, rng), prec)


@pytest.mark.slow
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@COMPLEX
@pytest.mark.parametrize("name", matrices.FAMILIES)
def test_families(name, is_complex, prec, rng):
    for m, n in [(2, 2), (9, 7), (7, 9)]:
        check(family(name, m, n, prec, is_complex, rng), prec)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize(("prec", "bits"), [("da", 520), ("hd", 832), ("hd", 1000)])
def test_clusters_in_clusters_to_eps(prec, bits, seed):
    """Gaps from 1 to eps, so vectors must be orthonormal to the square root of each gap."""
    check(nested_to(bits, prec, np.random.default_rng(seed)), prec)


def test_large(rng):
    for prec, is_complex, m in (("dd", False, 150), ("qd", True, 120)):
        a = matrices.uniform(m, 120, prec, is_complex, rng)
        u, s, vh = svd(a, full_matrices=False)
        bound = 150 * mdla.finfo(prec).eps
        assert mdla.norm((u * s) @ vh - a) <= bound * mdla.norm(a)
        assert mdla.norm(u.H @ u - mdla.eye(120, prec=prec)) <= bound
        assert mdla.norm(vh @ vh.H - mdla.eye(120, prec=prec)) <= bound


@COMPLEX
def test_singular_values_against_mpmath(is_complex, prec, rng):
    a = matrices.uniform(6, 4, prec, is_complex, rng)
    with mpmath.workprec(2 * precision(prec).bits + 100):
        want = mpmath.svd_c(multiprecision(a), compute_uv=False)
        for got in (svdvals(a), svd(a, compute_uv=False), svd(a).S, svdvals(a.H)):
            miss = max(abs(x - y) for x, y in zip(multiprecision(got), want, strict=True))
            assert miss <= 10 * precision(prec).eps * want[0]


def test_condition_of_powers(rng):
    """cond(V) is 7.1e15: in doubles no digit of the smallest value is certain, here all are."""
    s = svdvals(GENERAL["powers"]("qd", False, rng))
    with mpmath.workdps(60):
        want = mpmath.svd_r(
            mpmath.matrix([[i**j for j in range(12)] for i in range(1, 13)]), compute_uv=False
        )
        assert abs(multiprecision(s)[11] / want[11] - 1) < 1e-45


@COMPLEX
def test_hermitian(is_complex, prec, rng):
    for a in (
        hermitian(matrices.uniform(6, 6, prec, is_complex, rng)),
        HERMITIAN["low_rank"](prec, is_complex, rng),
    ):
        n = a.shape[0]
        u, s, vh = svd(a, hermitian=True)
        bound = 4 * n * mdla.finfo(prec).eps
        assert mdla.norm((u * s) @ vh - a) <= bound * mdla.norm(a)
        assert mdla.norm(vh @ vh.H - mdla.eye(n, prec=prec)) <= bound
        assert bool((s[1:] <= s[:-1]).all() and (s >= 0).all())
        assert mdla.max(abs(s - svdvals(a))) <= bound * mdla.norm(a)
        values = svd(a, compute_uv=False, hermitian=True)
        assert np.array_equal(planes_of(values), planes_of(s))
    with pytest.raises(LinAlgError, match="square"):
        svd(mdla.ones((2, 3), prec=prec), hermitian=True)


def test_extreme_scales(prec, rng):
    high = 900 if precision(prec).dtype == np.float64 else 100
    a = matrices.uniform(5, 3, prec, False, rng)
    assert (
        exact(mdla.ldexp(svdvals(mdla.ldexp(a, high)), -high)).tolist()
        == exact(svdvals(a)).tolist()
    )


def test_stacks_and_empty(prec, rng):
    a = mdla.stack([matrices.uniform(4, 3, prec, True, rng) for _ in range(4)]).reshape(2, 2, 4, 3)
    u, s, vh = svd(a)
    assert (u.shape, s.shape, vh.shape) == ((2, 2, 4, 4), (2, 2, 3), (2, 2, 3, 3))
    one = svd(a[1, 0])
    for got, want in zip((u, s, vh), one, strict=True):
        assert np.array_equal(planes_of(got[1, 0]), planes_of(want))
    for shape, left, right in [((0, 3), 0, 3), ((3, 0), 3, 0), ((0, 0), 0, 0)]:
        u, s, vh = svd(mdla.zeros(shape, prec=prec))
        assert (u.shape, s.shape, vh.shape) == ((left, left), (0,), (right, right))
        assert mdla.norm(u - mdla.eye(left, prec=prec)) == 0
        assert mdla.norm(vh - mdla.eye(right, prec=prec)) == 0
    assert svdvals(mdla.zeros((0, 3, 2), prec=prec)).shape == (0, 2)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_not_finite(bad, prec):
    a = mdla.ones((3, 3), prec=prec)
    a[0, 0] = bad
    with pytest.raises(ValueError, match="check_finite=False"):
        svd(a)
    for part in (*svd(a, check_finite=False), svdvals(a, check_finite=False)):
        assert np.isnan(planes_of(part)[:, 0]).all()


def test_through_numpy(prec, rng):
    a = matrices.uniform(4, 2, prec, False, rng)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose((u * s @ vh).to_numpy(), a.to_numpy(), atol=1e-13)
    want = np.linalg.svdvals(a.to_numpy())
    np.testing.assert_allclose(np.linalg.svdvals(a).to_numpy(), want, atol=1e-13)
    with pytest.raises(LinAlgError, match="matrix"):
        svdvals(mdla.ones(3))
