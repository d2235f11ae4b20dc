// Scores of experts by their logits, in exactly these operations: selections elsewhere that
// evaluate the same then agree where keys are nearly equal.
#pragma once

#include "tilewright/kernels/moe.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// log1p of x >= 0 below 2^30, in the operations of CUDA's log1pf but for its branches.
inline Expr log1p_of_exp(const Expr& x) {
  // 2^n with x + 1 from 0.75 to 1.5 of them, n in the place of an exponent.
  const Expr n = (bitcast(ieee::add(x, 1.0F, Rounding::rz), i32) - 0x3F400000) &
                 Expr(static_cast<int32_t>(0xFF800000U));
  const Expr m = (bitcast(0x3F800000 - n, f32) - 1.0F) + bitcast(bitcast(x, i32) - n, f32);
  Expr sum = -0.045348614454269409F;
  for (const float c :
       {0.10546888411045074F, -0.13229703903198242F, 0.14491446316242218F, -0.16641564667224884F,
        0.19988867640495300F, -0.25000196695327759F, 0.33333510160446167F, -0.5F}) {
    sum = fma(sum, m, c);
  }
  return fma(cast(n, f32), 0.693147182464599609F * 0x1p-23F, fma(m, ieee::mul(m, sum), m));
}

/// sqrt(softplus(x)), with softplus(x) = x above 20. Correctly rounded roots; no branch, as there
/// would be in ieee::sqrt and around an arm of a selection.
inline Expr sqrt_softplus(const Expr& x) {
  const Expr above = bitcast(20.0F - x, i32) >> 31;  // all bits or none
  const auto choose = [&](const Expr& yes, const Expr& no) {
    return bitcast((bitcast(yes, i32) & above) | (bitcast(no, i32) & ~above), f32);
  };
  const Expr y = choose(x, ieee::mul(log1p_of_exp(exp(x)), 0x1p48F));  // not subnormal
  const Expr r = fast::rsqrt(max(y, 0x1p-126F));
  const Expr near = ieee::mul(y, r);
  return ieee::mul(fma(fma(-near, near, y), ieee::mul(r, 0.5F), near), choose(1.0F, 0x1p-24F));
}

/// 1 / (1 + exp(-x)), the division correctly rounded but where the result is subnormal.
inline Expr sigmoid_of(const Expr& x) {
  const Expr d = 1.0F + exp(-x), r = fast::rcp(d);
  return fma(fma(-min(d, max_value(f32)), r, 1.0F), r, r);
}

/// That of a scoring function of one logit.
inline Expr score(Scoring scoring, const Expr& x) {
  return scoring == Scoring::sigmoid ? sigmoid_of(x) : sqrt_softplus(x);
}

}  // namespace tw::kernels
