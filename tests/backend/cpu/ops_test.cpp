// Every element operation on every type and target, as vectors and one by one,
// against the interpreter.
#include <gtest/gtest.h>

#include "tests/backend/cpu/run.h"
#include "tilewright/sim/element.h"

namespace tw::cpu::test {
namespace {

using ir::Exactness;
using ir::OpClass;
using ir::OpCode;

constexpr OpCode kLastOp = OpCode::dot2_i16;

struct Case {
  OpCode code;
  Exactness exactness = Exactness::standard;
  Rounding rounding = Rounding::rn;
};

/// Functions of SLEEF, whose bits without fma differ from the interpreter's.
bool is_library_function(OpCode code) {
  return (code >= OpCode::exp && code <= OpCode::erfc) && code != OpCode::sqrt &&
         code != OpCode::rsqrt && code != OpCode::rcp;
}

std::vector<Case> cases_of(DType dtype) {
  std::vector<Case> cases;
  for (int i = 0; i <= static_cast<int>(kLastOp); ++i) {
    const auto code = static_cast<OpCode>(i);
    const OpClass op_class = ir::op_row(code).op_class;
    if (op_class == OpClass::reinterpret || op_class == OpClass::dot) continue;
    if (op_class == OpClass::choice || sim::element_function(code, dtype) != nullptr) {
      cases.push_back({code});
    }
    for (const Rounding rounding : {Rounding::rz, Rounding::rp, Rounding::rm}) {
      if (!dtype.is_float() || op_class == OpClass::compare || op_class == OpClass::choice)
        continue;
      if (sim::element_function(code, dtype, Exactness::ieee, rounding) == nullptr) continue;
      cases.push_back({code, Exactness::ieee, rounding});
    }
  }
  return cases;
}

/// y = op(x0, x1, x2) for all cases, `width` lanes at a time.
ir::Program program_of(DType dtype, std::span<const Case> cases, int64_t width) {
  constexpr int64_t kCount = 2000;
  ProgramBuilder p;
  std::vector<ir::Buffer> inputs, outputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(p.tensor(format("x{}", i), dtype, {kCount}));
  const ir::Buffer choice = p.tensor("choice", bool_, {kCount});
  const auto gives_bool = [](OpClass c) { return c == OpClass::compare || c == OpClass::test; };
  for (const Case& c : cases) {
    const ir::OpRow& row = ir::op_row(c.code);
    outputs.push_back(p.tensor(format("{}_{}", row.name, outputs.size()),
                               gives_bool(row.op_class) ? bool_ : dtype, {kCount}));
  }
  return p.build(serial(kCount / width, [&](const ir::Var& piece) {
    return lanes(width, [&](const ir::Var& l) {
      const ir::Expr i = ir::add(ir::mul(piece, ir::index(width)), l);
      std::vector<ir::Stmt> stmts;
      for (size_t k = 0; k < cases.size(); ++k) {
        const ir::OpRow& row = ir::op_row(cases[k].code);
        std::vector<ir::Expr> args;
        if (row.op_class == OpClass::choice) args.push_back(at(choice, {i}));
        for (int a = 0; static_cast<int>(args.size()) < row.operands; ++a) {
          args.push_back(at(inputs[static_cast<size_t>(a)], {i}));
        }
        stmts.push_back(put(outputs[k], {i}, ir::make<ir::Op>({}, [&](ir::Op& n) {
                              n.code = cases[k].code;
                              n.dtype = outputs[k].dtype();
                              n.args = args;
                              n.exactness = cases[k].exactness;
                              n.rounding = cases[k].rounding;
                            })));
      }
      return ir::seq(std::move(stmts));
    });
  }));
}

void expect_ops(DType dtype, int64_t width) {
  std::vector<Case> exact, library;
  for (const Case& c : cases_of(dtype))
    (is_library_function(c.code) ? library : exact).push_back(c);
  for (size_t i = 0; i < exact.size(); i += 24) {
    const auto some = std::span(exact).subspan(i, std::min<size_t>(24, exact.size() - i));
    expect_as_interpreted(program_of(dtype, some, width));
  }
  if (!library.empty()) {
    expect_as_interpreted(program_of(dtype, library, width), 1,
                          [](const Target& target) { return target.fma; });
  }
}

const DType kTypes[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, tf32};

class Ops : public testing::TestWithParam<DType> {};

TEST_P(Ops, VectorsAgreeWithTheInterpreter) { expect_ops(GetParam(), 20); }
TEST_P(Ops, ScalarsAgreeWithTheInterpreter) { expect_ops(GetParam(), 1); }

TEST(Ops, ExpAgreesThroughTheSubnormals) {
  // From e^-106, which is 0, to e^-80 and from e^86 to infinity.
  for (const auto& [from, step] : {std::pair{-106.0, 26.0 / 4096}, {86.0, 4.0 / 4096}}) {
    ProgramBuilder p;
    const ir::Buffer y = p.tensor("y", f32, {4096});
    expect_as_interpreted(p.build(serial(4096 / 32, [&](const ir::Var& piece) {
      return lanes(32, [&](const ir::Var& l) {
        const ir::Expr i = ir::add(ir::mul(piece, ir::index(32)), l);
        const ir::Expr x = ir::add(ir::mul(ir::cast(f32, i), ir::float_const(f32, step)),
                                   ir::float_const(f32, from));
        return put(y, {i}, ir::op(OpCode::exp, f32, {x}));
      });
    })));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(kTypes),
                         [](const auto& info) { return to_text(info.param); });

}  // namespace
}  // namespace tw::cpu::test
