// What threads wrote and an engine reads next: a fence stands before they tell of it, on every way.
#include "tilewright/pass/thread/insert_fences.h"

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"

namespace tw::pass {
namespace {

/// The order of fences (F), barriers and reductions (B), loops ([ ]) and bulk copies (C).
std::string order_of(const std::string& body) {
  const ir::Program program = after(ir::parse_program(R"(tilewright ir 1 program "p" {
        symbol n input X: f32[n, 512] with align=128 output Y: f32[n, 512] with align=128
        launch b in n with threads=[128], thread=t {
          alloc s: f32[512] shared alloc x: f32[512] fragment alloc m: f32[1] fragment
          copy X[b, 0 :+ 512] -> x )" + body + " } }"),
                                    "insert_fences");
  std::string order;
  const auto walk = [&](auto& self, const ir::Stmt& s) -> void {
    if (!s) return;
    if (const auto* sync = s.try_as<ir::Sync>()) {
      order += sync->code == ir::SyncCode::fence_engines ? "F" : "";
    }
    if (s.is<ir::Barrier>() || s.is<ir::Reduce>()) order += "B";
    if (s.is<ir::AsyncCopy>()) order += "C";
    if (const auto* seq = s.try_as<ir::Seq>()) {
      for (const ir::Stmt& each : seq->stmts) self(self, each);
    }
    if (const auto* branch = s.try_as<ir::If>()) {
      self(self, branch->then_body);
      self(self, branch->else_body);
    }
    if (const auto* loop = s.try_as<ir::For>()) {
      order += "[";
      self(self, loop->body);
      order += "]";
    }
  };
  walk(walk, program.launches[0].as<ir::Launch>().body);
  return order;
}

const char* const kCopy = " if t == 0 { async bulk s -> Y[b, 0 :+ 512] }";

TEST(InsertFences, ComeBeforeTheBarrierThatTells) {
  EXPECT_EQ(order_of(std::string("parallel j in 512 { s[j] = x[j] } barrier") + kCopy), "FB[C]");
  EXPECT_EQ(order_of("parallel j in 512 { x[j] = x[j] * 2.0 } barrier"), "B");
}

TEST(InsertFences, ComeBeforeReductionsWhichHaveABarrierInside) {
  EXPECT_EQ(order_of("parallel j in 512 { s[j] = x[j] } reduce sum x -> m over [0] "
                     "async bulk s -> Y[b, 0 :+ 512]"),
            "FB[C]");
}

TEST(InsertFences, ComeBehindALoopThatIsLeftBeforeItsBarrier) {
  EXPECT_EQ(order_of("for i in 0:4 { parallel j in 512 { s[j] = x[j] } if n == i { break } "
                     "barrier } barrier" +
                     std::string(kCopy)),
            "[FB]FB[C]");
}

}  // namespace
}  // namespace tw::pass
