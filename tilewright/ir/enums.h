// Small enumerations that occur as fields of IR nodes. Each has its enumerators' names
// for the text form.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tilewright/base/rounding.h"

namespace tw::ir {

template <class E>
struct EnumNames;  // `values`: the names in order

#define TW_ENUM(Name, ...)                                                 \
  enum class Name : uint8_t { __VA_ARGS__ };                               \
  template <>                                                              \
  struct EnumNames<Name> {                                                 \
    static constexpr std::string_view kType = #Name, kList = #__VA_ARGS__; \
  };

/// Memory space of a buffer (language 3.1). `variable` is one scalar, private to a
/// thread, of rank 0.
TW_ENUM(MemSpace, global, workspace, shared, shared_static, fragment, local, variable, reducer)

/// How a loop runs (language 5.1). `vectorized` (loop IR too): all iterations as
/// lanes of one vector.
TW_ENUM(LoopKind, serial, unrolled, vectorized, pipelined)

/// What a reduction folds with (language 9.1, 9.3).
TW_ENUM(ReduceKind, sum, abs_sum, max, min, abs_max, prod, bit_and, bit_or, bit_xor, any, all)
TW_ENUM(ScanKind, sum, max, min, prod)

/// Read-modify-write and plain atomic operations (language 13). Those that wait load until the
/// value compares so with the operand (language 12.3).
TW_ENUM(AtomicOp, add, max, min, bit_and, bit_or, bit_xor, exchange, compare_exchange, load, store,
        wait_eq, wait_ne, wait_lt, wait_le, wait_gt, wait_ge)
constexpr bool waits(AtomicOp op) { return op >= AtomicOp::wait_eq; }
constexpr bool only_reads(AtomicOp op) { return op == AtomicOp::load || waits(op); }
TW_ENUM(MemoryOrder, relaxed, acquire, release, acq_rel, seq_cst)
TW_ENUM(AtomicScope, block, device, system)

/// How warps share a matrix multiply (language 8.4).
TW_ENUM(GemmPolicy, square, full_row, full_col, fixed)
/// Instruction families that a copy or a multiply may prefer or demand (language 7.3, 8.3).
TW_ENUM(CopyMethod, automatic, sync, cp_async, tma)
TW_ENUM(GemmMethod, automatic, fma, mma, wgmma, tcgen05)
/// How the operands of a multiply are stored: as they are, or two neighbours along k in one u32
/// word, the first in the low half (pack_gemm_operands).
TW_ENUM(PairFormat, none, bf16, i16)
/// What lanes of a warp do together (language 12.1): exchange a value, vote, fold 32-bit integers.
TW_ENUM(WarpCode, shfl, shfl_xor, shfl_up, shfl_down, vote_any, vote_all, ballot, active_mask,
        match_any, match_all, reduce_add, reduce_min, reduce_max, reduce_and, reduce_or, reduce_xor,
        sync_warp)
/// What a barrier of a block tells all its threads about their conditions (language 12.2).
TW_ENUM(BarrierFold, none, count, all, any)
/// Which engine makes an asynchronous copy (language 7.5, 7.6): one that takes 4 to 16 bytes from
/// each thread (cp.async), one for contiguous memory, one for boxes of tensors.
TW_ENUM(CopyEngine, elements, bulk, tensor)
/// What a copy to memory does with the element that is there.
TW_ENUM(CopyFold, none, add, min, max)
/// Order between threads and engines, and between blocks (language 4.2, 12.3 to 12.5, 12.8). Those
/// with phases: on a barrier with phases; copies and bulk: of the thread's own groups; cluster: at
/// the barrier of all threads of a cluster; registers: how many each thread of a warp-group has
/// from here on (12.6).
TW_ENUM(SyncCode, phase_init, phase_arrive, phase_expect, phase_arrive_expect, phase_arrive_copies,
        phase_wait, phase_try_wait, copies_commit, copies_wait, bulk_commit, bulk_wait,
        bulk_wait_read, fence_block, fence_device, fence_system, fence_engines, fence_phases, grid,
        cluster_arrive, cluster_arrive_relaxed, cluster_wait, wait_previous, trigger_next,
        registers_increase, registers_decrease)
constexpr bool sets_registers(SyncCode code) { return code >= SyncCode::registers_increase; }
/// Of a thread, by such a change.
constexpr bool is_register_count(int64_t n) { return n >= 24 && n <= 256 && n % 8 == 0; }
TW_ENUM(EvictPolicy, normal, first, last)
TW_ENUM(RasterOrder, none, row, column)

/// Role of a parameter (language 2.3).
TW_ENUM(ParamKind, input, inout, output, scalar, pointer)

/// Name of an enumerator.
template <class E>
constexpr std::string_view enum_name(E value) {
  std::string_view list = EnumNames<E>::kList;
  for (int skip = static_cast<int>(value); skip > 0; --skip) list.remove_prefix(list.find(',') + 2);
  return list.substr(0, list.find(','));
}

/// The enumerator of that name.
template <class E>
constexpr std::optional<E> enum_named(std::string_view name) {
  std::string_view list = EnumNames<E>::kList;
  for (int i = 0;; ++i) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return static_cast<E>(i);
    if (comma == list.npos) return std::nullopt;
    list.remove_prefix(comma + 2);
  }
}

}  // namespace tw::ir
