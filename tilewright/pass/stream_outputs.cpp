#include "tilewright/pass/stream_outputs.h"

#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using Buffers = std::set<Buffer, ir::ById>;

/// Outputs that no launch reads, views or updates.
Buffers written_only(const ir::Program& program) {
  Buffers outputs;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::output && !param.buffer->may_alias)
      outputs.insert(param.buffer);
  }
  for (const Stmt& launch : program.launches) {
    ir::for_each_expr(launch, [&](const Expr& e) {
      if (const auto* load = e.try_as<ir::Load>()) outputs.erase(load->buffer.root());
    });
    ir::for_each_stmt(launch, [&](const Stmt& s) {
      if (const auto* atomic = s.try_as<ir::Atomic>()) outputs.erase(atomic->buffer.root());
      if (const auto* alloc = s.try_as<ir::Alloc>(); alloc != nullptr && alloc->buffer->view_of) {
        outputs.erase(alloc->buffer.root());
      }
    });
  }
  return outputs;
}

Expr is_large(const Buffer& buffer) {
  Expr elements = ir::index(1);
  for (const Expr& extent : buffer.shape()) elements = ir::mul(elements, extent);
  return ir::le(ir::index(kStreamBytes * 8 / buffer.dtype().bits()), elements);
}

}  // namespace

ir::Program stream_outputs(const ir::Program& program) {
  const Buffers outputs = written_only(program);
  if (outputs.empty()) return program;
  return ir::rewrite(program, [&](auto&, const ir::Parallel& loop) -> Stmt {
    const Stmt plain(&loop);
    Expr large;
    const Stmt streaming = ir::rewrite(
        plain,
        [&](auto&, const ir::Store& store) -> Stmt {
          if (!outputs.contains(store.buffer) || store.streaming) return Stmt(&store);
          if (!large) large = is_large(store.buffer);
          return ir::make<ir::Store>(store.loc, [&](ir::Store& n) {
            n = store;
            n.streaming = true;
          });
        },
        [](auto&, const ir::If& branch) -> Stmt { return Stmt(&branch); });  // masked: stays
    return large ? ir::if_(large, ir::with_fresh_bindings(streaming), plain) : plain;
  });
}

}  // namespace tw::pass
