# SPDX-License-Identifier: BSD-3-Clause
"""What the arithmetic asks of compiler and processor, in the binary that is installed."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from mdla import _native
from tests.core.elementwise import planes, run
from tests.oracle import assert_same_bits
from tests.registry import each_level


def test_the_error_term_of_a_sum_survives_the_compiler():
    assert _native.probe("two_sum")
    assert _native.probe("fused_multiply_add")
    for prec, tail in (("ds", 2.0**-30), ("dd", 2.0**-60), ("td", 2.0**-60), ("od", 2.0**-60)):
        # Both orders, both signs, and in every lane of a pack.
        one, small = planes(prec, *[[1.0]] * 17), planes(prec, *[[tail]] * 17)
        for _ in each_level():
            for sign in (1, -1):
                wanted = planes(prec, *[[1.0, sign * tail]] * 17)
                assert_same_bits(run("add", prec, one, sign * small), wanted)
                assert_same_bits(run("add", prec, sign * small, one), wanted)
                assert_same_bits(run("sub", prec, one, -sign * small), wanted)


def test_the_error_term_of_a_product_survives_the_compiler():
    # (1 + 2^-52)^2 = 1 + 2^-51 + 2^-104, whose last term a plain or a fused product would lose.
    x = planes("dd", *[[1.0 + 2.0**-52]] * 17)
    for _ in each_level():
        wanted = planes("dd", *[[1.0 + 2.0**-51, 2.0**-104]] * 17)
        assert_same_bits(run("mul", "dd", x, x), wanted)


FLUSH = """
#include <xmmintrin.h>
extern "C" void flush_to_zero() { _mm_setcsr(_mm_getcsr() | 0x8040); }
"""

SCRIPT = """
import ctypes, sys
import numpy as np
from mdla import _native
from tests.core.elementwise import check, operands_of, run
from tests.oracle import assert_same_bits

_native.set_num_threads(1)
rng = np.random.default_rng(7)
cases = [
    (name, prec, [np.where(np.abs(x) < 1e-25, 0, x) for x in operands_of(name, prec, rng, 999)])
    for name in ("add", "sub", "mul", "div", "sqrt") for prec in ("dd", "td", "qd", "od", "hd")
]
for name, prec, operands in cases:
    if name == "div":
        operands[1][:, :1] += operands[1][:, :1] == 0
before = [run(name, prec, *operands) for name, prec, operands in cases]
assert _native.probe("subnormal_add")
ctypes.CDLL(sys.argv[1]).flush_to_zero()
assert not _native.probe("subnormal_add"), "flush to zero must be reported"
assert _native.probe("two_sum") and _native.probe("fused_multiply_add")
for (name, prec, operands), wanted in zip(cases, before):
    # The last residuals of 16 limbs lie below the smallest normal number.
    check(name, prec, operands)
    if prec != "hd":
        assert_same_bits(run(name, prec, *operands), wanted, operands)
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_flushing_to_zero_changes_no_ordinary_number(tmp_path):
    # Libraries built with -Ofast set these flags for the whole process when they are loaded.
    source, library = tmp_path / "flush.cpp", tmp_path / "flush.so"
    source.write_text(FLUSH)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, library], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert np.float64(5e-324) > 0, "the flags of this process are untouched"
