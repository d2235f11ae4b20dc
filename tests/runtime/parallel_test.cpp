#include "tilewright/runtime/parallel.h"

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tw::runtime {
namespace {

using Body = std::function<int32_t(int64_t first, int64_t last, void* scratch)>;

int32_t run(int64_t blocks, int64_t scratch_bytes, const Body& body) {
  return parallel_blocks(
      blocks, scratch_bytes,
      [](void* context, int64_t first, int64_t last, void* scratch) {
        return (*static_cast<const Body*>(context))(first, last, scratch);
      },
      const_cast<Body*>(&body));
}

TEST(ParallelBlocks, RunsEachBlockOnce) {
  for (const int64_t blocks : {0, 1, 2, 3, 17, 1000}) {
    std::vector<int> count(
        static_cast<size_t>(blocks));  // not atomic: the sanitizer checks the joins
    EXPECT_EQ(run(blocks, 0,
                  [&](int64_t first, int64_t last, void*) {
                    for (int64_t i = first; i < last; ++i) ++count[static_cast<size_t>(i)];
                    return 0;
                  }),
              0);
    EXPECT_EQ(count, std::vector<int>(static_cast<size_t>(blocks), 1));
  }
}

TEST(ParallelBlocks, ScratchIsAlignedAndBelongsToOneThread) {
  std::atomic<int> wrong = 0;
  run(200, 1000, [&](int64_t first, int64_t last, void* scratch) {
    wrong += reinterpret_cast<uintptr_t>(scratch) % 64 != 0;
    auto* mine = static_cast<volatile int64_t*>(scratch);
    for (int64_t i = first; i < last; ++i) {
      for (int k = 0; k < 125; ++k) mine[k] = i;
      for (int k = 0; k < 125; ++k) wrong += mine[k] != i;
    }
    return 0;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ParallelBlocks, ScratchIsKeptForLaterLaunches) {
  void *first = nullptr, *second = nullptr;
  run(1, 4096, [&](int64_t, int64_t, void* scratch) { return first = scratch, 0; });
  run(1, 64, [&](int64_t, int64_t, void* scratch) { return second = scratch, 0; });
  EXPECT_EQ(first, second);
}

TEST(ParallelBlocks, ABodyMayLaunchAgain) {
  std::atomic<int> wrong = 0, inner = 0;
  run(8, 256, [&](int64_t first, int64_t last, void* scratch) {
    auto* mine = static_cast<volatile char*>(scratch);
    for (int64_t i = first; i < last; ++i) {
      mine[0] = static_cast<char>(i);
      run(3, 256, [&](int64_t from, int64_t to, void* other) {
        static_cast<volatile char*>(other)[0] = 99;
        inner += static_cast<int>(to - from);
        return 0;
      });
      wrong += mine[0] != static_cast<char>(i);
    }
    return 0;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner, 24);
}

TEST(ParallelBlocks, AFailureStopsTheLaunch) {
  std::atomic<int64_t> ran = 0;
  const int32_t status = run(1'000'000, 0, [&](int64_t first, int64_t last, void*) {
    ran += last - first;
    return first == 0 ? 7 : 0;
  });
  EXPECT_EQ(status, 7);
  EXPECT_LT(ran, 1'000'000);
}

TEST(ParallelBlocks, AnExceptionReachesTheCaller) {
  for (const int64_t blocks : {1, 100}) {
    EXPECT_THROW(
        run(blocks, 64, [](int64_t, int64_t, void*) -> int32_t { throw std::runtime_error("no"); }),
        std::runtime_error);
    EXPECT_EQ(run(blocks, 64, [](int64_t, int64_t, void*) { return 0; }), 0);
  }
}

TEST(ParallelBlocks, AHugeScratchIsAnExceptionNotACrash) {
  EXPECT_THROW(run(4, INT64_MAX, [](int64_t, int64_t, void*) { return 0; }), std::bad_alloc);
}

TEST(ParallelBlocks, WorksFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int64_t> sum = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        run(20, 128, [&](int64_t first, int64_t last, void*) { return sum += last - first, 0; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 50 * 20);
}

}  // namespace
}  // namespace tw::runtime
