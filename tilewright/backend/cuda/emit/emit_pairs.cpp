// Loops over neighbors that are bytes, or halves of one. The hardware rounds two values to fp8 at
// once, next to each other: one by one, 16 elements take 84 instructions instead of 44 (sm_90a,
// NVRTC 13.0). Copies of bytes take registers apart and put them together again. For 16 bits the
// assembler finds the pairs itself.
//
// 1. Recognize a fully unrolled loop over an even number of iterations that only binds values and
//    stores to local arrays, one store an array, none of which it reads: iterations are
//    independent.
// 2. Emit it in steps of two: each statement for both, stores of a pair as one.
#include <algorithm>
#include <set>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

using ir::Expr;

bool has_pairs(DType dtype) { return dtype == f8_e4m3 || dtype == f8_e5m2 || dtype.is_sub_byte(); }

/// Whether the number is even whatever its variables are.
bool is_even(const Expr& e) {
  if (const auto c = ir::as_int(e)) return *c % 2 == 0;
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr) return false;
  switch (op->code) {
    case ir::OpCode::add:
    case ir::OpCode::sub:
      return is_even(op->args[0]) && is_even(op->args[1]);
    case ir::OpCode::mul:
      return is_even(op->args[0]) || is_even(op->args[1]);
    default:
      return false;
  }
}

/// var plus an even number.
bool is_var_plus_even(const Expr& index, const ir::Var& var) {
  if (index.same_as(var)) return true;
  const auto* op = index.try_as<ir::Op>();
  if (op == nullptr || op->code != ir::OpCode::add) return false;
  return (is_var_plus_even(op->args[0], var) && is_even(op->args[1])) ||
         (is_var_plus_even(op->args[1], var) && is_even(op->args[0]));
}

/// Whether iterations 2i and 2i + 1 access a pair at an even offset of a local array.
bool is_pair(const ir::Buffer& b, const std::vector<Expr>& indices, const ir::Var& var) {
  if (b.dtype().bits() > 8 || b.space() != ir::MemSpace::local || b->view_of || b->padding != 0 ||
      !b->strides.empty() || b.rank() == 0) {
    return false;
  }
  for (size_t d = 0; d + 1 < indices.size(); ++d) {
    if (ir::contains(indices[d], [&](const Expr& e) { return e.same_as(var); })) return false;
  }
  const bool even_rows = b.rank() == 1 || b.extent(b.rank() - 1) % 2 == 0;
  return even_rows && is_var_plus_even(indices.back(), var);
}

/// The conversion to fp8 that a store of a pair does; null where it is another store.
const ir::Cast* converts_pair(const ir::Store& store, const ir::Var& var) {
  const auto* cast = store.value.try_as<ir::Cast>();
  const bool converts = cast != nullptr && cast->rounding == Rounding::rn && cast->saturate &&
                        cast->value.dtype().has_float_arithmetic() && has_pairs(cast->dtype);
  return converts && is_pair(store.buffer, store.indices, var) ? cast : nullptr;
}
/// The pair that a store of a pair copies; null where it is another store.
const ir::Load* copies_pair(const ir::Store& store, const ir::Var& var) {
  const auto* load = store.value.try_as<ir::Load>();
  const bool copies = load != nullptr && is_pair(load->buffer, load->indices, var);
  return copies && is_pair(store.buffer, store.indices, var) ? load : nullptr;
}
bool stores_pair(const ir::Store& store, const ir::Var& var) {
  return converts_pair(store, var) != nullptr || copies_pair(store, var) != nullptr;
}

std::vector<ir::Stmt> flat(const ir::Stmt& body) {
  std::vector<ir::Stmt> list;
  const auto add = [&](auto& self, const ir::Stmt& s) -> void {
    if (const auto* seq = s.try_as<ir::Seq>()) {
      for (const ir::Stmt& inner : seq->stmts) self(self, inner);
    } else {
      list.push_back(s);
    }
  };
  add(add, body);
  return list;
}

}  // namespace

bool goes_in_pairs(const ir::For& loop) {
  const auto lo = ir::as_int(loop.lo), hi = ir::as_int(loop.hi);
  if (loop.loop != ir::LoopKind::unrolled || loop.factor != 0 || !lo || !hi || *lo >= *hi ||
      *lo % 2 != 0 || *hi % 2 != 0 || !ir::is_int(loop.step, 1)) {
    return false;
  }
  std::set<ir::Buffer, ir::ById> written;
  bool any = false;
  for (const ir::Stmt& s : flat(loop.body)) {
    if (s.is<ir::Let>()) continue;
    const auto* store = s.try_as<ir::Store>();
    if (store == nullptr || store->buffer.root().space() != ir::MemSpace::local ||
        !written.insert(store->buffer.root()).second) {
      return false;
    }
    any = any || stores_pair(*store, loop.var);
  }
  if (!any) return false;
  bool reads = false;
  ir::for_each_expr(loop.body, [&](const Expr& e) {
    const auto* load = e.try_as<ir::Load>();
    reads = reads || (load != nullptr && written.contains(load->buffer.root()));
  });
  return !reads;
}

void Emitter::loop_of_pairs(const ir::For& loop) {
  const std::string i = vars_[loop.var] = names_.make(loop.var.name());
  const std::vector<ir::Stmt> first = flat(loop.body);
  const Expr next = ir::add(loop.var, ir::int_const(loop.var.dtype(), 1));
  const std::vector<ir::Stmt> second =
      flat(ir::substitute(ir::with_fresh_bindings(loop.body), {{loop.var, next}}));
  TW_CHECK(first.size() == second.size(), "the copy of a loop's body has other statements");
  line("#pragma unroll");
  line(format("for ({} {} = {}; {} < {}; {} += 2) {{", to_text(loop.var.dtype()), i,
              initial(loop.lo).s, i, initial(loop.hi).s, i));
  indented([&] {
    for (size_t k = 0; k < first.size(); ++k) {
      const auto* store = first[k].try_as<ir::Store>();
      if (store == nullptr || !stores_pair(*store, loop.var)) {
        stmt(first[k]);
        stmt(second[k]);
        continue;
      }
      if (first[k].loc().known()) next_ = first[k].loc();
      const char* type = store->buffer.dtype().is_sub_byte() ? "u8" : "u16";
      const std::string to =
          format("*({}*){}", type, pointer(place(store->buffer, store->indices)));
      if (const ir::Load* load = copies_pair(*store, loop.var)) {
        const std::string from = pointer(place(load->buffer, load->indices));
        line(format("{} = *(const {}*){};", to, type, from));
        continue;
      }
      const auto source = [&](const ir::Stmt& s) {
        count_uses(s);
        memo_.back().clear();
        return unrounded(s.as<ir::Store>().value.as<ir::Cast>());
      };
      const Text low = source(first[k]), high = source(second[k]);
      line(format("{} = {};", to,
                  call("to_" + to_text(store->buffer.dtype()) + "x2", {low, high}).s));
    }
  });
  line("}");
}

}  // namespace tw::cuda
