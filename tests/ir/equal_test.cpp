#include "tilewright/ir/equal.h"

#include "tests/ir/ir_testing.h"

namespace tw::ir {
namespace {

bool alike(const std::string& a, const std::string& b) {
  return structurally_equal(parse(a), parse(b), Free::same_name);
}

TEST(Equal, IgnoresTheNamesOfWhatAStatementBinds) {
  EXPECT_TRUE(alike("for i in 0:4 { s[i] = 1 }", "for j in 0:4 { s[j] = 1 }"));
  EXPECT_TRUE(alike("alloc a: f32[4] shared a[0] = 1", "alloc b: f32[4] shared b[0] = 1"));
  EXPECT_TRUE(alike("let a = 1 let b = 2 s[a + b] = 0", "let b = 1 let a = 2 s[b + a] = 0"));
}

TEST(Equal, SeesThatVariablesAreUsedDifferently) {
  EXPECT_FALSE(alike("let a = 1 let b = 2 s[a + b] = 0", "let a = 1 let b = 2 s[b + a] = 0"));
  EXPECT_FALSE(alike("let a = 1 let b = 2 s[a + a] = 0", "let a = 1 let b = 2 s[a + b] = 0"));
  EXPECT_FALSE(alike("let a = 1 s[a] = 0", "let b = 1 s[a] = 0"));
  EXPECT_FALSE(alike("let a = 1 s[n] = 0", "let n = 1 s[n] = 0"));
}

TEST(Equal, ComparesFreeNamesAndTheirDeclarations) {
  EXPECT_TRUE(alike("s[n] = 1", "s[n] = 1"));
  EXPECT_FALSE(alike("s[n] = 1", "t[n] = 1"));
  EXPECT_FALSE(alike("s[n] = 1", "s[m] = 1"));
  EXPECT_FALSE(alike("given s: f32[4] s[0] = 1", "given s: f32[5] s[0] = 1"));
  EXPECT_FALSE(structurally_equal(parse("s[n] = 1"), parse("s[n] = 1"), Free::same_node));
}

TEST(Equal, SeesEveryField) {
  EXPECT_FALSE(alike("s[0] = 1", "s![0] = 1"));
  EXPECT_FALSE(alike("s[0] = 1", "s[0] = 1 with streaming"));
  EXPECT_FALSE(alike("s[0] = exp(s[1])", "s[0] = exp.fast(s[1])"));
  EXPECT_FALSE(alike("s[0] = 0.0", "s[0] = -0.0"));
  EXPECT_FALSE(alike("alloc t: f32[4] shared", "alloc t: f32[4] shared with padding=1"));
  EXPECT_FALSE(alike("for i in 0:4 { }", "for i in 0:4 vectorized { }"));
  EXPECT_FALSE(alike("if n == 0 { }", "if n == 0 { } else { }"));
  EXPECT_FALSE(alike("print \"a\"", "print \"b\""));
}

TEST(Equal, ComparesNansByTheirBits) {
  EXPECT_TRUE(structurally_equal(expr("f64(nan)"), expr("f64(nan)")));
  EXPECT_FALSE(structurally_equal(expr("f64(nan)"), expr("f64(-nan)")));
}

TEST(Equal, OptionsAreNoNames) {
  const std::string head = "tilewright ir 1 program \"a\" { option ";
  EXPECT_FALSE(structurally_equal(parse_program(head + "wgmma=\"off\" }"),
                                  parse_program(head + "bulk_copy=\"off\" }")));
}

}  // namespace
}  // namespace tw::ir
