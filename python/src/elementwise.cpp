// tilewright/kernels/elementwise.h
#include "tilewright/kernels/elementwise.h"

#include "bind.h"

namespace tw::python {
namespace {

/// The shape that two arrays broadcast to; where there is none, that of `a`, for the function to
/// complain about.
Shape broadcast(const Tensor& a, const Tensor& b) {
  const Tensor &longer = a.rank() >= b.rank() ? a : b, &shorter = a.rank() >= b.rank() ? b : a;
  Shape shape = longer.shape();
  for (int d = 1; d <= shorter.rank(); ++d) {
    int64_t& extent = shape[shape.rank() - d];
    if (extent == 1) extent = shorter.dim(-d);
  }
  return shape;
}

/// A function of two arrays.
template <auto kFunction>
void bind(nb::module_& m, const char* function, const char* doc) {
  m.def(
      function,
      [function](const Array& a_, const Array& b_, const MaybeArray& out, const Dtype& dtype) {
        Call call(function, dtype);
        const Tensor a = call.input("a", a_), b = call.input("b", b_);
        const Tensor y = call.output("out", out, a.dtype(), broadcast(a, b));
        call.run([&](Stream stream) { kFunction(a, b, y, stream); });
        return call.result();
      },
      "a"_a, "b"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(), doc);
}

}  // namespace

void bind_elementwise(nb::module_& m) {
  bind<&kernels::add>(m, "add",
                      "a + b, which broadcast; in a's dtype, or out's. out may be a or b.");
  bind<&kernels::mul>(m, "mul",
                      "a * b, which broadcast; in a's dtype, or out's. out may be a or b.");
  bind<&kernels::add_relu>(
      m, "add_relu", "max(a + b, 0), which broadcast; in a's dtype, or out's. out may be a or b.");
  m.def(
      "silu_and_mul",
      [](const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call("silu_and_mul", dtype);
        const Tensor x = call.input("x", x_);
        Shape shape = x.shape();
        if (x.rank() > 0) shape[x.rank() - 1] /= 2;
        const Tensor y = call.output("out", out, x.dtype(), shape);
        call.run([&](Stream stream) { kernels::silu_and_mul(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "silu(x[..., :h]) * x[..., h:] for x [..., 2 h].");
}

}  // namespace tw::python
