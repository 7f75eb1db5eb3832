# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of small systems side by side: LU, solve, Cholesky and least squares across the stack."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
import scipy.linalg

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, batched, lstsq, solve
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import Exact, lstsq_error, residual, solve_error
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, each_level

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


@pytest.fixture(params=DOUBLE_PRECS)
def prec(request):
    return request.param


def stack(count, m, n, prec, is_complex, rng):
    return uniform(count * m, n, prec, is_complex, rng).reshape(count, m, n)


def pivoted(a, pivots):
    """The rows of each matrix of a stack in another order."""
    return mdla.stack([a[i][pivots[i]] for i in range(len(a))])


def lu_factors(a):
    """P, L and U of a stack as arrays."""
    planes, pivots = batched.lu(a.planes)
    lower = np.tril(planes, -1)[..., : min(a.shape[1:])]
    lower[0, 0] += np.eye(*lower.shape[-2:])
    upper = np.triu(planes)[..., : min(a.shape[1:]), :]
    return pivots, mdla.MDArray(lower), mdla.MDArray(upper)


# -- solve ---------------------------------------------------------------------------------------


@COMPLEX
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 3), (5, 4), (9, 9), (16, 1)])
def test_backward_error(n, k, is_complex, prec, rng):
    a, b = stack(5, n, n, prec, is_complex, rng), stack(5, n, k, prec, is_complex, rng)
    x = solve(a, b)
    for i in range(5):
        assert solve_error(a[i], x[i], b[i], prec) <= 1


@pytest.mark.parametrize("n", [17, 33, 40, 41, 48, 64])
def test_orders(n, rng):
    prec = "d" if n > 48 else "dd"
    a, b = stack(3, n, n, prec, True, rng), stack(3, n, 2, prec, True, rng)
    x = solve(a, b)
    for i in range(3):
        assert solve_error(a[i], x[i], b[i], prec) <= n


@COMPLEX
def test_against_flint(is_complex, prec, rng):
    """The forward error against a solution with a thousand bits more, by the condition."""
    n = 7
    a, b = stack(4, n, n, prec, is_complex, rng), stack(4, n, 1, prec, is_complex, rng)
    x = solve(a, b)

    def exact(array):
        rows = [[_arb(z) for z in row] for row in array.real.tolist()]
        if not is_complex:
            return flint.arb_mat(rows)
        imaginary = [[_arb(z) for z in row] for row in array.imag.tolist()]
        pairs = zip(rows, imaginary, strict=True)
        return flint.acb_mat([[flint.acb(*z) for z in zip(*p, strict=True)] for p in pairs])

    before = flint.ctx.prec
    flint.ctx.prec = 2200
    try:
        for i in range(4):
            want = exact(a[i]).solve(exact(b[i]))
            got = exact(x[i])
            miss = sum(float(abs((got - want)[j, 0]).mid()) for j in range(n))
            size = sum(float(abs(want[j, 0]).mid()) for j in range(n))
            kappa = np.linalg.cond(a[i].to_numpy(), 1)
            assert miss <= 10 * n * mdla.finfo(prec).eps * kappa * size
    finally:
        flint.ctx.prec = before


def _arb(x):
    x = Fraction(x)
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


@COMPLEX
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 9])
def test_right_sides_do_not_meet(k, is_complex, rng):
    a, b = stack(9, 6, 6, "qd", is_complex, rng), stack(9, 6, 9, "qd", is_complex, rng)
    x = solve(a, b)
    assert_same_bits(solve(a, b[..., :k]), x[..., :k])


def odd_neighbours(n, prec, is_complex, rng):
    """Regular systems of every kind side by side: a right-hand side for each."""
    kinds = ["uniform", "scaled_rows", "graded_columns", "zero_pivots", "identity", "hadamard"]
    if n & (n - 1):
        kinds.remove("hadamard")
    a = [FAMILIES[kind](n, n, prec, is_complex, rng) for kind in kinds for _ in range(4)]
    return mdla.stack(a), stack(len(a), n, 2, prec, is_complex, rng)


@COMPLEX
def test_same_bits_wherever_a_system_is(is_complex, rng):
    for prec in ("d", "dd", "qd", "od"):
        a, b = odd_neighbours(8, prec, is_complex, rng)
        x = solve(a, b)
        for count in (1, 3, 8, 9, 17):
            assert_same_bits(solve(a[:count], b[:count]), x[:count])
        assert_same_bits(solve(a[::-1], b[::-1]), x[::-1])
        order = rng.permutation(len(a))
        assert_same_bits(solve(a[order], b[order]), x[order])
        columns = mdla.MDArray(np.asfortranarray(a.planes))
        assert_same_bits(solve(columns, b), x)


@COMPLEX
def test_same_bits_on_all_levels_and_threads(is_complex, rng):
    for prec, n in (("d", 5), ("dd", 16), ("td", 3), ("qd", 8), ("pd", 4), ("hd", 4)):
        a, b = stack(70, n, n, prec, is_complex, rng), stack(70, n, 2, prec, is_complex, rng)
        a[3], a[5] = mdla.ldexp(a[3], 300 * np.eye(n, dtype=int)), 1e-30 * a[5]
        spd = a @ a.mT.conj() if is_complex else a @ a.mT
        functions = [
            lambda a=a, b=b: solve(a, b).planes,
            lambda a=a: batched.lu(a.planes)[0],
            lambda spd=spd: batched.cholesky(spd.planes)[0],
        ]
        for f in functions:
            want = f()
            for _ in each_level():
                for threads in (1, 2, 3):
                    _native.set_num_threads(threads)
                    np.testing.assert_array_equal(f(), want)


def test_more_than_one_portion(monkeypatch, rng):
    monkeypatch.setattr(batched, "_PER_CALL", 5)
    a, b = stack(13, 4, 4, "dd", False, rng), stack(13, 4, 1, "dd", False, rng)
    got = solve(a, b), batched.lu(a.planes), batched.cholesky((a @ a.mT).planes)
    monkeypatch.undo()
    assert_same_bits(got[0], solve(a, b))
    for x, y in zip(
        got[1] + got[2], batched.lu(a.planes) + batched.cholesky((a @ a.mT).planes), strict=True
    ):
        np.testing.assert_array_equal(x, y)


@COMPLEX
def test_exact_answers_come_out_exactly(is_complex, prec, rng):
    unit = mdla.array(1j if is_complex else 1, prec=prec)
    x = mdla.array(rng.integers(-99, 100, (6, 5, 2)), prec=prec)
    permutations = np.stack([np.eye(5)[rng.permutation(5)] for _ in range(6)])
    a = mdla.array(permutations * rng.choice([-4.0, 0.5, 1, 2], (6, 5, 1)), prec=prec)
    b = a @ x
    assert_same_bits(solve(a * unit, b * unit), x * unit / unit)
    signs = FAMILIES["hadamard"](8, 8, prec, is_complex, rng)[None] * unit
    x = mdla.array(rng.integers(-99, 100, (6, 8, 2)), prec=prec)
    assert bool((solve(signs, signs @ x) == x).all())


def test_growth(rng):
    """Wilkinson's matrix, in which the last column doubles with every step."""
    for n in (16, 40, 48):
        a = np.eye(n) - np.tril(np.ones((n, n)), -1)
        a[:, -1] = 1
        a, b = mdla.array(np.stack([a, a.T]), prec="dd"), stack(2, n, 1, "dd", False, rng)
        x = solve(a, b)
        for i in range(2):
            assert solve_error(a[i], x[i], b[i], "dd") <= n


@COMPLEX
@pytest.mark.parametrize("n", [4, 9])
def test_solutions_of_any_size(n, is_complex, prec, rng):
    """Small pivots: parts of the solution are larger than others by nearly 1 / eps."""
    reach = min(52 * mdla.precision(prec).limbs - 20, 700)
    a = stack(12, n, n, prec, is_complex, rng)
    for i in range(12):
        e = -rng.integers(0, reach, n) if i % 2 else np.where(np.arange(n) == i // 2, -reach, 0)
        p, q = (uniform(n, n, prec, False, rng) for _ in range(2))
        a[i] = p @ mdla.ldexp(a[i], e[:, None]) if i % 3 else mdla.ldexp(p, e[:, None]) @ q
        # A nearly singular matrix: rows are combinations of rows that fade.
    b = stack(12, n, 1, prec, is_complex, rng)
    for i in range(12):
        try:
            x = solve(a[i : i + 1], b[i : i + 1])
        except LinAlgError:
            continue
        assert solve_error(a[i], x[0], b[i], prec) <= 10 * n


def test_hilbert_matrices():
    for prec, n in (("dd", 12), ("dd", 18), ("qd", 20), ("qd", 36), ("od", 24)):
        a = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
        b = [[sum(row)] for row in a]
        a, b = mdla.array([a] * 3, prec=prec), mdla.array([b] * 3, prec=prec)
        x = solve(a, b)
        for i in range(3):
            assert solve_error(a[i], x[i], b[i], prec) <= n
            assert_same_bits(x[i], x[0])


@COMPLEX
@pytest.mark.parametrize("family", ["scaled_rows", "scaled_columns", "large", "small", "lauchli"])
def test_scales(family, is_complex, prec, rng):
    if family == "scaled_columns" and prec in ("da", "hd"):
        pytest.skip("the last limbs of the solution would be too small for doubles")
    a = mdla.stack([FAMILIES[family](6, 6, prec, is_complex, rng) for _ in range(9)])
    if family == "lauchli":
        a = a + mdla.eye(6, prec=prec)
    b = mdla.stack([FAMILIES[family](6, 1, prec, is_complex, rng) for _ in range(9)])
    if family == "lauchli":
        b = stack(9, 6, 1, prec, is_complex, rng)
    x = solve(a, b)
    for i in range(9):
        assert solve_error(a[i], x[i], b[i], prec) <= 60


@COMPLEX
def test_small_entries_keep_their_digits(is_complex, prec, rng):
    """Diagonal blocks of very different right-hand sides, entries 1e-20 of others."""
    a = stack(9, 6, 6, prec, is_complex, rng)
    a[:, 3:, :3] = 0
    a[:, :3, 3:] = 0
    b = stack(9, 6, 1, prec, is_complex, rng)
    b[:, 3:] = b[:, 3:] * mdla.array(1e-20, prec=prec)
    x = solve(a, b)
    for i in range(9):
        for part in (slice(0, 3), slice(3, 6)):
            assert solve_error(a[i, part, part], x[i, part], b[i, part], prec) <= 6


def test_singular_systems_are_named(rng):
    a = stack(40, 5, 5, "qd", False, rng)
    a[23, :, 2] = 2 * a[23, :, 1]
    a[31] = 0
    b = stack(40, 5, 1, "qd", False, rng)
    with pytest.raises(LinAlgError, match=r"solve: a\[23\] is singular"):
        solve(a, b)
    with pytest.raises(LinAlgError, match=r"solve: a\[3, 1\] is singular;"):
        solve(a[24:32].reshape(4, 2, 5, 5), b[:4, None])


def test_nonfinite_systems_do_not_spread(prec, rng):
    a, b = stack(11, 4, 4, prec, False, rng), stack(11, 4, 3, prec, False, rng)
    want = solve(a, b)
    a[4, 0, 0], a[6, 1, 1], b[8, 2, 1] = np.nan, np.inf, -np.inf
    got = solve(a, b, check_finite=False)
    good = [i for i in range(11) if i not in (4, 6, 8)]
    assert_same_bits(got[good], want[good])
    assert np.isnan(got[[4]].to_numpy()).all()
    assert not np.isfinite(got[8, :, 1].to_numpy()).any()
    assert np.isfinite(got[8, :, [0, 2]].to_numpy()).all()


# -- LU ------------------------------------------------------------------------------------------


@COMPLEX
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (12, 12), (7, 4), (4, 7)], ids=str)
def test_lu(shape, is_complex, prec, rng):
    a = stack(9, *shape, prec, is_complex, rng)
    pivots, lower, upper = lu_factors(a)
    assert [sorted(p) for p in pivots.tolist()] == [list(range(shape[0]))] * 9
    for i in range(9):
        assert residual(a[i][pivots[i]], lower[i], upper[i], prec) <= 1
    size = abs(lower.real) + abs(lower.imag) if is_complex else abs(lower)
    assert float(mdla.max(size)) <= (2 if is_complex else 1) * (1 + 1e-12)


def test_pivots_of_lapack(rng):
    """Partial pivoting, and the first of equal ones."""
    for dtype in (float, complex):
        a = rng.integers(-9, 10, (60, 8, 8)).astype(dtype)
        a[30:] = rng.standard_normal((30, 8, 8))
        if dtype is complex:
            a[30:] += 1j * rng.standard_normal((30, 8, 8))
        planes, pivots = batched.lu(mdla.array(a, prec="dd").planes)
        for i in range(30, 60):
            lu, swaps = scipy.linalg.lu_factor(a[i])
            want = np.arange(8)
            for j, p in enumerate(swaps):
                want[[j, p]] = want[[p, j]]
            assert (pivots[i] == want).all()
            got = planes[0, 0, i] + (1j * planes[1, 0, i] if dtype is complex else 0)
            np.testing.assert_allclose(got, lu, rtol=1e-9)


@COMPLEX
def test_lu_of_odd_matrices(is_complex, prec, rng):
    a = mdla.stack([f(8, 8, prec, is_complex, rng) for f in FAMILIES.values()])
    pivots, lower, upper = lu_factors(a)
    names = list(FAMILIES)
    for i, name in enumerate(names):
        # |A - L U| is measured by |L| |U|, which is not much more than |A| here.
        assert residual(a[i][pivots[i]], lower[i], upper[i], prec) <= 50, name
    assert not np.isfinite(batched.lu(np.full(a[:1].planes.shape, np.nan))[0]).all()


def test_lu_of_singular_integers_has_zeros(prec):
    a = mdla.array(
        [[[1, 2, 1], [-2, -4, 1], [4, 8, 0]], [[2, 2, 2], [1, 1, 1], [2, 2, 2]]], prec=prec
    )
    _, _, upper = lu_factors(a)
    assert (np.prod(np.diagonal(upper.planes[0, 0], axis1=1, axis2=2), axis=1) == 0).all()


# -- Cholesky ------------------------------------------------------------------------------------


def definite(count, n, prec, is_complex, rng):
    a = stack(count, n, n + 2, prec, is_complex, rng)
    return a @ a.mT.conj() if is_complex else a @ a.mT


@COMPLEX
@pytest.mark.parametrize("n", [1, 2, 5, 12, 20])
def test_cholesky(n, is_complex, prec, rng):
    a = definite(9, n, prec, is_complex, rng)
    e = rng.integers(-60, 60, (9, n, 1))
    scaled = mdla.ldexp(mdla.ldexp(a, e), e.swapaxes(1, 2))
    planes = scaled.planes.copy()
    planes[..., *np.triu_indices(n, 1)] = np.nan  # is not read
    out, failed = batched.cholesky(planes)
    assert (failed == -1).all()
    lower = mdla.MDArray(out)
    assert not np.triu(lower.planes, 1).any()
    if is_complex:
        assert not np.diagonal(out[1], axis1=-2, axis2=-1).any()
    for i in range(9):
        one = mdla.ldexp(lower[i], -e[i])
        assert residual(a[i], one, one.mT.conj() if is_complex else one.mT, prec) <= 2


@COMPLEX
def test_cholesky_says_where_it_fails(is_complex, prec, rng):
    a = definite(40, 6, prec, is_complex, rng)
    want = np.full(40, -1)
    for i in range(0, 40, 3):
        j = want[i] = i % 6
        a[i, j, j] = -a[i, j, j] if i % 2 else 0 * a[i, j, j]
    a[1] = 1e300 * a[1]
    a[2] = mdla.ldexp(a[2], np.add.outer(np.arange(6), np.arange(6)) * 60)
    a[4] = 0
    a[5, :, 0] = a[5, 0, :] = np.nan
    want[[4, 5]] = 0
    a[7] = mdla.ones((6, 6), prec=prec)
    want[7] = 1
    _, failed = batched.cholesky(a.planes)
    assert failed.tolist() == want.tolist()


def test_cholesky_of_hilbert_matrices():
    for prec, n in (("dd", 12), ("qd", 24)):
        a = mdla.array([[[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]], prec=prec)
        out, failed = batched.cholesky(a.planes)
        lower = mdla.MDArray(out)
        assert failed[0] == -1
        assert residual(a[0], lower[0], lower[0].mT, prec) <= 2


# -- least squares -------------------------------------------------------------------------------


@COMPLEX
@pytest.mark.parametrize("shape", [(3, 1), (7, 4), (5, 5)], ids=str)
def test_lstsq(shape, is_complex, prec, rng):
    m, n = shape
    a, b = stack(5, m, n, prec, is_complex, rng), stack(5, m, 2, prec, is_complex, rng)
    result = lstsq(a, b)
    assert (result.rank == n).all()
    for i in range(5):
        one = lstsq(a[i], b[i])
        for column in range(2):
            assert lstsq_error(a[i], result.x[i, :, column], b[i, :, column], prec) <= 20 * m
        assert result.rcond[i] == pytest.approx(one.rcond, rel=1e-6)
        np.testing.assert_allclose(result.errors[i], one.errors, rtol=1e-6)
        if m > n:
            miss = abs(result.residuals[i] - one.residuals) / one.residuals
            assert float(mdla.max(miss)) <= 1000 * mdla.finfo(prec).eps
    assert result.residuals.shape == (5, 2 if m > n else 0)


def test_lstsq_of_deficient_systems_among_others(prec, rng):
    a, b = stack(12, 6, 3, prec, False, rng), stack(12, 6, 1, prec, False, rng)[..., 0]
    a[5, :, 2] = a[5, :, 0]
    a[9] = 0
    a[7] = mdla.ldexp(a[7], np.array([-300, 0, 300]))
    result = lstsq(a, b[..., None])
    assert result.rank.tolist() == [3] * 5 + [2] + [3] * 3 + [0] + [3] * 2
    assert result.residuals.shape == (12, 0)
    for i in (4, 5, 7, 9):
        one = lstsq(a[i], b[i])
        miss = abs(result.x[i, :, 0] - one.x)
        assert bool(
            (
                miss <= 1000 * mdla.finfo(prec).eps * (abs(one.x) + mdla.max(abs(one.x)) * (i != 7))
            ).all()
        )
    assert (result.rcond[[5, 9]] == 0).all()
    assert np.isinf(result.errors[[5, 9]]).all()


def test_lstsq_same_bits_wherever_a_system_is(rng):
    a, b = stack(50, 9, 4, "dd", False, rng), stack(50, 9, 1, "dd", False, rng)
    want = lstsq(a, b)
    for threads in (1, 3):
        _native.set_num_threads(threads)
        got = lstsq(a[7:], b[7:])
        assert_same_bits(got.x, want.x[7:])
        assert_same_bits(got.residuals, want.residuals[7:])


def test_lstsq_nonfinite_and_empty(rng):
    a, b = stack(3, 4, 2, "dd", False, rng), stack(3, 4, 1, "dd", False, rng)
    want = lstsq(a, b)
    a[1, 0, 0] = np.nan
    got = lstsq(a, b, check_finite=False)
    assert_same_bits(got.x[[0, 2]], want.x[[0, 2]])
    assert np.isnan(got.x[1].to_numpy()).all()
    for shape, right in (((0, 4, 2), (0, 4, 1)), ((3, 4, 0), (3, 4, 2)), ((2, 0, 0), (2, 0, 1))):
        x = lstsq(mdla.zeros(shape), mdla.zeros(right)).x
        assert x.shape == (shape[0], shape[2], right[2])


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 3])
def test_zero_sizes(count, prec):
    planes = mdla.zeros((count, 0, 0), prec=prec).planes
    assert batched.lu(planes)[0].shape[2:] == (count, 0, 0)
    assert batched.cholesky(planes)[1].tolist() == [-1] * count
    wide = mdla.zeros((count, 0, 4), prec=prec).planes
    assert batched.lu(wide)[0].shape[2:] == (count, 0, 4)


def test_residual_of_exact_arithmetic(rng):
    """The oracle itself: A x - b = 0 for integers."""
    a, x = rng.integers(-9, 10, (4, 4)), rng.integers(-9, 10, (4, 1))
    exact = [Exact.of(mdla.array(v, prec="dd")) for v in (a, x, a @ x)]
    assert (exact[0] @ exact[1] - exact[2]).norm_squared() == 0
