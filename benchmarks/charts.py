"""A chart for each suite of an accepted result: the share of the ceiling over the bytes moved."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
from record import Record, read_result

COLUMNS = 4
OURS = "tilewright"
plt.rcParams["svg.hashsalt"] = OURS  # the same chart, the same file


def shares(records: list[Record]) -> dict[str, list[tuple[float, float]]]:
    """Of one case: for each contestant (MiB moved, share of the ceiling), by size."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for r in sorted(records, key=lambda r: r.bytes):
        for name, us in ({OURS: r.time_us} | r.peers).items():
            lines.setdefault(name, []).append((r.bytes / 2**20, r.ceiling_us / us))
    return lines


def draw(records: list[Record], title: str, path: Path) -> None:
    """One small chart for each case and dtype, all to the same scale."""
    cases: dict[tuple[str, str], list[Record]] = {}
    for r in records:
        cases.setdefault((r.case, r.dtype), []).append(r)
    rows = math.ceil(len(cases) / COLUMNS)
    figure, grid = plt.subplots(
        rows, COLUMNS, figsize=(3.2 * COLUMNS, 2.4 * rows), sharey=True, squeeze=False
    )
    colors: dict[str, str] = {OURS: "C0"}
    for axes, ((case, dtype), of_case) in zip(grid.flat, cases.items(), strict=False):
        for name, points in shares(of_case).items():
            color = colors.setdefault(name, f"C{len(colors)}")
            width = 2.2 if name == OURS else 1.2
            axes.plot(*zip(*points, strict=True), "o-", ms=3, lw=width, color=color, label=name)
        axes.axhline(1, color="gray", lw=0.8)
        axes.set(xscale="log", ylim=(0, 1.5))
        sizes = sorted({round(r.bytes / 2**20, 1) for r in of_case})
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.minorticks_off()
        axes.set_title(f"{case} {dtype}", fontsize=9)
    for axes in grid.flat[len(cases) :]:
        axes.remove()
    handles = [plt.Line2D([], [], color=color, label=name) for name, color in colors.items()]
    figure.legend(handles=handles, loc="lower right", ncols=len(handles))
    figure.supxlabel("MiB read and written")
    figure.supylabel("share of the ceiling")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_charts(result: Path) -> list[Path]:
    """Charts of the suites in a result that move memory, beside it: of the cases of many sizes."""
    records = [r for r in read_result(result) if r.bytes and not r.flops and r.ceiling_us]
    sizes = Counter((r.suite, r.case, r.dtype) for r in records)
    records = [r for r in records if sizes[r.suite, r.case, r.dtype] > 1]
    made = []
    for suite in dict.fromkeys(r.suite for r in records):
        of_suite = [r for r in records if r.suite == suite]
        path = result.with_name(f"{result.stem}_{suite}.svg")
        draw(of_suite, f"{suite}, {of_suite[0].device}", path)
        made.append(path)
    return made
