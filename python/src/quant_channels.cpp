// tilewright/kernels/quant.h: casts in groups of rows of each column
#include "quant.h"
#include "tilewright/kernels/check.h"

namespace tw::python {
namespace {

void check_e4m3(const char* f, const std::string& fmt) {
  TW_REQUIRE(fmt == "e4m3", "{}: fmt is '{}', it must be 'e4m3'", f, fmt);
}

/// What is cast: values, or codes with factors for `columns` of a row each.
struct Source {
  Tensor x, x_sf;
  kernels::ChannelCastArgs args;  // points at x_sf

  Source(Call& call, const char* f, nb::handle given, int64_t group, bool round,
         const std::optional<int64_t>& columns, float least)
      : args{.group = group, .round_sf = round, .least = checked_least(f, least)} {
    const bool is_pair = nb::isinstance<nb::tuple>(given);
    TW_REQUIRE(is_pair == columns.has_value(),
               "{}: num_per_channels is for x that is a tuple of codes and scale factors, and only "
               "then",
               f);
    if (!is_pair) {
      x = call.input("x", Array{given});
    } else {
      const Scaled in = scaled_input(call, f, given);
      x = in.codes;
      x_sf = in.sf;
      args.x_sf = &x_sf;
      args.x_columns = *columns;
    }
    check_multiple(f, "columns of x are", dim_or_0(x, 1), is_pair ? 128 : 64);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
};

nb::any per_channel_cast(nb::handle x_, const std::string& fmt, int64_t group, bool round,
                         const std::optional<int64_t>& columns, bool packed, float least,
                         const Dtype& dtype) {
  constexpr const char* f = "per_channel_cast";
  Call call(f, dtype);
  check_e4m3(f, fmt);
  SfFlags{.round = round, .packed = packed}.check(f);
  const Source in(call, f, x_, group, round, columns, least);
  const int64_t m = dim_or_0(in.x, 0), k = dim_or_0(in.x, 1), blocks = blocks_of(m, group);
  check_multiple(f, "rows of x are", m, 128);
  const Tensor q = call.new_output(f8_e4m3, {m, k});
  const Tensor sf =
      call.new_output(packed ? i32 : f32, {packed ? blocks_of(blocks, 4) : blocks, k});
  call.run([&](Stream stream) { kernels::per_channel_cast(in.x, q, sf, in.args, stream); });
  return call.result();
}

nb::any fused(nb::handle x_, const std::string& fmt, int64_t group, bool round,
              const std::optional<int64_t>& columns, const MaybeArray& index_, float least,
              const Dtype& dtype) {
  constexpr const char* f = "per_channel_cast_fused";
  Call call(f, dtype);
  check_e4m3(f, fmt);
  TW_REQUIRE(group == 128, "{}: num_per_tokens is {}, it must be 128", f, group);
  TW_REQUIRE(columns.value_or(128) == 128, "{}: num_per_channels is {}, it must be 128", f,
             columns.value_or(0));
  Source in(call, f, x_, group, round, columns, least);
  if (in.args.x_sf != nullptr) kernels::check_dtype(f, {"sf", in.x_sf}, {f32});
  const std::optional<Tensor> index = call.input("pos_to_token", index_);
  if (index) kernels::check_dtype(f, {"pos_to_token", *index}, {i32});
  in.args.index = pointer(index);
  const int64_t m = dim_or_0(index ? *index : in.x, 0), k = dim_or_0(in.x, 1);
  check_multiple(f, index ? "entries of pos_to_token are" : "rows of x are", m, index ? 16 : 128);
  const Tensor q = call.new_output(f8_e4m3, {m, k});
  const Tensor sf = call.new_output(f32, {blocks_of(m, group), k});
  call.run([&](Stream stream) { kernels::per_channel_cast(in.x, q, sf, in.args, stream); });
  return call.result();
}

nb::any and_transpose(const Array& x_, const std::string& fmt, int64_t group, bool round,
                      float least, const Dtype& dtype) {
  constexpr const char* f = "per_channel_cast_and_transpose";
  Call call(f, dtype);
  check_e4m3(f, fmt);
  const Source in(call, f, x_.object, group, round, {}, least);
  kernels::check_dtype(f, {"x", in.x}, {bf16});
  const int64_t m = dim_or_0(in.x, 0), k = dim_or_0(in.x, 1);
  check_multiple(f, "rows of x are", m, 128);
  const Tensor q = call.new_output(f8_e4m3, {k, m});
  const Tensor sf = call.new_output(f32, {blocks_of(m, group), k});
  call.run([&](Stream stream) {
    kernels::per_channel_cast_and_transpose(in.x, q, sf, in.args, stream);
  });
  return call.result();
}

}  // namespace

void bind_quant_channels(nb::module_& m) {
  m.def("per_channel_cast", &per_channel_cast, "x"_a, "fmt"_a, "num_per_tokens"_a,
        "round_sf"_a = false, "num_per_channels"_a = nb::none(), "use_packed_ue8m0"_a = false,
        nb::kw_only(), "least"_a = 0.0f, "dtype"_a = nb::none(),
        "Codes of e4m3 and scale factors (q, sf) of x [m, k] in groups of 32 or 128 rows of each\n"
        "column. sf: f32 [m / rows, k], or with use_packed_ue8m0 int32, words of four groups of a\n"
        "column. x may be a tuple (q, sf) with a factor for num_per_channels columns of each row.");
  m.def("per_channel_cast_fused", &fused, "x"_a, "fmt"_a, "num_per_tokens"_a, "round_sf"_a = false,
        "num_per_channels"_a = nb::none(), "pos_to_token"_a = nb::none(), nb::kw_only(),
        "least"_a = 0.0f, "dtype"_a = nb::none(),
        "The same of the rows pos_to_token of x; zeros where an entry is negative.");
  m.def("per_channel_cast_and_transpose", &and_transpose, "x"_a, "fmt"_a, "num_per_tokens"_a,
        "round_sf"_a = false, nb::kw_only(), "least"_a = 0.0f, "dtype"_a = nb::none(),
        "The same of x in bf16, with codes transposed: q [k, m], sf [m / rows, k].");
}

}  // namespace tw::python
