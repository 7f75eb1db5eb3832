# SPDX-License-Identifier: BSD-3-Clause
"""Makes benchmarks/config.py importable and records where figures come from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


def pytest_benchmark_update_machine_info(config: Any, machine_info: dict[str, Any]) -> None:
    import mdla
    from mdla import _native

    machine_info["mdla"] = {
        "version": mdla.__version__,
        "level": _native.level(),
        "features": [name for name, present in _native.cpu_features().items() if present],
    }
