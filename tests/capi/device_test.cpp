// The device of tensors arrives: a call from C runs in the twin of GPU code where they say cuda.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/capi/in_c.h"
#include "tests/kernels/tensors.h"
#include "tests/kernels/twin_backend.h"
#include "tilewright/capi/norm.h"

namespace tw {
namespace {

TEST(Device, IsTheOneThatTensorsName) {
  test::use_twin();
  const OwnedTensor x = test::random_tensor(f32, {5, 64}, 1), w = test::random_tensor(f32, {64}, 2);
  OwnedTensor on_cpu(f32, {5, 64}), on_cuda(f32, {5, 64});
  ASSERT_EQ(tw_rms_norm(InC(x), InC(w), 1e-6F, InC(on_cpu), nullptr), TW_OK) << tw_last_error();
  const InC cuda_x = test::on_threads(x), cuda_w = test::on_threads(w);
  InC cuda_y = test::on_threads(on_cuda);
  EXPECT_EQ(cuda_y.tensor.device.kind, TW_CUDA);
  ASSERT_EQ(tw_rms_norm(cuda_x, cuda_w, 1e-6F, cuda_y, nullptr), TW_OK) << tw_last_error();
  test::expect_close(on_cuda, test::values(on_cpu), 1e-5, 0, "rms_norm in the twin");

  cuda_y.tensor.device.index = 1;
  EXPECT_EQ(tw_rms_norm(cuda_x, cuda_w, 1e-6F, cuda_y, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tw_last_error()).find("E-HOST-04"), std::string::npos) << tw_last_error();
  EXPECT_EQ(tw_rms_norm(InC(x), cuda_w, 1e-6F, cuda_x, nullptr), TW_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tw
