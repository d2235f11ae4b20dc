#!/usr/bin/env python3
"""Runs all mutants of the library in the twin, prints what became of them, and records it.

usage: mutants.py TW_MUTATE [--jobs N] [--check] [--keep FOLDER] [--resume] [--record FILE]
                  [KERNEL...]

TW_MUTATE is the executable, which is run for one kernel after the other, N at a time. What becomes
of a kernel's mutants is kept in FOLDER (build/mutants), until it is run again; --resume leaves out
those that are kept. --record fills the tables between `<!-- mutants -->` and `<!-- end -->` of a
document with what is kept of all kernels, so that they can be run in parts. --check also looks for
caught mutants that count as equivalent. Exits with 1 if fewer than 99 % of the mutants that aren't
equivalent are caught, a survivor has no explanation, or a line of tests/mutate/survivors.txt
explains none.
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
SURVIVORS = Path(__file__).parents[1] / "tests/mutate/survivors.txt"


@dataclass
class Explanation:
    """A line of survivors.txt: kernel | part of a mutant's name | why it changes nothing."""

    line: int
    kernel: str
    part: str
    why: str


def explanations(kernel: str = "") -> list[Explanation]:
    """Of all kernels or of one, in the order in which they are looked at."""
    rows = []
    for number, line in enumerate(SURVIVORS.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            name, rest = line.split(" | ", 1)
            part, why = rest.rsplit(" | ", 1)
            rows.append(Explanation(number, name, part, why))
    return [row for row in rows if kernel in ("", row.kernel)]


@dataclass
class Total:
    """What became of the mutants of some launches."""

    commits: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    launches: int = 0
    mutants: int = 0
    reported: int = 0
    differs: int = 0
    equivalent: Counter = field(default_factory=Counter)
    survivors: list[dict] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0  # call in the twin

    def add(self, kernel: str, kept: dict) -> None:
        """Adds the launches of a kernel."""
        rows = explanations(kernel)
        self.commits.add(kept["commit"])
        self.dates.add(kept["date"])
        for result in kept["launches"]:
            self.launches += 1
            self.mutants += result["mutants"]
            self.reported += result["reported"]
            self.differs += result["differs"]
            self.equivalent.update(result["equivalent"])
            for survivor in result["survivors"]:
                found = (row for row in rows if row.part in survivor["name"])
                row = next(found, Explanation(0, "", "", ""))
                self.survivors.append({**survivor, "line": row.line, "why": row.why})
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
            f"{self.seconds:.0f}",
            " ".join(sorted(self.commits)),
        ]
        return "| " + " | ".join(map(str, cells)) + " |"


HEADER = (
    "| kernel | launches | slowest call, s | mutants | reported | other result | equivalent "
    "| survive | caught | s | commit |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def commit() -> str:
    """What is checked out; `-dirty` says that files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    root = Path(__file__).parent
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=root
    ).stdout.strip()


def run_kernel(tool: Path, kernel: str, check: bool, keep: Path) -> dict:
    """What becomes of its mutants, which is also written to the folder."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [tool, kernel, "--json", file] + (["--check"] if check else [])
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"tw-mutate {kernel} failed:\n{done.stdout}{done.stderr}")
        launches = [json.loads(line) for line in file.read_text().splitlines()]
    kept = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "launches": launches,
    }
    keep.mkdir(parents=True, exist_ok=True)
    (keep / f"{kernel}.json").write_text(json.dumps(kept, indent=1))
    return kept


def kept_results(keep: Path, kernels: list[str]) -> dict[str, dict]:
    """By kernel; without those of which nothing is kept."""
    files = {kernel: keep / f"{kernel}.json" for kernel in kernels}
    return {kernel: json.loads(f.read_text()) for kernel, f in files.items() if f.exists()}


def run_all(tool: Path, kernels: list[str], jobs: int, check: bool, keep: Path) -> None:
    """The slow ones first, so that no job waits for them at the end."""
    order = sorted(kernels, key=lambda kernel: not kernel.startswith(SLOW))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run_kernel, tool, k, check, keep): k for k in order}
        for future in as_completed(futures):
            total = Total()
            total.add(futures[future], future.result())
            print(
                f"{futures[future]}: {total.caught} of {total.mutants} mutants of "
                f"{total.launches} launches are caught, {total.equivalent.total()} are "
                f"equivalent, {len(total.survivors)} survive ({total.seconds:.0f} s)",
                flush=True,
            )


def survivors(totals: dict[str, Total]) -> Counter:
    """How often a kernel's mutant survives for one reason."""
    return Counter(
        (kernel, re.sub(r"^\S+: ", "", s["name"]), s["why"])
        for kernel, total in totals.items()
        for s in total.survivors
    )


def obsolete(totals: dict[str, Total], known: list[str]) -> list[str]:
    """Lines of survivors.txt about these kernels that explain no survivor, or are about none."""
    used = {s["line"] for total in totals.values() for s in total.survivors}
    return [
        f"survivors.txt:{row.line} explains no survivor: {row.kernel} | {row.part}"
        for row in explanations()
        if row.line not in used and (row.kernel in totals or row.kernel not in known)
    ]


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


def totals_of(results: dict[str, dict]) -> tuple[dict[str, Total], Total]:
    """Of each kernel, and of all."""
    totals, whole = {}, Total()
    for kernel, kept in sorted(results.items()):
        totals[kernel] = Total()
        totals[kernel].add(kernel, kept)
        whole.add(kernel, kept)
    return totals, whole


def record(path: Path, results: dict[str, dict]) -> None:
    totals, whole = totals_of(results)
    dates = sorted(whole.dates)
    title = f"{' to '.join(dates[:1] + dates[1:][-1:])}, seeds 1 and 2.\n\n"
    old = path.read_text()
    path.write_text(PLACE.sub(lambda m: m[1] + title + tables(totals, whole) + m[2], old))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path, default=Path("build/mutants"))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--record", type=Path)
    args = parser.parse_intermixed_args()
    names = subprocess.run([args.tool, "--names"], check=True, capture_output=True, text=True)
    known = names.stdout.split()
    unknown = sorted(set(args.kernels) - set(known))
    if unknown:
        parser.error(f"there is no kernel {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = args.kernels or known
    kept = kept_results(args.keep, wanted) if args.resume else {}
    run_all(args.tool, [k for k in wanted if k not in kept], args.jobs, args.check, args.keep)
    totals, whole = totals_of(kept_results(args.keep, wanted))
    print("\n" + tables(totals, whole))
    problems = [
        f"not explained: {kernel}: {name} ({n} times)"
        for (kernel, name, why), n in survivors(totals).items()
        if not why
    ]
    problems += obsolete(totals, known)
    problems += [f"equivalent, but caught: {wrong}" for wrong in whole.wrong]
    if args.record:
        results = kept_results(args.keep, known)
        missing = sorted(set(known) - set(results))
        if missing:
            problems.append(f"not recorded: {args.keep} has no results of {', '.join(missing)}")
        else:
            record(args.record, results)
    print("\n".join(problems))
    return int(whole.share < WANTED or bool(problems))


if __name__ == "__main__":
    sys.exit(main())
