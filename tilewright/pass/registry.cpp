#include "tilewright/pass/registry.h"

#include "tilewright/pass/apply_debug_options.h"
#include "tilewright/pass/check_bounds.h"
#include "tilewright/pass/check_epochs.h"
#include "tilewright/pass/check_flow.h"
#include "tilewright/pass/check_init.h"
#include "tilewright/pass/check_pipeline.h"
#include "tilewright/pass/check_race.h"
#include "tilewright/pass/checks.h"
#include "tilewright/pass/fuse_loops.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/infer_layouts.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/pack_gemm_operands.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/stream_outputs.h"
#include "tilewright/pass/unroll_loops.h"

namespace tw::pass {

std::vector<Pass> registry(Diagnostics& diagnostics) {
  using ir::Level;
  using ir::Program;
  const VectorShape shape;
  return {
      {"apply_debug_options", Level::tile, Level::tile, apply_debug_options},
      {"apply_layouts", Level::loop, Level::loop, apply_layouts},
      check_pass("check_bounds", check_bounds, diagnostics),
      check_pass("check_epochs", check_epochs, diagnostics),
      check_pass("check_flow", check_flow, diagnostics),
      check_pass("check_init", check_init, diagnostics),
      check_pass("check_pipeline", check_pipeline, diagnostics),
      check_pass("check_race", check_race, diagnostics),
      check_pass("checks", check_program, diagnostics),
      {"fuse_loops", Level::tile, Level::tile, fuse_loops},
      {"guard_bounds", Level::tile, Level::tile, guard_bounds},
      {"infer_layouts", Level::tile, Level::scheduled,
       [=](const Program& p) { return infer_layouts(p, shape); }},
      {"lower_parallel", Level::scheduled, Level::loop,
       [=](const Program& p) { return lower_parallel(p, shape); }},
      {"lower_tile_ops", Level::tile, Level::tile,
       [=](const Program& p) { return lower_tile_ops(p, shape); }},
      {"pack_gemm_operands", Level::tile, Level::tile,
       [](const Program& p) { return pack_gemm_operands(p, /*bf16_dot=*/true); }},
      {"plan_prefetch", Level::tile, Level::tile, plan_prefetch},
      {"simplify", Level::tile, Level::tile, [](const Program& p) { return simplify(p); }},
      {"stream_outputs", Level::tile, Level::tile, stream_outputs},
      {"unroll_loops", Level::tile, Level::tile, unroll_loops},
  };
}

std::vector<Pass> passes_named(const std::vector<std::string>& names, Diagnostics& diagnostics) {
  std::vector<Pass> list;
  const std::vector<Pass> all = registry(diagnostics);
  for (const std::string& name : names) {
    bool found = false;
    for (const Pass& pass : all) {
      if (pass.name != name) continue;
      list.push_back(pass);
      found = true;
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const Pass& pass : all) known.push_back(pass.name);
    throw Error({}, {}, "there is no pass '{}'", name).note("the passes are {}", join(known, ", "));
  }
  return list;
}

}  // namespace tw::pass
