// Mutation: puts one defect after the other into a program of thread IR and looks whether the twin
// notices. What survives is a hole in the checks, or code that the program doesn't need.
#pragma once

#include <string>
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
///   If                              without its guard, with the opposite one; land without either
///   integer min, max, select        one operand in its place
///   For                             one iteration more or less at the end, less at the beginning
///   Load, Store, Move, Atomic       the next index in each dimension
///   Atomic                          relaxed instead of ordered; for its block only
std::vector<Mutant> mutants(const ir::Program& program);

struct MutationOptions {
  TwinOptions twin;                   // its seed is not used
  std::vector<uint64_t> seeds = {1};  // a mutant survives if it does so under each of them
  size_t most = 0;                    // mutants that are tried, spread over the program; 0: all
};

struct MutationReport {
  size_t tried = 0, caught = 0;
  size_t unreached = 0;  // in code that these arguments don't lead to
  std::vector<std::string> survivors;
};
/// `41 of 43 mutants are caught; survivors:` and a survivor a line.
std::string to_text(const MutationReport& report);

/// Runs each mutant on copies of the arguments. It is caught if the twin reports something or a
/// tensor ends with other bits than those of the program itself. An Error if the twin reports
/// something of that.
MutationReport run_mutants(const ir::Program& program, const std::vector<Argument>& arguments,
                           const MutationOptions& options = {});

}  // namespace tw::sim
