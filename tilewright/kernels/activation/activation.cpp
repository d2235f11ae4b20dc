// y = f(x), and y = silu(gate) x.
// Memory bound where the function keeps up: inputs are read once, y written once.
#include "tilewright/kernels/activation.h"

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

using Values = std::vector<Expr>;

constexpr bool kCostly = true;

void run(std::string_view name, const Elementwise& kernel, const Tensor& x, const Tensor& y,
         Stream stream) {
  check_dtype(name, {"x", x}, {f32, bf16, f16});
  check_like(name, {"y", y}, {"x", x});
  check_apart(name, {"y", y}, {{"x", x}}, /*in_place=*/true);
  kernel({x}, y, stream);
}

}  // namespace

void relu(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("relu", 1, [](const Values& x) { return max(0.0F, x[0]); });
  run("relu", kernel, x, y, stream);
}
void gelu(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("gelu", 1, [](const Values& x) { return gelu(x[0]); }, kCostly);
  run("gelu", kernel, x, y, stream);
}
void gelu_tanh(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel(
      "gelu_tanh", 1, [](const Values& x) { return gelu_tanh(x[0]); }, kCostly);
  run("gelu_tanh", kernel, x, y, stream);
}
void silu(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("silu", 1, [](const Values& x) { return silu(x[0]); }, kCostly);
  run("silu", kernel, x, y, stream);
}
void sigmoid(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel(
      "sigmoid", 1, [](const Values& x) { return sigmoid(x[0]); }, kCostly);
  run("sigmoid", kernel, x, y, stream);
}

void silu_mul(const Tensor& gate, const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("silu_mul", 2, [](const Values& x) { return silu(x[0]) * x[1]; });
  check_dtype("silu_mul", {"gate", gate}, {f32, bf16, f16});
  check_like("silu_mul", {"x", x}, {"gate", gate});
  check_like("silu_mul", {"y", y}, {"gate", gate});
  check_apart("silu_mul", {"y", y}, {{"gate", gate}, {"x", x}}, /*in_place=*/true);
  kernel({gate, x}, y, stream);
}

}  // namespace tw::kernels
