#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/factor_tensor.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/quant.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using kernels::BlockCastArgs;
using reference::Kind;
using test::any_sign;
using test::codes;
using test::error_of;
using test::FactorTensor;
using test::Layout;
using test::on;
using test::values;
using test::Where;
using test::wild_tensor;

struct Problem {
  DType x, format;
  int64_t m, k, rows, columns;
  Layout layout;
  Kind kind;
};

std::string to_text(const Problem& p, Where where) {
  return format("{} to {} [{}, {}] in {} x {}, layout {}, kind {}, {}", p.x, p.format, p.m, p.k,
                p.rows, p.columns, static_cast<int>(p.layout), static_cast<int>(p.kind),
                name_of(where));
}

/// All three functions.
void check(const Problem& p, Where where = Where::cpu) {
  const auto n = [](int64_t v) { return static_cast<size_t>(v); };
  const std::string what = to_text(p, where);
  const OwnedTensor x = wild_tensor(p.x, p.m, p.k), q(p.format, {p.m, p.k});
  const DType sf_dtype = p.kind == Kind::e4m3 ? f8_e4m3 : f32;
  const int64_t down = (p.m + p.rows - 1) / p.rows, across = (p.k + p.columns - 1) / p.columns;
  const FactorTensor sf(p.layout, sf_dtype, down, across), alone(p.layout, sf_dtype, down, across);
  const BlockCastArgs args{
      .rows = p.rows, .columns = p.columns, .round_sf = p.kind == Kind::power_of_two};
  const auto wanted =
      reference::cast_in_blocks(values(x), n(p.m), n(p.k), n(p.rows), n(p.columns), p.format,
                                p.kind, kernels::least_amax(p.format, sf_dtype));
  kernels::per_block_cast(on(where, x), on(where, q), on(where, sf.view), args);
  EXPECT_EQ(codes(q), any_sign(wanted.q)) << what;
  EXPECT_EQ(sf.factors(), wanted.sf) << what;
  kernels::per_block_cast_with_sf_only(on(where, x), p.format, on(where, alone.view), args);
  EXPECT_EQ(alone.factors(), wanted.sf) << what;

  const OwnedTensor again(p.format, {p.m, p.k});
  kernels::per_block_cast_with_precomputed_sf(on(where, x), on(where, sf.view), on(where, again),
                                              args);
  EXPECT_EQ(codes(again), any_sign(reference::cast_by_factors(values(x), n(p.m), n(p.k), n(p.rows),
                                                              n(p.columns), p.format, wanted.sf)))
      << what;
}

struct Form {
  Layout layout;
  Kind kind;
};
constexpr Form kForms[] = {{Layout::packed_columns, Kind::power_of_two},
                           {Layout::rows, Kind::exact},
                           {Layout::packed_rows, Kind::power_of_two},
                           {Layout::columns, Kind::exact},
                           {Layout::columns, Kind::e4m3},
                           {Layout::rows, Kind::power_of_two}};
constexpr std::pair<int64_t, int64_t> kBlocks[] = {{128, 128}, {32, 32}, {32, 128}, {128, 32}};

TEST(PerBlockCast, IsBitwiseTheReference) {
  size_t next = 0;
  for (const DType dtype : {f32, bf16}) {
    for (const DType format : {f8_e4m3, f4_e2m1}) {
      for (const auto& [rows, columns] : kBlocks) {
        for (int turn = 0; turn < 2; ++turn) {
          const auto [layout, kind] = kForms[next++ % std::size(kForms)];
          for (const int64_t m : {0, 1, 128, 161}) {
            check({dtype, format, m, 576, rows, columns, layout, kind});
          }
        }
      }
    }
  }
}

TEST(PerBlockCast, OddSizes) {
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t k : {1, 7, 130, 257}) {
      check({dtype, f8_e4m3, 130, k, 128, 128, Layout::rows, Kind::exact});
      if (k % 2 == 0) {
        check({dtype, f4_e2m1, 37, k, 32, 32, Layout::packed_columns, Kind::power_of_two});
      }
    }
  }
}

TEST(PerBlockCast, IsBitwiseTheReferenceOnThreads) {
  size_t next = 0;
  for (const DType dtype : {f32, bf16}) {
    for (const DType format : {f8_e4m3, f4_e2m1}) {
      for (const auto& [rows, columns] : kBlocks) {
        const auto [layout, kind] = kForms[next++ % std::size(kForms)];
        check({dtype, format, rows + 5, 192, rows, columns, layout, kind}, Where::twin);
      }
    }
  }
  check({bf16, f8_e4m3, 5, 200, 32, 32, Layout::rows, Kind::exact}, Where::twin);
}

TEST(PerBlockCast, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check({bf16, f8_e4m3, 32, 128, 32, 32, Layout::packed_columns, Kind::power_of_two}, Where::twin);
}

TEST(PerBlockCast, CountsAtLeastTheCallersLeast) {
  const OwnedTensor x = test::filled_tensor(f32, {32, 32}, 1), q(f8_e4m3, {32, 32}),
                    sf(f32, {1, 1});
  kernels::per_block_cast(x, q, sf, {.rows = 32, .columns = 32, .least = 896});
  EXPECT_EQ(values(sf), std::vector<double>{2});
  EXPECT_EQ(codes(q), std::vector<uint8_t>(1024, 0x30));  // 0.5
}

TEST(PerBlockCast, StridedRows) {
  const OwnedTensor x = test::random_tensor(f32, {150, 210}, 1),
                    q = test::filled_tensor(f8_e4m3, {150, 220}, 7), sf(f32, {2, 2});
  const Tensor xv = test::with_row_gap(x, 200), qv = test::with_row_gap(q, 200);
  kernels::per_block_cast(xv, qv, sf);
  const auto wanted =
      reference::cast_in_blocks(values(xv), 150, 200, 128, 128, f8_e4m3, Kind::exact, 1e-4F);
  EXPECT_EQ(codes(qv), any_sign(wanted.q));
  for (const double between : values(q->slice(1, 200, 20))) ASSERT_EQ(between, 7);
}

TEST(PerBlockCast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 200}), q(f8_e4m3, {4, 200}), sf(f32, {4, 2}), words(i32, {1, 1}),
      s8(f8_e4m3, {1, 2});
  const auto error = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                         const BlockCastArgs& args) {
    return error_of([&] { kernels::per_block_cast(a, b, c, args); });
  };
  EXPECT_EQ(error(x, q, sf, {}),
            "per_block_cast: sf is f32 [4, 2], it must be [1, 2] a factor for each block");
  EXPECT_EQ(error(x, q, sf, {.rows = 64}),
            "per_block_cast: blocks are 64 x 128, both must be 32 or 128");
  EXPECT_EQ(error(q, q, sf, {}), "per_block_cast: x is e4m3 [4, 200], it must be f32 or bf16");
  EXPECT_EQ(error(x, x, sf, {}), "per_block_cast: q is f32 [4, 200], it must be e4m3 or e2m1");
  EXPECT_EQ(error(x, q, words, {}),
            "per_block_cast: sf is i32, exponents of powers of two: set round_sf, or pass f32");
  EXPECT_EQ(error(x, q, s8, {.round_sf = true}),
            "per_block_cast: sf is e4m3, which has no room for all powers of two: pass f32 or i32, "
            "or leave round_sf out");
  EXPECT_EQ(error_of([&] { kernels::per_block_cast_with_sf_only(x, f8_e5m2, sf); }),
            "per_block_cast_with_sf_only: the format is e5m2, it must be e4m3 or e2m1");
  const OwnedTensor odd(f32, {4, 7}), one(f32, {1, 1});
  EXPECT_EQ(error_of([&] { kernels::per_block_cast_with_sf_only(odd, f4_e2m1, one); }),
            "per_block_cast_with_sf_only: rows of 7 codes of e2m1 end within a byte, they must be "
            "even");
}

}  // namespace
}  // namespace tw
