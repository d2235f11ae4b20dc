// idx, weights = the best experts of each token by sqrt(softplus(logits)) + bias, and their scores
// without bias, normalised; see moe.h.
// Bound by instructions, as topk_gate; memory bound where scores are written.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/experts.h"
#include "tilewright/kernels/moe/gate.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/kernels/moe/scoring.h"
#include "tilewright/kernels/moe/weights.h"
#include "tilewright/kernels/select/best.h"

namespace tw::kernels {
namespace {

// Tensors that a call may leave out are empty then: what is read outside of one has the value that
// stands for its absence, what is written there goes nowhere. Calls with a bias, images, a map or
// random experts have kernels of their own, so that the first call compiles no more than it needs.
void dataflow(Builder& k) {
  const Expr t = k.dim("t");
  const int64_t e = k.constant("e"), count = k.constant("k"), slots = count + k.constant("shared");
  const int64_t logical = e + slots - count, rows = k.tunable("rows", 1);
  const int64_t width = width_of(slots);
  const Search search{rows,
                      e,
                      count,
                      /*in_word=*/false,
                      k.tunable("staged", 0) != 0,
                      /*with_keys=*/true};
  const Buffer logits = k.input("logits", f32, {t, e});
  const Buffer mask = k.input("mask", bool_, {k.dim("masks")});
  const bool forces = k.constant("has_forced") != 0;
  const Buffer force = k.input("force_random", bool_, {k.dim("forces")});
  const Buffer fix = k.input("fix_routing_mask", bool_, {k.dim("fixes")});
  const bool has_bias = k.constant("has_bias") != 0, has_images = k.constant("has_images") != 0;
  const auto row_if = [&](std::string_view name, bool exists) {
    return k.dim(name, {.min = exists ? 1 : 0});
  };
  const Buffer bias = k.input("bias", f32, {row_if("biases", has_bias), e});
  const Buffer image_bias = k.input("image_bias", f32, {row_if("image_biases", has_images), e});
  const Buffer image = k.input("image_token_mask", bool_, {k.dim("images")});
  const Duplicates duplicates(k, logical);
  const Expr scale = k.scalar("routed_scaling_factor", f32);
  const Buffer unmapped = k.inout("unmapped_topk_idx", i64, {k.dim("unmapped"), count},
                                  {.strides = {k.dim("unmapped_row"), 1}});
  const Buffer scores = k.inout("scores", f32, {k.dim("scored"), e});
  const Buffer idx = k.output("idx", i64, {t, slots});
  const Buffer weights = k.output("weights", f32, {t, slots});
  safe_value(mask, true);
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const Buffer kind = shared(i32, {rows, 1}, "kind");
    parallel({rows, 1}, [&](Expr i, Expr j) {
      const Expr at = row + i;
      const Expr routed = select(fix(at), kFixed, kRouted);
      kind(i, j) = select(!mask(at) || at >= t, kMasked,
                          forces ? select(force(at), kForced, routed) : routed);
    });

    // 1. Scores of all experts, and the best of them.
    const ScoresOfRows of_rows(rows, e);
    of_rows.load(logits, row, [](const Expr& logit) { return sqrt_softplus(logit); });
    of_rows.each([&](const Expr& i, const Expr& expert, const Expr& score) {
      if_(row + i < scores.extent(0),
          [&] { scores(row + i, expert) = select(kind(i, 0) >= kFixed, score, 0.0F); });
    });
    const int64_t columns = of_rows.columns();
    Buffer biases;
    if (has_images) {
      biases = shared(f32, {2, columns}, "biases");
      parallel({columns}, [&](Expr expert) { biases(0, expert) = bias(0, expert); });
      // Of another shape, so that both loops stay apart, each of vectors.
      parallel({1, columns}, [&](Expr, Expr expert) { biases(1, expert) = image_bias(0, expert); });
    }
    const auto keys = [&](const Expr& i, const std::vector<Expr>& experts) {
      Expr is_image;
      if (has_images) {
        is_image = let(cast(if_else(row + i < image.extent(0), image(row + i), false), i64));
      }
      std::vector<Expr> all;
      for (const Expr& expert : experts) {
        const Expr added = has_images ? biases(is_image, expert)
                           : has_bias ? bias(0, expert)
                                      : Expr(0.0F);
        all.push_back(of_rows.key(i, expert, added));
      }
      return all;
    };
    const Found found = find_best(search, width, keys);

    // 2. The results of tokens with found or given experts, and of those without.
    const auto score = [&](const Expr& i, const Expr& expert) { return of_rows(i, expert); };
    const auto number = [&](const Expr& expert, const Expr& token) {
      return duplicates.physical(expert, token);
    };
    finish_gate({"moe_topk_gate_forward", rows, e, count, slots, row, scale, forces,
                 /*excludes=*/has_bias || has_images, kind, unmapped, idx, weights},
                found, score, number);

    // 3. Tokens that get any experts: slot r the c-th of those that the slots before it left. The
    // words depend on the token and the slot alone.
    if (forces) {
      Buffer total;
      if (duplicates.exist) {
        const Buffer listed = fragment(i32, {logical}, "listed");
        parallel({logical}, {.max_vector = 1}, [&](Expr j) { listed(j) = duplicates.counts(j); });
        reduce_sum(listed, total = fragment(i32, {1}, "total"), 0);
      }
      const Buffer left = shared(i32, {rows, width}, "left");
      parallel({rows, width}, [&](Expr i, Expr r) {
        if_(r < slots && kind(i, 0) == kForced, [&] {
          const Expr all = let(duplicates.exist ? total(0) : Expr(static_cast<int32_t>(logical)));
          device_assert(all >= slots, "moe_topk_gate_forward: fewer experts than slots", {all});
          const auto words = philox(cast(duplicates.rank, u64), 0, cast((row + i) * 32 + r, u64));
          assume(row + i < t);
          left(i, r) = cast(words[1] % cast(all - cast(r, i32), u32), i32);
          weights(row + i, r) = uniform(words[0]);
        });
      });
      parallel({rows, width}, [&](Expr i, Expr r) {
        if_(r < slots && kind(i, 0) == kForced, [&] {
          Variable id = var(i32, left(i, r));
          for (int64_t before = slots - 1; before-- > 0;) {
            if_(before < r && id >= left(i, before), [&] { id += 1; });
          }
          assume(row + i < t);
          idx(row + i, r) = cast(id, i64);
          unmapped(row + i, r) = -1;
        });
      });
    }
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("moe_topk_gate_forward", dataflow)
          .schedule("cuda", [](Schedule& s, const Case& c) {
            const Search search{1, c.constant("e"), c.constant("k")};
            s.threads(128).set("rows", rows_of_block(search.lists())).set("staged", 1);
          }));
  return jit;
}

}  // namespace

void moe_topk_gate_forward(const Tensor& logits, const Tensor& idx, const Tensor& weights,
                           const MoeTopkGateArgs& args, Stream stream) {
  constexpr const char* f = "moe_topk_gate_forward";
  const MoeTopkGateArgs& a = args;
  const GateSizes sizes = check_gate(f, logits, idx, weights, a.num_shared_experts);
  const auto [t, e, k, shared] = sizes;
  const MaybeNamed map{"to_physical_map", a.to_physical_map},
      counts{"logical_count", a.logical_count}, image_bias{"image_bias", a.image_bias},
      image{"image_token_mask", a.image_token_mask};
  check_optional(f, {"mask", a.mask}, bool_, {t}, "[tokens]");
  check_optional(f, {"bias", a.bias}, f32, {e}, "[experts]");
  check_both(f, image_bias, image);
  check_optional(f, image_bias, f32, {e}, "[experts]");
  check_optional(f, image, bool_, {t}, "[tokens]");
  check_fixed(f, {"fix_routing_mask", a.fix_routing_mask},
              {"unmapped_topk_idx", a.unmapped_topk_idx}, sizes);
  check_optional(f, {"force_random", a.force_random}, bool_, {t}, "[tokens]");
  check_optional(f, {"scores", a.scores}, f32, {t, e}, "like logits");
  check_map(f, map, counts, e + shared, a.ep_rank);
  const Device device = logits.device();
  try {
    kernel()({},
             {{"e", e},
              {"k", k},
              {"shared", shared},
              {"has_map", a.to_physical_map != nullptr},
              {"has_forced", a.force_random != nullptr},
              {"has_bias", a.bias != nullptr},
              {"has_images", a.image_bias != nullptr}},
             device.kind)
        .launch(stream,
                {logits, or_empty(a.mask, bool_, {0}, device),
                 or_empty(a.force_random, bool_, {0}, device),
                 or_empty(a.fix_routing_mask, bool_, {0}, device),
                 row_or_empty(a.bias, f32, e, device), row_or_empty(a.image_bias, f32, e, device),
                 or_empty(a.image_token_mask, bool_, {0}, device),
                 or_empty(a.to_physical_map, i32, {0, 1}, device),
                 or_empty(a.logical_count, i32, {0}, device), a.ep_rank, a.routed_scaling_factor,
                 or_empty(a.unmapped_topk_idx, i64, {0, k}, device),
                 or_empty(a.scores, f32, {0, e}, device), idx, weights});
  } catch (const Error& error) {
    fail_gate(error, logits);
  }
}

}  // namespace tw::kernels
