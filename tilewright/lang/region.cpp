#include "tilewright/lang/region.h"

#include "tilewright/ir/build.h"
#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

Range at(const Operand& begin, const Operand& extent) {
  return {as_index({"at", begin.where()}, begin.value()),
          as_index({"at", begin.where()}, extent.value())};
}

Range span(const Operand& lo, const Operand& hi) {
  const Site site{"span", lo.where()};
  const ir::Expr begin = as_index(site, lo.value()), end = as_index(site, hi.value());
  return {begin, ir::sub(end, begin)};
}

Region::Region(ir::Region region, bool is_base, SourceLoc where)
    : region_(std::move(region)), is_base_(is_base), where_(where) {}
Region::Region(const Buffer& buffer, SourceLoc where)
    : Region(ir::Region::whole(buffer.ir()), false, where) {}
Region::Region(const Ref& ref, SourceLoc) : Region(ref.region(), ref.is_element(), ref.where()) {}
Region::Region(const Variable& variable, SourceLoc where)
    : Region(ir::Region::whole(variable.ir()), false, where) {}

std::string Region::text() const {
  const auto& extents = is_base_ ? region_.buffer.shape() : region_.extent;
  return format("{} {} {} in {}", region_.buffer.name(), extents_text(extents), dtype(),
                ir::enum_name(region_.buffer.space()));
}

Region unchecked(const Region& region) {
  ir::Region copy = region.ir();
  copy.unchecked = true;
  return Region(std::move(copy), region.is_base(), region.where());
}

std::string extents_text(const std::vector<ir::Expr>& extents) {
  std::vector<std::string> parts;
  for (const ir::Expr& e : extents) {
    const auto known = ir::as_int(e);
    const auto* var = e.try_as<ir::VarNode>();
    parts.push_back(known ? std::to_string(*known) : var != nullptr ? var->name : "?");
  }
  return "[" + join(parts, ", ") + "]";
}

}  // namespace lang
}  // namespace tw
