#!/usr/bin/env python3
"""Turns a document's C++ and C examples into sources, so that they are compiled and run as tests.

usage: extract_examples.py DOCUMENT OUT_FOLDER

Writes OUT_FOLDER/<stem>.cpp with the fragments and OUT_FOLDER/<stem>_1.cpp, _2 and so on with whole
programs, <stem> being the document's name in lower case without suffix. What follows ```cpp on
the opening line of an example says what it is:

  (nothing)  with `int main(`: a whole program, which must exit with 0
             else declarations, compiled in a namespace of their own; later examples of the same
             document may use them
  run        statements, run as a test
  trace      statements that use a `tw::Builder& k`, traced as one program in a test
  ignore     not compiled: a sketch, or code that must fail (then say so in the text)

After ```c stands a whole program in C, which becomes <stem>_1.c and so on, or `ignore`.

`#line` makes the compiler name the document and its line. A file is left alone when its text does
not change.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

PRELUDE = """// Made from {document} by tools/extract_examples.py.
#include <gtest/gtest.h>

#include "tilewright/tilewright.h"

"""
KINDS = ("", "run", "trace", "ignore")


@dataclass
class Example:
    line: int  # of its first line of code, counted from 1
    kind: str
    code: str
    suffix: str = ".cpp"


def examples_in(text: str, document: str) -> list[Example]:
    found = []
    block = re.compile(r"^```(cpp|c)\b *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for match in block.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        kind = match[2].strip()
        example = Example(line, kind, match[3], f".{match[1]}")
        if match[1] == "c" and kind != "ignore" and not is_program(example):
            raise SystemExit(f"{document}:{line - 1}: an example in C is a program, or 'ignore'")
        if kind not in KINDS:
            raise SystemExit(f"{document}:{line - 1}: an example is {KINDS[1:]}, not '{kind}'")
        found.append(example)
    return found


def is_program(example: Example) -> bool:
    return example.kind == "" and re.search(r"\bint main\(", example.code) is not None


def fragment(example: Example, suite: str, document: str) -> str:
    located = f'#line {example.line} "{document}"\n{example.code}'
    if example.kind == "run":
        return f"TEST({suite}, Line{example.line}) {{\n{located}}}\n\n"
    if example.kind == "trace":
        return (
            f"TEST({suite}, Line{example.line}) {{\n"
            f'tw::program("example", [&](tw::Builder& k) {{\n{located}}});\n}}\n\n'
        )
    name = f"line_{example.line}"
    return f"namespace {name} {{\n{located}}}  // namespace {name}\nusing namespace {name};\n\n"


def sources(text: str, document: str) -> dict[str, str]:
    """File name -> content."""
    stem = Path(document).stem.lower()
    examples = [e for e in examples_in(text, document) if e.kind != "ignore"]
    programs = [e for e in examples if is_program(e)]
    files = {
        f"{stem}_{number}{e.suffix}": f'#line {e.line} "{document}"\n{e.code}'
        for number, e in enumerate(programs, start=1)
    }
    suite = stem.title().replace("_", "").replace("-", "")
    fragments = [fragment(e, suite, document) for e in examples if not is_program(e)]
    if fragments:
        files[f"{stem}.cpp"] = PRELUDE.format(document=document) + "".join(fragments)
    return files


def main(document: str, out_folder: str) -> None:
    out = Path(out_folder)
    out.mkdir(parents=True, exist_ok=True)
    files = sources(Path(document).read_text(), document)
    for stale in out.glob(f"{Path(document).stem.lower()}*.c*"):
        if stale.name not in files:
            stale.unlink()
    for name, content in files.items():
        path = out / name
        if not path.exists() or path.read_text() != content:
            path.write_text(content)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
