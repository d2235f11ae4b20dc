// Loops and conditions that exist when the kernel runs (language 5). C++ loops and conditions are
// evaluated while tracing instead.
#pragma once

#include <concepts>
#include <functional>
#include <string>

#include "tilewright/lang/expr.h"

namespace tw {
inline namespace lang {

/// What a loop or launch runs, given its indices: a callable of none to eight `Expr`, or of a
/// vector of them.
class Body {
 public:
  using Core = std::function<void(const std::vector<Expr>&)>;
  Body(Core core, int arity) : core_(std::move(core)), arity_(arity) {}

  template <class F>
    requires std::invocable<F, const std::vector<Expr>&>
  Body(F f) : Body(Core(std::move(f)), kAny) {}
  template <std::invocable<> F>
  Body(F f) : Body([f](const std::vector<Expr>&) { f(); }, 0) {}
  template <std::invocable<Expr> F>
    requires(!std::invocable<F, const std::vector<Expr>&>)
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0]); }, 1) {}
  template <std::invocable<Expr, Expr> F>
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0], i[1]); }, 2) {}
  template <std::invocable<Expr, Expr, Expr> F>
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0], i[1], i[2]); }, 3) {}
  template <std::invocable<Expr, Expr, Expr, Expr> F>
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0], i[1], i[2], i[3]); }, 4) {}
  template <std::invocable<Expr, Expr, Expr, Expr, Expr> F>
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0], i[1], i[2], i[3], i[4]); }, 5) {}
  template <std::invocable<Expr, Expr, Expr, Expr, Expr, Expr> F>
  Body(F f) : Body([f](const std::vector<Expr>& i) { f(i[0], i[1], i[2], i[3], i[4], i[5]); }, 6) {}

  /// Runs it; an error if it takes another number of indices.
  void run(const Site& site, const std::vector<Expr>& indices) const;

 private:
  static constexpr int kAny = -1;
  Core core_;
  int arity_;
};

// ---- serial loops ----
/// Runs f(i) for i = lo, lo + step, ... below hi (above, for a negative constant step).
void serial(const Operand& lo, const Operand& hi, const Operand& step, const Body& body);
void serial(const Operand& lo, const Operand& hi, const Body& body);
void serial(const Operand& n, const Body& body);

/// As serial, but the code is written out: in full, for which the extent must be constant
/// (E-LOOP-02), or as `factor` copies of the body.
void unroll(const Operand& n, const Body& body);
void unroll(const Operand& n, int64_t factor, const Body& body);
struct UnrollOptions {
  bool full = false;
  int64_t factor = 0;  // exactly one of the two (E-LOOP-01)
};
void unroll(const Operand& lo, const Operand& hi, const UnrollOptions& options, const Body& body);

struct VectorOptions {
  bool strict = false;  // E-LOOP-03 instead of a scalar loop
};
/// All n iterations as the lanes of one vector operation.
void vectorized(const Operand& n, const Body& body);
void vectorized(const Operand& n, const VectorOptions& options, const Body& body);

struct PipelineOptions {
  int64_t stages = 0;                           // 0: the compiler does not overlap iterations
  std::vector<int64_t> stage = {}, order = {};  // one entry for each statement of the body
  std::string name = {};                        // for schedules
};
/// As serial; copies of later iterations may run during earlier ones.
void pipelined(const Operand& n, const Body& body);
void pipelined(const Operand& n, const PipelineOptions& options, const Body& body);

// ---- parallel ----
struct ParallelOptions {
  int64_t max_vector = 0;     // hint: elements per thread and access
  std::string layout = {};    // demanded thread map over the box
  bool prefer_async = false;  // hint
};
/// The box of independent iterations, in no order, spread over the threads of the block.
void parallel(const Extents& box, const Body& body, SourceLoc where = SourceLoc::here());
void parallel(const Extents& box, const ParallelOptions& options, const Body& body,
              SourceLoc where = SourceLoc::here());

// ---- conditions ----
void if_(const Operand& condition, const std::function<void()>& then_body,
         const std::function<void()>& else_body = nullptr);
/// Repeats while the condition holds; what it reads is read anew before each iteration.
void while_(const Operand& condition, const std::function<void()>& body);
/// Leaves the innermost serial, unrolled, while or persistent loop (E-FLOW-02).
void break_(SourceLoc where = SourceLoc::here());
/// Goes on with its next iteration.
void continue_(SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
