# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues, singular values and roots beside NumPy in float64 and mpmath.

mpmath is timed at a quarter of the order or less, and its time counts by the cube of the ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from config import random_array, size, threads

import mdla

ORDER = size(256, 16)
GENERAL_ORDER = size(64, 8)
MPMATH_ORDER = size(32, 4)
DEGREE = size(100, 8)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threads(1):
        yield


def square(prec: str, n: int = ORDER) -> mdla.MDArray:
    return random_array((n, n), prec) - 1


def symmetric(prec: str, n: int = ORDER) -> mdla.MDArray:
    a = square(prec, n)
    return a + a.T


def label(benchmark: Any, operation: str, prec: str, n: int, peer: str, **extra: Any) -> None:
    benchmark.group = f"{operation}, n={n}"
    benchmark.extra_info.update(operation=operation, prec=prec, n=n, peer=peer, **extra)


@pytest.mark.parametrize("prec", ["dd", "td", "qd", "od", "hd"])
def bench_eigh(benchmark: Any, prec: str) -> None:
    label(benchmark, "eigh", prec, ORDER, "mdla")
    a = symmetric(prec)
    w, x = benchmark(mdla.linalg.eigh, a)
    bound = 10 * ORDER * mdla.finfo(prec).eps
    assert mdla.norm(a @ x - x * w) <= bound * mdla.norm(a)
    assert mdla.norm(x.T @ x - mdla.eye(ORDER, prec=prec)) <= bound


def bench_eigh_clustered(benchmark: Any) -> None:
    """Eigenvalues 1 and -1 only, to within 1e-20."""
    label(benchmark, "eigh clustered", "dd", ORDER, "mdla")
    q = mdla.linalg.qr(square("dd")).Q
    signs = mdla.array(np.sign(np.arange(ORDER) - ORDER / 2 + 0.5), prec="dd")
    a = (q * (signs + mdla.ldexp(random_array(ORDER, "dd"), -66))) @ q.T
    w, x = benchmark(mdla.linalg.eigh, a)
    assert mdla.norm(a @ x - x * w) <= 10 * ORDER * mdla.finfo("dd").eps * mdla.norm(a)


@pytest.mark.parametrize("prec", ["dd", "td", "qd", "od", "hd"])
def bench_svd(benchmark: Any, prec: str) -> None:
    label(benchmark, "svd", prec, ORDER, "mdla")
    a = square(prec)
    u, s, vh = benchmark(mdla.linalg.svd, a)
    bound = 10 * ORDER * mdla.finfo(prec).eps
    assert mdla.norm((u * s) @ vh - a) <= bound * mdla.norm(a)
    assert mdla.norm(u.T @ u - mdla.eye(ORDER, prec=prec)) <= bound


@pytest.mark.parametrize("prec", ["dd", "qd"])
def bench_eig(benchmark: Any, prec: str) -> None:
    label(benchmark, "eig", prec, GENERAL_ORDER, "mdla")
    a = square(prec, GENERAL_ORDER)
    w, x = benchmark.pedantic(mdla.linalg.eig, (a,), rounds=3)
    bound = 10 * GENERAL_ORDER * mdla.finfo(prec).eps
    assert mdla.norm(a @ x - x * w) <= bound * mdla.norm(a)


@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
def bench_numpy(benchmark: Any, name: str) -> None:
    n = GENERAL_ORDER if name == "eig" else ORDER
    label(benchmark, name, "d", n, "numpy")
    a = (symmetric("d", n) if name == "eigh" else square("d", n)).to_numpy()
    result = benchmark(getattr(np.linalg, name), a)
    assert np.isfinite(result[0]).all()


@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
def bench_mpmath(benchmark: Any, name: str) -> None:
    import mpmath

    n = GENERAL_ORDER if name == "eig" else ORDER
    peer = f"mpmath (from n={MPMATH_ORDER} by n^3)"
    label(benchmark, name, "qd", n, peer, scale=(n / MPMATH_ORDER) ** 3)
    make = symmetric if name == "eigh" else square
    with mpmath.workprec(212):
        a = mpmath.matrix(make("d", MPMATH_ORDER).to_numpy().tolist()) / 3
        call = {"eigh": mpmath.eigsy, "svd": mpmath.svd_r, "eig": mpmath.eig}[name]
        assert len(benchmark.pedantic(call, (a,), rounds=1)) >= 2


@pytest.mark.parametrize("prec", ["dd", "qd", "od"])
def bench_roots(benchmark: Any, prec: str) -> None:
    label(benchmark, "roots", prec, DEGREE, "mdla")
    p = random_array(DEGREE + 1, prec) - 1
    z = benchmark(mdla.roots, p)
    value, scale = p[0], abs(p[0])
    for c in p[1:]:
        value, scale = value * z + c, scale * abs(z) + abs(c)
    assert mdla.max(abs(value) / scale) <= 100 * DEGREE * mdla.finfo(prec).eps


def bench_roots_numpy(benchmark: Any) -> None:
    label(benchmark, "roots", "d", DEGREE, "numpy")
    z = benchmark(np.roots, (random_array(DEGREE + 1, "d") - 1).to_numpy())
    assert z.shape == (DEGREE,)
