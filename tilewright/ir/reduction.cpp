#include "tilewright/ir/reduction.h"

namespace tw::ir {

bool has_reduction(ReduceKind kind, DType from, DType to) {
  const bool integral = from.is_int() || from.is_bool();
  switch (kind) {
    case ReduceKind::any:
    case ReduceKind::all:
      return integral && to.is_bool();
    case ReduceKind::bit_and:
    case ReduceKind::bit_or:
    case ReduceKind::bit_xor:
      return integral && from == to;
    default:
      return !from.is_bool() && !to.is_bool() && from != f8_e8m0 &&
             from.is_float() == to.is_float() && !to.is_narrow_float();
  }
}

bool is_extremum(ReduceKind kind) {
  return kind == ReduceKind::min || kind == ReduceKind::max || kind == ReduceKind::abs_max;
}

DType accumulator_type(DType dst, bool low_precision) {
  const bool in_place = low_precision && dst.has_float_arithmetic();
  return dst.is_float() && dst.bits() < 32 && !in_place ? f32 : dst;
}

ReduceKind reduction_of(ScanKind scan) {
  switch (scan) {
    case ScanKind::sum:
      return ReduceKind::sum;
    case ScanKind::max:
      return ReduceKind::max;
    case ScanKind::min:
      return ReduceKind::min;
    case ScanKind::prod:
      return ReduceKind::prod;
  }
  return {};
}

}  // namespace tw::ir
