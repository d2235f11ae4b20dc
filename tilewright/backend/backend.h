// What a backend is: all that jit sees of one. A backend is a shared library beside the core that
// is loaded at first use and exports one C function (`kBackendSymbol`).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/backend/device_clock.h"
#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/dump.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/runtime/artifact.h"
#include "tilewright/runtime/module.h"

namespace tw::backend {

/// A text made on the way: the IR after a pass, the generated source, assembly.
struct Text {
  std::string name;  // "03_guard_bounds", "llvm", "asm"
  std::string text;
};

/// What compiling took and produced beside the code.
struct CompileReport {
  struct Step {
    std::string name;
    double ms;
  };
  std::vector<Step> steps;
  std::vector<Text> texts;  // filled when `keep_texts`
  Diagnostics diagnostics;  // warnings to the author
  bool keep_texts = false;
  ir::Dump* dump = nullptr;  // where texts go, too
  bool on_demand = false;    // the code of a launch may be left to the first call that runs it

  /// Whether texts need to be made at all.
  bool wants_texts() const { return keep_texts || dump != nullptr; }
  /// Runs f and notes how long it took.
  template <class F>
  auto timed(const std::string& step, F f) {
    const auto start = std::chrono::steady_clock::now();
    auto result = f();
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    steps.push_back({step, ms.count()});
    return result;
  }
  /// Takes the program after a pass ("03_guard_bounds"), and another text: "llvm", in a file .ll.
  void add_program(const std::string& name, const ir::Program& program);
  void add_text(const std::string& name, const std::string& extension, std::string text);
};

/// A table of the steps and their sum.
std::string to_text(const std::vector<CompileReport::Step>& steps);

/// A compiled program as data, as caches store it; the code is an ELF object or a cubin.
using runtime::Artifact;

/// One backend. All functions can be called from several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "cpu", "cuda".
  virtual const char* name() const = 0;
  /// Everything about the backend and its tools that generated code depends on; part of cache keys.
  virtual std::string version() const = 0;
  /// The target's full name, with what is found out from the machine where the name leaves it open:
  /// "cpu" becomes "cpu:avx512+bf16+vnni". A target that isn't of this backend is an Error.
  virtual std::string resolve_target(const std::string& target,
                                     const ir::Program& program) const = 0;

  /// What people may want to know of drivers, devices and tools, a row each; an error in finding it
  /// out is in its text.
  struct Fact {
    std::string name, text;
  };
  virtual std::vector<Fact> facts() const { return {}; }

  /// The resolved targets whose code this machine runs, best last.
  virtual std::vector<std::string> targets_here() const = 0;

  /// Compiles tile IR for a resolved target. Whatever can't be compiled is an Error.
  virtual Artifact compile(const ir::Program& program, const std::string& target,
                           CompileReport* report) const = 0;
  /// Loads compiled code on this machine.
  virtual std::unique_ptr<runtime::Module> load(const Artifact& artifact) const = 0;
  /// For measuring on device `id`. No such device is an Error (E-TGT-04).
  virtual std::unique_ptr<DeviceClock> clock(int id, Stream stream) const;
  /// The code in the form that is loaded without this backend (runtime/artifact.h).
  virtual std::string exported_code(const Artifact& artifact) const = 0;
  /// What the author may want to know of the kernel of a program: instructions and why they were
  /// chosen, memory, registers. May take as long as compiling. Empty where there is nothing to say.
  virtual std::string explain(const ir::Program& program, const std::string& target) const;
  /// The artefact with the code of another source, which has the same entries. A backend without
  /// sources is an Error.
  virtual Artifact replace_source(const Artifact& artifact, const std::string& source,
                                  const ir::Program& program) const;
  /// The machine code as text, by a tool of others. A backend or machine without one is an Error.
  virtual std::string disassembly(const Artifact& artifact) const;
};

/// What the exported function returns. The build id comes first and never moves.
struct BackendExport {
  const char* build_id;
  const Backend* backend;
};
using BackendEntry = const BackendExport*();
inline constexpr const char* kBackendSymbol = "tw_backend";

/// Loads the backend of that name: the library libtw_<name>.so beside the core, opened once. One
/// that is missing or was built from other sources is an Error.
const Backend& load_backend(const std::string& name);

/// Names of the backends beside the core, in alphabetical order; none is loaded.
std::vector<std::string> installed_backends();

/// Identifies the sources that the core was built from.
const char* build_id();

}  // namespace tw::backend
