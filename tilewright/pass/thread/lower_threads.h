// From what a block does to what each of its threads does: the step to thread IR (GPU).
#pragma once

#include <optional>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/layout/fragment.h"
#include "tilewright/pass/bounds.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// Whether the storage of a root is a tensor's or a workspace's.
inline bool is_tensor(const ir::Buffer& root) {
  return root.space() == ir::MemSpace::global || root.space() == ir::MemSpace::workspace;
}

/// The physical coordinates of a fragment.
inline constexpr int kThread = 0, kSlot = 1;
inline constexpr int64_t kWarp = 32;

/// A fragment in the registers of a thread: its slots as a local array.
struct Registers {
  ir::Buffer array;  // [slots]
  layout::Fragment fragment;
};

/// Each Parallel becomes a loop over the slots of its fragment, each Reduce a fold over slots, then
/// over lanes by shuffles, then over warps through shared memory, each Scan likewise. Fragments
/// become local arrays. Neighbors in memory move in vectors of up to 16 bytes where alignment is
/// proven; a tensor that is accessed so promises an alignment of 16 bytes, which the call checks.
/// Needs: spread_loops, insert_barriers, guard_bounds. Guarantees: thread IR.
ir::Program lower_threads(const ir::Program& program, Remarks* remarks = nullptr);

// ---- the parts, one file each ----

/// A fold of which each thread has its own part: `count` values, which are to be combined with
/// those of threads that differ in `dims` of a fragment alone.
struct PartialFold {
  ir::ReduceKind kind;
  bool propagate_nan;
  ir::Buffer values;
  int64_t count;
  std::optional<layout::Fragment> src;  // none: with those of all threads
  std::vector<int64_t> dims;
  SourceLoc loc = {};
};
/// A thread's own part of a reduction, src and dst in registers: what lies beyond the extents of
/// src takes no part.
ir::Stmt fold_own_part(const ir::Reduce& reduce, const Registers& src, const Registers& dst,
                       const ir::Var& thread);
PartialFold partial_fold(const ir::Reduce& reduce, const Registers& src, const Registers& dst);
/// Combines parts of threads, so that each has its results; those of several folds behind one
/// barrier.
ir::Stmt exchange_parts(const std::vector<PartialFold>& folds, const ir::Var& thread,
                        int64_t threads, bool in_loop);
/// One step of a fold. Which of -0 and +0 is the smaller is left open (language 9.1), which saves
/// GPUs two of three instructions.
ir::Expr fold_step(ir::ReduceKind kind, bool propagate_nan, const ir::Expr& a, const ir::Expr& b);
/// Whether the reduction exchanges through shared memory, with a barrier inside.
bool crosses_warps(const layout::Fragment& src, const std::vector<int64_t>& dims, int64_t threads);
/// The same of a fold over all threads.
bool crosses_warps(int64_t threads);
/// Of the threads that differ in (thread / stride) % extent, how many neighbors are in one warp for
/// sure and can shuffle: lanes that differ in bits of their number, of warps that are full.
int64_t lanes_of(int64_t stride, int64_t extent, int64_t threads);
/// How threads exchange their parts: "shuffles over 32 lanes, 4 parts through shared memory".
std::string exchange_text(const layout::Fragment& src, const std::vector<int64_t>& dims,
                          int64_t threads, ir::ReduceKind kind, DType dtype);

/// A scan in place, of a fragment in registers whose digits along `dim` follow one another.
ir::Stmt scan_block(const ir::Scan& scan, const Registers& line, const ir::Var& thread,
                    int64_t threads, bool in_loop);
bool can_scan(const layout::Fragment& fragment, int64_t dim, int64_t threads);
/// How it is done: "8 in a thread, 32 lanes, 7 in a thread, 4 parts through shared memory".
std::string scan_text(const layout::Fragment& fragment, int64_t dim, int64_t threads);
/// Whether the scan exchanges through shared memory, with a barrier inside.
bool scan_crosses_warps(const layout::Fragment& fragment, int64_t dim, int64_t threads);

/// What the vectors of a launch need of a call.
struct VectorNeeds {
  bool allowed = true;               // whether tensors may be accessed in vectors at all
  std::vector<ir::Buffer> aligned;   // tensors that must be aligned to 16 bytes
  std::vector<ir::Expr> conditions;  // on sizes, which would make more vectors possible
  Remarks* remarks = nullptr;        // null: nobody asks
};

/// Whose accesses of memory are looked at, and why a thread has no more neighbors there.
struct VectorPlace {
  SourceLoc where;
  std::string why_narrow;
};

/// `body` for v = 0 .. width - 1, loads and stores of neighbors as vectors; with `async`, what only
/// moves them to shared memory as copies by an engine. Iterations are independent of one another.
ir::Stmt in_vectors(const ir::Stmt& body, const ir::Var& v, int64_t width, bool async,
                    const Bounds& bounds, VectorNeeds& needs, const VectorPlace& place);

}  // namespace tw::pass
