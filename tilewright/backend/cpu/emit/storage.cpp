#include "tilewright/backend/cpu/emit/storage.h"

#include <algorithm>
#include <vector>

#include "tilewright/base/codes.h"
#include "tilewright/ir/visit.h"

namespace tw::cpu {
namespace {

constexpr int64_t kStackBuffer = 4096;  // largest buffer on the stack
constexpr int64_t kStackTotal = 65536;  // and all together
constexpr int64_t kAlign = 64;
constexpr int64_t kMaxScratch = int64_t{256} << 20;  // of each worker thread

/// Program points at which a buffer's contents matter, numbered in program order.
struct Life {
  ir::Buffer buffer;
  int64_t bytes = 0;
  int64_t first = INT64_MAX, last = -1;
  size_t depth = 0;  // loops around the allocation
};

class LifeTimes : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const ir::Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) use(load->buffer);
    children(expr);
  }
  void visit(const ir::Stmt& stmt) override {
    ++now_;
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) {
      if (!alloc->buffer->view_of && !index_.contains(alloc->buffer)) {
        index_[alloc->buffer] = lives.size();
        lives.push_back({alloc->buffer, bytes_of(alloc->buffer), INT64_MAX, -1, loops_.size()});
      }
    }
    if (const auto* store = stmt.try_as<ir::Store>()) use(store->buffer);
    if (const auto* atomic = stmt.try_as<ir::Atomic>()) use(atomic->buffer);
    if (const auto* print = stmt.try_as<ir::Print>(); print != nullptr && print->buffer) {
      use(print->buffer);
    }
    const bool is_loop = stmt.is<ir::For>() || stmt.is<ir::While>();
    if (is_loop) loops_.push_back({now_, {}});
    children(stmt);
    if (is_loop) {
      // What the loop uses and an outer scope allocates lives to the loop's end.
      ++now_;
      const Loop loop = std::move(loops_.back());
      loops_.pop_back();
      for (const size_t i : loop.used) {
        if (lives[i].depth > loops_.size()) continue;
        lives[i].first = std::min(lives[i].first, loop.begin);
        lives[i].last = now_;
        if (!loops_.empty()) loops_.back().used.push_back(i);
      }
    }
  }

  std::vector<Life> lives;

 private:
  struct Loop {
    int64_t begin;
    std::vector<size_t> used;
  };
  void use(const ir::Buffer& buffer) {
    const auto found = index_.find(buffer.root());
    if (found == index_.end()) return;
    Life& life = lives[found->second];
    life.first = std::min(life.first, now_);
    life.last = now_;
    if (!loops_.empty()) loops_.back().used.push_back(found->second);
  }

  std::map<ir::Buffer, size_t, ir::ById> index_;
  std::vector<Loop> loops_;
  int64_t now_ = 0;
};

[[noreturn]] void too_large(const ir::Launch& launch, const StoragePlan& plan,
                            const std::vector<Life>& largest) {
  Error error(codes::mem_02, launch.loc, "launch{}{}: a block's buffers take {} KiB, limit {}",
              launch.name.empty() ? "" : " ", launch.name, plan.scratch_bytes >> 10,
              kMaxScratch >> 10);
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(largest.size(), kShown); ++i) {
    const ir::Buffer& b = largest[i].buffer;
    error.note("{}: {} KiB, live from statement {} to {}", b.name(), largest[i].bytes >> 10,
               largest[i].first, largest[i].last);
  }
  throw error.help("smaller tiles take less");
}

}  // namespace

int64_t bytes_of(const ir::Buffer& buffer) {
  constexpr int64_t kMost = int64_t{1} << 48;  // more can't be had, and it must not wrap
  int64_t elements = 1;
  for (int d = 0; d < buffer.rank(); ++d) {
    const int64_t extent = buffer.extent(d) + (d == buffer.rank() - 1 ? buffer->padding : 0);
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMost) elements = kMost;
  }
  return (elements * buffer.dtype().bits() + 7) / 8;
}

StoragePlan plan_storage(const ir::Launch& launch) {
  LifeTimes times;
  times.visit(launch.body);

  StoragePlan plan;
  int64_t on_stack = 0;
  std::vector<Life> large;
  for (const Life& life : times.lives) {
    if (life.last < 0) continue;  // never used
    if (life.bytes <= kStackBuffer && on_stack + life.bytes <= kStackTotal) {
      on_stack += life.bytes;
    } else {
      large.push_back(life);
    }
  }
  // The largest first, each at the lowest offset that is free for all of its life.
  std::stable_sort(large.begin(), large.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<Life> placed;
  for (const Life& life : large) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Life& other : placed) {
      if (other.first > life.last || life.first > other.last) continue;
      const int64_t at = plan.scratch[other.buffer];
      taken.emplace_back(at, at + other.bytes);
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, (end + kAlign - 1) / kAlign * kAlign);
    }
    plan.scratch[life.buffer] = offset;
    plan.scratch_bytes = std::max(plan.scratch_bytes, offset + life.bytes);
    placed.push_back(life);
  }
  plan.scratch_bytes = (plan.scratch_bytes + kAlign - 1) / kAlign * kAlign;
  if (plan.scratch_bytes > kMaxScratch) too_large(launch, plan, large);
  return plan;
}

}  // namespace tw::cpu
