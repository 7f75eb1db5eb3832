# SPDX-License-Identifier: BSD-3-Clause
"""Plans: what they say, how choices are forced, fixed thresholds, and tune="machine"."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm import calibration, engines, machine, plan as plan_of, tuning
from mdla.gemm.plan import _COMPLEX_THRESHOLDS, _THRESHOLDS, prefers_residues, read_problem
from tests.oracle import assert_same_bits
from tests.registry import DOUBLE_PRECS, THREADS, each_level

ENGINES = [e.name for e in engines.scheme("crt").engines if e.available()]


@pytest.fixture(autouse=True)
def machine_as_shipped(tmp_path, monkeypatch):
    """No time is spent on measuring, nothing written to the user's cache."""
    monkeypatch.setenv("MDLA_CACHE", str(tmp_path))
    monkeypatch.setattr(machine, "_known", {})
    monkeypatch.setattr(tuning, "_rankings", {})
    monkeypatch.setattr(calibration, "measure", machine.shipped)


def random(rng, shape, prec, complex=False):
    a = mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5
    return a + (mdla.random.uniform(shape, prec=prec, rng=rng) - 0.5) * 1j if complex else a


# -- what plans say --------------------------------------------------------------------------------


def test_plans_of_residues(rng):
    a, b = random(rng, (90, 120), "qd"), random(rng, (120, 70), "qd")
    plan = plan_of(a, b, scheme="crt")
    assert (plan.scheme, plan.engine, plan.kernel) == ("crt", ENGINES[0], "residues")
    byte = sum(m <= 255 for m in plan.moduli)
    assert plan.products == byte + 3 * (len(plan.moduli) - byte)
    assert all(180 < bits < 230 for bits in plan.bits)
    assert np.prod([float(m) for m in plan.moduli]) > 2.0 ** sum(plan.bits)
    assert plan.span >= 0
    assert plan.seconds == sum(plan.stages.values()) > 0
    assert plan.threads == mdla.get_num_threads()
    assert not plan.measured
    lines = str(plan).splitlines()
    assert len(lines) == 5
    for word in (
        "qd product (90 x 120) (120 x 70)",
        f"scheme crt (residues, exponent span {plan.span} bits) on engine {ENGINES[0]}",
        f"{plan.bits[0]} and {plan.bits[1]} bits",
        f"{byte} byte and {len(plan.moduli) - byte} pair moduli, {plan.products} int8 products",
        "MiB",
        "products ",
        "reconstruct ",
        "of the processor's family",
    ):
        assert word in str(plan)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.scheme = "direct"


def test_plans_of_other_schemes(rng):
    a = random(rng, (20, 20), "dd")
    for scheme in ("direct", "slices", "quartered"):
        plan = plan_of(a, a, scheme=scheme)
        assert plan.scheme == scheme
        assert plan.bits is plan.workspace is None
        assert plan.moduli == ()
        assert plan.products == 0
        assert list(plan.stages) == ["product"]
        assert len(str(plan).splitlines()) == 3


def test_operands_with_fewer_limbs_need_fewer_bits(rng):
    a, b = random(rng, (40, 40), "d"), random(rng, (40, 40), "qd")
    plan = plan_of(a, b, scheme="crt")
    assert plan.bits[0] < plan.bits[1] // 2
    assert plan.products < plan_of(b, b, scheme="crt").products


def test_the_workspace_is_bounded(rng, monkeypatch):
    a = random(rng, (700, 700), "dd")
    plan = plan_of(a, a, scheme="crt")
    assert plan.workspace >= 3 * 700**2 * plan.products
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "8M")
    less = plan_of(a, a, scheme="crt")
    assert less.workspace <= 8 << 20
    assert less.products == plan.products
    monkeypatch.delenv("MDLA_GEMM_MEMORY")
    kept = plan_of(mdla.gemm.prepare(a), a, scheme="crt")
    assert kept.workspace < plan.workspace


def test_entries_apart_are_part_of_the_prediction(rng):
    a = random(rng, (96, 96), "dd")
    near = plan_of(a, a, scheme="crt")
    a[:32] = a[:32] * 2.0 ** rng.integers(-480, 480, (32, 96)).astype(float)
    b = random(rng, (96, 96), "dd")
    b[:, 64:] = b[:, 64:] * 2.0 ** rng.integers(-480, 480, (96, 32)).astype(float)
    plan = plan_of(a, b, scheme="crt")
    assert 0 < plan.choice.far <= 1
    assert "repair" not in near.stages
    assert plan.stages["repair"] > 0


def test_empty_products():
    for shape in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)):
        m, k, n = shape
        a, b = mdla.zeros((m, k), prec="dd"), mdla.zeros((k, n), prec="dd")
        for scheme in ("auto", "direct", "crt"):
            for tune in ("fixed", "machine"):
                plan = plan_of(a, b, scheme=scheme, tune=tune)
                assert plan.multiply_adds == 0
                assert "product" in str(plan)
                assert mdla.matmul(a, b, scheme=scheme, tune=tune).shape == (m, n)
    empty = mdla.zeros((0, 5, 5), prec="dd")
    assert plan_of(empty, empty, scheme="crt", tune="machine").batch == (0,)


# -- forced choices --------------------------------------------------------------------------------


def test_an_engine_brings_its_scheme(rng):
    small, large = random(rng, (5, 5), "dd"), random(rng, (300, 300), "dd")
    for a in (small, large):
        for tune in ("fixed", "machine"):
            assert plan_of(a, a, engine="simd", tune=tune).scheme == "direct"
            for engine in ENGINES:
                plan = plan_of(a, a, engine=engine, tune=tune)
                assert (plan.scheme, plan.engine) == ("crt", engine)
    assert_same_bits(
        mdla.matmul(small, small, engine=ENGINES[0]), mdla.matmul(small, small, scheme="crt")
    )


@pytest.mark.parametrize("tune", ["fixed", "machine"])
def test_reasons_why_not(tune):
    a = mdla.eye(3, prec="dd")
    for options, text in [
        ({"engine": "abacus"}, r"there is no engine 'abacus'; write one of 'auto', 'simd', 'int8"),
        (
            {"scheme": "direct", "engine": "int8-portable"},
            r"scheme 'direct' does not take engine 'int8-portable'; write one of 'auto', 'simd'$",
        ),
        ({"scheme": "strassen"}, r"unknown scheme 'strassen'; write one of 'auto', 'direct'"),
    ]:
        with pytest.raises(ValueError, match=text):
            plan_of(a, a, tune=tune, **options)
        with pytest.raises(ValueError, match=text):
            mdla.matmul(a, a, tune=tune, **options)
    _native.set_level(_native.levels()[0])
    for options in ({"engine": "int8-amx"}, {"scheme": "crt", "engine": "int8-amx"}):
        with pytest.raises(ValueError, match=r"this machine has no engine 'int8-amx'; write"):
            plan_of(a, a, tune=tune, **options)


def test_unknown_tune():
    a = mdla.eye(3, prec="dd")
    with pytest.raises(ValueError, match=r"unknown tune 'fast'; write 'fixed' or 'machine'"):
        mdla.matmul(a, a, tune="fast")


# -- fixed thresholds ------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("complex", [False, True])
def test_thresholds_of_residues_are_fixed(prec, complex):
    """One line more or less decides, on every instruction set and with any number of threads."""
    limbs = mdla.precision(prec).limbs
    order, side = (_COMPLEX_THRESHOLDS if complex else _THRESHOLDS)[limbs]
    long = -(-(order**3) // side**2)
    cases = {(order, order, order): True, (order - 1, order, order): False}
    for axis in range(3):
        for short, expected in ((side, True), (side - 1, False)):
            shape = [max(long, order)] * 3
            shape[axis] = short
            cases[tuple(shape)] = expected
    for level in each_level():
        for threads in THREADS:
            _native.set_num_threads(threads)
            for (m, k, n), expected in cases.items():
                # The numbers do not matter: planes of zeros that take no memory.
                a, b = (np.broadcast_to(0.0, (1 + complex, limbs, *s)) for s in ((m, k), (k, n)))
                problem = dataclasses.replace(_problem(prec), own=(a, b))
                assert prefers_residues(problem) == expected, (level, m, k, n)


def _problem(prec):
    a = mdla.ones((1, 1), prec=prec)
    return read_problem(a, a)


def test_the_thresholds_of_mixed_products_are_those_of_real_ones(rng):
    order = _THRESHOLDS[16][0]
    a = mdla.ones((order, order), prec="hd")
    assert plan_of(a, a).scheme == plan_of(a, a * 1j).scheme == "crt"
    # Every matrix of a batch is decided about like one alone.
    less = mdla.ones((5, order - 1, order - 1), prec="hd")
    assert plan_of(less, less).scheme == "direct"


def test_prepared_operands_do_not_change_the_scheme(rng):
    """Else they would change bits."""
    order = _THRESHOLDS[8][0]
    for n in (order - 1, order):
        a = mdla.ones((n, n), prec="od")
        assert plan_of(mdla.gemm.prepare(a), a).scheme == plan_of(a, a).scheme


# -- tune="machine" --------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 300, 40), (300, 300, 300), (1, 200, 200)])
@pytest.mark.parametrize("complex", [False, True])
def test_the_least_prediction_is_chosen(rng, prec, shape, complex):
    m, k, n = shape
    a, b = random(rng, (m, k), prec, complex), random(rng, (k, n), prec, complex)
    plan = plan_of(a, b, tune="machine")
    every = [plan_of(a, b, scheme="direct")]
    every += [plan_of(a, b, scheme="crt", engine=engine) for engine in ENGINES]
    assert plan.seconds <= min(p.seconds for p in every) * 1.1
    c = mdla.matmul(a, b, tune="machine")
    assert_same_bits(c, mdla.matmul(a, b, scheme=plan.scheme, engine=plan.engine))


def test_a_rival_is_looked_at_where_entries_make_the_first_slow(rng, monkeypatch):
    n = 200
    problem = read_problem(*(random(rng, (n, n), "dd") for _ in range(2)))

    class Slow(engines.Scheme):
        """Looks fast and is not."""

        def typical(self, problem):
            return engines.scheme("direct").typical(problem)

        def choose(self, problem):
            return engines.scheme("direct").choose(problem)._replace(kernel="integer", digits=24)

    monkeypatch.setitem(engines._SCHEMES, "slow", Slow("slow", engines.scheme("direct").engines))
    chosen, runner, choice = tuning.fastest(problem, ("slow", "crt"))
    assert (chosen.name, runner.name, choice.kernel) == ("crt", ENGINES[0], "residues")


def test_measured_constants_decide(rng, monkeypatch):
    """A machine whose engines are slow, and one whose direct kernels are."""
    a = random(rng, (128, 128), "dd")
    shipped = machine.shipped()

    def slower(prefix):
        return {
            s: {x: c * (100 if s.startswith(prefix) else 1) for x, c in some.items()}
            for s, some in shipped.items()
        }

    for prefix, scheme in (("int8", "direct"), (("integer", "mixed"), "crt")):
        monkeypatch.setattr(machine, "_known", {})
        monkeypatch.setenv("MDLA_CACHE", f"/nonexistent/{scheme}")
        monkeypatch.setattr(tuning, "_rankings", {})
        monkeypatch.setattr(calibration, "measure", lambda p=prefix: slower(p))
        plan = plan_of(a, a, tune="machine")
        assert plan.scheme == scheme
        assert plan.measured


def test_rankings_are_bounded(monkeypatch):
    monkeypatch.setattr(tuning, "_MOST_RANKINGS", 3)
    for n in range(1, 9):
        a = mdla.ones((n, n), prec="dd")
        mdla.matmul(a, a, tune="machine")
        assert len(tuning._rankings) <= 3
