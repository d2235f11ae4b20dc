// The end of every gate: the chosen experts of each token with their weights and numbers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tilewright/kernels/moe/optional.h"
#include "tilewright/kernels/select/best.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// What a token is, the first of these that holds: without experts, with any ones, with given ones.
constexpr int32_t kMasked = 0, kForced = 1, kFixed = 2, kRouted = 3;

/// The tokens of a block, and where results go. Logits count from kFixed on.
struct GateRows {
  std::string function;  // for messages
  int64_t rows, experts, count, slots;
  Expr first, scale;
  Buffer kind;  // i32 [rows, 1]
  Buffer unmapped, idx, weights;
};

/// Stores the results of all tokens but the forced ones. `score` is that of an expert of row i,
/// `number` the result for a logical expert of a token.
void finish_gate(const GateRows& g, const Found& found,
                 const std::function<Expr(const Expr& i, const Expr& expert)>& score,
                 const std::function<Expr(const Expr& expert, const Expr& token)>& number);

struct GateSizes {
  int64_t tokens, experts, count, shared;  // count: of experts chosen for a token
};

/// Checks what every gate takes and gives.
GateSizes check_gate(std::string_view function, const Tensor& logits, const Tensor& idx,
                     const Tensor& weights, int64_t shared);
/// Tokens with given experts, which `unmapped` has.
void check_fixed(std::string_view function, const MaybeNamed& fix, const MaybeNamed& unmapped,
                 const GateSizes& sizes);

}  // namespace tw::kernels
