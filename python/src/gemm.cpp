// tilewright/kernels/gemm.h
#include "tilewright/kernels/gemm.h"

#include "bind.h"
#include "tilewright/base/error.h"

namespace tw::python {
namespace {

kernels::Activation activation_named(const char* function, const std::string& name) {
  using kernels::Activation;
  for (const auto& [known, activation] : {std::pair{"none", Activation::none},
                                          {"relu", Activation::relu},
                                          {"gelu", Activation::gelu},
                                          {"gelu_tanh", Activation::gelu_tanh},
                                          {"silu", Activation::silu}}) {
    if (name == known) return activation;
  }
  throw Error({}, {}, "{}: activation is '{}', it must be none, relu, gelu, gelu_tanh or silu",
              function, name);
}

/// Binds gemm or, with one more dimension in front, batched_gemm.
template <int kBatchDims, auto kFunction>
void bind(nb::module_& m, const char* function, const char* doc) {
  m.def(
      function,
      [function](const Array& a_, const Array& b_, bool trans_a, bool trans_b,
                 const std::string& activation, const MaybeArray& bias_,
                 const MaybeArray& residual_, const MaybeArray& out, const Dtype& out_dtype,
                 const Dtype& dtype) {
        Call call(function, dtype);
        const Tensor a = call.input("a", a_), b = call.input("b", b_);
        const auto bias = call.input("bias", bias_), residual = call.input("residual", residual_);
        const int64_t rows = dim_or_0(a, kBatchDims + (trans_a ? 1 : 0));
        const int64_t columns = dim_or_0(b, kBatchDims + (trans_b ? 0 : 1));
        const Tensor c = call.output(
            "out", out, out_dtype ? dtype_named(*out_dtype) : a.dtype(),
            kBatchDims == 0 ? Shape{rows, columns} : Shape{dim_or_0(a, 0), rows, columns});
        const kernels::GemmArgs args{.trans_a = trans_a,
                                     .trans_b = trans_b,
                                     .activation = activation_named(function, activation),
                                     .bias = pointer(bias),
                                     .residual = pointer(residual)};
        call.run([&](Stream stream) { kFunction(a, b, c, args, stream); });
        return call.result();
      },
      "a"_a, "b"_a, nb::kw_only(), "trans_a"_a = false, "trans_b"_a = false,
      "activation"_a = "none", "bias"_a = nb::none(), "residual"_a = nb::none(),
      "out"_a = nb::none(), "out_dtype"_a = nb::none(), "dtype"_a = nb::none(), doc);
}

}  // namespace

void bind_gemm(nb::module_& m) {
  bind<0, &kernels::gemm>(
      m, "gemm",
      "activation(a @ b + bias) + residual for a [m, k] and b [k, n] of one dtype, summed in f32.\n"
      "trans_a: a is stored [k, m]; trans_b: b is stored [n, k]. activation: none, relu, gelu,\n"
      "gelu_tanh or silu. The result has out_dtype, else that of a. out may be residual.");
  bind<1, &kernels::batched_gemm>(
      m, "batched_gemm", "The same for each entry of a batch: a [batch, m, k], b [batch, k, n].");
  m.def(
      "gemm_fp8",
      [](const Array& a_, const Array& scale_a_, const Array& b_, const Array& scale_b_,
         const std::string& activation, const MaybeArray& bias_, const MaybeArray& residual_,
         const MaybeArray& out, const std::string& out_dtype, const Dtype& dtype) {
        Call call("gemm_fp8", dtype);
        const Tensor a = call.input("a", a_), scale_a = call.input("scale_a", scale_a_);
        const Tensor b = call.input("b", b_), scale_b = call.input("scale_b", scale_b_);
        const auto bias = call.input("bias", bias_), residual = call.input("residual", residual_);
        const Tensor c =
            call.output("out", out, dtype_named(out_dtype), {dim_or_0(a, 0), dim_or_0(b, 0)});
        const kernels::GemmArgs args{.activation = activation_named("gemm_fp8", activation),
                                     .bias = pointer(bias),
                                     .residual = pointer(residual)};
        call.run(
            [&](Stream stream) { kernels::gemm_fp8(a, scale_a, b, scale_b, c, args, stream); });
        return call.result();
      },
      "a"_a, "scale_a"_a, "b"_a, "scale_b"_a, nb::kw_only(), "activation"_a = "none",
      "bias"_a = nb::none(), "residual"_a = nb::none(), "out"_a = nb::none(), "out_dtype"_a = "f32",
      "dtype"_a = nb::none(),
      "activation((a * scale_a) @ (b * scale_b).T + bias) + residual for e4m3 codes a [m, k] with\n"
      "a scale per row and group of 128 columns, and b [n, k] with one per block of 128 x 128, as\n"
      "per_token_cast and per_block_cast give them.");
}

}  // namespace tw::python
