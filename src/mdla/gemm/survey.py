# SPDX-License-Identifier: BSD-3-Clause
"""The operand survey: the sizes of rows, columns and sums before anything is multiplied.

A *lane* is a row of A or a column of B, scaled by a power of two so that its largest entry is in
[1/2, 1). One pass over the leading limbs finds the exponents of all lanes, and sums of entries cut
off at a few caps that bound all entries of |A| |B| from below at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdla import _native

__all__ = ["Survey", "least_sum", "survey"]

# Numbers may differ from their leading limbs by 2^-53 of these, for each factor of a product, and
# the last product of `least_sum` is rounded.
_TAILS = 1 - 2.0**-50


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What `survey` finds.

    Attributes:
        exponents: int32 array, one for each lane: E with ``2**(E-1) <= max |x| < 2**E``, or
            ``_native.zero_lane`` where all entries are zero, or ``_native.special_lane`` where one
            is inf or nan. Lanes with E are called regular.
        capped: For each cap c of ``_native.survey_caps`` the least ``sum(min(|x| / 2**E, c)) / c``
            over regular lanes, every term rounded down to a multiple of ``2**-20 / c``; inf where
            no lane is regular.
        steps: The length of the lanes.
    """

    exponents: npt.NDArray[np.int32]
    capped: tuple[float, ...]
    steps: int


def survey(x: npt.NDArray[Any]) -> Survey:
    """Survey the lanes of one operand; bits do not depend on machine, threads or strides.

    Args:
        x: float64 array of shape ``(lanes, steps)``, the leading limbs of A or of B transposed.

    Raises:
        ValueError: x is no aligned float64 array of two dimensions.

    Example:
        >>> import numpy as np
        >>> s = survey(np.array([[3.0, -0.5], [1e-310, 1e-310]]))
        >>> s.exponents.tolist(), s.capped[0]
        ([2, -1029], 1.25)
    """
    exponents = np.empty(x.shape[:1], np.int32)
    return Survey(exponents, tuple(_native.survey(x, exponents)), x.shape[-1])


def least_sum(a: Survey, b: Survey) -> float:
    """A lower bound of ``sum_k |A_ik| 2**-E_i |B_kj| 2**-F_j`` over all regular rows i, columns j.

    It holds for the numbers that the leading limbs stand for. With |x| cut off at s and |y| at t,

        |x y| >= s t (|x|/s + |y|/t - 1)    from    (s - |x|) (t - |y|) >= 0,

    so each pair of caps gives one bound, and the largest of them is taken. The sums are multiples
    of 2**-19 and caps are powers of two, so below 2**33 steps only the last product rounds. For
    entries of about one size the bound is a third to a half of the least sum.

    Args:
        a: `survey` of A.
        b: `survey` of B transposed.

    Returns:
        The bound; 0.0 where nothing is proven, inf where there are no regular rows or columns.

    Raises:
        ValueError: The lanes have different lengths.

    Example:
        >>> import numpy as np
        >>> x = survey(np.linspace(0.5, 1, 100, endpoint=False)[np.newaxis])
        >>> 25 * 0.99 < least_sum(x, x) <= 25
        True
    """
    if a.steps != b.steps:
        raise ValueError(f"rows of {a.steps} and columns of {b.steps} entries have no product")
    best = 0.0
    for s, f in zip(_native.survey_caps, a.capped, strict=True):
        for t, g in zip(_native.survey_caps, b.capped, strict=True):
            best = max(best, s * t * (f + g - a.steps))
    return best * _TAILS
