#include "tilewright/pass/infer_layouts.h"

#include <map>
#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/visit.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/layout.h"
#include "tilewright/layout/parse.h"
#include "tilewright/pass/bounds.h"

namespace tw::pass {
namespace {

using layout::Layout;
using layout::Term;

/// Rows x columns in blocks of `rows` x `columns`, both row-major; `gap` unused places after each
/// row of blocks in the outer order. With `columns_first`, blocks of one column of blocks follow
/// each other.
Layout blocked(int64_t m, int64_t n, int64_t rows, int64_t columns, bool columns_first,
               int64_t gap) {
  const int64_t down = (m + rows - 1) / rows, across = (n + columns - 1) / columns;
  const int64_t block = rows * columns;
  const int64_t row_stride = columns_first ? block : across * block + gap;
  const int64_t column_stride = columns_first ? down * block + gap : block;
  const std::vector<Term> terms = {
      {{{0, rows}}, down, 0, row_stride},
      {{{1, columns}}, across, 0, column_stride},
      {{{0, 1}}, rows, 0, columns},
      {{{1, 1}}, columns, 0, 1},
  };
  return Layout::tight({m, n}, terms, 1);
}

/// The layout of a buffer's last two dimensions, repeated for each index of the leading ones.
std::optional<Layout> over_leading(const ir::Buffer& buffer, const Layout& matrix) {
  layout::Coords shape;
  for (int d = 0; d < buffer.rank(); ++d) shape.push_back(buffer.extent(d));
  std::vector<Term> terms;
  int64_t stride = matrix.physical_size();
  const int lead = buffer.rank() - 2;
  for (int d = lead - 1; d >= 0; --d) {
    terms.push_back({{{d, 1}}, shape[d], 0, stride});
    stride *= shape[d];
  }
  for (Term term : matrix.terms()) {
    for (layout::Source& source : term.sources) source.dim += lead;
    terms.push_back(std::move(term));
  }
  return Layout::tight(shape, terms, 1);
}

class Inference : public ir::Visitor {
 public:
  explicit Inference(const VectorShape& shape) : shape_(shape) {}
  using Visitor::visit;

  void visit(const ir::Stmt& stmt) override {
    if (const auto* gemm = stmt.try_as<ir::Gemm>()) demand(*gemm);
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) {
      if (alloc->buffer->view_of) fixed_.insert(alloc->buffer.root());
      if (!alloc->layout.empty()) fixed_.insert(alloc->buffer);
    }
    children(stmt);
  }

  /// The layout of a buffer as text; empty: row-major.
  std::string layout_of(const ir::Buffer& buffer) const {
    const auto it = demands_.find(buffer);
    if (it == demands_.end() || fixed_.contains(buffer)) return {};
    return layout::to_text(it->second);
  }

 private:
  void demand(const ir::Gemm& gemm) {
    const DType dtype = gemm.c.buffer.dtype();
    const auto extent = [](const ir::Region& region, size_t from_end) {
      return *ir::as_int(region.extent[region.extent.size() - from_end]);
    };
    const int64_t m = extent(gemm.c, 2), n = extent(gemm.c, 1),
                  k = extent(gemm.b, gemm.trans_b ? 1 : 2);
    const GemmBlock block = GemmBlock::of(ir::accumulator_type(dtype), m, n, shape_);
    if (block.columns <= 1) return;
    const int64_t line = shape_.lanes(gemm.b.buffer.dtype());
    if (n > block.columns) {
      const Layout panels = blocked(k, n, k, block.columns, true, line);
      want(gemm.b, gemm.trans_b ? transposed(panels) : panels);
    }
    if (m > block.rows && n > block.columns) {
      want(gemm.c, blocked(m, n, block.rows, block.columns, false, 0));
    }
  }

  static Layout transposed(const Layout& panels) {
    std::vector<Term> terms = panels.terms();
    for (Term& term : terms) {
      for (layout::Source& source : term.sources) source.dim = 1 - source.dim;
    }
    return Layout::tight({panels.shape()[1], panels.shape()[0]}, std::move(terms), 1);
  }

  void want(const ir::Region& operand, const Layout& matrix) {
    const ir::Buffer& buffer = operand.buffer;
    const bool of_block =
        buffer.space() == ir::MemSpace::shared || buffer.space() == ir::MemSpace::fragment;
    if (!of_block || buffer->view_of || buffer.dtype().is_sub_byte() || buffer->padding != 0)
      return;
    for (int d = buffer.rank() - 2; d < buffer.rank(); ++d) {
      if (*ir::as_int(operand.extent[static_cast<size_t>(d)]) != buffer.extent(d)) return;
    }
    const auto layout = over_leading(buffer, matrix);
    const auto [known, is_new] = demands_.emplace(buffer, *layout);
    if (!is_new && !(known->second == *layout))
      fixed_.insert(buffer);  // two shapes: stays row-major
  }

  VectorShape shape_;
  std::map<ir::Buffer, Layout, ir::ById> demands_;
  std::set<ir::Buffer, ir::ById> fixed_;
};

/// The parts of a sum whose coefficients `by` divides, and the rest.
struct Split {
  Linear multiple, rest;
};
Split split(const ir::Expr& expr, int64_t by) {
  Split parts;
  const Linear sum = Linear::of(expr);
  for (const Linear::Term& term : sum.terms) {
    (term.coefficient % by == 0 ? parts.multiple : parts.rest).add(term.expr, term.coefficient);
  }
  const int64_t low = ((sum.constant % by) + by) % by;
  parts.rest.constant = low;
  parts.multiple.constant = sum.constant - low;
  return parts;
}

/// Index arithmetic on indices whose ranges are known: (a * 32 + lane) / 32 is a.
class Digits {
 public:
  explicit Digits(const Bounds& bounds) : bounds_(bounds) {}

  ir::Expr div(const ir::Expr& expr, int64_t by) const {
    if (by == 1) return expr;
    const Split parts = split(expr, by);
    if (!is_digit(parts.rest, by)) return ir::floordiv(expr, ir::index(by));
    Linear quotient;
    for (const Linear::Term& term : parts.multiple.terms)
      quotient.add(term.expr, term.coefficient / by);
    quotient.constant = parts.multiple.constant / by;
    return quotient.to_expr();
  }
  ir::Expr mod(const ir::Expr& expr, int64_t by) const {
    const Split parts = split(expr, by);
    return is_digit(parts.rest, by) ? parts.rest.to_expr() : ir::floormod(expr, ir::index(by));
  }

 private:
  bool is_digit(const Linear& rest, int64_t by) const {
    const ir::Expr value = rest.to_expr();
    return bounds_.proves(ir::le(ir::index(0), value)) &&
           bounds_.proves(ir::lt(value, ir::index(by)));
  }
  const Bounds& bounds_;
};

/// The offset of an element under a layout.
ir::Expr offset_of(const Layout& linear, const std::vector<ir::Expr>& indices,
                   const Bounds& bounds) {
  const Digits digits(bounds);
  ir::Expr offset = ir::index(0);
  for (const Term& term : linear.terms()) {
    ir::Expr digit;
    for (const layout::Source& source : term.sources) {
      ir::Expr one = digits.div(indices[static_cast<size_t>(source.dim)], source.div);
      if (linear.wraps(term, source)) one = digits.mod(one, term.extent);
      digit = digit ? ir::op(ir::OpCode::bit_xor, i64, {digit, one}) : one;
    }
    offset = ir::add(offset, ir::mul(digit, ir::index(term.stride)));
  }
  return offset;
}

class ApplyLayouts : public ir::Rewriter {
 public:
  explicit ApplyLayouts(const ir::Program& program) : bounds_(program) {}
  using Rewriter::rewrite;

  ir::Expr rewrite(const ir::Expr& expr) override {
    if (!expr) return expr;
    const ir::Expr next = children(expr);
    const auto* load = next.try_as<ir::Load>();
    const Placed* placed = load == nullptr ? nullptr : find(load->buffer);
    if (placed == nullptr) return next;
    return ir::make<ir::Load>(next.loc(), [&](ir::Load& n) {
      n = *load;
      n.buffer = placed->flat;
      n.indices = {offset_of(placed->layout, load->indices, bounds_)};
    });
  }

  ir::Stmt rewrite(const ir::Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* alloc = stmt.try_as<ir::Alloc>(); alloc != nullptr && !alloc->layout.empty()) {
      return place(*alloc);
    }
    if (const auto* loop = stmt.try_as<ir::For>(); loop != nullptr) {
      const auto step = ir::as_int(loop->step);
      if (step && *step > 0) bounds_.bind(loop->var, loop->lo, loop->hi);
    }
    const ir::Stmt next = children(stmt);
    if (const auto* prefetch = next.try_as<ir::Prefetch>()) {
      const Placed* placed = find(prefetch->buffer);
      if (placed == nullptr) return next;
      return ir::make<ir::Prefetch>(next.loc(), [&](ir::Prefetch& n) {
        n.buffer = placed->flat;
        n.indices = {offset_of(placed->layout, prefetch->indices, bounds_)};
      });
    }
    const auto* store = next.try_as<ir::Store>();
    const Placed* placed = store == nullptr ? nullptr : find(store->buffer);
    if (placed == nullptr) return next;
    return ir::make<ir::Store>(next.loc(), [&](ir::Store& n) {
      n = *store;
      n.buffer = placed->flat;
      n.indices = {offset_of(placed->layout, store->indices, bounds_)};
    });
  }

 private:
  struct Placed {
    ir::Buffer flat;
    Layout layout;
  };

  ir::Stmt place(const ir::Alloc& alloc) {
    const Layout layout = layout::linearize(layout::parse_layout(alloc.layout));
    const ir::Buffer& buffer = alloc.buffer;
    const ir::Buffer flat = ir::make<ir::BufferNode>(buffer.loc(), [&](ir::BufferNode& n) {
      n = *buffer.get();
      n.shape = {ir::index(layout.physical_size())};
      n.strides = {};
    });
    placed_.emplace(buffer, Placed{flat, layout});
    return ir::alloc(flat);
  }
  const Placed* find(const ir::Buffer& buffer) const {
    const auto it = placed_.find(buffer);
    return it == placed_.end() ? nullptr : &it->second;
  }

  Bounds bounds_;
  std::map<ir::Buffer, Placed, ir::ById> placed_;
};

}  // namespace

ir::Program infer_layouts(const ir::Program& program, const VectorShape& shape) {
  Inference inference(shape);
  inference.visit(program);
  return ir::rewrite(program, [&](auto&, const ir::Alloc& alloc) -> ir::Stmt {
    const std::string layout = inference.layout_of(alloc.buffer);
    if (layout.empty()) return ir::Stmt(&alloc);
    return ir::alloc(alloc.buffer, alloc.initial, layout);
  });
}

ir::Program apply_layouts(const ir::Program& program) {
  return ApplyLayouts(program).rewrite(program);
}

}  // namespace tw::pass
