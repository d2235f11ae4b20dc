#include "tilewright/lang/async.h"

#include <tuple>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/bulk.h"
#include "tilewright/lang/blocks.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/threads.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

using ir::CopyEngine;
using ir::MemSpace;
using ir::SyncCode;

void emit_sync(const Site& site, SyncCode code, const ir::Expr& value = {},
               const PhaseBarrier* barrier = nullptr, const ir::Var& result = {}) {
  Trace& trace = Trace::in_launch(site);
  std::vector<ir::Expr> parts{value};
  if (barrier != nullptr) {
    trace.check_visible(barrier->buffer(), site);
    parts.push_back(barrier->at());
  }
  parts = trace.settle(site.where, parts);
  trace.emit(ir::make<ir::Sync>(site.where, [&](ir::Sync& n) {
    n.code = code;
    n.value = parts[0];
    n.result = result;
    if (barrier == nullptr) return;
    n.barrier = barrier->buffer();
    n.at = {parts[1]};
  }));
}

void wait_for_groups(const Site& site, SyncCode code, int64_t n) {
  if (n < 0) throw Error({}, site.where, "{}: {} groups, it must be 0 or more", site.name, n);
  emit_sync(site, code, ir::index(n));
}

bool is_shared(const Region& r) {
  const MemSpace space = r.buffer().root().space();
  return space == MemSpace::shared || space == MemSpace::shared_static;
}
bool is_global(const Region& r) {
  const MemSpace space = r.buffer().root().space();
  return space == MemSpace::global || space == MemSpace::workspace;
}

void check_sides(const Site& site, const Region& src, const Region& dst, bool loads, Code code) {
  const bool right = loads ? is_global(src) && is_shared(dst) : is_shared(src) && is_global(dst);
  if (!right) {
    throw Error(code, site.where, "{}: from {} to {} memory, it must be from {}", site.name,
                ir::enum_name(src.buffer().space()), ir::enum_name(dst.buffer().space()),
                loads ? "global to shared" : "shared to global");
  }
  const Region& near = loads ? dst : src;
  if (near.buffer()->peer) {
    throw Error(code, site.where, "{}: {} is another block's, engines copy to and from the own",
                site.name, near.buffer().name());
  }
  if (src.dtype() == dst.dtype()) return;
  throw Error(code, site.where, "{}: from {} to {}, engines don't convert", site.name, src.dtype(),
              dst.dtype())
      .help("copy to a tile of the same dtype, and convert from there");
}

void raise_alignment(Trace& trace, const ir::Buffer& buffer, int64_t bytes) {
  if (buffer->align >= bytes) return;
  trace.annotate(buffer, [&](ir::BufferNode& n) { n.align = bytes; });
}

void tma(const Site& site, Region src, Region dst, const PhaseBarrier* barrier, ir::CopyFold fold,
         const TmaOptions& options) {
  const bool loads = barrier != nullptr;
  std::tie(src, dst) = match_extents(site, src, dst);
  check_sides(site, src, dst, loads, codes::copy_06);
  if (!loads) check_writable(site, dst.buffer());
  constant_extents(site, src);
  constant_extents(site, dst);
  const ir::Region &near = loads ? dst.ir() : src.ir(), &far = loads ? src.ir() : dst.ir();
  const std::string no_descriptor = ir::against_descriptor(near, far),
                    no_bulk = ir::against_bulk(near, far);
  const bool descriptor = options.form == TmaForm::descriptor ||
                          (options.form == TmaForm::automatic && no_descriptor.empty());
  const std::string& rule = descriptor ? no_descriptor : no_bulk;
  if (!rule.empty()) {
    const bool computed = descriptor && far.buffer.root()->address;
    Error error(computed ? codes::copy_07 : codes::copy_06, site.where, "{}: {}", site.name, rule);
    if (options.form == TmaForm::automatic && !no_descriptor.empty()) {
      error.note("by descriptor: {}", no_descriptor);
    }
    throw error.help("{}", computed ? "copy neighbors, with TmaForm::bulk"
                                    : "use copy or async_copy, which take any region");
  }
  Trace& trace = Trace::in_launch(site);
  if (!far.buffer.root()->address) raise_alignment(trace, far.buffer.root(), 16);
  const std::vector<ir::Region> regions = settle_regions(site, {src, dst});
  ir::Expr at;
  if (loads) {
    trace.check_visible(barrier->buffer(), site);
    at = trace.settle(site.where, barrier->at());
  }
  trace.emit(ir::make<ir::AsyncCopy>(site.where, [&](ir::AsyncCopy& n) {
    n.engine = descriptor ? CopyEngine::tensor : CopyEngine::bulk;
    n.src = regions[0];
    n.dst = regions[1];
    n.fold = fold;
    if (!descriptor) n.evict = options.evict;
    if (!loads) return;
    n.barrier = barrier->buffer();
    n.at = {at};
  }));
}

}  // namespace

void async_copy(const Region& src, const Region& dst) {
  const Site site{"async_copy", src.where()};
  const auto matched = match_extents(site, src, dst);
  const Region &from = matched.first, &to = matched.second;
  check_sides(site, from, to, true, codes::copy_08);
  constant_extents(site, from);
  const std::vector<ir::Region> regions = settle_regions(site, {from, to});
  Trace::current(site).emit(ir::make<ir::AsyncCopy>(site.where, [&](ir::AsyncCopy& n) {
    n.engine = CopyEngine::elements;
    n.src = regions[0];
    n.dst = regions[1];
  }));
}
void commit(SourceLoc where) { emit_sync({"commit", where}, SyncCode::copies_commit); }
void wait_group(int64_t n, SourceLoc where) {
  wait_for_groups({"wait_group", where}, SyncCode::copies_wait, n);
}

// ---- barriers with phases ----

namespace {

PhaseBarriers make_barriers(const Site& site, const std::vector<int64_t>& arrivals,
                            std::string_view name) {
  const SourceLoc where = site.where;
  Trace& trace = Trace::in_launch(site);
  for (const int64_t count : arrivals) {
    if (count >= 1 && count < int64_t{1} << 20) continue;
    throw Error(codes::sync_03, where, "{}: {} arrivals a phase, it must be 1 to 1048575",
                site.name, count);
  }
  if (arrivals.empty()) throw Error({}, where, "{}: it is of no barriers", site.name);
  if (trace.crosses_loop({trace.enclosing(ScopeKind::launch), 0})) {
    throw Error({}, where, "{}: inside a loop, where each turn would make it anew", site.name)
        .help("make it before the loop; its phases follow each other there");
  }
  const ir::Buffer buffer =
      trace.allocate(MemSpace::shared, u64, {ir::index(static_cast<int64_t>(arrivals.size()))},
                     std::string(name), where);
  if_(Operand(elect(0, where), where), [&] {
    for (size_t i = 0; i < arrivals.size(); ++i) {
      const PhaseBarrier one(buffer, ir::index(static_cast<int64_t>(i)));
      emit_sync(site, SyncCode::phase_init, ir::index(arrivals[i]), &one);
    }
    emit_sync(site, SyncCode::fence_phases);
  });
  return PhaseBarriers(buffer);
}

}  // namespace

PhaseBarriers barrier(const std::vector<int64_t>& arrivals, std::string_view name,
                      SourceLoc where) {
  const Site site{"barrier", where};
  const PhaseBarriers result = make_barriers(site, arrivals, name);
  Trace::in_launch(site).emit(ir::barrier(where, std::string(name) + " is initialized"));
  return result;
}
PhaseBarriers cluster_barrier(const std::vector<int64_t>& arrivals, std::string_view name,
                              SourceLoc where) {
  const PhaseBarriers result = make_barriers({"cluster_barrier", where}, arrivals, name);
  cluster_sync(where);
  return result;
}

PhaseBarrier PhaseBarriers::operator[](const Operand& i) const {
  return {buffer_, as_index({"barrier", i.where()}, i.value())};
}

void PhaseBarrier::arrive(SourceLoc where) const {
  emit_sync({"arrive", where}, SyncCode::phase_arrive, {}, this);
}
void PhaseBarrier::arrive_remote(const Operand& rank) const {
  const PhaseBarrier there(remote(Buffer(buffer_), rank).ir(), at_);
  emit_sync({"arrive_remote", rank.where()}, SyncCode::phase_arrive, {}, &there);
}
void PhaseBarrier::arrive_expect(const Operand& bytes) const {
  const Site site{"arrive_expect", bytes.where()};
  emit_sync(site, SyncCode::phase_arrive_expect, as_index(site, bytes.value()), this);
}
void PhaseBarrier::expect(const Operand& bytes) const {
  const Site site{"expect", bytes.where()};
  emit_sync(site, SyncCode::phase_expect, as_index(site, bytes.value()), this);
}
void PhaseBarrier::wait(const Operand& parity) const {
  const Site site{"wait", parity.where()};
  emit_sync(site, SyncCode::phase_wait, as_index(site, parity.value()), this);
}
Expr PhaseBarrier::try_wait(const Operand& parity) const {
  const Site site{"try_wait", parity.where()};
  const ir::Var over = ir::Var::make("over", bool_, parity.where());
  emit_sync(site, SyncCode::phase_try_wait, as_index(site, parity.value()), this, over);
  Trace::current(site).declare(over);
  return Expr(over);
}
void PhaseBarrier::arrive_on_copies(SourceLoc where) const {
  emit_sync({"arrive_on_copies", where}, SyncCode::phase_arrive_copies, {}, this);
}

// ---- bulk copies ----

void tma_load(const Region& src, const Region& dst, const PhaseBarrier& barrier,
              const TmaOptions& options) {
  const Site site{"tma_load", src.where()};
  if (!barrier.buffer()) {
    throw Error(codes::copy_05, site.where, "tma_load: without a barrier nobody can wait for it")
        .help("make one with barrier({{1}}), and wait for its phase");
  }
  tma(site, src, dst, &barrier, ir::CopyFold::none, options);
}
void tma_store(const Region& src, const Region& dst, const TmaOptions& options) {
  tma({"tma_store", src.where()}, src, dst, nullptr, ir::CopyFold::none, options);
}
void tma_reduce(ReduceKind op, const Region& src, const Region& dst, const TmaOptions& options) {
  const Site site{"tma_reduce", src.where()};
  const bool adds = op == ReduceKind::sum;
  const DType dtype = src.dtype();
  if (!adds && op != ReduceKind::min && op != ReduceKind::max) {
    throw Error({}, site.where, "tma_reduce: {} is not among its operations", ir::enum_name(op))
        .help("they are sum, min and max");
  }
  const bool integer = dtype == i32 || dtype == u32 || dtype == i64 || dtype == u64;
  const bool half = dtype == f16 || dtype == bf16;
  if (dtype.lanes > 1 || !(integer || half || (adds && dtype == f32))) {
    throw Error(codes::copy_06, site.where, "tma_reduce: {} of {}, which engines don't have",
                ir::enum_name(op), dtype)
        .help("use atomic_{}", adds ? "add" : ir::enum_name(op));
  }
  tma(site, src, dst, nullptr,
      adds                    ? ir::CopyFold::add
      : op == ReduceKind::min ? ir::CopyFold::min
                              : ir::CopyFold::max,
      options);
}
void tma_store_commit(SourceLoc where) {
  emit_sync({"tma_store_commit", where}, SyncCode::bulk_commit);
}
void tma_store_wait(int64_t n, SourceLoc where) {
  wait_for_groups({"tma_store_wait", where}, SyncCode::bulk_wait, n);
}
void tma_store_wait_read(int64_t n, SourceLoc where) {
  wait_for_groups({"tma_store_wait_read", where}, SyncCode::bulk_wait_read, n);
}
void proxy_fence(SourceLoc where) { emit_sync({"proxy_fence", where}, SyncCode::fence_engines); }

void wait_previous(SourceLoc where) {
  emit_sync({"wait_previous", where}, SyncCode::wait_previous);
}
void trigger_next(SourceLoc where) { emit_sync({"trigger_next", where}, SyncCode::trigger_next); }

}  // namespace lang
}  // namespace tw
