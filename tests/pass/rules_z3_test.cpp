// Every rule is proven by Z3, for all integers or all values of a width. Constants, divisors and
// factors are enumerated in index rules, so that what is left is linear.
#include <gtest/gtest.h>
#include <z3++.h>

#include "tests/pass/rule_terms.h"
#include "tilewright/base/format.h"

namespace tw::pass {
namespace {

using ir::OpCode;
using testing::Sort;
using testing::Variable;

/// Writes patterns as terms of Z3. Subclasses know one kind of values.
class Terms {
 public:
  explicit Terms(z3::context& c) : c(c) {}
  virtual ~Terms() = default;

  void set(const Variable& v, z3::expr value) {
    const size_t slot = static_cast<size_t>(v.slot) + (v.kind == Pattern::Kind::constant ? 4 : 0);
    while (variables_.size() <= slot) variables_.push_back(c.bool_val(false));
    variables_.set(static_cast<int>(slot), value);
  }
  z3::expr term(const Pattern& p, Sort sort, Domain domain) {
    switch (p.kind()) {
      case Pattern::Kind::wildcard:
        return variables_[p.slot()];
      case Pattern::Kind::constant:
        return variables_[p.slot() + 4];
      case Pattern::Kind::integer:
        return sort == Sort::boolean ? c.bool_val(p.integer() != 0) : number(p.integer());
      case Pattern::Kind::real:
        return real(p.real());
      case Pattern::Kind::width:
        return number(width());
      default:
        break;
    }
    std::vector<z3::expr> a;
    for (size_t i = 0; i < p.args().size(); ++i) {
      a.push_back(term(p.args()[i], testing::operand_sort(p, i, sort, domain), domain));
    }
    switch (p.code()) {
      case OpCode::land:
        return a[0] && a[1];
      case OpCode::lor:
        return a[0] || a[1];
      case OpCode::lnot:
        return !a[0];
      case OpCode::select:
      case OpCode::if_else:
        return z3::ite(a[0], a[1], a[2]);
      case OpCode::eq:
        return equal(a[0], a[1]);
      case OpCode::ne:
        return !equal(a[0], a[1]);
      case OpCode::lt:
        return less(a[0], a[1]);
      case OpCode::le:
        return at_most(a[0], a[1]);
      case OpCode::gt:
        return less(a[1], a[0]);
      case OpCode::ge:
        return at_most(a[1], a[0]);
      default:
        return operation(p.code(), a);
    }
  }

 protected:
  using Args = std::vector<z3::expr>;
  [[noreturn]] static void unknown(OpCode code) {
    throw_internal("operation", SourceLoc::here(),
                   format("the proof knows no {}: write it here", ir::op_row(code).name));
  }
  virtual z3::expr number(int64_t value) = 0;
  virtual z3::expr real(double) { unknown(OpCode::fdiv); }
  virtual int64_t width() { return 64; }
  virtual z3::expr equal(const z3::expr& a, const z3::expr& b) { return a == b; }
  virtual z3::expr less(const z3::expr& a, const z3::expr& b) = 0;
  virtual z3::expr at_most(const z3::expr& a, const z3::expr& b) = 0;
  virtual z3::expr operation(OpCode code, const Args& a) = 0;
  z3::expr zero_if(const z3::expr& condition, const z3::expr& otherwise) {
    return z3::ite(condition, number(0), otherwise);
  }

  z3::context& c;

 private:
  z3::expr_vector variables_{c};
};

/// Integers without limits. Z3's div rounds down for positive divisors.
class IntTerms : public Terms {
 public:
  using Terms::Terms;

 protected:
  z3::expr number(int64_t value) override { return c.int_val(value); }
  z3::expr less(const z3::expr& a, const z3::expr& b) override { return a < b; }
  z3::expr at_most(const z3::expr& a, const z3::expr& b) override { return a <= b; }
  z3::expr floor_div(const z3::expr& a, const z3::expr& b) {
    return zero_if(b == 0, z3::ite(b > 0, a / b, (-a) / (-b)));
  }
  z3::expr trunc_div(const z3::expr& a, const z3::expr& b) {
    const z3::expr q = z3::ite(a >= 0, a, -a) / z3::ite(b >= 0, b, -b);
    return zero_if(b == 0, z3::ite((a >= 0) == (b >= 0), q, -q));
  }
  z3::expr operation(OpCode code, const Args& a) override {
    switch (code) {
      case OpCode::add:
        return a[0] + a[1];
      case OpCode::sub:
        return a[0] - a[1];
      case OpCode::mul:
        return a[0] * a[1];
      case OpCode::neg:
        return -a[0];
      case OpCode::abs:
        return z3::ite(a[0] >= 0, a[0], -a[0]);
      case OpCode::min:
        return z3::ite(a[1] < a[0], a[1], a[0]);
      case OpCode::max:
        return z3::ite(a[1] > a[0], a[1], a[0]);
      case OpCode::floordiv:
        return floor_div(a[0], a[1]);
      case OpCode::floormod:
        return zero_if(a[1] == 0, a[0] - floor_div(a[0], a[1]) * a[1]);
      case OpCode::truncdiv:
        return trunc_div(a[0], a[1]);
      case OpCode::truncmod:
        return zero_if(a[1] == 0, a[0] - trunc_div(a[0], a[1]) * a[1]);
      default:
        unknown(code);
    }
  }
};

/// Integers of a width, which wrap.
class BitTerms : public Terms {
 public:
  BitTerms(z3::context& c, int bits, bool is_signed)
      : Terms(c), bits_(static_cast<unsigned>(bits)), signed_(is_signed) {}

 protected:
  z3::expr number(int64_t value) override { return c.bv_val(value, bits_); }
  int64_t width() override { return bits_; }
  z3::expr less(const z3::expr& a, const z3::expr& b) override {
    return signed_ ? a < b : z3::ult(a, b);
  }
  z3::expr at_most(const z3::expr& a, const z3::expr& b) override {
    return signed_ ? a <= b : z3::ule(a, b);
  }
  z3::expr trunc_div(const z3::expr& a, const z3::expr& b) {
    return zero_if(b == number(0), signed_ ? a / b : z3::udiv(a, b));
  }
  z3::expr floor_div(const z3::expr& a, const z3::expr& b) {
    if (!signed_) return trunc_div(a, b);
    const z3::expr q = trunc_div(a, b), rest = a - q * b;
    const z3::expr down = b != number(0) && rest != number(0) && (rest < 0) != (b < 0);
    return z3::ite(down, q - 1, q);
  }
  z3::expr saturated(const z3::expr& wide) {
    const unsigned more = wide.get_sort().bv_size();
    const auto limit = [&](int64_t v) { return c.bv_val(v, more); };
    const int64_t low = signed_ ? -(int64_t{1} << (bits_ - 1)) : 0;
    const int64_t high = (int64_t{1} << (signed_ ? bits_ - 1 : bits_)) - 1;
    return z3::ite(wide < limit(low), limit(low), z3::ite(wide > limit(high), limit(high), wide))
        .extract(bits_ - 1, 0);
  }
  z3::expr widened(const z3::expr& a) { return signed_ ? z3::sext(a, bits_) : z3::zext(a, bits_); }
  z3::expr operation(OpCode code, const Args& a) override {
    const auto count = [&] { return a[1] & number(bits_ - 1); };
    switch (code) {
      case OpCode::add:
        return a[0] + a[1];
      case OpCode::sub:
        return a[0] - a[1];
      case OpCode::mul:
        return a[0] * a[1];
      case OpCode::neg:
        return -a[0];
      case OpCode::abs:
        return signed_ ? z3::ite(a[0] < 0, -a[0], a[0]) : a[0];
      case OpCode::min:
        return z3::ite(less(a[1], a[0]), a[1], a[0]);
      case OpCode::max:
        return z3::ite(less(a[0], a[1]), a[1], a[0]);
      case OpCode::floordiv:
        return floor_div(a[0], a[1]);
      case OpCode::floormod:
        return zero_if(a[1] == number(0), a[0] - floor_div(a[0], a[1]) * a[1]);
      case OpCode::truncdiv:
        return trunc_div(a[0], a[1]);
      case OpCode::truncmod:
        return zero_if(a[1] == number(0), a[0] - trunc_div(a[0], a[1]) * a[1]);
      case OpCode::bit_and:
        return a[0] & a[1];
      case OpCode::bit_or:
        return a[0] | a[1];
      case OpCode::bit_xor:
        return a[0] ^ a[1];
      case OpCode::bit_not:
        return ~a[0];
      case OpCode::shl:
        return z3::shl(a[0], count());
      case OpCode::shr:
        return signed_ ? z3::ashr(a[0], count()) : z3::lshr(a[0], count());
      case OpCode::add_sat:
        return saturated(widened(a[0]) + widened(a[1]));
      case OpCode::sub_sat:
        return saturated(widened(a[0]) - widened(a[1]));
      case OpCode::mul_high:
        return (widened(a[0]) * widened(a[1])).extract(2 * bits_ - 1, bits_);
      default:
        unknown(code);
    }
  }

 private:
  unsigned bits_;
  bool signed_;
};

/// Floats of a small format; Z3 has one NaN.
class FloatTerms : public Terms {
 public:
  FloatTerms(z3::context& c, const z3::sort& sort) : Terms(c), sort_(sort) {}

 protected:
  z3::expr number(int64_t value) override { return real(static_cast<double>(value)); }
  z3::expr real(double value) override {
    return z3::expr(c, Z3_mk_fpa_numeral_double(c, value, sort_));
  }
  // == of z3++ is the identity: of NaN with itself, not of the two zeros.
  z3::expr equal(const z3::expr& a, const z3::expr& b) override {
    return z3::expr(c, Z3_mk_fpa_eq(c, a, b));
  }
  z3::expr less(const z3::expr& a, const z3::expr& b) override { return a < b; }
  z3::expr at_most(const z3::expr& a, const z3::expr& b) override { return a <= b; }
  z3::expr is(Z3_ast (*test)(Z3_context, Z3_ast), const z3::expr& a) {
    return z3::expr(c, test(c, a));
  }
  z3::expr operation(OpCode code, const Args& a) override {
    switch (code) {
      case OpCode::add:
        return a[0] + a[1];
      case OpCode::sub:
        return a[0] - a[1];
      case OpCode::mul:
        return a[0] * a[1];
      case OpCode::fdiv:
        return a[0] / a[1];
      case OpCode::neg:
        return -a[0];
      case OpCode::abs:
        return z3::abs(a[0]);
      case OpCode::fma:
        return z3::expr(c, Z3_mk_fpa_fma(c, c.fpa_rounding_mode(), a[0], a[1], a[2]));
      case OpCode::min:
        return z3::ite(is(Z3_mk_fpa_is_nan, a[0]) || a[1] < a[0], a[1], a[0]);
      case OpCode::max:
        return z3::ite(is(Z3_mk_fpa_is_nan, a[0]) || a[1] > a[0], a[1], a[0]);
      case OpCode::min_nan:
        return z3::ite(is(Z3_mk_fpa_is_nan, a[1]) || a[1] < a[0], a[1], a[0]);
      case OpCode::max_nan:
        return z3::ite(is(Z3_mk_fpa_is_nan, a[1]) || a[1] > a[0], a[1], a[0]);
      case OpCode::copysign: {
        const z3::expr magnitude = z3::abs(a[0]);
        return z3::ite(is(Z3_mk_fpa_is_negative, a[1]), -magnitude, magnitude);
      }
      default:
        unknown(code);
    }
  }

 private:
  z3::sort sort_;
};

/// Whether lhs = rhs follows from the condition.
z3::check_result counterexample(const Rule& rule, Domain domain, Terms& terms, z3::solver& solver) {
  const Sort sort = domain == Domain::boolean ? Sort::boolean : testing::result_sort(rule.lhs);
  solver.push();
  if (rule.condition) solver.add(terms.term(*rule.condition, Sort::boolean, domain));
  // Distinct is the negation of identity, for floats too.
  const z3::expr lhs = terms.term(rule.lhs, sort, domain), rhs = terms.term(rule.rhs, sort, domain);
  solver.add(z3::expr(solver.ctx(), Z3_mk_not(solver.ctx(), Z3_mk_eq(solver.ctx(), lhs, rhs))));
  const z3::check_result result = solver.check();
  solver.pop();
  return result;
}

bool has_bit_operation(const Pattern& p) {
  if (p.kind() != Pattern::Kind::operation) return false;
  if (p.is(OpCode::bit_and) || p.is(OpCode::shr) || p.is(OpCode::shl)) return true;
  return std::any_of(p.args().begin(), p.args().end(), has_bit_operation);
}

class RulesZ3 : public ::testing::Test {
 protected:
  RulesZ3() : solver(c) {
    z3::params params(c);
    params.set("timeout", 60000U);  // milliseconds; nearly all take a few
    solver.set(params);
  }
  z3::context c;
  z3::solver solver;
};

TEST_F(RulesZ3, ProvesIndexRulesForAllIntegers) {
  const std::vector<int64_t> numbers{-64, -3, -1, 0, 1, 2, 3, 4, 12, 64, 96, 128};
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::index) return;
    const std::vector<Variable> all = testing::variables_of(rule, domain);
    // Masks and shifts: on 16 bits, where the width in the condition is that of indices.
    const bool bits = has_bit_operation(rule.lhs);
    struct IndexBits : BitTerms {
      explicit IndexBits(z3::context& c) : BitTerms(c, 16, true) {}
      int64_t width() override { return 64; }
    } bit_terms(c);
    IntTerms int_terms(c);
    Terms& terms = bits ? static_cast<Terms&>(bit_terms) : int_terms;
    std::vector<Variable> numbered;
    for (const Variable& v : all) {
      if (v.kind == Pattern::Kind::constant || v.divides) {
        numbered.push_back(v);
      } else {
        terms.set(v, bits ? c.bv_const(v.name().c_str(), 16) : c.int_const(v.name().c_str()));
      }
    }
    std::vector<int64_t> values = numbers;
    if (bits) values = {0, 1, 2, 3, 5, 7, 14};
    std::vector<size_t> at(numbered.size(), 0);
    for (bool more = true; more;) {
      std::string where;
      for (size_t i = 0; i < at.size(); ++i) {
        const int64_t v = values[at[i]];
        terms.set(numbered[i], bits ? c.bv_val(v, 16) : c.int_val(v));
        where += format(" {}={}", numbered[i].name(), v);
      }
      // Most combinations of numbers fail the condition by themselves.
      const bool possible =
          !rule.condition ||
          !terms.term(*rule.condition, Sort::boolean, domain).simplify().is_false();
      if (possible) {
        ASSERT_EQ(counterexample(rule, domain, terms, solver), z3::unsat) << rule.name << where;
      }
      size_t i = 0;
      while (i < at.size() && ++at[i] == values.size()) at[i++] = 0;
      more = i < at.size();
    }
  });
}

TEST_F(RulesZ3, ProvesRulesOfWrappingIntegersForAllValues) {
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::wrapping) return;
    for (const int width : {8, 16}) {
      for (const bool is_signed : {false, true}) {
        BitTerms terms(c, width, is_signed);
        const auto n = static_cast<unsigned>(width);
        solver.push();
        for (const Variable& v : testing::variables_of(rule, domain)) {
          const z3::expr value = c.bv_const(v.name().c_str(), n);
          terms.set(v, value);
          // Conditions are about shift counts, whose sum does not wrap.
          const bool count = v.kind == Pattern::Kind::constant && rule.condition;
          if (count) solver.add(z3::ult(value, c.bv_val(width, n)));
        }
        EXPECT_EQ(counterexample(rule, domain, terms, solver), z3::unsat)
            << rule.name << " of " << (is_signed ? "signed " : "unsigned ") << width << " bits";
        solver.pop();
      }
    }
  });
}

TEST_F(RulesZ3, ProvesRulesOfTruthValuesAndOfAnyType) {
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::boolean && domain != Domain::any) return;
    BitTerms terms(c, 8, false);
    for (const Variable& v : testing::variables_of(rule, domain)) {
      terms.set(v, v.sort == Sort::boolean ? c.bool_const(v.name().c_str())
                                           : c.bv_const(v.name().c_str(), 8));
    }
    EXPECT_EQ(counterexample(rule, domain, terms, solver), z3::unsat) << rule.name;
  });
}

TEST_F(RulesZ3, ProvesRulesOfFloatsForAllValuesOfSmallFormats) {
  c.set_rounding_mode(z3::RNE);
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::real) return;
    const z3::sort format = c.fpa_sort(3, 3);
    FloatTerms terms(c, format);
    for (const Variable& v : testing::variables_of(rule, domain)) {
      terms.set(v, c.constant(v.name().c_str(), format));
    }
    EXPECT_EQ(counterexample(rule, domain, terms, solver), z3::unsat) << rule.name;
  });
}

TEST_F(RulesZ3, RefutesWrongRules) {
  using namespace patterns;
  IntTerms ints(c);
  for (const Variable& v : testing::variables_of(rule("", x + y, x), Domain::index)) {
    ints.set(v, c.int_const(v.name().c_str()));
  }
  const Rule wrong = rule("wrong", (x + y) / 2, x / 2 + y / 2);
  EXPECT_EQ(counterexample(wrong, Domain::index, ints, solver), z3::sat);
  const Rule conditional = rule("right", (x + y) / 2, x / 2 + y / 2, y % 2 == 0);
  EXPECT_EQ(counterexample(conditional, Domain::index, ints, solver), z3::unsat);

  c.set_rounding_mode(z3::RNE);
  const z3::sort format = c.fpa_sort(3, 3);
  FloatTerms floats(c, format);
  floats.set({Pattern::Kind::wildcard, 0, Sort::value}, c.constant("x", format));
  EXPECT_EQ(counterexample(rule("zero", x + 0.0, x), Domain::real, floats, solver), z3::sat);
  EXPECT_EQ(counterexample(rule("same", x - x, 0.0), Domain::real, floats, solver), z3::sat);
}

}  // namespace
}  // namespace tw::pass
