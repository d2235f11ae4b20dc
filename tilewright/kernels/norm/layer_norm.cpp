// y[i, :] = (x[i, :] - mean) / sqrt(variance + eps) * w + b.
// Memory bound: x is read once, y written once; the row stays in registers or the nearest cache
// between its uses.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, DType dtype, DType weight) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer w = k.input("w", weight, {h}), b = k.input("b", weight, {h});
  const Expr eps = k.scalar("eps", f32);
  const Buffer y = k.output("y", dtype, {n, h}, {.strides = {y_row, 1}});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    const Tile row = load(x(here, all));
    const double count = static_cast<double>(h);
    // Widened and subtracted at each use, since a tile that is used twice would be kept: in
    // registers on a GPU.
    const auto v = [&] { return cast(row, f32); };
    Tile mean, variance;
    if (dtype == bf16 && 512 < h && h <= 8192) {
      // Both sums at once, of distances from the row's first element. Where that is far from all
      // others, the variance is off by about h 2^-24, relatively, and the result by half of that:
      // less than a bf16 shows, of which a unit is 2^-8. (In place, what has the first element of
      // a row of one warp could write it before the others read it: no barrier is between. Rows of
      // up to 512 share a block, see hold_rows; longer ones are folded over warps.)
      const Tile first = cast(load(x(here, at(0, 1))), f32);
      const auto distance = [&] { return v() - first; };
      const Tile offset = sum(distance(), 1) / count;
      variance = max(sum(distance() * distance(), 1) / count - offset * offset, 0.0F);
      mean = first + offset;
    } else {
      mean = sum(v(), 1) / count;
      const Tile apart = v() - mean;
      variance = sum(apart * apart, 1) / count;
    }
    const Tile scale = rsqrt(variance + eps);
    store(y(here, all),
          cast((v() - mean) * scale * cast(load(w), f32) + cast(load(b), f32), dtype));
  });
}

/// Few rows of up to 7168 elements of 16 bits fit, widened, the registers of a thread that leave a
/// multiprocessor four blocks of 128 threads, without spills (NVRTC 13.0, sm_90a).
void schedule_gpu(Schedule& s, const Case& c) {
  hold_many_rows(s, c);
  if (c.constant("many_rows") != 0) return;
  if (c.constant("h") <= 7168 && c.dtype(0).bits() <= 16) s.min_blocks_per_sm(4);
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("layer_norm", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, const Tensor& y,
                Stream stream) {
  check_rank("layer_norm", {"x", x}, 2);
  check_dtype("layer_norm", {"x", x}, {f32, bf16, f16});
  check_dtype("layer_norm", {"w", w}, {f32, bf16, f16});
  check_shape("layer_norm", {"w", w}, {x.dim(1)}, "[h]");
  check_like("layer_norm", {"b", b}, {"w", w});
  check_like("layer_norm", {"y", y}, {"x", x});
  check_apart("layer_norm", {"y", y}, {{"x", x}}, /*in_place=*/true);
  check_apart("layer_norm", {"y", y}, {{"w", w}, {"b", b}});
  if (y.numel() == 0) return;  // tiles have no extent of 0
  kernel()({x.dtype(), w.dtype()}, {{"h", x.dim(1)}, many_rows(x)}, x.device().kind)
      .launch(stream, {x, w, b, eps, y}, /*in_place=*/true);
}

}  // namespace tw::kernels
