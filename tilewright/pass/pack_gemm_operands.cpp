#include "tilewright/pass/pack_gemm_operands.h"

#include <map>
#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::PairFormat;
using ir::Stmt;

bool is_of_block(const Buffer& buffer) {
  return buffer.space() == ir::MemSpace::shared || buffer.space() == ir::MemSpace::fragment;
}
bool is_whole(const ir::Region& region) {
  for (size_t d = 0; d < region.extent.size(); ++d) {
    if (ir::as_int(region.extent[d]) != ir::as_int(region.buffer.shape()[d])) return false;
  }
  return true;
}
bool fits_bf16(DType dtype) { return dtype == bf16 || dtype == f8_e4m3 || dtype == f8_e5m2; }
bool is_int8(DType dtype) { return dtype == i8 || dtype == u8; }

/// The dimension of an operand along which k runs.
int k_dim(const Buffer& buffer, bool k_is_last) { return buffer.rank() - (k_is_last ? 1 : 2); }

/// What is to become of a buffer.
struct Plan {
  PairFormat pairs = PairFormat::none;  // none: f32
  int dim = 0;                          // of pairs: where k runs
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Finds the buffers to change, and how.
class Planner : public ir::Visitor {
 public:
  explicit Planner(bool bf16_dot) : bf16_dot_(bf16_dot) {}
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) {
      if (alloc->buffer->view_of) viewed_.insert(alloc->buffer.root());
      if (!alloc->layout.empty()) viewed_.insert(alloc->buffer);
    } else if (const auto* copy = stmt.try_as<ir::Copy>()) {
      if (!is_whole(copy->dst) || copy->transpose) touched_.insert(copy->dst.buffer);
      touched_.insert(copy->src.buffer);
      for (const ir::Region* region : {&copy->src, &copy->dst}) {
        for (const Expr& begin : region->begin) visit(begin);
      }
    } else if (const auto* fill = stmt.try_as<ir::Fill>(); fill != nullptr && is_whole(fill->dst)) {
      visit(fill->value);
    } else if (const auto* gemm = stmt.try_as<ir::Gemm>()) {
      gemms_.push_back(gemm);
    } else {
      children(stmt);
    }
  }
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) touched_.insert(load->buffer);
    children(expr);
  }
  void visit(const Buffer& buffer) override { touched_.insert(buffer); }

  std::map<Buffer, Plan, ir::ById> plan() {
    for (const ir::Gemm* gemm : gemms_) choose(*gemm);
    // A conflict spreads: both operands of a multiply are pairs, or none is.
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::Gemm* gemm : gemms_) changed = reconcile(*gemm) || changed;
    }
    return plans_;
  }

 private:
  bool can_change(const Buffer& buffer) const {
    return is_of_block(buffer) && !viewed_.contains(buffer);
  }
  bool can_pair(const ir::Region& operand, int dim) const {
    return can_change(operand.buffer) && !touched_.contains(operand.buffer) && is_whole(operand) &&
           operand.buffer.extent(dim) % 2 == 0;
  }

  void choose(const ir::Gemm& gemm) {
    const DType a = gemm.a.buffer.dtype(), b = gemm.b.buffer.dtype(), c = gemm.c.buffer.dtype();
    const int a_dim = k_dim(gemm.a.buffer, !gemm.trans_a),
              b_dim = k_dim(gemm.b.buffer, gemm.trans_b);
    PairFormat pairs = PairFormat::none;
    if (fits_bf16(a) && fits_bf16(b) && c == f32 && bf16_dot_) pairs = PairFormat::bf16;
    if (is_int8(a) && is_int8(b) && c == i32) pairs = PairFormat::i16;
    if (pairs != PairFormat::none && can_pair(gemm.a, a_dim) && can_pair(gemm.b, b_dim)) {
      want(gemm.a.buffer, {pairs, a_dim});
      want(gemm.b.buffer, {pairs, b_dim});
      return;
    }
    widen(gemm.a.buffer);
    widen(gemm.b.buffer);
  }
  void widen(const Buffer& buffer) {
    const DType dtype = buffer.dtype();
    const bool narrow = dtype == f16 || dtype == bf16 || dtype == f8_e4m3 || dtype == f8_e5m2;
    if (narrow && can_change(buffer)) want(buffer, {});
  }
  void want(const Buffer& buffer, const Plan& plan) {
    const auto [known, is_new] = plans_.emplace(buffer, plan);
    if (!is_new && !(known->second == plan)) mixed_.insert(buffer);
  }
  bool is_pairs(const Buffer& buffer) const {
    const auto it = plans_.find(buffer);
    return it != plans_.end() && it->second.pairs != PairFormat::none && !mixed_.contains(buffer);
  }
  bool reconcile(const ir::Gemm& gemm) {
    bool changed = false;
    const bool both = is_pairs(gemm.a.buffer) && is_pairs(gemm.b.buffer);
    for (const Buffer& buffer : {gemm.a.buffer, gemm.b.buffer}) {
      const auto it = plans_.find(buffer);
      if (both || it == plans_.end() || it->second.pairs == PairFormat::none) continue;
      changed = true;
      if (buffer.dtype().is_float()) {
        it->second = {};
      } else {
        plans_.erase(it);
      }
    }
    return changed;
  }

  bool bf16_dot_;
  std::vector<const ir::Gemm*> gemms_;
  std::map<Buffer, Plan, ir::ById> plans_;
  std::set<Buffer, ir::ById> viewed_, touched_, mixed_;
};

/// The 16 bits of a value in the low half of a word.
Expr half_word(const Expr& value, PairFormat format) {
  const DType wide = format == PairFormat::bf16 ? bf16 : i16;
  return ir::cast(u32, ir::op(ir::OpCode::bitcast, u16, {ir::cast(wide, value)}));
}
Expr word(const Expr& low, const Expr& high, PairFormat format) {
  const Expr up = ir::op(ir::OpCode::shl, u32, {half_word(high, format), ir::int_const(u32, 16)});
  return ir::op(ir::OpCode::bit_or, u32, {half_word(low, format), up});
}

class Repack : public ir::Rewriter {
 public:
  explicit Repack(std::map<Buffer, Plan, ir::ById> plans) : plans_(std::move(plans)) {}
  using Rewriter::rewrite;

  Buffer rewrite_declaration(const Buffer& buffer) override {
    const Buffer next = declaration_children(buffer);
    const Plan* plan = find(buffer);
    if (plan == nullptr) return next;
    return ir::make<ir::BufferNode>(buffer.loc(), [&](ir::BufferNode& n) {
      n = *next.get();
      n.dtype = plan->pairs == PairFormat::none ? f32 : u32;
      if (plan->pairs != PairFormat::none) {
        n.shape[static_cast<size_t>(plan->dim)] = ir::index(buffer.extent(plan->dim) / 2);
      }
    });
  }

  // The former type of a widened buffer is what its accesses go through.
  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    const auto* load = expr.try_as<ir::Load>();
    if (load == nullptr || find(load->buffer) == nullptr) return children(expr);
    const Expr wide = ir::make<ir::Load>(expr.loc(), [&](ir::Load& n) {
      n = children(expr).as<ir::Load>();
      n.dtype = f32;
    });
    return ir::cast(load->dtype, wide);
  }

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* store = stmt.try_as<ir::Store>();
        store != nullptr && find(store->buffer) != nullptr) {
      return ir::make<ir::Store>(stmt.loc(), [&](ir::Store& n) {
        n = children(stmt).as<ir::Store>();
        n.value = ir::cast(f32, n.value);
      });
    }
    if (const auto* fill = stmt.try_as<ir::Fill>();
        fill != nullptr && find(fill->dst.buffer) != nullptr) {
      return rewrite_fill(*fill);
    }
    if (const auto* copy = stmt.try_as<ir::Copy>()) {
      const Plan* to = find(copy->dst.buffer);
      if (to != nullptr && to->pairs != PairFormat::none) return pair_up(*copy, *to);
      // Widening an exact source is a plain copy; a wider one is rounded on the way.
      if (to != nullptr && find(copy->src.buffer) == nullptr &&
          copy->src.buffer.dtype() != copy->dst.buffer.dtype()) {
        return round_on_the_way(*copy);
      }
    }
    if (const auto* gemm = stmt.try_as<ir::Gemm>()) {
      const Plan* plan = find(gemm->a.buffer);
      if (plan != nullptr && plan->pairs != PairFormat::none)
        return halve_k(stmt, *gemm, plan->pairs);
    }
    return children(stmt);
  }

 private:
  const Plan* find(const Buffer& buffer) const {
    const auto it = plans_.find(buffer);
    return it == plans_.end() ? nullptr : &it->second;
  }

  Stmt rewrite_fill(const ir::Fill& fill) {
    const Plan& plan = *find(fill.dst.buffer);
    return ir::make<ir::Fill>(fill.loc, [&](ir::Fill& n) {
      const Buffer buffer = Rewriter::rewrite(fill.dst.buffer);
      const Expr value = rewrite(fill.value);
      n.dst = ir::Region::whole(buffer);
      if (plan.pairs == PairFormat::none) {
        n.dst = Rewriter::rewrite(fill.dst);
        n.value = ir::cast(f32, value);
      } else {
        n.value = word(value, value, plan.pairs);
      }
    });
  }

  /// Loops over a copy's box with the element of src for given indices of dst.
  template <class Body>
  Stmt over(const ir::Copy& copy, const Buffer& dst, Body body) {
    const auto from = ir::iterated_dims(copy.src), to = ir::iterated_dims(copy.dst);
    return ir::make<ir::Parallel>(copy.loc, [&](ir::Parallel& n) {
      std::vector<Expr> at = copy.dst.begin;
      for (const size_t d : to) {
        n.vars.push_back(
            ir::Var::make(std::string(1, static_cast<char>('i' + n.vars.size())), i64));
        n.extents.push_back(dst.shape()[d]);
        at[d] = ir::add(at[d], n.vars.back());
      }
      const auto element = [&](const std::vector<Expr>& steps) {
        std::vector<Expr> index = copy.src.begin;
        for (size_t i = 0; i < from.size(); ++i)
          index[from[i]] = ir::add(index[from[i]], steps[to[i]]);
        return rewrite(ir::load(copy.src.buffer, index, copy.src.unchecked));
      };
      n.body = body(at, element);
    });
  }

  Stmt pair_up(const ir::Copy& copy, const Plan& plan) {
    const Buffer dst = Rewriter::rewrite(copy.dst.buffer);
    const auto k = static_cast<size_t>(plan.dim);
    return over(copy, dst, [&](const std::vector<Expr>& at, const auto& element) {
      std::vector<Expr> low = at, high = at;
      low[k] = ir::mul(at[k], ir::index(2));
      high[k] = ir::add(low[k], ir::index(1));
      const auto narrow = [&](const Expr& e) { return ir::cast(copy.dst.buffer.dtype(), e); };
      return ir::store(dst, at, word(narrow(element(low)), narrow(element(high)), plan.pairs));
    });
  }

  Stmt round_on_the_way(const ir::Copy& copy) {
    const Buffer dst = Rewriter::rewrite(copy.dst.buffer);
    return over(copy, dst, [&](const std::vector<Expr>& at, const auto& element) {
      std::vector<Expr> steps = at;
      for (size_t d = 0; d < steps.size(); ++d) steps[d] = ir::sub(at[d], copy.dst.begin[d]);
      return ir::store(dst, at, ir::cast(f32, ir::cast(copy.dst.buffer.dtype(), element(steps))));
    });
  }

  Stmt halve_k(const Stmt& stmt, const ir::Gemm& gemm, PairFormat pairs) {
    return ir::make<ir::Gemm>(stmt.loc(), [&](ir::Gemm& n) {
      n = children(stmt).as<ir::Gemm>();
      n.a = ir::Region::whole(Rewriter::rewrite(gemm.a.buffer));
      n.b = ir::Region::whole(Rewriter::rewrite(gemm.b.buffer));
      n.pairs = pairs;
    });
  }

  std::map<Buffer, Plan, ir::ById> plans_;
};

}  // namespace

ir::Program pack_gemm_operands(const ir::Program& program, bool bf16_dot) {
  Planner planner(bf16_dot);
  planner.visit(program);
  auto plans = planner.plan();
  return plans.empty() ? program : Repack(std::move(plans)).rewrite(program);
}

}  // namespace tw::pass
