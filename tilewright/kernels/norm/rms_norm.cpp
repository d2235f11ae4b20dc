// y[i, :] = x[i, :] * w / sqrt(mean(x[i, :]^2) + eps).
// Memory bound: x is read once, y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

// What is computed, on every target. Rows past the end of x load as zero and are not stored.
void dataflow(Builder& k, DType dtype, DType weight) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer w = k.input("w", weight, {h});
  const Expr eps = k.scalar("eps", f32);
  const Buffer y = k.output("y", dtype, {n, h}, {.strides = {y_row, 1}});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    const Tile v = cast(load(x(here, all)), f32);
    const Tile scale = rsqrt(sum(v * v, 1) / static_cast<double>(h) + eps);  // [rows, 1]
    store(y(here, all), cast(v * scale * cast(load(w), f32), dtype));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("rms_norm", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", hold_many_rows));
  return jit;
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& w, float eps, const Tensor& y, Stream stream) {
  check_rank("rms_norm", {"x", x}, 2);
  check_dtype("rms_norm", {"x", x}, {f32, bf16, f16});
  check_dtype("rms_norm", {"w", w}, {f32, bf16, f16});
  check_shape("rms_norm", {"w", w}, {x.dim(1)}, "[h]");
  check_like("rms_norm", {"y", y}, {"x", x});
  check_apart("rms_norm", {"y", y}, {{"x", x}}, /*in_place=*/true);
  check_apart("rms_norm", {"y", y}, {{"w", w}});
  if (y.numel() == 0) return;  // tiles have no extent of 0
  kernel()({x.dtype(), w.dtype()}, {{"h", x.dim(1)}, many_rows(x)}, x.device().kind)
      .launch(stream, {x, w, eps, y}, /*in_place=*/true);
}

}  // namespace tw::kernels
