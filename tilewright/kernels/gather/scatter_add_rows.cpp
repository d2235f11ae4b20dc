// y[index[i], :] += x[i, :].
// Memory bound: x is read once, each row of y that is added to is read and written by atomics.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, DType dtype, DType sum_type, DType index_type) {
  const Expr n = k.dim("n"), v = k.dim("v"), h = k.dim("h");
  const int64_t width = k.tunable("width", 4096);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {k.dim("x_row"), 1}});
  const Buffer index = k.input("index", index_type, {n});
  const Buffer y = k.inout("y", sum_type, {v, h}, {.strides = {k.dim("y_row"), 1}});
  const Expr parts = cdiv(h, width);
  k.launch({n * parts}, [&](Expr block) {  // one dimension: GPUs limit the others
    const Expr row = let(block / parts), first = let((block - row * parts) * width);
    const Expr to = let(cast(index(row), i64));
    if_(to >= 0 && to < v, [&] {
      parallel({min(h - first, width)},
               [&](Expr j) { atomic_add(y(to, first + j), cast(x(row, first + j), sum_type)); });
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("scatter_add_rows", dataflow).schedule("cuda", [](Schedule& s, const Case&) {
        s.set("width", 1024);
      }));
  return jit;
}

}  // namespace

void scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& y, Stream stream) {
  check_rank("scatter_add_rows", {"x", x}, 2);
  check_dtype("scatter_add_rows", {"x", x}, {f32, bf16, f16});
  check_rank("scatter_add_rows", {"y", y}, 2);
  if (y.dtype() != f32) check_dtype("scatter_add_rows", {"y", y}, {x.dtype()});
  check_shape("scatter_add_rows", {"y", y}, {y.dim(0), x.dim(1)}, "[v, h]");
  check_rank("scatter_add_rows", {"index", index}, 1);
  check_dtype("scatter_add_rows", {"index", index}, {i32, i64});
  check_shape("scatter_add_rows", {"index", index}, {x.dim(0)}, "[n]");
  check_apart("scatter_add_rows", {"y", y}, {{"x", x}, {"index", index}});
  kernel()({x.dtype(), y.dtype(), index.dtype()}, {}, y.device().kind)
      .launch(stream, {x, index, y});
}

}  // namespace tw::kernels
