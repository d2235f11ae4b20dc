#include "tilewright/lang/reduce.h"

#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/lang/tile_ops.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

namespace {

/// `reduce_sum`, for messages.
std::string name_of(ReduceKind kind) {
  if (kind == ReduceKind::any || kind == ReduceKind::all)
    return std::string(ir::enum_name(kind)) + "_of";
  return "reduce_" + std::string(ir::enum_name(kind));
}

void check_not_global(const Site& site, const Region& region) {
  const MemSpace space = region.buffer().space();
  if (space != MemSpace::global && space != MemSpace::workspace) return;
  throw Error(codes::red_01, site.where, "{}: {} is in {} memory", site.name,
              region.buffer().name(), ir::enum_name(space))
      .help("copy it into a fragment first");
}

int64_t dim_of(const Site& site, int dim, size_t rank) {
  const auto n = static_cast<int>(rank);
  if (dim >= -n && dim < n) return dim < 0 ? dim + n : dim;
  throw Error(codes::red_02, site.where, "{}: dimension {} of {} dimensions", site.name, dim, rank);
}

bool is_bitwise(ReduceKind kind) {
  return kind == ReduceKind::bit_and || kind == ReduceKind::bit_or || kind == ReduceKind::bit_xor;
}

void check_kind(const Site& site, ReduceKind kind, const Region& src, const Region& dst) {
  const DType from = src.dtype(), to = dst.dtype();
  if (ir::has_reduction(kind, from, to)) return;
  throw Error(codes::red_05, site.where, "{}: not available from {} to {}", site.name, from, to)
      .note("the source is {}", src.text())
      .note("the result is {}", dst.text())
      .help("cast the source first, or give the result another type");
}

/// Whether dst is src with each of the dims removed or 1; extents of 1 beside them are ignored.
bool shapes_match(const std::vector<int64_t>& src, const std::vector<int64_t>& dst,
                  const std::vector<int64_t>& dims) {
  std::vector<int64_t> kept;
  for (size_t d = 0; d < src.size(); ++d) {
    const bool folded = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
    if (!folded && src[d] != 1) kept.push_back(src[d]);
  }
  std::vector<int64_t> result;
  std::ranges::copy_if(dst, std::back_inserter(result), [](int64_t extent) { return extent != 1; });
  return kept == result;
}

/// Results are exchanged in groups of `batch`.
void check_batch(const Site& site, int64_t batch, const std::vector<int64_t>& results) {
  int64_t count = 1;
  for (const int64_t extent : results) count *= extent;
  if (batch == 0 || (batch > 0 && count % batch == 0)) return;
  throw Error(codes::red_04, site.where, "{}: batch is {}, it must divide the {} results",
              site.name, batch, count);
}

bool share_memory(const Region& a, const Region& b) {
  return a.buffer().root().same_as(b.buffer().root());
}

}  // namespace

void reduce(ReduceKind kind, const Region& src, const Region& dst, const std::vector<int>& dims,
            const ReduceOptions& options) {
  const std::string name = name_of(kind);
  const Site site{name, src.where()};
  check_not_global(site, src);
  check_not_global(site, dst);
  check_kind(site, kind, src, dst);
  const std::vector<int64_t> shape = constant_extents(site, src);
  std::vector<int64_t> folded;
  for (const int d : dims) folded.push_back(dim_of(site, d, shape.size()));
  std::ranges::sort(folded);
  if (std::ranges::adjacent_find(folded) != folded.end()) {
    throw Error(codes::red_02, site.where, "{}: dimension {} is given twice", site.name,
                *std::ranges::adjacent_find(folded));
  }
  Region result = dst;
  if (dst.is_base()) {  // one element, as in s(i)
    ir::Region element = dst.ir();
    element.extent.assign(element.begin.size(), ir::index(1));
    result = Region(std::move(element), false, dst.where());
  }
  if (!shapes_match(shape, constant_extents(site, result), folded)) {
    throw Error(codes::red_03, site.where, "{}: {} along {} does not give {}", site.name, shape,
                folded, extents_text(result.ir().extent))
        .note("the source is {}", src.text())
        .note("the result is {}", dst.text());
  }
  check_batch(site, options.batch, constant_extents(site, result));
  if (share_memory(src, dst)) {
    throw Error(codes::red_06, site.where, "{}: source and result are both {}", site.name,
                src.buffer().root().name())
        .help("reduce into another buffer");
  }
  const auto regions = settle_regions(site, {src, result});
  Trace::current(site).emit(ir::make<ir::Reduce>(site.where, [&](ir::Reduce& n) {
    n.reduce = kind;
    n.src = regions[0];
    n.dst = regions[1];
    n.dims = folded;
    n.clear = options.clear;
    n.propagate_nan = options.propagate_nan;
    n.low_precision = options.low_precision;
    n.batch = options.batch;
  }));
}

void scan(ScanKind kind, const Region& src, const Region& dst, int dim,
          const ScanOptions& options) {
  const std::string name = "cum" + std::string(ir::enum_name(kind));
  const Site site{name, src.where()};
  check_not_global(site, src);
  check_not_global(site, dst);
  if (src.dtype() != dst.dtype() || src.dtype().is_bool() || src.dtype().is_narrow_float()) {
    throw Error(codes::red_07, site.where, "{}: not available from {} to {}", site.name,
                src.dtype(), dst.dtype())
        .help("source and result need one type: an integer, f16, bf16, f32 or f64");
  }
  const std::vector<int64_t> shape = constant_extents(site, src);
  const int64_t along = dim_of(site, dim, shape.size());
  if (shape != constant_extents(site, dst)) {
    throw Error(codes::red_03, site.where, "{}: the source is {}, the result {}", site.name, shape,
                extents_text(dst.ir().extent));
  }
  const auto regions = settle_regions(site, {src, dst});
  Trace::current(site).emit(ir::make<ir::Scan>(site.where, [&](ir::Scan& n) {
    n.scan = kind;
    n.src = regions[0];
    n.dst = regions[1];
    n.dim = along;
    n.reverse = options.reverse;
    n.exclusive = options.exclusive;
  }));
}

namespace {

Expr predicate(ReduceKind kind, const Region& region) {
  const std::string name = name_of(kind);
  const Site site{name, region.where()};
  Trace& trace = Trace::in_launch(site);
  const Variable result(trace.allocate(MemSpace::variable, bool_, {}, name, site.where));
  std::vector<int> dims;
  for (int d = 0; d < region.rank(); ++d) dims.push_back(d);
  reduce(kind, region, Region(result, site.where), dims);
  return result.value(site.where);
}

}  // namespace

Expr any_of(const Region& region) { return predicate(ReduceKind::any, region); }
Expr all_of(const Region& region) { return predicate(ReduceKind::all, region); }

// ---- reducers ----

namespace {

bool& epoch(const Site& site, const ir::Buffer& buffer) {
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(buffer, site);
  if (buffer.space() != MemSpace::reducer) {
    throw Error({}, site.where, "{}: {} is in {}, it must be a reducer", site.name, buffer.name(),
                ir::enum_name(buffer.space()));
  }
  return trace.epochs[buffer];
}

void start_epoch(const Site& site, const Buffer& reducer, const ir::Expr& initial) {
  check_regions(site, {});
  epoch(site, reducer.ir()) = true;
  Trace& trace = Trace::current(site);
  const ir::Expr settled = trace.settle(site.where, initial);
  trace.emit(ir::make<ir::ReducerInit>(site.where, [&](ir::ReducerInit& n) {
    n.reducer = reducer.ir();
    n.initial = settled;
  }));
}

}  // namespace

Buffer reducer(DType dtype, const Extents& shape, ReduceKind kind, std::string_view name,
               SourceLoc where) {
  const bool bitwise = is_bitwise(kind);
  const bool arithmetic =
      kind == ReduceKind::sum || kind == ReduceKind::max || kind == ReduceKind::min;
  if ((!bitwise && !arithmetic) || dtype.is_narrow_float() || (bitwise && dtype.is_float()) ||
      (arithmetic && dtype.is_bool())) {
    throw Error(codes::red_05, where, "reducer: {} is not available on {}", ir::enum_name(kind),
                dtype)
        .note(
            "there are sum, max and min on numbers, bit_and, bit_or and bit_xor on integers and "
            "bool");
  }
  const Buffer buffer =
      allocate_block(ir::MemSpace::reducer, {"reducer", where}, dtype, shape, name);
  Trace& trace = Trace::current({"reducer", where});
  trace.annotate(buffer.ir(), [&](ir::BufferNode& n) { n.reduce = kind; });
  trace.epochs[buffer.ir()] = false;
  return buffer;
}

void init(const Buffer& reducer, SourceLoc where) { start_epoch({"init", where}, reducer, {}); }
void init(const Buffer& reducer, const Operand& initial) {
  const Site site{"init", initial.where()};
  start_epoch(site, reducer, as_stored(site, initial.value(), reducer.dtype()));
}

void update(const Ref& element, const Operand& value) {
  const Site site{"update", element.where()};
  const ir::Buffer& reducer = element.region().buffer;
  if (!epoch(site, reducer)) {
    throw Error(codes::rdc_02, site.where, "update: the epoch of {} is not open", reducer.name())
        .help("write init({}) before it", reducer.name());
  }
  if (!element.is_element()) {
    throw Error({}, site.where, "update: {} of {} is no element",
                extents_text(element.region().extent), reducer.name());
  }
  Trace& trace = Trace::current(site);
  std::vector<ir::Expr> parts = element.region().begin;
  parts.push_back(as_stored(site, value.value(), reducer.dtype()));
  parts = trace.settle(site.where, parts);
  trace.emit(ir::make<ir::ReducerUpdate>(site.where, [&](ir::ReducerUpdate& n) {
    n.reducer = reducer;
    n.indices.assign(parts.begin(), parts.end() - 1);
    n.value = parts.back();
  }));
}

void finalize(const Buffer& reducer, const Region& dst, SourceLoc where) {
  const Site site{"finalize", where};
  bool& open = epoch(site, reducer.ir());
  if (!open) {
    throw Error(codes::rdc_03, where, "finalize: the epoch of {} is not open", reducer.name())
        .help("write init({}) before the updates", reducer.name());
  }
  open = false;
  check_writable(site, dst.buffer());
  const Region whole(ir::Region::whole(reducer.ir()), false, where);
  const ir::Region to = settle_regions(site, {match_extents(site, whole, dst).second})[0];
  Trace::current(site).emit(ir::make<ir::ReducerFinalize>(where, [&](ir::ReducerFinalize& n) {
    n.reducer = reducer.ir();
    n.dst = to;
  }));
}

}  // namespace lang
}  // namespace tw
