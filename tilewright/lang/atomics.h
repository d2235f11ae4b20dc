// Atomic accesses to global and shared memory (language 13).
#pragma once

#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

using ir::AtomicOp;
using ir::AtomicScope;
using ir::MemoryOrder;

struct AtomicOptions {
  MemoryOrder order = MemoryOrder::relaxed;
  AtomicScope scope = AtomicScope::device;
  bool ret = false;  // gives the previous value; only the element form (E-ATOM-02)
};

/// dst = dst op value, at once. The previous value with `ret`, else no value.
Expr atomic(AtomicOp op, const Ref& dst, const Operand& value, const AtomicOptions& options = {});
/// Each element of dst = dst op that of src; extents match as in a copy, what is
/// outside is skipped.
void atomic(AtomicOp op, const Region& dst, const Region& src, const AtomicOptions& options = {});

// atomic_add(x(i), v), atomic_add(x(at(0, 64)), tile), and so on.
#define TW_DECLARE(name, op)                                                                     \
  inline Expr atomic_##name(const Ref& dst, const Operand& value,                                \
                            const AtomicOptions& options = {}) {                                 \
    return atomic(AtomicOp::op, dst, value, options);                                            \
  }                                                                                              \
  inline void atomic_##name(const Region& dst, const Region& src,                                \
                            const AtomicOptions& options = {}) {                                 \
    atomic(AtomicOp::op, dst, src, options);                                                     \
  }                                                                                              \
  inline Expr atomic_##name(const Ref& dst, const Ref& src, const AtomicOptions& options = {}) { \
    if (src.is_element() && dst.is_element()) {                                                  \
      return atomic(AtomicOp::op, dst, Operand(src, dst.where()), options);                      \
    }                                                                                            \
    atomic(AtomicOp::op, Region(dst), Region(src), options);                                     \
    return {};                                                                                   \
  }
TW_DECLARE(add, add)
TW_DECLARE(max, max)
TW_DECLARE(min, min)
TW_DECLARE(and, bit_and)
TW_DECLARE(or, bit_or)
TW_DECLARE(xor, bit_xor)
#undef TW_DECLARE

/// Stores the value and gives the previous one with `ret`.
Expr atomic_exchange(const Ref& dst, const Operand& value, const AtomicOptions& options = {});
/// Stores the value if the element equals `expected`; gives the previous one with `ret`.
Expr atomic_compare_exchange(const Ref& dst, const Operand& expected, const Operand& value,
                             const AtomicOptions& options = {});
/// relaxed, acquire or seq_cst (E-ATOM-03).
Expr atomic_load(const Ref& src, const AtomicOptions& options = {});
/// relaxed, release or seq_cst (E-ATOM-03).
void atomic_store(const Ref& dst, const Operand& value, const AtomicOptions& options = {});

/// How a value compares with another.
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge };
/// Waits until the element compares so with the value, by loads that acquire: what was written
/// before a release of that value can be read then (language 12.3). Each thread that comes waits;
/// gives what it has seen. Blocks may wait for one another only where all of them run at once.
Expr wait_until(const Ref& src, Compare compare, const Operand& value,
                AtomicScope scope = AtomicScope::device);

}  // namespace lang
}  // namespace tw
