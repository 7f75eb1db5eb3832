"""The arithmetic headers are CUDA device code: NVRTC compiles every operation for real GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

import mdla
from tests import nvrtc

HEADERS = Path(mdla.__file__).parent / "core" / "native"

KERNEL = """
#include "arithmetic.hpp"
using namespace mdla;
typedef {base} R;
typedef expansion<R, {limbs}> X;
extern "C" __global__ void kernel_{name}(long long n, const R* a, const R* b, const R* c, R* out) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  X x, y, z;
  for (int k = 0; k < {limbs}; ++k) {{
    x.limb[k] = a[k * n + i];
    y.limb[k] = b[k * n + i];
    z.limb[k] = c[k * n + i];
  }}
  const X r = {expression};
  for (int k = 0; k < {limbs}; ++k) out[k * n + i] = r.limb[k];
}}
"""

EXPRESSIONS = {
    "add": "add(x, y)",
    "sub": "sub(x, y)",
    "mul": "mul(x, y)",
    "add_lane": "add(x, y.limb[0])",
    "mul_lane": "mul(x, y.limb[0])",
    "div": "div(x, y)",
    "sqrt": "sqrt(x)",
    "fma": "fma(x, y, z)",
    "neg": "neg(x)",
    "abs": "abs(x)",
    "compare": "from_lane<{limbs}>(compare(x, y))",
}

# The long chains of 8 limbs and more are compiled for one architecture; the others differ only in
# the last stage of the compiler.
CASES = [
    (name, "double", limbs, arch)
    for limbs in (1, 2, 3, 4)
    for name in EXPRESSIONS
    for arch in ("sm_80", "sm_90", "sm_100")
]
CASES += [(name, "float", 2, arch) for name in EXPRESSIONS for arch in ("sm_80", "sm_90", "sm_100")]
CASES += [
    (name, "double", limbs, arch)
    for limbs in (5, 8)
    for name in ("add", "mul")
    for arch in ("sm_80", "sm_90", "sm_100")
]
SLOW = [(name, "double", limbs, "sm_90") for limbs in (8, 10, 16) for name in EXPRESSIONS]
SLOW += [
    (name, "double", 16, arch) for name in ("add", "mul", "div") for arch in ("sm_80", "sm_100")
]

pytestmark = pytest.mark.skipif(
    nvrtc.library_path() is None, reason="NVRTC is not installed: pip install 'mdla[nvrtc]'"
)


def check(name: str, base: str, limbs: int, arch: str) -> None:
    expression = EXPRESSIONS[name].format(limbs=limbs)
    source = KERNEL.format(base=base, limbs=limbs, name=name, expression=expression)
    log = nvrtc.compile_to_cubin(source, HEADERS, arch)
    assert "error" not in log, log


@pytest.mark.parametrize(("name", "base", "limbs", "arch"), CASES)
def test_operations_compile_for_devices(name: str, base: str, limbs: int, arch: str) -> None:
    check(name, base, limbs, arch)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "base", "limbs", "arch"), SLOW)
def test_long_operations_compile_for_devices(name: str, base: str, limbs: int, arch: str) -> None:
    check(name, base, limbs, arch)


def test_the_check_can_fail() -> None:
    source = KERNEL.format(base="double", limbs=2, name="bad", expression="no_such_operation(x)")
    with pytest.raises(nvrtc.CompileError, match="no_such_operation"):
        nvrtc.compile_to_cubin(source, HEADERS, "sm_90")
