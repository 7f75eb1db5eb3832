# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic on the planes of many paths, with any mixture of limbs.

Planes have shape ``(2, N, P, ...)``: complex numbers of N limbs, a path at each place of the third
axis. No operation here combines the numbers of two paths or depends on how many there are, so a
path gives the same bits in every company. That is why sums over coordinates go through the native
fixed tree, norms are maxima, and no NumPy function with an approximation inside is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.linalg import batched

__all__ = [
    "add",
    "conjugate",
    "constant",
    "div",
    "dot",
    "largest",
    "magnitude",
    "matvec",
    "mul",
    "resized",
    "seventh_root",
    "solve",
    "spread",
    "sub",
    "weights",
]

Planes = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

# The least weight of a coordinate relative to the largest.
_LEAST_WEIGHT = 2.0**-30


def resized(planes: Planes, limbs: int) -> Planes:
    """The same numbers with another number of limbs, the last ones cut off or zero.

    Cutting leaves an error of one unit of the last limb kept, which is what an iterate may have.
    """
    have = planes.shape[1]
    if have == limbs:
        return planes
    if have > limbs:
        return planes[:, :limbs]
    out = np.zeros((planes.shape[0], limbs, *planes.shape[2:]))
    out[:, :have] = planes
    return out


def _apply(name: str, a: Planes, b: Planes) -> Planes:
    limbs = max(a.shape[1], b.shape[1])
    if a.shape[1] not in (1, limbs):
        a = resized(a, limbs)
    if b.shape[1] not in (1, limbs):
        b = resized(b, limbs)
    if a.shape[2:] != b.shape[2:]:
        shape = np.broadcast_shapes(a.shape[2:], b.shape[2:])
        a, b = spread(a, shape), spread(b, shape)
    result: Planes = _native.elementwise(name, None, a, b)
    return result


def spread(planes: Planes, shape: tuple[int, ...]) -> Planes:
    """The numbers repeated to a shape: for few paths a copy is faster than a view is made."""
    if planes.shape[2:] == shape:
        return planes
    out = np.empty((*planes.shape[:2], *shape))
    out[...] = planes[(slice(None), slice(None), *(None,) * (len(shape) + 2 - planes.ndim))]
    return out


def add(a: Planes, b: Planes) -> Planes:
    """Sums."""
    return _apply("add", a, b)


def sub(a: Planes, b: Planes) -> Planes:
    """Differences."""
    return _apply("sub", a, b)


def mul(a: Planes, b: Planes) -> Planes:
    """Products."""
    return _apply("mul", a, b)


def div(a: Planes, b: Planes) -> Planes:
    """Quotients."""
    return _apply("div", a, b)


def conjugate(a: Planes) -> Planes:
    """The complex conjugate."""
    out = a.copy()
    np.negative(out[1], out=out[1])
    return out


def constant(value: Any, *shape: int) -> Planes:
    """Doubles as planes (2, 1, *shape)."""
    out = np.empty((2, 1, *shape))
    out[0, 0] = np.real(value)
    out[1, 0] = np.imag(value)
    return out


def magnitude(a: Planes) -> Reals:
    """The absolute values to double precision."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        size: Reals = np.sqrt(a[0, 0] * a[0, 0] + a[1, 0] * a[1, 0])
    return size


def largest(a: Planes) -> Reals:
    """The largest absolute value along the last axis; nan where there is one."""
    size: Reals = magnitude(a).max(axis=-1, initial=0.0)
    return size


def dot(v: Planes, x: Planes) -> Planes:
    """Sums of products along the last axis."""
    limbs, count = x.shape[1:3]
    out = np.empty((2, limbs, count))
    _native.dot(out, resized(v, limbs), x)
    return out


def weights(x: Planes) -> Reals:
    """Powers of two, shape (P, n), near the sizes of coordinates, in which errors are measured.

    Errors are relative to each coordinate, down to a part of the largest, or of 1 if that is more:
    so paths whose coordinates come to be of different orders keep the small ones.
    """
    size = magnitude(x)
    floor = _LEAST_WEIGHT * np.maximum(size.max(axis=-1, keepdims=True, initial=0.0), 1.0)
    size = np.maximum(size, floor)
    result: Reals = np.ldexp(1.0, np.frexp(np.where(np.isfinite(size), size, 1.0))[1])
    return result


def matvec(a: Planes, x: Planes) -> Planes:
    """Products of matrices (P, m, n) and vectors (P, n)."""
    limbs, count, rows, columns = a.shape[1:]
    out = np.empty((2, limbs, count * rows))
    wide = spread(resized(x, limbs)[:, :, :, None, :], a.shape[2:])
    flat = (2, limbs, count * rows, columns)
    _native.dot(out, a.reshape(flat), wide.reshape(flat))
    return out.reshape(2, limbs, count, rows)


def solve(a: Planes, b: Planes) -> tuple[Planes, Reals]:
    """Solutions of stacked systems, and reciprocal conditions: 0 for what has no solution."""
    finite = np.ones(a.shape[2], dtype=bool)
    finite &= np.isfinite(a[:, 0]).all(axis=(0, 2, 3))
    finite &= np.isfinite(b[:, 0]).all(axis=(0, 2, 3))
    if finite.all():
        return batched.solve(a, b)
    x = np.full(b.shape, np.nan)
    rcond = np.zeros(len(finite))
    x[:, :, finite], rcond[finite] = batched.solve(a[:, :, finite], b[:, :, finite])
    return x, rcond


def seventh_root(a: Reals) -> Reals:
    """``a^(1/7)`` for positive doubles to a few units, by Newton's iteration with exact bits."""
    fraction, exponent = np.frexp(a)
    high = np.floor_divide(exponent, 7)
    scaled = np.ldexp(fraction, exponent - 7 * high)  # in [1/2, 64)
    root = np.full(a.shape, 1.8)
    for _ in range(8):
        power = root * root * root
        root = (6 * root + scaled / (power * power)) / 7
    result: Reals = np.ldexp(root, high)
    return result
