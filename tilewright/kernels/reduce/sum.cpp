// y[i] = sum of x[i, :].
// Memory bound: x is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {
namespace {

// Elements outside x load as zero. Each place of a strip has a sum of its own; these are added
// last.
void dataflow(Builder& k, DType dtype, DType result) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4), most = k.tunable("width", 4096);
  const int64_t width = std::clamp<int64_t>(h, 1, most);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer y = k.output("y", result, {n});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Buffer part = fragment(f32, {rows, width}, "part");
    if (h <= width) {
      copy(x(block * rows, 0), part);
    } else {
      clear(part);
      for_each_strip(h, width, [&](Expr first) {
        parallel({rows, width}, [&](Expr i, Expr j) {
          part(i, j) = part(i, j) + cast(x(block * rows + i, first + j), f32);
        });
      });
    }
    store(y(at(block * rows, rows)), cast(sum(value(part), 1), result));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("sum", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", fold_strips));
  return jit;
}

}  // namespace

void sum(const Tensor& x, const Tensor& y, Stream stream) {
  check_rank("sum", {"x", x}, 2);
  check_dtype("sum", {"x", x}, {f32, bf16, f16});
  check_shape("sum", {"y", y}, {x.dim(0)}, "[n]");
  if (y.dtype() != f32) check_dtype("sum", {"y", y}, {x.dtype()});
  check_apart("sum", {"y", y}, {{"x", x}});
  kernel()({x.dtype(), y.dtype()}, {{"h", x.dim(1)}}, x.device().kind).launch(stream, {x, y});
}

}  // namespace tw::kernels
