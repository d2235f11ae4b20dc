#include "tilewright/base/dtype.h"

#include <gtest/gtest.h>

#include "tilewright/base/error.h"

namespace tw {
namespace {

TEST(DType, NamesAreReadBack) {
  for (const DType dtype : all_dtypes()) EXPECT_EQ(parse_dtype(to_text(dtype)), dtype);
  EXPECT_EQ(parse_dtype("f32x4"), DType(Scalar::f32, 4));
}

TEST(DType, ReadsTheNamesOfNumpyAndTorch) {
  EXPECT_EQ(parse_dtype("torch.float8_e4m3fn"), f8_e4m3);
  EXPECT_EQ(parse_dtype("float64"), f64);
  EXPECT_EQ(parse_dtype("f32x5"), std::nullopt);
  EXPECT_EQ(parse_dtype("quad"), std::nullopt);
}

TEST(DType, AnUnknownNameIsAnErrorWithTheKnownOnes) {
  try {
    dtype_named("float7");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "error[E-TYPE-01]: dtype: unknown name 'float7'\n"
        "  help: known names are bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, "
        "f64, tf32, e4m3, e5m2, e8m0, e2m1");
  }
}

TEST(DType, Promotes) {
  EXPECT_EQ(promote(i32, u32), u32);
  EXPECT_EQ(promote(i64, u32), i64);
  EXPECT_EQ(promote(i64, f16), f16);
  EXPECT_EQ(promote(bf16, f16), std::nullopt);
  EXPECT_EQ(promote(f8_e4m3, bf16), f32);
  EXPECT_EQ(promote(bool_, i8), i8);
}

}  // namespace
}  // namespace tw
