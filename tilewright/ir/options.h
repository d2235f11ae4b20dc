// The compile options of a program (language 14.3): one table of names, values and defaults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

struct OptionRow {
  std::string_view name;
  std::vector<std::string_view> values;  // the first is the default
  bool free_text = false;                // any other value is legal too
  std::string_view doc;
  std::string_view family = {};  // of the targets that read it; empty: all
};
const std::vector<OptionRow>& option_table();

/// E-OPT-01 unless there is such an option with such a value.
void check_option(std::string_view name, std::string_view value, SourceLoc where = {});

/// The value that the program gives to an option (its last one), or the default.
std::string option(const Program& program, std::string_view name);

/// `program` with the option set, checked.
Program with_option(Program program, std::string_view name, std::string_view value,
                    SourceLoc where = {});

/// Every option with its value, a line each: part of cache keys.
std::string options_text(const Program& program);

}  // namespace tw::ir
