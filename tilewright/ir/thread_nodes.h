// The nodes that only thread IR has: what one thread of a GPU's block does together with others.
// Included by ir/nodes.h, which has all the others.
#pragma once

namespace tw::ir {

/// Waits until all threads of the block are here; what they wrote before, all can read afterwards.
/// With an id above 0: the named barrier of that number, among `threads` threads.
struct Barrier : StmtBase {
  TW_NODE_OF(StmtBase, Barrier)
  int64_t id = 0;
  int64_t threads = 0;
  std::string reason;  // why it is needed, for explain and comments
  TW_FIELDS(Barrier, id, threads, reason)
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
/// checked against the shapes.
struct Move : StmtBase {
  TW_NODE_OF(StmtBase, Move)
  Buffer src;
  std::vector<Expr> src_indices;
  Buffer dst;
  std::vector<Expr> dst_indices;
  int64_t count = 1;
  EvictPolicy evict = EvictPolicy::normal;
  bool streaming = false;  // a store that is not read again soon
  TW_FIELDS(Move, src, src_indices, dst, dst_indices, count, evict, streaming)
};

}  // namespace tw::ir
