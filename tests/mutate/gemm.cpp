// Calls of matrix products.
#include "tilewright/kernels/gemm.h"

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"

namespace tw::test {
namespace {

using namespace kernels;

/// b, or a batch of it. Its rows in f32 are 4 KiB apart, so that no host has it read in place,
/// which gemm.cpp chooses by the size of the host's caches.
Tensor staged(Place& p, DType dtype, const Shape& shape) {
  Shape wide = shape;
  wide[shape.rank() - 1] = dtype == f32 ? 1024 : up(shape[shape.rank() - 1]);
  return left(p.input(dtype, wide), shape[shape.rank() - 1]);
}

}  // namespace

void add_products(Cases& cases) {
  // Blocks at each edge and at both, and a whole one; parts of a step along k, one step and two.
  const std::vector<std::array<int64_t, 3>> sizes = {
      {61, 9, 3}, {5, 137, 64}, {67, 125, 64}, {67, 125, 0}, {64, 128, 75}};
  for (const auto& [type, transposes] :
       {std::pair(f32, 0), std::pair(f32, 2), std::pair(bf16, 0), std::pair(bf16, 3)}) {
    const DType dtype = type;
    const bool trans_a = (transposes & 1) != 0, trans_b = (transposes & 2) != 0;
    cases.add(
        "gemm",
        format("{}{}{}", dtype, trans_a ? ", a transposed" : "", trans_b ? ", b transposed" : ""),
        [=](Place& p) {
          for (const auto& [m, n, k] : sizes) {
            gemm(left(p.input(dtype, trans_a ? Shape{k, up(m)} : Shape{m, up(k)}), trans_a ? m : k),
                 staged(p, dtype, trans_b ? Shape{n, k} : Shape{k, n}),
                 left(p.output(dtype, {m, up(n)}), n), {.trans_a = trans_a, .trans_b = trans_b});
          }
        });
  }
  cases.add("gemm", "bf16 to f32, epilogue", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const Tensor bias = p.input(f32, {n}), residual = left(p.input(f32, {m, up(n)}), n);
      gemm(left(p.input(bf16, {m, up(k)}), k), staged(p, bf16, {k, n}),
           left(p.output(f32, {m, up(n)}), n),
           {.activation = Activation::gelu, .bias = &bias, .residual = &residual});
    }
  });
  cases.add("batched_gemm", "f32, epilogue", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const int64_t batch = n == 9 ? 2 : 1;
      const Tensor bias = p.input(f32, {n}), residual = left(p.input(f32, {batch, m, up(n)}), n);
      batched_gemm(left(p.input(f32, {batch, m, 80}), k), staged(p, f32, {batch, k, n}),
                   left(p.output(f32, {batch, m, up(n)}), n),
                   {.activation = Activation::silu, .bias = &bias, .residual = &residual});
    }
  });
  cases.add("batched_gemm", "bf16, b transposed", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const int64_t batch = n == 9 ? 2 : 1;
      batched_gemm(left(p.input(bf16, {batch, m, 80}), k), left(p.input(bf16, {batch, n, 80}), k),
                   left(p.output(bf16, {batch, m, up(n)}), n), {.trans_b = true});
    }
  });
  cases.add("gemm_fp8", "to bf16", [](Place& p) {
    for (const auto& [m, n, k] : {std::tuple(5, 9, 7), std::tuple(125, 128, 128),
                                  std::tuple(131, 125, 128), std::tuple(128, 128, 131)}) {
      const int64_t groups = (k + 127) / 128;
      gemm_fp8(left(p.input(f8_e4m3, {m, up(k)}), k), p.input(f32, {m, groups}, 0.25, 1),
               left(p.input(f8_e4m3, {n, up(k)}), k), p.input(f32, {1, groups}, 0.25, 1),
               left(p.output(bf16, {m, up(n)}), n));
    }
  });
}

}  // namespace tw::test
