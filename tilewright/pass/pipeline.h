// Runs lists of passes: names, verifies and times each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/ir/verify.h"

namespace tw::pass {

/// A function from program to program. `from` is the level that it needs, `to` the level of what
/// it gives (ir/verify.h). What else it must know is bound into `run`.
struct Pass {
  std::string name;
  ir::Level from, to;
  std::function<ir::Program(const ir::Program&)> run;
};

struct RunOptions {
  /// Verifies the result of each pass; an InternalError names the pass. What comes in is not
  /// verified: checks (pass/checks.h) come first and speak to the author.
  bool verify = true;
  /// Is shown the program that comes in, as "00_input", and what each pass gives, "03_simplify",
  /// before that is verified.
  std::function<void(const std::string& name, const ir::Program& program)> observe;
  /// Passes to leave out, for debugging; a name that is not in the list is an Error. One that
  /// changes the level cannot be left out.
  std::vector<std::string> skip;
};

struct PassTime {
  std::string name;
  double seconds = 0;  // without verifying and observing
};

struct RunResult {
  ir::Program program;
  std::vector<PassTime> times;
};

/// Runs the passes in order.
RunResult run(ir::Program program, const std::vector<Pass>& passes, const RunOptions& options = {});

/// A table of names and milliseconds.
std::string to_text(const std::vector<PassTime>& times);

}  // namespace tw::pass
