// What tile operations mean is kept when they become loops: each program gives the same memory
// before and after, in the interpreter, which also checks bounds and initialisation of the loops.
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/fuse_loops.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/infer_layouts.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/unroll_loops.h"
#include "tilewright/sim/interpreter.h"

namespace tw::pass {
namespace {

/// Bytes of each tensor after running on the same random inputs.
using Memory = std::vector<std::vector<uint8_t>>;

Memory run(const ir::Program& program, const std::map<std::string, int64_t>& symbols) {
  Memory memory;
  std::vector<sim::Argument> arguments;
  std::mt19937 random(7);
  for (const ir::Param& param : program.params) {
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const ir::Expr& extent : param.buffer.shape()) {
      const auto* constant = extent.try_as<ir::Const>();
      shape.push_back(constant != nullptr ? constant->i : symbols.at(ir::Var::of(extent).name()));
      count *= shape.back();
    }
    const DType dtype = param.buffer.dtype();
    auto& bytes = memory.emplace_back(static_cast<size_t>(count * dtype.bits() / 8));
    for (int64_t i = 0; i < count; ++i) {
      if (dtype == f32) {
        const float x = static_cast<float>(static_cast<int>(random() % 17)) - 8;
        std::memcpy(bytes.data() + 4 * i, &x, 4);
      } else if (dtype == i32) {
        const int32_t x = static_cast<int>(random() % 100) - 50;
        std::memcpy(bytes.data() + 4 * i, &x, 4);
      }
    }
    arguments.push_back(sim::Argument::tensor(bytes.data(), dtype, shape));
  }
  const auto result = sim::interpret(program, arguments);
  for (const auto& finding : result.findings)
    ADD_FAILURE() << to_text(finding) << "\n" << ir::print(program);
  return memory;
}

void expect_same_meaning(const char* text, const std::map<std::string, int64_t>& symbols = {}) {
  const ir::Program tile = ir::parse_program(text);
  const Memory wanted = run(tile, symbols);
  for (const VectorShape shape : {VectorShape{64, 32}, VectorShape{16, 16}}) {
    ir::Program program = tile;
    const std::pair<const char*, std::function<ir::Program(const ir::Program&)>> passes[] = {
        {"unroll_loops", unroll_loops},
        {"plan_prefetch", plan_prefetch},
        {"infer_layouts", [&](const auto& p) { return infer_layouts(p, shape); }},
        {"lower_tile_ops", [&](const auto& p) { return lower_tile_ops(p, shape); }},
        {"fuse_loops", fuse_loops},
        {"guard_bounds", guard_bounds},
        {"lower_parallel", [&](const auto& p) { return lower_parallel(p, shape); }},
        {"apply_layouts", apply_layouts},
    };
    for (const auto& [name, pass] : passes) {
      program = pass(program);
      EXPECT_EQ(run(program, symbols), wanted) << "after " << name << "\n" << ir::print(program);
    }
    ir::verify(program, ir::Level::loop);
  }
}

TEST(LowerLoops, CopiesWithOverhang) {
  expect_same_meaning(R"(tilewright ir 1
program "p" {
  symbol n: i64
  input X: f32[n, 50]
  output Y: f32[n, 50]
  launch bx in (n + 3) // 4 {
    alloc t: f32[4, 64] fragment
    copy X[bx * 4 :+ 4, 0 :+ 64] -> t
    parallel i in 4, j in 64 { t[i, j] = t[i, j] * 2.0 + cast(i, f32) }
    copy t -> Y[bx * 4 :+ 4, 0 :+ 64]
  }
})",
                      {{"n", 10}});
}

TEST(LowerLoops, ReducesAlongAndAcross) {
  expect_same_meaning(R"(tilewright ir 1
program "p" {
  input X: f32[5, 77]
  output R: f32[5]
  output C: f32[77]
  output M: f32[5, 1]
  output A: f32[1]
  launch bx in 1 {
    alloc t: f32[5, 77] fragment
    alloc r: f32[5] fragment
    alloc c: f32[77] fragment
    alloc m: f32[5, 1] fragment
    alloc a: f32[1] fragment
    copy X -> t
    reduce sum t -> r over [1]
    reduce sum t -> c over [0]
    reduce max t -> m over [1]
    reduce abs_sum t -> a over [0, 1]
    copy r -> R
    copy c -> C
    copy m -> M
    copy a -> A
  }
})");
}

TEST(LowerLoops, Scans) {
  expect_same_meaning(R"(tilewright ir 1
program "p" {
  input X: i32[5, 37]
  output Y: i32[5, 37]
  output Z: i32[5, 37]
  launch bx in 1 {
    alloc t: i32[5, 37] fragment
    alloc u: i32[5, 37] fragment
    copy X -> t
    scan sum t -> u along 1 with reverse=true
    copy u -> Y
    scan max t -> t along 0 with exclusive=true
    copy t -> Z
  }
})");
}

TEST(LowerLoops, MultipliesAllTransposes) {
  for (const char* form : {"", " trans_a=true", " trans_b=true", " trans_a=true, trans_b=true"}) {
    const bool ta = std::strstr(form, "trans_a") != nullptr,
               tb = std::strstr(form, "trans_b") != nullptr;
    const std::string with = *form == 0 ? std::string() : std::string(" with") + form;
    const std::string a_tile = ta ? "[24, 21]" : "[21, 24]", b_tile = tb ? "[70, 24]" : "[24, 70]";
    const std::string a_at = ta ? "[k * 24 :+ 24, 0 :+ 21]" : "[0 :+ 21, k * 24 :+ 24]";
    const std::string b_at = tb ? "[0 :+ 70, k * 24 :+ 24]" : "[k * 24 :+ 24, 0 :+ 70]";
    expect_same_meaning((std::string(R"(tilewright ir 1
program "p" {
  input A: f32)") + (ta ? "[48, 21]" : "[21, 48]") +
                         "\n  input B: f32" + (tb ? "[70, 48]" : "[48, 70]") +
                         R"(
  output C: f32[21, 70]
  launch bx in 1 {
    alloc a: f32)" + a_tile +
                         " shared\n    alloc b: f32" + b_tile + R"( shared
    alloc c: f32[21, 70] fragment
    fill c = 0.0
    for k in 0:2 pipelined {
      copy A)" + a_at + " -> a\n      copy B" +
                         b_at + " -> b\n      gemm a, b -> c" + with + R"(
    }
    copy c -> C
  }
})")
                            .c_str());
  }
}

TEST(LowerLoops, MagnitudesOfSignedElementsFitUnsignedResults) {
  expect_same_meaning(R"(tilewright ir 1
program "p" {
  input X: i32[5, 77]
  output R: i32[5]
  output C: i32[77]
  launch bx in 1 {
    alloc t: i32[5, 77] fragment
    alloc r: u32[5] fragment
    alloc c: u32[77] fragment
    copy X -> t
    t[1, 2] = -2147483648
    reduce abs_max t -> r over [1]
    reduce abs_sum t -> c over [0]
    parallel i in 5 { R[i] = cast(r[i], i32) }
    parallel i in 77 { C[i] = cast(c[i], i32) }
  }
})");
}

TEST(LowerLoops, ReducersFoldLanes) {
  expect_same_meaning(R"(tilewright ir 1
program "p" {
  input X: f32[6, 45]
  output R: f32[6]
  output C: f32[45]
  launch bx in 1 {
    alloc r: f32[6] reducer
    alloc c: f32[45] reducer
    init r
    init c
    parallel i in 6, j in 45 {
      update r[i] = X[i, j]
      update c[j] = X[i, j]
    }
    finalize r -> R
    finalize c -> C
  }
})");
}

TEST(LowerLoops, AStrictVectorLoopIsVectorsOrAnError) {
  const auto lower = [](const std::string& loop) {
    return lower_parallel(
        ir::parse_program(
            "tilewright ir 1 program \"p\" { inout Y: f32[64] launch b in 1 {\n" + loop + " } }",
            {.file = "k.tw", .locate = true}),
        {64, 32});
  };
  const ir::Program plain = lower("for i in 0:64 vectorized with strict { Y![i] = Y![i] * 2.0 }");
  EXPECT_NE(ir::print(plain).find("vectorized"), std::string::npos);
  try {
    lower("for i in 0:64 vectorized with strict { while Y![i] < 1.0 { Y![i] = Y![i] * 2.0 } }");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "k.tw:2: error[E-LOOP-03]: vectorized: the body has a while loop, which has no "
                 "vector form\n"
                 "  help: take it out of the loop, or leave strict out for a serial loop");
  }
}

}  // namespace
}  // namespace tw::pass
