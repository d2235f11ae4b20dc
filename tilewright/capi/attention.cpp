#include "tilewright/capi/attention.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/attention.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::Reader;

namespace {

kernels::AttentionArgs read_args(Reader& read, const tw_attention_args* given) {
  const tw_attention_args c = args_or_default(given);
  kernels::AttentionArgs args;
  if (c.scale != 0) args.scale = c.scale;
  args.causal = c.causal;
  args.key_lengths = read.optional("key_lengths", c.key_lengths);
  args.lse = read.optional("lse", c.lse);
  return args;
}

}  // namespace

tw_status tw_attention(const tw_tensor* q, const tw_tensor* k, const tw_tensor* v,
                       const tw_tensor* o, const tw_attention_args* args, tw_stream stream) {
  return guarded("attention", [&](Reader& read) {
    kernels::attention(read("q", q), read("k", k), read("v", v), read("o", o),
                       read_args(read, args), Stream{stream});
  });
}

tw_status tw_attention_packed(const tw_tensor* q, const tw_tensor* k, const tw_tensor* v,
                              const tw_tensor* cu_seqlens, int64_t max_len, const tw_tensor* o,
                              const tw_attention_args* args, tw_stream stream) {
  return guarded("attention_packed", [&](Reader& read) {
    kernels::attention_packed(read("q", q), read("k", k), read("v", v),
                              read("cu_seqlens", cu_seqlens), max_len, read("o", o),
                              read_args(read, args), Stream{stream});
  });
}
