#include "tilewright/kernels/gemm/epilogue.h"

#include "tilewright/kernels/check.h"

namespace tw::kernels {

Epilogue::Epilogue(const GemmArgs& args)
    : activation(args.activation),
      bias(args.bias != nullptr),
      residual(args.residual != nullptr),
      bias_dtype(bias ? args.bias->dtype() : f32),
      residual_dtype(residual ? args.residual->dtype() : f32) {}

int64_t Epilogue::code() const {
  return static_cast<int64_t>(activation) | int64_t{bias} << 8 | int64_t{residual} << 9 |
         static_cast<int64_t>(bias_dtype.scalar) << 16 |
         static_cast<int64_t>(residual_dtype.scalar) << 24;
}

Epilogue Epilogue::of_code(int64_t code) {
  Epilogue e{GemmArgs{}};
  e.activation = static_cast<Activation>(code & 0xff);
  e.bias = (code >> 8 & 1) != 0;
  e.residual = (code >> 9 & 1) != 0;
  e.bias_dtype = static_cast<Scalar>(code >> 16 & 0xff);
  e.residual_dtype = static_cast<Scalar>(code >> 24 & 0xff);
  return e;
}

Expr finish(Activation activation, const Expr& sum, const Expr& bias, const Expr& residual) {
  Expr x = bias.ir() ? sum + cast(bias, f32) : sum;
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      x = max(x, 0.0F);
      break;
    case Activation::gelu:
      x = gelu(x);
      break;
    case Activation::gelu_tanh:
      x = gelu_tanh(x);
      break;
    case Activation::silu:
      x = silu(x);
      break;
  }
  return residual.ir() ? x + cast(residual, f32) : x;
}

void check_epilogue(std::string_view function, const Tensor& c, const GemmArgs& args) {
  check_dtype(function, {"c", c}, {f32, bf16, f16});
  if (args.bias != nullptr) {
    check_dtype(function, {"bias", *args.bias}, {f32, c.dtype()});
    if (c.rank() == 3 && args.bias->rank() == 2) {
      check_shape(function, {"bias", *args.bias}, {c.dim(0), c.dim(2)}, "[batch, n]");
    } else {
      check_shape(function, {"bias", *args.bias}, {c.dim(-1)}, "[n]");
    }
  }
  if (args.residual != nullptr) {
    check_dtype(function, {"residual", *args.residual}, {f32, c.dtype()});
    check_shape(function, {"residual", *args.residual}, c.shape(), "like c");
    check_apart(function, {"c", c}, {{"residual", *args.residual}}, /*in_place=*/true);
  }
}

}  // namespace tw::kernels
