#include "tilewright/base/diagnostics.h"

#include <gtest/gtest.h>

#include "tilewright/base/codes.h"

namespace tw {
namespace {

TEST(Diagnostics, PrintsAWarningLikeAnError) {
  Diagnostics diagnostics;
  diagnostics.warn(codes::w_init_01, {"dir/k.cpp", 12}, "{} is read", "t").note("it is {}", 1);
  EXPECT_EQ(to_text(diagnostics), "k.cpp:12: warning[W-INIT-01]: t is read\n  note: it is 1");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_NO_THROW(diagnostics.throw_errors());
}

TEST(Diagnostics, ThrowsAllErrorsTogether) {
  Diagnostics diagnostics;
  diagnostics.error(codes::flow_01, {"k.cpp", 1}, "first");
  diagnostics.warn(codes::w_init_01, {"k.cpp", 2}, "second");
  diagnostics.error(codes::flow_02, {"k.cpp", 3}, "third");
  try {
    diagnostics.throw_errors();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), codes::flow_01);
    EXPECT_STREQ(error.what(),
                 "k.cpp:1: error[E-FLOW-01]: first\n  note: also k.cpp:3: error[E-FLOW-02]: third");
  }
}

}  // namespace
}  // namespace tw
