"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import mdla

MODULES = [
    "mdla",
    *sorted(
        module.name
        for module in pkgutil.walk_packages(mdla.__path__, "mdla.")
        if module.name not in ("mdla.__main__", "mdla._native")
    ),
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failed == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder()
    found = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(bool(t.examples) for t in found) >= 50
