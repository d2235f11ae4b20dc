// out[g] = how often group g occurs.
// Memory bound: the list is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/count.h"
#include "tilewright/kernels/moe/list.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k) {
  const Expr n = k.dim("n"), groups = k.dim("groups");
  const Buffer index = k.input("group_idx", i64, {n});
  k.scalar(groups);
  const Buffer out = k.inout("out", i32, {groups});
  count_groups(k, index, out,
               {k.constant("bins"), k.constant("alone") != 0, "group_count: group {} of {}"});
}

const Jit& kernel() {
  static const Jit jit(define_kernel("group_count", dataflow).schedule("cuda", schedule_count));
  return jit;
}

}  // namespace

void group_count(const Tensor& group_idx, const Tensor& out, Stream stream) {
  constexpr const char* f = "group_count";
  const Tensor list = as_list(f, {"group_idx", group_idx}, {i64});
  check_rank(f, {"out", out}, 1);
  check_dtype(f, {"out", out}, {i32});
  check_apart(f, {"out", out}, {{"group_idx", group_idx}});
  const int64_t bins = bins_for(out.dim(0));
  kernel()({}, {{"bins", bins}, {"alone", is_alone(list.numel(), bins)}}, out.device().kind)
      .launch(stream, {list, out.dim(0), out});
}

}  // namespace tw::kernels
