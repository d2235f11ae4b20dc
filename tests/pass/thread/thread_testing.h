// Programs for tests of the passes to thread IR.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"

namespace tw::pass {

/// A program around statements of a launch of n blocks b. X and Y: f32[n, 64], x and y: f32[8, 64]
/// fragments, s: f32[64] shared.
inline ir::Program block_program(const std::string& body, const std::string& options = "") {
  return ir::parse_program(R"(tilewright ir 1 program "p" { symbol n input X: f32[n, 64]
      inout Y: f32[n, 64] launch b in n )" +
                           options + R"( {
      alloc x: f32[8, 64] fragment alloc y: f32[8, 64] fragment alloc s: f32[64] shared )" +
                           body + " } }");
}

/// The program after the passes of thread_pipeline up to the one of that name.
inline ir::Program after(const ir::Program& program, const std::string& name) {
  std::vector<Pass> passes;
  for (Pass& pass : thread_pipeline(BlockLimits())) {
    passes.push_back(pass);
    if (pass.name == name) break;
  }
  return run(program, passes, {}).program;
}

/// The reasons of the barriers in a program, in order.
inline std::vector<std::string> barriers(const ir::Program& program) {
  std::vector<std::string> reasons;
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      if (const auto* barrier = s.try_as<ir::Barrier>()) reasons.push_back(barrier->reason);
    });
  }
  return reasons;
}

}  // namespace tw::pass
