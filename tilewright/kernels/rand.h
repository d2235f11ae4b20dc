// Random numbers.
//
// Arguments of a wrong shape, dtype or stride are an Error, and nothing is written.
#pragma once

#include <cstdint>

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

struct RandnArgs {
  uint64_t seed = 0;
  /// How many words of each stream were taken before: a multiple of 4.
  uint64_t offset = 0;
  /// There are so many streams for each 256 elements up to `most_groups` times 256. torch has as
  /// many as fit on the device: its multiprocessors times the threads of each / 256.
  int64_t most_groups = 1056;
};

/// y = standard normals, in y's order those that torch.randn on an NVIDIA GPU gives, to the bit on
/// such a GPU, elsewhere within some ulp of f32. With t streams, element 4 t k + w t + j is normal
/// w of block offset / 4 + k of stream j: of the four words of Philox 4x32-10 the first two make
/// two, the last two the others, by Box and Muller. y: f32, bf16 or f16, any shape without gaps.
void randn(const Tensor& y, const RandnArgs& args = {}, Stream stream = {});

/// By how much the offset grows with so many elements.
uint64_t randn_words(int64_t numel, int64_t most_groups);

struct NormalArgs {
  uint64_t seed = 0;
  /// Which of 2^64 of this seed.
  uint64_t subsequence = 0;
};

/// y = standard normals, the same bits on every device: element i, in y's order, is normal i % 4 of
/// block i / 4 of the subsequence, Philox 4x32-10 with the seed as its key and the counter (i / 4,
/// subsequence). So a prefix of a longer tensor is the shorter one. The first two words make two,
/// the last two the others, by Box and Muller: sqrt(-2 log u) times sine and cosine, by
/// polynomials, at most 4.2 ulp of f32 off in 6e7 pairs, none of them -0 (f16 may round to it). y:
/// f32, bf16 or f16, any shape without gaps.
void standard_normal(const Tensor& y, const NormalArgs& args = {}, Stream stream = {});

}  // namespace tw::kernels
