// The state of emitting one kernel. Its functions are in emit_launch.cpp (the frame),
// emit_stmt.cpp, emit_expr.cpp, emit_ops.cpp, emit_cast.cpp, emit_memory.cpp, emit_effects.cpp and
// emit_async.cpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/cuda/emit/names.h"
#include "tilewright/backend/cuda/emit/text.h"

namespace tw::cuda {

/// Whether a loop writes neighbors of one register so that two iterations can be done as one.
bool goes_in_pairs(const ir::For& loop);

struct PairLoop;

class Emitter {
 public:
  explicit Emitter(const EmitOptions& options) : options_(options) {}

  /// The whole kernel. Functions that it needs and that the prelude lacks are added to `helpers`.
  std::string kernel(const ir::Program& program, const ir::Launch& launch, const std::string& entry,
                     std::map<std::string, std::string>& helpers);

 private:
  // ---- the frame ----
  std::string parameters(const ir::Program& program, const ir::Launch& launch);
  void indices(const ir::Launch& launch);
  void scan(const ir::Launch& launch);
  bool is_restricted(const ir::Buffer& tensor) const;

  // ---- lines ----
  /// One line, and before it where in the author's code it comes from, if that is news.
  void line(const std::string& text);
  /// What f emits, one level deeper.
  template <class F>
  void indented(F f) {
    ++indent_;
    f();
    --indent_;
  }
  /// Runs f with an empty output and returns that.
  template <class F>
  std::string captured(F f) {
    std::string outside = std::exchange(out_, {});
    f();
    return std::exchange(out_, std::move(outside));
  }

  // ---- statements ----
  void stmt(const ir::Stmt& s);
  void body(const ir::Stmt& s);
  void let(const ir::Let& let);
  void alloc(const ir::Alloc& alloc);
  void loop(const ir::For& loop);
  void loop_of_pairs(const ir::For& loop);
  /// Values of iterations 2i and 2i + 1, f16 or bf16, in a word.
  Text packed(const ir::Expr& low, const ir::Expr& high, const PairLoop& loop);
  bool bytes_of_codes(const ir::Expr& e, std::array<const ir::Cast*, 4>& bytes) const;
  std::optional<Text> word_of_codes(const ir::Op& op);
  void while_loop(const ir::While& loop);
  void branch(const ir::If& branch);
  void assume(const ir::Assume& assume);
  void count_uses(const ir::Stmt& s);
  bool indexes_local(const ir::For& loop) const;

  // ---- expressions ----
  /// The value in its own type: the bits of floats that C++ lacks.
  Text value(const ir::Expr& expr);
  /// The value of any float but f64 as an f32.
  Text real(const ir::Expr& expr);
  Text compute(const ir::Expr& expr);
  Text constant(const ir::Const& c);
  Text lazy(const ir::Op& op);
  bool deserves_name(const ir::Expr& expr) const;
  /// A constant with this value, or the value itself where it is short.
  Text named(const ir::Expr& expr, const char* wanted);
  /// The value where something that has the type is initialized or compared with it.
  Text initial(const ir::Expr& expr);

  // ---- operations ----
  Text operation(const ir::Op& op);
  Text integer_operation(const ir::Op& op);
  Text bool_operation(const ir::Op& op);
  Text float_operation(const ir::Op& op, ir::Exactness exactness);
  Text float_arithmetic(const ir::Op& op, ir::Exactness exactness);
  Text float_function(const ir::Op& op, ir::Exactness exactness);
  Text min_max(const ir::Op& op, ir::Exactness exactness);
  Text compare(const ir::Op& op);
  Text test(const ir::Op& op);
  Text bitcast(const ir::Op& op);
  /// The operands of an integer operator, literals short where the other tells the type.
  std::pair<Text, Text> operands(const ir::Op& op);
  /// The i-th operand in the type that the operation computes in: f32 or f64.
  Text operand(const ir::Op& op, size_t i);
  [[noreturn]] void no_form(const ir::Op& op);

  // ---- conversions ----
  Text conversion(const ir::Cast& cast);
  /// An f32 that one rounding takes to the type of the cast, as it would the value.
  Text unrounded(const ir::Cast& cast);

  // ---- memory ----
  struct Place {
    std::string base;       // a pointer or an array
    Text index;             // of the element
    int64_t constant = -1;  // the index where it is one
    ir::Buffer buffer;
    bool is_scalar = false;  // a variable, which has a name and no index
    bool in_tensor() const;
  };
  Place place(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices);
  Text load(const ir::Load& load);
  void store(const ir::Store& store);
  void write(const Place& at, const Text& value, bool streaming);
  void move(const ir::Move& move);
  void prefetch(const ir::Prefetch& prefetch);
  /// The address of the element, as C++ writes it.
  std::string pointer(const Place& at);
  /// Whether the indices are inside a tensor.
  ir::Expr is_inside(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices);
  const std::string& name_of(const ir::Buffer& buffer) const;

  // ---- effects ----
  void atomic(const ir::Atomic& atomic);
  void fold(const ir::Move& move);
  void barrier(const ir::Barrier& barrier);
  void forget(const std::vector<ir::Buffer>& arrays);
  void warp(const ir::WarpOp& warp);
  void async(const ir::AsyncCopy& copy);
  void tensor_copy(const ir::AsyncCopy& copy);
  void bulk_fold(const ir::AsyncCopy& copy, const Place& to, const Place& from, int64_t bytes);
  void sync(const ir::Sync& sync);
  void print(const ir::Print& print);
  void check(const ir::Assert& check);
  void print_line(const std::string& message, const std::vector<ir::Expr>& values,
                  const std::string& head);

  const EmitOptions& options_;
  Names names_;
  std::string out_;
  int indent_ = 0;
  SourceLoc here_{"", 0}, next_{"", 0};  // of the last line, and of the next one
  std::map<std::string, std::string>* helpers_ = nullptr;

  /// Whether it is the index of a block, which has 31 bits in an i64.
  bool is_block_index(const ir::Expr& e) const;

  std::map<ir::Var, std::string, ir::ById> vars_;
  std::vector<ir::Var> block_vars_;
  std::map<ir::Buffer, std::string, ir::ById> buffers_;
  std::map<ir::Buffer, Text, ir::ById> view_offset_;  // of views without a pointer of their own
  std::set<ir::Buffer, ir::ById> read_, written_, moved_;         // roots
  std::map<const ir::Barrier*, std::vector<ir::Buffer>> narrow_;  // kept_narrow
  std::vector<TensorMap> maps_;                                   // parameters after all others
  bool waits_ = false;                      // for the launch ahead, in a statement of its own
  bool is_early_ = false;                   // it may begin before the launch ahead has ended
  bool awaits_ = false;                     // values that others write
  bool reallocates_ = false;                // registers between warp-groups
  bool in_cluster_ = false;                 // of several blocks
  std::map<ir::Expr, int, ir::ById> uses_;  // in the statement
  std::vector<std::map<ir::Expr, Text, ir::ById>> memo_{1};  // a scope per lazy operand
};

}  // namespace tw::cuda
