// Rewrite rules as data: patterns over wildcards and constants, and one matcher for all of them.
//
//   rule("div_of_scaled", (x * c0 + y) / c0, x + y / c0, c0 != 0)
//
// w, x, y, z match any expression (the same one each time), c0 to c3 literals; `/` and `%` round
// down. Sums are matched as sums: `x * c0 + y` takes all terms with multiples of c0 into x and the
// others into y (y is 0 if none is left, but x isn't), `x + y` any one term into x. What a rule
// needs beyond its form is its condition, proven with Bounds. The tables are in rules_table.cpp;
// tests/pass/rules_test.cpp proves every row.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/bounds.h"

namespace tw::pass {

/// A pattern: what a rule matches, what it makes, or its condition.
class Pattern {
 public:
  static constexpr int kSlots = 4;  // wildcards, and constants
  enum class Kind : uint8_t {
    wildcard,  // w, x, y, z
    constant,  // c0 to c3
    integer,   // a literal; of bool: 0 or 1
    real,      // a float literal, bit for bit
    width,     // bits of the type
    operation,
  };

  Pattern(int literal);     // NOLINT: patterns are written with literals
  Pattern(double literal);  // NOLINT
  static Pattern wildcard(int slot) { return Pattern(Kind::wildcard, slot); }
  static Pattern constant(int slot) { return Pattern(Kind::constant, slot); }
  static Pattern width() { return Pattern(Kind::width, 0); }
  static Pattern operation(ir::OpCode code, std::vector<Pattern> args);

  Kind kind() const { return node_->kind; }
  int slot() const { return node_->slot; }
  int64_t integer() const { return node_->integer; }
  double real() const { return node_->real; }
  ir::OpCode code() const { return node_->code; }
  const std::vector<Pattern>& args() const { return node_->args; }
  bool is(ir::OpCode c) const { return kind() == Kind::operation && code() == c; }
  /// Whether it has no wildcard, so that it is a number once the constants are known.
  bool is_number() const { return node_->is_number; }

 private:
  struct Node {
    Kind kind;
    int slot = 0;
    int64_t integer = 0;
    double real = 0;
    ir::OpCode code = ir::OpCode::add;
    std::vector<Pattern> args;
    bool is_number = true;
  };
  Pattern(Kind kind, int slot);
  std::shared_ptr<const Node> node_;
};

/// What c0, c1, ... are.
using Numbers = std::array<std::optional<int64_t>, Pattern::kSlots>;
/// The number that a pattern is worth in a type of that width; empty if it has a wildcard or a
/// constant that isn't known, or where something in it is no int64_t or divides by 0 or -1.
std::optional<int64_t> number_of(const Pattern& p, const Numbers& numbers, int width);

/// `lhs` becomes `rhs` where `condition` holds.
struct Rule {
  std::string_view name;
  Pattern lhs, rhs;
  std::optional<Pattern> condition;
};
inline Rule rule(std::string_view name, Pattern lhs, Pattern rhs) {
  return {name, std::move(lhs), std::move(rhs), std::nullopt};
}
inline Rule rule(std::string_view name, Pattern lhs, Pattern rhs, Pattern condition) {
  return {name, std::move(lhs), std::move(rhs), std::move(condition)};
}

/// Over which values rules hold.
enum class Domain : uint8_t {
  index,     // integers without limits: i64, and what is proven not to wrap
  wrapping,  // integers of any width, and bool
  boolean,   // bool
  real,      // f16, bf16, f32, f64: the same bits, but for those of a NaN
  any,       // every type
};

struct RuleSet {
  Domain domain;
  std::vector<Rule> rules;
};
const std::vector<RuleSet>& rule_sets();
/// Rules for one or two terms of a sum, each with its coefficient: of domain index.
const std::vector<Rule>& sum_rules();

/// Makes the operations that a rule asks for, simplified; `instead_of` is what they replace.
class Maker {
 public:
  virtual ~Maker() = default;
  virtual ir::Expr make(ir::OpCode code, DType dtype, std::vector<ir::Expr> args,
                        const ir::Expr& instead_of) = 0;
};

/// What the first rule that matches makes of an operation with simplified operands; null if there
/// is none.
ir::Expr apply_rules(const ir::Expr& operation, const Bounds& bounds, Maker& maker);
/// The same for a term of a sum, or for two (b may be null), whose sum may wrap.
ir::Expr apply_sum_rules(const Linear::Term& a, const Linear::Term* b, const Bounds& bounds,
                         Maker& maker);

/// The way to write patterns; `using namespace` it where rules are listed.
namespace patterns {

inline const Pattern x = Pattern::wildcard(0), y = Pattern::wildcard(1), z = Pattern::wildcard(2),
                     w = Pattern::wildcard(3);
inline const Pattern c0 = Pattern::constant(0), c1 = Pattern::constant(1),
                     c2 = Pattern::constant(2), c3 = Pattern::constant(3);
inline const Pattern width = Pattern::width();

#define TW_PATTERN_OPERATOR(symbol, name)                              \
  inline Pattern operator symbol(const Pattern& a, const Pattern& b) { \
    return Pattern::operation(ir::OpCode::name, {a, b});               \
  }
TW_PATTERN_OPERATOR(+, add)
TW_PATTERN_OPERATOR(-, sub)
TW_PATTERN_OPERATOR(*, mul)
TW_PATTERN_OPERATOR(/, floordiv)
TW_PATTERN_OPERATOR(%, floormod)
TW_PATTERN_OPERATOR(&, bit_and)
TW_PATTERN_OPERATOR(|, bit_or)
TW_PATTERN_OPERATOR(^, bit_xor)
TW_PATTERN_OPERATOR(<<, shl)
TW_PATTERN_OPERATOR(>>, shr)
TW_PATTERN_OPERATOR(==, eq)
TW_PATTERN_OPERATOR(!=, ne)
TW_PATTERN_OPERATOR(<, lt)
TW_PATTERN_OPERATOR(<=, le)
TW_PATTERN_OPERATOR(>, gt)
TW_PATTERN_OPERATOR(>=, ge)
TW_PATTERN_OPERATOR(&&, land)
TW_PATTERN_OPERATOR(||, lor)
#undef TW_PATTERN_OPERATOR
inline Pattern operator!(const Pattern& a) { return Pattern::operation(ir::OpCode::lnot, {a}); }
inline Pattern operator-(const Pattern& a) { return Pattern::operation(ir::OpCode::neg, {a}); }
inline Pattern operator~(const Pattern& a) { return Pattern::operation(ir::OpCode::bit_not, {a}); }
template <ir::OpCode kCode, class... Patterns>
Pattern op(const Patterns&... args) {
  return Pattern::operation(kCode, {Pattern(args)...});
}

}  // namespace patterns

}  // namespace tw::pass
