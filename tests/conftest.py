# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for all tests: seeded generators, and a guard that restores the native settings."""

from __future__ import annotations

import os
import zlib

import numpy as np
import pytest

# Two processes share the cores: threads that wait must not spin. Read when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from tests.registry import PRECS, load_profile

load_profile()


@pytest.fixture
def rng(request):
    """A generator seeded by the name of the test, so that the order of tests does not matter."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(params=PRECS)
def prec(request):
    """Each precision in turn, by name."""
    return request.param


@pytest.fixture(autouse=True)
def _native_settings():
    """Threads and instruction set level are global: give them back as they were."""
    try:
        from mdla import _native
    except ImportError:
        yield
        return
    threads, level = _native.get_num_threads(), _native.level()
    yield
    _native.set_num_threads(threads)
    _native.set_level(level)
