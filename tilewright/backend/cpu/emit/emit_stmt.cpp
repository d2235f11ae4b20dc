// Statements: sequences, loops, branches, and masks where lanes part.
#include <algorithm>
#include <numeric>

#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cpu {

void Emitter::stmt(const ir::Stmt& s) {
  if (!s || b_.is_terminated()) return;  // nothing runs after a jump
  memo_.back().clear();
  switch (s.kind()) {
    case ir::Kind::Seq:
      for (const ir::Stmt& inner : s.as<ir::Seq>().stmts) stmt(inner);
      return;
    case ir::Kind::Let: {
      const auto& let = s.as<ir::Let>();
      Value v = value(let.value);
      if (!v.val.is_const()) b_.set_name(v.val, let.var.name());
      vars_[let.var] = std::move(v);
      return;
    }
    case ir::Kind::Alloc: {
      const auto& alloc = s.as<ir::Alloc>();
      if (alloc.buffer->view_of || alloc.buffer->address) bind_view(alloc.buffer);
      if (alloc.initial) store_at(address(alloc.buffer, {}), value(alloc.initial), false);
      return;
    }
    case ir::Kind::Store: {
      const auto& store = s.as<ir::Store>();
      const Value v = value(store.value);
      return store_at(address(store.buffer, store.indices), v, store.streaming);
    }
    case ir::Kind::For: {
      const auto& loop = s.as<ir::For>();
      return loop.loop == ir::LoopKind::vectorized ? vector_loop(loop) : serial_loop(loop);
    }
    case ir::Kind::While:
      return while_loop(s.as<ir::While>());
    case ir::Kind::If:
      return branch(s.as<ir::If>());
    case ir::Kind::Break:
      return b_.branch(loops_.back().exit);
    case ir::Kind::Continue:
      return b_.branch(loops_.back().next);
    case ir::Kind::Prefetch:
      return prefetch(s.as<ir::Prefetch>());
    case ir::Kind::Atomic:
      return atomic(s.as<ir::Atomic>());
    case ir::Kind::Print:
      return print(s.as<ir::Print>());
    case ir::Kind::Assert:
      return check(s.as<ir::Assert>());
    case ir::Kind::Assume:
      return;
    default:
      throw Error(codes::tgt_03, s.loc(), "{}: this statement has no lowering on cpu",
                  ir::dispatch(*s.get(), [](const auto& node) { return node.kName; }));
  }
}

void Emitter::jump(Block to) {
  if (!b_.is_terminated()) b_.branch(to);
}

namespace {

/// Whether a statement has a break or continue of the loop that it is the body of.
bool jumps(const ir::Stmt& s) {
  if (s.is<ir::Break>() || s.is<ir::Continue>()) return true;
  if (const auto* seq = s.try_as<ir::Seq>()) {
    return std::any_of(seq->stmts.begin(), seq->stmts.end(), jumps);
  }
  const auto* branch = s.try_as<ir::If>();
  return branch != nullptr &&
         (jumps(branch->then_body) || (branch->else_body && jumps(branch->else_body)));
}

/// Whether the body runs exactly once.
bool runs_once(const ir::For& loop) {
  const auto lo = ir::as_int(loop.lo), hi = ir::as_int(loop.hi), step = ir::as_int(loop.step);
  return lo && hi && step && *step > 0 && *lo < *hi && *hi - *lo <= *step && !jumps(loop.body);
}

}  // namespace

void Emitter::serial_loop(const ir::For& loop) {
  if (runs_once(loop)) {
    vars_[loop.var] = value(loop.lo);
    return stmt(loop.body);
  }
  const Val lo = uniform(loop.lo), hi = uniform(loop.hi), step = uniform(loop.step);
  const auto constant_step = ir::as_int(loop.step);
  const bool down = constant_step && *constant_step < 0;
  const bool is_unsigned = loop.var.dtype().is_unsigned_int();
  const auto goes_on = [&](Val i) {
    if (is_unsigned) return icmp(down ? Pred::ugt : Pred::ult, i, hi);
    return icmp(down ? Pred::sgt : Pred::slt, i, hi);
  };

  const Block before = b_.here(), body = b_.new_block(loop.var.name());
  const Block next = b_.new_block("next"), exit = b_.new_block("done");
  b_.branch(goes_on(lo), body, exit);
  b_.move_to(body);
  const Val i = b_.phi(lo.elem(), 1, loop.var.name());
  b_.add_incoming(i, lo, before);
  const int64_t first = ir::as_int(loop.lo).value_or(1);
  const int64_t multiple = constant_step ? std::gcd(first, *constant_step) : 1;
  vars_[loop.var] = {.val = i, .multiple = multiple};
  loops_.push_back({next, exit});
  stmt(loop.body);
  loops_.pop_back();
  jump(next);

  b_.move_to(next);
  const Val after = i + step;
  b_.add_incoming(i, after, b_.here());
  b_.branch(goes_on(after), body, exit);
  b_.move_to(exit);
}

void Emitter::vector_loop(const ir::For& loop) {
  const auto lo = ir::as_int(loop.lo), hi = ir::as_int(loop.hi);
  TW_CHECK(lo && hi && ir::is_int(loop.step, 1) && lanes_ == 1,
           "vectorized loop over {} isn't in loop IR", loop.var.name());
  if (*hi <= *lo) return;
  lanes_ = static_cast<int>(*hi - *lo);
  const Val first = uniform(loop.lo);
  if (lanes_ == 1) {
    vars_[loop.var] = {.val = first, .multiple = *lo};
    return stmt(loop.body);
  }
  std::vector<int64_t> offsets;
  for (int l = 0; l < lanes_; ++l) offsets.push_back(l);
  vars_[loop.var] = {.val = first,
                     .offsets = std::make_shared<const std::vector<int64_t>>(std::move(offsets)),
                     .multiple = *lo};
  stmt(loop.body);
  lanes_ = 1;
}

void Emitter::while_loop(const ir::While& loop) {
  const Block test = b_.new_block("while"), body = b_.new_block("do"), exit = b_.new_block("done");
  b_.branch(test);
  b_.move_to(test);
  const Val cond = scalar(condition(loop.cond));
  b_.branch(cond, body, exit);
  b_.move_to(body);
  loops_.push_back({test, exit});
  stmt(loop.body);
  loops_.pop_back();
  jump(test);
  b_.move_to(exit);
}

void Emitter::branch(const ir::If& branch) {
  const Value cond = condition(branch.cond);
  if (!cond.uniform()) {
    const Val holds = lanes(cond, bool_);
    under(holds, [&] { stmt(branch.then_body); });
    if (branch.else_body) under(~holds, [&] { stmt(branch.else_body); });
    return;
  }
  const Block then_block = b_.new_block("then"), exit = b_.new_block("fi");
  const Block else_block = branch.else_body ? b_.new_block("else") : exit;
  b_.branch(cond.val, then_block, else_block);
  b_.move_to(then_block);
  stmt(branch.then_body);
  jump(exit);
  if (branch.else_body) {
    b_.move_to(else_block);
    stmt(branch.else_body);
    jump(exit);
  }
  b_.move_to(exit);
}

}  // namespace tw::cpu
