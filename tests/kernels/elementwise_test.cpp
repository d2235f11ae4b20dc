#include "tilewright/kernels/elementwise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"
#include "tilewright/lang/lang.h"

namespace tw {
namespace {

using kernels::Elementwise;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;

constexpr Where kBoth[] = {Where::cpu, Where::twin};

void expect_sum(Where where, const Tensor& a, const Tensor& b, const Tensor& y) {
  kernels::add(on(where, a), on(where, b), on(where, y));
  std::vector<double> wanted = values(a);
  const std::vector<double> right = values(b);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += right[i];
  test::expect_close(y, wanted, reference::unit_roundoff(y.dtype()), 1e-6,
                     format("{}: {} + {} -> {}", name_of(where), a, b, y));
}

TEST(Add, OfAnyShapeAndDtype) {
  for (const Where where : kBoth) {
    for (const DType dtype : {f32, bf16, f16, f64}) {
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{1}, Shape{257}, Shape{5, 1000}, Shape{2, 3, 7}}) {
        const OwnedTensor a = random_tensor(dtype, shape, 1), b = random_tensor(dtype, shape, 2);
        expect_sum(where, a, b, test::filled_tensor(dtype, shape, 9));
      }
    }
    const OwnedTensor a = random_tensor(bf16, {33}, 1), b = random_tensor(f32, {33}, 2);
    expect_sum(where, a, b, test::filled_tensor(f16, {33}, 9));
  }
}

TEST(Add, OfStridedViews) {
  for (const Where where : kBoth) {
    const OwnedTensor a = random_tensor(f32, {6, 5, 40}, 1), b = random_tensor(f32, {40, 5, 6}, 2);
    const OwnedTensor y = test::filled_tensor(f32, {6, 5, 40}, 7);
    const auto part = [](const Tensor& t) { return t.slice(0, 1, 4).slice(2, 3, 33); };
    expect_sum(where, part(a), part(b->transpose(0, 2)), part(y));
    for (const double outside : values(y->slice(2, 36, 4))) ASSERT_EQ(outside, 7);
    for (const double outside : values(y->slice(0, 0, 1))) ASSERT_EQ(outside, 7);
    // A transposed output is walked in its own order.
    expect_sum(where, a->slice(1, 0, 5), b->transpose(0, 2), y->slice(1, 0, 5));
    expect_sum(where, b->transpose(0, 1), b->transpose(0, 1), OwnedTensor(f32, {5, 40, 6}));
  }
}

TEST(Add, BroadcastsAsNumpyDoes) {
  for (const Where where : kBoth) {
    const OwnedTensor a = random_tensor(f32, {3, 4, 130}, 1), y(f32, {3, 4, 130});
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{130}, Shape{4, 1}, Shape{3, 1, 130}}) {
      const OwnedTensor b = random_tensor(f32, shape, 2);
      kernels::add(on(where, a), on(where, b), on(where, y));
      std::vector<double> wanted = values(a);
      const std::vector<double> right = values(b);
      const size_t rank = static_cast<size_t>(shape.rank());
      for (size_t i = 0; i < wanted.size(); ++i) {
        const size_t row = i / 130, column = i % 130;
        wanted[i] += right[rank == 0 || right.size() == 1 ? 0
                           : shape[shape.rank() - 1] == 1 ? row % 4
                           : rank == 1                    ? column
                                                          : row / 4 * 130 + column];
      }
      test::expect_close(y, wanted, 1e-7, 1e-7, format("{} {}", name_of(where), shape));
    }
  }
}

TEST(Add, WorksInPlace) {
  const OwnedTensor a = random_tensor(bf16, {7, 33}, 1), b = random_tensor(bf16, {33}, 2);
  OwnedTensor wanted(bf16, {7, 33});
  kernels::add(a, b, wanted);
  kernels::add(a, b, a);
  EXPECT_EQ(values(a), values(wanted));
}

TEST(AddRelu, OfSpecialValues) {
  OwnedTensor a(f32, {4}), b(f32, {4}), y(f32, {4});
  test::assign(a, {NAN, INFINITY, -1, 1});
  test::assign(b, {1, -INFINITY, 0.5, 2});
  kernels::add_relu(a, b, y);
  test::expect_close(y, {0, 0, 0, 3}, 0, 0, "add_relu");
}

TEST(Mul, IsRoundedOnce) {
  for (const Where where : kBoth) {
    const OwnedTensor a = random_tensor(bf16, {300}, 1), b = random_tensor(bf16, {300}, 2);
    const OwnedTensor y(bf16, {300}), exact(f32, {300});
    kernels::mul(on(where, a), on(where, b), on(where, y));
    kernels::mul(on(where, a), on(where, b), on(where, exact));
    test::expect_close(y, values(exact), reference::unit_roundoff(bf16), 0, name_of(where));
  }
}

TEST(SiluAndMul, OfBothHalves) {
  for (const Where where : kBoth) {
    for (const DType dtype : {f32, bf16}) {
      for (const int64_t n : {0, 1, 9}) {
        const OwnedTensor x = random_tensor(dtype, {n, 260}, 1, -9, 9), y(dtype, {n, 130});
        kernels::silu_and_mul(on(where, x), on(where, y));
        std::vector<double> wanted = values(x->slice(1, 0, 130));
        const std::vector<double> factor = values(x->slice(1, 130, 130));
        for (size_t i = 0; i < wanted.size(); ++i) {
          wanted[i] *= factor[i] / (1 + std::exp(-wanted[i]));
        }
        test::expect_close(y, wanted, 2 * reference::unit_roundoff(dtype) + 1e-6, 1e-6,
                           format("{} {}", name_of(where), n));
      }
    }
  }
}

TEST(Elementwise, IsAnyFunctionOfUpToFourInputs) {
  static const Elementwise three("fma3", 3,
                                 [](const std::vector<Expr>& x) { return x[0] * x[1] + x[2]; });
  static const Elementwise four(
      "choose", 4, [](const std::vector<Expr>& x) { return select(x[0] < x[1], x[2], x[3]); });
  for (const Where where : kBoth) {
    const auto make = [&](uint64_t seed) { return random_tensor(f32, {5, 77}, seed); };
    const OwnedTensor a = make(1), b = make(2), c = make(3), d = make(4), y(f32, {5, 77});
    const auto v = [&](const OwnedTensor& t) { return values(t); };
    std::vector<double> sums, chosen;
    for (size_t i = 0; i < 5 * 77; ++i) {
      sums.push_back(v(a)[i] * v(b)[i] + v(c)[i]);
      chosen.push_back(v(a)[i] < v(b)[i] ? v(c)[i] : v(d)[i]);
    }
    three({on(where, a), on(where, b), on(where, c)}, on(where, y));
    test::expect_close(y, sums, 1e-6, 1e-6, name_of(where));
    four({on(where, a), on(where, b), on(where, c), on(where, d)}, on(where, y));
    test::expect_close(y, chosen, 0, 0, name_of(where));
  }
}

TEST(Elementwise, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  const OwnedTensor a = random_tensor(bf16, {2, 1024}, 1), b = random_tensor(bf16, {2, 1}, 2),
                    y(f16, {2, 1024});
  kernels::add_relu(on(Where::twin, a), on(Where::twin, b), on(Where::twin, y));
}

TEST(Elementwise, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor a(f32, {4, 8}), b(f32, {4, 9}), i(i32, {4, 8}), odd(f32, {4, 7});
  EXPECT_EQ(test::error_of([&] { kernels::add(a, b, a); }),
            "add: b is f32 [4, 9], it doesn't broadcast to y's shape [4, 8]");
  EXPECT_EQ(test::error_of([&] { kernels::mul(a, i, a); }),
            "mul: b is i32 [4, 8], it must be f64, f32, bf16 or f16");
  EXPECT_EQ(test::error_of([&] { kernels::silu_and_mul(odd, a); }),
            "silu_and_mul: x is f32 [4, 7], its last dimension must have two halves");
  EXPECT_EQ(test::error_of([&] { kernels::add(a, a, a->reshape({8, 4})); }),
            "add: y f32 [8, 4] shares memory with a f32 [4, 8]; pass a copy of one");
}

}  // namespace
}  // namespace tw
