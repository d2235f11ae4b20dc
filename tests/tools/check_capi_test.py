"""Each rule of tools/check_capi.py: headers that differ, headers that don't."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_capi

CPP = """
enum class Way : uint8_t {
  there,
  and_back,  // again
};
struct TurnArgs {
  int64_t rows = 1, columns = 128;  // of a block
  std::optional<float> scale = {};
  const Tensor *a = nullptr, *b = nullptr;
};
/// Turns x; turn(x) is nothing.
void turn(const Tensor& x, const Tensor& y, const TurnArgs& args = {},
          Stream stream = {});
inline int64_t most(int64_t n) { return n; }
"""
C = """
enum {
  TW_WAY_THERE = 0,
  TW_WAY_AND_BACK = 1,
};
typedef struct tw_turn_args {
  int64_t rows, columns;  // of a block
  float scale;
  const tw_tensor *a, *b;
} tw_turn_args;
tw_status tw_turn(const tw_tensor* x, const tw_tensor* y, const tw_turn_args* args,
                  tw_stream stream);
tw_status tw_most(int64_t n, int64_t* rows);
"""


def differences(cpp: str, c: str) -> list[str]:
    return list(check_capi.differences("turn.h", cpp, c))


class CheckCapi(unittest.TestCase):
    def test_headers_that_agree_do(self) -> None:
        self.assertEqual(differences(CPP, C), [])

    def test_a_function_that_is_missing_is_named(self) -> None:
        more = [
            "void roll(const Tensor& x);\n",
            "std::pair<Tensor, Tensor> roll(const Tensor& x);\n",
            "const Kernel& roll(const Tensor& x);\n",
            "inline Shape roll(int64_t n) {\n  return {n};\n}\n",
        ]
        for function in more:
            self.assertEqual(
                differences(CPP + function, C), ["tilewright/capi/turn.h: tw_roll is missing"]
            )

    def test_a_function_that_c_alone_has_is_named(self) -> None:
        self.assertEqual(
            differences(CPP, C + "tw_status tw_roll(tw_stream stream);\n"),
            ["tilewright/capi/turn.h: tw_roll has no sister in tilewright/kernels/turn.h"],
        )

    def test_parameters_are_compared_in_order(self) -> None:
        self.assertEqual(
            differences(CPP.replace("Tensor& x, const Tensor& y", "Tensor& y, const Tensor& x"), C),
            ["tilewright/capi/turn.h: tw_turn has x, y, args, stream; C++ has y, x, args, stream"],
        )

    def test_a_result_needs_a_parameter(self) -> None:
        self.assertEqual(
            differences(CPP, C.replace("int64_t n, int64_t* rows", "int64_t n")),
            ["tilewright/capi/turn.h: tw_most has n; C++ has n, (the result)"],
        )

    def test_members_are_compared(self) -> None:
        self.assertEqual(
            differences(CPP.replace("columns = 128;", "columns = 128, depth = 1;"), C),
            [
                "tilewright/capi/turn.h: tw_turn_args has rows, columns, scale, a, b;"
                " C++ has rows, columns, depth, scale, a, b"
            ],
        )

    def test_enumerators_are_compared(self) -> None:
        self.assertEqual(
            differences(CPP.replace("  there,\n", "  there,\n  half_way,\n"), C),
            [
                "tilewright/capi/turn.h: enumerators must be TW_WAY_THERE, TW_WAY_HALF_WAY,"
                " TW_WAY_AND_BACK"
            ],
        )

    def test_a_class_needs_a_word(self) -> None:
        self.assertEqual(len(differences(CPP + "class Wheel {};\n", C)), 1)
        self.assertEqual(differences(CPP + "class Elementwise {};\n", C), [])


if __name__ == "__main__":
    unittest.main()
