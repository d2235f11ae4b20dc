#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using kernels::LosslessCastArgs;
using test::codes;
using test::FactorTensor;
using test::Layout;
using test::on;
using test::values;
using test::Where;

/// Every code beside every other.
OwnedTensor all_codes(int64_t m, int64_t k) {
  OwnedTensor x(f4_e2m1, {m, k});
  for (int64_t i = 0; i < x->bytes(); ++i) {
    x->data_as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 256);
  }
  return x;
}

size_t blocks(int64_t n, int64_t of) { return static_cast<size_t>((n + of - 1) / of); }

FactorTensor factors(Layout layout, int64_t m, int64_t k, int64_t rows, int64_t columns) {
  return {layout, f32, static_cast<int64_t>(blocks(m, rows)),
          static_cast<int64_t>(blocks(k, columns))};
}

/// Exponents of at most 11 below `most`, of which every block of `rows` x `columns` has one.
std::vector<float> fill_near(const FactorTensor& sf, int most, const LosslessCastArgs& a) {
  std::vector<float> list;
  for (int64_t i = 0; i < sf.rows; ++i) {
    for (int64_t j = 0; j < sf.columns; ++j) {
      const bool is_first = i % (a.rows / a.x_rows) == 0 && j % (a.columns / a.x_columns) == 0;
      const int e = is_first ? most : most - static_cast<int>((i * 5 + j * 3) % 12);
      list.push_back(sf.set(i, j, std::ldexp(1.F, e - 127)));
    }
  }
  return list;
}

void check(int64_t m, int64_t k, const LosslessCastArgs& a, Layout from, Layout to, int most,
           Where where = Where::cpu) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const std::string what =
      format("[{}, {}], {} x {} to {} x {}, layouts {} and {}, {}", m, k, a.x_rows, a.x_columns,
             a.rows, a.columns, static_cast<int>(from), static_cast<int>(to), name_of(where));
  const OwnedTensor x = all_codes(m, k), q(f8_e4m3, {m, k});
  const FactorTensor x_sf = factors(from, m, k, a.x_rows, a.x_columns),
                     sf = factors(to, m, k, a.rows, a.columns);
  const std::vector<float> given = fill_near(x_sf, most, a);
  kernels::per_block_cast_lossless(on(where, x), on(where, x_sf.view), on(where, q),
                                   on(where, sf.view), a);
  const std::vector<float> found = sf.factors();
  EXPECT_EQ(found, std::vector<float>(blocks(m, a.rows) * blocks(k, a.columns),
                                      std::ldexp(1.F, most - 6 - 127)))
      << what;
  // The values are those of x.
  const auto value = [&](const Tensor& t, const std::vector<float>& of, int64_t rows,
                         int64_t columns) {
    return reference::cast_back(values(t), n(m), n(k), n(rows), n(columns), of, f32);
  };
  EXPECT_EQ(value(q, found, a.rows, a.columns), value(x, given, a.x_rows, a.x_columns)) << what;
  const auto bits = [](double v) { return std::signbit(v); };
  const std::vector<double> in = values(x), out = values(q);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(bits(in[i]), bits(out[i])) << what;
}

constexpr LosslessCastArgs kArgs[] = {{1, 32, 1, 128}, {1, 32, 32, 32}, {1, 32, 128, 128}};
constexpr Layout kLayouts[] = {Layout::rows, Layout::packed_columns, Layout::packed_rows,
                               Layout::columns};

TEST(PerBlockCastLossless, KeepsAllValues) {
  for (const LosslessCastArgs& a : kArgs) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const int64_t m : {0, 128, 161}) check(m, 576, a, from, to, 127);
      }
    }
    check(5, 200, a, Layout::rows, Layout::rows, 250);
    check(5, 200, a, Layout::rows, Layout::rows, 20);
  }
  check(70, 128, {2, 16, 64, 64}, Layout::packed_rows, Layout::rows, 127);
  check(70, 128, {32, 2, 64, 4}, Layout::packed_rows, Layout::rows, 127);
}

TEST(PerBlockCastLossless, KeepsAllValuesOnThreads) {
  for (const LosslessCastArgs& a : kArgs) {
    check(133, 256, a, Layout::packed_columns, Layout::packed_columns, 127, Where::twin);
    check(133, 200, a, Layout::rows, Layout::rows, 127, Where::twin);
    check(128, 264, a, Layout::rows, Layout::rows, 127, Where::twin);  // whole tiles
  }
}

constexpr LosslessCastArgs kLong[] = {
    {1, 32, 128, 512},     {1, 32, 1, 65536},  {1, 32, 4096, 32},        {4, 2, 1024, 64},
    {128, 512, 256, 1024}, {1, 8192, 8, 8192}, {1, 32, 1 << 30, 1 << 30}};

TEST(PerBlockCastLossless, KeepsAllValuesOfLongBlocks) {
  for (const LosslessCastArgs& a : kLong) {
    for (const Layout layout : {Layout::rows, Layout::packed_columns, Layout::packed_rows}) {
      check(150, 1224, a, layout, layout, 127);
      check(0, 64, a, layout, layout, 127);
    }
  }
  check(3, 70000, {1, 32, 2, 32768}, Layout::rows, Layout::columns, 20);
  for (const LosslessCastArgs& a : {kLong[0], kLong[3], kLong[4], kLong[6]}) {
    check(133, 600, a, Layout::rows, Layout::packed_columns, 127, Where::twin);
  }
}

TEST(PerBlockCastLossless, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check(32, 256, kArgs[1], Layout::packed_columns, Layout::packed_columns, 127, Where::twin);
}

TEST(PerBlockCastLossless, HasTheValuesOfTheSpecification) {
  const OwnedTensor x(f4_e2m1, {1, 64}), q(f8_e4m3, {1, 64}), x_sf(f32, {1, 2}), sf(f32, {1, 1});
  std::fill_n(x->data_as<uint8_t>(), 16, 0x77);
  std::fill_n(x->data_as<uint8_t>() + 16, 16, 0x91);  // codes 1 and 9
  const auto cast = [&](float first, float second) {
    test::assign(x_sf, {first, second});
    kernels::per_block_cast_lossless(x, x_sf, q, sf, {1, 32, 1, 64});
    return codes(q);
  };
  const std::vector<uint8_t> found = cast(1, 0x1p-7);  // E is 127 and 120
  EXPECT_EQ(found[0], 0x7C);
  EXPECT_EQ(found[32], 0x28);
  EXPECT_EQ(found[33], 0xA8);
  EXPECT_EQ(*sf->data_as<uint32_t>(), 121U << 23);
  EXPECT_EQ(cast(1, 0x1p-11)[32], 0x08);
}

TEST(PerBlockCastLossless, StopsWhereFactorsAreTooFarApart) {
  const OwnedTensor x = all_codes(1, 64), q(f8_e4m3, {1, 64}), x_sf(f32, {1, 2}), sf(f32, {1, 1});
  test::assign(x_sf, {1, 0x1p-12});
  const auto cast = [&] { kernels::per_block_cast_lossless(x, x_sf, q, sf, {1, 32, 1, 64}); };
  EXPECT_THAT(test::error_of(cast), testing::HasSubstr("factors of a block are too far apart"));
  // As it comes about where a group is all zeros.
  test::assign(x_sf, {0x1p-114, 0x1p-126});
  EXPECT_THAT(test::error_of(cast), testing::HasSubstr("factors of a block are too far apart"));
  test::assign(x_sf, {0x1p-115, 0x1p-126});
  cast();
  EXPECT_EQ(*sf->data_as<uint32_t>(), 6U << 23);
  test::assign(x_sf, {1, 0x1p-12});
  const auto as_one = [&] { kernels::per_block_cast_lossless(x, x_sf, q, sf, {1, 32, 1024, 64}); };
  EXPECT_THAT(test::error_of(as_one), testing::HasSubstr("factors of a block are too far apart"));
}

TEST(PerBlockCastLossless, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f4_e2m1, {4, 64}), q(f8_e4m3, {4, 64}), x_sf(f32, {4, 2}), sf(f32, {1, 1}),
      s8(f8_e4m3, {4, 2});
  const auto error = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                         const LosslessCastArgs& args) {
    return test::error_of([&] { kernels::per_block_cast_lossless(a, b, c, d, args); });
  };
  EXPECT_EQ(error(q, x_sf, q, sf, {}),
            "per_block_cast_lossless: x is e4m3 [4, 64], it must be e2m1");
  EXPECT_EQ(error(x, x_sf, x, sf, {}),
            "per_block_cast_lossless: q is e2m1 [4, 64], it must be e4m3");
  EXPECT_EQ(error(x, s8, q, sf, {}),
            "per_block_cast_lossless: x_sf is e4m3 [4, 2], it must be f32 or i32");
  EXPECT_EQ(
      error(x, x_sf, q, sf, {1, 32, 32, 48}),
      "per_block_cast_lossless: blocks of 1 x 32 are to become ones of 32 x 48, which must be "
      "multiples below 2^31, and columns powers of two from 2 on");
  EXPECT_EQ(error(x, x_sf, q, x_sf, {}),
            "per_block_cast_lossless: sf is f32 [4, 2], it must be [1, 1] a factor for each block");
}

}  // namespace
}  // namespace tw
