// The CPU backend as jit sees it: the list of passes, and the one function that
// the library exports.
#include "tilewright/backend/backend.h"
#include "tilewright/backend/build_id.h"
#include "tilewright/backend/cpu/compile.h"
#include "tilewright/backend/cpu/device.h"
#include "tilewright/backend/cpu/toolchain.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/link.h"

namespace tw::cpu {
namespace {

class CpuBackend : public backend::Backend {
 public:
  const char* name() const override { return "cpu"; }
  std::string version() const override {
    return std::string("llvm ") + llvm_version() + ", " + TW_BUILD_ID;
  }

  std::string resolve_target(const std::string& target, const ir::Program& program) const override {
    TW_REQUIRE(target == "cpu" || target.starts_with("cpu:"), "{} is no target of the cpu backend",
               target);
    return "cpu:" + target_of(target, program).name();
  }
  std::vector<std::string> targets_here() const override {
    std::vector<std::string> names;
    for (const Target& target : cpu::targets_here()) names.push_back("cpu:" + target.name());
    return names;
  }
  backend::Artifact compile(const ir::Program& program, const std::string& target,
                            backend::CompileReport* report) const override {
    return compile_program(program, target, report);
  }
  std::unique_ptr<runtime::Module> load(const backend::Artifact& artifact) const override {
    return load_object(artifact.code);
  }
  std::string exported_code(const backend::Artifact& artifact) const override {
    const std::string libraries[] = {":libsleef.so.3", "m", "c"};
    return runtime::link_shared_object(artifact.code, libraries);
  }
};

}  // namespace
}  // namespace tw::cpu

extern "C" __attribute__((visibility("default"))) const tw::backend::BackendExport* tw_backend() {
  static const tw::cpu::CpuBackend backend;
  static const tw::backend::BackendExport exported{TW_BUILD_ID, &backend};
  return &exported;
}
