"""Records of benchmarks, and what they say beside a baseline."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .common import get_tests_dir
from .shards import Record, read_lines, shard_path


def make_record(
    kernel: str,
    operation: str,
    params: dict[str, Any],
    time_us: float,
    bandwidth_gbs: float | None,
    extras: dict[str, Any] | None,
    param_id: str | None,
    source_file: str | None,
    own_params: dict[str, Any],
) -> Record:
    """A record as it is written. own_params: those of the test, which its id tells."""
    extras = dict(extras or {})
    if bandwidth_gbs is None:
        bandwidth_gbs = extras.pop("bandwidth_gbs", None)
    record: Record = {
        "kernel": kernel,
        "operation": operation,
        "params": dict(sorted(params.items())),
        "param_id": param_id,
        "source_file": source_file,
        "time_us": round(time_us, 2),
    }
    missing = object()
    further = {k: v for k, v in params.items() if own_params.get(k, missing) != v}
    if further:
        record["extra_params"] = further
    if bandwidth_gbs is not None:
        record["bandwidth_gbs"] = round(bandwidth_gbs, 4)
    if extras:
        record["extras"] = {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in extras.items()
        }
    return record


def key_of(record: Record) -> str:
    """What joins records of several runs: kernel, operation and the test's id or parameters."""
    named = record["param_id"]
    if named is None and record["params"]:
        named = ",".join(f"{name}={value}" for name, value in sorted(record["params"].items()))
    return f"{record['kernel']}/{record['operation']}[{named}]"


def baselines_dir() -> Path:
    named = os.environ.get("TK_BENCHMARK_BASELINES_DIR")
    return Path(named) if named else get_tests_dir() / "benchmark_baselines"


@dataclass(frozen=True)
class Limits:
    """How much slower or faster is a change."""

    relative: float
    least_us: float
    fail_mode: str

    @staticmethod
    def from_environment() -> Limits:
        return Limits(
            float(os.environ.get("TK_BENCHMARK_REGRESSION_THRESHOLD", "0.05")),
            float(os.environ.get("TK_BENCHMARK_MIN_DELTA_US", "0.8")),
            os.environ.get("TK_BENCHMARK_FAIL_MODE", "regression"),
        )

    def status(self, current_us: float, baseline_us: float) -> str:
        """'regress', 'improve' or 'OK'."""
        ratio, delta = current_us / baseline_us, current_us - baseline_us
        if ratio > 1 + self.relative and delta >= self.least_us:
            return "regress"
        return "improve" if ratio < 1 - self.relative and -delta >= self.least_us else "OK"

    def fails(self, regressions: int, missing: int) -> bool:
        """Whether the session does."""
        modes = self.fail_mode.split("-")
        return ("regression" in modes and regressions > 0) or ("missing" in modes and missing > 0)


@dataclass(frozen=True)
class Compared:
    """A record beside its baseline, if there is one."""

    record: Record
    baseline: Record | None
    status: str

    @property
    def ratio(self) -> float:
        return self.record["time_us"] / self.baseline["time_us"]


class Baselines:
    """Records that were accepted, read shard by shard."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._shards: dict[str, dict[str, Record]] = {}

    def of(self, record: Record) -> Record | None:
        source = record["source_file"]
        if source is None:
            return None
        if source not in self._shards:
            lines = read_lines(shard_path(self.root, source))
            self._shards[source] = {key_of(line): line for line in lines}
        return self._shards[source].get(key_of(record))

    def compare(self, records: Iterable[Record], limits: Limits) -> list[Compared]:
        compared = []
        for record in records:
            baseline = self.of(record)
            status = (
                "missing"
                if baseline is None
                else limits.status(record["time_us"], baseline["time_us"])
            )
            compared.append(Compared(record, baseline, status))
        return compared
