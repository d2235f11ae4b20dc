// The metadata of a program: what the run time must know to call it, taken from the IR. Backends
// add their entries, scratch sizes and messages.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/runtime/metadata.h"

namespace tw::backend {

/// Symbols, parameters (workspaces last), the packed block, and the launches: one that has a guard
/// and those that stand in for it are its variants. Shapes, strides, grids and guards must be
/// expressions of symbols and whole scalars.
runtime::KernelMetadata metadata_of(const ir::Program& program, const std::string& target,
                                    DeviceKind device);

/// The variants of all launches, one for each launch of the program in its order.
std::vector<runtime::Variant*> variants_of(runtime::KernelMetadata& metadata);

/// An expression that the host evaluates: over symbols and scalar parameters of the program. An
/// operation that it lacks is an Error (E-TGT-03), a variable of the device an InternalError.
runtime::HostExpr host_expr(const ir::Expr& expr, const ir::Program& program);

}  // namespace tw::backend
