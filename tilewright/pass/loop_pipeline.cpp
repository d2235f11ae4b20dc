#include "tilewright/pass/loop_pipeline.h"

#include "tilewright/pass/apply_debug_options.h"
#include "tilewright/pass/assert_bounds.h"
#include "tilewright/pass/fuse_loops.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/infer_layouts.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/pack_gemm_operands.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/stream_outputs.h"
#include "tilewright/pass/unroll_loops.h"

namespace tw::pass {

std::vector<Pass> loop_pipeline(const VectorShape& shape, bool bf16_dot) {
  using ir::Level;
  using ir::Program;
  const auto simplify = [](const Program& p) { return pass::simplify(p); };
  return {
      {"apply_debug_options", Level::tile, Level::tile, apply_debug_options},
      {"assert_bounds", Level::tile, Level::tile, assert_bounds},
      {"simplify", Level::tile, Level::tile, simplify},
      {"pack_gemm_operands", Level::tile, Level::tile,
       [=](const Program& p) { return pack_gemm_operands(p, bf16_dot); }},
      {"infer_layouts", Level::tile, Level::scheduled,
       [=](const Program& p) { return infer_layouts(p, shape); }},
      {"plan_prefetch", Level::scheduled, Level::scheduled, plan_prefetch},
      {"lower_tile_ops", Level::scheduled, Level::scheduled,
       [=](const Program& p) { return lower_tile_ops(p, shape); }},
      {"fuse_loops", Level::scheduled, Level::scheduled, fuse_loops},
      {"guard_bounds", Level::scheduled, Level::scheduled, guard_bounds},
      {"stream_outputs", Level::scheduled, Level::scheduled, stream_outputs},
      {"unroll_loops", Level::scheduled, Level::scheduled, unroll_loops},
      {"lower_parallel", Level::scheduled, Level::loop,
       [=](const Program& p) { return lower_parallel(p, shape); }},
      {"apply_layouts", Level::loop, Level::loop, apply_layouts},
      {"simplify_loops", Level::loop, Level::loop, simplify},
  };
}

}  // namespace tw::pass
