# SPDX-License-Identifier: BSD-3-Clause
"""A model of the CRT product: what bounds it on a machine, and how long its stages take.

A product by residues has three stages: both operands are converted to residues, matrix products of
residues run on an engine, and the result is reconstructed. With P operations a second (two for a
multiply-add), q engine products for one exact product, r residues for an entry and X residues
formed in a second,

- the *roof* ``P / q`` is the rate of large products, counted as 2 m n k operations;
- the *floor* ``T X / r`` is the rate if every T x T block of the result converts its part of the
  operands anew instead of reading converted ones;
- the *crossover* ``P r / (q X)`` is the order of square matrices whose conversion takes as long
  as their products.

This is the "deconstruction-aware" model of S. Matsuoka, "Ozaki 2.5", arXiv 2609.09095, reduced to
what its abstract states; docs/model.md says which constants are published and which are inferred.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from mdla import _native
from mdla.core.precision import PRECISIONS, precision
from mdla.gemm.fp8 import fp8_system
from mdla.gemm.moduli import residue_system, wide_moduli

__all__ = [
    "GPUS",
    "Machine",
    "Stages",
    "Work",
    "crt_bits",
    "crt_work",
    "measure_machine",
    "model_text",
    "predict",
]

# Integer instructions that form the residues of four entries (one word of each digit plane) modulo
# 12 moduli, and the same without care. Inferred: 235 TFLOPS and a crossover of 1211 follow.
FOUR_ENTRIES, FOUR_ENTRIES_SIMPLE = 149, 350
_PER_RESIDUE = FOUR_ENTRIES / 4 / 12
# Assumed: a residue weighs more in the reconstruction than it takes to form.
_RECONSTRUCTION = 1.6
# Edge of the block of results that one cluster of a GPU, or one core, holds.
_TILE_GPU, _TILE_CPU = 256, 512


@dataclass(frozen=True)
class Work:
    """What the CRT product does with one entry.

    Attributes:
        products: Engine products for one exact product, q.
        residues: Residues of one entry, r.
        bytes: Bytes that the residues of one entry take as operands of the engine.
    """

    products: int
    residues: int
    bytes: int


def crt_bits(prec: str, k: int, span: int = 0) -> int:
    """Bits of the exact integer result of a product.

    Entries are cut to ``p = 52 N + 2 + span`` bits, so sums of k products are integers below
    ``2**(2 p + log2(k))`` in magnitude; signs and the rounding of entries take two bits.

    Args:
        prec: A precision of N doubles.
        k: The inner dimension.
        span: The exponent span of the operands; see docs/direct.md.

    Example:
        >>> crt_bits("d", 1024), crt_bits("dd", 1024)
        (120, 224)
    """
    return 2 * (52 * precision(prec).limbs + 2 + span) + math.ceil(math.log2(max(k, 1))) + 2


def crt_work(prec: str, k: int, engine: str) -> Work:
    """The moduli that a product needs, in numbers.

    Args:
        prec: A precision of doubles.
        k: The inner dimension.
        engine: ``"int8"``; ``"fp8"``, with one product more than mdla runs, as published counts
            have it; or ``"fp64"``.

    Raises:
        ValueError: There is no such engine.

    Example:
        >>> crt_work("d", 1024, "fp8"), crt_work("dd", 1024, "int8").products
        (Work(products=37, residues=12, bytes=36), 30)
    """
    bits = crt_bits(prec, k)
    if engine == "int8":
        system = residue_system(bits)
        return Work(system.products, len(system.moduli), system.products)
    if engine == "fp8":
        r = len(fp8_system(bits).moduli)
        return Work(3 * r + 1, r, 3 * r)
    if engine == "fp64":
        moduli = wide_moduli(max(12, min(26, (55 - math.ceil(math.log2(max(k, 1)))) // 2)))
        count = math.ceil(bits / math.log2(moduli[-1]))
        return Work(count, count, 8 * count)
    raise ValueError(f"no engine {engine!r} in the model; write 'int8', 'fp8' or 'fp64'")


@dataclass(frozen=True)
class Machine:
    """The constants of a machine; rates are per second, of all its cores together.

    Attributes:
        name: What it is called.
        engine: ``"int8"``, ``"fp8"`` or ``"fp64"``.
        engine_rate: Operations of the engine, two for a multiply-add.
        conversion_rate: Residues formed.
        reconstruction_rate: Residues turned into results.
        bandwidth: Bytes read or written in memory.
        float64_rate: Operations of a float64 matrix product.
        tile: Edge T of the blocks of the result for which the floor holds.
        direct_rates: Operations of the direct product in each precision, where known.
        source: Where the constants are from.
    """

    name: str
    engine: str
    engine_rate: float
    conversion_rate: float
    reconstruction_rate: float
    bandwidth: float
    float64_rate: float
    tile: int
    direct_rates: Mapping[str, float] = field(default_factory=dict)
    source: str = ""

    def roof(self, work: Work) -> float:
        """``P / q``: operations a second when nothing but products takes time."""
        return self.engine_rate / work.products

    def floor(self, work: Work) -> float:
        """``min(roof, T X / r)``: operations a second when each block converts its operands.

        One step of the inner dimension takes 2 T conversions and 2 T**2 operations.
        """
        return min(self.roof(work), self.tile * self.conversion_rate / work.residues)

    def crossover(self, work: Work) -> float:
        """``P r / (q X)``: n with 2 n**2 conversions as long as 2 n**3 operations."""
        return self.roof(work) * work.residues / self.conversion_rate


@dataclass(frozen=True)
class Stages:
    """Seconds that the stages of one product take, one after the other."""

    convert_a: float
    convert_b: float
    products: float
    reconstruct: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.convert_a + self.convert_b + self.products + self.reconstruct


def predict(
    machine: Machine, m: int, n: int, k: int, prec: str = "d", scheme: str = "crt"
) -> Stages:
    """The time of a product of an m x k and a k x n matrix.

    Conversion and reconstruction take the time of their arithmetic or of their memory traffic,
    whichever is longer; every operand is converted once.

    Args:
        machine: Its constants.
        m: Rows of the result.
        n: Columns of the result.
        k: The inner dimension.
        prec: A precision of doubles.
        scheme: ``"crt"``, or ``"direct"``, which has one stage.

    Raises:
        ValueError: There is no such scheme, or no rate of it is known for the machine.

    Example:
        >>> rubin = GPUS[-1]
        >>> t = predict(rubin, 4096, 4096, 4096)
        >>> t.convert_a == t.convert_b < t.products < t.total
        True
    """
    operations = 2.0 * m * n * k
    if scheme == "direct":
        if prec not in machine.direct_rates:
            raise ValueError(f"no rate of direct products in {prec!r} is known for {machine.name}")
        return Stages(0.0, 0.0, operations / machine.direct_rates[prec], 0.0)
    if scheme != "crt":
        raise ValueError(f"no scheme {scheme!r} in the model; write 'crt' or 'direct'")
    work = crt_work(prec, k, machine.engine)
    traffic = (8 * precision(prec).limbs + work.bytes) / machine.bandwidth
    convert = max(work.residues / machine.conversion_rate, traffic)
    reconstruct = max(work.residues / machine.reconstruction_rate, traffic)
    return Stages(
        m * k * convert, k * n * convert, operations / machine.roof(work), m * n * reconstruct
    )


def _gpu(
    name: str,
    engine: str,
    tera_ops: float,
    ratio: int,
    terabytes: float,
    float64: float,
    source: str,
) -> Machine:
    """A GPU whose engine does `ratio` multiply-adds for each integer instruction of a lane."""
    residues = tera_ops * 1e12 / (2 * ratio) / _PER_RESIDUE
    return Machine(
        name=name,
        engine=engine,
        engine_rate=tera_ops * 1e12,
        conversion_rate=residues,
        reconstruction_rate=residues / _RECONSTRUCTION,
        bandwidth=terabytes * 1e12,
        float64_rate=float64 * 1e12,
        tile=_TILE_GPU,
        source=source,
    )


# Dense rates of the vendor's data sheets. `ratio` is (rate / 2) / (multiprocessors x clock x 64):
# all have 64 lanes for 32-bit integers in a multiprocessor. Hopper's FP8 sums are not exact, and
# from Blackwell Ultra on int8 is slow, which decides the engine.
GPUS = (
    _gpu("A100 80GB", "int8", 624, 32, 2.039, 19.5, "data sheet"),
    _gpu("RTX 4080 laptop", "int8", 271, 16, 0.432, 0.53, "AI TOPS / 2"),
    _gpu("H100 SXM", "int8", 1979, 64, 3.35, 67, "data sheet"),
    _gpu("H200 SXM", "int8", 1979, 64, 4.8, 67, "data sheet"),
    _gpu("B200", "int8", 4500, 128, 8, 37, "HGX B200, of 8"),
    _gpu("GB200", "int8", 5000, 128, 8, 40, "NVL72, of 72"),
    _gpu("GB300", "fp8", 5000, 128, 8, 1.3, "NVL72, of 72"),
    _gpu("Rubin", "fp8", 17500, 256, 22, 33, "NVL72, of 72"),
)


def measure_machine() -> Machine:
    """Measure the constants of this machine, in about a second and with all threads.

    The engine is int8 where the package has a product of int8 matrices, else NumPy's float64
    product. Conversion is not timed: a residue is taken to cost as many integer additions as on a
    GPU, and those are timed.
    """
    rng = np.random.default_rng(314)
    a, b = rng.standard_normal((2, 768, 768))
    float64 = 2 * 768**3 / _seconds(lambda: a @ b)
    int8 = _int8_product()
    engine, rate = "fp64", float64
    if int8 is not None:
        x, y = rng.integers(-127, 128, (2, 1024, 1024), dtype=np.int8)
        engine, rate = "int8", 2 * 1024**3 / _seconds(lambda: int8(x, y))
    long = np.ones(2**22)
    target = np.empty_like(long)
    bandwidth = 2 * long.nbytes / _seconds(lambda: np.copyto(target, long))
    words = np.ones(2**14, dtype=np.int32)
    additions = words.size / _seconds(lambda: np.add(words, words, out=words))
    residues = additions * _native.get_num_threads() / _PER_RESIDUE
    return Machine(
        name="this machine",
        engine=engine,
        engine_rate=rate,
        conversion_rate=residues,
        reconstruction_rate=residues / _RECONSTRUCTION,
        bandwidth=bandwidth,
        float64_rate=float64,
        tile=_TILE_CPU,
        direct_rates={prec: _direct_rate(prec, rng) for prec in _double_precisions()},
        source="measured",
    )


def _seconds(action: Callable[[], Any], budget: float = 0.1) -> float:
    """The shortest time of the action that shows up within so many seconds."""
    action()
    best, end = math.inf, time.perf_counter() + budget
    while time.perf_counter() < end or best == math.inf:
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def _int8_product() -> Callable[[Any, Any], Any] | None:
    """The package's product of int8 matrices, if this build has one."""
    try:
        product: Callable[[Any, Any], Any] = import_module("mdla.gemm.int8").int8_matmul
    except (ImportError, AttributeError):
        return None
    return product


def _direct_rate(prec: str, rng: np.random.Generator) -> float:
    from mdla.core.random import uniform
    from mdla.gemm import matmul

    n = 256 // precision(prec).limbs + 32
    a = uniform(size=(n, n), prec=prec, rng=rng)
    return float(2 * n**3 / _seconds(lambda: matmul(a, a, scheme="direct"), budget=0.03))


def _double_precisions() -> list[str]:
    return [name for name, p in PRECISIONS.items() if p.dtype == np.float64]


def model_text(machine: Machine | None = None) -> str:
    """The tables that ``python -m mdla model`` prints.

    Args:
        machine: This machine's constants, or None to leave it out.
    """
    lines = [] if machine is None else [*_machine_lines(machine), ""]
    return "\n".join([*lines, *_gpu_lines(), "", *_ASSUMPTIONS])


def _machine_lines(machine: Machine) -> list[str]:
    n = 1024
    lines = [
        f"{machine.name}: engine {machine.engine}, {machine.engine_rate / 1e9:.4g} Gop/s; "
        f"float64 products {machine.float64_rate / 1e9:.4g} GF/s",
        f"  memory {machine.bandwidth / 1e9:.3g} GB/s; "
        f"conversion {machine.conversion_rate / 1e9:.3g} G residues/s",
        "  GF/s count 2 m n k. Predicted for n = 1024: stages in ms, rate of CRT and of direct",
        "  prec  products   roof  floor  crossover |  conv A  conv B  products  reconstr |"
        "    CRT  direct",
    ]
    for prec in _double_precisions():
        work = crt_work(prec, n, machine.engine)
        t = predict(machine, n, n, n, prec)
        direct = machine.direct_rates.get(prec, math.nan)
        lines.append(
            f"  {prec:<4}  {work.products:8d} {machine.roof(work) / 1e9:6.3g} "
            f"{machine.floor(work) / 1e9:6.3g} {machine.crossover(work):10.0f} | "
            f"{t.convert_a * 1e3:7.3g} {t.convert_b * 1e3:7.3g} {t.products * 1e3:9.3g} "
            f"{t.reconstruct * 1e3:9.3g} | {2 * n**3 / t.total / 1e9:6.3g} {direct / 1e9:7.3g}"
        )
    return lines


def _gpu_lines() -> list[str]:
    lines = [
        "GPUs, float64 results, k = 1024, TF/s counting 2 m n k",
        "  machine          engine  Top/s  products  roof  floor  crossover (simple)"
        "  float64  NVIDIA's",
    ]
    for gpu in GPUS:
        work = crt_work("d", 1024, gpu.engine)
        crossover = gpu.crossover(work)
        simple = crossover * FOUR_ENTRIES_SIMPLE / FOUR_ENTRIES
        lines.append(
            f"  {gpu.name:<16} {gpu.engine:<6} {gpu.engine_rate / 1e12:6.0f} {work.products:9d} "
            f"{gpu.roof(work) / 1e12:5.0f} {gpu.floor(work) / 1e12:6.0f} {crossover:10.0f} "
            f"{f'({simple:.0f})':>8}  {gpu.float64_rate / 1e12:7.3g}  {gpu.source}"
        )
    return lines


_ASSUMPTIONS = (
    "Assumptions",
    "  roof: engine rate / products; fp8 takes 3 products for each of 12 moduli and one more.",
    f"  floor: blocks of {_TILE_GPU} x {_TILE_GPU} results ({_TILE_CPU} x {_TILE_CPU} here) convert"
    " their operands anew;",
    "    mdla converts once.",
    "  crossover: n at which conversion takes as long as the products, stages one after the other.",
    f"  conversion on GPUs: {FOUR_ENTRIES} integer instructions for 4 entries and 12 moduli"
    f" ({FOUR_ENTRIES_SIMPLE} if simple),",
    "    on 64 lanes a multiprocessor. These numbers and Rubin's ratio of engine to lanes are",
    "    inferred from the abstract of arXiv 2609.09095, which has: Rubin roof 473, floor 235,",
    "    crossover from 1211 to 480-730; GB300 roof 135, at its floor.",
    "  GPU rates are dense peaks, so figures are projections, not measurements.",
)
