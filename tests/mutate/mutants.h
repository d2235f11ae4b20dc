// Mutants of the library: the launches that its functions make in the twin, each with the calls
// that lead to it, and what becomes of their mutants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/mutate/library.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/sim/mutate.h"

namespace tw::test {

/// What a launch is run on.
struct LibraryCall {
  sim::OwnedCall call;
  double seconds;  // of a processor, that it takes
};

/// A launch as it was lowered, with copies of all that it was run on.
struct LibraryLaunch {
  std::string kernel;  // the function of the library
  std::string what;    // `bf16, with vectors`
  ir::Program program;
  std::vector<std::string> facts;  // LibraryCase::facts
  std::vector<LibraryCall> calls;
  double slowest() const;
};

/// Collects the launches of what runs in the twin while it lives. Those that are the same program
/// are one.
class Launches {
 public:
  Launches();
  /// Runs a case there, with tensors that begin `skew` elements after a multiple of 16 bytes.
  void run(const LibraryCase& each, Place& place);
  std::vector<LibraryLaunch>& all() { return all_; }

 private:
  std::vector<LibraryLaunch> all_;
  std::map<std::string, size_t> known_;  // by program
  const LibraryCase* now_ = nullptr;
  OnLaunch watch_;
};

/// The launches of all cases of these functions (empty: of all), aligned and not.
std::vector<LibraryLaunch> library_launches(const std::vector<std::string>& kernels = {});

/// Why the mutant of a launch does the same, whatever the arguments are; empty where nothing is
/// known of that. That registers are read which nobody has written doesn't count if what they hold
/// is thrown away (the twin reports it).
std::string why_equivalent(const LibraryLaunch& launch, const sim::Mutant& mutant);

/// Judges the mutants of a launch.
class LaunchJudge {
 public:
  explicit LaunchJudge(const LibraryLaunch& launch);
  size_t count() const { return count_; }
  sim::Verdict judge(const sim::Mutant& mutant) { return judge_.judge(mutant); }

 private:
  size_t count_;
  sim::Judge judge_;
};

/// What tests/mutate/survivors.txt says of a mutant that survives; empty if nothing.
std::string explanation(const std::string& kernel, const std::string& mutant);

}  // namespace tw::test
