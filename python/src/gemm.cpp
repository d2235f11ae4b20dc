// tilewright/kernels/gemm.h
#include "tilewright/kernels/gemm.h"

#include "bind.h"
#include "tilewright/base/error.h"

namespace tw::python {
namespace {

kernels::Activation activation_named(const std::string& name) {
  using kernels::Activation;
  for (const auto& [known, activation] : {std::pair{"none", Activation::none},
                                          {"relu", Activation::relu},
                                          {"gelu", Activation::gelu},
                                          {"gelu_tanh", Activation::gelu_tanh},
                                          {"silu", Activation::silu}}) {
    if (name == known) return activation;
  }
  throw Error({}, {}, "gemm: activation is '{}', it must be none, relu, gelu, gelu_tanh or silu",
              name);
}

}  // namespace

void bind_gemm(nb::module_& m) {
  m.def(
      "gemm",
      [](const Array& a_, const Array& b_, bool trans_a, bool trans_b,
         const std::string& activation, const MaybeArray& bias_, const MaybeArray& residual_,
         const MaybeArray& out, const Dtype& out_dtype, const Dtype& dtype) {
        Call call("gemm", dtype);
        const Tensor a = call.input("a", a_), b = call.input("b", b_);
        const auto bias = call.input("bias", bias_), residual = call.input("residual", residual_);
        const Tensor c = call.output("out", out, out_dtype ? dtype_named(*out_dtype) : a.dtype(),
                                     {dim_or_0(a, trans_a ? 1 : 0), dim_or_0(b, trans_b ? 0 : 1)});
        const kernels::GemmArgs args{.trans_a = trans_a,
                                     .trans_b = trans_b,
                                     .activation = activation_named(activation),
                                     .bias = pointer(bias),
                                     .residual = pointer(residual)};
        call.run([&] { kernels::gemm(a, b, c, args); });
        return call.result();
      },
      "a"_a, "b"_a, nb::kw_only(), "trans_a"_a = false, "trans_b"_a = false,
      "activation"_a = "none", "bias"_a = nb::none(), "residual"_a = nb::none(),
      "out"_a = nb::none(), "out_dtype"_a = nb::none(), "dtype"_a = nb::none(),
      "activation(a @ b + bias) + residual for a [m, k] and b [k, n] of one dtype, summed in f32.\n"
      "trans_a: a is stored [k, m]; trans_b: b is stored [n, k]. activation: none, relu, gelu,\n"
      "gelu_tanh or silu. The result has out_dtype, else that of a. out may be residual.");
}

}  // namespace tw::python
