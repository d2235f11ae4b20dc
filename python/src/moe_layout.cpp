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

/// `x` may be a tuple of rows and their factors.
nb::any reduce_fused(nb::handle x_, const MaybeArray& weights_, const Array& map_,
                     const std::string& fp8_format, const MaybeArray& sf_, const MaybeArray& out_,
                     const Dtype& dtype) {
  constexpr const char* f = "reduce_fused";
  Call call(f, dtype);
  TW_REQUIRE(fp8_format.empty() || fp8_format == "e4m3",
             "{}: fp8_format is '{}', it must be '' or 'e4m3'", f, fp8_format);
  TW_REQUIRE(!sf_ || !fp8_format.empty(), "{}: sf is given, which needs fp8_format 'e4m3'", f);
  MaybeArray rows{{x_}}, x_sf_{{nb::none()}};
  if (nb::isinstance<nb::tuple>(x_)) {
    if (nb::len(x_) != 2) {
      throw nb::type_error("reduce_fused: x must be an array, or a tuple of data and factors");
    }
    rows.object = PyTuple_GetItem(x_.ptr(), 0);
    x_sf_.object = PyTuple_GetItem(x_.ptr(), 1);
  }
  const Tensor x = call.input("x", static_cast<const Array&>(rows));
  const std::optional<Tensor> x_sf = call.input("x_sf", x_sf_);
  const std::optional<Tensor> weights = call.input("topk_weights", weights_);
  const Tensor map = call.input("token_topk_to_pos", map_);
  const std::optional<Tensor> sf = call.input("sf", sf_);
  const Tensor out = call.output("out", out_, fp8_format.empty() ? x.dtype() : f8_e4m3,
                                 {dim_or_0(map, 0), dim_or_0(x, 1)});
  TW_REQUIRE(out.dtype() == (fp8_format.empty() ? x.dtype() : f8_e4m3),
             "{}: out is {}, with fp8_format '{}' it must be {}", f, out, fp8_format,
             fp8_format.empty() ? x.dtype() : f8_e4m3);
  call.run([&](Stream stream) {
    kernels::reduce_fused(
        x, map, out, {.topk_weights = pointer(weights), .x_sf = pointer(x_sf), .sf = pointer(sf)},
        stream);
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
  m.def(
      "reduce_fused", &reduce_fused, "x"_a, "topk_weights"_a.none(), "token_topk_to_pos"_a,
      "fp8_format"_a = "", "sf"_a = nb::none(), "out"_a = nb::none(), nb::kw_only(),
      "dtype"_a = nb::none(),
      "Sums of the rows of x [np, h] over each token's positions, [t, h]: from 0 on, in the\n"
      "order of k, fma(x, weight, sum). x: f32, bf16 or e4m3, or a tuple (x, x_sf) with a factor\n"
      "f32 [np] for each row; topk_weights: f32 [t, topk], None for 1; token_topk_to_pos: int32\n"
      "[t, topk], below 0 for none. fp8_format 'e4m3' makes e4m3 of the sums, times sf [1].");
}

}  // namespace tw::python
