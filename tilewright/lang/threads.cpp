#include "tilewright/lang/threads.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/builder.h"
#include "tilewright/lang/math.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

using ir::WarpCode;

constexpr int64_t kLanes = 32, kWarpgroup = 4 * kLanes, kNamed = 15;

int64_t thread_count(const Site& site) {
  const Trace& trace = Trace::in_launch(site);
  if (trace.threads.empty()) {
    throw Error(codes::launch_01, site.where, "{}: the launch does not fix its threads", site.name)
        .help("give .threads in the options of k.launch, or in the schedule");
  }
  int64_t count = 1;
  for (const int64_t extent : trace.threads) count *= extent;
  return count;
}

/// The index of the thread in its block, which belongs to the launch.
ir::Expr thread_of(const Site& site) {
  thread_count(site);
  Trace& trace = Trace::in_launch(site);
  if (!trace.thread) {
    trace.thread = ir::Var::make("thread", i64, site.where);
    trace.declare(trace.thread, {trace.enclosing(ScopeKind::launch), 0});
  }
  return trace.thread;
}

// ---- barriers ----

void emit_barrier(const Site& site, int64_t id, int64_t threads, bool arrive_only) {
  Trace::in_launch(site).emit(ir::make<ir::Barrier>(site.where, [&](ir::Barrier& n) {
    n.id = id;
    n.threads = threads;
    n.arrive_only = arrive_only;
  }));
}

void named_barrier(const Site& site, int64_t id, int64_t threads, bool arrive_only) {
  Trace& trace = Trace::in_launch(site);
  if (id < 1 || id > kNamed) {
    throw Error(codes::sync_04, site.where, "{}: there is no named barrier {}, they are 1 to {}",
                site.name, id, kNamed);
  }
  if (threads < kLanes || threads % kLanes != 0) {
    throw Error({}, site.where, "{}: {} threads, it must be a multiple of {}", site.name, threads,
                kLanes);
  }
  trace.named.insert(id);
  emit_barrier(site, id, threads, arrive_only);
}

Expr folding_barrier(const char* name, ir::BarrierFold fold, const Operand& condition) {
  const Site site{name, condition.where()};
  Trace& trace = Trace::in_launch(site);
  const ir::Expr cond = trace.settle(site.where, as_condition(site, condition.value()));
  const DType dtype = fold == ir::BarrierFold::count ? i32 : bool_;
  const ir::Var result = ir::Var::make(name, dtype, site.where);
  trace.emit(ir::make<ir::Barrier>(site.where, [&](ir::Barrier& n) {
    n.fold = fold;
    n.cond = cond;
    n.result = result;
  }));
  trace.declare(result);
  return Expr(result);
}

// ---- registers ----

void set_registers(const Site& site, ir::SyncCode code, int64_t n) {
  Trace& trace = Trace::in_launch(site);
  if (!ir::is_register_count(n)) {
    throw Error(codes::sync_06, site.where,
                "{}: {} registers, it must be a multiple of 8 from 24 to 256", site.name, n);
  }
  if (const int64_t threads = thread_count(site); threads % kWarpgroup != 0) {
    throw Error(codes::sync_06, site.where, "{}: {} threads are not whole warp-groups of {}",
                site.name, threads, kWarpgroup)
        .help("launch a multiple of {} threads", kWarpgroup);
  }
  trace.emit(ir::make<ir::Sync>(site.where, [&](ir::Sync& s) {
    s.code = code;
    s.value = ir::index(n);
  }));
}

// ---- warps ----

void check_width(const Site& site, int64_t width) {
  if (width >= 2 && width <= kLanes && (width & (width - 1)) == 0) return;
  throw Error(codes::warp_01, site.where, "{}: groups of {} lanes, it must be 2, 4, 8, 16 or 32",
              site.name, width);
}
void check_type(const Site& site, DType dtype) {
  if (dtype.lanes == 1 && dtype.bits() >= 8) return;
  Error error(codes::warp_02, site.where, "{}: lanes can't exchange {}", site.name, dtype);
  if (dtype.lanes > 1) error.help("exchange its elements one by one");
  if (dtype.lanes == 1) error.help("cast it to a type of 8 bits or more first");
  throw error;
}

Expr emit_warp(const Site& site, WarpCode code, const std::vector<ir::Expr>& args, DType result,
               int64_t width = kLanes) {
  Trace& trace = Trace::in_launch(site);
  const std::vector<ir::Expr> settled = trace.settle(site.where, args);
  const ir::Var var = ir::Var::make(std::string(ir::enum_name(code)), result, site.where);
  trace.emit(ir::make<ir::WarpOp>(site.where, [&](ir::WarpOp& n) {
    n.code = code;
    n.args = settled;
    n.width = width;
    n.result = var;
  }));
  trace.declare(var);
  return Expr(var);
}

DType unsigned_of(int bits) { return bits == 8 ? u8 : bits == 16 ? u16 : bits == 32 ? u32 : u64; }

/// Bits, where the hardware has no exchange for the type itself.
Expr exchanged(const Site& site, WarpCode code, const Expr& value, const ir::Expr& lane,
               int64_t width) {
  const DType dtype = value.typed().dtype();
  const bool as_bits = dtype.is_float() && dtype.bits() < 16;
  const Operand v(Expr(value.typed()), site.where);
  const Expr sent = as_bits ? bitcast(v, unsigned_of(dtype.bits())) : v.value();
  const Expr got = emit_warp(site, code, {sent.ir(), lane}, sent.dtype(), width);
  return as_bits ? bitcast(Operand(got, site.where), dtype) : got;
}

Expr shuffle(WarpCode code, const Operand& value, const Operand& lane, int64_t width) {
  const std::string name(ir::enum_name(code));
  const Site site{name, value.where()};
  check_width(site, width);
  check_type(site, value.value().typed().dtype());
  return exchanged(site, code, value.value(), ir::cast(i32, as_index(site, lane.value())), width);
}

Expr vote(WarpCode code, const Operand& condition) {
  const std::string name(ir::enum_name(code));
  const Site site{name, condition.where()};
  return emit_warp(site, code, {as_condition(site, condition.value())},
                   code == WarpCode::ballot ? u32 : bool_);
}

Expr match(WarpCode code, const Operand& value) {
  const std::string name(ir::enum_name(code));
  const Site site{name, value.where()};
  const ir::Expr v = value.value().typed();
  check_type(site, v.dtype());
  Expr bits(v);
  if (v.dtype().is_float()) bits = bitcast(value.beside(bits), unsigned_of(v.dtype().bits()));
  if (bits.dtype().bits() < 32) bits = cast(value.beside(bits), u32);
  return emit_warp(site, code, {bits.ir()}, u32);
}

struct Fold {
  ReduceKind kind;
  ir::OpCode step;
  WarpCode whole;  // of 32-bit integers over a whole warp
};
constexpr Fold kFolds[] = {
    {ReduceKind::sum, ir::OpCode::add, WarpCode::reduce_add},
    {ReduceKind::max, ir::OpCode::max, WarpCode::reduce_max},
    {ReduceKind::min, ir::OpCode::min, WarpCode::reduce_min},
    {ReduceKind::bit_and, ir::OpCode::bit_and, WarpCode::reduce_and},
    {ReduceKind::bit_or, ir::OpCode::bit_or, WarpCode::reduce_or},
    {ReduceKind::bit_xor, ir::OpCode::bit_xor, WarpCode::reduce_xor},
};

}  // namespace

Expr linear_thread_idx(SourceLoc where) { return Expr(thread_of({"linear_thread_idx", where})); }

Expr thread_idx(int dim, SourceLoc where) {
  const Site site{"thread_idx", where};
  const ir::Expr thread = thread_of(site);
  const std::vector<int64_t>& extents = Trace::current(site).threads;
  const auto d = static_cast<size_t>(dim);
  if (dim < 0 || d >= extents.size()) return Expr(ir::index(0));
  int64_t before = 1;
  for (size_t i = 0; i < d; ++i) before *= extents[i];
  const ir::Expr rest = before == 1 ? thread : ir::floordiv(thread, ir::index(before));
  return Expr(d + 1 == extents.size() ? rest : ir::floormod(rest, ir::index(extents[d])));
}

Expr lane_idx(SourceLoc where) {
  return Expr(ir::floormod(thread_of({"lane_idx", where}), ir::index(kLanes)));
}
Expr warp_idx(SourceLoc where) {
  return Expr(ir::floordiv(thread_of({"warp_idx", where}), ir::index(kLanes)));
}
Expr warpgroup_idx(SourceLoc where) {
  return Expr(ir::floordiv(thread_of({"warpgroup_idx", where}), ir::index(kWarpgroup)));
}

Expr elect(int64_t n, SourceLoc where) {
  const Site site{"elect", where};
  const ir::Expr thread = thread_of(site);
  if (n < 0 || n % kLanes != 0) {
    throw Error({}, where, "elect: one thread of each {}, it must be a multiple of {}", n, kLanes)
        .help("elect() is one thread of the block");
  }
  return Expr(ir::eq(n == 0 ? thread : ir::floormod(thread, ir::index(n)), ir::index(0)));
}

void sync(SourceLoc where) { emit_barrier({"sync", where}, 0, 0, false); }
void sync(int64_t id, int64_t threads, SourceLoc where) {
  named_barrier({"sync", where}, id, threads, false);
}
void barrier_arrive(int64_t id, int64_t threads, SourceLoc where) {
  named_barrier({"barrier_arrive", where}, id, threads, true);
}

int64_t barrier_id(SourceLoc where) {
  Trace& trace = Trace::in_launch({"barrier_id", where});
  for (int64_t id = kNamed; id >= 1; --id) {
    if (trace.named.insert(id).second) return id;
  }
  throw Error(codes::sync_04, where, "barrier_id: the {} named barriers are all taken", kNamed)
      .help("use one again where its threads have left it, or barriers with phases");
}

Expr sync_count(const Operand& condition) {
  return folding_barrier("sync_count", ir::BarrierFold::count, condition);
}
Expr sync_and(const Operand& condition) {
  return folding_barrier("sync_and", ir::BarrierFold::all, condition);
}
Expr sync_or(const Operand& condition) {
  return folding_barrier("sync_or", ir::BarrierFold::any, condition);
}

void fence(AtomicScope scope, SourceLoc where) {
  const ir::SyncCode code = scope == AtomicScope::block    ? ir::SyncCode::fence_block
                            : scope == AtomicScope::device ? ir::SyncCode::fence_device
                                                           : ir::SyncCode::fence_system;
  Trace::in_launch({"fence", where}).emit(ir::sync(where, code));
}

void reg_increase(int64_t n, SourceLoc where) {
  set_registers({"reg_increase", where}, ir::SyncCode::registers_increase, n);
}
void reg_decrease(int64_t n, SourceLoc where) {
  set_registers({"reg_decrease", where}, ir::SyncCode::registers_decrease, n);
}

Expr shfl(const Operand& value, const Operand& lane, int64_t width) {
  return shuffle(WarpCode::shfl, value, lane, width);
}
Expr shfl_xor(const Operand& value, const Operand& mask, int64_t width) {
  return shuffle(WarpCode::shfl_xor, value, mask, width);
}
Expr shfl_up(const Operand& value, const Operand& distance, int64_t width) {
  return shuffle(WarpCode::shfl_up, value, distance, width);
}
Expr shfl_down(const Operand& value, const Operand& distance, int64_t width) {
  return shuffle(WarpCode::shfl_down, value, distance, width);
}

Expr vote_any(const Operand& condition) { return vote(WarpCode::vote_any, condition); }
Expr vote_all(const Operand& condition) { return vote(WarpCode::vote_all, condition); }
Expr ballot(const Operand& condition) { return vote(WarpCode::ballot, condition); }
Expr active_mask(SourceLoc where) {
  return emit_warp({"active_mask", where}, WarpCode::active_mask, {}, u32);
}
Expr match_any(const Operand& value) { return match(WarpCode::match_any, value); }
Expr match_all(const Operand& value) { return match(WarpCode::match_all, value); }

Expr warp_reduce(ReduceKind op, const Operand& value, int64_t width) {
  const Site site{"warp_reduce", value.where()};
  check_width(site, width);
  const DType dtype = value.value().typed().dtype();
  check_type(site, dtype);
  const Fold* fold = nullptr;
  for (const Fold& f : kFolds) fold = f.kind == op ? &f : fold;
  if (fold == nullptr) {
    throw Error({}, site.where, "warp_reduce: {} is not among its operations", ir::enum_name(op))
        .help("they are sum, max, min, bit_and, bit_or and bit_xor");
  }
  Expr result(value.value().typed());
  if (dtype.is_int() && dtype.bits() == 32 && width == kLanes) {
    return emit_warp(site, fold->whole, {result.ir()}, dtype);
  }
  if (const int64_t threads = thread_count(site); threads % width != 0) {
    throw Error({}, site.where, "warp_reduce: {} threads are not whole groups of {} lanes", threads,
                width)
        .help("launch a multiple of {} threads", width);
  }
  for (int64_t distance = width / 2; distance > 0; distance /= 2) {
    const ir::Expr mask = ir::int_const(i32, distance);
    const Expr other = exchanged(site, WarpCode::shfl_xor, result, mask, width);
    result = element_op(site, fold->step, {result, other});
  }
  return result;
}

void sync_warp(SourceLoc where) {
  Trace::in_launch({"sync_warp", where}).emit(ir::make<ir::WarpOp>(where, [](ir::WarpOp& n) {
    n.code = ir::WarpCode::sync_warp;
  }));
}

}  // namespace lang
}  // namespace tw
