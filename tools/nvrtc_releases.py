#!/usr/bin/env python3
"""Compares releases of NVRTC: whether they compile all kernels, pass the tests, give the same bits.

usage: nvrtc_releases.py fetch RELEASE... [--folder nvrtc]
       nvrtc_releases.py cubins BUILD_FOLDER [--folder nvrtc] [--json FILE]
       nvrtc_releases.py run [--pack .] [--folder nvrtc] [--tests all|quick|none] [--json FILE]
       nvrtc_releases.py table FILE...

fetch gets the libraries of releases (12.9.86, 13.5.37) from their wheels and leaves them in
FOLDER/RELEASE, compressed by xz so that they can be carried to a machine with a GPU. cubins needs
no GPU: it runs the test that compiles every function of the library. run is for the machine with a
GPU, in the folder of an unpacked archive of `./dev pack`: for the NVRTC that is found there and for
each in the folder it runs the tests of the label cuda and every function of the library. Both keep
what they find in a JSON file, those of before included. table prints such files as one table; bits
are compared with those of the first release of a file that has any, 13.0.88 where it is there.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

USUAL = "13.0.88"
LIBRARY = re.compile(r"/(libnvrtc(?:-builtins)?\.so\.[0-9.]+)$")  # not those with .alt
FILTERS = [  # machine code; a dictionary as large as the largest library
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 128 << 20},
]
PYTEST = {
    "all": ["test_cuda*.py", "test_torch_ops.py", "test_minilm.py"],
    "quick": ["test_cuda.py", "test_cuda_kernels.py"],
    "none": [],
}


def package_of(release: str) -> str:
    return "nvidia-cuda-nvrtc" + ("-cu12" if release.startswith("12.") else "")


def fetch(release: str, folder: Path) -> None:
    """The two libraries of a release, each compressed."""
    out = folder / release
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        wanted = f"{package_of(release)}=={release}"
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
        ]
        subprocess.run([*command, "-d", temporary, wanted], check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not (found := LIBRARY.search(name)):
                    continue
                target = out / (found[1] + ".xz")
                with (
                    archive.open(name) as source,
                    lzma.open(target, "wb", filters=FILTERS) as packed,
                ):
                    shutil.copyfileobj(source, packed)
                print(f"{target}: {target.stat().st_size / 2**20:.1f} MiB")


def libraries(folder: Path) -> Iterator[tuple[str, Path]]:
    """Releases and where their libraries are unpacked until the next one is asked for."""
    for release in sorted(folder.glob("*.*"), key=lambda path: version_key(path.name)):
        with tempfile.TemporaryDirectory() as temporary:
            for packed in release.glob("*.xz"):
                with lzma.open(packed) as source, open(Path(temporary) / packed.stem, "wb") as out:
                    shutil.copyfileobj(source, out)
            yield release.name, Path(temporary)


def version_key(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)]


def release_in(info: str) -> str:
    """Of the compiler that `tilewright info` names."""
    found = re.search(r"NVRTC ([0-9.]+) \(", info)
    return found[1] if found else ""


def gtest_counts(log: str) -> tuple[int, int, int]:
    """Passed, failed and skipped tests of an executable; one that died counts as a failed one."""

    def count(word: str) -> int:
        found = re.search(rf"^\[  {word}\s*\] (\d+) test", log, re.MULTILINE)
        return int(found[1]) if found else 0

    if " ran. (" not in log:
        return 0, 1, 0
    return count("PASSED"), count("FAILED"), count("SKIPPED")


def pytest_counts(log: str) -> tuple[int, int, int]:
    """Of pytest's last line; errors are failures."""
    lines = [line for line in log.splitlines() if re.search(r" in [0-9.]+s", line)]
    counts = {w: int(n) for n, w in re.findall(r"(\d+) (\w+)", lines[-1])} if lines else {}
    if not counts:
        return 0, 1, 0
    failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
    return counts.get("passed", 0), failed, counts.get("skipped", 0)


class Findings:
    """What is known of each release, in a file that is written whenever something is added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.releases: dict[str, dict] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, release: str, **what: object) -> None:
        self.releases.setdefault(release, {}).update(what)
        self.path.write_text(json.dumps(self.releases, indent=1) + "\n")


def environment(library: Path | None, cache: str) -> dict[str, str]:
    chosen = {"TW_NVRTC": str(library)} if library else {}
    return {**os.environ, **chosen, "TW_CACHE_DIR": cache}


def output_of(command: list[str], folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode(errors="replace")


def cubins(build: Path, folder: Path, findings: Findings) -> None:
    for release, library in chain([("", None)], libraries(folder)):
        with tempfile.TemporaryDirectory() as cache:
            variables = environment(library, cache)
            _, info = output_of(["tools/tilewright", "info"], build, variables)
            code, log = output_of(["tests/tw_test_cubins_slow"], build, variables)
        found = release_in(info)
        if not found or (release and release != found):
            sys.exit(f"nvrtc_releases: {release or 'the installed NVRTC'} isn't used:\n{info}")
        passed, failed, _ = gtest_counts(log)
        compiled = code == 0 and failed == 0 and passed > 0
        if not compiled:
            print(log)
        findings.add(found, cubins="all compile" if compiled else "fail")
        print(f"{found}: {'all compile' if compiled else 'fail'}", flush=True)


def run_tests(pack: Path, tests: str, variables: dict[str, str]) -> dict[str, int]:
    logs, counts = [], [(0, 0, 0)]
    for test in sorted((pack / "bin").glob("tw_test_*_on_cuda")) if tests != "none" else []:
        _, log = output_of(["./run", f"bin/{test.name}"], pack, variables)
        counts.append(gtest_counts(log))
        logs.append((counts[-1], log))
    for pattern in PYTEST[tests]:
        for file in sorted((pack / "python_tests").glob(pattern)):
            command = ["./run", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
            _, log = output_of(command, pack, variables)
            counts.append(pytest_counts(log))
            logs.append((counts[-1], log))
    for (_, failed, _), log in logs:
        if failed:
            print(log[-4000:])
    passed, failed, skipped = (sum(column) for column in zip(*counts, strict=True))
    return {"passed": passed, "failed": failed, "skipped": skipped}


def run(pack: Path, folder: Path, tests: str, findings: Findings) -> None:
    script = str(Path(__file__).resolve())
    for release, library in chain([("", None)], libraries(folder)):
        with tempfile.TemporaryDirectory() as cache:
            variables = environment(library, cache)
            _, info = output_of(["./run", "tilewright", "info"], pack, variables)
            found = release_in(info)
            if not found or (release and release != found):
                print(f"{release or 'the installed NVRTC'} isn't used:\n{info}", flush=True)
                continue
            code, text = output_of(["./run", "python", script, "outputs"], pack, variables)
            if code != 0:
                print(text)
            findings.add(found, outputs=json.loads(text.splitlines()[-1]) if code == 0 else {})
            print(f"{found}: {len(findings.releases[found]['outputs'])} outputs", flush=True)
            if tests != "none":
                findings.add(found, tests=run_tests(pack, tests, variables))
                print(f"{found}: {findings.releases[found]['tests']}", flush=True)


def outputs() -> dict[str, str]:
    """Hashes of what every function gives, in several dtypes and at sizes that divide nothing."""
    sys.path.insert(0, str(Path.cwd() / "python_tests"))
    import test_cuda_repeats as calls
    import torch

    found = {}
    for dtype in (torch.float32, torch.bfloat16):  # quantized casts take no f16
        for n, h in ((512, 1024), (257, 1003)):
            samples = calls.Samples(dtype, n, h)
            for name, call in calls.CALLS.items():
                digest = hashlib.sha256()
                try:
                    for y in calls.bytes_of(call(samples)):
                        digest.update(y.cpu().numpy().tobytes())
                    text = digest.hexdigest()[:16]
                except (ValueError, TypeError, NotImplementedError) as error:
                    text = "error: " + str(error).splitlines()[0]
                found[f"{name} {str(dtype).removeprefix('torch.')} {n} x {h}"] = text
    return found


def table(releases: dict[str, dict]) -> str:
    """A row a release."""
    with_outputs = [name for name, found in releases.items() if found.get("outputs")]
    base = USUAL if USUAL in with_outputs else next(iter(with_outputs), "")
    base_outputs = releases[base]["outputs"] if base else {}
    compared = f"outputs beside {base}" if base else "outputs"
    lines = [
        f"| NVRTC | cubins of all functions | tests passed | failed | {compared} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in sorted(releases, key=version_key):
        found = releases[name]
        tests = found.get("tests", {})
        mine = found.get("outputs", {})
        shared = mine.keys() & base_outputs.keys()
        differ = sorted(case for case in shared if mine[case] != base_outputs[case])
        text = f"{len(shared)} compared, {len(differ)} differ" if mine else "-"
        if differ:
            text += ": " + "; ".join(differ)
        cells = [name, found.get("cubins", "-"), tests.get("passed", "-"), tests.get("failed", "-")]
        lines.append("| " + " | ".join(map(str, [*cells, text])) + " |")
    return "\n".join(lines)


def merged(files: list[Path]) -> dict[str, dict]:
    releases: dict[str, dict] = {}
    for file in files:
        for release, found in json.loads(file.read_text()).items():
            releases.setdefault(release, {}).update(found)
    return releases


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fetch")
    one.add_argument("release", nargs="+")
    two = commands.add_parser("cubins")
    two.add_argument("build", type=Path)
    three = commands.add_parser("run")
    three.add_argument("--pack", type=Path, default=Path())
    three.add_argument("--tests", choices=list(PYTEST), default="all")
    for each in (one, two, three):
        each.add_argument("--folder", type=Path, default=Path("nvrtc"))
    for each in (two, three):
        each.add_argument("--json", type=Path, default=Path("nvrtc.json"))
    commands.add_parser("outputs")
    commands.add_parser("table").add_argument("file", nargs="+", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "fetch":
        for release in chosen.release:
            fetch(release, chosen.folder)
    elif chosen.command == "cubins":
        cubins(chosen.build, chosen.folder, Findings(chosen.json))
    elif chosen.command == "run":
        run(chosen.pack.resolve(), chosen.folder, chosen.tests, Findings(chosen.json))
        print(table(merged([chosen.json])))
    elif chosen.command == "outputs":
        print(json.dumps(outputs()))
    else:
        print(table(merged(chosen.file)))


if __name__ == "__main__":
    main()
