// out[e] = (c_e * experts) / (tokens * num_aux_topk), where expert e occurs c_e times.
// Memory bound: the list is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/count.h"
#include "tilewright/kernels/moe/list.h"

namespace tw::kernels {
namespace {

// Counts may stand where the quotients will.
void dataflow(Builder& k) {
  const Expr n = k.dim("n"), experts = k.dim("experts");
  const Buffer index = k.input("topk_idx", i64, {n});
  k.scalar(experts);
  const Expr total = k.scalar("total", i64);
  const Buffer out = k.inout("out", u32, {experts});
  count_groups(k, index, out,
               {k.constant("bins"), k.constant("alone") != 0, "aux_fi: expert {} of {}"},
               [&](const Expr& count) {
                 const Expr share = cast(cast(count, i64) * experts, f32);
                 return bitcast(ieee::div(share, cast(total, f32)), u32);
               });
}

const Jit& kernel() {
  static const Jit jit(define_kernel("aux_fi", dataflow).schedule("cuda", schedule_count));
  return jit;
}

}  // namespace

void aux_fi(const Tensor& topk_idx, int64_t num_aux_topk, const Tensor& out, Stream stream) {
  constexpr const char* f = "aux_fi";
  const Tensor list = as_list(f, {"topk_idx", topk_idx}, {i64});
  TW_REQUIRE(1 <= num_aux_topk && num_aux_topk <= INT32_MAX,
             "{}: num_aux_topk is {}, it must be from 1 to {}", f, num_aux_topk, INT32_MAX);
  check_rank(f, {"out", out}, 1);
  check_dtype(f, {"out", out}, {f32});
  check_apart(f, {"out", out}, {{"topk_idx", topk_idx}});
  // Without tokens there are no counts: 0 / 1.
  const int64_t total = std::max<int64_t>(topk_idx.dim(0), 1) * num_aux_topk;
  const int64_t bins = bins_for(out.dim(0));
  kernel()({}, {{"bins", bins}, {"alone", is_alone(list.numel(), bins)}}, out.device().kind)
      .launch(stream, {list, out.dim(0), total, as_bits(f, {"out", out})});
}

}  // namespace tw::kernels
