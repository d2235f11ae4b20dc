#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/moe_topk_gate_testing.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/moe_gate.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::Backward;
using test::error_of;
using test::expect_backward;
using test::floats;
using test::Gate;
using test::indices;
using test::kChoices;
using test::random_tensor;
using test::row;
using test::Where;

TEST(MoeTopkGateBackward, AgreesWithTheReference) {
  for (const auto& [experts, k] : kChoices) {
    for (const int64_t sequences : {0, 1, 2}) {
      for (const int64_t tokens : {0, 1, 65}) {
        Backward b(tokens * std::max<int64_t>(sequences, 1), experts, k, sequences);
        if (b.t > 3) {
          b.exclude(2);
          b.exclude(b.t - 1);
        }
        expect_backward(b);
      }
    }
  }
  expect_backward(Backward(2001, 256, 8));
}

TEST(MoeTopkGateBackward, AgreesWithTheReferenceOnThreads) {
  for (const auto& [experts, k, sequences] :
       {std::tuple(16, 6, 0), {36, 6, 3}, {256, 8, 1}, {72, 32, 0}, {1028, 3, 6}}) {
    Backward b(6, experts, k, sequences);
    b.exclude(4);
    expect_backward(b, Where::twin);
  }
  expect_backward(Backward(0, 16, 2), Where::twin);
}

TEST(MoeTopkGateBackward, OddSizes) {
  for (const int64_t experts : {1, 5, 31, 257}) {
    Backward b(7, (experts + 3) / 4 * 4, 1);
    b.use_experts(experts);
    test::assign(b.idx, {0, 0, 0, 0, 0, 0, 0});
    b.weights = random_tensor(f32, {7, 1}, 8);  // else the gradient of one expert is 0
    expect_backward(b);
  }
  expect_backward(Backward(5, 32, 32, 5));  // k = e, a sequence is a token
  expect_backward(Backward(6, 1024, 32, 2));
  expect_backward(Backward(3, 5000, 6, 1));  // more than are gathered in a row
}

TEST(MoeTopkGateBackward, OfRepeatedAndMissingExperts) {
  for (const Where where : {Where::cpu, Where::twin}) {
    Backward b(4, 16, 6, 1);
    test::assign(b.idx,
                 {3,       3,  3,  5,  5,  0, /**/ -1, 2, -7, 2, 9, -1, /**/ -1, -1, -1, -1, -1, -1,
                  /**/ 15, 14, 13, 15, 14, 13});
    b.idx->data_as<int64_t>()[8] = -(int64_t{1} << 32);  // its low half is 0
    b.grad->data_as<float>()[6] = NAN;                   // of no expert
    b.weights->data_as<float>()[11] = NAN;
    expect_backward(b, where);
  }
}

TEST(MoeTopkGateBackward, OfLogitsFarFromZero) {
  for (const int64_t sequences : {0, 1}) expect_backward(Backward(9, 64, 6, sequences, 80));
}

TEST(MoeTopkGateBackward, OfAMaskedTokenIsPlusZero) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t sequences : {0, 1}) {
      Backward b(3, 40, 6, sequences);
      b.exclude(1);
      for (const float x : row(b.run(where), 1, 40)) {
        ASSERT_EQ(std::bit_cast<uint32_t>(x), 0U);
      }
    }
  }
}

TEST(MoeTopkGateBackward, HasTheValuesOfTheSpecification) {
  const auto with = [](int64_t t, const std::vector<double>& logits, std::vector<double> idx,
                       std::vector<double> grad, int64_t sequences) {
    Backward b(t, 4, 2, sequences);
    Gate gate(t, 4, 2, 0, {.fix = true});
    test::assign(gate.logits, logits);
    test::assign(gate.fix, std::vector<double>(static_cast<size_t>(t), 1));
    test::assign(gate.unmapped, idx);
    gate.run();
    b.scores = std::move(gate.scores);
    b.weights = std::move(gate.weights);
    b.idx = std::move(gate.idx);
    test::assign(b.grad, grad);
    return b;
  };
  const auto close = [](const std::vector<float>& found, const std::vector<double>& wanted,
                        double off) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], off) << i;
  };
  for (const Where where : {Where::cpu, Where::twin}) {
    close(with(1, {1, -1, 2, 0}, {2, 0}, {1, -0.5}, 0).run(where), {-0.1543115, 0, 0.1147943, 0},
          2e-7);
    close(with(1, {1, -1, 2, 0}, {2, 2}, {1, -0.5}, 0).run(where), {0, 0, 0, 0}, 1e-7);
    Backward aux = with(4, {1, -1, 2, 0, 0, 0, 0, 0, -1, 1, 0.5, 3, 0, 0, 0, 0},
                        {2, 0, 0, 1, 3, 1, 0, 0}, {1, -0.5, 0.25, 0.75, 0, 0, 5, 5}, 2);
    test::assign(aux.sums, {0.1, -0.2, 0.3, 0, 1, 0, -1, 0.5});
    aux.exclude(3);
    close(aux.run(where),
          {-0.15512055, -0.01864380, 0.12913982, -0.00827500, -0.06311791, 0.04508422, 0.02254211,
           -0.00450842, 0.04869231, -0.00721674, -0.07817977, 0.02455649, 0, 0, 0, 0},
          2e-7);
  }
}

/// The loss that a token's gradient belongs to, of its logits.
double loss_of(const std::vector<double>& logits, const reference::GateGradient& g) {
  std::vector<double> u;
  for (const double x : logits) {
    u.push_back(std::sqrt(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))));
  }
  double chosen = 0, all = 0, loss = 0;
  for (const int64_t e : g.idx) chosen += u[static_cast<size_t>(e)];
  for (const double y : u) all += y;
  for (size_t j = 0; j < g.idx.size(); ++j) {
    loss += g.grad_weights[j] * g.scale * u[static_cast<size_t>(g.idx[j])] / chosen;
  }
  for (size_t e = 0; e < g.h.size(); ++e) loss += g.h[e] * u[e] / all;
  return loss;
}

TEST(MoeTopkGateBackward, TheReferenceIsTheGradientOfTheLoss) {
  Backward b(1, 16, 6, 1);
  Gate gate(1, 16, 6, 0, {.unmapped = true});
  gate.run();
  const reference::GateGradient g{floats(gate.scores),
                                  floats(gate.weights),
                                  floats(b.grad),
                                  floats(b.sums),
                                  indices(gate.idx),
                                  gate.scale,
                                  true};
  const std::vector<double> gradient = g.logits();
  std::vector<double> logits = test::values(gate.logits);
  for (size_t e = 0; e < 16; ++e) {
    constexpr double kStep = 1e-5;
    std::vector<double> up = logits, down = logits;
    up[e] += kStep;
    down[e] -= kStep;
    EXPECT_NEAR(gradient[e], (loss_of(up, g) - loss_of(down, g)) / (2 * kStep), 1e-6) << e;
  }
}

TEST(MoeTopkGateBackward, StopsAtExpertsThatAreNone) {
  Backward b(2, 16, 2);
  b.idx->data_as<int64_t>()[3] = 16;
  EXPECT_NE(error_of([&] { b.run(); }).find("moe_topk_gate_backward: no such expert of this token"),
            std::string::npos);
}

TEST(MoeTopkGateBackward, RejectsArgumentsThatDoNotFit) {
  const auto error = [](const std::function<void(Backward&)>& change) {
    Backward b(4, 16, 2, 2);
    change(b);
    return error_of([&] { b.run(); });
  };
  EXPECT_EQ(error([](Backward& b) { b.scores = OwnedTensor(f32, {4}); }),
            "moe_topk_gate_backward: scores is f32 [4], it must have 2 dimensions");
  EXPECT_EQ(error([](Backward& b) { b.idx = OwnedTensor(i32, {4, 2}); }),
            "moe_topk_gate_backward: topk_idx is i32 [4, 2], it must be i64");
  EXPECT_EQ(error([](Backward& b) { b.idx = OwnedTensor(i64, {4, 17}); }),
            "moe_topk_gate_backward: topk_idx is i64 [4, 17], it must have 1 to 16 columns for 16 "
            "experts");
  EXPECT_EQ(error([](Backward& b) { b.idx = OwnedTensor(i64, {5, 2}); }),
            "moe_topk_gate_backward: topk_idx is i64 [5, 2], it must be [4, 2] [tokens, num_topk]");
  EXPECT_EQ(error([](Backward& b) { b.grad = OwnedTensor(f32, {4, 3}); }),
            "moe_topk_gate_backward: grad_topk_weights is f32 [4, 3], it must be [4, 2] like "
            "topk_idx");
  EXPECT_EQ(error([](Backward& b) { b.sums = OwnedTensor(f32, {3, 16}); }),
            "moe_topk_gate_backward: grad_scores_sum is f32 [3, 16], the number of sequences must "
            "divide that of 4 tokens");
  EXPECT_EQ(
      error([](Backward& b) { b.sums = OwnedTensor(f32, {2, 15}); }),
      "moe_topk_gate_backward: grad_scores_sum is f32 [2, 15], it must be [2, 16] [sequences, "
      "experts]");
  EXPECT_EQ(error([](Backward& b) { b.mask = OwnedTensor(bool_, {3}); }),
            "moe_topk_gate_backward: mask is bool [3], it must be [4] [tokens]");
  Backward b(4, 16, 2, 2);
  const Tensor mask = b.mask;
  EXPECT_EQ(error_of([&] {
              kernels::moe_topk_gate_backward(b.scores, b.idx, b.weights, b.grad,
                                              OwnedTensor(f32, {4, 16}), {.mask = &mask});
            }),
            "moe_topk_gate_backward: mask is given without grad_scores_sum; pass both or neither");
}

}  // namespace
}  // namespace tw
