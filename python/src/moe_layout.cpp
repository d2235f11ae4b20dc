// tilewright/kernels/moe.h: layouts of experts
#include <utility>

#include <nanobind/stl/pair.h>

#include "bind.h"
#include "tilewright/base/error.h"
#include "tilewright/kernels/moe.h"

namespace tw::python {
namespace {

nb::any expand_to_fused_with_sf(const std::pair<Array, Array>& x_, int64_t group, const Array& map_,
                                const Array& experts_, bool columns) {
  Call call("expand_to_fused_with_sf");
  const Tensor x = call.input("x", x_.first), sf = call.input("sf", x_.second);
  const Tensor map = call.input("token_topk_to_pos", map_),
               experts = call.input("pos_to_expert", experts_);
  TW_REQUIRE(columns || sf.dtype() != i32,
             "expand_to_fused_with_sf: sf is {}, which needs use_tma_aligned_col_major_sf", sf);
  const int64_t np = dim_or_0(experts, 0), n = dim_or_0(sf, 1);
  const Tensor out = call.new_output(x.dtype(), {np, dim_or_0(x, 1)});
  const Tensor out_sf = columns ? call.new_columns(sf.dtype(), np, n, (np + 3) / 4 * 4)
                                : call.new_output(sf.dtype(), {np, n});
  call.run([&](Stream stream) {
    kernels::expand_to_fused_with_sf(x, sf, group, map, experts, out, out_sf, stream);
  });
  return call.result();
}

}  // namespace

void bind_moe_layout(nb::module_& m) {
  m.def(
      "expand_to_fused",
      [](const Array& x_, const Array& map_, const Array& experts_) {
        Call call("expand_to_fused");
        const Tensor x = call.input("x", x_), map = call.input("token_topk_to_pos", map_),
                     experts = call.input("pos_to_expert", experts_);
        const Tensor out = call.new_output(x.dtype(), {dim_or_0(experts, 0), dim_or_0(x, 1)});
        call.run([&](Stream stream) { kernels::expand_to_fused(x, map, experts, out, stream); });
        return call.result();
      },
      "x"_a, "token_topk_to_pos"_a, "pos_to_expert"_a,
      "Rows of x [t, h] at their positions in the fused layout, [np, h]; 0 where pos_to_expert\n"
      "[np] is below 0. token_topk_to_pos: [t, topk], below 0 for none. Both maps are int32.");
  m.def("expand_to_fused_with_sf", &expand_to_fused_with_sf, "x"_a, "num_per_channels"_a,
        "token_topk_to_pos"_a, "pos_to_expert"_a, "use_tma_aligned_col_major_sf"_a = false,
        "The same for x = (data, sf), a scale factor for each num_per_channels (32 or 128)\n"
        "columns, f32, or four exponents in an int32. The factors of the result lie column by\n"
        "column with use_tma_aligned_col_major_sf, which int32 needs.");
}

}  // namespace tw::python
