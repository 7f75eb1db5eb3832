# SPDX-License-Identifier: BSD-3-Clause
"""The table of schemes and engines of the matrix product.

A scheme decides from a problem alone what is to be done (a `Choice`); its engines do it, all with
the same bits. A new scheme is one module that ends with a call of `register`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy.typing as npt

if TYPE_CHECKING:
    from mdla.gemm.plan import Problem

__all__ = ["Choice", "Engine", "Scheme", "register", "scheme", "schemes"]

Planes = npt.NDArray[Any]


class Choice(NamedTuple):
    """What a scheme does for one problem; see `mdla.gemm.Plan` for the meaning.

    Matrices of a batch are decided about one by one, so that each product has the bits it would
    have alone. Where they differ, `groups` has the choices and the places in the batch, and the
    other fields are those of the largest group.
    """

    kernel: str
    digits: int = 0
    span: int | None = None
    bits: tuple[int, int] | None = None
    products: int = 0
    moduli: tuple[int, ...] = ()
    groups: tuple[tuple[Choice, tuple[int, ...]], ...] = ()
    far: float = 0.0


class Engine(Protocol):
    """What carries out a scheme.

    It may also have ``stages(problem, choice)``, the stages of `predict` by name, and
    ``workspace(problem)``, the bytes that it borrows.
    """

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    def available(self) -> bool:
        """Whether this machine has it."""

    def predict(self, problem: Problem, choice: Choice) -> float:
        """Seconds with the threads in use, by a model of this machine."""

    def run(self, problem: Problem, choice: Choice) -> Planes:
        """Planes ``(c, N, *batch, m, n)`` of the product in the working format."""


class Scheme:
    """A way to compute a product, and the engines that can.

    Args:
        name: The name by which users ask for it.
        engines: Its engines, the best first.
        simulated: Engines that stand for others, for tests; they only run when asked for by name.
    """

    def __init__(
        self, name: str, engines: Sequence[Engine], simulated: Sequence[Engine] = ()
    ) -> None:
        self.name = name
        self.engines = tuple(engines)
        self.simulated = tuple(simulated)

    def choose(self, problem: Problem) -> Choice:
        """Decide from shape, precision and exponents, not from the machine."""
        raise NotImplementedError

    def typical(self, problem: Problem) -> Choice | None:
        """What `choose` says of entries of about one size, by shape and precision alone.

        None for a scheme that is only used when it is asked for.
        """
        return None

    def engine(self, name: str = "auto") -> Engine:
        """The best available engine, or the one of that name.

        Raises:
            ValueError: The scheme does not take such an engine, or this machine has none.
        """
        usable = [e for e in self.engines if e.available()]
        for e in usable:
            if name in ("auto", e.name):
                return e
        for e in self.simulated:
            if name == e.name:
                return e
        known = any(name == e.name for e in self.engines)
        reason = (
            f"this machine has no engine {name!r}"
            if known
            else f"scheme {self.name!r} does not take engine {name!r}"
        )
        names = ", ".join(["'auto'", *(repr(e.name) for e in (*usable, *self.simulated))])
        raise ValueError(f"{reason}; write one of {names}")


_SCHEMES: dict[str, Scheme] = {}


def register(scheme: Scheme) -> None:
    """Make a scheme known to the planner."""
    _SCHEMES[scheme.name] = scheme


def schemes() -> tuple[str, ...]:
    """The names of all schemes."""
    return tuple(_SCHEMES)


def scheme(name: str) -> Scheme:
    """The scheme of that name.

    Raises:
        ValueError: There is none.
    """
    found = _SCHEMES.get(name)
    if found is None:
        names = ", ".join(["'auto'", *map(repr, _SCHEMES)])
        raise ValueError(f"unknown scheme {name!r}; write one of {names}")
    return found
