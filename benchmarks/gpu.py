"""What a run on a GPU knows, and how it takes times: those of the device itself, with a cold cache.

CUPTI (through torch.profiler) gives the duration of each kernel. Before each call a kernel reads
memory larger than the L2 cache; its name parts the kernels of one call from those of the next.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from record import Record, WrongResult
from torch.profiler import ProfilerActivity, profile

import tilewright as tw

EVICTED = 256 << 20  # bytes that are read before each call: several times the L2 cache
EVICT = f"""tilewright ir 1
program "evict_cache" {{
  input x: f32[{EVICTED // 4}]
  output y: f32[{EVICTED // 4 // 4096}]
  launch b in {EVICTED // 4 // 4096} {{
    alloc t: f32[1, 4096] fragment
    parallel i in 1, j in 4096 {{ t[i, j] = x[b * 4096 + j] }}
    alloc s: f32[1] fragment
    reduce max t -> s over [1]
    parallel i in 1 {{ y[b + i] = s[i] }}
  }}
}}
"""


@dataclass
class GpuCase:
    """One line of a suite. All contestants read and write the same tensors."""

    name: str
    dtype: str
    shape: list[int]
    ours: Callable[[], torch.Tensor | None]  # None: compared elsewhere
    bytes: int  # read and written, each once
    peers: dict[str, Callable[[], torch.Tensor]] = field(default_factory=dict)
    reads_only: bool = False  # the ceiling is the simplest kernel that reads, not a copy
    tolerance: float = 1e-2  # of the norm of the difference, relative to that of the first peer


@dataclass
class GpuContext:
    """Options of a run, and the device that it is on."""

    rounds: int = 11
    quick: bool = False
    only: str = ""

    def __post_init__(self) -> None:
        self.device = torch.cuda.get_device_name()
        self.target = "cuda:sm_" + "".join(map(str, torch.cuda.get_device_capability()))
        evict = tw.compile_text(EVICT, target="cuda")
        source = torch.ones(EVICTED // 4, device="cuda")
        sink = torch.empty(EVICTED // 4 // 4096, device="cuda")
        self._evict = lambda: evict(source, out=sink)

    def wants(self, case: str) -> bool:
        return self.only in case

    def measure(self, suite: str, case: GpuCase) -> Record:
        """Compares the results, then times all in turns."""
        result = case.ours()
        for name, peer in case.peers.items():
            _check(case, result, name, peer())
        ceiling = reader(case.bytes) if case.reads_only else copier(case.bytes)
        contestants = {"tilewright": case.ours, **case.peers, "ceiling": ceiling}
        times = self.device_times(contestants)
        record = Record(
            suite, case.name, case.dtype, case.shape, self.target, self.device, times["tilewright"]
        )
        record.bytes = case.bytes
        record.ceiling_us = times.pop("ceiling")
        record.peers = {name: us for name, us in times.items() if name != "tilewright"}
        return record

    def device_times(self, contestants: dict[str, Callable[[], object]]) -> dict[str, float]:
        """Median over the rounds of the time that a call's kernels take together, in us."""
        for call in contestants.values():
            call()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            for _ in range(self.rounds):
                for call in contestants.values():
                    self._evict()
                    call()
            torch.cuda.synchronize()
        kernels = sorted(
            (e for e in trace.events() if e.device_type == torch.autograd.DeviceType.CUDA),
            key=lambda e: e.time_range.start,
        )
        calls: list[float] = []
        for kernel in kernels:
            if "evict_cache" in kernel.name:
                calls.append(0.0)
            elif calls:
                calls[-1] += kernel.time_range.end - kernel.time_range.start
        if len(calls) != self.rounds * len(contestants):
            raise RuntimeError(f"the profiler saw {len(calls)} calls, not {self.rounds} a case")
        return {
            name: statistics.median(calls[i :: len(contestants)])
            for i, name in enumerate(contestants)
        }


def _check(case: GpuCase, ours: torch.Tensor, peer: str, theirs: torch.Tensor) -> None:
    if ours is None or theirs is None:
        return
    found, expected = ours.double().flatten(), theirs.double().flatten()
    difference = (found - expected).norm() / expected.norm().clamp(min=1e-30)
    if not difference.item() <= case.tolerance:  # not: catches nan
        raise WrongResult(
            f"{case.name} {case.dtype} {case.shape}: differs from {peer} by {difference:.3g}"
        )


def copier(moved: int) -> Callable[[], object]:
    """torch's copy, reading half of so many bytes and writing the other."""
    source = torch.randint(0, 255, (moved // 2,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def reader(moved: int) -> Callable[[], object]:
    """The simplest kernel that reads so many bytes: a block adds up 8,192 numbers."""
    from triton_peers import read

    source = torch.randn(moved // 4, device="cuda")
    return lambda: read(source)


def versions() -> dict[str, str]:
    import triton

    return {
        "tilewright": tw.__version__,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": str(torch.version.cuda),
        "build_id": tw.info()["build_id"],
        "driver": driver_version(),
    }


def driver_version() -> str:
    """Of the kernel module, as it tells it itself."""
    text = Path("/proc/driver/nvidia/version").read_text()
    found = re.search(r"(\d+\.\d+(\.\d+)?)", text)
    return found.group(1) if found else "unknown"
