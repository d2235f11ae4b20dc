// out = the experts of one rank, numbered densely, and -1 for those of others.
// Memory bound: indices are read once, out is written once.
#include <bit>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/experts.h"
#include "tilewright/kernels/moe/list.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

/// Divides integers p from 0 to 2^63 - 1 by one that is known on the host. With d <= 2^l, m =
/// floor(2^(63 + l) / d) + 1 fits 64 bits, and p m / 2^(63 + l) exceeds p / d by less than 1 / d,
/// so that both have one floor (Granlund and Montgomery, Division by invariant integers using
/// multiplication, theorem 4.2).
struct Divisor {
  explicit Divisor(int64_t d)
      : shift(std::bit_width(static_cast<uint64_t>(d - 1))),
        multiplier(static_cast<uint64_t>((static_cast<unsigned __int128>(1) << (63 + shift)) /
                                         static_cast<uint64_t>(d)) +
                   1) {}
  int32_t shift;
  uint64_t multiplier;
};

void dataflow(Builder& k, DType dtype) {
  const int64_t chunk = k.tunable("chunk", 4096);
  const Expr n = k.dim("n");
  const Buffer indices = k.input("indices", dtype, {n});
  struct By {
    Expr value, multiplier, shift;
    Expr divide(const Expr& p) const {
      return cast(mul_high(cast(p, u64) << 1, multiplier) >> shift, i64);
    }
  };
  const auto divisor = [&](const std::string& name) {
    return By{k.scalar(name, i64), k.scalar(name + "_multiplier", u64),
              k.scalar(name + "_shift", i32)};
  };
  const By of_rank = divisor("experts_of_rank"), tp = divisor("num_tp_ranks");
  const Expr tp_rank = k.scalar("tp_rank", i64);
  const Buffer out = k.output("out", dtype, {n});
  k.launch({cdiv(n, chunk)}, [&](Expr block) {
    parallel({chunk}, [&](Expr i) {
      const Expr p = let(cast(indices(block * chunk + i), i64));
      const Expr rank = let(of_rank.divide(p)), group = let(tp.divide(rank));
      const Expr local = group * of_rank.value + (p - rank * of_rank.value);
      const Expr is_own = p >= 0 && rank - group * tp.value == tp_rank;
      out(block * chunk + i) = cast(select(is_own, local, -1), dtype);
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
