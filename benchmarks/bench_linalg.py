# SPDX-License-Identifier: BSD-3-Clause
"""QR beside xprec and mpmath; stacks of small systems beside loops, mpmath and the direct product.

mpmath is timed at a quarter of the order, and its time counts 64 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads, to_xprec

import mdla

ORDER = size(256, 24)
MPMATH_ORDER = size(64, 6)
COUNT = size(1000, 20)
SMALL_ORDER = size(16, 4)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def square(prec: str, n: int = ORDER) -> mdla.MDArray:
    return random_array((n, n), prec) - 1


def require_factors(a: mdla.MDArray, q: mdla.MDArray, r: mdla.MDArray) -> None:
    n, eps = a.shape[1], mdla.finfo(a).eps
    assert mdla.norm(a - q @ r) <= 10 * n * eps * mdla.norm(a)
    assert mdla.norm(q.T @ q - mdla.eye(n, prec=a.prec)) <= 10 * n * eps


def require_r(a: mdla.MDArray, r: mdla.MDArray) -> None:
    """R^T R = A^T A: what is left of A = Q R without Q."""
    bound = 20 * a.shape[1] * mdla.finfo(a).eps * mdla.norm(a) ** 2
    assert mdla.norm(r.T @ r - a.T @ a) <= bound


@pytest.mark.parametrize("prec", ["d", "dd", "td", "qd", "pd", "od", "da", "hd"])
def bench_qr_r(benchmark: Any, prec: str) -> None:
    benchmark.group = f"qr, R only, n={ORDER}"
    benchmark.extra_info.update(operation="qr r", prec=prec, n=ORDER, peer="mdla")
    a = square(prec)
    require_r(a, benchmark(mdla.linalg.qr, a, mode="r"))


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_qr(benchmark: Any, prec: str) -> None:
    benchmark.group = f"qr, Q and R, n={ORDER}"
    benchmark.extra_info.update(operation="qr", prec=prec, n=ORDER, peer="mdla")
    a = square(prec)
    require_factors(a, *benchmark(mdla.linalg.qr, a))


def bench_qr_r_complex(benchmark: Any) -> None:
    benchmark.group = f"qr, R only, n={ORDER}"
    benchmark.extra_info.update(operation="qr r complex", prec="dd", n=ORDER, peer="mdla")
    a = square("dd") + mdla.array(1j) * square("dd").T
    r = benchmark(mdla.linalg.qr, a, mode="r")
    bound = 20 * ORDER * mdla.finfo("dd").eps * mdla.norm(a) ** 2
    assert mdla.norm(r.H @ r - a.H @ a) <= bound


def bench_qr_xprec(benchmark: Any) -> None:
    from xprec import linalg

    benchmark.group = f"qr, R only, n={ORDER}"
    benchmark.extra_info.update(operation="qr r", prec="dd", n=ORDER, peer="xprec")
    a = to_xprec(square("dd"))
    q, r = benchmark(linalg.qr, a)
    assert np.abs((a - q @ r).astype(float)).max() < 1e-26


def bench_qr_mpmath(benchmark: Any) -> None:
    import mpmath

    benchmark.group = f"qr, R only, n={ORDER}"
    benchmark.extra_info.update(
        operation="qr r",
        prec="qd",
        n=ORDER,
        peer=f"mpmath (from n={MPMATH_ORDER} by n^3)",
        scale=(ORDER / MPMATH_ORDER) ** 3,
    )
    with mpmath.workprec(212):
        a = mpmath.matrix(square("d", MPMATH_ORDER).to_numpy().tolist()) / 3
        q, r = benchmark.pedantic(mpmath.qr, (a,), rounds=1)
        assert mpmath.norm(a - q * r) < 1e-58


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
@pytest.mark.parametrize("how", ["stack", "loop"])
@pytest.mark.parametrize("name", ["qr", "solve"])
def bench_stack(benchmark: Any, name: str, how: str, prec: str) -> None:
    n = SMALL_ORDER
    benchmark.group = f"{COUNT} x {name}, n={n}, {prec}"
    benchmark.extra_info.update(operation=name, prec=prec, n=n, count=COUNT, peer=how)
    a = random_array((COUNT, n, n), prec) - 1
    b = random_array((COUNT, n, 1), prec)
    if name == "qr":
        calls = {
            "stack": lambda: mdla.linalg.qr(a),
            "loop": lambda: [mdla.linalg.qr(a[i]) for i in range(COUNT)],
        }
        result = benchmark(calls[how])
        q, r = (result.Q[1], result.R[1]) if how == "stack" else result[1]
        require_factors(a[1], q, r)
    else:
        calls = {
            "stack": lambda: mdla.linalg.solve(a, b),
            "loop": lambda: [mdla.linalg.solve(a[i], b[i]) for i in range(COUNT)],
        }
        x = benchmark(calls[how])[1]
        bound = 100 * n * mdla.finfo(prec).eps * mdla.norm(a[1]) * mdla.norm(x)
        assert mdla.norm(a[1] @ x - b[1]) <= bound


# Operations of a system of order n with one right-hand side; four times as many if complex.
def operations(n: int, is_complex: bool) -> float:
    return (2 / 3 * n**3 + 2 * n**2) * (4 if is_complex else 1)


def small_systems(prec: str, is_complex: bool, count: int) -> tuple[mdla.MDArray, mdla.MDArray]:
    n = SMALL_ORDER
    a, b = random_array((count, n, n), prec) - 1, random_array((count, n, 1), prec)
    if is_complex:
        a, b = a + mdla.array(1j) * a.mT, b - mdla.array(1j) * b[::-1]
    return a, b


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("prec", ["dd", "td", "qd", "od"])
@pytest.mark.parametrize("peer", ["mdla", "mpmath", "direct product"])
def bench_many_systems(benchmark: Any, peer: str, prec: str, kind: str) -> None:
    """10,000 systems; mpmath solves twenty, and the product does as many operations in its way."""
    n, is_complex = SMALL_ORDER, kind == "complex"
    count = 10 * COUNT
    benchmark.group = f"{count} x solve, n={n}, {prec}, {kind}"
    info = {"operation": f"solve {kind}", "prec": prec, "n": n, "count": count, "peer": peer}
    if peer == "mdla":
        benchmark.extra_info.update(info)
        a, b = small_systems(prec, is_complex, count)
        x = benchmark(mdla.linalg.solve, a, b)
        bound = 100 * n * mdla.finfo(prec).eps * mdla.norm(a[1]) * mdla.norm(x[1])
        assert mdla.norm(a[1] @ x[1] - b[1]) <= bound
    elif peer == "mpmath":
        import mpmath

        some = min(20, count)
        benchmark.extra_info.update(info, scale=count / some)
        a, b = small_systems("d", is_complex, some)
        with mpmath.workprec(53 * mdla.precision(prec).limbs):
            systems = [
                (mpmath.matrix(m.tolist()) / 3, mpmath.matrix(v.tolist()) / 7)
                for m, v in zip(a.to_numpy(), b.to_numpy(), strict=True)
            ]
            benchmark.pedantic(lambda: [mpmath.lu_solve(*s) for s in systems], rounds=2)
    else:
        work = 2 * ORDER**3 * (4 if is_complex else 1)
        benchmark.extra_info.update(info, scale=count * operations(n, is_complex) / work)
        a = random_array((ORDER, ORDER), prec) - 1
        if is_complex:
            a = a + mdla.array(1j) * a.mT
        benchmark(mdla.matmul, a, a, scheme="direct")


@pytest.mark.parametrize("prec", ["dd", "qd"])
@pytest.mark.parametrize("how", ["stack", "loop"])
def bench_lstsq_stack(benchmark: Any, how: str, prec: str) -> None:
    m, n, count = 2 * SMALL_ORDER, SMALL_ORDER // 2, COUNT // 5
    benchmark.group = f"{count} x lstsq, {m} x {n}, {prec}"
    benchmark.extra_info.update(operation="lstsq", prec=prec, n=n, count=count, peer=how)
    a, b = random_array((count, m, n), prec) - 1, random_array((count, m, 1), prec)
    if how == "stack":
        x = benchmark(lambda: mdla.linalg.lstsq(a, b).x)
    else:
        x = benchmark(lambda: [mdla.linalg.lstsq(a[i], b[i]).x for i in range(count)])
    rest = b[1] - a[1] @ x[1]
    bound = 100 * n * mdla.finfo(prec).eps * mdla.norm(a[1]) * mdla.norm(b[1])
    assert mdla.norm(a[1].T @ rest) <= bound


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_lstsq(benchmark: Any, prec: str) -> None:
    m, n = 2 * ORDER, ORDER // 2
    benchmark.group = f"lstsq, {m} x {n}"
    benchmark.extra_info.update(operation="lstsq", prec=prec, n=n, peer="mdla")
    a, b = random_array((m, n), prec) - 1, random_array(m, prec)
    result = benchmark(mdla.linalg.lstsq, a, b)
    assert result.rank == n
    rest = b - a @ result.x
    bound = 100 * n * mdla.finfo(prec).eps * mdla.norm(a) * mdla.norm(b)
    assert mdla.norm(a.T @ rest) <= bound


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_solve(benchmark: Any, prec: str) -> None:
    benchmark.group = f"solve, n={ORDER}"
    benchmark.extra_info.update(operation="solve", prec=prec, n=ORDER, peer="mdla")
    a, b = square(prec), random_array(ORDER, prec)
    x = benchmark(mdla.linalg.solve, a, b)
    bound = 10 * ORDER * mdla.finfo(prec).eps * mdla.norm(a) * mdla.norm(x)
    assert mdla.norm(a @ x - b) <= bound


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_solve_triangular(benchmark: Any, prec: str) -> None:
    benchmark.group = f"solve_triangular, n={ORDER}, {ORDER} right-hand sides"
    benchmark.extra_info.update(operation="solve_triangular", prec=prec, n=ORDER, peer="mdla")
    a, b = mdla.triu(square(prec)) + 8 * mdla.eye(ORDER, prec=prec), square(prec)
    x = benchmark(mdla.linalg.solve_triangular, a, b)
    bound = 10 * ORDER * mdla.finfo(prec).eps * mdla.norm(a) * mdla.norm(x)
    assert mdla.norm(a @ x - b) <= bound
