// The element functions as tables: name and operand count. `math.h` declares each on values,
// `tile_value.h` on tile values.
#pragma once

// Floats; 16-bit floats compute in f32 and round once (language 11.1).
#define TW_FLOAT_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(exp)                      \
  TW_FUNCTION(exp2)                     \
  TW_FUNCTION(exp10)                    \
  TW_FUNCTION(expm1)                    \
  TW_FUNCTION(log)                      \
  TW_FUNCTION(log2)                     \
  TW_FUNCTION(log10)                    \
  TW_FUNCTION(log1p)                    \
  TW_FUNCTION(sqrt)                     \
  TW_FUNCTION(rsqrt)                    \
  TW_FUNCTION(rcp)                      \
  TW_FUNCTION(cbrt)                     \
  TW_FUNCTION(sin)                      \
  TW_FUNCTION(cos)                      \
  TW_FUNCTION(tan)                      \
  TW_FUNCTION(asin)                     \
  TW_FUNCTION(acos)                     \
  TW_FUNCTION(atan)                     \
  TW_FUNCTION(sinh)                     \
  TW_FUNCTION(cosh)                     \
  TW_FUNCTION(tanh)                     \
  TW_FUNCTION(asinh)                    \
  TW_FUNCTION(acosh)                    \
  TW_FUNCTION(atanh)                    \
  TW_FUNCTION(erf)                      \
  TW_FUNCTION(erfc)                     \
  TW_FUNCTION(floor)                    \
  TW_FUNCTION(ceil)                     \
  TW_FUNCTION(trunc)                    \
  TW_FUNCTION(round)                    \
  TW_FUNCTION(rint)                     \
  TW_FUNCTION(isnan)                    \
  TW_FUNCTION(isinf)                    \
  TW_FUNCTION(isfinite)                 \
  TW_FUNCTION(signbit)

// Made of the others: sigmoid = rcp(1 + exp(-x)), silu = x sigmoid(x),
// softplus = log(1 + exp(x)), gelu = x (1 + erf(x / sqrt 2)) / 2, gelu_tanh its tanh form.
#define TW_LIBRARY_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(sigmoid)                    \
  TW_FUNCTION(silu)                       \
  TW_FUNCTION(softplus)                   \
  TW_FUNCTION(gelu)                       \
  TW_FUNCTION(gelu_tanh)

// Integers, apart from abs.
#define TW_INTEGER_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(abs)                        \
  TW_FUNCTION(popcount)                   \
  TW_FUNCTION(clz)                        \
  TW_FUNCTION(ctz)                        \
  TW_FUNCTION(ffs)                        \
  TW_FUNCTION(bit_reverse)

#define TW_UNARY_FUNCTIONS(TW_FUNCTION) \
  TW_FLOAT_FUNCTIONS(TW_FUNCTION)       \
  TW_LIBRARY_FUNCTIONS(TW_FUNCTION) TW_INTEGER_FUNCTIONS(TW_FUNCTION)

#define TW_BINARY_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(min)                       \
  TW_FUNCTION(max)                       \
  TW_FUNCTION(min_nan)                   \
  TW_FUNCTION(max_nan)                   \
  TW_FUNCTION(fmod)                      \
  TW_FUNCTION(pow)                       \
  TW_FUNCTION(hypot)                     \
  TW_FUNCTION(atan2)                     \
  TW_FUNCTION(copysign)                  \
  TW_FUNCTION(floordiv)                  \
  TW_FUNCTION(floormod)                  \
  TW_FUNCTION(truncdiv)                  \
  TW_FUNCTION(truncmod)                  \
  TW_FUNCTION(cdiv)                      \
  TW_FUNCTION(mul_high)                  \
  TW_FUNCTION(add_sat)                   \
  TW_FUNCTION(sub_sat)                   \
  TW_FUNCTION(nth_set)

#define TW_TERNARY_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(fma)                        \
  TW_FUNCTION(clamp)                      \
  TW_FUNCTION(select)                     \
  TW_FUNCTION(if_else)                    \
  TW_FUNCTION(byte_permute)               \
  TW_FUNCTION(funnel_shl)                 \
  TW_FUNCTION(funnel_shr)

// Faster and less exact forms, in `tw::fast`.
#define TW_FAST_FUNCTIONS(TW_FUNCTION) \
  TW_FUNCTION(exp)                     \
  TW_FUNCTION(exp2)                    \
  TW_FUNCTION(exp10)                   \
  TW_FUNCTION(log)                     \
  TW_FUNCTION(log2)                    \
  TW_FUNCTION(log10)                   \
  TW_FUNCTION(sin)                     \
  TW_FUNCTION(cos)                     \
  TW_FUNCTION(tan)                     \
  TW_FUNCTION(tanh)                    \
  TW_FUNCTION(rcp)                     \
  TW_FUNCTION(rsqrt)
