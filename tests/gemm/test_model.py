# SPDX-License-Identifier: BSD-3-Clause
"""The model of the CRT product: published figures, monotonicity, and the command line."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from mdla.__main__ import main
from mdla.gemm.fp8 import fp8_system
from mdla.gemm.model import (
    FOUR_ENTRIES,
    FOUR_ENTRIES_SIMPLE,
    GPUS,
    Machine,
    crt_bits,
    crt_work,
    measure_machine,
    model_text,
    predict,
)
from mdla.gemm.moduli import residue_system
from tests.registry import DOUBLE_PRECS

GPU = {gpu.name: gpu for gpu in GPUS}
TERA = 1e12


@pytest.fixture(scope="module")
def here():
    return measure_machine()


def simple(machine):
    """The machine with the conversion that is not engineered."""
    slower = machine.conversion_rate * FOUR_ENTRIES / FOUR_ENTRIES_SIMPLE
    return replace(machine, conversion_rate=slower)


class TestAbstract:
    """Figures in the abstract of arXiv 2609.09095, to the digits that are printed there."""

    def test_products_at_12_moduli(self):
        work = crt_work("d", 1024, "fp8")
        assert (work.residues, work.products) == (12, 3 * 12 + 1)

    @pytest.mark.parametrize(("name", "roof"), [("Rubin", 473), ("GB300", 135)])
    def test_roof(self, name, roof):
        assert round(GPU[name].roof(crt_work("d", 1024, "fp8")) / TERA) == roof

    def test_floor_is_half_the_roof_of_rubin(self):
        rubin, work = GPU["Rubin"], crt_work("d", 1024, "fp8")
        assert round(rubin.floor(work) / TERA) == 235
        assert round(2 * rubin.floor(work) / rubin.roof(work), 1) == 1.0

    def test_floor_is_a_ratio_of_three_integers(self):
        """Edge of the tile, multiply-adds per integer instruction, instructions of 4 entries."""
        rubin, work = GPU["Rubin"], crt_work("d", 1024, "fp8")
        ratio = work.products * 4 * 256 / (2 * 256 * 149)
        assert math.isclose(rubin.floor(work), rubin.roof(work) * ratio)

    def test_gb300_is_at_its_floor(self):
        gpu, work = GPU["GB300"], crt_work("d", 1024, "fp8")
        assert round(gpu.floor(work) / gpu.roof(work), 1) == 1.0

    def test_crossover(self):
        rubin, work = GPU["Rubin"], crt_work("d", 1024, "fp8")
        assert round(simple(rubin).crossover(work)) == 1211
        assert 480 <= rubin.crossover(work) <= 730

    def test_gain_near_the_crossover(self):
        """1.6 to 1.9 times the simple conversion, for shapes from half to the crossover on."""
        rubin, work = GPU["Rubin"], crt_work("d", 1024, "fp8")
        before, after = simple(rubin).crossover(work), rubin.crossover(work)
        gains = [(1 + before / n) / (1 + after / n) for n in (after / 2, after * 1.25)]
        assert [round(g, 1) for g in gains] == [1.9, 1.6]


class TestWork:
    @pytest.mark.parametrize("prec", DOUBLE_PRECS)
    def test_moduli_hold_the_result(self, prec):
        bits = crt_bits(prec, 1000)
        assert crt_work(prec, 1000, "int8").products == residue_system(bits).products
        assert crt_work(prec, 1000, "fp8").residues == len(fp8_system(bits).moduli)

    @pytest.mark.parametrize(("k", "span"), [(1, 0), (7, 3), (4096, 40)])
    def test_bits_hold_the_largest_sum(self, k, span):
        largest = k * 2 ** (2 * (2 * 52 + 2 + span))
        assert largest < 2 ** (crt_bits("dd", k, span) - 1)

    @pytest.mark.parametrize("engine", ["int8", "fp8", "fp64"])
    def test_grows_with_precision_and_k(self, engine):
        counts = [crt_work(prec, 1024, engine).products for prec in DOUBLE_PRECS]
        assert counts == sorted(set(counts))
        longer = [crt_work("qd", k, engine).products for k in (0, 1, 100, 10_000, 10**6)]
        assert longer == sorted(longer)

    def test_float64_products_are_those_of_exact_sums(self):
        """At k = 1024 moduli of 22 bits: (2**21)**2 * 1024 = 2**52."""
        assert crt_work("dd", 1024, "fp64").products == math.ceil(224 / 22)

    def test_no_other_engines(self):
        with pytest.raises(ValueError, match="write 'int8', 'fp8' or 'fp64'"):
            crt_work("d", 10, "fp4")


@pytest.mark.parametrize("machine", GPUS, ids=lambda g: g.name)
class TestMachines:
    def test_floor_and_roof(self, machine):
        for prec in DOUBLE_PRECS:
            work = crt_work(prec, 1024, machine.engine)
            assert 0 < machine.floor(work) <= machine.roof(work)

    def test_roof_falls_with_precision(self, machine):
        roofs = [machine.roof(crt_work(p, 1024, machine.engine)) for p in DOUBLE_PRECS]
        assert roofs == sorted(set(roofs), reverse=True)

    def test_rate_rises_to_the_roof(self, machine):
        rates = []
        for n in (64, 256, 1024, 4096):
            work = crt_work("dd", n, machine.engine)
            rates.append(2 * n**3 / predict(machine, n, n, n, "dd").total / machine.roof(work))
        assert rates == sorted(set(rates))
        assert rates[-1] < 1

    def test_stages(self, machine):
        m, n, k = 300, 500, 700
        t = predict(machine, m, n, k, "qd")
        assert t.total == t.convert_a + t.convert_b + t.products + t.reconstruct
        assert math.isclose(t.convert_a / t.convert_b, m / n)
        work = crt_work("qd", k, machine.engine)
        assert math.isclose(t.products * machine.roof(work), 2 * m * n * k)

    def test_crossover_is_where_arithmetic_of_conversion_equals_products(self, machine):
        work = crt_work("d", 1024, machine.engine)
        n = machine.crossover(work)
        conversion = 2 * n**2 * work.residues / machine.conversion_rate
        assert math.isclose(conversion, 2 * n**3 / machine.roof(work))

    def test_every_constant_shortens_its_stage(self, machine):
        before = predict(machine, 512, 512, 512, "dd")
        faster = replace(
            machine,
            engine_rate=2 * machine.engine_rate,
            conversion_rate=2 * machine.conversion_rate,
            reconstruction_rate=2 * machine.reconstruction_rate,
            bandwidth=2 * machine.bandwidth,
        )
        after = predict(faster, 512, 512, 512, "dd")
        for stage in ("convert_a", "convert_b", "products", "reconstruct"):
            assert math.isclose(2 * getattr(after, stage), getattr(before, stage))


class TestSchemes:
    def test_direct_has_one_stage(self):
        machine = replace(GPUS[0], direct_rates={"dd": 1e9})
        t = predict(machine, 10, 20, 30, "dd", scheme="direct")
        assert math.isclose(t.total, 2 * 10 * 20 * 30 / 1e9)
        assert t.products == t.total

    def test_unknown(self):
        with pytest.raises(ValueError, match="no rate of direct products in 'qd'"):
            predict(GPUS[0], 1, 1, 1, "qd", scheme="direct")
        with pytest.raises(ValueError, match="write 'crt' or 'direct'"):
            predict(GPUS[0], 1, 1, 1, "qd", scheme="strassen")


class TestHere:
    def test_measured(self, here):
        assert isinstance(here, Machine)
        rates = [
            here.engine_rate,
            here.conversion_rate,
            here.reconstruction_rate,
            here.bandwidth,
            here.float64_rate,
            *here.direct_rates.values(),
        ]
        assert np.isfinite(rates).all()
        assert min(rates) > 1e6
        assert list(here.direct_rates) == DOUBLE_PRECS

    def test_text(self, here):
        text = model_text(here)
        for word in ("this machine", *GPU, *DOUBLE_PRECS, "Assumptions", "inferred"):
            assert word in text
        assert max(map(len, text.splitlines())) <= 100
        assert "this machine" not in model_text()

    def test_command(self, capsys):
        assert main(["model", "--no-measure"]) == 0
        rubin = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("  Rubin"))
        assert {"473", "235", "37", "(1211)"} <= set(rubin.split())

    def test_command_measures(self):
        run = [sys.executable, "-m", "mdla", "model"]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("this machine: engine ")
        assert not done.stderr
