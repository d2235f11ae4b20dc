// Counts what a warm call allocates, by replacing the global operator new of this executable, or
// where a sanitizer has replaced it, through that one's hooks.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>
#ifdef TW_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

#include "tests/runtime/kernels.h"

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

#ifdef TW_SANITIZED
namespace {
const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { ++allocations; }, [](const volatile void*) {});
}  // namespace
#else
void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace tw::runtime::test {
namespace {

TEST(WarmCall, AllocatesNothing) {
  KernelMetadata metadata = gemm_metadata();
  metadata.launches[0].variants[0].grid = {1};
  metadata.params.push_back(tensor("W", {HostExpr::symbol(0), 4}));
  metadata.params.back().kind = ParamKind::workspace;
  TwCpuEntry* idle = [](const void*, const int64_t*, int64_t, int64_t, void*, TwCpuCallbacks*) {
    return int32_t{0};
  };
  const LoadedKernel kernel(metadata, std::make_shared<FunctionModule>(
                                          std::map<std::string, TwCpuEntry*>{{"gemm_main", idle}}));
  const float data[16] = {};
  float result[16];
  const Tensor a(data, {4, 4}), b(data, {4, 4}), c(result, {4, 4});
  call(kernel, {a, b, c});
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) call(kernel, {a, b, c});
  EXPECT_EQ(allocations - before, 0);
  const Tensor* leaked = new Tensor(a);  // the counter counts
  EXPECT_EQ(allocations - before, 1);
  delete leaked;
#ifdef TW_SANITIZED
  EXPECT_NE(hooks, 0) << "there was room for them";
#endif
}

}  // namespace
}  // namespace tw::runtime::test
