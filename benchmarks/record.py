"""Results: one record per measured case, its line of JSON, and the table that people read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO


class WrongResult(Exception):
    """What was about to be measured computes something else than its peer."""


@dataclass
class Record:
    """What one case took. Times are medians in microseconds."""

    suite: str
    case: str
    dtype: str
    shape: list[int]
    target: str
    device: str
    time_us: float
    bytes: int | None = None  # read and written, each once
    flops: int | None = None  # a multiply and an add are two
    ceiling_us: float | None = None  # what the machine could do at best, measured in the same run
    peers: dict[str, float] = field(default_factory=dict)  # library -> microseconds

    @property
    def key(self) -> tuple:
        """What makes two records of different runs comparable."""
        return self.suite, self.case, self.dtype, tuple(self.shape)

    @property
    def share(self) -> float | None:
        """Of the ceiling: 1 is the best that the machine can do."""
        return self.ceiling_us / self.time_us if self.ceiling_us else None

    @property
    def best_peer(self) -> tuple[str, float] | None:
        return min(self.peers.items(), key=lambda peer: peer[1], default=None)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the best peer."""
        best = self.best_peer
        return best[1] / self.time_us if best else None

    def row(self) -> str:
        shape = " x ".join(map(str, self.shape))
        rate = ""
        if self.flops:
            rate = f"{self.flops / self.time_us / 1e3:.1f} GFLOP/s"
        elif self.bytes:
            rate = f"{self.bytes / self.time_us / 1e3:.1f} GB/s"
        share = f"{self.share:.0%}" if self.share else ""
        ratio = f"{self.ratio:.2f}x {self.best_peer[0]}" if self.best_peer else ""
        return (
            f"{self.case:<26} {self.dtype:<14} {shape:<22} {_duration(self.time_us):>10} "
            f"{rate:>15} {share:>8}  {ratio}"
        )


HEADER = (
    f"{'case':<26} {'dtype':<14} {'shape':<22} {'time':>10} {'rate':>15} {'ceiling':>8}  "
    "best peer's time / ours"
)


def _duration(us: float) -> str:
    if us < 1e3:
        return f"{us:.2f} us"
    return f"{us / 1e3:.2f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"


def write_lines(records: Iterable[Record], file: TextIO) -> None:
    """One JSON object a line."""
    for record in records:
        file.write(json.dumps(asdict(record)) + "\n")


def read_result(path: Path) -> list[Record]:
    """The records of a result file: its first line tells the versions, each other is a record."""
    lines = path.read_text().splitlines()
    return [Record(**json.loads(line)) for line in lines[1:]]
