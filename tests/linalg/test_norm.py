# SPDX-License-Identifier: BSD-3-Clause
"""Norms are found where NumPy's users look for them."""

from __future__ import annotations

import numpy as np
import pytest

import mdla
from mdla.linalg import norm


@pytest.mark.parametrize("ord", [None, "fro", 1, np.inf, -1, -np.inf])
def test_matrix_norms(ord, rng):
    a = rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))
    np.testing.assert_allclose(float(norm(mdla.array(a), ord)), np.linalg.norm(a, ord))


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf, -np.inf, 0])
def test_vector_norms(ord, rng):
    a = rng.standard_normal((3, 7))
    for axis in (0, 1):
        got = norm(mdla.array(a, prec="qd"), ord, axis=axis, keepdims=True)
        np.testing.assert_allclose(got.to_numpy(), np.linalg.norm(a, ord, axis=axis, keepdims=True))
