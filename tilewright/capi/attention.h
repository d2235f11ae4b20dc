// Attention, forward, for C. Tensors are contiguous along their last dimension, at any other
// strides.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_attention_args {
  float scale;                   // of the scores; 0: 1 / sqrt(d)
  bool causal;                   // query i sees the keys up to i - sq + the number of keys
  const tw_tensor* key_lengths;  // [b] i32: entry i has that many keys; NULL: sk
  const tw_tensor* lse;          // f32: log of the sum of exp(score) of each row, an output
} tw_attention_args;

/// o = softmax(scale q k^T) v for each entry of the batch and each head; query head i uses key head
/// i / (hq / hkv). Rows that see no key are 0, their lse is -inf.
/// q, o: [b, sq, hq, d], k, v: [b, sk, hkv, d], all f32, bf16 or f16; d from 8 to 256; hq a
/// multiple of hkv; lse: [b, hq, sq].
tw_status tw_attention(const tw_tensor* q, const tw_tensor* k, const tw_tensor* v,
                       const tw_tensor* o, const tw_attention_args* args, tw_stream stream);

/// The same for sequences that are packed one after the other: sequence s has the tokens from
/// cu_seqlens[s] up to cu_seqlens[s + 1], of which there are at most max_len.
/// q, o: [tokens, hq, d], k, v: [tokens, hkv, d]; cu_seqlens: [b + 1] i32 or i64; lse: [hq,
/// tokens]; without key_lengths.
tw_status tw_attention_packed(const tw_tensor* q, const tw_tensor* k, const tw_tensor* v,
                              const tw_tensor* cu_seqlens, int64_t max_len, const tw_tensor* o,
                              const tw_attention_args* args, tw_stream stream);

#ifdef __cplusplus
}
#endif
