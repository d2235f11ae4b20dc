#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/kernels/top2_sum_gate_testing.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using kernels::Scoring;
using test::error_of;
using test::expect_top2;
using test::floats;
using test::Gate;
using test::indices;
using test::on;
using test::Top2;
using test::Where;
using test::With;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Scoring kScorings[] = {Scoring::sigmoid, Scoring::sqrtsoftplus, Scoring::softmax};

struct Sizes {
  int64_t groups, kept, e, s, k;
};
constexpr Sizes kSizes[] = {{0, 0, 72, 1, 6},  {0, 0, 32, 2, 6},  {0, 0, 64, 2, 6},
                            {0, 0, 96, 2, 6},  {0, 0, 16, 2, 8},  {0, 0, 36, 2, 6},
                            {0, 0, 108, 2, 6}, {0, 0, 128, 2, 8}, {0, 0, 144, 2, 6},
                            {8, 8, 256, 2, 8}, {8, 4, 256, 2, 8}};

TEST(Top2SumGate, AgreesWithTheReference) {
  size_t turn = 0;
  for (const auto& [groups, kept, e, s, k] : kSizes) {
    for (const Scoring scoring : kScorings) {
      for (const int64_t tokens : {0, 1, 41}) {
        ++turn;
        const bool shared = turn % 2 == 0 && e % (k / s) == 0;
        Top2 gate(tokens, e, k, shared ? s : 0,
                  {.mask = turn % 4 == 1,
                   .fix = turn % 3 == 0,
                   .map = shared || turn % 5 == 0,
                   .unmapped = turn % 5 < 3},
                  scoring, groups, kept);
        gate.tp_rank = static_cast<int64_t>(turn % 2);
        gate.ep_rank = static_cast<int64_t>(turn % 7);
        expect_top2(gate);
      }
    }
  }
}

TEST(Top2SumGate, WithGroupsOfManySizes) {
  for (const auto& [groups, kept, e, s, k] : {Sizes{32, 5, 1024, 0, 32},
                                              {4, 2, 8, 0, 3},
                                              {12, 5, 72, 0, 6},
                                              {4, 1, 36, 0, 9},
                                              {16, 15, 32, 0, 30},
                                              {4, 3, 128, 0, 8}}) {
    for (const Scoring scoring : kScorings) {
      const Top2 gate(9, e, k, s, {.mask = true}, scoring, groups, kept);
      expect_top2(gate);
    }
  }
}

TEST(Top2SumGate, ForEachRank) {
  for (const int64_t num_tp_ranks : {1, 2, 4, 8}) {
    for (int64_t tp_rank = 0; tp_rank < num_tp_ranks; ++tp_rank) {
      Top2 gate(11, 72, 6, 1, {.map = true}, Scoring::sigmoid);
      gate.num_ep_ranks = 8;  // 74 experts: some of them on ranks behind the last
      gate.num_tp_ranks = num_tp_ranks;
      gate.tp_rank = tp_rank;
      expect_top2(gate);
    }
  }
}

TEST(Top2SumGate, AgreesWithTheReferenceOnThreads) {
  for (const Scoring scoring : kScorings) {
    const With all{.mask = true, .fix = true, .map = true};
    expect_top2(Top2(6, 256, 8, 2, all, scoring, 8, 4), Where::twin);
    expect_top2(Top2(5, 72, 6, 1, all, scoring), Where::twin);
    expect_top2(Top2(3, 72, 6, 0, {}, scoring, 12, 5), Where::twin);
  }
  expect_top2(Top2(2, 1024, 32, 0, {}, Scoring::sigmoid, 32, 5), Where::twin);
  expect_top2(Top2(2, 48, 8, 0, {}, Scoring::sigmoid, 24, 5), Where::twin);
  expect_top2(Top2(0, 16, 2, 0, {}, Scoring::sigmoid), Where::twin);
}

using Row = std::vector<int64_t>;

TEST(Top2SumGate, HasTheValuesOfTheSpecification) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const std::vector<double> list = {0.5, -1, 2, 0, 1, 1, -2, 3, 0, 0, 0, 0, 0, 0, 0, 0};
    const auto weights = [](const Gate& g, const std::vector<double>& wanted) {
      test::expect_close(g.weights, wanted, 1e-6, 0, "weights");
    };
    const std::vector<double> of_a = {0.5639112, 0.4680444, 0.4680444, 0.5, 0.5, 0.5};
    Top2 a(2, 8, 3, 0, {}, Scoring::sqrtsoftplus);
    a.scoring = Scoring::sigmoid;
    a.groups = 4;
    a.kept = 2;
    test::assign(a.logits, list);
    test::assign(a.bias, std::vector<double>(8, 0));
    a.num_ep_ranks = 2;
    a.num_tp_ranks = 1;
    a.run(where);
    EXPECT_EQ(indices(a.idx), (Row{2, 4, 5, 0, 1, 2}));
    weights(a, of_a);
    a.num_ep_ranks = 4;
    a.num_tp_ranks = 2;
    a.run(where);
    EXPECT_EQ(indices(a.idx), (Row{-1, 2, 3, 0, 1, -1}));
    weights(a, of_a);
    a.tp_rank = 1;
    a.run(where);
    EXPECT_EQ(indices(a.idx), (Row{0, -1, -1, -1, -1, 0}));
    weights(a, of_a);

    Top2 c(2, 8, 2, 0, {}, Scoring::softmax);
    test::assign(c.logits, list);
    test::assign(c.bias, {0, 0, 0, 0, 0, 0, 3, -3});
    c.scale = 2;
    c.num_ep_ranks = c.num_tp_ranks = 1;
    c.run(where);
    EXPECT_EQ(indices(c.idx), (Row{2, 4, 6, 0}));
    weights(c, {1.4621172, 0.5378829, 1, 1});

    Top2 d(3, 8, 2, 1, {.mask = true, .map = true, .unmapped = true}, Scoring::sqrtsoftplus);
    std::vector<double> logits;
    for (int i = 0; i < 3; ++i) {
      for (const double x : {0.5, -1.0, 2.0, 3.0, 1.0, 1.0, -2.0, 0.0}) logits.push_back(x);
    }
    test::assign(d.logits, logits);
    test::assign(d.bias, std::vector<double>(8, 0));
    test::assign(d.mask, {1, 1, 0});
    d.map = OwnedTensor(i32, {9, 5});
    test::assign(d.counts, {2, 1, 1, 2, 1, 1, 1, 1, 2});
    std::vector<double> places;
    int next = 0;
    for (const double count : test::values(d.counts)) {
      for (int i = 0; i < 5; ++i) places.push_back(i < count ? next++ : -1);
    }
    test::assign(d.map, places);
    d.scale = 2.5;
    d.ep_rank = 1;
    d.tp_rank = 1;
    d.run(where);
    EXPECT_EQ(indices(d.idx), (Row{2, 0, 5, 1, 0, 4, -1, -1, -1}));
    const std::vector<double> of_d = {1.3621972, 1.1378028, 1, 1.3621972, 1.1378028, 1, 0, 0, 0};
    weights(d, of_d);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(indices(d.unmapped.select(0, i)), i < 2 ? (Row{3, 2}) : (Row{-1, -1}));
    }
    d.tp_rank = 0;
    d.run(where);
    EXPECT_EQ(indices(d.idx), Row(9, -1));
    weights(d, of_d);
  }
}

TEST(Top2SumGate, EqualLogitsChooseTheFirstExperts) {
  for (const auto& [groups, kept, e, s, k] : kSizes) {
    Top2 gate(3, 8, 2, 0, {.unmapped = true}, Scoring::sigmoid);
    gate.e = e;
    gate.k = k;
    gate.groups = groups;
    gate.kept = kept;
    gate.logits = test::filled_tensor(f32, {3, e}, 0);
    gate.bias = test::filled_tensor(f32, {e}, 0);
    gate.idx = OwnedTensor(i64, {3, k});
    gate.weights = OwnedTensor(f32, {3, k});
    gate.unmapped = {};
    gate.run();
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < std::min(e / 4, k); ++j) {
        EXPECT_EQ(gate.idx->data_as<int64_t>()[i * k + j], j);
      }
    }
  }
}

TEST(Top2SumGate, TokensFarBehindHaveTheirTurn) {
  Top2 gate(92050, 4, 1, 0, {.map = true, .unmapped = true}, Scoring::sigmoid);
  gate.num_ep_ranks = gate.num_tp_ranks = 1;
  gate.run();
  for (int64_t i = 0; i < gate.t; ++i) {
    const int64_t chosen = gate.unmapped.data_as<int64_t>()[i * gate.unmapped.stride(0)];
    ASSERT_EQ(gate.idx->data_as<int64_t>()[i], gate.duplicates.physical(chosen, i, 0)) << i;
  }
  // The sum is above 2^31 on the largest of ranks, too.
  for (const Where where : {Where::cpu, Where::twin}) {
    Top2 few(9, 16, 4, 1, {.map = true}, Scoring::softmax);
    few.ep_rank = INT32_MAX;
    expect_top2(few, where);
  }
}

TEST(Top2SumGate, AllTokensMasked) {
  Top2 gate(5, 16, 2, 0, {.mask = true}, Scoring::softmax);
  test::assign(gate.mask, {0, 0, 0, 0, 0});
  test::assign(gate.logits, std::vector<double>(80, NAN));
  for (const Where where : {Where::cpu, Where::twin}) {
    gate.run(where);
    EXPECT_EQ(indices(gate.idx), Row(10, -1));
    EXPECT_EQ(floats(gate.weights), std::vector<float>(10, 0));
  }
}

TEST(Top2SumGate, WeightsWithoutAnyScoreAreZero) {
  Top2 gate(1, 16, 2, 0, {}, Scoring::sqrtsoftplus);
  test::assign(gate.logits, std::vector<double>(16, -200));
  gate.run();
  EXPECT_EQ(floats(gate.weights), std::vector<float>(2, 0));
}

std::string stop_of(const Top2& gate) {
  return error_of([&] { gate.run(); });
}

TEST(Top2SumGate, MinusInfinityExcludesAnExpert) {
  for (const Scoring scoring : kScorings) {
    for (const int64_t kept : {0, 2}) {
      Top2 gate(2, 16, 3, 0, {.fix = true}, scoring, kept == 0 ? 0 : 4, kept);
      test::assign(gate.fix, {0, 0});
      // Of the experts 4 i + 3 alone, or of them and their neighbors in two groups.
      for (int64_t e = 0; e < 16; ++e) {
        if (e % 4 < 2) gate.bias->data_as<float>()[e] = -kInf;
      }
      expect_top2(gate);
      for (int64_t e = 0; e < 16; ++e) {
        if (e % 4 < 3) gate.bias->data_as<float>()[e] = -kInf;
      }
      if (kept == 0) {
        expect_top2(gate);
        gate.bias->data_as<float>()[7] = gate.bias->data_as<float>()[11] = -kInf;
      }
      EXPECT_NE(stop_of(gate).find("top2_sum_gate: too few experts of this token"),
                std::string::npos);
      test::assign(gate.fix, {1, 1});
      test::assign(gate.unmapped, {0, 1, 2, 0, 1, 2});
      expect_top2(gate);
    }
  }
}

TEST(Top2SumGate, StopsAtWhatTheDeviceSees) {
  for (const Scoring scoring : kScorings) {
    for (const float wrong : {NAN, kInf, -kInf}) {
      const Top2 gate(2, 16, 2, 0, {}, scoring);
      gate.logits->data_as<float>()[16 + 9] = wrong;
      EXPECT_NE(stop_of(gate).find("top2_sum_gate: a logit of this token isn't finite"),
                std::string::npos);
    }
  }
  const Top2 biased(2, 16, 2, 0, {}, Scoring::sigmoid);
  biased.bias->data_as<float>()[3] = std::bit_cast<float>(INT32_MAX);  // the NaN that a GPU makes
  EXPECT_NE(stop_of(biased).find("or a bias is NaN"), std::string::npos);
  Top2 fixed(2, 16, 2, 0, {.fix = true}, Scoring::sigmoid);
  test::assign(fixed.fix, {0, 1});
  fixed.unmapped.select(0, 1).data_as<int64_t>()[1] = 16;
  EXPECT_NE(stop_of(fixed).find("top2_sum_gate: no such expert of this token"), std::string::npos);
  const Top2 mapped(2, 16, 16, 0, {.map = true}, Scoring::sigmoid);
  mapped.counts->data_as<int32_t>()[5] = 0;
  EXPECT_NE(stop_of(mapped).find("logical_count of this expert isn't a number of duplicates"),
            std::string::npos);
}

TEST(Top2SumGate, RejectsArgumentsThatDoNotFit) {
  const auto error = [](int64_t e, int64_t k, int64_t s, const std::function<void(Top2&)>& change,
                        With with = {}) {
    Top2 gate(4, e, k, s, with, Scoring::sigmoid);
    change(gate);
    return error_of([&] { gate.run(); });
  };
  const auto nothing = [](Top2&) {};
  const auto groups = [](int64_t g, int64_t kept) {
    return [=](Top2& gate) {
      gate.groups = g;
      gate.kept = kept;
    };
  };
  EXPECT_EQ(error(18, 2, 0, nothing),
            "top2_sum_gate: logits is f32 [4, 18], the number of experts must be a multiple of 4");
  EXPECT_EQ(error(16, 17, 0, nothing),
            "top2_sum_gate: num_topk is 17, it must be from 1 to 16 for 16 experts");
  EXPECT_EQ(error(64, 32, 1, nothing, {.map = true}),
            "top2_sum_gate: 32 experts of a token and 1 shared ones are more than 32");
  EXPECT_EQ(error(16, 2, 3, nothing, {.map = true}),
            "top2_sum_gate: num_shared_experts is 3, it must be 0 to 2");
  EXPECT_EQ(error(16, 3, 2, nothing, {.map = true}),
            "top2_sum_gate: 2 shared experts must divide num_topk, 3, and that many times fewer "
            "the 16 experts");
  EXPECT_EQ(error(16, 6, 2, nothing, {.map = true}),
            "top2_sum_gate: 2 shared experts must divide num_topk, 6, and that many times fewer "
            "the 16 experts");
  EXPECT_EQ(error(16, 2, 1, nothing),
            "top2_sum_gate: 1 shared experts need a to_physical_map with at least 2 columns");
  EXPECT_EQ(error(16, 2, 2, [](Top2& g) { g.deal(2); }),
            "top2_sum_gate: 2 shared experts need a to_physical_map with at least 3 columns");
  EXPECT_EQ(error(16, 2, 0, groups(4, 0)),
            "top2_sum_gate: num_topk_groups is 0 of 4 groups; both must be 0, or from 1 to "
            "num_groups");
  EXPECT_EQ(error(16, 2, 0, groups(4, 5)),
            "top2_sum_gate: num_topk_groups is 5 of 4 groups; both must be 0, or from 1 to "
            "num_groups");
  EXPECT_EQ(error(16, 2, 0, groups(3, 2)), "top2_sum_gate: 3 groups must divide 16 experts");
  EXPECT_EQ(error(16, 2, 0, groups(16, 2)),
            "top2_sum_gate: 16 groups of 1 experts, there may be 32 of 2 to 32");
  EXPECT_EQ(error(128, 2, 0, groups(2, 1)),
            "top2_sum_gate: 2 groups of 64 experts, there may be 32 of 2 to 32");
  EXPECT_EQ(error(128, 2, 0, groups(64, 1)),
            "top2_sum_gate: 64 groups of 2 experts, there may be 32 of 2 to 32");
  EXPECT_EQ(error(16, 6, 0, groups(4, 1)),
            "top2_sum_gate: num_topk is 6, but 1 groups have 4 experts");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.bias = OwnedTensor(f32, {15}); }),
            "top2_sum_gate: bias is f32 [15], it must be [16] [experts]");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.mask = OwnedTensor(bool_, {5}); }),
            "top2_sum_gate: mask is bool [5], it must be [4] [tokens]");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.fix = OwnedTensor(bool_, {4}); }),
            "top2_sum_gate: fix_routing_mask is given without unmapped_topk_idx, which has the "
            "experts");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.counts = OwnedTensor(i32, {16}); }),
            "top2_sum_gate: logical_count is given without to_physical_map; pass both or neither");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.ep_rank = -1; }, {.map = true}),
            "top2_sum_gate: ep_rank is -1, with to_physical_map it must be 0 or more");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.num_ep_ranks = 0; }),
            "top2_sum_gate: num_ep_ranks is 0, it must be at least 1");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.num_tp_ranks = 0; }),
            "top2_sum_gate: num_tp_ranks is 0, it must be at least 1");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.tp_rank = 2; }),
            "top2_sum_gate: tp_rank is 2, it must be from 0 to 1");
  EXPECT_EQ(error(16, 2, 0, [](Top2& g) { g.num_ep_ranks = 17; }),
            "top2_sum_gate: 16 experts on 17 ranks leave none for each");
}

TEST(Top2SumGate, RejectsMoreExpertsThanSharedMemoryHolds) {
  const OwnedTensor logits(f32, {1, 60000}), bias(f32, {60000}), idx(i64, {1, 8}),
      weights(f32, {1, 8});
  EXPECT_EQ(error_of([&] {
              kernels::top2_sum_gate(on(Where::twin, logits), on(Where::twin, bias),
                                     on(Where::twin, idx), on(Where::twin, weights));
            }),
            "top2_sum_gate: 235.1 KiB of shared memory, the limit is 227 KiB; logits is f32 "
            "[1, 60000] on cuda:0: pass fewer experts, or a tensor on the CPU");
}

}  // namespace
}  // namespace tw
