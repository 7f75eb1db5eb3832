# SPDX-License-Identifier: BSD-3-Clause
"""Operands that are converted once and multiplied many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from mdla.core.array import MDArray
from mdla.core.creation import asarray
from mdla.gemm.survey import Survey

__all__ = ["Prepared", "adjoint", "prepare", "residues_of", "survey_of"]


class Prepared:
    """An operand that remembers what matrix products found out about it.

    Surveys and residues are kept for each side of a product, number of bits and system of moduli
    that a product has asked for, so products have the same bits as without it and only the first
    of its kind converts.

    Attributes:
        array: The operand; it must not be changed while this is in use.
        conjugated: Whether the operand is the complex conjugate of the array.
    """

    __slots__ = ("_kept", "array", "conjugated")

    def __init__(self, array: MDArray, conjugated: bool = False) -> None:
        self.array = array
        self.conjugated = conjugated
        self._kept: dict[Any, Any] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the operand."""
        return self.array.shape

    @property
    def nbytes(self) -> int:
        """Bytes of all residues that are kept."""
        return sum(getattr(x, "nbytes", 0) for x in self._kept.values())

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made for the key before, or is made now."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def __repr__(self) -> str:
        return f"<prepared {self.array.prec} operand of shape {self.shape}, {self.nbytes} bytes>"


def prepare(A: Any, prec: Any = None) -> Prepared:
    """Make ready an operand that is multiplied many times ("convert-once residue workspace").

    ``matmul(prepare(A), B)`` has the bits of ``matmul(A, B)``. The first product with it converts
    it to residues and those after it skip that, as long as they need as many bits; where the
    product is too small for residues nothing is kept.

    Args:
        A: Anything that `mdla.matmul` takes.
        prec: Format to lift A to, exactly.

    Returns:
        An operand for either side of `mdla.matmul`, `mdla.gemm.update` and `mdla.gemm.plan`.

    Raises:
        TypeError: A is no array of numbers.

    Example:
        >>> import mdla
        >>> A = mdla.random.normal(size=(200, 200), prec="dd", rng=1)
        >>> W = mdla.gemm.prepare(A)
        >>> bool((mdla.matmul(W, A) == A @ A).all())
        True
    """
    if isinstance(A, Prepared):
        return A if prec is None else Prepared(asarray(A.array, prec=prec), A.conjugated)
    return Prepared(asarray(A, prec=prec))


def adjoint(A: Any) -> Prepared:
    """The conjugate transpose of a matrix as an operand, without a copy.

    ``matmul(adjoint(A), B)`` has the bits of ``matmul(A.H, B)``; products by residues convert the
    conjugate straight from A.

    Args:
        A: Array with two axes or more, or a prepared operand, whose residues are not shared.

    Raises:
        TypeError: A is no array of numbers.
        ValueError: A has fewer than two axes.

    Example:
        >>> import mdla
        >>> A = mdla.array([[1, 2j], [3, 4]], prec="qd")
        >>> print(mdla.matmul(mdla.gemm.adjoint(A), A))
        [[10.+0.j 12.+2.j]
         [12.-2.j 20.+0.j]]
    """
    given = prepare(A)
    if given.array.ndim < 2:
        raise ValueError(f"only matrices have an adjoint, got shape {given.shape}")
    return Prepared(given.array.mT, not given.conjugated)


def survey_of(owner: Prepared | None, side: str, item: int, make: Callable[[], Survey]) -> Survey:
    """The survey of one matrix of an operand, kept if the operand was prepared."""
    return make() if owner is None else owner.keep(("survey", side, item), make)


def residues_of(
    owner: Prepared, key: tuple[Any, ...], make: Callable[[], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Residues of one matrix of a prepared operand."""
    kept: npt.NDArray[Any] = owner.keep(("residues", *key), make)
    return kept
