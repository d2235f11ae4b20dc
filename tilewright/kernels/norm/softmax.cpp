// y[i, :] = exp(scale * x[i, :] - max) / sum of the same.
// Memory bound where exp keeps up: x is read once, y written once, the exponentials stay in the
// nearest cache.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr double kLog2E = 1.4426950408889634;

void dataflow(Builder& k, DType dtype) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Expr factor = k.scalar("scale", f32);
  const Buffer y = k.output("y", dtype, {n, h}, {.strides = {y_row, 1}});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    // exp in base 2, which rounds the exponent once more: less than a result of 16 bits shows. On
    // GPUs terms below 2^-126 are 0, which only subnormal results of bf16 show.
    const bool in_base_2 = dtype.bits() <= 16;
    const Tile v = cast(load(x(here, all)), f32) * (in_base_2 ? factor * kLog2E : factor);
    const Tile apart = v - max(v, 1);
    const Tile e = in_base_2 ? fast::exp2(apart) : exp(apart);
    store(y(here, all), cast(e * (1.0F / sum(e, 1)), dtype));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("softmax", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", hold_rows));
  return jit;
}

}  // namespace

void softmax(const Tensor& x, float scale, const Tensor& y, Stream stream) {
  check_rank("softmax", {"x", x}, 2);
  check_dtype("softmax", {"x", x}, {f32, bf16, f16});
  check_like("softmax", {"y", y}, {"x", x});
  check_apart("softmax", {"y", y}, {{"x", x}}, /*in_place=*/true);
  if (y.numel() == 0) return;  // tiles have no extent of 0
  kernel()({x.dtype()}, {{"h", x.dim(1)}}, x.device().kind)
      .launch(stream, {x, scale, y}, /*in_place=*/true);
}

}  // namespace tw::kernels
