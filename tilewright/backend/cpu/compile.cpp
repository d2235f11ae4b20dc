#include "tilewright/backend/cpu/compile.h"

#include <chrono>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/emit/emit.h"
#include "tilewright/backend/cpu/toolchain.h"
#include "tilewright/backend/metadata_of.h"
#include "tilewright/ir/options.h"
#include "tilewright/pass/fuse_loops.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/infer_layouts.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/pack_gemm_operands.h"
#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/stream_outputs.h"
#include "tilewright/pass/unroll_loops.h"

namespace tw::cpu {
namespace {

/// Runs f and notes how long it took.
template <class F>
auto timed(backend::CompileReport& report, const std::string& step, F f) {
  const auto start = std::chrono::steady_clock::now();
  auto result = f();
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  report.steps.push_back({step, ms.count()});
  return result;
}

}  // namespace

Target target_of(const ir::Program& program) {
  return target_named(ir::option(program, "cpu_level"));
}

ir::Program lower(const ir::Program& program, const Target& target,
                  backend::CompileReport& report) {
  pass::VectorShape shape;
  shape.bytes = target.vector_bytes();
  shape.registers = target.avx512 ? 32 : 16;
  using ir::Level;
  using ir::Program;
  const auto simplify = [](const Program& p) { return pass::simplify(p); };
  const std::vector<pass::Pass> passes = {
      {"simplify", Level::tile, Level::tile, simplify},
      {"pack_gemm_operands", Level::tile, Level::tile,
       [&](const Program& p) { return pass::pack_gemm_operands(p, target.bf16_dot); }},
      {"infer_layouts", Level::tile, Level::scheduled,
       [&](const Program& p) { return pass::infer_layouts(p, shape); }},
      {"plan_prefetch", Level::scheduled, Level::scheduled, pass::plan_prefetch},
      {"lower_tile_ops", Level::scheduled, Level::scheduled,
       [&](const Program& p) { return pass::lower_tile_ops(p, shape); }},
      {"fuse_loops", Level::scheduled, Level::scheduled, pass::fuse_loops},
      {"guard_bounds", Level::scheduled, Level::scheduled, pass::guard_bounds},
      {"stream_outputs", Level::scheduled, Level::scheduled, pass::stream_outputs},
      {"unroll_loops", Level::scheduled, Level::scheduled, pass::unroll_loops},
      {"lower_parallel", Level::scheduled, Level::loop,
       [&](const Program& p) { return pass::lower_parallel(p, shape); }},
      {"apply_layouts", Level::loop, Level::loop, pass::apply_layouts},
      {"simplify_loops", Level::loop, Level::loop, simplify},
  };
  pass::RunOptions options{.diff = true, .keep_texts = report.keep_texts};
  if (const std::string dir = ir::option(program, "dump"); dir != "none") options.dump_dir = dir;
  pass::RunResult result = pass::run(program, passes, options);
  for (const pass::PassTime& time : result.times) {
    report.steps.push_back({time.name, time.seconds * 1e3});
  }
  for (auto& [name, text] : result.texts) report.texts.push_back({name, std::move(text)});
  return result.program;
}

backend::Artifact compile_loops(const ir::Program& loops, const Target& target,
                                const std::string& target_name, backend::CompileReport& report) {
  backend::Artifact artifact;
  artifact.metadata = backend::metadata_of(loops, target_name, DeviceKind::cpu);
  Builder builder(loops.name);
  prepare_module(builder, target);
  const EmitOptions options{.contract = ir::option(loops, "no_contract") == "off",
                            .fast_math = ir::option(loops, "fast_math") == "on"};
  timed(report, "emit", [&] {
    const std::vector<runtime::Variant*> variants = backend::variants_of(artifact.metadata);
    for (size_t i = 0; i < loops.launches.size(); ++i) {
      variants[i]->scratch_bytes =
          emit_launch(builder, target, options, loops, loops.launches[i].as<ir::Launch>(),
                      variants[i]->entry, artifact.metadata);
    }
    return 0;
  });
  ToolchainReport tools{.keep_texts = report.keep_texts};
  if (report.keep_texts) report.texts.push_back({"llvm", builder.module_text()});
  artifact.code = compile_object(builder, target, tools);
  report.steps.push_back({"llvm passes", tools.optimize_ms});
  report.steps.push_back({"code generation", tools.codegen_ms});
  if (report.keep_texts) {
    report.texts.push_back({"llvm-optimized", tools.optimized_ir});
    report.texts.push_back({"asm", tools.assembly});
  }
  return artifact;
}

backend::Artifact compile_program(const ir::Program& program, const std::string& target_name,
                                  backend::CompileReport* report) {
  backend::CompileReport own;
  if (report == nullptr) report = &own;
  const Target target = target_of(program);
  return compile_loops(lower(program, target, *report), target, target_name, *report);
}

}  // namespace tw::cpu
