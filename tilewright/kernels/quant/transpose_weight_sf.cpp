// Exponents of factors of a weight's blocks in words, a word for each row and for each column of
// the weight, see quant.h.
// Memory bound: few factors are read, and each word is written for a block's rows or columns.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kTile = 16, kWord = 4;  // factors, in each direction of a tile and in a word

// Factors outside load as zero: so are the bytes that fill up words.
void dataflow(Builder& k, const Case&) {
  const int64_t block = k.constant("block"), words = kTile / kWord;
  const Expr count = k.dim("count"), rows = k.dim("rows"), columns = k.dim("columns");
  const Buffer sf = k.input("sf", f32, {count, rows, columns});
  const Buffer sf0 = k.output("sf0", i32, {count, cdiv(columns, kWord), rows * block});
  const Buffer sf1 = k.output("sf1", i32, {count, cdiv(rows, kWord), columns * block});
  const Expr across = cdiv(columns, kTile), down = cdiv(rows, kTile);
  k.launch({count * down * across}, [&](Expr tile) {
    const Expr strip = let(tile / across), w = let(strip / down);
    const Expr row0 = let(strip % down * kTile), column0 = let(tile % across * kTile);
    const Buffer e = shared(u32, {kTile, kTile}, "e");
    parallel({kTile, kTile}, [&](Expr i, Expr j) {
      const Expr bits = bitcast(sf(w, row0 + i, column0 + j), u32);
      device_assert((bits & 0x807FFFFFU) == 0,
                    "batched_transpose_weight_sf: a factor is no power of two",
                    {row0 + i, column0 + j});
      e(i, j) = bits >> 23;
    });
    const auto word = [&](auto exponent) {
      Expr all = exponent(0);
      for (int64_t t = 1; t < kWord; ++t) all = all | exponent(t) << (8 * t);
      return bitcast(all, i32);
    };
    parallel({words, kTile * block}, [&](Expr c, Expr r) {
      sf0(w, column0 / kWord + c, row0 * block + r) =
          word([&](int64_t t) -> Expr { return e(r / block, c * kWord + t); });
    });
    parallel({words, kTile * block}, [&](Expr c, Expr q) {
      sf1(w, row0 / kWord + c, column0 * block + q) =
          word([&](int64_t t) -> Expr { return e(c * kWord + t, q / block); });
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("transpose_weight_sf", dataflow).schedule("cuda", [](Schedule& s, const Case&) {
        s.threads(256);
      }));
  return jit;
}

}  // namespace

void transpose_weight_sf(const Tensor& sf, const Tensor& sf0, const Tensor& sf1, int64_t block,
                         Stream stream) {
  constexpr const char* f = "batched_transpose_weight_sf";
  check_rank(f, {"sf", sf}, 3);
  check_dtype(f, {"sf", sf}, {f32});
  TW_REQUIRE(block == 32 || block == 128,
             "{}: blocks are {} x {}, they must be 32 x 32 or 128 x 128", f, block, block);
  const int64_t count = sf.dim(0), rows = sf.dim(1), columns = sf.dim(2);
  const Named by_row{"sf0", sf0}, by_column{"sf1", sf1};
  for (const Named& t : {by_row, by_column}) check_dtype(f, t, {i32});
  check_shape(f, by_row, {count, lang::cdiv(columns, kWord), rows * block});
  check_shape(f, by_column, {count, lang::cdiv(rows, kWord), columns * block});
  check_apart(f, by_row, {{"sf", sf}, by_column});
  check_apart(f, by_column, {{"sf", sf}});
  if (sf.numel() == 0) return;
  kernel()({}, {{"block", block}}, sf.device().kind).launch(stream, {sf, sf0, sf1});
}

}  // namespace tw::kernels
