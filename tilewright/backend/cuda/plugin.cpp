// The CUDA backend as jit sees it, and the one function that the library exports.
#include "tilewright/backend/backend.h"
#include "tilewright/backend/build_id.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/deferred.h"
#include "tilewright/backend/cuda/device/clock.h"
#include "tilewright/backend/cuda/device/driver.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

std::string driver_text(const DriverState& state) {
  if (!state.reason.empty()) return "none: " + state.reason;
  return format("CUDA {}.{}", state.version / 1000, state.version % 1000 / 10);
}

std::string device_text(const DeviceFacts& d) {
  const Target* target = target_for(d.major, d.minor);
  return format("{}, {} GiB, {} multiprocessors, {}", d.name, d.memory_bytes >> 30, d.sms,
                target != nullptr ? target->full_name()
                                  : format("compute capability {}.{}, for which there is no target",
                                           d.major, d.minor));
}

class CudaBackend : public backend::Backend {
 public:
  const char* name() const override { return "cuda"; }
  std::string version() const override { return toolchain_identity() + ", " + TW_BUILD_ID; }

  std::string resolve_target(const std::string& target, const ir::Program&) const override {
    return cuda::resolve_target(target);
  }
  std::vector<std::string> targets_here() const override { return cuda::targets_here(); }
  std::vector<Fact> facts() const override {
    const DriverState& state = find_driver();
    std::vector<Fact> facts = {{"driver", driver_text(state)}};
    for (size_t i = 0; i < state.devices.size(); ++i) {
      facts.push_back({format("device {}", i), device_text(state.devices[i])});
    }
    facts.push_back({"compiler", describe_toolchain()});
    return facts;
  }
  backend::Artifact compile(const ir::Program& program, const std::string& target,
                            backend::CompileReport* report) const override {
    return compile_program(program, target, report);
  }
  std::unique_ptr<runtime::Module> load(const backend::Artifact& artifact) const override {
    return load_cubin(artifact);
  }
  std::unique_ptr<backend::DeviceClock> clock(int id, Stream stream) const override {
    return make_clock(id, stream);
  }
  std::string exported_code(const backend::Artifact& artifact) const override {
    return whole_code(artifact);
  }
  std::string explain(const ir::Program& program, const std::string& target) const override {
    return explain_program(program, target);
  }
  backend::Artifact replace_source(const backend::Artifact& artifact, const std::string& source,
                                   const ir::Program& program) const override {
    return cuda::replace_source(artifact, source, program);
  }
  std::string disassembly(const backend::Artifact& artifact) const override {
    return disassemble(artifact.code.empty() ? whole_code(artifact) : artifact.code);
  }
};

}  // namespace
}  // namespace tw::cuda

extern "C" __attribute__((visibility("default"))) const tw::backend::BackendExport* tw_backend() {
  static const tw::cuda::CudaBackend backend;
  static const tw::backend::BackendExport exported{TW_BUILD_ID, &backend};
  return &exported;
}
