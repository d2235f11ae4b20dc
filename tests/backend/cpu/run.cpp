#include "tests/backend/cpu/run.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tilewright/backend/cpu/device.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/sim/interpreter.h"

namespace tw::cpu::test {

ir::Buffer ProgramBuilder::tensor(const std::string& name, DType dtype, std::vector<int64_t> shape,
                                  ir::ParamKind kind) {
  const ir::Buffer buffer = ir::make_buffer(name, dtype, ir::MemSpace::global, shape);
  program_.params.push_back({.kind = kind, .buffer = buffer});
  return buffer;
}

ir::Var ProgramBuilder::scalar(const std::string& name, DType dtype) {
  const ir::Var var = ir::Var::make(name, dtype);
  program_.params.push_back({.kind = ir::ParamKind::scalar, .var = var});
  return var;
}

void ProgramBuilder::option(const std::string& name, const std::string& value) {
  program_.options.push_back({name, value});
}

ir::Program ProgramBuilder::build(ir::Stmt body, int64_t blocks) {
  ir::Program program = program_;
  program.launches.push_back(ir::make<ir::Launch>({}, [&](ir::Launch& n) {
    n.name = "main";
    n.grid = {ir::index(blocks)};
    n.block_vars = {block};
    n.body = std::move(body);
  }));
  return program;
}

ir::Stmt lanes(int64_t extent, const std::function<ir::Stmt(const ir::Var&)>& body) {
  const ir::Var var = ir::Var::make("l", i64);
  return ir::for_(var, ir::index(0), ir::index(extent), body(var), ir::LoopKind::vectorized);
}
ir::Stmt serial(int64_t extent, const std::function<ir::Stmt(const ir::Var&)>& body) {
  const ir::Var var = ir::Var::make("i", i64);
  return ir::for_(var, ir::index(0), ir::index(extent), body(var));
}
ir::Expr at(const ir::Buffer& buffer, std::vector<ir::Expr> indices) {
  return ir::load(buffer, std::move(indices), true);
}
ir::Stmt put(const ir::Buffer& buffer, std::vector<ir::Expr> indices, ir::Expr value) {
  return ir::store(buffer, std::move(indices), std::move(value), true);
}

namespace {

std::vector<int64_t> extents_of(const ir::Buffer& buffer) {
  std::vector<int64_t> extents;
  for (int d = 0; d < buffer.rank(); ++d) extents.push_back(buffer.extent(d));
  return extents;
}

Shape shape_of(const ir::Buffer& buffer) {
  const std::vector<int64_t> extents = extents_of(buffer);
  return Shape(extents);
}

/// Half of the values are of a size that arithmetic stays finite with, the others are any bits.
uint64_t random_bits(DType dtype, std::mt19937_64& random) {
  const uint64_t word = random();
  if (dtype.is_bool()) return word & 1;
  if (!dtype.has_float_arithmetic() || word % 2 == 0) return random();
  return encode(std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -60), dtype);
}

}  // namespace

std::vector<OwnedTensor> random_tensors(const ir::Program& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<OwnedTensor> tensors;
  for (const ir::Param& param : program.params) {
    if (!param.buffer) continue;
    const DType dtype = param.buffer.dtype();
    OwnedTensor& tensor = tensors.emplace_back(dtype, shape_of(param.buffer));
    auto* bytes = tensor->data_as<uint8_t>();
    const DType scalar(dtype.scalar);
    const auto width = static_cast<size_t>(std::max(1, scalar.bits() / 8));
    for (size_t i = 0; i < static_cast<size_t>(tensor->bytes()); i += width) {
      const uint64_t bits = random_bits(scalar, random);
      std::memcpy(bytes + i, &bits, width);
    }
  }
  return tensors;
}

void run(const ir::Program& loops, const Target& target, const std::vector<OwnedTensor>& tensors,
         const std::vector<Arg>& scalars, const runtime::CallContext& context) {
  backend::CompileReport report;
  const backend::Artifact artifact = compile_loops(loops, target, "cpu", report);
  const runtime::LoadedKernel kernel(artifact.metadata, load_object(artifact.code));
  std::vector<Arg> args;
  size_t tensor = 0, scalar = 0;
  for (const ir::Param& param : loops.params) {
    if (param.buffer) {
      args.emplace_back(tensors[tensor++]);
    } else {
      args.push_back(scalars[scalar++]);
    }
  }
  kernel(args, context);
}

std::string text_of(const ir::Program& loops, const Target& target, const std::string& name) {
  backend::CompileReport report{.keep_texts = true};
  compile_loops(loops, target, "cpu", report);
  for (const backend::Text& text : report.texts) {
    if (text.name == name) return text.text;
  }
  ADD_FAILURE() << "there is no text " << name;
  return "";
}

namespace {

uint64_t element(const Tensor& tensor, int64_t i) {
  const DType scalar(tensor.dtype().scalar);
  const auto* bytes = tensor.data_as<uint8_t>();
  uint64_t bits = 0;
  if (scalar.is_sub_byte()) return bytes[i / 2] >> (i % 2 * 4) & 15;
  const auto width = static_cast<size_t>(scalar.bits() / 8);
  std::memcpy(&bits, bytes + static_cast<size_t>(i) * width, width);
  return bits;
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  const DType scalar(got.dtype().scalar);
  int64_t differences = 0;
  for (int64_t i = 0; i < got.numel() * got.dtype().lanes; ++i) {
    const uint64_t a = element(got, i), b = element(want, i);
    if (same_value(a, b, scalar)) continue;
    if (++differences > 3) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << format("{:#x} ({})", a, decode(a, scalar))
                  << ", the interpreter says " << format("{:#x} ({})", b, decode(b, scalar));
  }
  EXPECT_EQ(differences, 0) << what;
}

}  // namespace

constexpr int kScalar = 3;

void expect_as_interpreted(const ir::Program& loops, uint64_t seed,
                           const std::function<bool(const Target&)>& runs_on) {
  const std::vector<OwnedTensor> expected = random_tensors(loops, seed);
  std::vector<std::string> names;
  for (const ir::Param& param : loops.params) {
    if (param.buffer) names.push_back(param.buffer.name());
  }
  std::vector<sim::Argument> arguments;
  std::vector<Arg> scalars;
  size_t next = 0;
  for (const ir::Param& param : loops.params) {
    if (param.buffer) {
      const Tensor& tensor = expected[next++];
      std::vector<int64_t> shape;
      for (int d = 0; d < tensor.rank(); ++d) shape.push_back(tensor.dim(d));
      arguments.push_back(sim::Argument::tensor(tensor.data(), tensor.dtype(), shape));
    } else {
      const DType dtype = param.var.dtype();
      arguments.push_back(sim::Argument::value(dtype, encode(kScalar, dtype)));
      scalars.push_back(dtype.is_float() ? Arg(double{kScalar}) : Arg(kScalar));
    }
  }
  const sim::RunResult result = sim::interpret(loops, arguments);
  for (const sim::Finding& finding : result.findings) {
    const bool is_defined = finding.kind == sim::FindingKind::division_by_zero ||
                            finding.kind == sim::FindingKind::shift_out_of_range;
    EXPECT_TRUE(is_defined) << to_text(finding);  // by sim/element.h
  }
  for (const Target& target : targets_here()) {
    if (runs_on && !runs_on(target)) continue;
    const std::vector<OwnedTensor> got = random_tensors(loops, seed);
    run(loops, target, got, scalars);
    for (size_t i = 0; i < got.size(); ++i) {
      expect_same(got[i], expected[i], format("{} on {}", names[i], target.name()));
    }
  }
}

void expect_text_as_interpreted(const std::string& text, uint64_t seed) {
  const ir::Program program =
      ir::parse_program("tilewright ir 1 program \"test\" {\n" + text + "\n}");
  ir::verify(program, ir::Level::loop);
  expect_as_interpreted(program, seed);
}

}  // namespace tw::cpu::test
