#!/usr/bin/env python3
"""Keeps the documents true: fills tables of docs/map.md, errors.md and kernels.md, checks links.

usage: docs.py [--check]

In the map a table stands between `<!-- files: FOLDER -->` and `<!-- end -->` and has a row per
file, header and source sharing one; the text is the first sentence of the file. FOLDER/** means the
folders below it, too. Between
`<!-- codes -->` and `<!-- end -->` stands a row per diagnostic code, with the tests that compare
its message; a code without a test must say in codes.h what it needs that isn't built. Between
`<!-- measured: SUITE -->` and `<!-- end -->` stands the newest accepted result of that suite: of
each case the largest size, its time, and the shares that it has of a copy and of other kernels.
With --check nothing is written, and a table that would change is a problem. Prints one line per
problem and exits with 1 if there is any.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(<!-- files: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
CODES = re.compile(r"(<!-- codes -->\n).*?(<!-- end -->)", re.DOTALL)
MEASURED = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
CODE_ROW = re.compile(
    r'TW_CODE\(\w+, "([^"]+)", "([^"]+)",[\s\\]*"([^"]+)"\)(?: /\* needs ([^*]+) \*/)?'
)
SOURCES = (".h", ".cpp", ".c", ".cuh", ".py", ".sh", ".cmake", "")


def broken_links(name: str, text: str, root: Path) -> Iterator[str]:
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    for match in LINK.finditer(text):
        target = match[1]
        if "://" not in target and not ((root / name).parent / target).exists():
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: link to {target}, which does not exist"


def first_sentence(text: str) -> str:
    """The first sentence of the comment or docstring at the top of a file."""
    text = re.sub(r"\A#![^\n]*\n", "", text)
    docstring = re.match(r'"""(.*?)"""', text, re.DOTALL)
    if docstring:
        comment = docstring[1].split("\n\n")[0]
    else:
        lines = re.match(r"((?://|#(?!include|pragma))[^\n]*\n)+", text)
        comment = re.sub(r"^(///?|#) ?", "", lines[0], flags=re.MULTILINE) if lines else ""
    paragraph = " ".join(comment.split())
    return re.split(r"(?<=[^.][^.])\.(?: |$)", paragraph, maxsplit=1)[0]


def rows(folder: str, files: list[str], root: Path) -> Iterator[str]:
    """A row per stem of the files in the folder, or below it; a header speaks for its source."""
    top = Path(folder.removesuffix("/**"))
    stems: dict[str, list[Path]] = {}
    for file in sorted(files):
        path = Path(file)
        inside = path.is_relative_to(top) if folder.endswith("/**") else path.parent == top
        if inside and path.suffix in SOURCES:
            stems.setdefault(path.relative_to(top).with_suffix("").as_posix(), []).append(path)
    for stem, paths in sorted(stems.items()):
        speaker = next((p for p in paths if p.suffix == ".h"), paths[0])
        name = stem if speaker.suffix in (".h", ".cpp", ".c") else stem + speaker.suffix
        sentence = first_sentence((root / speaker).read_text()).replace("|", "\\|")
        yield f"| `{name}` | {sentence} |\n"


def filled(text: str, files: list[str], root: Path) -> str:
    def file_table(match: re.Match[str]) -> str:
        head = "| file | what it is for |\n| --- | --- |\n"
        return match[1] + head + "".join(rows(match[2], files, root)) + match[3]

    def code_table(match: re.Match[str]) -> str:
        head = "| code | section | meaning | tested in |\n| --- | --- | --- | --- |\n"
        return match[1] + head + "".join(code_rows(files, root)) + match[2]

    def result_table(match: re.Match[str]) -> str:
        results = [f for f in files if re.fullmatch(rf"benchmarks/results/.*_{match[2]}\.json", f)]
        rows_of = library_rows if match[2] == "library" else result_rows
        return match[1] + "".join(rows_of(max(results), root)) + match[3]

    text = MEASURED.sub(result_table, text)
    return CODES.sub(code_table, TABLE.sub(file_table, text))


def result_rows(file: str, root: Path) -> Iterator[str]:
    """A result as a table, below the line that says where it is from."""
    head, *records = map(json.loads, (root / file).read_text().splitlines())
    largest: dict[tuple[str, ...], dict] = {}
    for record in records:
        key = tuple(record[name] for name in ("op", "case", "api"))
        if record["n"] >= largest.get(key, record)["n"]:
            largest[key] = record
    yield f"{head['device']}, {head['date']}, [{Path(file).name}](../{file}): {head['method']}.\n\n"
    yield "| operator | case | level | n | MB | us | copy / us | existing / us |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    for (op, case, api), r in sorted(largest.items()):
        us, existing = r["time_us"], r.get("existing_us")
        times = f"{existing / us:.2f}" if existing else ""
        size = f"{r['n']} | {r['bytes'] / 1e6:.1f} | {us:.2f}"
        yield f"| `{op}` | {case} | {api} | {size} | {r['copy_us'] / us:.2f} | {times} |\n"


def library_rows(file: str, root: Path) -> Iterator[str]:
    """The same of a suite of ./dev bench with two peers."""
    head, *records = map(json.loads, (root / file).read_text().splitlines())
    versions = f"torch {head['versions']['torch']}"
    yield f"{head['device']}, {head['date']}, {versions}, [{Path(file).name}](../{file}).\n\n"
    yield "| operator | dtype | shape | MB | us | copy / us | torch / us | torch.compile / us |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    for r in records:
        us, shape = r["time_us"], " x ".join(map(str, r["shape"]))
        peers = [r["peers"].get(name) for name in ("torch", "torch.compile")]
        times = " | ".join(f"{peer / us:.2f}" if peer else "" for peer in peers)
        size = f"{shape} | {r['bytes'] / 1e6:.1f} | {us:.2f}"
        yield f"| `{r['case']}` | {r['dtype']} | {size} | {r['ceiling_us'] / us:.2f} | {times} |\n"


def codes(files: list[str], root: Path) -> Iterator[tuple[str, str, str, str, list[str]]]:
    """Code, section, meaning, needs, and the tests that compare a message `error[CODE]: ...`."""
    tests = [name for name in files if re.search(r"(_test\.cpp|test_\w+\.py)$", name)]
    texts = {Path(name).name: (root / name).read_text() for name in sorted(tests)}
    header = (root / "tilewright/base/codes.h").read_text()
    for code, section, meaning, needs in CODE_ROW.findall(header):
        message = re.compile(rf"(error|warning)\[{code}\]: \S")
        where = [name for name, text in texts.items() if message.search(text)]
        yield code, section, meaning, needs, sorted(where)


def code_rows(files: list[str], root: Path) -> Iterator[str]:
    for code, section, meaning, needs, tests in codes(files, root):
        where = ", ".join(f"`{name}`" for name in tests) or (needs and f"needs {needs}")
        yield f"| {code} | {section} | {meaning} | {where} |\n"


def gaps(files: list[str], root: Path) -> Iterator[str]:
    """Codes without a test that could be raised, and tested codes said not to be."""
    for code, _, _, needs, tests in codes(files, root):
        if not tests and not needs:
            yield f"tilewright/base/codes.h: no test compares a message of {code}"
        if tests and needs:
            yield f"tilewright/base/codes.h: {code} needs nothing more, {tests[0]} has it"


def undescribed(text: str, files: list[str]) -> Iterator[str]:
    """Folders of the libraries that the map has no table of."""
    mapped = {match[2] for match in TABLE.finditer(text)}
    folders = {
        Path(f).parent.as_posix() for f in files if f.startswith("tilewright/") and f.endswith(".h")
    }
    for folder in sorted(folders - mapped):
        if not any(f"{folder}/".startswith(m[:-2]) for m in mapped if m.endswith("**")):
            yield f"docs/map.md: no table of {folder}"


def run(root: Path, check: bool) -> list[str]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if (root / name).is_file()]
    problems = []
    for name in files:
        if not name.endswith(".md"):
            continue
        path = root / name
        old = path.read_text()
        new = filled(old, files, root)
        problems += broken_links(name, new, root)
        if name == "docs/map.md":
            problems += undescribed(new, files)
        if name == "docs/errors.md":
            problems += gaps(files, root)
        if check and new != old:
            problems.append(f"{name}: its tables are out of date; ./dev docs fills them")
        elif new != old:
            path.write_text(new)
    return problems


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    found = run(Path(__file__).parents[1], sys.argv[1:] == ["--check"])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
