"""The command line: chooses suites, prints tables, writes and compares results."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import re
import sys
from pathlib import Path

from record import HEADER, Record, WrongResult, read_result, write_lines

SUITES = {
    "cpu": "kernels beside numpy and onnxruntime, share of FMA peak and copy bandwidth",
    "compile": "cold compile and disk hit of ten kernels of each kind",
    "minilm": "the model of examples/minilm beside onnxruntime on the same graph",
    "calls": "a warm call of a tiny kernel from C++ and from Python, and the import",
}
# Only when asked for: they need a GPU and torch.
GPU_SUITES = {
    "h200": "memory-bound kernels beside torch, torch.compile and Triton, share of the copy",
    "library": "operators of tile_kernels beside its references, eager and by torch.compile",
    "launch": "a warm call from C++ beside the driver's launch of the same function",
}
# Accepted when run alone, in a file of its own.
ALONE = "library"
RESULTS = Path(__file__).parent / "results"
# They would change what OpenBLAS chooses for this machine.
FOREIGN = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
# A case has become slower when it takes this much longer: machines are noisy.
SLOWER = 1.15


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measures tilewright, its peers and the machine's ceilings in turns.",
        epilog="docs/benchmarks.md explains the method and the fields of a result.",
    )
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"all, or: {' '.join(SUITES | GPU_SUITES)}"
    )
    parser.add_argument("--list", action="store_true", help="say what each suite measures")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name has TEXT")
    parser.add_argument("--repeat", metavar="N", type=int, default=11, help="rounds; medians count")
    parser.add_argument("--threads", metavar="N", type=int, default=2, help="of all contestants")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the benchmarks")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write one object a line and case"
    )
    parser.add_argument(
        "--accept", action="store_true", help="keep this result in benchmarks/results/"
    )
    parser.add_argument(
        "--charts",
        metavar="FILE",
        type=Path,
        help="draw the charts of an accepted result beside it, and measure nothing",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="fail if a case is slower than in the last result accepted on such a device",
    )
    options = parser.parse_args(arguments)
    known = SUITES | GPU_SUITES
    unknown = [suite for suite in options.suites if suite not in (*known, "all")]
    if unknown:
        parser.error(f"there is no suite {unknown[0]}, only {', '.join(known)}")
    options.gpu = bool(options.suites) and all(suite in GPU_SUITES for suite in options.suites)
    if not options.gpu and any(suite in GPU_SUITES for suite in options.suites):
        parser.error("suites of the CPU and of a GPU are measured in runs of their own")
    for name in ("repeat", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}, it must be at least 1")
    if options.quick and (options.accept or options.check):
        parser.error("--quick measures other sizes, which can't be accepted or checked")
    others = [suite for suite in GPU_SUITES if suite != ALONE]
    whole = set(options.suites) == set(others) or options.suites in ([], ["all"], [ALONE])
    if options.accept and (options.only or not whole):
        parser.error(
            "--accept keeps whole results: leave out --only, and name no suite, "
            f"{' '.join(others)}, or {ALONE}"
        )
    if not options.suites or "all" in options.suites:
        options.suites = list(SUITES)
    return options


def restart_in_a_clean_environment(threads: int) -> None:
    """Libraries read these variables when they are loaded, so the process starts again."""
    wanted = {"TW_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    environment = {k: v for k, v in os.environ.items() if k not in FOREIGN} | wanted
    if environment != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def versions(gpu: bool) -> dict[str, str]:
    if gpu:
        import gpu as on_gpu

        return on_gpu.versions()
    import numpy
    import onnxruntime
    from threadpoolctl import threadpool_info

    import tilewright

    blas = next((p for p in threadpool_info() if p["user_api"] == "blas"), {})
    found = {m.__name__: m.__version__ for m in (tilewright, numpy, onnxruntime)}
    return {
        **found,
        "blas": " ".join(str(blas.get(k)) for k in ("internal_api", "version", "architecture")),
        "build_id": tilewright.info()["build_id"],
        "python": sys.version.split()[0],
    }


def name_of(records: list[Record]) -> str:
    """Of their result, behind the date."""
    own = f"_{ALONE}" if records[0].suite == ALONE else ""
    return f"{slug(records[0].device)}{own}.json"


def result_files(name: str) -> list[Path]:
    """Those accepted under such a name, the last one at the end."""
    return sorted(RESULTS.glob(f"*_{name}"))


def slug(device: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")


def accept(records: list[Record], gpu: bool) -> Path:
    """Writes the result with the versions that it was made with."""
    device = records[0].device
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    path = RESULTS / f"{date}_{name_of(records)}"
    RESULTS.mkdir(exist_ok=True)
    with path.open("w") as file:
        file.write(json.dumps({"date": date, "device": device, "versions": versions(gpu)}) + "\n")
        write_lines(records, file)
    return path


def slower_cases(records: list[Record], before: list[Record]) -> list[str]:
    """Compares what the machine's state doesn't change: the ratio to the ceiling or to the best
    peer of the same run; the time only where a case has neither."""

    def speed(r: Record) -> float:
        return r.share or r.ratio or 1 / r.time_us

    known = {record.key: record for record in before}
    return [
        f"{r.case} {r.dtype} {r.shape}: {speed(known[r.key]) / speed(r):.2f} times as slow"
        for r in records
        if r.key in known and speed(known[r.key]) > SLOWER * speed(r)
    ]


def measure(options: argparse.Namespace) -> list[Record]:
    if options.gpu:
        from gpu import GpuContext

        context = GpuContext(options.repeat, options.quick, options.only)
        print(f"{context.device}, {context.target}, {context.rounds} rounds")
    else:
        from context import Context

        context = Context(options.threads, options.repeat, options.quick, options.only)
        print(
            f"{context.device}, {context.target}, {context.threads} threads, "
            f"{context.rounds} rounds"
        )
    records = []
    for name in options.suites:
        print(f"\n{name}: {(SUITES | GPU_SUITES)[name]}\n{HEADER}")
        for record in importlib.import_module(f"suites.{name}").run(context):
            print(record.row(), flush=True)
            records.append(record)
    return records


def check(records: list[Record]) -> bool:
    files = result_files(name_of(records))
    if not files:
        print(f"\ncheck: no result was accepted on {records[0].device}; --accept keeps this one")
        return True
    slower = slower_cases(records, read_result(files[-1]))
    print(f"\ncheck: {len(slower)} cases slower than in {files[-1].name}")
    for line in slower:
        print(f"  {line}")
    return not slower


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    if options.list:
        for name, text in (SUITES | GPU_SUITES).items():
            print(f"{name:<10} {text}")
        return 0
    if options.charts:
        from charts import draw_charts

        for path in draw_charts(options.charts):
            print(path)
        return 0
    restart_in_a_clean_environment(options.threads)
    try:
        records = measure(options)
    except WrongResult as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if not records:
        print(f"bench: no case has '{options.only}' in its name", file=sys.stderr)
        return 1
    if not options.quick:
        print_bars(records)
    if options.json:
        with options.json.open("w") as file:
            write_lines(records, file)
    good = not options.check or check(records)
    if options.accept:
        print(f"\naccepted as {accept(records, options.gpu).name}")
    return 0 if good else 1


def print_bars(records: list[Record]) -> None:
    from bars import judge

    lines = [text for _, text in judge(records)]
    if lines:
        print("\nbars\n  " + "\n  ".join(lines))
