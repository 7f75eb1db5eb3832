# SPDX-License-Identifier: BSD-3-Clause
"""The constants of the cost model: shipped ones, or those measured on this machine.

Measured ones are kept in a file under ``MDLA_CACHE``, else ``XDG_CACHE_HOME/mdla``, else
``~/.cache/mdla``, one for each processor model, version of mdla, instruction set and number of
threads. A file that cannot be read, or says something else than it should, is as good as none; so
is a folder that cannot be written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import RLock

from mdla import _native
from mdla.gemm.cost_tables import SHIPPED

__all__ = ["CALLS", "Constants", "constants", "ensure_measured", "is_measured", "shipped"]

#: For each subject, a direct kernel or an engine for residues, its constants in seconds.
Constants = Mapping[str, Mapping[str, float]]

#: The constants that more threads do not make smaller.
CALLS = ("call", "plane")

# Threads make the rest this much faster, each.
_EFFICIENCY = 0.85

_Key = tuple[str, int]
_known: dict[_Key, tuple[Constants, bool]] = {}
_lock = RLock()


def constants() -> Constants:
    """The best constants there are without measuring: measured before, or shipped."""
    return _find(_key())[0]


def is_measured() -> bool:
    """Whether `constants` are those of this machine."""
    return _find(_key())[1]


def ensure_measured(measure: Callable[[], Constants]) -> tuple[str, int]:
    """Measure the constants unless this machine has been measured before, and keep them.

    Returns:
        What they belong to on this machine: the instruction set and the number of threads.
    """
    key = _key()
    if not _find(key)[1]:
        with _lock:
            if not _find(key)[1]:
                measured = measure()
                _known[key] = {**shipped(), **measured}, True
                _write(_path(key), _text(key), measured)
    return key


def shipped() -> Constants:
    """Constants of a machine with this instruction set, for the number of threads in use."""
    level, threads = _key()
    faster = 1.0 if threads == 1 else threads * _EFFICIENCY
    return {
        subject: {name: x if name in CALLS else x / faster for name, x in some.items()}
        for subject, some in {**SHIPPED["engines"], **SHIPPED[level]}.items()
    }


def _find(key: _Key) -> tuple[Constants, bool]:
    found = _known.get(key)
    if found is None:
        defaults = shipped()
        read = _read(_path(key), _text(key), defaults)
        found = (defaults, False) if read is None else (read, True)
        _known[key] = found
    return found


def _key() -> _Key:
    return _native.level(), _native.get_num_threads()


# -- the file --------------------------------------------------------------------------------------


def _text(key: _Key) -> str:
    """What the constants of a file belong to."""
    level, threads = key
    return f"mdla {_version()}, {_processor()}, level {level}, {threads} threads"


@lru_cache
def _version() -> str:
    try:
        return version("mdla")
    except PackageNotFoundError:
        return "unknown"


@lru_cache
def _processor() -> str:
    """The processor's model as the system calls it."""
    wanted = ("model name", "cpu family", "model", "stepping", "CPU implementer", "CPU part")
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in first.splitlines())
    found = [value.strip() for name, _, value in lines if name.strip() in wanted]
    return " ".join(found) or platform.machine()


def _path(key: _Key) -> Path:
    folder = os.environ.get("MDLA_CACHE")
    if not folder:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(home, "mdla")
    return Path(folder) / f"costs-{hashlib.sha256(_text(key).encode()).hexdigest()[:16]}.json"


def _read(path: Path, text: str, like: Constants) -> Constants | None:
    """What a file holds if it is for that machine and has the constants that others have."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["machine"] != text:
            return None
        read = {
            subject: {name: float(x) for name, x in some.items()}
            for subject, some in data["constants"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    sound = all(
        subject in read
        and set(some) == set(read[subject])
        and all(math.isfinite(x) and x >= 0 for x in read[subject].values())
        for subject, some in like.items()
        if not subject.startswith(("int8-", "fp64-")) or subject in read
    )
    return {**like, **read} if sound else None


def _write(path: Path, text: str, measured: Constants) -> None:
    """Write the file whole or not at all."""
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".costs-", delete=False
        ) as file:
            name = file.name
            json.dump({"machine": text, "constants": measured}, file, indent=1)
        os.replace(name, path)
    except OSError:
        if name is not None:
            Path(name).unlink(missing_ok=True)
