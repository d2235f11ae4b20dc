"""Plugin: how much memory of the GPU each test takes, so that large ones can run by themselves."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .common import (
    is_worker,
    item_source_file,
    merge_mode,
    share_output,
    tell_worker,
    validate_merge_mode,
)
from .report import table
from .shards import Record, append_line, merge, read_lines

_MB = 1e6
_started = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tile_kernels memory")
    group.addoption("--gpu-mem-output", metavar="PATH", help="record the peak of each test")
    group.addoption("--refresh-mem", action="store_true", help="write memory profiles")
    group.addoption(
        "--gpu-mem-threshold", type=float, default=15000, metavar="MB",
        help="tests above it are marked large_gpu_mem",
    )  # fmt: skip
    group.addoption(
        "--gpu-mem-flush-interval", type=float, default=300, metavar="SECONDS",
        help="how often profiles are written meanwhile, in the mode fill",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "large_gpu_mem: takes much memory of the GPU, or nobody knows"
    )
    option = config.option
    if is_worker(config):
        share_output(config, "gpu_mem_output", wanted=False)
        return
    if option.refresh_mem:
        validate_merge_mode()
        if profiles_dir() is None:
            raise pytest.UsageError("--refresh-mem needs TK_GPU_MEM_PROFILES_DIR")
    share_output(config, "gpu_mem_output", wanted=option.refresh_mem)
    if option.gpu_mem_output is not None:
        config.pluginmanager.register(_Session(config), "tile_kernels memory session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    tell_worker(node, "gpu_mem_output")


def profiles_dir() -> Path | None:
    named = os.environ.get("TK_GPU_MEM_PROFILES_DIR")
    return Path(named) if named else None


def memory_id(item: pytest.Item) -> str:
    """The id from the tests' root on, without the number of cores, which doesn't matter here."""
    source = item_source_file(item)
    name = "::".join([source or item.nodeid.split("::")[0], *item.nodeid.split("::")[1:]])
    return re.sub(r"num_sms=[^,\]-]*[,-]?", "", name)


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Marks what is large; without TK_GPU_MEM_PROFILES_DIR nothing is known, and nothing marked."""
    root = profiles_dir()
    if root is None:
        return
    known = {
        record["test_id"]: record["peak_gpu_mb"]
        for path in sorted(root.rglob("*.jsonl"))
        for record in read_lines(path)
    }
    for item in items:
        if known.get(memory_id(item), float("inf")) > config.option.gpu_mem_threshold:
            item.add_marker(pytest.mark.large_gpu_mem)


# ---- measuring ----
class CudaMemory:
    """The counters of torch's allocator."""

    def start(self) -> int:
        """Bytes that are allocated now, from where the peak is counted."""
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()

    def peak(self) -> int:
        import torch

        return torch.cuda.max_memory_allocated()


def memory() -> CudaMemory | None:
    """None without a GPU."""
    import torch

    return CudaMemory() if torch.cuda.is_available() else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    meter = memory() if item.config.option.gpu_mem_output else None
    if meter is not None:
        item.stash[_started] = meter.start()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """After the last phase of a test that passed in each, its peak is written."""
    made = yield
    if _started in item.stash:
        if not made.passed:
            del item.stash[_started]
        elif made.when == "teardown":
            peak = (memory().peak() - item.stash[_started]) / _MB
            record = {
                "test_id": memory_id(item),
                "peak_gpu_mb": round(max(0.0, peak), 1),
                "source_file": item_source_file(item),
            }
            append_line(Path(item.config.option.gpu_mem_output), record)
    return made


# ---- reporting ----
def _larger(old: Record, new: Record) -> Record:
    return max(old, new, key=lambda record: record["peak_gpu_mb"])


class _Session:
    """What the process does that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.flushed = time.monotonic()

    def records(self) -> list[Record]:
        return read_lines(Path(self.config.option.gpu_mem_output))

    def write_profiles(self) -> None:
        measured: dict[str, list[Record]] = {}
        for record in self.records():
            source = record.pop("source_file")
            if source is not None:
                measured.setdefault(source, []).append(record)
        merge(profiles_dir(), measured, lambda record: record["test_id"], merge_mode(), _larger)

    def pytest_runtest_logreport(self) -> None:
        option = self.config.option
        due = time.monotonic() - self.flushed > option.gpu_mem_flush_interval
        if option.refresh_mem and merge_mode() == "fill" and due:
            self.write_profiles()
            self.flushed = time.monotonic()

    def pytest_sessionfinish(self) -> None:
        if self.config.option.refresh_mem:
            self.write_profiles()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        peaks: dict[str, float] = {}
        for record in self.records():
            name = record["test_id"]
            peaks[name] = max(peaks.get(name, 0.0), record["peak_gpu_mb"])
        terminalreporter.section("GPU Memory Report")
        limit = self.config.option.gpu_mem_threshold
        rows = [["Test", "Peak MB", "Class"]]
        for name, peak in sorted(peaks.items(), key=lambda entry: (-entry[1], entry[0])):
            rows.append([name, f"{peak:.1f}", "LARGE" if peak > limit else "ok"])
        large = sum(peak > limit for peak in peaks.values())
        for line in table(rows):
            terminalreporter.write_line(line)
        terminalreporter.write_line(
            f"Total: {len(peaks)} tests, {large} large, {len(peaks) - large} ok "
            f"(threshold: {limit:g} MB)"
        )
        if self.config.option.refresh_mem:
            terminalreporter.write_line(f"written to {profiles_dir()} ({merge_mode()})")
