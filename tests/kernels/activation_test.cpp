#include "tilewright/kernels/activation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using kernels::Activation;
using test::random_tensor;
using test::values;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Function {
  const char* name;
  void (*run)(const Tensor&, const Tensor&, Stream);
  double (*wanted)(double);
};
const Function kFunctions[] = {
    {"relu", kernels::relu, [](double x) { return reference::activate(Activation::relu, x); }},
    {"gelu", kernels::gelu, [](double x) { return reference::activate(Activation::gelu, x); }},
    {"gelu_tanh", kernels::gelu_tanh,
     [](double x) { return reference::activate(Activation::gelu_tanh, x); }},
    {"silu", kernels::silu, [](double x) { return reference::activate(Activation::silu, x); }},
    {"sigmoid", kernels::sigmoid, sigmoid},
};

TEST(Activations, AgreeWithTheReferenceForAnyShape) {
  for (const Function& f : kFunctions) {
    for (const DType dtype : {f32, bf16, f16}) {
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{1}, Shape{37}, Shape{5, 1000}, Shape{2, 3, 7}}) {
        const OwnedTensor x = random_tensor(dtype, shape, 1, -12, 12);
        const OwnedTensor y = test::filled_tensor(dtype, shape, 9);
        f.run(x, y, {});
        std::vector<double> wanted = values(x);
        for (double& v : wanted) v = f.wanted(v);
        // gelu cancels where x is far below 0: 1 + erf is off by an ulp of 1, times |x| / 2.
        test::expect_close(y, wanted, 2 * reference::unit_roundoff(dtype) + 4e-6, 2e-6,
                           format("{} of {} {}", f.name, dtype, shape));
      }
    }
  }
}

TEST(Activations, OfSpecialValues) {
  OwnedTensor x(f32, {4}), y(f32, {4});
  test::assign(x, {NAN, INFINITY, -INFINITY, -0.0});
  kernels::sigmoid(x, y);
  test::expect_close(y, {NAN, 1, 0, 0.5}, 0, 0, "sigmoid");
  kernels::relu(x, y);
  test::expect_close(y, {0, INFINITY, 0, 0}, 0, 0, "relu");
  test::assign(x, {NAN, INFINITY, -200, 200});
  kernels::silu(x, y);
  test::expect_close(y, {NAN, INFINITY, 0, 200}, 0, 1e-30, "silu");
  kernels::gelu(x, y);
  test::expect_close(y, {NAN, INFINITY, 0, 200}, 0, 0, "gelu");
}

TEST(Activations, StridedRowsInPlace) {
  const OwnedTensor storage = random_tensor(f32, {3, 2, 50}, 1);
  const Tensor x = storage->slice(2, 0, 33);
  std::vector<double> wanted = values(x);
  for (double& v : wanted) v = reference::activate(Activation::silu, v);
  const std::vector<double> between = values(storage->slice(2, 33, 17));
  kernels::silu(x, x);
  test::expect_close(x, wanted, 1e-6, 1e-6, "in place");
  EXPECT_EQ(values(storage->slice(2, 33, 17)), between);
}

TEST(SiluMul, AgreesWithTheReference) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int64_t n : {0, 1, 9}) {
      // Both halves of one tensor, as a projection writes them.
      const OwnedTensor both = random_tensor(dtype, {n, 2 * 130}, 1),
                        y = test::filled_tensor(dtype, {n, 130}, 9);
      const Tensor gate = both->slice(1, 0, 130), x = both->slice(1, 130, 130);
      kernels::silu_mul(gate, x, y);
      std::vector<double> wanted = values(gate), factor = values(x);
      for (size_t i = 0; i < wanted.size(); ++i) wanted[i] *= sigmoid(wanted[i]) * factor[i];
      test::expect_close(y, wanted, 2 * reference::unit_roundoff(dtype) + 1e-6, 1e-6,
                         format("{}, n {}", dtype, n));
    }
  }
}

TEST(Activations, RejectArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), other(f32, {4, 9}), i(i32, {4, 8}), h(bf16, {4, 8});
  EXPECT_EQ(test::error_of([&] { kernels::gelu(i, i); }),
            "gelu: x is i32 [4, 8], it must be f32, bf16 or f16");
  EXPECT_EQ(test::error_of([&] { kernels::silu(x, other); }),
            "silu: y is f32 [4, 9], it must be f32 [4, 8] like x");
  EXPECT_EQ(test::error_of([&] { kernels::silu_mul(x, h, x); }),
            "silu_mul: x is bf16 [4, 8], it must be f32 [4, 8] like gate");
}

}  // namespace
}  // namespace tw
