// What kinds of statements have in common.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// Whether it works on whole tiles: what all threads of a block do together, as one statement.
inline bool is_tile_operation(const Stmt& stmt) {
  switch (stmt.kind()) {
    case Kind::Copy:
    case Kind::Fill:
    case Kind::Gemm:
    case Kind::Reduce:
    case Kind::Scan:
    case Kind::ReducerInit:
    case Kind::ReducerFinalize:
      return true;
    default:
      return false;
  }
}

/// Whether it is an operation of threads (ir/thread_nodes.h), or a wait for memory.
inline bool is_thread_operation(const Stmt& stmt) {
  switch (stmt.kind()) {
    case Kind::Barrier:
    case Kind::WarpOp:
    case Kind::Move:
    case Kind::AsyncCopy:
    case Kind::Sync:
      return true;
    case Kind::Atomic:
      return waits(stmt.as<Atomic>().op);
    default:
      return false;
  }
}

/// Whether it orders dependent launches, which without it simply follow each other.
inline bool is_of_launches(const Stmt& stmt) {
  const auto* sync = stmt.try_as<Sync>();
  return sync != nullptr &&
         (sync->code == SyncCode::wait_previous || sync->code == SyncCode::trigger_next);
}

}  // namespace tw::ir
