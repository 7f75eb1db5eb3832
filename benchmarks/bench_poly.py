# SPDX-License-Identifier: BSD-3-Clause
"""Values and derivatives of polynomial systems at many points, beside mpmath and python-flint.

Both run the same program, with the same shared products, one point after the other; they are timed
at some points, and their time counts for all. At power series python-flint is `arb_series`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads

import mdla
from mdla.poly.families import cyclic, katsura, noon

ORDER = size(10, 4)
POINTS = size(1000, 20)
MPMATH_POINTS = size(20, 2)
VARIABLES = size(300, 20)
DEGREES = [size(8, 2), size(32, 3)]
PATHS = [1, size(256, 9)]
FLINT_PATHS = size(4, 1)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def complex_points(count: int, n: int, prec: str) -> mdla.MDArray:
    i = mdla.array(1j, prec=prec)
    return random_array((count, n), prec) - 1 + i * (random_array((count, n), prec, seed=4) - 1)


def require_homogeneous(system: mdla.PolynomialSystem, x: mdla.MDArray, result: Any) -> None:
    """Euler: all polynomials of cyclic but the last are homogeneous, so J x = degree * value."""
    m = system.shape[0] - 1
    scaled = mdla.array(system.degrees[:m]) * result.value[:, :m]
    bound = 1000 * mdla.finfo(x).eps * (mdla.max(abs(scaled)) + 1)
    assert mdla.max(abs((result.jacobian[:, :m] * x[:, np.newaxis]).sum(axis=-1) - scaled)) <= bound


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("prec", ["d", "dd", "td", "qd", "pd", "od", "da", "hd"])
def bench_cyclic(benchmark: Any, prec: str, count: int) -> None:
    benchmark.group = f"cyclic-{ORDER} and its Jacobian at {POINTS} complex points"
    benchmark.extra_info.update(
        operation=f"cyclic-{ORDER}, value and Jacobian", prec=prec, n=POINTS, threads=count
    )
    benchmark.extra_info["peer"] = "mdla"
    system, x = cyclic(ORDER, prec), complex_points(POINTS, ORDER, prec)
    with threads(count):
        result = benchmark(system.evaluate_and_jacobian, x)
    require_homogeneous(system, x, result)


def bench_cyclic_mpmath(benchmark: Any) -> None:
    import mpmath

    benchmark.group = f"cyclic-{ORDER} and its Jacobian at {POINTS} complex points"
    benchmark.extra_info.update(
        operation=f"cyclic-{ORDER}, value and Jacobian",
        prec="qd",
        n=POINTS,
        peer=f"mpmath (from {MPMATH_POINTS} points)",
        scale=POINTS / MPMATH_POINTS,
    )
    system, x = cyclic(ORDER, "qd"), complex_points(MPMATH_POINTS, ORDER, "qd")
    with mpmath.workprec(212):
        points = [
            [mpmath.mpc(*z) / 3 for z in zip(p.real.tolist(), p.imag.tolist(), strict=True)]
            for p in x.to_numpy()
        ]

        def loop() -> list[Any]:
            return [system.evaluate_and_jacobian_generic(p, mpmath.mpc(1)) for p in points]

        results = benchmark.pedantic(loop, rounds=size(3, 1))
        value, jacobian = results[0]
        for k in range(ORDER - 1):
            euler = mpmath.fsum(a * b for a, b in zip(jacobian[k], points[0], strict=True))
            assert abs(euler - (k + 1) * value[k]) < 1e-55


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
@pytest.mark.parametrize("make", [katsura, noon], ids=["katsura", "noon"])
def bench_families(benchmark: Any, make: Any, prec: str) -> None:
    system = make(size(8, 3), prec)
    n = system.shape[1]
    name = f"{make.__name__}-{size(8, 3)}"
    benchmark.group = f"{name} and its Jacobian at {POINTS} complex points"
    benchmark.extra_info.update(
        operation=f"{name}, value and Jacobian", prec=prec, n=POINTS, peer="mdla"
    )
    result = benchmark(system.evaluate_and_jacobian, complex_points(POINTS, n, prec))
    assert result.jacobian.shape == (POINTS, n, n)


def real_series(paths: int, n: int, degree: int, prec: str) -> mdla.series.Series:
    """Coordinates whose coefficients decay like 2^-k."""
    decay = mdla.array(0.5 ** np.arange(degree + 1), prec=prec)
    return mdla.series.Series((random_array((paths, n, degree + 1), prec) - 1) * decay)


def series_group(benchmark: Any, name: str, paths: int, degree: int, prec: str, peer: str) -> None:
    benchmark.group = f"{name} and its Jacobian at {paths} series of degree {degree} in {prec}"
    benchmark.extra_info.update(
        operation=f"{name}, value and Jacobian at series of degree {degree}",
        prec=prec,
        n=paths,
        peer=peer,
    )


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("make", [katsura, cyclic], ids=["katsura", "cyclic"])
def bench_series(benchmark: Any, make: Any, degree: int, paths: int, prec: str) -> None:
    system = make(size(8, 3), prec)
    name = f"{make.__name__}-{size(8, 3)}"
    series_group(benchmark, name, paths, degree, prec, "mdla")
    x = real_series(paths, system.shape[1], degree, prec)
    result = benchmark(system.evaluate_and_jacobian, x)
    # The chain rule: d/dt p(x(t)) = J x'(t).
    slope = result.value.derivative().coefficients
    chain = (result.jacobian.truncate(degree - 1) @ x.derivative()[..., np.newaxis])[..., 0]
    scale = mdla.max(abs(slope)) + mdla.max(abs(chain.coefficients))
    miss = mdla.max(abs(slope - chain.coefficients))
    assert miss <= 100 * degree**2 * mdla.finfo(prec).eps * scale


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("make", [katsura, cyclic], ids=["katsura", "cyclic"])
def bench_series_flint(benchmark: Any, make: Any, degree: int, paths: int, prec: str) -> None:
    import flint

    system = make(size(8, 3), prec)
    name = f"{make.__name__}-{size(8, 3)}"
    some = min(paths, FLINT_PATHS)
    series_group(benchmark, name, paths, degree, prec, f"python-flint (from {some} series)")
    benchmark.extra_info["scale"] = paths / some
    x = real_series(some, system.shape[1], degree, prec).coefficients
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = 53 * mdla.finfo(prec).limbs, degree + 1
    try:
        points = [
            [
                flint.arb_series([flint.arb(flint.fmpq(*c.item().as_integer_ratio())) for c in row])
                for row in point
            ]
            for point in x
        ]

        def loop() -> list[Any]:
            one = flint.arb_series([1])
            return [system.evaluate_and_jacobian_generic(p, one) for p in points]

        results = benchmark.pedantic(loop, rounds=size(3, 1))
        assert len(results[0].value) == system.shape[0]
    finally:
        flint.ctx.prec, flint.ctx.cap = before


def bench_one_point(benchmark: Any) -> None:
    benchmark.group = f"cyclic-{ORDER} and its Jacobian at one complex point"
    benchmark.extra_info.update(
        operation=f"cyclic-{ORDER}, value and Jacobian", prec="qd", n=1, peer="mdla"
    )
    system, x = cyclic(ORDER, "qd"), complex_points(1, ORDER, "qd")
    require_homogeneous(system, x, benchmark(system.evaluate_and_jacobian, x))


def bench_building(benchmark: Any) -> None:
    """A sparse system from its text to its program: 6 terms of 4 variables in each polynomial."""
    n = VARIABLES
    benchmark.group = f"reading and compiling {n} polynomials in {n} variables"
    benchmark.extra_info.update(operation="text to program", prec="dd", n=n, peer="mdla")
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(n):
        terms = [
            "*".join([f"{rng.standard_normal():.17g}", *(f"x{i}^2" for i in rng.choice(n, 4))])
            for _ in range(6)
        ]
        lines.append(" + ".join(terms) + ";")
    names = [f"x{i}" for i in range(n)]
    point = np.zeros(n)

    def build() -> mdla.PolynomialSystem:
        system = mdla.PolynomialSystem("\n".join(lines), variables=names)
        system.evaluate_and_jacobian(point)
        return system

    system = benchmark(build)
    assert system.shape == (n, n)
