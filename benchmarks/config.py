# SPDX-License-Identifier: BSD-3-Clause
"""Sizes, inputs and helpers shared by all benchmarks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

import mdla

SMOKE = os.environ.get("MDLA_BENCH_SMOKE", "") not in ("", "0")


def size(full: int, smoke: int) -> int:
    """Return the full size, or the tiny one of a smoke run."""
    return smoke if SMOKE else full


def random_array(shape: int | tuple[int, ...], prec: str, seed: int = 3) -> mdla.MDArray:
    """Uniform numbers in (0.5, 1.5) with all limbs filled: no zeros, no square root of a minus."""
    return mdla.random.uniform(shape, prec=prec, rng=np.random.default_rng(seed)) + 0.5


def to_xprec(a: mdla.MDArray) -> np.ndarray:
    """Return the same numbers (dd) as an xprec array."""
    import xprec

    hi, lo = a.limbs
    return hi.astype(xprec.ddouble) + lo.astype(xprec.ddouble)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Run with n threads, then restore the former number.

    NumPy's BLAS has as many where threadpoolctl is installed.
    """
    before = mdla.get_num_threads()
    mdla.set_num_threads(n)
    try:
        with blas_threads(n):
            yield
    finally:
        mdla.set_num_threads(before)


def blas_threads(n: int) -> AbstractContextManager[object]:
    """Let NumPy's BLAS use n threads."""
    try:
        import threadpoolctl
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpoolctl.threadpool_limits(n, user_api="blas")
    return limits
