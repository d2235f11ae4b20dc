// The maps of the fused layout, from the experts of each token.
// Bound by latency: three launches over little memory. The first counts the pairs (token, expert)
// of each expert in chunks of the list, the second sums up over the chunks before, and the third
// gives each pair of a chunk its place; of few chunks, it sums up itself. No result depends on the
// order of atomics.
#include <algorithm>
#include <bit>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/list.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kMostExperts = 1024;
constexpr int64_t kChunk = 256;  // pairs
constexpr int64_t kFew = 16;     // chunks

void dataflow(Builder& k) {
  const Expr n = k.dim("n"), np = k.dim("np"), experts = k.dim("experts");
  const int64_t topk = k.constant("topk"), bins = k.constant("bins");  // at least `experts`
  const int64_t strip = k.tunable("strip", 1024);
  const bool few = k.constant("few") != 0;
  const Buffer topk_idx = k.input("topk_idx", i64, {n});
  const Expr alignment = k.scalar("alignment", i32);
  k.scalar(np);
  k.scalar(experts);
  const Buffer pos_to_expert = k.output("pos_to_expert", i32, {np});
  const Buffer pos_to_token = k.output("pos_to_token", i32, {np});
  const Buffer pos_to_token_topk = k.output("pos_to_token_topk", i32, {np});
  const Buffer token_topk_to_pos = k.output("token_topk_to_pos", i32, {n});
  const Buffer expert_start = k.output("expert_start", i32, {experts});
  const Buffer expert_end = k.output("expert_end", i32, {experts});
  const Buffer num_tokens = k.output("num_tokens_per_expert", i32, {experts});
  const Expr chunks = cdiv(n, kChunk);
  // The pairs of each expert before each chunk, in the end of all chunks.
  const Buffer before = k.inout("before", i32, {experts, chunks + 1});
  safe_value(topk_idx, -1);

  // The pairs in each chunk; and positions without a pair, until the third launch knows better.
  k.launch({cdiv(max(n, np), kChunk)}, {.name = "count"}, [&](Expr block) {
    const Buffer count = shared(i32, {bins}, "count");
    clear(count);
    parallel({kChunk}, [&](Expr i) {
      const Expr e = let(topk_idx(block * kChunk + i));
      device_assert(e < experts, "get_fused_mapping: expert {} of {}", {e, experts});
      if_(e >= 0, [&] { atomic_add(count(e), 1); });
    });
    parallel({bins}, [&](Expr e) { before(e, block) = count(e); });
    for (const Buffer& map : {pos_to_expert, pos_to_token, pos_to_token_topk}) {
      parallel({kChunk}, [&](Expr i) { map(block * kChunk + i) = -1; });
    }
  });

  // The pairs before each chunk in the place of those in it.
  const auto sum_up = [&](const Expr& e) {
    const Buffer part = fragment(i32, {strip}, "part"), sum = fragment(i32, {1}, "sum");
    const Buffer total = shared(i32, {1}, "total");
    clear(total);
    serial(cdiv(chunks + 1, strip), [&](Expr number) {
      const Expr first = let(number * strip);
      parallel({strip},
               [&](Expr i) { part(i) = if_else(first + i < chunks, before(e, first + i), 0); });
      reduce_sum(part, sum, 0);
      cumsum(part, 0, {.exclusive = true});
      parallel({strip}, [&](Expr i) { before(e, first + i) = part(i) + total(0); });
      parallel({1}, [&](Expr i) { total(i) += sum(i); });
    });
  };
  if (!few) k.launch({experts}, {.name = "sum"}, sum_up);

  // Of a chunk, groups in which each pair looks for those before it.
  constexpr int64_t kGroup = 32, kGroups = kChunk / kGroup;
  k.launch({few ? max(chunks, 1) : chunks}, {.name = "place"}, [&](Expr block) {
    const Buffer start = fragment(i32, {bins}, "start"), size = fragment(i32, {bins}, "size");
    const Buffer total = fragment(i32, {bins}, "total"), ahead = fragment(i32, {bins}, "ahead");
    parallel({bins}, [&](Expr e) {
      if (few) {
        Expr all = 0, first = 0;
        for (int64_t chunk = 0; chunk < kFew; ++chunk) {
          const Expr count = let(if_else(chunk < chunks, before(e, chunk), 0));
          all = all + count;
          if (chunk + 1 < kFew) first = first + select(chunk < block, count, 0);
        }
        total(e) = all;
        ahead(e) = first;
      } else {
        total(e) = before(e, chunks);
        ahead(e) = before(e, block);
      }
    });
    parallel({bins}, [&](Expr e) { size(e) = cdiv(total(e), alignment) * alignment; });
    copy(size, start);
    cumsum(start, 0, {.exclusive = true});
    if_(block == 0, [&] {
      parallel({bins}, [&](Expr e) {
        expert_start(e) = start(e);
        expert_end(e) = start(e) + size(e);
        num_tokens(e) = size(e);
      });
    });
    // Where the next pair of each group goes, by expert.
    const Buffer next = shared(i32, {kGroups, bins}, "next"),
                 expert = shared(i32, {kChunk}, "expert");
    clear(next);
    parallel({kChunk}, [&](Expr i) {
      const Expr e = let(topk_idx(block * kChunk + i));
      const Expr known = let(cast(select(e >= 0 && e < experts, e, -1), i32));
      expert(i) = known;
      if_(known >= 0, [&] { atomic_add(next(i / kGroup, known), 1); });
    });
    parallel({bins}, [&](Expr e) {
      Variable at = var(i32, start(e) + ahead(e));
      unroll(kGroups, [&](Expr g) {
        const Expr count = let(next(g, e));
        next(g, e) = at;
        at += count;
      });
    });
    parallel({kChunk}, [&](Expr i) {
      const Expr pair = let(block * kChunk + i), e = let(expert(i)), g = let(i / kGroup);
      Variable pos = var(i32, -1);
      if_(e >= 0, [&] {
        pos = next(g, e);
        serial(g * kGroup, i, [&](Expr j) { pos += cast(expert(j) == e, i32); });
        const Expr at = let(pos);
        pos_to_expert(at) = e;
        pos_to_token(at) = cast(pair / std::max<int64_t>(topk, 1), i32);
        pos_to_token_topk(at) = cast(pair, i32);
      });
      token_topk_to_pos(pair) = pos;
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("get_fused_mapping", dataflow).schedule("cuda", [](Schedule& s, const Case&) {
        s.threads(256);
      }));
  return jit;
}

}  // namespace

Shape fused_mapping_scratch(int64_t pairs, int64_t experts) {
  return {experts, lang::cdiv(pairs, kChunk) + 1};
}

void get_fused_mapping(const Tensor& topk_idx, int64_t alignment, const FusedMapping& maps,
                       const Tensor& scratch, Stream stream) {
  constexpr const char* f = "get_fused_mapping";
  const Named idx{"topk_idx", topk_idx};
  const Tensor pairs = as_list(f, idx, {i64});
  TW_REQUIRE(topk_idx.numel() <= INT32_MAX, "{}: topk_idx is {}, the maps have room for {} pairs",
             f, topk_idx, INT32_MAX);
  TW_REQUIRE(1 <= alignment && alignment <= INT32_MAX,
             "{}: the alignment is {}, it must be from 1 to {}", f, alignment, INT32_MAX);
  const Shape positions = {maps.pos_to_expert.rank() > 0 ? maps.pos_to_expert.dim(0) : 0};
  const Shape experts = {maps.expert_start.rank() > 0 ? maps.expert_start.dim(0) : 0};
  TW_REQUIRE(1 <= experts[0] && experts[0] <= kMostExperts,
             "{}: there are {} experts, there must be from 1 to {}", f, experts[0], kMostExperts);
  const Shape scratch_shape = fused_mapping_scratch(topk_idx.numel(), experts[0]);
  struct Output {
    Named named;
    const Shape& shape;
    const char* like;
  };
  const Output outputs[] = {
      {{"pos_to_expert", maps.pos_to_expert}, positions, "[np]"},
      {{"pos_to_token", maps.pos_to_token}, positions, "like pos_to_expert"},
      {{"pos_to_token_topk", maps.pos_to_token_topk}, positions, "like pos_to_expert"},
      {{"token_topk_to_pos", maps.token_topk_to_pos}, topk_idx.shape(), "like topk_idx"},
      {{"expert_start", maps.expert_start}, experts, "[experts]"},
      {{"expert_end", maps.expert_end}, experts, "like expert_start"},
      {{"num_tokens_per_expert", maps.num_tokens_per_expert}, experts, "like expert_start"},
      {{"scratch", scratch}, scratch_shape, "of fused_mapping_scratch()"}};
  for (const Output& out : outputs) {
    check_dtype(f, out.named, {i32});
    check_shape(f, out.named, out.shape, out.like);
    check_apart(f, out.named, {idx});
  }
  const auto bins = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(experts[0])));
  const bool few = pairs.numel() <= kFew * kChunk;
  kernel()({}, {{"topk", topk_idx.dim(1)}, {"bins", std::max<int64_t>(bins, 32)}, {"few", few}},
           topk_idx.device().kind)
      .launch(stream, {pairs, static_cast<int32_t>(alignment), positions[0], experts[0],
                       maps.pos_to_expert, maps.pos_to_token, maps.pos_to_token_topk,
                       as_list(f, {"token_topk_to_pos", maps.token_topk_to_pos}, {i32}),
                       maps.expert_start, maps.expert_end, maps.num_tokens_per_expert, scratch});
}

}  // namespace tw::kernels
