// values, indices = the k largest of each row.
// Bound by instructions: a row is sorted in short lists, of which each of k rounds takes a head.
#include <bit>
#include <climits>
#include <utility>

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

/// Pairs of places that sort `count` elements when they are compared in this order (Batcher's
/// odd-even merge sort; Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M).
std::vector<std::pair<int64_t, int64_t>> sorting_network(int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  for (int64_t p = size / 2; p > 0; p /= 2) {
    for (int64_t q = size / 2, r = 0, d = p; d > 0; d = q - p, q /= 2, r = p) {
      for (int64_t i = 0; i < count - d; ++i) {
        if ((i & p) == r) pairs.emplace_back(i, i + d);
      }
    }
  }
  return pairs;
}

/// Lists of at most 8 elements; at least one for each result, and for each lane of a warp in longer
/// rows.
int64_t lists_of(int64_t h, int64_t count) {
  return std::max(std::min(h, 32 * lang::cdiv(h, 256)), count);
}

/// Sorts the buffers' entries at i, l: the largest key first, of equal keys the lowest column,
/// where there are columns. They come in the order of their columns.
void sort(const std::vector<Buffer>& keys, const std::vector<Buffer>& columns, const Expr& i,
          const Expr& l) {
  std::vector<Expr> key, column;
  for (const Buffer& b : keys) key.push_back(let(b(i, l)));
  for (const Buffer& b : columns) column.push_back(let(b(i, l)));
  std::vector<bool> moved(keys.size());
  for (const auto& [p, q] : sorting_network(static_cast<int64_t>(keys.size()))) {
    const auto a = static_cast<size_t>(p), b = static_cast<size_t>(q);
    if (columns.empty()) {
      const Expr larger = let(max(key[a], key[b]));
      key[b] = let(min(key[a], key[b]));
      key[a] = larger;
      continue;
    }
    Expr swaps = key[a] < key[b];
    if (moved[a] || moved[b]) swaps = swaps || (key[a] == key[b] && column[a] > column[b]);
    swaps = let(swaps);
    moved[a] = moved[b] = true;
    for (std::vector<Expr>* list : {&key, &column}) {
      const Expr first = let(select(swaps, (*list)[b], (*list)[a]));
      (*list)[b] = let(select(swaps, (*list)[a], (*list)[b]));
      (*list)[a] = first;
    }
  }
  for (size_t c = 0; c < keys.size(); ++c) {
    keys[c](i, l) = key[c];
    if (!columns.empty()) columns[c](i, l) = column[c];
  }
}

// Element c of list l is column c * lists + l. Keys of 16 bits share a word with their column, so
// that all differ and one fold finds both; longer ones have their columns beside them, the lowest
// of equal keys first.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h"), count = k.constant("k");
  const int64_t rows = k.tunable("rows", 1);
  const int64_t lists = lists_of(h, count), length = lang::cdiv(h, lists);
  const auto depth = static_cast<size_t>(std::min(length, count));
  const bool in_word = dtype.bits() == 16;
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer values = k.output("values", dtype, {n, count});
  const Buffer indices = k.output("indices", index_type, {n, count});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    std::vector<Buffer> keys, columns;
    for (int64_t c = 0; c < length; ++c) {
      keys.push_back(fragment(i32, {rows, lists}, format("key_{}", c)));
      if (!in_word) columns.push_back(fragment(i32, {rows, lists}, format("column_{}", c)));
    }
    parallel({rows, lists}, [&](Expr i, Expr l) {
      for (size_t c = 0; c < keys.size(); ++c) {
        const Expr at = l + static_cast<int64_t>(c) * lists, column = cast(at, i32);
        const Expr number = ordered(x(row + i, at));
        const Expr key = in_word ? (number << 16) | (static_cast<int32_t>(h) - column) : number;
        keys[c](i, l) = select(at < h, key, INT_MIN);
        if (!in_word) columns[c](i, l) = column;
      }
    });
    if (length > 1) parallel({rows, lists}, [&](Expr i, Expr l) { sort(keys, columns, i, l); });
    const Buffer best = fragment(i32, {rows, 1}, "best"), place = fragment(i32, {rows, 1}, "place");
    const Buffer found = fragment(i32, {rows, lists}, "found");
    clear(found);
    const auto round = [&](Expr number) {
      reduce_max(keys[0], best, 1);
      if (in_word) {
        parallel({rows, 1}, [&](Expr i, Expr j) {
          place(i, j) = static_cast<int32_t>(h) - (best(i, j) & 0xFFFF);
        });
      } else {
        const Buffer candidates = fragment(i32, {rows, lists}, "candidates");
        parallel({rows, lists}, [&](Expr i, Expr l) {
          candidates(i, l) = select(keys[0](i, l) == best(i, 0), columns[0](i, l), INT_MAX);
        });
        reduce_min(candidates, place, 1);
      }
      parallel({rows, lists}, [&](Expr i, Expr l) {
        found(i, l) = select(l == number, place(i, 0), found(i, l));
        const Expr taken =
            let(in_word ? keys[0](i, l) == best(i, 0) : columns[0](i, l) == place(i, 0));
        for (size_t c = 0; c + 1 < depth; ++c) {
          keys[c](i, l) = select(taken, keys[c + 1](i, l), keys[c](i, l));
          if (!in_word) columns[c](i, l) = select(taken, columns[c + 1](i, l), columns[c](i, l));
        }
        if (length < count) {  // only then a list is empty before the last round
          keys.back()(i, l) = select(taken, INT_MIN, keys.back()(i, l));
        }
      });
    };
    if (count <= 8) {  // then later rounds shift less
      unroll(0, count, {.full = true}, round);
    } else {
      serial(count, round);
    }
    parallel({rows, lists}, [&](Expr i, Expr l) {
      const Expr at = let(cast(found(i, l), i64));
      assume(0 <= at && at < h);
      indices(row + i, l) = cast(at, index_type);
      values(row + i, l) = x(row + i, at);
    });
  });
}

/// A warp has a row, or several short ones, so that no fold leaves it.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t lists = lists_of(c.constant("h"), c.constant("k"));
  s.threads(128).set("rows", std::clamp<int64_t>(128 / lists, 4, 32));
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
