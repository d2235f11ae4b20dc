"""Tables at the end of a session."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..bench import format_param_id
from .records import Compared, Limits, Record, key_of
from .shards import Merged


def update_lines(root: Path, mode: str, merged: Merged) -> list[str]:
    """What a refresh wrote."""
    return [
        f"{root} ({mode}): {merged.updated} updated, {merged.new} new, {merged.removed} removed, "
        f"{merged.total} total",
        f"{len(merged.shards)} shards: {', '.join(merged.shards)}",
    ]


def regression_lines(
    compared: Sequence[Compared], root: Path, limits: Limits, verbose: bool
) -> list[str]:
    """All tables and lists about the records of a session."""
    ordered = sorted(compared, key=lambda c: _order(c.record))
    known = [c for c in ordered if c.baseline is not None]
    missing = [c for c in ordered if c.baseline is None]
    lines = [] if known else [f"no baselines for these benchmarks in {root}"]
    if known:
        lines += _baseline_table(known, verbose)
    if missing:
        lines += ["", "Without baseline:", *_missing_table(missing)]
    slower = [c for c in known if c.status == "regress"]
    faster = [c for c in known if c.status == "improve"]
    lines += [
        "",
        f"Total: {len(ordered)} benchmarks, {len(known)} with baselines, {len(missing)} missing, "
        f"{len(slower)} regressions, {len(faster)} improvements "
        f"(threshold: {limits.relative * 100:g}%)",
    ]
    for title, chosen in (("Improvements", faster), ("Regressions", slower)):
        if chosen:
            lines += ["", f"{title}:", *map(_change, chosen)]
    return lines


def _change(c: Compared) -> str:
    current, baseline = c.record["time_us"], c.baseline["time_us"]
    factor = current / baseline if c.status == "regress" else baseline / current
    word = "slower" if c.status == "regress" else "faster"
    return f"  {_name(c.record)}: {factor:.2f}x {word} ({baseline:.1f} -> {current:.1f} us)"


def _baseline_table(known: Sequence[Compared], verbose: bool) -> list[str]:
    extras = _extra_names(c.record for c in known) if verbose else []
    head = ["Kernel", "Latency (us)", "Bandwidth (GB/s)"]
    head += [f"{name}({which})" for name in extras for which in ("cur", "ref")]
    rows = [[*head, "Ratio", "Stat"]]
    for c in known:
        row = [_name(c.record), f"{c.record['time_us']:.1f}", _bandwidth(c.record)]
        for name in extras:
            row += [_extra(c.record, name), _extra(c.baseline, name)]
        rows.append([*row, f"{c.ratio:.2f}x", c.status])
    mean = _mean_row([c.record for c in known], 2 * len(extras))
    rows.append([*mean, f"{geomean(c.ratio for c in known):.2f}x", ""])
    return table(rows)


def _missing_table(missing: Sequence[Compared]) -> list[str]:
    records = [c.record for c in missing]
    extras = _extra_names(records)
    rows = [["Kernel", "Current", "Bandwidth", *extras]]
    for record in records:
        row = [_name(record), f"{record['time_us']:.1f}", _bandwidth(record)]
        rows.append(row + [_extra(record, name) for name in extras])
    return table([*rows, _mean_row(records, len(extras))])


def _mean_row(records: Sequence[Record], blanks: int) -> list[str]:
    speeds = [record["bandwidth_gbs"] for record in records if record.get("bandwidth_gbs")]
    time = geomean(record["time_us"] for record in records)
    return ["GEOMEAN", f"{time:.1f}", f"{geomean(speeds):.1f}" if speeds else "", *[""] * blanks]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
    return lines


def geomean(values: Iterable[float]) -> float:
    values = list(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if all(values) else 0.0


def _name(record: Record) -> str:
    """Its key, with the parameters in columns."""
    key = key_of(record)
    if record["param_id"] is None:
        return key
    shown = format_param_id(record["param_id"], display=True)
    return f"{record['kernel']}/{record['operation']}[{shown}]"


def _order(record: Record) -> tuple:
    """By kernel and operation, then by parameters, whose numbers count as such."""
    parts = re.split(r"(\d+)", key_of(record))
    numeric = [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
    return record["kernel"], record["operation"], numeric


def _extra_names(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record.get("extras", {})))


def _extra(record: Record, name: str) -> str:
    value: Any = record.get("extras", {}).get(name, "")
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _bandwidth(record: Record) -> str:
    value = record.get("bandwidth_gbs")
    return "" if value is None else f"{value:.1f}"
