#!/usr/bin/env python3
"""Checks the documents: every relative link leads somewhere, and every file has its row in docs/map.md.

usage: check_docs.py [ROOT]

Prints one line per problem and exits with 1 if there is any.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def broken_links(document: Path, root: Path) -> Iterator[str]:
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), document.read_text())
    for match in LINK.finditer(text):
        target = match[1]
        if "://" not in target and not (document.parent / target).exists():
            line = text.count("\n", 0, match.start()) + 1
            yield f"{document.relative_to(root)}:{line}: link to {target}, which does not exist"


def unmapped(files: list[str], map_text: str) -> Iterator[str]:
    """The sources that docs/map.md does not name, `ir/stmt.{h,cpp}` naming both of a stem."""
    for file in files:
        path = Path(file)
        if path.suffix not in (".h", ".cpp", ".py"):
            continue
        if f"`{path.name}`" not in map_text and f"`{path.stem}`" not in map_text:
            yield f"docs/map.md: no row for {file}"


def check(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    )
    files = listed.stdout.splitlines()
    problems = []
    for name in files:
        if name.endswith(".md"):
            problems += broken_links(root / name, root)
    map_file = root / "docs/map.md"
    if map_file.exists():
        sources = [name for name in files if name.startswith("tilewright/")]
        problems += unmapped(sources, map_file.read_text())
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
