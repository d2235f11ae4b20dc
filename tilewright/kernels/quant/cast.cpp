// y = x, each element converted.
// Memory bound: x is read once, y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, DType from, DType to) {
  const Expr n = k.dim("n"), h = k.dim("h");
  const int64_t width = k.tunable("width", 4096);
  const DType wide = from == f64 ? f64 : f32;  // holds every narrower value exactly
  const Buffer x = k.input("x", from, {n, h}, {.strides = {k.dim("x_row"), 1}});
  const Buffer y = k.output("y", to, {n, h}, {.strides = {k.dim("y_row"), 1}});
  const Expr parts = cdiv(h, width);
  k.launch({n * parts}, [&](Expr block) {  // one dimension: GPUs limit the others
    const Expr row = let(block / parts), first = let((block - row * parts) * width);
    parallel({min(h - first, width)},
             [&](Expr j) { y(row, first + j) = cast(cast(x(row, first + j), wide), to); });
  });
}

const Jit& kernel() {
  static const Jit jit(define_kernel("cast", dataflow));
  return jit;
}

}  // namespace

void cast(const Tensor& x, const Tensor& y, Stream stream) {
  check_dtype("cast", {"x", x}, {f64, f32, f16, bf16, f8_e4m3, f8_e5m2});
  check_dtype("cast", {"y", y}, {f64, f32, f16, bf16, f8_e4m3, f8_e5m2});
  check_shape("cast", {"y", y}, x.shape(), "like x");
  check_apart("cast", {"y", y}, {{"x", x}}, /*in_place=*/true);
  const auto rows = as_rows("cast", {{"x", x}, {"y", y}});
  kernel()({x.dtype(), y.dtype()}, {}, x.device().kind)
      .launch(stream, {rows[0], rows[1]}, /*in_place=*/true);
}

}  // namespace tw::kernels
