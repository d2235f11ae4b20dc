// What `explain` says of a kernel: instructions by the author's lines, and what each entry takes.
#include "tilewright/pass/thread/explain.h"

#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/device/loaded_code.h"
#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/cuda/toolchain/resources.h"
#include "tilewright/backend/metadata_of.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"

namespace tw::cuda {
namespace {

std::string indented(const std::string& text, const char* margin) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out += margin + text.substr(at, end - at) + '\n';
    at = end == text.npos ? end : end + 1;
  }
  return out;
}

/// Of an entry: registers and spills; how many blocks run at once, as the driver says where a
/// device has loaded the code, else by the limits of the chip, which also give the reason.
std::string resources_text(const std::string& log, const std::string& entry,
                           const ir::Launch& launch, const Target& target,
                           const LoadedCode* loaded) {
  auto found = resources_of(log, entry);
  if (!found) return "";
  int64_t threads = 1;
  for (const int64_t extent : launch.threads) threads *= extent;
  LoadedCode::Entry told;
  const bool is_told = loaded != nullptr && loaded->ask(entry, threads, launch.shared_bytes, told);
  if (is_told) {
    found->registers = told.registers;
    found->stack_bytes = told.local_bytes;
    found->shared_bytes = told.shared_bytes;
  }
  const Occupancy fits =
      occupancy(target, threads, found->registers, found->shared_bytes + launch.shared_bytes);
  std::string text = format("{} registers, ", found->registers);
  text +=
      found->spill_stores + found->spill_loads == 0
          ? "no spills"
          : format("spills of {} bytes stored, {} loaded", found->spill_stores, found->spill_loads);
  if (found->stack_bytes > 0) text += format(", {} bytes of local memory", found->stack_bytes);
  const int64_t blocks = is_told ? told.blocks : fits.blocks;
  text += format(
      "\n{} blocks of {} threads on a multiprocessor: {:.0f} % of its threads, ", blocks, threads,
      100.0 * static_cast<double>(blocks * threads) / static_cast<double>(target.threads_per_sm));
  if (blocks != fits.blocks) {
    text += format("{} by the limits of the chip", fits.blocks);
  } else {
    text += std::string_view(fits.limit) == "threads" ? "no more fit"
                                                      : format("{} allow no more", fits.limit);
  }
  return text +
         (is_told ? format("; asked of {}\n", loaded->device()) : "; by the limits of the chip\n");
}

}  // namespace

std::string explain_program(const ir::Program& program, const std::string& target_name) {
  const Target& target = target_named(target_name);
  backend::CompileReport report;
  pass::Remarks remarks;
  const ir::Program threads = lower(program, target, report, &remarks);
  runtime::KernelMetadata metadata = describe(threads, target_name);
  Translated made;
  std::string problem;
  try {
    made = translate_with_report(emit(threads, metadata), program, target);
  } catch (const Error& error) {
    problem = format("registers and spills: not known, {}\n", error.message());
  }
  const auto loaded = made.cubin.empty() ? nullptr : LoadedCode::find(made.cubin, target);
  std::string text = "by line\n" + indented(pass::explain_lines(threads, remarks), "  ");
  size_t i = 0;
  for (const runtime::Variant* variant : backend::variants_of(metadata)) {
    const ir::Stmt& stmt = threads.launches[i++];
    const auto& launch = stmt.as<ir::Launch>();
    text +=
        format("entry {}{}\n", variant->entry,
               is_deferred(threads, i - 1) ? ", where the condition of the one before fails" : "");
    text += indented(resources_text(made.log, variant->entry, launch, target, loaded.get()), "  ");
    const std::string map = pass::shared_map(launch);
    text += format("  {}\n", launch.shared_bytes == 0
                                 ? "no shared memory"
                                 : format("{} bytes of shared memory", launch.shared_bytes));
    text += indented(map, "  ");
  }
  return text + problem;
}

}  // namespace tw::cuda
