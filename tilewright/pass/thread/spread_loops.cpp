#include "tilewright/pass/thread/spread_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/owner.h"
#include "tilewright/layout/parse.h"
#include "tilewright/layout/query.h"
#include "tilewright/pass/linear.h"
#include "tilewright/pass/thread/index_layout.h"
#include "tilewright/pass/thread/lower_threads.h"
#include "tilewright/pass/thread/plan_box.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using layout::Coords;
using layout::Fragment;
using layout::Layout;

/// Boxes up to this size may be compared element by element.
constexpr int64_t kLimitOfTrying = 1 << 14;
/// Registers that the elements of one box may take in a thread before more threads are used.
constexpr int64_t kSlotsPerThread = 64;

bool is_distributed(const Buffer& buffer) {
  return buffer.space() == ir::MemSpace::fragment || buffer.space() == ir::MemSpace::local;
}

struct Use {
  Buffer buffer;
  std::vector<Expr> indices;
  bool write;
  bool for_memory = false;  // read for a store to memory, which copies of an iteration leave out
};

/// A parallel loop, a reduction or a scan, and what it uses.
struct Op {
  Stmt stmt;
  std::vector<ir::Var> vars;  // of a loop
  Coords box;
  std::vector<Use> uses;  // of distributed buffers
  std::vector<Use> in_memory;
  std::optional<Fragment> map;
  /// One thread has an iteration: to it goes the result of an atomic, or what it reads and writes
  /// of memory, where copies of the iteration would read what one of them may have written.
  bool once = false;
  bool is_loop() const { return stmt.is<ir::Parallel>(); }
  bool writes_registers() const {
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.write; });
  }
  /// Whether all copies of an iteration, which there are where it writes registers, read memory
  /// that one of them writes.
  bool copies_conflict() const {
    const auto is_written = [&](const Buffer& memory) {
      return std::any_of(in_memory.begin(), in_memory.end(), [&](const Use& use) {
        return use.write && use.buffer.root().same_as(memory.root());
      });
    };
    return writes_registers() &&
           std::any_of(in_memory.begin(), in_memory.end(), [&](const Use& use) {
             return !use.write && !use.for_memory && is_written(use.buffer);
           });
  }
};

/// The operations of a launch in program order, its distributed buffers, and those that can't be.
class Collect : public ir::Visitor {
 public:
  explicit Collect(const Stmt& launch) : code_(launch) { Collect::visit(launch); }

  std::vector<Op> ops;
  std::map<Buffer, int, ir::ById> depth;  // of the allocation: 0 at the level of the block
  std::map<Buffer, const char*, ir::ById> demoted;  // to shared memory, and why
  std::vector<Use> outside;                         // uses at the level of the block
  std::vector<Buffer> finalized;                    // results of reducers: all threads have them

  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) {
      depth[alloc->buffer] = loop_ == nullptr ? 0 : 1;
      if (alloc->buffer->view_of && is_distributed(alloc->buffer.root()) &&
          !code_.is_own(alloc->buffer)) {
        demoted.emplace(alloc->buffer.root(), "it has views");
      }
    } else if (const auto* let = stmt.try_as<ir::Let>(); let != nullptr && loop_ != nullptr) {
      children(stmt);
      values_[let->var] = ir::has_load(let->value) ? Expr(let->var) : resolved(let->value);
      return;
    } else if (const auto* loop = stmt.try_as<ir::Parallel>()) {
      Op op{stmt, loop->vars, {}, {}, {}, {}, false};
      for (const Expr& e : loop->extents) op.box.push_back(*ir::as_int(e));
      if (!loop->layout.empty()) op.map = layout::parse_fragment(loop->layout);
      loop_ = &op;
      children(stmt);
      loop_ = nullptr;
      op.once |= op.copies_conflict();
      ops.push_back(std::move(op));
      return;
    } else if (stmt.is<ir::Reduce>() || stmt.is<ir::Scan>()) {
      ops.push_back({stmt, {}, {}, {}, {}, {}, false});
      return;
    } else if (const auto* end = stmt.try_as<ir::ReducerFinalize>()) {
      finalized.push_back(end->dst.buffer);
    } else if (const auto* store = stmt.try_as<ir::Store>()) {
      use({store->buffer, store->indices, true});
      for_memory_ = !is_distributed(store->buffer);
      children(stmt);
      for_memory_ = false;
      return;
    } else if (const auto* atomic = stmt.try_as<ir::Atomic>()) {
      use({atomic->buffer, atomic->indices, true});
      if (atomic->result && loop_ != nullptr) loop_->once = true;
      if (is_distributed(atomic->buffer))
        demoted.emplace(atomic->buffer, "it is updated atomically");
    } else if (const auto* print = stmt.try_as<ir::Print>(); print != nullptr && print->buffer) {
      if (is_distributed(print->buffer)) demoted.emplace(print->buffer.root(), "it is printed");
    }
    children(stmt);
  }
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) {
      use({load->buffer, load->indices, false, for_memory_});
    }
    children(expr);
  }

 private:
  Expr resolved(const Expr& expr) const { return ir::substitute(expr, values_); }
  void use(Use u) {
    for (Expr& index : u.indices) index = resolved(index);
    if (code_.is_own(u.buffer)) return;  // an array of the thread
    const bool own = is_distributed(u.buffer);
    if (own && depth[u.buffer] > 0) return;  // an array of the iteration
    if (loop_ == nullptr) {
      if (own) outside.push_back(std::move(u));
    } else {
      (own ? loop_->uses : loop_->in_memory).push_back(std::move(u));
    }
  }

  const ThreadCode code_;
  Op* loop_ = nullptr;
  bool for_memory_ = false;
  ir::Substitution values_;
};

// ---- inference -------------------------------------------------------------------------------

class Inference {
 public:
  Inference(Collect& collected, int64_t threads) : all_(collected), threads_(threads) {}

  /// Decides all; the buffers that turned out not to be distributable are in `demoted`.
  void run() {
    for (const Buffer& buffer : all_.finalized) {
      Coords shape;
      for (int d = 0; d < buffer.rank(); ++d) shape.push_back(buffer.extent(d));
      fragments_.emplace(buffer, layout::fully_replicated(shape, threads_));
    }
    for (Op& op : all_.ops) {
      if (op.map) spread(op);
    }
    propagate();
    while (Op* op = next_root()) {
      plan(*op);
      spread(*op);
      propagate();
    }
    check();
  }

  const std::map<Buffer, Fragment, ir::ById>& fragments() const { return fragments_; }

 private:
  /// The undecided loop to plan next: one that waits for no reduction, moves between memory and
  /// registers, and has the largest box; the first of several.
  Op* next_root() {
    const auto weight = [&](const Op& op) {
      const bool waits = std::any_of(op.uses.begin(), op.uses.end(), [&](const Use& use) {
        return is_result(use.buffer) && !fragments_.contains(use.buffer);
      });
      return std::tuple(!waits, !op.in_memory.empty() && !op.uses.empty(), layout::product(op.box));
    };
    Op* best = nullptr;
    for (Op& op : all_.ops) {
      if (!op.is_loop() || op.map) continue;
      if (best == nullptr || weight(op) > weight(*best)) best = &op;
    }
    return best;
  }
  /// Whether a reduction makes it, which alone decides where it is.
  bool is_result(const Buffer& buffer) const {
    return std::any_of(all_.ops.begin(), all_.ops.end(), [&](const Op& op) {
      const auto* reduce = op.stmt.try_as<ir::Reduce>();
      return reduce != nullptr && reduce->dst.buffer.same_as(buffer);
    });
  }
  bool is_shared(const Buffer& buffer) const { return all_.demoted.contains(buffer.root()); }

  void plan(Op& op) {
    int fast = static_cast<int>(op.box.size()) - 1;
    int64_t bits = 8;
    bool found = false;
    const auto look = [&](const Use& use) {
      if (use.indices.empty()) return;
      const Linear last = Linear::of(use.indices.back());
      for (size_t d = 0; d < op.vars.size(); ++d) {
        if (last.coefficient_of(op.vars[d]) != 1 || op.box[d] == 1) continue;
        if (!found || use.write) fast = static_cast<int>(d);
        found = true;
        bits = std::max<int64_t>(bits, use.buffer.dtype().bits());
      }
    };
    for (const Use& use : op.in_memory) look(use);
    if (!found) {
      for (const Use& use : op.uses) look(use);
    }
    int64_t run = found ? 128 / bits : 1;
    if (found && is_stored_narrower(op, bits) &&
        layout::product(op.box) % (2 * run * threads_) == 0)
      run *= 2;
    op.map = plan_box(op.box, threads_, run, fast, folds_in_warps(op, fast) ? kWarp : threads_,
                      scanned_by(op));
    if (op.once) op.map = layout::dereplicate(*op.map);
  }

  /// Whether a tile of as many elements as are loaded is stored with fewer bits each: two vectors
  /// that are neighbors then make one.
  bool is_stored_narrower(const Op& op, int64_t bits) const {
    return std::any_of(all_.ops.begin(), all_.ops.end(), [&](const Op& other) {
      return layout::product(other.box) == layout::product(op.box) &&
             std::any_of(other.in_memory.begin(), other.in_memory.end(), [&](const Use& use) {
               return use.write && use.buffer.dtype().bits() < bits;
             });
    });
  }

  /// Whether what is written is then folded along that index, and there is a fold for each warp:
  /// then none of them needs to cross warps.
  bool folds_in_warps(const Op& op, int index) const {
    const int64_t others = layout::product(op.box) / op.box[static_cast<size_t>(index)];
    if (threads_ <= kWarp || threads_ % kWarp != 0 || others % (threads_ / kWarp) != 0)
      return false;
    return along(op, index) != Along::nothing;
  }

  /// What is done along an index with what is written.
  enum class Along { nothing, fold, scan };
  Along along(const Op& op, int index) const {
    for (const Op& reader : all_.ops) {
      const auto* reduce = reader.stmt.try_as<ir::Reduce>();
      const auto* scan = reader.stmt.try_as<ir::Scan>();
      if (reduce == nullptr && scan == nullptr) continue;
      const Buffer& read = scan != nullptr ? scan->src.buffer : reduce->src.buffer;
      for (const Use& use : op.uses) {
        if (!use.write || !read.same_as(use.buffer)) continue;
        for (const int64_t d : scan != nullptr ? std::vector{scan->dim} : reduce->dims) {
          if (!uses(use.indices[static_cast<size_t>(d)], op.vars[static_cast<size_t>(index)]))
            continue;
          return scan != nullptr ? Along::scan : Along::fold;
        }
      }
    }
    return Along::nothing;
  }
  /// The index along which what is written is scanned, or -1.
  int scanned_by(const Op& op) const {
    int index = static_cast<int>(op.vars.size()) - 1;
    while (index >= 0 && along(op, index) != Along::scan) --index;
    return index;
  }

  static std::optional<Layout> index_of(const Op& op, const Use& use) {
    return index_layout(use.indices, op.vars, op.map->shape());
  }

  /// What a decided operation says of the buffers that it uses.
  void spread(Op& op) {
    if (op.map->shape().size() != op.box.size()) return;
    for (const bool writes : {true, false}) {
      for (const Use& use : op.uses) {
        if (use.write != writes || is_shared(use.buffer) || fragments_.contains(use.buffer) ||
            is_result(use.buffer)) {
          continue;
        }
        const auto index = index_of(op, use);
        const auto fragment = index ? layout::derive(*op.map, *index) : std::nullopt;
        if (fragment) decide(use.buffer, *fragment);
      }
    }
  }
  void decide(const Buffer& buffer, const Fragment& fragment) {
    for (int d = 0; d < buffer.rank(); ++d) {
      if (fragment.shape()[static_cast<size_t>(d)] < buffer.extent(d)) return;  // only a part of it
    }
    fragments_.emplace(buffer, fragment);
    changed_ = true;
  }

  /// The map of a loop in which each iteration runs where its element is; empty if the loop doesn't
  /// use the buffer one to one.
  static std::optional<Fragment> pulled_back(const Op& op, const Use& use, const Fragment& of) {
    if (const auto map = pulled_back(op, use, of, op.box)) return map;
    Coords box(op.vars.size(), 0);
    for (int d = 0; d < use.buffer.rank(); ++d) {
      for (size_t v = 0; v < op.vars.size(); ++v) {
        if (use.indices[static_cast<size_t>(d)].same_as(op.vars[v])) {
          box[v] = of.shape()[static_cast<size_t>(d)];
        }
      }
    }
    for (size_t v = 0; v < box.size(); ++v) {
      if (box[v] < op.box[v] && (box[v] != 0 || op.box[v] != 1)) return std::nullopt;
      if (box[v] == 0) box[v] = 1;
    }
    return pulled_back(op, use, of, box);
  }
  static std::optional<Fragment> pulled_back(const Op& op, const Use& use, const Fragment& of,
                                             const Coords& box) {
    const auto index = index_layout(use.indices, op.vars, box);
    if (!index || index->extents() != of.shape() || !layout::is_bijective(*index)) {
      return std::nullopt;
    }
    Coords shape = box, extents = of.shape();
    shape.push_back(of.replicas());
    extents.push_back(of.replicas());
    std::vector<layout::Term> terms = index->terms();
    if (of.replicas() > 1) {
      terms.push_back({{{static_cast<int>(box.size()), 1}}, of.replicas(), of.rank(), 1});
    }
    const auto map = layout::compose(Layout(shape, std::move(terms), extents), of.map());
    if (!map) return std::nullopt;
    return Fragment(*map);
  }

  void propagate() {
    do {
      changed_ = false;
      for (Op& op : all_.ops) {
        if (op.is_loop()) propagate_loop(op);
        if (const auto* reduce = op.stmt.try_as<ir::Reduce>()) propagate_reduce(*reduce);
      }
    } while (changed_);
  }
  void propagate_loop(Op& op) {
    if (op.map) return spread(op);
    for (const bool writes : {true, false}) {
      for (const Use& use : op.uses) {
        const auto known = fragments_.find(use.buffer);
        if (use.write != writes || known == fragments_.end()) continue;
        op.map = pulled_back(op, use, known->second);
        if (op.map && op.once && op.map->replicas() > 1) op.map.reset();
        if (op.map) {
          changed_ = true;
          return spread(op);
        }
      }
    }
  }
  void propagate_reduce(const ir::Reduce& reduce) {
    const auto src = fragments_.find(reduce.src.buffer);
    if (src == fragments_.end() || fragments_.contains(reduce.dst.buffer)) return;
    if (const auto dst = reduced(src->second, reduce.dims)) decide(reduce.dst.buffer, *dst);
  }
  static std::optional<Fragment> reduced(const Fragment& src, const std::vector<int64_t>& dims) {
    const Coords shape = src.shape();
    Coords extents = shape;
    std::vector<layout::Term> terms;
    for (int d = 0; d < src.rank(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) {
        extents[static_cast<size_t>(d)] = 1;
      } else if (extents[static_cast<size_t>(d)] > 1) {
        terms.push_back({{{d, 1}}, extents[static_cast<size_t>(d)], d, 1});
      }
    }
    return layout::derive(src, Layout(shape, std::move(terms), extents));
  }

  // ---- legality (language 17.3) ----
  void check() {
    for (const Op& op : all_.ops) {
      if (const auto* reduce = op.stmt.try_as<ir::Reduce>()) check_reduce(*reduce);
      if (const auto* scan = op.stmt.try_as<ir::Scan>()) check_scan(*scan);
      for (const Use& use : op.uses) {
        if (is_shared(use.buffer) || is_own(op, use)) continue;
        all_.demoted.emplace(use.buffer.root(), use.write ? "threads write elements of others"
                                                          : "threads read elements of others");
      }
    }
    for (const Use& use : all_.outside) {
      const auto known = fragments_.find(use.buffer);
      const bool everywhere =
          !use.write && known != fragments_.end() && is_everywhere(known->second);
      if (is_shared(use.buffer) || everywhere) continue;
      all_.demoted.emplace(use.buffer.root(), "it is used outside of parallel loops");
    }
  }
  bool is_everywhere(const Fragment& fragment) const {
    return layout::same_owners(fragment, layout::fully_replicated(fragment.shape(), threads_));
  }
  bool is_own(const Op& op, const Use& use) const {
    const auto known = fragments_.find(use.buffer);
    if (known == fragments_.end()) return false;
    const Fragment& own = known->second;
    if (!use.write && is_everywhere(own)) return true;
    const auto index = index_of(op, use);
    if (!index) return !use.write && is_in_own_run(op, use, own);
    for (size_t d = 0; d < index->extents().size(); ++d) {
      if (index->extents()[d] > own.shape()[d]) return false;
    }
    const auto derived = layout::derive(*op.map, *index);
    if (derived && layout::same_owners(*derived, own)) return true;
    const int64_t work = index->size() * (op.map->replicas() + own.replicas());
    if (work > kLimitOfTrying) return false;
    return use.write ? layout::writes_own(*op.map, own, *index)
                     : layout::reads_own(*op.map, own, *index);
  }
  /// Whether a read at i * 8 + 3, say, is of the thread's own for all numbers from 0 to 7 in the
  /// place of 3: then it is.
  static bool is_in_own_run(const Op& op, const Use& use, const Fragment& own) {
    Op all{op.stmt, op.vars, op.box, {}, {}, op.map, op.once};
    Use any = use;
    for (Expr& index : any.indices) {
      const Linear sum = Linear::of(index);
      if (sum.overflowed || sum.constant < 0) return false;
      if (sum.constant == 0) continue;
      int64_t run = INT64_MAX;
      for (const Linear::Term& term : sum.terms) run = std::min(run, term.coefficient);
      if (sum.terms.empty()) run = sum.constant + 1;
      if (sum.constant >= run) return false;
      all.vars.push_back(ir::Var::make("c", i64));
      all.map = repeated(*all.map, run);
      Linear without = sum;
      without.constant = 0;
      index = ir::add(without.to_expr(), all.vars.back());
    }
    const auto index = index_of(all, any);
    if (!index) return false;
    for (size_t d = 0; d < index->extents().size(); ++d) {
      if (index->extents()[d] > own.shape()[d]) return false;
    }
    return index->size() * (all.map->replicas() + own.replicas()) <= kLimitOfTrying &&
           layout::reads_own(*all.map, own, *index);
  }
  /// The map of a loop around which each thread makes `count` turns, as one more index.
  static Fragment repeated(const Fragment& map, int64_t count) {
    std::vector<layout::Term> terms = map.map().terms();
    const int last = map.rank();
    for (layout::Term& term : terms) {
      for (layout::Source& source : term.sources) {
        if (source.dim == last) ++source.dim;
      }
    }
    Coords shape = map.shape(), extents = map.map().extents();
    shape.push_back(count);
    shape.push_back(map.replicas());
    terms.push_back({{{last, 1}}, count, kSlot, extents[kSlot]});
    extents[kSlot] *= count;
    return Fragment(Layout(shape, std::move(terms), extents));
  }
  void check_reduce(const ir::Reduce& reduce) {
    const auto src = fragments_.find(reduce.src.buffer), dst = fragments_.find(reduce.dst.buffer);
    if (src == fragments_.end() || src->second.threads() < threads_) {
      all_.demoted.emplace(reduce.src.buffer.root(), "not all threads hold a part of it");
    } else {
      TW_CHECK(dst != fragments_.end(), "no fragment of {} along {}", src->second, reduce.dims);
    }
  }

  void check_scan(const ir::Scan& scan) {
    const auto line = fragments_.find(scan.dst.buffer);
    if (line == fragments_.end() || line->second.threads() < threads_) {
      all_.demoted.emplace(scan.dst.buffer.root(), "not all threads hold a part of it");
    } else if (!can_scan(line->second, scan.dim, threads_)) {
      all_.demoted.emplace(scan.dst.buffer.root(), "its layout mixes lines of a scan");
    }
  }

  Collect& all_;
  int64_t threads_;
  std::map<Buffer, Fragment, ir::ById> fragments_;
  bool changed_ = false;
};

// ---- rewriting -------------------------------------------------------------------------------

/// Moves buffers to shared memory. A reduction of one gets a fragment of its own to read, one into
/// one a fragment of its own to write, a scan of one a fragment in which it is done.
class Demote : public ir::Rewriter {
 public:
  explicit Demote(const std::map<Buffer, const char*, ir::ById>& demoted) : demoted_(demoted) {}
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* reduce = stmt.try_as<ir::Reduce>()) return staged(*reduce);
    if (const auto* scan = stmt.try_as<ir::Scan>()) return staged(*scan);
    return children(stmt);
  }

 private:
  Stmt staged(const ir::Reduce& reduce) {
    const auto moves = [&](const Buffer& b) { return demoted_.contains(b.root()); };
    const Buffer src = rewrite(reduce.src.buffer), dst = rewrite(reduce.dst.buffer);
    const Buffer read = moves(reduce.src.buffer) ? fragment_like(src) : src;
    const Buffer written = moves(reduce.dst.buffer) ? fragment_like(dst) : dst;
    std::vector<Stmt> stmts;
    if (!read.same_as(src)) {
      stmts.push_back(ir::alloc(read));
      stmts.push_back(copy(src, read, reduce.loc));
    }
    if (!written.same_as(dst)) stmts.push_back(ir::alloc(written));
    stmts.push_back(ir::make<ir::Reduce>(reduce.loc, [&](ir::Reduce& r) {
      r = reduce;
      r.src = ir::Region::whole(read);
      r.dst = ir::Region::whole(written);
    }));
    if (!written.same_as(dst)) stmts.push_back(copy(written, dst, reduce.loc));
    return ir::make<ir::Seq>(reduce.loc, [&](ir::Seq& s) { s.stmts = std::move(stmts); });
  }
  Stmt staged(const ir::Scan& scan) {
    const Buffer line = rewrite(scan.dst.buffer);
    if (!demoted_.contains(scan.dst.buffer.root())) return Stmt(&scan);
    const Buffer held = fragment_like(line);
    const Stmt inside = ir::make<ir::Scan>(scan.loc, [&](ir::Scan& s) {
      s = scan;
      s.src = s.dst = ir::Region::whole(held);
    });
    return ir::seq(
        {ir::alloc(held), copy(line, held, scan.loc), inside, copy(held, line, scan.loc)});
  }
  static Buffer fragment_like(const Buffer& buffer) {
    return ir::make_buffer(buffer.name(), buffer.dtype(), ir::MemSpace::fragment, buffer.shape());
  }
  static Stmt copy(const Buffer& from, const Buffer& to, SourceLoc where) {
    return ir::make<ir::Parallel>(where, [&](ir::Parallel& n) {
      std::vector<Expr> at;
      for (int d = 0; d < from.rank(); ++d) {
        n.vars.push_back(ir::Var::make(std::string(1, static_cast<char>('i' + d % 8)), i64));
        at.push_back(n.vars.back());
      }
      n.extents = from.shape();
      n.body = ir::store(to, at, ir::load(from, at));
    });
  }

 protected:
  Buffer rewrite_declaration(const Buffer& buffer) override {
    const Buffer next = declaration_children(buffer);
    if (!is_distributed(buffer) || !demoted_.contains(buffer.root())) return next;
    return ir::make<ir::BufferNode>(buffer.loc(), [&](ir::BufferNode& n) {
      n = *next.get();
      n.space = ir::MemSpace::shared;
    });
  }

 private:
  const std::map<Buffer, const char*, ir::ById>& demoted_;
};

Stmt annotate(const Stmt& launch, const Collect& all,
              const std::map<Buffer, Fragment, ir::ById>& fragments, int64_t threads) {
  std::map<const ir::Node*, const Op*> ops;
  for (const Op& op : all.ops) ops[op.stmt.get()] = &op;
  return ir::rewrite(
      launch,
      [&](auto& self, const ir::Launch& n) -> Stmt {
        return ir::make<ir::Launch>(n.loc, [&](ir::Launch& l) {
          l = n;
          l.threads = {threads};
          l.body = self(n.body);
        });
      },
      [&](auto&, const ir::Parallel& n) -> Stmt {
        return ir::make<ir::Parallel>(n.loc, [&](ir::Parallel& p) {
          p = n;
          p.layout = layout::to_text(*ops.at(&n)->map);
        });
      },
      [&](auto&, const ir::Alloc& n) -> Stmt {
        const auto known = fragments.find(n.buffer);
        if (known == fragments.end()) return Stmt(&n);
        return ir::alloc(n.buffer, n.initial, layout::to_text(known->second));
      });
}

/// As many threads as the largest box keeps busy with at most kSlotsPerThread elements each.
int64_t threads_for(const ir::Launch& launch, const Collect& all) {
  if (!launch.threads.empty()) return layout::product(launch.threads);
  int64_t elements = 1;
  for (const Op& op : all.ops) {
    if (op.is_loop()) elements = std::max(elements, layout::product(op.box));
  }
  int64_t threads = 32;
  while (threads < 128 && threads * 8 < elements) threads *= 2;
  while (threads < 1024 && threads * kSlotsPerThread < elements) threads *= 2;
  return threads;
}

/// Where the author wrote the buffer, or the first operation that uses it.
SourceLoc place_of(const Buffer& buffer, const Collect& all) {
  if (buffer.loc().known()) return buffer.loc();
  for (const Op& op : all.ops) {
    const auto* reduce = op.stmt.try_as<ir::Reduce>();
    if (reduce != nullptr ? reduce->dst.buffer.root().same_as(buffer)
                          : std::any_of(op.uses.begin(), op.uses.end(), [&](const Use& use) {
                              return use.buffer.root().same_as(buffer);
                            })) {
      return op.stmt.loc();
    }
  }
  return {};
}

void remark(const Collect& all, const Inference& inference, int64_t threads, Remarks& remarks) {
  std::vector<Remark> found;  // in an order of their own: that of the maps is none
  for (const auto& [buffer, why] : all.demoted) {
    found.push_back({place_of(buffer, all), format("{}: in shared memory", buffer.name()), why});
  }
  for (const auto& [buffer, fragment] : inference.fragments()) {
    if (!all.demoted.empty()) break;  // not final
    found.push_back(
        {place_of(buffer, all),
         format("{}: {} in registers of {} threads, {} each{}", buffer.name(), buffer.dtype(),
                threads, fragment.slots(),
                fragment.replicas() > 1 ? format(", {} copies", fragment.replicas()) : ""),
         {}});
  }
  std::sort(found.begin(), found.end(),
            [](const Remark& a, const Remark& b) { return a.what < b.what; });
  for (Remark& each : found) remarks.add(std::move(each));
}

Stmt spread_launch(Stmt launch, Remarks* remarks) {
  for (;;) {
    Collect all(launch);
    const size_t known = all.demoted.size();
    const int64_t threads = threads_for(launch.as<ir::Launch>(), all);
    Inference inference(all, threads);
    if (known == 0) inference.run();
    if (remarks != nullptr) remark(all, inference, threads, *remarks);
    if (all.demoted.empty()) return annotate(launch, all, inference.fragments(), threads);
    launch = Demote(all.demoted).rewrite(launch);
  }
}

}  // namespace

ir::Program spread_loops(const ir::Program& program, Remarks* remarks) {
  ir::Program result = program;
  for (Stmt& launch : result.launches) launch = spread_launch(launch, remarks);
  return result;
}

}  // namespace tw::pass
