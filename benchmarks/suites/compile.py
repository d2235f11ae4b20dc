"""How long it takes until a kernel can run: compiled from nothing, and found in the disk cache."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from context import Context
from record import Record

FIRST_CALLS = Path(__file__).parent.parent / "first_calls.py"


def run(context: Context) -> Iterator[Record]:
    """Per kind of kernel the median of ten. The second process finds what the first compiled."""
    with tempfile.TemporaryDirectory() as folder:
        for case in ("cold compile", "disk hit"):
            for kind, times in first_calls(folder).items():
                if context.wants(f"{case} {kind}"):
                    median = statistics.median(times.values())
                    yield context.record("compile", f"{case} {kind}", "", [len(times)], median)


def first_calls(cache: str) -> dict[str, dict[str, float]]:
    environment = {**os.environ, "TW_CACHE_DIR": cache}
    for variable in ("TW_CACHE_DISABLE", "TW_CACHE_READONLY"):
        environment.pop(variable, None)
    command = [sys.executable, str(FIRST_CALLS)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)
