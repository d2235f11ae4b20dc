#include "tilewright/pass/thread/index_layout.h"

#include <algorithm>

#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/pass/linear.h"

namespace tw::pass {
namespace {

using layout::Term;

/// A digit of one variable: (var // div) % extent.
std::optional<Term> digit_of(const ir::Expr& expr, const std::vector<ir::Var>& vars,
                             const layout::Coords& box) {
  for (size_t d = 0; d < vars.size(); ++d) {
    if (expr.same_as(vars[d])) return Term{{{static_cast<int>(d), 1}}, box[d], 0, 1};
  }
  if (const auto* cast = expr.try_as<ir::Cast>(); cast != nullptr && cast->dtype == i64) {
    return digit_of(cast->value, vars, box);
  }
  const auto* op = expr.try_as<ir::Op>();
  if (op == nullptr || op->args.size() != 2) return std::nullopt;
  const auto by = ir::as_int(op->args[1]);
  if (!by || *by < 1) return std::nullopt;
  const bool divides = op->code == ir::OpCode::floordiv || op->code == ir::OpCode::truncdiv;
  const bool wraps = op->code == ir::OpCode::floormod || op->code == ir::OpCode::truncmod;
  if (!divides && !wraps) return std::nullopt;
  auto digit = digit_of(op->args[0], vars, box);
  if (!digit) return std::nullopt;
  if (divides) {
    digit->sources[0].div *= *by;
    digit->extent = ceil_div(digit->extent, *by);
  } else if (digit->extent > *by) {
    digit->extent = *by;
  }
  return digit;
}

}  // namespace

std::optional<layout::Layout> index_layout(const std::vector<ir::Expr>& indices,
                                           const std::vector<ir::Var>& vars,
                                           const layout::Coords& box) {
  std::vector<Term> terms;
  for (size_t out = 0; out < indices.size(); ++out) {
    const Linear sum = Linear::of(indices[out]);
    if (sum.constant != 0 || sum.overflowed) return std::nullopt;
    for (const Linear::Term& part : sum.terms) {
      auto digit = digit_of(part.expr, vars, box);
      if (!digit || part.coefficient < 1) return std::nullopt;
      digit->out = static_cast<int>(out);
      digit->stride = part.coefficient;
      if (digit->extent > 1) terms.push_back(*digit);
    }
  }
  return layout::Layout::tight(box, std::move(terms), static_cast<int>(indices.size()));
}

ir::Expr coordinate(const layout::Layout& layout, int out, const std::vector<ir::Expr>& x) {
  ir::Expr sum = ir::index(0);
  for (const Term& term : layout.terms()) {
    if (term.out != out) continue;
    ir::Expr value;
    for (const layout::Source& source : term.sources) {
      ir::Expr digit = ir::floordiv(x[static_cast<size_t>(source.dim)], ir::index(source.div));
      if (layout.wraps(term, source)) digit = ir::floormod(digit, ir::index(term.extent));
      value = value ? ir::op(ir::OpCode::bit_xor, i64, {value, digit}) : digit;
    }
    sum = ir::add(sum, ir::mul(value, ir::index(term.stride)));
  }
  return sum;
}

}  // namespace tw::pass
