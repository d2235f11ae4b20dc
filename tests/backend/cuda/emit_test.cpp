// Emission: golden texts of small kernels in thread IR, and that everything it can emit compiles.
#include "tilewright/backend/cuda/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/cases.h"
#include "tests/support/golden.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
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

/// Compiles for a target.
void expect_compiles(const std::string& source, const std::string& name, const Target& target) {
  SCOPED_TRACE(target.name);
  EXPECT_NO_THROW(translate({.name = name, .source = source}, target)) << source;
}
/// Compiles for every target.
void expect_compiles(const std::string& source, const std::string& name) {
  for (const Target& target : all_targets()) expect_compiles(source, name, target);
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
TEST(EmitGolden, Async) { expect_golden_kernel("async"); }
TEST(EmitGolden, Clusters) { expect_golden_kernel("clusters"); }
TEST(EmitGolden, Views) { expect_golden_kernel("views"); }
TEST(EmitGolden, Fp8) { expect_golden_kernel("fp8"); }

// An array that is used on both sides of a barrier is widened anew, where the launch leaves a
// thread fewer registers than the widened elements need.
TEST(Emit, ForgetsWhatItWidenedWhereRegistersAreShort) {
  const auto source = [](int blocks) {
    return emit(
        format("tilewright ir 1 program \"p\" {{ symbol n input X: bf16[n, 64] output "
               "Y: f32[n, 64] launch bx in n with threads=[64], thread=t: i64, aligned=[X], "
               "min_blocks_per_sm={} {{ alloc x: bf16[64] local for i in 0:8 unrolled {{ "
               "move X[bx, i * 8] -> x[i * 8] x 8 }} Y[bx, t] = cast(x![0], f32) barrier "
               "Y[bx, t] = cast(x![0], f32) }} }}",
               blocks));
  };
  EXPECT_THAT(source(12), HasSubstr("i_1 < 32; ++i_1) forget(((u32*)x)[i_1]);"));
  EXPECT_THAT(source(11), testing::Not(HasSubstr("forget")));
  TW_NEEDS_NVRTC();
  expect_compiles(source(12), "forgets");
}

TEST(Emit, BulkCopiesThatTheHardwareLacks) {
  const auto message = [](const std::string& body) -> std::string {
    try {
      body_of(body);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("alloc s: e4m3[64] shared with place=0 view y: e4m3[n, 256] of Y "
                    "async bulk s -> y[bx, 0 :+ 64] with fold=add"),
            "error[E-COPY-06]: copy: no bulk add of e4m3 on cuda; use atomic_add");
  EXPECT_EQ(message("alloc s: f32[64] shared with place=0 view y: f32[n, 64] of Y "
                    "async tensor s -> y[bx :+ 1, 0 :+ 64]"),
            "error[E-COPY-07]: copy: y is a view, and the descriptor of a bulk tensor copy is made "
            "by the host from a parameter; copy from the parameter");
}

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

TEST(Emit, TheFormOfAReciprocalFollowsFromItsOperand) {
  EXPECT_THAT(body_of("let y: f32 = rcp(a)"), HasSubstr("reciprocal(a)"));
  EXPECT_THAT(body_of("let y: f32 = rcp(1.0 + exp(a))"), HasSubstr("reciprocal_of_large("));
  EXPECT_THAT(body_of("let y: f32 = rcp(a + exp(a))"), HasSubstr("reciprocal(a + expf(a))"));
}

TEST(Emit, LogarithmsOfNormalNumbersLeaveOtherCasesOut) {
  const std::string number = "cast(cast(t, u32), f32)";
  EXPECT_THAT(body_of("let y: f32 = log(" + number + " * 2.5e-10 + 1.25e-10)"),
              HasSubstr("log_of_normal("));
  EXPECT_THAT(body_of("let y: f32 = log(" + number + " * 2.5e-10)"), HasSubstr("logf("));
  EXPECT_THAT(body_of("let y: f32 = log(a * 2.5e-10 + 1.25e-10)"), HasSubstr("logf("));
  EXPECT_THAT(body_of("let y: f32 = log(" + number + " * 2.5e-10 + 1e-40)"), HasSubstr("logf("));
  EXPECT_THAT(body_of("let y: f32 = log(" + number + " * -1.0 + 1.25e-10)"), HasSubstr("logf("));
}

TEST(Emit, ProductsOf32BitsIn64AreOneInstruction) {
  EXPECT_THAT(body_of("let y: u64 = cast(cast(t, u32), u64) * u64(3528531795)"),
              HasSubstr("mul_wide(u32(t), 3528531795u)"));
  EXPECT_THAT(body_of("let y: u64 = cast(cast(t, u32), u64) * cast(t, u64)"),
              Not(HasSubstr("mul_wide")));
  EXPECT_THAT(body_of("let y: u64 = cast(cast(t, u32), u64) * u64(4294967296)"),
              Not(HasSubstr("mul_wide")));
}

TEST(Emit, MinAndMaxTakeOneInstructionWhereTheSignOfZeroIsRight) {
  EXPECT_THAT(body_of("let y: f32 = max(0.0, a)"), HasSubstr("fmaxf(0.0f, a)"));
  EXPECT_THAT(body_of("let y: f32 = max(a, 0.0)"), HasSubstr("max_first(a, 0.0f)"));
  EXPECT_THAT(body_of("let y: f32 = min(0.0, a)"), HasSubstr("min_first(0.0f, a)"));
  EXPECT_THAT(body_of("let y: f32 = max.fast(a, 0.0)"), HasSubstr("fmaxf(a, 0.0f)"));
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

TEST(Emit, HalvesOfBytesAreWrittenInPairs) {
  const std::string source = emit(
      "tilewright ir 1 program \"p\" { symbol n input X: f32[n, 512] output Y: e2m1[n, 512] "
      "launch bx in n with threads=[32], thread=t: i64, aligned=[X, Y] { alloc y: e2m1[16] local "
      "for v in 0:16 unrolled { y![v] = cast(X![bx, t * 16 + v], e2m1) } "
      "move y[0] -> Y[bx, t * 16] x 16 } }");
  EXPECT_THAT(source, HasSubstr("*(u8*)&y[v >> 1] = to_e2m1x2("));
  EXPECT_THAT(source, HasSubstr("((uint2*)Y)["));
  TW_NEEDS_NVRTC();
  expect_compiles(source, "e2m1");
}

TEST(Emit, RoundsToE2m1WithoutItsCode) {
  EXPECT_EQ(body_of("let y: f32 = cast(cast(a, e2m1), f32)"), "  const f32 y = nearest_e2m1(a);\n");
}

TEST(Emit, HalvesOfBytesAreReadInWords) {
  const std::string source = emit(
      "tilewright ir 1 program \"p\" { symbol n input X: e2m1[n, 64] output Y: f32[n, 64] "
      "launch bx in n with threads=[32], thread=t: i64 { alloc x: e2m1[2] local "
      "for v in 0:2 unrolled { x![v] = X![bx, t * 2 + v] } "
      "for v in 0:2 unrolled { Y![bx, t * 2 + v] = cast(x![v], f32) } } }");
  EXPECT_THAT(source, HasSubstr("alignas(4) e2m1x2 x[4];"));
  EXPECT_THAT(source, HasSubstr("Y[bx * 64 + (t * 2 + v_1)] = from_e2m1_at(x, v_1);"));
  TW_NEEDS_NVRTC();
  expect_compiles(source, "words");
}

/// The source of a loop over 16 elements of a thread, which are in v.
std::string over_elements(const std::string& arrays, const std::string& body) {
  return emit(
      "tilewright ir 1 program \"p\" { symbol n input X: bf16[n, 512] output Y: bf16[n, 512] "
      "launch bx in n with threads=[32], thread=t: i64, aligned=[X, Y] { alloc v: bf16[16] local " +
      arrays +
      "move X[bx, t * 16] -> v[0] x 8 move X[bx, t * 16 + 8] -> v[8] x 8 for s in 0:16 unrolled "
      "{ " +
      body + " } } }");
}

TEST(Emit, HalvesOfWordsAreComputedInPairs) {
  const std::string source =
      over_elements("alloc y: bf16[16] local ", "y![s] = max.fast(abs(v![s]), v![s] * 2.0)");
  EXPECT_THAT(source, HasSubstr("*(u32*)&y[s] = max_bf16x2(abs_bf16x2(*(const u32*)&v[s]), "
                                "mul_bf16x2(*(const u32*)&v[s], halves("));
  TW_NEEDS_NVRTC();
  expect_compiles(source, "halves");
}

TEST(Emit, PairsAreConvertedToF16TowardZero) {
  const std::string source = over_elements(
      "alloc y: f16[16] local ", "y![s] = cast(mul.ieee(cast(v![s], f32), 3.0), f16, rounding=rz)");
  EXPECT_THAT(source, HasSubstr("*(u32*)&y[s] = to_f16x2_rz(__fmul_rn(from_bf16(v[s]), 3.0f), "
                                "__fmul_rn(from_bf16(v[s + 1]), 3.0f));"));
  TW_NEEDS_NVRTC();
  expect_compiles(source, "toward_zero");
}

TEST(Emit, PairsBecomeE2m1OfF16) {
  const auto to_e2m1 = [](const std::string& half) {
    return over_elements("alloc y: e2m1[16] local ", "y![s] = cast(cast(" + half + ", e2m1)");
  };
  const std::string source = to_e2m1("mul.ieee(cast(v![s], f32), 3.0), f16)");
  EXPECT_THAT(source, HasSubstr("*(u8*)&y[s >> 1] = to_e2m1x2_of_f16x2(to_f16x2(__fmul_rn("));
  EXPECT_THAT(to_e2m1("mul.ieee(cast(v![s], f32), 3.0), f16, rounding=rz)"),
              HasSubstr("= to_e2m1x2(from_f16(to_f16_rz("));
  TW_NEEDS_NVRTC();
  expect_compiles(source, "e2m1_of_f16");
}

TEST(Emit, CodesOfAWordAreMadeInPairs) {
  const auto code = [](int i, const char* dtype = "e4m3") {
    return format("cast(bitcast(cast(X![bx, {}], {}), u8), u32)", i, dtype);
  };
  const auto body = [](const std::string& word) {
    return body_of("let w: u32 = " + word + " Y![bx, t] = bitcast(w, f32)");
  };
  const std::string four = code(0) + " | " + code(1) + " << 8 | " + code(2) + " << 16 | ";
  EXPECT_THAT(body(four + code(3) + " << 24"),
              HasSubstr("w = halves(to_e4m3x2(X[bx * 64], X[bx * 64 + 1]), "
                        "to_e4m3x2(X[bx * 64 + 2], X[bx * 64 + 3]));"));
  EXPECT_THAT(body(code(1, "e5m2") + " << 8 | " + code(0, "e5m2")),
              HasSubstr("w = u32(to_e5m2x2(X[bx * 64], X[bx * 64 + 1]));"));
  EXPECT_THAT(body(four + "7"), HasSubstr("w = u32(to_e4m3x2(X[bx * 64], X[bx * 64 + 1])) | "
                                          "(u32(u8(to_e4m3(X[bx * 64 + 2]))) << 16) | 7u;"));
  for (const std::string& other :
       {code(0) + " | " + code(1) + " << 16", code(0) + " | " + code(1), four + code(3) + " << 25",
        code(0) + " | " + code(1, "e5m2") + " << 8",
        code(0) + " | cast(bitcast(cast(X![bx, 1], e4m3, saturate=false), u8), u32) << 8"}) {
    const std::string text = body(other);
    EXPECT_EQ(text.find("halves"), text.npos) << text;
    EXPECT_THAT(text, HasSubstr("u32(u8(to_e4m3("));
  }
}

TEST(Emit, PairsAreFoldedWhereEachHasAPlaceOfItsOwn) {
  const auto folds = [](const std::string& place) {
    const std::string element = "a![" + place + "]";
    return over_elements("alloc a: bf16[4] local ",
                         element + " = max.fast(" + element + ", abs(v![s]))");
  };
  for (const char* place : {"s % 4", "s // 8 * 2 + s % 2"}) {
    EXPECT_THAT(folds(place), HasSubstr("= max_bf16x2(*(const u32*)&a[")) << place;
  }
  for (const char* place : {"s // 4", "s % 3", "s // 5 % 2 * 2 + s % 2"}) {
    EXPECT_THAT(folds(place), Not(HasSubstr("max_bf16x2"))) << place;
  }
  // What an iteration binds isn't that of its neighbor.
  const auto folds_in = [](const std::string& row) {
    return over_elements(
        "alloc a: bf16[4, 2] local ",
        "let k: i64 = " + row + " a![k, s % 2] = max.fast(a![k, s % 2], abs(v![s]))");
  };
  EXPECT_THAT(folds_in("s % 3"), Not(HasSubstr("max_bf16x2")));
  // A maximum of zeros with other signs is the first of them, which pairs don't know.
  EXPECT_THAT(over_elements("alloc a: bf16[4] local ", "a![s % 4] = max(v![s], a![s % 4])"),
              Not(HasSubstr("max_bf16x2")));
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
  const DType dtype = GetParam();
  const std::vector<test::OpCase> cases = test::op_cases(dtype);
  for (size_t i = 0; i < cases.size(); i += 56) {
    const auto some = std::span(cases).subspan(i, std::min<size_t>(56, cases.size() - i));
    const std::string source = emit_program(test::op_program(dtype, some, 256));
    expect_compiles(source, "ops", all_targets().front());
    // The text is the same for every target: two types show that it suits the others.
    if (dtype == f32 || dtype == i32) expect_compiles(source, "ops", all_targets().back());
  }
}
INSTANTIATE_TEST_SUITE_P(Types, EmitAll, testing::ValuesIn(test::op_types()),
                         [](const auto& info) { return to_text(info.param); });

/// Every operation on the type, in each order, and each scope.
ir::Program atomics_of(DType dtype, ir::MemSpace space) {
  using ir::AtomicOp, ir::MemoryOrder;
  const ir::Buffer x = ir::make_buffer("x", dtype, space, std::vector<int64_t>{64});
  const ir::Var thread = ir::Var::make("t", i64), block = ir::Var::make("b", i64);
  const bool shared = space == ir::MemSpace::shared;
  std::vector<ir::Stmt> stmts;
  if (shared) {
    stmts.push_back(ir::make<ir::Alloc>({}, [&](ir::Alloc& n) { n.buffer = x, n.place = 0; }));
  }
  const auto legal = [](AtomicOp op, MemoryOrder order) {
    if (ir::waits(op)) return order == MemoryOrder::acquire;
    if (op == AtomicOp::load) {
      return order != MemoryOrder::release && order != MemoryOrder::acq_rel;
    }
    return op != AtomicOp::store ||
           (order != MemoryOrder::acquire && order != MemoryOrder::acq_rel);
  };
  for (int op = 0; op <= static_cast<int>(AtomicOp::wait_ge); ++op) {
    const auto code = static_cast<AtomicOp>(op);
    const bool bits = code >= AtomicOp::bit_and && code <= AtomicOp::bit_xor;
    const bool moves = code == AtomicOp::load || code == AtomicOp::store;
    if ((bits && !dtype.is_int()) || (dtype.bits() < 16 && !moves)) continue;
    for (int form = 0; form < 6; ++form) {
      const auto order = static_cast<MemoryOrder>(form % 5);
      if (!legal(code, order)) continue;
      stmts.push_back(ir::make<ir::Atomic>({}, [&](ir::Atomic& n) {
        n.op = code;
        n.buffer = x;
        n.indices = {thread};
        if (code != AtomicOp::load) n.value = ir::literal(dtype, 1);
        if (code == AtomicOp::compare_exchange) n.compare = ir::literal(dtype, 0);
        n.order = order;
        n.scope = static_cast<ir::AtomicScope>(form % 3);
        if (form % 2 == 0 && code != AtomicOp::store) n.result = ir::Var::make("old", dtype);
      }));
    }
  }
  ir::Program program;
  program.name = "atomics";
  if (!shared) program.params = {{.kind = ir::ParamKind::inout, .buffer = x}};
  program.launches = {ir::make<ir::Launch>({}, [&](ir::Launch& n) {
    n.grid = {ir::index(1)};
    n.block_vars = {block};
    n.thread = thread;
    n.threads = {64};
    n.shared_bytes = shared ? 512 : 0;
    n.body = ir::seq(stmts);
  })};
  return program;
}

TEST(Emit, AtomicsCompile) {
  TW_NEEDS_NVRTC();
  for (const DType dtype : {bool_, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64}) {
    for (const ir::MemSpace space : {ir::MemSpace::global, ir::MemSpace::shared}) {
      expect_compiles(emit_program(atomics_of(dtype, space)), "atomics");
    }
  }
}

TEST(Emit, AddsOfNeighborsAreOneInstruction) {
  TW_NEEDS_NVRTC();
  const auto emitted = [](const std::string& dtype, int count) {
    const std::string text = format(
        "tilewright ir 1 program \"p\" {{ inout Y: {0}[512] launch b in 1 with threads=[64], "
        "thread=t: i64 {{ alloc r: {0}[{1}] local for v in 0:{1} unrolled {{ r[v] = cast(v, {0}) "
        "}} "
        "move r[0] -> Y[t * {1}] x {1} with fold=add }} }}",
        dtype, count);
    const std::string source = emit_program(ir::parse_program(text));
    expect_compiles(source, "adds");
    return source;
  };
  EXPECT_THAT(emitted("f32", 2), HasSubstr("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};"));
  EXPECT_THAT(emitted("f32", 4), HasSubstr(".add.v4.f32 [%0], {%1, %2, %3, %4};"));
  EXPECT_THAT(emitted("f16", 2), HasSubstr("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;"));
  EXPECT_THAT(emitted("bf16", 4), HasSubstr(".add.noftz.v2.bf16x2 [%0], {%1, %2};"));
  EXPECT_THAT(emitted("bf16", 8), HasSubstr(".add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};"));
}

TEST(Emit, OperationsOfAWarpCompile) {
  TW_NEEDS_NVRTC();
  std::string body;
  for (const DType dtype :
       {bool_, i8, u8, i16, u16, f16, bf16, f8_e4m3, i32, u32, f32, i64, u64, f64}) {
    const std::string x = format("x_{}", dtype);
    body += format("var {}: {} ", x, dtype);
    for (const char* code : {"shfl", "shfl_xor", "shfl_up", "shfl_down"}) {
      for (const int width : {2, 32}) {
        body += format("warp {} [{}, i32(3)] with width={}, result=y: {}\n", code, x, width, dtype);
      }
    }
    body += format("warp match_any [{}] with result=m: u32 ", x);
    body += format("warp match_all [{}] with result=m: u32\n", x);
    if (dtype != i32 && dtype != u32) continue;
    for (const char* code : {"add", "min", "max", "and", "or", "xor"}) {
      for (const int width : {4, 32}) {
        body += format("warp reduce_{} [{}] with width={}, result=r: {}\n", code, x, width, dtype);
      }
    }
  }
  body +=
      "warp vote_any [x_bool] with result=p: bool warp vote_all [x_bool] with result=p: bool "
      "warp ballot [x_bool] with result=m: u32 warp active_mask with result=m: u32 "
      "warp sync_warp";
  expect_compiles(emit("tilewright ir 1 program \"p\" { launch bx in 1 with threads=[64], "
                       "thread=t: i64 { " +
                       body + " } }"),
                  "warp");
}

TEST(Emit, ATensorThatThreadsExchangeValuesThroughIsReadAgainAfterABarrier) {
  const std::string source = emit(
      "tilewright ir 1 program \"p\" { input X: f32[64] inout W: f32[128] output Y: f32[64] "
      "launch bx in 1 with threads=[64], thread=t: i64 { let a: f32 = W![t + 64] + X![t] "
      "W![t] = a barrier Y![t] = W![t + 64] } }");
  EXPECT_THAT(source, HasSubstr("    const f32* __restrict__ X,\n    f32* W,\n"
                                "    f32* __restrict__ Y) {\n"));
  TW_NEEDS_NVRTC();
  const std::string ptx =
      translate({.name = "p", .source = source, .keep_ptx = true}, all_targets().front()).ptx;
  EXPECT_THAT(ptx.substr(ptx.find("bar.sync")), HasSubstr("ld.global"));
}

TEST(Emit, WhatAWaitIsForIsReadBehindIt) {
  const std::string source = emit(
      "tilewright ir 1 program \"p\" { input X: f32[64] input F: u32[1] output Y: f32[64] "
      "launch bx in 1 with threads=[64], thread=t: i64 { "
      "atomic wait_ge F[0], 1 with order=acquire Y![t] = X![t] } }");
  EXPECT_THAT(source, HasSubstr("    const f32* X,\n    u32* F,\n    f32* Y) {\n"));
  TW_NEEDS_NVRTC();
  const std::string ptx =
      translate({.name = "p", .source = source, .keep_ptx = true}, all_targets().front()).ptx;
  EXPECT_THAT(ptx.substr(ptx.find("ld.acquire.gpu.global")), HasSubstr("ld.global.f32"));
}

// ptxas ignores the instruction where it doesn't know how many registers a thread begins with.
TEST(Emit, RegistersAreReallocatedFromAKnownNumber) {
  const auto source = [](const std::string& with) {
    return emit("tilewright ir 1 program \"p\" { launch bx in 1 with threads=[128]" + with +
                ", thread=t: i64 { sync registers_decrease, 40 } }");
  };
  EXPECT_THAT(source(""), HasSubstr("__launch_bounds__(128, 1) main_0"));
  EXPECT_THAT(source(", min_blocks_per_sm=3"), HasSubstr("__launch_bounds__(128, 3) main_0"));
  EXPECT_THAT(source(""), HasSubstr("  registers_decrease<40>();\n"));
}

TEST(Emit, LinesOfTheAuthorAreDirectives) {
  const std::string text =
      "tilewright ir 1 program \"p\" { option line_info=\"on\" output Y: i64[64]\n"
      "launch bx in 1 with threads=[64], thread=t: i64, dependent_launch {\n"
      "let x: i64 = t * 2\nY![t] = x } }";
  const std::string source =
      emit_program(ir::parse_program(text, {.file = "dir/a.tw", .locate = true}));
  EXPECT_THAT(source, HasSubstr("  wait_for_launch_ahead();\n"));
  EXPECT_THAT(source, HasSubstr("  // a.tw:3\n#line 3 \"dir/a.tw\"\n  const i64 x = t * 2;\n"
                                "  // a.tw:4\n#line 4 \"dir/a.tw\"\n  Y[t] = x;\n"));
  if (!no_compiler()) expect_compiles(source, "lines");
}

TEST(Emit, ConversionsCompile) {
  TW_NEEDS_NVRTC();
  for (const DType from : all_dtypes()) {
    const std::vector<test::CastCase> cases = test::cast_cases(from);
    expect_compiles(emit_program(test::cast_program(from, cases, 256)), "casts");
  }
}

}  // namespace
}  // namespace tw::cuda
