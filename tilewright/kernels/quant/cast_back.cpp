// y = q * sf, see quant.h for the formula.
// Memory bound: q and sf are read once, y written once.
#include <algorithm>
#include <numeric>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/factors.h"

namespace tw::kernels {
namespace {

// Blocks share out tiles, of which each has some blocks with one factor, or lies in one.
void dataflow(Builder& k, const Case& c) {
  const DType q_dtype = c.dtype(0), sf_dtype = c.dtype(1), y_dtype = c.dtype(2);
  const int64_t width = k.constant("k");
  // Rows and columns that share a factor; and how many of a tile do.
  const int64_t rows = k.constant("rows"), columns = k.constant("columns");
  const int64_t tile_m = k.tunable("tile_m", 32), tile_k = k.tunable("tile_k", 128);
  const int64_t down = std::gcd(rows, tile_m), across = std::gcd(columns, tile_k);
  const Expr m = k.dim("m");
  const Buffer q = k.input("q", q_dtype, {m, width}, {.strides = {k.dim("q_row"), 1}});
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
    parallel({tile_m / down, down, tile_k / across, across}, [&](Expr r, Expr i, Expr s, Expr j) {
      const Expr row = row0 + r * down + i, column = column0 + s * across + j;
      y(row, column) = cast(ieee::mul(cast(q(row, column), f32), factor(r, s)), y_dtype);
    });
  });
}

/// Threads of a block that has a row or an equal part of it, each so many elements; 0 where whole
/// warps don't share out rows so.
int64_t threads_of_part(int64_t width, int64_t elements) {
  constexpr int64_t kWarp = 32, kFewest = 64, kMost = 512;
  for (int64_t threads = kMost; threads >= kFewest; threads -= kWarp) {
    if (width % (threads * elements) == 0) return threads;
  }
  return 0;
}

/// A block has consecutive elements of a row, two vectors of y a thread: memory takes them faster
/// than those of some rows. Else each of 128 threads has 32 elements, of rows that are as long as
/// the width has room for; but of some rows where each column has a factor, which is read once
/// then.
void schedule_gpu(Schedule& s, const Case& c) {
  constexpr int64_t kVectors = 256, kElements = 4096;  // bits of two vectors
  const int64_t width = c.constant("k"), each = kVectors / c.dtype(2).bits();
  const bool is_narrow = c.constant("columns") % 16 != 0;
  if (const int64_t threads = threads_of_part(width, each); threads != 0 && !is_narrow) {
    s.threads(threads).set("tile_k", threads * each).set("tile_m", 1);
    return;
  }
  int64_t tile_k = columns_of_tile(width);
  if (is_narrow) tile_k = std::min<int64_t>(tile_k, 128);
  s.threads(128).set("tile_k", tile_k).set("tile_m", kElements / tile_k);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("cast_back", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void cast_back(const Tensor& q, const Tensor& sf, const Tensor& y, const CastBackArgs& args,
               Stream stream) {
  constexpr const char* f = "cast_back";
  check_rank(f, {"q", q}, 2);
  check_dtype(f, {"q", q}, {f8_e4m3, f4_e2m1});
  check_dtype(f, {"y", y}, {f32, bf16});
  check_shape(f, {"y", y}, q.shape(), "like q");
  const int64_t k = q.dim(1);
  TW_REQUIRE(k % 2 == 0 || q.dtype() != f4_e2m1,
             "{}: rows of {} codes of e2m1 end within a byte, they must be even", f, k);
  const Tensor factors = check_cast_back(f, q, sf, y, args);
  if (q.numel() == 0) return;
  kernel()({q.dtype(), factors.dtype(), y.dtype()},
           {{"k", k}, {"rows", args.rows}, {"columns", args.columns}}, q.device().kind)
      .launch(stream, {q, factors, y});
}

}  // namespace tw::kernels
