// y[i, j] = x[i, 0] + ... + x[i, j].
// Memory bound: x is read once, y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

// Strips of `runs` runs of `length` elements, one after the other:
// 1. a strip of x, which is 0 outside;
// 2. each run summed on its own, in order;
// 3. the sums of the runs, in log2(runs) steps: step d adds that of the run d before;
// 4. what is before a run is added to its elements.
void dataflow(Builder& k, DType dtype, DType result) {
  const Expr n = k.dim("n"), h = k.dim("h");
  const int64_t rows = k.tunable("rows", 1), runs = k.tunable("runs", 1);
  const int64_t length = k.tunable("length", 4096), skew = k.tunable("skew", 0);
  const int64_t strip = runs * length;
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {k.dim("x_row"), 1}});
  const Buffer y = k.output("y", result, {n, h}, {.strides = {k.dim("y_row"), 1}});
  // With a skew, elements of runs that begin `length` apart are in different banks.
  const auto place = [&](const Expr& j) { return skew == 0 ? j : j + j / skew; };
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const Buffer part = shared(f32, {rows, strip + (skew == 0 ? 0 : strip / skew)}, "part");
    const Buffer before = shared(f32, {rows, 1}, "before");
    clear(before);
    serial(cdiv(h, strip), [&](Expr number) {
      const Expr first = let(number * strip);
      Buffer total = shared(f32, {rows, runs}, "total");
      parallel({rows, strip},
               [&](Expr i, Expr j) { part(i, place(j)) = cast(x(row + i, first + j), f32); });
      parallel({rows, runs}, [&](Expr i, Expr run) {
        Variable sum = var(f32, 0);
        const auto add = [&](const Expr& j) {
          sum += part(i, place(run * length + j));
          part(i, place(run * length + j)) = sum;
        };
        length <= 32 ? unroll(length, add) : serial(length, add);
        total(i, run) = sum;
      });
      for (int64_t step = 1; step < runs; step *= 2) {
        const Buffer next = shared(f32, {rows, runs}, "total");
        parallel({rows, runs}, [&](Expr i, Expr run) {
          next(i, run) = total(i, run) + if_else(run >= step, total(i, run - step), 0.0F);
        });
        total = next;
      }
      parallel({rows, strip}, [&](Expr i, Expr j) {
        const Expr run = j / length;
        Expr sum = before(i, 0);
        if (runs > 1) sum = sum + if_else(run > 0, total(i, run - 1), 0.0F);
        y(row + i, first + j) = cast(part(i, place(j)) + sum, result);
      });
      parallel({rows, 1}, [&](Expr i, Expr) { before(i, 0) += total(i, runs - 1); });
    });
  });
}

/// A thread has a run of 16. 16 rows that are short share a block.
const Jit& kernel() {
  static const Jit jit(
      define_kernel("cumsum", dataflow)
          .schedule("cuda",
                    [](Schedule& s, const Case&) {
                      s.threads(256).set("runs", 256).set("length", 16).set("skew", 32);
                    })
          .when([](const Sizes& size) { return size("h") > 512; })
          .schedule("cuda", [](Schedule& s, const Case&) {
            s.threads(256).set("rows", 16).set("runs", 16).set("length", 16).set("skew", 32);
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
  kernel()({x.dtype(), y.dtype()}, {}, x.device().kind).launch(stream, {x, y}, /*in_place=*/true);
}

}  // namespace tw::kernels
