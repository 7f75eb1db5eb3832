# SPDX-License-Identifier: BSD-3-Clause
"""The planner of the matrix product: from operands to scheme, engine, kernel and digits.

A *scheme* is a way to compute the product; it fixes the bits of the result and is chosen by shape,
precision and the exponents of the entries alone, never by the machine. An *engine* is what carries
a scheme out; every engine of a scheme gives the same bits. New schemes and engines register
themselves in `mdla.gemm.engines`; nothing else changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import Operand, in_format, meet
from mdla.core.precision import PRECISIONS, Precision, precision
from mdla.gemm import engines, machine
from mdla.gemm.prepared import Prepared
from mdla.gemm.tuning import fastest

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
        bits: Bits of the integers that entries of A and of B become, for ``"crt"``, else None.
        moduli: The moduli of ``"crt"``: those of a byte first, then those of pairs of bytes.
        products: Int8 matrix products for one product by ``"crt"``, else 0.
        prec: The precision in which the product is formed.
        batch: The leading axes of the result.
        shape: ``(m, k, n)``: the product of an m x k and a k x n matrix.
        multiply_adds: Real multiplications with addition.
        workspace: Bytes of memory for residues, None for other schemes.
        stages: Predicted seconds of each stage, by name.
        threads: The number of threads that they are predicted for.
        measured: Whether the prediction has the constants of this machine, which
            ``tune="machine"`` measures, or those of its instruction set.
        choice: All that the engine is told; for a batch whose matrices differ it says what
            is done with which, and the attributes above are those of the largest group.
    """

    scheme: str
    engine: str
    kernel: str
    digits: int
    span: int | None
    bits: tuple[int, int] | None
    moduli: tuple[int, ...]
    products: int
    prec: str
    batch: tuple[int, ...]
    shape: tuple[int, int, int]
    multiply_adds: int
    workspace: int | None
    stages: Mapping[str, float]
    threads: int
    measured: bool
    choice: engines.Choice = field(repr=False)

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return sum(self.stages.values())

    def __str__(self) -> str:
        m, k, n = self.shape
        times = "".join(f"{b} x " for b in self.batch)
        kernel = f"{self.kernel}, {self.digits} digits" if self.digits else self.kernel
        span = "" if self.span is None else f", exponent span {self.span} bits"
        lines = [
            f"{self.prec} product {times}({m} x {k}) ({k} x {n}), {self.multiply_adds:.3g} "
            "multiply-adds",
            f"scheme {self.scheme} ({kernel}{span}) on engine {self.engine}",
        ]
        if self.bits is not None:
            byte = sum(x <= 255 for x in self.moduli)
            lines.append(
                f"integers of {self.bits[0]} and {self.bits[1]} bits, {byte} byte and "
                f"{len(self.moduli) - byte} pair moduli, {self.products} int8 products"
            )
        if self.workspace is not None:
            lines.append(f"workspace {self.workspace / 2**20:.3g} MiB")
        parts = ", ".join(f"{name} {_time_text(t)}" for name, t in self.stages.items() if t > 0)
        source = "measured here" if self.measured else "of the processor's family"
        lines.append(
            f"about {_time_text(self.seconds)} with {self.threads} thread"
            f"{'' if self.threads == 1 else 's'}{f': {parts}' if len(self.stages) > 1 else ''} "
            f"(constants {source})"
        )
        return "\n".join(lines)


def _time_text(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


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

    def with_planes(self, a: Planes, b: Planes, batch: tuple[int, ...]) -> Problem:
        """The same with other planes, which are the operands as they are, conjugated or not."""
        return replace(
            self,
            own=(a, b),
            batch=batch,
            owners=(None, None),
            conjugated=(False, False),
            memo={},
        )

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


# What "auto" chooses from; other schemes have to be asked for.
_AUTOMATIC = ("direct", "crt")


def decide(
    problem: Problem, scheme: str = "auto", engine: str = "auto", tune: str = "fixed"
) -> tuple[engines.Scheme, engines.Engine, engines.Choice]:
    """Choose scheme, engine and what they do; see `plan`.

    Raises:
        ValueError: There is no such scheme, engine or way to tune.
    """
    if tune == "fixed":
        if scheme == "auto":
            scheme = _AUTOMATIC[prefers_residues(problem)]
            if engine != "auto":
                takers = _takers(engine)
                scheme = scheme if scheme in takers else takers[0]
        chosen = engines.scheme(scheme)
        return chosen, chosen.engine(engine), chosen.choose(problem)
    if tune != "machine":
        raise ValueError(f"unknown tune {tune!r}; write 'fixed' or 'machine'")
    if scheme != "auto":
        engines.scheme(scheme).engine(engine)  # raises where there is none
        return fastest(problem, (scheme,), engine)
    return fastest(problem, _AUTOMATIC if engine == "auto" else _takers(engine), engine)


def _takers(engine: str) -> tuple[str, ...]:
    """The schemes that take an engine, of those that are chosen automatically if any is."""
    every = {name: engines.scheme(name).engines for name in engines.schemes()}
    takers = tuple(name for name, some in every.items() if engine in (e.name for e in some))
    if any(e.available() for name in takers for e in every[name] if e.name == engine):
        return tuple(name for name in _AUTOMATIC if name in takers) or takers
    ordered = (e for name in (*_AUTOMATIC, *every) for e in every.get(name, ()))
    names = dict.fromkeys(repr(e.name) for e in ordered if e.available())
    reason = "this machine has no engine" if takers else "there is no engine"
    raise ValueError(f"{reason} {engine!r}; write one of {', '.join([repr('auto'), *names])}")


# Residues are for products in which no side is shorter than the second number and the multiply-adds
# of one pair of parts are at least the cube of the first, by limbs and by whether both factors are
# complex. Found by `python benchmarks/bench_gemm.py crossover` on one thread of a machine with AMX,
# and fixed, so that bits depend on no machine.
_THRESHOLDS = {
    1: (824, 768),
    2: (224, 24),
    3: (152, 24),
    4: (152, 40),
    5: (120, 80),
    8: (104, 40),
    10: (96, 32),
    16: (88, 32),
}
_COMPLEX_THRESHOLDS = {
    1: (384, 104),
    2: (96, 40),
    3: (96, 24),
    4: (88, 24),
    5: (88, 56),
    8: (56, 24),
    10: (56, 24),
    16: (48, 16),
}


def prefers_residues(problem: Problem) -> bool:
    """Whether ``scheme="auto"`` takes residues, by shape and precision alone."""
    table = _COMPLEX_THRESHOLDS if problem.parts == (2, 2) else _THRESHOLDS
    order, side = table[problem.working.limbs]
    shape = problem.shape
    return min(shape) >= side and math.prod(shape) >= order**3 and 0 not in problem.batch


def plan(
    A: Any,
    B: Any,
    scheme: str = "auto",
    engine: str = "auto",
    prec: Any = None,
    tune: str = "fixed",
) -> Plan:
    """Return what ``matmul(A, B)`` would run, without running it.

    Args:
        A: First operand of `mdla.matmul`.
        B: Second operand.
        scheme: ``"auto"`` or the name of a scheme.
        engine: ``"auto"`` or the name of an engine; with ``scheme="auto"``, a scheme that takes it
            is chosen.
        prec: Precision of the result; by default the wider of the operands'.
        tune: ``"fixed"``, or ``"machine"`` for scheme and engine by predicted time on this machine,
            whose constants are measured at the first use and kept; see `mdla.gemm.machine`.

    Raises:
        TypeError: An operand is no array of numbers.
        ValueError: The shapes do not fit together; there is no such scheme or engine, the scheme
            does not take the engine, or this machine does not have it.

    Example:
        >>> import mdla
        >>> A = mdla.eye(60, prec="qd")
        >>> p = mdla.gemm.plan(A, A)
        >>> p.scheme, p.kernel, p.digits, p.shape
        ('direct', 'integer', 5, (60, 60, 60))
        >>> A = mdla.ones((300, 300), prec="qd")
        >>> print(mdla.gemm.plan(A, A))  # doctest: +ELLIPSIS
        qd product (300 x 300) (300 x 300), 2.7e+07 multiply-adds
        scheme crt (residues, exponent span ... bits) on engine int8-...
        integers of ... and ... bits, ... byte and ... pair moduli, ... int8 products
        workspace ... MiB
        about ... with ... (constants ...)
    """
    problem = read_problem(A, B, prec)
    chosen, runner, choice = decide(problem, scheme, engine, tune)
    stages = getattr(runner, "stages", None)
    workspace = getattr(runner, "workspace", None)
    return Plan(
        scheme=chosen.name,
        engine=runner.name,
        kernel=choice.kernel,
        digits=choice.digits,
        span=choice.span,
        bits=choice.bits,
        moduli=choice.moduli,
        products=choice.products,
        prec=problem.working.name,
        batch=problem.batch,
        shape=problem.shape,
        multiply_adds=problem.multiply_adds,
        workspace=None if workspace is None else workspace(problem),
        stages=(
            {"product": runner.predict(problem, choice)}
            if stages is None
            else stages(problem, choice)
        ),
        threads=_native.get_num_threads(),
        measured=machine.is_measured(),
        choice=choice,
    )
