// Statements and programs of the verifier, and what others call.
#include "tilewright/ir/verify.h"

#include <algorithm>

#include "tilewright/ir/reduction.h"
#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/verifier.h"

namespace tw::ir {
namespace {}  // namespace

void Verifier::program(const Program& p) {
  for (const Symbol& s : p.symbols) {
    require(s.var.dtype() == i64, "size {} is {}, must be i64", s.var.name(), s.var.dtype());
    define(s.var);
  }
  for (const Param& param : p.params) {
    if (param.var && !defined_.contains(param.var.get())) define(param.var);
  }
  for (const Param& param : p.params) {
    require(!param.buffer == (param.kind == ParamKind::scalar), "parameter without its buffer");
    if (param.buffer) declare(param.buffer);
  }
  for (const Workspace& w : p.workspaces) declare(w.buffer);
  for (const Stmt& launch : p.launches) {
    require(launch.is<Launch>(), "the top of a program holds launches only");
    statement(launch);
  }
}

void Verifier::body(const Stmt& stmt, Around around) {
  const Around outside = std::exchange(around_, around);
  const Stmt current = current_;
  scope([&] { statement(stmt); });
  current_ = current;
  around_ = outside;
}

void Verifier::check(const For& n) {
  require(n.var.dtype().is_int(), "the index is {}, must be an integer", n.var.dtype());
  for (const Expr& e : {n.lo, n.hi, n.step}) typed(e, n.var.dtype(), "a bound");
  require(!is_int(n.step, 0), "the step is 0");
  require(n.loop != LoopKind::vectorized || (as_int(n.lo) && as_int(n.hi) && as_int(n.step)),
          "a vectorized loop has constant bounds");
  require(n.stage.size() == n.order.size(), "stage and order have different lengths");
  require(level_ != Level::loop || n.loop != LoopKind::unrolled, "an unrolled loop in loop IR");
  require(level_ != Level::thread || n.loop != LoopKind::vectorized,
          "a vectorized loop in thread IR");
}

void Verifier::check(const Parallel& n) {
  require(!n.vars.empty() && n.vars.size() == n.extents.size(), "{} indices with {} extents",
          n.vars.size(), n.extents.size());
  for (const Expr& e : n.extents) integer(e, "extent");
}

void Verifier::check(const Copy& n) {
  const auto src = extents(n.src, !n.transpose), dst = extents_of_copy(n);
  same_extents(src, dst, "copy");
  require(n.transpose || src.size() == dst.size(), "copy: extents {} and {}", src, dst);
  converts(n.src.buffer.dtype(), n.dst.buffer.dtype());
}

std::vector<int64_t> Verifier::extents_of_copy(const Copy& n) {
  std::vector<int64_t> list = extents(n.dst, !n.transpose);
  if (n.transpose && list.size() >= 2) std::swap(list.end()[-1], list.end()[-2]);
  return list;
}

void Verifier::check(const Scan& n) {
  require(n.dim >= 0 && n.dim < n.src.buffer.rank(), "no dimension {}", n.dim);
  same_extents(extents(n.src, true), extents(n.dst, true), "scan");
  reduces(reduction_of(n.scan), n.src.buffer.dtype(), n.dst.buffer.dtype());
}

void Verifier::check(const ReducerInit& n) {
  reducer(n.reducer);
  reduces(n.reducer->reduce, n.reducer.dtype(), n.reducer.dtype());
  typed(n.initial, n.reducer.dtype(), "the initial value");
}

void Verifier::check(const ReducerUpdate& n) {
  reducer(n.reducer);
  access(n.reducer, n.indices);
  typed(n.value, n.reducer.dtype(), "the value");
}

void Verifier::check(const ReducerFinalize& n) {
  reducer(n.reducer);
  std::vector<int64_t> shape;
  for (const Expr& e : n.reducer.shape()) {
    if (const int64_t extent = as_int(e).value_or(-1); extent != 1) shape.push_back(extent);
  }
  const auto dst = extents(n.dst, true);
  same_extents(shape, dst, "finalize");
  require(shape.size() == dst.size(), "finalize: extents {} and {}", shape, dst);
}

void Verifier::check(const Atomic& n) {
  access(n.buffer, n.indices);
  require(!n.value == (n.op == AtomicOp::load), "all but a load have a value");
  require(!waits(n.op) || n.order == MemoryOrder::relaxed || n.order == MemoryOrder::acquire,
          "a wait for a value is a load");
  require(!n.compare == (n.op != AtomicOp::compare_exchange),
          "a compare_exchange has a value to compare with");
  typed(n.value, n.buffer.dtype(), "the value");
  typed(n.compare, n.buffer.dtype(), "the value to compare with");
  if (n.result) typed(n.result, n.buffer.dtype(), "the result");
}

void Verifier::check(const Barrier& n) {
  require(n.id >= 0 && n.id < 16, "there is no barrier {}", n.id);
  require(n.threads >= 0 && (n.id == 0) == (n.threads == 0),
          "the number of threads goes with a named barrier");
  require(!n.arrive_only || (n.id != 0 && n.fold == BarrierFold::none),
          "only at a named barrier a thread arrives and goes on");
  require(!n.cond == (n.fold == BarrierFold::none) && !n.cond == !n.result,
          "condition and result go with a fold");
  require(n.fold == BarrierFold::none || n.id == 0, "only all threads of a block fold");
  typed(n.cond, bool_, "the condition");
  if (n.result) typed(n.result, n.fold == BarrierFold::count ? i32 : bool_, "the result");
}

void Verifier::check(const Move& n) {
  access(n.src, n.src_indices);
  access(n.dst, n.dst_indices);
  require((n.src.space() == MemSpace::local) != (n.dst.space() == MemSpace::local),
          "it moves between memory and a local array");
  const int64_t bits = n.count * n.src.dtype().bits();
  require(n.src.dtype() == n.dst.dtype() && n.count >= 1 &&
              (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128),
          "{} elements of {} to {}", n.count, n.src.dtype(), n.dst.dtype());
  if (n.fold == CopyFold::none) return;
  const MemSpace space = n.dst.root().space();
  const DType dtype = n.dst.dtype();
  require(n.fold == CopyFold::add && (space == MemSpace::global || space == MemSpace::workspace) &&
              (dtype == f32 || dtype == f16 || dtype == bf16) && bits >= 32 && n.count >= 2,
          "{} of {} elements of {} in {}", enum_name(n.fold), n.count, dtype, enum_name(space));
}

void Verifier::phases(const Buffer& barrier, const std::vector<Expr>& at) {
  access(barrier, at);
  require(barrier.dtype() == u64 && barrier.root().space() == MemSpace::shared,
          "{} is no barrier with phases (u64 in shared memory)", barrier.name());
}

/// What a descriptor can say (language 7.6).
void Verifier::box(const std::vector<int64_t>& extents, DType dtype, int64_t swizzle) {
  require(!extents.empty() && extents.size() <= 5, "a box of {} dimensions", extents.size());
  for (const int64_t extent : extents) require(extent <= 256, "a box {} long", extent);
  if (extents.empty()) return;
  const int64_t bytes = extents.back() * dtype.bits() / 8;
  require(bytes % 16 == 0 && dtype.bits() >= 8, "rows of {} bytes, which are no units of 16",
          bytes);
  require(swizzle == 0 || bytes <= swizzle, "rows of {} bytes with a swizzle of {}", bytes,
          swizzle);
}

void Verifier::check(const AsyncCopy& n) {
  const auto in_shared = [](const Region& r) {
    return r.buffer.root().space() == MemSpace::shared ||
           r.buffer.root().space() == MemSpace::shared_static;
  };
  const bool loads = in_shared(n.dst), tensor = n.engine == CopyEngine::tensor;
  const bool elements = n.engine == CopyEngine::elements;
  require(loads != in_shared(n.src), "it copies between global and shared memory");
  require(n.src.buffer.dtype() == n.dst.buffer.dtype(), "it converts {} to {}",
          n.src.buffer.dtype(), n.dst.buffer.dtype());
  if (level_ == Level::tile) {  // what an instruction takes is for check_async, with reasons
    for (const Region* r : {&n.src, &n.dst}) {
      const std::vector<int64_t> all = extents(*r, false);
      require(std::find(all.begin(), all.end(), -1) == all.end(), "its extents are constants");
    }
    same_extents(extents(n.src, true), extents(n.dst, true), "async");
    if (n.barrier) phases(n.barrier, n.at);
    return;
  }
  int64_t count = 1;
  for (const Region* r : {&n.src, &n.dst}) {
    const std::vector<int64_t> all = extents(*r, false), long_ones = extents(*r, true);
    require(std::find(all.begin(), all.end(), -1) == all.end(), "its extents are constants");
    const bool row = long_ones.empty() || (long_ones.size() == 1 && all.back() != 1);
    require(tensor || row, "{} takes neighbors of a row", enum_name(n.engine));
    if (row && !all.empty()) count = all.back();
  }
  const auto src = extents(n.src, true), dst = extents(n.dst, true);
  require(src == dst, "extents {} and {}", src, dst);
  const int64_t bits = count * n.src.buffer.dtype().bits();
  require(!elements || (loads && (bits == 32 || bits == 64 || bits == 128)),
          "each thread brings 4, 8 or 16 bytes to shared memory, not {} bits", bits);
  require(n.engine != CopyEngine::bulk || bits % 128 == 0, "{} bits are no units of 16 bytes",
          bits);
  require(!n.valid || elements, "a condition goes with single elements");
  typed(n.valid, bool_, "the condition");
  require(!n.barrier == (elements || !loads), "only loads in bulk count on a barrier");
  if (n.barrier) phases(n.barrier, n.at);
  require(n.swizzle == 0 || (tensor && (n.swizzle == 32 || n.swizzle == 64 || n.swizzle == 128)),
          "swizzle {}", n.swizzle);
  if (tensor) box(extents(loads ? n.src : n.dst, false), n.src.buffer.dtype(), n.swizzle);
  require(n.fold == CopyFold::none || (!loads && !elements), "only stores in bulk fold");
  for (const Buffer& b : {n.src.buffer, n.dst.buffer, n.barrier}) {
    if (b) require(!b->peer, "{} is another block's, copies are of the own", b.name());
  }
}

void Verifier::check(const Sync& n) {
  const bool on_phases = n.code <= SyncCode::phase_try_wait;
  require(!n.barrier == !on_phases, "a barrier goes with phases");
  if (n.barrier) phases(n.barrier, n.at);
  require(!n.barrier || !n.barrier->peer || n.code == SyncCode::phase_arrive,
          "{} at a barrier of another block", enum_name(n.code));
  require(!n.result == (n.code != SyncCode::phase_try_wait), "the result of {}", enum_name(n.code));
  if (n.result) typed(n.result, bool_, "the result");
  const bool counts = n.code == SyncCode::copies_wait || n.code == SyncCode::bulk_wait ||
                      n.code == SyncCode::bulk_wait_read;
  const bool has_value = counts || (on_phases && n.code != SyncCode::phase_arrive &&
                                    n.code != SyncCode::phase_arrive_copies);
  const bool registers = sets_registers(n.code);
  require(!n.value == !(has_value || registers), "the value of {}", enum_name(n.code));
  if (registers && n.value) {
    const int64_t count = as_int(n.value).value_or(0);
    require(is_register_count(count), "{} registers", count);
  }
  integer(n.value, "the value");
  require(!counts || (n.value && as_int(n.value).value_or(-1) >= 0),
          "the number of groups is a constant");
}

void Verifier::check(const Launch& n) {
  require(!around_.launch, "a launch inside a launch");
  require(n.thread || level_ != Level::thread, "thread IR has an index of threads");
  require(!n.thread || level_ != Level::loop, "loop IR has no index of threads");
  require(!n.thread || !n.threads.empty() || level_ != Level::tile,
          "an index of threads without their number");
  if (n.thread) typed(n.thread, i64, "the index of the thread");
  require(n.aligned.empty() || level_ == Level::thread, "alignment is for thread IR");
  require(n.grid.size() == n.block_vars.size() && !n.grid.empty() && n.grid.size() <= 3,
          "{} grid extents with {} indices", n.grid.size(), n.block_vars.size());
  for (const Expr& e : n.grid) {
    integer(e, "grid extent");
    require(!has_load(e), "the grid reads memory");
  }
}

void Verifier::check(const Gemm& n) {
  typed(n.clear, bool_, "clear");
  require(!n.c.buffer.dtype().is_bool(), "a sum of products in bool");
  for (const Region* r : {&n.a, &n.b}) converts(r->buffer.dtype(), n.c.buffer.dtype());
  for (const Region* r : {&n.a, &n.b, &n.c}) {
    require(r->extent.size() >= 2, "{} is no matrix", r->buffer.name());
    if (r->extent.size() < 2) return;
  }
  const auto matrix = [&](const Region& r, bool transposed) {
    std::vector<int64_t> list = extents(r, false);
    list.erase(list.begin(), list.end() - 2);
    if (transposed) std::swap(list[0], list[1]);
    return list;
  };
  const std::vector<int64_t> a = matrix(n.a, n.trans_a), b = matrix(n.b, n.trans_b),
                             c = matrix(n.c, false);
  require(a[1] == b[0] && c[0] == a[0] && c[1] == b[1], "{} times {} is not {}", a, b, c);
}

void Verifier::check(const WarpOp& n) {
  const bool shuffle = n.code <= WarpCode::shfl_down;
  const bool alone = n.code == WarpCode::active_mask || n.code == WarpCode::sync_warp;
  const size_t operands = shuffle ? 2 : alone ? 0 : 1;
  require(n.args.size() == operands, "{} operands", n.args.size());
  require(!n.result == (n.code == WarpCode::sync_warp), "the result of {}", enum_name(n.code));
  require(n.width >= 1 && n.width <= 32 && (n.width & (n.width - 1)) == 0, "width {}", n.width);
  if (!n.result || n.args.empty() || n.args.size() != operands) return;
  const DType value = n.args[0].dtype(), result = n.result.dtype();
  if (shuffle) {
    typed(n.args[1], i32, "the lane");
    require(result == value && value.bits() >= 8, "it gives {} for {}", result, value);
  } else if (n.code == WarpCode::vote_any || n.code == WarpCode::vote_all) {
    require(value.is_bool() && result.is_bool(), "it gives {} for {}", result, value);
  } else if (n.code >= WarpCode::reduce_add) {
    require(result == value && value.is_int() && value.bits() == 32, "it folds {}", value);
  } else {
    require(result == u32, "it gives {}, not u32", result);
  }
}

void Verifier::check(const Reduce& n) {
  std::vector<int64_t> rest;
  const std::vector<int64_t> src = extents(n.src, false);
  for (size_t i = 0; i < n.dims.size(); ++i) {
    require(
        n.dims[i] >= 0 && n.dims[i] < n.src.buffer.rank() && (i == 0 || n.dims[i] > n.dims[i - 1]),
        "dimensions {}", n.dims);
  }
  for (size_t i = 0; i < src.size(); ++i) {
    const bool reduced =
        std::find(n.dims.begin(), n.dims.end(), static_cast<int64_t>(i)) != n.dims.end();
    if (!reduced && src[i] != 1) rest.push_back(src[i]);
  }
  same_extents(rest, extents(n.dst, true), "reduce");
  reduces(n.reduce, n.src.buffer.dtype(), n.dst.buffer.dtype());
}

void Verifier::statement(const Stmt& stmt) {
  if (!stmt) return;
  if (!stmt.is<Seq>()) current_ = stmt;
  if (is_tile_operation(stmt) || stmt.is<Parallel>()) {
    require(level_ != Level::loop && level_ != Level::thread, "not in {} IR", level_);
    require(!around_.parallel || stmt.is<Parallel>(), "a tile operation in a parallel loop");
  }
  const bool by_threads = is_thread_operation(stmt);
  require(!by_threads || level_ == Level::thread || (level_ != Level::loop && !stmt.is<Move>()),
          "not in {} IR", level_);
  require(!by_threads || !around_.parallel, "an operation of threads in a parallel loop");
  require(stmt.is<Launch>() || around_.launch, "outside a launch");
  dispatch(*stmt.get(), [&]<class T>(const T& node) {
    if constexpr (std::is_same_v<T, Seq>) {
      scope([&] {
        for (const Stmt& s : node.stmts) statement(s);
      });
    } else if constexpr (std::is_base_of_v<StmtBase, T>) {
      complete_ = true;
      fields(node);
      if constexpr (std::is_same_v<T, Alloc>) {
        if (node.buffer) declare(node.buffer);
      }
      if (complete_) check(node);
      const auto inside = [&] {
        T::visit_fields(node, [&](const char*, const auto& value) { defined(value); });
        T::visit_fields(node, [&]<class V>(const char*, const V& value) {
          if constexpr (std::is_same_v<V, Stmt>) body(value, within(node));
        });
      };
      // The indices of a loop or launch end with it, what a Let binds does not.
      if constexpr (requires { node.body; }) {
        scope(inside);
      } else {
        inside();
      }
    }
  });
}

std::string to_text(Level level) {
  constexpr const char* kNames[] = {"tile", "scheduled", "loop", "thread"};
  return kNames[static_cast<int>(level)];
}
Level level_named(std::string_view name) {
  for (const Level level : {Level::tile, Level::scheduled, Level::loop, Level::thread}) {
    if (to_text(level) == name) return level;
  }
  throw Error({}, {}, "there is no level '{}'; the levels are tile, scheduled, loop, thread", name);
}

std::vector<std::string> violations(const Program& program, Level level) {
  Verifier verifier(level);
  verifier.program(program);
  return verifier.take();
}

void verify(const Program& program, Level level, const std::string& after) {
  const std::vector<std::string> found = violations(program, level);
  if (found.empty()) return;
  throw InternalError(format("internal error: {} is no valid {} IR{}{}; please report it\n  {}",
                             program.name, level, after.empty() ? "" : " after ", after,
                             join(found, "\n  ")));
}

}  // namespace tw::ir
