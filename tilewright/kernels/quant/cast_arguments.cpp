#include "tilewright/kernels/quant/cast_arguments.h"

#include "tilewright/kernels/quant/factors.h"

namespace tw::kernels {

void check_rounding(std::string_view function, const Tensor& sf, bool round_sf) {
  TW_REQUIRE(sf.dtype() != i32 || round_sf,
             "{}: sf is i32, exponents of powers of two: set round_sf, or pass f32", function);
  TW_REQUIRE(sf.dtype() != f8_e4m3 || !round_sf,
             "{}: sf is e4m3, which has no room for all powers of two: pass f32 or i32, or leave "
             "round_sf out",
             function);
}

ScaleKind kind_of(bool round_sf, DType sf) {
  return round_sf ? ScaleKind::power_of_two : sf == f8_e4m3 ? ScaleKind::e4m3 : ScaleKind::exact;
}

float least_or_default(float least, DType format, DType sf) {
  return least > 0 ? least : least_amax(format, sf);
}

int64_t threads_of_row(int64_t width, int64_t group, int64_t elements) {
  constexpr int64_t kWarp = 32, kMostThreads = 1024, kLongest = 16384;
  const int64_t threads = width / elements;
  const bool fits = width % (elements * kWarp) == 0 && width % group == 0 && group <= 128;
  return fits && threads >= 64 && threads <= kMostThreads && width <= kLongest ? threads : 0;
}

Tensor check_cast_back(const char* function, const Tensor& q, const Tensor& sf, const Tensor& y,
                       const CastBackArgs& args) {
  const auto is_legal = [](int64_t extent) { return 1 <= extent && extent <= INT32_MAX; };
  TW_REQUIRE(is_legal(args.rows) && is_legal(args.columns),
             "{}: blocks have {} rows and {} columns, both must be from 1 to {}", function,
             args.rows, args.columns, INT32_MAX);
  Tensor given = as_factors(function, {"sf", sf}, lang::cdiv(y.dim(0), args.rows),
                            lang::cdiv(y.dim(1), args.columns), words_of(args.columns));
  check_apart(function, {"y", y}, {{"q", q}, {"sf", sf}});
  return given;
}

int64_t columns_of_tile(int64_t width) {
  int64_t columns = 64;
  while (columns < 512 && width % (2 * columns) == 0) columns *= 2;
  return columns;
}

Tensor CastArguments::check(int64_t rows, int64_t columns) const {
  const char* f = function;
  const Named from{"x", x}, factors{"sf", sf};
  if (q != nullptr) {
    check_dtype(f, {"q", *q}, {f8_e4m3, f4_e2m1});
  } else {
    TW_REQUIRE(format == f8_e4m3 || format == f4_e2m1,
               "{}: the format is {}, it must be e4m3 or e2m1", f, format);
  }
  check_rank(f, from, 2);
  check_dtype(f, from, {f32, bf16});
  const int64_t m = x.dim(0), k = x.dim(1);
  TW_REQUIRE(k % 2 == 0 || format != f4_e2m1,
             "{}: rows of {} codes of e2m1 end within a byte, they must be even", f, k);
  if (part != Part::codes) check_rounding(f, sf, round_sf);
  Tensor given =
      as_factors(f, factors, lang::cdiv(m, rows), lang::cdiv(k, columns), words_of(columns));
  check_apart(f, factors, {from});
  if (q != nullptr) {
    check_shape(f, {"q", *q}, x.shape(), "like x");
    check_apart(f, {"q", *q}, {from, factors});
  }
  return given;
}

}  // namespace tw::kernels
