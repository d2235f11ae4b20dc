// tilewright/kernels/reduce.h
#include "tilewright/kernels/reduce.h"

#include "bind.h"

namespace tw::python {

void bind_reduce(nb::module_& m) {
  m.def(
      "sum",
      [](const Array& x_, const std::optional<std::string>& out_dtype, const MaybeArray& out,
         const Dtype& dtype) {
        Call call("sum", dtype);
        const Tensor x = call.input("x", x_);
        const DType result = out_dtype ? dtype_named(*out_dtype) : x.dtype();
        const Tensor y = call.output("out", out, result, Shape{dim_or_0(x, 0)});
        call.run([&](Stream stream) { kernels::sum(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out_dtype"_a = nb::none(), "out"_a = nb::none(),
      "dtype"_a = nb::none(),
      "The sum of each row of x [n, h], added in f32. out_dtype: x's or \"f32\".");
  m.def(
      "max",
      [](const Array& x_, bool propagate_nan, const MaybeArray& out, const Dtype& dtype) {
        Call call("max", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, x.dtype(), Shape{dim_or_0(x, 0)});
        call.run([&](Stream stream) { kernels::max(x, y, propagate_nan, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "propagate_nan"_a = false, "out"_a = nb::none(), "dtype"_a = nb::none(),
      "The largest element of each row of x [n, h]. NaN doesn't count, of NaN alone it is -inf;\n"
      "propagate_nan: a row that has one is NaN.");
  m.def(
      "argmax",
      [](const Array& x_, const MaybeArray& out, const Dtype& dtype) {
        Call call("argmax", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, i64, Shape{dim_or_0(x, 0)});
        call.run([&](Stream stream) { kernels::argmax(x, y, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "The first index of the largest element of each row of x [n, h], as i64; out may be i32.\n"
      "NaN is less than all numbers.");
}

}  // namespace tw::python
