#include "tilewright/lang/atomics.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/tile_ops.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;

namespace {

std::string name_of(AtomicOp op) { return "atomic_" + std::string(ir::enum_name(op)); }

/// What exists natively, or by a compare-exchange of 16, 32 or 64 bits.
bool available(AtomicOp op, DType dtype) {
  const int bits = dtype.bits();
  if (dtype.is_bool() || (bits != 16 && bits != 32 && bits != 64) || dtype.lanes != 1) return false;
  const bool bitwise = op == AtomicOp::bit_and || op == AtomicOp::bit_or || op == AtomicOp::bit_xor;
  return !bitwise || dtype.is_int();
}

void check(const Site& site, AtomicOp op, const Region& dst, const AtomicOptions& options) {
  const MemSpace space = dst.buffer().space();
  const bool memory = space == MemSpace::global || space == MemSpace::workspace ||
                      space == MemSpace::shared || space == MemSpace::shared_static;
  if (!memory) {
    throw Error(codes::atom_01, site.where,
                "{}: {} is in {}, it must be in global or shared memory", site.name,
                dst.buffer().name(), ir::enum_name(space));
  }
  if (!available(op, dst.dtype())) {
    throw Error(codes::atom_01, site.where, "{}: not available on {}", site.name, dst.dtype())
        .note("there are {} on integers{} of 16, 32 and 64 bits", ir::enum_name(op),
              ir::enum_name(op).starts_with("bit") ? "" : " and floats");
  }
  const MemoryOrder order = options.order;
  const bool wrong =
      op == AtomicOp::load    ? order == MemoryOrder::release || order == MemoryOrder::acq_rel
      : op == AtomicOp::store ? order == MemoryOrder::acquire || order == MemoryOrder::acq_rel
                              : false;
  if (wrong) {
    throw Error(codes::atom_03, site.where, "{}: the order {} is not possible", site.name,
                ir::enum_name(order))
        .help("use relaxed, {} or seq_cst", op == AtomicOp::load ? "acquire" : "release");
  }
  if (!ir::only_reads(op)) check_writable(site, dst.buffer());
}

/// The access to one element; `result` is what it gives, if that is wanted.
Expr emit(const Site& site, AtomicOp op, const ir::Region& element, const ir::Expr& value,
          const ir::Expr& compare, const AtomicOptions& options, bool wants_result) {
  Trace& trace = Trace::in_launch(site);
  trace.check_visible(element.buffer, site);
  std::vector<ir::Expr> parts = element.begin;
  parts.push_back(value);
  parts.push_back(compare);
  parts = trace.settle(site.where, parts);
  ir::Var result;
  if (wants_result) result = ir::Var::make("old", element.buffer.dtype(), site.where);
  trace.emit(ir::make<ir::Atomic>(site.where, [&](ir::Atomic& n) {
    n.op = op;
    n.buffer = element.buffer;
    n.indices.assign(parts.begin(), parts.end() - 2);
    n.value = parts.end()[-2];
    n.compare = parts.end()[-1];
    n.order = options.order;
    n.scope = options.scope;
    n.result = result;
  }));
  if (!wants_result) return {};
  trace.declare(result);
  return Expr(result);
}

void require_element(const Site& site, const Ref& ref) {
  if (ref.is_element()) return;
  throw Error({}, site.where, "{}: {} of {} is no element", site.name,
              extents_text(ref.region().extent), ref.region().buffer.name());
}

Expr element_form(const std::string& name, AtomicOp op, const Ref& dst, const Operand* value,
                  const Operand* compare, const AtomicOptions& options) {
  const Site site{name, dst.where()};
  require_element(site, dst);
  check(site, op, Region(dst), options);
  const DType dtype = dst.region().buffer.dtype();
  const auto stored = [&](const Operand* x) {
    return x != nullptr ? as_stored(site, x->value(), dtype) : ir::Expr();
  };
  return emit(site, op, dst.region(), stored(value), stored(compare), options,
              options.ret || ir::only_reads(op));
}

}  // namespace

Expr atomic(AtomicOp op, const Ref& dst, const Operand& value, const AtomicOptions& options) {
  return element_form(name_of(op), op, dst, &value, nullptr, options);
}

void atomic(AtomicOp op, const Region& dst, const Region& src, const AtomicOptions& options) {
  const std::string name = name_of(op);
  const Site site{name, dst.where()};
  check(site, op, dst, options);
  if (options.ret) {
    throw Error(codes::atom_02, site.where, "{}: the tile form gives no previous values", site.name)
        .help("use the element form in a parallel loop");
  }
  const auto matched = match_extents(site, src, dst);
  const Region &from = matched.first, &to = matched.second;
  check_regions(site, {from, to});
  Extents box;
  for (const ir::Expr& e : to.ir().extent) {
    if (!ir::is_int(e, 1)) box.push_back(Expr(e));
  }
  if (box.empty()) box.emplace_back(1);
  // The element of a region at an index of the box; dimensions of extent 1 take none.
  const auto element = [&](const ir::Region& region, const std::vector<Expr>& index) {
    ir::Region one = region;
    size_t next = 0;
    for (size_t d = 0; d < one.begin.size(); ++d) {
      if (!ir::is_int(region.extent[d], 1))
        one.begin[d] = ir::add(one.begin[d], index[next++].ir());
    }
    return one;
  };
  parallel(
      box,
      [&](const std::vector<Expr>& index) {
        const ir::Region source = element(from.ir(), index);
        const Expr value(
            Trace::current(site).load(source.buffer, source.begin, source.unchecked, site.where));
        emit(site, op, element(to.ir(), index), as_stored(site, value, dst.dtype()), {}, options,
             false);
      },
      site.where);
}

Expr atomic_exchange(const Ref& dst, const Operand& value, const AtomicOptions& options) {
  return element_form("atomic_exchange", AtomicOp::exchange, dst, &value, nullptr, options);
}
Expr atomic_compare_exchange(const Ref& dst, const Operand& expected, const Operand& value,
                             const AtomicOptions& options) {
  return element_form("atomic_compare_exchange", AtomicOp::compare_exchange, dst, &value, &expected,
                      options);
}
Expr atomic_load(const Ref& src, const AtomicOptions& options) {
  return element_form("atomic_load", AtomicOp::load, src, nullptr, nullptr, options);
}
void atomic_store(const Ref& dst, const Operand& value, const AtomicOptions& options) {
  element_form("atomic_store", AtomicOp::store, dst, &value, nullptr, options);
}

Expr wait_until(const Ref& src, Compare compare, const Operand& value, AtomicScope scope) {
  const auto op =
      static_cast<AtomicOp>(static_cast<int>(AtomicOp::wait_eq) + static_cast<int>(compare));
  return element_form("wait_until", op, src, &value, nullptr,
                      {.order = MemoryOrder::acquire, .scope = scope});
}

}  // namespace lang
}  // namespace tw
