// Copies that engines make while the threads go on, and barriers with phases (language 7.5, 7.6,
// 12.4, 12.5 and 12.8). The result of such a copy may be used, and its source changed, only after
// the wait that belongs to it. Fences between threads and engines are the compiler's.
#pragma once

#include <vector>

#include "tilewright/lang/buffer.h"
#include "tilewright/lang/reduce.h"
#include "tilewright/lang/tile_ops.h"

namespace tw {
inline namespace lang {

// ---- copies by the threads' own engine (cp.async) ----
/// Starts copying a tile from global to shared memory, all threads together; where a region depends
/// on the thread, each its own 4, 8 or 16 bytes (E-COPY-08). What is outside of the tensor becomes
/// 0. Parts that the engine can't move are copied by the threads.
void async_copy(const Region& src, const Region& dst);
/// Closes a group of this thread's copies; waits until at most n of the last groups are on their
/// way.
void commit(SourceLoc where = SourceLoc::here());
void wait_group(int64_t n, SourceLoc where = SourceLoc::here());

// ---- barriers with phases ----
/// One of them. A phase is over when so many arrivals, and all bytes that were announced, have
/// come. A fresh barrier is in phase 0; waiting for parity 1 returns at once there.
class PhaseBarrier {
 public:
  PhaseBarrier() = default;
  PhaseBarrier(ir::Buffer buffer, ir::Expr at) : buffer_(std::move(buffer)), at_(std::move(at)) {}
  void arrive(SourceLoc where = SourceLoc::here()) const;
  /// Arrives at the same barrier of another block of the cluster, which must have made it: a
  /// cluster_barrier.
  void arrive_remote(const Operand& rank) const;
  /// Announces bytes that copies will bring in this phase; the first arrives, too.
  void arrive_expect(const Operand& bytes) const;
  void expect(const Operand& bytes) const;
  /// Returns when the phase of that parity is over; or says whether it is.
  void wait(const Operand& parity) const;
  Expr try_wait(const Operand& parity) const;
  /// Arrives when the copies that this thread has started (async_copy) are done.
  void arrive_on_copies(SourceLoc where = SourceLoc::here()) const;

  const ir::Buffer& buffer() const { return buffer_; }
  const ir::Expr& at() const { return at_; }

 private:
  ir::Buffer buffer_;
  ir::Expr at_;
};

/// An array of them.
class PhaseBarriers {
 public:
  explicit PhaseBarriers(ir::Buffer buffer) : buffer_(std::move(buffer)) {}
  PhaseBarrier operator[](const Operand& i) const;

 private:
  ir::Buffer buffer_;
};
/// Barriers for so many arrivals a phase (1 or more, E-SYNC-03); not inside a loop.
PhaseBarriers barrier(const std::vector<int64_t>& arrivals, std::string_view name = "barrier",
                      SourceLoc where = SourceLoc::here());
/// The same in every block of a cluster; none goes on before all have made theirs, so that others
/// may arrive there.
PhaseBarriers cluster_barrier(const std::vector<int64_t>& arrivals,
                              std::string_view name = "barrier",
                              SourceLoc where = SourceLoc::here());

// ---- bulk copies (TMA) ----
/// By descriptor: a box of a parameter, cut off at the tensor's edges. In bulk: neighbors,
/// certainly inside.
enum class TmaForm : uint8_t { automatic, descriptor, bulk };
struct TmaOptions {
  TmaForm form = TmaForm::automatic;
  EvictPolicy evict = EvictPolicy::normal;  // of what is read or written in L2; bulk form
};
/// Announces the bytes on the barrier, arrives there and starts the copy: one thread does for the
/// block; inside a condition on threads, each that comes (E-COPY-05, E-COPY-06, E-COPY-07).
void tma_load(const Region& src, const Region& dst, const PhaseBarrier& barrier,
              const TmaOptions& options = {});
/// Starts copying to global memory; one thread does, as above.
void tma_store(const Region& src, const Region& dst, const TmaOptions& options = {});
/// Adds to what is in global memory, or keeps the smaller or larger (sum, min, max).
void tma_reduce(ReduceKind op, const Region& src, const Region& dst,
                const TmaOptions& options = {});
/// Closes a group of this thread's stores; waits until at most n of the last groups are on their
/// way, or still read shared memory.
void tma_store_commit(SourceLoc where = SourceLoc::here());
void tma_store_wait(int64_t n, SourceLoc where = SourceLoc::here());
void tma_store_wait_read(int64_t n, SourceLoc where = SourceLoc::here());
/// What this thread wrote to shared memory can be read by engines. The compiler inserts it for
/// statements; needed for what it can't see.
void proxy_fence(SourceLoc where = SourceLoc::here());

// ---- dependent launches ----
/// Returns when the launch ahead has ended and what it wrote can be read.
void wait_previous(SourceLoc where = SourceLoc::here());
/// Lets the next launch begin.
void trigger_next(SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
