// tilewright/kernels/quant.h: casts of rows, and of elements
#include "quant.h"

#include <tuple>

#include "tilewright/kernels/check.h"

namespace tw::python {
namespace {

/// Of rows, whose groups they are.
nb::any cast_to_e5m6(const char* f, const Array& x_, int64_t group, const SfFlags& flags,
                     nb::handle out, const Dtype& dtype) {
  Call call(f, dtype);
  const Tensor x = call.input("x", x_);
  const int64_t m = dim_or_0(x, 0), k = dim_or_0(x, 1);
  TW_REQUIRE(group == k, "{}: the group is {}, of codes of e5m6 it must be a row of {}", f, group,
             k);
  TW_REQUIRE(!flags.e4m3, "{}: codes of e5m6 have no factors of e4m3: leave use_e4m3_sf out", f);
  const Tensor q = call.output("out", entry(f, "out", out, 0), u8, {m, k / 2 * 3});
  const Tensor sf = flags.allocate(call, f, entry(f, "out", out, 1), m, 1);
  call.run([&](Stream stream) { kernels::per_token_cast_to_e5m6(x, q, sf, flags.round, stream); });
  return call.result();
}

nb::any per_token_cast(nb::handle x, const std::string& fmt, int64_t group,
                       const std::optional<Block>& x_block, bool columns, bool round, bool packed,
                       bool e4m3, bool stochastic, nb::handle out, float least,
                       const Dtype& dtype) {
  constexpr const char* f = "per_token_cast";
  if (fmt == "e5m6") {
    TW_REQUIRE(!x_block && !nb::isinstance<nb::tuple>(x),
               "{}: x of a cast to e5m6 is a tensor, without factors of its own", f);
    TW_REQUIRE(!stochastic, "{}: codes of e5m6 are not rounded at random", f);
    TW_REQUIRE(least == 0, "{}: least is {}, codes of e5m6 have 1e-4, leave it out", f, least);
    return cast_to_e5m6(f, Array{x}, group, {columns, round, packed, e4m3}, out, dtype);
  }
  Call call(f, dtype);
  const DType to = format_named(f, fmt, /*or_e5m6=*/true);
  kernels::TokenCastArgs args{.group = group,
                              .round_sf = round,
                              .least = checked_least(f, least),
                              .stochastic = stochastic};
  const bool is_pair = nb::isinstance<nb::tuple>(x);
  TW_REQUIRE(is_pair == x_block.has_value(),
             "{}: x_block_size is for x that is a tuple of codes and scale factors, and only then",
             f);
  Tensor from, x_sf;
  if (is_pair) {
    const Scaled pair = scaled_input(call, f, x);
    from = pair.codes;
    x_sf = pair.sf;
    args.x_sf = &x_sf;
    std::tie(args.x_rows, args.x_columns) = *x_block;
  } else {
    from = call.input("x", Array{x});
  }
  const int64_t m = dim_or_0(from, 0), k = dim_or_0(from, 1);
  const Tensor q = codes(call, f, entry(f, "out", out, 0), to, m, k);
  const Tensor sf = SfFlags{columns, round, packed, e4m3}.allocate(call, f, entry(f, "out", out, 1),
                                                                   m, blocks_of(k, group));
  call.run([&](Stream stream) { kernels::per_token_cast(from, q, sf, args, stream); });
  return call.result();
}

nb::any per_token_cast_with_sf_only(const Array& x_, const std::string& fmt, int64_t group,
                                    bool columns, bool round, bool packed, bool e4m3,
                                    const MaybeArray& out, float least, const Dtype& dtype) {
  constexpr const char* f = "per_token_cast_with_sf_only";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  const Tensor x = call.input("x", x_);
  const Tensor sf = SfFlags{columns, round, packed, e4m3}.allocate(
      call, f, out, dim_or_0(x, 0), blocks_of(dim_or_0(x, 1), group));
  const kernels::TokenCastArgs args{
      .group = group, .round_sf = round, .least = checked_least(f, least)};
  call.run([&](Stream stream) { kernels::per_token_cast_with_sf_only(x, to, sf, args, stream); });
  return call.result();
}

nb::any per_token_cast_with_precomputed_sf(const Array& x_, const std::string& fmt, int64_t group,
                                           const Array& sf_, const MaybeArray& out,
                                           const Dtype& dtype) {
  constexpr const char* f = "per_token_cast_with_precomputed_sf";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  const Tensor x = call.input("x", x_), sf = given_factors(call, f, sf_);
  const Tensor q = codes(call, f, out, to, dim_or_0(x, 0), dim_or_0(x, 1));
  call.run([&](Stream stream) {
    kernels::per_token_cast_with_precomputed_sf(x, sf, q, {.group = group}, stream);
  });
  return call.result();
}

}  // namespace

void bind_quant(nb::module_& m) {
  bind_quant_blocks(m);
  bind_quant_channels(m);
  bind_quant_weights(m);
  bind_quant_back(m);
  m.def(
      "per_token_cast", &per_token_cast, "x"_a, "fmt"_a, "num_per_channels"_a,
      "x_block_size"_a = nb::none(), "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
      "use_packed_ue8m0"_a = false, "use_e4m3_sf"_a = false, "stochastic_cast"_a = false,
      nb::kw_only(), "out"_a = nb::none(), "least"_a = 0.0f, "dtype"_a = nb::none(),
      "Codes and scale factors (q, sf) of x [m, k] in groups of 16, 32, 64, 128 or k columns;\n"
      "x is about code * sf. fmt: 'e4m3', 'e2m1', two codes in an int8, or 'e5m6', eight codes in\n"
      "twelve uint8, of which the group is k. sf: f32\n"
      "[m, ceil(k / group)]; e4m3 with use_e4m3_sf; four biased exponents in an int32 with\n"
      "use_packed_ue8m0, which needs round_sf, factors that are powers of two; with\n"
      "use_tma_aligned_col_major_sf column by column. x may be a tuple (q, sf) with a factor for\n"
      "each block of x_block_size = (rows, columns). out: (q, sf), either may be None. The\n"
      "largest magnitude of a group counts as no less than least (0: the format's own). With\n"
      "stochastic_cast codes are rounded as by that function.");
  m.def(
      "per_token_cast_to_e5m6",
      [](const Array& x, int64_t group, bool columns, bool round, bool packed, nb::handle out,
         const Dtype& dtype) {
        return cast_to_e5m6("per_token_cast_to_e5m6", x, group, {columns, round, packed}, out,
                            dtype);
      },
      "x"_a, "num_per_channels"_a, "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
      "use_packed_ue8m0"_a = false, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "Codes of 12 bits, eight in twelve uint8, and a scale factor for each row of x [m, k], k a\n"
      "multiple of 8; num_per_channels is k. Flags as of per_token_cast.");
  m.def("per_token_cast_with_sf_only", &per_token_cast_with_sf_only, "x"_a, "fmt"_a,
        "num_per_channels"_a, "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, "use_e4m3_sf"_a = false, nb::kw_only(),
        "out_sf"_a = nb::none(), "least"_a = 0.0f, "dtype"_a = nb::none(),
        "The scale factors of per_token_cast.");
  m.def("per_token_cast_with_precomputed_sf", &per_token_cast_with_precomputed_sf, "x"_a, "fmt"_a,
        "num_per_channels"_a, "sf"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
        "Codes of x by factors that are given: x * (1 / sf).");
  m.def(
      "cast",
      [](const Array& x_, const std::string& to, const MaybeArray& out, const Dtype& dtype) {
        Call call("cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, dtype_named(to), x.shape());
        kernels::check_dtype("cast", {"out", y}, {dtype_named(to)});
        call.run([&](Stream stream) { kernels::cast(x, y, stream); });
        return call.result();
      },
      "x"_a, "to"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "x in another dtype (f64, f32, tf32, f16, bf16, e4m3, e5m2, e8m0), rounded to the nearest\n"
      "even; e4m3 and e5m2 saturate, e8m0 is the next power of two.");
  m.def(
      "stochastic_cast",
      [](const Array& x_, const std::string& to, const MaybeArray& out, const Dtype& dtype) {
        Call call("stochastic_cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor y = call.output("out", out, dtype_named(to), x.shape());
        kernels::check_dtype("stochastic_cast", {"out", y}, {dtype_named(to)});
        call.run([&](Stream stream) { kernels::stochastic_cast(x, y, stream); });
        return call.result();
      },
      "x"_a, "to"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
      "x, f32 or bf16 without gaps and of a multiple of 4 elements, in bf16 or e4m3, rounded up "
      "or\n"
      "down with the probability of what the other would lose, by bits that are a hash of x.");
}

}  // namespace tw::python
