// Hash tables keyed by expressions. What identifies a program outside the process is
// `canonical_text` (ir/text.h).
#pragma once

#include <unordered_map>

#include "tilewright/ir/equal.h"

namespace tw::ir {

/// A hash of the structure; variables and buffers count by identity, positions not at all. It holds
/// within one process.
size_t hash(const Expr& expr);

struct ExprHash {
  size_t operator()(const Expr& expr) const { return hash(expr); }
};
struct ExprEqual {
  bool operator()(const Expr& a, const Expr& b) const { return structurally_equal(a, b); }
};
template <class Value>
using ExprMap = std::unordered_map<Expr, Value, ExprHash, ExprEqual>;

}  // namespace tw::ir
