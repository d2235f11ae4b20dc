#include "tilewright/pass/check_target.h"

#include <optional>

#include "tilewright/base/codes.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

/// The feature behind an instruction family; empty for what every target has.
std::optional<Feature> feature_of(ir::CopyMethod method) {
  if (method == ir::CopyMethod::cp_async) return Feature::cp_async;
  if (method == ir::CopyMethod::tma) return Feature::tma;
  return std::nullopt;
}
std::optional<Feature> feature_of(ir::GemmMethod method) {
  switch (method) {
    case ir::GemmMethod::mma:
      return Feature::mma;
    case ir::GemmMethod::wgmma:
      return Feature::wgmma;
    case ir::GemmMethod::tcgen05:
      return Feature::tcgen05;
    default:
      return std::nullopt;
  }
}

/// What a program may not do where a block has no threads (language 4.4): the first of it.
void check_threadless(const ir::Program& program, const ir::Stmt& launch, const Target& target,
                      Diagnostics& diagnostics) {
  ir::Stmt first;
  const char* what = "";
  ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
    if (first) return;
    what = s.is<ir::Barrier>()                                    ? "a barrier"
           : s.is<ir::WarpOp>()                                   ? "an operation of a warp"
           : s.is<ir::AsyncCopy>()                                ? "an asynchronous copy"
           : ir::is_thread_operation(s) && !ir::is_of_launches(s) ? "synchronization of threads"
                                                                  : "";
    if (*what != 0) first = s;
  });
  const ir::Var& thread = launch.as<ir::Launch>().thread;
  if (!first && !thread) return;
  const std::string place =
      first ? format("`{}`: {}", first_line(first), what) : std::string("the index of a thread");
  diagnostics
      .error(codes::tgt_02, first ? first.loc() : thread.loc(), "{}: {}, but {} has no threads",
             program.name, place, target)
      .help("write it with tile operations and parallel loops, which run everywhere");
}

}  // namespace

void check_target(const ir::Program& program, const Target& target, Diagnostics& diagnostics) {
  const auto lacks = [&](const std::optional<Feature>& f) { return f && !target.has(*f); };
  for (const ir::Stmt& stmt : program.launches) {
    const auto& launch = stmt.as<ir::Launch>();
    int64_t blocks = 1;
    for (const int64_t extent : launch.cluster) blocks *= extent;
    if (blocks > 1 && !target.has(Feature::clusters)) {
      diagnostics.error(codes::tgt_01, stmt.loc(), "{}: `{}`: {} has no clusters", program.name,
                        first_line(stmt), target);
    }
    if (!target.has(Feature::threads)) check_threadless(program, stmt, target, diagnostics);
    ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
      if (const auto* copy = s.try_as<ir::Copy>(); copy && lacks(feature_of(copy->require))) {
        diagnostics
            .error(codes::copy_08, s.loc(), "{}: `{}`: {} has no {}", program.name, first_line(s),
                   target, ir::enum_name(copy->require))
            .help("write prefer instead of require");
      }
      if (const auto* gemm = s.try_as<ir::Gemm>(); gemm && lacks(feature_of(gemm->require))) {
        diagnostics
            .error(codes::gemm_05, s.loc(), "{}: `{}`: {} has no {}", program.name, first_line(s),
                   target, ir::enum_name(gemm->require))
            .help("drop the demand, or set it in the schedule of a target that has it");
      }
    });
  }
}

namespace {

/// A hint as it stands in the text form, and what a target needs to take it.
struct Hint {
  std::string text;
  Feature feature;
};

std::vector<Hint> hints_of(const ir::Stmt& stmt) {
  std::vector<Hint> hints;
  const auto hint = [&](bool given, Feature feature, std::string text) {
    if (given) hints.push_back({std::move(text), feature});
  };
  if (const auto* launch = stmt.try_as<ir::Launch>()) {
    hint(launch->min_blocks_per_sm != 0, Feature::threads,
         format("min_blocks_per_sm={}", launch->min_blocks_per_sm));
    hint(launch->max_registers != 0, Feature::threads,
         format("max_registers={}", launch->max_registers));
    hint(launch->dependent_launch, Feature::dependent_launch, "dependent_launch");
  } else if (const auto* copy = stmt.try_as<ir::Copy>()) {
    if (const auto feature = feature_of(copy->prefer)) {
      hint(true, *feature, format("prefer={}", ir::enum_name(copy->prefer)));
    }
    // A destination that is not read soon can be written past the caches everywhere.
    const bool streams =
        copy->evict == ir::EvictPolicy::first && copy->dst.buffer.space() == ir::MemSpace::global;
    hint(copy->evict != ir::EvictPolicy::normal && !streams, Feature::l2_policy,
         format("evict={}", ir::enum_name(copy->evict)));
    hint(copy->cache_global_only, Feature::l2_policy, "cache_global_only");
  } else if (ir::is_of_launches(stmt)) {
    hint(true, Feature::dependent_launch, std::string(ir::enum_name(stmt.as<ir::Sync>().code)));
  } else if (const auto* loop = stmt.try_as<ir::Parallel>()) {
    hint(loop->prefer_async, Feature::cp_async, "prefer_async");
  } else if (const auto* gemm = stmt.try_as<ir::Gemm>()) {
    hint(gemm->policy != ir::GemmPolicy::square, Feature::threads,
         format("policy={}", ir::enum_name(gemm->policy)));
  }
  return hints;
}

}  // namespace

void check_hints(const ir::Program& program, const Target& target, Diagnostics& diagnostics) {
  for (const ir::OptionRow& row : ir::option_table()) {
    const std::string value = ir::option(program, row.name);
    if (row.family.empty() || row.family == target.family() || value == row.values[0]) continue;
    diagnostics.warn(codes::w_hint_01, {}, "{}: {} ignores the option {}={}", program.name, target,
                     row.name, value);
  }
  for (const ir::Param& param : program.params) {
    if (!param.buffer || !param.buffer->l2_persist || target.has(Feature::l2_policy)) continue;
    diagnostics.warn(codes::w_hint_01, param.buffer.loc(), "{}: {}: {} ignores l2_persist={}",
                     program.name, param.buffer.name(), target,
                     param.buffer->l2_persist.as<ir::Const>().f);
  }
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      for (const Hint& hint : hints_of(s)) {
        if (target.has(hint.feature)) continue;
        diagnostics.warn(codes::w_hint_01, s.loc(), "{}: `{}`: {} ignores {}", program.name,
                         first_line(s), target, hint.text);
      }
    });
  }
}

}  // namespace tw::pass
