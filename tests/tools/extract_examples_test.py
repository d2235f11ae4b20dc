"""tools/extract_examples.py: which example ends up where."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import extract_examples


def sources(*blocks: str) -> dict[str, str]:
    return extract_examples.sources("\n".join(blocks) + "\n", "docs/guide.md")


class ExtractExamples(unittest.TestCase):
    def test_a_program_is_a_file_that_names_its_place_in_the_document(self) -> None:
        self.assertEqual(
            sources("text", "```cpp", "int main() {}", "```"),
            {"guide_1.cpp": '#line 3 "docs/guide.md"\nint main() {}\n'},
        )

    def test_declarations_may_be_used_by_later_examples(self) -> None:
        text = sources("```cpp", "int one();", "```", "```cpp run", "one();", "```")["guide.cpp"]
        self.assertIn('namespace line_2 {\n#line 2 "docs/guide.md"\nint one();\n}', text)
        self.assertIn("using namespace line_2;", text)
        self.assertIn('TEST(Guide, Line5) {\n#line 5 "docs/guide.md"\none();\n}', text)

    def test_a_traced_example_gets_a_builder(self) -> None:
        text = sources("```cpp trace", 'k.dim("n");', "```")["guide.cpp"]
        self.assertIn("[&](tw::Builder& k) {", text)

    def test_what_is_ignored_or_not_cpp_gives_no_file(self) -> None:
        self.assertEqual(sources("```cpp ignore", "x", "```", "```sh", "ls", "```"), {})

    def test_a_program_in_c_stays_one(self) -> None:
        self.assertEqual(
            sources("```c", "int main(void) { return 0; }", "```", "```c ignore", "x", "```"),
            {"guide_1.c": '#line 2 "docs/guide.md"\nint main(void) { return 0; }\n'},
        )

    def test_a_part_of_a_program_in_c_names_document_and_line(self) -> None:
        with self.assertRaisesRegex(SystemExit, r"^docs/guide.md:2: .* in C is a program"):
            sources("text", "```c", "int one;", "```")

    def test_an_unknown_kind_names_document_and_line(self) -> None:
        with self.assertRaisesRegex(SystemExit, r"^docs/guide.md:2: .* not 'rnu'"):
            sources("text", "```cpp rnu", "```")


if __name__ == "__main__":
    unittest.main()
