// y = f(x), and y = silu(gate) x.
// Memory bound where the function keeps up: inputs are read once, y written once.
#include "tilewright/kernels/activation.h"

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/work.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

enum class Function : uint8_t { relu, gelu, gelu_tanh, silu, sigmoid, silu_mul };

/// The value of one element; `gate` is that of silu_mul.
Expr value_of(Function function, const Expr& x, const Expr& gate) {
  switch (function) {
    case Function::relu:
      return max(0.0F, x);
    case Function::gelu:
      return gelu(x);
    case Function::gelu_tanh:
      return gelu_tanh(x);
    case Function::silu:
      return silu(x);
    case Function::sigmoid:
      return sigmoid(x);
    case Function::silu_mul:
      return silu(gate) * x;
  }
  return x;
}

void dataflow(Builder& k, const Case& kernel_case) {
  const DType dtype = kernel_case.dtype(0);
  const auto function = static_cast<Function>(k.constant("function"));
  const bool gated = function == Function::silu_mul;
  const Expr n = k.dim("n"), h = k.dim("h");
  const int64_t width = k.tunable("width", 4096);
  const Buffer gate =
      gated ? k.input("gate", dtype, {n, h}, {.strides = {k.dim("gate_row"), 1}}) : Buffer();
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {k.dim("x_row"), 1}});
  const Buffer y = k.output("y", dtype, {n, h}, {.strides = {k.dim("y_row"), 1}});
  const Expr parts = cdiv(h, width);
  k.launch({n * parts}, [&](Expr block) {  // one dimension: GPUs limit the others
    // Tensors without gaps come as one row: no division then, for which the loads would wait.
    const Expr row = let(if_else(n == 1, 0, block / parts));
    const Expr first = let((block - row * parts) * width);
    assume(0 <= row && row < n && 0 <= first);
    parallel({min(h - first, width)}, [&](Expr j) {
      const Expr g = gated ? cast(gate(row, first + j), f32) : Expr();
      y(row, first + j) = cast(value_of(function, cast(x(row, first + j), f32), g), dtype);
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("activation", dataflow).schedule("cuda", [](Schedule& s, const Case& c) {
        const bool gated = static_cast<Function>(c.constant("function")) == Function::silu_mul;
        s.set("width", vectors_per_thread(c, gated ? 2 : 1) * 128 * 128 / c.dtype().bits());
      }));
  return jit;
}

const Kernel& kernel_for(Function function, const Tensor& y) {
  const DeviceKind device = y.device().kind;
  return kernel()({y.dtype()},
                  {{"function", static_cast<int64_t>(function)}, work(2 * y.bytes(), device)},
                  device);
}

void run(std::string_view name, Function function, const Tensor& x, const Tensor& y,
         Stream stream) {
  check_dtype(name, {"x", x}, {f32, bf16, f16});
  check_like(name, {"y", y}, {"x", x});
  check_apart(name, {"y", y}, {{"x", x}}, /*in_place=*/true);
  const auto rows = as_rows(name, {{"x", x}, {"y", y}});
  kernel_for(function, y).launch(stream, {rows[0], rows[1]}, /*in_place=*/true);
}

}  // namespace

void relu(const Tensor& x, const Tensor& y, Stream stream) {
  run("relu", Function::relu, x, y, stream);
}
void gelu(const Tensor& x, const Tensor& y, Stream stream) {
  run("gelu", Function::gelu, x, y, stream);
}
void gelu_tanh(const Tensor& x, const Tensor& y, Stream stream) {
  run("gelu_tanh", Function::gelu_tanh, x, y, stream);
}
void silu(const Tensor& x, const Tensor& y, Stream stream) {
  run("silu", Function::silu, x, y, stream);
}
void sigmoid(const Tensor& x, const Tensor& y, Stream stream) {
  run("sigmoid", Function::sigmoid, x, y, stream);
}

void silu_mul(const Tensor& gate, const Tensor& x, const Tensor& y, Stream stream) {
  check_dtype("silu_mul", {"gate", gate}, {f32, bf16, f16});
  check_like("silu_mul", {"x", x}, {"gate", gate});
  check_like("silu_mul", {"y", y}, {"gate", gate});
  check_apart("silu_mul", {"y", y}, {{"gate", gate}, {"x", x}}, /*in_place=*/true);
  const auto rows = as_rows("silu_mul", {{"gate", gate}, {"x", x}, {"y", y}});
  kernel_for(Function::silu_mul, y).launch(stream, {rows[0], rows[1], rows[2]}, /*in_place=*/true);
}

}  // namespace tw::kernels
