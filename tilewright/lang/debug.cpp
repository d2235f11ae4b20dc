#include "tilewright/lang/debug.h"

#include "tilewright/ir/build.h"
#include "tilewright/lang/buffer.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

std::vector<ir::Expr> settle_values(const Site& site, ir::Expr first,
                                    const std::vector<Expr>& values) {
  std::vector<ir::Expr> list = {std::move(first)};
  for (const Expr& v : values) list.push_back(v.typed());
  return Trace::current(site).settle(site.where, list);
}

}  // namespace

void print(std::string_view message, const std::vector<Expr>& values, SourceLoc where) {
  const Site site{"print", where};
  Trace& trace = Trace::in_launch(site);
  const auto settled = settle_values(site, {}, values);
  trace.emit(ir::make<ir::Print>(where, [&](ir::Print& n) {
    n.message = std::string(message);
    n.values.assign(settled.begin() + 1, settled.end());
  }));
}

void print(const Buffer& buffer, std::string_view message, SourceLoc where) {
  const Site site{"print", where};
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(buffer.ir(), site);
  trace.emit(ir::make<ir::Print>(where, [&](ir::Print& n) {
    n.message = message.empty() ? buffer.name() : std::string(message);
    n.buffer = buffer.ir();
  }));
}

void device_assert(const Operand& condition, std::string_view message,
                   const std::vector<Expr>& values) {
  const Site site{"device_assert", condition.where()};
  Trace& trace = Trace::in_launch(site);
  const auto settled = settle_values(site, as_condition(site, condition.value()), values);
  trace.emit(ir::make<ir::Assert>(site.where, [&](ir::Assert& n) {
    n.cond = settled[0];
    n.message = std::string(message);
    n.values.assign(settled.begin() + 1, settled.end());
  }));
}

void assume(const Operand& condition) {
  const Site site{"assume", condition.where()};
  Trace& trace = Trace::in_launch(site);
  const ir::Expr cond = trace.settle(site.where, as_condition(site, condition.value()));
  trace.emit(ir::make<ir::Assume>(site.where, [&](ir::Assume& n) { n.cond = cond; }));
}

}  // namespace lang
}  // namespace tw
