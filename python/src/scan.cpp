// tilewright/kernels/scan.h
#include "tilewright/kernels/scan.h"

#include "bind.h"

namespace tw::python {

void bind_scan(nb::module_& m) {
  m.def(
      "cumsum",
      [](const Array& x_, const std::optional<std::string>& out_dtype, const MaybeArray& out,
         const Dtype& dtype) {
        Call call("cumsum", dtype);
        const Tensor x = call.input("x", x_);
        const DType result = out_dtype ? dtype_named(*out_dtype) : x.dtype();
        const Tensor y = call.output("out", out, result, x.shape());
        call.run([&](Stream stream) { kernels::cumsum(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out_dtype"_a = nb::none(), "out"_a = nb::none(),
      "dtype"_a = nb::none(),
      "The prefix sums of each row of x [n, h], added in f32. out_dtype: x's or \"f32\"; out may\n"
      "be x.");
}

}  // namespace tw::python
