# SPDX-License-Identifier: BSD-3-Clause
"""Measure everything once and write docs/benchmarks: tables, plots, and the raw figures.

    python benchmarks/report.py

All figures come from one run of pytest-benchmark on one machine; ratios are of medians.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import report_gemm

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "benchmarks"
PRECISIONS = ["ds", "d", "dd", "td", "qd", "pd", "od", "da", "hd"]

OWN = ("mdla", "stack")

Row = dict[str, Any]


def run_benchmarks(json_path: Path) -> None:
    """Run the whole benchmark tree in one process."""
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "benchmarks" / "pytest.ini")]
    command += [str(ROOT / "benchmarks"), f"--benchmark-json={json_path}"]
    subprocess.run(command, check=True, cwd=ROOT)


def rows_of(data: dict[str, Any]) -> list[Row]:
    """One row per benchmark: its extra information and its median time."""
    rows = []
    for entry in data["benchmarks"]:
        row: Row = {"file": Path(entry["fullname"].split("::")[0]).stem, "threads": 1}
        row.update(entry["extra_info"])
        row["seconds"] = entry["stats"]["median"] * row.pop("scale", 1)
        rows.append(row)
    return rows


def time_text(seconds: float) -> str:
    """Return a time with a readable unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def rate_text(row: Row) -> str:
    """Return Gflop/s where the benchmark counts flops, else operations per second."""
    if "flops" in row:
        return f"{row['flops'] / row['seconds'] / 1e9:.3g} GF/s"
    if "n" in row and row["file"] == "bench_elementwise":
        return f"{row['n'] / row['seconds'] / 1e6:,.0f} Mop/s"
    return ""


def table(rows: list[Row]) -> list[str]:
    """A markdown table: mdla's time and rate, and how many times as long each peer takes."""
    lines = [
        "| operation | n | threads | precision | time | rate | peers, times as long |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["operation"], row.get("n"), row["threads"], row.get("prec")].append(row)
    for (operation, n, threads, prec), members in groups.items():
        own = [r for r in members if r["peer"] in OWN]
        peers = [r for r in members if r["peer"] not in OWN]
        for mine in own:
            versus = ", ".join(f"{p['peer']} {p['seconds'] / mine['seconds']:.3g}" for p in peers)
            lines.append(
                f"| {operation} | {n} | {threads} | {prec} | {time_text(mine['seconds'])} "
                f"| {rate_text(mine)} | {versus} |"
            )
        if not own:
            for peer in peers:
                lines.append(
                    f"| {operation} ({peer['peer']}) | {n} | {threads} | {prec} "
                    f"| {time_text(peer['seconds'])} | {rate_text(peer)} | |"
                )
    return lines


def plot(rows: list[Row], path: Path) -> None:
    """Rates over the precisions, one line per operation, peers as hollow marks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    lines: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row.get("prec") not in PRECISIONS or row["threads"] != 1:
            continue
        work = row.get("flops", row.get("n"))
        name = f"{row['operation']} n={row['n']}"
        rate = work / row["seconds"]
        lines[name, row["peer"]].append((PRECISIONS.index(row["prec"]), rate))
    colors: dict[str, Any] = {}
    for (name, peer), points in sorted(lines.items()):
        points.sort()
        color = colors.setdefault(name, f"C{len(colors)}")
        filled = peer in OWN
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            marker="o",
            linestyle="-" if filled else "none",
            color=color,
            markerfacecolor=color if filled else "white",
            label=name if filled else f"{name}, {peer}",
        )
    axes.set_yscale("log")
    axes.set_xticks(range(len(PRECISIONS)), PRECISIONS)
    axes.set_ylabel("operations or flops per second")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=2)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


TITLES = {
    "bench_elementwise": "Elementwise operations, sums, matrix times vector",
    "bench_direct": "Direct matrix product",
    "bench_gemm": "Products on matrix engines",
    "bench_linalg": "Factorisations and solvers",
    "bench_poly": "Polynomial systems",
    "bench_series": "Power series",
}


def write(data: dict[str, Any]) -> None:
    """Write one page per benchmark file and an index."""
    machine = data["machine_info"]
    cpu = machine["cpu"].get("brand_raw", "unknown processor")
    own = machine.get("mdla", {})
    index = [
        "# Benchmarks",
        "",
        f"One run on {data['datetime'][:10]}: {cpu}, {machine['cpu'].get('count', '?')} cores, "
        f"Python {machine['python_version']}, level {own.get('level')} "
        f"({' '.join(own.get('features', []))}).",
        "",
        "Medians of pytest-benchmark; one thread unless a row says otherwise. A peer's figure says",
        "how many times as long it takes for the same work at the same precision, in the same run.",
        "Run again with `python benchmarks/report.py`.",
        "",
        "```{toctree}",
    ]
    rows = rows_of(data)
    for file, title in TITLES.items():
        mine = [r for r in rows if r["file"] == file]
        if not mine:
            continue
        name = file.removeprefix("bench_")
        index.append(name)
        if file == "bench_gemm":
            text = report_gemm.page(mine, TARGET)
        else:
            plot(mine, TARGET / f"{name}.png")
            text = [f"# {title}", "", f"![rates over the precisions]({name}.png)", ""]
            text += [*table(mine), ""]
        (TARGET / f"{name}.md").write_text("\n".join(text), encoding="utf-8")
    index += ["```", ""]
    notes = TARGET / "notes.md"
    if notes.exists():
        index.insert(-2, "notes")
    (TARGET / "index.md").write_text("\n".join(index), encoding="utf-8")


def main() -> None:
    """Measure and write."""
    TARGET.mkdir(parents=True, exist_ok=True)
    path = TARGET / "figures.json"
    if "--only-write" not in sys.argv:
        run_benchmarks(path)
        data = json.loads(path.read_text(encoding="utf-8"))
        # Single timings are noise of megabytes; the statistics are what the pages use.
        for entry in data["benchmarks"]:
            entry["stats"].pop("data", None)
        data["machine_info"].pop("node", None)
        data.pop("commit_info", None)
        path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    write(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
