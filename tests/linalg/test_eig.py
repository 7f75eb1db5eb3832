# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdla
from mdla.core.precision import precision
from mdla.linalg import LinAlgError, eig, eigvals
from tests.linalg.matrices import uniform
from tests.linalg.measures import Exact
from tests.linalg.spectra import HERMITIAN, diagonal, multiprecision, relative
from tests.oracle import planes_of

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def jordan(n, prec, rng):
    """One Jordan block in a random basis."""
    q = mdla.qr(uniform(n, n, prec, False, rng)).Q
    return q @ (mdla.eye(n, prec=prec) + mdla.eye(n, k=1, prec=prec)) @ q.T


GENERAL = {
    "jordan": lambda prec, rng: jordan(6, prec, rng),
    "triangular": lambda prec, rng: mdla.triu(uniform(7, 7, prec, False, rng)),
    "shift": lambda prec, rng: mdla.eye(6, k=1, prec=prec),
    "permutation": lambda prec, rng: mdla.array(np.roll(np.eye(7), 1, 0), prec=prec),
    "rotation": lambda prec, rng: mdla.qr(uniform(6, 6, prec, False, rng)).Q,
    "skew": lambda prec, rng: (
        mdla.triu(a := uniform(7, 7, prec, False, rng), 1) - mdla.triu(a, 1).T
    ),
    "frank": lambda prec, rng: mdla.array(
        [[9 - max(i, j) if j >= i - 1 else 0 for j in range(9)] for i in range(9)], prec=prec
    ),
    "columns": lambda prec, rng: (
        uniform(7, 7, prec, False, rng) * mdla.array([2.0 ** (-9 * j) for j in range(7)], prec=prec)
    ),
}
GENERAL |= {k: lambda prec, rng, f=f: f(prec, False, rng) for k, f in HERMITIAN.items()}


def check(a, prec):
    """Residual and lengths of `eig`; exact."""
    n = a.shape[0]
    w, x = eig(a)
    assert (w.prec, x.prec, w.shape, x.shape) == (prec, prec, (n,), (n, n))
    assert w.iscomplex == x.iscomplex
    matrix, vectors = Exact.of(a), Exact.of(x)
    miss = matrix @ vectors - vectors @ diagonal(w)
    assert relative(miss, matrix, prec) <= 4 * n
    eps = mdla.finfo(prec).eps
    assert mdla.max(abs(mdla.norm(x, axis=0) - 1)) <= 2 * n * eps
    if w.iscomplex and not a.iscomplex:
        up, down = w[w.imag > 0], w[w.imag < 0]
        assert np.array_equal(np.sort(up.to_numpy(complex)), np.sort(down.conj().to_numpy(complex)))
    return w, x


@COMPLEX
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_random(n, is_complex, prec, rng):
    check(uniform(n, n, prec, is_complex, rng), prec)


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "pd"])
@pytest.mark.parametrize("name", GENERAL)
def test_structured(name, prec, rng):
    check(GENERAL[name](prec, rng), prec)


@pytest.mark.slow
@pytest.mark.parametrize("prec", ["ds", "td", "od", "hd"])
@pytest.mark.parametrize("name", GENERAL)
def test_structured_in_other_precisions(name, prec, rng):
    check(GENERAL[name](prec, rng), prec)


def test_each_pair_of_a_badly_scaled_matrix(prec):
    """LAPACK balances, and its pairs have residuals that are small for the balanced matrix only."""
    entries = [[0.8, 7e-5, -5e11], [7e12, 8e-5, -5.0], [-5e-5, 0, -9e11]]
    check(mdla.array(entries, prec=prec), prec)


@pytest.mark.parametrize("seed", range(20))
@COMPLEX
def test_rows_and_columns_of_any_size(is_complex, seed):
    rng = np.random.default_rng(seed)
    n = 1 + seed % 7
    size = 10.0 ** rng.integers(-12, 13, (n, n))
    a = size * rng.standard_normal((n, n))
    if is_complex:
        a = a + 1j * size * rng.standard_normal((n, n))
    for prec in ("d", "qd"):
        check(mdla.array(a, prec=prec), prec)


@COMPLEX
def test_against_mpmath(is_complex, prec, rng):
    a = uniform(4, 4, prec, is_complex, rng)
    with mpmath.workprec(2 * precision(prec).bits + 60):
        want = mpmath.eig(multiprecision(a), left=False, right=False)
        for got in (eig(a).eigenvalues, eigvals(a)):
            for value in multiprecision(got):
                near = min(want, key=lambda x, v=value: abs(x - v))
                assert abs(value - near) <= 1000 * precision(prec).eps
                want_left = [x for x in want if x is not near]
                assert len(want_left) == 3


def test_real_and_complex_results(prec):
    w, x = eig(mdla.array([[2, 1], [1, 2]], prec=prec))
    assert not w.iscomplex
    assert not x.iscomplex
    w, x = eig(mdla.array([[0, 1], [-1, 0]], prec=prec))
    assert w.iscomplex
    assert x.iscomplex
    assert mdla.norm(w[0] - w[1].conj()) == 0
    assert abs(abs(w[0]) - 1) <= 4 * mdla.finfo(prec).eps
    w = eigvals(mdla.array([[2, 1j], [-1j, 2]], prec=prec))
    assert w.iscomplex
    assert mdla.max(abs(mdla.sort(w.real) - mdla.array([1, 3]))) <= 20 * mdla.finfo(prec).eps
    assert mdla.max(abs(w.imag)) <= 20 * mdla.finfo(prec).eps


def test_defective_matrix_is_as_accurate_as_its_backward_error(rng):
    """A Jordan block of order 6: eigenvalues move by eps^(1/6)."""
    for prec in ("dd", "qd"):
        w = eigvals(jordan(6, prec, rng))
        assert float(mdla.max(abs(w - 1))) <= 8 * float(mdla.finfo(prec).eps) ** (1 / 6)


def test_companion_of_wilkinson(rng):
    """Eigenvalues 1 to 10 by the companion matrix."""
    c = [Fraction(1)]
    for k in range(1, 11):
        c = [x - k * y for x, y in zip([*c, 0], [0, *c], strict=True)]
    a = mdla.eye(10, k=-1, prec="qd")
    a[0] = mdla.array([-x for x in c[1:]], prec="qd")
    w = mdla.sort(eigvals(a))
    assert mdla.max(abs(w - mdla.arange(1, 11, prec="qd"))) < 1e-40


def test_extreme_scales(prec, rng):
    high = 900 if precision(prec).dtype == np.float64 else 100
    a = uniform(4, 4, prec, True, rng)
    got, want = eig(mdla.ldexp(a, high)), eig(a)
    for part in (0, 1):
        assert np.array_equal(planes_of(mdla.ldexp(got[0], -high))[part], planes_of(want[0])[part])
    assert np.array_equal(planes_of(got[1]), planes_of(want[1]))


def test_stacks_and_empty(prec, rng):
    a = mdla.stack([uniform(3, 3, prec, False, rng), mdla.eye(3, prec=prec)])
    w, x = eig(a)
    assert (w.shape, x.shape) == ((2, 3), (2, 3, 3))
    for i in range(2):
        assert mdla.norm(a[i] @ x[i] - x[i] * w[i]) <= 40 * mdla.finfo(prec).eps * mdla.norm(a[i])
    for shape in [(0, 0), (2, 0, 0), (0, 3, 3)]:
        w, x = eig(mdla.zeros(shape, prec=prec))
        assert (w.shape, x.shape) == (shape[:-1], shape)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_not_finite(bad, prec):
    a = mdla.ones((3, 3), prec=prec)
    a[0, 0] = bad
    with pytest.raises(ValueError, match="check_finite=False"):
        eig(a)
    for part in eig(a, check_finite=False):
        assert np.isnan(planes_of(part)[:, 0]).all()


def test_arguments():
    with pytest.raises(LinAlgError, match=r"square, got shape \(2, 3\)"):
        eig(mdla.ones((2, 3)))
    with pytest.raises(LinAlgError, match="matrix"):
        eigvals(mdla.ones(3))


def test_through_numpy(prec, rng):
    a = uniform(4, 4, prec, False, rng)
    w, x = np.linalg.eig(a)
    assert w.prec == x.prec == prec
    want = np.sort_complex(np.linalg.eigvals(a.to_numpy()))
    np.testing.assert_allclose(np.sort_complex(w.to_numpy(complex)), want, atol=1e-12)
    assert np.linalg.eigvals(a).prec == prec
