# SPDX-License-Identifier: BSD-3-Clause
"""Long work heeds an interrupt between its native calls."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import mdla

# Seconds after which an interrupt comes, and within which it must be heeded.
SOON, AT_LATEST = 0.15, 5.0


def square(n: int, prec: str = "hd") -> mdla.MDArray:
    return mdla.random.uniform((n, n), prec=prec, rng=3)


WORK = {
    "matmul": lambda a: [a @ a for _ in range(1000)],
    "qr": lambda a: mdla.qr(a, mode="r"),
    "lu": mdla.lu,
    "cholesky": lambda a: mdla.cholesky(a + len(a) * mdla.eye(len(a))),
    "solve": lambda a: mdla.solve(a, np.ones(len(a)), method="direct"),
    "lstsq": lambda a: mdla.lstsq(a, np.ones(len(a)), method="direct"),
    "svd": mdla.svd,
    "eigh": lambda a: mdla.eigh(a + a.T),
    "inv": mdla.inv,
    "stacks": lambda a: mdla.solve(mdla.broadcast_to(a[:8, :8], (60000, 8, 8)), np.ones((8, 1))),
}


@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_is_heeded(name):
    def alarm(signum, frame):
        raise KeyboardInterrupt

    a = square(700)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, SOON)
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            WORK[name](a)
        assert time.perf_counter() - start < AT_LATEST
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
