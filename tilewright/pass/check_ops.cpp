#include "tilewright/pass/check_ops.h"

#include <bit>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

bool is_shift(const ir::Op& op) { return op.code == ir::OpCode::shl || op.code == ir::OpCode::shr; }

/// Whether the result depends on the order in which blocks get there.
bool accumulates(ir::AtomicOp op) { return op == ir::AtomicOp::add; }

int64_t max_vector(const ir::Stmt& s) {
  if (const auto* loop = s.try_as<ir::Parallel>()) return loop->max_vector;
  if (const auto* copy = s.try_as<ir::Copy>()) return copy->max_vector;
  return 0;
}

}  // namespace

void check_ops(const ir::Program& program, Diagnostics& diagnostics) {
  const bool deterministic = ir::option(program, "forbid_float_atomics") == "on";
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_expr(launch, [&](const ir::Expr& e) {
      const auto* op = e.try_as<ir::Op>();
      if (op == nullptr || !is_shift(*op)) return;
      const auto count = ir::as_int(op->args[1]);
      if (!count || (*count >= 0 && *count < op->dtype.bits())) return;
      diagnostics.warn(codes::w_type_01, e.loc(),
                       "{}: `{}`: the count {} is outside the {} bits of {}", program.name, e,
                       *count, op->dtype.bits(), op->dtype);
    });
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      const int64_t width = max_vector(s);
      if (width > 0 && !std::has_single_bit(static_cast<uint64_t>(width))) {
        diagnostics.warn(codes::w_loop_01, s.loc(),
                         "{}: `{}`: max_vector is {}, vectors of {} elements are used",
                         program.name, first_line(s), width,
                         std::bit_floor(static_cast<uint64_t>(width)));
      }
      if (!deterministic) return;
      const auto* atomic = s.try_as<ir::Atomic>();
      if (atomic == nullptr || !atomic->buffer.dtype().is_float() || !accumulates(atomic->op))
        return;
      diagnostics
          .error(codes::atom_04, s.loc(), "{}: `{}`: sums of {} depend on the order", program.name,
                 first_line(s), atomic->buffer.dtype())
          .note("the option forbid_float_atomics is on")
          .help("write partial sums to a workspace and add them in a second launch");
    });
  }
}

}  // namespace tw::pass
