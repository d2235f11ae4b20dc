// sum[i, :] = x[i, :] + residual[i, :], and the norm of sum[i, :].
// Memory bound: x and residual are read once, sum and y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

enum class Norm : uint8_t { rms, layer };

// The norm is that of the sum as it is stored.
void dataflow(Builder& k, DType dtype, DType weight) {
  const Expr n = k.dim("n");
  const int64_t h = k.constant("h");
  const bool centers = static_cast<Norm>(k.constant("norm")) == Norm::layer;
  const int64_t rows = k.tunable("rows", 4);
  const auto row_of = [&](const char* name) { return TensorOptions{.strides = {k.dim(name), 1}}; };
  const Buffer x = k.input("x", dtype, {n, h}, row_of("x_row"));
  const Buffer residual = k.input("residual", dtype, {n, h}, row_of("residual_row"));
  const Buffer w = k.input("w", weight, {h});
  const Buffer b = centers ? k.input("b", weight, {h}) : Buffer();
  const Expr eps = k.scalar("eps", f32);
  const Buffer y = k.output("y", dtype, {n, h}, row_of("y_row"));
  const Buffer total = k.output("sum", dtype, {n, h}, row_of("sum_row"));
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    const Tile added =
        cast(cast(load(x(here, all)), f32) + cast(load(residual(here, all)), f32), dtype);
    store(total(here, all), added);
    const Tile v = cast(added, f32);
    const double count = static_cast<double>(h);
    const Tile centered = centers ? v - sum(v, 1) / count : v;
    const Tile scale = rsqrt(sum(centered * centered, 1) / count + eps);
    const Tile scaled = centered * scale * cast(load(w), f32);
    store(y(here, all), cast(centers ? scaled + cast(load(b), f32) : scaled, dtype));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("residual_norm", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", hold_rows));
  return jit;
}

/// Checks all but b.
const Kernel& checked(std::string_view name, Norm norm, const Tensor& x, const Tensor& residual,
                      const Tensor& w, const Tensor& y, const Tensor& total) {
  check_rank(name, {"x", x}, 2);
  check_dtype(name, {"x", x}, {f32, bf16, f16});
  check_like(name, {"residual", residual}, {"x", x});
  check_dtype(name, {"w", w}, {f32, bf16, f16});
  check_shape(name, {"w", w}, {x.dim(1)}, "[h]");
  check_like(name, {"y", y}, {"x", x});
  check_like(name, {"sum", total}, {"x", x});
  check_apart(name, {"y", y}, {{"x", x}, {"residual", residual}}, /*in_place=*/true);
  check_apart(name, {"sum", total}, {{"x", x}, {"residual", residual}}, /*in_place=*/true);
  check_apart(name, {"y", y}, {{"sum", total}, {"w", w}});
  check_apart(name, {"sum", total}, {{"w", w}});
  return kernel()({x.dtype(), w.dtype()},
                  {{"h", std::max<int64_t>(x.dim(1), 1)}, {"norm", static_cast<int64_t>(norm)}},
                  x.device().kind);
}

}  // namespace

void residual_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& w, float eps,
                       const Tensor& y, const Tensor& total, Stream stream) {
  const Kernel& kernel = checked("residual_rms_norm", Norm::rms, x, residual, w, y, total);
  if (y.numel() == 0) return;
  kernel.launch(stream, {x, residual, w, eps, y, total}, /*in_place=*/true);
}

void residual_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& w, const Tensor& b,
                         float eps, const Tensor& y, const Tensor& total, Stream stream) {
  const Kernel& kernel = checked("residual_layer_norm", Norm::layer, x, residual, w, y, total);
  check_like("residual_layer_norm", {"b", b}, {"w", w});
  check_apart("residual_layer_norm", {"y", y}, {{"b", b}});
  check_apart("residual_layer_norm", {"sum", total}, {{"b", b}});
  if (y.numel() == 0) return;
  kernel.launch(stream, {x, residual, w, b, eps, y, total}, /*in_place=*/true);
}

}  // namespace tw::kernels
