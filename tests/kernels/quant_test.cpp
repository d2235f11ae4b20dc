#include "tilewright/kernels/quant.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/quant_testing.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::any_sign;
using test::codes;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;
using test::wild_tensor;

void check(const Tensor& x, const Tensor& q, const Tensor& sf, int64_t bm, int64_t bk,
           bool round_sf, const std::string& what) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const auto wanted = reference::cast_in_blocks(
      values(x), n(x.dim(0)), n(x.dim(1)), n(bm), n(bk), f8_e4m3,
      round_sf ? reference::Kind::power_of_two : reference::Kind::exact, 1e-4F);
  EXPECT_EQ(codes(q), any_sign(wanted.q)) << what;
  const std::vector<double> factors = values(sf);
  EXPECT_EQ(factors, std::vector<double>(wanted.sf.begin(), wanted.sf.end())) << what;
}

TEST(PerBlockCast, IsBitwiseTheReference) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool round_sf : {false, true}) {
      for (const auto& [m, k] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 128}, {1, 1}, {128, 128}, {130, 257}, {300, 64}}) {
        const OwnedTensor x = wild_tensor(dtype, m, k), q(f8_e4m3, {m, k}),
                          sf(f32, {(m + 127) / 128, (k + 127) / 128});
        kernels::per_block_cast(x, q, sf, round_sf);
        check(x, q, sf, 128, 128, round_sf, format("{} [{}, {}], round {}", dtype, m, k, round_sf));
      }
    }
  }
}

TEST(PerBlockCast, StridedRows) {
  const OwnedTensor x = random_tensor(f32, {150, 210}, 1),
                    q = test::filled_tensor(f8_e4m3, {150, 220}, 7), sf(f32, {2, 2});
  const Tensor xv = test::with_row_gap(x, 200), qv = test::with_row_gap(q, 200);
  kernels::per_block_cast(xv, qv, sf);
  check(xv, qv, sf, 128, 128, false, "strided");
  for (const double between : values(q->slice(1, 200, 20))) ASSERT_EQ(between, 7);
}

TEST(PerBlockCast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 200}), q(f8_e4m3, {4, 200}), sf(f32, {4, 2});
  EXPECT_EQ(test::error_of([&] { kernels::per_block_cast(x, q, sf); }),
            "per_block_cast: sf is f32 [4, 2], it must be [1, 2] [ceil(m / 128), ceil(k / 128)]");
}

constexpr DType kFloats[] = {f64, f32, tf32, f16, bf16, f8_e4m3, f8_e5m2, f8_e8m0};

TEST(Cast, IsTheConversionOfTheLanguageForAllPairs) {
  for (const DType from : kFloats) {
    for (const DType to : kFloats) {
      for (const int64_t n : {0, 1, 37, 1100, 5000}) {
        const Where where = n == 1100 ? Where::twin : Where::cpu;
        const bool positive = to == f8_e8m0;  // which doesn't say what it makes of others
        const OwnedTensor x = random_tensor(from, {n}, 1, positive ? 1e-3 : -1000, 1000),
                          y(to, {n});
        if (n > 30 && !positive)
          test::assign(x->slice(0, 0, 8), {NAN, INFINITY, -INFINITY, 0, -0.0, 1e30, 1e-40, 464});
        kernels::cast(on(where, x), on(where, y));
        const std::vector<double> in = values(x), out = values(y);
        for (size_t i = 0; i < in.size(); ++i) {
          const double wanted = decode(encode(in[i], to), to);
          EXPECT_TRUE(std::isnan(wanted)
                          ? std::isnan(out[i])
                          : std::bit_cast<uint64_t>(wanted) == std::bit_cast<uint64_t>(out[i]))
              << format("{} to {}: {} gives {}, wanted {}", from, to, in[i], out[i], wanted);
        }
      }
    }
  }
}

TEST(Cast, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  for (const auto& [from, to] : {std::pair(f32, bf16), std::pair(bf16, f8_e4m3),
                                 std::pair(f64, f16), std::pair(f32, f8_e8m0)}) {
    const OwnedTensor x = test::filled_tensor(from, {64}, 1), y(to, {64});
    kernels::cast(on(Where::twin, x), on(Where::twin, y));
  }
}

TEST(Cast, AnyShapeAndStrides) {
  const OwnedTensor x = random_tensor(f32, {3, 4, 50}, 1),
                    y = test::filled_tensor(bf16, {3, 4, 60}, 7);
  const Tensor yv = y->slice(2, 0, 50);
  kernels::cast(x, yv);
  test::expect_close(yv, values(x), reference::unit_roundoff(bf16), 0, "strided");
  for (const double between : values(y->slice(2, 50, 10))) ASSERT_EQ(between, 7);
  const OwnedTensor scalar = random_tensor(f32, {}, 1), copy(f32, {});
  kernels::cast(scalar, copy);
  EXPECT_EQ(values(copy), values(scalar));
  const OwnedTensor turned(f16, {50, 4, 3});
  kernels::cast(x->transpose(0, 2), turned);
  test::expect_close(turned, values(x->transpose(0, 2)), reference::unit_roundoff(f16), 1e-7, "");
}

TEST(Cast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {3, 4, 8}), y(f32, {3, 5, 8}), i(i32, {3, 4, 8});
  EXPECT_EQ(test::error_of([&] { kernels::cast(x, y); }),
            "cast: y is f32 [3, 5, 8], it must be [3, 4, 8] like x");
  EXPECT_EQ(test::error_of([&] { kernels::cast(x, i); }),
            "cast: y is i32 [3, 4, 8], it must be f64, f32, tf32, f16, bf16, e4m3, e5m2 or "
            "e8m0");
}

}  // namespace
}  // namespace tw
