// All static checks (language 27.5), in the order in which they are run on a program.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/pass/pipeline.h"

namespace tw::pass {

using Check = void (*)(const ir::Program&, Diagnostics&);

/// Runs them all; an unknown option of the program is thrown at once (E-OPT-01). Where control flow
/// has no meaning, or the program is not well formed (ir/verify.h), the others are left out.
void check_program(const ir::Program& program, Diagnostics& diagnostics);

/// A check as a pass: it throws what it finds of errors, together (Diagnostics::throw_errors), and
/// leaves warnings in `diagnostics`, which must outlive it.
Pass check_pass(std::string name, Check check, Diagnostics& diagnostics);

}  // namespace tw::pass
