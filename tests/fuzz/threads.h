// Programs lowered to threads, run by the twin, as an executor of random programs.
#pragma once

#include "tests/fuzz/check.h"

namespace tw::fuzz {

/// Lowers the program to thread IR and runs it in the twin, with threads in an order that depends
/// on the seed. Throws what the twin finds.
Executor threads();

}  // namespace tw::fuzz
