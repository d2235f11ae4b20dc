// Tile IR to a cubin: lowering to thread IR, emission of CUDA C++, NVRTC.
#pragma once

#include <string>
#include <vector>

#include "tilewright/backend/backend.h"
#include "tilewright/backend/cuda/target.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/pass/remarks.h"

namespace tw::cuda {

/// Lowers tile IR to thread IR. Its launches have `threads` and `shared_bytes`. Where somebody
/// wants them, passes add remarks.
ir::Program lower(const ir::Program& program, const Target& target, backend::CompileReport& report,
                  pass::Remarks* remarks = nullptr);

/// What a launch of thread IR needs to know: entries under the names that profilers show, grid
/// limits, descriptors of tensors.
runtime::KernelMetadata describe(const ir::Program& threads, const std::string& target_name);

/// Thread IR as CUDA C++. Launch i is the entry `metadata`'s variant i names; parameter j of every
/// entry is field j of `metadata.packed` (device/module.h). Apart: EmitOptions.
std::string emit(const ir::Program& threads, const runtime::KernelMetadata& metadata,
                 bool apart = false);

/// Compiles a source that has the entries of the metadata; those in `deferred` only where texts are
/// kept, which show all.
backend::Artifact compile_source(const std::string& source, runtime::KernelMetadata metadata,
                                 const ir::Program& program, const Target& target,
                                 backend::CompileReport& report,
                                 std::vector<std::string> deferred = {});

/// A source with what the assembler says of each entry: registers, spills, memory.
Translated translate_with_report(const std::string& source, const ir::Program& program,
                                 const Target& target);

/// The code of another source with the same entries: what an author made of the emitted one. What
/// NVRTC refuses is an Error with its messages.
backend::Artifact replace_source(const backend::Artifact& artifact, const std::string& source,
                                 const ir::Program& program);

/// For Kernel::explain. Lowers and compiles again, so that compiling itself costs nothing more.
std::string explain_program(const ir::Program& program, const std::string& target_name);

/// All of it, for a full name of a target. On demand the artefact has no code, and all entries are
/// deferred.
backend::Artifact compile_program(const ir::Program& program, const std::string& target_name,
                                  backend::CompileReport* report);

}  // namespace tw::cuda
