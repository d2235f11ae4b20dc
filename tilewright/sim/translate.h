// Turns IR into closures over numbered variables and buffers, so that running it looks up no names.
// Internal to sim: interpreter.h is the interface.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/machine.h"

namespace tw::sim {

/// A region of a tile operation, ready to be evaluated.
struct RegionCode {
  std::shared_ptr<const Place> place;
  std::vector<Eval> begin, extent;
};

/// What an element contributes to a fold.
using Contribution = std::function<Bits(Bits element, Machine&)>;

class Translator {
 public:
  explicit Translator(const RunOptions& options) : options_(options) {}

  Eval expr(const ir::Expr& expr);
  /// An index or extent: the value sign extended.
  Eval integer(const ir::Expr& expr);
  Exec stmt(const ir::Stmt& stmt);

  /// Number of a variable; the first use makes it.
  size_t slot(const ir::Var& var);
  /// Number of a buffer's view.
  int view(const ir::Buffer& buffer);
  /// Sets shape, strides, offset, and storage of a view of another buffer or of an address. A
  /// buffer with storage of its own must have it already (`make_storage`).
  Exec bind_view(const ir::Buffer& buffer);
  /// Gives the buffer undefined contents.
  Exec make_storage(const ir::Buffer& buffer);

  size_t variables() const { return slots_.size(); }
  size_t buffers() const { return views_.size(); }
  /// Views that the program uses but nowhere allocates: they are bound at a block's start. Call
  /// after translating.
  std::vector<ir::Buffer> undeclared_views() const;
  /// Smallest element width (bits) with which a storage is accessed. Call after translating.
  int unit_bits(const ir::Buffer& root) const;

 private:
  Eval op(const ir::Op& op);
  Eval lazy(const ir::Op& op);
  Eval cast(const ir::Cast& cast);
  std::vector<Eval> integers(const std::vector<ir::Expr>& exprs);
  std::shared_ptr<const Place> place(const ir::Buffer& buffer, SourceLoc where, bool unchecked);
  RegionCode region(const ir::Region& region, SourceLoc where);

  Exec sequence(const ir::Seq& seq);
  Exec alloc(const ir::Alloc& alloc);
  Exec store(const ir::Store& store);
  Exec serial_loop(const ir::For& loop);
  Exec parallel(const ir::Parallel& loop);
  Exec branch(const ir::If& branch);
  Exec while_loop(const ir::While& loop);
  Exec atomic(const ir::Atomic& atomic);
  Exec print(const ir::Print& print);
  Exec check(const ir::Expr& cond, SourceLoc where, const std::string& message,
             const std::vector<ir::Expr>& values, bool assumed);

  Exec copy(const ir::Copy& copy);
  Exec fill(const ir::Fill& fill);
  Exec gemm(const ir::Gemm& gemm);
  Contribution contribution(const ir::Reduce& reduce, DType partial);
  Exec reduce(const ir::Reduce& reduce);
  Exec scan(const ir::Scan& scan);
  Exec reducer_init(const ir::ReducerInit& init);
  Exec reducer_update(const ir::ReducerUpdate& update);
  Exec reducer_finalize(const ir::ReducerFinalize& finalize);

  const RunOptions& options_;
  std::map<ir::Var, size_t, ir::ById> slots_;
  std::map<ir::Buffer, int, ir::ById> views_;
  std::vector<ir::Buffer> buffers_;  // by number
  std::vector<bool> declared_;       // by number: some statement allocates it
};

/// The value as text: decimal, `true`, or the shortest digits that give the float back.
std::string value_text(Bits value, DType dtype);

/// The integers of evaluated expressions.
std::vector<int64_t> evaluate(const std::vector<Eval>& exprs, Machine& machine);
Index evaluate_index(const std::vector<Eval>& exprs, Machine& machine);

}  // namespace tw::sim
