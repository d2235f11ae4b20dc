// The C API: all kernels of the library for programs in C11, and for whatever calls C.
#pragma once

#include "tilewright/capi/activation.h"   // IWYU pragma: export
#include "tilewright/capi/attention.h"    // IWYU pragma: export
#include "tilewright/capi/base.h"         // IWYU pragma: export
#include "tilewright/capi/elementwise.h"  // IWYU pragma: export
#include "tilewright/capi/gather.h"       // IWYU pragma: export
#include "tilewright/capi/gemm.h"         // IWYU pragma: export
#include "tilewright/capi/moe.h"          // IWYU pragma: export
#include "tilewright/capi/move.h"         // IWYU pragma: export
#include "tilewright/capi/norm.h"         // IWYU pragma: export
#include "tilewright/capi/pool.h"         // IWYU pragma: export
#include "tilewright/capi/quant.h"        // IWYU pragma: export
#include "tilewright/capi/rand.h"         // IWYU pragma: export
#include "tilewright/capi/reduce.h"       // IWYU pragma: export
#include "tilewright/capi/scan.h"         // IWYU pragma: export
#include "tilewright/capi/select.h"       // IWYU pragma: export
#include "tilewright/capi/transform.h"    // IWYU pragma: export
