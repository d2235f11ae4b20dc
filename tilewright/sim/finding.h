// What the interpreter and the twin report: one finding per place in the program and kind of
// mistake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/base/source_loc.h"

namespace tw::sim {

enum class FindingKind : uint8_t {
  uninitialized_read,  // an element that nothing has written
  out_of_bounds,       // of a block buffer, or of what the author promised to be inside
  outside_storage,     // a view or an address reaches memory that no argument has
  iteration_conflict,  // two iterations of a parallel loop, or an overlapping copy
  block_conflict,      // two blocks of a launch
  extent_mismatch,     // regions of a tile op don't agree
  division_by_zero,    //
  shift_out_of_range,  //
  signed_overflow,     // only with RunOptions::check_overflow
  loop_step,           // not positive, and not a negative constant
  endless_loop,        // more steps than RunOptions::max_steps
  false_assumption,    //
  failed_assert,       // the launch stops there
  // The twin's own:
  race,               // two threads, nothing orders them, and one of them writes
  divergent_barrier,  // not all threads of the block reach it
  divergent_warp,     // not all lanes of a warp are at its operation
  deadlock,           // threads that wait at named barriers for ever
  misaligned,         // an access whose address is no multiple of its size
  wrong_arrival,      // at a barrier with phases: one too many, or one that was never made
  unfenced_copy,      // an engine uses what a thread wrote, with no fence for engines between
  unfinished_copy,    // a block ends before anybody has waited for a copy
};

/// One mistake. `text` says what happened, with the author's names and the values; further
/// occurrences at the same place are only counted.
struct Finding {
  FindingKind kind;
  SourceLoc where;
  std::string text;
  int64_t count = 1;
  /// Of a conflict: the two iterations (blocks). Of a race: each thread's block, then the thread.
  /// Empty otherwise.
  std::vector<int64_t> first, second;
};

/// "uninitialized_read".
std::string to_text(FindingKind kind);
/// `softmax.cpp:12: uninitialized_read: t[3, 4] is read before it is written (64 times)`.
std::string to_text(const Finding& finding);
/// One a line.
std::string to_text(const std::vector<Finding>& findings);

}  // namespace tw::sim
