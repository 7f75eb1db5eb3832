# SPDX-License-Identifier: BSD-3-Clause
"""Square systems: residuals, known answers, what is singular and what is not, stacks, errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.linalg import LinAlgError, solve
from mdla.linalg.elimination import LUFactors
from tests.linalg.exact import KNOWN
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import solve_error
from tests.oracle import assert_close, assert_same_bits
from tests.registry import DOUBLE_PRECS, PRECS, each_level

REGULAR = [
    name
    for name in FAMILIES
    if name
    not in ("rank_deficient", "zero_columns", "duplicate_columns", "zero", "hilbert", "vandermonde")
]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", REGULAR)
def test_residuals(family, is_complex, prec, rng):
    n = 8 if family != "zero_pivots" else 9
    a = FAMILIES[family](n, n, prec, is_complex, rng)
    if family in ("triangular", "lauchli"):
        a = a + mdla.eye(n, prec=prec)
    b = uniform(n, 3, prec, is_complex, rng)
    if family in ("large", "small"):
        # A solution of moderate size, all of whose limbs exist.
        b = FAMILIES[family](n, 3, prec, is_complex, rng)

    x = solve(a, b)

    assert x.shape == (n, 3)
    assert x.prec == prec
    assert solve_error(a, x, b, prec) <= 10 * n
    vector = solve(a, b[:, 0])
    assert vector.shape == (n,)
    assert solve_error(a, vector, b[:, 0], prec) <= 10 * n


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 70])
def test_sizes(n, rng):
    a, x = uniform(n, n, "dd", True, rng) + 2 * mdla.eye(n), uniform(n, 2, "dd", True, rng)
    got = solve(a, a @ x)
    assert mdla.norm(got - x) <= 1e5 * n * mdla.finfo("dd").eps


def test_rows_and_columns_of_any_scale(prec, rng):
    """The units of the equations and unknowns cost no digits."""
    reach = 150 if prec != "ds" else 15
    a, b = uniform(6, 6, prec, False, rng), uniform(6, 1, prec, False, rng)[:, 0]
    rows = rng.integers(-reach, reach, (6, 1))
    columns = rng.integers(-reach, reach, (1, 6))
    want = solve(a, b)
    got = solve(mdla.ldexp(mdla.ldexp(a, rows), columns), mdla.ldexp(b, rows[:, 0]))
    want, got = want.tolist(), mdla.ldexp(got, columns[0]).tolist()
    size = max(abs(v) for v in want)
    # The last limbs of the small entries do not exist in the widest formats.
    eps = mdla.precision(prec if prec not in ("da", "hd") else "od").eps
    assert max(abs(v - w) for v, w in zip(want, got, strict=True)) <= 10**6 * eps * size


def test_zero_pivot_and_sign_of_zero(prec):
    """A cubic at -a, 0, a, 2a with a = pi / 20, where pivots become zero."""
    a = mdla.pi("hd") / 20
    # sin(pi / 10) and sin(pi / 20) by radicals.
    tenth = (mdla.sqrt(mdla.array(5, prec="hd")) - 1) / 4
    twentieth = mdla.sqrt((1 - mdla.sqrt(1 - tenth * tenth)) / 2)
    t = mdla.stack([-a, 0 * a, a, 2 * a])
    matrix = mdla.stack([t**k for k in range(4)], axis=1).astype(prec)
    right = mdla.stack([-twentieth, 0 * a, twentieth, twentieth]).astype(prec)
    want = [
        0,
        Fraction("1.1618748577841549365592701367388039"),
        0,
        Fraction("-6.7270020477121967813270668073819824"),
    ]
    scale = [1, 1, 10, 10]
    bound = max(200, 1e-33 / mdla.finfo(prec).eps)
    x = solve(matrix, right)
    assert_close(x, want, prec, bound, scale=scale)
    x = mdla.linalg.lstsq(matrix, right).x
    assert_close(x, want, prec, bound, scale=scale)
    q, r = mdla.linalg.qr(matrix)
    x = mdla.linalg.solve_triangular(r, q.T @ right)
    assert_close(x, want, prec, bound, scale=scale)


def test_growth_of_the_pivots(prec, rng):
    """Wilkinson's matrix, whose U grows to 2^59: reflections take over."""
    n = 60
    a = mdla.array(KNOWN["wilkinson"](n), prec=prec)
    b = uniform(n, 1, prec, False, rng)
    assert LUFactors(a.astype("dd").planes).growth == 2.0 ** (n - 1)
    assert solve_error(a, solve(a, b), b, prec) <= 10 * n


SINGULAR = {
    "rationals": [[Fraction("5.6"), Fraction("1.2")], [Fraction(7, 15), Fraction("0.1")]],
    "integers": [[1, 2, 1], [-2, -3, 1], [3, 5, 0]],
    "symmetric": [[3, 2, 1], [2, 2, 0], [1, 0, 1]],
    "zero row": [[1, 2], [0, 0]],
    "zero column": [[1, 0], [2, 0]],
    "zero": [[0, 0], [0, 0]],
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular(name, prec):
    a = mdla.array(SINGULAR[name], prec=prec)
    n = len(SINGULAR[name])
    with pytest.raises(LinAlgError, match=r"solve: a is singular.*mdla\.lstsq"):
        solve(a, mdla.ones(n, prec=prec))
    good = mdla.eye(n, prec=prec)
    stack = mdla.stack([good, good, a, a]).reshape(2, 2, n, n)
    with pytest.raises(LinAlgError, match=r"solve: a\[1, 0\] is singular"):
        solve(stack, mdla.ones(n, prec=prec))
    # Other units of unknowns and equations change nothing.
    scaled = mdla.ldexp(mdla.ldexp(a, np.arange(n)[:, np.newaxis] * 9), np.arange(n) * -5)
    with pytest.raises(LinAlgError):
        solve(scaled, mdla.ones(n, prec=prec))


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [5, 20, 40])
def test_random_singular_matrices(n, is_complex, rng):
    for prec in ("d", "dd", "qd", "hd") if n == 5 else ("d", "dd"):
        for _ in range(10):
            a = uniform(n, n, prec, is_complex, rng).copy()
            a[:, -1] = (a[:, :-1] * uniform(1, n - 1, prec, False, rng)).sum(axis=1)
            with pytest.raises(LinAlgError, match="a is singular"):
                solve(a, mdla.ones(n, prec=prec))


@pytest.mark.parametrize(
    ("n", "prec", "digits"), [(12, "dd", 13), (20, "dd", 1.5), (40, "qd", 2), (40, "od", 60)]
)
def test_hilbert_is_not_singular(n, prec, digits):
    """As long as the condition number leaves a digit: no guard may refuse it."""
    a = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    b = [sum(row) for row in a]
    x = solve(mdla.array(a, prec=prec), mdla.array(b, prec=prec))
    error = max(float(abs(v - 1)) for v in x.tolist())
    assert error < 10.0**-digits


def test_stacks_as_in_numpy(prec, rng):
    a = uniform(6 * 4, 4, prec, False, rng).reshape(2, 3, 4, 4) + 3 * mdla.eye(4, prec=prec)
    b = uniform(4, 2, prec, False, rng)
    x = solve(a, b)
    assert x.shape == (2, 3, 4, 2)
    for i in np.ndindex(2, 3):
        assert solve_error(a[i], x[i], b, prec) <= 40
    # Only a right-hand side with one axis is a vector.
    assert solve(a, b[:, 0]).shape == (2, 3, 4)
    assert solve(a[0, 0], mdla.ones((5, 4, 1), prec=prec)).shape == (5, 4, 1)
    with pytest.raises(LinAlgError, match="got"):
        solve(a[0], mdla.ones((3, 4), prec=prec))


def test_larger_matrices_of_a_stack(rng):
    n = 60
    a = uniform(2 * n, n, "dd", False, rng).reshape(2, n, n)
    x = uniform(n, 1, "dd", False, rng)
    got = solve(a, a @ x)
    for i in range(2):
        assert_same_bits(got[i], solve(a[i], a[i] @ x))


def test_stacks_of_all_precisions_side_by_side(rng):
    for prec in PRECS:
        for is_complex in (False, True):
            a = uniform(70 * 3, 3, prec, is_complex, rng).reshape(70, 3, 3)
            b = uniform(70 * 3, 1, prec, is_complex, rng).reshape(70, 3, 1)
            x = solve(a, b)
            for i in (0, 31, 69):
                assert solve_error(a[i], x[i], b[i], prec) <= 30


def test_same_bits_on_all_levels_and_threads(rng):
    stack = uniform(200 * 5, 5, "dd", True, rng).reshape(200, 5, 5)
    a, b = uniform(50, 50, "dd", False, rng), uniform(50, 3, "dd", False, rng)
    want = solve(stack, b[:5, 0]), solve(a, b)
    for _ in each_level():
        for threads in (1, 2):
            _native.set_num_threads(threads)
            assert_same_bits(solve(stack, b[:5, 0]), want[0])
            assert_same_bits(solve(a, b), want[1])


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        ((0, 0), (0,), (0,)),
        ((2, 2), (2, 0), (2, 0)),
        ((0, 3, 3), (3, 2), (0, 3, 2)),
        ((0, 0), (0, 2), (0, 2)),
    ],
    ids=str,
)
def test_zero_size(a, b, x, prec):
    matrix = mdla.zeros(a, prec=prec) + mdla.eye(a[-1], prec=prec)
    assert solve(matrix, mdla.zeros(b, prec=prec)).shape == x


def test_mixed_operands(rng):
    a = rng.standard_normal((3, 3))
    x = solve(a, mdla.array([1, 2, 3], prec="qd"))
    assert x.prec == "qd"
    assert solve(a, [1, 2, 3]).prec == "dd"
    assert solve(a, [1, 2, 3], prec="od").prec == "od"
    assert np.linalg.solve(mdla.array(a), [1j, 2, 3]).iscomplex


def test_bad_input():
    with pytest.raises(LinAlgError, match=r"must be square, got shape \(2, 3\); write mdla.lstsq"):
        solve(mdla.ones((2, 3)), [1, 1])
    with pytest.raises(LinAlgError, match="matrix or a stack"):
        solve(mdla.ones(2), [1, 1])
    with pytest.raises(LinAlgError, match="b needs the shape"):
        solve(mdla.eye(2), [1, 1, 1])
    with pytest.raises(LinAlgError, match="b needs the shape"):
        solve(mdla.eye(2), 1)
    with pytest.raises(ValueError, match="a has infinities or nans"):
        solve([[np.nan, 1], [1, 1]], [1, 1])
    a = mdla.array([[np.nan, 1], [1, 1]])
    assert np.isnan(solve(a, [1, 1], check_finite=False).to_numpy()).all()
    x = solve(mdla.stack([a, mdla.eye(2)]), [1, 1], check_finite=False).to_numpy()
    assert np.isnan(x[0]).all()
    assert (x[1] == 1).all()


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
def test_inputs_stay(prec, rng):
    a, b = uniform(4, 4, prec, False, rng), uniform(4, 1, prec, False, rng)
    before = a.planes.copy(), b.planes.copy()
    solve(a, b)
    solve(mdla.stack([a, a]), b)
    assert np.array_equal(a.planes, before[0])
    assert np.array_equal(b.planes, before[1])
