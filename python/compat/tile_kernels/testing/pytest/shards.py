"""Records in files of one JSON object a line, one file for each file of tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]


@dataclass
class Merged:
    """What a refresh changed."""

    updated: int = 0
    new: int = 0
    removed: int = 0
    total: int = 0
    shards: list[str] = field(default_factory=list)


def read_lines(path: Path) -> list[Record]:
    """The records of a file, none if there is no such file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def append_line(path: Path, record: Record) -> None:
    """Adds a record by one write, so that several processes can share a file."""
    with path.open("a") as file:
        file.write(json.dumps(record, default=str) + "\n")


def shard_path(root: Path, source_file: str) -> Path:
    return root / (source_file + ".jsonl")


def merge(
    root: Path,
    measured: dict[str, list[Record]],
    key: Callable[[Record], str],
    mode: str,
    pick: Callable[[Record, Record], Record] = lambda old, new: new,
) -> Merged:
    """Writes records by their source files. mode: 'overwrite' drops what a shard had, 'replace'
    updates what was measured, 'fill' adds what was missing."""
    merged = Merged()
    for source, records in sorted(measured.items()):
        path = shard_path(root, source)
        old = {key(record): record for record in read_lines(path)}
        new: dict[str, Record] = {}
        for record in records:
            name = key(record)
            new[name] = pick(new[name], record) if name in new else record
        kept = {} if mode == "overwrite" else old
        result = {**new, **old} if mode == "fill" else {**kept, **new}
        merged.new += len(result.keys() - old.keys())
        merged.removed += len(old.keys() - result.keys())
        merged.updated += 0 if mode == "fill" else len(new.keys() & old.keys())
        merged.total += len(result)
        merged.shards.append(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(result[name], default=str) + "\n" for name in sorted(result))
        path.write_text("".join(lines))
    return merged
