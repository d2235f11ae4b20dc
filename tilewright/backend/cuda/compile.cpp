#include "tilewright/backend/cuda/compile.h"

#include "tilewright/backend/cuda/deferred.h"
#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/metadata_of.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/options.h"
#include "tilewright/pass/thread/explain.h"
#include "tilewright/pass/thread/thread_pipeline.h"

namespace tw::cuda {
namespace {

std::vector<std::string> flags_of(const ir::Program& program) {
  std::vector<std::string> flags;
  if (ir::option(program, "no_contract") == "on") flags.emplace_back("--fmad=false");
  if (ir::option(program, "line_info") == "on") flags.emplace_back("-lineinfo");
  const std::string level = ir::option(program, "ptxas_level");
  if (level != "default") flags.push_back("--ptxas-options=-O" + level);
  return flags;
}

/// The number that metadata_of gives a tensor.
int param_of(const ir::Program& program, const ir::Buffer& tensor) {
  int number = 0;
  for (const ir::Param& param : program.params) {
    if (param.buffer && param.buffer.same_as(tensor)) return number;
    ++number;
  }
  for (const ir::Workspace& workspace : program.workspaces) {
    if (workspace.buffer.same_as(tensor)) return number;
    ++number;
  }
  throw_internal("param", SourceLoc::here(), tensor.name() + " is no parameter");
}

/// Into the folder of a dump, where there is a disassembler.
void dump_sass(const std::string& cubin, backend::CompileReport& report) {
  try {
    report.add_text("sass", ".sass", disassemble(cubin));
  } catch (const Error& error) {
    if (error.code() != codes::tool_01) throw;
  }
}

}  // namespace

ir::Program lower(const ir::Program& program, const Target& target, backend::CompileReport& report,
                  pass::Remarks* remarks) {
  pass::RunOptions options;
  if (report.wants_texts()) {
    options.observe = [&](const std::string& name, const ir::Program& after) {
      report.add_program(name, after);
      if (name.ends_with("_spread_loops")) {
        report.add_text("layouts", ".txt", pass::draw_layouts(after));
      }
    };
  }
  const pass::BlockLimits limits{.shared_bytes = target.shared_per_block};
  pass::RunResult result = pass::run(program, pass::thread_pipeline(limits, remarks), options);
  for (const pass::PassTime& time : result.times) {
    report.steps.push_back({time.name, time.seconds * 1e3});
  }
  return result.program;
}

runtime::KernelMetadata describe(const ir::Program& threads, const std::string& target_name) {
  const Target& target = target_named(target_name);
  runtime::KernelMetadata metadata = backend::metadata_of(threads, target_name, DeviceKind::cuda);
  for (runtime::Launch& launch : metadata.launches) {
    launch.grid_limit.assign(target.grid.begin(), target.grid.end());
  }
  size_t i = 0;
  for (runtime::Variant* variant : backend::variants_of(metadata)) {
    // Profilers show it: the program's name first.
    const char* between = variant->entry.starts_with('_') ? "" : "_";
    variant->entry = legal_name(threads.name + between + variant->entry);
    for (TensorMap& map : tensor_maps(threads.launches[i++].as<ir::Launch>())) {
      variant->maps.push_back({param_of(threads, map.tensor), std::move(map.box), map.swizzle});
    }
  }
  return metadata;
}

std::string emit(const ir::Program& threads, const runtime::KernelMetadata& metadata, bool apart) {
  std::vector<std::string> entries;
  for (const runtime::Launch& launch : metadata.launches) {
    for (const runtime::Variant& variant : launch.variants) entries.push_back(variant.entry);
  }
  EmitOptions options = emit_options(threads);
  options.apart = apart;
  return emit_source(threads, options, entries);
}

backend::Artifact compile_source(const std::string& source, runtime::KernelMetadata metadata,
                                 const ir::Program& program, const Target& target,
                                 backend::CompileReport& report,
                                 std::vector<std::string> deferred) {
  const bool texts = report.wants_texts();
  if (texts) report.add_text("cuda", ".cu", source);
  const bool in_parts = !texts && !deferred.empty();
  std::vector<std::string> flags = flags_of(program);
  std::string later;
  if (in_parts) {
    later = to_text(Deferred{std::move(deferred), flags, source});
    flags.push_back(format("-D{}=0", kPart));
  }
  Translated made = report.timed("nvrtc", [&] {
    return translate({.name = program.name,
                      .source = source,
                      .flags = std::move(flags),
                      .keep_ptx = texts,
                      .assembler_report = texts},
                     target);
  });
  if (texts) {
    report.add_text("ptx", ".ptx", std::move(made.ptx));
    report.add_text("nvrtc", ".log", std::move(made.log));
    if (report.dump != nullptr) dump_sass(made.cubin, report);
  }
  return {std::move(metadata), std::move(made.cubin), std::move(later)};
}

Translated translate_with_report(const std::string& source, const ir::Program& program,
                                 const Target& target) {
  return translate({.name = program.name,
                    .source = source,
                    .flags = flags_of(program),
                    .assembler_report = true},
                   target);
}

backend::Artifact replace_source(const backend::Artifact& artifact, const std::string& source,
                                 const ir::Program& program) {
  const Translated made = translate(
      {.name = program.name, .source = source, .flags = flags_of(program), .is_edited = true},
      target_named(artifact.metadata.target));
  return {artifact.metadata, made.cubin};
}

backend::Artifact compile_program(const ir::Program& program, const std::string& target_name,
                                  backend::CompileReport* report) {
  backend::CompileReport own;
  if (report == nullptr) report = &own;
  const Target& target = target_named(target_name);
  const ir::Program threads = lower(program, target, *report);
  runtime::KernelMetadata metadata = describe(threads, target_name);
  const bool apart = report->on_demand && !report->wants_texts();
  std::vector<std::string> deferred;
  size_t i = 0;
  for (const runtime::Variant* variant : backend::variants_of(metadata)) {
    if (is_deferred(threads, i++) || apart) deferred.push_back(variant->entry);
  }
  const std::string source = report->timed("emit", [&] { return emit(threads, metadata, apart); });
  if (apart) {
    return {
        std::move(metadata), {}, to_text(Deferred{std::move(deferred), flags_of(program), source})};
  }
  return compile_source(source, std::move(metadata), program, target, *report, std::move(deferred));
}

}  // namespace tw::cuda
