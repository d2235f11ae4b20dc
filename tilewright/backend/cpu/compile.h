// Tile IR to machine code: the passes of the CPU in order, emission, and LLVM.
#pragma once

#include <string>

#include "tilewright/backend/backend.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/nodes.h"

namespace tw::cpu {

/// The processor that a program is compiled for: that of the name where it says more than "cpu",
/// else that of the option `cpu_level`. Where both name one they must agree.
Target target_of(const std::string& target_name, const ir::Program& program);

/// Lowers tile IR to loop IR for a target.
ir::Program lower(const ir::Program& program, const Target& target, backend::CompileReport& report);

/// Compiles loop IR.
backend::Artifact compile_loops(const ir::Program& loops, const Target& target,
                                const std::string& target_name, backend::CompileReport& report);

/// Both.
backend::Artifact compile_program(const ir::Program& program, const std::string& target_name,
                                  backend::CompileReport* report);

}  // namespace tw::cpu
