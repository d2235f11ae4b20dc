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

/// A size that the caller gives.
int64_t number_of(const char* f, const char* name, int64_t value) {
  TW_REQUIRE(value >= 0, "{}: {} is {}, it must not be negative", f, name, value);
  return value;
}

/// In the sizing mode, where `np` is 0 and the host may wait for the device, the maps of positions
/// are cut to what they need.
nb::tuple get_fused_mapping(const Array& topk_idx_, int64_t experts, int64_t np, int64_t alignment,
                            bool no_sync) {
  constexpr const char* f = "get_fused_mapping";
  Call call(f);
  const Tensor topk_idx = call.input("topk_idx", topk_idx_);
  // What the maps are allocated by.
  TW_REQUIRE(experts >= 1 && experts <= 1024, "{}: num_experts is {}, it must be from 1 to 1024", f,
             experts);
  TW_REQUIRE(alignment >= 1 && alignment <= INT32_MAX,
             "{}: alignment is {}, it must be from 1 to {}", f, alignment, INT32_MAX);
  const bool sizing = np == 0 && !no_sync;
  const int64_t pairs = topk_idx.numel();
  const Shape positions = {sizing ? kernels::most_fused_rows(pairs, experts, alignment)
                                  : number_of(f, "num_expanded_tokens", np)};
  const auto make = [&](const Shape& shape) { return call.new_output(i32, shape); };
  kernels::FusedMapping maps;
  for (Tensor* map : {&maps.pos_to_expert, &maps.pos_to_token, &maps.pos_to_token_topk}) {
    *map = make(positions);
  }
  maps.token_topk_to_pos = make(topk_idx.shape());
  for (Tensor* map : {&maps.expert_start, &maps.expert_end, &maps.num_tokens_per_expert}) {
    *map = make({experts});
  }
  const Shape scratch_shape = kernels::fused_mapping_scratch(pairs, experts);
  const Tensor scratch(call.workspace(scratch_shape.numel() * i32.bits() / 8), i32, scratch_shape,
                       topk_idx.device());
  call.run([&](Stream stream) {
    kernels::get_fused_mapping(topk_idx, alignment, maps, scratch, stream);
  });
  const auto found = nb::cast<nb::tuple>(call.result());
  nb::list all, counts;
  for (const nb::handle map : found) all.append(map);
  if (sizing) {
    counts = nb::cast<nb::list>(found[6].attr("tolist")());
    int64_t rows = 0;
    for (const nb::handle count : counts) rows += nb::cast<int64_t>(count);
    for (size_t i = 0; i < 3; ++i) all[i] = all[i][nb::slice(static_cast<Py_ssize_t>(rows))];
  }
  all.append(counts);
  return nb::tuple(all);
}

}  // namespace

void bind_moe_layout(nb::module_& m) {
  m.def(
      "mask_indices_by_tp",
      [](const Array& indices_, int64_t n, int64_t ep_ranks, int64_t tp_rank, int64_t tp_ranks) {
        Call call("mask_indices_by_tp");
        const Tensor indices = call.input("indices", indices_);
        const Tensor out = call.new_output(indices.dtype(), indices.shape());
        call.run([&](Stream stream) {
          kernels::mask_indices_by_tp(indices, {n, ep_ranks, tp_rank, tp_ranks}, out, stream);
        });
        return call.result();
      },
      "indices"_a, "n"_a, "num_ep_ranks"_a, "tp_rank"_a, "num_tp_ranks"_a,
      "Of n experts, equally many on each of num_ep_ranks ranks, those of the ranks r with\n"
      "r % num_tp_ranks == tp_rank, numbered in the order of these ranks; -1 for all others.\n"
      "indices: [t, topk], int64 or int32.");
  m.def(
      "inplace_unique_group_indices",
      [](const Array& indices_, int64_t groups) {
        Call call("inplace_unique_group_indices");
        const Tensor indices = call.output("group_indices", indices_, {}, /*returned=*/false);
        call.run(
            [&](Stream stream) { kernels::inplace_unique_group_indices(indices, groups, stream); });
      },
      "group_indices"_a, "num_groups"_a,
      "Writes -1 over each group that occurred before in its row of group_indices [t, topk],\n"
      "int64; numbers below 0 stay. num_groups is at most 128.");
  m.def(
      "group_count",
      [](const Array& list_, int64_t groups) {
        Call call("group_count");
        const Tensor list = call.input("group_idx", list_);
        const Tensor out = call.new_output(i32, {number_of("group_count", "num_groups", groups)});
        call.run([&](Stream stream) { kernels::group_count(list, out, stream); });
        return call.result();
      },
      "group_idx"_a, "num_groups"_a,
      "How often each group occurs in group_idx [t, topk], int64; numbers below 0 are left out.\n"
      "int32 [num_groups].");
  m.def(
      "aux_fi",
      [](const Array& list_, int64_t experts, int64_t num_aux_topk) {
        Call call("aux_fi");
        const Tensor list = call.input("topk_idx", list_);
        const Tensor out = call.new_output(f32, {number_of("aux_fi", "num_experts", experts)});
        call.run([&](Stream stream) { kernels::aux_fi(list, num_aux_topk, out, stream); });
        return call.result();
      },
      "topk_idx"_a, "num_experts"_a, "num_aux_topk"_a,
      "c * num_experts / (t * num_aux_topk) of each expert, which occurs c times in topk_idx\n"
      "[t, topk], int64; numbers below 0 are left out. float32 [num_experts].");
  m.def("get_fused_mapping", &get_fused_mapping, "topk_idx"_a, "num_experts"_a,
        "num_expanded_tokens"_a, "alignment"_a, "force_no_sync"_a = false,
        "The fused layout of tokens with experts topk_idx [t, topk], int64, below 0 for none: the\n"
        "maps (pos_to_expert, pos_to_token, pos_to_token_topk, token_topk_to_pos, expert_start,\n"
        "expert_end, num_tokens_per_expert), int32, and a list. Within an expert's range, a\n"
        "multiple of alignment, pairs ascend; padding is -1. num_expanded_tokens is the length of\n"
        "the first three; for 0 without force_no_sync the host waits, they are as long as they\n"
        "must be, and the list has num_tokens_per_expert, else nothing.");
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
