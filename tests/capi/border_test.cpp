// What the border makes of each kind of exception, and what a call costs besides the kernel.
#include "tilewright/capi/border.h"

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tilewright/base/codes.h"
#include "tilewright/capi/norm.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/runtime/fault.h"

namespace {

thread_local int allocations = 0;  // of this thread, so far

}  // namespace

#ifndef TW_SANITIZED  // which have their own
void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace tw::capi {
namespace {

template <class E>
tw_status status_of(E error) {
  return guarded("f", [&](Reader&) { throw error; });
}

tw_status status_of(Code code) { return status_of(Error(code, {}, "f: a reason")); }

TEST(Border, GivesTheStatusOfEachError) {
  EXPECT_EQ(guarded("f", [](Reader&) {}), TW_OK);
  EXPECT_EQ(status_of(Code{}), TW_INVALID_ARGUMENT);
  EXPECT_EQ(status_of(codes::host_05), TW_INVALID_ARGUMENT);
  EXPECT_EQ(status_of(codes::host_03), TW_INVALID_DTYPE);
  EXPECT_EQ(status_of(codes::type_01), TW_INVALID_DTYPE);
  EXPECT_EQ(status_of(kernels::DtypeError({}, {}, "f: x is i32")), TW_INVALID_DTYPE);
  EXPECT_EQ(status_of(codes::tgt_03), TW_UNSUPPORTED);
  EXPECT_EQ(status_of(codes::host_12), TW_OUT_OF_MEMORY);
  EXPECT_EQ(status_of(std::bad_alloc()), TW_OUT_OF_MEMORY);
  EXPECT_EQ(status_of(runtime::DeviceFault({}, {}, "f: it stopped")), TW_DEVICE_FAULT);
  EXPECT_EQ(status_of(codes::tgt_04), TW_NO_DEVICE);
  EXPECT_EQ(status_of(codes::tool_01), TW_NO_DEVICE);
  EXPECT_EQ(status_of(InternalError("a bug")), TW_INTERNAL);
  EXPECT_EQ(status_of(std::runtime_error("of a library")), TW_INTERNAL);
  EXPECT_EQ(status_of(7), TW_INTERNAL);
}

TEST(Border, KeepsTheWholeText) {
  Error error(codes::gemm_02, {}, "f: K is {} in a but {} in b", 128, 64);
  error.note("a is {}", 1).help("write gemm(c, a, transpose(b))");
  const std::string whole = error.what();
  status_of(error);
  EXPECT_EQ(tw_last_error(), whole);
  status_of(std::bad_alloc());
  EXPECT_STREQ(tw_last_error(), "f: no memory");
  status_of(InternalError("a bug"));
  EXPECT_STREQ(tw_last_error(), "f: a bug");
  status_of(7);
  EXPECT_STREQ(tw_last_error(), "f: an exception of an unknown type");
}

TEST(Border, AllocatesNothingInAWarmCall) {
#ifdef TW_SANITIZED
  GTEST_SKIP() << "allocations can't be counted under a sanitizer";
#endif
  std::vector<float> x(32, 1), w(8, 1), y(32);
  const Tensor tx(x.data(), {4, 8}), tw(w.data(), {8}), ty(y.data(), {4, 8});
  const auto of = [](std::vector<float>& data, std::initializer_list<int64_t> shape) {
    tw_tensor t{.data = data.data(), .dtype = TW_F32, .rank = static_cast<int32_t>(shape.size())};
    std::copy(shape.begin(), shape.end(), t.shape);
    return t;
  };
  const tw_tensor cx = of(x, {4, 8}), cw = of(w, {8}), cy = of(y, {4, 8});
  kernels::rms_norm(tx, tw, 0, ty);  // compiles it
  const int before = allocations;
  kernels::rms_norm(tx, tw, 0, ty);
  const int of_cpp = allocations - before;
  ASSERT_EQ(tw_rms_norm(&cx, &cw, 0, &cy, nullptr), TW_OK);
  EXPECT_EQ(allocations - before, 2 * of_cpp);
  EXPECT_EQ(of_cpp, 0);
}

}  // namespace
}  // namespace tw::capi
