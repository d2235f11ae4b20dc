#include "tilewright/capi/gemm.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/gemm.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::Reader;

namespace {

kernels::GemmArgs read_args(Reader& read, const tw_gemm_args* given) {
  const tw_gemm_args c = args_or_default(given);
  kernels::GemmArgs args;
  args.trans_a = c.trans_a;
  args.trans_b = c.trans_b;
  args.activation = read.choice("activation", c.activation, kernels::Activation::silu);
  args.bias = read.optional("bias", c.bias);
  args.residual = read.optional("residual", c.residual);
  return args;
}

}  // namespace

tw_status tw_gemm(const tw_tensor* a, const tw_tensor* b, const tw_tensor* c,
                  const tw_gemm_args* args, tw_stream stream) {
  return guarded("gemm", [&](Reader& read) {
    kernels::gemm(read("a", a), read("b", b), read("c", c), read_args(read, args), Stream{stream});
  });
}

tw_status tw_batched_gemm(const tw_tensor* a, const tw_tensor* b, const tw_tensor* c,
                          const tw_gemm_args* args, tw_stream stream) {
  return guarded("batched_gemm", [&](Reader& read) {
    kernels::batched_gemm(read("a", a), read("b", b), read("c", c), read_args(read, args),
                          Stream{stream});
  });
}

tw_status tw_gemm_fp8(const tw_tensor* a, const tw_tensor* scale_a, const tw_tensor* b,
                      const tw_tensor* scale_b, const tw_tensor* c, const tw_gemm_args* args,
                      tw_stream stream) {
  return guarded("gemm_fp8", [&](Reader& read) {
    kernels::gemm_fp8(read("a", a), read("scale_a", scale_a), read("b", b),
                      read("scale_b", scale_b), read("c", c), read_args(read, args),
                      Stream{stream});
  });
}
