# SPDX-License-Identifier: BSD-3-Clause
"""The QR factorisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.protocols import implements
from mdla.linalg import batched
from mdla.linalg.householder import BlockReflector, factor, factor_pivoted, form_q
from mdla.linalg.inputs import (
    Inputs,
    exponents_along,
    is_moderate,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)
from mdla.linalg.progress import shown

__all__ = ["PivotedQRResult", "QRResult", "factor_scaled", "qr"]

Planes = npt.NDArray[Any]

_MODES = ("reduced", "complete", "r", "raw")


class QRResult(NamedTuple):
    """The factors of A = Q R."""

    Q: MDArray
    R: MDArray


class PivotedQRResult(NamedTuple):
    """The factors of A[:, P] = Q R."""

    Q: MDArray
    R: MDArray
    P: npt.NDArray[np.intp]


@implements(np.linalg.qr)
def qr(
    a: Any,
    mode: str = "reduced",
    pivoting: bool = False,
    *,
    prec: Any = None,
    check_finite: bool = True,
    progress: bool = False,
) -> Any:
    """Factor ``A = Q R`` with Q unitary and R upper triangular.

    By blocked Householder reflections, with columns scaled by powers of two, so for each column
    ``||a_j - (Q R)_j|| <= c n eps ||a_j||``, and ``||Q^H Q - I||_F <= c n eps``, with a small c
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 19.3). The
    diagonal of R is real and may have either sign, as in NumPy and LAPACK: the opposite of the
    sign of the real part of the entry it replaces, where zero counts as positive.

    Args:
        a: A matrix (m, n) or a stack of them (..., m, n), real or complex.
        mode: With k = min(m, n), ``"reduced"``: Q (m, k) and R (k, n); ``"complete"``: Q (m, m) and
            R (m, n); ``"r"``: R (k, n) only; ``"raw"``: ``(h, tau)`` as ``numpy.linalg.qr``, h
            being (n, m).
        pivoting: Whether to permute the columns so that ``abs(diag(R))`` does not increase (up to
            a relative 2**-20). The result then has P as its last part, with ``A[:, P] = Q R``.
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` for what is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans. Without, they give nans.
        progress: Whether to show the progress of long work on stderr, by tqdm where it is
            installed.

    Returns:
        A named tuple `QRResult` or, with pivoting, `PivotedQRResult`; for mode "r" R or ``(R, P)``;
        for mode "raw" ``(h, tau)`` or ``(h, tau, P)``.

    Raises:
        LinAlgError: ``a`` has fewer than two axes.
        ValueError: The mode or precision does not exist, or ``a`` is not finite.

    Example:
        >>> import mdla
        >>> A = mdla.array([[3, 1], [4, 2]], prec="qd")
        >>> Q, R = mdla.linalg.qr(A)
        >>> print(R.to_numpy().round(12) + 0.0)
        [[-5.  -2.2]
         [ 0.   0.4]]
        >>> bool(mdla.norm(A - Q @ R) < 20 * mdla.finfo("qd").eps)
        True
        >>> mdla.linalg.qr(A, mode="full")
        Traceback (most recent call last):
        ...
        ValueError: qr: unknown mode 'full'; write 'reduced', 'complete', 'r' or 'raw'
    """
    if mode not in _MODES:
        raise ValueError(f"qr: unknown mode {mode!r}; write 'reduced', 'complete', 'r' or 'raw'")
    inputs = read_inputs("qr", check_finite, prec, a=a)
    planes = inputs.planes[0]
    require_matrix("qr", "a", planes)
    batch = _planes.shape_of(planes)[:-2]
    with shown(progress):
        results = _factor_all(planes, batch, mode, pivoting)
    return _deliver(inputs, results, mode)


def _factor_all(planes: Planes, batch: tuple[int, ...], mode: str, pivoting: bool) -> list[Any]:
    """The results of `_factor_one` for one matrix or a stack."""
    if not batch:
        return _factor_one(planes, mode, pivoting)
    if batched.is_small(planes) and not pivoting:
        results = [*batched.qr(stacked(planes, batch), mode), None]
        return [_unstacked(p, batch) for p in results]
    stack = stacked(planes, batch)
    each = [_factor_one(stack[:, :, i], mode, pivoting) for i in range(stack.shape[2])]
    if each:
        return [_unstacked(_stack(parts), batch) for parts in zip(*each, strict=True)]
    like = _factor_one(np.zeros((*planes.shape[:2], *planes.shape[-2:])), mode, pivoting)
    return [_empty_stack(p, batch) for p in like]


def _deliver(inputs: Inputs, results: list[Any], mode: str) -> Any:
    """The results as users know them; a list of one or two planes and the order or None."""
    *factors, order = results
    arrays = [inputs.deliver(p) for p in factors]
    if mode == "raw":
        arrays[0] = arrays[0].swapaxes(-1, -2)
    if mode in ("r", "raw"):
        if order is not None:
            return (*arrays, order)
        return arrays[0] if mode == "r" else tuple(arrays)
    q, r = arrays
    return QRResult(q, r) if order is None else PivotedQRResult(q, r, order)


def _factor_one(a: Planes, mode: str, pivoting: bool) -> list[Any]:
    """R; or Q and R; or h and tau; and then the order or None."""
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    work, reflectors, order, exponents = factor_scaled(a, pivoting, mode != "r")
    results: list[Any] = []
    if mode in ("reduced", "complete"):
        results.append(form_q(reflectors, work, rows, rows if mode == "complete" else count))
    times_power(work, exponents)
    if mode == "raw":
        results += [_with_reflectors(work, reflectors), _coefficients(work, reflectors, count)]
    else:
        kept = rows if mode == "complete" else count
        results.append(work if kept == rows else work[:, :, :kept].copy())
    return [*results, order]


def factor_scaled(
    a: Planes, pivoting: bool, keep: bool
) -> tuple[Planes, list[BlockReflector], npt.NDArray[np.intp] | None, npt.NDArray[np.int32]]:
    """Factor planes with columns scaled by powers of two.

    Returns:
        R of the scaled matrix above zeros, the reflectors if they are to be kept, the order of the
        columns or None, and the exponents of two that the columns of R are to be scaled with.
    """
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    work = np.array(a, order="C")
    exponents = exponents_along(work, -2)
    if is_moderate(exponents):
        exponents[...] = 0
    times_power(work, -exponents)
    if not pivoting:
        return work, factor(work, count, keep), None, exponents
    reflectors, order = factor_pivoted(work, count, columns, keep, exponents)
    return work, reflectors, order, exponents[:, order]


def _with_reflectors(work: Planes, reflectors: list[BlockReflector]) -> Planes:
    """R with the tails of the reflectors in the place of its zeros."""
    for block in reflectors:
        first, width = block.first, block.v.shape[3]
        work[:, :, first:, first : first + width] += np.tril(block.v, -1)
    return work


def _coefficients(work: Planes, reflectors: list[BlockReflector], count: int) -> Planes:
    tau = np.zeros((*work.shape[:2], count))
    for block in reflectors:
        diagonal = np.diagonal(block.t, axis1=2, axis2=3)
        tau[:, :, block.first : block.first + block.v.shape[3]] = diagonal
    return tau


def _stack(parts: tuple[Any, ...]) -> Any:
    if parts[0] is None:
        return None
    return np.stack(parts, axis=0 if parts[0].ndim == 1 else 2)


def _unstacked(planes: Any, batch: tuple[int, ...]) -> Any:
    if planes is None:
        return None
    if planes.dtype != np.float64:
        return planes.reshape(*batch, *planes.shape[1:])
    return planes.reshape(*planes.shape[:2], *batch, *planes.shape[3:])


def _empty_stack(planes: Any, batch: tuple[int, ...]) -> Any:
    if planes is None:
        return None
    if planes.dtype != np.float64:
        return np.zeros((*batch, *planes.shape), dtype=planes.dtype)
    return np.zeros((*planes.shape[:2], *batch, *planes.shape[2:]))
