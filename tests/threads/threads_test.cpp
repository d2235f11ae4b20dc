// Authors' code for single threads: in the twin, and as cubins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/threads/sample.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/diagnostics.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"
#include "tilewright/pass/checks.h"
#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::test {
namespace {

class Threads : public testing::TestWithParam<Sample> {};

TEST_P(Threads, GiveTheResultInTheTwin) {
  const Sample& sample = GetParam();
  Diagnostics diagnostics;
  pass::check_program(sample.program, diagnostics);
  EXPECT_EQ(to_text(diagnostics), "");
  const ir::Program threads =
      pass::run(sample.program, pass::thread_pipeline(pass::BlockLimits()), {}).program;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const SampleMemory memory(sample);
    const sim::TwinResult result = sim::run_twin(threads, memory.arguments(), {.seed = seed});
    ASSERT_EQ(sim::to_text(result.findings), "") << ir::print(threads);
    ASSERT_EQ(memory.result(), sample.expected) << ir::print(threads);
  }
}

TEST_P(Threads, AreTheSameFromText) {
  const std::string text = ir::print(GetParam().program);
  EXPECT_EQ(ir::print(ir::parse_program(text)), text);
}

TEST_P(Threads, BecomeCubins) {
  if (cuda::nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_file().missing;
  for (const char* target : {"cuda:sm_90a", "cuda:sm_100a"}) {
    EXPECT_TRUE(cuda::compile_program(GetParam().program, target, nullptr)
                    .code.starts_with("\x7f"
                                      "ELF"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Threads, testing::ValuesIn(all_samples()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tw::test
