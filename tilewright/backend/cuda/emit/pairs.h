// Which accesses and operations of two iterations of a loop one instruction can do.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tilewright/ir/build.h"
#include "tilewright/ir/nodes.h"

namespace tw::cuda {

/// A loop whose iterations 2i and 2i + 1 are looked at.
struct PairLoop {
  explicit PairLoop(const ir::For& loop);
  ir::Var var;
  std::set<ir::Var, ir::ById> own;  // and what the body binds: both may be others in each iteration
};

/// Whether iterations 2i and 2i + 1 access a pair at an even offset of a local array.
bool is_pair(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices, const PairLoop& loop);

/// The function of the prelude that does an operation on both halves of a word, f16 or bf16; empty
/// where there is none that gives the same bits.
std::string packed_function(const ir::Op& op);

/// Whether the store writes a pair of 16 bits that such operations make of pairs.
bool computes_pair(const ir::Store& store, const PairLoop& loop);

/// Whether the value is a pair, or made of pairs by such operations.
bool is_packed(const ir::Expr& value, const PairLoop& loop);

/// Whether the sign of an equal zero can't tell which operand a minimum or maximum took.
bool takes_any_zero(const ir::Op& op);

}  // namespace tw::cuda
