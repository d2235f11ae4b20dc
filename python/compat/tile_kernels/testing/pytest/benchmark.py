"""Plugin: benchmarks among tests, their records, and reports beside accepted ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import report
from .common import (
    is_worker,
    item_source_file,
    merge_mode,
    share_output,
    tell_worker,
    validate_merge_mode,
)
from .key_filter import compile_filter
from .records import Baselines, Limits, baselines_dir, key_of, make_record
from .shards import Merged, append_line, merge, read_lines
from .timer import time_us


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tile_kernels benchmarks")
    group.addoption("--run-benchmark", action="store_true", help="run benchmark tests too")
    group.addoption("--benchmark-output", metavar="PATH", help="JSON lines of all records")
    group.addoption("--benchmark-verbose", action="store_true", help="extra columns in reports")
    group.addoption(
        "-K",
        "--key-filter",
        action="append",
        metavar="EXPR",
        help="keep tests whose id matches regular expressions, with not, and, or",
    )
    group.addoption("--refresh-baseline", action="store_true", help="write baselines")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "benchmark: runs with --run-benchmark alone")
    option = config.option
    if is_worker(config):
        share_output(config, "benchmark_output", wanted=True)
        return
    if option.refresh_baseline:
        if not option.run_benchmark:
            raise pytest.UsageError("--refresh-baseline needs --run-benchmark")
        validate_merge_mode()
        option.markexpr = f"benchmark and ({option.markexpr})" if option.markexpr else "benchmark"
    for text in option.key_filter or ():
        _matcher(text)
    share_output(config, "benchmark_output", wanted=option.run_benchmark)
    if option.run_benchmark:
        config.pluginmanager.register(_Session(config), "tile_kernels benchmark session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    tell_worker(node, "benchmark_output")


def _matcher(text: str) -> Callable[[str], bool]:
    try:
        return compile_filter(text)
    except ValueError as error:
        raise pytest.UsageError(f"-K: {error}") from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    filters = [_matcher(text) for text in config.option.key_filter or ()]
    if filters:
        kept = [item for item in items if any(matches(item.nodeid) for matches in filters)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept
    if not config.option.run_benchmark:
        skip = pytest.mark.skip(reason="need --run-benchmark to run")
        for item in items:
            if item.get_closest_marker("benchmark"):
                item.add_marker(skip)


@pytest.fixture
def benchmark_timer() -> Callable[..., float]:
    """benchmark_timer(fn, **options of time_us): microseconds of a call with a cold cache."""
    return time_us


@pytest.fixture
def benchmark_record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Prints and keeps what was measured."""
    call = getattr(request.node, "callspec", None)
    own = dict(call.params) if call else {}
    own = own["params"] if isinstance(own.get("params"), dict) else own
    option, limits = request.config.option, Limits.from_environment()

    def record(
        *,
        kernel: str,
        operation: str,
        params: dict[str, Any],
        time_us: float,
        bandwidth_gbs: float | None = None,
        extras: dict[str, Any] | None = None,
    ) -> None:
        made = make_record(
            kernel,
            operation,
            params,
            time_us,
            bandwidth_gbs,
            extras,
            param_id=call.id if call else None,
            source_file=item_source_file(request.node),
            own_params=own,
        )
        facts = [f"{time_us:.1f} us"]
        if "bandwidth_gbs" in made:
            facts.append(f"bandwidth_gbs={made['bandwidth_gbs']:.2f}")
        facts += [f"{name}={value}" for name, value in made.get("extras", {}).items()]
        print(f"  BENCH {key_of(made)}: {', '.join(facts)}")
        if option.benchmark_output:
            append_line(Path(option.benchmark_output), made)
        baseline = Baselines(baselines_dir()).of(made)
        if baseline and limits.status(made["time_us"], baseline["time_us"]) == "regress":
            warnings.warn(
                f"{key_of(made)} took {made['time_us']:.1f} us, {baseline['time_us']:.1f} before",
                stacklevel=2,
            )

    return record


class _Session:
    """What the process does that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.merged: Merged | None = None
        self.lines: list[str] = []

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        option = self.config.option
        records = read_lines(Path(option.benchmark_output))
        limits = Limits.from_environment()
        compared = Baselines(baselines_dir()).compare(records, limits)
        if records:
            self.lines = report.regression_lines(
                compared, baselines_dir(), limits, option.benchmark_verbose
            )
        if exitstatus != 0:
            return
        if option.refresh_baseline:
            measured: dict[str, list] = {}
            for record in records:
                source = record.pop("source_file")
                if source is not None:
                    measured.setdefault(source, []).append(record)
            self.merged = merge(baselines_dir(), measured, key_of, merge_mode())
            return
        found = [c.status for c in compared]
        if limits.fails(found.count("regress"), found.count("missing")):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.merged is not None:
            terminalreporter.section("Benchmark Baseline Update")
            for line in report.update_lines(baselines_dir(), merge_mode(), self.merged):
                terminalreporter.write_line(line)
        if self.lines:
            terminalreporter.section("Benchmark Regression Report")
            for line in self.lines:
                terminalreporter.write_line(line)
