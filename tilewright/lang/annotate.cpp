#include "tilewright/lang/annotate.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/trace.h"
#include "tilewright/layout/parse.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

namespace {

bool is_tensor(const Buffer& buffer) { return buffer.ir().space() == MemSpace::global; }

void require_tensor(const Site& site, const Buffer& buffer) {
  if (is_tensor(buffer)) return;
  throw Error({}, site.where, "{}: {} is in {}, it must be a tensor", site.name, buffer.name(),
              ir::enum_name(buffer.ir().space()));
}

void annotate(const Site& site, const Buffer& buffer,
              const std::function<void(ir::BufferNode&)>& change) {
  Trace& trace = Trace::current(site);
  trace.check_visible(buffer.ir(), site);
  trace.annotate(buffer.ir(), change);
}

}  // namespace

void check_layout(const Site& site, const ir::Buffer& buffer, std::string_view text) {
  const auto fail = [&](const std::string& reason) {
    throw Error(codes::lay_10, site.where, "{}: the layout of {} {}", site.name, buffer.name(),
                reason)
        .note("the layout is {}", text);
  };
  std::vector<int64_t> shape;
  for (int d = 0; d < buffer.rank(); ++d) shape.push_back(buffer.extent(d));
  const auto parsed = [&] {
    try {
      return layout::parse_either(text);
    } catch (Error& error) {
      fail("can't be read: " + error.message());
      throw;
    }
  }();
  const bool is_fragment = buffer.space() == MemSpace::fragment;
  if (is_fragment != std::holds_alternative<layout::Fragment>(parsed)) {
    fail(is_fragment ? "must be a fragment" : "must not be a fragment");
  }
  const auto found = std::visit([](const auto& l) { return l.shape(); }, parsed);
  if (found != shape) fail(format("is of {}, it must be of {}", found, shape));
}

void fix_layout(const Buffer& buffer, std::string_view text, SourceLoc where) {
  const Site site{"fix_layout", where};
  if (is_tensor(buffer)) {
    throw Error(codes::lay_10, where,
                "fix_layout: {} is a tensor, its layout is that of its strides", buffer.name());
  }
  Trace& trace = Trace::current(site);
  trace.check_visible(buffer.ir(), site);
  check_layout(site, buffer.ir(), text);
  trace.layouts[buffer.ir()] = std::string(text);
}

void padding(const Buffer& buffer, int64_t elements, SourceLoc where) {
  const Site site{"padding", where};
  if (buffer.ir().space() != MemSpace::shared || elements < 0) {
    throw Error(codes::lay_10, where,
                "padding: {} elements for {} in {}, it takes 0 or more in shared", elements,
                buffer.name(), ir::enum_name(buffer.ir().space()));
  }
  annotate(site, buffer, [&](ir::BufferNode& n) { n.padding = elements; });
}

void safe_value(const Buffer& tensor, const Operand& value) {
  const Site site{"safe_value", value.where()};
  require_tensor(site, tensor);
  const ir::Expr safe = with_type(site, value.value(), tensor.dtype());
  annotate(site, tensor, [&](ir::BufferNode& n) { n.safe_value = safe; });
}

void no_restrict(const std::vector<Buffer>& tensors, SourceLoc where) {
  const Site site{"no_restrict", where};
  for (const Buffer& t : tensors) {
    require_tensor(site, t);
    annotate(site, t, [](ir::BufferNode& n) { n.may_alias = true; });
  }
}

void relaxed_global(const Buffer& tensor, SourceLoc where) {
  const Site site{"relaxed_global", where};
  require_tensor(site, tensor);
  annotate(site, tensor, [](ir::BufferNode& n) { n.relaxed = true; });
}

void l2_persist(const Buffer& tensor, double ratio, SourceLoc where) {
  const Site site{"l2_persist", where};
  require_tensor(site, tensor);
  if (!(ratio > 0 && ratio <= 1)) {
    throw Error({}, where, "l2_persist: a share of {} of {}, it must be above 0 and at most 1",
                ratio, tensor.name());
  }
  const ir::Expr share = ir::float_const(f64, ratio, where);
  annotate(site, tensor, [&](ir::BufferNode& n) { n.l2_persist = share; });
}

void nullable(const Buffer& tensor, SourceLoc where) {
  const Site site{"nullable", where};
  for (ir::Param& p : Trace::current(site).program.params) {
    if (!p.buffer || !p.buffer.same_as(tensor.ir())) continue;
    p.nullable = true;
    return;
  }
  throw Error({}, where, "nullable: {} is no parameter", tensor.name());
}

void align(const Buffer& tensor, int64_t bytes, SourceLoc where) {
  const Site site{"align", where};
  require_tensor(site, tensor);
  if (bytes < 1 || (bytes & (bytes - 1)) != 0) {
    throw Error({}, where, "align: {} bytes, it must be a power of two", bytes);
  }
  annotate(site, tensor, [&](ir::BufferNode& n) { n.align = bytes; });
}

void versions(const Buffer& buffer, int64_t count, SourceLoc where) {
  if (count < 1)
    throw Error(codes::pipe_05, where, "versions: {} copies of {}", count, buffer.name());
  annotate({"versions", where}, buffer, [&](ir::BufferNode& n) { n.versions = count; });
}
void manual_versions(const Buffer& buffer, SourceLoc where) {
  annotate({"manual_versions", where}, buffer, [](ir::BufferNode& n) { n.manual_versions = true; });
}

void swizzle_blocks(int64_t panel, RasterOrder order, SourceLoc where) {
  Trace& trace = Trace::in_launch({"swizzle_blocks", where});
  if (panel < 1)
    throw Error({}, where, "swizzle_blocks: a panel of {}, it must be 1 or more", panel);
  trace.raster_panel = panel;
  trace.raster = order;
}

}  // namespace lang
}  // namespace tw
