// What the tests of gates share: calls of moe_topk_gate_forward, and tensors as lists.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/moe_gate.h"
#include "tilewright/kernels/moe.h"

namespace tw::test {

inline std::vector<float> floats(const Tensor& t) {
  return {t.data_as<float>(), t.data_as<float>() + t.numel()};
}
inline std::vector<int64_t> indices(const Tensor& t) {
  return {t.data_as<int64_t>(), t.data_as<int64_t>() + t.numel()};
}
/// Row t of a matrix.
template <class T>
std::vector<T> row(const std::vector<T>& all, int64_t t, int64_t width) {
  const auto first = all.begin() + t * width;
  return {first, first + width};
}
struct Choice {
  int64_t experts, k;
};
inline constexpr Choice kChoices[] = {{72, 6}, {32, 6},  {64, 6},  {96, 6},  {16, 6},
                                      {36, 6}, {108, 6}, {128, 6}, {144, 6}, {256, 8}};

/// Which arguments a call has.
struct With {
  bool mask = false, bias = false, image = false, fix = false, map = false, unmapped = false,
       force = false, scores = true;
};

/// One call: its arguments, as random ones or by hand, and its results.
struct Gate {
  Gate(int64_t t_, int64_t e_, int64_t k_, int64_t s_, With with, uint64_t seed = 1)
      : t(t_), e(e_), k(k_), s(s_), random(static_cast<unsigned>(seed)) {
    logits = random_tensor(f32, {t, e}, seed, -4, 4);
    idx = filled_tensor(i64, {t, k + s}, 77);
    weights = filled_tensor(f32, {t, k + s}, 77);
    if (with.mask) mask = flags(4);
    if (with.bias) bias = random_tensor(f32, {e}, seed + 1);
    if (with.image) {
      image_bias = random_tensor(f32, {e}, seed + 2);
      image = flags(2);
    }
    if (with.force) force = flags(3);
    if (with.fix || with.unmapped) {
      // Rows of k + 3 indices: the row stride is another.
      storage = OwnedTensor(i64, {t, k + 3});
      for (int64_t i = 0; i < storage->numel(); ++i) storage->data_as<int64_t>()[i] = any(e);
      unmapped = storage->slice(1, 0, k);
    }
    if (with.fix) fix = flags(2);
    if (with.map) deal(3);
    if (with.scores) scores = filled_tensor(f32, {t, e}, 77);
  }

  int64_t any(int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  }
  /// One of so many is false.
  OwnedTensor flags(int64_t one_of) {
    OwnedTensor result(bool_, {t});
    for (int64_t i = 0; i < t; ++i) result->data_as<bool>()[i] = any(one_of) != 0;
    return result;
  }
  /// Physical ids for 1 to `most` duplicates of each expert.
  void deal(int64_t most) {
    map = OwnedTensor(i32, {e + s, most});
    counts = OwnedTensor(i32, {e + s});
    duplicates = {most, {}, {}};
    int32_t next = 0;
    for (int64_t expert = 0; expert < e + s; ++expert) {
      const auto count = static_cast<int32_t>(1 + any(most));
      duplicates.counts.push_back(count);
      for (int32_t i = 0; i < most; ++i) duplicates.places.push_back(i < count ? next++ : -1);
    }
    std::copy(duplicates.counts.begin(), duplicates.counts.end(), counts->data_as<int32_t>());
    std::copy(duplicates.places.begin(), duplicates.places.end(), map->data_as<int32_t>());
  }

  void run(Where where = Where::cpu) const {
    const auto place = [&](const Tensor& tensor) { return on(where, tensor); };
    std::vector<Tensor> placed;
    placed.reserve(10);
    const auto optional = [&](const Tensor& tensor) -> const Tensor* {
      if (tensor.rank() == 0) return nullptr;
      return &placed.emplace_back(place(tensor));
    };
    kernels::moe_topk_gate_forward(place(logits), place(idx), place(weights),
                                   {.num_shared_experts = s,
                                    .routed_scaling_factor = scale,
                                    .mask = optional(mask),
                                    .bias = optional(bias),
                                    .image_bias = optional(image_bias),
                                    .image_token_mask = optional(image),
                                    .fix_routing_mask = optional(fix),
                                    .to_physical_map = optional(map),
                                    .logical_count = optional(counts),
                                    .ep_rank = ep_rank,
                                    .unmapped_topk_idx = optional(unmapped),
                                    .force_random = optional(force),
                                    .scores = optional(scores)});
  }

  int64_t t, e, k, s;
  float scale = 1.5F;
  int64_t ep_rank = 0;
  std::mt19937 random;
  OwnedTensor logits, idx, weights, mask, bias, image_bias, image, fix, map, counts, storage, force,
      scores;
  Tensor unmapped;
  reference::Duplicates duplicates;
};

inline bool is_set(const Tensor& flags, int64_t t, bool absent) {
  return flags.rank() == 0 ? absent : flags.data_as<bool>()[t];
}

}  // namespace tw::test
