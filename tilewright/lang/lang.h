// Everything that a kernel's author includes. See docs/language.md.
#pragma once

#include "tilewright/ir/text.h"          // IWYU pragma: export
#include "tilewright/lang/annotate.h"    // IWYU pragma: export
#include "tilewright/lang/async.h"       // IWYU pragma: export
#include "tilewright/lang/atomics.h"     // IWYU pragma: export
#include "tilewright/lang/blocks.h"      // IWYU pragma: export
#include "tilewright/lang/buffer.h"      // IWYU pragma: export
#include "tilewright/lang/builder.h"     // IWYU pragma: export
#include "tilewright/lang/debug.h"       // IWYU pragma: export
#include "tilewright/lang/kernel_def.h"  // IWYU pragma: export
#include "tilewright/lang/loops.h"       // IWYU pragma: export
#include "tilewright/lang/math.h"        // IWYU pragma: export
#include "tilewright/lang/operators.h"   // IWYU pragma: export
#include "tilewright/lang/random.h"      // IWYU pragma: export
#include "tilewright/lang/reduce.h"      // IWYU pragma: export
#include "tilewright/lang/region.h"      // IWYU pragma: export
#include "tilewright/lang/schedule.h"    // IWYU pragma: export
#include "tilewright/lang/scheduler.h"   // IWYU pragma: export
#include "tilewright/lang/threads.h"     // IWYU pragma: export
#include "tilewright/lang/tile_ops.h"    // IWYU pragma: export
#include "tilewright/lang/tile_value.h"  // IWYU pragma: export
#include "tilewright/lang/vector.h"      // IWYU pragma: export
