# SPDX-License-Identifier: BSD-3-Clause
"""Cholesky factorisation of positive definite matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.protocols import implements
from mdla.linalg import batched
from mdla.linalg.householder import adjoint, multiply
from mdla.linalg.inputs import (
    Inputs,
    LinAlgError,
    exponents_along,
    is_moderate,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
)
from mdla.linalg.triangular import require_right_side, substitute

__all__ = ["cho_factor", "cho_solve", "cholesky"]

Planes = npt.NDArray[Any]

# Order of the matrices that the native kernel factors by vectors, by the number of limbs.
_LEAF = {1: 64, 2: 32, 3: 32, 4: 32, 5: 16, 8: 16, 10: 16, 16: 16}

# Orders up to which R^H R is formed whole although only one triangle of it is used.
_WHOLE = 128


@implements(np.linalg.cholesky)
def cholesky(
    a: Any, *, upper: bool = False, prec: Any = None, check_finite: bool = True
) -> MDArray:
    """The Cholesky factor of a Hermitian positive definite matrix.

    ``A = L L^H`` with L lower triangular and a positive diagonal, or ``A = U^H U`` with ``upper``.
    The computed factor satisfies ``L L^H = A + E`` with ``|E| <= c n eps |L| |L^H|`` (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.3). Rows and columns of
    extreme exponents are scaled by powers of two. Stacks of small matrices are worked on side by
    side, in fixed point with digits enough for the bound, so a matrix may have other last bits
    there than alone.

    Args:
        a: A matrix (n, n) or a stack (..., n, n), of which only the lower triangle (with ``upper``,
            the upper one) and the real parts of the diagonal are read.
        upper: Whether to return U instead of L.
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans in the triangle.

    Returns:
        The factor, with zeros in the other triangle.

    Raises:
        LinAlgError: A is not square, or not positive definite to working precision; the message
            names the first pivot that is not positive.
        ValueError: The precision does not exist, or the triangle is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.cholesky([[4, 2], [2, 5]]))
        [[2. 0.]
         [1. 2.]]
        >>> mdla.linalg.cholesky([[1, 2], [2, 1]])
        Traceback (most recent call last):
        ...
        numpy.linalg.LinAlgError: cholesky: a is not positive definite: its pivot 1 is not ...
    """
    return _cholesky("cholesky", a, upper, prec, check_finite)


def cho_factor(
    a: Any, lower: bool = False, *, prec: Any = None, check_finite: bool = True
) -> tuple[MDArray, bool]:
    """The Cholesky factor in the form that `cho_solve` takes; see `cholesky`.

    Args:
        a: A matrix (n, n) or a stack (..., n, n), of which one triangle is read.
        lower: Whether that is the lower one, and the factor lower triangular.
        prec: The precision to compute in.
        check_finite: Whether to raise ValueError for infinities and nans in the triangle.

    Returns:
        The factor, with zeros in the other triangle, and ``lower``.

    Raises:
        LinAlgError: As `cholesky`.
        ValueError: As `cholesky`.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.cho_solve(mdla.linalg.cho_factor([[4, 2], [2, 5]]), [8, 12]))
        [1. 2.]
    """
    return _cholesky("cho_factor", a, not lower, prec, check_finite), lower


def cho_solve(c_and_lower: Any, b: Any, *, prec: Any = None, check_finite: bool = True) -> MDArray:
    """Solve ``A x = b`` with the factor of `cho_factor`.

    The computed x satisfies ``(A + E) x = b`` with ``|E| <= c n eps |L| |L^H|`` (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.4).

    Args:
        c_and_lower: The factor, and whether it is lower triangular.
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        prec: The precision to compute in; by default the widest of the factor and ``b``.
        check_finite: Whether to raise ValueError for infinities and nans.

    Returns:
        x with the shape of b; for stacks the leading axes are broadcast.

    Raises:
        LinAlgError: The factor is not square, or the sizes do not match, or its diagonal has a
            zero.
        ValueError: The first argument is no pair, the precision does not exist, or an operand is
            not finite.
    """
    try:
        factor, lower = c_and_lower
    except (TypeError, ValueError):
        raise ValueError(
            "cho_solve: the first argument must be the pair (c, lower) of cho_factor; "
            "write cho_solve(cho_factor(a), b)"
        ) from None
    inputs = read_inputs("cho_solve", check_finite, prec, c=factor, b=b)
    t, right = inputs.planes
    require_matrix("cho_solve", "c", t, square=True)
    right, is_vector = require_right_side("cho_solve", t, right)
    zero = np.argwhere((np.diagonal(t[:, 0], axis1=-2, axis2=-1) == 0).all(axis=0))
    if len(zero):
        raise LinAlgError(
            f"cho_solve: entry {int(zero[0][-1])} of the diagonal of c is zero; "
            "write cho_solve(cho_factor(a), b)"
        )
    batch = np.broadcast_shapes(_planes.shape_of(t)[:-2], _planes.shape_of(right)[:-2])
    x = np.array(stacked(right, batch), order="C")
    t = stacked(t, batch)
    for i in range(x.shape[2]):
        first, second = t[:, :, i], adjoint(t[:, :, i])
        if not lower:
            first, second = second, first
        substitute(first, x[:, :, i], lower=True)
        substitute(second, x[:, :, i], lower=False)
    x = x.reshape(*x.shape[:2], *batch, *x.shape[3:])
    return inputs.deliver(x[..., 0] if is_vector else x)


def _cholesky(function: str, a: Any, upper: bool, prec: Any, check_finite: bool) -> MDArray:
    inputs = read_inputs(function, False, prec, a=a)
    planes = inputs.planes[0]
    require_matrix(function, "a", planes, square=True)
    work = np.triu(planes if upper else planes.swapaxes(-1, -2))
    if check_finite and not np.isfinite(work[:, 0]).all():
        raise ValueError(
            f"{function}: a has infinities or nans; remove them, or write "
            "check_finite=False to compute with them"
        )
    if not upper and work.shape[0] == 2:
        np.negative(work[1], out=work[1])
    batch = _planes.shape_of(planes)[:-2]
    work = np.ascontiguousarray(stacked(work, batch))
    if batch and batched.is_small(work):
        lower, failed = batched.cholesky(adjoint(work))
        bad = np.flatnonzero(failed >= 0)
        if len(bad):
            raise _not_definite(function, int(bad[0]), int(failed[bad[0]]), batch, inputs)
        work = adjoint(lower) if upper else lower
        return inputs.deliver(work.reshape(*work.shape[:2], *batch, *work.shape[3:]))
    for i in range(work.shape[2]):
        stop = _factor_scaled(work[:, :, i])
        if stop < work.shape[-1]:
            raise _not_definite(function, i, stop, batch, inputs)
    if not upper:
        work = adjoint(work)
    return inputs.deliver(work.reshape(*work.shape[:2], *batch, *work.shape[3:]))


def _not_definite(
    function: str, i: int, pivot: int, batch: tuple[int, ...], inputs: Inputs
) -> LinAlgError:
    index = ", ".join(str(int(j)) for j in np.unravel_index(i, batch)) if batch else ""
    which = f"a[{index}]" if index else "a"
    return LinAlgError(
        f"{function}: {which} is not positive definite: its pivot {pivot} is not positive "
        f"in {inputs.result.name}; ask for a wider prec if it should be, or write "
        "mdla.solve(a, b) for a system"
    )


def _factor_scaled(work: Planes) -> int:
    """As `_factor`, whatever the exponents: ``D A D`` has a diagonal of moderate size."""
    diagonal = np.diagonal(work, axis1=-2, axis2=-1)[..., np.newaxis, :]
    exponents = exponents_along(diagonal, -2)
    if is_moderate(exponents):
        return _factor(work)
    exponents >>= 1
    times_power(work, -exponents.swapaxes(-1, -2))
    times_power(work, -exponents)
    stop = _factor(work)
    times_power(work, exponents)
    return stop


def _factor(work: Planes) -> int:
    """``A = R^H R`` in place of the upper triangle; returns the first bad pivot, or n.

    R11; then R12 from R11^H R12 = A12; then the rest, less R12^H R12.
    """
    n, leaf = work.shape[-1], _LEAF[work.shape[1]]
    if n <= leaf:
        stop: int = _native.cholesky_leaf(work)
        return stop
    half = leaf
    while 2 * half < n:
        half *= 2
    head, right = work[:, :, :half, :half], work[:, :, :half, half:]
    rest = work[:, :, half:, half:]
    stop = _factor(head)
    if stop < half:
        return stop
    substitute(adjoint(head), right, lower=True)
    _subtract_square(rest, right)
    return half + _factor(rest)


def _subtract_square(c: Planes, r: Planes) -> None:
    """The upper triangle of C <- C - R^H R in place; what is below the diagonal may be anything."""
    n = c.shape[-1]
    if n <= _WHOLE:
        upper = np.triu(multiply(adjoint(r), r))
        _native.subtract_in_place(c, upper)
        return
    half = n // 2
    head, tail = r[..., :half], r[..., half:]
    _subtract_square(c[:, :, :half, :half], head)
    _native.subtract_in_place(c[:, :, :half, half:], multiply(adjoint(head), tail))
    _subtract_square(c[:, :, half:, half:], tail)
