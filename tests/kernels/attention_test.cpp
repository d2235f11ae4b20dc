#include "tilewright/kernels/attention.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/attention.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using kernels::AttentionArgs;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;

struct Case {
  DType dtype;
  int64_t b, sq, sk, hq, hkv, d;
  bool causal = false;
  std::vector<int64_t> lengths = {};

  std::string name() const {
    return format("{} b {}, sq {}, sk {}, heads {}/{}, d {}, causal {}, {} lengths", dtype, b, sq,
                  sk, hq, hkv, d, causal, lengths.size());
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
  reference::AttentionCase reference() const {
    const auto n = [](int64_t x) { return static_cast<size_t>(x); };
    return {n(b),    n(sq),  n(sk),
            n(hq),   n(hkv), n(d),
            scale(), causal, std::vector<size_t>(lengths.begin(), lengths.end())};
  }
};

/// Terms of the softmax are rounded to the dtype, then the result; the values of v are below 2.
/// Scores of up to 256 products below 4 in f32 are off by 256 * 4 * 2^-24, scaled.
double absolute(DType dtype) {
  return (dtype == f32 ? 0 : 2 * reference::unit_roundoff(dtype)) + 2e-5;
}

OwnedTensor integers(DType dtype, const std::vector<int64_t>& list) {
  OwnedTensor tensor(dtype, {static_cast<int64_t>(list.size())});
  test::assign(tensor, std::vector<double>(list.begin(), list.end()));
  return tensor;
}

void check(const Case& c, Where where = Where::cpu) {
  const OwnedTensor q = random_tensor(c.dtype, {c.b, c.sq, c.hq, c.d}, 1),
                    k = random_tensor(c.dtype, {c.b, c.sk, c.hkv, c.d}, 2),
                    v = random_tensor(c.dtype, {c.b, c.sk, c.hkv, c.d}, 3);
  const OwnedTensor o = test::filled_tensor(c.dtype, {c.b, c.sq, c.hq, c.d}, 9),
                    lse = test::filled_tensor(f32, {c.b, c.hq, c.sq}, 9);
  const OwnedTensor lengths = integers(i32, c.lengths);
  const Tensor placed_lengths = on(where, lengths), placed_lse = on(where, lse);
  kernels::attention(on(where, q), on(where, k), on(where, v), on(where, o),
                     {.causal = c.causal,
                      .key_lengths = c.lengths.empty() ? nullptr : &placed_lengths,
                      .lse = &placed_lse});
  const auto wanted = reference::attention(c.reference(), values(q), values(k), values(v));
  test::expect_close(o, wanted.o, 2 * reference::unit_roundoff(c.dtype), absolute(c.dtype),
                     c.name());
  test::expect_close(lse, wanted.lse, 1e-5, 2e-5, "lse of " + c.name());
}

TEST(Attention, AgreesWithTheReference) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const bool causal : {false, true}) {
      check({dtype, 2, 70, 70, 4, 4, 32, causal});
      check({dtype, 1, 33, 131, 6, 2, 64, causal});
    }
  }
}

TEST(Attention, HeadDimensions) {
  for (const int64_t d : {8, 20, 100, 256}) check({f32, 1, 40, 75, 2, 1, d, true});
}

TEST(Attention, OnThreads) {
  for (const DType dtype : {f32, f16}) {
    for (const int64_t d : {20, 64, 72, 80}) {  // heads of which the threads share out rows, or not
      check({dtype, 1, 30, 68, 2, 1, d, d != 72,
             d == 72 ? std::vector<int64_t>{50} : std::vector<int64_t>{}},
            Where::twin);
    }
  }
}

TEST(Attention, SizesThatAreZeroOrOne) {
  for (const bool causal : {false, true}) {
    for (const auto& [b, sq, sk] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
             {1, 1, 1}, {0, 5, 5}, {2, 0, 5}, {2, 5, 0}, {1, 1, 100}, {1, 100, 1}}) {
      check({f32, b, sq, sk, 2, 2, 32, causal});
    }
  }
}

TEST(Attention, KeyLengths) {
  for (const bool causal : {false, true}) {
    check({f32, 5, 20, 90, 4, 2, 32, causal, {90, 0, 1, 64, 33}});
    check({bf16, 2, 90, 90, 2, 2, 32, causal, {90, 12}});
  }
}

TEST(Attention, DoesNotReadKeysPastTheLength) {
  const Case c{f32, 1, 3, 40, 1, 1, 8, false, {35}};
  const OwnedTensor q = random_tensor(f32, {1, 3, 1, 8}, 1),
                    k = random_tensor(f32, {1, 40, 1, 8}, 2),
                    v = random_tensor(f32, {1, 40, 1, 8}, 3), o(f32, {1, 3, 1, 8});
  const auto wanted = reference::attention(c.reference(), values(q), values(k), values(v));
  for (const Tensor& x : {k.view(), v.view()}) {
    const Tensor rest = x.slice(1, 35, 5);
    test::assign(rest, std::vector<double>(40, NAN));
  }
  const OwnedTensor lengths = integers(i32, {35});
  kernels::attention(q, k, v, o, {.key_lengths = &lengths.view()});
  test::expect_close(o, wanted.o, 1e-6, 2e-5, "after NaN");
}

TEST(Attention, LargeScoresAndNaN) {
  OwnedTensor q = test::filled_tensor(f32, {1, 2, 1, 8}, 1), k(f32, {1, 2, 1, 8}),
              v(f32, {1, 2, 1, 8}), o(f32, {1, 2, 1, 8});
  test::assign(k.view().slice(1, 0, 1), std::vector<double>(8, 1e30));
  test::assign(k.view().slice(1, 1, 1), std::vector<double>(8, -1e30));
  test::assign(v.view().slice(1, 0, 1), std::vector<double>(8, 3));
  test::assign(v.view().slice(1, 1, 1), std::vector<double>(8, 5));
  test::assign(q.view().slice(1, 1, 1), std::vector<double>(8, NAN));
  kernels::attention(q, k, v, o, {.scale = 1.0F});
  std::vector<double> wanted(16, 3);
  std::fill(wanted.begin() + 8, wanted.end(), NAN);
  test::expect_close(o, wanted, 1e-6, 0, "large scores, a row of NaN");
}

TEST(Attention, ScoresThatAreAllFarBelowZero) {
  for (const bool causal : {false, true}) {
    const Case c{f32, 1, 70, 70, 1, 1, 8, causal};
    const OwnedTensor q = test::filled_tensor(f32, {1, 70, 1, 8}, 100), k(f32, {1, 70, 1, 8}),
                      v = random_tensor(f32, {1, 70, 1, 8}, 3), o(f32, {1, 70, 1, 8});
    std::vector<double> keys;  // scores of -283 and -354 by turns
    for (int64_t i = 0; i < 70 * 8; ++i) keys.push_back(i / 8 % 2 == 0 ? -1 : -1.25);
    test::assign(k, keys);
    kernels::attention(q, k, v, o, {.causal = causal});
    const auto wanted = reference::attention(c.reference(), values(q), values(k), values(v));
    test::expect_close(o, wanted.o, 1e-6, 2e-5, c.name());
  }
}

TEST(Attention, StridedTensors) {
  // Heads before tokens, rows of one buffer that holds q, k and v.
  const OwnedTensor all = random_tensor(f32, {2, 3, 50, 3 * 32}, 1);
  const OwnedTensor out = test::filled_tensor(f32, {2, 3, 50, 40}, 7);
  const auto part = [&](int64_t i) { return all.view().slice(3, i * 32, 32).transpose(1, 2); };
  const Tensor q = part(0), k = part(1), v = part(2),
               o = out.view().slice(3, 0, 32).transpose(1, 2);
  kernels::attention(q, k, v, o, {.causal = true});
  const Case c{f32, 2, 50, 50, 3, 3, 32, true};
  test::expect_close(o, reference::attention(c.reference(), values(q), values(k), values(v)).o,
                     1e-6, 2e-5, "strided");
  for (const double between : values(out.view().slice(3, 32, 8))) ASSERT_EQ(between, 7);
}

/// The packed form against one call of the reference for each sequence.
void check_packed(DType dtype, const std::vector<int64_t>& cu, int64_t hq, int64_t hkv, int64_t d,
                  bool causal, Where where = Where::cpu) {
  const int64_t tokens = cu.back();
  const OwnedTensor q = random_tensor(dtype, {tokens, hq, d}, 1),
                    k = random_tensor(dtype, {tokens, hkv, d}, 2),
                    v = random_tensor(dtype, {tokens, hkv, d}, 3);
  const OwnedTensor o = test::filled_tensor(dtype, {tokens, hq, d}, 9),
                    lse = test::filled_tensor(f32, {hq, tokens}, 9);
  int64_t max_len = 0;
  for (size_t s = 0; s + 1 < cu.size(); ++s) max_len = std::max(max_len, cu[s + 1] - cu[s]);
  const OwnedTensor cu_seqlens = integers(causal ? i64 : i32, cu);
  const Tensor placed_lse = on(where, lse);
  kernels::attention_packed(on(where, q), on(where, k), on(where, v), on(where, cu_seqlens),
                            max_len, on(where, o), {.causal = causal, .lse = &placed_lse});
  for (size_t s = 0; s + 1 < cu.size(); ++s) {
    const int64_t first = cu[s], n = cu[s + 1] - first;
    const Case c{dtype, 1, n, n, hq, hkv, d, causal};
    const auto wanted = reference::attention(c.reference(), values(q.view().slice(0, first, n)),
                                             values(k.view().slice(0, first, n)),
                                             values(v.view().slice(0, first, n)));
    test::expect_close(o.view().slice(0, first, n), wanted.o, 2 * reference::unit_roundoff(dtype),
                       absolute(dtype), "packed " + c.name());
    test::expect_close(lse.view().slice(1, first, n), wanted.lse, 1e-5, 2e-5, "lse, " + c.name());
  }
}

TEST(AttentionPacked, AgreesWithTheReference) {
  for (const DType dtype : {f32, bf16}) {
    check_packed(dtype, {0, 1, 34, 34, 100, 137}, 12, 12, 32, false);
    check_packed(dtype, {0, 5, 75}, 4, 2, 64, true);
  }
  check_packed(f32, {0}, 2, 2, 32, false);
  check_packed(f32, {0, 0}, 2, 2, 32, false);
}

TEST(AttentionPacked, OnThreads) {
  const test::AlsoToCubin cubins;
  check_packed(f32, {0, 1, 34, 34, 50}, 2, 2, 32, false, Where::twin);
  check_packed(bf16, {0, 5, 75}, 2, 1, 32, true, Where::twin);
}

TEST(AttentionPacked, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 2, 8}), cu = integers(i32, {0, 4}), f(f32, {2});
  EXPECT_EQ(test::error_of([&] { kernels::attention_packed(x, x, x, f, 4, x); }),
            "attention_packed: cu_seqlens is f32 [2], it must be i32 or i64");
  EXPECT_EQ(test::error_of([&] { kernels::attention_packed(x, x, x, cu, -1, x); }),
            "attention_packed: max_len is -1, it must not be negative");
  EXPECT_EQ(test::error_of(
                [&] { kernels::attention_packed(x, x, x, cu, 4, x, {.key_lengths = &cu.view()}); }),
            "attention_packed: key_lengths is given, cu_seqlens has the lengths");
}

TEST(AttentionPacked, StopsAtASequenceLongerThanMaxLen) {
  const OwnedTensor x = random_tensor(f32, {4, 2, 8}, 1), o(f32, {4, 2, 8}),
                    cu = integers(i32, {0, 4});
  const std::string error = test::error_of([&] { kernels::attention_packed(x, x, x, cu, 3, o); });
  EXPECT_NE(error.find("attention_packed: a sequence is longer than max_len"), std::string::npos)
      << error;
}

TEST(Attention, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor q(f32, {2, 5, 4, 32}), k(f32, {2, 7, 3, 32}), small(f32, {2, 5, 4, 4}),
      other(f32, {2, 7, 2, 16}), one(f32, {1, 7, 2, 32}), good(f32, {2, 7, 2, 32}),
      i(i32, {2, 5, 4, 32}), lse(f32, {2, 5, 4}), flat(f32, {8});
  const auto error = [&](const Tensor& a, const Tensor& b, const AttentionArgs& args = {}) {
    return test::error_of([&] { kernels::attention(a, b, b, a, args); });
  };
  EXPECT_EQ(error(q, k),
            "attention: q has 4 heads and k has 3, the first must be a multiple of the second");
  EXPECT_EQ(error(small, small),
            "attention: q is f32 [2, 5, 4, 4], its head dimension must be from 8 to 256");
  EXPECT_EQ(
      error(q, other),
      "attention: the head dimension is 32 in q f32 [2, 5, 4, 32] but 16 in k f32 [2, 7, 2, 16]");
  EXPECT_EQ(error(q, one),
            "attention: the batch is 2 in q f32 [2, 5, 4, 32] but 1 in k f32 [1, 7, 2, 32]");
  EXPECT_EQ(error(i, good), "attention: q is i32 [2, 5, 4, 32], it must be f32, bf16 or f16");
  EXPECT_EQ(error(flat, good), "attention: q is f32 [8], it must have 4 dimensions");
  EXPECT_EQ(error(q, good, {.key_lengths = &flat.view()}),
            "attention: key_lengths is f32 [8], it must be i32");
  EXPECT_EQ(error(q, good, {.lse = &lse.view()}),
            "attention: lse is f32 [2, 5, 4], it must be [2, 4, 5] [b, hq, sq]");
}

}  // namespace
}  // namespace tw
