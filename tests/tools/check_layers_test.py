"""Each rule of tools/check_layers.py: a file that breaks it, a file that does not."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_layers


def violations(path: str, text: str) -> list[str]:
    return list(check_layers.violations_in(path, text))


class CheckLayers(unittest.TestCase):
    def test_a_need_of_a_need_may_be_included(self) -> None:
        self.assertEqual(violations("ir/stmt.h", '#include "tilewright/base/dtype.h"'), [])

    def test_a_folder_that_is_not_needed_may_not(self) -> None:
        self.assertEqual(
            violations("base/a.cpp", '\n#include "tilewright/ir/stmt.h"'),
            [
                'tilewright/base/a.cpp:2: base includes "tilewright/ir/stmt.h",'
                " but does not need 'ir'"
            ],
        )

    def test_jit_sees_the_interface_of_backends_but_no_backend(self) -> None:
        self.assertEqual(violations("jit/a.cpp", '#include "tilewright/backend/backend.h"'), [])
        self.assertEqual(
            len(violations("jit/a.cpp", '#include "tilewright/backend/cpu/emit.h"')), 1
        )

    def test_backends_do_not_need_each_other(self) -> None:
        text = '#include "tilewright/backend/cpu/emit.h"'
        self.assertEqual(violations("backend/cpu/emit.cpp", text), [])
        self.assertEqual(len(violations("backend/cuda/emit.cpp", text)), 1)

    def test_llvm_headers_appear_only_in_sources(self) -> None:
        text = "#include <llvm/IR/Module.h>"
        self.assertEqual(violations("backend/cpu/emit.cpp", text), [])
        self.assertEqual(len(violations("backend/cpu/emit.h", text)), 1)

    def test_only_env_reads_the_environment(self) -> None:
        text = 'const char* home = std::getenv("HOME");'
        self.assertEqual(violations("base/env.cpp", text), [])
        self.assertEqual(len(violations("jit/cache.cpp", text)), 1)

    def test_an_include_is_written_from_the_root(self) -> None:
        self.assertEqual(len(violations("ir/stmt.h", '#include "expr.h"')), 1)

    def test_an_unknown_folder_is_named(self) -> None:
        self.assertEqual(len(violations("util/a.h", "")), 1)


if __name__ == "__main__":
    unittest.main()
