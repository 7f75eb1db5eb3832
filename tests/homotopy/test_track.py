# SPDX-License-Identifier: BSD-3-Clause
"""Tracking: homotopies with a parameter, executors, bits that depend on the path alone."""

import pickle
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

import mdla
from mdla.homotopy import Homotopy, TotalDegree, TrackOptions, track
from mdla.poly import families


class Inline:
    """An executor that pickles tasks and results, as processes do."""

    def submit(self, function, *args):
        future = Future()
        function, args = pickle.loads(pickle.dumps((function, args)))
        future.set_result(pickle.loads(pickle.dumps(function(*args))))
        return future


def require_same(a, b):
    assert np.array_equal(a.endpoints.planes, b.endpoints.planes, equal_nan=True)
    for name in ("status", "winding", "steps", "prec", "reason"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    for name in ("condition", "residual", "accuracy"):
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True)


@pytest.fixture(scope="module")
def noon():
    """More paths than one task of an executor has, some of them to infinity."""
    h = TotalDegree(families.noon(4))
    return h, track(h, h.starts)


def test_executors_give_the_same_bits(noon):
    h, expected = noon
    require_same(track(h, h.starts, executor=Inline()), expected)
    with ThreadPoolExecutor(2) as pool:
        require_same(track(h, h.starts, executor=pool), expected)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_bits_do_not_depend_on_the_company(count):
    # A double end and two at infinity, times three.
    h = TotalDegree(mdla.PolynomialSystem("x^2 + y^2 - 1; (x - 2)^2 + y^2 - 1; z^3 + z - x;"))
    expected = track(h, h.starts)
    some = track(h, h.starts[4 : 4 + count])
    planes = expected.endpoints.planes[:, :, 4 : 4 + count]
    assert np.array_equal(some.endpoints.planes, planes, equal_nan=True)
    assert {0, 2} <= set(expected.winding)
    assert np.array_equal(some.steps, expected.steps[4 : 4 + count])


def test_bits_do_not_depend_on_threads(noon):
    h, expected = noon
    mdla.set_num_threads(2)
    require_same(track(h, h.starts), expected)


@pytest.mark.parametrize("prec", ["d", "dd", "qd"])
def test_parameter(prec):
    h = Homotopy(mdla.PolynomialSystem("x^2 - 1 - 3*t; x*y - 1;", prec=prec), "t")
    assert h.variables == ("x", "y")
    paths = track(h, [[1, 1], [-1, -1]], prec)
    assert list(paths.status) == ["finite", "finite"]
    expected = np.array([[2, 0.5], [-2, -0.5]])
    assert mdla.max(abs(paths.endpoints - expected)) <= 2**3 * mdla.finfo(prec).eps


def test_singular_end_of_a_parameter():
    h = Homotopy(mdla.PolynomialSystem("x^3 - (1 - t);"))
    third = np.exp(2j * np.pi / 3)
    paths = track(h, np.array([[1], [third], [third**2]]))
    assert list(paths.winding) == [3, 3, 3]
    assert mdla.max(abs(paths.endpoints)) < mdla.finfo("dd").eps ** 0.6


def test_diverging_path_of_a_parameter_fails_with_a_reason():
    h = Homotopy(mdla.PolynomialSystem("x*(1 - t) - 1;"))
    paths = track(h, [[1]])
    assert list(paths.status) == ["failed"]
    assert paths.reason[0]
    assert np.isnan(paths.endpoints.to_numpy()).all()


def test_a_start_that_is_none():
    h = TotalDegree(mdla.PolynomialSystem("x^2 - 2;"))
    paths = track(h, [[1], [0.3]])
    assert list(paths.status) == ["finite", "failed"]
    assert "no solution at t = 0" in paths.reason[1]


def test_recorded_points_lie_on_the_path():
    system = mdla.PolynomialSystem("x^2 - 1 - 3*t;")
    path = track(Homotopy(system), [[1]], record=True)[0]
    assert path.t[-1] == 1
    assert len(path.t) == len(path.points)
    # Points are rounded to doubles.
    assert np.all(np.abs(path.points[:, 0] ** 2 - 1 - 3 * path.t) <= 2.0**-50)


def test_too_few_steps():
    h = TotalDegree(families.katsura(3))
    paths = track(h, h.starts, options=TrackOptions(max_steps=1))
    assert set(paths.reason[paths.failed]) == {"more steps than max_steps"}


def test_no_paths():
    h = TotalDegree(mdla.PolynomialSystem("x^2 - 2;"))
    paths = track(h, np.zeros((0, 1)))
    assert len(paths) == 0
    assert paths.endpoints.shape == (0, 1)


def test_sequence_of_paths(noon):
    _, paths = noon
    assert len(list(paths)) == len(paths) == 81
    assert paths[-1].steps == paths.steps[-1]
    with pytest.raises(IndexError):
        paths[81]
    restored = pickle.loads(pickle.dumps(paths))
    require_same(restored, paths)


def test_refused():
    system = mdla.PolynomialSystem("x^2 - t;")
    h = Homotopy(system)
    with pytest.raises(ValueError, match="shape"):
        track(h, [1.0])
    with pytest.raises(ValueError, match="nans"):
        track(h, [[np.nan]])
    with pytest.raises(TypeError, match="submit"):
        track(h, [[1]], executor=3)
    with pytest.raises(TypeError, match="homotopy"):
        track(system, [[1]])
    with pytest.raises(ValueError, match="no variable is named 's'"):
        Homotopy(system, "s")
    with pytest.raises(ValueError, match="need 2 polynomials, got 1"):
        Homotopy(mdla.PolynomialSystem("x^2 + y - t;"))
