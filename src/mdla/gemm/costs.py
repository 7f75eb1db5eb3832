# SPDX-License-Identifier: BSD-3-Clause
"""The cost model of the matrix product: seconds of each stage, linear in a few machine constants.

A stage takes the sum of constants times quantities, and quantities follow from shape, limbs and
number of residues alone. For a product by P int8 products of residues, with m, k and n filled up to
M, K and N of the engine's panels,

    overhead      call + plane P
    survey        entry (m k + k n)
    convert A     (convert + word W) M K P      W words of 32 bits; 0 for a prepared operand
    convert B     the same
    products      product M K N P + traffic (T + 1.5 max(0, T - 32 MiB))
    reconstruct   (reconstruct + weight P) m n P

where T = P (M K + K N + M N ceil(K / 512)) bytes are read and written; and for a direct kernel with
N limbs that takes s(N) instructions for a multiply-add,

    product       call + term s(N) m k n + entry e(N) (m k + k n) + result r(N) m n,

where the integer kernel counts entries beyond 2 MiB twice.

The constants are those of `mdla.gemm.machine`: measured on this machine, or else shipped ones for
its instruction set. They predict times with as many threads as the package uses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mdla.gemm import machine

if TYPE_CHECKING:
    from mdla.gemm.engines import Choice
    from mdla.gemm.plan import Problem

__all__ = [
    "Quantities",
    "direct_quantities",
    "direct_seconds",
    "residue_quantities",
    "residue_seconds",
    "seconds",
]

#: For each stage, the constants that its time depends on and what multiplies them.
Quantities = dict[str, dict[str, float]]

_PANEL, _STEPS, _CHUNK = 32, 64, 512
# Bytes that caches hold, and how much longer others take.
_NEAR, _FAR = 32 << 20, 1.5
_OPERANDS_NEAR = 2 << 20
# Bits of a product of two entries that one product of matrices of doubles carries.
_FLOAT64_BITS = 22.9


def seconds(subject: str, quantities: Quantities) -> dict[str, float]:
    """The stages' times; the subject is a direct kernel or an engine for residues."""
    constants = machine.constants()[subject]
    return {
        stage: sum(constants[name] * x for name, x in parts.items())
        for stage, parts in quantities.items()
    }


# -- residues ------------------------------------------------------------------------------------


def residue_seconds(engine: str, problem: Problem, choice: Choice) -> dict[str, float]:
    """Stages of a product by residues on an engine."""
    times = seconds(engine, residue_quantities(engine, problem, choice))
    if choice.far:
        apart = choice._replace(kernel="floating", groups=())
        times["repair"] = choice.far * direct_seconds(problem, apart)["product"]
    return times


def residue_quantities(engine: str, problem: Problem, choice: Choice) -> Quantities:
    """What each stage of a product by residues has to do; see the head of this file."""
    m, k, n = problem.shape
    left, right = problem.parts
    # A real matrix times a complex one is two real products.
    products, parts = (1, left) if left == right else (2, 1)
    count = math.prod(problem.batch) * products
    planes = choice.products
    if engine == "fp64-blas":
        planes = math.ceil(sum(choice.bits or (0, 0)) / _FLOAT64_BITS)
    rows, columns, steps = _up(m, _PANEL), _up(n, _PANEL), _up(k, _STEPS)
    # A prepared operand pays once for its conversion; an adjoint is an operand for one product.
    a, b = (0 if owner is not None and not owner.conjugated else 1 for owner in problem.owners)
    converted = (a * rows * steps * planes, b * steps * columns * planes)
    to_a, to_b = (
        _conversion(x, bits) for x, bits in zip(converted, choice.bits or (0, 0), strict=True)
    )
    moved = planes * (rows * steps + steps * columns + rows * columns * math.ceil(steps / _CHUNK))
    results = parts * m * n * planes
    each: Quantities = {
        "overhead": {"call": 1, "plane": planes},
        "survey": {"entry": parts * (a * m * k + b * k * n)},
        "convert A": to_a,
        "convert B": to_b,
        "products": {
            "product": planes * rows * steps * columns,
            "traffic": moved + _FAR * max(0, moved - _NEAR),
        },
        "reconstruct": {"reconstruct": results, "weight": results * planes},
    }
    return {stage: {name: count * x for name, x in some.items()} for stage, some in each.items()}


def _conversion(residues: int, bits: int) -> dict[str, float]:
    return {"convert": residues, "word": residues * math.ceil(bits / 32)}


def _up(x: int, unit: int) -> int:
    return -(-x // unit) * unit


# -- direct kernels ------------------------------------------------------------------------------


def direct_seconds(problem: Problem, choice: Choice) -> dict[str, float]:
    """The one stage of a direct product."""
    whole = ((choice, range(math.prod(problem.batch))),)
    total = 0.0
    for member, places in choice.groups or whole:
        total += seconds(*direct_quantities(problem, member, len(places)))["product"]
    return {"product": total}


def direct_quantities(problem: Problem, choice: Choice, count: int) -> tuple[str, Quantities]:
    """The kernel's name among the constants, and what so many products of a batch have to do."""
    limbs = problem.working.limbs
    m, k, n = problem.shape
    left, right = problem.parts
    both = 2 if left == right == 2 else 1  # complex factors are stacked, one of them twice
    entries = (both * left * m * k + right * k * n) * count
    subject = choice.kernel
    if subject == "integer":
        step, entry, result = choice.digits**2, limbs**2 + 3, limbs**2 + 3
        entries += max(0, entries - _OPERANDS_NEAR // (8 * limbs))
    elif subject == "mixed":
        step, entry, result = limbs**2, limbs, limbs**2 + 3
    else:
        step, entry, result = limbs**3, limbs, limbs
        if subject == "dot":  # columns are gathered
            entries = k * n * count if n > 1 else 0
        elif limbs == 1:
            subject = "double"
    return subject, {
        "product": {
            "call": 1,
            "term": step * left * right * m * k * n * count,
            "entry": entry * entries,
            "result": result * max(left, right) * m * n * count,
        }
    }
