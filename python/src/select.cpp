// tilewright/kernels/select.h
#include "tilewright/kernels/select.h"

#include "bind.h"

namespace tw::python {

void bind_select(nb::module_& m) {
  m.def(
      "top_k",
      [](const Array& x_, int64_t k, const MaybeArray& out, const MaybeArray& indices_,
         const Dtype& dtype) {
        Call call("top_k", dtype);
        const Tensor x = call.input("x", x_);
        const Shape shape{dim_or_0(x, 0), std::max<int64_t>(k, 0)};
        const Tensor values = call.output("out", out, x.dtype(), shape);
        const Tensor indices = call.output("indices", indices_, i64, shape);
        call.run([&](Stream stream) { kernels::top_k(x, values, indices, stream); });
        return call.result();
      },
      "x"_a, "k"_a, nb::kw_only(), "out"_a = nb::none(), "indices"_a = nb::none(),
      "dtype"_a = nb::none(),
      "The k <= 32 largest elements of each row of x [n, h <= 1024], the largest first, and their\n"
      "indices as i64 (indices may be i32). Of equal ones the lower index comes first; NaN is\n"
      "less than all numbers.");
}

}  // namespace tw::python
