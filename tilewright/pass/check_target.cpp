#include "tilewright/pass/check_target.h"

#include <optional>

#include "tilewright/base/codes.h"
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

}  // namespace tw::pass
