// Position-dependent rotations of queries and keys.
//
// Tensors are on one device. Arguments of a wrong shape, dtype or stride are an Error, and nothing
// is written. Results are the same bits on every device.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

struct RotaryArgs {
  /// Like x, with its own number of heads, rotated in the same launch; null: none.
  const Tensor* key = nullptr;
  /// The position of each token, [t] or [b, s] like those of x, i32 or i64, at any stride of b;
  /// null: 0, 1, ... in each sequence.
  const Tensor* positions = nullptr;
  int64_t offset = 0;        // added to each position
  bool interleaved = false;  // pairs are 2 i and 2 i + 1, else i and i + d / 2
  bool conjugate = false;    // the other way round
};

/// Rotates the pairs of x's elements, in place. With p a token's position, c = cos_sin[p, i] and
/// s = cos_sin[p, d / 2 + i], pair i becomes (fma(u, c, -(v * s)), fma(u, s, v * c)), conjugate
/// (fma(u, c, v * s), fma(u, -s, v * c)), in f32, each product rounded by itself and each result
/// rounded once. x: [t, heads, d] or [b, s, heads, d], f32 or bf16, d 64 or 128, contiguous along d
/// alone; cos_sin: [rows, d] f32, at any row stride. A position outside has the factors 0.
void apply_rotary(const Tensor& x, const Tensor& cos_sin, const RotaryArgs& args = {},
                  Stream stream = {});

}  // namespace tw::kernels
