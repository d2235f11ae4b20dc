// quant.h: arguments and results of casts
#include "quant.h"
#include "tilewright/kernels/check.h"

namespace tw::python {

Tensor as_e2m1(const Tensor& pairs) {
  if (pairs.dtype() != i8 || pairs.rank() != 2) return pairs;
  return {pairs.data(),
          f4_e2m1,
          {pairs.dim(0), 2 * pairs.dim(1)},
          {2 * pairs.stride(0), pairs.stride(1)},
          pairs.device()};
}

DType format_named(const char* function, const std::string& name, bool or_e5m6) {
  TW_REQUIRE(name == "e4m3" || name == "e2m1", "{}: fmt is '{}', it must be 'e4m3'{} 'e2m1'{}",
             function, name, or_e5m6 ? "," : " or", or_e5m6 ? " or 'e5m6'" : "");
  return name == "e4m3" ? f8_e4m3 : f4_e2m1;
}

DType value_format_named(const char* function, const std::string& name) {
  TW_REQUIRE(name == "bf16" || name == "fp32", "{}: fmt is '{}', it must be 'bf16' or 'fp32'",
             function, name);
  return name == "bf16" ? bf16 : f32;
}

float checked_least(const char* function, float least) {
  TW_REQUIRE(least >= 0, "{}: least is {}, it must be at least 0", function, least);
  return least;
}

void check_multiple(const char* function, const char* what, int64_t n, int64_t of) {
  TW_REQUIRE(n % of == 0, "{}: {} {}, a multiple of {} is needed", function, what, n, of);
}

void SfFlags::check(const char* f) const {
  TW_REQUIRE(!packed || round, "{}: use_packed_ue8m0 needs round_sf", f);
  TW_REQUIRE(!e4m3 || !round, "{}: use_e4m3_sf and round_sf exclude each other", f);
}

Tensor SfFlags::allocate(Call& call, const char* f, const MaybeArray& out, int64_t m,
                         int64_t n) const {
  check(f);
  const int64_t entries = packed ? blocks_of(n, 4) : n;
  if (!columns) {
    const Tensor sf = call.output("sf", out, dtype(), {m, entries});
    kernels::check_dtype(f, {"sf", sf}, {dtype()});
    kernels::check_shape(f, {"sf", sf}, {m, entries}, "for these flags");
    TW_REQUIRE(sf.is_compact(), "{}: sf is {}, it must be contiguous", f, sf);
    return sf;
  }
  TW_REQUIRE(!out, "{}: out has scale factors, which use_tma_aligned_col_major_sf allocates", f);
  const int64_t step = 128 / dtype().bits();
  return call.new_columns(dtype(), m, entries, blocks_of(m, step) * step);
}

Tensor codes(Call& call, const char* f, const MaybeArray& out, DType format, int64_t m, int64_t k) {
  const bool bytes = format == f8_e4m3;
  const Tensor q = as_e2m1(call.output("out", out, bytes ? f8_e4m3 : i8, {m, bytes ? k : k / 2}));
  kernels::check_dtype(f, {"q", q}, {format});
  return q;
}

Tensor given_factors(Call& call, const char* f, const Array& array) {
  const Tensor sf = call.input("sf", array, std::nullopt);
  TW_REQUIRE(sf.rank() != 2 || sf.dim(1) < 2 || sf.stride(1) == 1,
             "{}: sf is {}, it must lie row by row", f, sf);
  return sf;
}

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

Scaled scaled_input(Call& call, const char* f, nb::handle x) {
  const Scaled in{as_e2m1(call.input("x", static_cast<const Array&>(entry(f, "x", x, 0)))),
                  call.input("sf", static_cast<const Array&>(entry(f, "x", x, 1)), std::nullopt)};
  const Tensor& sf = in.sf;
  TW_REQUIRE(
      sf.rank() != 2 || sf.dim(0) < 2 || sf.dim(1) < 2 || sf.stride(0) == 1 || sf.stride(1) == 1,
      "{}: sf has strides ({}, {}), one of them must be 1", f, sf.stride(0), sf.stride(1));
  return in;
}

}  // namespace tw::python
