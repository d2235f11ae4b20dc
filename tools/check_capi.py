#!/usr/bin/env python3
"""Checks that the C API has all of the library: each function, struct and enumeration.

usage: check_capi.py [ROOT]

Compares the headers in tilewright/kernels/ with those of the same name in tilewright/capi/, and
prints one line per difference; exits with 1 if there is any:
1. A function f of C++ has a sister tw_f with the same parameters; what C++ returns is one more.
2. A struct FooArgs has a sister tw_foo_args with the same members, and an enumeration Foo has
   enumerators TW_FOO_... in the same order.
3. The C API has no others, and tilewright/capi/tilewright.h includes each of its headers.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What has no sister, and why.
HEADERS_OF_THE_LIBRARY = {"check.h", "row_schedule.h", "work.h"}  # for its own sources and tests
WITHOUT_SISTER = {"Elementwise"}  # traces functions of the caller, which are in C++
OF_THE_C_API_ALONE = {"base.h", "border.h", "tilewright.h"}

FUNCTION = re.compile(
    r"^(?:inline |constexpr )*([\w:<>, ]*[\w>])[ *&]+(\w+)\(([^;{]*?)\)(?:;| \{)",
    re.MULTILINE | re.DOTALL,
)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
ENUM = re.compile(r"^enum class (\w+)[^{]*\{(.*?)\};", re.MULTILINE | re.DOTALL)
C_FUNCTION = re.compile(r"^tw_status (\w+)\(([^;{]*?)\);", re.MULTILINE | re.DOTALL)
C_STRUCT = re.compile(r"^typedef struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
C_ENUMERATOR = re.compile(r"^  (TW_\w+)", re.MULTILINE)


def plain(text: str) -> str:
    """Without comments, and without the values that parameters and members have by default."""
    return re.sub(r" = (\{\}|[^,;(){}]+)", "", re.sub(r"//[^\n]*", "", text))


def names(declarations: str) -> list[str]:
    """The names that a list of parameters, or one line of members, declares."""
    return [re.findall(r"\w+", part)[-1] for part in declarations.split(",") if part.strip()]


def members(body: str) -> list[str]:
    return [name for line in body.split(";") for name in names(line)]


def in_c(name: str) -> str:
    """`tw_foo_args` of `FooArgs`."""
    return "tw_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def sisters(cpp: str) -> Iterator[tuple[str, list[str]]]:
    """What C must declare: functions with their parameters, structs with their members."""
    for result, name, parameters in FUNCTION.findall(cpp):
        yield f"tw_{name}", names(parameters) + ([] if result == "void" else ["(the result)"])
    for name, body in STRUCT.findall(cpp):
        yield in_c(name), members(body)


def enumerators(cpp: str) -> list[str]:
    return [
        f"{in_c(name)}_{enumerator}".upper()
        for name, body in ENUM.findall(cpp)
        for enumerator in names(body)
    ]


def differences(header: str, cpp: str, c: str) -> Iterator[str]:
    """Of one header, by the texts of both."""
    where = f"tilewright/capi/{header}"
    cpp, c = plain(cpp), plain(c)
    wanted = dict(sisters(cpp))
    given = {name: names(parameters) for name, parameters in C_FUNCTION.findall(c)}
    given |= {name: members(body) for name, body in C_STRUCT.findall(c)}
    for name, parts in wanted.items():
        if name not in given:
            yield f"{where}: {name} is missing"
            continue
        has_result = parts[-1:] == ["(the result)"]
        compared = given[name][:-1] if has_result else given[name]
        if compared != (parts[:-1] if has_result else parts):
            yield f"{where}: {name} has {', '.join(given[name])}; C++ has {', '.join(parts)}"
    for name in given.keys() - wanted.keys():
        yield f"{where}: {name} has no sister in tilewright/kernels/{header}"
    if C_ENUMERATOR.findall(c) != enumerators(cpp):
        yield f"{where}: enumerators must be {', '.join(enumerators(cpp)) or 'none'}"
    for name in CLASS.findall(cpp):
        if name not in WITHOUT_SISTER:
            yield f"{where}: class {name} can't be in C; name it in tools/check_capi.py"


def check(root: Path) -> list[str]:
    kernels, capi = root / "tilewright/kernels", root / "tilewright/capi"
    headers = {p.name for p in kernels.glob("*.h")} - HEADERS_OF_THE_LIBRARY
    c_headers = {p.name for p in capi.glob("*.h")}
    found = [f"tilewright/capi/{name}: is missing" for name in sorted(headers - c_headers)]
    for name in sorted(headers & c_headers):
        found += differences(name, (kernels / name).read_text(), (capi / name).read_text())
    for name in sorted(c_headers - headers - OF_THE_C_API_ALONE):
        found.append(f"tilewright/capi/{name}: there is no tilewright/kernels/{name}")
    all_of_it = (capi / "tilewright.h").read_text()
    for name in sorted(c_headers - {"border.h", "tilewright.h"}):
        if f'#include "tilewright/capi/{name}"' not in all_of_it:
            found.append(f"tilewright/capi/tilewright.h: doesn't include tilewright/capi/{name}")
    return found


if __name__ == "__main__":
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
