# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdla
from mdla.core.precision import precision
from mdla.linalg import LinAlgError, eigh, eigvalsh
from tests.linalg import matrices, measures
from tests.linalg.measures import Exact
from tests.linalg.spectra import (
    HERMITIAN,
    diagonal,
    family,
    hermitian,
    multiprecision,
    nested_to,
    relative,
)
from tests.oracle import assert_close, exact, planes_of

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def check(a, prec):
    """Residual and orthogonality of `eigh`, and the order; exact."""
    n = a.shape[0]
    w, x = eigh(a)
    assert (w.prec, w.iscomplex, w.shape) == (prec, False, (n,))
    assert (x.prec, x.iscomplex, x.shape) == (prec, a.iscomplex, (n, n))
    assert bool((w[1:] >= w[:-1]).all())
    left, vectors = Exact.of(a), Exact.of(x)
    miss = left @ vectors - vectors @ diagonal(w)
    assert relative(miss, left, prec) <= 2 * n
    assert measures.orthogonality(x, prec) <= 4 * n
    return w, x


@COMPLEX
@pytest.mark.parametrize("name", HERMITIAN)
def test_residual_and_orthogonality(name, is_complex, prec, rng):
    check(HERMITIAN[name](prec, is_complex, rng), prec)


@COMPLEX
@pytest.mark.parametrize("n", [1, 2, 3, 33])
def test_sizes(n, is_complex, rng):
    for prec in ("dd", "qd"):
        check(hermitian(matrices.uniform(n, n, prec, is_complex, rng)), prec)


@pytest.mark.slow
@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@COMPLEX
@pytest.mark.parametrize("name", matrices.FAMILIES)
def test_families(name, is_complex, prec, rng):
    for n in (2, 9):
        check(hermitian(family(name, n, n, prec, is_complex, rng)), prec)


def test_large(rng):
    """By residues, and with more values than steps."""
    for prec, is_complex in (("dd", False), ("qd", True)):
        a = hermitian(matrices.uniform(150, 150, prec, is_complex, rng))
        w, x = eigh(a)
        bound = 150 * mdla.finfo(prec).eps
        assert mdla.norm(a @ x - x * w) <= bound * mdla.norm(a)
        assert mdla.norm(x.H @ x - mdla.eye(150, prec=prec)) <= bound


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("prec", "bits"), [("da", 520), ("hd", 700), ("hd", 832), ("hd", 1000)])
def test_clusters_in_clusters_to_eps(prec, bits, seed):
    """Gaps from 1 to eps, so vectors must be orthonormal to the square root of each gap."""
    check(nested_to(bits, prec, np.random.default_rng(seed)), prec)


@COMPLEX
def test_eigenvalues_against_mpmath(is_complex, prec, rng):
    a = hermitian(matrices.uniform(6, 6, prec, is_complex, rng))
    with mpmath.workprec(2 * precision(prec).bits + 100):
        want = mpmath.eighe(multiprecision(a), eigvals_only=True)
        for got in (eigh(a).eigenvalues, eigvalsh(a)):
            miss = max(abs(x - y) for x, y in zip(multiprecision(got), want, strict=True))
            assert miss <= 6 * precision(prec).eps * max(abs(x) for x in want)


def test_hadamard(prec, rng):
    """Two eigenvalues of multiplicity four: +-sqrt(8)."""
    w = eigvalsh(HERMITIAN["sylvester"](prec, False, rng))
    root = exact(mdla.sqrt(mdla.array(8, prec=prec))).item()
    assert_close(w, [-root] * 4 + [root] * 4, prec, 8)


def test_hilbert_determinant_and_trace(prec, rng):
    a = mdla.array(HERMITIAN["hilbert20"](prec, False, rng))
    w = eigvalsh(a)
    assert abs(w.sum() - mdla.trace(a)) <= 40 * mdla.finfo(prec).eps


def test_values_known_exactly(prec):
    """The second difference matrix of order 5: eigenvalues 2 - 2 cos(k pi / 6)."""
    a = 2 * mdla.eye(5, prec=prec) - mdla.eye(5, k=1, prec=prec) - mdla.eye(5, k=-1, prec=prec)
    root = mdla.sqrt(mdla.array(3, prec=prec))
    want = mdla.stack([2 - root, root * 0 + 1, root * 0 + 2, root * 0 + 3, 2 + root])
    assert mdla.max(abs(eigvalsh(a) - want)) <= 20 * mdla.finfo(prec).eps


def test_triangles(prec, rng):
    a = hermitian(matrices.uniform(5, 5, prec, True, rng))
    lower, upper = mdla.tril(a), mdla.triu(a)
    spoilt = lower.copy()
    planes_of(spoilt)[1, 0, np.arange(5), np.arange(5)] = 7
    want = eigh(a).eigenvalues
    bound = 10 * mdla.finfo(prec).eps * mdla.norm(a)
    for got in (eigh(lower), eigh(upper, UPLO="U"), eigh(upper, "u"), eigh(spoilt)):
        assert mdla.max(abs(got.eigenvalues - want)) <= bound
    assert mdla.max(abs(eigvalsh(upper, "U") - want)) <= bound
    with pytest.raises(ValueError, match="write 'L' or 'U'"):
        eigh(a, "X")


def test_extreme_scales(prec, rng):
    high = 900 if precision(prec).dtype == np.float64 else 100
    a = hermitian(matrices.uniform(6, 6, prec, False, rng))
    w = eigvalsh(a)
    assert_close(mdla.ldexp(eigvalsh(mdla.ldexp(a, high)), -high), exact(w), prec, 1)
    tiny = eigvalsh(mdla.array(np.diag([3.0, 1.0, 2.0]), prec=prec) * mdla.finfo(prec).tiny)
    assert_close(
        tiny, [k * 1 * mdla.array(mdla.finfo(prec).tiny).item() for k in (1, 2, 3)], prec, 1
    )


def test_stacks_and_empty(prec, rng):
    a = mdla.stack([hermitian(matrices.uniform(3, 3, prec, True, rng)) for _ in range(2)])
    w, x = eigh(a)
    assert (w.shape, x.shape) == ((2, 3), (2, 3, 3))
    for i in range(2):
        assert mdla.norm(a[i] @ x[i] - x[i] * w[i]) <= 20 * mdla.finfo(prec).eps * mdla.norm(a)
    assert eigh(mdla.zeros((0, 3, 3), prec=prec)).eigenvectors.shape == (0, 3, 3)
    assert eigh(mdla.zeros((2, 0, 0), prec=prec)).eigenvalues.shape == (2, 0)
    assert eigvalsh(mdla.zeros((0, 0), prec=prec)).shape == (0,)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_not_finite(bad, prec):
    a = mdla.ones((2, 3, 3), prec=prec)
    a[1, 0, 0] = bad
    with pytest.raises(ValueError, match="check_finite=False"):
        eigh(a)
    w, x = eigh(a, check_finite=False)
    assert np.isfinite(planes_of(w)[..., 0, :]).all()
    assert np.isnan(planes_of(w)[:, 0, 1]).all()
    assert np.isnan(planes_of(x)[:, 0, 1]).all()
    assert np.isnan(planes_of(eigvalsh(a, check_finite=False))[:, 0, 1]).all()


def test_arguments():
    with pytest.raises(LinAlgError, match=r"square, got shape \(2, 3\)"):
        eigh(mdla.ones((2, 3)))
    with pytest.raises(LinAlgError, match="matrix"):
        eigvalsh(mdla.ones(3))
    assert eigh([[1, 0], [0, 2]], prec="qd").eigenvalues.prec == "qd"


def test_through_numpy(prec, rng):
    a = hermitian(matrices.uniform(4, 4, prec, False, rng))
    w, x = np.linalg.eigh(a)
    np.testing.assert_allclose(w.to_numpy(), np.linalg.eigvalsh(a.to_numpy()), atol=1e-14)
    assert (np.linalg.eigvalsh(a).prec, x.prec) == (prec, prec)


@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_for_any_number_of_threads(threads, rng):
    a = hermitian(matrices.uniform(70, 70, "qd", False, np.random.default_rng(5)))
    mdla.set_num_threads(1)
    want = eigvalsh(a)
    mdla.set_num_threads(threads)
    assert np.array_equal(planes_of(eigvalsh(a)), planes_of(want))
