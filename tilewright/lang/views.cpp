// Views: buffers that are other names for the storage of a buffer, or for memory at an address.
#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/blocks.h"
#include "tilewright/lang/buffer.h"
#include "tilewright/lang/tile_ops.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

namespace {

/// An expression of a declaration: settled, and bound if it reads memory, since a declaration is
/// evaluated wherever the view is used.
ir::Expr fixed(Trace& trace, const ir::Expr& e, SourceLoc where) {
  const ir::Expr settled = trace.settle(where, e);
  if (!ir::has_load(settled)) return settled;
  return let(Operand(Expr(settled), where)).ir();
}

/// A view in the making; its buffer is declared by `finish`.
struct View {
  ir::Buffer of;
  DType dtype;
  std::vector<ir::Expr> shape, strides;  // no strides: compact
  ir::Expr offset = ir::index(0);        // in elements of the view, in the root's storage
  ir::Expr peer = {};                    // null: as of the buffer

  Buffer finish(const Site& site) {
    Trace& trace = Trace::in_launch(site);
    trace.check_visible(of, site);
    if (of.space() == MemSpace::reducer) {
      throw Error(codes::rdc_01, site.where, "{}: {} is a reducer, it can't be viewed", site.name,
                  of.name());
    }
    check_packed(site, dtype, shape);
    for (auto* list : {&shape, &strides}) {
      for (ir::Expr& e : *list) e = fixed(trace, e, site.where);
    }
    offset = fixed(trace, offset, site.where);
    if (peer) peer = fixed(trace, peer, site.where);
    const ir::Buffer view = ir::make<ir::BufferNode>(site.where, [&](ir::BufferNode& n) {
      n.name = of.name() + "_" + std::string(site.name.substr(0, site.name.find('_')));
      n.dtype = dtype;
      n.space = of.space();
      n.shape = shape;
      n.strides = strides;
      n.view_of = of;
      n.peer = peer ? peer : of->peer;
      if (!ir::is_int(offset, 0)) n.offset = offset;
    });
    trace.allocate(view);
    return Buffer(view);
  }
};

ir::Expr offset_of(const ir::Buffer& buffer) {
  return buffer->offset ? buffer->offset : ir::index(0);
}

/// Whether the elements follow one another in row-major order.
bool is_compact(const ir::Buffer& buffer) {
  if (buffer->strides.empty()) return true;
  int64_t expected = 1;
  for (size_t d = buffer.shape().size(); d-- > 0;) {
    const auto stride = ir::as_int(buffer->strides[d]), extent = ir::as_int(buffer.shape()[d]);
    if (!extent || (*extent != 1 && stride != expected)) return false;
    expected *= *extent;
  }
  return true;
}

/// The number of elements, if it is known.
std::optional<int64_t> count(const std::vector<ir::Expr>& shape) {
  int64_t product = 1;
  for (const ir::Expr& e : shape) {
    const auto known = ir::as_int(e);
    if (!known) return std::nullopt;
    product *= *known;
  }
  return product;
}

std::vector<ir::Expr> view_shape(const Site& site, const ir::Buffer& buffer, const Extents& shape) {
  std::vector<ir::Expr> extents;
  for (const Expr& e : shape) {
    extents.push_back(as_index(site, e));
    const auto known = ir::as_int(extents.back());
    const bool block = buffer.space() != MemSpace::global && buffer.space() != MemSpace::workspace;
    if (known ? *known >= (block ? 1 : 0) : !block) continue;
    throw Error(codes::mem_01, site.where,
                "{}: the view of {} has an extent that is {}, it must be a constant of 1 or more",
                site.name, buffer.name(),
                known ? std::to_string(*known) : "not known while tracing");
  }
  return extents;
}

/// The view's offset in elements of another type.
ir::Expr rescaled(const Site& site, const ir::Buffer& buffer, DType dtype) {
  const ir::Expr offset = offset_of(buffer);
  const int from = buffer.dtype().bits(), to = dtype.bits();
  if (from >= to && from % to == 0) return ir::mul(offset, ir::index(from / to));
  const auto known = ir::as_int(offset);
  if (known && *known * from % to == 0) return ir::index(*known * from / to);
  throw Error(codes::view_02, site.where, "{}: {} does not begin at an element of {}", site.name,
              buffer.name(), dtype);
}

void require_compact(const Site& site, const Code& code, const ir::Buffer& buffer) {
  if (is_compact(buffer)) return;
  throw Error(code, site.where, "{}: {} is not compact", site.name, buffer.name())
      .help("give strides, or copy it into a compact buffer");
}

}  // namespace

Buffer reshape(const Buffer& buffer, const Extents& shape, SourceLoc where) {
  const Site site{"reshape", where};
  const ir::Buffer& b = buffer.ir();
  require_compact(site, codes::view_01, b);
  const auto extents = view_shape(site, b, shape);
  const auto from = count(b.shape()), to = count(extents);
  if (from && to && *from != *to) {
    throw Error(codes::view_01, where, "reshape: {} has {} elements, {} has {}", b.name(), *from,
                extents_text(extents), *to);
  }
  return View{b, b.dtype(), extents, {}, offset_of(b)}.finish(site);
}

Buffer view(const Buffer& buffer, DType dtype, const Extents& shape, SourceLoc where) {
  const Site site{"view", where};
  const ir::Buffer& b = buffer.ir();
  require_compact(site, codes::view_02, b);
  const auto extents = view_shape(site, b, shape);
  const auto from = count(b.shape()), to = count(extents);
  if (from && to && *from * b.dtype().bits() != *to * dtype.bits()) {
    throw Error(codes::view_02, where, "view: {} has {} bits, {} of {} has {}", b.name(),
                *from * b.dtype().bits(), extents_text(extents), dtype, *to * dtype.bits());
  }
  return View{b, dtype, extents, {}, rescaled(site, b, dtype)}.finish(site);
}

Buffer view(const Buffer& buffer, DType dtype, const Extents& shape, const Extents& strides,
            SourceLoc where) {
  const Site site{"view", where};
  const ir::Buffer& b = buffer.ir();
  require_compact(site, codes::view_03, b);
  const auto extents = view_shape(site, b, shape);
  if (strides.size() != shape.size()) {
    throw Error(codes::view_03, where, "view: {} strides for {} dimensions", strides.size(),
                shape.size());
  }
  std::vector<ir::Expr> steps;
  std::optional<int64_t> last = 0;  // index of the last element, while all is known
  for (size_t d = 0; d < strides.size(); ++d) {
    steps.push_back(as_index(site, strides[d]));
    const auto stride = ir::as_int(steps[d]), extent = ir::as_int(extents[d]);
    if (stride && *stride < 0) {
      throw Error(codes::view_03, where, "view: stride {} of dimension {} is negative", *stride, d);
    }
    last = last && stride && extent ? std::optional(*last + (*extent - 1) * *stride) : std::nullopt;
  }
  const auto available = count(b.shape());
  if (last && available && (*last + 1) * dtype.bits() > *available * b.dtype().bits()) {
    throw Error(codes::view_03, where, "view: it reaches element {}, {} has {} of {}", *last,
                b.name(), *available * b.dtype().bits() / dtype.bits(), dtype);
  }
  return View{b, dtype, extents, steps, rescaled(site, b, dtype)}.finish(site);
}

Buffer transpose_view(const Buffer& buffer, const std::vector<int>& perm, SourceLoc where) {
  const Site site{"transpose_view", where};
  const ir::Buffer& b = buffer.ir();
  if (b.space() == MemSpace::fragment) {
    throw Error(codes::view_04, where, "transpose_view: {} is a fragment", b.name())
        .help("write transpose({}, other), which moves the elements", b.name());
  }
  std::vector<int> sorted = perm;
  std::ranges::sort(sorted);
  bool valid = static_cast<int>(perm.size()) == b.rank();
  for (size_t d = 0; valid && d < perm.size(); ++d) valid = sorted[d] == static_cast<int>(d);
  if (!valid) {
    throw Error({}, where,
                "transpose_view: the permutation must name each of the {} dimensions of {} once",
                b.rank(), b.name());
  }
  View view{b, b.dtype(), {}, {}, offset_of(b)};
  const auto strides = ir::strides_of(b);
  for (const int d : perm) {
    view.shape.push_back(b.shape()[static_cast<size_t>(d)]);
    view.strides.push_back(strides[static_cast<size_t>(d)]);
  }
  return view.finish(site);
}

Buffer slice_view(const Region& region) {
  const Site site{"slice_view", region.where()};
  const ir::Buffer& b = region.buffer();
  if (region.is_base()) {
    throw Error({}, site.where, "slice_view: {} is one element, give extents", b.name());
  }
  const bool block = b.space() != MemSpace::global && b.space() != MemSpace::workspace;
  if (block) constant_extents(site, region);
  View view{b, b.dtype(), {}, ir::strides_of(b), offset_of(b)};
  for (size_t d = 0; d < b.shape().size(); ++d) {
    const ir::Expr &begin = region.ir().begin[d], &shape = b.shape()[d];
    ir::Expr extent = region.ir().extent[d];
    view.offset = ir::add(view.offset, ir::mul(begin, view.strides[d]));
    const auto first = ir::as_int(begin), n = ir::as_int(extent), whole = ir::as_int(shape);
    const bool inside = (first && n && whole && *first >= 0 && *first + *n <= *whole) ||
                        (ir::is_int(begin, 0) && extent.same_as(shape));
    if (!block && !inside) {  // what is outside the tensor is outside the view
      extent = ir::max(ir::index(0), ir::min(extent, ir::sub(shape, begin)));
      if (!first || *first < 0)
        extent = ir::select(ir::lt(begin, ir::index(0)), ir::index(0), extent);
    }
    view.shape.push_back(extent);
  }
  return view.finish(site);
}

Buffer remote(const Buffer& buffer, const Operand& rank) {
  const Site site{"remote", rank.where()};
  const ir::Buffer& b = buffer.ir();
  int64_t blocks = 1;
  for (const int64_t extent : Trace::in_launch(site).cluster) blocks *= extent;
  if (blocks == 1) {
    throw Error({}, site.where, "remote: the launch has no clusters, {} is this block's alone",
                b.name())
        .help("give .cluster in the options of k.launch, or in the schedule");
  }
  if (b.space() != MemSpace::shared) {
    throw Error({}, site.where, "remote: {} is in {} memory, other blocks reach shared memory",
                b.name(), ir::enum_name(b.space()));
  }
  const ir::Expr peer = as_index(site, rank.value());
  if (const auto known = ir::as_int(peer); known && (*known < 0 || *known >= blocks)) {
    throw Error({}, site.where, "remote: there is no block {} in a cluster of {}", *known, blocks);
  }
  return View{b, b.dtype(), b.shape(), b->strides, offset_of(b), peer}.finish(site);
}

namespace {

Buffer at_address(const Site& site, DType dtype, const Extents& shape, const Extents& strides,
                  const std::function<void(ir::BufferNode&)>& where_it_is) {
  Trace& trace = Trace::in_launch(site);
  if (!strides.empty() && strides.size() != shape.size()) {
    throw Error({}, site.where, "view_at: {} strides for {} dimensions", strides.size(),
                shape.size());
  }
  const auto settle_all = [&](const Extents& list) {
    std::vector<ir::Expr> result;
    for (const Expr& e : list) result.push_back(fixed(trace, as_index(site, e), site.where));
    return result;
  };
  const auto extents = settle_all(shape), steps = settle_all(strides);
  check_packed(site, dtype, extents);
  const ir::Buffer view = ir::make<ir::BufferNode>(site.where, [&](ir::BufferNode& n) {
    n.name = "tensor";
    n.dtype = dtype;
    n.shape = extents;
    n.strides = steps;
    where_it_is(n);
  });
  trace.allocate(view);
  return Buffer(view);
}

}  // namespace

Buffer view_at(const Operand& address, DType dtype, const Extents& shape, const Extents& strides,
               int64_t align) {
  const Site site{"view_at", address.where()};
  const DType type = address.value().dtype();
  if (type != i64 && type != u64) {
    throw Error(codes::type_06, site.where, "view_at: the address is {}, it must be u64 or i64",
                type);
  }
  Trace& trace = Trace::in_launch(site);
  const ir::Expr fixed_address = fixed(trace, address.value().ir(), site.where);
  return at_address(site, dtype, shape, strides, [&](ir::BufferNode& n) {
    n.address = fixed_address;
    n.align = align;
  });
}

Buffer view_at(const Buffer& pointer, const Extents& shape, const Extents& strides,
               SourceLoc where) {
  const Site site{"view_at", where};
  Trace::in_launch(site).check_visible(pointer.ir(), site);
  return at_address(site, pointer.dtype(), shape, strides,
                    [&](ir::BufferNode& n) { n.view_of = pointer.ir(); });
}

}  // namespace lang
}  // namespace tw
