#!/usr/bin/env python3
"""Checks that every include obeys the layers of the repository (docs/style.md, section 2).

usage: check_layers.py [ROOT]

Prints one line per violation and exits with 1 if there is any. Three rules:
1. A folder of tilewright/ includes only itself and the folders that it needs (transitively).
2. LLVM, CUDA, CANN and Python headers appear only in .cpp files.
3. Only base/env.cpp reads the environment.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Folder -> what it needs; the needs of those are its needs as well. backend stands for
# backend/backend.h and its neighbours, a backend itself for a folder inside it.
NEEDS = {
    "base": [],
    "layout": ["base"],
    "ir": ["layout"],
    "lang": ["ir"],
    "pass": ["ir"],
    "sim": ["ir"],
    "runtime": ["base"],
    "backend": ["ir", "runtime"],
    "backend/cpu": ["pass", "sim", "backend"],
    "backend/cuda": ["pass", "sim", "backend"],
    "backend/ascend": ["pass", "sim", "backend"],
    "jit": ["lang", "pass", "backend"],
    "kernels": ["jit"],
    "capi": ["kernels"],
}
INCLUDE = re.compile(r'\s*#\s*include\s*(<[^>]+>|"[^"]+")')
ONLY_IN_SOURCES = re.compile(
    r"<(llvm/|llvm-c/|cuda|nvrtc|nvml|acl/|Python\.h|nanobind/|sleef|tbb/|oneapi/)"
)
READS_ENVIRONMENT = re.compile(r"\b(secure_)?getenv\s*\(")


def folder_of(path: str) -> str:
    """The layer of a path below tilewright/: `backend/cpu` for backend/cpu/emit.cpp."""
    parts = path.split("/")[:-1]
    if not parts:
        return ""
    return "/".join(parts[:2]) if parts[0] == "backend" else parts[0]


def reachable(folder: str) -> set[str]:
    found = {folder}
    for need in NEEDS[folder]:
        found |= reachable(need)
    return found


def violations_in(path: str, text: str) -> Iterator[str]:
    """The violations of one file, `path` being relative to tilewright/."""
    folder = folder_of(path)
    if folder == "":
        allowed = set(NEEDS)  # tilewright/*.h offers everything to users
    elif folder in NEEDS:
        allowed = reachable(folder)
    else:
        yield f"tilewright/{path}: folder '{folder}' has no row in tools/check_layers.py"
        return
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"tilewright/{path}:{number}"
        if READS_ENVIRONMENT.search(line) and path != "base/env.cpp":
            yield f"{where}: reads the environment; only base/env.cpp does (add a variable there)"
        include = INCLUDE.match(line)
        if include is None:
            continue
        name = include[1]
        if ONLY_IN_SOURCES.match(name) and not path.endswith(".cpp"):
            yield f"{where}: {name} belongs in a .cpp file"
        if name.startswith('"tilewright/'):
            target = folder_of(name.strip('"').removeprefix("tilewright/"))
            if target not in allowed:
                yield f"{where}: {folder} includes {name}, but does not need '{target}'"
        elif name.startswith('"'):
            yield f'{where}: {name} must be written from the root, as "tilewright/..."'


def check(root: Path) -> list[str]:
    base = root / "tilewright"
    files = sorted(p for p in base.rglob("*") if p.suffix in (".h", ".cpp"))
    return [
        violation
        for file in files
        for violation in violations_in(file.relative_to(base).as_posix(), file.read_text())
    ]


if __name__ == "__main__":
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
