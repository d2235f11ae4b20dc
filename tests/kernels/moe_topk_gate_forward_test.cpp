#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/moe_topk_gate_testing.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::Choice;
using test::error_of;
using test::exact_score;
using test::expect_gate;
using test::floats;
using test::Gate;
using test::indices;
using test::kChoices;
using test::on;
using test::row;
using test::some_options;
using test::ulp;
using test::Where;
using test::With;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(MoeTopkGateForward, AgreesWithTheReference) {
  size_t n = 0;
  for (const auto& [experts, k] : kChoices) {
    for (const int64_t shared : {0, experts == 72 ? 1 : 2}) {
      for (const int64_t tokens : {0, 1, 37, 130}) {
        Gate gate(tokens, experts, k, shared, some_options(n += 37));
        gate.ep_rank = static_cast<int64_t>(n % 5);
        expect_gate(gate);
      }
    }
  }
}

TEST(MoeTopkGateForward, WithEachSetOfOptions) {
  for (size_t n = 0; n < 128; ++n) {
    Gate gate(23, 16, 6, 2, some_options(n), n + 1);
    gate.ep_rank = 3;
    expect_gate(gate);
  }
}

TEST(MoeTopkGateForward, OddSizes) {
  for (const auto& [experts, k] :
       {Choice{4, 4}, {4, 1}, {36, 30}, {64, 32}, {1024, 8}, {4096, 32}}) {
    for (const size_t options : {0, 127}) {
      Gate gate(5, experts, k, k == 32 ? 0 : 2, some_options(options));
      expect_gate(gate);
    }
  }
}

TEST(MoeTopkGateForward, AgreesWithTheReferenceOnThreads) {
  for (const size_t options : {0, 127, 0x2a, 0x55, 0x3f}) {
    for (const auto& [experts, k] : {Choice{16, 6}, {72, 6}, {256, 8}}) {
      Gate gate(6, experts, k, options % 3, some_options(options));
      expect_gate(gate, Where::twin);
    }
  }
  Gate wide(2, 1100, 32, 0, some_options(127)), empty(0, 16, 2, 0, {});
  expect_gate(wide, Where::twin);
  expect_gate(empty, Where::twin);
}

TEST(MoeTopkGateForward, ScoresAreExactOverTheRangeOfLogits) {
  Gate gate(1, 64, 8, 0, {});
  const std::vector<float> list = {3.4e38F,
                                   -3.4e38F,
                                   20,
                                   std::nextafter(20.0F, 99.0F),
                                   std::nextafter(20.0F, 0.0F),
                                   -20,
                                   1e-45F,
                                   -1e-45F,
                                   1e-40F,
                                   0,
                                   -0.0F,
                                   88.8F,
                                   -87.5F,
                                   -103.9F,
                                   -104,
                                   -50,
                                   1e-8F,
                                   0.69F};
  std::copy(list.begin(), list.end(), gate.logits->data_as<float>());
  for (const Where where : {Where::cpu, Where::twin}) {
    gate.run(where);
    for (size_t i = 0; i < list.size(); ++i) {
      const double found = gate.scores->data_as<float>()[i], wanted = exact_score(list[i]);
      if (list[i] > -87) {
        EXPECT_NEAR(found, wanted, 4 * ulp(wanted)) << list[i];
      } else {  // exp has few bits there, or none
        EXPECT_NEAR(found * found, wanted * wanted, 0x1p-148) << list[i];
      }
    }
  }
}

TEST(MoeTopkGateForward, HasTheValuesOfTheSpecification) {
  for (const Where where : {Where::cpu, Where::twin}) {
    Gate gate(4, 4, 2, 0, {.bias = true, .image = true, .unmapped = true});
    test::assign(gate.logits, {0, 0, 0, 0, 1, -1, 2, 0, 1, -1, 2, 0, 25, -30, 0.5, -0.5});
    test::assign(gate.bias, {0, 0, -1, 0});
    test::assign(gate.image_bias, {0, 1, 0, 0});
    test::assign(gate.image, {0, 0, 1, 0});
    gate.run(where);
    using Row = std::vector<int64_t>;
    EXPECT_EQ(indices(gate.idx), (Row{0, 1, 0, 3, 1, 2, 0, 3}));
    test::expect_close(
        gate.weights,
        {0.75, 0.75, 0.8688085, 0.6311916, 0.4160091, 1.0839909, 1.3184420, 0.1815580}, 1e-6, 0,
        "weights");
    test::expect_close(gate.scores->slice(0, 3, 1), {5, 3.0590232e-07, 0.9869534, 0.6885325}, 1e-6,
                       0, "scores");
    gate.fix = OwnedTensor(bool_, {4});
    test::assign(gate.fix, {0, 1, 0, 1});
    test::assign(gate.unmapped, {0, 0, 1, 0, 0, 0, 1, 1});
    gate.run(where);
    EXPECT_EQ(indices(gate.idx), (Row{0, 1, 1, 0, 1, 2, 1, 1}));
    test::expect_close(gate.weights.view().slice(0, 1, 1), {0.4922082, 1.0077919}, 1e-6, 0,
                       "row 1");
    test::expect_close(gate.weights.view().slice(0, 3, 1), {0.75, 0.75}, 0, 0, "row 3");
  }
}

TEST(MoeTopkGateForward, HasTheRandomExpertsOfTheSpecification) {
  struct Sample {
    int64_t experts, slots, rank, token;
    std::vector<int64_t> ids;
    std::vector<float> weights;
  };
  for (const Sample& sample :
       {Sample{8, 3, 0, 0, {5, 6, 3}, {0.39904648F, 0.51667917F, 0.024930386F}},
        {8, 3, 0, 1, {2, 1, 7}, {0.74940687F, 0.93029273F, 0.049435101F}},
        {4, 4, 5, 7, {4, 3, 0, 1}, {0.53194129F, 0.11504564F, 0.32524422F, 0.51736856F}}}) {
    const int64_t shared = sample.experts == 4 ? 2 : 0;  // six in all
    Gate gate(8, sample.experts, sample.slots - shared, shared, {.force = true});
    gate.ep_rank = sample.rank;
    test::assign(gate.force, std::vector<double>(8, 1));
    for (const Where where : {Where::cpu, Where::twin}) {
      gate.run(where);
      EXPECT_EQ(row(indices(gate.idx), sample.token, sample.slots), sample.ids);
      EXPECT_EQ(row(floats(gate.weights), sample.token, sample.slots), sample.weights);
    }
  }
}

TEST(MoeTopkGateForward, EqualLogitsChooseTheFirstExperts) {
  Gate gate(3, 72, 6, 0, {.unmapped = true});
  test::assign(gate.logits, std::vector<double>(3 * 72, 0));
  gate.run();
  for (int64_t t = 0; t < 3; ++t) {
    EXPECT_EQ(indices(gate.unmapped.select(0, t)), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(MoeTopkGateForward, TokensFarBehindHaveTheirTurn) {
  // (ep_rank + 23333 t) is above 2^31 from token 92038 on.
  Gate gate(92050, 4, 1, 0, {.map = true});
  gate.ep_rank = 2;
  expect_gate(gate);
  // So it is on the largest of ranks, where a few tokens are enough.
  for (const Where where : {Where::cpu, Where::twin}) {
    Gate few(9, 16, 4, 1, {.map = true});
    few.ep_rank = INT32_MAX;
    expect_gate(few, where);
  }
}

TEST(MoeTopkGateForward, LooksAtNoLogitsOfMaskedAndForcedTokens) {
  for (const Where where : {Where::cpu, Where::twin}) {
    Gate gate(3, 16, 2, 0, {.mask = true, .bias = true, .force = true});
    test::assign(gate.mask, {0, 1, 1});
    test::assign(gate.force, {0, 1, 0});
    for (int i = 0; i < 32; ++i) gate.logits->data_as<float>()[i] = i % 2 == 0 ? NAN : kInf;
    expect_gate(gate, where);
  }
}

/// The text of what stops the call.
std::string stop_of(const Gate& gate) {
  return error_of([&] { gate.run(); });
}

TEST(MoeTopkGateForward, MinusInfinityExcludesAnExpert) {
  Gate gate(3, 16, 6, 0, {.mask = true, .bias = true, .fix = true, .force = true});
  test::assign(gate.mask, {1, 1, 1});
  test::assign(gate.fix, {0, 0, 0});
  test::assign(gate.force, {0, 0, 0});
  for (int64_t e = 0; e < 10; ++e) gate.bias->data_as<float>()[e] = -kInf;
  expect_gate(gate);
  gate.bias->data_as<float>()[10] = -kInf;  // five are left
  EXPECT_NE(stop_of(gate).find("too few experts of this token have a key above -inf"),
            std::string::npos);
  // Of these tokens nothing is chosen.
  test::assign(gate.mask, {0, 1, 1});
  test::assign(gate.force, {0, 1, 0});
  test::assign(gate.fix, {0, 0, 1});
  expect_gate(gate);
}

TEST(MoeTopkGateForward, StopsAtWhatTheDeviceSees) {
  for (const float wrong : {NAN, kInf, -kInf}) {
    Gate gate(2, 16, 2, 0, {});
    gate.logits->data_as<float>()[16 + 9] = wrong;
    EXPECT_NE(stop_of(gate).find("moe_topk_gate_forward: a logit of this token isn't finite"),
              std::string::npos);
  }
  for (const int64_t wrong : {-1, 16, 1 << 30}) {
    Gate gate(2, 16, 2, 0, {.fix = true});
    test::assign(gate.fix, {0, 1});
    gate.unmapped.select(0, 1).data_as<int64_t>()[1] = wrong;
    EXPECT_NE(stop_of(gate).find("moe_topk_gate_forward: no such expert of this token"),
              std::string::npos);
  }
  for (const int32_t wrong : {0, 4, -1}) {
    Gate gate(2, 16, 16, 0, {.map = true});
    gate.counts->data_as<int32_t>()[5] = wrong;
    EXPECT_NE(stop_of(gate).find("logical_count of this expert isn't a number of duplicates"),
              std::string::npos);
  }
  Gate few(2, 4, 4, 2, {.map = true, .force = true});
  test::assign(few.force, {1, 1});
  test::assign(few.counts, {1, 1, 1, 1, 1, 0});
  EXPECT_NE(stop_of(few).find("moe_topk_gate_forward: fewer experts than slots"),
            std::string::npos);
}

TEST(MoeTopkGateForward, RejectsArgumentsThatDoNotFit) {
  const auto error = [](int64_t e, int64_t k, int64_t s, const std::function<void(Gate&)>& change,
                        With with = {}) {
    Gate gate(4, e, k, s, with);
    change(gate);
    return error_of([&] { gate.run(); });
  };
  const auto nothing = [](Gate&) {};
  EXPECT_EQ(
      error(18, 2, 0, nothing),
      "moe_topk_gate_forward: logits is f32 [4, 18], the number of experts must be a multiple "
      "of 4");
  EXPECT_EQ(error(16, 17, 0, nothing),
            "moe_topk_gate_forward: num_topk is 17, it must be from 1 to 16 for 16 experts");
  EXPECT_EQ(error(64, 33, 0, nothing),
            "moe_topk_gate_forward: num_topk is 33, it must be from 1 to 32 for 64 experts");
  EXPECT_EQ(error(64, 32, 1, nothing),
            "moe_topk_gate_forward: 32 experts of a token and 1 shared ones are more than 32");
  EXPECT_EQ(error(16, 2, 3, nothing),
            "moe_topk_gate_forward: num_shared_experts is 3, it must be 0 to 2");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.mask = OwnedTensor(bool_, {5}); }),
            "moe_topk_gate_forward: mask is bool [5], it must be [4] [tokens]");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.mask = OwnedTensor(u8, {4}); }),
            "moe_topk_gate_forward: mask is u8 [4], it must be bool");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.bias = OwnedTensor(f32, {4, 16}); }),
            "moe_topk_gate_forward: bias is f32 [4, 16], it must be [16] [experts]");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.image_bias = OwnedTensor(f32, {16}); }),
            "moe_topk_gate_forward: image_bias is given without image_token_mask; pass both or "
            "neither");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.counts = OwnedTensor(i32, {16}); }),
            "moe_topk_gate_forward: logical_count is given without to_physical_map; pass both or "
            "neither");
  EXPECT_EQ(error(16, 2, 1, [](Gate& g) { g.map = OwnedTensor(i32, {16, 3}); }, {.map = true}),
            "moe_topk_gate_forward: to_physical_map is i32 [16, 3], it must be [17, 3] [logical "
            "experts, duplicates]");
  EXPECT_EQ(error(16, 2, 1, [](Gate& g) { g.map = OwnedTensor(i32, {17, 0}); }, {.map = true}),
            "moe_topk_gate_forward: to_physical_map is i32 [17, 0], an expert must have at least "
            "one place");
  EXPECT_EQ(error(16, 2, 1, [](Gate& g) { g.ep_rank = -1; }, {.map = true}),
            "moe_topk_gate_forward: ep_rank is -1, with to_physical_map it must be 0 or more");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.fix = OwnedTensor(bool_, {4}); }),
            "moe_topk_gate_forward: fix_routing_mask is given without unmapped_topk_idx, which has "
            "the experts");
  EXPECT_EQ(
      error(16, 2, 0, [](Gate& g) { g.unmapped = g.unmapped.slice(1, 0, 1); }, {.unmapped = true}),
      "moe_topk_gate_forward: unmapped_topk_idx is i64 [4, 1] strides [5, 1], it must be [4, "
      "2] [tokens, num_topk]");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.scores = OwnedTensor(f32, {4, 15}); }),
            "moe_topk_gate_forward: scores is f32 [4, 15], it must be [4, 16] like logits");
  EXPECT_EQ(error(16, 2, 0, [](Gate& g) { g.force = OwnedTensor(bool_, {3}); }),
            "moe_topk_gate_forward: force_random is bool [3], it must be [4] [tokens]");
}

TEST(MoeTopkGateForward, RejectsMoreExpertsThanSharedMemoryHolds) {
  EXPECT_EQ(
      error_of([] { Gate(1, 60000, 8, 0, {}).run(Where::twin); }),
      "moe_topk_gate_forward: 235.1 KiB of shared memory, the limit is 227 KiB; logits is f32 "
      "[1, 60000] on cuda:0: pass fewer experts, or a tensor on the CPU");
  Gate on_cpu(1, 60000, 8, 0, {});
  expect_gate(on_cpu);
}

}  // namespace
}  // namespace tw
