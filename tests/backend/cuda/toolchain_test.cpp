#include "tilewright/backend/cuda/toolchain/toolchain.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/sources.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

using testing::HasSubstr;

class Toolchain : public testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  }
};

TEST_F(Toolchain, CompilesForEveryTarget) {
  for (const Target& target : all_targets()) {
    const Translated made =
        translate({.name = "copy", .source = test::kSource, .keep_ptx = true}, target);
    EXPECT_TRUE(
        made.cubin.starts_with("\x7f"
                               "ELF"))
        << target.name;
    EXPECT_NE(made.cubin.find(std::string(".text.copy") + '\0'), std::string::npos);
    EXPECT_THAT(made.ptx, HasSubstr(std::string(".target ") + target.name));
    EXPECT_FALSE(release_of(made.ptx).empty());
  }
}

TEST_F(Toolchain, ReportsWhatTheAssemblerSays) {
  const Translated made = translate(
      {.name = "copy", .source = test::kSource, .assembler_report = true}, all_targets().front());
  EXPECT_THAT(made.log, HasSubstr("registers"));
}

TEST_F(Toolchain, ASourceThatIsRefusedIsAnInternalErrorWithTheMessages) {
  try {
    translate({.name = "broken", .source = "int f() { return missing; }"}, all_targets().front());
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("broken: NVRTC refuses the generated code:\n"));
    EXPECT_THAT(error.what(), HasSubstr("broken.cu(1): error: identifier \"missing\""));
  }
}

TEST_F(Toolchain, FlagsReachTheCompiler) {
  const std::string source =
      "extern \"C\" __global__ void f(float* x) { x[0] = x[1] * x[2] + x[3]; }";
  const auto ptx_with = [&](std::vector<std::string> flags) {
    return translate({.name = "f", .source = source, .flags = std::move(flags), .keep_ptx = true},
                     all_targets().front())
        .ptx;
  };
  EXPECT_THAT(ptx_with({}), HasSubstr("fma.rn.f32"));
  EXPECT_THAT(ptx_with({"--fmad=false"}), HasSubstr("mul.rn.f32"));
}

TEST_F(Toolchain, IsKnownByTheBuildOfTheLibrary) {
  EXPECT_EQ(toolchain_identity(), "nvrtc " + elf_build_id(nvrtc_file().path));
  EXPECT_THAT(describe_toolchain(), HasSubstr("(" + nvrtc_file().path + ")"));
}

/// The names of the libraries that are mapped, for a process that is asked once.
std::string mapped_libraries() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), {}};
}

// A kernel from the disk cache needs the identity, and must not wait for a compiler.
TEST_F(Toolchain, IsIdentifiedWithoutBeingOpened) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a process that has opened nothing yet
  EXPECT_EXIT(
      {
        const bool known = toolchain_identity() != "no nvrtc";
        std::exit(known && mapped_libraries().find("libnvrtc.so") == std::string::npos ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Toolchain, DisassemblesWhereTheToolIsInstalled) {
  const std::string cubin =
      translate({.name = "copy", .source = test::kSource}, all_targets().front()).cubin;
  try {
    EXPECT_THAT(disassemble(cubin), HasSubstr("EXIT"));
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              std::string("error[E-TOOL-01]: sass: neither nvdisasm nor cuobjdump is in PATH or "
                          "/usr/local/cuda/bin\n"
                          "  help: install the toolkit's binary utilities"));
  }
}

TEST(Releases, AReleaseIsReadFromThePtx) {
  EXPECT_EQ(release_of("//\n// Cuda compilation tools, release 13.0, V13.0.88\n// Based on"),
            "13.0.88");
  EXPECT_EQ(release_of(".version 9.0"), "");
  EXPECT_THAT(known_fault("13.0.88"), HasSubstr("sm_90a"));
  EXPECT_EQ(known_fault("1.0"), "");
}

// A search with TW_NVRTC, in a folder of our own.
class FindNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "tw_find_nvrtc";
    std::filesystem::create_directories(folder_);
    setenv("TW_NVRTC", folder_.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    unsetenv("TW_NVRTC");
  }
  std::string folder_;
};

TEST_F(FindNvrtc, ThePathMayBeAFolderOrTheLibrary) {
  std::ofstream(folder_ + "/libnvrtc.so.12") << "not really";
  EXPECT_EQ(find_nvrtc().path, folder_ + "/libnvrtc.so.12");
  EXPECT_EQ(find_nvrtc().build, "10 bytes");
  std::ofstream(folder_ + "/libnvrtc.so.13") << "";
  EXPECT_EQ(find_nvrtc().path, folder_ + "/libnvrtc.so.13");
  setenv("TW_NVRTC", (folder_ + "/libnvrtc.so.12").c_str(), 1);
  EXPECT_EQ(find_nvrtc().path, folder_ + "/libnvrtc.so.12");
}

TEST_F(FindNvrtc, ANamedFolderWithoutItIsNotReplacedByAnother) {
  EXPECT_EQ(find_nvrtc().path, "");
  EXPECT_EQ(find_nvrtc().missing, "TW_NVRTC is " + folder_ + ", where it isn't");
}

TEST(ElfBuildId, IsReadFromTheNotes) {
  EXPECT_EQ(elf_build_id("/nowhere"), "");
  EXPECT_EQ(elf_build_id(__FILE__), "");
}

}  // namespace
}  // namespace tw::cuda
