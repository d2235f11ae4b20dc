#include "tilewright/pass/check_flow.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

std::string found(const std::string& body) { return findings(check_flow, body); }

TEST(CheckFlow, AcceptsJumpsAndEndlessLoopsThatAreLeft) {
  EXPECT_EQ(found("while true { if bx == 0 { break } } for i in 0:4 { continue }"), "");
  EXPECT_EQ(found("parallel i in 4 { for k in 0:4 { if k == i { break } } }"), "");
  EXPECT_EQ(found("parallel i in 4 { parallel j in 4 { } }"), "");
}

TEST(CheckFlow, FindsEachMistake) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"while true { for i in 0:4 { break } }",
       "k.tw:1: error[E-FLOW-01]: p: `while true`: the condition is always true and nothing leaves "
       "the loop\n  help: leave it with break_()"},
      {"break", "k.tw:1: error[E-FLOW-02]: p: `break`: it is outside a loop"},
      {"if bx == 0 {\ncontinue }", "k.tw:2: error[E-FLOW-02]: p: `continue`: it is outside a loop"},
      {"for i in 0:4:0 { }", "k.tw:1: error[E-FLOW-03]: p: `for i in 0:4:0`: the step is 0"},
      {"if X[0, 0] { }",
       "k.tw:1: error[E-FLOW-04]: p: `if X[0, 0]`: the condition is neither a bool nor an integer\n"
       "  note: `X[0, 0]` is f32\n  help: compare it with zero"},
      {"for i in 0:n unrolled { }",
       "k.tw:1: error[E-LOOP-02]: p: `for i in 0:n unrolled`: the extent is not known while "
       "compiling\n  help: give a factor, as in unroll(n, 4, body)"},
      {"for i in 0:n vectorized { }",
       "k.tw:1: error[E-LOOP-02]: p: `for i in 0:n vectorized`: the extent is not known while "
       "compiling\n  help: use parallel, or serial"},
      {"parallel i in 4 {\nfill Y = 0 }",
       "k.tw:2: error[E-LOOP-04]: p: `fill Y = 0.0`: a tile operation inside a parallel loop\n"
       "  help: move it out of the loop, or write its elements"},
      {"parallel i in 4 {\nfor k in 0:4 pipelined { } }",
       "k.tw:2: error[E-LOOP-05]: p: `for k in 0:4 pipelined`: it is inside a parallel loop\n"
       "  help: use serial there, or put the parallel loop inside"},
      {"for k in 0:4 { parallel i in 4 {\nbreak } }",
       "k.tw:2: error[E-LOOP-06]: p: `break`: it would leave a parallel loop\n"
       "  help: guard the rest of the body with if_"},
      {"parallel i in 4 { Y[i, 0] = 1\nparallel j in 4 { } }",
       "k.tw:2: error[E-LOOP-07]: p: `parallel j in 4`: it is inside a parallel loop, beside other "
       "statements\n  help: write one box, as in parallel({n, m}, body), or make it serial"},
  };
  for (const auto& [body, message] : cases) EXPECT_EQ(found(body), message);
}

}  // namespace
}  // namespace tw::pass
