// What the multiplies of this folder share: the checks of their arguments and the end
// of their dataflow.
#pragma once

#include <string_view>

#include "tilewright/kernels/gemm.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// The extras of a multiply as constants of its dataflow.
struct Epilogue {
  Activation activation;
  bool bias, residual;
  DType bias_dtype, residual_dtype;

  explicit Epilogue(const GemmArgs& args);
  /// As the dataflow gets it: one number, by which kernels are told apart.
  int64_t code() const;
  static Epilogue of_code(int64_t code);
};

/// activation(sum + bias) + residual of one element, in f32.
Expr finish(Activation activation, const Expr& sum, const Expr& bias, const Expr& residual);

/// Raises an Error unless bias is [n], or [batch, n] in a batch, and residual is like c.
void check_epilogue(std::string_view function, const Tensor& c, const GemmArgs& args);

}  // namespace tw::kernels
