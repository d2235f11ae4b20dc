// Runs small programs of loop IR on the CPU backend and on the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilewright/backend/cpu/compile.h"
#include "tilewright/ir/build.h"
#include "tilewright/runtime/call.h"
#include "tilewright/runtime/tensor.h"

namespace tw::cpu::test {

/// A program with one launch over tensors of constant shape, in the order they are made.
class ProgramBuilder {
 public:
  ir::Buffer tensor(const std::string& name, DType dtype, std::vector<int64_t> shape,
                    ir::ParamKind kind = ir::ParamKind::inout);
  ir::Var scalar(const std::string& name, DType dtype);
  void option(const std::string& name, const std::string& value);
  ir::Program build(ir::Stmt body, int64_t blocks = 1);

  ir::Var block = ir::Var::make("b", i64);

 private:
  ir::Program program_{.name = "test"};
};

/// Loops over [0, extent), as lanes of a vector or one after the other.
ir::Stmt lanes(int64_t extent, const std::function<ir::Stmt(const ir::Var&)>& body);
ir::Stmt serial(int64_t extent, const std::function<ir::Stmt(const ir::Var&)>& body);
/// An element that is known to be inside, and a write to one.
ir::Expr at(const ir::Buffer& buffer, std::vector<ir::Expr> indices);
ir::Stmt put(const ir::Buffer& buffer, std::vector<ir::Expr> indices, ir::Expr value);

/// Memory for the tensors of a program, filled with random bits that suit their types.
std::vector<OwnedTensor> random_tensors(const ir::Program& program, uint64_t seed);

/// Compiles loop IR for a target and calls it; scalars are those of the program in order.
void run(const ir::Program& loops, const Target& target, const std::vector<OwnedTensor>& tensors,
         const std::vector<Arg>& scalars = {}, const runtime::CallContext& context = {});

/// Runs the program on random tensors on every target of this machine and on the interpreter:
/// expects the same bits in all of them (or NaN in both). Every scalar is 3. `runs_on` can leave
/// out targets.
void expect_as_interpreted(const ir::Program& loops, uint64_t seed = 1,
                           const std::function<bool(const Target&)>& runs_on = {});

/// As `expect_as_interpreted`, of the text of one launch over named tensors: the lines of a program
/// after its head.
void expect_text_as_interpreted(const std::string& text, uint64_t seed = 1);

/// A text that compiling makes: "llvm", "llvm-optimized" or "asm".
std::string text_of(const ir::Program& loops, const Target& target, const std::string& name);

}  // namespace tw::cpu::test
