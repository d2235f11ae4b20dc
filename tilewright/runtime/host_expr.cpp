#include "tilewright/runtime/host_expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "tilewright/base/error.h"
#include "tilewright/base/integer.h"

namespace tw::runtime {
namespace {

struct OpRow {
  HostOp op;
  const char* name;   // in postfix text
  const char* infix;  // between the operands, or null for a function
  int precedence;     // of infix: higher binds tighter
};
constexpr std::array<OpRow, 14> kOps = {{
    {HostOp::add, "add", " + ", 4},
    {HostOp::sub, "sub", " - ", 4},
    {HostOp::mul, "mul", " * ", 5},
    {HostOp::floordiv, "floordiv", " // ", 5},
    {HostOp::floormod, "floormod", " % ", 5},
    {HostOp::cdiv, "cdiv", nullptr, 6},
    {HostOp::min, "min", nullptr, 6},
    {HostOp::max, "max", nullptr, 6},
    {HostOp::eq, "eq", " == ", 3},
    {HostOp::ne, "ne", " != ", 3},
    {HostOp::lt, "lt", " < ", 3},
    {HostOp::le, "le", " <= ", 3},
    {HostOp::logical_and, "and", " && ", 2},
    {HostOp::logical_or, "or", " || ", 1},
}};

const OpRow& row(HostOp op) {
  return kOps[static_cast<size_t>(op) - static_cast<size_t>(HostOp::add)];
}

bool is_leaf(HostOp op) { return op < HostOp::add; }

int64_t saturated(bool negative) { return negative ? INT64_MIN : INT64_MAX; }

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  return floor_div(a, b);
}

// What most calls divide by; a division takes longer than all else of an expression.
bool is_power_of_two(int64_t b) { return b > 0 && (b & (b - 1)) == 0; }

// Part of the loop of `evaluate`, which every call runs.
[[gnu::always_inline]] inline int64_t apply(HostOp op, int64_t a, int64_t b) {
  int64_t result;
  switch (op) {
    case HostOp::add:
      return __builtin_add_overflow(a, b, &result) ? saturated(a < 0) : result;
    case HostOp::sub:
      return __builtin_sub_overflow(a, b, &result) ? saturated(a < 0) : result;
    case HostOp::mul:
      return __builtin_mul_overflow(a, b, &result) ? saturated((a < 0) != (b < 0)) : result;
    case HostOp::floordiv:
      if (is_power_of_two(b)) return a >> std::countr_zero(static_cast<uint64_t>(b));
      return floor_quotient(a, b);
    case HostOp::floormod:
      if (is_power_of_two(b)) return a & (b - 1);
      return b == 0 || b == -1 ? 0 : a - floor_quotient(a, b) * b;
    case HostOp::cdiv: {
      if (b == 0) return 0;
      if (b == -1) return floor_quotient(a, b);
      if (is_power_of_two(b)) {
        return (a >> std::countr_zero(static_cast<uint64_t>(b))) + ((a & (b - 1)) != 0);
      }
      return a / b + (a % b != 0 && (a < 0) == (b < 0));
    }
    case HostOp::min:
      return std::min(a, b);
    case HostOp::max:
      return std::max(a, b);
    case HostOp::eq:
      return a == b;
    case HostOp::ne:
      return a != b;
    case HostOp::lt:
      return a < b;
    case HostOp::le:
      return a <= b;
    case HostOp::logical_and:
      return a != 0 && b != 0;
    case HostOp::logical_or:
      return a != 0 || b != 0;
    default:
      return 0;
  }
}

[[gnu::always_inline]] inline int64_t read(const HostExpr::Instr& leaf, const HostValues& values) {
  switch (leaf.op) {
    case HostOp::constant:
      return leaf.value;
    case HostOp::symbol:
      return values.symbols[leaf.value];
    case HostOp::scalar:
      return values.scalars[leaf.value];
    case HostOp::extent: {
      const Tensor* tensor = values.tensors[leaf.value];
      return tensor == nullptr ? 0 : tensor->dim(leaf.dim);
    }
    case HostOp::stride: {
      const Tensor* tensor = values.tensors[leaf.value];
      return tensor == nullptr ? 0 : tensor->stride(leaf.dim);
    }
    default: {
      const Tensor* tensor = values.tensors[leaf.value];
      if (tensor == nullptr) return 0;
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor->data()) % kAddressModulus);
    }
  }
}

[[noreturn]] void reject(const std::string& reason) {
  throw Error(Code{}, {}, "host expression: {}", reason);
}

// Depth of the stack that the program needs; an Error when it isn't well formed.
int stack_depth(std::span<const HostExpr::Instr> code) {
  int depth = 0, deepest = 0;
  for (const HostExpr::Instr& instr : code) {
    depth += is_leaf(instr.op) ? 1 : -1;
    if (depth < 1) reject("an operation lacks an operand");
    deepest = std::max(deepest, depth);
  }
  if (depth != 1) reject(format("{} values are left where one is needed", depth));
  if (deepest > kMaxDepth) reject(format("deeper than {} operands", kMaxDepth));
  return deepest;
}

// How an expression depends on a symbol: not at all, as a * s + b, or otherwise.
enum class Degree { none, affine, other };

Degree degree(HostOp op, Degree a, Degree b) {
  if (a == Degree::none && b == Degree::none) return Degree::none;
  const bool other = a == Degree::other || b == Degree::other;
  const bool both = a != Degree::none && b != Degree::none;
  const bool linear = op == HostOp::add || op == HostOp::sub || (op == HostOp::mul && !both);
  return linear && !other ? Degree::affine : Degree::other;
}

}  // namespace

HostExpr HostExpr::leaf(HostOp op, int64_t index, int dim) {
  TW_CHECK(index >= 0 && dim >= 0 && dim < kMaxRank, "index {}, dim {}", index, dim);
  TW_REQUIRE(op != HostOp::symbol || index < kMaxSymbols,
             "host expression: symbol {}, a kernel can have {}", index, kMaxSymbols);
  HostExpr expr;
  expr.code_ = {{op, static_cast<uint8_t>(dim), index}};
  return expr;
}

HostExpr HostExpr::binary(HostOp op, const HostExpr& a, const HostExpr& b) {
  TW_CHECK(!is_leaf(op), "not an operation");
  if (a.is_constant() && b.is_constant()) return apply(op, a.constant(), b.constant());
  HostExpr expr = a;
  expr.code_.insert(expr.code_.end(), b.code_.begin(), b.code_.end());
  expr.code_.push_back({op});
  stack_depth(expr.code_);
  return expr;
}

HostExpr HostExpr::from_code(std::vector<Instr> code) {
  stack_depth(code);
  HostExpr expr;
  expr.code_ = std::move(code);
  return expr;
}

int64_t HostExpr::evaluate(const HostValues& values) const {
  if (code_.size() == 1) return read(code_[0], values);
  int64_t stack[kMaxDepth];
  int64_t* top = stack;  // one past the last value
  for (const Instr& instr : code_) {
    if (is_leaf(instr.op)) {
      *top++ = read(instr, values);
    } else {
      --top;
      top[-1] = apply(instr.op, top[-1], top[0]);
    }
  }
  return stack[0];
}

int HostExpr::as_symbol() const {
  return code_.size() == 1 && code_[0].op == HostOp::symbol ? static_cast<int>(code_[0].value) : -1;
}

uint64_t HostExpr::symbols() const {
  uint64_t set = 0;
  for (const Instr& instr : code_) {
    if (instr.op == HostOp::symbol) set |= uint64_t{1} << instr.value;
  }
  return set;
}

std::vector<HostExpr> HostExpr::conjuncts() const {
  if (code_.back().op != HostOp::logical_and) return {*this};
  const auto end = code_.end() - 1;
  auto second = end;  // where the second operand begins
  for (int missing = 1; missing > 0;) missing += is_leaf((--second)->op) ? -1 : 1;
  std::vector<HostExpr> all = from_code({code_.begin(), second}).conjuncts();
  for (HostExpr& each : from_code({second, end}).conjuncts()) all.push_back(std::move(each));
  return all;
}

bool HostExpr::is_affine_in(int symbol) const {
  std::vector<Degree> stack;
  for (const Instr& instr : code_) {
    if (is_leaf(instr.op)) {
      const bool same = instr.op == HostOp::symbol && instr.value == symbol;
      stack.push_back(same ? Degree::affine : Degree::none);
    } else {
      const Degree b = stack.back();
      stack.pop_back();
      stack.back() = degree(instr.op, stack.back(), b);
    }
  }
  return stack.back() == Degree::affine;
}

std::string to_text(const HostExpr& expr, const HostNames& names) {
  struct Part {
    std::string text;
    int precedence;
  };
  const auto parenthesized = [](const Part& part, int least) {
    return part.precedence < least ? "(" + part.text + ")" : part.text;
  };
  std::vector<Part> stack;
  for (const HostExpr::Instr& instr : expr.code()) {
    const int index = static_cast<int>(instr.value);
    switch (instr.op) {
      case HostOp::constant:
        stack.push_back({std::to_string(instr.value), 7});
        continue;
      case HostOp::symbol:
        stack.push_back({names.symbol(index), 7});
        continue;
      case HostOp::scalar:
        stack.push_back({names.param(index), 7});
        continue;
      case HostOp::extent:
        stack.push_back({format("{}.shape[{}]", names.param(index), instr.dim), 7});
        continue;
      case HostOp::stride:
        stack.push_back({format("{}.stride[{}]", names.param(index), instr.dim), 7});
        continue;
      case HostOp::address_mod:
        stack.push_back({format("{}.address % {}", names.param(index), kAddressModulus), 5});
        continue;
      default:
        break;
    }
    const Part b = std::move(stack.back());
    stack.pop_back();
    Part& a = stack.back();
    const OpRow& op = row(instr.op);
    if (op.infix == nullptr) {
      a = {format("{}({}, {})", op.name, a.text, b.text), 7};
    } else {  // all operators group to the left
      a = {parenthesized(a, op.precedence) + op.infix + parenthesized(b, op.precedence + 1),
           op.precedence};
    }
  }
  return stack.back().text;
}

std::string to_text(const HostExpr& expr) {
  return to_text(expr,
                 {[](int i) { return format("s{}", i); }, [](int i) { return format("p{}", i); }});
}

std::string to_postfix(const HostExpr& expr) {
  std::vector<std::string> words;
  for (const HostExpr::Instr& instr : expr.code()) {
    switch (instr.op) {
      case HostOp::constant:
        words.push_back(std::to_string(instr.value));
        break;
      case HostOp::symbol:
        words.push_back(format("s{}", instr.value));
        break;
      case HostOp::scalar:
        words.push_back(format("p{}.value", instr.value));
        break;
      case HostOp::extent:
        words.push_back(format("p{}.shape{}", instr.value, instr.dim));
        break;
      case HostOp::stride:
        words.push_back(format("p{}.stride{}", instr.value, instr.dim));
        break;
      case HostOp::address_mod:
        words.push_back(format("p{}.address", instr.value));
        break;
      default:
        words.push_back(row(instr.op).name);
    }
  }
  return join(words, " ");
}

namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> index_below(std::string_view text, int64_t limit) {
  const auto value = number(text);
  return value && *value >= 0 && *value < limit ? value : std::nullopt;
}

// Takes `prefix` off the front of `text` if it is there.
bool strip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<HostExpr::Instr> parse_word(std::string_view word) {
  for (const OpRow& op : kOps) {
    if (word == op.name) return HostExpr::Instr{op.op};
  }
  if (const auto value = number(word)) return HostExpr::Instr{HostOp::constant, 0, *value};
  if (strip(word, "s")) {
    const auto index = index_below(word, kMaxSymbols);
    if (index) return HostExpr::Instr{HostOp::symbol, 0, *index};
    return std::nullopt;
  }
  const size_t dot = word.find('.');
  if (dot == word.npos || !strip(word, "p")) return std::nullopt;
  const auto param = index_below(word.substr(0, dot - 1), INT32_MAX);
  std::string_view what = word.substr(dot);
  if (!param) return std::nullopt;
  if (what == "value") return HostExpr::Instr{HostOp::scalar, 0, *param};
  if (what == "address") return HostExpr::Instr{HostOp::address_mod, 0, *param};
  const HostOp op = what.starts_with("shape") ? HostOp::extent : HostOp::stride;
  if (!strip(what, "shape") && !strip(what, "stride")) return std::nullopt;
  const auto dim = index_below(what, kMaxRank);
  if (!dim) return std::nullopt;
  return HostExpr::Instr{op, static_cast<uint8_t>(*dim), *param};
}

}  // namespace

HostExpr parse_postfix(std::string_view text) {
  std::vector<HostExpr::Instr> code;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    const auto instr = parse_word(word);
    if (!instr) reject(format("unknown word '{}'", word));
    code.push_back(*instr);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return HostExpr::from_code(std::move(code));
}

}  // namespace tw::runtime
