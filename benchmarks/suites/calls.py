"""What a call and an import cost, apart from the work."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from context import Case, Context
from record import Record

import tilewright as tw

TEXT = """tilewright ir 1
program "multiply_add" {
  input a: f32[16]
  input b: f32[16]
  input c: f32[16]
  output y: f32[16]
  launch block in 1 {
    parallel i in 16 {
      y[i] = a[i] * b[i] + c[i]
    }
  }
}
"""
# Built from call.cpp, where Google Benchmark is installed: its names, and those of records.
FROM_CPP = {
    "call": "call from C++",
    "rms_norm_from_cpp": "rms_norm from C++",
    "rms_norm_from_c": "rms_norm from C",
}
CALL_FROM_CPP = Path(__file__).parents[2] / "build" / "benchmarks" / "tw_bench_call"
IMPORT = """
import time, numpy
start = time.perf_counter()
import tilewright
print(time.perf_counter() - start)
"""


def run(context: Context) -> Iterator[Record]:
    yield from calls_from_cpp(context)
    if context.wants("call from Python"):
        kernel = tw.compile_text(TEXT)
        a, b, c, y, d = np.ones((5, 16), "float32")

        def multiply_add() -> np.ndarray:
            np.multiply(a, b, out=d)
            return np.add(d, c, out=d)

        call = Case(
            "call from Python",
            "f32",
            [16],
            lambda: kernel(a, b, c, y),
            {"numpy (2 calls)": multiply_add},
        )
        yield context.measure("calls", call)
    if context.wants("import"):
        command = [sys.executable, "-c", IMPORT]
        times = [
            float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1e6
            for _ in range(context.rounds + 1)
        ]
        yield context.record("calls", "import", "", [], statistics.median(times[1:]))


def calls_from_cpp(context: Context) -> Iterator[Record]:
    """The same kernel and one of the library, called by a program that Google Benchmark times."""
    wanted = {name: record for name, record in FROM_CPP.items() if context.wants(record)}
    if not wanted:
        return
    if not CALL_FROM_CPP.exists():
        print("calls from C++: skipped, Google Benchmark was not there when tilewright was built")
        return
    options = ["--benchmark_format=json", f"--benchmark_repetitions={context.rounds}"]
    command = [str(CALL_FROM_CPP), *options, "--benchmark_min_time=0.05"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    times: dict[str, list[float]] = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"], []).append(run["real_time"])  # in ns
    for name, record in wanted.items():
        median = statistics.median(times[name])
        yield context.record("calls", record, "f32", [16], median / 1e3)
