// tilewright/kernels/quant.h
#include "tilewright/kernels/quant.h"

#include <tuple>
#include <utility>

#include <nanobind/stl/pair.h>

#include "bind.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"

namespace tw::python {
namespace {

int64_t blocks_of(int64_t extent, int64_t block) {
  return block < 1 ? 0 : (extent + block - 1) / block;
}

/// Codes of e2m1, which Python holds as pairs in int8.
Tensor as_e2m1(const Tensor& pairs) {
  if (pairs.dtype() != i8 || pairs.rank() != 2) return pairs;
  return {pairs.data(),
          f4_e2m1,
          {pairs.dim(0), 2 * pairs.dim(1)},
          {2 * pairs.stride(0), pairs.stride(1)},
          pairs.device()};
}

DType format_named(const char* function, const std::string& name) {
  TW_REQUIRE(name == "e4m3" || name == "e2m1", "{}: fmt is '{}', it must be 'e4m3' or 'e2m1'",
             function, name);
  return name == "e4m3" ? f8_e4m3 : f4_e2m1;
}

/// The least amax that counts; 0 stands for the format's own.
float checked(const char* function, float least) {
  TW_REQUIRE(least >= 0, "{}: least is {}, it must be at least 0", function, least);
  return least;
}

/// What Python says of scale factors.
struct SfFlags {
  bool columns, round, packed, e4m3;

  void check(const char* f) const {
    TW_REQUIRE(!packed || round, "{}: use_packed_ue8m0 needs round_sf", f);
    TW_REQUIRE(!e4m3 || !round, "{}: use_e4m3_sf and round_sf exclude each other", f);
  }
  DType dtype() const { return packed ? i32 : e4m3 ? f8_e4m3 : f32; }
  /// Factors of m x n blocks; columns begin at multiples of 16 bytes.
  Tensor allocate(Call& call, const char* f, const MaybeArray& out, int64_t m, int64_t n) const {
    check(f);
    const int64_t entries = packed ? blocks_of(n, 4) : n;
    if (!columns) return call.output("sf", out, dtype(), {m, entries});
    TW_REQUIRE(!out, "{}: out has scale factors, which use_tma_aligned_col_major_sf allocates", f);
    const int64_t step = 128 / dtype().bits();
    return call.new_columns(dtype(), m, entries, blocks_of(m, step) * step);
  }
};

Tensor codes(Call& call, const MaybeArray& out, DType format, int64_t m, int64_t k) {
  if (format == f8_e4m3) return call.output("out", out, f8_e4m3, {m, k});
  return as_e2m1(call.output("out", out, i8, {m, k / 2}));
}

/// An entry of the argument `name`, a tuple of codes and factors; None where that is None or
/// absent.
MaybeArray entry(const char* f, const char* name, nb::handle pair, size_t i) {
  MaybeArray array;
  array.object = nb::none();
  if (!pair.is_valid() || pair.is_none()) return array;
  if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
    throw nb::type_error(
        format("{}: {} must be a tuple of codes and scale factors", f, name).c_str());
  }
  array.object = PyTuple_GetItem(pair.ptr(), static_cast<Py_ssize_t>(i));
  return array;
}

nb::any per_token_cast(nb::handle x, const std::string& fmt, int64_t group,
                       const std::optional<std::pair<int64_t, int64_t>>& x_block, bool columns,
                       bool round, bool packed, bool e4m3, nb::handle out, float least,
                       const Dtype& dtype) {
  constexpr const char* f = "per_token_cast";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  kernels::TokenCastArgs args{.group = group, .round_sf = round, .least = checked(f, least)};
  const bool is_pair = nb::isinstance<nb::tuple>(x);
  TW_REQUIRE(is_pair == x_block.has_value(),
             "{}: x_block_size is for x that is a tuple of codes and scale factors, and only then",
             f);
  Tensor from, x_sf;
  if (is_pair) {
    from = as_e2m1(call.input("x", static_cast<const Array&>(entry(f, "x", x, 0))));
    x_sf = call.input("x_sf", entry(f, "x", x, 1), std::nullopt);
    args.x_sf = &x_sf;
    std::tie(args.x_rows, args.x_columns) = *x_block;
  } else {
    from = call.input("x", Array{x});
  }
  const int64_t m = dim_or_0(from, 0), k = dim_or_0(from, 1);
  const Tensor q = codes(call, entry(f, "out", out, 0), to, m, k);
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
  const kernels::TokenCastArgs args{.group = group, .round_sf = round, .least = checked(f, least)};
  call.run([&](Stream stream) { kernels::per_token_cast_with_sf_only(x, to, sf, args, stream); });
  return call.result();
}

nb::any per_token_cast_with_precomputed_sf(const Array& x_, const std::string& fmt, int64_t group,
                                           const Array& sf_, const MaybeArray& out,
                                           const Dtype& dtype) {
  constexpr const char* f = "per_token_cast_with_precomputed_sf";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  const Tensor x = call.input("x", x_), sf = call.input("sf", sf_, std::nullopt);
  const Tensor q = codes(call, out, to, dim_or_0(x, 0), dim_or_0(x, 1));
  call.run([&](Stream stream) {
    kernels::per_token_cast_with_precomputed_sf(x, sf, q, {.group = group}, stream);
  });
  return call.result();
}

}  // namespace

void bind_quant(nb::module_& m) {
  m.def(
      "per_token_cast", &per_token_cast, "x"_a, "fmt"_a, "num_per_channels"_a,
      "x_block_size"_a = nb::none(), "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
      "use_packed_ue8m0"_a = false, "use_e4m3_sf"_a = false, nb::kw_only(), "out"_a = nb::none(),
      "least"_a = 0.0f, "dtype"_a = nb::none(),
      "Codes and scale factors (q, sf) of x [m, k] in groups of 16, 32, 64, 128 or k columns;\n"
      "x is about code * sf. fmt: 'e4m3', or 'e2m1', two codes in an int8. sf: f32\n"
      "[m, ceil(k / group)]; e4m3 with use_e4m3_sf; four biased exponents in an int32 with\n"
      "use_packed_ue8m0, which needs round_sf, factors that are powers of two; with\n"
      "use_tma_aligned_col_major_sf column by column. x may be a tuple (q, sf) with a factor for\n"
      "each block of x_block_size = (rows, columns). out: (q, sf), either may be None. The\n"
      "largest magnitude of a group counts as no less than least (0: the format's own).");
  m.def("per_token_cast_with_sf_only", &per_token_cast_with_sf_only, "x"_a, "fmt"_a,
        "num_per_channels"_a, "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, "use_e4m3_sf"_a = false, nb::kw_only(),
        "out_sf"_a = nb::none(), "least"_a = 0.0f, "dtype"_a = nb::none(),
        "The scale factors of per_token_cast.");
  m.def("per_token_cast_with_precomputed_sf", &per_token_cast_with_precomputed_sf, "x"_a, "fmt"_a,
        "num_per_channels"_a, "sf"_a, nb::kw_only(), "out"_a = nb::none(), "dtype"_a = nb::none(),
        "Codes of x by factors that are given: x * (1 / sf).");
  m.def(
      "per_block_cast",
      [](const Array& x_, bool round_sf, const MaybeArray& out, const MaybeArray& sf_,
         const Dtype& dtype) {
        Call call("per_block_cast", dtype);
        const Tensor x = call.input("x", x_);
        const Tensor q = call.output("out", out, f8_e4m3, x.shape());
        const Tensor sf = call.output(
            "sf", sf_, f32, {blocks_of(dim_or_0(x, 0), 128), blocks_of(dim_or_0(x, 1), 128)});
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
