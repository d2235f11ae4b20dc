// What the author may say about a buffer besides using it (language 14.1). Each applies to the
// whole program, wherever it stands.
#pragma once

#include "tilewright/lang/buffer.h"
#include "tilewright/lang/schedule.h"

namespace tw {
inline namespace lang {

/// Fixes the layout of a shared buffer or fragment, in the text form of layouts (E-LAY-10).
void fix_layout(const Buffer& buffer, std::string_view text, SourceLoc where = SourceLoc::here());
/// Adds elements to each row of a shared buffer.
void padding(const Buffer& buffer, int64_t elements, SourceLoc where = SourceLoc::here());
/// What elements outside a tensor read as, instead of 0 (E-TYPE-03).
void safe_value(const Buffer& tensor, const Operand& value);
/// Tensors that may share memory with each other.
void no_restrict(const std::vector<Buffer>& tensors, SourceLoc where = SourceLoc::here());
/// Accesses of a block to the tensor need no order among each other.
void relaxed_global(const Buffer& tensor, SourceLoc where = SourceLoc::here());
/// Asks for that share of the tensor, in (0, 1], to stay in the L2 cache: a hint (W-HINT-01).
void l2_persist(const Buffer& tensor, double ratio, SourceLoc where = SourceLoc::here());
/// A null tensor may be passed.
void nullable(const Buffer& tensor, SourceLoc where = SourceLoc::here());
/// Promises the alignment of a tensor's base in bytes, checked at the call (E-HOST-08).
void align(const Buffer& tensor, int64_t bytes, SourceLoc where = SourceLoc::here());
/// Number of pipeline copies of a block's buffer (E-PIPE-05).
void versions(const Buffer& buffer, int64_t count, SourceLoc where = SourceLoc::here());
/// The author indexes the copies by hand.
void manual_versions(const Buffer& buffer, SourceLoc where = SourceLoc::here());
/// Raises E-LAY-10 unless the text is a layout of a shared buffer's shape, or a
/// fragment of a fragment's.
void check_layout(const Site& site, const ir::Buffer& buffer, std::string_view text);
/// Order in which the blocks of this launch run: panels of that many rows (or columns) share
/// operands in the cache.
void swizzle_blocks(int64_t panel, RasterOrder order = RasterOrder::row,
                    SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
