// Every rule holds for all small values: the table is walked, so a rule can't be forgotten.
#include "tilewright/pass/rules.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/pass/rule_terms.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/element.h"

namespace tw::pass {
namespace {

using ir::OpCode;
using testing::Sort;
using testing::Variable;

/// Values for variables, and what patterns are worth with them.
class Point {
 public:
  Point(Domain domain, DType dtype) : domain_(domain), dtype_(dtype) {}

  void set(const Variable& variable, uint64_t bits) {
    auto& slots = variable.kind == Pattern::Kind::wildcard ? wildcards_ : constants_;
    slots[static_cast<size_t>(variable.slot)] = bits;
  }
  uint64_t value(const Pattern& p, Sort sort) const {
    const DType type = sort == Sort::boolean ? bool_ : dtype_;
    if (p.kind() == Pattern::Kind::wildcard) return wildcards_[static_cast<size_t>(p.slot())];
    if (p.kind() == Pattern::Kind::real) return encode(p.real(), type);
    if (!dtype_.is_float() && p.is_number()) return encode(number(p), type);
    if (p.kind() == Pattern::Kind::constant) return constants_[static_cast<size_t>(p.slot())];
    if (p.kind() == Pattern::Kind::integer) return encode(int64_t{p.integer()}, type);
    std::array<uint64_t, 3> args{};
    Sort first = Sort::value;
    for (size_t i = 0; i < p.args().size(); ++i) {
      const Sort operand = testing::operand_sort(p, i, sort, domain_);
      if (i == 0) first = operand;
      args[i] = value(p.args()[i], operand);
    }
    return function(p.code(), first == Sort::boolean ? bool_ : dtype_)(args[0], args[1], args[2]);
  }

 private:
  /// Numbers are computed without the limits of the type.
  int64_t number(const Pattern& p) const {
    switch (p.kind()) {
      case Pattern::Kind::constant:
        return decode_int(constants_[static_cast<size_t>(p.slot())], dtype_);
      case Pattern::Kind::integer:
        return p.integer();
      case Pattern::Kind::width:
        return dtype_.bits();
      default:
        break;
    }
    std::array<uint64_t, 2> args{};
    for (size_t i = 0; i < p.args().size(); ++i) {
      args[i] = static_cast<uint64_t>(number(p.args()[i]));
    }
    return static_cast<int64_t>(
        function(p.code(), ir::op_row(p.code()).op_class == ir::OpClass::logic ? bool_ : i64)(
            args[0], args[1], 0));
  }
  static ir::ElementFn function(OpCode code, DType type) {
    const ir::ElementFn f = ir::exact_function(code, type);
    TW_CHECK(f != nullptr, "{} of {}", ir::op_row(code).name, type);
    return f;
  }

  Domain domain_;
  DType dtype_;
  std::array<uint64_t, 4> wildcards_{}, constants_{};
};

/// Checks the rule at all combinations of the values that `values_of` gives for a variable; tells
/// how often its condition held.
template <class ValuesOf>
int64_t check(const Rule& rule, Domain domain, DType dtype, ValuesOf values_of) {
  const std::vector<Variable> variables = testing::variables_of(rule, domain);
  std::vector<std::vector<uint64_t>> values;
  for (const Variable& v : variables) values.push_back(values_of(v, variables.size()));
  const Sort sort = domain == Domain::boolean ? Sort::boolean : testing::result_sort(rule.lhs);
  const DType result = sort == Sort::boolean ? bool_ : dtype;
  Point point(domain, dtype);
  std::vector<size_t> at(variables.size(), 0);
  int64_t held = 0;
  for (;;) {
    for (size_t i = 0; i < at.size(); ++i) point.set(variables[i], values[i][at[i]]);
    if (!rule.condition || point.value(*rule.condition, Sort::boolean) != 0) {
      ++held;
      const uint64_t before = point.value(rule.lhs, sort), after = point.value(rule.rhs, sort);
      if (!same_value(before, after, result)) {
        std::string where;
        for (size_t i = 0; i < at.size(); ++i) {
          where += format(" {}={}", variables[i].name(), decode(values[i][at[i]], dtype));
        }
        ADD_FAILURE() << rule.name << " in " << to_text(dtype) << ": " << decode(before, result)
                      << " becomes " << decode(after, result) << " at" << where;
        return held;
      }
    }
    size_t i = 0;
    while (i < at.size() && ++at[i] == values[i].size()) at[i++] = 0;
    if (i == at.size()) return held;
  }
}

std::vector<uint64_t> range(int64_t lo, int64_t hi, DType dtype) {
  std::vector<uint64_t> values;
  for (int64_t v = lo; v <= hi; ++v) values.push_back(encode(v, dtype));
  return values;
}
/// All values of a small integer type, or the remarkable ones of any.
std::vector<uint64_t> integers(DType dtype, bool all) {
  if (dtype.is_bool()) return {0, 1};
  const uint64_t mask = ~uint64_t{0} >> (64 - dtype.bits());
  std::set<uint64_t> values;
  if (all) {
    for (uint64_t v = 0; v <= mask; ++v) values.insert(v);
  } else {
    for (const int shift : {0, 1, 3, 4, dtype.bits() - 2, dtype.bits() - 1}) {
      for (const int64_t near : {-1, 0, 1}) {
        const uint64_t v = (uint64_t{1} << shift) + static_cast<uint64_t>(near);
        values.insert(v & mask);
        values.insert(-v & mask);
      }
    }
  }
  return {values.begin(), values.end()};
}
/// Zeros, ones, subnormals, the largest, infinities, NaN, and some between.
std::vector<uint64_t> floats(DType dtype) {
  std::vector<uint64_t> values;
  const double inf = std::numeric_limits<double>::infinity(), max = max_finite(dtype);
  const double least = dtype == f64 ? 5e-324 : dtype == f16 ? std::ldexp(1, -24) : 1e-45;
  for (const double v : {0.0, 1.0, 0.5, 2.0, 4.0, 3.0, 1.0 / 3, 7.25, 1e-7, least, 3 * least, max,
                         max / 2, max / 3, inf, std::nan("")}) {
    values.push_back(encode(v, dtype));
    values.push_back(encode(-v, dtype));
  }
  return values;
}

TEST(Rules, OfIndicesHoldForAllSmallIntegers) {
  testing::for_each_rule([](const Rule& rule, Domain domain) {
    if (domain != Domain::index) return;
    const auto values = [](const Variable&, size_t count) {
      static constexpr std::array<int64_t, 6> kReach = {0, 300, 70, 16, 9, 5};
      return range(-kReach.at(count), kReach.at(count), i64);
    };
    EXPECT_GT(check(rule, domain, i64, values), 20) << rule.name << " never applies";
  });
}

TEST(Rules, OfWrappingIntegersHoldForAllValuesOfEightBits) {
  testing::for_each_rule([](const Rule& rule, Domain domain) {
    if (domain != Domain::wrapping) return;
    for (const DType dtype : {i8, u8, i64, u64, bool_}) {
      if (dtype.is_bool() && ir::exact_function(rule.lhs.code(), bool_) == nullptr) continue;
      if (dtype.is_bool() && ir::op_row(rule.lhs.code()).op_class != ir::OpClass::integer) continue;
      const auto values = [&](const Variable& v, size_t count) {
        std::vector<uint64_t> some = integers(dtype, count <= 2 && dtype.bits() == 8);
        if (v.kind == Pattern::Kind::constant && dtype.bits() == 64) {
          // A rule does not apply where its numbers leave int64_t.
          constexpr int64_t kLimit = int64_t{1} << 62;
          std::erase_if(some, [&](uint64_t bits) {
            const auto number = static_cast<int64_t>(bits);
            return number >= kLimit || number < (dtype == u64 ? 0 : -kLimit);
          });
        }
        return some;
      };
      EXPECT_GT(check(rule, domain, dtype, values), 0) << rule.name << " never applies";
    }
  });
}

TEST(Rules, OfTruthValuesHoldForAll) {
  testing::for_each_rule([](const Rule& rule, Domain domain) {
    if (domain != Domain::boolean) return;
    check(rule, domain, bool_, [](const Variable&, size_t) { return integers(bool_, true); });
  });
}

TEST(Rules, OfAnyTypeHoldForIntegersAndFloats) {
  testing::for_each_rule([](const Rule& rule, Domain domain) {
    if (domain != Domain::any) return;
    for (const DType dtype : {i8, u64, f16, f32, f64, bf16, bool_}) {
      check(rule, domain, dtype, [&](const Variable& v, size_t) {
        if (v.sort == Sort::boolean) return integers(bool_, true);
        return dtype.is_float() ? floats(dtype) : integers(dtype, false);
      });
    }
  });
}

TEST(Rules, OfFloatsHoldForRemarkableValuesAndAllOfSixteenBits) {
  std::vector<uint64_t> all_f16;
  for (uint64_t bits = 0; bits < 0x10000; ++bits) all_f16.push_back(bits);
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::real) return;
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const int64_t held = check(rule, domain, dtype, [&](const Variable& v, size_t count) {
        if (dtype.bits() == 16 && count == 1) return all_f16;
        if (v.kind == Pattern::Kind::wildcard || dtype.bits() != 16) return floats(dtype);
        std::vector<uint64_t> constants = all_f16;  // all powers of two are among them
        return constants;
      });
      EXPECT_GT(held, 0) << rule.name << " never applies";
    }
  });
}

TEST(Rules, OfFloatsHoldForRandomValues) {
  std::mt19937_64 random(1);
  testing::for_each_rule([&](const Rule& rule, Domain domain) {
    if (domain != Domain::real) return;
    for (const DType dtype : {f16, bf16, f32, f64}) {
      check(rule, domain, dtype, [&](const Variable& v, size_t) {
        std::vector<uint64_t> values;
        for (int i = 0; i < 60; ++i) values.push_back(random() >> (64 - dtype.bits()));
        if (v.kind == Pattern::Kind::constant)
          values = {encode(0.125, dtype), encode(-64.0, dtype)};
        return values;
      });
    }
  });
}

TEST(Rules, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  testing::for_each_rule([&](const Rule& rule, Domain) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " is there twice";
  });
}

}  // namespace
}  // namespace tw::pass
