# SPDX-License-Identifier: BSD-3-Clause
"""Paths of solutions: homotopies, a tracker, and a solver for systems of polynomials."""

from mdla.homotopy.options import TrackOptions as TrackOptions
from mdla.homotopy.results import Path as Path, Paths as Paths
from mdla.homotopy.solving import Solution as Solution, Solutions as Solutions, solve as solve
from mdla.homotopy.systems import Homotopy as Homotopy, TotalDegree as TotalDegree
from mdla.homotopy.tracking import track as track

__all__ = [
    "Homotopy",
    "Path",
    "Paths",
    "Solution",
    "Solutions",
    "TotalDegree",
    "TrackOptions",
    "solve",
    "track",
]
