#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tests/reference/stochastic.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using kernels::TokenCastArgs;
using reference::Kind;
using test::any_sign;
using test::codes;
using test::error_of;
using test::FactorTensor;
using test::Layout;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;
using test::wild_tensor;

struct Problem {
  DType x, format;
  int64_t m, k, group;
  Layout layout;
  Kind kind;
};

std::string to_text(const Problem& p) {
  return format("{} to {} [{}, {}], group {}, layout {}, kind {}", p.x, p.format, p.m, p.k, p.group,
                static_cast<int>(p.layout), static_cast<int>(p.kind));
}

void check(const Problem& p, const OwnedTensor& x, Where where = Where::cpu) {
  const OwnedTensor q(p.format, {p.m, p.k});
  const DType sf_dtype = p.kind == Kind::e4m3 ? f8_e4m3 : f32;
  const FactorTensor sf(p.layout, sf_dtype, p.m, (p.k + p.group - 1) / p.group);
  const TokenCastArgs args{.group = p.group, .round_sf = p.kind == Kind::power_of_two};
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const auto wanted = reference::cast_in_blocks(values(x), n(p.m), n(p.k), 1, n(p.group), p.format,
                                                p.kind, kernels::least_amax(p.format, sf_dtype));
  const auto wanted_codes = p.format == f8_e4m3 ? any_sign(wanted.q) : wanted.q;
  kernels::per_token_cast(on(where, x), on(where, q), on(where, sf.view), args);
  EXPECT_EQ(codes(q), wanted_codes) << to_text(p);
  EXPECT_EQ(sf.factors(), wanted.sf) << to_text(p);
  const FactorTensor alone(p.layout, sf_dtype, p.m, sf.columns);
  kernels::per_token_cast_with_sf_only(on(where, x), p.format, on(where, alone.view), args);
  EXPECT_EQ(alone.factors(), wanted.sf) << to_text(p);

  // By factors that are given: the inverse is that of the rounded factor.
  const OwnedTensor again(p.format, {p.m, p.k});
  kernels::per_token_cast_with_precomputed_sf(on(where, x), on(where, sf.view), on(where, again),
                                              args);
  const auto by_given =
      reference::cast_by_factors(values(x), n(p.m), n(p.k), 1, n(p.group), p.format, wanted.sf);
  EXPECT_EQ(codes(again), p.format == f8_e4m3 ? any_sign(by_given) : by_given) << to_text(p);
}

void check(const Problem& p, Where where = Where::cpu) {
  check(p, wild_tensor(p.x, p.m, p.k), where);
}

struct Form {
  Layout layout;
  Kind kind;
};
constexpr Form kForms[] = {{Layout::packed_columns, Kind::power_of_two},
                           {Layout::rows, Kind::exact},
                           {Layout::columns, Kind::e4m3},
                           {Layout::packed_rows, Kind::power_of_two},
                           {Layout::columns, Kind::exact},
                           {Layout::rows, Kind::e4m3},
                           {Layout::rows, Kind::power_of_two}};

TEST(PerTokenCast, IsBitwiseTheReference) {
  size_t next = 0;  // each is compiled for itself: two forms of each
  for (const DType dtype : {f32, bf16}) {
    for (const DType format : {f8_e4m3, f4_e2m1}) {
      for (const int64_t group : {16, 32, 64, 128, 576}) {
        for (int n = 0; n < 2; ++n) {
          const auto [layout, kind] = kForms[next++ % std::size(kForms)];
          for (const int64_t m : {0, 1, 5}) check({dtype, format, m, 576, group, layout, kind});
        }
      }
    }
  }
  for (const auto [layout, kind] : kForms) {
    check({bf16, f8_e4m3, 3, 192, 192, layout, kind});
    check({f32, f4_e2m1, 3, 64, 32, layout, kind});
  }
}

TEST(PerTokenCast, OddSizes) {
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t k : {1, 7, 130, 200}) {
      check({dtype, f8_e4m3, 6, k, 32, Layout::rows, Kind::exact});
      if (k % 2 == 0) {
        check({dtype, f4_e2m1, 6, k, 32, Layout::packed_columns, Kind::power_of_two});
      }
    }
  }
}

TEST(PerTokenCast, IsBitwiseTheReferenceOnThreads) {
  for (const DType dtype : {f32, bf16}) {
    for (const DType format : {f8_e4m3, f4_e2m1}) {
      check({dtype, format, 5, 576, 128, Layout::packed_columns, Kind::power_of_two}, Where::twin);
      check({dtype, format, 5, 192, 32, Layout::columns, Kind::exact}, Where::twin);
      check({dtype, format, 3, 640, 16, Layout::rows, Kind::e4m3}, Where::twin);
      check({dtype, format, 2, 1024, 1024, Layout::packed_rows, Kind::power_of_two}, Where::twin);
      check({dtype, format, 3, 200, 64, Layout::rows, Kind::exact}, Where::twin);
    }
    // Rows that fill a block.
    check({dtype, f4_e2m1, 3, 2048, 32, Layout::packed_columns, Kind::power_of_two}, Where::twin);
    check({dtype, f8_e4m3, 2, 3072, 128, Layout::rows, Kind::exact}, Where::twin);
    check({dtype, f8_e4m3, 16, 512, 64, Layout::packed_columns, Kind::power_of_two}, Where::twin);
    check({dtype, f8_e4m3, 3, 3072, 128, Layout::packed_columns, Kind::power_of_two}, Where::twin);
    check({dtype, f8_e4m3, 2, 7168, 128, Layout::packed_rows, Kind::power_of_two}, Where::twin);
  }
}

TEST(PerTokenCast, RoundsAllRatiosOfBf16AndFactorsOfE4m3AsTheReferenceDoes) {
  // Groups whose first number, six times the factor, is the largest; to the smallest tie and below.
  constexpr int64_t kGroup = 16, kWidth = 256;
  std::vector<double> list;
  const auto add = [&](double factor, double number) {
    if (list.size() % kGroup == 0) list.push_back(6 * factor);
    list.push_back(number);
  };
  const auto fill = [&](size_t of, double factor) {
    while (list.size() % of != 0) add(factor, 0);
  };
  for (int m = 8; m < 16; ++m) {
    for (const int e : {-11, -3, 5}) {  // those of 2^-9 m / 8 are factors if they are whole
      const double factor = std::ldexp(m, e);
      if (e == -11 && m % 4 != 0) continue;
      for (int exponent = e; exponent <= e + 6; ++exponent) {
        for (int i = 128; i < 256; ++i) {
          const double number = std::ldexp(i, exponent - 6);
          if (number > 6 * factor) break;
          add(factor, i % 3 == 0 ? -number : number);
        }
      }
      fill(kGroup, factor);
    }
  }
  fill(kWidth, 1);
  const auto m = static_cast<int64_t>(list.size()) / kWidth;
  const OwnedTensor x(bf16, {m, kWidth});
  test::assign(x, list);
  for (const Where where : {Where::cpu, Where::twin}) {
    check({bf16, f4_e2m1, m, kWidth, kGroup, Layout::rows, Kind::e4m3}, x, where);
  }
}

/// Codes, and for each the factor of its block.
void check_again(DType from, int64_t x_rows, int64_t x_columns, const Problem& p, Layout x_layout,
                 Kind x_kind, Where where = Where::cpu) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const OwnedTensor x = random_tensor(from, {p.m, p.k}, 3, -6, 6), q(p.format, {p.m, p.k});
  for (int64_t j = 0; j < p.k; ++j) {  // a row of zeros, where the product of factors overflows
    if (p.m > 2 && from != f4_e2m1) x->data_as<uint8_t>()[2 * p.k + j] = j % 2 == 0 ? 0 : 0x80;
  }
  const int64_t bm = (p.m + x_rows - 1) / x_rows, bk = (p.k + x_columns - 1) / x_columns;
  const FactorTensor x_sf(x_layout, x_kind == Kind::e4m3 ? f8_e4m3 : f32, bm, bk);
  std::vector<float> of_element(n(p.m * p.k));
  for (int64_t i = 0; i < bm; ++i) {
    for (int64_t j = 0; j < bk; ++j) {
      const int e = static_cast<int>((i * 7 + j * 3) % 20) - (i == 2 ? -100 : 10);
      const float factor = std::ldexp(x_kind == Kind::exact ? 1.37F : 1.0F, e);
      const float stored = x_sf.set(i, j, factor);
      for (int64_t r = i * x_rows; r < std::min((i + 1) * x_rows, p.m); ++r)
        for (int64_t c = j * x_columns; c < std::min((j + 1) * x_columns, p.k); ++c)
          of_element[n(r * p.k + c)] = stored;
    }
  }
  const FactorTensor sf(p.layout, p.kind == Kind::e4m3 ? f8_e4m3 : f32, p.m,
                        (p.k + p.group - 1) / p.group);
  const auto wanted = reference::cast_in_blocks(
      values(x), n(p.m), n(p.k), 1, n(p.group), p.format, p.kind,
      kernels::least_amax(p.format, p.kind == Kind::e4m3 ? f8_e4m3 : f32), of_element);
  const Tensor factors = on(where, x_sf.view);
  kernels::per_token_cast(on(where, x), on(where, q), on(where, sf.view),
                          {.group = p.group,
                           .round_sf = p.kind == Kind::power_of_two,
                           .x_sf = &factors,
                           .x_rows = x_rows,
                           .x_columns = x_columns});
  EXPECT_EQ(codes(q), p.format == f8_e4m3 ? any_sign(wanted.q) : wanted.q) << to_text(p);
  EXPECT_EQ(sf.factors(), wanted.sf) << to_text(p);
}

TEST(PerTokenCast, CastsCodesAgain) {
  bool turn = false;  // how factors lie
  for (const DType from : {f8_e4m3, f4_e2m1}) {
    for (const auto& [x_rows, x_columns] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 16}, {1, 32}, {1, 128}, {32, 32}, {128, 128}}) {
      for (const int64_t group : {16, 32, 128, 576}) {
        for (const DType format : {f8_e4m3, f4_e2m1}) {
          const Layout layout = group == 32 ? Layout::packed_columns : Layout::rows;
          const Kind kind = group == 16   ? Kind::e4m3
                            : group == 32 ? Kind::power_of_two
                                          : Kind::exact;
          const Problem p{from, format, 35, 576, group, layout, kind};
          turn = !turn;
          check_again(from, x_rows, x_columns, p, turn ? Layout::rows : Layout::packed_columns,
                      turn ? Kind::exact : Kind::power_of_two);
        }
      }
    }
  }
  const Problem p{f8_e4m3, f8_e4m3, 5, 256, 32, Layout::packed_columns, Kind::power_of_two};
  for (const DType from : {f8_e4m3, f4_e2m1}) {
    check_again(from, 1, 128, p, Layout::packed_columns, Kind::power_of_two, Where::twin);
    check_again(from, 1, 16, p, Layout::columns, Kind::exact, Where::twin);
    const Problem row{p.x, p.format, 3, 2048, 32, Layout::packed_columns, Kind::power_of_two};
    check_again(from, 32, 128, row, Layout::rows, Kind::exact, Where::twin);
    const Problem tiles{from, f8_e4m3, 16, 512, 32, Layout::packed_columns, Kind::power_of_two};
    check_again(from, 32, 128, tiles, Layout::rows, Kind::exact, Where::twin);
  }
}

TEST(PerTokenCast, GroupsOfLongRows) {
  size_t next = 0;
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16}) {
      for (const DType format : {f8_e4m3, f4_e2m1}) {
        const int64_t k = 16448 + 4352 * (static_cast<int64_t>(next) % 3);
        const auto [layout, kind] = kForms[next++ % std::size(kForms)];
        check({dtype, format, 4, k, k, layout, kind}, where);
      }
    }
    check_again(f8_e4m3, 1, 128, {f8_e4m3, f4_e2m1, 3, 16448, 16448, Layout::rows, Kind::exact},
                Layout::packed_columns, Kind::power_of_two, where);
    check_again(f4_e2m1, 1, 16,
                {f4_e2m1, f8_e4m3, 3, 20000, 20000, Layout::packed_rows, Kind::power_of_two},
                Layout::rows, Kind::exact, where);
  }
}

TEST(PerTokenCast, HasTheValuesOfTheSpecification) {
  OwnedTensor x(f32, {1, 4}), q(f8_e4m3, {1, 4}), p(f4_e2m1, {1, 4}), sf(f32, {1, 1}),
      s8(f8_e4m3, {1, 1}), word(i32, {1, 1});
  test::assign(x, {1.0, -0.3, 0.02, -2.5});
  const uint32_t* bits = sf->data_as<uint32_t>();
  const auto cast = [&](const OwnedTensor& codes_, const OwnedTensor& factors, bool round_sf) {
    kernels::per_token_cast(x, codes_, factors, {.round_sf = round_sf});
    return codes(codes_);
  };
  using Codes = std::vector<uint8_t>;
  EXPECT_EQ(cast(q, sf, false), (Codes{0x73, 0xE5, 0x46, 0xFE}));
  EXPECT_EQ(*bits, 0x3BB6DB6EU);
  EXPECT_EQ(cast(q, sf, true), (Codes{0x70, 0xE2, 0x42, 0xFA}));
  EXPECT_EQ(*bits, 0x3C000000U);
  EXPECT_EQ(cast(q, word, true), (Codes{0x70, 0xE2, 0x42, 0xFA}));
  EXPECT_EQ(*word->data_as<int32_t>(), 120);
  EXPECT_EQ(cast(q, s8, false), (Codes{0x73, 0xE5, 0x46, 0xFD}));
  EXPECT_EQ(*s8->data_as<uint8_t>(), 3);
  EXPECT_EQ(cast(p, sf, false), (Codes{4, 9, 0, 15}));
  EXPECT_EQ(*bits, 0x3ED55555U);
  EXPECT_EQ(p->data_as<uint8_t>()[0], 0x94);
  EXPECT_EQ(cast(p, sf, true), (Codes{4, 9, 0, 14}));
  EXPECT_EQ(*bits, 0x3F000000U);
  EXPECT_EQ(cast(p, s8, false), (Codes{4, 9, 0, 15}));
  EXPECT_EQ(*s8->data_as<uint8_t>(), 0x2D);
  test::assign(x, {0, -0.0, 0, 0});
  EXPECT_EQ(cast(q, sf, false), (Codes{0, 0x80, 0, 0}));
  EXPECT_EQ(*bits, 0x346FACADU);
  cast(p, sf, false);
  EXPECT_EQ(*bits, 0x00800000U);
  cast(p, word, true);
  EXPECT_EQ(*word->data_as<int32_t>(), 1);
  struct Boundary {
    float amax;
    const OwnedTensor& codes;
    uint32_t e;
  };
  for (const auto& [amax, of, e] : {Boundary{448, q, 127},
                                    {std::nextafter(448.0F, 1e9F), q, 128},
                                    {std::nextafter(448.0F, 0.0F), q, 127},
                                    {0, q, 105},
                                    {6, p, 127},
                                    {7, p, 128},
                                    {3, p, 126}}) {
    test::assign(x, {amax, 0, 0, 0});
    cast(of, sf, true);
    EXPECT_EQ(*bits, e << 23) << amax;
  }
  // Factors of e4m3 round down, or saturate: codes saturate then.
  test::assign(x, {5, 0, 0, 0});
  EXPECT_EQ(cast(p, s8, false)[0], 7);
  test::assign(x, {3000, 0, 0, 0});
  EXPECT_EQ(cast(p, s8, false)[0], 7);
  EXPECT_EQ(*s8->data_as<uint8_t>(), 0x7E);
  // The least amax is the caller's.
  test::assign(x, {1, 0, 0, 0});
  kernels::per_token_cast(x, q, sf, {.round_sf = true, .least = 448});
  EXPECT_EQ(*bits, 127U << 23);
}

TEST(PerTokenCast, StridedRows) {
  const OwnedTensor x = random_tensor(bf16, {5, 300}, 1),
                    q = test::filled_tensor(f8_e4m3, {5, 250}, 7),
                    sf = test::filled_tensor(f32, {5, 4}, 7);
  const Tensor xv = test::with_row_gap(x, 200), qv = test::with_row_gap(q, 200),
               sv = test::with_row_gap(sf, 2);
  kernels::per_token_cast(xv, qv, sv);
  const auto wanted =
      reference::cast_in_blocks(values(xv), 5, 200, 1, 128, f8_e4m3, Kind::exact, 1e-4F);
  EXPECT_EQ(codes(qv), any_sign(wanted.q));
  for (const double between : values(q->slice(1, 200, 50))) ASSERT_EQ(between, 7);
  for (const double between : values(sf->slice(1, 2, 2))) ASSERT_EQ(between, 7);
}

/// Stochastic rounding: scales as without it, codes by the hash of what is rounded.
void check_random(DType dtype, DType format, int64_t k, int64_t group, Kind kind,
                  Where where = Where::cpu) {
  constexpr int64_t kRows = 4;
  const OwnedTensor x = wild_tensor(dtype, kRows, k), q(format, {kRows, k});
  std::vector<double> list = values(x);
  for (double& v : list) v = std::isnan(v) ? 0.5 : v;  // the hash would see which NaN it is
  test::assign(x, list);
  const DType sf_dtype = kind == Kind::e4m3 ? f8_e4m3 : f32;
  const FactorTensor sf(Layout::rows, sf_dtype, kRows, (k + group - 1) / group);
  kernels::per_token_cast(
      on(where, x), on(where, q), on(where, sf.view),
      {.group = group, .round_sf = kind == Kind::power_of_two, .stochastic = true});
  std::vector<uint8_t> wanted;
  std::vector<float> factors;
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const float least = kernels::least_amax(format, sf_dtype);
  for (int64_t i = 0; i < kRows; ++i) {
    std::vector<float> y;
    for (int64_t first = 0; first < k; first += group) {
      const std::vector<double> part(list.begin() + i * k + first,
                                     list.begin() + i * k + std::min(first + group, k));
      float amax = 0;
      for (const double v : part) amax = std::max(amax, std::fabs(static_cast<float>(v)));
      const reference::Scale scale = reference::scale_of(amax, format, kind, least);
      factors.push_back(scale.sf);
      for (const double v : part) y.push_back(static_cast<float>(v) * scale.inv);
    }
    for (size_t quad = 0; quad < n(k / 4); ++quad) {
      const std::array<float, 4> four = {y[4 * quad], y[4 * quad + 1], y[4 * quad + 2],
                                         y[4 * quad + 3]};
      for (const uint64_t code :
           reference::stochastic_cast(four, static_cast<uint32_t>(quad), format)) {
        wanted.push_back(static_cast<uint8_t>(code));
      }
    }
  }
  EXPECT_EQ(codes(q), test::any_sign(wanted)) << tw::format(
      "{}: {} to {} [{}, {}], group {}", name_of(where), dtype, format, kRows, k, group);
  EXPECT_EQ(sf.factors(), factors);
}

TEST(PerTokenCast, RoundsAtRandom) {
  for (const DType dtype : {f32, bf16}) {
    for (const DType format : {f8_e4m3, f4_e2m1}) {
      for (const Where where : {Where::cpu, Where::twin}) {
        check_random(dtype, format, 576, 128, Kind::exact, where);
        check_random(dtype, format, 192, 32, Kind::power_of_two, where);
        check_random(dtype, format, 200, 16, Kind::e4m3, where);
      }
    }
    check_random(dtype, f8_e4m3, 16516, 16516, Kind::exact);  // a row that isn't held
  }
  check_random(bf16, f4_e2m1, 16516, 16516, Kind::exact, Where::twin);
}

TEST(PerTokenCast, RoundsCodesAtRandom) {
  const OwnedTensor x = random_tensor(f8_e4m3, {3, 256}, 3, -6, 6), q(f8_e4m3, {3, 256}),
                    again(f8_e4m3, {3, 256}), x_sf = test::filled_tensor(f32, {3, 2}, 0.37),
                    sf(f32, {3, 8});
  const TokenCastArgs args{
      .group = 32, .stochastic = true, .x_sf = &x_sf.view(), .x_rows = 1, .x_columns = 128};
  kernels::per_token_cast(x, q, sf, args);
  const std::vector<double> in = values(x), out = values(q), factors = values(sf);
  double sum = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double wanted = in[i] * 0.37F / factors[i / 32];
    EXPECT_LE(std::fabs(out[i] - wanted), std::max(std::fabs(wanted) / 8, 0x1p-9) * 1.0001);
    sum += (out[i] - wanted) / std::max(std::fabs(wanted), 0x1p-6) / 768;
  }
  EXPECT_LT(std::fabs(sum), 4 * 0.06 / std::sqrt(768));
  kernels::per_token_cast(x, again, sf, args);
  EXPECT_EQ(codes(again), codes(q));
}

TEST(PerTokenCast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 200}), q(f8_e4m3, {4, 200}), sf(f32, {4, 2}), h(f16, {4, 200}),
      words(i32, {4, 1}), s8(f8_e4m3, {4, 2});
  const auto error = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                         const TokenCastArgs& args) {
    return error_of([&] { kernels::per_token_cast(a, b, c, args); });
  };
  EXPECT_EQ(error(x, q, sf, {.group = 8}),
            "per_token_cast: the group is 8, it must be 16, 32, 64, 128, or a row of 200");
  EXPECT_EQ(error(h, q, sf, {}), "per_token_cast: x is f16 [4, 200], it must be f32 or bf16");
  EXPECT_EQ(error(x, x, sf, {}), "per_token_cast: q is f32 [4, 200], it must be e4m3 or e2m1");
  EXPECT_EQ(error(x, q, sf, {.group = 64}),
            "per_token_cast: sf is f32 [4, 2], it must be [4, 4] a factor for each block");
  EXPECT_EQ(error(x, q, words, {}),
            "per_token_cast: sf is i32, exponents of powers of two: set round_sf, or pass f32");
  EXPECT_EQ(error(x, q, s8, {.round_sf = true}),
            "per_token_cast: sf is e4m3, which has no room for all powers of two: pass f32 or i32, "
            "or leave round_sf out");
  const OwnedTensor x6(f32, {4, 6}), q6(f8_e4m3, {4, 6}), sf6(f32, {4, 1});
  EXPECT_EQ(
      error(x6, q6, sf6, {.stochastic = true}),
      "per_token_cast: rows of 6 elements, for stochastic rounding they must be a multiple of "
      "4");
  const Tensor factors = sf;
  EXPECT_EQ(error(x, q, sf, {.x_sf = &factors}),
            "per_token_cast: x is f32 [4, 200], it must be e4m3 or e2m1");
  EXPECT_EQ(error(q, q, sf, {.x_sf = &factors, .x_rows = 3}),
            "per_token_cast: x has a factor for blocks of 3 x 128, they must be 1, 32 or 128 rows "
            "of 16, 32, 64 or 128 columns");
}

}  // namespace
}  // namespace tw
