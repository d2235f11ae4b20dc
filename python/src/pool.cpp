// tilewright/kernels/pool.h
#include "tilewright/kernels/pool.h"

#include "bind.h"

namespace tw::python {

void bind_pool(nb::module_& m) {
  m.def(
      "masked_mean_pool",
      [](const Array& x_, const Array& cu_seqlens_, bool l2_normalize, const MaybeArray& out,
         const Dtype& dtype) {
        Call call("masked_mean_pool", dtype);
        const Tensor x = call.input("x", x_), cu_seqlens = call.input("cu_seqlens", cu_seqlens_);
        const int64_t sequences = std::max<int64_t>(dim_or_0(cu_seqlens, 0) - 1, 0);
        const Tensor y = call.output("out", out, f32, {sequences, dim_or_0(x, 1)});
        call.run([&](Stream stream) {
          kernels::masked_mean_pool(x, cu_seqlens, y, l2_normalize, stream);
        });
        return call.result();
      },
      "x"_a, "cu_seqlens"_a, nb::kw_only(), "l2_normalize"_a = false, "out"_a = nb::none(),
      "dtype"_a = nb::none(),
      "The mean of the rows of x [tokens, h] of each sequence, which has the rows from\n"
      "cu_seqlens[s] up to cu_seqlens[s + 1]; an f32 array [b, h]. l2_normalize: each mean is\n"
      "divided by its Euclidean norm.");
}

}  // namespace tw::python
