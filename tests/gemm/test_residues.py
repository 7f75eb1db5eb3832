# SPDX-License-Identifier: BSD-3-Clause
"""The product by residues: the promise for every input, and one result however it is computed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm import engines, residues as scheme
from mdla.gemm.plan import read_problem
from tests.gemm.residues import (
    PRECS,
    assert_one_result,
    by_definition,
    check,
    exact_parts,
    items,
    multiply,
    nearest,
)
from tests.gemm.schemes import CASES, hostile, operands, powers, random
from tests.oracle import assert_same_bits, error_in_eps

# -- the definition and the promise --------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("complex", [False, True])
def test_results_are_those_of_the_definition(rng, prec, complex):
    """Integers, their exact product, one rounding to the quantum, one to limbs."""
    for scaled in (False, True):
        a, b = random(rng, (3, 11), prec, complex), random(rng, (11, 4), prec, complex)
        if scaled:
            a = a * powers(rng, (3, 1), -50, 50) * powers(rng, 11, -30, 30)
            a[1] = 0
        c = multiply(a, b)
        for part, want in zip((c.real, c.imag), by_definition(a, b), strict=False):
            assert_same_bits(part, nearest(want, prec))


@pytest.mark.parametrize(("prec", "case"), CASES)
def test_promise(rng, prec, case):
    a, b = operands(case, rng, prec)
    check(assert_one_result(a, b), a, b)


@pytest.mark.parametrize(("prec", "case"), [c for c in CASES if c[0] in ("d", "dd", "od")])
def test_promise_for_complex_entries(rng, prec, case):
    (a, b), (x, y) = operands(case, rng, prec), operands(case, rng, prec)
    z, w = a + x * 1j, b + y * 1j
    check(multiply(z, w), z, w)


@pytest.mark.parametrize("prec", PRECS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_as_many_bits_as_it_takes(prec, k):
    """Entries that are rounded by nearly half a unit: eight bits less break the promise."""
    limbs = mdla.precision(prec).limbs
    engine = engines.scheme("crt").engine()
    errors = []
    for fewer in (8, 0):
        ones = mdla.ones((1, k), prec=prec)
        (item,) = items(ones, ones.T)
        # 1 lies below 2^1, so half of the last unit is 2^-bits; a double ends at 2^-52.
        half, little = Fraction(1, 2 ** (item.bits[0] - fewer)), Fraction(1, 2**52)
        x = 1 + (half * (1 - little) if limbs > 1 else max(half - little, little))
        a, b = mdla.array([[x] * k], prec=prec), mdla.array([[x]] * k, prec=prec)
        problem = read_problem(a, b)
        engines.scheme("crt").choose(problem)
        (item,) = problem.memo["items"]
        shorter = replace(
            item, bits=tuple(p - fewer for p in item.bits), quantum=item.quantum - fewer
        )
        problem.memo["items"] = [shorter]
        (value,), (scale,) = exact_parts(a, b)
        unit = Fraction(1, 2**2148)
        got = mdla.MDArray(engine.run(problem, None))
        errors.append(error_in_eps(got, value * unit, prec, scale * unit).max())
    assert errors[0] > k > errors[1]


@pytest.mark.parametrize("prec", PRECS)
def test_spans(rng, prec):
    """From entries of one size to those for which direct kernels are better, and beyond."""
    for span in (0, 1, 20, 90, 200, 450, 1000, 1400, 1440, 1500):
        a, b = random(rng, (3, 4), prec) + 2, random(rng, (4, 3), prec) + 2
        low = 2.0 ** -(span // 2)
        a[0, 1:], a[2, :3], b[1, 2], b[3] = 0, a[2, :3] * low, 0, 0
        b[1:3] = b[1:3] * low
        a[2, 3], a[2, 0] = 1, 0
        a, b = a * 2.0**420, b * 2.0**420
        (item,) = items(a, b)
        provided = item.far is None or not item.far.all()
        assert abs(item.span - 2 * (span // 2)) <= 5 if provided else span > 500
        if 55 * mdla.precision(prec).limbs + span < 1800:  # no tails underflow
            check(multiply(a, b), a, b)


@pytest.mark.parametrize("prec", PRECS)
def test_one_limb_in_a_wide_precision(rng, prec):
    """Entries of one double are cut no shorter than the result needs."""
    x, y = rng.uniform(-1, 1, (5, 9)), rng.uniform(-1, 1, (9, 4)) * powers(rng, (9, 4), -40, 1)
    for a, b in [
        (mdla.array(x, prec=prec), mdla.array(y, prec=prec)),
        (mdla.array(x, prec="d"), mdla.array(y, prec=prec)),
    ]:
        check(multiply(a, b), a, b)
    check(multiply(x, y, prec=prec), mdla.array(x), mdla.array(y), prec)


@pytest.mark.parametrize(
    ("left", "right"), list(itertools.permutations(["d", "dd", "qd", "od"], 2))
)
def test_operands_keep_their_own_limbs(rng, left, right):
    a, b = random(rng, (4, 13), left), random(rng, (13, 3), right)
    wide = max(left, right, key=lambda p: mdla.precision(p).limbs)
    c = assert_one_result(a, b)
    assert c.prec == wide
    check(c, a, b)
    (item,) = items(a, b)
    narrow = item.bits[0] if wide == right else item.bits[1]
    assert narrow < max(item.bits)
    assert_same_bits(c, multiply(a.astype(wide), b.astype(wide)))


@pytest.mark.parametrize("prec", ["td", "qd", "od", "hd"])
def test_tails_of_zeros(rng, prec):
    """Operands of several limbs whose entries need few bits."""
    a, b = mdla.eye(9, prec=prec), random(rng, (9, 4), "hd")
    check(multiply(a, b), a, b)
    check(multiply(b.T, a), b.T, a)
    assert prec == "hd" or items(a, b)[0].bits[0] == 53
    a[2, 3] = a[3, 2] = Fraction(1, 2**300)
    check(multiply(a, b), a, b)


def test_float64_operands(rng):
    x, y = rng.standard_normal((40, 50)), rng.standard_normal((50, 30))
    c = multiply(x, y, prec="d")
    assert c.prec == "d"
    check(c, mdla.array(x), mdla.array(y))
    z = x + 1j * rng.standard_normal(x.shape)
    check(multiply(z, y, prec="d"), mdla.array(z), mdla.array(y))
    f = multiply(x.astype(np.float32), mdla.array(y, prec="ds"))
    assert f.prec == "ds"


# -- exact results -------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", PRECS)
def test_integers_are_exact(rng, prec):
    for complex, low in itertools.product((False, True), (-9, 0)):
        x, y = rng.integers(low, 10, (2, 7, 33)), rng.integers(low, 10, (2, 33, 5))
        a, b = ((z[0] + 1j * z[1] if complex else z[0] * 1.0) for z in (x, y))
        got = multiply(mdla.array(a, prec=prec), mdla.array(b, prec=prec))
        np.testing.assert_array_equal(got.to_numpy(), a @ b)
        assert not got.planes[:, 1:].any()


@pytest.mark.parametrize("prec", PRECS)
def test_times_the_identity(rng, prec):
    """Exact for entries that end above the quantum, else nearly so."""
    for k, complex in ((33, False), (12, True)):
        x = random(rng, (12, k), "d", complex) * powers(rng, (12, 1), -300, 300)
        a = x.astype(prec) if prec != "d" else mdla.array(rng.integers(-9999, 9999, (12, k)) * 1.0)
        assert_same_bits(multiply(a, mdla.eye(k, prec=prec)), a)
        assert_same_bits(multiply(mdla.eye(12, prec=prec), a), a)
        a = random(rng, (12, k), prec, complex) * powers(rng, (12, k), -20, 1)
        check(multiply(a, mdla.eye(k, prec=prec)), a, mdla.eye(k, prec=prec))


@pytest.mark.parametrize("prec", PRECS)
def test_cancellation(prec):
    a = mdla.array([[1e100, 1, -1e100]], prec=prec)
    for b in ([[1], [1], [1]], [[1], [1e-300], [1]], [[1e200], [1e-100], [1e200]]):
        b = mdla.array(b, prec=prec)
        check(multiply(a, b), a, b)
    if mdla.precision(prec).limbs >= 8:  # far more bits than lie between the terms
        assert multiply(a, mdla.ones((3, 1), prec=prec)).item() == 1
    a, b = mdla.array([[1e300, 1e-300]], prec=prec), mdla.array([[1e-300], [1e300]], prec=prec)
    check(multiply(a, b), a, b)


def test_zeros(rng):
    """Sums of no term that is not zero, with zeros of either sign, are zero without one."""
    a, b = random(rng, (40, 30), "qd"), random(rng, (30, 35), "qd")
    a[:, ::2], b[1::2] = 0.0, -0.0
    a[3], b[:, 7] = -0.0, 0
    c = assert_one_result(a, b)
    assert not c.planes.any()
    assert not np.signbit(c.planes).any()


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
def test_constant_rows(rng, prec):
    """All residues of a row alike: the largest sums that there are."""
    row, column = random(rng, (3, 1), prec).planes, random(rng, (1, 2), prec).planes
    a = mdla.MDArray(np.broadcast_to(row, (*row.shape[:-1], 1030)))
    b = mdla.MDArray(np.broadcast_to(column, (*column.shape[:-2], 1030, 2)))
    check(assert_one_result(a, b), a, b)


# -- one result ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
def test_transposed_products_have_the_same_bits(rng, prec):
    for case in ("random", "adversarial, far apart", "graded by 40 bits", "one limb"):
        a, b = operands(case, rng, prec, (9, 30, 7))
        assert_same_bits(multiply(b.T, a.T).T, multiply(a, b))
    a, b = random(rng, (9, 20), prec, True), random(rng, (20, 7), "dd", True)
    assert_same_bits(multiply(b.T, a.T).T, multiply(a, b))


def test_subnormal_operands_of_few_bits(rng):
    """The shorter operand gets the bits that are missing, on either side."""
    a, b = random(rng, (6, 9), "qd"), mdla.array(rng.integers(-9, 9, (9, 5)) * 5e-324, prec="d")
    a = a * 2.0**500
    c = multiply(a, b)
    assert_same_bits(multiply(b.T, a.T).T, c)
    check(c, a, b)


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "od"])
def test_gram_matrices(rng, prec):
    a = random(rng, (40, 37), prec) * powers(rng, (40, 1), -20, 1)
    gram = multiply(a.T, a)
    assert_same_bits(gram, gram.T)
    z = random(rng, (40, 37), prec, True) * powers(rng, (40, 1), -20, 1)
    gram = multiply(z.H, z)
    assert_same_bits(gram.planes[:1], np.swapaxes(gram.planes[:1], -1, -2))
    np.testing.assert_array_equal(gram.planes[1], -np.swapaxes(gram.planes[1], -1, -2))
    assert not np.einsum("kii->ki", gram.planes[1]).any()


@pytest.mark.parametrize("prec", ["d", "dd", "od"])
def test_rounding_is_odd(rng, prec):
    a, b = hostile(rng, (9, 33), prec), hostile(rng, (33, 8), prec)
    c = multiply(a, b).planes
    np.testing.assert_array_equal(multiply(-a, b).planes, -c)
    scaled = multiply(mdla.MDArray(a.planes * 2.0**-70), mdla.MDArray(b.planes * 2.0**30))
    np.testing.assert_array_equal(scaled.planes, c * 2.0**-40)


# -- plans ---------------------------------------------------------------------------------------


def test_plans(rng):
    a, b = random(rng, (50, 300), "qd"), random(rng, (300, 40), "qd")
    plan = mdla.gemm.plan(a, b, scheme="crt")
    assert (plan.scheme, plan.kernel, plan.prec) == ("crt", "residues", "qd")
    assert plan.choice.products >= len(plan.choice.moduli)
    assert all(204 <= bits <= 212 for bits in plan.choice.bits)
    for name in ("int8-amx", "int8-vnni", "int8-portable"):
        if _native.has_residue_engine(name):
            assert mdla.gemm.plan(a, b, scheme="crt", engine=name).engine == name
        else:
            with pytest.raises(ValueError, match="has no engine"):
                mdla.gemm.plan(a, b, scheme="crt", engine=name)
    with pytest.raises(ValueError, match="int8-portable"):
        multiply(a, b, engine="simd")


@pytest.mark.parametrize("k", [1, 2, 1023, 1024, 300_000])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("prec", PRECS)
def test_constants_of_the_bound(prec, parts, k):
    """The numbers of docs/crt.md, for the bits and the quantum of plans, exactly."""
    limbs, terms = mdla.precision(prec).limbs, parts * k
    task = scheme.Task(
        np.empty((parts, limbs, 1, k)), np.empty((parts, limbs, k, 1)), limbs, (0, 0), (), (), ()
    )
    for least in (0, -30, -700, 5):
        if 2.0**least > terms:
            continue
        p = scheme._bits_for(task, least)
        assert p % 2 == 0
        # Half of the quantum and the roundings of entries, times 2^p.
        error = Fraction(2) ** (scheme._quantum_above(terms) - 1) + terms * (1 + Fraction(1, 2**48))
        sums = Fraction(2) ** least * (1 - Fraction(1, 2**52))
        eps = Fraction(1, 2 ** (52 * limbs))
        assert error / 2**p + Fraction(51, 100) * eps * sums <= k * eps * sums
        system = scheme._system_for(2 * p, task)
        assert system.product >= Fraction(2001, 1000) * terms * 4**p
