# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers with all limbs filled.

The source of randomness is a ``numpy.random.Generator``; the same generator state gives the same
bits on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.arithmetic import fma
from mdla.core.array import MDArray
from mdla.core.creation import Shape, array, checked_shape
from mdla.core.precision import Precision, precision

__all__ = ["normal", "uniform"]


def uniform(
    size: Shape | None = None,
    *,
    low: Any = 0,
    high: Any = 1,
    prec: Any = "dd",
    rng: np.random.Generator | int | None = None,
    complex: bool = False,
) -> MDArray:
    """Numbers spread evenly over [low, high), with a random bit at every place of every limb.

    Over [0, 1) they are multiples of 2**(-53 N) (2**(-24 N) for ds), all equally likely. Other
    intervals are reached by one fused multiply-add, whose rounding may reach their upper end.

    Args:
        size: The shape; None for a single number.
        low: The lower end.
        high: The upper end.
        prec: The precision.
        rng: The generator, a seed for one, or None for a fresh one.
        complex: Whether real and imaginary parts are drawn.

    Raises:
        TypeError: ``rng`` is no generator.
        ValueError: The shape or the precision is not valid.

    Example:
        >>> import mdla
        >>> x = mdla.random.uniform(1000, prec="qd", rng=1)
        >>> bool(((x >= 0) & (x < 1)).all()), bool((x.limbs[3] != 0).all())
        (True, True)
    """
    fmt, source, shape = (
        precision(prec),
        _generator(rng),
        () if size is None else checked_shape(size),
    )
    parts = [_unit(shape, fmt, source) for _ in range(2 if complex else 1)]
    if not (_is(low, 0) and _is(high, 1)):
        start, end = array(low, fmt), array(high, fmt)
        if start.iscomplex or end.iscomplex:
            raise TypeError("low and high bound each part and are real")
        parts = [fma(MDArray(part), end - start, start).planes for part in parts]
    return MDArray(np.concatenate(parts))


def normal(
    size: Shape | None = None,
    *,
    loc: Any = 0,
    scale: Any = 1,
    prec: Any = "dd",
    rng: np.random.Generator | int | None = None,
    complex: bool = False,
) -> MDArray:
    """Numbers from the normal distribution, with all limbs filled.

    A normally distributed double is spread evenly over the interval of numbers that round to it.
    The density is thus a histogram of the normal one with bins as narrow as the spacing of the
    doubles: right to a relative 2**-53 and complete in its bits, but not normal below that.

    Args:
        size: The shape; None for a single number.
        loc: The mean.
        scale: The standard deviation (of each part, for complex numbers).
        prec: The precision.
        rng: The generator, a seed for one, or None for a fresh one.
        complex: Whether real and imaginary parts are drawn.

    Raises:
        TypeError: ``rng`` is no generator.
        ValueError: The shape or the precision is not valid.

    Example:
        >>> import mdla
        >>> x = mdla.random.normal((100, 100), prec="dd", rng=1)
        >>> bool(abs(x.mean()) < 0.05), bool((x.limbs[1] != 0).all())
        (True, True)
    """
    fmt, source, shape = (
        precision(prec),
        _generator(rng),
        () if size is None else checked_shape(size),
    )
    parts = []
    for _ in range(2 if complex else 1):
        head = source.standard_normal(shape).astype(fmt.dtype)
        if fmt.limbs == 1:
            parts.append(head[np.newaxis, np.newaxis])
            continue
        # Uniform in [-1/2, 1/2) ulp.
        tail = (MDArray(_unit(shape, fmt, source)) - 0.5).planes * np.spacing(np.abs(head))
        parts.append(
            _planes.normalise(np.concatenate([head[np.newaxis, np.newaxis], tail], 1), fmt)
        )
    drawn = MDArray(np.concatenate(parts))
    if not _is(scale, 1):
        drawn = drawn * array(scale, fmt)
    if not _is(loc, 0):
        drawn = drawn + array(loc, fmt)
    return drawn


def _is(value: Any, number: int) -> bool:
    return isinstance(value, int) and value == number


def _generator(rng: Any) -> np.random.Generator:
    if rng is None or (isinstance(rng, (int, np.integer)) and not isinstance(rng, bool)):
        return np.random.default_rng(rng)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng is a numpy.random.Generator, a seed or None, got {type(rng).__name__}; "
            "write numpy.random.default_rng(seed)"
        )
    return rng


def _unit(shape: tuple[int, ...], fmt: Precision, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Planes (1, N, *shape) of multiples of 2**(-bits) in [0, 1)."""
    bits = fmt.limb_bits
    words = rng.integers(0, 1 << bits, size=(1, fmt.limbs, *shape), dtype=np.int64)
    places = -bits * np.arange(1, fmt.limbs + 1, dtype=np.int32)
    digits = np.ldexp(words.astype(fmt.dtype), places.reshape(-1, *(1,) * len(shape)))
    return _planes.normalise(digits, fmt)
