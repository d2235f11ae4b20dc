#include "tilewright/lang/tile_ops.h"

#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/buffer.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/operators.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

void check_regions(const Site& site, const std::vector<Region>& regions) {
  const Trace& trace = Trace::in_launch(site);
  if (const Scope* loop = trace.enclosing(ScopeKind::parallel)) {
    throw Error(codes::loop_04, site.where, "{}: a tile operation inside a parallel loop",
                site.name)
        .note("the parallel loop is at {}", loop->where.text())
        .help("move it before or after the loop, or write its element form");
  }
  for (const Region& r : regions) {
    trace.check_visible(r.buffer(), site);
    if (r.buffer().space() != MemSpace::reducer) continue;
    throw Error(codes::rdc_01, site.where, "{}: {} is a reducer", site.name, r.buffer().name())
        .help("finalize it into a buffer and use that");
  }
}

std::vector<ir::Region> settle_regions(const Site& site, const std::vector<Region>& regions) {
  check_regions(site, regions);
  std::vector<ir::Expr> bounds;
  for (const Region& r : regions) {
    bounds.insert(bounds.end(), r.ir().begin.begin(), r.ir().begin.end());
    bounds.insert(bounds.end(), r.ir().extent.begin(), r.ir().extent.end());
  }
  bounds = Trace::current(site).settle(site.where, bounds);
  std::vector<ir::Region> result;
  auto next = bounds.begin();
  for (const Region& r : regions) {
    ir::Region settled = r.ir();
    for (ir::Expr& e : settled.begin) e = *next++;
    for (ir::Expr& e : settled.extent) e = *next++;
    result.push_back(std::move(settled));
  }
  return result;
}

namespace {

/// Whether two extents are certainly different.
bool differ(const ir::Expr& a, const ir::Expr& b) {
  const auto x = ir::as_int(a), y = ir::as_int(b);
  return x && y && *x != *y;
}

std::vector<ir::Expr> without_ones(const std::vector<ir::Expr>& extents) {
  std::vector<ir::Expr> rest;
  for (const ir::Expr& e : extents) {
    if (!ir::is_int(e, 1)) rest.push_back(e);
  }
  return rest;
}

[[noreturn]] void extents_differ(const Site& site, const Region& src, const Region& dst) {
  throw Error(codes::copy_01, site.where, "{}: the source is {}, the destination {}", site.name,
              extents_text(src.ir().extent), extents_text(dst.ir().extent))
      .note("the source is {}", src.text())
      .note("the destination is {}", dst.text());
}

/// A base with the extents of the other side, aligned at the last dimension.
Region with_extents(const Site& site, const Region& base, const Region& other) {
  ir::Region region = base.ir();
  std::vector<ir::Expr> extents = other.ir().extent;
  while (extents.size() > region.begin.size() && ir::is_int(extents[0], 1)) {
    extents.erase(extents.begin());
  }
  if (extents.size() > region.begin.size()) {
    throw Error(codes::copy_01, site.where, "{}: {} elements don't fit the {} dimensions of {}",
                site.name, extents_text(extents), region.begin.size(), base.buffer().name());
  }
  extents.insert(extents.begin(), region.begin.size() - extents.size(), ir::index(1));
  region.extent = std::move(extents);
  return Region(std::move(region), false, base.where());
}

Region as_element(const Region& base) {
  ir::Region region = base.ir();
  region.extent.assign(region.begin.size(), ir::index(1));
  return Region(std::move(region), false, base.where());
}

}  // namespace

std::pair<Region, Region> match_extents(const Site& site, const Region& src, const Region& dst) {
  if (src.is_base() && dst.is_base()) return {as_element(src), as_element(dst)};
  if (src.is_base()) return {with_extents(site, src, dst), dst};
  if (dst.is_base()) return {src, with_extents(site, dst, src)};
  const auto a = without_ones(src.ir().extent), b = without_ones(dst.ir().extent);
  if (a.size() != b.size()) extents_differ(site, src, dst);
  for (size_t d = 0; d < a.size(); ++d) {
    if (differ(a[d], b[d])) extents_differ(site, src, dst);
  }
  return {src, dst};
}

std::vector<int64_t> constant_extents(const Site& site, const Region& region) {
  std::vector<int64_t> result;
  for (const ir::Expr& e : region.ir().extent) {
    const auto known = ir::as_int(e);
    if (!known) {
      throw Error(codes::reg_01, site.where, "{}: the extents of {} are {}, they must be constants",
                  site.name, region.buffer().name(), extents_text(region.ir().extent))
          .help("use a constant tile size; what is outside the tensor reads as its safe value");
    }
    result.push_back(*known);
  }
  return result;
}

// ---- copy ----

namespace {

void check_dtypes(const Site& site, const Region& src, const Region& dst) {
  if (cast_error(src.dtype(), dst.dtype()).text[0] == 0) return;
  throw Error(codes::copy_03, site.where, "{}: no conversion from {} to {}", site.name, src.dtype(),
              dst.dtype())
      .note("the source is {}", src.text())
      .note("the destination is {}", dst.text())
      .help("go through f32");
}

/// Two regions of one buffer that certainly share an element, and are not the same.
void check_overlap(const Site& site, const ir::Region& src, const ir::Region& dst) {
  if (!src.buffer.same_as(dst.buffer)) return;
  bool same = true;
  for (size_t d = 0; d < src.begin.size(); ++d) {
    const auto a = ir::as_int(src.begin[d]), b = ir::as_int(dst.begin[d]);
    const auto n = ir::as_int(src.extent[d]), m = ir::as_int(dst.extent[d]);
    if (src.begin[d].same_as(dst.begin[d])) continue;
    if (!a || !b || !n || !m || *a + *n <= *b || *b + *m <= *a) return;
    same = same && *a == *b;
  }
  if (same) return;
  throw Error(codes::copy_02, site.where, "{}: source and destination overlap in {}", site.name,
              src.buffer.name())
      .help("copy through another buffer");
}

void check_packed(const Site& site, const ir::Region& region) {
  if (!region.buffer.dtype().is_sub_byte() || region.begin.empty()) return;
  const auto begin = ir::as_int(region.begin.back()), extent = ir::as_int(region.extent.back());
  const auto odd = [](const std::optional<int64_t>& value) { return value && *value % 2 != 0; };
  if (!odd(begin) && !odd(extent)) return;
  throw Error(codes::copy_12, site.where,
              "{}: {} has two elements a byte, but the part begins at {} and has {} elements",
              site.name, region.buffer.name(), extents_text({region.begin.back()}),
              extents_text({region.extent.back()}))
      .help("use even begins and extents in the last dimension");
}

void check_hints(const Site& site, const Region& src, const Region& dst,
                 const CopyOptions& options) {
  if (options.no_tma && options.require == CopyMethod::tma) {
    throw Error(codes::copy_09, site.where, "{}: no_tma contradicts require = tma", site.name);
  }
  if (options.require != CopyMethod::automatic && options.prefer != CopyMethod::automatic &&
      options.require != options.prefer) {
    throw Error(codes::copy_09, site.where, "{}: prefer = {} contradicts require = {}", site.name,
                ir::enum_name(options.prefer), ir::enum_name(options.require));
  }
  const bool asynchronous =
      options.require == CopyMethod::cp_async || options.require == CopyMethod::tma;
  const auto is = [](const Region& r, MemSpace space) { return r.buffer().space() == space; };
  const bool load = is(src, MemSpace::global) && is(dst, MemSpace::shared);
  const bool store = is(src, MemSpace::shared) && is(dst, MemSpace::global);
  if (asynchronous && !load && !(store && options.require == CopyMethod::tma)) {
    throw Error(codes::copy_08, site.where, "{}: {} can't copy from {} to {}", site.name,
                ir::enum_name(options.require), ir::enum_name(src.buffer().space()),
                ir::enum_name(dst.buffer().space()))
        .help("copy between global and shared memory, or drop the demand");
  }
}

void emit_copy(const Site& site, const ir::Region& src, const ir::Region& dst, bool transposed,
               const CopyOptions& options) {
  Trace& trace = Trace::current(site);
  trace.emit(ir::make<ir::Copy>(site.where, [&](ir::Copy& n) {
    n.src = src;
    n.dst = dst;
    n.transpose = transposed;
    n.prefer = options.prefer;
    n.require = options.require;
    n.max_vector = options.max_vector != 0 ? options.max_vector : trace.schedule().max_vector;
    n.layout = options.layout;
    n.evict = options.evict;
    n.cache_global_only = options.cache_global_only;
    n.no_tma = options.no_tma;
  }));
}

}  // namespace

void copy(const Region& src, const Region& dst, const CopyOptions& options) {
  const Site site{"copy", src.where()};
  check_dtypes(site, src, dst);
  check_hints(site, src, dst, options);
  check_writable(site, dst.buffer());
  if (src.is_base() && dst.is_base()) {  // one element: a load and a store
    Trace& trace = Trace::in_launch(site);
    store_element(site, dst.ir(),
                  Expr(trace.load(src.buffer(), src.ir().begin, src.ir().unchecked, site.where)));
    return;
  }
  const auto [from, to] = match_extents(site, src, dst);
  const auto regions = settle_regions(site, {from, to});
  check_overlap(site, regions[0], regions[1]);
  for (const ir::Region& r : regions) check_packed(site, r);
  emit_copy(site, regions[0], regions[1], false, options);
}

void transpose(const Region& src, const Region& dst, const CopyOptions& options) {
  const Site site{"transpose", src.where()};
  check_dtypes(site, src, dst);
  check_hints(site, src, dst, options);
  check_writable(site, dst.buffer());
  const auto turned = [](const Region& r) {  // as the other side sees its extents
    ir::Region region = r.ir();
    if (region.extent.size() >= 2) std::swap(region.extent.end()[-1], region.extent.end()[-2]);
    return Region(std::move(region), r.is_base(), r.where());
  };
  if (src.rank() < 2 || dst.rank() < 2 || (src.is_base() && dst.is_base())) {
    throw Error(codes::copy_01, site.where, "transpose: both sides need two dimensions")
        .note("the source is {}", src.text())
        .note("the destination is {}", dst.text());
  }
  Region from = src, to = dst;
  if (src.is_base()) from = with_extents(site, src, turned(dst));
  if (dst.is_base()) to = with_extents(site, dst, turned(src));
  const auto& a = from.ir().extent;
  const auto& b = to.ir().extent;
  const auto lead_a = without_ones({a.begin(), a.end() - 2}),
             lead_b = without_ones({b.begin(), b.end() - 2});
  bool match = lead_a.size() == lead_b.size() && !differ(a.end()[-1], b.end()[-2]) &&
               !differ(a.end()[-2], b.end()[-1]);
  for (size_t d = 0; match && d < lead_a.size(); ++d) match = !differ(lead_a[d], lead_b[d]);
  if (!match) extents_differ(site, from, to);
  const auto regions = settle_regions(site, {from, to});
  emit_copy(site, regions[0], regions[1], true, options);
}

void copy_rows(const Region& tensor, const Region& index, const Region& tile) {
  const Site site{"copy_rows", tensor.where()};
  check_dtypes(site, tensor, tile);
  check_writable(site, tile.buffer());
  const std::vector<int64_t> shape = constant_extents(site, tile);
  const auto& from = tensor.ir().extent;
  bool match = !tensor.is_base() && !tile.is_base() && from.size() == 2 && shape.size() == 2 &&
               index.rank() == 1 && !differ(from[1], ir::index(shape[1]));
  if (match && !index.is_base()) match = !differ(index.ir().extent[0], ir::index(shape[0]));
  if (!match || tensor.buffer().space() != MemSpace::global) {
    throw Error(codes::copy_01, site.where, "copy_rows: the operands don't fit")
        .note("the tensor is {}", tensor.text())
        .note("the index list is {}", index.text())
        .note("the tile is {}", tile.text())
        .help(
            "they are a tensor [n, w] in global memory, a list [r] of integers and a tile [r, w]");
  }
  check_regions(site, {tensor, index, tile});
  Trace& trace = Trace::current(site);
  parallel(
      extents(shape),
      [&](Expr r, Expr c) {
        const auto at = [&](const Region& region, std::vector<Expr> offsets) {
          std::vector<ir::Expr> indices;
          for (size_t d = 0; d < offsets.size(); ++d) {
            indices.push_back(ir::add(region.ir().begin[d], as_index(site, offsets[d])));
          }
          return indices;
        };
        const Expr row = let(Operand(
            Expr(trace.load(index.buffer(), at(index, {r}), index.ir().unchecked, site.where)),
            site.where));
        const Expr value(trace.load(tensor.buffer(), at(tensor, {row, c}), false, site.where));
        ir::Region element = tile.ir();
        element.begin = at(tile, {r, c});
        element.extent.clear();
        store_element(site, element, value);
      },
      site.where);
}

// ---- fill ----

void fill(const Region& dst, const Operand& value) {
  const Site site{"fill", dst.where()};
  check_writable(site, dst.buffer());
  const Region region = dst.is_base() ? as_element(dst) : dst;
  const ir::Expr stored = as_stored(site, value.value(), dst.dtype());
  const ir::Region settled = settle_regions(site, {region})[0];
  Trace& trace = Trace::current(site);
  const ir::Expr settled_value = trace.settle(site.where, stored);
  trace.emit(ir::make<ir::Fill>(site.where, [&](ir::Fill& n) {
    n.dst = settled;
    n.value = settled_value;
  }));
}
void clear(const Region& dst) { fill(dst, Operand(0, dst.where())); }

}  // namespace lang
}  // namespace tw
