// The interpreter: executes a program as it is written, one element after the other, and checks
// it while it runs. It is the meaning of the IR, by which passes and backends are tested.
//
// All levels run: tile IR, and what is left of it in loop IR. Values are exact (sim/element.h says
// what each operation gives; base/convert.h does the conversions). Where the language leaves an
// order open, this is the one:
//   - blocks and parallel iterations: row-major, or shuffled by RunOptions::seed;
//   - reductions, scans, reducers and multiplies: ascending, row-major over the reduced elements,
//     from the identity; what was there before (clear = false) is combined last. 16-bit floats
//     accumulate in f32 and are rounded once, unless low_precision is set; in reducers they don't;
//   - multiplies: c + a * b with one rounding a step (fma);
//   - copies: all of the source is read before anything is written.
// Memory that a program may not read yet is filled with a pattern that depends on the seed, so a
// result that differs between seeds is one that the program doesn't define.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/finding.h"

namespace tw::sim {

/// A tensor in host memory, or a scalar by value.
struct Argument {
  void* data = nullptr;  // of element (0, ..., 0)
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // elements; empty: row-major compact
  uint64_t scalar = 0;           // bits, of a scalar parameter

  static Argument tensor(void* data, DType dtype, std::vector<int64_t> shape,
                         std::vector<int64_t> strides = {});
  static Argument value(DType dtype, uint64_t bits);
};

/// Memory that only addresses lead to (language 6.4).
struct MemoryRange {
  void* data = nullptr;
  int64_t bytes = 0;
};

struct RunOptions {
  uint64_t seed = 0;            // 0: program order
  bool check_overflow = false;  // signed overflow is a finding
  bool check_blocks = true;     // conflicts between blocks, unless they synchronize by atomics
  int64_t max_steps = 1'000'000'000;       // loop iterations of a run
  std::map<std::string, int64_t> symbols;  // those that no shape determines
  std::vector<MemoryRange> memory;
};

struct RunResult {
  std::vector<Finding> findings;
  std::vector<std::string> printed;
};

/// The values of a program's symbols, in its order: from RunOptions::symbols, from scalar
/// parameters, else solved from shapes and strides that are affine in one unknown. An Error where a
/// symbol can't be found, a shape disagrees or a promised fact doesn't hold.
std::vector<int64_t> solve_symbols(const ir::Program& program,
                                   const std::vector<Argument>& arguments,
                                   const RunOptions& options = {});

/// Runs all launches on arguments in the order of the program's parameters. An output counts as
/// unwritten at first, as does a workspace without `zero`.
RunResult interpret(const ir::Program& program, const std::vector<Argument>& arguments,
                    const RunOptions& options = {});

}  // namespace tw::sim
