# SPDX-License-Identifier: BSD-3-Clause
"""Command line: ``python -m mdla info``, ``python -m mdla demo``, ``python -m mdla model``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mdla", description="Linear algebra in multiple-double precision."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, CPU features, engines and capability probes")
    demo = commands.add_parser("demo", help="least squares on NIST data and a QR factorisation")
    demo.add_argument("--size", type=int, default=256, help="order of the matrix to factor")
    model = commands.add_parser("model", help="what bounds matrix products, here and on GPUs")
    model.add_argument("--no-measure", action="store_true", help="leave this machine out")
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        from mdla.report import show_config

        show_config()
        return 0
    if chosen.command == "model":
        from mdla.gemm.model import measure_machine, model_text

        print(model_text(None if chosen.no_measure else measure_machine()))
        return 0
    if chosen.size < 1:
        parser.error(f"--size must be at least 1, got {chosen.size}")
    from mdla.demo import run

    return run(chosen.size)


if __name__ == "__main__":
    raise SystemExit(main())
