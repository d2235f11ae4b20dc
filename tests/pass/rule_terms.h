// What the proofs of rewrite rules have in common: the variables of a rule and their sorts.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tilewright/pass/rules.h"

namespace tw::testing {

using pass::Pattern;

/// Whether a place in a pattern holds a truth value or a value of the rule's type.
enum class Sort : uint8_t { boolean, value };

inline Sort operand_sort(const Pattern& p, size_t i, Sort own, pass::Domain domain) {
  switch (ir::op_row(p.code()).op_class) {
    case ir::OpClass::compare:
      return domain == pass::Domain::boolean ? Sort::boolean : Sort::value;
    case ir::OpClass::logic:
      return Sort::boolean;
    case ir::OpClass::choice:
      return i == 0 ? Sort::boolean : own;
    default:
      return own;
  }
}
inline Sort result_sort(const Pattern& p) {
  const ir::OpClass kind = ir::op_row(p.code()).op_class;
  return kind == ir::OpClass::compare || kind == ir::OpClass::logic ? Sort::boolean : Sort::value;
}

/// A wildcard (x, y, z, w) or constant (c0, c1, ...) of a rule.
struct Variable {
  Pattern::Kind kind;
  int slot;
  Sort sort;
  bool divides = false;  // or multiplies by something that is no literal, or is a shift count
  std::string name() const {
    const std::string number = std::to_string(slot);
    return kind == Pattern::Kind::wildcard ? std::string(1, "xyzw"[slot]) : "c" + number;
  }
};

inline void collect_variables(const Pattern& p, Sort sort, pass::Domain domain, bool divides,
                              std::vector<Variable>& out) {
  if (p.kind() == Pattern::Kind::wildcard || p.kind() == Pattern::Kind::constant) {
    const auto known = std::find_if(out.begin(), out.end(), [&](const Variable& v) {
      return v.kind == p.kind() && v.slot == p.slot();
    });
    if (known == out.end()) {
      out.push_back({p.kind(), p.slot(), sort, divides});
    } else {
      known->divides = known->divides || divides;
    }
    return;
  }
  if (p.kind() != Pattern::Kind::operation) return;
  using ir::OpCode;
  const bool by_second = p.is(OpCode::mul) || p.is(OpCode::floordiv) || p.is(OpCode::floormod) ||
                         p.is(OpCode::truncdiv) || p.is(OpCode::truncmod) || p.is(OpCode::shl) ||
                         p.is(OpCode::shr);
  for (size_t i = 0; i < p.args().size(); ++i) {
    collect_variables(p.args()[i], operand_sort(p, i, sort, domain), domain,
                      divides || (by_second && i == 1), out);
  }
}
/// The variables of a rule; the left side says what sort they are.
inline std::vector<Variable> variables_of(const pass::Rule& rule, pass::Domain domain) {
  std::vector<Variable> variables;
  const Sort result = domain == pass::Domain::boolean ? Sort::boolean : result_sort(rule.lhs);
  collect_variables(rule.lhs, result, domain, false, variables);
  const size_t left = variables.size();
  collect_variables(rule.rhs, result, domain, false, variables);
  if (rule.condition) collect_variables(*rule.condition, Sort::boolean, domain, false, variables);
  TW_CHECK(variables.size() == left, "{}: the right side uses what the left does not", rule.name);
  return variables;
}

/// Calls f(rule, domain) for every rule there is.
template <class F>
void for_each_rule(F f) {
  for (const pass::RuleSet& set : pass::rule_sets()) {
    for (const pass::Rule& rule : set.rules) f(rule, set.domain);
  }
  for (const pass::Rule& rule : pass::sum_rules()) f(rule, pass::Domain::index);
}

}  // namespace tw::testing
