// Dumps (language 27.1).
#include "tilewright/ir/dump.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "tests/ir/ir_testing.h"

namespace tw::ir {
namespace {

Program fill_with(const char* value) {
  return parse_program(format("tilewright ir 1 program \"p\" {{ output Y: f32[4]\n"
                              "  launch bx in 4 {{ Y[bx] = {} }} }}",
                              value),
                       {.file = "p.tw", .locate = true});
}

TEST(Dump, WritesProgramsWithPositionsAndDifferencesWithout) {
  const auto dir = std::filesystem::temp_directory_path() / format("tw_ir_dump_{}", getpid());
  const auto text = [&](const char* name) {
    std::ifstream file(dir / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  Dump dump({.dir = dir.string()});
  dump.add("00_input", fill_with("1.0"));
  dump.add("01_double", fill_with("2.0"));
  dump.add("02_same", fill_with("2.0"));
  EXPECT_EQ(text("00_input.tw"), print(fill_with("1.0"), {.locations = true}));
  EXPECT_EQ(text("01_double.diff"),
            "--- 00_input\n+++ 01_double\n"
            "@@ -2,6 +2,6 @@\n"
            " program \"p\" {\n   output Y: f32[4]\n   launch bx in 4 {\n"
            "-    Y[bx] = 1.0\n+    Y[bx] = 2.0\n"
            "   }\n }\n");
  EXPECT_TRUE(std::filesystem::exists(dir / "02_same.diff"));
  EXPECT_EQ(text("02_same.diff"), "");
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace tw::ir
