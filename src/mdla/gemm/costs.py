# SPDX-License-Identifier: BSD-3-Clause
"""The cost model of the matrix product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem

__all__ = ["residue_seconds"]

# int8 multiply-adds a second, residues made and put together a second.
_RATES = {
    "int8-amx": (1.7e12, 6e9, 4e9),
    "int8-vnni": (2.6e11, 4e9, 2e9),
    "int8-portable": (8e10, 2e9, 1e9),
}


def residue_seconds(engine: str, problem: Problem, choice: Choice) -> float:
    """Seconds on one thread of a product by residues."""
    products, conversion, reconstruction = _RATES[engine]
    m, k, n = problem.shape
    each = choice.products * (
        m * k * n / products + (m * k + k * n) / conversion + m * n / reconstruction
    )
    return 1e-4 + each * math.prod(problem.batch)
