# SPDX-License-Identifier: BSD-3-Clause
"""The matrix product: `matmul`, and `plan`, which says what it would run."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdla.core import planes as _planes
from mdla.core.array import MDArray, wrap
from mdla.core.protocols import implements
from mdla.gemm import (
    direct as direct,
    engines as engines,
    quartered as quartered,
    residues as residues,
    slices as slices,
)
from mdla.gemm.plan import Plan as Plan, decide, plan as plan, read_problem
from mdla.gemm.prepared import Prepared as Prepared, adjoint as adjoint, prepare as prepare
from mdla.gemm.timing import stages as stages
from mdla.gemm.update import update as update
from mdla.gemm.workspace import limit as memory_limit, release_memory as release_memory

__all__ = [
    "Plan",
    "Prepared",
    "adjoint",
    "matmul",
    "memory_limit",
    "plan",
    "prepare",
    "release_memory",
    "stages",
    "update",
]


@implements(np.matmul)
def matmul(
    A: Any,
    B: Any,
    prec: Any = None,
    scheme: str = "auto",
    engine: str = "auto",
    tune: str = "fixed",
) -> MDArray:
    """The matrix product ``A @ B``.

    For every entry, and for each part of a complex one, ``|C - AB| <= k eps (|A| |B|)``, k the
    inner dimension: the bound of the textbook loop, however rows, columns or entries are scaled.
    Where inf or nan enters, entries are those of IEEE arithmetic; others are not touched by it. The
    bits depend neither on the machine nor on the number of threads, unless ``tune="machine"``.

    Args:
        A: Array of shape ``(..., m, k)``, or a vector ``(k,)``; real or complex, of any precision,
            also NumPy arrays and nested lists of numbers.
        B: Array of shape ``(..., k, n)``, or a vector ``(k,)``. Leading axes broadcast as in
            ``numpy.matmul``.
        prec: Precision of the result; by default the wider of the operands'.
        scheme: How to multiply; ``"auto"`` lets `plan` choose by shape and precision.
        engine: What to multiply with; ``"auto"`` is the fastest there is. All of a scheme give the
            same bits.
        tune: ``"fixed"`` chooses the scheme by thresholds that are the same everywhere;
            ``"machine"`` takes the scheme and the engine that are predicted to be fastest here, so
            that bits depend on the machine. Its first use measures the machine for up to a second.

    Returns:
        An array of shape ``(..., m, n)``, without m or n where an operand is a vector.

    Raises:
        TypeError: An operand is no array of numbers.
        ValueError: The shapes do not fit together, or there is no such scheme or engine.

    Example:
        >>> import mdla
        >>> A = mdla.array([["0.1", 2], [3, 4]], prec="dd")
        >>> print(mdla.matmul(A, [1, 10]))
        [20.1 43. ]
    """
    problem = read_problem(A, B, prec)
    _, runner, choice = decide(problem, scheme, engine, tune)
    product = runner.run(problem, choice)
    for axis in sorted(problem.drop):
        product = product.squeeze(axis)
    return wrap(_planes.cast(product, problem.result), problem.result)
