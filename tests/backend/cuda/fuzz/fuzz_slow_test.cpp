// Random programs become machine code. The host has no device to run it on: fuzz_cuda_test.cpp
// does.
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/compiled.h"
#include "tests/fuzz/generator.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/text.h"

namespace tw::cuda {
namespace {

TEST(CudaFuzz, RandomProgramsBecomeCubins) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  for (int64_t i = 0; i < env::fuzz_programs.get() / 333; ++i) {
    const fuzz::Case one = fuzz::generate(static_cast<uint64_t>(env::fuzz_seed.get() + i));
    try {
      // Without texts some entries would wait for a call.
      const Kernel kernel = fuzz::compiled_for(i % 2 == 0 ? "cuda:sm_90a" : "cuda:sm_100a",
                                               one.program, /*keep_texts=*/true);
      EXPECT_NE(kernel.text("nvrtc").find("registers"), std::string::npos) << "seed " << one.seed;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << one.seed << ": " << error.what() << "\n"
                    << ir::print(one.program);
    }
  }
}

}  // namespace
}  // namespace tw::cuda
