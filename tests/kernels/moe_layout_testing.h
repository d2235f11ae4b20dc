// What the tests of layouts of experts share: choices of experts, and tensors as lists.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tests/kernels/tensors.h"
#include "tests/reference/moe_layout.h"

namespace tw::test {

using reference::Ints;

inline int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

inline OwnedTensor ints(DType dtype, const Shape& shape, const Ints& list) {
  OwnedTensor t(dtype, shape);
  assign(t, {list.begin(), list.end()});
  return t;
}

inline Ints as_ints(const Tensor& t) {
  const std::vector<double> v = values(t);
  return {v.begin(), v.end()};
}

inline std::vector<float> as_floats(const Tensor& t) {
  const std::vector<double> v = values(t);
  return {v.begin(), v.end()};
}

/// Experts that t tokens chose, topk different ones each, of which some are on other ranks: -1.
inline Ints some_experts(int64_t t, int64_t topk, int64_t experts, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Ints all(static_cast<size_t>(experts + std::max<int64_t>(experts / 2, topk))), chosen;
  for (size_t e = 0; e < all.size(); ++e) {
    all[e] = static_cast<int64_t>(e) < experts ? static_cast<int64_t>(e) : -1;
  }
  for (int64_t i = 0; i < t; ++i) {
    std::shuffle(all.begin(), all.end(), random);
    chosen.insert(chosen.end(), all.begin(), all.begin() + topk);
  }
  return chosen;
}

/// The elements as bits, row by row.
inline std::vector<uint32_t> bits(const Tensor& t) {
  std::vector<uint32_t> list;
  const int64_t bytes = t.dtype().bits() / 8;
  for (int64_t i = 0; i < t.dim(0); ++i) {
    for (int64_t j = 0; j < t.dim(1); ++j) {
      uint32_t word = 0;
      std::memcpy(&word, t.data_as<char>() + (i * t.stride(0) + j * t.stride(1)) * bytes,
                  static_cast<size_t>(bytes));
      list.push_back(word);
    }
  }
  return list;
}

inline OwnedTensor random_bits(DType dtype, const Shape& shape, uint64_t seed) {
  OwnedTensor t(dtype, shape);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < t->bytes(); ++i)
    t->data_as<uint8_t>()[i] = static_cast<uint8_t>(random());
  return t;
}

/// All bytes 0x55.
inline OwnedTensor untouched(DType dtype, const Shape& shape) {
  OwnedTensor t(dtype, shape);
  std::memset(t->data(), 0x55, static_cast<size_t>(t->bytes()));
  return t;
}

/// Numbers from low to below high.
inline Ints random_ints(int64_t count, int64_t low, int64_t high, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Ints list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low)));
  }
  return list;
}

struct FusedLayout {
  int64_t t, topk, experts, alignment;
  int64_t more = 0;  // positions behind the last range
};

struct FusedMaps {
  explicit FusedMaps(const FusedLayout& c)
      : wanted(reference::fused_mapping(some_experts(c.t, c.topk, c.experts), c.topk, c.experts,
                                        c.alignment)) {
    for (Ints* list : {&wanted.pos_to_expert, &wanted.pos_to_token, &wanted.pos_to_token_topk}) {
      list->resize(list->size() + static_cast<size_t>(c.more), -1);
    }
    np = static_cast<int64_t>(wanted.pos_to_expert.size());
    token_topk_to_pos = ints(i32, {c.t, c.topk}, wanted.token_topk_to_pos);
    pos_to_expert = ints(i32, {np}, wanted.pos_to_expert);
  }
  reference::FusedMapping wanted;
  int64_t np;
  OwnedTensor token_topk_to_pos, pos_to_expert;
};

}  // namespace tw::test
