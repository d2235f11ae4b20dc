// tilewright/kernels/quant.h
#include "tilewright/kernels/quant.h"

#include "bind.h"

namespace tw::python {
namespace {

int64_t groups_of(int64_t extent, int64_t group) {
  return group < 1 ? 0 : (extent + group - 1) / group;
}

}  // namespace

void bind_quant(nb::module_& m) {
  m.def(
      "per_token_group_cast",
      [](const Array& x_, int64_t group, bool round_sf, const MaybeArray& out,
         const MaybeArray& sf_, const Dtype& dtype) {
        Call call("per_token_group_cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor q = call.output("out", out, f8_e4m3, x.shape());
        const Tensor sf =
            call.output("sf", sf_, f32, {dim_or_0(x, 0), groups_of(dim_or_0(x, 1), group)});
        call.run([&](Stream stream) {
          kernels::per_token_group_cast(x, q, sf, {.group = group, .round_sf = round_sf}, stream);
        });
        return call.result();
      },
      "x"_a, nb::kw_only(), "group"_a = 128, "round_sf"_a = false, "out"_a = nb::none(),
      "sf"_a = nb::none(), "dtype"_a = nb::none(),
      "x [m, k] as e4m3 codes [m, k] and scale factors [m, ceil(k / group)] f32 of groups of 32,\n"
      "64 or 128 columns: x is about code * sf. round_sf: scale factors are powers of two.");
  m.def(
      "per_block_cast",
      [](const Array& x_, bool round_sf, const MaybeArray& out, const MaybeArray& sf_,
         const Dtype& dtype) {
        Call call("per_block_cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor q = call.output("out", out, f8_e4m3, x.shape());
        const Tensor sf = call.output(
            "sf", sf_, f32, {groups_of(dim_or_0(x, 0), 128), groups_of(dim_or_0(x, 1), 128)});
        call.run([&](Stream stream) { kernels::per_block_cast(x, q, sf, round_sf, stream); });
        return call.result();
      },
      "x"_a, nb::kw_only(), "round_sf"_a = false, "out"_a = nb::none(), "sf"_a = nb::none(),
      "dtype"_a = nb::none(), "The same with a scale factor for each block of 128 x 128.");
  m.def(
      "cast",
      [](const Array& x_, const std::string& to, const MaybeArray& out, const Dtype& dtype) {
        Call call("cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, dtype_named(to), x.shape());
        call.run([&](Stream stream) { kernels::cast(x, y, stream); });
        return call.result();
      },
      "x"_a, "to"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "x in another dtype (f64, f32, tf32, f16, bf16, e4m3, e5m2, e8m0), rounded to the nearest\n"
      "even; e4m3 and e5m2 saturate, e8m0 is the next power of two.");
}

}  // namespace tw::python
