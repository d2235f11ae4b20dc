#include "tilewright/backend/metadata_of.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"

namespace tw::backend {
namespace {

using runtime::HostExpr;
using runtime::HostOp;

std::optional<HostOp> host_op(const ir::Op& op) {
  switch (op.code) {
    case ir::OpCode::add:
      return HostOp::add;
    case ir::OpCode::sub:
      return HostOp::sub;
    case ir::OpCode::mul:
      return HostOp::mul;
    case ir::OpCode::floordiv:
      return HostOp::floordiv;
    case ir::OpCode::floormod:
      return HostOp::floormod;
    case ir::OpCode::min:
      return HostOp::min;
    case ir::OpCode::max:
      return HostOp::max;
    case ir::OpCode::eq:
      return HostOp::eq;
    case ir::OpCode::ne:
      return HostOp::ne;
    case ir::OpCode::lt:
      return HostOp::lt;
    case ir::OpCode::le:
      return HostOp::le;
    case ir::OpCode::land:
      return HostOp::logical_and;
    case ir::OpCode::lor:
      return HostOp::logical_or;
    case ir::OpCode::bit_and:
      return op.dtype.is_bool() ? std::optional(HostOp::logical_and) : std::nullopt;
    case ir::OpCode::bit_or:
      return op.dtype.is_bool() ? std::optional(HostOp::logical_or) : std::nullopt;
    default:
      return {};
  }
}

/// The host computes in i64. Sizes fit 32 bits where a program makes them that narrow.
bool keeps_value(const ir::Cast& cast) {
  const DType from = cast.value.dtype();
  return cast.dtype.is_int() && (from.is_int() || from.is_bool()) &&
         cast.dtype.bits() >= std::min(from.bits(), 32);
}

HostExpr host_var(const ir::Expr& var, const ir::Program& program) {
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    if (program.symbols[i].var.same_as(var)) return HostExpr::symbol(static_cast<int>(i));
  }
  for (size_t i = 0; i < program.params.size(); ++i) {
    if (program.params[i].var.same_as(var)) return HostExpr::scalar(static_cast<int>(i));
  }
  throw InternalError(
      format("variable {} in an expression of the host", var.as<ir::VarNode>().name));
}

int64_t natural_align(DType dtype) { return std::max(1, dtype.bits() / 8); }

/// The guard of a launch with the alignment that it needs.
HostExpr guard_of(const ir::Launch& launch, const ir::Program& program) {
  HostExpr guard = launch.guard ? host_expr(launch.guard, program) : HostExpr(1);
  for (const ir::Buffer& buffer : launch.aligned) {
    for (size_t i = 0; i < program.params.size(); ++i) {
      if (!program.params[i].buffer.same_as(buffer)) continue;
      const HostExpr address = HostExpr::address_mod(static_cast<int>(i));
      const HostExpr rest = HostExpr::binary(HostOp::floormod, address, HostExpr(16));
      guard = HostExpr::binary(HostOp::logical_and, guard,
                               HostExpr::binary(HostOp::eq, rest, HostExpr(0)));
    }
  }
  return guard;
}

runtime::Param tensor_param(const ir::Buffer& buffer, runtime::ParamKind kind,
                            const ir::Program& program) {
  runtime::Param param;
  param.name = buffer.name();
  param.kind = kind;
  param.dtype = buffer.dtype();
  for (const ir::Expr& extent : buffer.shape()) param.shape.push_back(host_expr(extent, program));
  for (const ir::Expr& stride : buffer->strides)
    param.strides.push_back(host_expr(stride, program));
  const auto align = static_cast<uint64_t>(std::max(buffer->align, natural_align(buffer.dtype())));
  param.align = static_cast<int64_t>(std::bit_floor(align));
  param.no_restrict = buffer->may_alias;
  return param;
}

}  // namespace

HostExpr host_expr(const ir::Expr& expr, const ir::Program& program) {
  if (const auto c = ir::as_int(expr)) return *c;
  if (expr.is<ir::VarNode>()) return host_var(expr, program);
  if (const auto* cast = expr.try_as<ir::Cast>(); cast != nullptr && keeps_value(*cast)) {
    return host_expr(cast->value, program);
  }
  const auto* op = expr.try_as<ir::Op>();
  const std::optional<HostOp> host = op != nullptr ? host_op(*op) : std::nullopt;
  if (!host) {
    throw Error(codes::tgt_03, expr.loc(), "{}: `{}` in a size, stride or grid", program.name, expr)
        .help("the host adds, multiplies, divides and compares; pass what it can't as a scalar");
  }
  return HostExpr::binary(*host, host_expr(op->args[0], program), host_expr(op->args[1], program));
}

runtime::KernelMetadata metadata_of(const ir::Program& program, const std::string& target,
                                    DeviceKind device) {
  runtime::KernelMetadata metadata;
  metadata.name = program.name;
  metadata.target = target;
  metadata.device = device;
  for (const ir::Symbol& s : program.symbols) {
    const auto passed = std::find_if(program.params.begin(), program.params.end(),
                                     [&](const ir::Param& p) { return p.var.same_as(s.var); });
    const auto param = static_cast<int>(passed - program.params.begin());
    metadata.symbols.push_back(
        {s.var.name(), s.multiple_of, s.min, s.max, passed == program.params.end() ? -1 : param});
  }
  for (const ir::Param& p : program.params) {
    const auto kind = static_cast<runtime::ParamKind>(p.kind);
    if (!p.buffer) {
      metadata.params.push_back({.name = p.var.name(), .kind = kind, .dtype = p.var.dtype()});
      continue;
    }
    if (kind == runtime::ParamKind::pointer) {
      metadata.params.push_back({.name = p.buffer.name(), .kind = kind, .dtype = p.buffer.dtype()});
    } else {
      metadata.params.push_back(tensor_param(p.buffer, kind, program));
    }
    metadata.params.back().nullable = p.nullable;
  }
  for (const ir::Workspace& w : program.workspaces) {
    metadata.params.push_back(tensor_param(w.buffer, runtime::ParamKind::workspace, program));
    metadata.params.back().zeroed = w.zero;
  }
  runtime::pack_all(metadata);
  bool stands_in = false;  // for the launch before
  for (size_t i = 0; i < program.launches.size(); ++i) {
    const auto& launch = program.launches[i].as<ir::Launch>();
    if (!stands_in) metadata.launches.push_back({.name = launch.name});
    runtime::Variant variant;
    if (launch.is_conditional()) variant.guard = guard_of(launch, program);
    variant.entry = format("{}_{}", launch.name, i);
    for (const ir::Expr& extent : launch.grid) {
      variant.grid.push_back(host_expr(extent, program));
    }
    if (device != DeviceKind::cpu) {  // which runs its blocks as it likes
      variant.threads = launch.threads;
      variant.cluster = launch.cluster;
      variant.shared_bytes = launch.shared_bytes + launch.dynamic_shared_extra;
      variant.cooperative = launch.cooperative;
      variant.dependent_launch = launch.dependent_launch;
    }
    metadata.launches.back().variants.push_back(std::move(variant));
    stands_in = launch.is_conditional();
  }
  return metadata;
}

std::vector<runtime::Variant*> variants_of(runtime::KernelMetadata& metadata) {
  std::vector<runtime::Variant*> variants;
  for (runtime::Launch& launch : metadata.launches) {
    for (runtime::Variant& variant : launch.variants) variants.push_back(&variant);
  }
  return variants;
}

}  // namespace tw::backend
