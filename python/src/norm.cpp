// tilewright/kernels/norm.h
#include "tilewright/kernels/norm.h"

#include "bind.h"

namespace tw::python {

void bind_norm(nb::module_& m) {
  m.def(
      "rms_norm",
      [](const Array& x_, const Array& w_, double eps, const MaybeArray& out, const Dtype& dtype) {
        Call call("rms_norm", dtype);
        const Tensor x = call.input("x", x_), w = call.input("w", w_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run(
            [&](Stream stream) { kernels::rms_norm(x, w, static_cast<float>(eps), y, stream); });
        return call.result();
      },
      "x"_a, "w"_a, "eps"_a = 1e-6, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "Divides each row of x [n, h] by its root mean square and scales it by w [h]:\n"
      "x * w / sqrt(mean(x**2) + eps). out may be x.");
  m.def(
      "layer_norm",
      [](const Array& x_, const Array& w_, const Array& b_, double eps, const MaybeArray& out,
         const Dtype& dtype) {
        Call call("layer_norm", dtype);
        const Tensor x = call.input("x", x_), w = call.input("w", w_), b = call.input("b", b_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run([&](Stream stream) {
          kernels::layer_norm(x, w, b, static_cast<float>(eps), y, stream);
        });
        return call.result();
      },
      "x"_a, "w"_a, "b"_a, "eps"_a = 1e-5, nb::kw_only(), "out"_a = nb::none(),
      "dtype"_a = nb::none(),
      "Normalises each row of x [n, h] to mean 0 and variance 1, then scales it by w [h] and adds\n"
      "b [h]: (x - mean) / sqrt(variance + eps) * w + b. out may be x.");
  m.def(
      "residual_rms_norm",
      [](const Array& x_, const Array& residual_, const Array& w_, double eps,
         const MaybeArray& out, const MaybeArray& sum_, const Dtype& dtype) {
        Call call("residual_rms_norm", dtype);
        const Tensor x = call.input("x", x_), residual = call.input("residual", residual_),
                     w = call.input("w", w_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        const Tensor sum = call.output("sum", sum_, x.dtype(), x.shape());
        call.run([&](Stream stream) {
          kernels::residual_rms_norm(x, residual, w, static_cast<float>(eps), y, sum, stream);
        });
        return call.result();
      },
      "x"_a, "residual"_a, "w"_a, "eps"_a = 1e-6, nb::kw_only(), "out"_a = nb::none(),
      "sum"_a = nb::none(), "dtype"_a = nb::none(),
      "rms_norm(x + residual, w) and the sum x + residual itself, rounded to its dtype, of which\n"
      "it is the norm. out and sum may be x and residual.");
  m.def(
      "residual_layer_norm",
      [](const Array& x_, const Array& residual_, const Array& w_, const Array& b_, double eps,
         const MaybeArray& out, const MaybeArray& sum_, const Dtype& dtype) {
        Call call("residual_layer_norm", dtype);
        const Tensor x = call.input("x", x_), residual = call.input("residual", residual_),
                     w = call.input("w", w_), b = call.input("b", b_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        const Tensor sum = call.output("sum", sum_, x.dtype(), x.shape());
        call.run([&](Stream stream) {
          kernels::residual_layer_norm(x, residual, w, b, static_cast<float>(eps), y, sum, stream);
        });
        return call.result();
      },
      "x"_a, "residual"_a, "w"_a, "b"_a, "eps"_a = 1e-5, nb::kw_only(), "out"_a = nb::none(),
      "sum"_a = nb::none(), "dtype"_a = nb::none(),
      "layer_norm(x + residual, w, b) and the sum x + residual itself, as residual_rms_norm.");
  m.def(
      "softmax",
      [](const Array& x_, double scale, const MaybeArray& out, const Dtype& dtype) {
        Call call("softmax", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run([&](Stream stream) { kernels::softmax(x, static_cast<float>(scale), y, stream); });
        return call.result();
      },
      "x"_a, "scale"_a = 1.0, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "softmax(scale * x) of each row of x [n, h]. out may be x.");
}

}  // namespace tw::python
