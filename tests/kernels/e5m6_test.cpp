// per_token_cast_to_e5m6 and cast_back_e5m6.
#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using reference::Kind;
using test::error_of;
using test::FactorTensor;
using test::Layout;
using test::on;
using test::values;
using test::Where;
using test::wild_tensor;
using Bytes = std::vector<uint8_t>;

size_t n(int64_t v) { return static_cast<size_t>(v); }

Bytes bytes_of(const Tensor& q) {
  Bytes list;
  for (int64_t i = 0; i < q.dim(0); ++i) {
    const uint8_t* row = q.data_as<uint8_t>() + i * q.stride(0);
    list.insert(list.end(), row, row + q.dim(1));
  }
  return list;
}

struct Problem {
  DType x;
  int64_t m, k;
  Layout layout;
  Kind kind;
};

std::string to_text(const Problem& p, Where where) {
  return format("{} [{}, {}], layout {}, kind {}, {}", p.x, p.m, p.k, static_cast<int>(p.layout),
                static_cast<int>(p.kind), name_of(where));
}

void check(const Problem& p, const OwnedTensor& x, Where where = Where::cpu) {
  const OwnedTensor q = test::filled_tensor(u8, {p.m, p.k / 2 * 3}, 0x55);
  const FactorTensor sf(p.layout, f32, p.m, 1);
  const auto wanted = reference::cast_to_e5m6(values(x), n(p.m), n(p.k), p.kind);
  kernels::per_token_cast_to_e5m6(on(where, x), on(where, q), on(where, sf.view),
                                  p.kind == Kind::power_of_two);
  EXPECT_EQ(bytes_of(q), wanted.q) << to_text(p, where);
  EXPECT_EQ(sf.factors(), wanted.sf) << to_text(p, where);
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
                           {Layout::packed_rows, Kind::power_of_two},
                           {Layout::columns, Kind::exact},
                           {Layout::rows, Kind::power_of_two}};

TEST(PerTokenCastToE5m6, IsBitwiseTheReference) {
  for (const DType dtype : {f32, bf16}) {
    for (const auto [layout, kind] : kForms) {
      for (const int64_t m : {0, 1, 7}) check({dtype, m, 576, layout, kind});
    }
    for (const int64_t k : {8, 24, 200, 4104}) check({dtype, 5, k, Layout::rows, Kind::exact});
  }
}

TEST(PerTokenCastToE5m6, RowsOfAnyLength) {
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t k : {8192, 20000, 65536}) {
      check({dtype, 4, k, Layout::rows, Kind::exact});
    }
  }
}

TEST(PerTokenCastToE5m6, IsBitwiseTheReferenceOnThreads) {
  for (const DType dtype : {f32, bf16}) {
    check({dtype, 5, 576, Layout::packed_columns, Kind::power_of_two}, Where::twin);
    check({dtype, 3, 1024, Layout::columns, Kind::exact}, Where::twin);
    check({dtype, 70, 24, Layout::rows, Kind::power_of_two}, Where::twin);
    check({dtype, 4, 7168, Layout::packed_rows, Kind::power_of_two}, Where::twin);
    check({dtype, 4, 20008, Layout::rows, Kind::exact}, Where::twin);
  }
}

/// Numbers that are codes when multiplied with 1, since the last of each row is the largest.
OwnedTensor scaled_by_one(const std::vector<float>& numbers) {
  const auto rows = static_cast<int64_t>((numbers.size() + 6) / 7);
  OwnedTensor x(f32, {rows, 8});
  std::vector<double> list;
  for (int64_t i = 0; i < 7 * rows; ++i) {
    list.push_back(n(i) < numbers.size() ? numbers[n(i)] : 0.0F);
    if (i % 7 == 6) list.push_back(65024);
  }
  test::assign(x, list);
  return x;
}

TEST(PerTokenCastToE5m6, RoundsAllNumbersAsTheReferenceDoes) {
  // In each binade down to the subnormals of f32: codes, neighbors of the middle between two, and
  // numbers of which only the lowest of the bits that are left out is set.
  std::vector<float> list;
  for (int e = -149; e < 16; ++e) {
    for (const uint32_t mantissa : {0U, 1U, 0x8000U, 0x8001U, 0xFFFFU, 0x10000U, 0x10001U, 0x1FFFFU,
                                    0x20000U, 0x2FFFFU, 0x30000U, 0x30001U, 0x7EFFFFU, 0x7F0000U}) {
      const float f = std::ldexp(1 + static_cast<float>(mantissa) * 0x1p-23F, e);
      if (f <= 65024) list.insert(list.end(), {f, -f});
    }
  }
  const OwnedTensor x = scaled_by_one(list);
  for (const Where where : {Where::cpu, Where::twin}) {
    check({f32, x->dim(0), 8, Layout::rows, Kind::exact}, x, where);
  }
}

/// In rows of eight: NaN, the largest number that is a code times `scale`, and all numbers of bf16
/// below that, from 2^least times it on.
OwnedTensor all_of_bf16(float scale, int least) {
  std::vector<double> list;
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const double number = std::bit_cast<float>(bits << 16);
    if (number > 65024 * scale || number < std::ldexp(scale, least)) continue;
    for (const double each : {number, -number}) {
      if (list.size() % 8 == 0) list.insert(list.end(), {65024.0 * scale, NAN});
      list.push_back(each);
    }
  }
  while (list.size() % 8 != 0) list.push_back(0);
  OwnedTensor x(bf16, {static_cast<int64_t>(list.size()) / 8, 8});
  test::assign(x, list);
  return x;
}

TEST(PerTokenCastToE5m6, RoundsAllNumbersOfBf16AsTheReferenceDoes) {
  // Times 1 and more they keep all bits, times less those don't that become subnormal.
  for (const float scale : {1.0F, 0x1p-20F, 2.0F, 0x1p100F}) {
    const OwnedTensor x = all_of_bf16(scale, -300);
    check({bf16, x->dim(0), 8, Layout::rows, Kind::power_of_two}, x);
  }
  for (const float scale : {1.0F, 2.0F}) {
    const OwnedTensor x = all_of_bf16(scale, -27);
    check({bf16, x->dim(0), 8, Layout::rows, Kind::power_of_two}, x, Where::twin);
  }
}

TEST(PerTokenCastToE5m6, HasTheCodesOfTheSpecification) {
  struct Example {
    float y;
    uint32_t code;
  };
  const std::vector<Example> examples = {{1, 0x3C0},
                                         {-1, 0xBC0},
                                         {0x1p-14F, 0x040},
                                         {0x1p-14F * 63 / 64, 0x03F},
                                         {0x1p-20F, 0x001},
                                         {1 + 0x1p-7F, 0x3C0},
                                         {1 + 3 * 0x1p-7F, 0x3C2},
                                         {1 + 0x1p-7F + 0x1p-20F, 0x3C1},
                                         {0, 0},
                                         {-0.0F, 0x800},
                                         {1.75F * 0x1p-20F, 0x001},
                                         {2.5F * 0x1p-20F, 0x002},
                                         {1.01171875F * 0x1p-18F, 0x005},
                                         {1.5F * 0x1p-21F, 0x000},
                                         {0x1p-40F * (1 + 0x10001 * 0x1p-23F), 0x001},
                                         {0x1p-40F, 0x000}};
  std::vector<float> numbers;
  for (const Example& e : examples) numbers.push_back(e.y);
  const OwnedTensor x = scaled_by_one(numbers), q(u8, {x->dim(0), 12}), sf(f32, {x->dim(0), 1});
  kernels::per_token_cast_to_e5m6(x, q, sf);
  EXPECT_EQ(values(sf), std::vector<double>(n(x->dim(0)), 1.0));
  const std::vector<double> decoded = reference::e5m6_values(bytes_of(q), n(x->dim(0)), 8);
  for (size_t i = 0; i < examples.size(); ++i) {
    const double wanted = reference::e5m6_value(examples[i].code);
    EXPECT_EQ(decoded[i / 7 * 8 + i % 7], wanted) << examples[i].y;
    EXPECT_EQ(std::signbit(decoded[i / 7 * 8 + i % 7]), std::signbit(wanted)) << examples[i].y;
  }
}

TEST(PerTokenCastToE5m6, HasTheBytesOfTheSpecification) {
  const OwnedTensor x(f32, {1, 8}), q(u8, {1, 12}), sf(f32, {1, 1}), word(i32, {1, 1});
  const uint32_t* bits = sf->data_as<uint32_t>();
  test::assign(x, {1, -2, 0.5, 3, -0.25, 65024, 0, -0.0});
  kernels::per_token_cast_to_e5m6(x, q, sf);
  EXPECT_EQ(bytes_of(q), (Bytes{0x38, 0, 0x0C, 0x3C, 7, 0xB4, 0x20, 4, 0, 8, 0, 0xBF}));
  EXPECT_EQ(*bits, 0x3F800000U);
  test::assign(x, {1, 2, 3, 4, 5, 6, 7, 8});
  kernels::per_token_cast_to_e5m6(x, q, sf);
  EXPECT_EQ(bytes_of(q),
            (Bytes{0x75, 0x3F, 0xF7, 0x6F, 0xF7, 0x78, 0x7F, 0xF7, 0xBF, 0xF7, 0x7A, 0x9F}));
  EXPECT_EQ(*bits, 0x39010204U);
  kernels::per_token_cast_to_e5m6(x, q, word, true);
  EXPECT_EQ(bytes_of(q), (Bytes{0x72, 0, 7, 0x6C, 7, 0x75, 0x40, 7, 0x80, 7, 0x77, 0x60}));
  EXPECT_EQ(*word->data_as<int32_t>(), 115);
  test::assign(x, std::vector<double>(8, 0.0));
  kernels::per_token_cast_to_e5m6(x, q, sf);
  EXPECT_EQ(*bits, 0x30D35DD3U);
  kernels::per_token_cast_to_e5m6(x, q, word, true);
  EXPECT_EQ(*word->data_as<int32_t>(), 98);
  EXPECT_EQ(bytes_of(q), Bytes(12, 0));
  // Of infinity the largest, of NaN another that doesn't hide the rest.
  test::assign(x, {INFINITY, -INFINITY, NAN, 0, 1, -0.0, FLT_MAX, -1});
  kernels::per_token_cast_to_e5m6(x, q, sf);
  EXPECT_EQ(bytes_of(q), (Bytes{0x7F, 0xBF, 0xFF, 0x7B, 8, 0, 0, 0xF0, 0, 0xF8, 0x7B, 0}));
}

/// Bytes of all codes, those that stand for infinity and NaN too.
OwnedTensor all_codes(int64_t m, int64_t k) {
  OwnedTensor q(u8, {m, k / 2 * 3});
  for (int64_t i = 0; i < q->bytes(); ++i) {
    q->data_as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 256 * 11);
  }
  return q;
}

struct BackProblem {
  DType y;
  int64_t m, k, rows, columns;
  Layout layout;
};

void check_back(const BackProblem& p, Where where = Where::cpu) {
  const OwnedTensor q = all_codes(p.m, p.k), y(p.y, {p.m, p.k});
  const FactorTensor sf(p.layout, f32, (p.m + p.rows - 1) / p.rows,
                        (p.k + p.columns - 1) / p.columns);
  std::vector<float> factors;
  for (int64_t i = 0; i < sf.rows; ++i) {
    for (int64_t j = 0; j < sf.columns; ++j) {
      const int e = static_cast<int>((i * 5 + j * 3) % 40) - 30;
      factors.push_back(sf.set(i, j, std::ldexp(sf.packed ? 1.0F : 1.37F, e)));
    }
  }
  const auto wanted = reference::cast_back(reference::e5m6_values(bytes_of(q), n(p.m), n(p.k)),
                                           n(p.m), n(p.k), n(p.rows), n(p.columns), factors, p.y);
  kernels::cast_back_e5m6(on(where, q), on(where, sf.view), on(where, y),
                          {.rows = p.rows, .columns = p.columns});
  test::expect_same(y, wanted,
                    format("{} [{}, {}], blocks of {} x {}, layout {}, {}", p.y, p.m, p.k, p.rows,
                           p.columns, static_cast<int>(p.layout), name_of(where)));
}

TEST(CastBackE5m6, IsBitwiseTheReference) {
  for (const DType y : {f32, bf16}) {
    for (const Layout layout :
         {Layout::rows, Layout::columns, Layout::packed_rows, Layout::packed_columns}) {
      for (const int64_t m : {0, 1, 37}) check_back({y, m, 576, 1, 576, layout});
      check_back({y, 37, 192, 32, 32, layout});
      check_back({y, 9, 40, 5, 3, layout});
    }
    check_back({y, 69, 192, 32, 1, Layout::packed_down});
    check_back({y, 9, 8, 2, 1, Layout::rows});
    check_back({y, 3, 20008, 1, 20008, Layout::rows});
  }
}

TEST(CastBackE5m6, IsBitwiseTheReferenceOnThreads) {
  for (const DType y : {f32, bf16}) {
    check_back({y, 5, 576, 1, 576, Layout::packed_columns}, Where::twin);
    check_back({y, 5, 1024, 1, 1024, Layout::rows}, Where::twin);
    check_back({y, 3, 2048, 1, 2048, Layout::packed_rows}, Where::twin);  // a block has a row
    check_back({y, 5, 2048, 3, 24, Layout::rows}, Where::twin);
    check_back({y, 37, 200, 32, 32, Layout::columns}, Where::twin);
    check_back({y, 37, 192, 32, 1, Layout::packed_down}, Where::twin);
    check_back({y, 3, 200, 1, 24, Layout::packed_rows}, Where::twin);
  }
}

TEST(CastBackE5m6, KeepsWhatFits) {
  // A row for each value of the upper bits: all codes of finite numbers come back.
  const int64_t k = 64;
  const OwnedTensor q(u8, {64, 96}), again(u8, {64, 96}), sf(f32, {64, 1}), y(f32, {64, k});
  std::vector<double> list;
  for (uint32_t code = 0; code < 4096; ++code) {
    const bool finite = (code >> 6 & 31) != 31;
    list.push_back(code % 64 == 63 ? 65024 : finite ? reference::e5m6_value(code) : 0);
  }
  test::assign(y, list);
  const OwnedTensor x(f32, {64, k});
  test::assign(x, list);
  kernels::per_token_cast_to_e5m6(x, q, sf);
  kernels::cast_back_e5m6(q, sf, y, {.columns = k});
  test::expect_same(y, list, "there and back");
  kernels::per_token_cast_to_e5m6(y, again, sf);
  EXPECT_EQ(bytes_of(again), bytes_of(q));
}

TEST(E5m6, StridedRows) {
  const OwnedTensor x = wild_tensor(bf16, 5, 300), q = test::filled_tensor(u8, {5, 340}, 7),
                    sf = test::filled_tensor(f32, {5, 3}, 7),
                    y = test::filled_tensor(f32, {5, 220}, 7);
  const Tensor xv = test::with_row_gap(x, 200), qv = test::with_row_gap(q, 300),
               sv = test::with_row_gap(sf, 1), yv = test::with_row_gap(y, 200);
  kernels::per_token_cast_to_e5m6(xv, qv, sv);
  const auto wanted = reference::cast_to_e5m6(values(xv), 5, 200, Kind::exact);
  EXPECT_EQ(bytes_of(qv), wanted.q);
  for (const double between : values(q->slice(1, 300, 40))) ASSERT_EQ(between, 7);
  for (const double between : values(sf->slice(1, 1, 2))) ASSERT_EQ(between, 7);
  kernels::cast_back_e5m6(qv, sv, yv, {.columns = 200});
  test::expect_same(yv,
                    reference::cast_back(reference::e5m6_values(wanted.q, 5, 200), 5, 200, 1, 200,
                                         wanted.sf, f32),
                    "strided");
  for (const double between : values(y->slice(1, 200, 20))) ASSERT_EQ(between, 7);
}

TEST(E5m6, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 64}), h(f16, {4, 64}), q(u8, {4, 96}), sf(f32, {4, 1}),
      words(i32, {4, 1}), s8(f8_e4m3, {4, 1}), odd(u8, {4, 98});
  const auto cast = [](const Tensor& a, const Tensor& b, const Tensor& c, bool round_sf = false) {
    return error_of([&] { kernels::per_token_cast_to_e5m6(a, b, c, round_sf); });
  };
  EXPECT_EQ(cast(h, q, sf), "per_token_cast_to_e5m6: x is f16 [4, 64], it must be f32 or bf16");
  EXPECT_EQ(cast(x, x, sf), "per_token_cast_to_e5m6: q is f32 [4, 64], it must be u8");
  EXPECT_EQ(cast(OwnedTensor(f32, {4, 60}), q, sf),
            "per_token_cast_to_e5m6: x is f32 [4, 60], its rows must be a multiple of 8");
  EXPECT_EQ(cast(OwnedTensor(f32, {4, 0}), OwnedTensor(u8, {4, 0}), sf),
            "per_token_cast_to_e5m6: x is f32 [4, 0], its rows must have at least one element");
  EXPECT_EQ(cast(OwnedTensor(f32, {4, 56}), q, sf),
            "per_token_cast_to_e5m6: q is u8 [4, 96], it must be [4, 84] 12 bits for each of x");
  EXPECT_EQ(cast(x, q, words),
            "per_token_cast_to_e5m6: sf is i32, exponents of powers of two: set round_sf, or pass "
            "f32");
  EXPECT_EQ(cast(x, q, s8), "per_token_cast_to_e5m6: sf is e4m3 [4, 1], it must be f32 or i32");
  EXPECT_EQ(cast(x, odd->slice(1, 0, 96), sf),
            "per_token_cast_to_e5m6: q has strides (98, 1), its rows must be without gaps and "
            "begin at multiples of 4 bytes");
  EXPECT_EQ(cast(x, q, test::filled_tensor(f32, {4, 2}, 0)),
            "per_token_cast_to_e5m6: sf is f32 [4, 2], it must be [4, 1] a factor for each block");
  const auto back = [](const Tensor& a, const Tensor& b, const Tensor& c,
                       const kernels::CastBackArgs& args) {
    return error_of([&] { kernels::cast_back_e5m6(a, b, c, args); });
  };
  EXPECT_EQ(back(x, sf, x, {}), "cast_back_e5m6: q is f32 [4, 64], it must be u8");
  EXPECT_EQ(back(odd, sf, x, {}),
            "cast_back_e5m6: q is u8 [4, 98], its rows must be a multiple of 12 bytes, which are "
            "8 codes");
  EXPECT_EQ(back(q, sf, h, {}), "cast_back_e5m6: y is f16 [4, 64], it must be f32 or bf16");
  EXPECT_EQ(back(q, sf, OwnedTensor(f32, {4, 8}), {}),
            "cast_back_e5m6: y is f32 [4, 8], it must be [4, 64] a value for each 12 bits of q");
  EXPECT_EQ(
      back(q, sf, x, {.rows = 0}),
      "cast_back_e5m6: blocks have 0 rows and 128 columns, both must be from 1 to 2147483647");
  EXPECT_EQ(back(q, s8, x, {}), "cast_back_e5m6: sf is e4m3 [4, 1], it must be f32 or i32");
  EXPECT_EQ(back(q, sf, x, {.columns = 32}),
            "cast_back_e5m6: sf is f32 [4, 1], it must be [4, 2] a factor for each block");
}

}  // namespace
}  // namespace tw
