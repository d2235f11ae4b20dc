#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/work.h"

namespace tw {
namespace {

using kernels::ChannelCastArgs;
using reference::Kind;
using test::any_sign;
using test::codes;
using test::error_of;
using test::FactorTensor;
using test::Layout;
using test::on;
using test::values;
using test::Where;

struct Problem {
  DType x;
  int64_t m, k, group;
  Layout layout = Layout::rows;
  Kind kind = Kind::exact;
  bool gathers = false;
  // Of x that is codes:
  int64_t x_columns = 0;
  Layout x_layout = Layout::rows;
};

std::string to_text(const Problem& p, Where where) {
  return format(
      "{} [{}, {}], group {}, layout {}, kind {}, gathers {}, factors of {}, layout {}, {}", p.x,
      p.m, p.k, p.group, static_cast<int>(p.layout), static_cast<int>(p.kind), p.gathers,
      p.x_columns, static_cast<int>(p.x_layout), name_of(where));
}

size_t n(int64_t v) { return static_cast<size_t>(v); }

/// Rows of x, among them some twice, some of none, and one behind the last.
std::vector<int32_t> some_rows(int64_t count, int64_t m) {
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(i % 5 == 2   ? -1
                   : i % 7 == 3 ? static_cast<int32_t>(m)
                                : static_cast<int32_t>(i * 3 % m));
  }
  return rows;
}

std::vector<uint8_t> transposed(const std::vector<uint8_t>& q, size_t m, size_t k) {
  std::vector<uint8_t> turned(q.size());
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < k; ++j) turned[j * m + i] = q[i * k + j];
  return turned;
}

void check(const Problem& p, Where where = Where::cpu) {
  const std::string what = to_text(p, where);
  const OwnedTensor x = p.x == f8_e4m3 ? test::random_tensor(p.x, {p.m, p.k}, 1, -400, 400)
                                       : test::wild_tensor(p.x, p.m, p.k);
  std::vector<double> in = values(x);
  ChannelCastArgs args{.group = p.group, .round_sf = p.kind == Kind::power_of_two};
  // What is cast: values of codes, rounded to f32.
  const FactorTensor x_sf(p.x_layout, f32, p.m, p.x_columns == 0 ? 0 : p.k / p.x_columns);
  Tensor x_factors = on(where, x_sf.view);
  if (p.x_columns != 0) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.k; ++j) {
        const float factor = std::ldexp(x_sf.packed ? 1.F : 1.37F,
                                        static_cast<int>((i * 7 + j / p.x_columns * 3) % 20) - 10);
        const float held = x_sf.set(i, j / p.x_columns, factor);
        double& value = in[n(i * p.k + j)];
        value = static_cast<float>(value) * held;
      }
    }
    args.x_sf = &x_factors;
    args.x_columns = p.x_columns;
  }
  int64_t m = p.m;
  OwnedTensor index(i32, {m});
  Tensor rows;
  if (p.gathers) {
    m = p.m + 40;
    const std::vector<int32_t> list = some_rows(m, p.m);
    index = OwnedTensor(i32, {m});
    std::ranges::copy(list, index->data_as<int32_t>());
    std::vector<double> gathered;
    for (const int32_t row : list) {
      for (int64_t j = 0; j < p.k; ++j) {
        gathered.push_back(row < 0 || row >= p.m ? 0.0 : in[n(row * p.k + j)]);
      }
    }
    in = gathered;
    rows = on(where, index);
    args.index = &rows;
  }
  const auto wanted = reference::cast_in_blocks(in, n(m), n(p.k), n(p.group), 1, f8_e4m3, p.kind,
                                                kernels::least_amax(f8_e4m3, f32));
  const OwnedTensor q(f8_e4m3, {m, p.k}), turned(f8_e4m3, {p.k, m});
  const FactorTensor sf(p.layout, f32, (m + p.group - 1) / p.group, p.k),
      again(p.layout, f32, sf.rows, p.k);
  kernels::per_channel_cast(on(where, x), on(where, q), on(where, sf.view), args);
  EXPECT_EQ(codes(q), any_sign(wanted.q)) << what;
  EXPECT_EQ(sf.factors(), wanted.sf) << what;
  kernels::per_channel_cast_and_transpose(on(where, x), on(where, turned), on(where, again.view),
                                          args);
  EXPECT_EQ(codes(turned), transposed(any_sign(wanted.q), n(m), n(p.k))) << what;
  EXPECT_EQ(again.factors(), wanted.sf) << what;
}

TEST(PerChannelCast, IsBitwiseTheReference) {
  for (const DType x : {f32, bf16}) {
    for (const int64_t group : {32, 128}) {
      for (const int64_t m : {0, 1, 128, 161, 384}) {
        check({x, m, 576, group});
        check({x, m, 576, group, Layout::rows, Kind::power_of_two});
        check({x, m, 192, group, Layout::packed_down, Kind::power_of_two});
      }
      check({x, 37, 130, group});
    }
  }
}

TEST(PerChannelCast, CastsCodesAgain) {
  for (const int64_t columns : {32, 128}) {
    for (const int64_t group : {32, 128}) {
      for (const Layout layout :
           {Layout::rows, Layout::columns, Layout::packed_rows, Layout::packed_columns}) {
        check({f8_e4m3, 161, 256, group, Layout::rows, Kind::exact, false, columns, layout});
        check({f8_e4m3, 161, 256, group, Layout::packed_down, Kind::power_of_two, false, columns,
               layout});
      }
    }
  }
}

TEST(PerChannelCast, GathersRows) {
  for (const int64_t group : {32, 128}) {
    for (const DType x : {f32, bf16}) {
      check({x, 90, 192, group, Layout::rows, Kind::exact, true});
      check({x, 161, 192, group, Layout::packed_down, Kind::power_of_two, true});
    }
    check({f8_e4m3, 90, 256, group, Layout::rows, Kind::exact, true, 128});
  }
}

TEST(PerChannelCast, IsBitwiseTheReferenceOnThreads) {
  for (const int64_t group : {32, 128}) {
    for (const DType x : {f32, bf16}) {
      check({x, 128, 256, group}, Where::twin);
      for (const int64_t m : {128, 161, 512}) {  // words with factors of less than 4 groups, or not
        check({x, m, 64, group, Layout::packed_down, Kind::power_of_two}, Where::twin);
      }
      check({x, 90, 72, group, Layout::rows, Kind::exact, true}, Where::twin);
    }
    for (const int64_t columns : {32, 128}) {
      check({f8_e4m3, 161, 256, group, Layout::packed_down, Kind::power_of_two, false, columns,
             Layout::packed_columns},
            Where::twin);
      for (const int64_t m : {90, 128}) {
        check({f8_e4m3, m, 384, group, Layout::rows, Kind::exact, true, columns}, Where::twin);
      }
      check({f8_e4m3, 256, 256, group, Layout::rows, Kind::exact, false, columns}, Where::twin);
    }
  }
}

TEST(PerChannelCast, BlocksThatStayCastTileByTile) {
  const kernels::WithWork much(kernels::Work::much);
  for (const int64_t columns : {32, 128}) {
    for (const int64_t group : {32, 128}) {
      // One tile, for one of two blocks; nine, five for the first; four, of which half are not
      // full.
      for (const auto& [m, k] : {std::pair{128, 128}, {384, 384}, {256, 128 + columns}}) {
        check({f8_e4m3, m, k, group, Layout::rows, Kind::exact, false, columns}, Where::twin);
      }
    }
    check({f8_e4m3, 512, 256, 128, Layout::packed_down, Kind::power_of_two, false, columns,
           Layout::packed_columns},
          Where::twin);
  }
}

TEST(PerChannelCast, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check({bf16, 128, 256, 32}, Where::twin);
  const kernels::WithWork much(kernels::Work::much);
  check({f8_e4m3, 128, 256, 128, Layout::rows, Kind::exact, false, 128}, Where::twin);
}

TEST(PerChannelCast, HasTheValuesOfTheSpecification) {
  OwnedTensor x(bf16, {32, 1}), q(f8_e4m3, {32, 1}), sf(f32, {1, 1});
  std::vector<double> list;
  for (int i = -16; i < 16; ++i) list.push_back(i);
  test::assign(x, list);
  kernels::per_channel_cast(x, q, sf, {.group = 32, .round_sf = true});
  EXPECT_EQ(*sf->data_as<uint32_t>(), 123U << 23);
  EXPECT_EQ(codes(q).front(), 0xF8);
  EXPECT_EQ(codes(q).back(), 0x77);
}

TEST(PerChannelCast, RowsOfNoneAreZero) {
  const OwnedTensor x = test::filled_tensor(bf16, {4, 64}, 3), index(i32, {128}),
                    q = test::filled_tensor(f8_e4m3, {128, 64}, 7), sf(f32, {1, 64});
  std::fill_n(index->data_as<int32_t>(), 128, -1);
  const Tensor rows = index;
  kernels::per_channel_cast(x, q, sf, {.index = &rows});
  EXPECT_EQ(codes(q), std::vector<uint8_t>(128 * 64, 0));
  EXPECT_EQ(*sf->data_as<uint32_t>(), 0x346FACADU);  // of the least amax
}

TEST(PerChannelCast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 64}), q(f8_e4m3, {4, 64}), sf(f32, {1, 64}), words(i32, {1, 64});
  const auto error = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                         const ChannelCastArgs& args) {
    return error_of([&] { kernels::per_channel_cast(a, b, c, args); });
  };
  EXPECT_EQ(error(x, q, sf, {.group = 64}),
            "per_channel_cast: the group is 64, it must be 32 or 128");
  EXPECT_EQ(error(q, q, sf, {}), "per_channel_cast: x is e4m3 [4, 64], it must be f32 or bf16");
  EXPECT_EQ(error(x, x, sf, {}), "per_channel_cast: q is f32 [4, 64], it must be e4m3");
  EXPECT_EQ(error(x, q, words, {}),
            "per_channel_cast: sf is i32, exponents of powers of two: set round_sf, or pass f32");
  const Tensor x_sf = sf, index = words;
  EXPECT_EQ(error(x, q, sf, {.x_sf = &x_sf}),
            "per_channel_cast: x is f32 [4, 64], it must be e4m3");
  EXPECT_EQ(error(q, q, sf, {.x_sf = &x_sf, .x_columns = 64}),
            "per_channel_cast: x has a factor for each 64 columns, they must be 32 or 128");
  EXPECT_EQ(error(x, q, sf, {.index = &index}),
            "per_channel_cast: index is i32 [1, 64], it must have 1 dimension");
  EXPECT_EQ(error(x, q, OwnedTensor(f32, {2, 64}), {}),
            "per_channel_cast: sf is f32 [2, 64], it must be [1, 64] a factor for each block");
  EXPECT_EQ(error_of([&] { kernels::per_channel_cast_and_transpose(x, q, sf); }),
            "per_channel_cast_and_transpose: q is e4m3 [4, 64], it must be [64, 4] x transposed");
}

}  // namespace
}  // namespace tw
