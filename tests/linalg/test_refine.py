# SPDX-License-Identifier: BSD-3-Clause
"""solve by refinement: correct to the last bits, verified, and no wrong solution accepted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla.linalg import LinAlgError, solve, solve_info
from mdla.linalg.elimination import LUFactors
from mdla.linalg.refine import HOPELESS, Float64LU, Work, climb, next_factorisation, refine
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.test_augmented import PRECS, WIDER, conditioned

SINGULAR = ["rank_deficient", "zero_columns", "duplicate_columns", "zero"]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("bits", [3, 20, 70])
@pytest.mark.parametrize("prec", PRECS)
def test_the_last_bits_are_right(prec, bits, is_complex, rng):
    if bits >= 52 * (mdla.precision(prec).limbs - 1):
        pytest.skip("no factorisation with fewer limbs can do it")
    n = 30
    a = conditioned(n, n, bits, prec, is_complex, rng)
    b = uniform(n, 2, prec, is_complex, rng)
    x, info = solve_info(a, b, method="refine")
    assert info.method == "refine"
    assert info.factorisation == ("d" if bits < 40 else "dd")
    eps = float(mdla.finfo(prec).eps)
    assert (info.berr <= 4 * eps).all()
    wide = 52 if prec != "hd" else 0
    assert (info.ferr <= eps * (16 + 2.0 ** (bits + 18 - wide))).all()
    if prec == "hd":
        return
    want = solve(a, b, prec=WIDER[prec], method="direct")
    error = mdla.abs(x - want).max(axis=0) / mdla.abs(want).max(axis=0)
    assert (error <= info.ferr).all()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def test_never_worse_than_direct(family, is_complex, prec, rng):
    """The same matrices are singular, and the backward error is no larger."""
    n = 9
    a, b = FAMILIES[family](n, n, prec, is_complex, rng), uniform(n, 1, prec, is_complex, rng)
    try:
        direct = solve_info(a, b, method="direct").info
    except LinAlgError:
        with pytest.raises(LinAlgError, match="singular"):
            solve(a, b, method="refine")
        return
    assert family not in SINGULAR
    refined = solve_info(a, b, method="refine").info
    eps = float(mdla.finfo(prec).eps)
    assert (refined.berr <= np.maximum(direct.berr, eps)).all()


@pytest.mark.parametrize(
    "rows",
    [
        [["5.6", "1.2"], [Fraction(7, 15), "0.1"]],
        [[1, 2, 1], [-2, -3, 1], [3, 5, 0]],
        [[3, 2, 1], [2, 2, 0], [1, 0, 1]],
    ],
)
@pytest.mark.parametrize("prec", ["dd", "qd", "hd"])
def test_singular_systems_are_never_accepted(rows, prec):
    """Consistent ones, too, whose residuals are small."""
    a = mdla.array(rows, prec=prec)
    b = a @ mdla.ones(len(rows), prec=prec)
    for method in ("refine", "direct", "auto"):
        with pytest.raises(LinAlgError, match="singular"):
            solve(a, b, method=method)
    assert refine(a.planes, b.planes[..., np.newaxis], Float64LU(a.planes)) is None


def test_what_does_not_converge_is_not_accepted(rng):
    a, b = uniform(20, 20, "qd", False, rng), uniform(20, 1, "qd", False, rng)
    other = uniform(20, 20, "qd", False, rng)
    for make in (Float64LU, lambda x: LUFactors(x[:, :2])):
        assert refine(a.planes, b.planes, make(a.planes)) is not None
        assert refine(a.planes, b.planes, make(other.planes)) is None


def test_the_ladder(rng):
    """Float64 serves small conditions, then dd, and direct solutions of small systems."""
    large, small = Work.of_square(1000, 1), Work.of_square(10, 1)
    assert next_factorisation(8, 1, large, 0.0) == 1
    assert next_factorisation(8, 1, small, 0.0) is None
    assert next_factorisation(8, 1, large, 2.0**-60) in (2, 3)
    assert next_factorisation(8, 1, large, HOPELESS) is None
    assert next_factorisation(1, 1, large, 0.0) is None
    tried = []

    def attempt(limbs):
        tried.append(limbs)
        return None, 2.0**-60

    assert climb(8, large, "refine", attempt) is None
    assert tried == [1, 2, 3, 4, 5]
    tried.clear()
    assert climb(8, large, "direct", attempt) is None
    assert tried == []


def test_stacks_vectors_and_empty_systems(rng):
    a, b = uniform(6, 6, "qd", False, rng), uniform(6, 1, "qd", False, rng)[:, 0]
    x, info = solve_info(mdla.stack([a, 2 * a]), b[:, np.newaxis], method="refine")
    assert x.shape == (2, 6, 1)
    assert info.shape == (2,)
    assert mdla.max(mdla.abs(2 * x[1] - x[0])) <= 4 * mdla.finfo("qd").eps * mdla.max(mdla.abs(x))
    assert solve(a, b, method="refine").shape == (6,)
    empty = mdla.zeros((0, 0), prec="qd")
    assert solve_info(empty, mdla.zeros((0, 2), prec="qd")).x.shape == (0, 2)
    zero = solve_info(a, 0 * b, method="refine")
    assert (zero.x == 0).all()
    with pytest.raises(LinAlgError, match=r"solve_info: a\[1\] is singular"):
        solve_info(mdla.stack([a, 0 * a]), b[:, np.newaxis])
    with pytest.raises(ValueError, match="unknown method 'fast'"):
        solve(a, b, method="fast")


def test_large_systems_are_refined_by_themselves(rng):
    a, b = uniform(400, 400, "od", False, rng), uniform(400, 1, "od", False, rng)
    assert solve_info(a, b).info.method == "refine"
    assert solve_info(a[:20, :20], b[:20]).info.method == "direct"


@pytest.mark.parametrize("method", ["direct", "refine"])
@pytest.mark.parametrize(("prec", "e"), [("dd", 500), ("qd", 480), ("od", 300), ("hd", 150)])
def test_units_far_apart_lose_nothing(prec, e, method):
    """Columns scaled by 2**e and 2**-e: x and the determinant are those without, scaled."""
    a = mdla.array([["1/3", "2/7"], ["5/11", "3/13"]], prec=prec)
    b = mdla.array(["1/17", "1/19"], prec=prec)
    want, volume = solve(a, b, method="direct"), mdla.linalg.det(a)
    scaled = a.copy()
    scaled[:, 0], scaled[:, 1] = mdla.ldexp(a[:, 0], e), mdla.ldexp(a[:, 1], -e)
    x = solve(scaled, b, method=method)
    x = mdla.stack([mdla.ldexp(x[0], e), mdla.ldexp(x[1], -e)])
    bound = 100 * mdla.finfo(prec).eps
    assert mdla.max(mdla.abs(x - want)) <= bound * mdla.max(mdla.abs(want))
    assert mdla.abs(mdla.linalg.det(scaled) - volume) <= bound * mdla.abs(volume)
    stacked = solve(mdla.stack([a, scaled]), mdla.stack([b, b])[..., np.newaxis])[1, :, 0]
    y = mdla.stack([mdla.ldexp(stacked[0], e), mdla.ldexp(stacked[1], -e)])
    assert mdla.max(mdla.abs(y - want)) <= bound * mdla.max(mdla.abs(want))


@pytest.mark.parametrize("method", ["direct", "refine"])
@pytest.mark.parametrize("shift", [20, 90])
def test_ferr_is_that_of_x_in_its_own_units(shift, method, rng):
    a, ones = uniform(4, 4, "dd", False, rng), mdla.ones(4, prec="dd")
    a[:, 0] = mdla.ldexp(a[:, 0], -shift)
    b = a @ ones
    want = solve(a, b, prec="od", method="direct")
    for x, info in (
        solve_info(a, b, method=method),
        (lambda r: (r.x, r.info))(mdla.lstsq(a, b, method=method)),
    ):
        error = mdla.max(mdla.abs(x - want)) / mdla.max(mdla.abs(want))
        assert error <= float(np.max(info.ferr))


def test_nan_gives_nan_by_refinement_too():
    a = mdla.array([[np.nan, 1], [1, 1]], prec="qd")
    x = solve(a, [1, 1], method="refine", check_finite=False)
    assert mdla.isnan(x).all()
    y = mdla.lstsq(a, [1, 1], method="refine", check_finite=False).x
    assert mdla.isnan(y).all()


def test_elimination_shows_its_progress(capsys, rng):
    a = uniform(200, 200, "dd", False, rng)
    solve(a, a[:, 0], method="direct", progress=True)
    assert "LU factorisation" in capsys.readouterr().err
