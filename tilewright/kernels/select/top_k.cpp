// values, indices = the k largest of each row.
// Bound by instructions: a row is sorted in short lists, of which each of k rounds takes a head.
#include <climits>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/select.h"
#include "tilewright/kernels/select/best.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kMostColumns = 1024, kMostResults = 32;

/// NaN is the second lowest of all, above what no element has.
Expr key_of(const Expr& x) {
  const int32_t lowest = x.dtype().bits() == 32 ? INT_MIN : -(1 << 15);
  return select(isnan(x), lowest + 1, ordered(x));
}

Search search_of(int64_t rows, int64_t h, int64_t count, DType dtype, bool staged = false) {
  return {rows, h, count, /*in_word=*/dtype.bits() == 16, staged};
}

// Keys of 16 bits share a word with their column, so that all differ and one fold finds both.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h"), count = k.constant("k");
  const int64_t rows = k.tunable("rows", 1);
  const Search search = search_of(rows, h, count, dtype, k.tunable("staged", 0) != 0);
  const int64_t lists = search.lists();
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer values = k.output("values", dtype, {n, count});
  const Buffer indices = k.output("indices", index_type, {n, count});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const auto keys = [&](const Expr& i, const std::vector<Expr>& columns) {
      std::vector<Expr> all;
      for (const Expr& at : columns) {
        const Expr number = key_of(x(row + i, at));
        all.push_back(search.in_word ? (number << 16) | (static_cast<int32_t>(h) - cast(at, i32))
                                     : number);
      }
      return all;
    };
    const Buffer found = find_best(search, lists, keys).columns;
    parallel({rows, lists}, [&](Expr i, Expr l) {
      const Expr at = let(cast(found(i, l), i64));
      assume(0 <= at && at < h);
      indices(row + i, l) = cast(at, index_type);
      values(row + i, l) = x(row + i, at);
    });
  });
}

void schedule_gpu(Schedule& s, const Case& c) {
  const Search search = search_of(1, c.constant("h"), c.constant("k"), c.dtype());
  s.threads(128).set("rows", rows_of_block(search.lists())).set("staged", 1);
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
