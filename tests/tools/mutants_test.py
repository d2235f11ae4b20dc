"""tools/mutants.py: runs in parts, what is recorded, and explanations that explain nothing."""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import mutants

# Stands for tw-mutate: of each kernel one mutant is caught, and one survives.
TOOL = """#!/bin/sh
[ "$1" != --names ] || { echo add; echo sum; exit; }
name="$1.cpp:7: no guard"
echo '{"kernel": "'$1'", "what": "f32", "mutants": 200, "reported": 150, "differs": 48,
 "equivalent": {"the same turns": 1}, "seconds": 1.5, "twin_seconds": 0.25, "survivors":
 [{"name": "'$1'.cpp:7: no guard"}]}' | tr -d '\\n' >$3
"""
SURVIVORS = "# comment\nadd | no guard | of no use\nsum | no guard | of no use\nmul | x | gone\n"
DOCUMENT = "before\n<!-- mutants -->\nold\n<!-- end -->\nbehind\n"


class Mutants(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "tool").write_text(TOOL)
        (self.root / "tool").chmod(0o755)
        (self.root / "survivors.txt").write_text(SURVIVORS)
        (self.root / "mutants.md").write_text(DOCUMENT)

    def run_tool(self, *arguments: str) -> tuple[int, str]:
        """The exit status, and what is printed."""
        command = ["mutants.py", str(self.root / "tool"), f"--keep={self.root / 'kept'}"]
        said = io.StringIO()
        with (
            mock.patch.object(sys, "argv", [*command, *arguments]),
            mock.patch.object(mutants, "SURVIVORS", self.root / "survivors.txt"),
            mock.patch.object(mutants, "commit", lambda: "abc"),
            contextlib.redirect_stdout(said),
        ):
            return mutants.main(), said.getvalue().strip()

    def test_parts_are_recorded_together(self) -> None:
        (self.root / "survivors.txt").write_text(SURVIVORS.replace("mul | x | gone\n", ""))
        record = f"--record={self.root / 'mutants.md'}"
        status, said = self.run_tool("add", record)
        self.assertEqual(status, 1)
        self.assertIn("kept has no results of sum", said)
        self.assertEqual((self.root / "mutants.md").read_text(), DOCUMENT)
        status, said = self.run_tool("--resume", record)
        self.assertEqual(status, 0)
        self.assertNotRegex(said, re.compile("^add: ", re.MULTILINE))
        self.assertIn("sum: 198 of 200 mutants of 1 launches are caught", said)
        text = (self.root / "mutants.md").read_text()
        self.assertIn("| `add` | 1 | 0.25 | 200 | 150 | 48 | 1 | 1 | 99.5 % | 2 | abc |", text)
        self.assertIn("| all | 2 | 0.25 | 400 | 300 | 96 | 2 | 2 | 99.5 % | 3 | abc |", text)
        self.assertIn("| `sum` | 1 | of no use |\n", text)
        self.assertTrue(text.endswith("<!-- end -->\nbehind\n"))

    def test_a_survivor_needs_an_explanation(self) -> None:
        (self.root / "survivors.txt").write_text("sum | no guard | of no use\n")
        status, said = self.run_tool("add")
        self.assertEqual(status, 1)
        self.assertIn("not explained: add: no guard (1 times)", said)

    def test_an_explanation_needs_a_survivor(self) -> None:
        (self.root / "survivors.txt").write_text("add | no barrier | of no use\n" + SURVIVORS)
        status, said = self.run_tool("add")
        self.assertEqual(status, 1)
        self.assertIn("survivors.txt:1 explains no survivor: add | no barrier", said)
        self.assertIn("survivors.txt:5 explains no survivor: mul | x", said)
        self.assertNotIn("survivors.txt:3", said)
        self.assertNotIn("survivors.txt:4", said)  # not run

    def test_kernels_that_there_are(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            self.run_tool("mul")
        self.assertIn("there is no kernel mul; there are add, sum", said.getvalue())


if __name__ == "__main__":
    unittest.main()
