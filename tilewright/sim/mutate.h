// Mutation: puts one defect after the other into a program of thread IR and looks whether the twin
// notices. What survives is a hole in the checks, or code that the program doesn't need.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/interpreter.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::sim {

/// A program with one defect.
struct Mutant {
  std::string name;  // `softmax.cpp:12: no barrier`
  SourceLoc where;
  ir::Program program;
  ir::Program trap;  // the original, but it fails where this one differs
};

/// All mutants of a program of thread IR, in program order:
///   barrier, sync_warp, Move        dropped; a named barrier for 32 threads fewer, or another one
///   shuffle                         over the double distance (xor) or one lane farther; in groups
///                                   of half the width where that matters
///   If                              without its guard, with the opposite one
///   a && b && c, a || b || c        without one of them
///   integer min, max; select        one operand in its place
///   For                             one iteration more or less at the end, less at the beginning
///   Load, Store, Move, Atomic       the next index in each dimension
///   Atomic                          relaxed instead of ordered; for its block only
std::vector<Mutant> mutants(const ir::Program& program);
/// How many there are, and one of them.
size_t count_mutants(const ir::Program& program);
Mutant mutant(const ir::Program& program, size_t number);

/// What a program is run on.
struct Call {
  std::vector<Argument> arguments;
  std::map<std::string, int64_t> symbols;  // those that no shape determines
};

/// The tensors of a call in memory of their own, which outputs find filled with a pattern. Tensors
/// that overlap still do.
class OwnedCall {
 public:
  OwnedCall(const ir::Program& program, const Call& call);
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall(OwnedCall&&) = default;
  const Call& call() const { return call_; }
  bool same_bits(const OwnedCall& other) const { return memory_ == other.memory_; }

 private:
  Call call_;
  std::vector<std::vector<std::byte>> memory_;
};

struct MutationOptions {
  std::vector<uint64_t> seeds = {1};  // a mutant survives if it does so under each of them
  size_t most = 0;                    // mutants that are tried, spread over the program; 0: all
};

enum class Fate : uint8_t {
  reported,    // the twin reports something
  differs,     // a tensor ends with other bits than those of the program itself
  equivalent,  // it does the same as the program whatever the arguments are
  survived,    //
  unreached,   // survived in code that no call leads to
};
struct Verdict {
  Fate fate = Fate::survived;
  std::string text;  // what the twin reports, or why it is equivalent
  bool is_caught() const { return fate == Fate::reported || fate == Fate::differs; }
};

/// Whether these are failed assertions and nothing else.
bool only_stops(const std::vector<Finding>& findings);

/// Judges the mutants of a program by calls, each on a copy of its arguments: the first that
/// catches a mutant counts. In some calls the program's own assertions may fail; then a mutant is
/// caught if none fails or the twin reports something else. An Error if it reports anything more of
/// the program.
class Judge {
 public:
  /// Why a mutant is equivalent; empty where that isn't known. Asked of those that all calls leave
  /// under the first seed.
  using Why = std::function<std::string(const Mutant&)>;
  Judge(const ir::Program& program, std::vector<Call> calls, std::vector<uint64_t> seeds,
        Why why = {});
  Verdict judge(const Mutant& mutant);

 private:
  /// What the twin reports; of mutants, the first.
  std::vector<Finding> run(const ir::Program& program, size_t call, uint64_t seed,
                           const OwnedCall& memory) const;
  /// Runs it in all calls under one seed.
  Verdict try_all(const ir::Program& mutant, size_t seed);

  const ir::Program& program_;
  std::vector<Call> calls_;
  std::vector<uint64_t> seeds_;
  Why why_;
  struct Wanted {
    OwnedCall memory;
    bool stops = false;
  };
  std::map<std::pair<size_t, size_t>, Wanted> wanted_;  // by seed and call
};

struct MutationReport {
  size_t tried = 0, caught = 0;
  size_t unreached = 0;  // in code that these arguments don't lead to
  std::vector<std::string> survivors;
};
/// `41 of 43 mutants are caught; survivors:` and a survivor a line.
std::string to_text(const MutationReport& report);

/// Judges each mutant by one call.
MutationReport run_mutants(const ir::Program& program, const std::vector<Argument>& arguments,
                           const MutationOptions& options = {});

}  // namespace tw::sim
