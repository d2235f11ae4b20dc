// What tests of reduce_fused share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/moe_layout_testing.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"

namespace tw::test {

/// Dtypes and arguments of reduce_fused.
struct ReduceForm {
  DType x, out;
  bool weights, x_sf, sf;
};

inline std::string to_text(const ReduceForm& f) {
  return format("{} to {}{}{}{}", f.x, f.out, f.weights ? ", weights" : "", f.x_sf ? ", x_sf" : "",
                f.sf ? ", sf" : "");
}

/// The result's bits against those of the values, rounded to its dtype; of NaN with any sign.
inline void expect_bits(const Tensor& out, const std::vector<float>& wanted,
                        const std::string& what) {
  const std::vector<uint32_t> found = bits(out);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto code = static_cast<uint32_t>(encode(wanted[i], out.dtype()));
    const bool both_nan = std::isnan(wanted[i]) && std::isnan(decode(found[i], out.dtype()));
    ASSERT_TRUE(both_nan || found[i] == code)
        << format("{}, element {}: {:x} instead of {:x}", what, i, found[i], code);
  }
}

inline std::vector<ReduceForm> all_reduce_forms() {
  std::vector<ReduceForm> all;
  for (const DType x : {f32, bf16, f8_e4m3}) {
    for (const bool weights : {false, true}) {
      for (const bool x_sf : {false, true}) {
        all.push_back({x, x, weights, x_sf, false});
        all.push_back({x, f8_e4m3, weights, x_sf, true});
      }
    }
  }
  all.push_back({bf16, f8_e4m3, true, false, false});
  return all;
}

}  // namespace tw::test
