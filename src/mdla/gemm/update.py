# SPDX-License-Identifier: BSD-3-Clause
"""The matrix product added to a matrix in place, BLAS's gemm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import convert, planes as _planes
from mdla.core.arithmetic import add, multiply, negative
from mdla.core.array import MDArray, wrap
from mdla.core.operands import to_array
from mdla.gemm.plan import decide, read_problem

__all__ = ["update"]


def update(
    C: MDArray,
    A: Any,
    B: Any,
    alpha: Any = 1,
    beta: Any = 1,
    scheme: str = "auto",
    engine: str = "auto",
    tune: str = "fixed",
) -> None:
    """``C = alpha A @ B + beta C`` in place.

    The product is that of ``matmul(A, B, prec=C.prec)`` with its bound and its bits; then alpha
    times it, beta times C and their sum are rounded one after the other (not at all where alpha or
    beta is 1). Products by residues do that while a tile of the result is at hand, so the update
    takes no pass over C of its own.

    Args:
        C: Array of the shape of ``A @ B``, changed in place; a view will do.
        A: First operand of the product; see `mdla.matmul`.
        B: Second operand.
        alpha: A number, real or complex; rounded to C's precision like every other.
        beta: A number; with 0 the old entries of C do not matter, not even inf and nan.
        scheme: As in `mdla.matmul`.
        engine: As in `mdla.matmul`.
        tune: As in `mdla.matmul`.

    Raises:
        TypeError: C is no `MDArray`, or an operand no array of numbers.
        ValueError: The shapes do not fit together, alpha or beta is no single number, the result
            is complex and C real, or there is no such scheme or engine.

    Example:
        >>> import mdla
        >>> C = mdla.ones((2, 2), prec="qd")
        >>> mdla.gemm.update(C, [[1, 2], [3, 4]], mdla.eye(2, prec="qd"), alpha=-1)
        >>> print(C)
        [[ 0. -1.]
         [-2. -3.]]
    """
    if not isinstance(C, MDArray):
        raise TypeError(f"the matrix that is updated must be an mdla array, got {type(C).__name__}")
    problem = read_problem(A, B, C.precision)
    m, _, n = problem.shape
    shape = (*problem.batch, *(x for axis, x in ((-2, m), (-1, n)) if axis not in problem.drop))
    if C.shape != shape:
        raise ValueError(f"A @ B has the shape {shape}, but C, which it is added to, {C.shape}")
    factors = tuple(_factor(x, name, C) for x, name in ((alpha, "alpha"), (beta, "beta")))
    if not C.iscomplex and (any(x.iscomplex for x in factors) or max(problem.parts) == 2):
        raise ValueError("the result is complex and C is real; write C.astype(complex) first, say")
    _, runner, choice = decide(problem, scheme, engine, tune)
    fused = getattr(runner, "update", None)
    if (
        fused is not None
        and not problem.drop
        and problem.working is C.precision
        and C.planes.shape[0] == max(problem.parts)
        and not any(x.iscomplex for x in factors)
        and not any(np.may_share_memory(C.planes, x) for x in problem.own)
    ):
        limbs = (_limbs(x, problem.working) for x in factors)
        fused(problem, choice, C.planes, *limbs)
        return
    planes = runner.run(problem, choice)
    for axis in sorted(problem.drop):
        planes = planes.squeeze(axis)
    if (
        C.ndim == 2
        and planes.shape == C.planes.shape
        and C.planes.strides[-1] == C.planes.itemsize == 8
        and _is(factors[0], -1)
        and _is(factors[1], 1)
    ):
        _native.subtract_in_place(C.planes, planes)  # no arrays in between
        return
    result = wrap(_planes.cast(planes, problem.result), problem.result)
    result = _times(factors[0], result)
    C[...] = result if _is(factors[1], 0) else add(result, _times(factors[1], C))


def _factor(x: Any, name: str, like: MDArray) -> MDArray:
    """A factor in the format of the array that is updated."""
    factor = to_array(x)
    if factor.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {factor.shape}")
    return factor.astype(like.prec)


def _is(x: MDArray, value: int) -> bool:
    return bool(x == value)


def _times(factor: MDArray, x: MDArray) -> MDArray:
    """The product; exact for 1 and -1 in every precision."""
    if _is(factor, 1):
        return x
    return negative(x) if _is(factor, -1) else multiply(factor, x)


def _limbs(x: MDArray, working: Any) -> npt.NDArray[Any]:
    """The limbs of a real factor in a format."""
    limbs: npt.NDArray[Any] = np.ascontiguousarray(convert.to_planes(x, working).reshape(-1))
    return limbs
