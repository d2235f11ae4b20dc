// Position-dependent rotations of queries and keys, for C.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_rotary_args {
  /// Like x, with its own number of heads, rotated in the same launch; NULL: none.
  const tw_tensor* key;
  /// The position of each token, [t] or [b, s] like those of x, i32 or i64, at any stride of b;
  /// NULL: 0, 1, ... in each sequence.
  const tw_tensor* positions;
  int64_t offset;    // added to each position
  bool interleaved;  // pairs are 2 i and 2 i + 1, else i and i + d / 2
  bool conjugate;    // the other way round
} tw_rotary_args;

/// Rotates the pairs of x's elements, in place: with p a token's position, c = cos_sin[p, i] and
/// s = cos_sin[p, d / 2 + i], pair i = (u, v) becomes (u c - v s, u s + v c), conjugate
/// (u c + v s, v c - u s), in f32. x: [t, heads, d] or [b, s, heads, d], f32 or bf16, d 64 or 128,
/// contiguous along d alone; cos_sin: [rows, d] f32, at any row stride. A position outside has the
/// factors 0.
tw_status tw_apply_rotary(const tw_tensor* x, const tw_tensor* cos_sin, const tw_rotary_args* args,
                          tw_stream stream);

#ifdef __cplusplus
}
#endif
