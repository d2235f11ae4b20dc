#include "tests/reference/moe_layout.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using reference::Ints;
using test::error_of;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

OwnedTensor ints(DType dtype, const Shape& shape, const Ints& list) {
  OwnedTensor t(dtype, shape);
  test::assign(t, {list.begin(), list.end()});
  return t;
}

Ints as_ints(const Tensor& t) {
  const std::vector<double> v = values(t);
  return {v.begin(), v.end()};
}

std::vector<float> as_floats(const Tensor& t) {
  const std::vector<double> v = values(t);
  return {v.begin(), v.end()};
}

/// Experts that t tokens chose, topk different ones each, of which some are on other ranks: -1.
Ints some_experts(int64_t t, int64_t topk, int64_t experts, uint64_t seed = 1) {
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
std::vector<uint32_t> bits(const Tensor& t) {
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

OwnedTensor random_bits(DType dtype, const Shape& shape, uint64_t seed) {
  OwnedTensor t(dtype, shape);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < t->bytes(); ++i)
    t->data_as<uint8_t>()[i] = static_cast<uint8_t>(random());
  return t;
}

/// All bytes 0x55.
OwnedTensor untouched(DType dtype, const Shape& shape) {
  OwnedTensor t(dtype, shape);
  std::memset(t->data(), 0x55, static_cast<size_t>(t->bytes()));
  return t;
}

/// Numbers from low to below high.
Ints random_ints(int64_t count, int64_t low, int64_t high, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Ints list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low)));
  }
  return list;
}

// ---- mask_indices_by_tp ----

void check_mask(const Ints& indices, int64_t topk, const kernels::TpRanks& r, DType dtype,
                Where where = Where::cpu) {
  const Shape shape = {static_cast<int64_t>(indices.size()) / topk, topk};
  const OwnedTensor out = untouched(dtype, shape);
  kernels::mask_indices_by_tp(on(where, ints(dtype, shape, indices)), r, on(where, out));
  EXPECT_EQ(as_ints(out),
            reference::mask_indices_by_tp(indices, r.n / r.num_ep_ranks, r.tp_rank, r.num_tp_ranks))
      << format("{}: {} {}, {} experts on {} ranks, {} of {}", name_of(where), dtype, shape, r.n,
                r.num_ep_ranks, r.tp_rank, r.num_tp_ranks);
}

TEST(MaskIndicesByTp, IsTheReference) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {i64, i32}) {
      // Experts of this rank; of all ranks; ranks that don't share out evenly, experts neither.
      for (const auto& [n, ep] : {std::pair(9 * 8, 8), std::pair(72, 8), std::pair(256, 64),
                                  std::pair(257, 6), std::pair(7, 7), std::pair(1 << 30, 3)}) {
        for (const int64_t tp : {1, 2, 3, 4, 8}) {
          for (const int64_t tp_rank : {int64_t{0}, tp - 1}) {
            const kernels::TpRanks ranks{n, ep, tp_rank, tp};
            check_mask(random_ints(43 * 6, -1, n), 6, ranks, dtype, where);
            check_mask(random_ints(43 * 2, -1, n / ep), 2, ranks, dtype, where);
          }
        }
      }
      for (const int64_t t : {0, 1, 700}) {
        check_mask(random_ints(t * 9, -1, 256), 9, {256, 8, 1, 2}, dtype, where);
      }
    }
  }
}

TEST(MaskIndicesByTp, AnyNumbersOfExperts) {
  const Ints far = {INT64_MAX, INT64_MAX - 1, INT64_MIN, -2, 0, int64_t{1} << 62, 4294967296, 3};
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t n : {1, 2, 3, 5, 7, 641, 65535, 65536, 2147483647}) {
      for (const int64_t tp : {1, 3, 64, 2147483647}) {
        for (const int64_t tp_rank : {0, 1, 2}) {
          if (tp_rank >= tp) continue;
          const OwnedTensor out = untouched(i64, {1, 8}), in(i64, {1, 8});
          std::copy(far.begin(), far.end(), in->data_as<int64_t>());  // f64 has too few bits
          kernels::mask_indices_by_tp(on(where, in), {n, 1, tp_rank, tp}, on(where, out));
          const auto* found = out->data_as<int64_t>();
          EXPECT_EQ(Ints(found, found + 8), reference::mask_indices_by_tp(far, n, tp_rank, tp))
              << format("{} experts, {} of {}", n, tp_rank, tp);
        }
      }
    }
  }
}

TEST(MaskIndicesByTp, TheExampleOfItsContract) {
  const OwnedTensor out(i64, {2, 4});
  kernels::mask_indices_by_tp(ints(i64, {2, 4}, {0, 2, 7, -1, 15, 10, 4, 3}), {16, 8, 1, 2}, out);
  EXPECT_EQ(as_ints(out), (Ints{-1, 0, 3, -1, 7, 4, -1, 1}));
}

TEST(MaskIndicesByTp, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor idx(i64, {3, 2}), out(i64, {3, 2}), half(f16, {3, 2}), flat(i64, {6}),
      other(i32, {3, 2}), gaps(i64, {3, 4});
  const auto error = [&](const Tensor& a, const kernels::TpRanks& r, const Tensor& o) {
    return error_of([&] { kernels::mask_indices_by_tp(a, r, o); });
  };
  EXPECT_EQ(error(half, {16, 8, 1, 2}, out),
            "mask_indices_by_tp: indices is f16 [3, 2], it must be i64 or i32");
  EXPECT_EQ(error(flat, {16, 8, 1, 2}, out),
            "mask_indices_by_tp: indices is i64 [6], it must have 2 dimensions");
  EXPECT_EQ(error(test::with_row_gap(gaps, 2), {16, 8, 1, 2}, out),
            "mask_indices_by_tp: indices is i64 [3, 2] strides [4, 1], it must be compact");
  EXPECT_EQ(error(idx, {16, 8, 1, 2}, other),
            "mask_indices_by_tp: out is i32 [3, 2], it must be i64 [3, 2] like indices");
  EXPECT_EQ(error(idx, {16, 8, 1, 2}, idx),
            "mask_indices_by_tp: out i64 [3, 2] shares memory with indices i64 [3, 2]; pass a copy "
            "of one");
  EXPECT_EQ(error(idx, {16, 0, 1, 2}, out),
            "mask_indices_by_tp: num_ep_ranks is 0, it must be at least 1");
  EXPECT_EQ(error(idx, {16, 8, 0, 0}, out),
            "mask_indices_by_tp: num_tp_ranks is 0, it must be at least 1");
  for (const int64_t tp_rank : {-1, 2}) {
    EXPECT_EQ(error(idx, {16, 8, tp_rank, 2}, out),
              format("mask_indices_by_tp: tp_rank is {}, it must be from 0 to 1", tp_rank));
  }
  EXPECT_EQ(error(idx, {7, 8, 0, 2}, out),
            "mask_indices_by_tp: 7 experts on 8 ranks leave none for each");
}

// ---- inplace_unique_group_indices ----

void check_unique(const Ints& groups, int64_t topk, int64_t num_groups, Where where = Where::cpu) {
  const Shape shape = {static_cast<int64_t>(groups.size()) / topk, topk};
  const OwnedTensor found = ints(i64, shape, groups);
  kernels::inplace_unique_group_indices(on(where, found), num_groups);
  EXPECT_EQ(as_ints(found), reference::unique_in_rows(groups, topk))
      << format("{}: {} of {}", name_of(where), shape, num_groups);
}

TEST(InplaceUniqueGroupIndices, IsTheReference) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t groups : {1, 8, 16, 63, 64, 65, 72, 128}) {
      for (const int64_t topk : {1, 2, 16, 32}) {
        check_unique(random_ints(201 * topk, -2, groups), topk, groups, where);
      }
    }
    for (const int64_t t : {0, 1, 1025}) check_unique(random_ints(t * 6, -1, 8), 6, 8, where);
    check_unique({127, 64, 127, 64, 63, 63, 0, 0}, 8, 65, where);  // up to a multiple of 64
    check_unique({3, 3, 5, -1, 0, 1, 0, 0, -1, 2, -1, 2, -5, -5, -7, 4}, 4, 6, where);
  }
}

TEST(InplaceUniqueGroupIndices, TheExampleOfItsContract) {
  const OwnedTensor found = ints(i64, {3, 4}, {3, 3, 5, -1, 0, 1, 0, 0, -1, 2, -1, 2});
  kernels::inplace_unique_group_indices(found, 6);
  EXPECT_EQ(as_ints(found), (Ints{3, -1, 5, -1, 0, 1, -1, -1, -1, 2, -1, -1}));
}

TEST(InplaceUniqueGroupIndices, StopsAtAGroupThatThereIsNot) {
  for (const auto& [groups, value] :
       {std::pair(0, 0), std::pair(1, 64), std::pair(64, 64), std::pair(65, 128)}) {
    const std::string error = error_of([g = groups, v = value] {
      kernels::inplace_unique_group_indices(ints(i64, {1, 2}, {-1, v}), g);
    });
    EXPECT_NE(
        error.find(format("inplace_unique_group_indices: group {} of {}", value, up(groups, 64))),
        std::string::npos)
        << error;
  }
}

TEST(InplaceUniqueGroupIndices, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor idx(i64, {3, 2}), narrow(i32, {3, 2}), flat(i64, {6}), gaps(i64, {3, 4});
  const auto error = [&](const Tensor& t, int64_t groups) {
    return error_of([&] { kernels::inplace_unique_group_indices(t, groups); });
  };
  EXPECT_EQ(error(narrow, 8),
            "inplace_unique_group_indices: group_indices is i32 [3, 2], it must be i64");
  EXPECT_EQ(error(flat, 8),
            "inplace_unique_group_indices: group_indices is i64 [6], it must have 2 dimensions");
  EXPECT_EQ(error(test::with_row_gap(gaps, 2), 8),
            "error[E-HOST-06]: inplace_unique_group_indices: group_indices.stride[0] expected 2 "
            "(compact), got 4");
  for (const int64_t groups : {-1, 129}) {
    EXPECT_EQ(
        error(idx, groups),
        format("inplace_unique_group_indices: num_groups is {}, it must be from 0 to 128", groups));
  }
}

// ---- group_count, aux_fi ----

void check_count(const Ints& list, int64_t topk, int64_t groups, Where where = Where::cpu) {
  const Shape shape = {static_cast<int64_t>(list.size()) / topk, topk};
  const OwnedTensor idx = ints(i64, shape, list), out = untouched(i32, {groups});
  kernels::group_count(on(where, idx), on(where, out));
  const Ints wanted = reference::group_count(list, groups);
  const std::string what = format("{}: {} of {}", name_of(where), shape, groups);
  EXPECT_EQ(as_ints(out), wanted) << what;
  for (const int64_t num_aux_topk : {int64_t{1}, topk, int64_t{INT32_MAX}}) {
    const OwnedTensor f = untouched(f32, {groups});
    kernels::aux_fi(on(where, idx), num_aux_topk, on(where, f));
    std::vector<float> quotients;
    for (const int64_t count : wanted) {
      quotients.push_back(shape[0] == 0 ? 0.0F
                                        : static_cast<float>(count * groups) /
                                              static_cast<float>(shape[0] * num_aux_topk));
    }
    EXPECT_EQ(as_floats(f), quotients) << what << ", aux top " << num_aux_topk;
  }
}

TEST(GroupCount, IsTheReferenceAndAuxFiToo) {
  for (const int64_t topk : {1, 2, 6, 8, 9}) {
    check_count(some_experts(401, topk, 9), topk, 9);
    check_count(some_experts(57, topk, 32), topk, 32);
  }
  // Among them more than blocks count by themselves.
  for (const int64_t groups : {1, 1000, 4096, 8192, 8193, 100000}) {
    check_count(random_ints(3 * 7000, -3, groups), 3, groups);
    check_count({}, 3, groups);
  }
}

TEST(GroupCount, IsTheReferenceAndAuxFiTooOnThreads) {
  for (const int64_t groups : {1, 9, 1000, 9000}) {
    check_count(random_ints(700 * 6, -3, groups), 6, groups, Where::twin);
    check_count({}, 3, groups, Where::twin);
    check_count({-1}, 1, groups, Where::twin);
  }
}

TEST(GroupCount, OfOneGroupForAllOrForNone) {
  for (const Where where : {Where::cpu, Where::twin}) {
    check_count(Ints(6000, 3), 6, 7, where);
    check_count(Ints(6000, -1), 6, 7, where);
    check_count(Ints(600, INT64_MIN), 6, 7, where);
  }
}

TEST(AuxFi, ProductsDoNotOverflow) {
  // 30000 * 100000 and 30000 * 2^31 / 3 are above 2^31.
  const OwnedTensor f(f32, {100000});
  kernels::aux_fi(ints(i64, {30000, 1}, Ints(30000, 99999)), INT32_MAX / 3, f);
  EXPECT_EQ(as_floats(f)[99999], 3e9F / static_cast<float>(int64_t{30000} * (INT32_MAX / 3)));
}

TEST(GroupCount, TheExampleOfItsContract) {
  const OwnedTensor idx = ints(i64, {3, 2}, {0, 2, 2, -1, 1, 2}), out(i32, {4}), f(f32, {4});
  kernels::group_count(idx, out);
  EXPECT_EQ(as_ints(out), (Ints{1, 1, 3, 0}));
  kernels::aux_fi(idx, 2, f);
  EXPECT_EQ(as_floats(f), (std::vector<float>{2.0F / 3.0F, 2.0F / 3.0F, 2, 0}));
  kernels::aux_fi(idx, 1, f);
  EXPECT_EQ(as_floats(f), (std::vector<float>{4.0F / 3.0F, 4.0F / 3.0F, 4, 0}));
}

TEST(GroupCount, StopsAtAGroupThatThereIsNot) {
  const OwnedTensor idx = ints(i64, {1, 2}, {-1, 4}), out(i32, {4}), f(f32, {4});
  std::string error = error_of([&] { kernels::group_count(idx, out); });
  EXPECT_NE(error.find("group_count: group 4 of 4"), std::string::npos) << error;
  error = error_of([&] { kernels::aux_fi(idx, 1, f); });
  EXPECT_NE(error.find("aux_fi: expert 4 of 4"), std::string::npos) << error;
}

TEST(GroupCount, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor idx(i64, {3, 2}), narrow(i32, {3, 2}), flat(i64, {6}), gaps(i64, {3, 4}),
      out(i32, {4}), wide(i64, {4}), table(i32, {2, 2});
  const auto error = [&](const Tensor& list, const Tensor& o) {
    return error_of([&] { kernels::group_count(list, o); });
  };
  EXPECT_EQ(error(narrow, out), "group_count: group_idx is i32 [3, 2], it must be i64");
  EXPECT_EQ(error(flat, out), "group_count: group_idx is i64 [6], it must have 2 dimensions");
  EXPECT_EQ(error(test::with_row_gap(gaps, 2), out),
            "group_count: group_idx is i64 [3, 2] strides [4, 1], it must be compact");
  EXPECT_EQ(error(idx, wide), "group_count: out is i64 [4], it must be i32");
  EXPECT_EQ(error(idx, table), "group_count: out is i32 [2, 2], it must have 1 dimension");
  EXPECT_EQ(error(idx, Tensor(idx->data(), i32, {4})),
            "group_count: out i32 [4] shares memory with group_idx i64 [3, 2]; pass a copy of one");
}

TEST(AuxFi, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor idx(i64, {3, 2}), narrow(i32, {3, 2}), gaps(i64, {3, 4}), out(f32, {4}),
      ints_out(i32, {4}), table(f32, {2, 2});
  const auto error = [&](const Tensor& list, int64_t num_aux_topk, const Tensor& o) {
    return error_of([&] { kernels::aux_fi(list, num_aux_topk, o); });
  };
  EXPECT_EQ(error(narrow, 1, out), "aux_fi: topk_idx is i32 [3, 2], it must be i64");
  EXPECT_EQ(error(test::with_row_gap(gaps, 2), 1, out),
            "aux_fi: topk_idx is i64 [3, 2] strides [4, 1], it must be compact");
  for (const int64_t num_aux_topk : {int64_t{0}, int64_t{1} << 31}) {
    EXPECT_EQ(error(idx, num_aux_topk, out),
              format("aux_fi: num_aux_topk is {}, it must be from 1 to 2147483647", num_aux_topk));
  }
  EXPECT_EQ(error(idx, 1, ints_out), "aux_fi: out is i32 [4], it must be f32");
  EXPECT_EQ(error(idx, 1, table), "aux_fi: out is f32 [2, 2], it must have 1 dimension");
  EXPECT_EQ(error(idx, 1, Tensor(idx->data(), f32, {4})),
            "aux_fi: out f32 [4] shares memory with topk_idx i64 [3, 2]; pass a copy of one");
}

TEST(NumbersOfExperts, BecomeCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_mask(random_ints(6, -1, 8), 2, {8, 4, 0, 2}, i64, Where::twin);
  check_unique(random_ints(6, -1, 8), 2, 8, Where::twin);
  check_count(random_ints(6, -1, 8), 2, 8, Where::twin);
}

// ---- get_fused_mapping ----

/// Memory for the maps, with some behind each that must stay.
struct MapTensors {
  MapTensors(int64_t t, int64_t topk, int64_t experts, int64_t np) {
    const Shape shapes[] = {
        {np},      {np},      {np},      {t, topk},
        {experts}, {experts}, {experts}, kernels::fused_mapping_scratch(t * topk, experts)};
    for (const Shape& shape : shapes) {
      memory.push_back(untouched(i32, {shape.numel() + 1}));
      views.push_back(memory.back()->slice(0, 0, shape.numel()).reshape(shape));
    }
  }
  kernels::FusedMapping on(Where where) const {
    std::vector<Tensor> v;
    for (const Tensor& t : views) v.push_back(test::on(where, t));
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  }
  Tensor scratch(Where where) const { return test::on(where, views[7]); }
  std::vector<Ints> lists() const {
    std::vector<Ints> all;
    for (size_t i = 0; i < 7; ++i) all.push_back(as_ints(views[i]));
    return all;
  }
  bool stayed_inside() const {
    return std::all_of(memory.begin(), memory.end(), [](const OwnedTensor& m) {
      return m->data_as<int32_t>()[m->numel() - 1] == 0x55555555;
    });
  }
  std::vector<OwnedTensor> memory;
  std::vector<Tensor> views;
};

/// np < 0: as many positions as there are.
void check_mapping(const Ints& chosen, int64_t topk, int64_t experts, int64_t alignment,
                   int64_t np = -1, Where where = Where::cpu) {
  const auto t = static_cast<int64_t>(chosen.size()) / topk;
  const auto wanted = reference::fused_mapping(chosen, topk, experts, alignment);
  const auto resized = [&](Ints list) {
    if (np >= 0) list.resize(static_cast<size_t>(np), -1);
    return list;
  };
  const MapTensors maps(t, topk, experts,
                        np < 0 ? static_cast<int64_t>(wanted.pos_to_expert.size()) : np);
  kernels::get_fused_mapping(on(where, ints(i64, {t, topk}, chosen)), alignment, maps.on(where),
                             maps.scratch(where));
  const std::vector<Ints> lists = {resized(wanted.pos_to_expert),
                                   resized(wanted.pos_to_token),
                                   resized(wanted.pos_to_token_topk),
                                   wanted.token_topk_to_pos,
                                   wanted.start,
                                   wanted.end,
                                   wanted.count};
  const std::string what = format("{}: {} x {} of {}, alignment {}, {} positions", name_of(where),
                                  t, topk, experts, alignment, np);
  EXPECT_EQ(maps.lists(), lists) << what;
  EXPECT_TRUE(maps.stayed_inside()) << what;
}

TEST(GetFusedMapping, IsTheReference) {
  for (const int64_t alignment : {1, 16, 64, 128}) {
    for (const int64_t topk : {1, 2, 6, 8, 9}) {
      check_mapping(some_experts(401, topk, 9), topk, 9, alignment);
      check_mapping(some_experts(57, topk, 32), topk, 32, alignment);
    }
  }
  for (const int64_t experts : {1, 7, 256, 257, 1024}) {
    check_mapping(some_experts(700, 2, experts), 2, experts, 16);
    check_mapping({}, 2, experts, 16);
  }
  check_mapping(some_experts(40000, 8, 4), 8, 4, 128);  // more chunks than a strip has
}

TEST(GetFusedMapping, IsTheReferenceOnThreads) {
  {
    const Where where = Where::twin;
    check_mapping(some_experts(100, 6, 9), 6, 9, 16, -1, where);
    check_mapping(some_experts(300, 1, 257), 1, 257, 1, -1, where);
    check_mapping(some_experts(3, 33, 40), 33, 40, 4, 700, where);
    check_mapping({}, 1, 1, 1, 5, where);
    check_mapping({}, 1, 1, 1, 0, where);
    check_mapping(some_experts(100, 6, 9), 6, 9, 16, 0, where);
  }
}

TEST(GetFusedMapping, OfOneExpertForAllOrForNone) {
  for (const Where where : {Where::cpu, Where::twin}) {
    check_mapping(Ints(600, 3), 6, 7, 16, -1, where);
    check_mapping(Ints(600, -1), 6, 7, 16, -1, where);
    check_mapping(Ints(600, INT64_MIN), 6, 7, 16, 20, where);
    check_mapping({4, -5, -1, INT64_MIN, 4, 4}, 2, 7, 4, -1, where);  // an expert twice
  }
}

TEST(GetFusedMapping, MapsOfPositionsMayHaveAnyLength) {
  const Ints chosen = some_experts(100, 6, 9);
  const auto sum =
      static_cast<int64_t>(reference::fused_mapping(chosen, 6, 9, 16).pos_to_expert.size());
  for (const int64_t np : {sum, sum + 1, sum + 5000, sum - 20, int64_t{1}, int64_t{0}}) {
    check_mapping(chosen, 6, 9, 16, np);
  }
  for (const int64_t np : {0, 1, 700}) check_mapping({}, 3, 5, 16, np);
}

TEST(GetFusedMapping, TheExampleOfItsContract) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const MapTensors maps(3, 2, 4, kernels::most_fused_rows(6, 4, 4));
    kernels::get_fused_mapping(on(where, ints(i64, {3, 2}, {1, 0, 1, -1, 3, 1})), 4, maps.on(where),
                               maps.scratch(where));
    EXPECT_EQ(maps.lists(),
              (std::vector<Ints>{{0, -1, -1, -1, 1, 1, 1, -1, 3, -1, -1, -1, -1, -1, -1, -1},
                                 {0, -1, -1, -1, 0, 1, 2, -1, 2, -1, -1, -1, -1, -1, -1, -1},
                                 {1, -1, -1, -1, 0, 2, 5, -1, 4, -1, -1, -1, -1, -1, -1, -1},
                                 {4, 0, 5, -1, 8, 6},
                                 {0, 4, 8, 8},
                                 {4, 8, 8, 12},
                                 {4, 4, 0, 4}}));
  }
}

TEST(GetFusedMapping, StopsAtAnExpertThatThereIsNot) {
  const MapTensors maps(2, 2, 4, 8);
  const std::string error = error_of([&] {
    kernels::get_fused_mapping(ints(i64, {2, 2}, {0, 1, 4, -1}), 1, maps.on(Where::cpu),
                               maps.scratch(Where::cpu));
  });
  EXPECT_NE(error.find("get_fused_mapping: expert 4 of 4"), std::string::npos) << error;
  EXPECT_TRUE(maps.stayed_inside());
}

TEST(GetFusedMapping, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor idx(i64, {3, 2}), idx_32(i32, {3, 2}), flat(i64, {6}), gaps(i64, {3, 4});
  const MapTensors maps(3, 2, 4, 8);
  const auto error = [&](const Tensor& topk_idx, int64_t alignment,
                         const kernels::FusedMapping& out) {
    return error_of(
        [&] { kernels::get_fused_mapping(topk_idx, alignment, out, maps.scratch(Where::cpu)); });
  };
  const kernels::FusedMapping good = maps.on(Where::cpu);
  EXPECT_EQ(error(idx_32, 1, good), "get_fused_mapping: topk_idx is i32 [3, 2], it must be i64");
  EXPECT_EQ(error(flat, 1, good),
            "get_fused_mapping: topk_idx is i64 [6], it must have 2 dimensions");
  EXPECT_EQ(error(test::with_row_gap(gaps, 2), 1, good),
            "get_fused_mapping: topk_idx is i64 [3, 2] strides [4, 1], it must be compact");
  for (const int64_t alignment : {int64_t{0}, int64_t{1} << 31}) {
    EXPECT_EQ(error(idx, alignment, good),
              format("get_fused_mapping: the alignment is {}, it must be from 1 to 2147483647",
                     alignment));
  }
  for (const int64_t experts : {0, 1025}) {
    EXPECT_EQ(
        error(idx, 1, MapTensors(3, 2, experts, 8).on(Where::cpu)),
        format("get_fused_mapping: there are {} experts, there must be from 1 to 1024", experts));
  }
  kernels::FusedMapping bad = good;
  bad.pos_to_token = good.expert_start;
  EXPECT_EQ(error(idx, 1, bad),
            "get_fused_mapping: pos_to_token is i32 [4], it must be [8] like pos_to_expert");
  bad = good;
  bad.token_topk_to_pos = good.pos_to_expert;
  EXPECT_EQ(error(idx, 1, bad),
            "get_fused_mapping: token_topk_to_pos is i32 [8], it must be [3, 2] like topk_idx");
  bad = good;
  bad.expert_end = flat;
  EXPECT_EQ(error(idx, 1, bad), "get_fused_mapping: expert_end is i64 [6], it must be i32");
  const Tensor part = maps.scratch(Where::cpu).slice(1, 0, 1);
  EXPECT_EQ(error_of([&] { kernels::get_fused_mapping(idx, 1, good, part); }),
            "get_fused_mapping: scratch is i32 [4, 1] strides [2, 1], it must be [4, 2] of "
            "fused_mapping_scratch()");
  const Tensor huge(flat->data(), i64, {int64_t{1} << 30, 2});
  EXPECT_EQ(error(huge, 1, good),
            "get_fused_mapping: topk_idx is i64 [1073741824, 2], the maps have room for 2147483647 "
            "pairs");
}

TEST(GetFusedMapping, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_mapping(some_experts(10, 6, 9), 6, 9, 16, -1, Where::twin);
}

// ---- expand_to_fused ----

struct Layout {
  int64_t t, topk, experts, alignment;
  int64_t more = 0;  // positions behind the last range
};

struct Maps {
  explicit Maps(const Layout& c)
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

void check_expand(const Layout& c, DType dtype, int64_t h, Where where = Where::cpu) {
  const Maps maps(c);
  const OwnedTensor x = random_bits(dtype, {c.t, h}, 3), out = untouched(dtype, {maps.np, h});
  kernels::expand_to_fused(on(where, x), on(where, maps.token_topk_to_pos),
                           on(where, maps.pos_to_expert), on(where, out));
  EXPECT_EQ(bits(out), reference::expand_to_fused(bits(x), h, maps.wanted.pos_to_token))
      << format("{}: {} [{}, {}], top {} of {}, alignment {}", name_of(where), dtype, c.t, h,
                c.topk, c.experts, c.alignment);
}

/// The same with factors: f32 in rows or columns, or packed in columns.
void check_expand_with_sf(const Layout& c, int64_t h, int64_t group, DType sf_dtype, bool columns,
                          Where where = Where::cpu) {
  const Maps maps(c);
  const int64_t factors = up(h, group) / group, n = sf_dtype == f32 ? factors : up(factors, 4) / 4;
  const OwnedTensor x = random_bits(f8_e4m3, {c.t, h}, 3), sf = random_bits(sf_dtype, {c.t, n}, 4),
                    out = untouched(f8_e4m3, {maps.np, h});
  const int64_t pitch = up(maps.np, 4);
  const OwnedTensor memory = untouched(sf_dtype, columns ? Shape{n, pitch} : Shape{maps.np, n});
  const Tensor out_sf = columns ? memory->slice(1, 0, maps.np).transpose(0, 1) : memory.view();
  kernels::expand_to_fused_with_sf(on(where, x), on(where, sf), group,
                                   on(where, maps.token_topk_to_pos), on(where, maps.pos_to_expert),
                                   on(where, out), on(where, out_sf));
  const std::string what =
      format("{}: [{}, {}], top {} of {}, {} for {} columns, {}", name_of(where), c.t, h, c.topk,
             c.experts, sf_dtype, group, columns ? "columns" : "rows");
  EXPECT_EQ(bits(out), reference::expand_to_fused(bits(x), h, maps.wanted.pos_to_token)) << what;
  EXPECT_EQ(bits(out_sf), reference::expand_to_fused(bits(sf), n, maps.wanted.pos_to_token))
      << what;
}

constexpr Layout kLayouts[] = {{0, 1, 1, 16},      {0, 2, 3, 16, 5}, {1, 8, 4, 16},
                               {41, 2, 9, 16},     {41, 6, 32, 16},  {41, 8, 4, 16, 24},
                               {41, 9, 36, 16, 3}, {41, 1, 32, 16},  {5, 33, 40, 4}};

TEST(ExpandToFused, CopiesTokensToTheirPositionsAndClearsTheOthers) {
  for (const Layout& c : kLayouts) {
    for (const int64_t h : {8, 64, 100, 128, 576}) check_expand(c, bf16, h);
  }
  const Layout c{41, 6, 9, 16, 3};
  for (const int64_t h : {2048, 2560, 3072, 4096, 6144, 7168, 1, 9001}) check_expand(c, bf16, h);
  for (const DType dtype : {f32, f16, f8_e4m3, f8_e5m2, i8, u8, i16, u16, i32, u32}) {
    for (const int64_t h : {1, 576}) check_expand(c, dtype, h);
  }
}

TEST(ExpandToFused, OnThreads) {
  for (const Layout& c : kLayouts) check_expand(c, bf16, 576, Where::twin);
  const Layout c{7, 6, 9, 4, 3};
  for (const DType dtype : {bf16, f32, f8_e4m3}) {
    for (const int64_t h : {1, 8, 100, 2560, 33000}) check_expand(c, dtype, h, Where::twin);
  }
}

TEST(ExpandToFused, CopiesScaleFactorsAlong) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const Layout& c : {kLayouts[1], kLayouts[2], Layout{13, 6, 9, 4, 3}}) {
      for (const int64_t group : {32, 128}) {
        for (const int64_t h : {100, 576, 2048}) {
          check_expand_with_sf(c, h, group, f32, false, where);
          check_expand_with_sf(c, h, group, f32, true, where);
          check_expand_with_sf(c, h, group, i32, true, where);
        }
      }
    }
  }
}

TEST(ExpandToFused, TokensWithoutExpertsGoNowhere) {
  const OwnedTensor x = random_bits(bf16, {3, 64}, 1), out = untouched(bf16, {4, 64});
  const OwnedTensor map = ints(i32, {3, 2}, {-1, -1, -1, -1, -7, -1}),
                    experts = ints(i32, {4}, {-1, -1, -1, -1});
  for (const Where where : {Where::cpu, Where::twin}) {
    kernels::expand_to_fused(on(where, x), on(where, map), on(where, experts), on(where, out));
    EXPECT_EQ(bits(out), std::vector<uint32_t>(4 * 64, 0)) << name_of(where);
  }
}

TEST(ExpandToFused, WritesNothingOutsideOfTheOutput) {
  const OwnedTensor x = random_bits(bf16, {1, 64}, 1), memory = untouched(bf16, {4, 64});
  const OwnedTensor map = ints(i32, {1, 3}, {2, 1, 2147483647}), experts = ints(i32, {2}, {0, 0});
  const std::vector<uint32_t> before = bits(memory->slice(0, 2, 2));
  for (const Where where : {Where::cpu, Where::twin}) {
    kernels::expand_to_fused(on(where, x), on(where, map), on(where, experts),
                             on(where, memory->slice(0, 0, 2)));
    EXPECT_EQ(bits(memory->slice(0, 1, 1)), bits(x));
    EXPECT_EQ(bits(memory->slice(0, 2, 2)), before) << name_of(where);
  }
}

TEST(ExpandToFused, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_expand({2, 8, 4, 4}, bf16, 7168, Where::twin);
  check_expand_with_sf({2, 8, 4, 4}, 576, 128, i32, true, Where::twin);
}

TEST(ExpandToFused, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(bf16, {3, 64}), flat(bf16, {3}), wide(i64, {3, 64}), wide_out(i64, {4, 64}),
      empty(bf16, {3, 0}), map(i32, {3, 2}), fewer(i32, {2, 2}), map_64(i64, {3, 2}),
      experts(i32, {4}), out(bf16, {4, 64}), small(bf16, {3, 64}), half(f16, {4, 64}),
      gaps(bf16, {3, 70});
  const auto error = [&](const Tensor& a, const Tensor& m, const Tensor& e, const Tensor& o) {
    return error_of([&] { kernels::expand_to_fused(a, m, e, o); });
  };
  EXPECT_EQ(error(flat, map, experts, out),
            "expand_to_fused: x is bf16 [3], it must have 2 dimensions");
  EXPECT_EQ(error(empty, map, experts, out),
            "expand_to_fused: x is bf16 [3, 0], its rows must have at least one element");
  EXPECT_EQ(error(wide, map, experts, wide_out),
            "expand_to_fused: x is i64 [3, 64], its elements must have 8, 16 or 32 bits");
  EXPECT_EQ(error(x, map_64, experts, out),
            "expand_to_fused: token_topk_to_pos is i64 [3, 2], it must be i32");
  EXPECT_EQ(error(x, fewer, experts, out),
            "expand_to_fused: token_topk_to_pos is i32 [2, 2], it must be [3, 2] [t, topk]");
  EXPECT_EQ(error(x, experts, experts, out),
            "expand_to_fused: token_topk_to_pos is i32 [4], it must have 2 dimensions");
  EXPECT_EQ(error(x, map, map, out),
            "expand_to_fused: pos_to_expert is i32 [3, 2], it must have 1 dimension");
  EXPECT_EQ(error(x, map, flat, out), "expand_to_fused: pos_to_expert is bf16 [3], it must be i32");
  EXPECT_EQ(error(x, map, experts, half), "expand_to_fused: out is f16 [4, 64], it must be bf16");
  EXPECT_EQ(error(x, map, experts, small),
            "expand_to_fused: out is bf16 [3, 64], it must be [4, 64] [np, h]");
  EXPECT_EQ(error(out->slice(0, 0, 3), map, experts, out),
            "expand_to_fused: out bf16 [4, 64] shares memory with x bf16 [3, 64]; pass a copy of "
            "one");
  EXPECT_EQ(error(test::with_row_gap(gaps, 64), map, experts, out),
            "error[E-HOST-06]: expand_to_fused: x.stride[0] expected 64 (compact), got 70");
}

TEST(ExpandToFusedWithSf, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f8_e4m3, {3, 576}), sf(f32, {3, 5}), words(i32, {3, 2}), map(i32, {3, 2}),
      experts(i32, {4}), out(f8_e4m3, {4, 576}), out_sf(f32, {4, 5}), half(f16, {3, 5});
  const auto error = [&](const Tensor& s, int64_t group, const Tensor& o) {
    return error_of([&] { kernels::expand_to_fused_with_sf(x, s, group, map, experts, out, o); });
  };
  EXPECT_EQ(error(sf, 64, out_sf),
            "expand_to_fused_with_sf: a factor is for 64 columns, it must be 32 or 128");
  EXPECT_EQ(error(half, 128, out_sf),
            "expand_to_fused_with_sf: sf is f16 [3, 5], it must be f32 or i32");
  EXPECT_EQ(error(sf, 32, out_sf),
            "expand_to_fused_with_sf: sf is f32 [3, 5], it must be [3, 18] [t, n]");
  EXPECT_EQ(error(words, 32, out_sf),
            "expand_to_fused_with_sf: sf is i32 [3, 2], it must be [3, 5] [t, n]");
  EXPECT_EQ(error(words, 128, out_sf),
            "expand_to_fused_with_sf: out_sf is f32 [4, 5], it must be i32");
  EXPECT_EQ(error(sf, 128, sf),
            "expand_to_fused_with_sf: out_sf is f32 [3, 5], it must be [4, 5] [np, n]");
  EXPECT_EQ(error(out_sf->slice(0, 0, 3), 128, out_sf),
            "expand_to_fused_with_sf: out_sf f32 [4, 5] shares memory with sf f32 [3, 5]; pass a "
            "copy of one");
}

// ---- reduce_fused ----

struct Form {
  DType x, out;
  bool weights, x_sf, sf;
};

std::string to_text(const Form& f) {
  return format("{} to {}{}{}{}", f.x, f.out, f.weights ? ", weights" : "", f.x_sf ? ", x_sf" : "",
                f.sf ? ", sf" : "");
}

/// The result's bits against those of the values, rounded to its dtype; of NaN with any sign.
void expect_bits(const Tensor& out, const std::vector<float>& wanted, const std::string& what) {
  const std::vector<uint32_t> found = bits(out);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto code = static_cast<uint32_t>(encode(wanted[i], out.dtype()));
    const bool both_nan = std::isnan(wanted[i]) && std::isnan(decode(found[i], out.dtype()));
    ASSERT_TRUE(both_nan || found[i] == code)
        << format("{}, element {}: {:x} instead of {:x}", what, i, found[i], code);
  }
}

/// x has more rows than there are positions; some are large, so that codes saturate.
void check_reduce(const Layout& c, const Form& f, int64_t h, Where where = Where::cpu) {
  const Maps maps(c);
  const int64_t np = std::max(c.t * c.topk, maps.np);
  const OwnedTensor x = random_tensor(f.x, {np, h}, 1), out = untouched(f.out, {c.t, h}),
                    weights = random_tensor(f32, {c.t, c.topk}, 2, 0, 1),
                    x_sf = random_tensor(f32, {np}, 3), sf = random_tensor(f32, {1}, 4, 300, 400);
  std::vector<double> of_skipped = values(weights);
  reference::Reduction r;
  if (f.weights) r.weights = as_floats(weights);
  for (size_t i = 0; i < of_skipped.size(); ++i) {
    if (maps.wanted.token_topk_to_pos[i] < 0) of_skipped[i] = NAN;
  }
  test::assign(weights, of_skipped);
  if (f.x_sf) r.x_sf = as_floats(x_sf);
  if (f.sf) r.sf = as_floats(sf)[0];
  const auto wanted =
      reference::reduce_fused(values(x), h, maps.wanted.token_topk_to_pos, c.topk, r);
  const Tensor placed_weights = on(where, weights), placed_x_sf = on(where, x_sf),
               placed_sf = on(where, sf);
  kernels::reduce_fused(on(where, x), on(where, maps.token_topk_to_pos), on(where, out),
                        {.topk_weights = f.weights ? &placed_weights : nullptr,
                         .x_sf = f.x_sf ? &placed_x_sf : nullptr,
                         .sf = f.sf ? &placed_sf : nullptr});
  expect_bits(out, wanted,
              format("{}: {} [{}, {}], top {} of {}", name_of(where), to_text(f), c.t, h, c.topk,
                     c.experts));
}

std::vector<Form> all_forms() {
  std::vector<Form> all;
  for (const DType x : {f32, bf16, f8_e4m3}) {
    for (const bool weights : {false, true}) {
      for (const bool x_sf : {false, true}) {
        all.push_back({x, x, weights, x_sf, false});
        all.push_back({x, f8_e4m3, weights, x_sf, true});
      }
    }
  }
  all.push_back({bf16, f8_e4m3, true, false, false});
  return all;
}

TEST(ReduceFused, IsBitwiseTheReference) {
  for (const Layout& c :
       {Layout{0, 2, 3, 1}, Layout{1, 1, 1, 1}, Layout{9, 2, 9, 1}, Layout{9, 6, 32, 1},
        Layout{9, 8, 4, 1}, Layout{9, 9, 36, 1}, Layout{3, 33, 40, 1}}) {
    check_reduce(c, {bf16, bf16, true, false, false}, 256);
    check_reduce(c, {f32, f8_e4m3, true, true, true}, 768);
  }
  for (const Form& f : all_forms()) check_reduce({5, 6, 9, 1}, f, 256);
  for (const int64_t h : {2048, 2560, 3072, 4096, 6144, 7168, 9984}) {
    check_reduce({5, 6, 9, 1}, {bf16, bf16, true, false, false}, h);
  }
}

TEST(ReduceFused, OnThreads) {
  for (const Form& f : all_forms()) check_reduce({3, 6, 9, 1}, f, 256, Where::twin);
  check_reduce({2, 9, 36, 1}, {bf16, bf16, true, false, false}, 2560, Where::twin);
  check_reduce({2, 2, 3, 1}, {f32, f8_e4m3, true, true, true}, 768, Where::twin);
  check_reduce({1, 1, 3, 1}, {f8_e4m3, f8_e4m3, true, true, false}, 9984, Where::twin);
}

/// out of x with one value a row, in rows of 256 equal elements.
std::vector<double> reduced(const std::vector<double>& rows, const Ints& map, int64_t topk,
                            const std::vector<double>& weights, DType out_type, Where where,
                            const std::vector<double>& sf = {}) {
  const auto n = static_cast<int64_t>(rows.size()), t = static_cast<int64_t>(map.size()) / topk;
  const OwnedTensor x(f32, {n, 256}), out(out_type, {t, 256}), by(f32, {t, topk}), scale(f32, {1});
  for (int64_t i = 0; i < n; ++i) {
    test::assign(x->slice(0, i, 1), std::vector<double>(256, rows[static_cast<size_t>(i)]));
  }
  test::assign(by, weights);
  test::assign(scale, sf.empty() ? std::vector<double>{1} : sf);
  const Tensor placed_by = on(where, by), placed_scale = on(where, scale);
  kernels::reduce_fused(on(where, x), on(where, ints(i32, {t, topk}, map)), on(where, out),
                        {.topk_weights = &placed_by, .sf = sf.empty() ? nullptr : &placed_scale});
  std::vector<double> firsts;
  for (int64_t i = 0; i < t; ++i) firsts.push_back(values(out->select(0, i).slice(0, 255, 1))[0]);
  return firsts;
}

TEST(ReduceFused, TheExamplesOfItsContract) {
  const double third = 1.0F / 3.0F;
  for (const Where where : {Where::cpu, Where::twin}) {
    EXPECT_EQ(reduced({1, 3}, {0, 1, -1, -1}, 2, {-1, third, 1, 1}, f32, where),
              (std::vector<double>{0x1p-25, 0}));
    EXPECT_EQ(reduced({1000}, {0}, 1, {1}, f8_e4m3, where, {1}), std::vector<double>{448});
    EXPECT_EQ(reduced({1000}, {0}, 1, {1}, f8_e4m3, where, {0.25}), std::vector<double>{256});
  }
}

TEST(ReduceFused, SaturatesAndKeepsNaN) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const auto out = reduced({INFINITY, -INFINITY, NAN, 465, -1e30}, {0, 1, 2, 3, 4}, 1,
                             {1, 1, 1, 1, 1}, f8_e4m3, where);
    EXPECT_EQ(out[0], 448);
    EXPECT_EQ(out[1], -448);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], 448);
    EXPECT_EQ(out[4], -448);
  }
}

TEST(ReduceFused, SkippedEntriesDoNotChangeTheSignOfZero) {
  // -2^-149 * 2^-149 rounds to -0, which adding a zero would make +0.
  for (const Where where : {Where::cpu, Where::twin}) {
    const auto out = reduced({-0x1p-149}, {0, -1}, 2, {0x1p-149, NAN}, f32, where);
    EXPECT_TRUE(out[0] == 0 && std::signbit(out[0])) << name_of(where);
  }
}

TEST(ReduceFused, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_reduce({2, 6, 9, 1}, {bf16, bf16, true, false, false}, 7168, Where::twin);
  check_reduce({2, 6, 9, 1}, {f8_e4m3, f8_e4m3, true, true, true}, 2560, Where::twin);
}

TEST(ReduceFused, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(bf16, {8, 256}), half(f16, {8, 256}), flat(bf16, {256}), odd(bf16, {8, 100}),
      empty(bf16, {8, 0}), map(i32, {3, 2}), map_64(i64, {3, 2}), list(i32, {3}),
      out(bf16, {3, 256}), codes(f8_e4m3, {3, 256}), wide(f32, {3, 256}), more(bf16, {4, 256}),
      weights(f32, {3, 2}), fewer(f32, {2, 2}), x_sf(f32, {8}), two(f32, {2}), half_sf(bf16, {8});
  const auto error = [&](const Tensor& a, const Tensor& m, const Tensor& o,
                         const kernels::ReduceFusedArgs& args = {}) {
    return error_of([&] { kernels::reduce_fused(a, m, o, args); });
  };
  EXPECT_EQ(error(half, map, out), "reduce_fused: x is f16 [8, 256], it must be f32, bf16 or e4m3");
  EXPECT_EQ(error(flat, map, out), "reduce_fused: x is bf16 [256], it must have 2 dimensions");
  for (const auto& [t, text] : {std::pair(odd.view(), "100"), std::pair(empty.view(), "0")}) {
    EXPECT_EQ(error(t, map, out),
              format("reduce_fused: x is bf16 [8, {}], its rows must be a multiple of 256", text));
  }
  EXPECT_EQ(error(x, map_64, out), "reduce_fused: token_topk_to_pos is i64 [3, 2], it must be i32");
  EXPECT_EQ(error(x, list, out),
            "reduce_fused: token_topk_to_pos is i32 [3], it must have 2 dimensions");
  EXPECT_EQ(error(x, map, wide), "reduce_fused: out is f32 [3, 256], it must be e4m3");
  EXPECT_EQ(error(x, map, more), "reduce_fused: out is bf16 [4, 256], it must be [3, 256] [t, h]");
  EXPECT_EQ(error(x, map, x->slice(0, 5, 3)),
            "reduce_fused: out bf16 [3, 256] shares memory with x bf16 [8, 256]; pass a copy of "
            "one");
  EXPECT_EQ(error(x, map, out, {.topk_weights = &fewer.view()}),
            "reduce_fused: topk_weights is f32 [2, 2], it must be [3, 2] like token_topk_to_pos");
  EXPECT_EQ(error(x, map, out, {.x_sf = &half_sf.view()}),
            "reduce_fused: x_sf is bf16 [8], it must be f32");
  EXPECT_EQ(error(x, map, out, {.x_sf = &two.view()}),
            "reduce_fused: x_sf is f32 [2], it must be [8] [np]");
  EXPECT_EQ(error(x, map, out, {.sf = &two.view()}),
            "reduce_fused: sf is given, which only an out of e4m3 has, this is bf16 [3, 256]");
  EXPECT_EQ(error(x, map, codes, {.sf = &two.view()}),
            "reduce_fused: sf is f32 [2], it must be [1]");
  const Tensor within(out->data(), f32, {3, 2});
  EXPECT_EQ(error(x, map, out, {.topk_weights = &within}),
            "reduce_fused: out bf16 [3, 256] shares memory with topk_weights f32 [3, 2]; pass a "
            "copy of one");
}

}  // namespace
}  // namespace tw
