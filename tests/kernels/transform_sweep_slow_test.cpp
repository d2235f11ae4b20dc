// Random rotations, at any strides, and random numbers.
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "tests/kernels/sweep.h"
#include "tests/reference/rand.h"
#include "tests/reference/rope.h"
#include "tests/reference/tolerance.h"
#include "tilewright/kernels/rand.h"
#include "tilewright/kernels/transform.h"

namespace tw {
namespace {

using namespace test;

/// Heads [b, s, heads, d] whose dimensions lie in memory in any order with any gaps.
struct Heads {
  Heads(Choices& c, DType dtype, int64_t b, int64_t s, int64_t heads, int64_t d) {
    const int64_t extent[] = {b, s, heads};
    int64_t stride[3] = {}, end = d + c.one_of<int64_t>({0, 0, 1, 2, 4, 8, 16});
    int order[] = {0, 1, 2};
    for (size_t i = 3; i > 1; --i)
      std::swap(order[i - 1], order[c.between(0, static_cast<int64_t>(i) - 1)]);
    for (const int o : order) {
      stride[o] = end;
      end = end * std::max<int64_t>(extent[o], 1) + c.one_of<int64_t>({0, 0, 1, 3, 16});
    }
    memory = random_tensor(dtype, {end + 8}, c.bits());
    if (c.one_in(3)) {
      std::vector<double> list = values(memory);
      for (double& v : list) {
        if (c.one_in(10)) v = c.one_of<double>({-0.0, 0.0, INFINITY, -INFINITY, NAN, 1e-40});
      }
      assign(memory, list);
    }
    x = Tensor(memory->data_as<char>() + c.one_of({0, 1, 2, 3, 8}) * dtype.bits() / 8, dtype,
               {b, s, heads, d}, {stride[0], stride[1], stride[2], 1});
    before = values(memory);
  }
  void expect(const std::vector<double>& wanted, const std::string& what) const {
    expect_same(x, wanted, what);
    const std::vector<double> zeros(wanted.size());
    assign(x, zeros);
    const std::vector<double> after = values(memory);
    assign(memory, before);
    assign(x, zeros);
    expect_same(memory, after, what + ", outside");
    assign(memory, before);
  }
  OwnedTensor memory;
  Tensor x;
  std::vector<double> before;
};

TEST(TransformSweep, ApplyRotary) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({bf16, f32}), position_type = c.one_of({i32, i64});
    const int64_t d = c.one_of<int64_t>({64, 128}), b = c.between(0, 3), s = c.between(0, 5),
                  rows = c.between(0, 12);
    const auto any_heads = [&] { return c.one_in(4) ? c.near({32, 64}, 70) : c.between(0, 9); };
    const Heads query(c, dtype, b, s, any_heads(), d), key(c, dtype, b, s, any_heads(), d);
    const bool interleaved = c.one_in(2), conjugate = c.one_in(2), has_positions = c.one_in(2),
               has_key = c.one_in(2);
    const int64_t offset = c.one_of<int64_t>({0, 0, 3, -2, int64_t{1} << 40, -(int64_t{1} << 33)});
    const OwnedTensor table = random_tensor(f32, {rows, d + c.between(0, 3)}, c.bits());
    const Tensor cos_sin = table->slice(1, 0, d);
    const OwnedTensor storage(position_type, {std::max<int64_t>(b, 1), s + 2});
    std::vector<double> list;
    for (int64_t i = 0; i < storage->numel(); ++i)
      list.push_back(static_cast<double>(c.one_in(5)
                                             ? c.one_of<int64_t>({-1, -100, rows, 1000000})
                                             : c.between(0, std::max<int64_t>(rows - 1, 0))));
    assign(storage, list);
    const Tensor positions(storage->data(), position_type, {b, s}, {c.one_in(3) ? 0 : s + 2, 1});
    // Positions outside have a row of zeros behind the others.
    std::vector<double> factors = values(cos_sin);
    factors.resize(factors.size() + at(d));
    const std::vector<double> given = values(positions);
    std::vector<int64_t> of_token;
    for (int64_t i = 0; i < b * s; ++i) {
      const int64_t p = (has_positions ? static_cast<int64_t>(given[at(i)]) : i % s) + offset;
      of_token.push_back(p < 0 || p >= rows ? rows : p);
    }
    const auto wanted = [&](const Heads& heads) {
      std::vector<double> rounded;
      for (const float v : reference::apply_rotary(values(heads.x), factors, of_token,
                                                   {heads.x.dim(2), d, interleaved, conjugate}))
        rounded.push_back(decode(encode(v, dtype), dtype));
      return rounded;
    };
    const std::vector<double> of_query = wanted(query),
                              of_key = has_key ? wanted(key) : values(key.x);
    both([&](Where where) {
      const Tensor placed = on(where, positions), placed_key = on(where, key.x);
      const std::string what = format(
          "{}: {}, key {} {}, cos_sin {}, positions {} {} + {}, interleaved {}, "
          "conjugate {}",
          name_of(where), query.x, has_key, key.x, cos_sin, has_positions, positions, offset,
          interleaved, conjugate);
      kernels::apply_rotary(on(where, query.x), on(where, cos_sin),
                            {.key = has_key ? &placed_key : nullptr,
                             .positions = has_positions ? &placed : nullptr,
                             .offset = offset,
                             .interleaved = interleaved,
                             .conjugate = conjugate});
      query.expect(of_query, what), key.expect(of_key, what + ", key");
    });
  });
}

TEST(RandSweep, Randn) {
  sweep(30, [](Choices& c) {
    const int64_t n = c.near({256, 1024, 4096, 8192}, c.one_in(3) ? 20000 : 3000);
    kernels::RandnArgs args{.seed = c.bits(),
                            .offset = c.bits() / 4 * 4,
                            .most_groups = c.one_in(2) ? c.between(1, 12) : 1056};
    if (c.one_in(2)) args.offset = static_cast<uint64_t>(c.between(0, 100)) * 4;
    const DType dtype = c.one_of({f32, bf16, f16});
    const int64_t groups = std::min<int64_t>((n + 255) / 256, args.most_groups);
    const auto wanted = reference::randn(n, args.seed, args.offset, groups);
    both([&](Where where) {
      Placed y(c, dtype, 1, n, false, 1, true);
      y.hold();
      kernels::randn(on(where, y.view), args);
      const std::string what = format("{}: {}, seed {}, offset {}, groups {}", name_of(where),
                                      y.text(), args.seed, args.offset, args.most_groups);
      // The angle is rounded to f32 where it is up to 2 pi.
      expect_close(y.view, wanted, reference::unit_roundoff(dtype) + 4e-7, 4e-6, what);
      y.expect_outside_unchanged(what);
    });
  });
}

TEST(RandSweep, StandardNormal) {
  sweep(30, [](Choices& c) {
    const int64_t n = c.near({4, 256, 1024, 4096, 8192}, c.one_in(3) ? 20000 : 3000);
    const kernels::NormalArgs args{.seed = c.bits(),
                                   .subsequence = c.one_in(2) ? c.bits() : c.bits() % 3};
    const DType dtype = c.one_of({f32, bf16, f16});
    std::vector<double> wanted = reference::standard_normal(n, args.seed, args.subsequence);
    for (double& v : wanted) v = decode(encode(v, dtype), dtype);
    both([&](Where where) {
      Placed y(c, dtype, 1, n, false, 1, true);
      y.hold();
      kernels::standard_normal(on(where, y.view), args);
      const std::string what = format("{}: {}, seed {}, subsequence {}", name_of(where), y.text(),
                                      args.seed, args.subsequence);
      expect_same(y.view, wanted, what);
      y.expect_outside_unchanged(what);
    });
  });
}

}  // namespace
}  // namespace tw
