// Random programs become machine code. The host has no device to run it on: fuzz_cuda_test.cpp
// does.
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/generator.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/text.h"

namespace tw::cuda {
namespace {

TEST(CudaFuzz, RandomProgramsBecomeCubins) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  for (int64_t i = 0; i < env::fuzz_programs.get() / 333; ++i) {
    const fuzz::Case one = fuzz::generate(static_cast<uint64_t>(env::fuzz_seed.get() + i));
    backend::CompileReport all_entries{.keep_texts = true};  // else some wait for a call
    try {
      const backend::Artifact artifact =
          compile_program(one.program, i % 2 == 0 ? "cuda:sm_90a" : "cuda:sm_100a", &all_entries);
      EXPECT_TRUE(
          artifact.code.starts_with("\x7f"
                                    "ELF"));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << one.seed << ": " << error.what() << "\n"
                    << ir::print(one.program);
    }
  }
}

}  // namespace
}  // namespace tw::cuda
