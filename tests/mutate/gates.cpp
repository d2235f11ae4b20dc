// Calls of gates: some blocks of rows, short lists and long ones, equal keys, tokens of each kind.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/kernels/tensors.h"
#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw::test {
namespace {

using namespace kernels;

/// Tokens, experts, and how many are chosen.
using Sizes = std::tuple<int64_t, int64_t, int64_t>;
const std::vector<Sizes> kSizes = {{13, 20, 3}, {5, 264, 8}, {7, 96, 9}};
/// Of topk_gate.
const std::vector<Sizes> kChoices = {{13, 20, 3}, {5, 264, 8}, {7, 160, 9}, {5, 320, 16}};

/// True for each token whose number has this remainder.
Tensor flags(Place& p, int64_t tokens, int64_t remainder, int64_t divisor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tokens; ++i) list.push_back(i % divisor == remainder ? 1 : 0);
  return p.holding(bool_, {tokens}, list);
}

/// Scores in rows of which some have few values, zeros of both signs, or the best at an end.
Tensor keys(Place& p, int64_t tokens, int64_t columns) {
  const Tensor x = p.input(f32, {tokens, columns}, -3, 3);
  for (int64_t i = 0; i < tokens; ++i) {
    std::vector<double> list = values(x.slice(0, i, 1));
    for (size_t j = 0; j < list.size(); ++j) {
      if (i % 5 == 1) list[j] = std::round(list[j]);
      if (i % 5 == 2) list[j] = j % 7 == 3 ? -0.0 : j % 3 == 0 ? 0.0 : -1.0;
      if (i % 5 == 3 && j + 4 > list.size()) list[j] = static_cast<double>(9 + j);
    }
    assign(x.slice(0, i, 1), list);
  }
  return x;
}

void set(const Tensor& matrix, int64_t i, int64_t j, double number) {
  assign(matrix.slice(0, i, 1).slice(1, j, 1), {number});
}

/// Rows that tell how keys are sorted and taken.
std::vector<Tensor> many_keys(Place& p, int64_t tokens, int64_t columns) {
  std::vector<Tensor> all = {keys(p, tokens, columns)};
  // Two zeros are the highest, -0 first.
  const Tensor zeros = p.input(f32, {columns / 4 + 1, columns}, -3, -2);
  for (int64_t i = 0; i < zeros.dim(0); ++i) {
    set(zeros, i, std::min(4 * i, columns - 2), -0.0);
    set(zeros, i, columns - 1, 0.0);
  }
  all.push_back(zeros);
  if (columns > 32) {
    // The last two of the nine best are neighbors, and equal.
    const Tensor pair = p.input(f32, {4, columns}, -3, -2);
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 7; ++j) set(pair, i, 4 * j + 3, static_cast<double>(9 - j));
      for (int64_t j = 0; j < 2; ++j) set(pair, i, 4 * i + j, 1);
    }
    all.push_back(pair);
    for (const Tensor& some : peaks_in_lists(p, f32, columns, -2.5)) all.push_back(some);
  }
  return all;
}

/// Places of 1 to 3 duplicates of each expert.
std::array<Tensor, 2> duplicates(Place& p, int64_t logical) {
  std::vector<double> places, counts;
  double next = 0;
  for (int64_t e = 0; e < logical; ++e) {
    counts.push_back(static_cast<double>(1 + e % 3));
    for (int64_t i = 0; i < 3; ++i) places.push_back(i <= e % 3 ? next++ : -1);
  }
  return {p.holding(i32, {logical, 3}, places), p.holding(i32, {logical}, counts)};
}

/// Experts of each token, in rows with gaps; the last one is repeated.
Tensor given_experts(Place& p, int64_t tokens, int64_t experts, int64_t count) {
  std::vector<double> list;
  for (int64_t i = 0; i < tokens * (count + 3); ++i) {
    list.push_back(static_cast<double>(i % (count + 3) + 1 == count ? 0 : i * 7 % experts));
  }
  return p.updated(p.holding(i64, {tokens, count + 3}, list)).slice(1, 0, count);
}

/// The same in other memory, since a call overwrites them.
Tensor again(Place& p, const Tensor& given) {
  const int64_t tokens = given.dim(0), count = given.dim(1);
  std::vector<double> list;
  for (int64_t i = 0; i < tokens; ++i) {
    for (const double expert : values(given.slice(0, i, 1))) list.push_back(expert);
    for (int64_t gap = 0; gap < 3; ++gap) list.push_back(-9);
  }
  return p.updated(p.holding(i64, {tokens, count + 3}, list)).slice(1, 0, count);
}

void add_choices(Cases& cases) {
  cases.add("topk_gate", "f32", [](Place& p) {
    for (const auto& [t, e, k] : kChoices) {
      for (const Tensor& scores : many_keys(p, t, e)) {
        topk_gate(scores, p.output(i64, {scores.dim(0), k}));
      }
    }
  });
  cases.stops("topk_gate", "not finite", [](Place& p) {
    for (const auto& [t, e, k] : kChoices) {
      for (const double wrong : {NAN, INFINITY}) {
        const Tensor scores = p.input(f32, {t, e});
        set(scores, t - 1, e - 1, wrong);
        topk_gate(scores, p.output(i64, {t, k}));
      }
    }
  });
  for (const int64_t summands : {1, 2}) {
    cases.add("topk_sum_and_topk_group_idx", format("{} of a group", summands), [=](Place& p) {
      // A block that is whole, and one that isn't.
      for (const auto& [t, g, n] : {Sizes{31, 8, 9}, {28, 8, 9}, {67, 5, 4}, {5, 12, 32}}) {
        const Tensor scores = keys(p, t, g * n), signs = p.input(f32, {t, g * n}, -3, -2);
        for (int64_t i = 0; i < t; ++i) {  // groups of -0 and, further on, of 0
          for (int64_t j = 0; j < n; ++j) {
            set(signs, i, i % (g - 1) * n + j, -0.0);
            set(signs, i, (g - 1) * n + j, 0.0);
          }
        }
        const Tensor pairs = p.input(f32, {t, g * n}, -3, -2);  // two of a group are the highest
        for (int64_t i = 0; i < t * g; ++i) {
          const int64_t first = i % n, second = (first + 1 + i * 5 % (n - 1)) % n;
          for (const int64_t j : {first, second}) set(pairs, i / g, i % g * n + j, 5);
        }
        const Tensor singles = p.input(f32, {t, g * n}, -3, -2);  // one of each group is
        for (int64_t i = 0; i < t * g; ++i) {
          set(singles, i / g, i % g * n + i * 5 % n, static_cast<double>(5 + i * 7 % g));
        }
        for (const Tensor& all : {scores, signs, pairs, singles}) {
          topk_sum_and_topk_group_idx(all.reshape({t, g, n}), summands, p.output(i64, {t, 4}));
        }
      }
    });
  }
  cases.add("normalize_weight", "f32", [](Place& p) {
    for (const auto& [t, k] : {std::pair(67, 6), std::pair(125, 8), std::pair(127, 32)}) {
      normalize_weight(p.input(f32, {t, k}, 0, 1), p.output(f32, {t}), p.output(f32, {t, k}));
    }
  });
  cases.add("normalize_weight", "f32, wide rows", [](Place& p) {
    normalize_weight(p.input(f32, {131, 40}, 0, 1), p.output(f32, {131}), p.output(f32, {131, 40}),
                     {.wide_rows = true});
  });
}

/// What the host checks of arguments that a call may leave out.
const std::vector<std::string> kOptional = {"masks == 0 || masks == t",
                                            "fixes == 0 || fixes == t && unmapped == t",
                                            "unmapped == 0 || unmapped == t"};

/// What a kernel of moe_topk_gate_forward is compiled for.
struct Form {
  const char* name;
  bool all;  // a map, random experts and images as well
  bool bias;
};

/// One call of that form: of what it needs and the arguments lack there is some without effect,
/// what else they have is left out.
void choose(Place& p, const Form& form, const Tensor& logits, int64_t k, MoeTopkGateArgs a) {
  const int64_t t = logits.dim(0), e = logits.dim(1);
  const Tensor nowhere = flags(p, t, 1, 1),
               zeros = p.holding(f32, {e}, std::vector<double>(static_cast<size_t>(e), 0));
  const auto [places, counts] = duplicates(p, e + 1);
  const auto give = [](bool needs, const Tensor*& one, const Tensor& other) {
    one = !needs ? nullptr : one != nullptr ? one : &other;
  };
  give(form.all, a.force_random, nowhere);
  give(form.all, a.image_bias, zeros);
  give(form.all, a.image_token_mask, nowhere);
  give(form.all, a.to_physical_map, places);
  give(form.all, a.logical_count, counts);
  give(form.bias, a.bias, zeros);
  a.num_shared_experts = 1;
  moe_topk_gate_forward(logits, p.output(i64, {t, k + 1}), p.output(f32, {t, k + 1}), a);
}

void add_forms(Cases& cases, const Form& form) {
  constexpr const char* f = "moe_topk_gate_forward";
  cases.add(f, form.name, [=](Place& p) {
    for (const auto& [t, e, k] : {Sizes{12, 20, 3}, {17, 20, 3}, {13, 264, 8}, {13, 96, 9}}) {
      const Tensor masked = flags(p, t, 1, 4), forced = flags(p, t, 0, 4),
                   fixed = flags(p, t, 2, 4), image = flags(p, t, 0, 3);
      const Tensor mask = p.holding(bool_, {t}, [&] {
        std::vector<double> list = values(masked);
        for (double& flag : list) flag = 1 - flag;
        return list;
      }());
      const Tensor bias = p.input(f32, {e}), image_bias = p.input(f32, {e});
      const auto [places, counts] = duplicates(p, e + 1);
      const Tensor unmapped = given_experts(p, t, e, k), scores = p.output(f32, {t, e});
      const MoeTopkGateArgs all = {.routed_scaling_factor = 1.5F,
                                   .mask = &mask,
                                   .bias = &bias,
                                   .image_bias = &image_bias,
                                   .image_token_mask = &image,
                                   .fix_routing_mask = &fixed,
                                   .to_physical_map = &places,
                                   .logical_count = &counts,
                                   .ep_rank = 3,
                                   .unmapped_topk_idx = &unmapped,
                                   .force_random = &forced,
                                   .scores = &scores};
      // Logits that don't count aren't finite; above 88.7 exp isn't.
      const Tensor logits = p.input(f32, {t, e}, -4, 4);
      for (int64_t i = 0; i < t; ++i) {
        for (int64_t j = 0; j < e; ++j) {
          const bool counts_not = i % 4 == 1 || (form.all && i % 4 == 0);
          if (counts_not) set(logits, i, j, NAN);
          if (i % 4 >= 2 && (i + j) % 5 == 0) set(logits, i, j, static_cast<double>(89 + j));
        }
      }
      choose(p, form, logits, k, all);
      if (t == 12) continue;  // the last block is whole, so that rows behind it show
      const auto without = [&, t = t, e = e,
                            k = k](const std::function<void(MoeTopkGateArgs&)>& leave) {
        MoeTopkGateArgs some = all;
        const Tensor given = given_experts(p, t, e, k);
        some.unmapped_topk_idx = &given;
        leave(some);
        choose(p, form, p.input(f32, {t, e}, -4, 4), k, some);
      };
      without([](MoeTopkGateArgs& a) { a.mask = nullptr; });
      without([](MoeTopkGateArgs& a) { a.fix_routing_mask = nullptr; });
      without(
          [](MoeTopkGateArgs& a) { a.fix_routing_mask = nullptr, a.unmapped_topk_idx = nullptr; });
      without([](MoeTopkGateArgs& a) { a.scores = nullptr; });
      // All tokens choose by their biases.
      without([](MoeTopkGateArgs& a) {
        a.mask = nullptr, a.force_random = nullptr, a.fix_routing_mask = nullptr;
      });
      // All scores are less with their biases than what stands behind the last expert without.
      const Tensor low = p.input(f32, {e}, -3, -2);
      without([&](MoeTopkGateArgs& a) {
        a.mask = nullptr, a.force_random = nullptr, a.fix_routing_mask = nullptr;
        a.bias = a.image_bias = &low;
      });
      // The best expert has no duplicate, which tokens that get any experts don't ask for.
      const Tensor all_forced = flags(p, t, 0, 1);
      assign(low.slice(0, 2, 1), {100});
      assign(counts.slice(0, 2, 1), {0});
      without([&](MoeTopkGateArgs& a) {
        a.mask = nullptr, a.fix_routing_mask = nullptr, a.unmapped_topk_idx = nullptr;
        a.bias = a.image_bias = &low, a.force_random = &all_forced;
      });
      for (const Tensor& some : many_keys(p, t, e)) choose(p, form, some, k, {});
      choose(p, form, keys(p, t, e), k, {.ep_rank = 7, .force_random = &forced});
    }
  });
  cases.last().facts = kOptional;
  for (const char* each : {"forces == 0 || forces == t", "scored == 0 || scored == t",
                           "images == 0 && image_biases == 0 || images == t && image_biases == 1",
                           "biases == 0 || biases == 1"}) {
    cases.last().facts.emplace_back(each);
  }
  if (form.bias) {
    cases.add(f, format("{}, no expert to choose", form.name), [=](Place& p) {
      for (const auto& [t, e, k] : kSizes) {
        const Tensor bias = p.input(f32, {e}), forced = flags(p, t, 0, 2),
                     fixed = flags(p, t, form.all ? 1 : 0, form.all ? 2 : 1),
                     unmapped = given_experts(p, t, e, k), none = flags(p, t, 1, 1);
        assign(bias, std::vector<double>(static_cast<size_t>(e), -INFINITY));
        const auto run = [&, t = t, e = e, k = k](MoeTopkGateArgs args) {
          args.bias = &bias;
          choose(p, form, p.input(f32, {t, e}), k, args);
        };
        run({.mask = &none});
        run({.fix_routing_mask = &fixed, .unmapped_topk_idx = &unmapped, .force_random = &forced});
        // As many as are chosen, not all of one list.
        assign(bias.slice(0, e - k, k), std::vector<double>(static_cast<size_t>(k), 0));
        run({});
      }
    });
    // One of a block's tokens alone has none.
    cases.stops(f, format("{}, no expert for a token", form.name), [=](Place& p) {
      const Tensor bias = p.holding(f32, {20}, std::vector<double>(20, -INFINITY));
      for (int64_t token = 0; token < 6; ++token) {
        const Tensor one = flags(p, 6, token, 6);
        choose(p, form, p.input(f32, {6, 20}), 3, {.mask = &one, .bias = &bias});
      }
    });
  }
  cases.stops(f, format("{}, wrong data", form.name), [=](Place& p) {
    for (const auto& [t, e, k] : kSizes) {
      const Tensor logits = p.input(f32, {t, e}), bias = p.input(f32, {e}), all = flags(p, t, 0, 1),
                   given = given_experts(p, t, e, k);
      const auto [places, counts] = duplicates(p, e + 1);
      const auto run = [&, k = k](const MoeTopkGateArgs& args) {
        choose(p, form, logits, k, args);
      };
      assign(bias.slice(0, 0, e - k + 1),
             std::vector<double>(static_cast<size_t>(e - k + 1), -INFINITY));
      if (form.bias) run({.bias = &bias});
      for (const double wrong : {-1, static_cast<int>(e)}) {
        set(given, t - 1, k - 1, wrong);
        run({.fix_routing_mask = &all, .unmapped_topk_idx = &given});
      }
      for (const double wrong : {0, 4}) {
        assign(counts, std::vector<double>(static_cast<size_t>(e + 1), wrong));
        if (form.all) run({.to_physical_map = &places, .logical_count = &counts});
      }
      assign(counts, std::vector<double>(static_cast<size_t>(e + 1), 0));
      if (form.all) {
        run({.to_physical_map = &places, .logical_count = &counts, .force_random = &all});
      }
      set(logits, t - 1, e - 1, INFINITY);
      run({});
      const Tensor images = flags(p, t, 0, 2), other = p.input(f32, {e});
      for (const auto& [token, number] : {std::pair(3, NAN), {4, -INFINITY}}) {
        const Tensor some = p.input(f32, {t, e});
        set(some, token, e - 1, number);
        choose(p, form, some, k, {.image_bias = &other, .image_token_mask = &images});
      }
    }
  });
}

void add_topk_gates(Cases& cases) {
  for (const Form& form : {Form{"all options", true, true},
                           {"a bias", false, true},
                           {"without options", false, false}}) {
    add_forms(cases, form);
  }
  for (const bool aux : {false, true}) {
    const char* how = aux ? "with a loss on scores" : "of weights";
    cases.add("moe_topk_gate_backward", how, [=](Place& p) {
      // Whole blocks, some tokens behind them, and nearly a whole block of them.
      for (const auto& [t, e, k] : {Sizes{12, 20, 3},
                                    {35, 20, 3},
                                    {65, 20, 3},
                                    {95, 20, 3},
                                    {26, 264, 5},
                                    {14, 40, 9},
                                    {35, 40, 9}}) {
        const int64_t apart = e < 64 ? 32 : 64, length = (e + apart - 1) / apart;
        std::vector<double> idx;
        for (int64_t i = 0; i < t; ++i) {
          for (int64_t j = 0; j < k; ++j) {    // each slot has an expert in each place of a list
            const int64_t expert = i % 3 == 2  // or all are different
                                       ? (i + 7 * j) % e
                                       : std::min((i + j) % length * apart + i % 8, e - 1);
            const bool is_none = (i + j) % 4 == 3;
            idx.push_back(static_cast<double>(is_none ? expert - (int64_t{1} << 32) : expert));
          }
        }
        const Tensor mask = flags(p, t, 0, 2), sums = p.input(f32, {t % 5 == 0 ? 5 : 2, e});
        moe_topk_gate_backward(p.input(f32, {t, e}, 0, 2), p.holding(i64, {t, k}, idx),
                               p.input(f32, {t, k}), p.input(f32, {t, k}), p.output(f32, {t, e}),
                               {.routed_scaling_factor = 1.5F,
                                .grad_scores_sum = aux ? &sums : nullptr,
                                .mask = aux ? &mask : nullptr});
      }
    });
  }
  cases.stops("moe_topk_gate_backward", "no such expert", [](Place& p) {
    for (const auto& [t, e, k] : {Sizes{13, 20, 3}, {5, 264, 5}, {7, 40, 9}}) {
      std::vector<double> idx(static_cast<size_t>(t * k), 0);
      idx.back() = static_cast<double>(e);
      moe_topk_gate_backward(p.input(f32, {t, e}, 0, 2), p.holding(i64, {t, k}, idx),
                             p.input(f32, {t, k}), p.input(f32, {t, k}), p.output(f32, {t, e}));
    }
  });
}

/// Few groups have one high score each, the others two that are lower but add up to more: of the
/// groups that stay one is of the first kind.
Tensor lone_scores(Place& p, int64_t experts, int64_t groups, int64_t kept) {
  const int64_t size = experts / groups, tokens = 3 * size;
  const Tensor scores = p.input(f32, {tokens, experts}, -3, -2);
  for (int64_t i = 0; i < tokens; ++i) {
    for (int64_t g = 0; g < groups; ++g) {
      const bool is_lone = (g + i) % groups <= groups - kept;
      const int64_t first = (i * 7 + g * 3) % size;
      set(scores, i, g * size + first, is_lone ? static_cast<double>(6 + g % 3) : 5);
      if (!is_lone) set(scores, i, g * size + (first + 1 + i % (size - 1)) % size, 5);
    }
  }
  return scores;
}

void add_top2_gates(Cases& cases) {
  struct Size {
    int64_t tokens, experts, count, groups, kept;
  };
  // In the last groups are lists of the search.
  static constexpr Size kTop2Sizes[] = {{12, 20, 3, 4, 2},
                                        {17, 20, 3, 4, 2},
                                        {7, 120, 5, 12, 10},
                                        {13, 72, 9, 4, 3},
                                        {9, 96, 9, 8, 3}};
  struct Top2Form {
    const char* name;
    Scoring scoring;
    bool grouped;
  };
  for (const Top2Form& form : {Top2Form{"sigmoid", Scoring::sigmoid, true},
                               {"sqrtsoftplus", Scoring::sqrtsoftplus, false},
                               {"softmax", Scoring::softmax, true}}) {
    const auto run = [=](Place& p, const Size& s, const Tensor& logits, const Tensor& bias,
                         Top2SumGateArgs args, bool needs_map = false) {
      args.scoring = form.scoring;
      args.num_groups = form.grouped ? s.groups : 0;
      args.num_topk_groups = form.grouped ? s.kept : 0;
      const int64_t tokens = logits.dim(0);
      const auto [places, counts] = duplicates(p, s.experts);
      const Tensor* given = args.unmapped_topk_idx;
      for (const bool has_map : {true, false}) {  // each has a kernel of its own
        if (needs_map && !has_map) continue;
        Top2SumGateArgs some = args;
        if (has_map && some.to_physical_map == nullptr) {
          some.to_physical_map = &places, some.logical_count = &counts;
        }
        if (!has_map) some.to_physical_map = some.logical_count = nullptr;
        const Tensor same = given != nullptr ? again(p, *given) : Tensor();
        if (given != nullptr) some.unmapped_topk_idx = &same;
        top2_sum_gate(logits, bias, p.output(i64, {tokens, s.count}),
                      p.output(f32, {tokens, s.count}), some);
      }
    };
    const auto all_of = [](Place& p, int64_t experts, double number) {
      return p.holding(f32, {experts}, std::vector<double>(static_cast<size_t>(experts), number));
    };
    cases.add("top2_sum_gate", form.name, [=](Place& p) {
      for (const Size& s : kTop2Sizes) {
        const auto [t, e, k, groups, kept] = s;
        const Tensor mask = flags(p, t, 0, 2), fixed = flags(p, t, 0, 3), bias = p.input(f32, {e});
        const auto [places, counts] = duplicates(p, e);
        const Tensor unmapped = given_experts(p, t, e, k), logits = p.input(f32, {t, e}, -4, 4);
        for (int64_t i = 0; i < t; ++i) {
          for (int64_t j = 0; j < e; ++j) {
            if (i % 2 == 1) set(logits, i, j, NAN);
            if (i % 2 == 0 && (i + j) % 5 == 0) set(logits, i, j, static_cast<double>(89 + j));
          }
        }
        const Top2SumGateArgs all = {.routed_scaling_factor = 1.5F,
                                     .ep_rank = 3,
                                     .num_ep_ranks = 5,
                                     .tp_rank = 1,
                                     .num_tp_ranks = 2,
                                     .mask = &mask,
                                     .fix_routing_mask = &fixed,
                                     .to_physical_map = &places,
                                     .logical_count = &counts,
                                     .unmapped_topk_idx = &unmapped};
        run(p, s, logits, bias, all);
        if (t == 12) continue;  // the last block is whole, so that rows behind it show
        const auto without = [&, e = e, t = t](const std::function<void(Top2SumGateArgs&)>& leave) {
          Top2SumGateArgs some = all;
          leave(some);
          run(p, s, p.input(f32, {t, e}, -4, 4), bias, some);
        };
        without([](Top2SumGateArgs& a) { a.mask = nullptr; });
        without([](Top2SumGateArgs& a) { a.fix_routing_mask = nullptr; });
        const Tensor none =
            p.holding(i32, {e, 3}, std::vector<double>(static_cast<size_t>(e * 3), -2));
        for (const int64_t rank : {0, 1}) {
          without([&](Top2SumGateArgs& a) { a.tp_rank = rank, a.to_physical_map = &none; });
        }
        const Tensor zeros = all_of(p, e, -0.0);
        for (const Tensor& keys : many_keys(p, t, e)) run(p, s, keys, zeros, {});
        if (!form.grouped) continue;
        run(p, s, lone_scores(p, e, groups, kept), zeros, {});
        // All groups add up to the same; those that don't stay have the best experts.
        const Tensor equal = all_of(p, e, -2), low = p.input(f32, {3, e}, -100, -100);
        for (int64_t g = 0; g < groups; ++g) {
          assign(equal.slice(0, g * (e / groups), 2),
                 g < kept ? std::vector{3.0, 3.0} : std::vector{6.0, 0.0});
        }
        run(p, s, low, equal, {});
      }
    });
    cases.last().facts = kOptional;
    cases.add("top2_sum_gate", format("{}, no expert to choose", form.name), [=](Place& p) {
      for (const Size& s : kTop2Sizes) {
        const int64_t t = s.tokens, e = s.experts;
        const Tensor none = flags(p, t, 1, 1), all = flags(p, t, 0, 1),
                     given = given_experts(p, t, e, s.count), least = all_of(p, e, -INFINITY);
        run(p, s, p.input(f32, {t, e}), least, {.mask = &none});
        run(p, s, p.input(f32, {t, e}), least,
            {.fix_routing_mask = &all, .unmapped_topk_idx = &given});
        // As many as are chosen, of one group, not all of one list.
        assign(least.slice(0, e - s.count, s.count),
               std::vector<double>(static_cast<size_t>(s.count), 0));
        run(p, s, p.input(f32, {t, e}), least, {});
      }
    });
    // One of a block's tokens alone has none.
    cases.stops("top2_sum_gate", format("{}, no expert for a token", form.name), [=](Place& p) {
      for (int64_t token = 0; token < 6; ++token) {
        const Tensor one = flags(p, 6, token, 6);
        run(p, kTop2Sizes[0], p.input(f32, {6, 20}), all_of(p, 20, -INFINITY), {.mask = &one});
      }
    });
    cases.stops("top2_sum_gate", format("{}, wrong data", form.name), [=](Place& p) {
      for (const Size& s : kTop2Sizes) {
        const int64_t t = s.tokens, e = s.experts;
        const Tensor logits = p.input(f32, {t, e}), bias = p.input(f32, {e}),
                     all = flags(p, t, 0, 1), given = given_experts(p, t, e, s.count);
        const auto [places, counts] = duplicates(p, e);
        for (const double wrong : {-1, static_cast<int>(e)}) {
          set(given, t - 1, s.count - 1, wrong);
          run(p, s, logits, bias, {.fix_routing_mask = &all, .unmapped_topk_idx = &given});
        }
        for (const double wrong : {0, 4}) {
          assign(counts, std::vector<double>(static_cast<size_t>(e), wrong));
          for (const Tensor* unmapped : {&given, static_cast<const Tensor*>(nullptr)}) {
            run(p, s, logits, bias,
                {.to_physical_map = &places,
                 .logical_count = &counts,
                 .unmapped_topk_idx = unmapped},
                /*needs_map=*/true);
          }
        }
        run(p, s, logits, all_of(p, e, -INFINITY), {});
        // The groups that stay, the last ones, have two experts each, or one of them three.
        const int64_t size = e / s.groups;
        const Tensor few = all_of(p, e, 0);
        for (int64_t g = s.groups - s.kept; g < s.groups; ++g) {
          std::vector<double> group(static_cast<size_t>(size), -INFINITY);
          group[0] = group[1] = 50;
          assign(few.slice(0, g * size, size), group);
        }
        run(p, s, logits, few, {});
        assign(few.slice(0, e - 1, 1), {50});
        run(p, s, logits, few, {});
        // In a group that doesn't stay.
        assign(bias.slice(0, e - size, size),
               std::vector<double>(static_cast<size_t>(size), -INFINITY));
        for (const auto& [token, wrong] :
             {std::pair(t - 1, NAN), std::pair(int64_t{3}, -INFINITY)}) {
          const Tensor some = p.input(f32, {t, e});
          set(some, token, e - 1, wrong);
          run(p, s, some, bias, {});
        }
      }
    });
  }
}

}  // namespace

void add_gates(Cases& cases) {
  add_choices(cases);
  add_topk_gates(cases);
  add_top2_gates(cases);
}

}  // namespace tw::test
