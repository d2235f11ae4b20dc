// Emission: golden texts of small kernels in thread IR, and that everything it can emit compiles.
#include "tilewright/backend/cuda/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/cases.h"
#include "tests/support/golden.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"

namespace tw::cuda {
namespace {

using testing::HasSubstr;

std::string emit_program(const ir::Program& program) {
  ir::verify(program, ir::Level::thread);
  std::vector<std::string> entries;
  for (size_t i = 0; i < program.launches.size(); ++i) entries.push_back(format("main_{}", i));
  return emit_source(program, emit_options(program), entries);
}
std::string emit(const std::string& text) { return emit_program(ir::parse_program(text)); }

/// The body of a kernel of one thread per element of X and Y: f32[n, 64].
std::string body_of(const std::string& body) {
  const std::string text = emit(
      "tilewright ir 1 program \"p\" { symbol n input X: f32[n, 64] output Y: f32[n, 64] "
      "scalar a: f32 launch bx in n with threads=[64], thread=t: i64, shared_bytes=512 { " +
      body + " } }");
  const std::string begin = "const i64 t = threadIdx.x;\n";
  const size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.rfind("}\n") - at);
}

/// Compiles for every target.
void expect_compiles(const std::string& source, const std::string& name) {
  for (const Target& target : all_targets()) {
    SCOPED_TRACE(target.name);
    EXPECT_NO_THROW(translate({.name = name, .source = source}, target)) << source;
  }
}
bool no_compiler() { return nvrtc_file().path.empty(); }
#define TW_NEEDS_NVRTC() \
  if (no_compiler()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing

void expect_golden_kernel(const std::string& name) {
  const std::string text =
      tw::test::read_file(tw::test::source_path("tests/golden/cuda/" + name + ".tw"));
  const ir::Program program = ir::parse_program(text, {.file = name + ".tw", .locate = true});
  const std::string source = emit_program(program);
  tw::test::expect_golden("cuda/" + name + ".cu", source);
  if (!no_compiler()) expect_compiles(source, name);
}

TEST(EmitGolden, RmsNorm) { expect_golden_kernel("rms_norm"); }
TEST(EmitGolden, ControlFlow) { expect_golden_kernel("control_flow"); }
TEST(EmitGolden, Effects) { expect_golden_kernel("effects"); }
TEST(EmitGolden, Views) { expect_golden_kernel("views"); }

// ---- names

TEST(Emit, NamesAreLegalAndUnique) {
  EXPECT_EQ(body_of("let min: f32 = a let min: f32 = min let u8_ = 1 let x = 2 let x = 3"),
            "  const f32 min_1 = a;\n  const f32 min_2 = min_1;\n  const i64 u8_ = 1;\n"
            "  const i64 x = 2;\n  const i64 x_1 = 3;\n");
  EXPECT_EQ(legal_name("2 a-b"), "_2_a_b");
}

// ---- expressions

TEST(Emit, OperatorsHaveTheBracketsThatTheyNeed) {
  EXPECT_EQ(body_of("let x = (bx + 1) * (t - (2 - bx)) let y = bx % 8 + t // 4"),
            "  const i64 x = (bx + 1) * (t - (2 - bx));\n"
            "  const i64 y = (bx & 7) + (t >> 2);\n");
}

TEST(Emit, WhatOccursTwiceGetsAName) {
  const ir::Expr x = ir::parse_expr("given X: f32[8] X[3] * 2.0");
  EXPECT_EQ(body_of("let e: f32 = exp(X![bx, t]) let y: f32 = e * e"),
            "  const f32 e = expf(X[bx * 64 + t]);\n  const f32 y = e * e;\n");
}

TEST(Emit, GuardedLoadsStayGuarded) {
  EXPECT_EQ(body_of("let p: bool = bx < n && X![bx, t] > 0.0 let v: f32 = X[bx, t]"),
            "  const bool p = bx < n && X[bx * 64 + t] > 0.0f;\n"
            "  const f32 v = 0 <= bx && bx < n && (0 <= t && t < 64) ? X[bx * 64 + t] : 0.0f;\n");
}

// ---- what has no form

TEST(Emit, AnAtomicOnBytesIsAnError) {
  try {
    emit(
        "tilewright ir 1 program \"p\" { inout B: u8[8] launch bx in 1 with threads=[32], "
        "thread=t: i64 { atomic add B[0], u8(1) } }");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("atomic on B: u8 has no atomics on cuda"));
  }
}

// ---- everything compiles

class EmitAll : public testing::TestWithParam<DType> {};

TEST_P(EmitAll, OperationsCompile) {
  TW_NEEDS_NVRTC();
  const std::vector<test::OpCase> cases = test::op_cases(GetParam());
  for (size_t i = 0; i < cases.size(); i += 56) {
    const auto some = std::span(cases).subspan(i, std::min<size_t>(56, cases.size() - i));
    expect_compiles(emit_program(test::op_program(GetParam(), some, 256)), "ops");
  }
}
INSTANTIATE_TEST_SUITE_P(Types, EmitAll, testing::ValuesIn(test::op_types()),
                         [](const auto& info) { return to_text(info.param); });

TEST(Emit, ConversionsCompile) {
  TW_NEEDS_NVRTC();
  for (const DType from : all_dtypes()) {
    const std::vector<test::CastCase> cases = test::cast_cases(from);
    expect_compiles(emit_program(test::cast_program(from, cases, 256)), "casts");
  }
}

}  // namespace
}  // namespace tw::cuda
