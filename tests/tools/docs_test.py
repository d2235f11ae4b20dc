"""tools/docs.py: links and the tables of the map."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import docs


class Docs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "a").mkdir()

    def write(self, name: str, text: str) -> str:
        (self.root / name).write_text(text)
        return name

    def test_a_link_that_leads_nowhere_is_named_with_its_line(self) -> None:
        self.write("a/there.md", "")
        text = "\n[x](there.md#part) [y](gone.md) [z](https://example.org/gone)"
        self.assertEqual(
            list(docs.broken_links("a/b.md", text, self.root)),
            ["a/b.md:2: link to gone.md, which does not exist"],
        )

    def test_brackets_in_code_are_no_links(self) -> None:
        text = "```cpp\n[&](int) {}\n```\n"
        self.assertEqual(list(docs.broken_links("b.md", text, self.root)), [])

    def test_a_table_has_the_first_sentence_of_each_header(self) -> None:
        files = [
            self.write(
                "a/one.h", "// Does one thing, e.g. this:\n// counts. And more.\n#pragma once\n"
            ),
            self.write("a/one.cpp", '#include "a/one.h"\n'),
            self.write("a/two.py", '#!/usr/bin/env python3\n"""Does two.\n\nusage: two\n"""\n'),
        ]
        text = "before\n<!-- files: a -->\nold\n<!-- end -->\nafter\n"
        self.assertEqual(
            docs.filled(text, files, self.root),
            "before\n<!-- files: a -->\n| file | what it is for |\n| --- | --- |\n"
            "| `one` | Does one thing, e.g. this: counts |\n| `two.py` | Does two |\n"
            "<!-- end -->\nafter\n",
        )

    def test_a_code_has_a_row_with_the_tests_that_name_it(self) -> None:
        (self.root / "tilewright/base").mkdir(parents=True)
        rows = [
            self.write(
                "tilewright/base/codes.h",
                'TW_CODE(a_1, "E-A-1", "2.1", "no a") \\\n'
                'TW_CODE(a_2, "W-A-2", "2.2", \\\n "no b") /* needs threads */ \\\n'
                'TW_CODE(a_3, "E-A-3", "2.3", "no c") \\\n'
                'TW_CODE(a_4, "E-A-4", "2.4", "no d") /* needs threads */',
            ),
            self.write("a/one_test.cpp", '"error[E-A-1]: there is no a"'),
            self.write("a/two_test.cpp", 'W-A-2 "error[E-A-4]: " E-A-3 "error[E-A-4]: no"'),
        ]
        table = docs.filled("<!-- codes -->\n<!-- end -->", rows, self.root).splitlines()
        self.assertEqual(
            table[3:-1],
            [
                "| E-A-1 | 2.1 | no a | `one_test.cpp` |",
                "| W-A-2 | 2.2 | no b | needs threads |",
                "| E-A-3 | 2.3 | no c |  |",
                "| E-A-4 | 2.4 | no d | `two_test.cpp` |",
            ],
        )
        self.assertEqual(
            list(docs.gaps(rows, self.root)),
            [
                "tilewright/base/codes.h: no test compares a message of E-A-3",
                "tilewright/base/codes.h: E-A-4 needs nothing more, two_test.cpp has it",
            ],
        )

    def test_a_result_has_a_row_for_the_largest_size_of_each_case(self) -> None:
        (self.root / "benchmarks/results").mkdir(parents=True)
        head = '{"device": "A", "date": "%s", "method": "m"}\n'
        old = self.write("benchmarks/results/2026-01-01_a_s.json", head % "2026-01-01")
        row = '{"op": "q.f", "case": "x", "api": "v1", "n": %d, "bytes": 2500000, "time_us": %s, '
        new = self.write(
            "benchmarks/results/2026-01-02_a_s.json",
            head % "2026-01-02"
            + (row + '"copy_us": 3, "existing_us": 8}\n') % (64, "4")
            + (row + '"copy_us": 1}\n') % (8, "2"),
        )
        other = self.write("benchmarks/results/2026-01-03_a.json", head % "2026-01-03")
        text = docs.filled("<!-- measured: s -->\nold\n<!-- end -->", [new, old, other], self.root)
        self.assertEqual(
            text.splitlines()[1:-1],
            [
                "A, 2026-01-02, [2026-01-02_a_s.json]"
                "(../benchmarks/results/2026-01-02_a_s.json): m.",
                "",
                "| operator | case | level | n | MB | us | copy / us | existing / us |",
                "| --- | --- | --- | --- | --- | --- | --- | --- |",
                "| `q.f` | x | v1 | 64 | 2.5 | 4.00 | 0.75 | 2.00 |",
            ],
        )

    def test_a_folder_of_the_libraries_without_a_table_is_named(self) -> None:
        files = ["tilewright/ir/stmt.h", "tilewright/base/env.h"]
        text = "<!-- files: tilewright/ir -->\n<!-- end -->"
        self.assertEqual(
            list(docs.undescribed(text, files)), ["docs/map.md: no table of tilewright/base"]
        )


if __name__ == "__main__":
    unittest.main()
