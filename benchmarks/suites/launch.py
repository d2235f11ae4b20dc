"""What a warm call from C++ costs the host on a GPU, beside the driver's launch of the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gpu import GpuContext
from record import Record

# Built from launch.cpp; in the archive of ./dev pack below bin/.
ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "build" / "benchmarks", ROOT / "bin")


def run(context: GpuContext) -> Iterator[Record]:
    program = next(p for place in PLACES if (p := place / "tw_bench_launch").exists())
    done = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if context.wants(found["case"]):
            record = Record(
                "launch", found["case"], "f32", [], context.target, context.device, found["us"]
            )
            record.peers = {"cuLaunchKernelEx": found["bare_us"]}
            yield record
