// In each row a group that occurred before becomes -1.
// Memory bound: indices are read once.
#include <algorithm>
#include <vector>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/slots.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kWord = 64, kMostGroups = 2 * kWord;

// A thread has a row, and in words the groups that it has seen.
void dataflow(Builder& k) {
  const int64_t topk = k.constant("topk"), words = k.constant("words");
  const int64_t rows = k.tunable("rows", 512);
  const Expr t = k.dim("t");
  const Buffer indices = k.inout("group_indices", i64, {t, topk});
  const Expr limit = k.scalar("limit", i64);
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    parallel({rows}, [&](Expr i) {
      const Expr row = let(block * rows + i);
      std::vector<Variable> seen;
      for (int64_t w = 0; w < words; ++w) seen.push_back(var(u64, 0));
      if_(row < t, [&] {
        in_groups_of_slots(topk, [&](const Expr& slot, int64_t count) {
          // All are on their way at once: an assertion would wait for each.
          std::vector<Expr> groups;
          for (int64_t c = 0; c < count; ++c) groups.push_back(let(indices(row, slot + c)));
          Expr largest = groups[0];
          for (size_t c = 1; c < groups.size(); ++c) largest = let(max(largest, groups[c]));
          device_assert(largest < limit, "inplace_unique_group_indices: group {} of {}",
                        {largest, limit});
          for (int64_t c = 0; c < count; ++c) {
            const Expr group = groups[static_cast<size_t>(c)];
            const Expr bit = let(Expr(uint64_t{1}) << (cast(group, u64) % uint64_t{kWord}));
            for (int64_t w = 0; w < words; ++w) {
              // No group is behind the last word.
              const Expr is_here =
                  w * kWord <= group && (w + 1 == words || group < (w + 1) * kWord);
              const Expr mine = let(select(is_here, bit, uint64_t{0}));
              if_((seen[static_cast<size_t>(w)] & mine) != 0, [&] { indices(row, slot + c) = -1; });
              seen[static_cast<size_t>(w)] |= mine;
            }
          }
        });
      });
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("inplace_unique_group_indices", dataflow)
          .schedule("cuda", [](Schedule& s, const Case&) { s.threads(32).set("rows", 32); }));
  return jit;
}

}  // namespace

void inplace_unique_group_indices(const Tensor& group_indices, int64_t num_groups, Stream stream) {
  constexpr const char* f = "inplace_unique_group_indices";
  check_rank(f, {"group_indices", group_indices}, 2);
  check_dtype(f, {"group_indices", group_indices}, {i64});
  TW_REQUIRE(0 <= num_groups && num_groups <= kMostGroups,
             "{}: num_groups is {}, it must be from 0 to {}", f, num_groups, kMostGroups);
  if (group_indices.dim(1) == 0) return;
  const int64_t limit = lang::cdiv(num_groups, kWord) * kWord;
  const int64_t words = std::max<int64_t>(limit / kWord, 1);
  kernel()({}, {{"topk", group_indices.dim(1)}, {"words", words}}, group_indices.device().kind)
      .launch(stream, {group_indices, limit});
}

}  // namespace tw::kernels
