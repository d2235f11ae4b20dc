// Random numbers, for C.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_randn_args {
  uint64_t seed;
  uint64_t offset;      // how many words of each stream were taken before: a multiple of 4
  int64_t most_groups;  // of 256 streams; 0: 1056, as torch has on an H200
} tw_randn_args;

/// y = standard normals, those that torch.randn gives on an NVIDIA GPU; tilewright/kernels/rand.h
/// says which number has which place. y: f32, bf16 or f16, any shape without gaps.
tw_status tw_randn(const tw_tensor* y, const tw_randn_args* args, tw_stream stream);

/// *words = by how much the offset grows with so many elements.
tw_status tw_randn_words(int64_t numel, int64_t most_groups, uint64_t* words);

typedef struct tw_normal_args {
  uint64_t seed;
  uint64_t subsequence;  // which of 2^64 of this seed
} tw_normal_args;

/// y = standard normals, the same bits on every device; a prefix of a longer tensor is the shorter
/// one. y: f32, bf16 or f16, any shape without gaps.
tw_status tw_standard_normal(const tw_tensor* y, const tw_normal_args* args, tw_stream stream);

#ifdef __cplusplus
}
#endif
