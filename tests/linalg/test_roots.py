# SPDX-License-Identifier: BSD-3-Clause
"""Roots of polynomials."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdla
from mdla import roots
from mdla.core.precision import precision
from tests.linalg.matrices import uniform
from tests.linalg.spectra import multiprecision
from tests.oracle import exact

COMPLEX = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def coefficients(zeros):
    """Exact coefficients of the monic polynomial with these zeros."""
    c = [Fraction(1)]
    for z in zeros:
        c = [x - Fraction(z) * y for x, y in zip([*c, 0], [0, *c], strict=True)]
    return c


def horner(c, x):
    value = 0
    for coefficient in c:
        value = value * x + coefficient
    return value


def errors(z, zeros, prec):
    """Distances of sorted real roots to the zeros, over eps, as floats."""
    assert not z.iscomplex
    got = sorted(exact(z).tolist())
    return [
        float(abs(g - Fraction(w)) / precision(prec).eps) for g, w in zip(got, zeros, strict=True)
    ]


@COMPLEX
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_values_are_rounding_errors(n, is_complex, prec, rng):
    p = uniform(1, n + 1, prec, is_complex, rng)[0]
    z = roots(p)
    assert (z.shape, z.prec) == ((n,), prec)
    with mpmath.workprec(3 * precision(prec).bits):
        c = list(multiprecision(p))
        for x in multiprecision(z):
            size = horner([abs(v) for v in c], abs(x))
            assert abs(horner(c, x)) <= 20 * n * mdla.finfo(prec).eps * size
        # All roots are found: their sum is that of Vieta.
        total = sum(multiprecision(z)) + c[1] / c[0]
        size = sum(abs(x) for x in multiprecision(z))
        assert abs(total) <= 2.0**20 * mdla.finfo(prec).eps * (size + 1)


def test_wilkinson(prec):
    """The zeros 1 to 20 have conditions up to 1e16 relative to eps."""
    z = roots(mdla.array(coefficients(range(1, 21)), prec=prec))
    if precision(prec).eps < Fraction(1, 2**60):
        assert max(errors(z, range(1, 21), prec)) <= 1e18
    if precision(prec).eps < Fraction(1, 2**100):
        assert errors(z, range(1, 21), prec)[0] <= 1e4


def test_multiple_root(prec):
    """Twelve roots around 3, at the distance that rounding errors of p justify."""
    z = roots(mdla.array(coefficients([3] * 12), prec=prec))
    assert z.shape == (12,)
    # |p(z)| = |z - 3|^12 is within the bound 8 n eps (|z| + 3)^12.
    radius = (8 * 12 * float(precision(prec).eps)) ** (1 / 12) * 6.6
    assert float(mdla.max(abs(z - 3))) <= 1.1 * radius


def test_roots_of_unity(prec):
    z = roots(mdla.array([1] + [0] * 15 + [-1], prec=prec))
    eps = mdla.finfo(prec).eps
    assert mdla.max(abs(z**16 - 1)) <= 500 * eps
    assert mdla.max(abs(abs(z) - 1)) <= 200 * eps
    assert len({(round(float(x.real), 6), round(float(x.imag), 6)) for x in z}) == 16
    angles = np.sort(np.angle(z.to_numpy()))
    np.testing.assert_allclose(np.diff(angles), np.pi / 8)
    # Two are exactly real, the others exact conjugates.
    imag = z.imag
    assert int(np.sum(np.asarray(imag == 0))) == 2
    assert sorted(exact(z.real[imag > 0])) == sorted(exact(z.real[imag < 0]))


def test_nearly_equal_roots():
    z = roots(mdla.array(coefficients([1, 1 + Fraction(1, 10**20), -2]), prec="qd"))
    assert max(errors(z, [-2, 1, 1 + Fraction(1, 10**20)], "qd")) <= 1e24


@pytest.mark.parametrize("bits", [56, 60, 80, 100])
@pytest.mark.parametrize("others", [(), (3,), (-2, Fraction(1, 4))], ids=str)
def test_close_roots_that_coincide_in_double_precision(bits, others, prec):
    """1 +- 2^(-bits / 2), whose start values may be equal."""
    gap = Fraction(1, 1 << bits // 2)
    if precision(prec).eps > gap**2 / 2:
        pytest.skip("the coefficients do not tell the roots apart")
    zeros = sorted([1 - gap, 1 + gap, *others])
    c = coefficients(zeros)
    n = len(zeros)
    z = roots(mdla.array(c, prec=prec))
    for zero, error in zip(zeros, errors(z, zeros, prec), strict=True):
        size = horner([abs(v) for v in c], abs(zero))
        slope = abs(horner([(n - k) * v for k, v in enumerate(c[:-1])], zero))
        assert error <= 20 * n * size / slope


@pytest.mark.parametrize("count", [3, 4])
def test_cluster_that_coincides_in_double_precision(count):
    """Three or four roots, evenly spaced by 2^-60."""
    zeros = [1 + Fraction(k, 1 << 60) for k in range(count)]
    z = roots(mdla.array(coefficients(zeros), prec="hd"))
    assert max(errors(z, zeros, "hd")) * float(precision("hd").eps) <= 2.0**-500


def test_numpy_conventions(prec):
    for p in ([], [0], [0, 0, 0], [5], [0, 5], [3, 0, 0]):
        want = np.roots(p)
        got = roots(mdla.array(p, prec=prec) if p else mdla.zeros(0, prec=prec))
        assert got.shape == want.shape
        assert got.prec == prec
        assert not np.any(got.planes)
    z = roots(mdla.array([0, 0, 1, -3, 2, 0, 0], prec=prec))
    assert max(errors(z, [0, 0, 1, 2], prec)) <= 100
    z = np.roots(mdla.array([1, 0, 1, 0], prec=prec))
    assert z.iscomplex
    assert z.prec == prec
    assert sorted(z.imag.to_numpy()) == [-1, 0, 1]


def test_scales():
    for prec in ("dd", "qd"):
        z = roots(mdla.array([1e300, 3, 1e-300], prec=prec))
        np.testing.assert_allclose(
            np.sort(z.to_numpy()) * 1e300, [-2.618033988749895, -0.3819660112501051]
        )
        z = roots(mdla.array([1, 1e200, 1], prec=prec))
        np.testing.assert_allclose(np.sort(z.to_numpy()), [-1e200, -1e-200])
        z = roots(mdla.array([1e-300, 0, -4e-300], prec=prec))
        np.testing.assert_allclose(np.sort(z.to_numpy()), [-2, 2])
    with pytest.raises(ValueError, match="another unit"):
        roots(mdla.array([1, 1e300, 1e-300, 1e300, 1]))


def test_large_degree(rng):
    p = uniform(1, 61, "qd", False, rng)[0]
    z = roots(p)
    value = p[0]
    size = abs(p[0])
    for c in p[1:]:
        value, size = value * z + c, size * abs(z) + abs(c)
    assert mdla.max(abs(value) / size) <= 100 * 60 * mdla.finfo("qd").eps


def test_arguments():
    with pytest.raises(ValueError, match="vector"):
        roots(mdla.ones((2, 2)))
    with pytest.raises(ValueError, match=r"p has infinities or nans; remove them$"):
        roots(mdla.array([1, np.nan]))
