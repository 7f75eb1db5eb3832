# SPDX-License-Identifier: BSD-3-Clause
"""Saving and loading are lossless."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

import mdla
from tests.oracle import assert_same_bits
from tests.registry import SHAPES, adversarial


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_round_trip(tmp_path, prec, shape, complex_, rng):
    a = mdla.random.normal(shape, prec=prec, rng=rng, complex=complex_)
    mdla.save(tmp_path / "a.npz", a)
    b = mdla.load(tmp_path / "a.npz")
    assert_same_bits(a, b)
    assert b.prec == prec


def test_adversarial_and_special_values(prec, rng):
    a = mdla.MDArray(adversarial(rng, prec, 300))
    specials = mdla.array(
        [math.inf, -math.inf, math.nan, -0.0, mdla.finfo(prec).smallest_subnormal], prec=prec
    )
    for x in (a, a[::-3], a.reshape(30, 10).T, specials):
        file = io.BytesIO()
        mdla.save(file, x)
        file.seek(0)
        assert_same_bits(x, mdla.load(file))


def test_several_by_name(tmp_path):
    path = str(tmp_path / "several.npz")
    a, b = mdla.array(["1/3", 2], prec="qd"), mdla.eye(3, prec="ds")
    mdla.save(path, a=a, b=b, number=0.5)
    loaded = mdla.load(path)
    assert sorted(loaded) == ["a", "b", "number"]
    assert_same_bits(loaded["a"], a)
    assert_same_bits(loaded["b"], b)
    assert loaded["number"].prec == "dd"


def test_numpy_reads_the_file_without_pickle(tmp_path):
    mdla.save(tmp_path / "a.npz", mdla.ones(2, "td"))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert archive["array.planes"].shape == (1, 3, 2)
        assert str(archive["array.prec"]) == "td"


def test_bad_calls(tmp_path):
    with pytest.raises(ValueError, match="save"):
        mdla.save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="save"):
        mdla.save(tmp_path / "a.npz", mdla.ones(2), x=mdla.ones(2))
    with pytest.raises(TypeError, match="string"):
        mdla.save(tmp_path / "a.npz", "text")
    with pytest.raises(FileNotFoundError):
        mdla.load(tmp_path / "missing.npz")
    assert not list(tmp_path.iterdir())


def test_foreign_and_damaged_files(tmp_path):
    np.savez(tmp_path / "plain.npz", x=np.ones(2))
    np.save(tmp_path / "plain.npy", np.ones(2))
    for name in ("plain.npz", "plain.npy"):
        with pytest.raises(ValueError, match=r"numpy\.load"):
            mdla.load(tmp_path / name)
    (tmp_path / "text.npz").write_text("nothing")
    with pytest.raises(ValueError, match=r"[a-z]"):
        mdla.load(tmp_path / "text.npz")
    common = {"mdla_format": np.int64(1), "array.prec": np.str_("dd")}
    np.savez(tmp_path / "limbs.npz", **common, **{"array.planes": np.ones((1, 2, 2))})
    np.savez(tmp_path / "layout.npz", **common, **{"array.planes": np.ones((1, 1, 2))})
    for name in ("limbs.npz", "layout.npz"):
        with pytest.raises(ValueError, match="damaged"):
            mdla.load(tmp_path / name)
    np.savez(tmp_path / "new.npz", mdla_format=np.int64(99))
    with pytest.raises(ValueError, match="format 99"):
        mdla.load(tmp_path / "new.npz")
