#!/usr/bin/env python3
"""Runs all mutants of the library in the twin, prints what became of them, and records it.

usage: mutants.py TW_MUTATE [--jobs N] [--check] [--record FILE] [KERNEL...]

TW_MUTATE is the executable, which is run for one kernel after the other, N at a time. --record
fills the tables between `<!-- mutants -->` and `<!-- end -->` of a document; only a run of all
kernels can do that. --check also looks for caught mutants that count as equivalent. Exits with 1 if
fewer than 99 % of the mutants that aren't equivalent are caught, or a survivor has no explanation.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

WANTED = 0.99
SLOW = ("attention", "gemm", "transpose", "max", "argmax", "layer_norm", "sum")
PLACE = re.compile(r"(<!-- mutants -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass
class Total:
    """What became of the mutants of some launches."""

    launches: int = 0
    mutants: int = 0
    reported: int = 0
    differs: int = 0
    equivalent: Counter = field(default_factory=Counter)
    survivors: list[dict] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0  # call in the twin

    def add(self, result: dict) -> None:
        self.launches += 1
        self.mutants += result["mutants"]
        self.reported += result["reported"]
        self.differs += result["differs"]
        self.equivalent.update(result["equivalent"])
        self.survivors += [{**s, "what": result["what"]} for s in result["survivors"]]
        self.wrong += [
            f"{result['kernel']}, {result['what']}: {w}" for w in result.get("wrong", [])
        ]
        self.seconds += result["seconds"]
        self.slowest = max(self.slowest, result["twin_seconds"])

    @property
    def caught(self) -> int:
        return self.reported + self.differs

    @property
    def share(self) -> float:
        """Caught among those that aren't equivalent."""
        return self.caught / max(self.mutants - self.equivalent.total(), 1)

    def row(self, name: str) -> str:
        cells = [
            name,
            self.launches,
            f"{self.slowest:.2f}",
            self.mutants,
            self.reported,
            self.differs,
            self.equivalent.total(),
            len(self.survivors),
            f"{100 * self.share:.1f} %",
        ]
        return "| " + " | ".join(map(str, cells)) + " |"


HEADER = (
    "| kernel | launches | slowest call, s | mutants | reported | other result | equivalent "
    "| survive | caught |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def run_kernel(tool: Path, kernel: str, check: bool) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [tool, kernel, "--json", file] + (["--check"] if check else [])
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"tw-mutate {kernel} failed:\n{done.stdout}{done.stderr}")
        return [json.loads(line) for line in file.read_text().splitlines()]


def run_all(tool: Path, kernels: list[str], jobs: int, check: bool) -> dict[str, Total]:
    """The slow ones first, so that no job waits for them at the end."""
    totals: dict[str, Total] = {}
    order = sorted(kernels, key=lambda kernel: not kernel.startswith(SLOW))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run_kernel, tool, k, check): k for k in order}
        for future in as_completed(futures):
            kernel = futures[future]
            total = totals.setdefault(kernel, Total())
            for result in future.result():
                total.add(result)
            print(
                f"{kernel}: {total.caught} of {total.mutants} mutants of {total.launches} launches "
                f"are caught, {total.equivalent.total()} are equivalent, {len(total.survivors)} "
                f"survive ({total.seconds:.0f} s)",
                flush=True,
            )
    return dict(sorted(totals.items()))


def survivors(totals: dict[str, Total]) -> Counter:
    """How often a kernel's mutant survives for one reason."""
    return Counter(
        (kernel, re.sub(r"^\S+: ", "", s["name"]), s["why"])
        for kernel, total in totals.items()
        for s in total.survivors
    )


def tables(totals: dict[str, Total], whole: Total) -> str:
    text = HEADER + "\n"
    text += "".join(total.row(f"`{kernel}`") + "\n" for kernel, total in totals.items())
    text += whole.row("all") + "\n\n| equivalent because | mutants |\n| --- | --- |\n"
    text += "".join(f"| {why} | {n} |\n" for why, n in whole.equivalent.most_common())
    text += "\n| kernel | survivors | why |\n| --- | --- | --- |\n"
    by_reason: Counter = Counter()
    for (kernel, _, why), n in survivors(totals).items():
        by_reason[kernel, why or "NOT EXPLAINED"] += n
    text += "".join(f"| `{kernel}` | {n} | {why} |\n" for (kernel, why), n in by_reason.items())
    return text


def record(path: Path, text: str, version: str) -> None:
    date = datetime.date.today().isoformat()
    title = f"{date}, {version}, seeds 1 and 2.\n\n"
    old = path.read_text()
    path.write_text(PLACE.sub(lambda m: m[1] + title + text + m[2], old))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", type=Path)
    args = parser.parse_intermixed_args()
    names = subprocess.run([args.tool, "--names"], check=True, capture_output=True, text=True)
    known = names.stdout.split()
    unknown = sorted(set(args.kernels) - set(known))
    if unknown:
        parser.error(f"there is no kernel {', '.join(unknown)}; there are {', '.join(known)}")
    totals = run_all(args.tool, args.kernels or known, args.jobs, args.check)
    whole = Total()
    for total in totals.values():
        for name in ("launches", "mutants", "reported", "differs", "seconds"):
            setattr(whole, name, getattr(whole, name) + getattr(total, name))
        whole.equivalent += total.equivalent
        whole.survivors += total.survivors
        whole.wrong += total.wrong
        whole.slowest = max(whole.slowest, total.slowest)
    print("\n" + tables(totals, whole))
    unexplained = [s for s in whole.survivors if not s["why"]]
    for (kernel, name, why), n in survivors(totals).items():
        if not why:
            print(f"not explained: {kernel}: {name} ({n} times)")
    for wrong in whole.wrong:
        print(f"equivalent, but caught: {wrong}")
    if args.record and not args.kernels:
        commit = ["git", "rev-parse", "--short", "HEAD"]
        version = subprocess.run(commit, check=True, capture_output=True, text=True).stdout
        record(args.record, tables(totals, whole), f"commit {version.strip()}")
    return int(whole.share < WANTED or bool(unexplained) or bool(whole.wrong))


if __name__ == "__main__":
    sys.exit(main())
