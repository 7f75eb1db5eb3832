# SPDX-License-Identifier: BSD-3-Clause
"""A QR factorisation that is kept, with Q as a product of reflectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.linalg.householder import apply, apply_adjoint, form_q
from mdla.linalg.inputs import LinAlgError, exponents_along, read_inputs, times_power
from mdla.linalg.qr import factor_scaled
from mdla.linalg.triangular import substitute

__all__ = ["QR"]

Planes = npt.NDArray[Any]
_Deliver = Callable[[Planes], MDArray]


class QR:
    """The factorisation ``A = Q R``, or ``A[:, P] = Q R``, with Q (m, m) never formed.

    Q is a product of blocks ``I - V T V^H`` with ``||Q^H Q - I|| <= c n eps``, applied from V and
    T by two products each (R. Schreiber and C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989)
    53-57), so it takes the memory of A, and a product with Q about as long as one with A.

    Args:
        a: A matrix (m, n), real or complex.
        pivoting: Whether to permute the columns; see `mdla.linalg.qr`.
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` for what is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.

    Attributes:
        shape: (m, n).
        P: The order of the columns, None without pivoting.

    Raises:
        LinAlgError: ``a`` is no single matrix.
        ValueError: The precision does not exist, or ``a`` is not finite.

    Example:
        >>> import mdla
        >>> A = mdla.array([[3, 1], [4, 2], [0, 5]], prec="qd")
        >>> F = mdla.linalg.QR(A)
        >>> print(F.solve([4, 6, 5]))
        [1. 1.]
        >>> bool(mdla.norm(F.apply_qh(A)[:2] - F.R) < 20 * mdla.finfo("qd").eps)
        True
    """

    def __init__(
        self, a: Any, pivoting: bool = False, *, prec: Any = None, check_finite: bool = True
    ) -> None:
        self._inputs = read_inputs("QR", check_finite, prec, a=a)
        planes = self._inputs.planes[0]
        shape = _planes.shape_of(planes)
        if len(shape) != 2:
            raise LinAlgError(
                f"QR: a must be one matrix, got shape {shape}; write mdla.qr(a) for a stack"
            )
        self.shape = shape
        self._work, self._reflectors, self.P, self._exponents = factor_scaled(
            planes, pivoting, keep=True
        )

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<QR factorisation of a {self._inputs.result.name} matrix ({m}, {n})>"

    @property
    def R(self) -> MDArray:
        """The upper triangular factor (min(m, n), n)."""
        r = self._work[:, :, : min(self.shape)].copy()
        times_power(r, self._exponents)
        return self._inputs.deliver(r)

    @property
    def Q(self) -> MDArray:
        """The first min(m, n) columns of Q, formed anew."""
        m = self.shape[0]
        return self._inputs.deliver(form_q(self._reflectors, self._work, m, min(self.shape)))

    def rank(self, rcond: float | None = None) -> int:
        """How many entries on the diagonal of R exceed ``rcond`` times the largest.

        Reliable with pivoting only.

        Args:
            rcond: By default ``max(m, n) eps``.

        Raises:
            ValueError: ``rcond`` is nan.
        """
        if rcond is not None and np.isnan(rcond):
            raise ValueError("rank: rcond is nan; write None for max(m, n) eps")
        tolerance = max(self.shape) * self._inputs.eps if rcond is None else rcond
        r = self._work[:, 0, : min(self.shape)].copy()
        times_power(r, self._exponents)
        diagonal = np.abs(np.diagonal(r[0]))
        return int(np.sum(diagonal > tolerance * diagonal.max(initial=0.0)))

    def apply_q(self, c: Any) -> MDArray:
        """``Q c`` for c (m,) or (m, k).

        Raises:
            LinAlgError: c has another number of rows.
        """
        x, deliver = self._right("apply_q", "c", c)
        apply(self._reflectors, x)
        return deliver(x)

    def apply_qh(self, c: Any) -> MDArray:
        """``Q^H c`` for c (m,) or (m, k).

        Raises:
            LinAlgError: c has another number of rows.
        """
        x, deliver = self._right("apply_qh", "c", c)
        apply_adjoint(self._reflectors, x)
        return deliver(x)

    def solve(self, b: Any) -> MDArray:
        """The x that minimises ``||A x - b||`` for an A with independent columns, m >= n.

        Its backward error is that of `mdla.lstsq` (N. J. Higham, Accuracy and Stability of
        Numerical Algorithms, 2nd ed., theorem 20.3).

        Args:
            b: A vector (m,) or a matrix (m, k).

        Raises:
            LinAlgError: The columns are dependent to working precision, or there are more than
                rows; `mdla.lstsq` returns the smallest of the solutions.
        """
        n = self.shape[1]
        advice = "write mdla.lstsq(a, b) for the smallest of the solutions"
        if self.shape[0] < n:
            raise LinAlgError(f"solve: a matrix of shape {self.shape} has no single one; {advice}")
        triangle = self._work[:, :, :n]
        # Like lstsq: the units of the unknowns do not matter.
        units = exponents_along(triangle, -2)
        scaled = triangle.copy()
        times_power(scaled, -units)
        if n and _native.reciprocal_condition(scaled) < n * self._inputs.eps:
            raise LinAlgError(f"solve: the columns are dependent to working precision; {advice}")
        x, deliver = self._right("solve", "b", b)
        apply_adjoint(self._reflectors, x)
        y = np.ascontiguousarray(x[:, :, :n])
        substitute(scaled, y, lower=False)
        times_power(y, -(units + self._exponents).swapaxes(-1, -2))
        if self.P is not None:
            y[:, :, self.P] = y.copy()
        return deliver(y)

    def _right(self, function: str, name: str, c: Any) -> tuple[Planes, _Deliver]:
        """A right-hand side in the format of the factors, and how results are delivered."""
        inputs = read_inputs(function, False, self._inputs.result, **{name: c})
        right = inputs.planes[0]
        shape, rows = _planes.shape_of(right), self.shape[0]
        if len(shape) not in (1, 2) or shape[0] != rows:
            raise LinAlgError(
                f"{function}: the factored matrix has {rows} rows, so {name} needs the shape "
                f"({rows},) or ({rows}, k), got {shape}"
            )
        is_vector = len(shape) == 1
        if is_vector:
            right = right[..., np.newaxis]
        if len(self._work) == 2:
            right = _planes.as_complex(right)
        elif len(right) == 2:  # both parts of it, side by side
            right = np.concatenate([right[:1], right[1:]], axis=3)

            def join(x: Planes) -> MDArray:
                both = np.concatenate(np.split(x, 2, axis=3))
                return inputs.deliver(both[..., 0] if is_vector else both)

            return right, join

        def deliver(x: Planes) -> MDArray:
            return inputs.deliver(x[..., 0] if is_vector else x)

        return np.array(right, order="C"), deliver
