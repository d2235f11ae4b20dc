// Random well-formed programs, for tests of everything that is generic over IR. All node kinds and
// fields occur, and names that clash or are no names.
#pragma once

#include <random>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

class RandomIr {
 public:
  explicit RandomIr(uint32_t seed) : random_(seed) {}

  Program program();
  /// An expression of that type over what is in scope.
  Expr expr(DType dtype, int depth);
  /// A number below n.
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int one_in) { return below(one_in) == 0; }

 private:
  std::string name();
  SourceLoc loc();
  DType dtype();
  Expr literal(DType dtype);
  Expr operation(DType dtype, int depth);
  std::vector<Expr> indices(size_t count);
  Buffer buffer(MemSpace space, std::vector<Expr> shape, DType dtype);
  Buffer any_buffer();
  Region region(const Buffer& buffer);
  Stmt block(int depth);
  Stmt sequence(int depth);
  Stmt stmt(int depth);
  Stmt loop(int depth);
  Stmt tile_operation();
  Stmt other();
  Stmt launch();
  /// Fills fields of plain type that are not named in `fixed`.
  template <class T>
  void plain_fields(T& node, std::initializer_list<std::string_view> fixed);
  void plain(bool& value) { value = true; }
  void plain(int64_t& value) { value = below(100); }
  void plain(std::string& value) { value = name(); }
  void plain(std::vector<int64_t>& value) { value = {below(4), below(4), below(4)}; }
  template <class T>
  void plain(T& value);

  std::mt19937 random_;
  std::vector<Var> vars_;  // in scope
  std::vector<Buffer> buffers_;
  bool parallel_ = false, breakable_ = false;
};

}  // namespace tw::ir
