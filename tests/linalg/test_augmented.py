# SPDX-License-Identifier: BSD-3-Clause
"""lstsq by refinement: as good as the direct method, and correct to the last bits."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla.linalg import Info, lstsq
from mdla.linalg.augmented import Float64QR, ReflectorQR, refine_augmented
from tests.linalg.matrices import FAMILIES, uniform
from tests.linalg.measures import lstsq_error

PRECS = ["dd", "td", "qd", "pd", "od", "da", "hd"]
WIDER = {"dd": "qd", "td": "od", "qd": "od", "pd": "od", "od": "hd", "da": "hd"}
# Refinement cannot tell the rank; these go the direct way.
DEFICIENT = ["rank_deficient", "zero_columns", "duplicate_columns", "zero"]


def conditioned(m, n, bits, prec, is_complex, rng):
    """Singular values from 1 down to 2**-bits, and all limbs filled."""
    left, right = (mdla.qr(uniform(k, n, prec, is_complex, rng)).Q for k in (m, n))
    values = mdla.ldexp(mdla.ones(n, prec=prec), -np.linspace(0, bits, n).astype(int))
    return (left * values) @ right


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prec", ["dd", "qd", "hd"])
def test_backward_error_of_hard_matrices(family, is_complex, prec, rng):
    a = FAMILIES[family](15, 6, prec, is_complex, rng)
    b = uniform(15, 1, prec, is_complex, rng)[:, 0]
    if family in ("large", "small"):
        b = FAMILIES[family](15, 1, prec, is_complex, rng)[:, 0]
    result = lstsq(a, b, method="refine")
    assert lstsq_error(a, result.x, b, prec) <= 10 * 6
    assert result.rank == lstsq(a, b, method="direct").rank
    if family in DEFICIENT:
        assert result.info.method == "direct"


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("bits", [3, 20, 70])
@pytest.mark.parametrize("prec", PRECS)
def test_the_last_bits_are_right(prec, bits, consistent, is_complex, rng):
    """Whatever the condition; direct solutions lose its bits."""
    if bits >= 52 * (mdla.precision(prec).limbs - 1):
        pytest.skip("no factorisation with fewer limbs can do it")
    m, n = 40, 12
    a = conditioned(m, n, bits, prec, is_complex, rng)
    b = uniform(m, 2, prec, is_complex, rng)
    if consistent:
        b = a @ b[:n]
    result = lstsq(a, b, method="refine")
    info = result.info
    assert info.method == "refine"
    assert info.factorisation == ("d" if bits < 40 else "dd")
    assert 0.1 < info.rcond * 2**bits * n < 100 * n
    eps = float(mdla.finfo(prec).eps)
    assert (info.berr <= eps).all()
    # Residuals have at least 52 bits more than x, except in hd.
    wide = 52 if prec != "hd" else 0
    assert (info.ferr <= eps * (16 + 2.0 ** (bits + 18 - wide))).all()
    if prec == "hd":
        return
    want = lstsq(a, b, prec=WIDER[prec], method="direct")
    error = mdla.abs(result.x - want.x).max(axis=0) / mdla.abs(want.x).max(axis=0)
    assert (error <= info.ferr).all()
    if not consistent:
        ratio = (result.residuals / want.residuals).to_numpy()
        np.testing.assert_allclose(ratio, 1, rtol=0, atol=1e-15)


def test_info_of_stacks_and_direct_solutions(rng):
    a, b = uniform(12, 4, "qd", False, rng), uniform(12, 3, "qd", False, rng)
    stack = mdla.stack([a, 2 * a])
    result = lstsq(stack, b, method="refine")
    assert result.info.shape == (2,)
    assert all(isinstance(i, Info) and i.method == "refine" for i in result.info)
    direct = lstsq(a, b)
    assert direct.info.method == "direct"
    assert direct.info.factorisation == "qd"
    assert direct.info.berr is None
    assert direct.info.ferr.shape == (3,)
    assert mdla.max(mdla.abs(result.x[0] - direct.x)) <= 1e3 * mdla.finfo("qd").eps


def test_empty_and_flat_systems():
    for shape in [(0, 0), (3, 0), (0, 3), (2, 5), (1, 1)]:
        a, b = mdla.ones(shape, prec="qd"), mdla.ones(shape[0], prec="qd")
        x, y = (lstsq(a, b, method=method).x for method in ("refine", "direct"))
        assert x.shape == y.shape
        assert mdla.allclose(x, y)


def test_large_problems_are_refined_by_themselves(rng):
    a, b = uniform(600, 300, "od", False, rng), uniform(600, 1, "od", False, rng)
    assert lstsq(a, b).info.method == "refine"
    assert lstsq(a[:20, :5], b[:20]).info.method == "direct"


def test_what_does_not_converge_is_not_accepted(rng):
    """A factorisation of another matrix, and one that claims to be well conditioned."""
    a, b = uniform(20, 5, "qd", False, rng), uniform(20, 1, "qd", False, rng)
    other = uniform(20, 5, "qd", False, rng)
    for make in (Float64QR, lambda x: ReflectorQR(x, 2)):
        assert refine_augmented(a.planes, b.planes, make(a.planes)) is not None
        assert refine_augmented(a.planes, b.planes, make(other.planes)) is None
    duplicate = a.copy()
    duplicate[:, 1] = duplicate[:, 0]
    factors = Float64QR(duplicate.planes)
    factors.rcond = 1.0
    assert refine_augmented(duplicate.planes, b.planes, factors) is None


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match="unknown method 'fast'; write 'auto'"):
        lstsq([[1.0]], [1.0], method="fast")
