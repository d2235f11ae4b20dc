#!/usr/bin/env python3
"""Runs the commands that documents show and compares what they print with what is shown.

usage: check_console.py [--update] BIN_FOLDER DOCUMENT...

In a block ```console each line `$ command` is followed by its output. The first word is a program
of BIN_FOLDER; no shell is involved. With --update the outputs are written into the documents.
Prints a diff per command that differs and exits with 1 if there is any.
"""

import difflib
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def output_of(command: str, folder: Path) -> str:
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [folder / program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def run_block(block: str, folder: Path) -> str:
    """The block as it should be."""
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{output_of(line[2:], folder)}" for line in commands)


def check(document: Path, folder: Path, update: bool) -> int:
    text = document.read_text()
    wanted = BLOCK.sub(lambda m: f"```console\n{run_block(m[1], folder)}```", text)
    if wanted == text:
        return 0
    if update:
        document.write_text(wanted)
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(
            text.splitlines(keepends=True),
            wanted.splitlines(keepends=True),
            str(document),
            "what the commands print",
        )
    )
    return 1


def main(arguments: list[str]) -> int:
    update = "--update" in arguments
    paths = [Path(a) for a in arguments if a != "--update"]
    if len(paths) < 2:
        sys.exit(__doc__)
    return max(check(document, paths[0], update) for document in paths[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
