// Mutants of the library: the launches that its functions make in the twin, each with the calls
// that lead to it, and which defects do nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/mutate.h"

namespace tw::test {

/// A launch as it was lowered, with copies of all that it was run on.
struct LibraryLaunch {
  std::string kernel;  // the function of the library
  std::string what;    // `bf16, with vectors`
  ir::Program program;
  std::map<std::string, int64_t> always;  // sizes that all calls have in common by their nature
  std::vector<sim::OwnedCall> calls;
  double seconds = 0;  // of the slowest call

  std::vector<sim::Call> all_calls() const;
};

/// Runs all cases of these functions (empty: of all) in the twin, with tensors that begin at a
/// multiple of 16 bytes and with such that don't. Launches that are the same program are one.
std::vector<LibraryLaunch> library_launches(const std::vector<std::string>& kernels = {});

/// Why the mutant of a launch does the same, whatever the arguments are; empty where nothing is
/// known of that.
std::string why_equivalent(const LibraryLaunch& launch, const sim::Mutant& mutant);

}  // namespace tw::test
