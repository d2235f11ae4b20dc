// The epochs of reducers: init, updates, finalize (language 9.4).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports reads and stores of a reducer (E-RDC-01), updates outside an epoch (E-RDC-02), finalize
/// without init (E-RDC-03), paths that disagree about the epoch (E-RDC-04) and epochs that nothing
/// finalizes (W-RDC-01).
void check_epochs(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
