// Random layouts of experts: maps, counts, rows that go there and come back.
#include <cmath>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "tests/kernels/moe_layout_testing.h"
#include "tests/kernels/reduce_fused_testing.h"
#include "tests/kernels/sweep.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using namespace test;

/// Numbers from 0 to below `below`, and some below 0.
Ints any_ints(Choices& c, int64_t count, int64_t below) {
  Ints list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back(below == 0 || c.one_in(8) ? -c.between(1, 3) : c.between(0, below - 1));
  return list;
}

TEST(LayoutSweep, GetFusedMapping) {
  sweep(15, [](Choices& c) {
    const int64_t topk = c.one_in(6) ? 0 : c.between(1, 40);
    const int64_t experts = c.one_in(3)
                                ? c.between(1, 1024)
                                : c.one_of<int64_t>({1, 2, 31, 32, 33, 64, 256, 1023, 1024});
    const int64_t pairs = c.near({256, 32, 4096}, c.one_in(4) ? 5000 : 600),
                  t = topk == 0 ? c.between(0, 5) : pairs / topk;
    const int64_t alignment = c.one_of<int64_t>({1, 2, 3, 16, 128, 1000});
    const Ints list = any_ints(c, t * topk, c.one_in(3) ? c.between(1, experts) : experts);
    const auto wanted = reference::fused_mapping(list, topk, experts, alignment);
    const auto used = static_cast<int64_t>(wanted.pos_to_expert.size());
    const int64_t np = c.one_in(3) ? std::max<int64_t>(0, used - c.between(0, 100))
                                   : used + c.one_of<int64_t>({0, 1, 77, 300});
    const auto cut = [&](Ints map) {
      map.resize(at(np), -1);
      return map;
    };
    both([&](Where where) {
      const OwnedTensor expert = untouched(i32, {np}), token = untouched(i32, {np}),
                        pair = untouched(i32, {np}), pos = untouched(i32, {t, topk}),
                        start = untouched(i32, {experts}), end = untouched(i32, {experts}),
                        count = untouched(i32, {experts});
      const OwnedTensor scratch = untouched(i32, kernels::fused_mapping_scratch(t * topk, experts));
      kernels::get_fused_mapping(
          on(where, ints(i64, {t, topk}, list)), alignment,
          {on(where, expert), on(where, token), on(where, pair), on(where, pos), on(where, start),
           on(where, end), on(where, count)},
          on(where, scratch));
      const std::string what = format("{}: {} x {}, {} experts, alignment {}, {} of {} positions",
                                      name_of(where), t, topk, experts, alignment, np, used);
      EXPECT_EQ(as_ints(expert), cut(wanted.pos_to_expert)) << what;
      EXPECT_EQ(as_ints(token), cut(wanted.pos_to_token)) << what;
      EXPECT_EQ(as_ints(pair), cut(wanted.pos_to_token_topk)) << what;
      EXPECT_EQ(as_ints(pos), wanted.token_topk_to_pos) << what;
      EXPECT_EQ(as_ints(start), wanted.start) << what;
      EXPECT_EQ(as_ints(end), wanted.end) << what;
      EXPECT_EQ(as_ints(count), wanted.count) << what;
    });
  });
}

TEST(LayoutSweep, GroupCountAndAuxFi) {
  sweep(30, [](Choices& c) {
    const int64_t topk = c.between(0, 12),
                  t = c.near({32, 128, 512, 4096}, c.one_in(4) ? 5000 : 600) /
                      std::max<int64_t>(topk, 1);
    const int64_t groups =
        c.one_in(2) ? c.between(1, 300)
                    : c.one_of<int64_t>({0, 1, 31, 32, 33, 1023, 1024, 1025, 8192, 8193, 9000});
    const Ints list = any_ints(c, t * topk, groups);
    const Ints wanted = reference::group_count(list, groups);
    const int64_t aux = c.between(1, 9);
    std::vector<float> wanted_fi;
    for (const int64_t n : wanted)
      wanted_fi.push_back(static_cast<float>(n * groups) /
                          static_cast<float>(std::max<int64_t>(t, 1) * aux));
    both([&](Where where) {
      const OwnedTensor count = untouched(i32, {groups}), fi = untouched(f32, {groups}),
                        idx = ints(i64, {t, topk}, list);
      const std::string what = format("{}: {}, {} groups", name_of(where), idx, groups);
      kernels::group_count(on(where, idx), on(where, count));
      EXPECT_EQ(as_ints(count), wanted) << what;
      kernels::aux_fi(on(where, idx), aux, on(where, fi));
      EXPECT_EQ(as_floats(fi), wanted_fi) << what << ", aux " << aux;
    });
  });
}

TEST(LayoutSweep, InplaceUniqueGroupIndices) {
  sweep(30, [](Choices& c) {
    const int64_t topk = c.between(0, 40), t = c.near({32, 128, 512}, 600),
                  groups = c.one_of<int64_t>({0, 1, 8, 63, 64, 65, 127, 128});
    const Ints list = any_ints(c, t * topk, up(groups, 64));
    const Ints wanted = topk == 0 ? list : reference::unique_in_rows(list, topk);
    both([&](Where where) {
      const OwnedTensor x = ints(i64, {t, topk}, list);
      kernels::inplace_unique_group_indices(on(where, x), groups);
      EXPECT_EQ(as_ints(x), wanted) << format("{}: {}, {} groups", name_of(where), x, groups);
    });
  });
}

TEST(LayoutSweep, MaskIndicesByTp) {
  sweep(30, [](Choices& c) {
    const int64_t topk = c.between(0, 12),
                  t = c.near({32, 128, 512}, 600) / std::max<int64_t>(topk, 1);
    const int64_t ep = c.between(1, 70), n = ep * c.between(1, 40) + c.between(0, ep - 1),
                  tp = c.between(1, 9);
    const kernels::TpRanks ranks{n, ep, c.between(0, tp - 1), tp};
    const DType dtype = c.one_of({i32, i64});
    const Ints list = any_ints(c, t * topk, n + 5);
    const Ints wanted =
        reference::mask_indices_by_tp(list, n / ep, ranks.tp_rank, ranks.num_tp_ranks);
    both([&](Where where) {
      const OwnedTensor x = ints(dtype, {t, topk}, list), out = untouched(dtype, {t, topk});
      kernels::mask_indices_by_tp(on(where, x), ranks, on(where, out));
      EXPECT_EQ(as_ints(out), wanted) << format("{}: {}, {} experts on {} ranks, {} of {}",
                                                name_of(where), x, n, ep, ranks.tp_rank, tp);
    });
  });
}

/// Maps of any kind: with rows that no map tells of, and positions outside.
struct AnyMaps {
  AnyMaps(Choices& c, int64_t tokens, int64_t topk, int64_t np)
      : from(at(np), kUntold), experts(at(np), 0) {
    Ints free;
    for (int64_t p = 0; p < np; ++p) free.push_back(p);
    for (int64_t i = np; i > 1; --i) std::swap(free[at(i - 1)], free[at(c.between(0, i - 1))]);
    for (int64_t i = 0; i < tokens * topk; ++i) {
      if (free.empty() || c.one_in(4)) {
        map.push_back(c.one_of<int64_t>({-1, -5, np, np + 1, INT32_MAX, INT32_MIN}));
        continue;
      }
      map.push_back(free.back());
      from[at(free.back())] = i / topk;
      free.pop_back();
    }
    for (const int64_t p : free) {
      if (c.one_in(3)) continue;
      experts[at(p)] = -c.between(1, 4);
      from[at(p)] = kPadding;
    }
  }
  /// Rows of `width`, of x at their positions.
  std::vector<uint32_t> expand(const Tensor& x, const Tensor& before, int64_t width) const {
    const std::vector<uint32_t> in = bits(x);
    std::vector<uint32_t> out = bits(before);
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t token = from[i / at(width)];
      if (token == kPadding) out[i] = 0;
      if (token >= 0) out[i] = in[at(token * width) + i % at(width)];
    }
    return out;
  }

  static constexpr int64_t kUntold = -2, kPadding = -1;
  Ints from, experts, map;  // from: the token of each position
};

TEST(LayoutSweep, ExpandToFused) {
  sweep(22, [](Choices& c) {
    const int64_t t = c.between(0, 9), topk = c.one_in(8) ? c.between(10, 40) : c.between(0, 9);
    const int64_t np = c.between(0, c.one_in(4) ? 300 : 40);
    int64_t h = c.near({4, 8, 16, 64, 128, 256, 512, 1024, 4096}, c.one_in(6) ? 9000 : 700);
    if (c.one_in(30)) h = c.one_of<int64_t>({32768, 33000, 40960});
    h = std::max<int64_t>(h > 1000 && np > 40 ? h % 700 : h, 1);
    const int64_t group = c.one_of<int64_t>({32, 128}), factors = up(h, group) / group;
    const DType sf_type = c.one_of({f32, i32}), dtype = c.one_of({bf16, f32, f8_e4m3, i32, u8});
    const int64_t n = sf_type == f32 ? factors : up(factors, 4) / 4;
    const AnyMaps maps(c, t, topk, np);
    const auto any_bits = [&](DType d, int64_t width) {
      Placed x(c, d, t, width, false, 1, true);
      for (int64_t i = 0; i < x.view.bytes(); ++i)
        x.view.data_as<uint8_t>()[i] = static_cast<uint8_t>(c.bits());
      x.hold();
      return x;
    };
    const Placed x = any_bits(dtype, h), sf = any_bits(sf_type, n);
    const OwnedTensor pos = ints(i32, {t, topk}, maps.map), expert = ints(i32, {np}, maps.experts);
    both([&](Where where) {
      Placed out(c, dtype, np, h, false, 1, true), alone(c, dtype, np, h, false, 1, true),
          out_sf(c, sf_type, np, n, c.one_in(2));
      out.hold(), out_sf.hold(), alone.hold();
      const auto wanted = maps.expand(x.view, out.view, h),
                 wanted_sf = maps.expand(sf.view, out_sf.view, n);
      const std::string what =
          format("{}: x {}, sf {}, top {}, {} positions, out {}, out_sf {}", name_of(where),
                 x.text(), sf.text(), topk, np, out.text(), out_sf.text());
      kernels::expand_to_fused_with_sf(on(where, x.view), on(where, sf.view), group, on(where, pos),
                                       on(where, expert), on(where, out.view),
                                       on(where, out_sf.view));
      kernels::expand_to_fused(on(where, x.view), on(where, pos), on(where, expert),
                               on(where, alone.view));
      EXPECT_EQ(bits(out.view), wanted) << what;
      EXPECT_EQ(bits(out_sf.view), wanted_sf) << what;
      EXPECT_EQ(bits(alone.view), wanted) << what << " alone " << alone.text();
      out.expect_outside_unchanged(what), out_sf.expect_outside_unchanged(what);
      alone.expect_outside_unchanged(what), x.expect_unchanged(what), sf.expect_unchanged(what);
    });
  });
}

TEST(LayoutSweep, ReduceFused) {
  sweep(30, [](Choices& c) {
    const std::vector<ReduceForm> forms = all_reduce_forms();
    const ReduceForm f = forms[at(c.between(0, static_cast<int64_t>(forms.size()) - 1))];
    const int64_t h = 256 * (c.one_in(4) ? c.between(1, 40) : c.between(1, 6));
    const int64_t t = c.between(0, h > 2000 ? 2 : 5),
                  topk = c.one_in(4) ? c.between(9, 40) : c.between(0, 9),
                  np = c.one_in(6) ? 0 : c.between(1, 12);
    const OwnedTensor x =
        c.one_in(2) ? random_tensor(f.x, {np, h}, c.bits()) : random_bits(f.x, {np, h}, c.bits());
    const OwnedTensor weights(f32, {t, topk}), x_sf(f32, {np}), sf(f32, {1});
    Ints map;
    for (int64_t i = 0; i < t * topk; ++i) {
      map.push_back(np == 0 || c.one_in(4)
                        ? c.one_of<int64_t>({-1, -9, np, np + 3, INT32_MAX, INT32_MIN})
                        : c.between(0, np - 1));
      weights->data_as<float>()[i] =
          c.one_of({0.0F, -0.0F, 1.0F, 0.3F, -2.0F, INFINITY, NAN, 1e-40F, 1e38F});
    }
    for (int64_t p = 0; p < np; ++p)
      x_sf->data_as<float>()[p] = c.one_of({1.0F, 0.7F, -3.0F, 0.0F, 1e30F, 1e-30F});
    sf->data_as<float>()[0] = c.one_of({1.0F, 0.0F, 300.0F, 1e-3F});
    reference::Reduction r;
    if (f.weights) r.weights = as_floats(weights);
    if (f.x_sf) r.x_sf = as_floats(x_sf);
    if (f.sf) r.sf = as_floats(sf)[0];
    Ints inside = map;
    for (int64_t& p : inside) p = p < np ? p : -1;
    const std::vector<float> wanted = topk == 0
                                          ? std::vector<float>(at(t * h))
                                          : reference::reduce_fused(values(x), h, inside, topk, r);
    both([&](Where where) {
      const OwnedTensor out = untouched(f.out, {t, h});
      const Tensor w = on(where, weights), each = on(where, x_sf), all = on(where, sf);
      kernels::reduce_fused(on(where, x), on(where, ints(i32, {t, topk}, map)), on(where, out),
                            {.topk_weights = f.weights ? &w : nullptr,
                             .x_sf = f.x_sf ? &each : nullptr,
                             .sf = f.sf ? &all : nullptr});
      expect_bits(out, wanted, format("{}: {}, x {}, top {}", name_of(where), to_text(f), x, topk));
    });
  });
}

}  // namespace
}  // namespace tw
