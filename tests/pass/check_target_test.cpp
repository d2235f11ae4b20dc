#include "tilewright/pass/check_target.h"

#include <gtest/gtest.h>

#include "tilewright/ir/text.h"

namespace tw::pass {
namespace {

std::string found(const Target& target) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { symbol n input X: f32[n, 64]\n"
      "launch bx in n with cluster=[2] {\n"
      "alloc s: f32[64, 64] shared\n"
      "alloc c: f32[64, 64] fragment\n"
      "copy X[bx, 0 :+ 64] -> s[0, 0 :+ 64] with prefer=tma, require=tma\n"
      "gemm s, s -> c with clear=true, require=wgmma\n"
      "} }",
      {.file = "k.tw", .locate = true});
  Diagnostics diagnostics;
  check_target(program, target, diagnostics);
  return to_text(diagnostics);
}

TEST(CheckTarget, AcceptsWhatTheTargetHas) { EXPECT_EQ(found(targets::sm90a), ""); }

TEST(CheckTarget, FindsWhatItLacks) {
  EXPECT_EQ(found(targets::cpu),
            "k.tw:2: error[E-TGT-01]: p: `launch bx in n with cluster=[2]`: cpu has no clusters\n"
            "k.tw:5: error[E-COPY-08]: p: `copy X[bx, 0 :+ 64] -> s[0, 0 :+ 64] with prefer=tma, "
            "require=tma`: cpu has no tma\n"
            "  help: write prefer instead of require\n"
            "k.tw:6: error[E-GEMM-05]: p: `gemm s, s -> c with clear=true, require=wgmma`: cpu has "
            "no wgmma\n"
            "  help: drop the demand, or set it in the schedule of a target that has it");
}

std::string ignored(const Target& target) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { symbol n\n"
      "inout X: f32[n, 64] with l2_persist=f64(0.5)\n"
      "launch bx in n with max_registers=64 {\n"
      "alloc s: f32[64, 64] shared\n"
      "copy X[bx, 0 :+ 64] -> s[0, 0 :+ 64] with prefer=tma, evict=last\n"
      "copy s[0, 0 :+ 64] -> X[bx, 0 :+ 64] with evict=first\n"
      "gemm s, s -> s with policy=full_row\n"
      "} }",
      {.file = "k.tw", .locate = true});
  Diagnostics diagnostics;
  check_hints(program, target, diagnostics);
  return to_text(diagnostics);
}

TEST(CheckHints, AcceptsWhatTheTargetTakes) { EXPECT_EQ(ignored(targets::sm90a), ""); }

TEST(CheckHints, LaunchesThatFollowEachOtherNeedNoOrder) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { input X: f32[8] output Y: f32[8]\n"
      "launch bx in 1 with dependent_launch=true {\nsync wait_previous\n"
      "copy X -> Y\nsync trigger_next\n} }",
      {.file = "k.tw", .locate = true});
  Diagnostics diagnostics;
  check_target(program, targets::cpu, diagnostics);
  EXPECT_EQ(to_text(diagnostics), "");
  check_hints(program, targets::cpu, diagnostics);
  EXPECT_EQ(to_text(diagnostics),
            "k.tw:2: warning[W-HINT-01]: p: `launch bx in 1 with dependent_launch`: cpu "
            "ignores dependent_launch\n"
            "k.tw:3: warning[W-HINT-01]: p: `sync wait_previous`: cpu ignores wait_previous\n"
            "k.tw:5: warning[W-HINT-01]: p: `sync trigger_next`: cpu ignores trigger_next");
}

TEST(CheckHints, FindsWhatItIgnores) {
  const std::string copy =
      "k.tw:5: warning[W-HINT-01]: p: `copy X[bx, 0 :+ 64] -> s[0, 0 :+ 64] with prefer=tma, "
      "evict=last`: cpu ignores ";
  EXPECT_EQ(ignored(targets::cpu),
            "k.tw:2: warning[W-HINT-01]: p: X: cpu ignores l2_persist=0.5\n"
            "k.tw:3: warning[W-HINT-01]: p: `launch bx in n with max_registers=64`: cpu ignores "
            "max_registers=64\n" +
                copy + "prefer=tma\n" + copy +
                "evict=last\n"
                "k.tw:7: warning[W-HINT-01]: p: `gemm s, s -> s with policy=full_row`: cpu ignores "
                "policy=full_row");
}

std::string ignored_options(const Target& target, const std::string& options) {
  const ir::Program program =
      ir::parse_program("tilewright ir 1 program \"p\" { " + options + " launch bx in 1 { } }");
  Diagnostics diagnostics;
  check_hints(program, target, diagnostics);
  return to_text(diagnostics);
}

TEST(CheckHints, FindsTheOptionsThatOtherTargetsRead) {
  EXPECT_EQ(
      ignored_options(targets::cpu,
                      "option wgmma=\"off\" option bulk_copy=\"auto\" option fast_math=\"on\" "
                      "option index_bits=\"32\" option cpu_level=\"avx2\""),
      "warning[W-HINT-01]: p: cpu ignores the option wgmma=off\n"
      "warning[W-HINT-01]: p: cpu ignores the option index_bits=32");
  EXPECT_EQ(ignored_options(targets::sm90a, "option wgmma=\"off\" option cpu_level=\"avx2\""),
            "warning[W-HINT-01]: p: sm_90a ignores the option cpu_level=avx2");
}

TEST(Target, IsFoundByName) {
  EXPECT_EQ(target_named("cpu"), targets::cpu);
  EXPECT_EQ(target_named("cpu:avx2"), targets::cpu);
  EXPECT_EQ(target_named("cuda:sm_90a"), targets::sm90a);
  EXPECT_EQ(target_named("sm_100a"), targets::sm100a);
  try {
    target_named("cuda:sm_70");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "target: there is none called 'cuda:sm_70'\n"
                 "  help: the targets are cpu, sm_90a, sm_100a, ascend950");
  }
}

}  // namespace
}  // namespace tw::pass
