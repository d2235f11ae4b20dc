// tilewright/kernels/attention.h
#include "tilewright/kernels/attention.h"

#include "bind.h"

namespace tw::python {
namespace {

/// The log-sum-exp of each row, where the caller wants it.
std::optional<Tensor> lse_output(Call& call, bool wanted, const MaybeArray& lse,
                                 const Shape& shape) {
  if (!wanted && !lse) return {};
  return call.output("lse", lse, f32, shape);
}

}  // namespace

void bind_attention(nb::module_& m) {
  m.def(
      "attention",
      [](const Array& q_, const Array& k_, const Array& v_, std::optional<float> scale, bool causal,
         const MaybeArray& key_lengths_, bool return_lse, const MaybeArray& out,
         const MaybeArray& lse_, const Dtype& dtype) {
        Call call("attention", dtype);
        const Tensor q = call.input("q", q_), k = call.input("k", k_), v = call.input("v", v_);
        const auto key_lengths = call.input("key_lengths", key_lengths_);
        const Tensor o = call.output("out", out, q.dtype(), q.shape());
        const auto lse =
            lse_output(call, return_lse, lse_, {dim_or_0(q, 0), dim_or_0(q, 2), dim_or_0(q, 1)});
        const kernels::AttentionArgs args{.scale = scale,
                                          .causal = causal,
                                          .key_lengths = pointer(key_lengths),
                                          .lse = pointer(lse)};
        call.run([&](Stream stream) { kernels::attention(q, k, v, o, args, stream); });
        return call.result();
      },
      "q"_a, "k"_a, "v"_a, nb::kw_only(), "scale"_a = nb::none(), "causal"_a = false,
      "key_lengths"_a = nb::none(), "return_lse"_a = false, "out"_a = nb::none(),
      "lse"_a = nb::none(), "dtype"_a = nb::none(),
      "softmax(scale * q k^T) v for q [b, sq, hq, d] and k, v [b, sk, hkv, d]; hq is a multiple "
      "of\n"
      "hkv. scale is 1 / sqrt(d) unless given. causal: query i sees the keys up to\n"
      "i - sq + the number of keys. key_lengths [b] i32: how many keys each entry has.\n"
      "With return_lse or lse the log-sum-exp [b, hq, sq] of the scores is returned too.");
  m.def(
      "attention_packed",
      [](const Array& q_, const Array& k_, const Array& v_, const Array& cu_seqlens_,
         int64_t max_len, std::optional<float> scale, bool causal, bool return_lse,
         const MaybeArray& out, const MaybeArray& lse_, const Dtype& dtype) {
        Call call("attention_packed", dtype);
        const Tensor q = call.input("q", q_), k = call.input("k", k_), v = call.input("v", v_);
        const Tensor cu_seqlens = call.input("cu_seqlens", cu_seqlens_);
        const Tensor o = call.output("out", out, q.dtype(), q.shape());
        const auto lse = lse_output(call, return_lse, lse_, {dim_or_0(q, 1), dim_or_0(q, 0)});
        const kernels::AttentionArgs args{.scale = scale, .causal = causal, .lse = pointer(lse)};
        call.run([&](Stream stream) {
          kernels::attention_packed(q, k, v, cu_seqlens, max_len, o, args, stream);
        });
        return call.result();
      },
      "q"_a, "k"_a, "v"_a, "cu_seqlens"_a, "max_len"_a, nb::kw_only(), "scale"_a = nb::none(),
      "causal"_a = false, "return_lse"_a = false, "out"_a = nb::none(), "lse"_a = nb::none(),
      "dtype"_a = nb::none(),
      "The same for sequences that are packed one after the other: q [tokens, hq, d],\n"
      "k, v [tokens, hkv, d], cu_seqlens [b + 1] their bounds, max_len the longest. The\n"
      "log-sum-exp is [hq, tokens].");
}

}  // namespace tw::python
