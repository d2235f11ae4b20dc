// In each row a group that occurred before becomes -1.
// Memory bound: indices are read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kWord = 64, kMostGroups = 2 * kWord;

// A thread has a row, and in two words the groups that it has seen.
void dataflow(Builder& k) {
  const int64_t topk = k.constant("topk"), rows = k.tunable("rows", 512);
  const Expr t = k.dim("t");
  const Buffer indices = k.inout("group_indices", i64, {t, topk});
  const Expr limit = k.scalar("limit", i64);
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    parallel({rows}, [&](Expr i) {
      const Expr row = let(block * rows + i);
      Variable low = var(u64, 0), high = var(u64, 0);
      if_(row < t, [&] {
        serial(topk, [&](Expr slot) {
          const Expr group = let(indices(row, slot));
          device_assert(group < limit, "inplace_unique_group_indices: group {} of {}",
                        {group, limit});
          if_(group >= 0, [&] {
            const Expr bit = let(Expr(uint64_t{1}) << (group % kWord));
            const Expr is_low = let(group < kWord);
            if_((select(is_low, low, high) & bit) != 0, [&] { indices(row, slot) = -1; });
            low |= select(is_low, bit, uint64_t{0});
            high |= select(is_low, uint64_t{0}, bit);
          });
        });
      });
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("inplace_unique_group_indices", dataflow)
          .schedule("cuda", [](Schedule& s, const Case&) { s.threads(128).set("rows", 128); }));
  return jit;
}

}  // namespace

void inplace_unique_group_indices(const Tensor& group_indices, int64_t num_groups, Stream stream) {
  constexpr const char* f = "inplace_unique_group_indices";
  check_rank(f, {"group_indices", group_indices}, 2);
  check_dtype(f, {"group_indices", group_indices}, {i64});
  TW_REQUIRE(0 <= num_groups && num_groups <= kMostGroups,
             "{}: num_groups is {}, it must be from 0 to {}", f, num_groups, kMostGroups);
  const int64_t limit = lang::cdiv(num_groups, kWord) * kWord;
  kernel()({}, {{"topk", group_indices.dim(1)}}, group_indices.device().kind)
      .launch(stream, {group_indices, limit});
}

}  // namespace tw::kernels
