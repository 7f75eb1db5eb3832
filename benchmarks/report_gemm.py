# SPDX-License-Identifier: BSD-3-Clause
"""The page about bench_gemm.py: rates beside DGEMM, stages, peers, and how well it is tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]

STAGES = ["survey", "convert A", "convert B", "products", "reconstruct", "repair"]


def page(rows: list[Row], target: Path) -> list[str]:
    """The lines of the page; draws its plot beside it."""
    plot(rows, target / "gemm.png")
    return [
        "# Products on matrix engines",
        "",
        "Rates count $2 m n k$ operations, for complex factors too. Each is followed by its ratio",
        "to NumPy's DGEMM of the same order with as many threads in the same run. Entries are",
        "random with all limbs filled.",
        "",
        "![ratio to DGEMM over the order](gemm.png)",
        "",
        *_squares(rows),
        *_stages(rows),
        *_entries(rows),
        *_complex(rows),
        *_skinny(rows),
        *_peers(rows),
        *_tuned(rows),
    ]


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(line) + " |" for line in body), ""]


def _some(rows: list[Row], **wanted: Any) -> list[Row]:
    return [r for r in rows if all(r.get(key) == x for key, x in wanted.items())]


def _values(rows: list[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(r[key] for r in rows))


def _rate(row: Row) -> float:
    return float(row["flops"] / row["seconds"] / 1e9)


def ratio(row: Row, rows: list[Row]) -> float | None:
    """Rate over that of DGEMM of the same order and number of threads."""
    same = _some(rows, operation="square", peer="numpy", n=row["n"], threads=row["threads"])
    return _rate(row) / _rate(same[0]) if same else None


def _squares(rows: list[Row]) -> list[str]:
    lines: list[str] = []
    mine = _some(rows, operation="square", peer="mdla")
    for threads in sorted(_values(mine, "threads")):
        sizes = sorted(_values(mine, "n"))
        lines += [f"## Square matrices, {threads} thread{'' if threads == 1 else 's'}, GF/s", ""]
        body = []
        dgemm = {r["n"]: r for r in _some(rows, operation="square", peer="numpy", threads=threads)}
        body.append(
            ["NumPy DGEMM", "d", *(f"{_rate(dgemm[n]):.3g}" if n in dgemm else "" for n in sizes)]
        )
        for engine in _values(mine, "engine"):
            for prec in _values(mine, "prec"):
                cells = []
                for n in sizes:
                    some = _some(mine, engine=engine, prec=prec, n=n, threads=threads)
                    cells.append(_rate_and_ratio(some[0], rows) if some else "")
                if any(cells):
                    body.append([engine, prec, *cells])
        lines += _table(["engine", "precision", *(f"n = {n}" for n in sizes)], body)
    return lines


def _rate_and_ratio(row: Row, rows: list[Row]) -> str:
    over = ratio(row, rows)
    return f"{_rate(row):.3g}" + ("" if over is None else f" ({over:.2g})")


def _stages(rows: list[Row]) -> list[str]:
    mine = [r for r in rows if r.get("stages") and r["operation"] in ("square", "complex")]
    used = [s for s in STAGES if any(s in r["stages"] for r in mine)]
    body = [
        [
            r["operation"],
            r.get("engine", ""),
            r["prec"],
            str(r["n"]),
            str(r["threads"]),
            f"{1e3 * r['seconds']:.3g}",
            *(f"{1e3 * r['stages'].get(s, 0):.3g}" for s in used),
            f"{1e3 * r['predicted']:.3g}" if "predicted" in r else "",
        ]
        for r in mine
    ]
    head = ["factors", "engine", "precision", "n", "threads", "time", *used, "predicted"]
    return ["## Stages, ms", "", *_table(head, body)]


def _entries(rows: list[Row]) -> list[str]:
    mine = [r for r in rows if r["operation"].endswith(" entries")]
    body = [
        [r["operation"], r["prec"], str(r["n"]), str(r["products"]), f"{_rate(r):.3g}"]
        for r in mine
    ]
    head = ["", "precision", "n", "int8 products", "GF/s"]
    return ["## Distributions of entries, one thread", "", *_table(head, body)]


def _complex(rows: list[Row]) -> list[str]:
    body = []
    for row in _some(rows, operation="complex"):
        real = _some(rows, operation="real", prec=row["prec"], n=row["n"])
        share = f"{_rate(row) / _rate(real[0]):.2g}" if real else ""
        body.append([row["prec"], str(row["n"]), f"{_rate(row):.3g}", share])
    head = ["precision", "n", "GF/s", "of the real rate"]
    return ["## Complex factors, one thread", "", *_table(head, body)]


def _skinny(rows: list[Row]) -> list[str]:
    mine = [r for r in rows if r["operation"].startswith("update")]
    body = []
    for row in mine:
        square = [r for r in mine if r["k"] == r["n"] and r["threads"] == row["threads"]]
        share = f"{_rate(row) / _rate(square[0]):.2g}" if square else ""
        parts = ", ".join(f"{s} {1e3 * t:.3g}" for s, t in row["stages"].items())
        body.append([str(row["k"]), str(row["threads"]), f"{_rate(row):.3g}", share, parts])
    head = ["k", "threads", "GF/s", "of the square rate", "stages, ms"]
    return [
        "## Updates C - V W with V prepared, dd, m = n = 1024",
        "",
        *_table(head, body),
    ]


def _peers(rows: list[Row]) -> list[str]:
    mine = _some(rows, operation="beside peers")
    body = []
    for row in _some(mine, peer="mdla"):
        peers = [r for r in mine if r["prec"] == row["prec"] and r["peer"] != "mdla"]
        versus = ", ".join(f"{p['peer']} {p['seconds'] / row['seconds']:.3g}" for p in peers)
        body.append([row["prec"], str(row["n"]), f"{_rate(row):.3g}", versus])
    head = ["precision", "n", "GF/s", "peers, times as long"]
    return ["## Beside other packages, one thread", "", *_table(head, body)]


def _tuned(rows: list[Row]) -> list[str]:
    mine = sorted(_some(rows, operation="tuned"), key=lambda r: -r["ratio"])
    if not mine:
        return []
    body = [
        [
            r["prec"],
            " x ".join(map(str, r["shape"])),
            r["chosen"],
            r["best"],
            f"{1e3 * r['tuned']:.3g}",
            f"{r['ratio']:.2f}",
        ]
        for r in mine
    ]
    head = ["precision", "m x k x n", "chosen", "best", "time, ms", "ratio"]
    return [
        '## What tune="machine" chooses',
        "",
        "The time of its choice over that of the best of all pairs of scheme and engine, one",
        f"thread: at most {mine[0]['ratio']:.2f} on {len(mine)} products.",
        "",
        *_table(head, body),
    ]


def plot(rows: list[Row], path: Path) -> None:
    """Ratio to DGEMM over the order, one thread, the best engine."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    mine = _some(rows, operation="square", peer="mdla", threads=1)
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for i, prec in enumerate(_values(mine, "prec")):
        for scheme, style in (("crt", "o-"), ("simd", "s:")):
            points: dict[int, float] = {}
            for row in _some(mine, prec=prec):
                over = ratio(row, rows)
                if over is not None and (row["engine"] == "simd") == (scheme == "simd"):
                    points[row["n"]] = max(over, points.get(row["n"], 0.0))
            label = prec if scheme == "crt" else None
            axes.plot(
                sorted(points),
                [points[n] for n in sorted(points)],
                style,
                color=f"C{i}",
                label=label,
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("n")
    axes.set_ylabel("rate over that of NumPy's DGEMM; dotted: direct scheme")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, ncols=2)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
