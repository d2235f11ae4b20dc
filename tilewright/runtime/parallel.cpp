#include "tilewright/runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>
#include <sched.h>

#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/tensor.h"

#ifdef TW_THREAD_SANITIZER
#include <oneapi/tbb/task_scheduler_observer.h>
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace tw::runtime {
namespace {

constexpr int64_t kMostThreads = 1024;

// oneTBB's library isn't built for the thread sanitizer. So the sanitizer can't see that what
// happens before parallel_for happens before its bodies, and these before its return; and it
// takes the library's own memory, which it sees through memset and the like, for raced on. This
// file is compiled without the sanitizer and tells it both: an `InsideTbb` in a body is switched
// off by an `InsideBody`.
#ifdef TW_THREAD_SANITIZER
struct InsideTbb {
  InsideTbb() { __tsan_ignore_thread_begin(); }
  ~InsideTbb() { __tsan_ignore_thread_end(); }
};
struct InsideBody {
  InsideBody(void* begin, void* end) : end(end) {
    __tsan_ignore_thread_end();
    __tsan_acquire(begin);
  }
  ~InsideBody() {
    __tsan_release(end);
    __tsan_ignore_thread_begin();
  }
  void* end;
};
void happens_before(void* point) { __tsan_release(point); }
void happens_after(void* point) { __tsan_acquire(point); }
#else
struct InsideTbb {
  InsideTbb() {}
};
struct InsideBody {
  InsideBody(void*, void*) {}
};
void happens_before(void*) {}
void happens_after(void*) {}
#endif

// Tiles are walked with strides of some KiB: in large pages, where the system gives any, they need
// no more entries of the translation buffer than it has.
void* allocate_scratch(int64_t bytes) {
  constexpr int64_t kLargePage = int64_t{2} << 20;
  return bytes < kLargePage / 4 ? allocate_aligned(bytes) : allocate_aligned(bytes, kLargePage);
}

// Scratch memory of a thread: one block that grows. A body that launches again while its block is
// in use gets another one for that time.
struct ThreadScratch {
  void* memory = nullptr;
  int64_t bytes = 0;
  bool used = false;
  ~ThreadScratch() { free_aligned(memory); }
};
thread_local ThreadScratch thread_scratch;

class ScratchLease {
 public:
  explicit ScratchLease(int64_t bytes) : thread_(thread_scratch), nested_(thread_.used) {
    if (bytes == 0) return;
    if (nested_ || bytes > thread_.bytes) {
      memory_ = allocate_scratch(bytes);
      if (memory_ == nullptr) throw std::bad_alloc();
      if (nested_) return;
      free_aligned(thread_.memory);
      thread_.memory = memory_;
      thread_.bytes = bytes;
    }
    memory_ = thread_.memory;
    thread_.used = true;
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  ~ScratchLease() {
    if (nested_) {
      free_aligned(memory_);
    } else {
      thread_.used = false;
    }
  }
  void* memory() const { return memory_; }

 private:
  ThreadScratch& thread_;
  bool nested_;
  void* memory_ = nullptr;
};

// The kernel may wake a worker on the core of the thread that launches and leave both there for
// many milliseconds although another core is idle (seen in virtual machines, whose halted cores
// don't count as idle). Such a worker leaves; later wake-ups find it where it went.
void leave_core(int core) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

// Never destroyed: the pool's threads may outlive static objects.
tbb::task_arena& arena() {
  static tbb::task_arena& arena = *new tbb::task_arena(thread_count());
#ifdef TW_THREAD_SANITIZER
  struct Observer : tbb::task_scheduler_observer {
    explicit Observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(); }
    void on_scheduler_entry(bool is_worker) override {
      if (is_worker) __tsan_ignore_thread_begin();
    }
    void on_scheduler_exit(bool is_worker) override {
      if (is_worker) __tsan_ignore_thread_end();
    }
  };
  static Observer& observer = *new Observer(arena);
  static_cast<void>(observer);
#endif
  return arena;
}

}  // namespace

int thread_count() {
  static const int count = [] {
    if (const int64_t wanted = env::num_threads.get(); wanted > 0) {
      TW_REQUIRE(wanted <= kMostThreads, "{} is {}, at most {} threads can be had",
                 env::num_threads.name, wanted, kMostThreads);
      return static_cast<int>(wanted);
    }
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof(processors), &processors) == 0
               ? std::max(1, CPU_COUNT(&processors))
               : tbb::this_task_arena::max_concurrency();
  }();
  return count;
}

int32_t parallel_blocks(int64_t blocks, int64_t scratch_bytes, BlockBody body, void* context) {
  if (blocks <= 0) return 0;
  if (blocks == 1 || thread_count() == 1) {
    const ScratchLease scratch(scratch_bytes);
    return body(context, 0, blocks, scratch.memory());
  }
  std::atomic<int32_t> result = 0;
  char begin, end;  // points in time
  const pthread_t launching_thread = pthread_self();
  const int launching_core = sched_getcpu();
  happens_before(&begin);
  const auto run = [&](const tbb::blocked_range<int64_t>& range, tbb::task_group_context& group) {
    const InsideBody inside(&begin, &end);
    if (sched_getcpu() == launching_core && pthread_self() != launching_thread) {
      leave_core(launching_core);
    }
    const ScratchLease scratch(scratch_bytes);
    const int32_t status = body(context, range.begin(), range.end(), scratch.memory());
    int32_t none = 0;
    if (status != 0 && result.compare_exchange_strong(none, status)) group.cancel_group_execution();
  };
  {
    const InsideTbb inside;
    arena().execute([&] {
      tbb::task_group_context group;
      tbb::parallel_for(
          tbb::blocked_range<int64_t>(0, blocks),
          [&](const tbb::blocked_range<int64_t>& range) { run(range, group); },
          tbb::auto_partitioner(), group);
    });
  }
  happens_after(&end);
  return result;
}

}  // namespace tw::runtime
