#include "tilewright/pass/checks.h"

#include "tests/pass/check_testing.h"
#include "tilewright/base/codes.h"

namespace tw::pass {
namespace {

const char* const kHead = "tilewright ir 1 program \"p\" { output Y: f32[8] launch bx in 8 {\n";

std::string message(const std::string& body, Diagnostics& diagnostics) {
  const ir::Program program =
      ir::parse_program(kHead + body + "} }", {.file = "k.tw", .locate = true});
  try {
    run(program, {check_pass("checks", check_program, diagnostics)});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Checks, ThrowErrorsOfAllChecksTogether) {
  Diagnostics diagnostics;
  EXPECT_EQ(message("alloc r: f32[8] reducer\nupdate r[0] = 1\n"
                    "alloc t: f32[8] shared\nt[8] = 1\n",
                    diagnostics),
            "k.tw:3: error[E-RDC-02]: p: update of r outside an epoch\n"
            "  help: open one with init(r)\n"
            "  note: also k.tw:5: error[E-BND-01]: p: t[8] reaches 8 in dimension 0\n"
            "  note: it is in `t[8] = 1.0`\n"
            "  note: t is f32[8] shared");
}

TEST(Checks, KeepWarnings) {
  Diagnostics diagnostics;
  EXPECT_EQ(message("var v: f32\nY[bx] = v\n", diagnostics), "");
  ASSERT_EQ(diagnostics.list().size(), 1U);
  EXPECT_EQ(diagnostics.list()[0].finding.code(), codes::w_init_01);
}

TEST(Checks, AreForTheAuthorBeforeTheVerifierSpeaksOfABug) {
  Diagnostics diagnostics;
  EXPECT_EQ(message("break\nvar v: f32\nY[bx] = v", diagnostics),
            "k.tw:2: error[E-FLOW-02]: p: `break`: it is outside a loop");
}

TEST(Checks, SayWhatIsNotWellFormed) {
  Diagnostics diagnostics;
  EXPECT_EQ(
      message("alloc r: i64[] reducer with reduce=sum\nupdate r[bx] = 1\nY[bx] = bx", diagnostics),
      "p: the program is not well formed\n"
      "  note: `update r[bx] = 1`: r has 0 dimensions, found 1 indices\n"
      "  note: `Y[bx] = bx`: the value is i64, must be f32");
}

TEST(Checks, RefuseUnknownOptions) {
  Diagnostics diagnostics;
  ir::Program program;
  program.options = {{"check_init", "loud"}};
  EXPECT_THROW(check_program(program, diagnostics), Error);
}

}  // namespace
}  // namespace tw::pass
