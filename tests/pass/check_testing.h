// For tests of static checks: the findings in a launch of which only the body is given.
#pragma once

#include <gtest/gtest.h>

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"

namespace tw::pass {

/// What the check says of the body, which begins at line 1 of k.tw and may use n: i64,
/// X and Y: f32[n, 64] and the block index bx.
inline std::string findings(void (*check)(const ir::Program&, Diagnostics&),
                            const std::string& body, const std::string& option = "",
                            const std::string& value = "") {
  const std::string text =
      "tilewright ir 1 program \"p\" { symbol n input X: f32[n, 64] output Y: f32[n, 64] "
      "launch bx in n { " +
      body + "\n} }";
  ir::Program program = ir::parse_program(text, {.file = "k.tw", .locate = true});
  if (!option.empty()) program = with_option(program, option, value);
  Diagnostics diagnostics;
  check(program, diagnostics);
  return to_text(diagnostics);
}

}  // namespace tw::pass
