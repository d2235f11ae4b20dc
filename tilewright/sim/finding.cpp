#include "tilewright/sim/finding.h"

#include <array>

#include "tilewright/base/format.h"

namespace tw::sim {

std::string to_text(FindingKind kind) {
  constexpr std::array kNames = {"uninitialized_read", "out_of_bounds",
                                 "outside_storage",    "iteration_conflict",
                                 "block_conflict",     "extent_mismatch",
                                 "division_by_zero",   "shift_out_of_range",
                                 "signed_overflow",    "loop_step",
                                 "endless_loop",       "false_assumption",
                                 "failed_assert",      "race",
                                 "divergent_barrier",  "divergent_warp",
                                 "deadlock",           "misaligned",
                                 "wrong_arrival",      "unfenced_copy",
                                 "unfinished_copy"};
  static_assert(kNames.size() == static_cast<size_t>(FindingKind::unfinished_copy) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::string to_text(const Finding& finding) {
  std::string text;
  if (finding.where.known()) text = finding.where.text() + ": ";
  text += format("{}: {}", to_text(finding.kind), finding.text);
  if (finding.count > 1) text += format(" ({} times)", finding.count);
  return text;
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_text(finding) + "\n";
  return text;
}

}  // namespace tw::sim
