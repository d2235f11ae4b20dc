#include "tilewright/backend/metadata_of.h"

#include <gtest/gtest.h>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"

namespace tw::backend {
namespace {

runtime::KernelMetadata metadata(const std::string& text) {
  return metadata_of(ir::parse_program("tilewright ir 1 program \"p\" {" + text + "}"), "cpu",
                     DeviceKind::cpu);
}

TEST(MetadataOf, DescribesParametersInTheOrderOfTheCall) {
  const runtime::KernelMetadata m = metadata(R"(
    symbol n: i64 with multiple_of=16, max=4096
    input x: bf16[n, 64]
    scalar eps: f32
    output y: f32[n * 2 + 1, 4] with strides=[n, 1], align=64
    workspace w: i32[n // 2] with zero
    launch b in (n + 7) // 8 with name="main" { y![0, 0] = eps })");
  EXPECT_EQ(runtime::to_text(m),
            "kernel p for cpu (64-bit indices)\n"
            "  symbol n multiple of 16 max 4096\n"
            "  input x bf16 [n, 64] align 2\n"
            "  scalar eps f32\n"
            "  output y f32 [n * 2 + 1, 4] strides [n, 1] align 64\n"
            "  workspace w i32 [n // 2] align 4 zeroed\n"
            "  launch main\n"
            "    main_0 grid [(n + 7) // 8]\n");
}

TEST(MetadataOf, AGpuGetsThreadsAndClusters) {
  const ir::Program program = ir::parse_program(R"(tilewright ir 1 program "p" {
    output y: f32[4]
    launch b in 4 with threads=[64, 2], cluster=[2], cooperative, dependent_launch { y![b] = 1.0 } })");
  const auto text = [&](DeviceKind device) {
    const std::string all = runtime::to_text(metadata_of(program, "t", device));
    return all.substr(all.find(" grid "));
  };
  EXPECT_EQ(text(DeviceKind::cuda),
            " grid [4] threads [64, 2] cluster [2] cooperative dependent\n");
  EXPECT_EQ(text(DeviceKind::cpu), " grid [4]\n");
}

TEST(MetadataOf, LaunchesThatStandInAreVariants) {
  const runtime::KernelMetadata m = metadata(R"(
    symbol n: i64
    output y: f32[n]
    launch b in n with name="wide", guard=n % 16 == 0 { y![b] = 1.0 }
    launch b in n with name="any" { y![b] = 1.0 }
    launch b in 1 with name="last" { y![0] = 2.0 })");
  ASSERT_EQ(m.launches.size(), 2U);
  ASSERT_EQ(m.launches[0].variants.size(), 2U);
  EXPECT_EQ(m.launches[0].variants[0].entry, "wide_0");
  EXPECT_EQ(runtime::to_text(m.launches[0].variants[0].guard), "s0 % 16 == 0");
  EXPECT_EQ(m.launches[0].variants[1].entry, "any_1");
  EXPECT_EQ(m.launches[1].variants[0].entry, "last_2");
}

TEST(MetadataOf, ASizeMayBePassedByValue) {
  const runtime::KernelMetadata m = metadata(R"(
    symbol n: i64 with min=1
    output y: f32[8]
    scalar n
    launch b in n with name="main" { y![b] = 1.0 })");
  EXPECT_EQ(m.symbols[0].param, 1);
  EXPECT_EQ(runtime::to_text(m),
            "kernel p for cpu (64-bit indices)\n"
            "  symbol n min 1 by value\n"
            "  output y f32 [8] align 4\n"
            "  scalar n i64\n"
            "  launch main\n"
            "    main_0 grid [n]\n");
}

TEST(MetadataOf, NamesAnExpressionThatTheHostCantEvaluate) {
  for (const std::string grid : {"n << 1", "n & 3", "abs(n)", "cast(n, i8)", "i[0]"}) {
    try {
      metadata("symbol n: i64 input i: i64[n] output y: f32[1] launch b in " + grid +
               " { y![0] = 1.0 }");
      FAIL() << grid;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), codes::tgt_03);
      EXPECT_EQ(error.message(), "p: `" + grid + "` in a size, stride or grid");
    }
  }
}

}  // namespace
}  // namespace tw::backend
