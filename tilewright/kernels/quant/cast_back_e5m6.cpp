// y = q * sf of codes of 12 bits, see quant.h for the formula.
// Memory bound: q and sf are read once, y written once.
#include <numeric>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/e5m6.h"
#include "tilewright/kernels/quant/factors.h"

namespace tw::kernels {
namespace {

// Blocks share out tiles, of which each has some blocks with one factor, or lies in one. A thread
// reads three words for eight values, which are one vector of bf16, or two for four of f32.
void dataflow(Builder& k, const Case& c) {
  const DType sf_dtype = c.dtype(0), y_dtype = c.dtype(1);
  const int64_t width = k.constant("k");
  // Rows and columns that share a factor; and how many of a tile do.
  const int64_t rows = k.constant("rows"), columns = k.constant("columns");
  const int64_t tile_m = k.tunable("tile_m", 32), tile_k = k.tunable("tile_k", 128);
  const int64_t down = std::gcd(rows, tile_m), across = std::gcd(columns, tile_k);
  const Expr m = k.dim("m");
  const Buffer q = k.input("q", u32, {m, width / kCodesTogether * kWordsTogether},
                           {.strides = {k.dim("q_row"), 1}});
  const Factors sf(k, "sf", sf_dtype, cdiv(m, rows), cdiv(width, columns), false,
                   words_of(columns));
  const Buffer y = k.output("y", y_dtype, {m, width}, {.strides = {k.dim("y_row"), 1}});
  const int64_t tiles = cdiv(width, tile_k);  // of a row
  k.launch({cdiv(m, tile_m) * tiles}, [&](Expr block) {
    const Expr row0 = let(block / tiles * tile_m), column0 = let(block % tiles * tile_k);
    const Buffer factor = fragment(f32, {tile_m / down, tile_k / across}, "factor");
    parallel({tile_m / down, tile_k / across}, [&](Expr r, Expr s) {
      factor(r, s) = sf.load((row0 + r * down) / rows, (column0 + s * across) / columns);
    });
    const int64_t run = std::gcd(across, 128 / y_dtype.bits());
    parallel({tile_m / down, down, tile_k / across, across / run, run},
             [&](Expr r, Expr i, Expr s, Expr a, Expr j) {
               const Expr row = row0 + r * down + i, first = s * across + a * run;
               const Expr codes = column0 / kCodesTogether + first / kCodesTogether;
               const auto word = [&](const Expr& w) { return q(row, codes * kWordsTogether + w); };
               const Expr value = e5m6_value(word, first % kCodesTogether / kFour + j / kFour,
                                             first % kFour + j % kFour);
               y(row, column0 + first + j) = cast(ieee::mul(value, factor(r, s)), y_dtype);
             });
  });
}

/// A block has a row if that fills it with 16 elements a thread: no row is guarded then. Else each
/// of a block's 128 threads has 32 elements, of rows as long as the width has room for.
void schedule_gpu(Schedule& s, const Case& c) {
  constexpr int64_t kElements = 4096, kOfThread = 16, kWarp = 32;
  const int64_t width = c.constant("k"), threads = width / kOfThread;
  if (width % (kOfThread * kWarp) == 0 && threads >= 128 && threads <= 1024) {
    s.threads(threads).set("tile_k", width).set("tile_m", 1);
    return;
  }
  const int64_t tile_k = columns_of_tile(width);
  s.threads(128).set("tile_k", tile_k).set("tile_m", kElements / tile_k);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("cast_back_e5m6", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void cast_back_e5m6(const Tensor& q, const Tensor& sf, const Tensor& y, const CastBackArgs& args,
                    Stream stream) {
  constexpr const char* f = "cast_back_e5m6";
  const Tensor words = as_words(f, {"q", q});
  const int64_t m = q.dim(0), k = q.dim(1) / 3 * 2;
  check_dtype(f, {"y", y}, {f32, bf16});
  check_shape(f, {"y", y}, {m, k}, "a value for each 12 bits of q");
  check_dtype(f, {"sf", sf}, {f32, i32});
  const Tensor factors = check_cast_back(f, q, sf, y, args);
  if (q.numel() == 0) return;
  kernel()({factors.dtype(), y.dtype()}, {{"k", k}, {"rows", args.rows}, {"columns", args.columns}},
           q.device().kind)
      .launch(stream, {words, factors, y});
}

}  // namespace tw::kernels
