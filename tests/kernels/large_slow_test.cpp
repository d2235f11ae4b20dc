// Arrays of more than 2^31 elements, each of them worked on.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"
#include "tilewright/kernels/activation.h"

namespace tw {
namespace {

TEST(Large, EveryElementOfMoreThan2To31) {
  constexpr int64_t kRows = (int64_t{1} << 21) + 1, kColumns = 1024;
  const OwnedTensor x(bf16, {kRows, kColumns});
  auto* bits = x.view().data_as<uint16_t>();
  const uint16_t minus_one = 0xBF80, two = 0x4000;
  std::fill_n(bits, kRows * kColumns, minus_one);
  bits[0] = bits[kRows * kColumns - 1] = bits[(int64_t{1} << 31) - 1] = two;
  kernels::relu(x, x);
  EXPECT_EQ(std::count(bits, bits + kRows * kColumns, uint16_t{0}), kRows * kColumns - 3);
  EXPECT_EQ(bits[0], two);
  EXPECT_EQ(bits[(int64_t{1} << 31) - 1], two);
  EXPECT_EQ(bits[kRows * kColumns - 1], two);
}

}  // namespace
}  // namespace tw
