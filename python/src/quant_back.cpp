// tilewright/kernels/quant.h: codes back to values
#include "quant.h"

namespace tw::python {
namespace {

/// Codes of 12 bits.
nb::any back_from_e5m6(const char* f, nb::handle x, const std::string& fmt, const Block& block,
                       const Dtype& dtype) {
  Call call(f, dtype);
  const DType to = value_format_named(f, fmt);
  const auto [q, sf] = scaled_input(call, f, x);
  TW_REQUIRE(q.rank() != 2 || q.stride(0) == q.dim(1) || q.dim(0) < 2,
             "{}: rows of x are {} bytes apart, they must be contiguous, {}", f, q.stride(0),
             q.dim(1));
  const Tensor y = call.new_output(to, {dim_or_0(q, 0), dim_or_0(q, 1) / 3 * 2});
  const kernels::CastBackArgs args{.rows = block.first, .columns = block.second};
  call.run(
      [&, &q = q, &sf = sf](Stream stream) { kernels::cast_back_e5m6(q, sf, y, args, stream); });
  return call.result();
}

nb::any back(const char* f, nb::handle x, const std::string& fmt, const Block& block,
             const std::optional<std::string>& special, const Dtype& dtype) {
  if (special == "e5m6") return back_from_e5m6(f, x, fmt, block, dtype);
  Call call(f, dtype);
  TW_REQUIRE(!special, "{}: x_special_fmt is '{}', it must be None or 'e5m6'", f,
             special.value_or(""));
  const DType to = value_format_named(f, fmt);
  const auto [q, sf] = scaled_input(call, f, x);
  const int64_t m = dim_or_0(q, 0), k = dim_or_0(q, 1);
  check_multiple(f, "columns of x are", k, 64);
  const Tensor y = call.new_output(to, {m, k});
  const kernels::CastBackArgs args{.rows = block.first, .columns = block.second};
  call.run([&, &q = q, &sf = sf](Stream stream) { kernels::cast_back(q, sf, y, args, stream); });
  return call.result();
}

nb::any cast_and_back(const Array& x_, const std::string& fmt, int64_t group, bool round, bool e4m3,
                      float least, const Dtype& dtype) {
  constexpr const char* f = "per_token_cast_and_cast_back";
  Call call(f, dtype);
  const DType through = format_named(f, fmt);
  SfFlags{.round = round, .e4m3 = e4m3}.check(f);
  const Tensor x = call.output("x", x_, dtype ? std::optional(dtype_named(*dtype)) : std::nullopt,
                               /*returned=*/false);
  check_multiple(f, "columns of x are", dim_or_0(x, 1), std::max<int64_t>(group, 64));
  const kernels::FakeCastArgs args{group, round, e4m3, checked_least(f, least)};
  call.run([&](Stream stream) { kernels::per_token_cast_and_cast_back(x, through, args, stream); });
  return call.result();
}

}  // namespace

void bind_quant_back(nb::module_& m) {
  m.def(
      "cast_back",
      [](nb::handle x, const std::string& fmt, const Block& block,
         const std::optional<std::string>& special,
         const Dtype& dtype) { return back("cast_back", x, fmt, block, special, dtype); },
      "x"_a, "fmt"_a, "x_block_size"_a, "x_special_fmt"_a = nb::none(), nb::kw_only(),
      "dtype"_a = nb::none(),
      "Values q * sf of x = (q, sf), with a factor for each block of x_block_size = (rows,\n"
      "columns); fmt: 'bf16' or 'fp32'. q: e4m3 [m, k], or two codes of e2m1 in an int8; sf: f32,\n"
      "e4m3, or int32 of four exponents, row by row or column by column. With x_special_fmt "
      "'e5m6'\n"
      "q is uint8 [m, 3 k / 2], codes of 12 bits.");
  m.def(
      "cast_back_e5m6",
      [](nb::handle x, const std::string& fmt, const Block& block, const Dtype& dtype) {
        return back_from_e5m6("cast_back_e5m6", x, fmt, block, dtype);
      },
      "x"_a, "fmt"_a, "x_block_size"_a, nb::kw_only(), "dtype"_a = nb::none(),
      "The same of x = (q, sf) with codes of 12 bits, q uint8 [m, 3 k / 2].");
  m.def(
      "per_token_cast_back",
      [](nb::handle x, const std::string& fmt, int64_t group,
         const std::optional<std::string>& special, const Dtype& dtype) {
        return back("per_token_cast_back", x, fmt, {1, group}, special, dtype);
      },
      "x"_a, "fmt"_a, "num_per_channels"_a, "x_special_fmt"_a = nb::none(), nb::kw_only(),
      "dtype"_a = nb::none(), "The same in groups of columns of each row.");
  m.def("per_token_cast_and_cast_back", &cast_and_back, "x"_a, "fmt"_a, "num_per_channels"_a,
        "round_sf"_a = false, "use_e4m3_sf"_a = false, nb::kw_only(), "least"_a = 0.0f,
        "dtype"_a = nb::none(),
        "Makes of x [m, k], in place, what per_token_cast and per_token_cast_back do.");
}

}  // namespace tw::python
