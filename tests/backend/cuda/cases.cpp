#include "tests/backend/cuda/cases.h"

#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/verify.h"
#include "tilewright/sim/element.h"

namespace tw::cuda::test {
namespace {

using ir::Exactness;
using ir::Expr;
using ir::OpClass;
using ir::OpCode;

constexpr OpCode kLastOp = OpCode::dot2_i16;
constexpr int64_t kThreads = 256;

/// A program of one launch over tensors of `count` elements.
class ElementProgram {
 public:
  explicit ElementProgram(int64_t count) : count_(count) {
    program_.name = "cases";
    i_ = ir::add(ir::mul(block_, ir::index(kThreads)), thread_);
  }
  ir::Buffer tensor(const std::string& name, DType dtype, ir::ParamKind kind) {
    const ir::Buffer buffer =
        ir::make_buffer(name, dtype, ir::MemSpace::global, std::vector<int64_t>{count_});
    program_.params.push_back({.kind = kind, .buffer = buffer});
    return buffer;
  }
  Expr at(const ir::Buffer& buffer) const { return ir::load(buffer, {i_}, true); }
  void put(const std::string& name, const Expr& value) {
    const ir::Buffer y = tensor(name, value.dtype(), ir::ParamKind::output);
    stmts_.push_back(ir::store(y, {i_}, value, true));
  }
  ir::Program build() {
    program_.launches = {ir::make<ir::Launch>({}, [&](ir::Launch& n) {
      n.name = "cases";
      n.grid = {ir::index(count_ / kThreads)};
      n.block_vars = {block_};
      n.thread = thread_;
      n.threads = {kThreads};
      n.body = ir::seq(stmts_);
    })};
    ir::verify(program_, ir::Level::thread);
    return program_;
  }

 private:
  int64_t count_;
  ir::Program program_;
  ir::Var block_ = ir::Var::make("b", i64), thread_ = ir::Var::make("t", i64);
  Expr i_;
  std::vector<ir::Stmt> stmts_;
};

bool is_float_math(OpCode code) {
  return ir::op_row(code).op_class == OpClass::float_math || code <= OpCode::mul ||
         (code >= OpCode::min && code <= OpCode::max);
}

/// What ieee:: offers (language 11.2).
bool has_ieee_form(OpCode code) {
  switch (code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::fdiv:
    case OpCode::fma:
    case OpCode::rcp:
    case OpCode::sqrt:
    case OpCode::rsqrt:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string OpCase::name() const {
  std::string name(ir::op_row(code).name);
  if (exactness == Exactness::fast) name += "_fast";
  if (exactness == Exactness::ieee) name += "_ieee_" + to_text(rounding);
  return name;
}
std::string CastCase::name() const {
  return "to_" + to_text(to) + (rounding == Rounding::rn ? "" : "_" + to_text(rounding)) +
         (saturate ? "" : "_nonsat");
}

std::vector<OpCase> op_cases(DType dtype) {
  std::vector<OpCase> cases;
  for (int i = 0; i <= static_cast<int>(kLastOp); ++i) {
    const auto code = static_cast<OpCode>(i);
    const OpClass op_class = ir::op_row(code).op_class;
    if (op_class == OpClass::reinterpret) continue;
    if (op_class == OpClass::arithmetic && dtype.is_bool()) continue;
    if (op_class == OpClass::dot) {
      if (dtype == (code == OpCode::dot2_bf16 ? f32 : i32)) cases.push_back({code});
      continue;
    }
    if (op_class == OpClass::choice) cases.push_back({code});
    if (op_class == OpClass::choice || sim::element_function(code, dtype) == nullptr) continue;
    cases.push_back({code});
    if (!dtype.is_float() || !is_float_math(code)) continue;
    cases.push_back({code, Exactness::fast});
    for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rp, Rounding::rm}) {
      const bool directed = rounding != Rounding::rn;
      if (code == OpCode::rsqrt || (directed && dtype != f32 && dtype != f64)) continue;
      if (!has_ieee_form(code)) continue;
      if (sim::element_function(code, dtype, Exactness::ieee, rounding) == nullptr) continue;
      cases.push_back({code, Exactness::ieee, rounding});
    }
  }
  return cases;
}

std::vector<CastCase> cast_cases(DType from) {
  std::vector<CastCase> cases;
  for (const DType to : all_dtypes()) {
    for (const Rounding rounding : kRoundings) {
      for (const bool saturate : {true, false}) {
        if (cast_error(from, to, rounding, saturate, rounding == Rounding::rs) == Code{}) {
          cases.push_back({from, to, rounding, saturate});
        }
      }
    }
  }
  return cases;
}

DType result_type(const OpCase& c, DType dtype) {
  const OpClass op_class = ir::op_row(c.code).op_class;
  const bool is_bool =
      op_class == OpClass::compare || op_class == OpClass::test || op_class == OpClass::logic;
  return is_bool ? bool_ : dtype;
}

ir::Program op_program(DType dtype, std::span<const OpCase> cases, int64_t count) {
  ElementProgram p(count);
  std::vector<ir::Buffer> inputs;
  for (int i = 0; i < 3; ++i) {
    inputs.push_back(p.tensor(format("x{}", i), dtype, ir::ParamKind::input));
  }
  const ir::Buffer choice = p.tensor("choice", bool_, ir::ParamKind::input);
  for (const OpCase& c : cases) {
    const ir::OpRow& row = ir::op_row(c.code);
    std::vector<Expr> args;
    if (row.op_class == OpClass::choice) args.push_back(p.at(choice));
    for (size_t a = 0; static_cast<int>(args.size()) < row.operands; ++a) {
      Expr arg = p.at(inputs[a]);
      if (row.op_class == OpClass::dot && a > 0) arg = ir::op(OpCode::bitcast, u32, {arg});
      args.push_back(arg);
    }
    p.put(c.name(), ir::make<ir::Op>({}, [&](ir::Op& n) {
            n.code = c.code;
            n.dtype = result_type(c, dtype);
            n.args = args;
            n.exactness = c.exactness;
            n.rounding = c.rounding;
          }));
  }
  return p.build();
}

ir::Program cast_program(DType from, std::span<const CastCase> cases, int64_t count) {
  ElementProgram p(count);
  const ir::Buffer x = p.tensor("x", from, ir::ParamKind::input);
  const ir::Buffer w = p.tensor("w", u32, ir::ParamKind::input);
  for (const CastCase& c : cases) {
    p.put(c.name(), ir::make<ir::Cast>({}, [&](ir::Cast& n) {
            n.dtype = c.to;
            n.value = p.at(x);
            n.rounding = c.rounding;
            n.saturate = c.saturate;
            if (c.rounding == Rounding::rs) n.rbits = p.at(w);
          }));
  }
  return p.build();
}

const std::vector<DType>& op_types() {
  static const std::vector<DType> types = {bool_, i8,  i16, i32,  i64, u8,  u16,
                                           u32,   u64, f16, bf16, f32, f64, tf32};
  return types;
}

}  // namespace tw::cuda::test
