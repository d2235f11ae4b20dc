// What a thread of a GPU's block does together with others: nodes of thread IR. Authors' code for
// single threads has them in tile IR, all but Move. Included by ir/nodes.h.
#pragma once

namespace tw::ir {

/// Waits until all threads of the block are here; what they wrote before, all can read afterwards.
/// With an id above 0: the named barrier of that number, among `threads` threads; with
/// `arrive_only` this thread counts there and goes on. `result` is bound, for the rest of the
/// enclosing sequence, to what `fold` says of the threads' conditions: how many hold (i32), or
/// whether all do or any does.
struct Barrier : StmtBase {
  TW_NODE_OF(StmtBase, Barrier)
  int64_t id = 0;
  int64_t threads = 0;
  bool arrive_only = false;
  BarrierFold fold = BarrierFold::none;
  Expr cond;  // bool; null without fold
  Var result;
  std::string reason;  // why it is needed, for explain and comments
  TW_FIELDS(Barrier, id, threads, arrive_only, fold, cond, result, reason)
};

/// An operation of all lanes of a warp together (language 12.1). Lanes count inside groups of
/// `width`; `result` is bound for the rest of the enclosing sequence, null for sync_warp. All lanes
/// of the warp must be here.
struct WarpOp : StmtBase {
  TW_NODE_OF(StmtBase, WarpOp)
  WarpCode code = WarpCode::shfl;
  std::vector<Expr> args;  // the value; then lane, mask or distance (i32) of the shuffles
  int64_t width = 32;
  Var result;
  TW_FIELDS(WarpOp, code, args, width, result)
};

/// Moves `count` neighbors along the last dimension between memory (global or shared) and a local
/// array, as one access: dst[i, j :+ count] = src[k, l :+ count]. Both have one dtype. The address
/// in memory is a multiple of the size of the access, which is 2, 4, 8 or 16 bytes. Nothing is
/// checked against the shapes. With a fold, to memory: dst = fold of dst and src, each element by a
/// relaxed atomic of its own, in no order.
struct Move : StmtBase {
  TW_NODE_OF(StmtBase, Move)
  Buffer src;
  std::vector<Expr> src_indices;
  Buffer dst;
  std::vector<Expr> dst_indices;
  int64_t count = 1;
  EvictPolicy evict = EvictPolicy::normal;
  bool streaming = false;  // a store that is not read again soon
  CopyFold fold = CopyFold::none;
  TW_FIELDS(Move, src, src_indices, dst, dst_indices, count, evict, streaming, fold)
};

/// A copy between global and shared memory that an engine makes while the threads go on. The
/// thread that executes the statement starts it, for as many elements on both sides, of one dtype.
/// In tile IR the block does, whatever the extents, and a bulk load announces its bytes, arriving.
/// elements: 4, 8 or 16 bytes of neighbors, to shared memory; where `valid` is false they become 0.
/// bulk: neighbors, whole units of 16 bytes. tensor: a box of a tensor, dense on the shared side,
/// where the hardware exchanges units of 16 bytes by `swizzle` (0, 32, 64, 128 bytes); outside of
/// the tensor zeros are read and nothing is written.
///
/// When it is done: bulk and tensor copies to shared memory count their bytes on barrier[at], the
/// others belong to a group of the thread (Sync).
struct AsyncCopy : StmtBase {
  TW_NODE_OF(StmtBase, AsyncCopy)
  CopyEngine engine = CopyEngine::elements;
  Region src, dst;
  Expr valid;      // null: true
  Buffer barrier;  // with phases; null: by groups
  std::vector<Expr> at;
  int64_t swizzle = 0;
  CopyFold fold = CopyFold::none;  // of copies to global memory
  EvictPolicy evict = EvictPolicy::normal;
  TW_FIELDS(AsyncCopy, engine, src, dst, valid, barrier, at, swizzle, fold, evict)
};

/// One step of the order between threads, engines and launches.
///
/// A barrier with phases is an element of a shared buffer of u64. phase_init gives it `value`
/// arrivals per phase; phase_expect adds `value` bytes to what copies must bring in this phase;
/// phase_wait returns when the phase of parity `value` is over, phase_try_wait says at once
/// whether it is (`result`, bool). copies_wait, bulk_wait and bulk_wait_read return when at most
/// `value` (constant) of the thread's groups are pending, the last when their sources are read.
/// registers_increase and registers_decrease have a constant `value`.
struct Sync : StmtBase {
  TW_NODE_OF(StmtBase, Sync)
  SyncCode code = SyncCode::copies_commit;
  Buffer barrier;
  std::vector<Expr> at;
  Expr value;
  Var result;
  TW_FIELDS(Sync, code, barrier, at, value, result)
};

}  // namespace tw::ir
