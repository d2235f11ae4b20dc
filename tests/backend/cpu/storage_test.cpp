#include "tilewright/backend/cpu/emit/storage.h"

#include <gtest/gtest.h>

#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::cpu {
namespace {

/// Where each named buffer of a launch's body lives: its offset in scratch, or -1 on the stack.
std::map<std::string, int64_t> places(const std::string& body, int64_t* total = nullptr) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { input x: f32[4096] launch b in 1 {" + body + "} }");
  const auto& launch = program.launches[0].as<ir::Launch>();
  const StoragePlan plan = plan_storage(launch);
  if (total != nullptr) *total = plan.scratch_bytes;
  std::map<std::string, int64_t> result;
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc == nullptr) return;
    const auto at = plan.scratch.find(alloc->buffer);
    result[alloc->buffer.name()] = at == plan.scratch.end() ? -1 : at->second;
  });
  return result;
}

using Places = std::map<std::string, int64_t>;

TEST(PlanStorage, SmallBuffersLiveOnTheStack) {
  int64_t total = 0;
  EXPECT_EQ(places("alloc a: f32[1024] fragment alloc c: f32[1025] fragment a[0] = 1.0 c[0] = 1.0",
                   &total),
            (Places{{"a", -1}, {"c", 0}}));
  EXPECT_EQ(total, 4160);  // a multiple of 64
}

TEST(PlanStorage, RefusesMoreThanAWorkerHas) {
  try {
    places(
        "alloc a: f32[1024, 1024, 64] shared alloc c: f32[8192] fragment "
        "alloc d: f64[1073741824, 1073741824, 1073741824] local a[0, 0, 0] = 1.0 c[0] = 1.0 "
        "d[0, 0, 0] = cast(a[0, 0, 0], f64)");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "error[E-MEM-02]: launch: a block's buffers take 2199023517696 KiB, limit 262144\n"
                 "  note: d: 2199023255552 KiB, live from statement 7 to 7\n"
                 "  note: a: 262144 KiB, live from statement 5 to 7\n"
                 "  note: c: 32 KiB, live from statement 6 to 6\n"
                 "  help: smaller tiles take less");
  }
}

TEST(PlanStorage, BuffersWhoseLivesEndMakeRoom) {
  int64_t total = 0;
  EXPECT_EQ(places(R"(alloc a: f32[2048] shared alloc c: f32[2048] shared alloc d: f32[2048] shared
                      a[0] = 1.0 c[0] = a[0] d[0] = c[0])",
                   &total),
            (Places{{"a", 0}, {"c", 8192}, {"d", 0}}));
  EXPECT_EQ(total, 16384);
}

TEST(PlanStorage, ALoopKeepsWhatItUsesAndDidntAllocate) {
  // c is written in the next round after a was read, so both are needed throughout.
  EXPECT_EQ(places(R"(alloc a: f32[2048] shared alloc c: f32[2048] shared
                      for i in 0:4 { a[0] = 1.0 c[0] = a[0] })"),
            (Places{{"a", 0}, {"c", 8192}}));
  EXPECT_EQ(places(R"(for i in 0:4 {
                        alloc a: f32[2048] shared a[0] = 1.0
                        alloc c: f32[2048] shared c[0] = 1.0 })"),
            (Places{{"a", 0}, {"c", 0}}));
}

TEST(PlanStorage, AViewKeepsItsBufferAlive) {
  EXPECT_EQ(places(R"(alloc a: f32[2048] shared view v: f32[1024] shared of a
                      alloc c: f32[2048] shared
                      a[0] = 1.0 c[0] = 2.0 v[0] = c[0])"),
            (Places{{"a", 0}, {"c", 8192}, {"v", -1}}));
}

TEST(PlanStorage, CountsPaddingAndPackedElements) {
  const auto bytes = [](const std::string& declaration) {
    const ir::Program program = ir::parse_program(
        "tilewright ir 1 program \"p\" { input x: f32[1] launch b in 1 { alloc a: " + declaration +
        " } }");
    int64_t count = -1;
    ir::for_each_stmt(program.launches[0], [&](const ir::Stmt& s) {
      if (const auto* alloc = s.try_as<ir::Alloc>()) count = bytes_of(alloc->buffer);
    });
    return count;
  };
  EXPECT_EQ(bytes("f32[8, 16] shared"), 512);
  EXPECT_EQ(bytes("f32[8, 16] shared with padding=4"), 640);
  EXPECT_EQ(bytes("e2m1[8, 16] shared"), 64);
}

}  // namespace
}  // namespace tw::cpu
