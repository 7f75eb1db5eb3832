# SPDX-License-Identifier: BSD-3-Clause
"""Constants of the cost model as they are shipped: seconds on one thread, by instruction set.

Written by ``python benchmarks/bench_gemm.py constants``.
"""

from __future__ import annotations

__all__ = ["SHIPPED"]

SHIPPED: dict[str, dict[str, dict[str, float]]] = {
    "engines": {
        "int8-amx": {
            "entry": 9.6e-10,
            "convert": 1.77e-10,
            "word": 5.06e-13,
            "product": 2.48e-13,
            "traffic": 6.84e-11,
            "reconstruct": 2.81e-10,
            "weight": 3.36e-13,
            "call": 0.000229,
            "plane": 6.31e-07,
        },
        "int8-vnni": {
            "entry": 7.38e-10,
            "convert": 2.06e-10,
            "word": 4.73e-12,
            "product": 3.21e-12,
            "traffic": 7.55e-11,
            "reconstruct": 4.42e-10,
            "weight": 3.03e-12,
            "call": 0.000212,
            "plane": 1.33e-06,
        },
        "int8-portable": {
            "entry": 7.93e-10,
            "convert": 2.27e-10,
            "word": 3.23e-11,
            "product": 1.11e-11,
            "traffic": 3.27e-11,
            "reconstruct": 5.98e-10,
            "weight": 6.52e-12,
            "call": 0.000121,
            "plane": 2.44e-06,
        },
        "fp64-blas": {
            "entry": 7.9e-10,
            "convert": 8.5e-10,
            "word": 3e-11,
            "product": 3.3e-11,
            "traffic": 1e-11,
            "reconstruct": 7e-10,
            "weight": 6e-12,
            "call": 0.0003,
            "plane": 2e-05,
        },
    },
    "v4": {
        "double": {
            "call": 1.14e-05,
            "term": 2.23e-11,
            "entry": 1.2e-09,
            "result": 8.4e-10,
        },
        "floating": {
            "call": 1.06e-05,
            "term": 6.9e-11,
            "entry": 1.65e-09,
            "result": 2.34e-09,
        },
        "dot": {
            "call": 1.76e-05,
            "term": 6.27e-10,
            "entry": 5.1e-09,
            "result": 4.02e-08,
        },
        "integer": {
            "call": 3.2e-05,
            "term": 2.22e-11,
            "entry": 3.23e-10,
            "result": 3.91e-10,
        },
        "mixed": {
            "call": 2.67e-05,
            "term": 2.82e-11,
            "entry": 1.96e-09,
            "result": 7.01e-10,
        },
    },
    "v3": {
        "double": {
            "call": 1.5e-05,
            "term": 5.86e-11,
            "entry": 1.46e-09,
            "result": 1.04e-09,
        },
        "floating": {
            "call": 1.16e-05,
            "term": 9.63e-11,
            "entry": 1.84e-09,
            "result": 3.49e-09,
        },
        "dot": {
            "call": 1.48e-05,
            "term": 8.76e-10,
            "entry": 4.36e-09,
            "result": 5.18e-08,
        },
        "integer": {
            "call": 3.16e-05,
            "term": 1.14e-10,
            "entry": 4.77e-10,
            "result": 7.23e-10,
        },
        "mixed": {
            "call": 4.89e-05,
            "term": 8.5e-11,
            "entry": 2.84e-09,
            "result": 1.28e-09,
        },
    },
    "v2": {
        "double": {
            "call": 1.71e-05,
            "term": 5.62e-10,
            "entry": 6.14e-09,
            "result": 3.35e-09,
        },
        "floating": {
            "call": 1.01e-05,
            "term": 2.98e-10,
            "entry": 4.05e-09,
            "result": 9.72e-09,
        },
        "dot": {
            "call": 1.92e-05,
            "term": 1.29e-09,
            "entry": 6.45e-09,
            "result": 5.81e-08,
        },
        "integer": {
            "call": 2.87e-05,
            "term": 5.7e-10,
            "entry": 1.27e-09,
            "result": 2.91e-09,
        },
        "mixed": {
            "call": 0.000345,
            "term": 8.83e-10,
            "entry": 6.58e-09,
            "result": 9.79e-09,
        },
    },
    "portable": {
        "double": {
            "call": 1.71e-05,
            "term": 5.62e-10,
            "entry": 6.14e-09,
            "result": 3.35e-09,
        },
        "floating": {
            "call": 1.01e-05,
            "term": 2.98e-10,
            "entry": 4.05e-09,
            "result": 9.72e-09,
        },
        "dot": {
            "call": 1.92e-05,
            "term": 1.29e-09,
            "entry": 6.45e-09,
            "result": 5.81e-08,
        },
        "integer": {
            "call": 2.87e-05,
            "term": 5.7e-10,
            "entry": 1.27e-09,
            "result": 2.91e-09,
        },
        "mixed": {
            "call": 0.000345,
            "term": 8.83e-10,
            "entry": 6.58e-09,
            "result": 9.79e-09,
        },
    },
}
