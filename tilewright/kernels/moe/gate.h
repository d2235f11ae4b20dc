// What gates share: the scores of all experts of a row, and their end, the chosen experts of each
// token with their weights and numbers.
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
  bool forces;    // whether some tokens may be kForced
  bool excludes;  // whether a bias may be -inf
  Buffer kind;    // i32 [rows, 1], in shared memory
  Buffer unmapped, idx, weights;
};

/// Stores the results of all tokens but the forced ones. `score` is that of an expert of row i,
/// `number` the result for a logical expert of a token.
void finish_gate(const GateRows& g, const Found& found,
                 const std::function<Expr(const Expr& i, const Expr& expert)>& score,
                 const std::function<Expr(const Expr& expert, const Expr& token)>& number);

/// What all experts of the rows of a block are worth, in shared memory.
class ScoresOfRows {
 public:
  ScoresOfRows(int64_t rows, int64_t experts);
  /// As the logits are. Rows behind the last are that.
  void load(const Buffer& logits, const Expr& first) const;
  /// The score of each logit, NaN where it isn't finite.
  void load(const Buffer& logits, const Expr& first,
            const std::function<Expr(const Expr& logit)>& score) const;
  /// f(row of the block, expert, what it is worth)
  void each(const std::function<void(const Expr&, const Expr&, const Expr&)>& f) const;
  /// How many of them a row has, with those behind the last that make whole vectors.
  int64_t columns() const { return parts_ * strip_; }
  Expr operator()(const Expr& row, const Expr& expert) const { return all_(row, expert); }
  /// By which experts are chosen: kNoKey where it isn't finite. The sum with the bias isn't -0, as
  /// long as one of both isn't.
  Expr key(const Expr& row, const Expr& expert, const Expr& bias) const;

 private:
  int64_t rows_, strip_, parts_;
  Buffer all_;
};

struct GateSizes {
  int64_t tokens, experts, count, shared;  // count: of experts chosen for a token
};

/// Checks what every gate takes and gives.
GateSizes check_gate(std::string_view function, const Tensor& logits, const Tensor& idx,
                     const Tensor& weights, int64_t shared);
/// Tokens with given experts, which `unmapped` has.
void check_fixed(std::string_view function, const MaybeNamed& fix, const MaybeNamed& unmapped,
                 const GateSizes& sizes);

/// Throws an error of a launch; one of too little shared memory with what is to do about it.
[[noreturn]] void fail_gate(const Error& error, const Tensor& logits);

}  // namespace tw::kernels
