// tilewright/kernels/activation.h
#include "tilewright/kernels/activation.h"

#include "bind.h"

namespace tw::python {
namespace {

/// A function of one array.
template <auto kFunction>
void bind(nb::module_& m, const char* function, const char* doc) {
  m.def(
      function,
      [function](const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call(function, dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run([&](Stream stream) { kFunction(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(), doc);
}

}  // namespace

void bind_activation(nb::module_& m) {
  bind<&kernels::relu>(m, "relu", "max(x, 0), 0 for NaN. out may be x.");
  bind<&kernels::gelu>(m, "gelu", "x * (1 + erf(x / sqrt(2))) / 2. out may be x.");
  bind<&kernels::gelu_tanh>(
      m, "gelu_tanh", "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2. out may be x.");
  bind<&kernels::silu>(m, "silu", "x / (1 + exp(-x)). out may be x.");
  bind<&kernels::sigmoid>(m, "sigmoid", "1 / (1 + exp(-x)). out may be x.");
  m.def(
      "silu_mul",
      [](const Array& gate_, const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call("silu_mul", dtype);
        const Tensor gate = call.input("gate", gate_), x = call.input("x", x_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run([&](Stream stream) { kernels::silu_mul(gate, x, y, stream); });
        return call.result();
      },
      "gate"_a, "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "silu(gate) * x. out may be gate or x.");
}

}  // namespace tw::python
