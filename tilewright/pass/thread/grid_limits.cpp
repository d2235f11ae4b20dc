#include "tilewright/pass/thread/grid_limits.h"

#include <algorithm>

#include "tilewright/ir/build.h"

namespace tw::pass {
namespace {

using ir::Expr;

void add_factors(const Expr& product, std::vector<Expr>& factors) {
  const auto* op = product.try_as<ir::Op>();
  if (op == nullptr || op->code != ir::OpCode::mul) return factors.push_back(product);
  for (const Expr& factor : op->args) add_factors(factor, factors);
}

}  // namespace

std::vector<Expr> grid_limits(const ir::Launch& launch,
                              const std::function<bool(const Expr&)>& proves) {
  const Expr end = ir::index(int64_t{1} << 31);
  std::vector<Expr> limits;
  for (size_t d = 0; d < launch.grid.size(); ++d) {
    limits.push_back(ir::lt(launch.block_vars[d], end));
    std::vector<Expr> factors;
    add_factors(launch.grid[d], factors);
    if (!std::all_of(factors.begin(), factors.end(),
                     [&](const Expr& f) { return proves(ir::le(ir::index(0), f)); })) {
      continue;
    }
    for (const Expr& factor : factors) {
      if (factor.is<ir::Const>()) continue;
      limits.push_back(ir::lt(ir::index(0), factor));
      limits.push_back(ir::lt(factor, end));
    }
  }
  return limits;
}

}  // namespace tw::pass
