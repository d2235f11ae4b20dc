#include "tilewright/runtime/dlpack.h"

#include <gtest/gtest.h>

#include "tests/runtime/kernels.h"

namespace tw::dlpack {
namespace {

using runtime::test::error_of;

float memory[64];

struct Described {
  int64_t shape[2] = {3, 4}, strides[2] = {8, 1};
  DLTensor tensor = {memory, {kDLCPU, 0}, 2, {2, 32, 1}, shape, strides, 0};
};

TEST(DLPack, HasTheLayoutOfTheStandard) {  // version 1.3 on a 64-bit machine
  EXPECT_EQ(sizeof(DLTensor), 48u);
  EXPECT_EQ(offsetof(DLTensor, ndim), 16u);
  EXPECT_EQ(offsetof(DLTensor, dtype), 20u);
  EXPECT_EQ(offsetof(DLTensor, byte_offset), 40u);
  EXPECT_EQ(sizeof(DLManagedTensor), 64u);
  EXPECT_EQ(sizeof(DLManagedTensorVersioned), 80u);
  EXPECT_EQ(offsetof(DLManagedTensorVersioned, dl_tensor), 32u);
  EXPECT_EQ(sizeof(DLPackExchangeAPI), 56u);
  EXPECT_EQ(offsetof(DLPackExchangeAPI, current_work_stream), 48u);
}

TEST(DLPack, BecomesAView) {
  Described d;
  d.tensor.byte_offset = 8;
  const Tensor x = to_tensor(d.tensor);
  EXPECT_EQ(to_text(x), "f32 [3, 4] strides [8, 1]");
  EXPECT_EQ(x.data(), memory + 2);
  d.tensor.strides = nullptr;  // allowed before version 1.2
  EXPECT_TRUE(to_tensor(d.tensor).is_compact());
}

TEST(DLPack, EveryDtypeSurvivesTheWayThereAndBack) {
  for (const DType dtype : all_dtypes()) {
    const Tensor x(memory, dtype, {2, 8});
    const Tensor y = to_tensor(from_tensor(x));
    EXPECT_EQ(y.dtype(), dtype == tf32 ? f32 : dtype);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_EQ(y.data(), x.data());
  }
}

TEST(DLPack, DevicesAreTranslated) {
  Described d;
  const std::pair<DLDevice, Device> devices[] = {{{kDLCUDA, 1}, {DeviceKind::cuda, 1}},
                                                 {{kDLCUDAManaged, 0}, {DeviceKind::cuda, 0}},
                                                 {{kDLCUDAHost, 0}, {}},
                                                 {{kDLExtDev, 2}, {DeviceKind::ascend, 2}}};
  for (const auto& [there, here] : devices) {
    d.tensor.device = there;
    EXPECT_EQ(to_tensor(d.tensor).device(), here);
  }
  d.tensor.device = {10, 0};  // ROCm
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor); }),
            "error[E-HOST-04]: dlpack: device type 10 isn't supported; move the tensor to the CPU "
            "or to CUDA");
}

TEST(DLPack, PairsOfPackedElementsAreTakenApart) {
  Described d;
  d.tensor.dtype = {17, 4, 2};  // torch.float4_e2m1fn_x2
  const Tensor x = to_tensor(d.tensor);
  EXPECT_EQ(x.dtype(), f4_e2m1);
  EXPECT_EQ(x.shape(), (Shape{3, 8}));
  EXPECT_EQ(x.strides(), (Shape{16, 1}));
  d.strides[1] = 2;
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor); }),
            "dlpack: a tensor of e2m1x2 must have its innermost dimension without gaps");
}

TEST(DLPack, WhatTilewrightDoesNotHaveIsAnError) {
  Described d;
  d.tensor.dtype = {5, 64, 1};  // complex
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor); }),
            "error[E-TYPE-01]: dlpack: no dtype for code 5, 64 bits, 1 lanes");
  d.tensor.dtype = {2, 32, 3};
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor); }),
            "error[E-TYPE-01]: dlpack: no dtype for code 2, 32 bits, 3 lanes");
  d.tensor.dtype = {17, 4, 1};
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor, kSubByteTypePadded); }),
            "dlpack: a tensor of e2m1 with a byte for each element isn't supported; pack it");
  d.tensor.ndim = 9;
  EXPECT_EQ(error_of([&] { to_tensor(d.tensor); }), "dlpack: 9 dimensions, the largest rank is 8");
}

}  // namespace
}  // namespace tw::dlpack
