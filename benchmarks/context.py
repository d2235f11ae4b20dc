"""What a run of the benchmarks knows: its options, the machine, and how a case becomes a record."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ceilings import Ceiling
from measure import Times, interleaved
from record import Record, WrongResult

import tilewright as tw


@dataclass
class Case:
    """One line of a suite. `ours` and the peers do the same work on the same arrays."""

    name: str
    dtype: str
    shape: list[int]
    ours: Callable[[], object]
    peers: dict[str, Callable[[], object]] = field(default_factory=dict)
    bytes: int | None = None
    flops: int | None = None
    ceiling: Ceiling | None = None
    bound: str = "bytes"  # which of the two the ceiling limits
    tolerance: float | None = 1e-3  # largest difference from a peer, relative to the largest value


def _values(result: object) -> np.ndarray | None:
    if hasattr(result, "data_type"):  # onnxruntime's; numpy has no bf16
        return result.numpy() if result.data_type() == "tensor(float)" else None
    return result if isinstance(result, np.ndarray) else None


def _check(case: Case, ours: object, peer: str, theirs: object) -> None:
    found, expected = _values(ours), _values(theirs)
    if case.tolerance is None or found is None or expected is None:
        return
    difference = np.abs(np.subtract(found.reshape(-1), expected.reshape(-1), dtype="float64")).max()
    largest = np.abs(expected).max()
    exact = found.dtype.kind == "u"  # bits of a format that numpy lacks
    if not difference <= (0 if exact else case.tolerance * largest):  # not: catches nan
        raise WrongResult(
            f"{case.name} {case.dtype} {case.shape}: differs from {peer} by {difference:.3g}, "
            f"where the largest value is {largest:.3g}"
        )


@dataclass
class Context:
    """Options of a run, and the machine that it is on."""

    threads: int = 2
    rounds: int = 11
    quick: bool = False  # tiny sizes, to try the benchmarks themselves
    only: str = ""  # of this text in the case's name, all others are left out

    def __post_init__(self) -> None:
        self.target = next(iter(tw.info()["targets"]), "none")
        self.device = device_name()

    def wants(self, case: str) -> bool:
        return self.only in case

    def size(self, full: int) -> int:
        return min(full, 128) if self.quick else full

    def record(self, suite: str, case: str, dtype: str, shape: list[int], us: float) -> Record:
        return Record(suite, case, dtype, shape, self.target, self.device, us)

    def measure(self, suite: str, case: Case) -> Record:
        """Compares the results, then times all in turns."""
        result = case.ours()
        for name, peer in case.peers.items():
            _check(case, result, name, peer())
        contestants = {"tilewright": case.ours, **case.peers}
        if case.ceiling:
            contestants["ceiling"] = case.ceiling.call
        times: dict[str, Times] = interleaved(contestants, self.rounds)
        record = self.record(suite, case.name, case.dtype, case.shape, times["tilewright"].median)
        record.bytes, record.flops = case.bytes, case.flops
        record.peers = {name: times[name].median for name in case.peers}
        if case.ceiling:
            amount = case.flops if case.bound == "flops" else case.bytes
            record.ceiling_us = case.ceiling.us(times["ceiling"], amount)
        return record


def device_name() -> str:
    """The processor, as the kernel names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
