// Executors in a process of their own, so that a crash or an endless loop is a result like others.
#pragma once

#include "tests/fuzz/check.h"

namespace tw::fuzz {

/// Runs the executor in a forked process. A signal, or more than `seconds` of computing, is thrown
/// as an error.
Executor isolated(Executor executor, unsigned seconds = 60);

}  // namespace tw::fuzz
