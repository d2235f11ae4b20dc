#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/quant_testing.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using kernels::FakeCastArgs;
using reference::Kind;
using test::on;
using test::values;
using test::Where;

void check(DType dtype, DType to, int64_t m, int64_t k, int64_t group, Kind kind,
           Where where = Where::cpu) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  // Rows with gaps, which stay as they are.
  const OwnedTensor memory = test::filled_tensor(dtype, {m, k + 24}, 7);
  const Tensor x = test::with_row_gap(memory, k);
  test::assign(x, values(test::wild_tensor(dtype, m, k)));
  const auto cast =
      reference::cast_in_blocks(values(x), n(m), n(k), 1, n(group), to, kind,
                                kernels::least_amax(to, kind == Kind::e4m3 ? f8_e4m3 : f32));
  std::vector<double> codes;
  for (const uint8_t code : cast.q) codes.push_back(decode(code, to));
  const auto wanted = reference::cast_back(codes, n(m), n(k), 1, n(group), cast.sf, dtype);
  kernels::per_token_cast_and_cast_back(
      on(where, x), to,
      {.group = group, .round_sf = kind == Kind::power_of_two, .e4m3_sf = kind == Kind::e4m3});
  test::expect_same(x, wanted,
                    format("{} through {} [{}, {}], group {}, kind {}, {}", dtype, to, m, k, group,
                           static_cast<int>(kind), name_of(where)));
  for (const double between : values(memory->slice(1, k, 24))) ASSERT_EQ(between, 7);
}

TEST(PerTokenCastAndCastBack, IsBitwiseTheReference) {
  for (const DType dtype : {f32, bf16}) {
    for (const DType to : {f8_e4m3, f4_e2m1}) {
      for (const Kind kind : {Kind::exact, Kind::power_of_two, Kind::e4m3}) {
        for (const int64_t group : {16, 32, 64, 128}) {
          for (const int64_t m : {0, 1, 37}) check(dtype, to, m, 384, group, kind);
        }
        check(dtype, to, 5, 72, 32, kind);
      }
    }
  }
}

TEST(PerTokenCastAndCastBack, IsBitwiseTheReferenceOnThreads) {
  for (const DType dtype : {f32, bf16}) {
    for (const DType to : {f8_e4m3, f4_e2m1}) {
      check(dtype, to, 13, 384, 128, Kind::power_of_two, Where::twin);
      check(dtype, to, 13, 64, 16, Kind::e4m3, Where::twin);
      check(dtype, to, 9, 192, 32, Kind::exact, Where::twin);
      check(dtype, to, 3, 2048, 16, Kind::e4m3, Where::twin);
    }
  }
}

TEST(PerTokenCastAndCastBack, HasTheValuesOfTheSpecification) {
  struct Example {
    DType to;
    FakeCastArgs args;
    std::vector<uint16_t> wanted;
  };
  for (const Example& e : {Example{f8_e4m3, {}, {0x3F7B, 0xBE95, 0x3CA0, 0xC020}},
                           {f8_e4m3, {.round_sf = true}, {0x3F80, 0xBEA0, 0x3CA0, 0xC020}},
                           {f4_e2m1, {}, {0x3F55, 0xBE55, 0x0000, 0xC020}},
                           {f4_e2m1, {.e4m3_sf = true}, {0x3F50, 0xBE50, 0x0000, 0xC01C}}}) {
    std::vector<uint16_t> x = {0x3F80, 0xBE9A, 0x3CA4, 0xC020};
    kernels::per_token_cast_and_cast_back(Tensor(x.data(), bf16, {1, 4}), e.to, e.args);
    EXPECT_EQ(x, e.wanted);
  }
}

TEST(PerTokenCastAndCastBack, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 64}), h(f16, {4, 64});
  const auto error = [](const Tensor& t, DType to, const FakeCastArgs& args) {
    return test::error_of([&] { kernels::per_token_cast_and_cast_back(t, to, args); });
  };
  EXPECT_EQ(error(h, f8_e4m3, {}),
            "per_token_cast_and_cast_back: x is f16 [4, 64], it must be f32 or bf16");
  EXPECT_EQ(error(x, f8_e5m2, {}),
            "per_token_cast_and_cast_back: the format is e5m2, it must be e4m3 or e2m1");
  EXPECT_EQ(error(x, f8_e4m3, {.group = 8}),
            "per_token_cast_and_cast_back: the group is 8, it must be 16, 32, 64 or 128");
  EXPECT_EQ(error(x, f8_e4m3, {.round_sf = true, .e4m3_sf = true}),
            "per_token_cast_and_cast_back: factors are powers of two or e4m3, not both: leave "
            "round_sf or e4m3_sf out");
}

}  // namespace
}  // namespace tw
