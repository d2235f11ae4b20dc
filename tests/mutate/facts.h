// What is known at a point of a launch about its integers and conditions, and what follows from
// that: proofs by Z3.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <z3++.h>

#include "tilewright/ir/nodes.h"

namespace tw::test {

/// Integers count as unlimited: sizes and indices are far below the limits of i64, and narrower
/// sums are only looked into where they are proven not to wrap. What is no integer, or read from
/// memory, is an unknown that equals only what is computed from the same at the same step.
class Facts {
 public:
  /// Knows sizes, blocks and threads of the launch, and of the sizes some conditions more.
  Facts(const ir::Program& program, const ir::Launch& launch,
        const std::vector<std::string>& conditions);

  /// Facts learned in its lifetime are forgotten with it.
  class Scope {
   public:
    explicit Scope(Facts& facts) : facts_(facts) { facts_.solver_.push(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { facts_.solver_.pop(); }

   private:
    Facts& facts_;
  };

  /// In its lifetime only sizes, blocks and threads are known.
  class Fresh {
   public:
    explicit Fresh(Facts& facts) : facts_(facts), kept_(facts.c_) {
      std::swap(facts_.solver_, kept_);
      facts_.solver_.set("rlimit", kEffort);
      for (const z3::expr& each : facts_.outer_) facts_.solver_.add(each);
    }
    Fresh(const Fresh&) = delete;
    Fresh& operator=(const Fresh&) = delete;
    ~Fresh() { std::swap(facts_.solver_, kept_); }

   private:
    Facts& facts_;
    z3::solver kept_;
  };

  void assume(const ir::Expr& condition, bool holds = true);
  /// Operand i of an operation is evaluated: of one that evaluates operands only where they are
  /// wanted, what the first one then is. Whether that says anything.
  bool assume_evaluated(const ir::Op& op, size_t i);
  void define(const ir::Var& var, const ir::Expr& value);
  /// One turn of a loop.
  void bind(const ir::For& loop);
  /// What is read from memory from here on may be something else.
  void step() { ++step_; }

  bool proves(const ir::Expr& condition, bool holds = true);
  bool proves_equal(const ir::Expr& a, const ir::Expr& b);
  /// Whether no run comes here.
  bool is_dead();

  /// All that is known, of which variables bound inside the launch get other names: what another
  /// step of the same thread knows.
  z3::expr of_another_step();
  /// Whether that can't be true together with what is known here, and a and b be equal.
  bool excludes(const z3::expr& other, const std::vector<z3::expr>& a,
                const std::vector<ir::Expr>& b);
  /// An integer or condition as a term; of another step if wanted.
  z3::expr term(const ir::Expr& e);
  z3::expr renamed(const z3::expr& e);

 private:
  static constexpr unsigned kEffort = 1'000'000;  // of one proof; about a third of a second

  z3::expr integer(const ir::Expr& e);
  z3::expr operation(const ir::Op& op);
  z3::expr unknown(const ir::Expr& e);
  std::string key(const ir::Expr& e) const;
  bool follows(const z3::expr& e);

  z3::context c_;
  z3::solver solver_{c_};
  std::vector<z3::expr> outer_;  // what the launch itself says
  int step_ = 0;
  std::map<std::string, z3::expr> known_;  // unknowns by key
  std::map<std::string, z3::expr> inner_;  // those of the launch's inside, by name
};

}  // namespace tw::test
