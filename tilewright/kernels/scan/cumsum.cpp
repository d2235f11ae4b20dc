// y[i, j] = x[i, 0] + ... + x[i, j].
// Memory bound: x is read once, y written once.
#include <algorithm>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

/// Strips of rows, one after the other; the last of a row is 0 outside.
void dataflow(Builder& k, DType dtype, DType result) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 1), strip = k.tunable("strip", std::min<int64_t>(h, 4096));
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer y = k.output("y", result, {n, h}, {.strides = {y_row, 1}});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const Buffer part = fragment(f32, {rows, strip}, "part");
    const auto load_sums = [&](const Expr& first) {
      parallel({rows, strip},
               [&](Expr i, Expr j) { part(i, j) = cast(x(row + i, first + j), f32); });
      cumsum(part, 1);
    };
    const auto store = [&](const Expr& first) {
      parallel({rows, strip},
               [&](Expr i, Expr j) { y(row + i, first + j) = cast(part(i, j), result); });
    };
    if (strip >= h) return load_sums(0), store(0);
    const Buffer before = shared(f32, {2, rows}, "before");  // this strip, and the next
    clear(before);
    serial(cdiv(h, strip), [&](Expr number) {
      const Expr first = let(number * strip), now = let(number % 2);
      load_sums(first);
      parallel({rows, strip}, [&](Expr i, Expr j) {
        const Expr sum = let(before(now, i) + part(i, j));
        part(i, j) = sum;
        if_(j == strip - 1, [&] { before(1 - now, i) = sum; });
      });
      store(first);
    });
  });
}

/// A row that the registers of a block hold is one strip.
const Jit& kernel() {
  static const Jit jit(
      define_kernel("cumsum", dataflow).schedule("cuda", [](Schedule& s, const Case& c) {
        constexpr int64_t kMost = 16384;
        hold_rows(s, c);
        s.set("strip", c.constant("h") <= kMost ? c.constant("h") : kMost / 2);
      }));
  return jit;
}

}  // namespace

void cumsum(const Tensor& x, const Tensor& y, Stream stream) {
  check_rank("cumsum", {"x", x}, 2);
  check_dtype("cumsum", {"x", x}, {f32, bf16, f16});
  check_shape("cumsum", {"y", y}, x.shape(), "like x");
  if (y.dtype() != f32) check_dtype("cumsum", {"y", y}, {x.dtype()});
  check_apart("cumsum", {"y", y}, {{"x", x}}, /*in_place=*/true);
  if (y.numel() == 0) return;  // tiles have no extent of 0
  kernel()({x.dtype(), y.dtype()}, {{"h", x.dim(1)}}, x.device().kind)
      .launch(stream, {x, y}, /*in_place=*/true);
}

}  // namespace tw::kernels
