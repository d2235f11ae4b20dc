#include "tilewright/pass/plan_prefetch.h"

#include <algorithm>
#include <optional>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/linear.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Region;
using ir::Stmt;

// Below a few lines there is nothing to gain; beyond L2 the lines would be gone
// before they are read.
constexpr int64_t kLeastBytes = 1024, kMostBytes = int64_t{512} * 1024;

bool loads_global(const ir::Copy& copy) {
  return copy.src.buffer.space() == ir::MemSpace::global && !copy.transpose;
}

/// Many rows of a tensor in memory.
bool is_tile_of_rows(const ir::Copy& copy) {
  const size_t rank = copy.src.extent.size();
  return loads_global(copy) && rank >= 2 && !ir::is_int(copy.src.extent[rank - 2], 1);
}

/// The tiles that a sequence copies from global memory, as they are one step of `var` later.
std::vector<Region> tiles_of_next(const std::vector<Stmt>& stmts, const ir::Var& var,
                                  const Expr& step) {
  std::vector<Region> tiles;
  for (const Stmt& s : stmts) {
    const auto* copy = s.try_as<ir::Copy>();
    if (copy == nullptr || !loads_global(*copy)) continue;
    Region next = copy->src;
    bool moves = false;
    int64_t bytes = next.buffer.dtype().bits();
    for (size_t d = 0; d < next.begin.size(); ++d) {
      moves = moves || uses(next.begin[d], var);
      bytes *= ir::as_int(next.extent[d]).value_or(0);
      if (ir::has_load(next.begin[d])) moves = false;
      next.begin[d] = ir::substitute(next.begin[d], {{var, ir::add(var, step)}});
    }
    bytes /= 8;
    if (moves && bytes >= kLeastBytes && bytes <= kMostBytes) tiles.push_back(std::move(next));
  }
  return tiles;
}

bool writes_global(const ir::Parallel& loop) {
  bool found = false;
  ir::for_each_stmt(loop.body, [&](const Stmt& s) {
    const auto* store = s.try_as<ir::Store>();
    found = found || (store != nullptr && store->buffer.space() == ir::MemSpace::global);
  });
  return found;
}

bool writes_output(const Stmt& stmt) {
  if (const auto* loop = stmt.try_as<ir::Parallel>()) return writes_global(*loop);
  const auto* copy = stmt.try_as<ir::Copy>();
  return copy != nullptr && copy->dst.buffer.space() == ir::MemSpace::global &&
         copy->src.buffer.space() != ir::MemSpace::global;
}

bool is_elementary(ir::OpCode code) {
  using enum ir::OpCode;
  return code == exp || code == exp2 || code == log || code == log2 || code == erf || code == tanh;
}

bool computes_long(const Stmt& stmt) {
  const auto* loop = stmt.try_as<ir::Parallel>();
  bool found = false;
  if (loop == nullptr) return found;
  ir::for_each_expr(loop->body, [&](const Expr& e) {
    const auto* op = e.try_as<ir::Op>();
    found = found || (op != nullptr && is_elementary(op->code));
  });
  return found;
}

/// The operation of a block that carries the prefetches for the next one: a loop that computes long
/// hides them best, since those that write load the memory themselves; else the last that writes.
std::optional<size_t> carrier_of(const std::vector<Stmt>& stmts) {
  const auto found = std::find_if(stmts.begin(), stmts.end(), computes_long);
  if (found != stmts.end()) return found - stmts.begin();
  const auto last = std::find_if(stmts.rbegin(), stmts.rend(), writes_output);
  if (last == stmts.rend()) return std::nullopt;
  return stmts.rend() - last - 1;
}

template <class T>
Stmt with_prefetch(const Stmt& stmt, const std::vector<Region>& tiles) {
  return ir::make<T>(stmt.loc(), [&](T& n) {
    n = stmt.as<T>();
    n.prefetch = tiles;
  });
}

/// Replaces one statement of a sequence.
Stmt replaced(const Stmt& seq, size_t at, Stmt next) {
  return ir::make<ir::Seq>(seq.loc(), [&](ir::Seq& n) {
    n.stmts = seq.as<ir::Seq>().stmts;
    n.stmts[at] = std::move(next);
  });
}

/// A copy of a tile that asks for each row some rows before it comes to it: the hardware follows a
/// row, but not from one to the next, and what the turn before has brought nearer may have left
/// the second-level cache again.
Stmt with_rows_ahead(const ir::Copy& copy) {
  constexpr int64_t kRows = 4;
  Region ahead = copy.src;
  Expr& row = ahead.begin[ahead.begin.size() - 2];
  row = ir::add(row, ir::index(kRows));
  return with_prefetch<ir::Copy>(Stmt(&copy), {ahead});
}

Stmt plan_loop(const ir::For& loop, const Stmt& body) {
  const auto* seq = body.try_as<ir::Seq>();
  if (seq == nullptr) return body;
  const auto is_gemm = [](const Stmt& s) { return s.is<ir::Gemm>(); };
  const auto gemm = std::find_if(seq->stmts.begin(), seq->stmts.end(), is_gemm);
  if (gemm == seq->stmts.end()) return body;
  const auto tiles = tiles_of_next(seq->stmts, loop.var, loop.step);
  if (tiles.empty()) return body;
  return ir::make<ir::Seq>(seq->loc, [&](ir::Seq& n) {
    n.stmts = seq->stmts;
    n.stmts[gemm - seq->stmts.begin()] = with_prefetch<ir::Gemm>(*gemm, tiles);
    for (Stmt& s : n.stmts) {
      const auto* copy = s.try_as<ir::Copy>();
      if (copy != nullptr && is_tile_of_rows(*copy)) s = with_rows_ahead(*copy);
    }
  });
}

Stmt plan_block(const ir::Launch& launch, const Stmt& body) {
  const auto* seq = body.try_as<ir::Seq>();
  if (seq == nullptr) return body;
  const auto carrier = carrier_of(seq->stmts);
  const auto tiles = tiles_of_next(seq->stmts, launch.block_vars[0], ir::index(1));
  if (!carrier || tiles.empty()) return body;
  const Stmt& plain = seq->stmts[*carrier];
  return replaced(body, *carrier,
                  plain.is<ir::Copy>() ? with_prefetch<ir::Copy>(plain, tiles)
                                       : with_prefetch<ir::Parallel>(plain, tiles));
}

}  // namespace

ir::Program plan_prefetch(const ir::Program& program) {
  return ir::rewrite(
      program,
      [](auto& self, const ir::For& loop) -> Stmt {
        const Stmt inner = self.rebuild(loop);
        const Stmt body = plan_loop(loop, inner.as<ir::For>().body);
        if (body.same_as(inner.as<ir::For>().body)) return inner;
        return ir::make<ir::For>(inner.loc(), [&](ir::For& n) {
          n = inner.as<ir::For>();
          n.body = body;
        });
      },
      [](auto& self, const ir::Launch& launch) -> Stmt {
        const Stmt inner = self.rebuild(launch);
        const Stmt body = plan_block(launch, inner.as<ir::Launch>().body);
        if (body.same_as(inner.as<ir::Launch>().body)) return inner;
        return ir::make<ir::Launch>(inner.loc(), [&](ir::Launch& n) {
          n = inner.as<ir::Launch>();
          n.body = body;
        });
      });
}

}  // namespace tw::pass
