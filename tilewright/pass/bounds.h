// What is known about the values of variables at a point of a program, and proofs from it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/linear.h"
#include "tilewright/pass/value_set.h"

namespace tw::pass {

/// Ranges and congruences of variables from symbols' facts, grids and loops, and conditions that
/// hold. Passes bind a variable when they enter its scope; a `Scope` forgets it again. Integers of
/// type i64 don't overflow (language 2.2); those of other types are known not to wrap, or no sum is
/// made of them.
///
/// A proof of `sum >= 0` goes by value sets first; then it takes away facts that share a term, and
/// replaces variables, from the innermost outward, and operations by the bound that makes the sum
/// smallest. The number of steps is limited, so what holds may stay unproven.
class Bounds : private SumReader {
 public:
  Bounds() = default;
  /// The facts of the program's symbols.
  explicit Bounds(const ir::Program& program);

  /// lo <= var < hi, and var = lo (mod step). An empty handle is no bound. That there is such a
  /// value (lo < hi) is known too from here on.
  void bind(const ir::Var& var, const ir::Expr& lo, const ir::Expr& hi, int64_t step = 1);
  /// var == value, of a Let. Nothing is taken from a value that reads memory.
  void bind_value(const ir::Var& var, const ir::Expr& value);
  /// Takes what it can from a condition that holds (or, with false, fails) from here on. A
  /// condition on memory says nothing: a store may change it.
  void assume(const ir::Expr& condition, bool holds = true);

  /// Forgets, at its end, what was learned since its beginning.
  class Scope {
   public:
    explicit Scope(Bounds& bounds)
        : bounds_(bounds),
          known_(bounds.known_.size()),
          facts_(bounds.facts_.size()),
          refined_(bounds.refined_.size()) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();
    /// Whether anything was.
    bool learned() const {
      return bounds_.known_.size() > known_ || bounds_.facts_.size() > facts_ ||
             bounds_.refined_.size() > refined_;
    }

   private:
    Bounds& bounds_;
    size_t known_, facts_, refined_;
  };

  /// Whether the condition certainly holds, or certainly fails; false means "not known".
  bool proves(const ir::Expr& condition) const { return decides(condition, true); }
  bool disproves(const ir::Expr& condition) const { return decides(condition, false); }

  /// The values that an expression of integers or bool may have.
  ValueSet values(const ir::Expr& expr) const;
  ValueSet values(const Linear& sum) const;
  /// The expression as a sum of integers without limits.
  Linear linear(const ir::Expr& expr) const { return Linear::of(expr, *this); }
  /// Whether the operation gives what it would without limits: it doesn't wrap.
  bool is_exact(const ir::Expr& operation) const { return opens(operation); }

 private:
  struct Known {
    ir::Var var;
    std::optional<Linear> lo, hi;  // inclusive
    ValueSet values;
    /// Null if there is none.
    const Linear* bound(bool lower) const {
      const auto& end = lower ? lo : hi;
      return end ? &*end : nullptr;
    }
  };
  bool opens(const ir::Expr& operation) const override;
  bool distributes() const override { return true; }
  ValueSet values(const ir::Expr& expr, int& steps) const;
  const Known* find(const ir::Expr& var) const;
  bool decides(const ir::Expr& condition, bool outcome) const;
  bool decides_comparison(const ir::Op& op, bool outcome) const;
  void add_fact(Linear sum);
  void refine(const ir::Expr& var, const ValueSet& values);

  // Steps of a proof; `steps` is what is left to try.
  bool not_negative(const Linear& sum) const;
  bool not_negative(Linear sum, int depth, int& steps) const;
  bool by_fact(const Linear& sum, int depth, int& steps) const;
  bool by_variable(const Linear& sum, int depth, int& steps) const;
  bool by_operation(const Linear& sum, const Linear::Term& term, int depth, int& steps) const;
  bool by_product(const Linear& sum, const Linear::Term& term, int depth, int& steps) const;

  std::vector<Known> known_;                          // the last one of a variable counts
  std::vector<Linear> facts_;                         // each is >= 0
  std::vector<std::pair<size_t, ValueSet>> refined_;  // what values were before
};

/// What holds in the body of a launch: its guard, the ranges of its blocks and, where it has an
/// index of the thread and says how many there are, of that.
void bind_launch(Bounds& bounds, const ir::Launch& launch);

/// An If, rewritten with what its condition says in each branch; itself where nothing changes.
ir::Stmt rewrite_if(Bounds& bounds, ir::Rewriter& rewriter, const ir::Stmt& stmt);

}  // namespace tw::pass
