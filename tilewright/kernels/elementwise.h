// Functions of elements, fused: kernels of the caller's functions, and a few common ones.
//
// Inputs broadcast to y as in numpy, all at any strides; y may be an input of its shape. Of up to 5
// dimensions, not counting those that lie evenly inside each other in all tensors. Arguments that
// don't fit are an Error, and nothing is written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/lang/expr.h"
#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// The kernels of y = f(x0, x1, ...), by dtypes. Lives as long as the process:
///
///   static const Elementwise add_relu("add_relu", 2, [](const std::vector<Expr>& x) {
///     return max(x[0] + x[1], 0.0F);
///   });
///   add_relu({a, b}, y);
///
/// f is traced once for each combination of dtypes. Floats narrower than f32 come as f32, the
/// result is converted to y's dtype as by a cast. `costly`: f takes much longer than a load, so
/// that threads of a GPU shall have few elements each.
class Elementwise {
 public:
  using Function = std::function<Expr(const std::vector<Expr>&)>;
  static constexpr size_t kMostInputs = 4;

  Elementwise(std::string name, size_t inputs, Function f, bool costly = false);
  ~Elementwise();

  void operator()(const std::vector<Tensor>& inputs, const Tensor& y, Stream stream = {}) const;

 private:
  struct Kernels;
  std::string name_;
  size_t inputs_;
  std::unique_ptr<const Kernels> kernels_;
};

// Of f64, f32, bf16 and f16, mixed as one likes; computed in f32, or f64 where an input is.

/// y = a + b.
void add(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream = {});
/// y = a b.
void mul(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream = {});
/// y = max(a + b, 0); 0 for NaN.
void add_relu(const Tensor& a, const Tensor& b, const Tensor& y, Stream stream = {});
/// y = silu(x[..., :h]) x[..., h:], the gated activation of a projection to both halves at once.
/// x: [..., 2 h], y: [..., h].
void silu_and_mul(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
