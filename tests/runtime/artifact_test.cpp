#include "tilewright/runtime/artifact.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/runtime/kernels.h"
#include "tilewright/runtime/link.h"

namespace tw::runtime::test {
namespace {

namespace fs = std::filesystem;

// The compiler's output stands for the backend's.
class ArtifactTest : public testing::Test {
 protected:
  ArtifactTest() {
    std::string folder = (fs::temp_directory_path() / "tw_artifact_XXXXXX").string();
    folder_ = mkdtemp(folder.data());
  }
  ~ArtifactTest() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ + "/" + name; }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  // Object code of scale_entry: y[i] = a[i] * exp2(k) for the packed block {a, y, k}.
  std::string object() const {
    write(path("k.c"),
          "#include <stdint.h>\n#include <math.h>\n"
          "struct args { const float* a; float* y; int32_t k, high; int64_t n; };\n"
          "int32_t scale_entry(const struct args* p, const int64_t* grid, int64_t first,\n"
          "                    int64_t last, void* scratch, void* callbacks) {\n"
          "  for (int64_t i = first; i < last; ++i) p->y[i] = ldexpf(p->a[i], p->k);\n"
          "  return 0;\n}\n");
    const std::string command = "cc -O1 -fPIC -c " + path("k.c") + " -o " + path("k.o");
    EXPECT_EQ(std::system(command.c_str()), 0);
    return read(path("k.o"));
  }

  static KernelMetadata scale_metadata() {
    const HostExpr n = HostExpr::symbol(0);
    KernelMetadata metadata;
    metadata.name = "scale";
    metadata.target = "cpu";
    metadata.symbols = {{"n"}};
    Param k = tensor("k", {});
    k.kind = ParamKind::scalar;
    k.dtype = i32;
    metadata.params = {tensor("A", {n}), k, tensor("Y", {n})};
    metadata.params[2].kind = ParamKind::output;
    metadata.launches = {{"main", {{1, "scale_entry", {n}, 0}}, {}}};
    pack_all(metadata);
    return metadata;
  }

  std::string load_error(const std::string& content) const {
    write(path("broken"), content);
    return error_of([&] { load_cpu_artifact(path("broken")); });
  }

  std::string folder_;
};

TEST_F(ArtifactTest, AnExportedKernelRunsAfterLoading) {
  const std::string libraries[] = {"m"};
  write_artifact(path("scale.tw"), scale_metadata(), link_shared_object(object(), libraries));
  const auto kernel = load_cpu_artifact(path("scale.tw"));
  EXPECT_EQ(kernel->metadata(), scale_metadata());
  const float a[] = {1, 2, 3};
  float y[3] = {};
  call(*kernel, {Tensor(a, {3}), 4, Tensor(y, {3})});
  EXPECT_EQ(std::vector(y, y + 3), (std::vector<float>{16, 32, 48}));
}

TEST_F(ArtifactTest, ExportReplacesAFileAsAWhole) {
  write(path("f"), "old");
  write_artifact(path("f"), scale_metadata(), "code");
  EXPECT_EQ(read_artifact(path("f")).code, "code");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(error_of([&] { write_artifact(path("none/f"), scale_metadata(), "code"); }),
            "export: can't write " + path("none/f") + ": No such file or directory");
}

TEST_F(ArtifactTest, AFileThatIsNoSoundArtefactIsAnErrorThatSaysWhy) {
  write_artifact(path("good"), scale_metadata(), "code");
  const std::string good = read(path("good")), where = "load: " + path("broken");
  for (size_t size = 0; size < good.size(); size += 5) {
    EXPECT_EQ(load_error(good.substr(0, size)),
              where + " is no kernel exported by tilewright, or was cut");
  }
  for (size_t i = 0; i + 96 < good.size(); i += 5) {
    std::string changed = good;
    changed[i] ^= 1;
    EXPECT_EQ(load_error(changed), where + " is damaged; export it again");
  }
  EXPECT_EQ(load_error("x" + good), where + " is damaged; export it again");
  std::string other = good;
  other.replace(other.find("tilewright kernel    1"), 22, "tilewright kernel    7");
  EXPECT_EQ(load_error(other),
            where + " has format version 7, this library reads version 1; export it again");
  EXPECT_EQ(error_of([&] { load_cpu_artifact(path("none")); }),
            "load: can't read " + path("none") + ": No such file or directory");
}

TEST_F(ArtifactTest, CodeThatIsNoSharedObjectIsAnError) {
  write_artifact(path("f"), scale_metadata(), "code");
  EXPECT_EQ(error_of([&] { load_cpu_artifact(path("f")); }),
            "kernel code can't be loaded: " + path("f") + ": invalid ELF header");
  KernelMetadata metadata = scale_metadata();
  metadata.launches[0].variants[0].entry = "absent";
  write_artifact(path("g"), metadata, link_shared_object(object(), {}));
  EXPECT_EQ(error_of([&] { load_cpu_artifact(path("g")); }),
            "kernel code " + path("g") + " has no entry 'absent'");
}

TEST_F(ArtifactTest, AKernelForAnotherDeviceIsNotLoadedAsCpuCode) {
  KernelMetadata metadata = scale_metadata();
  metadata.device = DeviceKind::cuda;
  metadata.target = "cuda:sm_90a";
  metadata.launches[0].variants[0].threads = {128};
  write_artifact(path("f"), metadata, "cubin");
  EXPECT_EQ(error_of([&] { load_cpu_artifact(path("f")); }),
            "load: " + path("f") + " is for cuda:sm_90a, not for the CPU");
}

TEST_F(ArtifactTest, LinkingReportsWhatIsWrong) {
  const std::string error = error_of([&] { link_shared_object("no object code", {}); });
  EXPECT_TRUE(error.starts_with("export: ld can't link the kernel: ")) << error;
  const std::string path_before = getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(error_of([&] { link_shared_object("", {}); }),
            "error[E-TOOL-01]: export: no linker found, looked for ld, ld.lld, ld.lld-19, mold, "
            "ld.gold\n  help: install binutils");
  setenv("PATH", path_before.c_str(), 1);
}

}  // namespace
}  // namespace tw::runtime::test
