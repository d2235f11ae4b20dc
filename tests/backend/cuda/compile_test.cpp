#include "tilewright/backend/cuda/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/fake_driver.h"
#include "tests/support/error_of.h"
#include "tilewright/backend/cuda/deferred.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/runtime/call.h"

namespace tw::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using tw::test::error_of;

class CudaCompile : public testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  }
  static ir::Program scale() {
    return ir::parse_program(R"(tilewright ir 1
      program "scale" {
        symbol n: i64
        input X: f32[n]
        scalar a: f32
        output Y: f32[n]
        launch bx in (n + 511) // 512 with name="main", threads=[128] {
          parallel i in 512 {
            if bx * 512 + i < n { Y[bx * 512 + i] = X[bx * 512 + i] * a }
          }
        }
      })");
  }
};

TEST_F(CudaCompile, AProgramBecomesAKernelForEachTarget) {
  for (const Target& target : all_targets()) {
    const backend::Artifact artifact = compile_program(scale(), target.full_name(), nullptr);
    EXPECT_TRUE(
        artifact.code.starts_with("\x7f"
                                  "ELF"));
    EXPECT_EQ(artifact.metadata.target, target.full_name());
    const runtime::Launch& launch = artifact.metadata.launches.at(0);
    EXPECT_THAT(launch.grid_limit, ElementsAre(2147483647, 65535, 65535));
    EXPECT_EQ(launch.variants.at(0).entry, "scale_main_0");
    EXPECT_THAT(launch.variants.at(0).threads, ElementsAre(128));
  }
}

TEST_F(CudaCompile, TextsAndStepsAreKept) {
  backend::CompileReport report{.keep_texts = true};
  compile_program(scale(), "cuda:sm_90a", &report);
  const auto text = [&](const std::string& name) -> std::string {
    for (const backend::Text& t : report.texts) {
      if (t.name == name) return t.text;
    }
    return "no " + name;
  };
  EXPECT_THAT(text("cuda"), HasSubstr("scale_main_0("));
  EXPECT_THAT(text("ptx"), HasSubstr(".visible .entry scale_main_0("));
  EXPECT_THAT(text("nvrtc"), HasSubstr("registers"));
  EXPECT_EQ(report.steps.back().name, "nvrtc");
}

TEST_F(CudaCompile, ItsParametersAreThePackedFields) {
  const test::WithFakeDriver driver(test::hoppers(1));
  const backend::Artifact artifact = compile_program(scale(), "cuda:sm_90a", nullptr);
  test::fake().param_count = artifact.metadata.packed.size();
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));
  const Device device{DeviceKind::cuda, 0};
  const Tensor x(reinterpret_cast<void*>(uintptr_t{0x1000}), f32, {1000}, device);
  const Tensor y(reinterpret_cast<void*>(uintptr_t{0x2000}), f32, {1000}, device);
  const Arg args[] = {x, 1.0, y};
  kernel(args);
  ASSERT_EQ(test::fake().launches.size(), 1U);
  EXPECT_EQ(test::fake().launches[0].config.gridDimX, 2U);
  EXPECT_EQ(test::fake().launches[0].config.blockDimX, 128U);
  EXPECT_THAT(test::fake().launches[0].params, ElementsAre(0x1000, 0x2000, 0x3f800000, 1000));
}

/// Blocks of whole vectors, so that there is a launch for tensors that aren't aligned.
ir::Program in_vectors() {
  return ir::parse_program(R"(tilewright ir 1
    program "twice" {
      symbol n: i64
      input X: f32[n]
      output Y: f32[n]
      launch bx in (n + 511) // 512 with name="main", threads=[128] {
        parallel i in 512 { Y[bx * 512 + i] = X[bx * 512 + i] * 2.0 }
      }
    })");
}

bool has_entry(const std::string& code, const std::string& name) {
  return code.find(".text." + name + '\0') != code.npos;
}

void call_at(const runtime::LoadedKernel& kernel, uintptr_t address) {
  const Device device{DeviceKind::cuda, 0};
  const Tensor x(reinterpret_cast<void*>(address), f32, {1000}, device);
  const Tensor y(reinterpret_cast<void*>(uintptr_t{0x20000}), f32, {1000}, device);
  const Arg args[] = {x, y};
  kernel(args);
}

TEST_F(CudaCompile, WhatMostCallsDontNeedIsCompiledByTheCallThatDoes) {
  const test::WithFakeDriver driver(test::hoppers(2));
  const backend::Artifact artifact = compile_program(in_vectors(), "cuda:sm_90a", nullptr);
  EXPECT_TRUE(has_entry(artifact.code, "twice_main_0"));
  EXPECT_FALSE(has_entry(artifact.code, "twice_main_1"));
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));
  call_at(kernel, 0x10000);
  EXPECT_EQ(test::fake().loaded.size(), 1U);
  call_at(kernel, 0x10004);
  call_at(kernel, 0x10008);
  EXPECT_EQ(test::fake().loaded.size(), 2U);
  std::vector<std::string> entries;
  for (const test::FakeLaunch& launch : test::fake().launches) entries.push_back(launch.entry);
  EXPECT_THAT(entries, ElementsAre("twice_main_0", "twice_main_1", "twice_main_1"));
}

// Of three launches for different sizes, each comes alone.
TEST_F(CudaCompile, EachLaunchThatStandsInIsCompiledByItself) {
  const test::WithFakeDriver driver(test::hoppers(1));
  const ir::Program program = ir::parse_program(R"(tilewright ir 1
    program "sizes" {
      symbol n: i64
      input X: f32[n]
      output Y: f32[n]
      launch b in n // 4 with name="four", guard=n % 4 == 0 {
        parallel i in 4 { Y[b * 4 + i] = X[b * 4 + i] * 4.0 }
      }
      launch b in n // 2 with name="two", guard=n % 2 == 0 {
        parallel i in 2 { Y[b * 2 + i] = X[b * 2 + i] * 2.0 }
      }
      launch b in n with name="one" { Y[b] = X[b] }
    })");
  const backend::Artifact artifact = compile_program(program, "cuda:sm_90a", nullptr);
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));
  const auto call = [&](int64_t n) {
    const Device device{DeviceKind::cuda, 0};
    const Tensor x(reinterpret_cast<void*>(uintptr_t{0x10000}), f32, {n}, device);
    const Tensor y(reinterpret_cast<void*>(uintptr_t{0x20000}), f32, {n}, device);
    const Arg args[] = {x, y};
    kernel(args);
    return test::fake().launches.back().entry;
  };
  EXPECT_THAT(call(7), StartsWith("sizes_one"));
  EXPECT_THAT(test::fake().loaded, SizeIs(1));
  EXPECT_THAT(call(6), StartsWith("sizes_two"));
  EXPECT_THAT(call(10), StartsWith("sizes_two"));
  EXPECT_THAT(test::fake().loaded, SizeIs(2));
  EXPECT_THAT(call(8), StartsWith("sizes_four"));
  EXPECT_THAT(test::fake().loaded, SizeIs(3));
}

/// Makes a part of deferred code one that can't be compiled.
void spoil(backend::Artifact& artifact, int part) {
  const std::string head = format("{} == {}\n", kPart, part);
  const size_t at = artifact.deferred.find(head);
  ASSERT_NE(at, std::string::npos) << artifact.deferred;
  artifact.deferred.insert(at + head.size(), "wrong\n");
}

TEST_F(CudaCompile, OnDemandOnlyWhatACallTakesIsCompiled) {
  const test::WithFakeDriver driver(test::hoppers(1));
  backend::CompileReport report{.on_demand = true};
  backend::Artifact artifact = compile_program(in_vectors(), "cuda:sm_90a", &report);
  EXPECT_TRUE(artifact.code.empty());
  EXPECT_NE(report.steps.back().name, "nvrtc");
  const std::string whole = whole_code(artifact);
  EXPECT_TRUE(has_entry(whole, "twice_main_0") && has_entry(whole, "twice_main_1"));
  spoil(artifact, 1);
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));
  call_at(kernel, 0x10004);
  EXPECT_EQ(test::fake().launches.at(0).entry, "twice_main_1");
  EXPECT_THROW(call_at(kernel, 0x10000), InternalError);
}

TEST_F(CudaCompile, OnDemandSeveralLaunchesAreEachCompiledAndRunInOrder) {
  const test::WithFakeDriver driver(test::hoppers(1));
  const ir::Program program = ir::parse_program(R"(tilewright ir 1
    program "steps" {
      symbol n: i64
      input X: f32[n]
      output Y: f32[n]
      launch b in n with name="one" { Y[b] = X[b] * 2.0 }
      launch b in n with name="two" { Y[b] = Y[b] + 1.0 }
      launch b in n with name="three" { Y[b] = Y[b] * 3.0 }
    })");
  backend::CompileReport report{.on_demand = true};
  backend::Artifact artifact = compile_program(program, "cuda:sm_90a", &report);
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));
  call_at(kernel, 0x10000);
  call_at(kernel, 0x10000);
  EXPECT_THAT(test::fake().loaded, SizeIs(3));
  std::vector<std::string> entries;
  for (const test::FakeLaunch& launch : test::fake().launches) entries.push_back(launch.entry);
  EXPECT_THAT(entries, ElementsAre("steps_one_0", "steps_two_1", "steps_three_2", "steps_one_0",
                                   "steps_two_1", "steps_three_2"));

  spoil(artifact, 2);  // the launches before run, this one says what is wrong
  const runtime::LoadedKernel broken(artifact.metadata, load_cubin(artifact));
  EXPECT_THROW(call_at(broken, 0x10000), InternalError);
  EXPECT_EQ(test::fake().launches.back().entry, "steps_one_0");
}

TEST_F(CudaCompile, ExportedCodeAndTextsHaveAllOfIt) {
  const backend::Artifact artifact = compile_program(in_vectors(), "cuda:sm_90a", nullptr);
  const std::string whole = whole_code(artifact);
  EXPECT_TRUE(has_entry(whole, "twice_main_0") && has_entry(whole, "twice_main_1"));
  backend::CompileReport report{.keep_texts = true};
  const backend::Artifact inspected = compile_program(in_vectors(), "cuda:sm_90a", &report);
  EXPECT_TRUE(inspected.deferred.empty());
  EXPECT_TRUE(has_entry(inspected.code, "twice_main_1"));
}

TEST_F(CudaCompile, CodeThatCantBeCompiledLaterSaysWhyItIsNeeded) {
  const Deferred broken{{"f"}, {"--fmad=false"}, "#if TW_PART == 1\nwrong\n#endif\n"};
  const Deferred again = deferred_from_text(to_text(broken));
  EXPECT_EQ(again.entries, broken.entries);
  EXPECT_EQ(again.flags, broken.flags);
  EXPECT_EQ(again.source, broken.source);
  const Deferred unknown{{"f"}, {"--no-such-flag"}, ""};
  const auto error = [&](bool stands_in) {
    return error_of(
        [&] { compile_deferred(unknown, "f", "twice", all_targets().front(), stands_in); });
  };
  const auto why = HasSubstr(
      "twice: these sizes, strides or addresses (not all multiples of 16 bytes, say) take 'f'");
  EXPECT_THAT(error(true), why);
  EXPECT_THAT(error(false), AllOf(HasSubstr("can't compile for"), Not(why)));
}

}  // namespace
}  // namespace tw::cuda
