#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

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
