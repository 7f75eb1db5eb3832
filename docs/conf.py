# SPDX-License-Identifier: BSD-3-Clause
from importlib.metadata import version as installed_version

project = "mdla"
author = "the mdla developers"
copyright = "2026, the mdla developers"
version = release = installed_version("mdla")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autosummary_generate = True
html_theme = "furo"
html_title = f"mdla {version}"
exclude_patterns = ["_build"]
