// Writes what a compilation makes on its way into a folder, as soon as it is made (language 27.1):
//
//   00_input.tw  03_simplify.tw  ...   the program after each pass, with source positions
//   03_simplify.diff  ...              what each pass changed, without them
//   llvm.ll  asm.s  times.txt          whatever else the backend and jit have
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

struct DumpOptions {
  std::string dir;                  // empty: no dump
  std::vector<std::string> passes;  // the passes to write; empty: all, and what comes in
  bool diff = true;                 // also what each pass changed
};

class Dump {
 public:
  /// Makes the folder; an Error when it can't be made or, later, written.
  explicit Dump(DumpOptions options);

  /// The program after a pass; `name` is "03_simplify".
  void add(const std::string& name, const Program& program);
  /// Any other text.
  void add_file(const std::string& file, std::string_view text) const;
  /// An Error when no program came from a pass of `DumpOptions::passes`. Call it at the end.
  void check_passes() const;

 private:
  DumpOptions options_;
  std::vector<std::string> seen_;  // passes
  std::string last_name_, last_text_;
};

}  // namespace tw::ir
