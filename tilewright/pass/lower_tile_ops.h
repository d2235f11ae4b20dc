// Turns tile operations into loops over elements: the first step from tile IR to loop IR (CPU).
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// What the loops are shaped for. Vectors of any lane count are legal in loop IR; these are the
/// counts at which the target runs well.
struct VectorShape {
  int64_t bytes = 64;      // of one vector register
  int64_t registers = 32;  // of vectors
  int64_t lanes(DType dtype) const { return bytes * 8 / dtype.bits(); }
};

/// The accumulators of one micro-kernel of a multiply: rows x columns, held in registers.
struct GemmBlock {
  int64_t rows, columns;
  /// The block for a product of m x n.
  static GemmBlock of(DType accumulator, int64_t m, int64_t n, const VectorShape& shape);
};

/// Replaces Copy, Fill, Reduce, Scan and Gemm by Parallel, For, Store and reducers.
/// Needs: tile IR, or scheduled tile IR (a gemm operand with a layout is read in that layout).
/// Guarantees: only Parallel and reducers are left of what loop IR lacks. Sums of floats are folded
/// in a fixed order.
ir::Program lower_tile_ops(const ir::Program& program, const VectorShape& shape);

// The lowering of each operation, one file each (lower_copy.cpp, ...).
ir::Stmt lower_copy(const ir::Copy& copy);
ir::Stmt lower_fill(const ir::Fill& fill);
ir::Stmt lower_reduce(const ir::Reduce& reduce, const VectorShape& shape);
ir::Stmt lower_scan(const ir::Scan& scan, const VectorShape& shape);
ir::Stmt lower_gemm(const ir::Gemm& gemm, const VectorShape& shape);

/// The value that changes nothing, and one step of the fold: accumulator with the mapped element.
ir::Expr reduce_identity(ir::ReduceKind kind, DType accumulator);
ir::Expr reduce_step(ir::ReduceKind kind, bool propagate_nan, const ir::Expr& accumulator,
                     const ir::Expr& element);
/// What an element contributes: itself in the accumulator's type, its magnitude, or whether it is
/// not 0.
ir::Expr reduce_element(ir::ReduceKind kind, DType accumulator, const ir::Expr& element);

}  // namespace tw::pass
