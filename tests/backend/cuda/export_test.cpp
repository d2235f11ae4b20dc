// A kernel for a GPU that this machine need not have: compiled, written to a file, read again.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tilewright/backend/cuda/target.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"
#include "tilewright/runtime/artifact.h"

namespace tw::cuda {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::ThrowsMessage;

ir::Program twice() {
  return ir::parse_program(R"(tilewright ir 1
    program "twice" {
      symbol n: i64
      input X: f32[n]
      output Y: f32[n]
      launch bx in (n + 511) // 512 {
        parallel i in 512 { Y[bx * 512 + i] = X[bx * 512 + i] * 2.0 }
      }
    })");
}

TEST(CudaExport, AKernelForEachTargetIsWrittenAndReadWithoutADevice) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  const std::string path =
      std::filesystem::temp_directory_path() / format("tw_export_{}", getpid());
  for (const Target& target : all_targets()) {
    const Kernel kernel = compile(twice(), {.target = target.full_name(), .cache = false});
    EXPECT_EQ(kernel.metadata().target, target.full_name());
    kernel.export_object(path);
    const std::string code = runtime::read_artifact(path).code;
    // All variants are in it, and the ELF header's flags name the chip.
    for (const runtime::Variant& variant : kernel.metadata().launches.at(0).variants) {
      EXPECT_NE(code.find(".text." + variant.entry + '\0'), code.npos) << variant.entry;
    }
    EXPECT_NE(code.find(target.name), code.npos);
    const Kernel read = Kernel::load(path);
    EXPECT_EQ(read.metadata().target, target.full_name());
    EXPECT_EQ(runtime::to_text(read.metadata()), runtime::to_text(kernel.metadata()));
  }
  std::filesystem::remove(path);
}

TEST(CudaExplain, SaysWhatAKernelTakesWithoutADevice) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  const std::string text = compile(twice(), {.target = "cuda:sm_90a", .cache = false}).explain();
  EXPECT_THAT(text, ContainsRegex("    loads X by 16 bytes\n"));
  EXPECT_THAT(text, ContainsRegex("entry twice_0\n  [0-9]+ registers, no spills\n  [0-9]+ blocks "
                                  "of [0-9]+ threads on a multiprocessor: [0-9]+ % of its threads, "
                                  ".*(asked of cuda:0|by the limits of the chip)\n"));
  EXPECT_THAT(text, HasSubstr("entry twice_1, where the condition of the one before fails"));
}

TEST(CudaSource, AnEditedOneTakesTheEmittedOnesPlace) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  const Kernel kernel = compile(twice(), {.target = "cuda:sm_90a", .keep_texts = true});
  EXPECT_THAT(kernel.text("layouts"), HasSubstr("parallel loop over i\n"));
  std::string source = kernel.text("cuda");
  const std::string marked = source + "extern \"C\" __global__ void marked() {}\n";
  const Kernel edited = kernel.replace_source(marked);
  EXPECT_EQ(edited.metadata(), kernel.metadata());
  EXPECT_THAT(edited.explain(), EndsWith("the source is the author's\n"));
  const std::string path =
      std::filesystem::temp_directory_path() / format("tw_edited_{}", getpid());
  edited.export_object(path);
  EXPECT_NE(runtime::read_artifact(path).code.find(".text.marked"), std::string::npos);
  std::filesystem::remove(path);
  // What is wrong with it is the author's to mend.
  EXPECT_THAT([&] { kernel.replace_source(source + "wrong;"); },
              ThrowsMessage<Error>(HasSubstr("twice: NVRTC refuses the source:\ntwice.cu")));
  EXPECT_THAT([&] { kernel.replace_source(""); },
              ThrowsMessage<Error>(HasSubstr("twice: its code has no entry 'twice_0'")));
  EXPECT_THAT([&] { compile(twice(), {.target = "cpu"}).replace_source(""); },
              ThrowsMessage<Error>(HasSubstr("is not made from a source")));
}

}  // namespace
}  // namespace tw::cuda
