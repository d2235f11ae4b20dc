// Turns a launch of thread IR into the twin's instructions.
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/twin/code.h"

namespace tw::sim::twin {

class Assembler {
 public:
  /// All instructions of a launch. The registers of parameters and of their shapes are still to be
  /// set.
  LaunchCode assemble(const ir::Launch& launch);
  /// The register that the launch has for a variable, if it uses it.
  std::optional<Reg> known(const ir::Var& var) const;

 private:
  /// Places to be patched with where a loop goes on and where it ends.
  struct LoopExits {
    std::vector<size_t> breaks, continues;
  };
  /// Gives the temporaries of a statement back at its end.
  class Temporaries;

  /// Number of a register or buffer; the first use makes it.
  Reg reg(const ir::Var& var);
  int buffer(const ir::Buffer& buffer);

  // Expressions
  Reg expr(const ir::Expr& e);
  void expr_to(Reg dst, const ir::Expr& e);
  /// The value sign extended to 64 bits.
  Reg integer(const ir::Expr& e);
  Reg op(const ir::Op& op);
  Reg lazy(const ir::Op& op);
  Reg cast(const ir::Cast& cast);
  IndexOperand index(const ir::Expr& e);
  uint32_t access(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                  const ir::Node* node, int count = 1);
  Reg constant(Bits bits);
  Reg temporary();
  Reg fresh();

  // Statements
  void stmt(const ir::Stmt& s);
  void alloc(const ir::Alloc& alloc);
  void bind_view(int number, const ir::Node* node);
  void loop(const ir::For& loop);
  void branch(const ir::If& branch);
  void while_loop(const ir::While& loop);
  void move(const ir::Move& move);
  void atomic(const ir::Atomic& atomic);
  void warp(const ir::WarpOp& op);
  void barrier(const ir::Barrier& barrier);
  void async(const ir::AsyncCopy& copy);
  void sync(const ir::Sync& sync);
  void print(const ir::Print& print);
  void check(const ir::Expr& cond, const ir::Node* node, const std::string& message,
             const std::vector<ir::Expr>& values, bool assumed);
  uint32_t message(std::string text, const std::vector<ir::Expr>& values);

  size_t emit(const ir::Node* node, Instruction instruction);
  size_t here() const { return code_.instructions.size(); }
  void patch(size_t at) { code_.instructions[at].dst = static_cast<uint32_t>(here()); }
  void patch(const std::vector<size_t>& places) {
    for (const size_t at : places) patch(at);
  }

  LaunchCode code_;
  std::map<ir::Var, Reg, ir::ById> regs_;
  std::map<Bits, Reg> constants_;
  std::map<ir::Buffer, int, ir::ById> numbers_;
  std::vector<bool> bound_;  // by number of a buffer: its view is, or it needs none
  std::vector<Reg> free_, temporaries_;
  std::vector<LoopExits> loops_;
  int64_t unplanned_ = 0;  // bytes of shared buffers without a place
};

}  // namespace tw::sim::twin
