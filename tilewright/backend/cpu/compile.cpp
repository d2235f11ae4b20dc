#include "tilewright/backend/cpu/compile.h"

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/emit/emit.h"
#include "tilewright/backend/cpu/toolchain.h"
#include "tilewright/backend/metadata_of.h"
#include "tilewright/base/codes.h"
#include "tilewright/ir/options.h"
#include "tilewright/pass/loop_pipeline.h"

namespace tw::cpu {
Target target_of(const std::string& target_name, const ir::Program& program) {
  const std::string level = ir::option(program, "cpu_level");
  if (target_name == "cpu") return target_named(level);
  const Target target = target_named(target_name.substr(target_name.find(':') + 1));
  if (level != "host" && target_named(level).name() != target.name()) {
    throw Error(codes::opt_01, {}, "{}: option cpu_level is {}, but the target is {}", program.name,
                level, target_name)
        .help("leave one of them out");
  }
  return target;
}

ir::Program lower(const ir::Program& program, const Target& target,
                  backend::CompileReport& report) {
  pass::VectorShape shape;
  shape.bytes = target.vector_bytes();
  shape.registers = target.avx512 ? 32 : 16;
  pass::RunOptions options;
  if (report.wants_texts()) {
    options.observe = [&](const std::string& name, const ir::Program& after) {
      report.add_program(name, after);
    };
  }
  pass::RunResult result = pass::run(program, pass::loop_pipeline(shape, target.bf16_dot), options);
  for (const pass::PassTime& time : result.times) {
    report.steps.push_back({time.name, time.seconds * 1e3});
  }
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
  report.timed("emit", [&] {
    const std::vector<runtime::Variant*> variants = backend::variants_of(artifact.metadata);
    for (size_t i = 0; i < loops.launches.size(); ++i) {
      variants[i]->scratch_bytes =
          emit_launch(builder, target, options, loops, loops.launches[i].as<ir::Launch>(),
                      variants[i]->entry, artifact.metadata);
    }
    return 0;
  });
  ToolchainReport tools{.keep_texts = report.wants_texts()};
  if (report.wants_texts()) report.add_text("llvm", ".ll", builder.module_text());
  artifact.code = compile_object(builder, target, tools);
  report.steps.push_back({"llvm passes", tools.optimize_ms});
  report.steps.push_back({"code generation", tools.codegen_ms});
  if (report.wants_texts()) {
    report.add_text("llvm-optimized", ".ll", std::move(tools.optimized_ir));
    report.add_text("asm", ".s", std::move(tools.assembly));
  }
  return artifact;
}

backend::Artifact compile_program(const ir::Program& program, const std::string& target_name,
                                  backend::CompileReport* report) {
  backend::CompileReport own;
  if (report == nullptr) report = &own;
  const Target target = target_of(target_name, program);
  return compile_loops(lower(program, target, *report), target, target_name, *report);
}

}  // namespace tw::cpu
