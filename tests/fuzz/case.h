// A random program with the memory that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/random.h"
#include "tests/reference/tolerance.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/sim/interpreter.h"

namespace tw::fuzz {

/// The value of one parameter: a tensor in memory of its own with guard bytes
/// around it, or a scalar.
struct ParamValue {
  DType dtype;
  std::vector<int64_t> shape, strides;  // strides in elements, not negative
  int64_t origin = 0;                   // byte of element (0, ...) in memory
  std::vector<std::byte> memory;
  bool is_scalar = false;
  uint64_t scalar = 0;
  reference::Tolerance tolerance;  // of what a program writes to it
  std::string points_to;           // its only element is the address of this parameter

  /// `shift`: elements (bytes, of packed types) by which it is off the alignment of its memory.
  static ParamValue tensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                           int64_t shift = 0);
  static ParamValue of_scalar(DType dtype, uint64_t bits);

  int64_t elements() const;
  uint64_t get(int64_t row_major) const;
  void set(int64_t row_major, uint64_t bits);

 private:
  int64_t bit_of(int64_t row_major) const;
};

struct Case {
  uint64_t seed = 0;
  ir::Program program;
  std::vector<ParamValue> values;  // by parameter

  /// Where the memory of each parameter is; null for scalars.
  std::vector<std::byte*> memory();
  /// Writes the addresses that parameters hold, for memory in these places.
  void link(const std::vector<std::byte*>& memory);
  /// Arguments over this case's memory, linked.
  std::vector<sim::Argument> arguments();
  /// The values of the parameters that `program` has, found by name.
  Case for_program(const ir::Program& other) const;
};

}  // namespace tw::fuzz
