#include "tilewright/pass/thread/thread_pipeline.h"

#include "tilewright/pass/apply_debug_options.h"
#include "tilewright/pass/assert_bounds.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/thread/forward_loads.h"
#include "tilewright/pass/thread/insert_barriers.h"
#include "tilewright/pass/thread/insert_fences.h"
#include "tilewright/pass/thread/lower_block_ops.h"
#include "tilewright/pass/thread/lower_threads.h"
#include "tilewright/pass/thread/narrow_divisions.h"
#include "tilewright/pass/thread/pipeline_loops.h"
#include "tilewright/pass/thread/plan_shared.h"
#include "tilewright/pass/thread/spread_loops.h"

namespace tw::pass {

std::vector<Pass> thread_pipeline(const BlockLimits& limits, Remarks* remarks) {
  using ir::Level;
  using ir::Program;
  const auto simplify = [](const Program& p) { return pass::simplify(p); };
  const auto simplify_tiles = [](const Program& p) { return pass::simplify(p, true); };
  const auto remarking = [=](Program (*pass)(const Program&, Remarks*)) {
    return [=](const Program& p) { return pass(p, remarks); };
  };
  return {
      {"apply_debug_options", Level::tile, Level::tile, apply_debug_options},
      {"assert_bounds", Level::tile, Level::tile, assert_bounds},
      {"simplify", Level::tile, Level::tile, simplify_tiles},
      {"lower_block_ops", Level::tile, Level::scheduled, remarking(lower_block_ops)},
      {"pipeline_loops", Level::scheduled, Level::scheduled, remarking(pipeline_loops)},
      {"forward_loads", Level::scheduled, Level::scheduled, forward_loads},
      {"spread_loops", Level::scheduled, Level::scheduled, remarking(spread_loops)},
      {"insert_barriers", Level::scheduled, Level::scheduled, insert_barriers},
      {"insert_fences", Level::scheduled, Level::scheduled, insert_fences},
      {"guard_bounds", Level::scheduled, Level::scheduled, guard_bounds},
      {"lower_threads", Level::scheduled, Level::thread, remarking(lower_threads)},
      {"plan_shared", Level::thread, Level::thread,
       [=](const Program& p) { return plan_shared(p, limits.shared_bytes); }},
      {"simplify_threads", Level::thread, Level::thread, simplify},
      {"narrow_divisions", Level::thread, Level::thread, narrow_divisions},
  };
}

}  // namespace tw::pass
