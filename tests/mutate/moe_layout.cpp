// Calls of what counts experts, lays rows out by them, and gathers what comes back.
#include "tests/reference/moe_layout.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw::test {
namespace {

using namespace kernels;

/// Numbers from `low` to below `high`, in no order.
std::vector<double> some_numbers(int64_t count, int64_t low, int64_t high) {
  std::mt19937_64 random(7);
  std::vector<double> list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(static_cast<double>(low) +
                   static_cast<double>(random() % static_cast<uint64_t>(high - low)));
  }
  return list;
}

/// Maps of 32 tokens with 3 experts each in a fused layout. Four tokens have no expert, four only
/// positions behind the layout, and the first positions are those of late tokens.
struct FusedRows {
  explicit FusedRows(Place& p) {
    const std::vector<double> numbers = some_numbers(3 * t, -1, 5);
    reference::Ints experts;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto e = static_cast<int64_t>(numbers[i]);
      experts.push_back(i / 12 == 1 || i / 12 == 2 || (i < 60 && e == 0) ? -1 : e);
    }
    auto maps = reference::fused_mapping(experts, 3, 5, 7);
    np = static_cast<int64_t>(maps.pos_to_expert.size());
    for (size_t i = 12; i < 24; ++i) maps.token_topk_to_pos[i] = np + static_cast<int64_t>(i) - 12;
    const auto list = [](const reference::Ints& v) {
      return std::vector<double>(v.begin(), v.end());
    };
    token_topk_to_pos = p.holding(i32, {t, 3}, list(maps.token_topk_to_pos));
    pos_to_expert = p.holding(i32, {np}, list(maps.pos_to_expert));
  }
  int64_t t = 32, np;
  Tensor token_topk_to_pos, pos_to_expert;
};

/// Positions of 4 tokens with 11 experts each, more than are known at once, in a layout of 12;
/// those of the third are behind it.
Tensor many_positions(Place& p) {
  std::vector<double> list = {4,  -1, 5,  6,  -1, 7, 8,  9,  -1, 10, 11,
                              -1, 3,  -1, -1, 0,  2, -1, -1, 1,  -1, -1};
  for (int i = 0; i < 11; ++i) list.push_back(14 + i);
  list.insert(list.end(), 11, -1);
  return p.holding(i32, {4, 11}, list);
}

/// Two tokens with three positions each among so much padding that there are blocks without tokens.
struct Padding {
  Padding(Place& p, int64_t shift) {
    std::vector<double> experts(static_cast<size_t>(np), -1);
    for (const int64_t i : {1, 4, 8, 14, 19, 23}) {
      positions.push_back(static_cast<double>(i + shift));
      experts[static_cast<size_t>(i + shift)] = 0;
    }
    token_topk_to_pos = p.holding(i32, {2, 3}, positions);
    pos_to_expert = p.holding(i32, {np}, experts);
  }
  int64_t np = 28;
  std::vector<double> positions;
  Tensor token_topk_to_pos, pos_to_expert;
};

void add_fused_rows(Cases& cases) {
  for (const DType dtype : {u8, bf16}) {
    cases.add("expand_to_fused", to_text(dtype), [=](Place& p) {
      for (const int64_t h : {77, 80, 2320}) {
        const FusedRows maps(p);
        const Tensor x = p.input(dtype, {maps.t, h}, 1, 99);
        for (const int64_t np : {maps.np, int64_t{3}}) {  // more, and less than there are tokens
          expand_to_fused(x, maps.token_topk_to_pos, maps.pos_to_expert.slice(0, 0, np),
                          p.output(dtype, {np, h}));
        }
        // No tokens, so that any positions may be padding.
        expand_to_fused(x.slice(0, 0, 0), maps.token_topk_to_pos.slice(0, 0, 0),
                        p.holding(i32, {9}, {0, -1, 0, -1, 0, -1, 0, -1, 0}),
                        p.output(dtype, {9, h}));
        for (const int64_t shift : {0, 1, 3}) {
          const Padding padding(p, shift);
          expand_to_fused(p.input(dtype, {2, h}, 1, 99), padding.token_topk_to_pos,
                          padding.pos_to_expert, p.output(dtype, {padding.np, h}));
        }
      }
    });
  }
  cases.add("expand_to_fused", "many experts, rows in parts", [](Place& p) {
    std::vector<double> experts(12, 0);
    experts.insert(experts.end(), {-1, -1});
    const Tensor x = p.input(f32, {4, 8208}), pos = many_positions(p),
                 pos_to_expert = p.holding(i32, {14}, experts);
    for (const int64_t np : {14, 1}) {
      expand_to_fused(x, pos, pos_to_expert.slice(0, 0, np), p.output(f32, {np, 8208}));
    }
    for (const int64_t shift : {0, 1, 3}) {
      const Padding padding(p, shift);
      std::vector<double> list(11, -1);
      for (size_t i = 0; i < 6; ++i) list[3 * i / 2 + 1] = padding.positions[i];
      expand_to_fused(x.slice(0, 0, 1), p.holding(i32, {1, 11}, list), padding.pos_to_expert,
                      p.output(f32, {padding.np, 8208}));
    }
  });
  for (const DType sf_dtype : {f32, i32}) {
    cases.add("expand_to_fused_with_sf", to_text(sf_dtype), [=](Place& p) {
      const FusedRows maps(p);
      const int64_t n = sf_dtype == f32 ? 5 : 2;
      const Tensor x = p.input(f8_e4m3, {maps.t, 580}), sf = p.input(sf_dtype, {maps.t, n}, 1, 99);
      const auto expand = [&](int64_t t, const Tensor& pos, const Tensor& pos_to_expert) {
        const int64_t np = pos_to_expert.dim(0);
        const Tensor out_sf = sf_dtype == f32  // packed ones in columns
                                  ? p.output(f32, {np, n})
                                  : p.output(i32, {n, np + 4}).transpose(0, 1).slice(0, 0, np);
        expand_to_fused_with_sf(x.slice(0, 0, t), sf.slice(0, 0, t), 128, pos, pos_to_expert,
                                p.output(f8_e4m3, {np, 580}), out_sf);
      };
      for (const int64_t np : {maps.np, int64_t{3}}) {
        expand(maps.t, maps.token_topk_to_pos, maps.pos_to_expert.slice(0, 0, np));
      }
      for (const int64_t shift : {0, 1, 3}) {
        const Padding padding(p, shift);
        expand(2, padding.token_topk_to_pos, padding.pos_to_expert);
      }
    });
  }
  for (const auto& [from, to] :
       {std::pair(bf16, bf16), std::pair(f32, f32), std::pair(f8_e4m3, f8_e4m3)}) {
    const DType dtype = from, result = to;
    cases.add("reduce_fused", format("{} to {}", dtype, result), [=](Place& p) {
      for (const int64_t h : {256, 768}) {
        const FusedRows maps(p);
        reduce_fused(p.input(dtype, {maps.np, h}), maps.token_topk_to_pos,
                     p.output(result, {maps.t, h}));
      }
    });
  }
  cases.add("reduce_fused", "bf16 to e4m3, factors", [](Place& p) {
    const FusedRows maps(p);
    const Tensor weights = p.input(f32, {maps.t, 3}), x_sf = p.input(f32, {maps.np}),
                 sf = p.input(f32, {1}, 100, 200);
    reduce_fused(p.input(bf16, {maps.np, 768}), maps.token_topk_to_pos,
                 p.output(f8_e4m3, {maps.t, 768}),
                 {.topk_weights = &weights, .x_sf = &x_sf, .sf = &sf});
  });
  cases.add("reduce_fused", "many experts", [](Place& p) {
    const Tensor weights = p.input(f32, {4, 11});
    reduce_fused(p.input(f32, {12, 256}), many_positions(p), p.output(f32, {4, 256}),
                 {.topk_weights = &weights});
  });
}

void add_experts(Cases& cases) {
  for (const DType dtype : {i64, i32}) {
    cases.add("mask_indices_by_tp", to_text(dtype), [=](Place& p) {
      for (const int64_t t : {1, 171, 280, 343, 685}) {
        for (const double last : {-1, -7, -13, 6, 0}) {  // behind the last vector
          std::vector<double> list = some_numbers(3 * t, -40, 96);
          list.back() = last;
          mask_indices_by_tp(p.holding(dtype, {t, 3}, list), {96, 16, 0, 3},
                             p.output(dtype, {t, 3}));
        }
      }
    });
  }
  // Those below 0 have bits of the last groups of a word; then one is outside, in each place of a
  // row.
  for (const int64_t groups : {64, 72}) {
    cases.stops("inplace_unique_group_indices", format("{} groups", groups), [=](Place& p) {
      constexpr double kGroups[] = {-2, -1, 0, 62, 63, 1, 64, 65, 126, 127};
      const auto run = [&](int64_t t, int64_t k, const std::vector<double>& list) {
        inplace_unique_group_indices(p.updated(p.holding(i64, {t, k}, list)), groups);
      };
      for (const auto& [t, k] : {std::pair(70, 6), std::pair(330, 12)}) {
        std::vector<double> list = some_numbers(t * k, 0, groups == 64 ? 6 : 10);
        for (double& each : list) each = kGroups[static_cast<size_t>(each)];
        run(t, k, list);
        for (int64_t slot = 0; slot < k; ++slot) {
          list.resize(static_cast<size_t>(k));
          std::iota(list.begin(), list.end(), 0);
          list[static_cast<size_t>(slot)] = groups == 64 ? 64 : 128;
          run(1, k, list);
        }
      }
    });
  }
  // Of 9000 no block counts by itself; of 4200 entries one doesn't count all.
  for (const int64_t groups : {9, 40, 9000}) {
    const auto numbers = [=](int64_t t) {
      return some_numbers(3 * t, -3, std::min<int64_t>(groups, 90));
    };
    cases.add("group_count", format("{} groups", groups), [=](Place& p) {
      for (const int64_t t : {1, 1300, 1400}) {
        group_count(p.holding(i64, {t, 3}, numbers(t)), p.output(i32, {groups}));
      }
    });
    cases.add("aux_fi", format("{} experts", groups), [=](Place& p) {
      for (const int64_t t : {1, 1300, 1400}) {
        aux_fi(p.holding(i64, {t, 3}, numbers(t)), 3, p.output(f32, {groups}));
      }
    });
    // A thread has eight entries, of which each may be the one outside.
    for (const int64_t n : {4096, 4352}) {
      const auto one_outside = [=](const auto& call) {
        for (int64_t at = 0; at < 4096; at += 256) {
          std::vector<double> list(static_cast<size_t>(n), 0);
          list[static_cast<size_t>(at)] = static_cast<double>(groups);
          call(list);
        }
      };
      const std::string what = format("outside {} groups, {} entries", groups, n);
      cases.stops("group_count", what, [=](Place& p) {
        one_outside([&](const std::vector<double>& list) {
          group_count(p.holding(i64, {n, 1}, list), p.output(i32, {groups}));
        });
      });
      cases.stops("aux_fi", what, [=](Place& p) {
        one_outside([&](const std::vector<double>& list) {
          aux_fi(p.holding(i64, {n, 1}, list), 1, p.output(f32, {groups}));
        });
      });
    }
  }
  const auto mapping = [](Place& p, int64_t t, int64_t experts, int64_t np,
                          const std::vector<double>& list) {
    const Shape scratch = fused_mapping_scratch(3 * t, experts);
    const Tensor pos[] = {p.output(i32, {np}), p.output(i32, {np}), p.output(i32, {np})},
                 of_expert[] = {p.output(i32, {experts}), p.output(i32, {experts}),
                                p.output(i32, {experts})},
                 of_pair = p.output(i32, {t, 3});
    get_fused_mapping(
        p.holding(i64, {t, 3}, list), 4,
        {pos[0], pos[1], pos[2], of_pair, of_expert[0], of_expert[1], of_expert[2]},
        p.holding(i32, scratch, std::vector<double>(static_cast<size_t>(scratch.numel()), 7)));
  };
  for (const int64_t experts : {30, 40}) {
    cases.add("get_fused_mapping", format("{} experts", experts), [=](Place& p) {
      for (const auto& [t, np] :
           {std::pair(1, 2), std::pair(200, 1100), std::pair(170, 200), std::pair(0, 5),
            std::pair(0, 0), std::pair(1360, 4200), std::pair(1400, 3900)}) {
        std::vector<double> list = some_numbers(3 * t, -1, experts);
        if (t > 0) list[0] = -0x1p32;  // 0 in its low half
        mapping(p, t, experts, np, list);
      }
      // More chunks than are summed up at a time.
      if (experts == 30) mapping(p, 87500, 2, 9, some_numbers(3 * 87500, -1, 2));
    });
  }
  cases.stops("get_fused_mapping", "experts outside",
              [=](Place& p) { mapping(p, 1, 9, 20, {0, -1, 9}); });
}

}  // namespace

void add_layouts(Cases& cases) {
  add_experts(cases);
  add_fused_rows(cases);
}

}  // namespace tw::test
