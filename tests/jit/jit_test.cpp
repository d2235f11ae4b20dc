#include "tilewright/jit/jit.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"
#include "tilewright/lang/lang.h"
#include "tilewright/runtime/artifact.h"

namespace tw {
namespace {

void scale_rows(Builder& k, DType dtype) {
  const Expr n = k.dim("n");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer x = k.input("x", dtype, {n, h}), y = k.output("y", dtype, {n, h});
  const Expr factor = k.scalar("factor", f32);
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    store(y(here, all), load(x(here, all)) * factor);
  });
}

const Jit& scale_rows_kernel() {
  static const Jit kernel(
      define_kernel("scale_rows", scale_rows)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 2); })
          .when([](const Sizes& sizes) { return sizes("n") < 5; })
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 8); }));
  return kernel;
}

TEST(Jit, RunsAKernelOfEveryVariant) {
  for (const int64_t n : {0, 1, 4, 5, 100}) {
    OwnedTensor x(f32, {n, 7}), y(f32, {n, 7});
    std::iota(x->data_as<float>(), x->data_as<float>() + n * 7, 0.0F);
    scale_rows_kernel()({f32}, {{"h", 7}}).launch({}, {x, y, 2.0F});
    for (int64_t i = 0; i < n * 7; ++i) {
      ASSERT_EQ(y->data_as<float>()[i], 2.0F * static_cast<float>(i))
          << "n " << n << ", element " << i;
    }
  }
}

TEST(Jit, FindsAKernelAgain) {
  const Kernel& a = scale_rows_kernel()({f32}, {{"h", 7}});
  EXPECT_EQ(&a, &scale_rows_kernel()({f32}, {{"h", 7}}));
  EXPECT_NE(&a, &scale_rows_kernel()({f32}, {{"h", 9}}));
}

TEST(Compile, ADefaultThatIsWrittenOutMakesTheSameKernel) {
  const ir::Program plain = program("plain", [](Builder& k) {
    const Buffer x = k.inout("x", f32, {4});
    k.launch({1}, [&](Expr) { store(x, load(x) * 2.0F); });
  });
  const auto code = [&](const char* option, const char* value) {
    return &compile(ir::with_option(plain, option, value)).metadata();
  };
  EXPECT_EQ(code("no_contract", "off"), &compile(plain).metadata());
  EXPECT_NE(code("no_contract", "on"), &compile(plain).metadata());
}

TEST(Jit, ADeviceWithoutBackendIsAnErrorWithARemedy) {
  try {
    scale_rows_kernel()({f32}, {{"h", 7}}, DeviceKind::ascend);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "error[E-TGT-04]: scale_rows: tensors are on ascend, which has no backend yet\n"
                 "  help: move them to the cpu");
  }
}

using test::error_of;

ir::Program add_constant(float c) {
  return program("add_constant", [&](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("x", f32, {n}), y = k.output("y", f32, {n});
    k.launch({cdiv(n, 64)}, [&](Expr b) { store(y(at(b * 64, 64)), load(x(at(b * 64, 64))) + c); });
  });
}

TEST(Compile, OneProgramIsCompiledOnceByManyThreads) {
  clear_memory_cache();
  std::vector<std::jthread> threads;
  std::vector<Kernel> kernels(8);
  for (Kernel& kernel : kernels) {
    threads.emplace_back([&kernel] { kernel = compile(add_constant(3.0F), {.target = "cpu"}); });
  }
  threads.clear();
  for (const Kernel& kernel : kernels) EXPECT_EQ(&kernel.metadata(), &kernels[0].metadata());
}

TEST(Compile, ATextThatIsNotWellFormedIsAnError) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { launch b in 1 { alloc t: bool[8] fragment fill t = true "
      "alloc s: bool[1] fragment "
      "reduce max t -> s over [0] } }");
  EXPECT_EQ(error_of([&] { compile(program); }),
            "p: the program is not well formed\n"
            "  note: `reduce max t -> s over [0]`: no max from bool to bool");
}

TEST(Compile, ManyKeepsTheOrder) {
  std::vector<ir::Program> programs;
  for (int i = 0; i < 6; ++i) programs.push_back(add_constant(static_cast<float>(i)));
  const auto outcomes = compile_many(programs, {.target = "cpu"}, 3);
  OwnedTensor x(f32, {1}), y(f32, {1});
  *x->data_as<float>() = 10;
  for (int i = 0; i < 6; ++i) {
    outcomes[static_cast<size_t>(i)].kernel({x, y});
    EXPECT_EQ(*y->data_as<float>(), 10.0F + static_cast<float>(i));
  }
}

TEST(Compile, AllocatesAnOutputThatIsLeftOut) {
  const Kernel kernel = compile(add_constant(1.0F), {.target = "cpu"});
  OwnedTensor x(f32, {3});
  std::iota(x->data_as<float>(), x->data_as<float>() + 3, 0.0F);
  const std::vector<OwnedTensor> outputs = kernel({x});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0]->data_as<float>()[2], 3.0F);
}

TEST(Compile, ASizePassedByValueKeepsItsPromises) {
  const Kernel kernel = compile(program("count", [&](Builder& k) {
    const Expr n = k.dim("n", {.multiple_of = 4, .min = 4});
    const Buffer y = k.inout("y", f32, {k.dim("m")});
    k.scalar(n);
    k.launch({1}, [&](Expr) { serial(n, [&](Expr i) { y(i) = 1; }); });
  }));
  OwnedTensor y(f32, {16});
  std::fill_n(y->data_as<float>(), 16, 0.0F);
  kernel({y, 8});
  EXPECT_EQ(std::accumulate(y->data_as<float>(), y->data_as<float>() + 16, 0.0F), 8);
  EXPECT_EQ(error_of([&] { kernel({y, 9}); }),
            "error[E-HOST-05]: count: n = 9 (by value) must be a multiple of 4");
}

/// y = x with `count` operations on top of each other, the value to the left or to the right.
ir::Program chain(int count, bool to_the_left) {
  return program("chain", [&](Builder& k) {
    const Buffer x = k.input("x", f32, {64}), y = k.output("y", f32, {64});
    k.launch({1}, [&](Expr) {
      parallel({64}, [&](Expr i) {
        Expr e = x(i);
        for (int n = 0; n < count; ++n) e = to_the_left ? e - 1.5F : 1.5F - e;
        y(i) = e;
      });
    });
  });
}

TEST(Compile, ZeroByZeroIsNanInEveryLane) {
  // LLVM 19 took quotients of known zeros for zeros (seed 58001047 of the random programs).
  const ir::Program program = ir::parse_program(R"(tilewright ir 1
    program "nan" {
      output y: bf16[9]
      launch b in 1 {
        alloc t: bf16[9] fragment
        parallel i in 9 { var zero: bf16 = 0.0 t[i] = zero }
        parallel i in 9 { { t[i] = 0.0 / t[i] } }
        alloc s: bool[9] shared
        copy t -> s
        copy t -> y
      }
    })");
  for (const char* level : {"baseline", "avx2", "host"}) {
    if (std::string_view(level) == "avx2" && !__builtin_cpu_supports("avx2")) continue;
    SCOPED_TRACE(level);
    const Kernel kernel = compile(program, {.options = {{"cpu_level", level}}, .cache = false});
    OwnedTensor y(bf16, {9});
    kernel({y});
    for (int i = 0; i < 9; ++i) EXPECT_GT(y->data_as<uint16_t>()[i] & 0x7FFF, 0x7F80) << i;
  }
}

TEST(Compile, HighExpressionsCompile) {
  for (const bool to_the_left : {true, false}) {
    const Kernel kernel = compile(chain(ir::kMaxHeight - 10, to_the_left), {.cache = false});
    OwnedTensor x(f32, {64}), y(f32, {64});
    std::fill_n(x->data_as<float>(), 64, 2.0F);
    kernel({x, y});
    EXPECT_EQ(y->data_as<float>()[7], to_the_left ? 2 - 1.5F * (ir::kMaxHeight - 10) : 2);
  }
}

TEST(Compile, ConditionsInsideEachOtherCompile) {
  const ir::Program nested = program("nested", [&](Builder& k) {
    const Buffer y = k.output("y", i64, {1});
    const Expr n = k.scalar("n", i64);
    k.launch({1}, [&](Expr) {
      y(0) = 0;
      const std::function<void(int)> nest = [&](int depth) {
        y(0) = depth;
        if (depth < ir::kMaxNesting - 2) if_(n > depth, [&] { nest(depth + 1); });
      };
      nest(0);
    });
  });
  EXPECT_EQ(print(ir::parse_program(print(nested))), print(nested));
  const Kernel kernel = compile(nested, {.cache = false});
  OwnedTensor y(i64, {1});
  for (const int64_t n : {7, 1000}) {
    kernel({y, n});
    EXPECT_EQ(y->data_as<int64_t>()[0], std::min<int64_t>(n, ir::kMaxNesting - 2));
  }
}

TEST(Compile, LongChainsOfBindingsAndSharedPartsCompile) {
  const Kernel kernel = compile(program("chains",
                                        [](Builder& k) {
                                          const Buffer x = k.input("x", f32, {64}),
                                                       y = k.output("y", f32, {64}),
                                                       z = k.output("z", f32, {64});
                                          k.launch({1}, [&](Expr) {
                                            Expr e = x(0);
                                            for (int n = 0; n < 5000; ++n) e = let(e + 1);
                                            y(0) = e;
                                            Tile t = load(x);
                                            for (int n = 0; n < 64; ++n) t = t * t;
                                            store(z, t);
                                          });
                                        }),
                                {.cache = false});
  OwnedTensor x(f32, {64}), y(f32, {64}), z(f32, {64});
  std::fill_n(x->data_as<float>(), 64, 1.0F);
  kernel({x, y, z});
  EXPECT_EQ(y->data_as<float>()[0], 5001.0F);
  EXPECT_EQ(z->data_as<float>()[63], 1.0F);
}

TEST(Compile, KeepsTextsOnDemand) {
  const Kernel kernel = compile(add_constant(1.0F), {.target = "cpu", .keep_texts = true});
  EXPECT_NE(kernel.text("llvm").find("define"), std::string::npos);
  EXPECT_THROW(kernel.text("ptx"), Error);
  EXPECT_NE(kernel.explain().find("add_constant"), std::string::npos);
}

TEST(Compile, ReturnsWarningsAndThrowsErrorsOfTheChecks) {
  const auto sum = [](const char* check_init) {
    return program("sum", [&](Builder& k) {
      k.option("check_init", check_init);
      const Buffer y = k.output("y", f32, {8});
      k.launch({1}, [&](Expr) {
        const Buffer t = fragment(f32, {8});
        copy(t, y);
      });
    });
  };
  const CompileOptions options{.target = "cpu", .cache = false};
  const auto warnings = compile(sum("warn"), options).diagnostics().list();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].finding.message(), "sum: fragment is read before it is written");
  EXPECT_EQ(compile(sum("off"), options).diagnostics().list().size(), 0U);
  EXPECT_THROW(compile(sum("error"), options), Error);
}

TEST(Compile, TheNameOfATargetChoosesTheProcessor) {
  const CompileOptions options{.target = "cpu:baseline", .cache = false, .keep_texts = true};
  const Kernel kernel = compile(add_constant(1.0F), options);
  EXPECT_EQ(kernel.metadata().target, "cpu:baseline");
  EXPECT_EQ(kernel.text("asm").find("ymm"), std::string::npos);
}

std::string compile_error(const CompileOptions& options) {
  return error_of([&] { compile(add_constant(1.0F), options); });
}

TEST(Compile, ATargetThatIsUnknownOrContradictedIsAnError) {
  EXPECT_EQ(compile_error({.target = "avx2"}),
            "target: there is none called 'avx2'\n"
            "  help: the targets are cpu, sm_90a, sm_100a, ascend950");
  EXPECT_EQ(compile_error({.target = "cpu:avx2+vnni"}),
            "error[E-OPT-01]: cpu: there is no level 'avx2+vnni'\n"
            "  help: the levels are host, baseline, avx2 and avx512, the last also with +bf16, "
            "+vnni");
  EXPECT_EQ(compile_error({.target = "cpu:baseline", .options = {{"cpu_level", "avx2"}}}),
            "error[E-OPT-01]: add_constant: option cpu_level is avx2, but the target is "
            "cpu:baseline\n"
            "  help: leave one of them out");
  EXPECT_THAT(compile_error({.target = "ascend950"}),
              testing::HasSubstr("backend 'ascend' isn't installed"));
}

/// A folder for a test, which is removed with its content.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / format("{}_{}", name, getpid())) {}
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  std::string text(const std::string& file) const {
    std::ifstream stream(path_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path path_;
};

TEST(Compile, DumpsProgramsCodeAndTimes) {
  const TemporaryFolder folder("tw_dump");
  const ir::Program source = add_constant(2.0F);
  compile(source, {.target = "cpu", .dump = {.dir = folder.path()}});
  const auto files = folder.files();
  for (const char* pass :
       {"00_input.tw", "03_simplify.tw", "llvm.ll", "llvm-optimized.ll", "asm.s", "times.txt"}) {
    EXPECT_THAT(files, testing::Contains(pass));
  }
  EXPECT_THAT(files, testing::Contains(testing::EndsWith("_lower_parallel.diff")));
  const ir::PrintOptions located{.locations = true};
  EXPECT_EQ(ir::print(ir::parse_program(folder.text("00_input.tw")), located),
            ir::print(source, located));
  EXPECT_THAT(folder.text("asm.s"), testing::HasSubstr("ret"));
  EXPECT_THAT(folder.text("times.txt"), testing::ContainsRegex("\ntotal +[0-9.]+ ms\n$"));
}

TEST(Compile, ADumpIsTheSameEachTime) {
  const TemporaryFolder first("tw_dump_first"), second("tw_dump_second");
  for (const auto* folder : {&first, &second}) {
    compile(add_constant(2.0F), {.target = "cpu", .dump = {.dir = folder->path()}});
  }
  for (const std::string& file : first.files()) {
    if (file == "times.txt") continue;
    EXPECT_EQ(first.text(file), second.text(file)) << file;
  }
}

TEST(Compile, DumpsTheChosenPassesAlone) {
  const TemporaryFolder folder("tw_dump_chosen");
  const CompileOptions options{
      .target = "cpu", .dump = {.dir = folder.path(), .passes = {"lower_parallel"}, .diff = false}};
  compile(add_constant(2.0F), options);
  EXPECT_THAT(folder.files(),
              testing::UnorderedElementsAre(testing::EndsWith("_lower_parallel.tw"), "llvm.ll",
                                            "llvm-optimized.ll", "asm.s", "times.txt"));
}

TEST(Compile, AProgramNamesTheFolderOfItsDump) {
  const TemporaryFolder folder("tw_dump_option");
  compile(add_constant(2.0F), {.target = "cpu", .options = {{"dump", folder.path()}}});
  EXPECT_THAT(folder.files(), testing::Contains("00_input.tw"));
}

TEST(Compile, ADumpThatIsImpossibleIsAnError) {
  EXPECT_EQ(compile_error({.target = "cpu", .dump = {.dir = "/proc/dump"}}),
            "dump: can't make the folder /proc/dump: No such file or directory");
  const TemporaryFolder folder("tw_dump_unknown");
  EXPECT_THAT(compile_error({.target = "cpu", .dump = {.dir = folder.path(), .passes = {"lower"}}}),
              testing::StartsWith("dump: there is no pass 'lower'\n  note: the passes are input, "
                                  "apply_debug_options, assert_bounds, simplify, "));
}

const std::string kSlots =
    "tilewright ir 1 program \"p\" { symbol n inout X: f32[n] launch b in n {\n"
    "alloc t: f32[8] shared\n"
    "t[b] = 1\n"
    "X[b] = t[b]\n"
    "} }";

ir::Program slots() { return ir::parse_program(kSlots, {.file = "k.tw", .locate = true}); }

std::string fault_of(const CompileOptions& options, int64_t n) {
  OwnedTensor x(f32, {n});
  return error_of([&] { compile(slots(), options)({x}); });
}

TEST(Compile, CheckBoundsNamesTheAccessThatIsOutside) {
  const CompileOptions options{.target = "cpu", .options = {{"check_bounds", "on"}}};
  EXPECT_EQ(fault_of(options, 8), "no error");
  EXPECT_EQ(fault_of(options, 9),
            "p: device assert failed: t[b] reaches 8 in dimension 0 (extent 8) in block (8, 0, 0) "
            "at k.tw:3");
}

TEST(Compile, TheEnvironmentTurnsCheckBoundsOn) {
  setenv("TW_CHECK_BOUNDS", "1", 1);
  const std::string fault = fault_of({.target = "cpu"}, 9);
  unsetenv("TW_CHECK_BOUNDS");
  EXPECT_THAT(fault, testing::StartsWith("p: device assert failed: t[b] reaches 8"));
}

TEST(Compile, VerboseAddsWhatIsOnlySuspected) {
  EXPECT_EQ(to_text(compile(slots(), {.target = "cpu", .cache = false}).diagnostics()), "");
  EXPECT_EQ(to_text(compile(slots(), {.target = "cpu", .verbose = true}).diagnostics()),
            "k.tw:3: warning[W-BND-01]: p: t[b] may lie outside dimension 0\n"
            "  note: it is in `t[b] = 1.0`\n"
            "  note: t is f32[8] shared\n"
            "  help: the option check_bounds makes it an assert\n"
            "k.tw:4: warning[W-BND-01]: p: t[b] may lie outside dimension 0\n"
            "  note: it is in `X[b] = t[b]`\n"
            "  note: t is f32[8] shared\n"
            "  help: the option check_bounds makes it an assert");
}

TEST(Load, AnArtefactForAGpuNeedsNeitherCompilerNorDevice) {
  runtime::KernelMetadata metadata;
  metadata.name = "f";
  metadata.target = "cuda:sm_90a";
  metadata.device = DeviceKind::cuda;
  metadata.params = {{"X", runtime::ParamKind::inout, f32, {4}}};
  metadata.launches = {{"main", {{.entry = "f_0", .grid = {1}, .threads = {128}}}}};
  runtime::pack_all(metadata);
  const TemporaryFolder folder("tw_load");
  std::filesystem::create_directories(folder.path());
  const std::string path = folder.path() + "/f.kernel";
  runtime::write_artifact(path, metadata, std::string("cubin .text.f_0") + '\0');
  const Kernel kernel = Kernel::load(path);
  EXPECT_EQ(kernel.metadata(), metadata);
  float x[4] = {};
  EXPECT_EQ(error_of([&] { kernel({Tensor(x, {4})}); }),
            "error[E-HOST-04]: f: X is on cpu, the kernel was compiled for cuda:sm_90a");
}

}  // namespace
}  // namespace tw
