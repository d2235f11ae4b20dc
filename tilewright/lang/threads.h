// The threads of a block (language 4.3 and 12): which one runs, what the lanes of a warp exchange,
// where threads wait for each other. A kernel that uses them runs on targets with threads only.
//
// What is made of the index of a thread, of operations of a warp, or under a condition on them,
// each thread does as it is written; everything else the block does once. Between the two, and
// between two such statements, the compiler puts the barriers that order accesses to common memory;
// inside a condition or loop on which threads differ it can't, and the author orders them.
#pragma once

#include <cstdint>

#include "tilewright/lang/atomics.h"
#include "tilewright/lang/expr.h"
#include "tilewright/lang/reduce.h"

namespace tw {
inline namespace lang {

// ---- which thread; the launch must fix how many there are (E-LAUNCH-01) ----
Expr thread_idx(int dim = 0, SourceLoc where = SourceLoc::here());
/// Its number in the block, and in the warp of 32; the number of its warp and of its warp-group.
Expr linear_thread_idx(SourceLoc where = SourceLoc::here());
Expr lane_idx(SourceLoc where = SourceLoc::here());
Expr warp_idx(SourceLoc where = SourceLoc::here());
Expr warpgroup_idx(SourceLoc where = SourceLoc::here());
/// True for one thread of each n, a multiple of 32; of the block for 0.
Expr elect(int64_t n = 0, SourceLoc where = SourceLoc::here());

// ---- barriers ----
/// All threads of the block wait for each other (E-SYNC-01 where only some come).
void sync(SourceLoc where = SourceLoc::here());
/// A named barrier (1 to 15) of so many threads, a multiple of 32.
void sync(int64_t id, int64_t threads, SourceLoc where = SourceLoc::here());
/// Counts at a named barrier without waiting there.
void barrier_arrive(int64_t id, int64_t threads, SourceLoc where = SourceLoc::here());
/// The id of a named barrier that nothing else in the launch uses (E-SYNC-04).
int64_t barrier_id(SourceLoc where = SourceLoc::here());
/// As sync, and tells all threads of how many the condition holds, or whether of all or any.
Expr sync_count(const Operand& condition);
Expr sync_and(const Operand& condition);
Expr sync_or(const Operand& condition);
/// What this thread wrote before is seen by those of the scope before what it writes after.
void fence(AtomicScope scope = AtomicScope::device, SourceLoc where = SourceLoc::here());

// ---- registers ----
/// From here on each thread of a warp-group has n registers, a multiple of 8 from 24 to 256
/// (E-SYNC-06): more, waiting until others of the block have given them up, or fewer. All warps of
/// the warp-group come here; more than the multiprocessor has in all is W-SYNC-02.
void reg_increase(int64_t n, SourceLoc where = SourceLoc::here());
void reg_decrease(int64_t n, SourceLoc where = SourceLoc::here());

// ---- warps; all lanes of the warp take part ----
/// The value of another lane, within groups of `width` lanes (2, 4, 8, 16 or 32, E-WARP-01): of
/// that lane, of lane ^ mask, of lane - distance and lane + distance. Its own where that is in
/// another group. E-WARP-02 for what can't be exchanged.
Expr shfl(const Operand& value, const Operand& lane, int64_t width = 32);
Expr shfl_xor(const Operand& value, const Operand& mask, int64_t width = 32);
Expr shfl_up(const Operand& value, const Operand& distance, int64_t width = 32);
Expr shfl_down(const Operand& value, const Operand& distance, int64_t width = 32);
/// Whether the condition holds in any lane, in all; the lanes in which it does, as bits.
Expr vote_any(const Operand& condition);
Expr vote_all(const Operand& condition);
Expr ballot(const Operand& condition);
/// The lanes that are here; for diagnostics only.
Expr active_mask(SourceLoc where = SourceLoc::here());
/// The lanes with an equal value; all lanes if all are equal, else none.
Expr match_any(const Operand& value);
Expr match_all(const Operand& value);
/// The sum (max, min, bit_and, bit_or, bit_xor) over each group of `width` lanes, in all of them.
Expr warp_reduce(ReduceKind op, const Operand& value, int64_t width = 32);
/// The lanes meet, and see what the others wrote before.
void sync_warp(SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
