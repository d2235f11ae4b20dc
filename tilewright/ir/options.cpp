#include "tilewright/ir/options.h"

#include <algorithm>

#include "tilewright/base/codes.h"

namespace tw::ir {
namespace {

const OptionRow* find(std::string_view name) {
  for (const OptionRow& row : option_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// Number of letters to insert, drop or change to get from one word to the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string list(const std::vector<std::string_view>& words) {
  std::vector<std::string> texts(words.begin(), words.end());
  return join(texts, ", ");
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = {
      {"fast_math", {"off", "on"}, false, "fast forms of functions, flush of denormals"},
      {"no_contract", {"off", "on"}, false, "a * b + c is rounded twice"},
      {"allow_tf32",
       {"off", "on"},
       false,
       "f32 operands of multiplies may be used as tf32",
       "cuda"},
      {"forbid_float_atomics", {"off", "on"}, false, "atomics on floats are errors"},
      {"warp_specialize", {"auto", "off", "force"}, false, "producer and consumer warps", "cuda"},
      {"bulk_copy", {"auto", "off"}, false, "bulk tensor copies", "cuda"},
      {"async_copy", {"on", "off"}, false, "asynchronous element copies where they pay", "cuda"},
      {"wgmma", {"on", "off"}, false, "warp-group multiplies; off: warp multiplies", "cuda"},
      {"index_bits", {"auto", "32", "64"}, false, "width of index arithmetic", "cuda"},
      {"vector_bits", {"auto", "128", "256"}, false, "widest generic access", "cuda"},
      {"safe_access", {"on", "off"}, false, "guards around accesses outside tensors", "cuda"},
      {"shared_reuse",
       {"on", "off", "aggressive"},
       false,
       "shared buffers may share storage",
       "cuda"},
      {"auto_sync",
       {"on", "off"},
       false,
       "barriers are inserted; off: the author places all",
       "cuda"},
      {"unswitch", {"on", "off"}, false, "conditions are moved out of loops", "cuda"},
      {"layout_cost", {"registers", "memory"}, false, "what a free layout should save", "cuda"},
      {"reducer_plan",
       {"auto", "baseline"},
       false,
       "baseline: the simplest plan of reducers",
       "cuda"},
      {"check_init", {"warn", "off", "error"}, false, "reads before any write"},
      {"check_race", {"off", "warn", "error"}, false, "conflicts between parallel iterations"},
      {"check_bounds", {"off", "on"}, false, "every access asserts that it is inside"},
      {"check_assumptions", {"off", "on"}, false, "assumed facts are checked"},
      {"no_debug", {"off", "on"}, false, "print and assert are removed"},
      {"ptxas_level", {"default", "0", "1", "2", "3"}, false, "level of the assembler", "cuda"},
      {"cpu_level",
       {"host", "baseline", "avx2", "avx512"},
       false,
       "the processor to compile for",
       "cpu"},
      {"dump", {"none"}, true, "a directory for the IR after each pass"},
      {"line_info", {"off", "on"}, false, "source lines in the generated code", "cuda"},
  };
  return table;
}

void check_option(std::string_view name, std::string_view value, SourceLoc where) {
  const OptionRow* row = find(name);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    for (const OptionRow& r : option_table()) names.push_back(r.name);
    Error error(codes::opt_01, where, "options: there is no option '{}'", name);
    const auto nearest = *std::min_element(names.begin(), names.end(), [&](auto a, auto b) {
      return distance(a, name) < distance(b, name);
    });
    if (distance(nearest, name) <= std::max<size_t>(2, name.size() / 3)) {
      error.help("did you mean {}?", nearest);
    }
    throw error.note("the options are {}", list(names));
  }
  if (row->free_text || std::count(row->values.begin(), row->values.end(), value) != 0) return;
  throw Error(codes::opt_01, where, "options: {} is '{}', it must be one of {}", name, value,
              list(row->values));
}

std::string option(const Program& program, std::string_view name) {
  const OptionRow* row = find(name);
  TW_CHECK(row != nullptr, "no option '{}'", name);
  std::string value(row->values[0]);
  for (const Option& o : program.options) {
    if (o.name == name) value = o.value;
  }
  return value;
}

Program with_option(Program program, std::string_view name, std::string_view value,
                    SourceLoc where) {
  check_option(name, value, where);
  std::erase_if(program.options, [&](const Option& o) { return o.name == name; });
  program.options.push_back({std::string(name), std::string(value)});
  return program;
}

std::string options_text(const Program& program) {
  std::string text;
  for (const OptionRow& row : option_table()) {
    text += format("{}={}\n", row.name, option(program, row.name));
  }
  return text;
}

}  // namespace tw::ir
