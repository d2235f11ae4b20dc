#include "tilewright/pass/check_ops.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

TEST(CheckOps, WarnsOfShiftsOutsideTheWidth) {
  EXPECT_EQ(findings(check_ops, "let a: u8 = u8(1) << u8(7)\nlet b: i64 = bx >> 63"), "");
  EXPECT_EQ(
      findings(check_ops, "let a: u8 = u8(1) << u8(8)\nlet b: i64 = bx >> -1"),
      "k.tw:1: warning[W-TYPE-01]: p: `u8(1) << u8(8)`: the count 8 is outside the 8 bits of u8\n"
      "k.tw:2: warning[W-TYPE-01]: p: `bx >> -1`: the count -1 is outside the 64 bits of i64");
}

TEST(CheckOps, WarnsOfVectorWidthsThatAreReduced) {
  EXPECT_EQ(findings(check_ops, "parallel i in 64 with max_vector=4 { Y[bx, i] = 1.0 }"), "");
  EXPECT_EQ(findings(check_ops, "parallel i in 64 with max_vector=6 { Y[bx, i] = 1.0 }"),
            "k.tw:1: warning[W-LOOP-01]: p: `parallel i in 64 with max_vector=6`: max_vector is "
            "6, vectors of 4 elements are used");
}

TEST(CheckOps, FindsFloatAtomicsWhereTheyAreForbidden) {
  const std::string body = "atomic add Y[0, 0], 1.0\natomic max Y[0, 0], 1.0";
  EXPECT_EQ(findings(check_ops, body), "");
  EXPECT_EQ(
      findings(check_ops, body, "forbid_float_atomics", "on"),
      "k.tw:1: error[E-ATOM-04]: p: `atomic add Y[0, 0], 1.0`: sums of f32 depend on the order\n"
      "  note: the option forbid_float_atomics is on\n"
      "  help: write partial sums to a workspace and add them in a second launch");
}

}  // namespace
}  // namespace tw::pass
