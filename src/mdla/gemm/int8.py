# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices of bytes with exact 32-bit sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mdla import _native

__all__ = ["MOST_TERMS", "int8_matmul"]

#: The longest inner dimension whose sums of products fit 32 bits: ``(2**31 - 1) // 2**14``.
MOST_TERMS: int = _native.int8_most_steps


def int8_matmul(a: npt.NDArray[np.int8], b: npt.NDArray[np.int8]) -> npt.NDArray[np.int32]:
    """The exact product ``a @ b``, on the matrix engine or the dot products of the processor.

    Args:
        a: Matrix (m, k) of bytes.
        b: Matrix (k, n) of bytes.

    Raises:
        ValueError: k is above 131071, or the operands are no int8 matrices that fit together.

    Example:
        >>> import numpy as np
        >>> from mdla.gemm.int8 import int8_matmul
        >>> int8_matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8)).item()
        -48768
    """
    if a.shape[1] > MOST_TERMS:
        raise ValueError(
            f"an inner dimension of {a.shape[1]} may overflow 32 bits; add products of blocks of "
            f"at most {MOST_TERMS}"
        )
    product = np.empty((a.shape[0], b.shape[1]), dtype=np.int32)
    _native.int8_product(a, b, product)
    return product
