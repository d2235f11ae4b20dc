// Kernel definitions and schedules (language 14.4).
#include "tilewright/lang/kernel_def.h"

#include <thread>

#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

void dataflow(Builder& k, DType dtype) {
  const Expr n = k.dim("n");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer x = k.input("x", dtype, {n, h}), y = k.output("y", dtype, {n, h});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Buffer s = shared(dtype, {rows, h}, "s");
    pipelined(1, {.name = "steps"}, [&](Expr) {
      copy(x(block * rows, 0), s);
      copy(s, y(block * rows, 0));
    });
  });
}
const Case kCase{{bf16}, {{"h", 64}}};

TEST(KernelDef, WithoutScheduleTakesTheDefaults) {
  const auto variants = define_kernel("copy", dataflow).trace(targets::cpu, kCase);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(ir::print(variants[0].program),
            "tilewright ir 1\n"
            "program \"copy\" {\n"
            "  symbol n: i64\n"
            "  input x: bf16[n, 64]\n"
            "  output y: bf16[n, 64]\n"
            "  launch bx in (n + 3) // 4 {\n"
            "    alloc s: bf16[4, 64] shared\n"
            "    for i in 0:1 pipelined with name=\"steps\" {\n"
            "      copy x[bx * 4 :+ 4, 0 :+ 64] -> s\n"
            "      copy s -> y[bx * 4 :+ 4, 0 :+ 64]\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(KernelDef, AScheduleSetsWhatItNames) {
  const auto variants = define_kernel("copy", dataflow)
                            .schedule(targets::sm90a,
                                      [](Schedule& s, const Case& c) {
                                        s.set("rows", c.constant("h") / 4)
                                            .threads(256)
                                            .cluster({2, 1})
                                            .min_blocks_per_sm(2)
                                            .max_registers(128)
                                            .stages("steps", 3)
                                            .layout("s", "row_major(16, 64)")
                                            .versions("s", 2)
                                            .max_vector(8)
                                            .swizzle_blocks(4)
                                            .option("fast_math", "on");
                                      })
                            .trace(targets::sm90a, kCase);
  EXPECT_EQ(
      ir::print(variants.at(0).program),
      "tilewright ir 1\n"
      "program \"copy\" {\n"
      "  symbol n: i64\n"
      "  input x: bf16[n, 64]\n"
      "  output y: bf16[n, 64]\n"
      "  option fast_math=\"on\"\n"
      "  launch bx in (n + 15) // 16 with threads=[256], cluster=[2, 1], min_blocks_per_sm=2, "
      "max_registers=128, raster=row, raster_panel=4 {\n"
      "    alloc s: bf16[16, 64] shared with versions=2, layout=\"row_major(16, 64)\"\n"
      "    for i in 0:1 pipelined with stages=3, name=\"steps\" {\n"
      "      copy x[bx * 16 :+ 16, 0 :+ 64] -> s with max_vector=8\n"
      "      copy s -> y[bx * 16 :+ 16, 0 :+ 64] with max_vector=8\n"
      "    }\n"
      "  }\n"
      "}\n");
}

/// The rows per block that each variant for a target has, and its guard.
std::vector<std::string> variants_of(const KernelDef& def, const Target& target) {
  std::vector<std::string> list;
  for (const Variant& v : def.trace(target, kCase)) {
    const std::string grid = ir::print(v.program.launches[0].as<ir::Launch>().grid[0]);
    list.push_back(grid + (v.guard ? " if " + ir::print(v.guard) : ""));
  }
  return list;
}

TEST(KernelDef, ChoosesTheScheduleOfTheTargetThenOfItsFamily) {
  const auto rows = [](int64_t n) { return [n](Schedule& s, const Case&) { s.set("rows", n); }; };
  KernelDef def = define_kernel("copy", dataflow);
  def.schedule(targets::sm90a, rows(8)).schedule("cuda", rows(16));
  EXPECT_EQ(variants_of(def, targets::sm90a), std::vector<std::string>{"(n + 7) // 8"});
  EXPECT_EQ(variants_of(def, targets::sm100a), std::vector<std::string>{"(n + 15) // 16"});
  EXPECT_EQ(variants_of(def, targets::cpu), std::vector<std::string>{"(n + 3) // 4"});
}

TEST(KernelDef, ConditionsMakeVariants) {
  const auto rows = [](int64_t n) { return [n](Schedule& s, const Case&) { s.set("rows", n); }; };
  KernelDef def = define_kernel("copy", dataflow);
  def.schedule(targets::cpu, rows(8))
      .when([](const Sizes& size) { return size("n") >= 100 && size("n") % 8 == 0; })
      .schedule(targets::cpu, rows(2))
      .when([](const Sizes& size) { return size("n") < 5; });
  EXPECT_EQ(variants_of(def, targets::cpu),
            (std::vector<std::string>{"(n + 7) // 8 if n >= 100 && truncmod(n, 8) == 0",
                                      "(n + 1) // 2 if n < 5", "(n + 3) // 4"}));
}

TEST(KernelDef, VariantsThatAreTheLastProgramGo) {
  const auto rows = [](int64_t n) { return [n](Schedule& s, const Case&) { s.set("rows", n); }; };
  const auto multiple_of = [](int64_t n) {
    return [n](const Sizes& size) { return size("n") % n == 0; };
  };
  KernelDef def = define_kernel("copy", dataflow);
  def.schedule("cuda", rows(2)).when(multiple_of(32)).schedule("cuda", rows(8));
  def.when(multiple_of(16))
      .schedule("cuda", rows(2))
      .when(multiple_of(8))
      .schedule("cuda", rows(2));
  EXPECT_EQ(variants_of(def, targets::sm90a),
            (std::vector<std::string>{"(n + 1) // 2 if truncmod(n, 32) == 0",
                                      "(n + 7) // 8 if truncmod(n, 16) == 0", "(n + 1) // 2"}));
}

TEST(KernelDef, AMissingConstantIsAnError) {
  EXPECT_EQ(error_of([] { define_kernel("copy", dataflow).trace(targets::cpu, {{f32}, {}}); }),
            "kernel_def_test.cpp:13: constant: nothing gives a value for h\n"
            "  help: trace the definition with a case that has it\n"
            "  note: while tracing copy");
}

TEST(Trace, ManyThreadsAtOnce) {
  const std::string expected =
      ir::print(define_kernel("copy", dataflow).trace(targets::cpu, kCase)[0].program);
  std::vector<std::string> texts(16);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : texts) {
      threads.emplace_back([&text] {
        for (int n = 0; n < 20; ++n) {
          text = ir::print(define_kernel("copy", dataflow).trace(targets::cpu, kCase)[0].program);
        }
      });
    }
  }
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
}

TEST(Trace, AProgramInsideAnotherIsItsOwn) {
  EXPECT_EQ(traced([](const Tensors& t) {
              t.a(0) = 1;
              EXPECT_EQ(traced([](const Tensors& u) { u.a(1) = 2; }), "a[1] = 2.0\n");
              t.a(2) = 3;
            }),
            "a[0] = 1.0\n"
            "a[2] = 3.0\n");
}

TEST(Trace, AnErrorLeavesNothingBehind) {
  for (int n = 0; n < 2; ++n) {
    EXPECT_THROW(trace_tensors([](const Tensors& t) { t.a(0, 0) = 1; }), Error);
  }
  EXPECT_EQ(traced([](const Tensors& t) { t.a(0) = 1; }), "a[0] = 1.0\n");
}

}  // namespace
}  // namespace tw
