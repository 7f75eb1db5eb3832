# SPDX-License-Identifier: BSD-3-Clause
"""The main job in two tables: least squares on NIST data, then a QR factorisation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib.resources import files
from typing import TypeVar

import numpy as np

import mdla
from mdla.core.convert import to_fraction

T = TypeVar("T")

# mpmath 1.3 with gmpy2, qr of a 64 x 64 matrix at the digits of qd: 2/3 of a megaflop takes 1.1 s
# on a 2.6 GHz Xeon core. Used when mpmath is not installed.
MPMATH_QR_SECONDS_PER_N3 = 1.1 / 64**3


def load_filip() -> tuple[list[str], list[str], list[Fraction]]:
    """Return x, y as decimal strings and the exact least-squares solution of the Filip data."""
    text = files("mdla").joinpath("data", "filip.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    split = lines.index("y x")
    solution = [Fraction(line) for line in lines[1:split]]
    pairs = [line.split() for line in lines[split + 1 :]]
    return [x for _, x in pairs], [y for y, _ in pairs], solution


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def correct_digits(got: mdla.MDArray, want: list[Fraction]) -> float:
    """Return the digits that all entries of ``got`` share with the exact values."""
    errors = [abs(to_fraction(got.limbs[:, i]) / exact - 1) for i, exact in enumerate(want)]
    worst = max(errors)
    if worst == 0:
        return math.inf
    # A ratio of integers of hundreds of digits: logarithms of the parts, not of the quotient.
    return (math.log2(worst.denominator) - math.log2(worst.numerator)) * math.log10(2)


def least_squares_table() -> list[str]:
    """Solve the Filip data in every precision and compare with the exact solution."""
    x_text, y_text, solution = load_filip()
    rows = [
        "Filip (NIST): polynomial of degree 10 through 82 points, condition number 1.8e15.",
        "Coefficients by mdla.lstsq, digits against the exact least-squares solution:",
        "",
        f"  {'precision':<10}{'digits':>8}{'rank':>6}{'seconds':>10}  engine",
    ]
    for prec in ("d", "dd", "qd", "od", "hd"):
        x = mdla.array(x_text, prec=prec)
        y = mdla.array(y_text, prec=prec)
        columns = [mdla.ones(len(x_text), prec=prec)]
        for _ in range(10):
            columns.append(columns[-1] * x)
        a = mdla.stack(columns, axis=1)
        found, seconds = timed(partial(mdla.lstsq, a, y))
        digits = max(0.0, correct_digits(found.x, solution)) if found.rank == 11 else 0.0
        plan = mdla.gemm.plan(a.T, a)
        name = "float64" if prec == "d" else prec
        rows.append(
            f"  {name:<10}{digits:>8.1f}{found.rank:>6}{seconds:>10.4f}"
            f"  {plan.scheme} ({plan.engine})"
        )
    return rows


def mpmath_qr_seconds(n: int) -> tuple[float, str]:
    """Estimate the time of mpmath.qr for an n x n matrix at the precision of qd."""
    try:
        import mpmath
    except ImportError:
        return MPMATH_QR_SECONDS_PER_N3 * n**3, "not installed, rate from the documentation"
    size = 16
    rng = np.random.default_rng(5)
    with mpmath.workprec(212):
        matrix = mpmath.matrix(rng.uniform(-1, 1, (size, size)).tolist()) / 3
        _, seconds = timed(lambda: mpmath.qr(matrix))
    return seconds * (n / size) ** 3, f"measured at n = {size}, scaled by n^3"


def qr_table(n: int) -> list[str]:
    """Factor a random matrix in qd; residual, orthogonality and speed."""
    rng = np.random.default_rng(11)
    a = mdla.random.uniform((n, n), prec="qd", rng=rng)
    (q, r), seconds = timed(lambda: mdla.qr(a, prec="qd"))
    residual = float(mdla.linalg.norm(a - q @ r) / mdla.linalg.norm(a))
    orthogonality = float(mdla.linalg.norm(q.T @ q - mdla.eye(n, prec="qd")))
    estimate, how = mpmath_qr_seconds(n)
    plan = mdla.gemm.plan(a, a)
    return [
        f'Q, R = mdla.qr(A, prec="qd"), A random {n} x {n}, products by {plan.scheme} '
        f"({plan.engine}):",
        "",
        f"  ||A - QR|| / ||A||   {residual:.1e}",
        f"  ||Q^T Q - I||        {orthogonality:.1e}     (eps = {float(mdla.finfo('qd').eps):.1e})",
        f"  time                 {seconds:.3f} s",
        f"  mpmath.qr would take {estimate:.0f} s ({how}): {estimate / seconds:,.0f} times as long",
    ]


def run(n: int) -> int:
    """Print both tables; the exit status is 0 when the digits are those that can be expected."""
    print("\n".join(least_squares_table()), end="\n\n", flush=True)
    print("\n".join(qr_table(n)))
    return 0
