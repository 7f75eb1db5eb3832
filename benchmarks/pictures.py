# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of docs/paths.md.

python benchmarks/pictures.py
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import mdla

matplotlib.use("Agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).resolve().parent.parent / "docs"

#: Five paths from the fifth roots of unity, with gamma = 0.6 + 0.8 i.
QUINTIC = "(0.6 + 0.8*i)*(1 - t)*(x^5 - 1) + t*(x^5 - 4*x^2 + 3*x + 1/2);"


def errors(degree: int = 128) -> None:
    """Errors of the coefficients of the cube root of 1 + t that Newton's method finds."""
    system = mdla.PolynomialSystem("x^3 - 1 - t;")
    exact = [Fraction(1)]
    for k in range(degree):
        exact.append(exact[-1] * (Fraction(1, 3) - k) / (k + 1))
    figure, axes = plt.subplots(figsize=(7, 4))
    for prec in ("dd", "qd", "od", "hd"):
        x = mdla.series.newton(system, [1], degree, prec=prec).x.coefficients[0]
        found = [sum(map(Fraction, limbs)) for limbs in zip(*x.limbs, strict=True)]
        relative = [float(abs(a / b - 1)) for a, b in zip(found, exact, strict=True)]
        axes.semilogy(range(1, degree + 1), relative[1:], ".", label=prec)
        axes.axhline(float(mdla.finfo(prec).eps), color="0.8", zorder=0)
    axes.set_xlabel("degree")
    axes.set_ylabel("relative error")
    axes.legend(title="lines: eps")
    save(figure, "errors_by_degree")


def tracked() -> Any:
    """The paths of the quintic with all their points."""
    homotopy = mdla.homotopy.Homotopy(mdla.PolynomialSystem(QUINTIC))
    starts = np.exp(2j * np.pi * np.arange(5) / 5)[:, np.newaxis]
    return mdla.homotopy.track(homotopy, starts, record=True)


def paths(result: Any) -> None:
    """The paths in the complex plane."""
    figure, axes = plt.subplots(figsize=(6, 6))
    for _, points in result.trails:
        axes.plot(points[:, 0].real, points[:, 0].imag, ".-", linewidth=0.8)
    ends = result.endpoints.to_numpy()[:, 0]
    axes.plot(ends.real, ends.imag, "k*", label="solutions at t = 1")
    axes.set_aspect("equal")
    axes.set_xlabel("Re x")
    axes.set_ylabel("Im x")
    axes.legend()
    save(figure, "paths_in_the_plane")


def steps(result: Any) -> None:
    """Step sizes beside the distance to the nearest singularity."""
    system = mdla.PolynomialSystem(QUINTIC)
    figure, axes = plt.subplots(figsize=(7, 4))
    for i, (t, points) in enumerate(result.trails):
        inner = slice(0, len(t) - 1)
        size = np.abs(np.diff(t))
        series = mdla.series.newton(system, points[inner], 24, at=t[inner]).x
        distance = mdla.series.radius_of_convergence(series).radius.to_numpy()[:, 0]
        axes.semilogy(t[inner].real, distance, "-", color=f"C{i}", linewidth=0.8)
        axes.semilogy(t[inner].real, size, ".", color=f"C{i}")
    axes.set_xlabel("t")
    axes.set_ylabel("radius of convergence, step")
    save(figure, "steps_and_poles")


def save(figure: Any, name: str) -> None:
    """Write a picture."""
    figure.tight_layout()
    figure.savefig(DOCS / f"{name}.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    errors()
    found = tracked()
    paths(found)
    steps(found)
