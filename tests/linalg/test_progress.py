# SPDX-License-Identifier: BSD-3-Clause
"""progress=True shows stages on stderr, changes no bits, and costs nothing otherwise."""

from __future__ import annotations

import sys

import pytest

import mdla
from mdla.linalg import lstsq, qr, solve
from mdla.linalg.progress import shown, stage
from tests.linalg.matrices import uniform
from tests.oracle import assert_same_bits

CALLS = {
    "qr": (lambda a, b, **k: qr(a, mode="r", **k), "QR factorisation: 60/60 columns"),
    "pivoted qr": (
        lambda a, b, **k: qr(a, mode="r", pivoting=True, **k)[0],
        "QR factorisation with pivoting: 60/60 columns",
    ),
    "refined solve": (lambda a, b, **k: solve(a, b, method="refine", **k), "refinement: "),
    "refined lstsq": (lambda a, b, **k: lstsq(a, b, method="refine", **k).x, "refinement: "),
    "direct lstsq": (lambda a, b, **k: lstsq(a, b, method="direct", **k).x, "QR factorisation: "),
}


@pytest.mark.parametrize("name", CALLS)
def test_long_work_shows_its_progress(name, capsys, monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    call, text = CALLS[name]
    a, b = uniform(60, 60, "qd", False, rng), uniform(60, 1, "qd", False, rng)
    quiet = call(a, b)
    assert capsys.readouterr() == ("", "")
    told = call(a, b, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert text in err
    assert_same_bits(quiet, told)


def test_tqdm_is_used_where_it_is_installed(capsys, rng):
    pytest.importorskip("tqdm")
    qr(uniform(60, 60, "dd", False, rng), progress=True)
    assert "QR factorisation" in capsys.readouterr().err


def test_stages_within_stages_are_silent(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with shown(True), stage("outer", 2, "step") as advance:
        with stage("inner", 5, "thing") as inner:
            inner(5)
        advance(2)
    assert capsys.readouterr().err == "\router: 2/2 steps\n"
    with pytest.raises(ZeroDivisionError), shown(True), stage("outer", 2, "step"):
        raise ZeroDivisionError
    with stage("outer", 2, "step") as advance:
        advance(1)
    assert capsys.readouterr().err == "\n"
    assert mdla.linalg.solve([[2.0]], [4.0]).item() == 2
