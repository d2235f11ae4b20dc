// The twin: executes thread IR on the CPU, all threads of a block one by one, and checks what a GPU
// would let pass in silence. What it has executed is node by node what a backend prints.
//
// Threads run on their own between the places where they wait for each other, in an order that
// comes from the seed; operations of a warp are executed for its lanes together. Values are those
// of the interpreter (sim/element.h). It reports, each once per place and kind:
//   - races: two accesses to common bytes of shared or global memory that nothing orders, at least
//     one of them a plain write. Barriers, sync_warp and atomics with orders do order; shuffles
//     and votes don't;
//   - reads of what was never written, and of shared memory whose bytes now belong to another
//     buffer;
//   - indices outside a buffer, also under a promise or a guard that doesn't hold; a buffer beyond
//     the planned shared memory; a Move whose address is no multiple of its size;
//   - a barrier that not all threads reach at one statement, lanes that are not together at an
//     operation of their warp, threads that wait for ever, loops that don't end;
//   - what the interpreter reports of single operations, failed assertions and assumptions.
// What must not be read yet is filled with a pattern that depends on the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/finding.h"
#include "tilewright/sim/interpreter.h"

namespace tw::sim {

struct TwinOptions {
  uint64_t seed = 0;              // 0: blocks and threads in ascending order
  std::vector<int64_t> blocks;    // row-major numbers of those that run; empty: all of a grid
  int64_t max_steps = 1'000'000;  // loop iterations of one thread
  bool stop_at_finding = false;   // the first finding ends the run, soon
  std::map<std::string, int64_t> symbols;  // those that no shape determines
  std::vector<MemoryRange> memory;         // what only addresses lead to
  /// Gets each printed line; without it they are in the result.
  std::function<void(const std::string&)> print;
};

struct TwinResult {
  std::vector<Finding> findings;
  std::vector<std::string> printed;
  int64_t instructions = 0;  // executed, over all threads; what speed is measured in
};

/// Runs all launches of a program of thread IR on arguments in the order of its parameters, with
/// outputs written in place. An output counts as unwritten at first. A finding after which threads
/// can't go on (a failed assertion, threads that wait for ever) ends the run.
TwinResult run_twin(const ir::Program& program, const std::vector<Argument>& arguments,
                    const TwinOptions& options = {});

}  // namespace tw::sim
