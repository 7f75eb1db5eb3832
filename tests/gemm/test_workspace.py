# SPDX-License-Identifier: BSD-3-Clause
"""The memory limit, buffers, and the pool that they come from."""

from __future__ import annotations

import mmap
import os
import threading

import numpy as np
import pytest

from mdla.gemm import workspace
from mdla.gemm.workspace import borrow, limit, new_buffer, release_memory


@pytest.fixture(autouse=True)
def _empty_pool():
    release_memory()
    yield
    release_memory()


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 1 << 30),
        ("  ", 1 << 30),
        ("0", 0),
        ("1", 1),
        ("123456", 123456),
        ("500M", 500 << 20),
        (" 2 G ", 2 << 30),
        ("3k", 3 << 10),
        ("7KiB", 7 << 10),
        ("4gb", 4 << 30),
        ("1T", 1 << 40),
        ("64B", 64),
    ],
)
def test_limit(monkeypatch, text, size):
    monkeypatch.setenv("MDLA_GEMM_MEMORY", text)
    assert limit() == size


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "G", "1 GG", "10 apples", "1e9"])
def test_no_limit(monkeypatch, text):
    monkeypatch.setenv("MDLA_GEMM_MEMORY", text)
    with pytest.raises(ValueError, match="MDLA_GEMM_MEMORY="):
        limit()


def test_limit_by_default(monkeypatch):
    monkeypatch.delenv("MDLA_GEMM_MEMORY", raising=False)
    assert limit() == 1 << 30


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 1 << 21, (1 << 21) + 1, 5_000_000])
def test_new_buffers(size):
    """Zeroed, writable, at the beginning of a page; of a large one if it is long."""
    buffer = new_buffer(size)
    assert buffer.dtype == np.int8
    assert max(size, 1) == buffer.size or size == buffer.size
    assert buffer.ctypes.data % mmap.PAGESIZE == 0
    assert size <= 1 << 21 or buffer.ctypes.data % (1 << 21) == 0
    assert not buffer.any()
    buffer[:] = 1


def test_buffers_are_used_again():
    with borrow(10_000) as first:
        first[:] = 7
        place = first.ctypes.data
    with borrow(9_000) as again:
        assert again.ctypes.data == place
        assert again.size >= 9_000
        with borrow(9_000) as other:
            assert other.ctypes.data != place
    with borrow(20_000) as larger:
        assert larger.size >= 20_000


def test_the_smallest_that_fits():
    with borrow(50_000) as large, borrow(10_000) as small:
        places = small.ctypes.data, large.ctypes.data
    with borrow(9_000) as x, borrow(9_000) as y:
        assert (x.ctypes.data, y.ctypes.data) == places


def test_the_pool_keeps_no_more_than_the_limit(monkeypatch):
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "100000")
    with borrow(60_000), borrow(50_000), borrow(40_000):
        pass
    assert 0 < sum(b.size for b in workspace._pool) <= 100_000
    monkeypatch.setenv("MDLA_GEMM_MEMORY", "0")
    with borrow(1_000):
        pass
    assert not workspace._pool


def test_a_buffer_comes_back_after_an_error():
    places = []

    def fail():
        with borrow(5_000) as buffer:
            places.append(buffer.ctypes.data)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with borrow(5_000) as buffer:
        assert places == [buffer.ctypes.data]


def test_memory_can_be_given_back():
    with borrow(5_000):
        pass
    assert workspace._pool
    release_memory()
    assert not workspace._pool


def test_threads_never_share_a_buffer():
    """Each writes its number and finds nothing else."""
    clashes = []

    def work(number):
        for i in range(200):
            with borrow(1_000 + 37 * (i % 5)) as buffer:
                buffer[:] = number
                if (buffer != number).any():
                    clashes.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not clashes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_its_own_memory():
    """A buffer of the pool, and one in use, keep what the parent wrote when a child writes."""
    with workspace.borrow(3 << 21) as used:
        used[:5] = 1
        child = os.fork()
        if child == 0:
            used[:5] = 2
            with workspace.borrow(1000) as other:
                other[:] = 3
            os._exit(0 if len(workspace._pool) == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert (used[:5] == 1).all()
