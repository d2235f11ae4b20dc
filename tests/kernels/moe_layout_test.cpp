#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/moe_layout_testing.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::as_floats;
using test::as_ints;
using test::bits;
using test::error_of;
using test::Ints;
using test::ints;
using test::on;
using test::random_ints;
using test::some_experts;
using test::untouched;
using test::up;
using test::Where;

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
    check_mapping(some_experts(900, 5, 9), 5, 9, 16, -1, where);  // chunks by the dozen
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

}  // namespace
}  // namespace tw
