#include "tilewright/kernels/check.h"

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"

namespace tw::kernels {
namespace {

TEST(CheckApart, AdmitsTheSameTensorInPlace) {
  const OwnedTensor x(f32, {4, 8});
  EXPECT_NO_THROW(check_apart("f", {"y", x}, {{"x", x}}, /*in_place=*/true));
  EXPECT_EQ(test::error_of([&] { check_apart("f", {"y", x}, {{"x", x}}); }),
            "f: y f32 [4, 8] shares memory with x f32 [4, 8]; pass a copy of one");
  const Tensor first = x.view().slice(0, 0, 3), second = x.view().slice(0, 1, 3);
  EXPECT_EQ(test::error_of([&] { check_apart("f", {"y", first}, {{"x", second}}, true); }),
            "f: y f32 [3, 8] shares memory with x f32 [3, 8]; pass a copy of one");
}

}  // namespace
}  // namespace tw::kernels
