// Programs in thread IR that do every element operation and every conversion, one thread for each
// element: for tests that compile them, and for those that run them on a device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::cuda::test {

struct OpCase {
  ir::OpCode code;
  ir::Exactness exactness = ir::Exactness::standard;
  Rounding rounding = Rounding::rn;

  /// "add_ieee_rz".
  std::string name() const;
};

struct CastCase {
  DType from, to;
  Rounding rounding = Rounding::rn;
  bool saturate = true;

  std::string name() const;
};

/// Every operation that the interpreter defines for operands of the type, in each exactness.
std::vector<OpCase> op_cases(DType dtype);

/// Every conversion that the language has, from each type.
std::vector<CastCase> cast_cases(DType from);

/// The type of the results.
DType result_type(const OpCase& c, DType dtype);

/// y_k[i] = op_k(x0[i], x1[i], x2[i]) for i below the grid's 256 threads a block; select takes its
/// condition from `choice`. Parameters: x0, x1, x2, choice, then the results in order.
ir::Program op_program(DType dtype, std::span<const OpCase> cases, int64_t count);

/// y_k[i] = cast_k(x[i]), with the random words w. Parameters: x, w, then the results.
ir::Program cast_program(DType from, std::span<const CastCase> cases, int64_t count);

/// The types that have operations.
const std::vector<DType>& op_types();

}  // namespace tw::cuda::test
