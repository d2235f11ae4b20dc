"""What a call and an import cost, apart from the work."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator

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
IMPORT = """
import time, numpy
start = time.perf_counter()
import tilewright
print(time.perf_counter() - start)
"""


def run(context: Context) -> Iterator[Record]:
    if context.wants("call"):
        kernel = tw.compile_text(TEXT)
        a, b, c, y, d = np.ones((5, 16), "float32")

        def multiply_add() -> np.ndarray:
            np.multiply(a, b, out=d)
            return np.add(d, c, out=d)

        call = Case(
            "call", "f32", [16], lambda: kernel(a, b, c, y), {"numpy (2 calls)": multiply_add}
        )
        yield context.measure("calls", call)
    if context.wants("import"):
        command = [sys.executable, "-c", IMPORT]
        times = [
            float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1e6
            for _ in range(context.rounds + 1)
        ]
        yield context.record("calls", "import", "", [], statistics.median(times[1:]))
