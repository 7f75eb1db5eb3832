# SPDX-License-Identifier: BSD-3-Clause
"""The cost model: what predictions depend on, how constants are found, and where they are kept."""

from __future__ import annotations

import json
import math
import os
import threading

import numpy as np
import pytest

import mdla
from mdla import _native
from mdla.gemm import calibration, costs, engines, machine, tuning
from mdla.gemm.plan import read_problem
from tests.registry import DOUBLE_PRECS

ENGINES = [e.name for e in engines.scheme("crt").engines if e.available()]
SHAPE = (64, 256, 64)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for each test, and nothing known."""
    monkeypatch.setenv("MDLA_CACHE", str(tmp_path))
    monkeypatch.setattr(machine, "_known", {})
    monkeypatch.setattr(tuning, "_rankings", {})
    return tmp_path


def problem_of(prec, shape, parts=(1, 1), batch=()):
    m, k, n = shape
    a, b = mdla.ones((*batch, m, k), prec=prec), mdla.ones((k, n), prec=prec)
    return read_problem(a * 1j if parts[0] == 2 else a, b * 1j if parts[1] == 2 else b)


def seconds_of(problem, scheme, engine):
    chosen = engines.scheme(scheme)
    runner = chosen.engine(engine)
    return runner.predict(problem, chosen.typical(problem))


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("prec", DOUBLE_PRECS)
@pytest.mark.parametrize("engine", ["simd", *ENGINES])
@pytest.mark.parametrize("parts", [(1, 1), (1, 2), (2, 2)])
def test_more_work_takes_longer(prec, engine, parts):
    scheme = "direct" if engine == "simd" else "crt"
    t = seconds_of(problem_of(prec, SHAPE, parts), scheme, engine)
    assert t > 0
    for axis in range(3):
        # Twice as long, and beyond what is filled up.
        longer = [2 * x if i == axis else x for i, x in enumerate(SHAPE)]
        assert seconds_of(problem_of(prec, longer, parts), scheme, engine) > t
    assert seconds_of(problem_of(prec, SHAPE, parts, (3,)), scheme, engine) > t


@pytest.mark.parametrize("prec", ["d", "dd", "qd", "hd"])
@pytest.mark.parametrize("shape", [(16, 16, 16), (100, 100, 100), (40, 500, 30), (7, 9, 1)])
@pytest.mark.parametrize("parts", [(1, 1), (1, 2), (2, 2)])
def test_typical_choices_are_those_of_random_entries(prec, shape, parts):
    """The bits of integers within 8, the same kernel where sums are not too short to tell."""
    m, k, n = shape
    rng = np.random.default_rng(5)
    a, b = (mdla.random.uniform(s, prec=prec, rng=rng) - 0.5 for s in ((m, k), (k, n)))
    problem = read_problem(a * (1 + 1j) if parts[0] == 2 else a, b * 1j if parts[1] == 2 else b)
    typical, found = (f(problem) for f in (engines.scheme("crt").typical, _chosen("crt")))
    assert abs(sum(typical.bits) - sum(found.bits)) <= 2 * 8
    typical, found = (f(problem) for f in (engines.scheme("direct").typical, _chosen("direct")))
    assert typical.kernel == found.kernel or {typical.kernel, found.kernel} == {"mixed", "integer"}


def _chosen(scheme):
    return engines.scheme(scheme).choose


def test_stages_are_the_parts_of_a_prediction():
    problem = problem_of("dd", SHAPE)
    scheme = engines.scheme("crt")
    choice = scheme.choose(problem)
    for engine in scheme.engines:
        if engine.available():
            stages = engine.stages(problem, choice)
            assert sum(stages.values()) == engine.predict(problem, choice)
            assert min(stages.values()) > 0
            assert list(stages)[1:] == _recorded(problem, engine, choice)


def _recorded(problem, engine, choice):
    with mdla.gemm.stages() as seconds:
        engine.run(problem, choice)
    assert min(seconds.values()) > 0
    # Choosing is not part of the run.
    return ["survey", *seconds]


def test_prepared_operands_are_converted_already():
    a, b = mdla.ones((64, 64), prec="dd"), mdla.ones((64, 64), prec="dd")
    plain = mdla.gemm.plan(a, b, scheme="crt").stages
    left = mdla.gemm.plan(mdla.gemm.prepare(a), b, scheme="crt").stages
    assert left["convert A"] == 0 < plain["convert A"]
    assert left["convert B"] == plain["convert B"]
    right = mdla.gemm.plan(a, mdla.gemm.prepare(b), scheme="crt").stages
    assert right["convert B"] == 0 < right["convert A"]
    # An adjoint is no operand that is used again.
    z = a * 1j
    adjoint = mdla.gemm.plan(mdla.gemm.adjoint(z), z, scheme="crt").stages
    assert adjoint["convert A"] > 0


def test_threads_make_all_but_calls_faster():
    _native.set_num_threads(1)
    one = machine.shipped()
    _native.set_num_threads(2)
    two = machine.shipped()
    for subject, some in one.items():
        for name, x in some.items():
            assert (two[subject][name] < x) == (name not in machine.CALLS)


def test_every_level_has_constants():
    for level in _native.levels():
        _native.set_level(level)
        assert seconds_of(problem_of("dd", SHAPE), "direct", "simd") > 0


# -- stages ----------------------------------------------------------------------------------------


def test_only_products_of_this_thread_are_recorded():
    a = mdla.ones((40, 40), prec="dd")

    def multiply():
        mdla.matmul(a, a, scheme="crt")

    with mdla.gemm.stages() as outer:
        other = threading.Thread(target=multiply)
        other.start()
        other.join()
        assert outer == {}
        with mdla.gemm.stages() as inner:
            multiply()
        assert outer == {}
        multiply()
        multiply()
    assert (
        set(outer)
        == set(inner)
        == {
            "survey",
            "convert A",
            "convert B",
            "products",
            "reconstruct",
        }
    )
    before = dict(outer)
    multiply()
    assert outer == before


def test_repairs_are_a_stage():
    a = mdla.ones((40, 40), prec="dd")
    a[3, 4] = np.inf
    with mdla.gemm.stages() as seconds:
        mdla.matmul(a, a, scheme="crt")
    assert seconds["repair"] > 0


# -- finding constants -----------------------------------------------------------------------------


def test_constants_that_times_follow_are_found(rng):
    """Times made by the model from other constants than the shipped ones, without noise."""
    for subject in (*ENGINES, "integer"):
        scheme = "direct" if subject == "integer" else "crt"
        true = {x: c * 3 * rng.uniform(0.6, 1.7) for x, c in machine.shipped()[subject].items()}
        samples = []
        for prec, *shape in calibration._RESIDUES:
            problem = problem_of(prec, shape)
            choice = engines.scheme(scheme).typical(problem)
            if scheme == "crt":
                quantities = costs.residue_quantities(subject, problem, choice)
            else:
                kernel, quantities = costs.direct_quantities(
                    problem, choice._replace(kernel="integer", digits=3), 1
                )
                assert kernel == subject
            times = {
                stage: sum(true[x] * q for x, q in some.items())
                for stage, some in quantities.items()
            }
            times["total"] = sum(times.values())
            for stage in times:  # a part of the overhead is within the stages
                if "overhead" in times and stage not in ("overhead", "total"):
                    times[stage] += calibration._OF_CALLS * times["overhead"]
            samples.append((quantities, times))
        found = calibration._fitted(samples, machine.shipped()[subject])
        assert found.keys() == true.keys()
        for quantities, times in samples:
            predicted = sum(found[x] * q for some in quantities.values() for x, q in some.items())
            assert 2 / 3 < predicted / times["total"] < 3 / 2


def test_what_samples_do_not_tell_stays_in_proportion():
    rows = np.array([[1.0, 0.0], [2.0, 0.0]])
    x = calibration._close_to([3.0, 7.0], rows, np.array([6.0, 12.0]), np.zeros(2))
    np.testing.assert_allclose(x, [6.0, 14.0])


def test_constants_stay_positive():
    """Times that no positive constants explain."""
    rows = np.array([[1.0, 1.0], [1.0, 100.0], [1.0, 1000.0]])
    x = calibration._close_to([1.0, 1.0], rows, np.array([1000.0, 100.0, 1.0]), np.zeros(3))
    assert (x > 0).all()


def test_measuring():
    found = calibration.measure(budget=0.2, most_engines=1)
    shipped = machine.shipped()
    assert set(found) == {*(s for s in shipped if not s.startswith(("int8", "fp64"))), ENGINES[0]}
    for subject, some in found.items():
        assert some.keys() == shipped[subject].keys()
        assert all(math.isfinite(x) and x > 0 for x in some.values())


# -- the cache -------------------------------------------------------------------------------------


class Measure:
    """Constants twice the shipped ones; counts how often they are asked for."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {s: {x: 2 * c for x, c in some.items()} for s, some in machine.shipped().items()}


def forget():
    machine._known.clear()


def test_measured_once_and_kept(cache):
    measure = Measure()
    assert not machine.is_measured()
    for _ in range(2):
        machine.ensure_measured(measure)
        assert machine.is_measured()
    forget()
    assert machine.is_measured()
    machine.ensure_measured(measure)
    assert measure.calls == 1
    assert machine.constants() == measure()
    assert [p.suffix for p in cache.iterdir()] == [".json"]


def test_levels_and_threads_have_their_own(cache):
    measure = Measure()
    for threads in (1, 2):
        _native.set_num_threads(threads)
        machine.ensure_measured(measure)
    assert measure.calls == len(list(cache.iterdir())) == 2
    for level in _native.levels()[:-1]:
        _native.set_level(level)
        assert not machine.is_measured()


def test_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("MDLA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    machine.ensure_measured(Measure())
    assert len(list((tmp_path / "xdg" / "mdla").iterdir())) == 1
    forget()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    machine.ensure_measured(Measure())
    assert len(list((tmp_path / "home" / ".cache" / "mdla").iterdir())) == 1


def _spoiled(text):
    """Contents of a file that cannot be used."""
    data = json.loads(text)
    subjects = data["constants"]

    def changed(**parts):
        return json.dumps({**data, **parts}).encode()

    def with_integer(**parts):
        return changed(constants={**subjects, "integer": {**subjects["integer"], **parts}})

    return [
        b"",
        b"\xff\x00\xfe",
        text.encode()[: len(text) // 2],
        b"[1, 2]",
        b"null",
        b"[" * 100_000,
        changed(machine="another"),
        changed(constants=[]),
        changed(constants={**subjects, "integer": 3}),
        changed(constants={s: c for s, c in subjects.items() if s != "integer"}),
        with_integer(term=math.nan),
        with_integer(term=-1.0),
        with_integer(term="fast"),
        with_integer(term=None),
        with_integer(more=1.0),
    ]


def test_files_that_cannot_be_used_are_written_anew(cache):
    machine.ensure_measured(Measure())
    (path,) = cache.iterdir()
    good = path.read_text(encoding="utf-8")
    for bad in _spoiled(good):
        path.write_bytes(bad)
        forget()
        assert machine.constants() == machine.shipped(), bad[:40]
        measure = Measure()
        machine.ensure_measured(measure)
        assert measure.calls == 1
        assert path.read_text(encoding="utf-8") == good


def test_folders_that_cannot_be_written(cache, monkeypatch):
    (cache / "file").write_text("")
    monkeypatch.setenv("MDLA_CACHE", str(cache / "file" / "below"))
    measure = Measure()
    for _ in range(2):
        machine.ensure_measured(measure)
    assert measure.calls == 1
    assert machine.constants() == measure()


def test_files_are_whole_or_missing(cache, monkeypatch):
    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    machine.ensure_measured(Measure())
    assert list(cache.iterdir()) == []
    assert machine.is_measured()
