// Compiles programs to kernels: memory cache, then disk cache, then the backend.
#pragma once

#include <string>
#include <vector>

#include "tilewright/backend/backend.h"
#include "tilewright/ir/dump.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/jit/kernel.h"

namespace tw {

struct CompileOptions {
  /// "cpu", "cpu:avx2", "cuda:sm_90a"; or "auto", the first that this machine runs.
  std::string target = "auto";
  /// Compile options (language 14.3) beside those of the program; these win.
  std::vector<ir::Option> options;
  /// Off: always compiles, for measurements and tests.
  bool cache = true;
  /// Keeps the IR after every pass and the generated code, for Kernel::text. Does not read caches.
  bool keep_texts = false;
  /// Kernel::diagnostics has what is mostly no mistake, too: hints that the target ignores
  /// (W-HINT-01), accesses of block buffers that may be outside (W-BND-01). Does not read caches.
  bool verbose = false;
  /// Writes them into a folder, with the times. The option "dump" of a program gives the folder,
  /// too. Does not read caches.
  ir::DumpOptions dump;
  /// The backend may leave the code of a launch to the first call that runs it: then nothing is
  /// compiled that no call takes, and what can't be compiled is an Error of that call.
  bool on_demand = false;
};

/// Compiles a program, or finds it in a cache. What can't be compiled is an Error, and so is what
/// the static checks find of mistakes; their warnings are in Kernel::diagnostics. Thread-safe; two
/// threads that ask for the same program at once compile it once.
Kernel compile(const ir::Program& program, const CompileOptions& options = {});

/// What became of one of several programs.
struct CompileOutcome {
  Kernel kernel;      // empty if it failed
  std::string error;  // why
};
enum class OnError : uint8_t { collect, stop };

/// Compiles several programs at once with up to `workers` threads (0: one per processor); outcomes
/// are in the order of the programs. With OnError::stop the first error is thrown.
std::vector<CompileOutcome> compile_many(const std::vector<ir::Program>& programs,
                                         const CompileOptions& options = {}, int workers = 0,
                                         OnError on_error = OnError::collect);

/// Forgets the kernels that this process compiled; those in use go on. The disk cache stays.
void clear_memory_cache();

}  // namespace tw
