#include "tilewright/pass/apply_debug_options.h"

#include <gtest/gtest.h>

#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"

namespace tw::pass {
namespace {

std::string applied(const std::string& body, const std::string& option, const std::string& value) {
  ir::Program p = ir::parse_program(
      "tilewright ir 1 program \"p\" { scalar n: i64 launch b in n {" + body + "} }");
  p = ir::with_option(p, option, value);
  const std::string text = ir::print(apply_debug_options(p));
  const size_t from = text.find("launch");
  return text.substr(from, text.rfind("\n}") - from);
}

const std::string kBody =
    R"(assume n < 8 print "n" [n] assert b < 4, "many" if b == 0 { assume n > 1 })";

TEST(ApplyDebugOptions, ChecksWhatIsAssumed) {
  EXPECT_EQ(applied(kBody, "check_assumptions", "on"), R"(launch b in n {
    {
      assert n < 8, "`n < 8` is assumed"
      assume n < 8
    }
    print "n" [n]
    assert b < 4, "many"
    if b == 0 {
      assert n > 1, "`n > 1` is assumed"
      assume n > 1
    }
  })");
}

TEST(ApplyDebugOptions, RemovesPrintsAndAsserts) {
  EXPECT_EQ(applied(kBody, "no_debug", "on"), R"(launch b in n {
    assume n < 8
    {
    }
    {
    }
    if b == 0 {
      assume n > 1
    }
  })");
}

TEST(ApplyDebugOptions, KeepsAProgramThatAsksForNothing) {
  const ir::Program p = ir::parse_program(
      "tilewright ir 1 program \"p\" { scalar n: i64 launch b in n { assume n < 8 } }");
  EXPECT_TRUE(apply_debug_options(p).launches[0].same_as(p.launches[0]));
}

}  // namespace
}  // namespace tw::pass
