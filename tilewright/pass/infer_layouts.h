// Chooses how block buffers lie in memory (CPU): the same decision that swizzles a tile on a GPU.
#pragma once

#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {

/// Gives the shared buffers and fragments of matrix multiplies the layout of their micro-kernel, in
/// `Alloc::layout`, so that the copy into a buffer is the packing:
/// - b: panels of GemmBlock::columns, k-major inside, a line between panels against aliasing in
///   the cache;
/// - c: blocks of GemmBlock::rows x columns, row-major inside;
/// - a: as it is, since it is read by broadcast.
/// A buffer keeps its row-major order if it is viewed, has a layout or is used by multiplies of
/// other shapes. Needs: tile IR. Guarantees: scheduled tile IR.
ir::Program infer_layouts(const ir::Program& program, const VectorShape& shape);

/// Makes accesses to buffers with a layout plain: each becomes a one-dimensional buffer of the
/// layout's physical size, its indices the layout's digits. Needs: no tile operations (after
/// lower_tile_ops). Guarantees: no layout is left.
ir::Program apply_layouts(const ir::Program& program);

}  // namespace tw::pass
