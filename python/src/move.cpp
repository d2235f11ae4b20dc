// tilewright/kernels/move.h
#include "tilewright/kernels/move.h"

#include "bind.h"

namespace tw::python {

void bind_move(nb::module_& m) {
  m.def(
      "copy",
      [](const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call("copy", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, x.dtype(), x.shape());
        call.run([&](Stream stream) { kernels::copy(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "The elements of x, at any strides, in another array.");
  m.def(
      "transpose",
      [](const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call("transpose", dtype);
        const Tensor x = call.input("x", x_);
        Shape shape = x.shape();
        if (x.rank() >= 2) std::swap(shape[x.rank() - 2], shape[x.rank() - 1]);
        const Tensor y = call.output("out", out, x.dtype(), shape);
        call.run([&](Stream stream) { kernels::transpose(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "x [m, n] as [n, m], or each entry of a batch [b, m, n].");
}

}  // namespace tw::python
