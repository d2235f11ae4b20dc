// How far two results may be apart: the only place that says so.
//
// Everything is compared bit for bit unless its value depends on what the language leaves open: the
// order of a float sum (reductions, scans, multiplies, atomics), functions that approximate (exp
// and the like; on GPUs rcp, sigmoid and silu too, by 1 ulp more) and those marked fast. A bound
// follows from the dtypes and the length of the sum; none is ever widened to make a test pass.
#pragma once

#include <cmath>
#include <cstdint>

#include "tilewright/base/dtype.h"

namespace tw::reference {

/// |got - wanted| <= absolute + relative * |wanted|. Infinities and NaN must be the same.
struct Tolerance {
  double absolute = 0, relative = 0;

  bool is_exact() const { return absolute == 0 && relative == 0; }
  bool accepts(double got, double wanted) const {
    if (std::isnan(wanted)) return std::isnan(got);
    if (got == wanted) return true;
    if (std::isinf(wanted) || std::isinf(got)) return false;
    return std::fabs(got - wanted) <= absolute + relative * std::fabs(wanted);
  }
};

/// Unit roundoff: half the distance from 1 to the next number.
inline double unit_roundoff(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::f64:
      return 0x1p-53;
    case Scalar::f32:
      return 0x1p-24;
    case Scalar::f16:
    case Scalar::tf32:
      return 0x1p-11;
    case Scalar::bf16:
      return 0x1p-8;
    case Scalar::e4m3:
      return 0x1p-4;
    case Scalar::e5m2:
      return 0x1p-3;
    case Scalar::e2m1:
      return 0x1p-2;
    default:
      return 0;
  }
}

/// Two sums of the same `length` terms in different orders, each accumulated in `accumulator` and
/// rounded `roundings` times to `result` on the way. `magnitude` is the sum of the terms' absolute
/// values. Each sum is within length * u * magnitude of the exact one (Higham, Accuracy and
/// Stability of Numerical Algorithms, 4.2; a product that is rounded by itself is one more
/// rounding, which the 1 pays), so the two are within twice that.
inline Tolerance sum_tolerance(DType accumulator, DType result, int64_t length, double magnitude,
                               int64_t roundings = 1) {
  const double steps = static_cast<double>(length) + 1;
  const double rounded =
      result == accumulator ? 0 : unit_roundoff(result) * static_cast<double>(roundings);
  return {2 * magnitude * (steps * unit_roundoff(accumulator) + rounded), 0};
}

/// A function marked fast against the standard one: the GPU's approximations (tanh.approx 2^-11,
/// ex2, lg2, rcp, rsqrt, sin, cos 2^-20 and better, for arguments of ordinary size) on top of one
/// rounding to the dtype.
inline Tolerance fast_tolerance(DType dtype) {
  const double relative = 0x1p-10 + 2 * unit_roundoff(dtype);
  return {relative, relative};
}

}  // namespace tw::reference
