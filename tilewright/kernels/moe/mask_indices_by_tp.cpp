// out = the experts of one rank, numbered densely, and -1 for those of others.
// Memory bound: indices are read once, out is written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/experts.h"
#include "tilewright/kernels/moe/list.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, DType dtype) {
  const int64_t chunk = k.tunable("chunk", 4096);
  const Expr n = k.dim("n");
  const Buffer indices = k.input("indices", dtype, {n});
  const LocalExperts local(k);
  const Buffer out = k.output("out", dtype, {n});
  k.launch({cdiv(n, chunk)}, [&](Expr block) {
    parallel({chunk}, [&](Expr i) {
      const Expr number = local.number(cast(indices(block * chunk + i), i64));
      out(block * chunk + i) = cast(number, dtype);
    });
  });
}

/// Each thread has two vectors of 16 bytes.
const Jit& kernel() {
  static const Jit jit(define_kernel("mask_indices_by_tp", dataflow)
                           .schedule("cuda", [](Schedule& s, const Case& c) {
                             constexpr int64_t kThreads = 128;
                             s.threads(kThreads).set("chunk", kThreads * 256 / c.dtype().bits());
                           }));
  return jit;
}

}  // namespace

void mask_indices_by_tp(const Tensor& indices, const TpRanks& ranks, const Tensor& out,
                        Stream stream) {
  constexpr const char* f = "mask_indices_by_tp";
  const Tensor from = as_list(f, {"indices", indices}, {i64, i32});
  const int64_t of_rank = experts_of_rank(f, ranks);
  check_like(f, {"out", out}, {"indices", indices});
  check_apart(f, {"out", out}, {{"indices", indices}});
  const Tensor to = as_list(f, {"out", out}, {indices.dtype()});
  const Divisor by_rank(of_rank), by_tp(ranks.num_tp_ranks);
  kernel()({indices.dtype()}, {}, out.device().kind)
      .launch(stream, {from, of_rank, by_rank.multiplier, by_rank.shift, ranks.num_tp_ranks,
                       by_tp.multiplier, by_tp.shift, ranks.tp_rank, to});
}

}  // namespace tw::kernels
