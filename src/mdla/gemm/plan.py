# SPDX-License-Identifier: BSD-3-Clause
"""The planner of the matrix product: from operands to scheme, engine, kernel and digits.

A *scheme* is a way to compute the product; it fixes the bits of the result and is chosen by shape,
precision and the exponents of the entries alone, never by the machine. An *engine* is what carries
a scheme out; every engine of a scheme gives the same bits. New schemes and engines register
themselves in `mdla.gemm.engines`; nothing else changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import Operand, in_format, meet
from mdla.core.precision import PRECISIONS, Precision, precision
from mdla.gemm import engines
from mdla.gemm.prepared import Prepared

__all__ = ["Plan", "Problem", "conjugate", "decide", "plan", "read_problem"]

Planes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a matrix product would run.

    Attributes:
        scheme: How the product is computed; decides the bits.
        engine: What computes it.
        kernel: The part of the scheme: for ``"direct"`` it is ``"integer"``, ``"mixed"``,
            ``"floating"`` or ``"dot"``.
        digits: Digits of 52 bits that the integer and the mixed kernel cut each entry into, else 0.
        span: Bits by which the largest product that enters a result lies below the scales of its
            row and column, at most; None where it was not needed.
        prec: The precision in which the product is formed.
        batch: The leading axes of the result.
        shape: ``(m, k, n)``: the product of an m x k and a k x n matrix.
        multiply_adds: Real multiplications with addition.
        seconds: Predicted time on one thread of this machine.
        choice: All that the engine is told; for a batch whose matrices differ it says what
            is done with which, and the attributes above are those of the largest group.
    """

    scheme: str
    engine: str
    kernel: str
    digits: int
    span: int | None
    prec: str
    batch: tuple[int, ...]
    shape: tuple[int, int, int]
    multiply_adds: int
    seconds: float
    choice: engines.Choice = field(repr=False)

    def __str__(self) -> str:
        m, k, n = self.shape
        times = "".join(f"{b} x " for b in self.batch)
        kernel = f"{self.kernel}, {self.digits} digits" if self.digits else self.kernel
        span = "" if self.span is None else f", span {self.span} bits"
        return (
            f"{self.prec} product {times}({m} x {k}) ({k} x {n}): scheme {self.scheme} ({kernel}"
            f"{span}) on engine {self.engine}, {self.multiply_adds:.3g} multiply-adds, about "
            f"{self.seconds:.2g} s on one thread"
        )


@dataclass(slots=True)
class Problem:
    """Two matrix operands, ready for a scheme.

    Attributes:
        own: Planes ``(c, N, *batch, m, k)`` and ``(c, N, *batch, k, n)`` of the operands, each with
            the limbs that it came with, at most those of the working format; their batch axes
            broadcast.
        working: The format in which they meet.
        result: The format that the product is rounded to.
        batch: The broadcast batch axes.
        drop: The axes, of -2 and -1, that matrix products of vectors do not have.
        owners: The prepared operands that the planes belong to, if any.
        conjugated: Whether the operands are the conjugates of their own planes.
        memo: What a scheme has found out or rearranged, kept between planning and running.
    """

    own: tuple[Planes, Planes]
    working: Precision
    result: Precision
    batch: tuple[int, ...]
    drop: tuple[int, ...]
    owners: tuple[Prepared | None, Prepared | None] = (None, None)
    conjugated: tuple[bool, bool] = (False, False)
    memo: dict[str, Any] = field(default_factory=dict)

    @property
    def a(self) -> Planes:
        """Planes of the first operand in the working format."""
        return self._cast(0)

    @property
    def b(self) -> Planes:
        """Planes of the second operand in the working format."""
        return self._cast(1)

    def _cast(self, side: int) -> Planes:
        key = f"planes {side}"
        if key not in self.memo:
            planes = _planes.cast(self.own[side], self.working)
            self.memo[key] = conjugate(planes) if self.conjugated[side] else planes
        found: Planes = self.memo[key]
        return found

    @property
    def parts(self) -> tuple[int, int]:
        """1 for a real operand, 2 for a complex one."""
        return self.own[0].shape[0], self.own[1].shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, k, n)."""
        return self.own[0].shape[-2], self.own[0].shape[-1], self.own[1].shape[-1]

    @property
    def multiply_adds(self) -> int:
        """Real multiply-adds: complex factors count for each pair of parts."""
        return math.prod((*self.shape, *self.parts, *self.batch))


def read_problem(A: Any, B: Any, prec: Any = None) -> Problem:
    """Bring two operands of `mdla.matmul` into one format and check their shapes.

    Raises:
        TypeError: An operand is no array of numbers.
        ValueError: The shapes do not fit together.
    """
    wanted = None if prec is None else precision(prec)
    left_owner, right_owner = (x if isinstance(x, Prepared) else None for x in (A, B))
    conjugated = (_is_conjugate(left_owner), _is_conjugate(right_owner))
    A, B = (x.array if isinstance(x, Prepared) else x for x in (A, B))
    a: Planes
    b: Planes
    if type(A) is type(B) is MDArray and A.precision is B.precision and wanted is None:
        a, b, result = A.planes, B.planes, A.precision  # small products feel the difference
        working = result
    else:
        operands, result, working = meet(A, B, prec=wanted)
        a, b = (_own_planes(op, working) for op in operands)
    if working.dtype != np.float64:  # products of float limbs are formed in double limbs
        working = PRECISIONS["dd"]
        a, b = _planes.cast(a, working), _planes.cast(b, working)
        left_owner = right_owner = None
    left, right = _planes.shape_of(a), _planes.shape_of(b)
    if not left or not right:
        raise ValueError(
            f"matrix products take vectors and matrices, got shapes {left} and {right}; "
            "write A * B to multiply by a number"
        )
    drop: tuple[int, ...] = ()
    if len(left) == 1:
        a, drop = a[:, :, np.newaxis, :], (-2,)
    if len(right) == 1:
        b, drop = b[..., np.newaxis], (*drop, -1)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"cannot multiply shapes {left} and {right}: the last axis of the first operand has "
            f"length {a.shape[-1]}, the {'only' if len(right) == 1 else 'second last'} axis of "
            f"the second has length {b.shape[-2]}"
        )
    batch: tuple[int, ...] = ()
    try:
        if a.ndim > 4 or b.ndim > 4:
            batch = np.broadcast_shapes(a.shape[2:-2], b.shape[2:-2])
    except ValueError:
        raise ValueError(
            f"cannot multiply shapes {left} and {right}: the axes before the last two do not "
            "broadcast"
        ) from None
    owners = left_owner, right_owner
    return Problem((a, b), working, result, batch, drop, owners, conjugated)


def conjugate(planes: Planes) -> Planes:
    """Complex planes with the imaginary part negated; real ones as they are."""
    if planes.shape[0] == 1:
        return planes
    return np.stack([planes[0], -planes[1]])


def _is_conjugate(owner: Prepared | None) -> bool:
    return owner is not None and owner.conjugated and owner.array.iscomplex


def _own_planes(op: Operand, working: Precision) -> Planes:
    """A matrix of fewer doubles than the working format stays as it is."""
    planes = op.planes
    if planes is None or planes.dtype != working.dtype or planes.shape[1] > working.limbs:
        return in_format(op, working)
    return planes


def decide(
    problem: Problem, scheme: str = "auto", engine: str = "auto"
) -> tuple[engines.Scheme, engines.Engine, engines.Choice]:
    """Choose scheme, engine and what they do.

    Raises:
        ValueError: There is no such scheme or engine.
    """
    if scheme == "auto":
        scheme = "crt" if prefers_residues(problem) else "direct"
    chosen = engines.scheme(scheme)
    return chosen, chosen.engine(engine), chosen.choose(problem)


# Products of at least this many multiply-adds for each part, by limbs, and with no side shorter
# than that go to residues: found by timing on a machine with AMX, fixed so that bits depend on no
# machine.
_RESIDUE_SIZE = {
    1: 400**3,
    2: 160**3,
    3: 140**3,
    4: 128**3,
    5: 120**3,
    8: 110**3,
    10: 100**3,
    16: 96**3,
}
_RESIDUE_SIDE = 32


def prefers_residues(problem: Problem) -> bool:
    """Whether ``scheme="auto"`` takes residues, by shape and precision alone."""
    shape = problem.shape
    return (
        min(shape) >= _RESIDUE_SIDE
        and math.prod(shape) >= _RESIDUE_SIZE[problem.working.limbs]
        and 0 not in problem.batch
    )


def plan(A: Any, B: Any, scheme: str = "auto", engine: str = "auto", prec: Any = None) -> Plan:
    """Return what ``matmul(A, B)`` would run, without running it.

    Args:
        A: First operand of `mdla.matmul`.
        B: Second operand.
        scheme: ``"auto"`` or the name of a scheme.
        engine: ``"auto"`` or the name of an engine of that scheme.
        prec: Precision of the result; by default the wider of the operands'.

    Raises:
        TypeError: An operand is no array of numbers.
        ValueError: The shapes do not fit together, or there is no such scheme or engine.

    Example:
        >>> import mdla
        >>> A = mdla.eye(300, prec="qd")
        >>> p = mdla.gemm.plan(A, A)
        >>> p.scheme, p.kernel, p.digits, p.shape
        ('direct', 'integer', 5, (300, 300, 300))
    """
    problem = read_problem(A, B, prec)
    chosen, runner, choice = decide(problem, scheme, engine)
    return Plan(
        scheme=chosen.name,
        engine=runner.name,
        kernel=choice.kernel,
        digits=choice.digits,
        span=choice.span,
        prec=problem.working.name,
        batch=problem.batch,
        shape=problem.shape,
        multiply_adds=problem.multiply_adds,
        seconds=runner.predict(problem, choice),
        choice=choice,
    )
