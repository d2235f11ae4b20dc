#include "tilewright/backend/cuda/toolchain/toolchain.h"

#include <atomic>
#include <optional>

#include <dlfcn.h>

#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/backend/cuda/toolchain/nvrtc_api.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

/// NVRTC, opened. Never closed: its threads may outlive our statics.
struct Nvrtc {
  NvrtcApi api;
  std::string problem;  // why it can't be used; empty: it can

  Nvrtc() {
    const NvrtcFile& file = nvrtc_file();
    if (file.path.empty()) {
      problem = "NVRTC isn't installed: " + file.missing;
      return;
    }
    void* library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      problem = format("NVRTC can't be opened: {}", dlerror());
      return;
    }
#define TW_FIND(name, symbol, params)                                          \
  api.name = reinterpret_cast<nvrtcResult(*) params>(dlsym(library, #symbol)); \
  if (api.name == nullptr) problem = file.path + " lacks " #symbol;
    TW_NVRTC_FUNCTIONS(TW_FIND)
#undef TW_FIND
    api.error_string =
        reinterpret_cast<const char* (*)(nvrtcResult)>(dlsym(library, "nvrtcGetErrorString"));
    if (api.error_string == nullptr) problem = file.path + " is no NVRTC";
  }
};

const Nvrtc& opened_nvrtc() {
  static const Nvrtc& nvrtc = *new Nvrtc;
  return nvrtc;
}

const NvrtcApi& nvrtc() {
  const Nvrtc& opened = opened_nvrtc();
  if (opened.problem.empty()) return opened.api;
  throw Error(codes::tool_01, {}, "cuda: {}", opened.problem)
      .help(
          "install the toolkit's NVRTC 12 or 13 (pip install nvidia-cuda-nvrtc), or set TW_NVRTC "
          "to its folder");
}

class Program {
 public:
  Program(const NvrtcApi& api, const Translation& t) : api_(api) {
    check(api_.create(&program_, t.source.c_str(), (t.name + ".cu").c_str(), 0, nullptr, nullptr),
          t.name);
  }
  ~Program() { api_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& flags) {
    std::vector<const char*> words;
    for (const std::string& flag : flags) words.push_back(flag.c_str());
    return api_.compile(program_, static_cast<int>(words.size()), words.data());
  }
  std::string log() const { return text(api_.log_size, api_.log, 1); }
  std::string ptx() const { return text(api_.ptx_size, api_.ptx, 1); }
  std::string cubin() const { return text(api_.cubin_size, api_.cubin, 0); }

  void check(nvrtcResult result, const std::string& name) const {
    if (result == NVRTC_SUCCESS) return;
    throw InternalError(format("{}: NVRTC: {}", name, api_.error_string(result)));
  }

 private:
  /// `zeros` bytes at the end of a text are its end.
  std::string text(nvrtcResult (*size_of)(nvrtcProgram, size_t*),
                   nvrtcResult (*get)(nvrtcProgram, char*), size_t zeros) const {
    size_t size = 0;
    if (size_of(program_, &size) != NVRTC_SUCCESS || size <= zeros) return {};
    std::string content(size, '\0');
    if (get(program_, content.data()) != NVRTC_SUCCESS) return {};
    content.resize(size - zeros);
    return content;
  }

  const NvrtcApi& api_;
  nvrtcProgram program_ = nullptr;
};

/// "-minimal" leaves out what NVRTC declares for textures and launches from kernels: a tenth of the
/// time of a small kernel. Releases before 12.4 don't know it.
std::atomic<bool> knows_minimal{true};

std::vector<std::string> flags_of(const Translation& t, const Target& target) {
  std::vector<std::string> flags = {format("--gpu-architecture={}", target.name), "-std=c++20",
                                    "-default-device", "-no-source-include"};
  if (knows_minimal) flags.emplace_back("-minimal");
  if (t.assembler_report) flags.emplace_back("--ptxas-options=-v");
  flags.insert(flags.end(), t.flags.begin(), t.flags.end());
  return flags;
}

}  // namespace

Translated translate(const Translation& t, const Target& target) {
  const NvrtcApi& api = nvrtc();
  std::optional<Program> program(std::in_place, api, t);
  nvrtcResult result = program->compile(flags_of(t, target));
  if (result == NVRTC_ERROR_INVALID_OPTION && knows_minimal) {
    knows_minimal = false;
    program.emplace(api, t);
    result = program->compile(flags_of(t, target));
  }
  if (result == NVRTC_ERROR_INVALID_OPTION) {
    throw Error(codes::tool_01, {}, "{}: {} can't compile for {}: {}", t.name, nvrtc_file().path,
                target.full_name(), program->log())
        .help("NVRTC 12.0 is the first for sm_90a, 12.8 for sm_100a");
  }
  if (result == NVRTC_ERROR_COMPILATION && t.is_edited) {
    throw Error({}, {}, "{}: NVRTC refuses the source:\n{}", t.name, program->log());
  }
  if (result == NVRTC_ERROR_COMPILATION) {
    throw InternalError(
        format("{}: NVRTC refuses the generated code:\n{}", t.name, program->log()));
  }
  program->check(result, t.name);
  Translated made{.cubin = program->cubin(), .log = program->log()};
  TW_CHECK(!made.cubin.empty(), "{}: NVRTC made no code", t.name);
  if (t.keep_ptx) made.ptx = program->ptx();
  return made;
}

std::string toolchain_identity() {
  const NvrtcFile& file = nvrtc_file();
  return file.path.empty() ? "no nvrtc" : "nvrtc " + file.build;
}

std::string describe_toolchain() {
  if (!opened_nvrtc().problem.empty()) return "none: " + opened_nvrtc().problem;
  const std::string& path = nvrtc_file().path;
  std::string release;
  try {
    const Target& any = all_targets().front();
    release = release_of(translate({.name = "empty", .source = "", .keep_ptx = true}, any).ptx);
  } catch (const std::exception& error) {
    return format("NVRTC ({}), which can't be used: {}", path, error.what());
  }
  const std::string fault = known_fault(release);
  return format("NVRTC {} ({}){}{}", release, path, fault.empty() ? "" : "; ", fault);
}

std::string release_of(const std::string& ptx) {
  const std::string before = ", V";  // "// Cuda compilation tools, release 13.0, V13.0.88"
  const size_t line = ptx.find("// Cuda compilation tools");
  const size_t at = line == ptx.npos ? line : ptx.find(before, line);
  if (at == ptx.npos) return {};
  const size_t start = at + before.size();
  return ptx.substr(start, ptx.find_first_not_of("0123456789.", start) - start);
}

}  // namespace tw::cuda
