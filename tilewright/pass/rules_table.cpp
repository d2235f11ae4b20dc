// The rewrite rules. tests/pass/rules_test.cpp proves each row by enumeration and with Z3.
#include "tilewright/pass/rules.h"

namespace tw::pass {
namespace {

using namespace patterns;
using ir::OpCode;

Pattern truncdiv(const Pattern& a, const Pattern& b) { return op<OpCode::truncdiv>(a, b); }
Pattern truncmod(const Pattern& a, const Pattern& b) { return op<OpCode::truncmod>(a, b); }
Pattern min(const Pattern& a, const Pattern& b) { return op<OpCode::min>(a, b); }
Pattern max(const Pattern& a, const Pattern& b) { return op<OpCode::max>(a, b); }
Pattern abs(const Pattern& a) { return op<OpCode::abs>(a); }
Pattern select(const Pattern& c, const Pattern& a, const Pattern& b) {
  return op<OpCode::select>(c, a, b);
}
Pattern if_else(const Pattern& c, const Pattern& a, const Pattern& b) {
  return op<OpCode::if_else>(c, a, b);
}
Pattern fdiv(const Pattern& a, const Pattern& b) { return op<OpCode::fdiv>(a, b); }
Pattern fma(const Pattern& a, const Pattern& b, const Pattern& c) {
  return op<OpCode::fma>(a, b, c);
}

// Sums, and products with constants, are put in order as Linear; so are sums on both sides of a
// comparison. gt and ge are turned round, constants stand on the right.
const std::vector<Rule>& index_rules() {
  static const std::vector<Rule> rules = {
      rule("div_of_scaled", (x * c0 + y) / c0, x + y / c0, c0 != 0),
      rule("mod_of_scaled", (x * c0 + y) % c0, y % c0, c0 != 0),
      rule("div_of_multiple", (x * z + y) / z, x + y / z, z != 0),
      rule("mod_of_multiple", (x * z + y) % z, y % z, z != 0),
      rule("div_of_small", x / y, 0, 0 <= x && x < y),
      rule("mod_of_small", x % y, x, 0 <= x && x < y),
      rule("div_of_small_negative", x / y, -1, 0 - y <= x && x < 0),
      rule("mod_of_small_negative", x % y, x + y, 0 - y <= x && x < 0),
      rule("div_of_div", (x / c0) / c1, x / (c0 * c1), c0 > 0 && c1 > 0),
      rule("mod_of_mod", (x % c0) % c1, x % c1, c0 != 0 && c0 % c1 == 0),
      rule("div_by_common_factor", (x * c0 + y) / c1, x / (c1 / c0),
           c0 > 1 && c1 > 0 && c1 % c0 == 0 && 0 <= y && y < c0),
      rule("mod_by_common_factor", (x * c0 + y) % c1, x % (c1 / c0) * c0 + y,
           c0 > 1 && c1 % c0 == 0 && c1 > c0 && 0 <= y && y < c0),
      rule("div_drops_remainder", (x + y) / c0, x / c0, x % c0 == 0 && 0 <= y && y < c0),
      rule("mod_drops_multiple", (x + y) % c0, y % c0, x % c0 == 0),
      rule("div_by_itself", x / x, 1, x != 0),

      rule("truncdiv_is_div", truncdiv(x, y), x / y, 0 <= x && 0 < y),
      rule("truncmod_is_mod", truncmod(x, y), x % y, 0 <= x && 0 < y),
      rule("truncdiv_of_small", truncdiv(x, y), 0, 0 - y < x && x < y),
      rule("truncmod_of_small", truncmod(x, y), x, 0 - y < x && x < y),
      rule("truncdiv_of_multiple", truncdiv(x * c0, c0), x, c0 != 0),
      rule("truncmod_of_multiple", truncmod(x * c0, c0), 0, c0 != 0),
      rule("truncdiv_of_truncdiv", truncdiv(truncdiv(x, c0), c1), truncdiv(x, c0 * c1),
           c0 > 0 && c1 > 0),
      rule("truncmod_of_truncmod", truncmod(truncmod(x, c0), c1), truncmod(x, c1),
           c0 != 0 && c0 % c1 == 0),
      rule("truncdiv_by_itself", truncdiv(x, x), 1, x != 0),
      rule("shr_is_div", x >> c0, x / (1 << c0), width == 64 && 0 <= c0 && c0 < 62),
      rule("mask_is_mod", x & c0, x % (c0 + 1), width == 64 && 0 <= c0 && (c0 & (c0 + 1)) == 0),

      rule("min_is_first", min(x, y), x, x <= y),
      rule("min_is_second", min(x, y), y, y <= x),
      rule("max_is_first", max(x, y), x, y <= x),
      rule("max_is_second", max(x, y), y, x <= y),
      rule("abs_of_positive", abs(x), x, 0 <= x),
      rule("abs_of_negative", abs(x), 0 - x, x <= 0),
      rule("abs_of_neg", abs(-x), abs(x)),

      rule("scaled_lt_scaled", x * c0 + y < z * c0, x < z, c0 > 1 && 0 <= y && y < c0),
      rule("scaled_le_scaled", x * c0 + y <= z * c0, x < z, c0 > 1 && 1 <= y && y <= c0),
      rule("scaled_lt_scaled_rest", x * c0 < z * c0 + y, x <= z, c0 > 1 && 1 <= y && y <= c0),
      rule("scaled_le_scaled_rest", x * c0 <= z * c0 + y, x <= z, c0 > 1 && 0 <= y && y < c0),
      rule("scaled_eq_scaled", x * c0 == z * c0, x == z, c0 > 1),
      rule("scaled_ne_scaled", x * c0 != z * c0, x != z, c0 > 1),
      rule("scaled_lt", x * c0 < c1, x < (c1 + c0 - 1) / c0, c0 > 1),
      rule("scaled_le", x * c0 <= c1, x <= c1 / c0, c0 > 1),
      rule("lt_scaled", c1 < x * c0, c1 / c0 < x, c0 > 1),
      rule("le_scaled", c1 <= x * c0, (c1 + c0 - 1) / c0 <= x, c0 > 1),
      rule("scaled_sum_lt", x * c0 + y < c1, x < c1 / c0,
           c0 > 1 && c1 % c0 == 0 && 0 <= y && y < c0),
      rule("le_scaled_sum", c1 <= x * c0 + y, c1 / c0 <= x,
           c0 > 1 && c1 % c0 == 0 && 0 <= y && y < c0),
      rule("scaled_sum_le", x * c0 + y <= c1, x < (c1 + 1) / c0,
           c0 > 1 && (c1 + 1) % c0 == 0 && 0 <= y && y < c0),
      rule("lt_scaled_sum", c1 < x * c0 + y, (c1 + 1) / c0 <= x,
           c0 > 1 && (c1 + 1) % c0 == 0 && 0 <= y && y < c0),
      rule("scaled_eq", x * c0 == c1, x == c1 / c0, c0 > 1 && c1 % c0 == 0),
      rule("scaled_ne", x * c0 != c1, x != c1 / c0, c0 > 1 && c1 % c0 == 0),
      rule("div_lt", x / c0 < c1, x < c1 * c0, c0 > 0),
      rule("div_le", x / c0 <= c1, x < (c1 + 1) * c0, c0 > 0),
      rule("lt_div", c1 < x / c0, (c1 + 1) * c0 <= x, c0 > 0),
      rule("le_div", c1 <= x / c0, c1 * c0 <= x, c0 > 0),
  };
  return rules;
}

const std::vector<Rule>& wrapping_rules() {
  static const std::vector<Rule> rules = {
      rule("div_by_one", x / 1, x),
      rule("mod_by_one", x % 1, 0),
      rule("div_of_zero", 0 / y, 0),
      rule("mod_of_zero", 0 % y, 0),
      rule("mod_by_itself", x % x, 0),
      rule("truncdiv_by_one", truncdiv(x, 1), x),
      rule("truncmod_by_one", truncmod(x, 1), 0),
      rule("truncdiv_of_zero", truncdiv(0, y), 0),
      rule("truncmod_of_zero", truncmod(0, y), 0),
      rule("truncmod_by_itself", truncmod(x, x), 0),

      rule("min_of_min", min(min(x, c0), c1), min(x, min(c0, c1))),
      rule("max_of_max", max(max(x, c0), c1), max(x, max(c0, c1))),
      rule("select_is_min", select(x < y, x, y), min(x, y)),
      rule("select_le_is_min", select(x <= y, x, y), min(x, y)),
      rule("select_is_max", select(x < y, y, x), max(x, y)),
      rule("select_le_is_max", select(x <= y, y, x), max(x, y)),
      rule("not_lt", !(x < y), y <= x),
      rule("not_le", !(x <= y), y < x),
      rule("abs_of_abs", abs(abs(x)), abs(x)),

      rule("and_itself", x & x, x),
      rule("or_itself", x | x, x),
      rule("xor_itself", x ^ x, 0),
      rule("and_zero", x & 0, 0),
      rule("or_zero", x | 0, x),
      rule("xor_zero", x ^ 0, x),
      rule("and_ones", x & -1, x),
      rule("or_ones", x | -1, -1),
      rule("xor_ones", x ^ -1, ~x),
      rule("not_not", ~~x, x),
      rule("and_of_and", (x & c0) & c1, x & (c0 & c1)),
      rule("or_of_or", (x | c0) | c1, x | (c0 | c1)),
      rule("xor_of_xor", (x ^ c0) ^ c1, x ^ (c0 ^ c1)),
      rule("xor_twice", (x ^ y) ^ y, x),
      rule("and_absorbs", x & (x | y), x),
      rule("or_absorbs", x | (x & y), x),

      rule("shl_by_zero", x << 0, x),
      rule("shr_by_zero", x >> 0, x),
      rule("shl_of_zero", 0 << y, 0),
      rule("shr_of_zero", 0 >> y, 0),
      rule("shl_of_shl", (x << c0) << c1, x << (c0 + c1), 0 <= c0 && 0 <= c1 && c0 + c1 < width),
      rule("shr_of_shr", (x >> c0) >> c1, x >> (c0 + c1), 0 <= c0 && 0 <= c1 && c0 + c1 < width),
      rule("add_sat_zero", op<OpCode::add_sat>(x, 0), x),
      rule("sub_sat_zero", op<OpCode::sub_sat>(x, 0), x),
      rule("mul_high_zero", op<OpCode::mul_high>(x, 0), 0),
  };
  return rules;
}

const std::vector<Rule>& boolean_rules() {
  static const std::vector<Rule> rules = {
      rule("and_true", x && 1, x),
      rule("true_and", 1 && x, x),
      rule("and_false", x && 0, 0),
      rule("false_and", 0 && x, 0),
      rule("or_false", x || 0, x),
      rule("false_or", 0 || x, x),
      rule("or_true", x || 1, 1),
      rule("true_or", 1 || x, 1),
      rule("and_itself_bool", x && x, x),
      rule("or_itself_bool", x || x, x),
      rule("not_not_bool", !!x, x),
      rule("and_not", x && !x, 0),
      rule("not_and", !x && x, 0),
      rule("or_not", x || !x, 1),
      rule("not_or", !x || x, 1),
      rule("and_absorbs_bool", x && (x || y), x),
      rule("or_absorbs_bool", x || (x && y), x),
      rule("and_again", (x && y) && y, x && y),
      rule("and_first_again", (x && y) && x, x && y),
      rule("or_again", (x || y) || y, x || y),
      rule("or_first_again", (x || y) || x, x || y),
      rule("eq_true", x == 1, x),
      rule("eq_false", x == 0, !x),
      rule("ne_true", x != 1, !x),
      rule("ne_false", x != 0, x),
      rule("select_true_false", select(x, 1, 0), x),
      rule("select_false_true", select(x, 0, 1), !x),
      rule("select_or", select(x, 1, y), x || y),
      rule("select_and", select(x, y, 0), x && y),
  };
  return rules;
}

// -0.0 is the neutral element of the sum of floats: 0.0 would make -0.0 positive.
const std::vector<Rule>& real_rules() {
  static const std::vector<Rule> rules = {
      rule("mul_one", x * 1.0, x),
      rule("mul_minus_one", x * -1.0, -x),
      rule("div_one", fdiv(x, 1.0), x),
      rule("div_minus_one", fdiv(x, -1.0), -x),
      rule("add_minus_zero", x + -0.0, x),
      rule("sub_zero", x - 0.0, x),
      rule("minus_zero_sub", -0.0 - x, -x),
      rule("add_neg", x + -y, x - y),
      rule("sub_neg", x - -y, x + y),
      rule("neg_neg", -(-x), x),
      rule("mul_neg_neg", -x * -y, x * y),
      rule("abs_abs", abs(abs(x)), abs(x)),
      rule("abs_neg", abs(-x), abs(x)),
      rule("div_by_power_of_two", fdiv(x, c0), x * fdiv(1.0, c0),
           fma(fdiv(1.0, c0), c0, -1.0) == 0.0),
      rule("fma_one", fma(x, 1.0, y), x + y),
      rule("fma_minus_zero", fma(x, y, -0.0), x * y),
      rule("min_itself", min(x, x), x),
      rule("max_itself", max(x, x), x),
      rule("min_nan_itself", op<OpCode::min_nan>(x, x), x),
      rule("max_nan_itself", op<OpCode::max_nan>(x, x), x),
      rule("abs_copysign", abs(op<OpCode::copysign>(x, y)), abs(x)),
      rule("lt_itself", x < x, 0),
  };
  return rules;
}

const std::vector<Rule>& any_rules() {
  static const std::vector<Rule> rules = {
      rule("not_eq", !(x == y), x != y),
      rule("not_ne", !(x != y), x == y),
      rule("select_first", select(1, x, y), x),
      rule("select_second", select(0, x, y), y),
      rule("select_same", select(x, y, y), y),
      rule("select_not", select(!x, y, z), select(x, z, y)),
      rule("select_again", select(x, select(x, y, z), w), select(x, y, w)),
      rule("select_not_again", select(x, y, select(x, z, w)), select(x, y, w)),
      rule("if_else_first", if_else(1, x, y), x),
      rule("if_else_second", if_else(0, x, y), y),
      rule("if_else_same", if_else(x, y, y), y),
      rule("if_else_not", if_else(!x, y, z), if_else(x, z, y)),
      rule("if_else_again", if_else(x, if_else(x, y, z), w), if_else(x, y, w)),
      rule("if_else_not_again", if_else(x, y, if_else(x, z, w)), if_else(x, y, w)),
  };
  return rules;
}

}  // namespace

const std::vector<RuleSet>& rule_sets() {
  static const std::vector<RuleSet> sets = {
      {Domain::boolean, boolean_rules()},   {Domain::any, any_rules()},
      {Domain::wrapping, wrapping_rules()}, {Domain::index, index_rules()},
      {Domain::real, real_rules()},
  };
  return sets;
}

const std::vector<Rule>& sum_rules() {
  static const std::vector<Rule> rules = {
      rule("div_mod", x / c0 * c1 + x % c0 * c2, x * c2, c0 != 0 && c1 == c0 * c2),
      rule("div_mod_by_term", x / z * z * c1 + x % z * c1, x * c1, z != 0),
      rule("mod_mod", x / c0 % c3 * c1 + x % c0 * c2, x % (c0 * c3) * c2,
           c1 == c0 * c2 && c0 > 0 && c3 > 0),
      rule("div_of_mod", x % c3 / c0 * c1 + x % c0 * c2, x % c3 * c2,
           c1 == c0 * c2 && c0 > 0 && c3 > 0 && c3 % c0 == 0),
      rule("div_exact", x / c0 * c1, x * (c1 / c0), c1 % c0 == 0 && x % c0 == 0),
      rule("truncdiv_exact", truncdiv(x, c0) * c1, x * (c1 / c0), c1 % c0 == 0 && x % c0 == 0),
      rule("truncdiv_truncmod", truncdiv(x, c0) * c1 + truncmod(x, c0) * c2, x * c2,
           c0 != 0 && c1 == c0 * c2),
      rule("min_max", min(x, y) * c1 + max(x, y) * c1, x * c1 + y * c1),
  };
  return rules;
}

}  // namespace tw::pass
