// values, indices = the k largest of each row.
// Bound by latency: each of k rounds folds the row once.
#include <climits>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/select.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kMostColumns = 1024, kMostResults = 32;

/// An integer of the width of x that orders as x does: both zeros are 0, NaN is the second lowest
/// of all.
Expr ordered(const Expr& x) {
  const int bits = x.dtype().bits();
  const int32_t lowest = bits == 32 ? INT_MIN : -(1 << 15), magnitude = ~lowest;
  const Expr raw = cast(bitcast(x, bits == 32 ? i32 : i16), i32);
  const Expr number = raw ^ ((raw >> 31) & magnitude);
  return select(isnan(x), lowest + 1, select(x == 0.0F, 0, number));
}

// Rounds of: find the largest key, then the lowest index that has it, and lower that key below all.
// Elements of 16 bits share a word with their index, so that keys differ and one fold finds both.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h"), count = k.constant("k");
  const int64_t rows = k.tunable("rows", 1);
  const bool with_index = dtype.bits() == 16;
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer values = k.output("values", dtype, {n, count});
  const Buffer indices = k.output("indices", index_type, {n, count});
  relaxed_global(values);
  relaxed_global(indices);
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const Buffer keys = fragment(i32, {rows, h}, "keys");
    const Buffer best = fragment(i32, {rows, 1}, "best"), place = fragment(i32, {rows, 1}, "place");
    parallel({rows, h}, [&](Expr i, Expr j) {
      const Expr key = ordered(x(row + i, j));
      keys(i, j) = with_index ? (key << 16) | cast(h - j, i32) : key;
    });
    serial(count, [&](Expr round) {
      reduce_max(keys, best, 1);
      if (with_index) {
        parallel({rows, 1}, [&](Expr i, Expr j) {
          place(i, j) = static_cast<int32_t>(h) - (best(i, j) & 0xFFFF);
        });
      } else {
        const Buffer candidates = fragment(i32, {rows, h}, "candidates");
        parallel({rows, h}, [&](Expr i, Expr j) {
          candidates(i, j) = select(keys(i, j) == best(i, 0), cast(j, i32), INT_MAX);
        });
        reduce_min(candidates, place, 1);
      }
      parallel({rows, h}, [&](Expr i, Expr j) {
        keys(i, j) = select(cast(j, i32) == place(i, 0), INT_MIN, keys(i, j));
      });
      parallel({rows, 1}, [&](Expr i, Expr j) {
        indices(row + i, round) = cast(place(i, j), index_type);
        values(row + i, round) = x(row + i, cast(place(i, j), i64));
      });
    });
  });
}

/// A warp has a row, or several short ones, so that no fold leaves it.
void schedule_gpu(Schedule& s, const Case& c) {
  s.threads(32).set("rows", std::clamp<int64_t>(64 / c.constant("h"), 1, 8));
}

const Jit& kernel() {
  static const Jit jit(define_kernel("top_k", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void top_k(const Tensor& x, const Tensor& values, const Tensor& indices, Stream stream) {
  check_rank("top_k", {"x", x}, 2);
  check_dtype("top_k", {"x", x}, {f32, bf16, f16});
  check_rank("top_k", {"values", values}, 2);
  const int64_t h = x.dim(1), k = values.dim(1);
  TW_REQUIRE(h <= kMostColumns, "top_k: x is {}, a row may have at most {} elements", x,
             kMostColumns);
  TW_REQUIRE(k >= 1 && k <= std::min(h, kMostResults),
             "top_k: k is {}, it must be from 1 to {} for x {}", k, std::min(h, kMostResults), x);
  check_dtype("top_k", {"values", values}, {x.dtype()});
  check_shape("top_k", {"values", values}, {x.dim(0), k}, "[n, k]");
  check_dtype("top_k", {"indices", indices}, {i32, i64});
  check_shape("top_k", {"indices", indices}, {x.dim(0), k}, "[n, k]");
  check_apart("top_k", {"values", values}, {{"x", x}, {"indices", indices}});
  check_apart("top_k", {"indices", indices}, {{"x", x}});
  kernel()({x.dtype(), indices.dtype()}, {{"h", h}, {"k", k}}, x.device().kind)
      .launch(stream, {x, values, indices});
}

}  // namespace tw::kernels
