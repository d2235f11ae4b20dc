// Loads and stores of neighbors as vectors of up to 16 bytes (language 20.1).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/linear.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/thread/lower_threads.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;

constexpr int64_t kVectorBits = 128;

bool is_memory(const Buffer& buffer) {
  return is_tensor(buffer) || buffer.space() == ir::MemSpace::shared;
}

/// Whether it accesses arrays that are registers only where every index is known.
bool uses_registers(const Stmt& body) {
  bool found = false;
  const auto look = [&](const Buffer& b) {
    found = found || b.root().space() == ir::MemSpace::local;
  };
  ir::for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) look(store->buffer);
  });
  ir::for_each_expr(body, [&](const Expr& e) {
    if (const auto* load = e.try_as<ir::Load>()) look(load->buffer);
  });
  return found;
}

/// Whether what `body` stores to can't change the expression: it reads only registers, others.
bool is_settled(const Expr& e, const Stmt& body) {
  return !ir::contains(e, [&](const Expr& inner) {
    const auto* load = inner.try_as<ir::Load>();
    if (load == nullptr) return false;
    const Buffer& root = load->buffer.root();
    bool changes = root.space() != ir::MemSpace::local;
    ir::for_each_stmt(body, [&](const Stmt& s) {
      const auto* store = s.try_as<ir::Store>();
      changes = changes || (store != nullptr && store->buffer.root().same_as(root));
    });
    return changes;
  });
}

bool is_zero(const Expr& e) {
  const auto* c = e.try_as<ir::Const>();
  return c != nullptr && c->i == 0 && c->f == 0 && !std::signbit(c->f);
}

class Vectorize {
 public:
  Vectorize(const Var& v, int64_t width, bool async, const Bounds& bounds, VectorNeeds& needs)
      : v_(v), width_(width), async_(async), bounds_(bounds), needs_(needs) {}

  /// Notes how `lowered`, which is what became of the body, accesses memory.
  void remark(const Stmt& lowered, const VectorPlace& place) const;

  Stmt run(const Stmt& body) {
    // A condition that is the same for all neighbors goes around them; one that isn't chooses
    // between all of them and one by one.
    if (const auto* branch = body.try_as<ir::If>(); branch != nullptr && !branch->else_body) {
      if (!uses(branch->cond, v_) && is_settled(branch->cond, branch->then_body)) {
        return ir::if_(branch->cond, run(branch->then_body));
      }
      if (ir::has_load(branch->cond)) return one_by_one(body, "their condition reads memory");
      const Expr all = needs_.allowed ? for_all(branch->cond) : Expr();
      if (!all) return one_by_one(body, "their condition is not linear in the index");
      // The few at an edge needn't be fast, but small: code is compiled and held in a cache.
      const ir::LoopKind kind =
          uses_registers(body) ? ir::LoopKind::unrolled : ir::LoopKind::serial;
      const Stmt few = one_by_one(ir::with_fresh_bindings(body), kEdge, kind);
      return ir::if_(all, run(branch->then_body), ir::if_(for_some(branch->cond), few));
    }
    // Statements that share no values run one after the other, each for all neighbors.
    if (const auto* seq = body.try_as<ir::Seq>()) {
      if (seq->stmts.empty()) return body;
      if (seq->stmts.size() == 1) return run(seq->stmts[0]);
      if (const Stmt within = lets_within(*seq)) return run(within);
      // Values that one store is made of.
      const bool values = std::all_of(seq->stmts.begin(), seq->stmts.end() - 1,
                                      [](const Stmt& s) { return s.is<ir::Let>(); });
      if (values && seq->stmts.back().is<ir::Store>()) {
        return vectors_of({seq->stmts.begin(), seq->stmts.end() - 1},
                          seq->stmts.back().as<ir::Store>());
      }
      const bool apart = std::all_of(seq->stmts.begin(), seq->stmts.end(), [](const Stmt& s) {
        return s.is<ir::Store>() && !is_memory(s.as<ir::Store>().buffer.root());
      });
      if (!apart) {
        const bool loops = std::any_of(seq->stmts.begin(), seq->stmts.end(), [](const Stmt& s) {
          return s.is<ir::For>() || s.is<ir::While>();
        });
        return one_by_one(body, loops ? "each neighbor has a loop of its own"
                                      : "several statements share values");
      }
      std::vector<Stmt> stmts;
      for (const Stmt& s : seq->stmts) stmts.push_back(run(s));
      return ir::seq(std::move(stmts));
    }
    if (const auto* atomic = body.try_as<ir::Atomic>(); atomic != nullptr && width_ > 1) {
      return sums(*atomic);
    }
    const auto* store = body.try_as<ir::Store>();
    if (store == nullptr) return one_by_one(body, "it is no plain store");
    const Stmt by_engine = async_ ? async_copy(*store) : Stmt();
    if (by_engine) return by_engine;
    if (width_ == 1) return body;
    const Stmt moved = copy(*store);
    return moved ? moved : vectors_of({}, *store);
  }

 private:
  static constexpr const char* kEdge = "some neighbors are outside";

  /// Values that only a guarded statement behind them needs, inside its guard; null for anything
  /// else.
  static Stmt lets_within(const ir::Seq& seq) {
    const auto* branch = seq.stmts.back().try_as<ir::If>();
    if (branch == nullptr || branch->else_body || ir::has_load(branch->cond)) return {};
    std::vector<Stmt> inside(seq.stmts.begin(), seq.stmts.end() - 1);
    for (const Stmt& s : inside) {
      const auto* let = s.try_as<ir::Let>();
      if (let == nullptr || uses(branch->cond, let->var)) return {};
    }
    inside.push_back(branch->then_body);
    return ir::if_(branch->cond, ir::seq(std::move(inside)));
  }

  Stmt one_by_one(const Stmt& body, const char* why,
                  ir::LoopKind kind = ir::LoopKind::unrolled) const {
    if (width_ == 1) return body;
    const Var v = Var::make("v", i64);
    const Stmt each =
        ir::for_(v, ir::index(0), ir::index(width_), ir::substitute(body, {{v_, v}}), kind);
    if (needs_.remarks != nullptr && why != nullptr) apart_.emplace_back(each, why);
    return each;
  }

  /// What a conjunction of linear comparisons says of the neighbor for which each of them is
  /// hardest to meet, or easiest: whether all of them meet it, or whether some may. Null where the
  /// condition is no such.
  Expr at_end(const Expr& cond, bool hardest) const {
    const auto* op = cond.try_as<ir::Op>();
    if (op == nullptr) return {};
    if (op->code == ir::OpCode::land) {
      const Expr a = at_end(op->args[0], hardest), b = at_end(op->args[1], hardest);
      return a && b ? ir::land(a, b) : Expr();
    }
    const bool below = op->code == ir::OpCode::lt || op->code == ir::OpCode::le;
    const bool above = op->code == ir::OpCode::gt || op->code == ir::OpCode::ge;
    if ((!below && !above) || op->args[0].dtype() != i64) return {};
    const auto left = Linear::of(op->args[0]).coefficient_of(v_);
    const auto right = Linear::of(op->args[1]).coefficient_of(v_);
    if (!left || !right) return {};
    const bool last = (below ? *left > *right : *left < *right) == hardest;
    return ir::substitute(cond, {{v_, ir::index(last ? width_ - 1 : 0)}});
  }
  Expr for_all(const Expr& cond) const { return at_end(cond, true); }
  Expr for_some(const Expr& cond) const { return at_end(cond, false); }

  /// Elements per access: a power of two that divides the width, or 1.
  int64_t run_of(const Buffer& buffer, const std::vector<Expr>& indices) const {
    if (!is_memory(buffer.root()) || indices.empty()) return 1;
    const auto because = [&](const auto& why) {
      if (needs_.remarks != nullptr) why_[buffer.root()] = why();
      return 1;
    };
    if (buffer->address) return because([] { return std::string("its address is not known"); });
    if (is_tensor(buffer.root()) && !needs_.allowed) return 1;
    if (buffer.dtype().is_sub_byte() && !is_tensor(buffer.root())) {
      return because([] { return std::string("other threads may write parts of its bytes"); });
    }
    for (size_t d = 0; d + 1 < indices.size(); ++d) {
      if (uses(indices[d], v_)) {
        return because([&] { return format("neighbors follow each other along dimension {}", d); });
      }
    }
    const std::vector<Expr> strides = ir::strides_of(buffer);
    if (!ir::is_int(strides.back(), 1)) {
      return because([&] { return format("its last stride is {}", ir::print(strides.back())); });
    }
    int64_t run = std::min(width_, kVectorBits / buffer.dtype().bits());
    if (Linear::of(indices.back()).coefficient_of(v_) != 1) {
      const int64_t wanted = run;
      run = contiguous(indices.back(), run);
      if (run < wanted) because([] { return std::string("its index is not contiguous"); });
    }
    const auto divides = [&](const Expr& e, const auto& what) {
      const ValueSet set = bounds_.values(e);
      const int64_t wanted = run;
      while (run > 1 && (set.modulus % run != 0 || set.remainder % run != 0)) run /= 2;
      if (run < wanted) {
        because([&] { return format("{} may be no multiple of {}", what(), wanted); });
      }
    };
    for (size_t d = 0; d + 1 < indices.size(); ++d) wish(strides[d], run);
    for (size_t d = 0; d < indices.size(); ++d) {
      const bool last = d + 1 == indices.size();
      divides(ir::mul(ir::substitute(indices[d], {{v_, ir::index(0)}}), strides[d]), [&] {
        return last ? "the first of its neighbors" : format("its stride {}", ir::print(strides[d]));
      });
    }
    if (buffer->offset) divides(buffer->offset, [] { return "its offset"; });
    return run;
  }

  /// How many neighbors, up to `run`, from each multiple of that on have indices that follow each
  /// other, though divisions hide it: (8 i + v) // 8 ^ c is the same for 0 <= v < 8.
  int64_t contiguous(const Expr& index, int64_t run) const {
    for (; run > 1; run /= 2) {
      Bounds bounds = bounds_;
      const Var part = Var::make("part", i64), v = Var::make("v", i64);
      bounds.bind(part, ir::index(0), ir::index(width_ / run));
      bounds.bind(v, ir::index(0), ir::index(run));
      const Expr place = ir::add(ir::mul(part, ir::index(run)), v);
      const Expr simple = simplify(ir::substitute(index, {{v_, place}}), bounds);
      if (Linear::of(simple).coefficient_of(v) == 1) return run;
    }
    return 1;
  }

  /// A size that is a stride would have to be a multiple of the access.
  void wish(const Expr& stride, int64_t run) const {
    if (!stride.is<ir::VarNode>()) return;
    const Expr condition = ir::eq(ir::floormod(stride, ir::index(run)), ir::index(0));
    if (bounds_.proves(condition)) return;
    const bool known =
        std::any_of(needs_.conditions.begin(), needs_.conditions.end(),
                    [&](const Expr& c) { return ir::structurally_equal(c, condition); });
    if (!known) needs_.conditions.push_back(condition);
  }

  /// Without indices, from the start of an array of registers.
  Stmt move(const Buffer& src, std::vector<Expr> src_index, const Buffer& dst,
            std::vector<Expr> dst_index, int64_t run, const ir::Store* store,
            ir::CopyFold fold = ir::CopyFold::none) const {
    // One access, or several one after the other.
    const Var part = Var::make("part", i64);
    const int64_t parts = width_ / run;
    const Expr from = parts == 1 ? ir::index(0) : ir::mul(part, ir::index(run));
    const auto place = [&](std::vector<Expr> index) {
      if (index.empty()) return std::vector<Expr>{from};
      return ir_indices(std::move(index), from);
    };
    const Stmt one = ir::make<ir::Move>({}, [&](ir::Move& n) {
      n.src = src;
      n.dst = dst;
      n.src_indices = place(std::move(src_index));
      n.dst_indices = place(std::move(dst_index));
      n.count = run;
      n.streaming = store != nullptr && store->streaming;
      n.fold = fold;
    });
    if (parts == 1) return one;
    return ir::for_(part, ir::index(0), ir::index(parts), one, ir::LoopKind::unrolled);
  }
  std::vector<Expr> ir_indices(std::vector<Expr> index, const Expr& v) const {
    for (Expr& e : index) e = ir::substitute(e, {{v_, v}});
    return index;
  }
  Buffer registers(const Buffer& like) const {
    return ir::make_buffer(like.name(), like.dtype(), ir::MemSpace::local,
                           std::vector<int64_t>{width_});
  }
  void require_alignment(const Buffer& buffer) const {
    const Buffer root = buffer.root();
    const bool known = std::any_of(needs_.aligned.begin(), needs_.aligned.end(),
                                   [&](const Buffer& b) { return b.same_as(root); });
    if (is_tensor(root) && !known) needs_.aligned.push_back(root);
  }

  /// Elements per access of registers that lie as the neighbors do; 1 where they don't.
  int64_t run_of_registers(const Buffer& buffer, const std::vector<Expr>& indices) const {
    if (buffer.space() != ir::MemSpace::local || buffer->view_of || indices.size() != 1) return 1;
    if (Linear::of(indices[0]).coefficient_of(v_) != 1) return 1;
    const ValueSet first = bounds_.values(ir::substitute(indices[0], {{v_, ir::index(0)}}));
    return first.modulus % width_ == 0 && first.remainder % width_ == 0 ? width_ : 1;
  }

  static bool is_guarded_load(const ir::Op& op) {
    return op.code == ir::OpCode::if_else && op.args[1].is<ir::Load>() &&
           op.args[2].is<ir::Const>() && !ir::has_load(op.args[0]);
  }
  /// Whether the guard is the same for all neighbors, too, whatever the store does.
  bool is_guarded(const ir::Op& op, const ir::Store& store) const {
    return op.code == ir::OpCode::if_else && op.args[1].is<ir::Load>() &&
           op.args[2].is<ir::Const>() && is_settled(op.args[0], Stmt(&store)) &&
           !uses(op.args[0], v_);
  }

  /// A copy between registers and memory moves without a detour; empty if it isn't one.
  Stmt copy(const ir::Store& store) {
    if (const auto* choice = store.value.try_as<ir::Op>();
        choice != nullptr && is_guarded(*choice, store)) {
      const auto with = [&](const Expr& value) {
        return ir::make<ir::Store>(store.loc, [&](ir::Store& n) {
          n = store;
          n.value = value;
        });
      };
      const Stmt moved = copy(with(choice->args[1]).as<ir::Store>());
      const Stmt other = one_by_one(with(choice->args[2]), nullptr);
      return moved ? ir::if_(choice->args[0], moved, other) : moved;
    }
    const auto* load = store.value.try_as<ir::Load>();
    if (load == nullptr || load->buffer.dtype() != store.buffer.dtype()) return {};
    if (is_memory(load->buffer.root()) == is_memory(store.buffer.root())) return {};
    const auto run = [&](const Buffer& buffer, const std::vector<Expr>& indices, bool unchecked) {
      if (!is_memory(buffer.root())) return run_of_registers(buffer, indices);
      return unchecked || !is_tensor(buffer.root()) ? run_of(buffer, indices) : 1;
    };
    const int64_t least = std::min(run(load->buffer, load->indices, load->unchecked),
                                   run(store.buffer, store.indices, store.unchecked));
    if (least < 2) return {};
    require_alignment(load->buffer);
    require_alignment(store.buffer);
    return move(load->buffer, load->indices, store.buffer, store.indices, least, &store);
  }

  /// A store that only moves neighbors from a tensor to shared memory, or zeros where a condition
  /// doesn't hold, as copies by an engine; null where it is none.
  Stmt async_copy(const ir::Store& store) const {
    Expr value = store.value, valid;
    if (const auto* op = value.try_as<ir::Op>();
        op != nullptr && is_guarded_load(*op) && !uses(op->args[0], v_) && is_zero(op->args[2])) {
      valid = op->args[0];
      value = op->args[1];
    }
    const auto* load = value.try_as<ir::Load>();
    if (load == nullptr || !is_tensor(load->buffer.root()) || !load->unchecked ||
        store.buffer.root().space() != ir::MemSpace::shared) {
      return {};
    }
    const int64_t run =
        std::min(run_of(load->buffer, load->indices), run_of(store.buffer, store.indices));
    const int64_t bits = run * store.buffer.dtype().bits();
    if (bits < 32 || bits > kVectorBits) return {};
    if (run > 1) require_alignment(load->buffer);
    const Var part = Var::make("part", i64);
    const int64_t parts = width_ / run;
    const Expr from = parts == 1 ? ir::index(0) : ir::mul(part, ir::index(run));
    const auto region = [&](const Buffer& buffer, const std::vector<Expr>& index) {
      ir::Region r{buffer, ir_indices(index, from), {}, true};
      r.extent.assign(index.size(), ir::index(1));
      r.extent.back() = ir::index(run);
      return r;
    };
    const Stmt one = ir::make<ir::AsyncCopy>(store.loc, [&](ir::AsyncCopy& n) {
      n.src = region(load->buffer, load->indices);
      n.dst = region(store.buffer, store.indices);
      n.valid = valid;
    });
    if (parts == 1) return one;
    return ir::for_(part, ir::index(0), ir::index(parts), one, ir::LoopKind::unrolled);
  }

  /// Sums that nobody asks the result of, as atomics of several neighbors (language 13).
  Stmt sums(const ir::Atomic& atomic) {
    const DType dtype = atomic.buffer.dtype();
    const bool has_vectors =
        atomic.op == ir::AtomicOp::add && !atomic.result &&
        atomic.order == ir::MemoryOrder::relaxed && atomic.scope == ir::AtomicScope::device &&
        is_tensor(atomic.buffer.root()) && (dtype == f32 || dtype == f16 || dtype == bf16);
    if (!has_vectors) return one_by_one(Stmt(&atomic), "its atomics have no vectors");
    if (run_of(atomic.buffer, atomic.indices) < 2) return one_by_one(Stmt(&atomic), nullptr);
    const Stmt store = ir::store(atomic.buffer, atomic.indices, atomic.value, true);
    return vectors_of({}, store.as<ir::Store>(), ir::CopyFold::add);
  }

  /// One store for all neighbors: loads of it and of the values before it as vectors first, then
  /// the values, then the store. With a fold there must be vectors of its target.
  Stmt vectors_of(const std::vector<Stmt>& lets, const ir::Store& store,
                  ir::CopyFold fold = ir::CopyFold::none) {
    std::vector<Stmt> before, after;
    std::vector<std::pair<Expr, Buffer>> loaded;
    std::vector<Var> own;  // values that differ between neighbors: not known before
    const auto is_own = [&](const Expr& e) {
      return std::any_of(own.begin(), own.end(), [&](const Var& var) { return uses(e, var); });
    };
    // Where `whole` fails, each has its own value; a null handle: it never does.
    const auto vector_load = [&](const Expr& e, const Expr& whole, const Expr& other) -> Expr {
      const auto& load = e.as<ir::Load>();
      if (is_own(e) || (whole && is_own(whole))) return {};
      const int64_t run = run_of(load.buffer, load.indices);
      if (run < 2 || (!load.unchecked && is_tensor(load.buffer.root()))) return {};
      for (const auto& [known, buffer] : loaded) {
        if (!whole && ir::structurally_equal(known, e)) return ir::load(buffer, {v_}, true);
      }
      const Buffer array = registers(load.buffer);
      before.push_back(ir::alloc(array));
      require_alignment(load.buffer);
      Stmt get = move(load.buffer, load.indices, array, {}, run, nullptr);
      if (whole) {
        get = ir::if_(whole, get, one_by_one(ir::store(array, {v_}, other, true), kEdge));
      } else {
        loaded.emplace_back(e, array);
      }
      before.push_back(get);
      return ir::load(array, {v_}, true);
    };
    const auto with_vectors = [&](const Expr& expr) {
      return ir::rewrite(
          expr,
          [&](auto& self, const ir::Load& n) -> Expr {
            const Expr vector = vector_load(Expr(&n), {}, {});
            return vector ? vector : self.rebuild(n);
          },
          [&](auto& self, const ir::Op& n) -> Expr {
            if (!ir::is_lazy(n.code)) return self.rebuild(n);
            if (is_guarded_load(n)) {
              const bool same = !uses(n.args[0], v_);
              const Expr whole = same ? n.args[0] : for_all(n.args[0]);
              const Expr vector =
                  whole ? vector_load(n.args[1], whole, same ? n.args[2] : Expr(&n)) : Expr();
              if (vector) return vector;
            }
            return Expr(&n);  // what is evaluated only sometimes stays where it is
          });
    };
    std::vector<Stmt> each;
    for (const Stmt& s : lets) {
      const auto& let = s.as<ir::Let>();
      if (!uses(let.value, v_) && !is_own(let.value)) {
        before.push_back(s);
        continue;
      }
      each.push_back(ir::let(let.var, with_vectors(let.value)));
      own.push_back(let.var);
    }
    const Expr value = with_vectors(store.value);
    const int64_t run = run_of(store.buffer, store.indices);
    Buffer target = store.buffer;
    std::vector<Expr> place = store.indices;
    if (run >= 2 && (store.unchecked || !is_tensor(store.buffer.root()))) {
      target = registers(store.buffer);
      place = {v_};
      before.push_back(ir::alloc(target));
      require_alignment(store.buffer);
      after.push_back(move(target, {}, store.buffer, store.indices, run, &store, fold));
    }
    std::vector<Stmt> stmts = std::move(before);
    each.push_back(ir::make<ir::Store>(store.loc, [&](ir::Store& n) {
      n = store;
      n.buffer = target;
      n.indices = place;
      n.value = value;
      n.unchecked = store.unchecked || !target.same_as(store.buffer);
      n.streaming = store.streaming && target.same_as(store.buffer);
    }));
    stmts.push_back(one_by_one(ir::seq(std::move(each)), nullptr));
    stmts.insert(stmts.end(), after.begin(), after.end());
    return ir::make<ir::Seq>({}, [&](ir::Seq& s) { s.stmts = std::move(stmts); });
  }

  Var v_;
  int64_t width_;
  bool async_;
  const Bounds& bounds_;
  VectorNeeds& needs_;
  // For remarks: why the accesses of a buffer aren't wider, and what runs one by one.
  mutable std::map<Buffer, std::string, ir::ById> why_;
  mutable std::vector<std::pair<Stmt, const char*>> apart_;
};

void Vectorize::remark(const Stmt& lowered, const VectorPlace& place) const {
  class Look : public ir::Visitor {
   public:
    Look(const Vectorize& v, const VectorPlace& place) : v_(v), place_(place) {}
    using Visitor::visit;
    void visit(const Expr& e) override {
      if (const auto* load = e.try_as<ir::Load>()) note("loads", load->buffer, 1);
      children(e);
    }
    void visit(const Stmt& s) override {
      const char* const outside = apart_;
      for (const auto& [each, why] : v_.apart_) {
        if (each.same_as(s)) apart_ = why;
      }
      if (const auto* store = s.try_as<ir::Store>()) {
        note("stores", store->buffer, 1);
      } else if (const auto* atomic = s.try_as<ir::Atomic>()) {
        if (atomic->buffer.dtype().lanes == 1) note("updates", atomic->buffer, 1);
      } else if (const auto* move = s.try_as<ir::Move>()) {
        note("loads", move->src, move->count);
        note(move->fold == ir::CopyFold::none ? "stores" : "adds to", move->dst, move->count);
      } else if (const auto* copy = s.try_as<ir::AsyncCopy>()) {
        note("copies by cp.async", copy->src.buffer, *ir::as_int(copy->src.extent.back()));
      }
      children(s);
      apart_ = outside;
    }

   private:
    void note(const std::string& what, const Buffer& buffer, int64_t count) const {
      const Buffer root = buffer.root();
      if (!is_memory(root)) return;
      const int64_t bits = count * buffer.dtype().bits();
      std::string why;
      if (bits < kVectorBits) {
        const auto known = v_.why_.find(root);
        const bool at_edge = apart_ == kEdge && !is_tensor(root) && known != v_.why_.end();
        why = apart_ != nullptr && !at_edge ? apart_
              : known != v_.why_.end()      ? known->second
              : count == v_.width_          ? place_.why_narrow
                                            : "the other side of the copy is narrower";
      }
      v_.needs_.remarks->add(
          {place_.where,
           format("{} {} by {}", what, buffer.name(),
                  bits < 8 ? format("{} bits", bits)
                           : format("{} byte{}", bits / 8, bits == 8 ? "" : "s")),
           why});
    }

    const Vectorize& v_;
    const VectorPlace& place_;
    const char* apart_ = nullptr;
  };
  Look(*this, place).visit(lowered);
}

}  // namespace

Stmt in_vectors(const Stmt& body, const Var& v, int64_t width, bool async, const Bounds& bounds,
                VectorNeeds& needs, const VectorPlace& place) {
  Vectorize vectorize(v, width, async, bounds, needs);
  const Stmt lowered = width > 1 || async ? vectorize.run(body) : body;
  if (needs.remarks != nullptr) vectorize.remark(lowered, place);
  return lowered;
}

}  // namespace tw::pass
