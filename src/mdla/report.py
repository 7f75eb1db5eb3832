# SPDX-License-Identifier: BSD-3-Clause
"""What this installation can do: probes of the arithmetic, engines, versions."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np
import scipy

from mdla import _native
from mdla.core.creation import array
from mdla.core.precision import PRECISIONS
from mdla.gemm import engines, matmul

UNDERFLOW_LANES = (
    "subnormal_add",
    "subnormal_mul",
    "subnormal_fma",
    "subnormal_residual",
    "subnormal_sign",
)


@dataclass(frozen=True)
class CapabilityReport:
    """Outcome of the probes on one target.

    Attributes:
        target: what was probed, for instance ``"cpu v4"``.
        fused_multiply_add: products keep their residual; without it nothing here is right.
        two_sum: the error term of a sum survived the compiler.
        gradual_underflow: all five subnormal lanes hold; without it results near the smallest
            numbers lose accuracy, and nothing else.
        lanes: each underflow lane by name.
        engines: each available engine of the matrix product, as ``"scheme/engine"``, with the
            outcome of its self-test.
    """

    target: str
    fused_multiply_add: bool
    two_sum: bool
    gradual_underflow: bool
    lanes: dict[str, bool]
    engines: dict[str, bool]

    @property
    def usable(self) -> bool:
        """Whether the promises of this package hold on the target."""
        return self.fused_multiply_add and self.two_sum and all(self.engines.values())


def capability_report() -> CapabilityReport:
    """Probe the running machine and the shipped binary.

    Nothing is cached: another library may change the floating-point environment of a thread.

    Returns:
        A :class:`CapabilityReport`.

    Examples:
        >>> import mdla
        >>> report = mdla.capability_report()
        >>> report.fused_multiply_add, report.two_sum, report.usable
        (True, True, True)
    """
    lanes = {name: bool(_native.probe(name)) for name in UNDERFLOW_LANES}
    return CapabilityReport(
        target=f"cpu {_native.level()}",
        fused_multiply_add=bool(_native.probe("fused_multiply_add")),
        two_sum=bool(_native.probe("two_sum")),
        gradual_underflow=all(lanes.values()),
        lanes=lanes,
        engines={f"{s}/{e}": _multiplies_exactly(s, e) for s, e in available_engines()},
    )


def available_engines() -> list[tuple[str, str]]:
    """Return the (scheme, engine) pairs that this machine can run."""
    return [
        (name, engine.name)
        for name in engines.schemes()
        for engine in engines.scheme(name).engines
        if engine.available()
    ]


def _multiplies_exactly(scheme: str, engine: str) -> bool:
    """Whether a product of integers whose entries need two limbs comes out exact."""
    a = [[(7 * i + 3 * j) ** 9 - 2**40 for j in range(9)] for i in range(9)]
    b = [[(5 * i - 2 * j) ** 7 + 2**30 for j in range(9)] for i in range(9)]
    exact = [[sum(a[i][k] * b[k][j] for k in range(9)) for j in range(9)] for i in range(9)]
    product = matmul(array(a, prec="qd"), array(b, prec="qd"), scheme=scheme, engine=engine)
    return all(int(product[i, j]) == exact[i][j] for i in range(9) for j in range(9))


def _yes(flag: bool) -> str:
    return "yes" if flag else "NO"


def config_text() -> str:
    """Return the text that :func:`show_config` prints."""
    import mdla

    report = capability_report()
    features = [name for name, present in _native.cpu_features().items() if present]
    levels = _native.levels()
    lines = [
        f"mdla {mdla.__version__}",
        f"  Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}",
        f"  machine       {platform.machine()}, {platform.system()}",
        f"  CPU features  {' '.join(features) if features else 'none probed'}",
        f"  level         {_native.level()} in use, of {' '.join(levels)} (MDLA_LEVEL lowers it)",
        f"  threads       {_native.get_num_threads()}",
        f"  precisions    {' '.join(PRECISIONS)}",
        "probes",
        f"  fused multiply-add        {_yes(report.fused_multiply_add)}",
        f"  two_sum survives          {_yes(report.two_sum)}",
        f"  gradual underflow         {_yes(report.gradual_underflow)}",
    ]
    lines += [f"    {name:<23} {_yes(held)}" for name, held in report.lanes.items()]
    lines += ["engines of the matrix product"]
    lines += [
        f"  {name:<25} self-test {'passed' if passed else 'FAILED'}"
        for name, passed in report.engines.items()
    ]
    return "\n".join(lines)


def show_config() -> None:
    """Print versions, CPU features, engines, threads and the outcome of the probes."""
    print(config_text())
