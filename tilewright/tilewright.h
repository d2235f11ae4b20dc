// All of tilewright for a program that writes, compiles and calls kernels.
#pragma once

#include "tilewright/jit/compile.h"  // IWYU pragma: export
#include "tilewright/jit/jit.h"      // IWYU pragma: export
#include "tilewright/lang/lang.h"    // IWYU pragma: export
