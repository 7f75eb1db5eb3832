"""A forked child works, although it inherits no threads."""

from __future__ import annotations

import multiprocessing

import pytest

import mdla

if "fork" not in multiprocessing.get_all_start_methods():
    pytest.skip("this system has no fork", allow_module_level=True)


def work(x: mdla.MDArray) -> mdla.MDArray:
    return mdla.sum(x + x @ x)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_pool_forked_after_threaded_work_answers():
    x = mdla.random.uniform((300, 300), prec="qd", rng=1)
    want = work(x)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(work, [x, x]).get(timeout=60)
    assert all(f == want for f in found)
