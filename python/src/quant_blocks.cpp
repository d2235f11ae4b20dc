// tilewright/kernels/quant.h: casts in blocks of rows and columns
#include "quant.h"

namespace tw::python {
namespace {

kernels::BlockCastArgs block_args(const char* f, const Block& block, bool round, float least) {
  return {block.first, block.second, round, checked_least(f, least)};
}

/// Factors of the blocks of x.
Tensor factors(Call& call, const char* f, const SfFlags& flags, const MaybeArray& out,
               const Tensor& x, const Block& block) {
  return flags.allocate(call, f, out, blocks_of(dim_or_0(x, 0), block.first),
                        blocks_of(dim_or_0(x, 1), block.second));
}

/// Codes of x; the caller's begin at multiples of 16 bytes.
Tensor codes_like(Call& call, const char* f, const MaybeArray& out, DType format, const Tensor& x) {
  const Tensor q = codes(call, f, out, format, dim_or_0(x, 0), dim_or_0(x, 1));
  TW_REQUIRE(!out || reinterpret_cast<uintptr_t>(q.data()) % 16 == 0,
             "{}: the codes in out begin at {}, which is no multiple of 16", f, q.data());
  return q;
}

nb::any per_block_cast(const Array& x_, const std::string& fmt, const Block& block, bool columns,
                       bool round, bool packed, nb::handle out, float least, const Dtype& dtype) {
  constexpr const char* f = "per_block_cast";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  const Tensor x = call.input("x", x_);
  const Tensor q = codes_like(call, f, entry(f, "out", out, 0), to, x);
  const Tensor sf = factors(call, f, {columns, round, packed}, entry(f, "out", out, 1), x, block);
  const kernels::BlockCastArgs args = block_args(f, block, round, least);
  call.run([&](Stream stream) { kernels::per_block_cast(x, q, sf, args, stream); });
  return call.result();
}

nb::any with_sf_only(const Array& x_, const std::string& fmt, const Block& block, bool columns,
                     bool round, bool packed, const MaybeArray& out, float least,
                     const Dtype& dtype) {
  constexpr const char* f = "per_block_cast_with_sf_only";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  const Tensor x = call.input("x", x_);
  const Tensor sf = factors(call, f, {columns, round, packed}, out, x, block);
  const kernels::BlockCastArgs args = block_args(f, block, round, least);
  call.run([&](Stream stream) { kernels::per_block_cast_with_sf_only(x, to, sf, args, stream); });
  return call.result();
}

nb::any with_precomputed_sf(const Array& x_, const std::string& fmt, const Block& block,
                            const Array& sf_, bool columns, bool round, bool packed,
                            const MaybeArray& out, const Dtype& dtype) {
  constexpr const char* f = "per_block_cast_with_precomputed_sf";
  Call call(f, dtype);
  const DType to = format_named(f, fmt);
  TW_REQUIRE(!columns && !packed,
             "{}: sf is given row by row in f32; leave use_tma_aligned_col_major_sf and "
             "use_packed_ue8m0 out",
             f);
  const Tensor x = call.input("x", x_), sf = given_factors(call, f, sf_);
  const Tensor q = codes_like(call, f, out, to, x);
  const kernels::BlockCastArgs args = block_args(f, block, round, 0);
  call.run(
      [&](Stream stream) { kernels::per_block_cast_with_precomputed_sf(x, sf, q, args, stream); });
  return call.result();
}

nb::any lossless(nb::handle x_, const std::string& fmt, const Block& from, const Block& to,
                 bool columns, bool round, bool packed, const Dtype& dtype) {
  constexpr const char* f = "per_block_cast_lossless";
  Call call(f, dtype);
  TW_REQUIRE(fmt == "e4m3", "{}: fmt is '{}', it must be 'e4m3'", f, fmt);
  const auto [x, x_sf] = scaled_input(call, f, x_);
  check_multiple(f, "columns of x are", dim_or_0(x, 1), 32);
  const Tensor q = call.new_output(f8_e4m3, {dim_or_0(x, 0), dim_or_0(x, 1)});
  const Tensor sf = factors(call, f, {columns, round, packed}, {nb::none()}, x, to);
  const kernels::LosslessCastArgs args{from.first, from.second, to.first, to.second};
  call.run([&, &x = x, &x_sf = x_sf](Stream stream) {
    kernels::per_block_cast_lossless(x, x_sf, q, sf, args, stream);
  });
  return call.result();
}

}  // namespace

void bind_quant_blocks(nb::module_& m) {
  m.def("per_block_cast", &per_block_cast, "x"_a, "fmt"_a, "block_size"_a,
        "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, "out"_a = nb::none(), nb::kw_only(), "least"_a = 0.0f,
        "dtype"_a = nb::none(),
        "Codes and scale factors (q, sf) of x [m, k] in blocks of block_size = (rows, columns),\n"
        "each 32 or 128; else as per_token_cast. gemm_fp8 takes those of (128, 128) as its\n"
        "weights. out: (q, sf), either may be None.");
  m.def("per_block_cast_with_sf_only", &with_sf_only, "x"_a, "fmt"_a, "block_size"_a,
        "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, "out_sf"_a = nb::none(), nb::kw_only(), "least"_a = 0.0f,
        "dtype"_a = nb::none(), "The scale factors of per_block_cast.");
  m.def("per_block_cast_with_precomputed_sf", &with_precomputed_sf, "x"_a, "fmt"_a, "block_size"_a,
        "sf"_a, "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, "out"_a = nb::none(), nb::kw_only(), "dtype"_a = nb::none(),
        "Codes of x by factors that are given, f32 row by row: x * (1 / sf).");
  m.def("per_block_cast_lossless", &lossless, "x"_a, "fmt"_a, "x_block_size"_a, "out_block_size"_a,
        "use_tma_aligned_col_major_sf"_a = false, "round_sf"_a = false,
        "use_packed_ue8m0"_a = false, nb::kw_only(), "dtype"_a = nb::none(),
        "Codes of e4m3 and scale factors (q, sf) that stand for the same values as x = (q, sf) of\n"
        "e2m1, whose factors are powers of two, but with larger blocks. Factors of one such block\n"
        "that differ by more than 2^11 stop the kernel.");
}

}  // namespace tw::python
