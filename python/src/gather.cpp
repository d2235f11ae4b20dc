// tilewright/kernels/gather.h
#include "tilewright/kernels/gather.h"

#include "bind.h"

namespace tw::python {

void bind_gather(nb::module_& m) {
  m.def(
      "gather_rows",
      [](const Array& table_, const Array& index_, const MaybeArray& out, const Dtype& dtype) {
        Call call("gather_rows", dtype);
        const Tensor table = call.input("table", table_), index = call.input("index", index_);
        const Tensor y =
            call.output("out", out, table.dtype(), {dim_or_0(index, 0), dim_or_0(table, 1)});
        call.run([&](Stream stream) { kernels::gather_rows(table, index, y, stream); });
        return call.result();
      },
      "table"_a, "index"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "The rows table[index], zeros where an index is outside; table [v, h], index [n] i32 or "
      "i64.");
  m.def(
      "scatter_add_rows",
      [](const Array& x_, const Array& index_, const MaybeArray& out, const Dtype& dtype) {
        Call call("scatter_add_rows", dtype);
        const Tensor x = call.input("x", x_), index = call.input("index", index_);
        const Tensor y = call.output("out", out, x.dtype(), Shape());
        call.run([&](Stream stream) { kernels::scatter_add_rows(x, index, y, stream); });
        return call.result();
      },
      "x"_a, "index"_a, nb::kw_only(), "out"_a, "dtype"_a = nb::none(),
      "Adds x[i] to out[index[i]] for each row of x [n, h], by atomic adds; rows whose index [n]\n"
      "i32 or i64 is outside out [v, h] are left out. out has x's dtype or is f32.");
}

}  // namespace tw::python
