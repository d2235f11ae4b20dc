// Attention, forward.
//
// Tensors are on one device, at any strides but the last, which is 1. Arguments of a wrong shape,
// dtype or stride are an Error, and nothing is written.
#pragma once

#include <optional>

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

struct AttentionArgs {
  std::optional<float> scale = {};      // of the scores; absent: 1 / sqrt(d)
  bool causal = false;                  // query i sees the keys up to i - sq + the number of keys
  const Tensor* key_lengths = nullptr;  // [b] i32: entry i has that many keys; absent: sk
  const Tensor* lse = nullptr;          // f32: log of the sum of exp(score) of each row, an output
};

/// o = softmax(scale q k^T) v for each entry of the batch and each head, over the keys that a query
/// sees. Rows that see none are 0, their lse is -inf. Query head i uses key head i / (hq / hkv).
/// q, o: [b, sq, hq, d], k, v: [b, sk, hkv, d], all of one dtype: f32, bf16 or f16; d from 8 to
/// 256; hq a multiple of hkv; lse: [b, hq, sq]. Scores and sums in f32, the softmax's terms are
/// rounded to the dtype before they are multiplied with v.
void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
               const AttentionArgs& args = {}, Stream stream = {});

/// The same for sequences that are packed one after the other: sequence s has the tokens from
/// cu_seqlens[s] up to cu_seqlens[s + 1], of which there are at most max_len.
/// q, o: [tokens, hq, d], k, v: [tokens, hkv, d]; cu_seqlens: [b + 1] i32 or i64; lse: [hq,
/// tokens]; without key_lengths.
void attention_packed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cu_seqlens,
                      int64_t max_len, const Tensor& o, const AttentionArgs& args = {},
                      Stream stream = {});

}  // namespace tw::kernels
