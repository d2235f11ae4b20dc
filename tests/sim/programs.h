// Short ways to write programs in tests: IR nodes by hand, without the language.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tilewright/ir/build.h"
#include "tilewright/sim/interpreter.h"

namespace tw::testing {

inline ir::Var index_var(std::string name) { return ir::Var::make(std::move(name), i64); }

inline ir::Region region(const ir::Buffer& buffer, std::vector<ir::Expr> begin,
                         const std::vector<int64_t>& extent) {
  ir::Region region;
  region.buffer = buffer;
  region.begin = std::move(begin);
  for (const int64_t e : extent) region.extent.push_back(ir::index(e));
  return region;
}
inline ir::Region whole(const ir::Buffer& buffer) { return ir::Region::whole(buffer); }

inline ir::Stmt copy(ir::Region src, ir::Region dst) {
  return ir::make<ir::Copy>(SourceLoc::here(), [&](ir::Copy& n) {
    n.src = std::move(src);
    n.dst = std::move(dst);
  });
}
inline ir::Stmt parallel(std::vector<ir::Var> vars, const std::vector<int64_t>& extents,
                         ir::Stmt body, SourceLoc where = SourceLoc::here()) {
  return ir::make<ir::Parallel>(where, [&](ir::Parallel& n) {
    n.vars = std::move(vars);
    for (const int64_t e : extents) n.extents.push_back(ir::index(e));
    n.body = std::move(body);
  });
}

/// A program that is put together step by step, and the arguments to run it with.
class TestProgram {
 public:
  explicit TestProgram(std::string name = "test") { program_.name = std::move(name); }

  ir::Var symbol(std::string name) {
    ir::Symbol symbol;
    symbol.var = ir::Var::make(std::move(name), i64);
    program_.symbols.push_back(symbol);
    return symbol.var;
  }
  ir::Buffer param(ir::ParamKind kind, std::string name, DType dtype, std::vector<ir::Expr> shape) {
    ir::Param param;
    param.kind = kind;
    param.buffer = ir::make_buffer(std::move(name), dtype, ir::MemSpace::global, std::move(shape));
    program_.params.push_back(param);
    return param.buffer;
  }
  ir::Buffer input(std::string name, DType dtype, std::vector<ir::Expr> shape) {
    return param(ir::ParamKind::input, std::move(name), dtype, std::move(shape));
  }
  ir::Buffer output(std::string name, DType dtype, std::vector<ir::Expr> shape) {
    return param(ir::ParamKind::output, std::move(name), dtype, std::move(shape));
  }
  ir::Buffer inout(std::string name, DType dtype, std::vector<ir::Expr> shape) {
    return param(ir::ParamKind::inout, std::move(name), dtype, std::move(shape));
  }
  void launch(std::vector<ir::Expr> grid, std::vector<ir::Var> blocks, ir::Stmt body) {
    program_.launches.push_back(ir::make<ir::Launch>({}, [&](ir::Launch& n) {
      n.name = program_.name;
      n.grid = std::move(grid);
      n.block_vars = std::move(blocks);
      n.body = std::move(body);
    }));
  }
  /// One block.
  void launch(std::vector<ir::Stmt> body) {
    launch({ir::index(1)}, {index_var("block")}, ir::seq(std::move(body)));
  }
  ir::Program& program() { return program_; }

 private:
  ir::Program program_;
};

/// A tensor over a vector.
template <class T>
sim::Argument tensor(std::vector<T>& data, DType dtype, std::vector<int64_t> shape,
                     std::vector<int64_t> strides = {}) {
  return sim::Argument::tensor(data.data(), dtype, std::move(shape), std::move(strides));
}

}  // namespace tw::testing
