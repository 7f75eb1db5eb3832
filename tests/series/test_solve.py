# SPDX-License-Identifier: BSD-3-Clause
"""Linear systems of series: residuals in every degree, shapes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla.linalg import LinAlgError
from mdla.series import Series, solve, toeplitz
from tests.oracle import assert_normalised, assert_same_bits
from tests.poly.reference import Gaussian, gaussians
from tests.registry import DOUBLE_PRECS

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def uniform(shape, prec, is_complex, rng):
    a = mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5
    if is_complex:
        a = a + 1j * (mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5)
    return a


def regular(shape, prec, is_complex, rng):
    """Coefficients (..., m, n, d) with a dominant diagonal of the leading matrix."""
    a = uniform(shape, prec, is_complex, rng)
    m, n = shape[-3:-1]
    a[..., 0] = a[..., 0] + n * np.eye(m, n)
    return a


def worst_residual(a, x, b, prec):
    """The largest ``|A x - b| / (|A| |x| + |b|)`` of all degrees, over ``eps (k + 1)``.

    Exact; for coefficients (m, n, d), (n, d) and (m, d).
    """
    a, x, b = gaussians(a), gaussians(x), gaussians(b)
    eps, worst = mdla.finfo(prec).eps, 0.0
    for k in range(b.shape[-1]):
        for i in range(a.shape[0]):
            rest, size = Gaussian(0) - b[i, k], b[i, k].size
            for j in range(min(k + 1, a.shape[-1])):
                for row in range(a.shape[1]):
                    term = a[i, row, j] * x[row, k - j]
                    rest, size = rest + term, size + term.size
            if rest.size:
                worst = max(worst, float(rest.size / size) / eps / (k + 1))
    return worst


@COMPLEX
@pytest.mark.parametrize("n", [1, 2, 5])
def test_residual(n, is_complex, rng):
    for prec in DOUBLE_PRECS:
        a = regular((n, n, 6), prec, is_complex, rng)
        b = uniform((n, 6), prec, is_complex, rng)
        x = solve(Series(a), Series(b)).coefficients
        assert (x.prec, x.shape) == (prec, (n, 6))
        assert_normalised(x)
        assert worst_residual(a, x, b, prec) <= 4 * n


@COMPLEX
@pytest.mark.parametrize("n", [1, 3, 4])
def test_residual_of_stacks(n, is_complex, rng):
    for prec in DOUBLE_PRECS:
        a = regular((3, n, n, 5), prec, is_complex, rng)
        b = uniform((3, n, 5), prec, is_complex, rng)
        x = solve(Series(a), Series(b)).coefficients
        for i in range(3):
            assert worst_residual(a[i], x[i], b[i], prec) <= 4 * n


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 23])
@pytest.mark.parametrize("behind", [1, 2, 5, 30])
def test_lengths(length, behind, rng):
    a = regular((2, 2, behind), "dd", False, rng)
    padded = mdla.concatenate([a, mdla.zeros((2, 2, 30), prec="dd")], axis=-1)[..., :length]
    b = uniform((2, length), "dd", False, rng)
    x = solve(Series(padded), Series(b)).coefficients
    assert x.shape == (2, length)
    assert worst_residual(padded, x, b, "dd") <= 8


def test_products_in_portions(monkeypatch, rng):
    a, b = regular((3, 3, 17), "qd", True, rng), uniform((3, 17), "qd", True, rng)
    monkeypatch.setattr(toeplitz, "_BYTES", 3000)
    x = solve(Series(a), Series(b)).coefficients
    assert worst_residual(a, x, b, "qd") <= 12


def test_large_matrices(rng):
    for n, prec in ((40, "od"), (120, "dd")):
        a, x = regular((n, n, 4), prec, False, rng), uniform((n, 4), prec, False, rng)
        b = (Series(a) @ Series(x)).coefficients
        error = solve(Series(a), Series(b)).coefficients - x
        assert mdla.max(abs(error)) <= 20 * n * mdla.finfo(prec).eps


@COMPLEX
def test_more_rows_than_columns(is_complex, rng):
    """With a solution it is found, alone and in stacks."""
    for prec in ("dd", "qd", "hd"):
        for batch in ((), (3,)):
            a = regular((*batch, 5, 3, 6), prec, is_complex, rng)
            x = uniform((*batch, 3, 2, 6), prec, is_complex, rng)
            b = (Series(a) @ Series(x)).coefficients
            error = solve(Series(a), Series(b)).coefficients - x
            assert mdla.max(abs(error)) <= 100 * mdla.finfo(prec).eps


def test_least_squares_in_the_first_degree(rng):
    a, b = uniform((5, 3), "qd", False, rng), uniform((5,), "qd", False, rng)
    x = solve(a, b).coefficients[..., 0]
    assert mdla.max(abs(x - mdla.lstsq(a, b).x)) <= 100 * mdla.finfo("qd").eps


@pytest.mark.parametrize("batch", [(), (2,)])
def test_smallest_solutions(batch, rng):
    """With a threshold for the rank each coefficient is what lstsq gives."""
    row = uniform((*batch, 1, 3, 4), "qd", True, rng)
    a = mdla.concatenate([row, 2 * row], axis=-3)  # rank 1 in every degree
    b = uniform((*batch, 1, 4), "qd", True, rng)
    b = mdla.concatenate([b, 2 * b], axis=-2)
    x = solve(Series(a), Series(b), rcond=1e-20)
    first = mdla.lstsq(a[..., 0], b[..., 0][..., np.newaxis], rcond=1e-20).x[..., 0]
    eps = mdla.finfo("qd").eps
    assert mdla.max(abs(x.coefficients[..., 0] - first)) <= 100 * eps
    rest = Series(a) @ Series(x.coefficients[..., np.newaxis, :]) - Series(b[..., np.newaxis, :])
    assert mdla.max(abs(rest.coefficients)) <= 1000 * eps * (1 + mdla.max(abs(x.coefficients)))
    wide = solve(Series(row), Series(b[..., :1, :]), rcond=0)
    assert wide.shape == (*batch, 3)


def test_shapes(rng):
    def series(*shape, degree=3):
        if shape[-2:-1] == shape[-1:]:
            return Series(regular((*shape, degree + 1), "dd", False, rng))
        return Series(uniform((*shape, degree + 1), "dd", False, rng))

    for a, b, x in [
        ((3, 3), (3,), (3,)),
        ((3, 3), (3, 2), (3, 2)),
        ((4, 3, 3), (3,), (4, 3)),
        ((4, 3, 3), (4, 3), (4, 3)),
        ((4, 3, 3), (4, 3, 2), (4, 3, 2)),
        ((4, 3, 3), (1, 3, 2), (4, 3, 2)),
        ((3, 3), (4, 3, 2), (4, 3, 2)),
        ((2, 1, 3, 3), (1, 4, 3, 2), (2, 4, 3, 2)),
        ((0, 3, 3), (0, 3), (0, 3)),
        ((0, 0), (0,), (0,)),
        ((2, 0, 0), (2, 0, 3), (2, 0, 3)),
        ((3, 3), (3, 0), (3, 0)),
        ((3, 0), (3,), (0,)),
    ]:
        assert solve(series(*a), series(*b)).shape == x
    assert solve(series(2, 2, degree=5), series(2)).degree == 3
    assert solve(np.eye(2), series(2)).degree == 3
    assert solve(np.eye(2), [1, 2]).degree == 0


def test_one_matrix_for_many_right_hand_sides(rng):
    a, b = regular((3, 3, 5), "qd", False, rng), uniform((4, 3, 2, 5), "qd", False, rng)
    x = solve(Series(a), Series(b)).coefficients
    for i in range(4):
        for j in range(2):
            assert worst_residual(a, x[i, :, j], b[i, :, j], "qd") <= 12


@COMPLEX
def test_same_bits_wherever_a_system_is(is_complex, rng):
    for prec, shape in (("dd", (7, 4, 4)), ("qd", (7, 3, 3)), ("qd", (3, 30, 30))):
        a = regular((*shape, 6), prec, is_complex, rng)
        a[1] = a[1] * 2.0**200  # apart from the others
        b = uniform((*shape[:2], 6), prec, is_complex, rng)
        every = solve(Series(a), Series(b)).coefficients
        for i in range(shape[0]):
            one = solve(Series(a[i : i + 1]), Series(b[i : i + 1])).coefficients
            assert_same_bits(one[0], every[i])


@pytest.mark.parametrize("power", [-600, -150, 150, 600])
def test_scales(power, rng):
    """Units of equations, unknowns and of t do not matter."""
    a, b = regular((3, 3, 4), "dd", False, rng), uniform((3, 4), "dd", False, rng)
    plain = solve(Series(a), Series(b)).coefficients
    units = np.ldexp(1.0, [power, 0, 0])
    rows = solve(Series(a * units[:, None, None]), Series(b * units[:, None])).coefficients
    assert mdla.max(abs(rows - plain)) <= 100 * mdla.finfo("dd").eps
    columns = solve(Series(a * units[:, None]), Series(b)).coefficients * units[:, None]
    assert mdla.max(abs(columns - plain)) <= 100 * mdla.finfo("dd").eps
    t = np.ldexp(1.0, np.arange(4) * (power // 4))
    series = solve(Series(a * t), Series(b * t)).coefficients / t
    assert mdla.max(abs(series - plain)) <= 100 * mdla.finfo("dd").eps


def test_precisions_meet(rng):
    a, b = regular((2, 2, 3), "dd", False, rng), uniform((2, 3), "qd", False, rng)
    assert solve(Series(a), Series(b)).prec == "qd"
    assert solve(Series(a), Series(b), prec="od").prec == "od"
    assert solve(Series(a.astype("ds")), Series(b.astype("ds"))).prec == "ds"
    mixed = solve(Series(a), Series(b * 1j)).coefficients
    assert mdla.max(abs(mixed.real)) == 0


def test_singular_leading_matrices(rng):
    a, b = regular((3, 2, 2, 4), "dd", False, rng), uniform((3, 2, 4), "dd", False, rng)
    a[1, :, :, 0] = mdla.array([[1, 2], [2, 4]])
    with pytest.raises(LinAlgError, match=r"leading matrix of system \[1\] is singular.*rcond"):
        solve(Series(a), Series(b))
    with pytest.raises(LinAlgError, match="leading matrix is singular"):
        solve(Series(a[1]), Series(b[1]))
    with pytest.raises(LinAlgError, match="leading matrix is singular"):
        solve(np.ones((3, 2)), [1, 2, 3])
    with pytest.raises(LinAlgError, match=r"shape \(1, 2\), fewer rows.*rcond=0"):
        solve([[1, 2]], [1])


def test_what_is_refused(rng):
    with pytest.raises(LinAlgError, match=r"a must be a matrix of series, got shape \(2,\)"):
        solve([1, 2], [1, 2])
    with pytest.raises(LinAlgError, match=r"2 rows, so b needs the shape .* got \(3,\)"):
        solve(np.eye(2), [1, 2, 3])
    with pytest.raises(LinAlgError, match=r"stacks of a, \(2,\), and b, \(3,\), do not match"):
        solve(np.stack([np.eye(2)] * 2), np.ones((3, 2, 1)))
    with pytest.raises(ValueError, match="a has infinities or nans"):
        solve([[np.nan]], [1])
    with pytest.raises(ValueError, match="unknown precision"):
        solve([[1]], [1], prec="xd")
