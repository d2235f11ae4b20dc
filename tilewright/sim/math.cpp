#include "tilewright/sim/math.h"

#include <cmath>

#include "tilewright/base/formulas.h"

// Declared here: sleef.h has the finz forms only for compilers that target FMA.
extern "C" {
#define TW_MATH(op, stem, suffix)                         \
  float Sleef_finz_##stem##f1##suffix##purecfma(float);   \
  double Sleef_finz_##stem##d1##suffix##purecfma(double); \
  float Sleef_cinz_##stem##f1##suffix##purec(float);      \
  double Sleef_cinz_##stem##d1##suffix##purec(double);
TW_MATH_UNARY(TW_MATH)
#undef TW_MATH
#define TW_MATH(op, stem, suffix)                                 \
  float Sleef_finz_##stem##f1##suffix##purecfma(float, float);    \
  double Sleef_finz_##stem##d1##suffix##purecfma(double, double); \
  float Sleef_cinz_##stem##f1##suffix##purec(float, float);       \
  double Sleef_cinz_##stem##d1##suffix##purec(double, double);
TW_MATH_BINARY(TW_MATH)
#undef TW_MATH
}

namespace tw::sim {
namespace {

/// The host's choice between the forms with and without FMA.
template <class F>
F on_this_host(F with_fma, F without) {
#if defined(__x86_64__)
  static const bool has_fma = __builtin_cpu_supports("fma");
  return has_fma ? with_fma : without;
#else
  return (void)without, with_fma;
#endif
}

template <class T>
UnaryMath<T> near_math(ir::OpCode code);
template <>
UnaryMath<float> near_math(ir::OpCode code) {
  switch (code) {
#define TW_FORMULA(op)                 \
  case ir::OpCode::op:                 \
    return [](float x) {               \
      formulas::Numbers numbers;       \
      return formulas::op(numbers, x); \
    };
    TW_MATH_FORMULAS(TW_FORMULA)
#undef TW_FORMULA
#define TW_MATH(op, stem, suffix)                                                  \
  case ir::OpCode::op:                                                             \
    return on_this_host<UnaryMath<float>>(Sleef_finz_##stem##f1##suffix##purecfma, \
                                          Sleef_cinz_##stem##f1##suffix##purec);
    TW_MATH_UNARY_F32(TW_MATH)
#undef TW_MATH
    default:
      return nullptr;
  }
}
template <>
UnaryMath<double> near_math(ir::OpCode code) {
  switch (code) {
#define TW_MATH(op, stem, suffix)                                                   \
  case ir::OpCode::op:                                                              \
    return on_this_host<UnaryMath<double>>(Sleef_finz_##stem##d1##suffix##purecfma, \
                                           Sleef_cinz_##stem##d1##suffix##purec);
    TW_MATH_UNARY(TW_MATH)
#undef TW_MATH
    default:
      return nullptr;
  }
}
/// log1p, asinh or acosh everywhere.
template <class T, ir::OpCode code>
T log_far_out(T x) {
  static const UnaryMath<T> near = near_math<T>(code), log = near_math<T>(ir::OpCode::log);
  const T magnitude = code == ir::OpCode::asinh ? std::abs(x) : x;
  if (!(magnitude > static_cast<T>(sizeof(T) == 8 ? kFarOut : kFarOutF32))) return near(x);
  if (code == ir::OpCode::log1p) return log(x);
  return std::copysign(log(magnitude) + static_cast<T>(kLn2), x);
}

}  // namespace

template <class T>
UnaryMath<T> unary_math(ir::OpCode code) {
  switch (code) {
    case ir::OpCode::log1p:
      return log_far_out<T, ir::OpCode::log1p>;
    case ir::OpCode::asinh:
      return log_far_out<T, ir::OpCode::asinh>;
    case ir::OpCode::acosh:
      return log_far_out<T, ir::OpCode::acosh>;
    default:
      return near_math<T>(code);
  }
}
template UnaryMath<float> unary_math(ir::OpCode code);
template UnaryMath<double> unary_math(ir::OpCode code);

template <>
BinaryMath<float> binary_math(ir::OpCode code) {
  switch (code) {
#define TW_MATH(op, stem, suffix)                                                   \
  case ir::OpCode::op:                                                              \
    return on_this_host<BinaryMath<float>>(Sleef_finz_##stem##f1##suffix##purecfma, \
                                           Sleef_cinz_##stem##f1##suffix##purec);
    TW_MATH_BINARY(TW_MATH)
#undef TW_MATH
    default:
      return nullptr;
  }
}
template <>
BinaryMath<double> binary_math(ir::OpCode code) {
  switch (code) {
#define TW_MATH(op, stem, suffix)                                                    \
  case ir::OpCode::op:                                                               \
    return on_this_host<BinaryMath<double>>(Sleef_finz_##stem##d1##suffix##purecfma, \
                                            Sleef_cinz_##stem##d1##suffix##purec);
    TW_MATH_BINARY(TW_MATH)
#undef TW_MATH
    default:
      return nullptr;
  }
}

}  // namespace tw::sim
