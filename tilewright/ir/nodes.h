// The nodes of the IR. A node is a struct with one field list (TW_FIELDS), over which visitor,
// rewriter, printer, parser, hash and equality are written once (ir/fields.h).
//
// Levels: tile IR is what the author wrote. Scheduled tile IR has layouts on its allocations. Loop
// IR (CPU) has no tile operations and no Parallel: only Seq, Let, Alloc, Store, For, If, While,
// Break, Continue, Atomic, Print and Assert remain. Thread IR (GPU) is loop IR of one thread, with
// the nodes of ir/thread_nodes.h besides (tile IR may have them). ir/verify.h checks each level.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/enums.h"
#include "tilewright/ir/fields.h"
#include "tilewright/ir/node.h"
#include "tilewright/ir/ops.h"

namespace tw::ir {

// TW_NODE(type): every node kind, in a stable order.
#define TW_EXPR_NODES(TW_NODE) \
  TW_NODE(Const)               \
  TW_NODE(VarNode)             \
  TW_NODE(Op)                  \
  TW_NODE(Cast)                \
  TW_NODE(Load)
#define TW_STMT_NODES(TW_NODE) \
  TW_NODE(Seq)                 \
  TW_NODE(Let)                 \
  TW_NODE(Alloc)               \
  TW_NODE(Store)               \
  TW_NODE(For)                 \
  TW_NODE(Parallel)            \
  TW_NODE(If)                  \
  TW_NODE(While)               \
  TW_NODE(Break)               \
  TW_NODE(Continue)            \
  TW_NODE(Copy)                \
  TW_NODE(Fill)                \
  TW_NODE(Gemm)                \
  TW_NODE(Reduce)              \
  TW_NODE(Scan)                \
  TW_NODE(ReducerInit)         \
  TW_NODE(ReducerUpdate)       \
  TW_NODE(ReducerFinalize)     \
  TW_NODE(Prefetch)            \
  TW_NODE(Atomic)              \
  TW_NODE(Print)               \
  TW_NODE(Assert)              \
  TW_NODE(Assume)              \
  TW_NODE(Barrier)             \
  TW_NODE(WarpOp)              \
  TW_NODE(Move)                \
  TW_NODE(AsyncCopy)           \
  TW_NODE(Sync)                \
  TW_NODE(Launch)
#define TW_IR_NODES(TW_NODE) TW_EXPR_NODES(TW_NODE) TW_STMT_NODES(TW_NODE) TW_NODE(BufferNode)

enum class Kind : uint8_t {
#define TW_DECLARE(type) type,
  TW_IR_NODES(TW_DECLARE)
#undef TW_DECLARE
};

/// Declares kind, name and base of a node.
#define TW_NODE_OF(Base, type)                        \
  static constexpr ::tw::ir::Kind kKind = Kind::type; \
  static constexpr std::string_view kName = #type;    \
  type() : Base(kKind) {}

// ---- expressions
// ----------------------------------------------------------------------------------

/// A literal. Integers (and bool) are in `i` (u64 as its bit pattern), floats exactly in `f`.
struct Const : ExprBase {
  TW_NODE_OF(ExprBase, Const)
  int64_t i = 0;
  double f = 0;
  TW_FIELDS(Const, dtype, i, f)
};

/// A named value that is bound once: a size symbol, scalar parameter, block or loop index, or
/// `Let`. Identity is the node; the name is for humans.
struct VarNode : ExprBase {
  TW_NODE_OF(ExprBase, VarNode)
  std::string name;
  TW_FIELDS(VarNode, dtype, name)
};

class Var : public Expr {
 public:
  Var() = default;
  explicit Var(const VarNode* node) : Expr(node) {}
  const std::string& name() const { return as<VarNode>().name; }
  /// A new variable, different from every other.
  static Var make(std::string name, DType dtype, SourceLoc loc = {});
  /// The expression as the variable it is.
  static Var of(const Expr& expr) { return Var(&expr.as<VarNode>()); }
};

/// An element operation (ir/ops.h).
struct Op : ExprBase {
  TW_NODE_OF(ExprBase, Op)
  OpCode code = OpCode::add;
  std::vector<Expr> args;
  Exactness exactness = Exactness::standard;
  Rounding rounding = Rounding::rn;  // of ieee operations
  TW_FIELDS(Op, dtype, code, args, exactness, rounding)
};

/// A conversion by language 11.4. `rbits` (u32) is the random word of Rounding::rs, else null.
struct Cast : ExprBase {
  TW_NODE_OF(ExprBase, Cast)
  Expr value;
  Rounding rounding = Rounding::rn;
  bool saturate = true;  // only fp8 and narrower know the difference
  Expr rbits;
  TW_FIELDS(Cast, dtype, value, rounding, saturate, rbits)
};

struct BufferNode;
class Buffer : public Handle<BufferNode> {
 public:
  using Handle::Handle;
  DType dtype() const;
  int rank() const;
  MemSpace space() const;
  const std::string& name() const;
  const std::vector<Expr>& shape() const;
  /// An extent that is a constant; an internal error otherwise.
  int64_t extent(int dim) const;
  bool has_constant_shape() const;
  /// The buffer whose storage this is: itself, or what the chain of views ends in.
  Buffer root() const;
};

/// The value of one element. Global memory: outside the shape it is the buffer's safe value.
struct Load : ExprBase {
  TW_NODE_OF(ExprBase, Load)
  Buffer buffer;
  std::vector<Expr> indices;
  bool unchecked = false;  // the author or a pass knows that it is inside
  TW_FIELDS(Load, dtype, buffer, indices, unchecked)
};

/// Memory: a parameter, an allocation, or a view of another buffer.
///
/// Element (i0, i1, ...) of a view is element `offset + sum(i * stride)` of `view_of`'s root,
/// counted in this buffer's own dtype: for tensors in memory elements, for block buffers in the
/// row-major order of the root's elements. Empty strides mean row-major compact.
struct BufferNode : Node {
  TW_NODE_OF(Node, BufferNode)
  std::string name;
  DType dtype;
  MemSpace space = MemSpace::global;
  std::vector<Expr> shape;    // block buffers: constants >= 1
  std::vector<Expr> strides;  // elements; empty: compact
  Buffer view_of;             // null: storage of its own
  Expr offset;                // of a view; null: 0
  Expr address;               // 64-bit address of a view_at; null otherwise
  Expr peer;                  // of a view of shared memory: rank of the block in the cluster whose
                              // memory it is; null: the own
  Expr safe_value;            // what an outside element reads as; null: 0
  Expr l2_persist;  // f64 constant: the share of a tensor that should stay in L2; null: no wish
  ReduceKind reduce = ReduceKind::sum;  // of a reducer
  bool propagate_nan = false;           // of a reducer: max and min give NaN if there is one
  int64_t padding = 0;                  // elements added to each row of a shared buffer
  int64_t align = 0;                    // promised base alignment in bytes; 0: that of the dtype
  int64_t versions = 0;                 // pipeline copies; 0: derived
  bool manual_versions = false;
  bool may_alias = false;  // no_restrict
  bool relaxed = false;    // relaxed_global
  TW_FIELDS(BufferNode, name, dtype, space, shape, strides, view_of, offset, address, peer,
            safe_value, l2_persist, reduce, propagate_nan, padding, align, versions,
            manual_versions, may_alias, relaxed)
};

/// A box of a buffer: begin and extent per dimension.
struct Region {
  Buffer buffer;
  std::vector<Expr> begin, extent;
  bool unchecked = false;
  TW_FIELDS(Region, buffer, begin, extent, unchecked)

  /// The whole buffer.
  static Region whole(const Buffer& buffer);
};

// ---- statements
// -----------------------------------------------------------------------------------

struct Seq : StmtBase {
  TW_NODE_OF(StmtBase, Seq)
  std::vector<Stmt> stmts;
  TW_FIELDS(Seq, stmts)
};

/// Binds `var` for the rest of the enclosing sequence.
struct Let : StmtBase {
  TW_NODE_OF(StmtBase, Let)
  Var var;
  Expr value;
  TW_FIELDS(Let, var, value)
};

/// Makes a block buffer (or a variable, of rank 0) for the rest of the enclosing sequence.
/// Its contents are undefined, except for `initial`. A view is allocated too: that is
/// where it is declared.
struct Alloc : StmtBase {
  TW_NODE_OF(StmtBase, Alloc)
  Buffer buffer;
  Expr initial;  // of a variable; may be null
  std::string
      layout;  // text of a layout or fragment (layout/parse.h); empty: not decided, or row-major
  int64_t place = -1;  // of a shared buffer in the block's memory, in bytes; -1: not planned
  TW_FIELDS(Alloc, buffer, initial, layout, place)
};

/// Writes one element; in global memory nothing outside the shape. The value has
/// the buffer's dtype.
struct Store : StmtBase {
  TW_NODE_OF(StmtBase, Store)
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  bool unchecked = false;  // known to be inside
  bool streaming = false;  // not read again soon: may bypass the caches
  TW_FIELDS(Store, buffer, indices, value, unchecked, streaming)
};

/// var = lo, lo + step, ... while below hi (above, for a negative constant step).
struct For : StmtBase {
  TW_NODE_OF(StmtBase, For)
  Var var;
  Expr lo, hi, step;
  LoopKind loop = LoopKind::serial;
  Stmt body;
  int64_t factor = 0;   // unrolled: 0 = fully
  bool strict = false;  // vectorized: E-LOOP-03 instead of a scalar loop
  int64_t stages = 0;   // pipelined
  std::vector<int64_t> stage, order;
  std::string name;  // for schedules
  TW_FIELDS(For, var, lo, hi, step, loop, body, factor, strict, stages, stage, order, name)
};

/// A box of independent iterations, each index from 0 to its extent.
struct Parallel : StmtBase {
  TW_NODE_OF(StmtBase, Parallel)
  std::vector<Var> vars;
  std::vector<Expr> extents;
  Stmt body;
  int64_t max_vector = 0;  // hint; 0: none
  std::string layout;      // demanded fragment over the box
  bool prefer_async = false;
  std::vector<Region>
      prefetch;  // read soon after the loop: brought nearer meanwhile (plan_prefetch)
  TW_FIELDS(Parallel, vars, extents, body, max_vector, layout, prefer_async, prefetch)
};

struct If : StmtBase {
  TW_NODE_OF(StmtBase, If)
  Expr cond;
  Stmt then_body;
  Stmt else_body;  // may be null
  TW_FIELDS(If, cond, then_body, else_body)
};

/// Loads in `cond` are evaluated anew before each iteration.
struct While : StmtBase {
  TW_NODE_OF(StmtBase, While)
  Expr cond;
  Stmt body;
  TW_FIELDS(While, cond, body)
};

struct Break : StmtBase {
  TW_NODE_OF(StmtBase, Break)
  TW_NO_FIELDS(Break)
};
struct Continue : StmtBase {
  TW_NODE_OF(StmtBase, Continue)
  TW_NO_FIELDS(Continue)
};

/// dst element = cast(src element), over boxes that agree once extents of 1 are dropped (language
/// 7). With `transpose` the last two dimensions of src are exchanged.
struct Copy : StmtBase {
  TW_NODE_OF(StmtBase, Copy)
  Region src, dst;
  bool transpose = false;
  CopyMethod prefer = CopyMethod::automatic, require = CopyMethod::automatic;
  int64_t max_vector = 0;
  std::string layout;
  EvictPolicy evict = EvictPolicy::normal;
  bool cache_global_only = false, no_tma = false;
  std::vector<Region> prefetch;  // as of a Parallel
  TW_FIELDS(Copy, src, dst, transpose, prefer, require, max_vector, layout, evict,
            cache_global_only, no_tma, prefetch)
};

/// Every element of dst inside its buffer = value (of the buffer's dtype).
struct Fill : StmtBase {
  TW_NODE_OF(StmtBase, Fill)
  Region dst;
  Expr value;
  TW_FIELDS(Fill, dst, value)
};

/// c = (clear ? 0 : c) + op(a) op(b) in c's dtype (language 8.1). The last two dims are the matrix.
struct Gemm : StmtBase {
  TW_NODE_OF(StmtBase, Gemm)
  Region a, b, c;
  bool trans_a = false, trans_b = false;
  Expr clear;  // bool
  GemmMethod require = GemmMethod::automatic;
  GemmPolicy policy = GemmPolicy::square;
  int64_t warps_m = 0, warps_n = 0;  // of GemmPolicy::fixed
  int64_t k_pack = 1;
  PairFormat pairs = PairFormat::none;  // then a and b are u32 and k counts pairs
  std::vector<Region> prefetch;         // as of a Parallel
  TW_FIELDS(Gemm, a, b, c, trans_a, trans_b, clear, require, policy, warps_m, warps_n, k_pack,
            pairs, prefetch)
};

/// dst = fold of src along dims (language 9.1). dst's dims are src's with each of `dims` removed
/// or 1.
struct Reduce : StmtBase {
  TW_NODE_OF(StmtBase, Reduce)
  ReduceKind reduce = ReduceKind::sum;
  Region src, dst;
  std::vector<int64_t> dims;  // not negative, ascending
  bool clear = true;          // false: combines with what dst holds
  bool propagate_nan = false;
  bool low_precision = false;
  int64_t batch = 0;
  TW_FIELDS(Reduce, reduce, src, dst, dims, clear, propagate_nan, low_precision, batch)
};

/// Inclusive (or exclusive) prefix along `dim` (language 9.2); dst may be src.
struct Scan : StmtBase {
  TW_NODE_OF(StmtBase, Scan)
  ScanKind scan = ScanKind::sum;
  Region src, dst;
  int64_t dim = 0;
  bool reverse = false, exclusive = false;
  TW_FIELDS(Scan, scan, src, dst, dim, reverse, exclusive)
};

/// Opens an epoch of a reducer (language 9.4); `initial` takes part once, may be null.
struct ReducerInit : StmtBase {
  TW_NODE_OF(StmtBase, ReducerInit)
  Buffer reducer;
  Expr initial;
  TW_FIELDS(ReducerInit, reducer, initial)
};
struct ReducerUpdate : StmtBase {
  TW_NODE_OF(StmtBase, ReducerUpdate)
  Buffer reducer;
  std::vector<Expr> indices;
  Expr value;
  TW_FIELDS(ReducerUpdate, reducer, indices, value)
};
struct ReducerFinalize : StmtBase {
  TW_NODE_OF(StmtBase, ReducerFinalize)
  Buffer reducer;
  Region dst;
  TW_FIELDS(ReducerFinalize, reducer, dst)
};

/// Brings the cache line of an element nearer. The element need not exist.
struct Prefetch : StmtBase {
  TW_NODE_OF(StmtBase, Prefetch)
  Buffer buffer;
  std::vector<Expr> indices;
  TW_FIELDS(Prefetch, buffer, indices)
};

/// An atomic access to one element. `result` is bound to the previous (or loaded) value for the
/// rest of the enclosing sequence; null when not wanted. Outside a tensor nothing happens and 0 is
/// the result.
struct Atomic : StmtBase {
  TW_NODE_OF(StmtBase, Atomic)
  AtomicOp op = AtomicOp::add;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;    // null for load
  Expr compare;  // of compare_exchange
  MemoryOrder order = MemoryOrder::relaxed;
  AtomicScope scope = AtomicScope::device;
  Var result;
  TW_FIELDS(Atomic, op, buffer, indices, value, compare, order, scope, result)
};

/// Prints the message, then the values, or the buffer element by element with indices.
struct Print : StmtBase {
  TW_NODE_OF(StmtBase, Print)
  std::string message;
  std::vector<Expr> values;
  Buffer buffer;  // may be null
  TW_FIELDS(Print, message, values, buffer)
};
/// Stops the kernel when cond is false.
struct Assert : StmtBase {
  TW_NODE_OF(StmtBase, Assert)
  Expr cond;
  std::string message;
  std::vector<Expr> values;
  TW_FIELDS(Assert, cond, message, values)
};
/// A fact for the prover.
struct Assume : StmtBase {
  TW_NODE_OF(StmtBase, Assume)
  Expr cond;
  TW_FIELDS(Assume, cond)
};

/// Runs body once for each block of a grid; only at the top of a program.
struct Launch : StmtBase {
  TW_NODE_OF(StmtBase, Launch)
  std::string name;
  std::vector<Expr> grid;       // 1 to 3 extents over symbols and scalar parameters
  std::vector<Var> block_vars;  // as many
  Stmt body;
  std::vector<int64_t> threads;  // empty: the backend chooses
  std::vector<int64_t> cluster;
  int64_t min_blocks_per_sm = 0, max_registers = 0, dynamic_shared_extra = 0;
  bool cooperative = false, dependent_launch = false;
  RasterOrder raster = RasterOrder::none;
  int64_t raster_panel = 0;
  Expr guard;  // over sizes; where it fails, the next launch stands in. Null: always runs
  std::vector<Buffer> aligned;  // tensors whose address must be a multiple of 16, as for the guard
  Var thread;                   // the linear index of the thread in its block; null: not asked
  int64_t shared_bytes = 0;     // thread IR: of the block's planned shared memory
  TW_FIELDS(Launch, name, grid, block_vars, body, threads, cluster, min_blocks_per_sm,
            max_registers, dynamic_shared_extra, cooperative, dependent_launch, raster,
            raster_panel, guard, aligned, thread, shared_bytes)

  /// Whether the next launch stands in where this one can't run.
  bool is_conditional() const { return guard || !aligned.empty(); }
};

}  // namespace tw::ir

#include "tilewright/ir/thread_nodes.h"

namespace tw::ir {

// ---- programs
// -------------------------------------------------------------------------------------

/// A run-time integer with its promised facts (language 2.4). `explicit_scalar`: passed by value.
struct Symbol {
  Var var;
  int64_t multiple_of = 1;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  TW_FIELDS(Symbol, var, multiple_of, min, max)
};

/// A parameter, in the order of the call. Tensors and pointers have a buffer (a pointer's has one
/// dimension of unbounded extent), scalars a variable.
struct Param {
  ParamKind kind = ParamKind::input;
  Buffer buffer;
  Var var;
  bool nullable = false;
  TW_FIELDS(Param, kind, buffer, var, nullable)
};

struct Workspace {
  Buffer buffer;
  bool zero = false;
  TW_FIELDS(Workspace, buffer, zero)
};

/// Compile options by name, as text (language 14.3); ir/options.h knows names, values and defaults.
struct Option {
  std::string name, value;
  TW_FIELDS(Option, name, value)
};

/// One or more launches over shared parameters; they run in order. A plain value:
/// copying it is cheap.
struct Program {
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<Param> params;
  std::vector<Workspace> workspaces;
  std::vector<Option> options;
  std::vector<Stmt> launches;
  TW_FIELDS(Program, name, symbols, params, workspaces, options, launches)
};

inline DType Buffer::dtype() const { return get()->dtype; }
inline int Buffer::rank() const { return static_cast<int>(get()->shape.size()); }
inline MemSpace Buffer::space() const { return get()->space; }
inline const std::string& Buffer::name() const { return get()->name; }
inline const std::vector<Expr>& Buffer::shape() const { return get()->shape; }

}  // namespace tw::ir
