#include "tilewright/kernels/norm.h"

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/norm.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

struct Case {
  DType dtype;
  int64_t n, h, gap;  // gap: elements between rows
};

/// No token, one, sizes that divide nothing, strided rows; the last are those of
/// benchmarks, made small.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int64_t h : {1, 7, 64, 129, 384, 1000}) {
      for (const int64_t n : {0, 1, 5, 33}) list.push_back({dtype, n, h, 0});
    }
    list.push_back({dtype, 9, 100, 28});
  }
  return list;
}

/// The error of the result's rounding, and of a sum of h terms in f32 folded by vectors.
double tolerance(const Case& c) {
  return 2 * reference::unit_roundoff(c.dtype) + 40 * reference::unit_roundoff(f32);
}

std::string name(const Case& c) { return format("{} [{}, {}], gap {}", c.dtype, c.n, c.h, c.gap); }

/// Runs f(x, y) on an input and an output with the case's strides; gives both.
template <class F>
void run(const Case& c, F f) {
  const OwnedTensor x_storage = random_tensor(c.dtype, {c.n, c.h + c.gap}, 1);
  const OwnedTensor y_storage = test::filled_tensor(c.dtype, {c.n, c.h + c.gap}, 7);
  const Tensor x = test::with_row_gap(x_storage, c.h), y = test::with_row_gap(y_storage, c.h);
  f(x, y);
  if (c.gap == 0) return;
  for (const double between : values(y_storage.view().slice(1, c.h, c.gap))) {
    ASSERT_EQ(between, 7) << "written between rows";
  }
}

TEST(RmsNorm, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    const OwnedTensor w = random_tensor(c.dtype, {c.h}, 2);
    run(c, [&](const Tensor& x, const Tensor& y) {
      kernels::rms_norm(x, w, 1e-6F, y);
      test::expect_close(y, reference::rms_norm(values(x), values(w), 1e-6F), tolerance(c), 1e-6,
                         name(c));
    });
  }
}

TEST(LayerNorm, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    const OwnedTensor w = random_tensor(f32, {c.h}, 2), b = random_tensor(f32, {c.h}, 3);
    run(c, [&](const Tensor& x, const Tensor& y) {
      kernels::layer_norm(x, w, b, 1e-5F, y);
      test::expect_close(y, reference::layer_norm(values(x), values(w), values(b), 1e-5F),
                         tolerance(c), 1e-5, name(c));
    });
  }
}

// Rows whose first element is far from all others, and the norm of that row is theirs all the same.
TEST(LayerNorm, OfARowThatBeginsWithAnOutlier) {
  for (const DType dtype : {bf16, f16, f32}) {
    const OwnedTensor x = random_tensor(dtype, {2, 7168}, 1), y(dtype, {2, 7168});
    const OwnedTensor w = random_tensor(f32, {7168}, 2), b = random_tensor(f32, {7168}, 3);
    test::assign(x.view().slice(1, 0, 1), {20000, -20000});
    kernels::layer_norm(x, w, b, 1e-5F, y);
    test::expect_close(y, reference::layer_norm(values(x), values(w), values(b), 1e-5F),
                       dtype == bf16  ? 8e-3
                       : dtype == f16 ? 1e-3
                                      : 1e-5,
                       1e-5, to_text(dtype));
  }
}

TEST(Softmax, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    run(c, [&](const Tensor& x, const Tensor& y) {
      kernels::softmax(x, 1.5F, y);
      test::expect_close(y, reference::softmax(values(x), static_cast<size_t>(c.h), 1.5),
                         tolerance(c), 1e-7, name(c));
    });
  }
}

TEST(Softmax, HandlesLargeValuesAndSpecialRows) {
  OwnedTensor x(f32, {4, 3}), y(f32, {4, 3});
  const double inf = INFINITY, nan = NAN;
  test::assign(x, {1e30, 1e30, -1e30, /**/ -inf, 0, 0, /**/ nan, 1, 2, /**/ -inf, -inf, -inf});
  kernels::softmax(x, 1.0F, y);
  test::expect_close(y, {0.5, 0.5, 0, 0, 0.5, 0.5, nan, nan, nan, nan, nan, nan}, 1e-6, 0,
                     "special rows");
}

/// The sum as it is stored, which is what the norm is of.
std::vector<double> sum_of(const Tensor& x, const Tensor& residual) {
  OwnedTensor sum(x.dtype(), x.shape());
  std::vector<double> list = values(x);
  const std::vector<double> right = values(residual);
  for (size_t i = 0; i < list.size(); ++i) {
    list[i] = static_cast<float>(list[i] + right[i]);
  }
  test::assign(sum, list);
  return values(sum);
}

TEST(ResidualNorms, AgreeWithTheReference) {
  for (const bool twin : {false, true}) {
    const Where where = twin ? Where::twin : Where::cpu;
    for (const Case& c : cases()) {
      if (twin && c.n > 5) continue;
      const OwnedTensor w = random_tensor(f32, {c.h}, 2), b = random_tensor(f32, {c.h}, 3);
      const OwnedTensor residual = random_tensor(c.dtype, {c.n, c.h}, 4);
      for (const bool centers : {false, true}) {
        run(c, [&](const Tensor& x, const Tensor& y) {
          const OwnedTensor sum = test::filled_tensor(c.dtype, {c.n, c.h}, 7);
          if (centers) {
            kernels::residual_layer_norm(on(where, x), on(where, residual), on(where, w),
                                         on(where, b), 1e-5F, on(where, y), on(where, sum));
          } else {
            kernels::residual_rms_norm(on(where, x), on(where, residual), on(where, w), 1e-5F,
                                       on(where, y), on(where, sum));
          }
          const std::vector<double> wanted = sum_of(x, residual);
          EXPECT_EQ(values(sum), wanted) << name(c);
          test::expect_close(y,
                             centers ? reference::layer_norm(wanted, values(w), values(b), 1e-5F)
                                     : reference::rms_norm(wanted, values(w), 1e-5F),
                             tolerance(c), 1e-5, name(c));
        });
      }
    }
  }
}

TEST(ResidualNorms, UpdateInPlaceAsModelsDo) {
  const OwnedTensor x = random_tensor(bf16, {5, 70}, 1), residual = random_tensor(bf16, {5, 70}, 2);
  const OwnedTensor w = random_tensor(bf16, {70}, 3), y(bf16, {5, 70}), sum(bf16, {5, 70});
  kernels::residual_rms_norm(x, residual, w, 1e-6F, y, sum);
  kernels::residual_rms_norm(x, residual, w, 1e-6F, x, residual);
  EXPECT_EQ(values(x), values(y));
  EXPECT_EQ(values(residual), values(sum));
}

TEST(ResidualNorms, OfNaNAndInfinities) {
  OwnedTensor x(f32, {3, 2}), residual(f32, {3, 2}), y(f32, {3, 2}), sum(f32, {3, 2});
  const OwnedTensor w = test::filled_tensor(f32, {2}, 1);
  test::assign(x, {NAN, 1, INFINITY, 1, 3, 4});
  test::assign(residual, {1, 1, 1, 1, 0, 0});
  kernels::residual_rms_norm(x, residual, w, 0, y, sum);
  test::expect_close(sum, {NAN, 2, INFINITY, 2, 3, 4}, 0, 0, "sum");
  test::expect_close(y, {NAN, NAN, NAN, 0, 3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}, 1e-6, 0, "y");
}

TEST(ResidualNorms, BecomeCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  const auto t = [](const OwnedTensor& x) { return on(Where::twin, x); };
  const OwnedTensor x = random_tensor(bf16, {1, 2048}, 1),
                    residual = random_tensor(bf16, {1, 2048}, 2);
  const OwnedTensor w = random_tensor(bf16, {2048}, 3), y(bf16, {1, 2048}), sum(bf16, {1, 2048});
  kernels::residual_rms_norm(t(x), t(residual), t(w), 1e-6F, t(y), t(sum));
  kernels::residual_layer_norm(t(x), t(residual), t(w), t(w), 1e-6F, t(y), t(sum));
}

TEST(ResidualNorms, RejectArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4, 8}), half(bf16, {4, 8}), w(f32, {8}), b(f32, {9});
  EXPECT_EQ(test::error_of([&] { kernels::residual_rms_norm(x, half, w, 1e-6F, y, x); }),
            "residual_rms_norm: residual is bf16 [4, 8], it must be f32 [4, 8] like x");
  EXPECT_EQ(
      test::error_of([&] { kernels::residual_rms_norm(x, y, w, 1e-6F, x, x); }),
      "residual_rms_norm: y f32 [4, 8] shares memory with sum f32 [4, 8]; pass a copy of one");
  EXPECT_EQ(test::error_of([&] { kernels::residual_layer_norm(x, x, w, b, 1e-6F, y, x); }),
            "residual_layer_norm: b is f32 [9], it must be f32 [8] like w");
}

TEST(Norms, NoColumns) {
  const OwnedTensor x(f32, {3, 0}), w(f32, {0}), y(f32, {3, 0});
  kernels::rms_norm(x, w, 1e-6F, y);
  kernels::layer_norm(x, w, w, 1e-6F, y);
  kernels::softmax(x, 1.0F, y);
}

TEST(Norms, WorkInPlace) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16}) {
      for (const int64_t h : {1, 21, 128, 300, 513}) {
        const OwnedTensor given = random_tensor(dtype, {7, h}, 1), w = random_tensor(f32, {h}, 2),
                          b = random_tensor(f32, {h}, 3), x(dtype, {7, h}), y(dtype, {7, h});
        const auto same = [&](const char* what, const auto& run) {
          test::assign(x, values(given));
          run(on(where, x), on(where, y));
          run(on(where, x), on(where, x));
          test::expect_same(x, values(y), format("{}: {} {}", name_of(where), what, given));
        };
        same("rms_norm", [&](const Tensor& from, const Tensor& to) {
          kernels::rms_norm(from, on(where, w), 1e-6F, to);
        });
        same("layer_norm", [&](const Tensor& from, const Tensor& to) {
          kernels::layer_norm(from, on(where, w), on(where, b), 1e-5F, to);
        });
        same("softmax",
             [&](const Tensor& from, const Tensor& to) { kernels::softmax(from, 1.5F, to); });
      }
    }
  }
}

TEST(RmsNorm, WorksInPlace) {
  const OwnedTensor x = random_tensor(f32, {5, 70}, 1), w = random_tensor(f32, {70}, 2);
  const auto wanted = reference::rms_norm(values(x), values(w), 1e-6F);
  kernels::rms_norm(x, w, 1e-6F, x);
  test::expect_close(x, wanted, 1e-5, 1e-6, "in place");
}

TEST(RmsNorm, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4, 8}), w(f32, {9}), i(i32, {4, 8}), flat(f32, {8});
  EXPECT_EQ(test::error_of([&] { kernels::rms_norm(x, w, 1e-6F, y); }),
            "rms_norm: w is f32 [9], it must be [8] [h]");
  EXPECT_EQ(test::error_of([&] { kernels::rms_norm(i, flat, 1e-6F, y); }),
            "rms_norm: x is i32 [4, 8], it must be f32, bf16 or f16");
  EXPECT_EQ(test::error_of([&] { kernels::rms_norm(flat, flat, 1e-6F, y); }),
            "rms_norm: x is f32 [8], it must have 2 dimensions");
  EXPECT_EQ(test::error_of([&] { kernels::rms_norm(x, flat, 1e-6F, flat); }),
            "rms_norm: y is f32 [8], it must be f32 [4, 8] like x");
}

}  // namespace
}  // namespace tw
