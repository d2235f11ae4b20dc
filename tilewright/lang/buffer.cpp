#include "tilewright/lang/buffer.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/annotate.h"
#include "tilewright/lang/operators.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

Ref Buffer::part(const std::vector<Index>& indices) const {
  return Ref(*this, indices, indices.empty() ? SourceLoc{} : indices[0].where());
}
Expr Buffer::extent(int dim) const { return Expr(buffer_.shape().at(static_cast<size_t>(dim))); }

// ---- elements ----

namespace {

/// A constant that counts from the end, as an index.
ir::Expr from_end(const ir::Expr& index, const ir::Expr& extent) {
  const auto known = ir::as_int(index);
  return known && *known < 0 ? ir::add(extent, index) : index;
}

/// A constant index that is certainly outside a buffer of the block is an error at once.
void check_inside(const Site& site, const ir::Buffer& buffer, size_t dim, const ir::Expr& begin,
                  int64_t count) {
  const auto first = ir::as_int(begin), extent = ir::as_int(buffer.shape()[dim]);
  if (buffer.space() == MemSpace::global || buffer.space() == MemSpace::workspace) return;
  if (!first || !extent || (*first >= 0 && *first + count <= *extent)) return;
  throw Error(codes::bnd_01, site.where, "{}: {} in dimension {}, which has {} elements", site.name,
              count == 1 ? format("index {}", *first)
                         : format("elements {} to {}", *first, *first + count - 1),
              dim, *extent);
}

}  // namespace

Ref::Ref(const Buffer& buffer, const std::vector<Index>& indices, SourceLoc where) : where_(where) {
  const ir::Buffer& b = buffer.ir();
  const Site site{b.name(), where};
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(b, site);
  if (indices.size() > b.shape().size()) {
    throw Error(codes::reg_02, where, "{}: {} indices, but it has {} dimensions", b.name(),
                indices.size(), b.rank());
  }
  region_.buffer = b;
  is_element_ = indices.size() == b.shape().size();
  for (size_t d = 0; d < b.shape().size(); ++d) {
    const ir::Expr& shape = b.shape()[d];
    ir::Expr begin = ir::index(0), extent;
    if (d < indices.size() && !indices[d].is_range()) {
      begin = from_end(as_index(site, indices[d].value()), shape);
      extent = ir::index(1);
    } else {
      is_element_ = false;
      if (d < indices.size() && indices[d].begin()) begin = from_end(indices[d].begin(), shape);
      if (d < indices.size()) extent = indices[d].extent();
      if (!extent) extent = ir::sub(shape, begin);
    }
    if (const auto count = ir::as_int(extent)) check_inside(site, b, d, begin, *count);
    region_.begin.push_back(begin);
    region_.extent.push_back(extent);
  }
  if (!is_element_) return;
  region_.extent.clear();
  if (b.space() != MemSpace::reducer) load_ = trace.load(b, region_.begin, false, where);
}

Expr Ref::value() const {
  if (region_.buffer.space() == MemSpace::reducer) {
    throw Error(codes::rdc_01, where_, "{}: a reducer can't be read", region_.buffer.name())
        .help("finalize it into a buffer and read that");
  }
  if (!is_element_) {
    throw Error({}, where_, "{}: a part of {} elements is used as a value", region_.buffer.name(),
                extents_text(region_.extent))
        .help("give an index for each of the {} dimensions, or load the part as a tile",
              region_.buffer.rank());
  }
  return Expr(load_);
}

void check_writable(const Site& site, const ir::Buffer& buffer) {
  const ir::Buffer root = buffer.root();
  if (!Trace::current(site).is_input(root)) return;
  throw Error(codes::prog_07, site.where, "{}: {} is an input, it can't be written", site.name,
              root.name())
      .help("declare it with k.inout or k.output");
}

void store_element(const Site& site, const ir::Region& element, const Expr& value) {
  const ir::Buffer& buffer = element.buffer;
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(buffer, site);
  check_writable(site, buffer);
  if (buffer.space() == MemSpace::reducer) {
    throw Error(codes::rdc_01, site.where, "{}: a reducer can't be written", buffer.name())
        .help("write update({}(...), value)", buffer.name());
  }
  std::vector<ir::Expr> parts = element.begin;
  parts.push_back(as_stored(site, value, buffer.dtype()));
  parts = trace.settle(site.where, parts);
  const ir::Expr stored = parts.back();
  parts.pop_back();
  trace.emit(ir::make<ir::Store>(site.where, [&](ir::Store& n) {
    n.buffer = buffer;
    n.indices = parts;
    n.value = stored;
    n.unchecked = element.unchecked;
  }));
}

Ref& Ref::operator=(const Operand& value) {
  if (!is_element_) {
    throw Error({}, where_, "{}: a value is assigned to a part of {} elements",
                region_.buffer.name(), extents_text(region_.extent))
        .help("use fill, copy or store");
  }
  store_element({region_.buffer.name(), where_}, region_, value.value());
  return *this;
}
#define TW_DEFINE(symbol, function)                         \
  Ref& Ref::operator symbol(const Operand & value) {        \
    return *this = function(Operand(*this, where_), value); \
  }
TW_ASSIGNMENTS(TW_DEFINE)
#undef TW_DEFINE

Expr::Expr(const Ref& element) : Expr(element.value()) {}
Operand::Operand(const Ref& element, SourceLoc where) : value_(element.value()), where_(where) {}

// ---- variables ----

Expr Variable::value(SourceLoc where) const {
  const Site site{buffer_.name(), where};
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(buffer_, site);
  return Expr(trace.load(buffer_, {}, false, where));
}
Expr::Expr(const Variable& variable, SourceLoc where) : Expr(variable.value(where)) {}
Operand::Operand(const Variable& variable, SourceLoc where)
    : value_(variable.value(where)), where_(where) {}

Variable& Variable::operator=(const Operand& value) {
  store_element({buffer_.name(), value.where()}, ir::Region::whole(buffer_), value.value());
  return *this;
}
Variable& Variable::operator=(const Variable& other) {
  const SourceLoc where = buffer_.loc();  // C++ tells no line here: that of the declaration
  return *this = Operand(other.value(where), where);
}
#define TW_DEFINE(symbol, function)                                \
  Variable& Variable::operator symbol(const Operand & value) {     \
    return *this = function(Operand(*this, value.where()), value); \
  }
TW_ASSIGNMENTS(TW_DEFINE)
#undef TW_DEFINE

// ---- allocation ----

void check_packed(const Site& site, DType dtype, const std::vector<ir::Expr>& shape) {
  if (!dtype.is_sub_byte() || shape.empty()) return;
  const auto innermost = ir::as_int(shape.back());
  if (!innermost || *innermost % 2 == 0) return;
  throw Error(codes::type_08, site.where,
              "{}: {} has two elements a byte, the innermost extent {} must be even", site.name,
              dtype, *innermost);
}

namespace {

/// Static shared memory is limited on every target that has it.
void check_static(const Site& site, Trace& trace, DType dtype,
                  const std::vector<ir::Expr>& extents) {
  constexpr int64_t kLimit = 48 * 1024;
  int64_t bits = dtype.bits();
  for (const ir::Expr& e : extents) bits *= *ir::as_int(e);
  trace.static_bytes += (bits + 7) / 8;
  if (trace.static_bytes <= kLimit) return;
  throw Error(codes::mem_03, site.where, "{}: {:.1f} KiB of static shared memory, limit 48",
              site.name, static_cast<double>(trace.static_bytes) / 1024)
      .help("use shared for the larger buffers");
}

}  // namespace

Buffer allocate_block(MemSpace space, const Site& site, DType dtype, const Extents& shape,
                      std::string_view name) {
  Trace& trace = Trace::in_launch(site);
  const bool block_wide = space != MemSpace::local && space != MemSpace::variable;
  if (block_wide && trace.inside(ScopeKind::parallel)) {
    throw Error(codes::loop_04, site.where, "{}: {} is allocated inside a parallel loop", site.name,
                name)
        .help("allocate it before the loop, or use local or var");
  }
  std::vector<ir::Expr> extents;
  for (const Expr& e : shape) {
    const auto known = ir::as_int(e.ir());
    if (!known || *known < 1) {
      throw Error(codes::mem_01, site.where,
                  "{}: {} has an extent that is {}, it must be a constant of 1 or more", site.name,
                  name, known ? std::to_string(*known) : "not known while tracing")
          .help("pass the size as a C++ integer or with k.constant");
    }
    extents.push_back(ir::index(*known));
  }
  if (extents.size() > 8 || (extents.empty() && space != MemSpace::variable)) {
    throw Error(codes::mem_01, site.where, "{}: {} has {} dimensions, it must have 1 to 8",
                site.name, name, extents.size())
        .help("write a single element as the shape {{1}}");
  }
  check_packed(site, dtype, extents);
  if (space == MemSpace::shared_static) check_static(site, trace, dtype, extents);
  const Buffer buffer(
      trace.allocate(space, dtype, std::move(extents), std::string(name), site.where));
  const auto* layout = find_setting(trace.schedule().layouts, name);
  if (layout != nullptr) fix_layout(buffer, layout->text, layout->where);
  return buffer;
}

Buffer shared(DType dtype, const Extents& shape, std::string_view name, SourceLoc where) {
  return allocate_block(MemSpace::shared, {"shared", where}, dtype, shape, name);
}
Buffer shared_static(DType dtype, const Extents& shape, std::string_view name, SourceLoc where) {
  return allocate_block(MemSpace::shared_static, {"shared_static", where}, dtype, shape, name);
}
Buffer fragment(DType dtype, const Extents& shape, std::string_view name, SourceLoc where) {
  return allocate_block(MemSpace::fragment, {"fragment", where}, dtype, shape, name);
}
Buffer local(DType dtype, const Extents& shape, std::string_view name, SourceLoc where) {
  return allocate_block(MemSpace::local, {"local", where}, dtype, shape, name);
}

Variable var(DType dtype, const Operand& initial, std::string_view name) {
  const Site site{"var", initial.where()};
  Trace& trace = Trace::in_launch(site);
  const ir::Expr value = trace.settle(site.where, as_stored(site, initial.value(), dtype));
  return Variable(
      trace.allocate(MemSpace::variable, dtype, {}, std::string(name), site.where, value));
}
Variable var(DType dtype, SourceLoc where) {
  return Variable(allocate_block(MemSpace::variable, {"var", where}, dtype, {}, "var").ir());
}

Expr let(const Operand& value, std::string_view name) {
  Trace& trace = Trace::in_launch({"let", value.where()});
  const ir::Expr settled = trace.settle(value.where(), value.value().typed());
  const ir::Var var = ir::Var::make(std::string(name), settled.dtype(), value.where());
  trace.emit(ir::let(var, settled));
  trace.declare(var);
  return Expr(var);
}

}  // namespace lang
}  // namespace tw
