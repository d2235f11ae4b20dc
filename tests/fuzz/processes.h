// Random programs in several processes, for executors that break the process that they run in.
#pragma once

#include <cstdint>

#include "tests/fuzz/check.h"
#include "tests/fuzz/expressions.h"

namespace tw::fuzz {

/// As expect_agreement, in one process per core. A process ends with the first case that disagrees
/// or takes too long, and another goes on with the next: after a fault of a kernel, a process can't
/// use the device any more. Only differences of values are made smaller. The process of the test
/// must not have used what a fork doesn't survive, such as a GPU.
void expect_agreement_in_processes(const Executor& executor, Functions functions,
                                   uint64_t first_seed, int64_t count);

}  // namespace tw::fuzz
