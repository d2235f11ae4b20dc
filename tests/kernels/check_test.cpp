#include "tilewright/kernels/check.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"

namespace tw::kernels {
namespace {

std::set<const void*> elements(const Tensor& t) {
  std::set<const void*> found;
  for (int64_t i = 0; i < t.dim(0); ++i) {
    for (int64_t j = 0; j < t.dim(1); ++j) found.insert(t.slice(0, i, 1).slice(1, j, 1).data());
  }
  return found;
}

// All pairs of parts of a matrix, which have its row distance or no gaps.
TEST(ShareMemory, IsExactForPartsOfAMatrix) {
  const OwnedTensor whole(f32, {3, 4});
  std::vector<Tensor> parts;
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t rows = 0; rows <= 3 - row; ++rows) {
      for (int64_t column = 0; column < 4; ++column) {
        for (int64_t columns = 0; columns <= 4 - column; ++columns) {
          parts.push_back(whole.view().slice(0, row, rows).slice(1, column, columns));
        }
      }
    }
  }
  for (const Tensor& a : parts) {
    const std::set<const void*> in_a = elements(a);
    for (const Tensor& b : parts) {
      bool common = false;
      for (const void* element : elements(b)) common = common || in_a.contains(element);
      ASSERT_EQ(share_memory(a, b), common) << to_text(a) << " and " << to_text(b);
    }
  }
}

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
