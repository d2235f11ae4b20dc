// Random programs in their thousands: compiled kernels against the interpreter. TW_FUZZ_PROGRAMS
// says how many, TW_FUZZ_SEED which is the first.
#include <gtest/gtest.h>

#include "tests/fuzz/check.h"
#include "tests/fuzz/compiled.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/threads.h"
#include "tilewright/backend/backend.h"
#include "tilewright/base/env.h"

namespace tw::fuzz {
namespace {

uint64_t first_seed() { return static_cast<uint64_t>(env::fuzz_seed.get()); }

TEST(Fuzz, CpuKernelsAgreeWithTheInterpreter) {
  backend::load_backend("cpu");  // once, not in each process
  expect_agreement(isolated(compiled("cpu")), first_seed(), env::fuzz_programs.get());
}

TEST(Fuzz, ThreadsAgreeWithTheInterpreter) {
  expect_agreement(threads(), first_seed(), env::fuzz_programs.get() / 5);
}

TEST(Fuzz, OrdersOfBlocksAndIterationsDontShow) {
  expect_agreement(interpreter(first_seed() + 1), first_seed(), env::fuzz_programs.get());
}

}  // namespace
}  // namespace tw::fuzz
