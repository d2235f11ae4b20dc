#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using test::FactorTensor;
using test::Layout;
using test::on;
using test::values;
using test::Where;

struct Problem {
  DType q, y;
  int64_t m, k, rows, columns;
  Layout layout;
  DType sf;  // e4m3: factors of it; else f32, or exponents where packed
};

std::string to_text(const Problem& p, Where where) {
  return format("{} to {} [{}, {}], blocks of {} x {}, layout {}, {}, {}", p.q, p.y, p.m, p.k,
                p.rows, p.columns, static_cast<int>(p.layout), p.sf, name_of(where));
}

/// Every code, NaN too.
OwnedTensor all_codes(DType dtype, int64_t m, int64_t k) {
  OwnedTensor q(dtype, {m, k});
  for (int64_t i = 0; i < q->bytes(); ++i) {
    q->data_as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 256);
  }
  return q;
}

/// Fills factors with many of them: the least and largest, and those of exponents 0 and 255.
std::vector<float> fill_factors(const FactorTensor& sf) {
  std::vector<float> list;
  for (int64_t i = 0; i < sf.rows; ++i) {
    for (int64_t j = 0; j < sf.columns; ++j) {
      const int64_t n = i * sf.columns + j;
      if (n % 7 == 3) {
        constexpr float kEdges[] = {0.0F, INFINITY, 0x1p-126F, 0x1p127F};
        list.push_back(sf.set(i, j, kEdges[n / 7 % 4]));
      } else {
        const int e = static_cast<int>(n * 5 % 16) - 9;
        list.push_back(sf.set(i, j, std::ldexp(sf.packed ? 1.0F : 1.37F, e)));
      }
    }
  }
  return list;
}

void check(const Problem& p, Where where = Where::cpu) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const OwnedTensor q = all_codes(p.q, p.m, p.k), y(p.y, {p.m, p.k});
  const FactorTensor sf(p.layout, p.sf, (p.m + p.rows - 1) / p.rows,
                        (p.k + p.columns - 1) / p.columns);
  const auto wanted = reference::cast_back(values(q), n(p.m), n(p.k), n(p.rows), n(p.columns),
                                           fill_factors(sf), p.y);
  kernels::cast_back(on(where, q), on(where, sf.view), on(where, y),
                     {.rows = p.rows, .columns = p.columns});
  test::expect_same(y, wanted, to_text(p, where));
}

struct Form {
  Layout layout;
  DType sf;
};
constexpr Form kForms[] = {{Layout::rows, f32},     {Layout::packed_columns, f32},
                           {Layout::rows, f8_e4m3}, {Layout::packed_rows, f32},
                           {Layout::columns, f32},  {Layout::columns, f8_e4m3}};
/// Of blocks of one column.
constexpr Form kDownForms[] = {
    {Layout::rows, f32}, {Layout::packed_down, f32}, {Layout::rows, f8_e4m3}};

TEST(CastBack, IsBitwiseTheReferenceForGroupsOfRows) {
  size_t next = 0;
  for (const DType q : {f8_e4m3, f4_e2m1}) {
    for (const DType y : {f32, bf16}) {
      for (const int64_t group : {16, 32, 64, 128, 576}) {
        for (int turn = 0; turn < 2; ++turn) {
          const auto [layout, sf] = kForms[next++ % std::size(kForms)];
          for (const int64_t m : {0, 1, 37}) check({q, y, m, 576, 1, group, layout, sf});
        }
      }
      for (const auto [layout, sf] : kForms) check({q, y, 5, 192, 1, 32, layout, sf});
    }
  }
}

TEST(CastBack, IsBitwiseTheReferenceForBlocks) {
  for (const DType q : {f8_e4m3, f4_e2m1}) {
    for (const int64_t rows : {32, 128}) {
      for (const int64_t columns : {32, 128}) {
        for (const auto [layout, sf] : kForms) {
          check({q, columns == 32 ? f32 : bf16, 2 * rows + 5, 576, rows, columns, layout, sf});
        }
      }
      for (const auto [layout, sf] : kDownForms) {
        check({q, rows == 32 ? f32 : bf16, 5 * rows + 5, 192, rows, 1, layout, sf});
      }
    }
  }
}

TEST(CastBack, AnyBlocksAndSizes) {
  for (const int64_t k : {1, 7, 130}) {
    check({f8_e4m3, f32, 9, k, 1, 24, Layout::rows, f32});
    check({f8_e4m3, bf16, 9, k, 5, 3, Layout::packed_columns, f32});
    check({f8_e4m3, bf16, 9, k, 2, 1, Layout::packed_down, f32});
  }
  check({f4_e2m1, bf16, 9, 130, 1, 7, Layout::rows, f32});
}

TEST(CastBack, IsBitwiseTheReferenceOnThreads) {
  for (const DType q : {f8_e4m3, f4_e2m1}) {
    for (const DType y : {f32, bf16}) {
      check({q, y, 5, 576, 1, 32, Layout::packed_columns, f32}, Where::twin);
      check({q, y, 5, 192, 1, 16, Layout::rows, f32}, Where::twin);
      check({q, y, 3, 576, 1, 576, Layout::columns, f8_e4m3}, Where::twin);
      check({q, y, 37, 192, 32, 32, Layout::packed_rows, f32}, Where::twin);
      check({q, y, 130, 128, 128, 128, Layout::rows, f32}, Where::twin);
      check({q, y, 37, 192, 32, 1, Layout::packed_down, f32}, Where::twin);
      check({q, y, 37, 128, 32, 1, Layout::rows, f32}, Where::twin);
      check({q, y, 3, 200, 1, 24, Layout::rows, f32}, Where::twin);
      check({q, y, 10, 128, 3, 1, Layout::rows, f32}, Where::twin);
      check({q, y, 10, 72, 3, 5, Layout::rows, f8_e4m3}, Where::twin);
      // Blocks have a row each, or parts of it.
      check({q, y, 5, 1024, 1, 32, Layout::packed_columns, f32}, Where::twin);
      check({q, y, 3, 1536, 1, 1536, Layout::columns, f32}, Where::twin);
      check({q, y, 35, 1024, 32, 128, Layout::packed_rows, f32}, Where::twin);
      check({q, y, 2, 9216, 1, 48, Layout::rows, f8_e4m3}, Where::twin);
    }
  }
}

TEST(CastBack, HasTheValuesOfTheSpecification) {
  OwnedTensor q(f8_e4m3, {1, 4}), sf(f32, {1, 1}), y(f32, {1, 4}), b(bf16, {1, 4});
  std::ranges::copy(std::vector<uint8_t>{0x73, 0xE5, 0x46, 0xFE}, q->data_as<uint8_t>());
  *sf->data_as<uint32_t>() = 0x3BB6DB6E;
  kernels::cast_back(q, sf, y);
  const auto* bits = y->data_as<uint32_t>();
  EXPECT_EQ(std::vector<uint32_t>(bits, bits + 4),
            (std::vector<uint32_t>{0x3F7B6DB7, 0xBE949249, 0x3CA00000, 0xC0200000}));
  kernels::cast_back(q, sf, b);
  const auto* halves = b->data_as<uint16_t>();
  EXPECT_EQ(std::vector<uint16_t>(halves, halves + 4),
            (std::vector<uint16_t>{0x3F7B, 0xBE95, 0x3CA0, 0xC020}));
}

TEST(CastBack, StridedRows) {
  const OwnedTensor q = all_codes(f8_e4m3, 5, 250), y = test::filled_tensor(f32, {5, 220}, 7);
  const OwnedTensor sf = test::random_tensor(f32, {5, 4}, 1);
  const Tensor qv = test::with_row_gap(q, 200), yv = test::with_row_gap(y, 200),
               sv = test::with_row_gap(sf, 2);
  kernels::cast_back(qv, sv, yv);
  std::vector<float> factors;
  for (const double factor : values(sv)) factors.push_back(static_cast<float>(factor));
  test::expect_same(yv, reference::cast_back(values(qv), 5, 200, 1, 128, factors, f32), "strided");
  for (const double between : values(y->slice(1, 200, 20))) ASSERT_EQ(between, 7);
}

TEST(CastBack, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor q(f8_e4m3, {4, 64}), sf(f32, {4, 2}), y(f32, {4, 64}), h(f16, {4, 64});
  const auto error = [](const Tensor& a, const Tensor& b, const Tensor& c,
                        const kernels::CastBackArgs& args) {
    return test::error_of([&] { kernels::cast_back(a, b, c, args); });
  };
  EXPECT_EQ(error(y, sf, y, {}), "cast_back: q is f32 [4, 64], it must be e4m3 or e2m1");
  EXPECT_EQ(error(q, sf, h, {}), "cast_back: y is f16 [4, 64], it must be f32 or bf16");
  EXPECT_EQ(error(q, sf, y, {}),
            "cast_back: sf is f32 [4, 2], it must be [4, 1] a factor for each block");
  EXPECT_EQ(error(q, sf, y, {.columns = 0}),
            "cast_back: blocks have 1 rows and 0 columns, both must be from 1 to 2147483647");
  // Else their number would wrap around to none.
  EXPECT_EQ(
      error(q, OwnedTensor(f32, {0, 1}), y, {.rows = INT64_MAX}),
      "cast_back: blocks have 9223372036854775807 rows and 128 columns, both must be from 1 to "
      "2147483647");
  EXPECT_EQ(error(q, OwnedTensor(i32, {1, 2}), y, {.rows = 32, .columns = 1}),
            "cast_back: sf is i32 [1, 2], it must be [1, 64] a word for four blocks of a column");
  const OwnedTensor turned(f32, {64, 4});
  EXPECT_EQ(error(q, turned->transpose(0, 1), y, {.columns = 1}),
            "cast_back: neighbors in a row of sf are 4 elements apart, factors of single columns "
            "must be neighbors in memory");
}

}  // namespace
}  // namespace tw
