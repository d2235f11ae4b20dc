#include "tests/reference/rope.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/transform.h"

namespace tw {
namespace {

using kernels::RotaryArgs;
using test::error_of;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;

struct Problem {
  DType dtype;
  int64_t b, s, heads, d;
  bool interleaved, conjugate;
  DType positions = f32;  // f32: none
  int64_t offset = 0;
  int64_t before = 0, after = 0;  // columns beside those that are rotated
  int64_t more_heads = 0;
  int64_t key_heads = -1;  // -1: no key
  int64_t key_before = 0;
};

std::string to_text(const Problem& p) {
  return format(
      "{} [{}, {}, {}, {}] in {} + {}, interleaved {}, conjugate {}, positions {}, +{}, key {} in "
      "{}",
      p.dtype, p.b, p.s, p.heads, p.d, p.before, p.after, p.interleaved, p.conjugate, p.positions,
      p.offset, p.key_heads, p.key_before);
}

/// Heads in wider memory, and what is wanted of them.
struct Rotated {
  Rotated(const Problem& p, int64_t heads, int64_t more_heads, int64_t before, int64_t after,
          uint64_t seed)
      : memory(random_tensor(
            p.dtype, {std::max<int64_t>(p.b, 1), p.s, heads + more_heads, before + p.d + after},
            seed)) {
    const Tensor x4 = memory->slice(2, 0, heads).slice(3, before, p.d);
    x = p.b == 0 ? x4.select(0, 0) : x4;
    given = values(memory);
  }
  void want(const Problem& p, const Tensor& cos_sin, const std::vector<int64_t>& of_token) {
    wanted = reference::apply_rotary(values(x), values(cos_sin), of_token,
                                     {x.dim(-2), p.d, p.interleaved, p.conjugate});
  }
  void expect(const Problem& p, Where where, const char* name) const {
    const std::vector<double> found = values(x);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const double value = decode(encode(wanted[i], p.dtype), p.dtype);
      ASSERT_EQ(found[i], value) << format("{}: {}, element {} of {}", name_of(where), to_text(p),
                                           i, name);
    }
    // All else stays.
    test::assign(x, std::vector<double>(found.size(), 0));
    const std::vector<double> now = values(memory);
    test::assign(memory, given);
    test::assign(x, std::vector<double>(found.size(), 0));
    EXPECT_EQ(now, values(memory)) << to_text(p);
  }

  OwnedTensor memory;
  Tensor x;
  std::vector<double> given;
  std::vector<float> wanted;
};

/// b of 0 is a tensor of three dimensions.
void check(const Problem& p, Where where = Where::cpu) {
  const int64_t b = std::max<int64_t>(p.b, 1), rows = p.s + p.offset + 3;
  const bool has_key = p.key_heads >= 0;
  Rotated query(p, p.heads, p.more_heads, p.before, p.after, 1),
      key(p, has_key ? p.key_heads : 0, 1, p.key_before, 8 - p.key_before, 3);
  const OwnedTensor table = random_tensor(f32, {rows, p.d + 5}, 2);
  const Tensor cos_sin = table->slice(1, 0, p.d);
  std::vector<double> list;
  std::vector<int64_t> of_token;
  for (int64_t i = 0; i < b * p.s; ++i) {
    list.push_back(static_cast<double>(i * 7 % (p.s + 3)));  // with repeats
    of_token.push_back((p.positions == f32 ? i % p.s : static_cast<int64_t>(list.back())) +
                       p.offset);
  }
  const DType position_type = p.positions == f32 ? i64 : p.positions;
  const OwnedTensor positions(position_type, p.b == 0 ? Shape{p.s} : Shape{b, p.s});
  test::assign(positions, list);
  query.want(p, cos_sin, of_token);
  key.want(p, cos_sin, of_token);
  const Tensor placed = on(where, positions), placed_key = on(where, key.x);
  kernels::apply_rotary(on(where, query.x), on(where, cos_sin),
                        {.key = has_key ? &placed_key : nullptr,
                         .positions = p.positions == f32 ? nullptr : &placed,
                         .offset = p.offset,
                         .interleaved = p.interleaved,
                         .conjugate = p.conjugate});
  query.expect(p, where, "x");
  key.expect(p, where, "key");
}

TEST(ApplyRotary, IsBitwiseTheReference) {
  for (const DType dtype : {bf16, f32}) {
    for (const int64_t d : {64, 128}) {
      for (const bool interleaved : {false, true}) {
        for (const bool conjugate : {false, true}) {
          for (const int64_t heads : {1, 5}) {
            check({dtype, 0, 33, heads, d, interleaved, conjugate});
            check({dtype, 3, 17, heads, d, interleaved, conjugate, i32, 17, 16, 0});
            check({dtype, 0, 21, heads, d, interleaved, conjugate, i64, 0, 0, 128, 1});
          }
        }
      }
    }
    check({dtype, 0, 5, 128, 64, false, false, i64, 17, 128, 0});
    check({dtype, 2, 3, 33, 128, true, true});
    // Addresses and strides that allow no vectors, and no words.
    for (const bool interleaved : {false, true}) {
      for (const int64_t before : {1, 2, 3}) {
        check({dtype, 2, 7, 3, 64, interleaved, false, i32, 0, before, 4 - before});
        check({dtype, 2, 7, 3, 64, interleaved, true, i64, 0, before, 0});
      }
    }
  }
}

TEST(ApplyRotary, OfAKeyToo) {
  for (const DType dtype : {bf16, f32}) {
    for (const bool interleaved : {false, true}) {
      for (const auto& [heads, key_heads] : std::vector<std::pair<int64_t, int64_t>>{
               {64, 8}, {5, 1}, {1, 5}, {2, 35}, {3, 3}, {4, 0}, {0, 4}, {0, 0}}) {
        check({dtype, 0, 7, heads, 128, interleaved, false, i64, 2, 0, 0, 0, key_heads});
        check({dtype, 2, 5, heads, 64, interleaved, true, f32, 1, 16, 0, 1, key_heads, 8});
        // One of them lies so that it allows no vectors and words.
        check({dtype, 2, 5, heads, 64, interleaved, true, i32, 0, 0, 0, 1, key_heads, 1});
        check({dtype, 2, 5, heads, 64, interleaved, true, i32, 0, 1, 0, 1, key_heads, 0});
      }
    }
  }
}

TEST(ApplyRotary, OfAKeyBesideXInOneTensor) {
  const OwnedTensor both = random_tensor(bf16, {7, 6, 64}, 1), apart(bf16, {7, 6, 64}),
                    table = random_tensor(f32, {9, 64}, 2);
  test::assign(apart, values(both));
  const Tensor key = both->slice(1, 4, 2);
  kernels::apply_rotary(both->slice(1, 0, 4), table, {.key = &key});
  kernels::apply_rotary(apart, table);
  EXPECT_EQ(values(both), values(apart));
}

TEST(ApplyRotary, OnThreads) {
  const test::AlsoToCubin cubins;
  for (const DType dtype : {bf16, f32}) {
    for (const bool interleaved : {false, true}) {
      check({dtype, 2, 3, 5, 64, interleaved, false, i32, 17, 16, 0, 1}, Where::twin);
      check({dtype, 0, 3, 33, 128, interleaved, true}, Where::twin);
      check({dtype, 1, 3, 1, 64, interleaved, true, i64, 2, 1, 2}, Where::twin);
      check({dtype, 2, 3, 33, 64, interleaved, true, i64, 2, 16, 0, 1, 3, 8}, Where::twin);
      check({dtype, 0, 3, 2, 128, interleaved, false, f32, 2, 0, 0, 0, 5}, Where::twin);
      check({dtype, 0, 3, 3, 64, interleaved, false, i32, 0, 0, 0, 0, 1, 1}, Where::twin);
      check({dtype, 0, 3, 0, 64, interleaved, false, i32, 0, 0, 0, 0, 2}, Where::twin);
    }
  }
}

TEST(ApplyRotary, TheExamplesOfItsContract) {
  // Pairs of a row of 64 elements whose first are 1, 2 and 3, 4 as the pairing has them.
  const float c[] = {0.5403023F, 0.9950042F}, s[] = {0.8414710F, 0.0998334F};
  struct Case {
    bool interleaved, conjugate;
    std::vector<float> wanted;
  };
  for (const Case& e : {Case{false, false, {-1.9841108F, 1.5906748F, 2.4623778F, 4.1796837F}},
                        Case{false, true, {3.0647154F, 2.3893418F, 0.7794358F, 3.7803500F}},
                        Case{true, false, {-1.1426398F, 1.9220755F, 2.5856791F, 4.2795165F}},
                        Case{true, true, {2.2232442F, 0.2391335F, 3.3843460F, 3.6805165F}}}) {
    const size_t place[] = {0, 1, e.interleaved ? 2UL : 32UL, e.interleaved ? 3UL : 33UL};
    OwnedTensor x = test::filled_tensor(f32, {1, 1, 64}, 0),
                table = test::filled_tensor(f32, {1, 64}, 0);
    for (size_t i = 0; i < 4; ++i) x->data_as<float>()[place[i]] = static_cast<float>(i + 1);
    for (size_t i = 0; i < 2; ++i) {
      table->data_as<float>()[i] = c[i];
      table->data_as<float>()[32 + i] = s[i];
    }
    kernels::apply_rotary(x, table, {.interleaved = e.interleaved, .conjugate = e.conjugate});
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(x->data_as<float>()[place[i]], e.wanted[i], 5e-7F);
    }
  }
}

TEST(ApplyRotary, OneRowOfPositionsForAllSequencesAndNoElements) {
  const OwnedTensor x = random_tensor(bf16, {3, 4, 2, 64}, 1), y(bf16, {3, 4, 2, 64}),
                    table = random_tensor(f32, {9, 64}, 2), row(i32, {4}), all(i32, {3, 4});
  test::assign(y, values(x));
  test::assign(row, {8, 0, 3, 3});
  test::assign(all, {8, 0, 3, 3, 8, 0, 3, 3, 8, 0, 3, 3});
  const Tensor broadcast(row->data(), i32, {3, 4}, {0, 1});
  kernels::apply_rotary(x, table, {.positions = &broadcast});
  kernels::apply_rotary(y, table, {.positions = &all.view()});
  EXPECT_EQ(values(x), values(y));
  for (const Where where : {Where::cpu, Where::twin}) {
    kernels::apply_rotary(on(where, OwnedTensor(f32, {0, 3, 64})), on(where, table));
    kernels::apply_rotary(on(where, OwnedTensor(f32, {3, 0, 64})), on(where, table));
  }
}

TEST(ApplyRotary, NotANumberAndPositionsOutside) {
  const OwnedTensor x = test::filled_tensor(f32, {2, 1, 64}, 3),
                    table = test::filled_tensor(f32, {1, 64}, INFINITY), p(i64, {2});
  x->data_as<float>()[0] = NAN;
  test::assign(p, {0, 7});
  kernels::apply_rotary(x, table, {.positions = &p.view()});
  const std::vector<double> found = values(x);
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]) && std::isinf(found[33]));
  for (size_t i = 64; i < 128; ++i) EXPECT_EQ(found[i], 0);
}

TEST(ApplyRotary, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(bf16, {3, 2, 64}), odd(bf16, {3, 2, 96}), half(f16, {3, 2, 64}),
      flat(bf16, {3, 64}), table(f32, {9, 64}), wide(f32, {9, 128}), table_16(bf16, {9, 64}),
      p(i64, {3}), p_2(i64, {2}), p_f(f32, {3});
  const auto error = [&](const Tensor& t, const Tensor& cos_sin, const RotaryArgs& args = {}) {
    return error_of([&] { kernels::apply_rotary(t, cos_sin, args); });
  };
  EXPECT_EQ(error(flat, table),
            "apply_rotary: x is bf16 [3, 64], it must be [t, heads, d] or [b, s, heads, d]");
  EXPECT_EQ(error(half, table), "apply_rotary: x is f16 [3, 2, 64], it must be f32 or bf16");
  EXPECT_EQ(error(odd, table),
            "apply_rotary: x is bf16 [3, 2, 96], its heads must have 64 or 128 elements");
  EXPECT_EQ(error(x, wide), "apply_rotary: cos_sin is f32 [9, 128], it must be [9, 64] [rows, d]");
  EXPECT_EQ(error(x, table_16), "apply_rotary: cos_sin is bf16 [9, 64], it must be f32");
  EXPECT_EQ(error(x, table, {.positions = &p_f.view()}),
            "apply_rotary: positions is f32 [3], it must be i32 or i64");
  EXPECT_EQ(error(x, table, {.positions = &p_2.view()}),
            "apply_rotary: positions is i64 [2], it must be [3] like tokens of x");
  EXPECT_EQ(error(x->transpose(1, 2).slice(1, 0, 2).transpose(1, 2), table),
            "apply_rotary: x is bf16 [3, 2, 2] strides [128, 64, 1], its heads must have 64 or 128 "
            "elements");
  const OwnedTensor key(bf16, {3, 1, 64}), key_4(bf16, {1, 3, 1, 64}), key_f(f32, {3, 1, 64}),
      key_2(bf16, {2, 1, 64}), key_d(bf16, {3, 1, 128});
  EXPECT_EQ(error(x, table, {.key = &key_4.view()}),
            "apply_rotary: key is bf16 [1, 3, 1, 64], it must have 3 dimensions");
  EXPECT_EQ(error(x, table, {.key = &key_f.view()}),
            "apply_rotary: key is f32 [3, 1, 64], it must be bf16");
  EXPECT_EQ(error(x, table, {.key = &key_2.view()}),
            "apply_rotary: key is bf16 [2, 1, 64], it must be [3, 1, 64] like x but for its heads");
  EXPECT_EQ(error(x, table, {.key = &key_d.view()}),
            "apply_rotary: key is bf16 [3, 1, 128], it must be [3, 1, 64] like x but for its "
            "heads");
  EXPECT_EQ(error(x, table, {.key = &x.view()}),
            "apply_rotary: key bf16 [3, 2, 64] shares memory with x bf16 [3, 2, 64]; pass a copy "
            "of one");
  const OwnedTensor x_f(f32, {2, 2, 64});
  const Tensor in_table(table->data(), f32, {2, 1, 64});
  EXPECT_EQ(error(x_f, table, {.key = &in_table}),
            "apply_rotary: key f32 [2, 1, 64] shares memory with cos_sin f32 [9, 64]; pass a copy "
            "of one");
  const OwnedTensor none(bf16, {3, 0, 64});
  const Tensor key_s(key->data(), bf16, {3, 1, 64}, {64, 64, 2});
  EXPECT_EQ(error(none, table, {.key = &key_s}),
            "error[E-HOST-06]: apply_rotary: key.stride[3] expected 1, got 2");
  const Tensor of_key(key_f->data(), i32, {3});
  const OwnedTensor x_3(f32, {3, 2, 64});
  EXPECT_EQ(error(x_3, table, {.key = &key_f.view(), .positions = &of_key}),
            "apply_rotary: key f32 [3, 1, 64] shares memory with positions i32 [3]; pass a copy "
            "of one");
  const Tensor inside(table->data(), f32, {1, 1, 64});
  EXPECT_EQ(error(inside, table),
            "apply_rotary: x f32 [1, 1, 64] shares memory with cos_sin f32 [9, 64]; pass a copy of "
            "one");
}

}  // namespace
}  // namespace tw
