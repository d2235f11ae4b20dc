#include "tilewright/kernels/gemm.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using kernels::Activation;
using kernels::GemmArgs;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;

/// The error of rounding c once, and of a sum of k products in f32 whose terms are below 4.
double absolute(int64_t k) { return static_cast<double>(k) * 4 * 0x1p-24 * 2 + 1e-6; }

/// The arguments, with their tensors where a kernel runs.
class PlacedArgs {
 public:
  PlacedArgs(Where where, const GemmArgs& args) : args_(args) {
    if (args.bias != nullptr) args_.bias = &(bias_ = on(where, *args.bias));
    if (args.residual != nullptr) args_.residual = &(residual_ = on(where, *args.residual));
  }
  PlacedArgs(const PlacedArgs&) = delete;
  PlacedArgs& operator=(const PlacedArgs&) = delete;
  operator const GemmArgs&() const { return args_; }

 private:
  GemmArgs args_;
  Tensor bias_, residual_;
};

void check(DType dtype, DType out, int64_t m, int64_t n, int64_t k, const GemmArgs& args,
           Where where = Where::cpu) {
  const OwnedTensor a = random_tensor(dtype, args.trans_a ? Shape{k, m} : Shape{m, k}, 1);
  const OwnedTensor b = random_tensor(dtype, args.trans_b ? Shape{n, k} : Shape{k, n}, 2);
  const OwnedTensor c = test::filled_tensor(out, {m, n}, 9);
  kernels::gemm(on(where, a), on(where, b), on(where, c), PlacedArgs(where, args));
  auto wanted =
      reference::multiply(values(a), values(b), static_cast<size_t>(m), static_cast<size_t>(n),
                          static_cast<size_t>(k), args.trans_a, args.trans_b);
  const auto bias = args.bias != nullptr ? values(*args.bias) : std::vector<double>();
  const auto residual = args.residual != nullptr ? values(*args.residual) : std::vector<double>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!bias.empty()) wanted[i] += bias[i % static_cast<size_t>(n)];
    wanted[i] = reference::activate(args.activation, wanted[i]);
    if (!residual.empty()) wanted[i] += residual[i];
  }
  test::expect_close(c, wanted, 2 * reference::unit_roundoff(out), absolute(k) * 2,
                     format("{} to {}, m {}, n {}, k {}, trans {} {}", dtype, out, m, n, k,
                            args.trans_a, args.trans_b));
}

TEST(Gemm, AgreesWithTheReferenceForAllTransposes) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        const GemmArgs args{.trans_a = trans_a, .trans_b = trans_b};
        for (const int64_t m : {0, 1, 10, 33}) check(dtype, f32, m, 70, 50, args);
        check(dtype, dtype, 300, 530, 257, args);
      }
    }
  }
}

TEST(Gemm, SizesThatAreZeroOrOne) {
  for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 1}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}, {1, 96, 384}}) {
    check(f32, f32, m, n, k, {});
  }
}

TEST(Gemm, Epilogues) {
  const OwnedTensor bias = random_tensor(f32, {96}, 3), residual = random_tensor(f32, {40, 96}, 4);
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                      Activation::gelu_tanh, Activation::silu}) {
    check(f32, f32, 40, 96, 64,
          {.activation = activation, .bias = &bias.view(), .residual = &residual.view()});
  }
  check(f32, f32, 40, 96, 64, {.bias = &bias.view()});
  check(bf16, bf16, 40, 96, 64, {.activation = Activation::gelu, .bias = &bias.view()});
}

TEST(Gemm, OnThreadsWithAnEpilogue) {
  const test::AlsoToCubin cubins;
  const OwnedTensor bias = random_tensor(f32, {96}, 3), rounded = random_tensor(bf16, {33, 96}, 4),
                    residual = random_tensor(f32, {33, 96}, 5);
  check(f32, f32, 33, 96, 40, {.bias = &bias.view(), .residual = &residual.view()}, Where::twin);
  check(bf16, bf16, 33, 96, 70,
        {.activation = Activation::gelu, .bias = &bias.view(), .residual = &rounded.view()},
        Where::twin);
}

TEST(Gemm, StridedRows) {
  const OwnedTensor a = random_tensor(f32, {20, 80}, 1), b = random_tensor(f32, {64, 100}, 2);
  const OwnedTensor c = test::filled_tensor(f32, {20, 90}, 7);
  const Tensor av = test::with_row_gap(a, 64), bv = test::with_row_gap(b, 70),
               cv = test::with_row_gap(c, 70);
  kernels::gemm(av, bv, cv);
  test::expect_close(cv, reference::multiply(values(av), values(bv), 20, 70, 64, false, false),
                     1e-6, absolute(64), "strided");
  for (const double between : values(c.view().slice(1, 70, 20))) ASSERT_EQ(between, 7);
}

TEST(Gemm, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor a(f32, {4, 8}), b(f32, {9, 5}), c(f32, {4, 5}), i(i32, {8, 5});
  EXPECT_EQ(test::error_of([&] { kernels::gemm(a, b, c); }),
            "gemm: K is 8 in a f32 [4, 8] but 9 in b f32 [9, 5]");
  EXPECT_EQ(test::error_of([&] { kernels::gemm(a, i, c); }),
            "gemm: b is i32 [8, 5], it must be f32");
}

/// Checks each entry of a batch by itself.
void check_batch(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args,
                 const std::string& what) {
  kernels::batched_gemm(a, b, c, args);
  const auto n = static_cast<size_t>(c.dim(2));
  for (int64_t s = 0; s < c.dim(0); ++s) {
    auto wanted = reference::multiply(
        values(a.select(0, s)), values(b.select(0, s)), static_cast<size_t>(c.dim(1)), n,
        static_cast<size_t>(a.dim(args.trans_a ? 1 : 2)), args.trans_a, args.trans_b);
    std::vector<double> bias(n), residual(wanted.size());
    if (args.bias != nullptr) {
      bias = values(args.bias->rank() == 2 ? args.bias->select(0, s) : *args.bias);
    }
    if (args.residual != nullptr) residual = values(args.residual->select(0, s));
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = reference::activate(args.activation, wanted[i] + bias[i % n]) + residual[i];
    }
    test::expect_close(c.select(0, s), wanted, 2 * reference::unit_roundoff(c.dtype()),
                       absolute(200), format("{}, entry {}", what, s));
  }
}

TEST(BatchedGemm, AgreesWithTheReference) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const auto& [batch, m, n, k] : std::vector<std::array<int64_t, 4>>{
                 {3, 33, 70, 50}, {0, 4, 5, 6}, {1, 1, 1, 1}, {2, 20, 40, 0}}) {
          const OwnedTensor a = random_tensor(dtype,
                                              trans_a ? Shape{batch, k, m} : Shape{batch, m, k}, 1),
                            b = random_tensor(dtype,
                                              trans_b ? Shape{batch, n, k} : Shape{batch, k, n}, 2),
                            c = test::filled_tensor(dtype, {batch, m, n}, 9);
          check_batch(
              a, b, c, {.trans_a = trans_a, .trans_b = trans_b},
              format("{}, {} {} {} {}, trans {} {}", dtype, batch, m, n, k, trans_a, trans_b));
        }
      }
    }
  }
}

TEST(BatchedGemm, Epilogues) {
  const OwnedTensor a = random_tensor(f32, {3, 20, 30}, 1), b = random_tensor(f32, {3, 30, 40}, 2),
                    c = test::filled_tensor(f32, {3, 20, 40}, 9),
                    residual = random_tensor(f32, {3, 20, 40}, 3),
                    one = random_tensor(f32, {40}, 4), each = random_tensor(f32, {3, 40}, 5);
  for (const OwnedTensor* bias : {&one, &each}) {
    check_batch(
        a, b, c,
        {.activation = Activation::silu, .bias = &bias->view(), .residual = &residual.view()},
        format("bias {}", bias->view()));
  }
}

TEST(BatchedGemm, AnyBatchStride) {
  const OwnedTensor a = random_tensor(f32, {20, 3, 30}, 1), b = random_tensor(f32, {30, 40}, 2),
                    c = test::filled_tensor(f32, {20, 3, 50}, 7);
  const Tensor shared(b->data(), f32, {3, 30, 40}, {0, 40, 1});
  check_batch(a->transpose(0, 1), shared, c->slice(2, 0, 40).transpose(0, 1), {}, "strides");
  for (const double between : values(c->slice(2, 40, 10))) ASSERT_EQ(between, 7);
}

TEST(BatchedGemm, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor a(f32, {2, 4, 8}), b(f32, {2, 8, 5}), c(f32, {2, 4, 5}), other(f32, {3, 8, 5}),
      flat(f32, {8, 5}), bias(f32, {3, 5});
  EXPECT_EQ(test::error_of([&] { kernels::batched_gemm(a, flat, c); }),
            "batched_gemm: b is f32 [8, 5], it must have 3 dimensions");
  EXPECT_EQ(test::error_of([&] { kernels::batched_gemm(a, other, c); }),
            "batched_gemm: the batch is 2 in a f32 [2, 4, 8] but 3 in b f32 [3, 8, 5]");
  EXPECT_EQ(test::error_of([&] { kernels::batched_gemm(a, b, a); }),
            "batched_gemm: c is f32 [2, 4, 8], it must be [2, 4, 5] [batch, m, n]");
  EXPECT_EQ(test::error_of([&] { kernels::batched_gemm(a, b, c, {.bias = &bias.view()}); }),
            "batched_gemm: bias is f32 [3, 5], it must be [2, 5] [batch, n]");
}

/// The values of codes [rows, k] whose scales belong to blocks of `height` rows and 128 columns.
std::vector<double> dequantized(const Tensor& q, const Tensor& scale, int64_t height) {
  std::vector<double> list = values(q);
  const std::vector<double> factors = values(scale);
  for (int64_t i = 0; i < q.dim(0); ++i) {
    for (int64_t j = 0; j < q.dim(1); ++j) {
      list[static_cast<size_t>(i * q.dim(1) + j)] *=
          factors[static_cast<size_t>(i / height * scale.dim(1) + j / 128)];
    }
  }
  return list;
}

void check_fp8(DType out, int64_t m, int64_t n, int64_t k, const GemmArgs& args = {},
               Where where = Where::cpu) {
  const int64_t groups = (k + 127) / 128;
  const OwnedTensor a = random_tensor(f8_e4m3, {m, k}, 1), b = random_tensor(f8_e4m3, {n, k}, 2);
  const OwnedTensor sa = random_tensor(f32, {m, groups}, 3, 0.25, 1),
                    sb = random_tensor(f32, {(n + 127) / 128, groups}, 4, 0.25, 1);
  const OwnedTensor c = test::filled_tensor(out, {m, n}, 9);
  kernels::gemm_fp8(on(where, a), on(where, sa), on(where, b), on(where, sb), on(where, c),
                    PlacedArgs(where, args));
  auto wanted =
      reference::multiply(dequantized(a, sa, 1), dequantized(b, sb, 128), static_cast<size_t>(m),
                          static_cast<size_t>(n), static_cast<size_t>(k), false, true);
  std::vector<double> bias(static_cast<size_t>(n)), residual(wanted.size());
  if (args.bias != nullptr) bias = values(*args.bias);
  if (args.residual != nullptr) residual = values(*args.residual);
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] =
        reference::activate(args.activation, wanted[i] + bias[i % bias.size()]) + residual[i];
  }
  test::expect_close(c, wanted, 2 * reference::unit_roundoff(out), absolute(k) * 2,
                     format("e4m3 to {}, m {}, n {}, k {}", out, m, n, k));
}

TEST(GemmFp8, AgreesWithTheReference) {
  for (const DType out : {f32, bf16, f16}) {
    for (const int64_t m : {0, 1, 33, 200}) check_fp8(out, m, 300, 200);
    check_fp8(out, 5, 70, 384);
  }
  check_fp8(f32, 3, 4, 0);
  check_fp8(f32, 3, 0, 5);
  check_fp8(f32, 1, 1, 1);
}

TEST(GemmFp8, Epilogues) {
  const OwnedTensor bias = random_tensor(f32, {96}, 3), residual = random_tensor(bf16, {40, 96}, 4);
  check_fp8(bf16, 40, 96, 256,
            {.activation = Activation::gelu, .bias = &bias.view(), .residual = &residual.view()});
}

TEST(GemmFp8, OnThreadsWithAnEpilogue) {
  const test::AlsoToCubin cubins;
  const OwnedTensor bias = random_tensor(f32, {96}, 3), residual = random_tensor(f32, {20, 96}, 4);
  check_fp8(f32, 20, 96, 150,
            {.activation = Activation::gelu, .bias = &bias.view(), .residual = &residual.view()},
            Where::twin);
}

TEST(GemmFp8, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor a(f8_e4m3, {4, 200}), b(f8_e4m3, {130, 200}), sa(f32, {4, 2}), sb(f32, {2, 2}),
      c(f32, {4, 130}), h(bf16, {4, 200});
  const auto error = [&](const Tensor& x, const Tensor& sx, const Tensor& sy,
                         const GemmArgs& args = {}) {
    return test::error_of([&] { kernels::gemm_fp8(x, sx, b, sy, c, args); });
  };
  EXPECT_EQ(error(h, sa, sb), "gemm_fp8: a is bf16 [4, 200], it must be e4m3");
  EXPECT_EQ(error(a, sb, sb),
            "gemm_fp8: scale_a is f32 [2, 2], it must be [4, 2] [m, ceil(k / 128)]");
  EXPECT_EQ(error(a, sa, sa),
            "gemm_fp8: scale_b is f32 [4, 2], it must be [2, 2] [ceil(n / 128), ceil(k / 128)]");
  EXPECT_EQ(error(a, sa, sb, {.trans_b = true}),
            "gemm_fp8: trans_a is false and trans_b is true, it takes a [m, k] and b [n, k] only");
}

}  // namespace
}  // namespace tw
