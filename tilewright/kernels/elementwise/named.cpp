// y = a + b, y = a b, y = max(a + b, 0), y = silu(x0) x1.
// Memory bound: each tensor is read or written once.
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

using Values = std::vector<Expr>;

void check_floats(std::string_view function, std::initializer_list<Named> tensors) {
  for (const Named& t : tensors) check_dtype(function, t, {f64, f32, bf16, f16});
}

}  // namespace

void add(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream) {
  static const Elementwise kernel("add", 2, [](const Values& x) { return x[0] + x[1]; });
  check_floats("add", {{"a", a}, {"b", b}, {"y", y}});
  kernel({a, b}, y, stream);
}

void mul(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream) {
  static const Elementwise kernel("mul", 2, [](const Values& x) { return x[0] * x[1]; });
  check_floats("mul", {{"a", a}, {"b", b}, {"y", y}});
  kernel({a, b}, y, stream);
}

void add_relu(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream) {
  static const Elementwise kernel("add_relu", 2,
                                  [](const Values& x) { return max(x[0] + x[1], 0.0F); });
  check_floats("add_relu", {{"a", a}, {"b", b}, {"y", y}});
  kernel({a, b}, y, stream);
}

void silu_and_mul(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("silu_and_mul", 2,
                                  [](const Values& v) { return silu(v[0]) * v[1]; });
  check_floats("silu_and_mul", {{"x", x}, {"y", y}});
  TW_REQUIRE(x.rank() >= 1 && x.dim(-1) % 2 == 0,
             "silu_and_mul: x is {}, its last dimension must have two halves", x);
  Shape half = x.shape();
  half[x.rank() - 1] /= 2;
  check_shape("silu_and_mul", {"y", y}, half, "[..., h]");
  check_apart("silu_and_mul", {"y", y}, {{"x", x}});
  const int64_t h = half[x.rank() - 1];
  kernel({x.slice(-1 + x.rank(), 0, h), x.slice(-1 + x.rank(), h, h)}, y, stream);
}

}  // namespace tw::kernels
