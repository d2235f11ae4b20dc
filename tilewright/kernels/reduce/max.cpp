// y[i] = the largest of x[i, :].
// Memory bound: x is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {
namespace {

// What is outside x loses. Each place of a strip has a maximum of its own.
void dataflow(Builder& k, DType dtype) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h");
  const bool propagate_nan = k.constant("propagate_nan") != 0;
  const int64_t rows = k.tunable("rows", 4), most = k.tunable("width", 4096);
  const int64_t width = std::min(h, most);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer y = k.output("y", dtype, {n});
  safe_value(x, -inf(dtype));
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Buffer part = fragment(dtype, {rows, width}, "part"),
                 most_of = fragment(dtype, {rows, 1});
    if (h <= width) {
      copy(x(block * rows, 0), part);
    } else {
      fill(part, -inf(dtype));
      for_each_strip(h, width, [&](Expr first) {
        parallel({rows, width}, [&](Expr i, Expr j) {
          const Expr v = x(block * rows + i, first + j);
          part(i, j) = propagate_nan ? max_nan(part(i, j), v) : max(part(i, j), v);
        });
      });
    }
    reduce_max(part, most_of, 1, {.propagate_nan = propagate_nan});
    copy(most_of, y(at(block * rows, rows)));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("max", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", fold_strips));
  return jit;
}

}  // namespace

void max(const Tensor& x, const Tensor& y, bool propagate_nan, Stream stream) {
  check_rank("max", {"x", x}, 2);
  check_dtype("max", {"x", x}, {f32, bf16, f16});
  check_columns("max", {"x", x});
  check_dtype("max", {"y", y}, {x.dtype()});
  check_shape("max", {"y", y}, {x.dim(0)}, "[n]");
  check_apart("max", {"y", y}, {{"x", x}});
  kernel()({x.dtype()}, {{"h", x.dim(1)}, {"propagate_nan", propagate_nan}}, x.device().kind)
      .launch(stream, {x, y});
}

}  // namespace tw::kernels
