// Compiled kernels as an executor of random programs.
#pragma once

#include <string>

#include "tests/fuzz/check.h"

namespace tw::fuzz {

/// Compiles the program for a target, without caches, and calls the kernel.
Executor compiled(std::string target);

}  // namespace tw::fuzz
