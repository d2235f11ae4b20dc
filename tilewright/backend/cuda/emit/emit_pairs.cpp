// Loops over neighbors that share a register. The hardware rounds two values to fp8 at once, next
// to each other: one by one, 16 elements take 84 instructions instead of 44 (sm_90a, NVRTC 13.0).
// Copies of bytes take registers apart and put them together again; for 16 bits the assembler finds
// the pairs itself. It doesn't for arithmetic of bf16 and f16, whose instructions do two at once,
// where in f32 each element is taken out of its register first.
//
// 1. Recognize a fully unrolled loop over an even number of iterations that only binds values and
//    stores to local arrays, one store an array, of which it reads at most the element that the
//    same statement writes: iterations of a pair are independent.
// 2. Emit it in steps of two: each statement for both, stores of a pair as one.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/backend/cuda/emit/pairs.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

using ir::Expr;

bool has_pairs(DType dtype) { return dtype == f8_e4m3 || dtype == f8_e5m2 || dtype.is_sub_byte(); }

/// Whether the hardware does such conversions in pairs only: to fp8, and to f16 toward zero.
bool converts_pairs(const ir::Cast& cast) {
  if (cast.dtype == f16) return cast.rounding == Rounding::rz;
  return has_pairs(cast.dtype) && cast.rounding == Rounding::rn && cast.saturate;
}

/// The conversion that a store of a pair does; null where it is another store.
const ir::Cast* converts_pair(const ir::Store& store, const PairLoop& loop) {
  const auto* cast = store.value.try_as<ir::Cast>();
  const bool converts =
      cast != nullptr && cast->value.dtype().has_float_arithmetic() && converts_pairs(*cast);
  return converts && is_pair(store.buffer, store.indices, loop) ? cast : nullptr;
}
/// The pair that a store of a pair copies; null where it is another store.
const ir::Load* copies_pair(const ir::Store& store, const PairLoop& loop) {
  const auto* load = store.value.try_as<ir::Load>();
  const bool copies = load != nullptr && store.buffer.dtype().bits() <= 8 &&
                      is_pair(load->buffer, load->indices, loop);
  return copies && is_pair(store.buffer, store.indices, loop) ? load : nullptr;
}
bool stores_pair(const ir::Store& store, const PairLoop& loop) {
  return converts_pair(store, loop) != nullptr || copies_pair(store, loop) != nullptr ||
         computes_pair(store, loop);
}

/// Whether the load is of the very element that the store then writes, in each iteration another.
bool accumulates(const ir::Store& store, const ir::Load& load, const PairLoop& loop) {
  return load.buffer.same_as(store.buffer) && is_pair(store.buffer, store.indices, loop) &&
         std::equal(load.indices.begin(), load.indices.end(), store.indices.begin(),
                    store.indices.end(),
                    [](const Expr& a, const Expr& b) { return ir::structurally_equal(a, b); });
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
  const PairLoop pair(loop);
  std::set<ir::Buffer, ir::ById> written;
  bool any = false;
  for (const ir::Stmt& s : flat(loop.body)) {
    if (s.is<ir::Let>()) continue;
    const auto* store = s.try_as<ir::Store>();
    if (store == nullptr || store->buffer.root().space() != ir::MemSpace::local ||
        !written.insert(store->buffer.root()).second) {
      return false;
    }
    any = any || stores_pair(*store, pair);
  }
  if (!any) return false;
  bool independent = true;
  for (const ir::Stmt& s : flat(loop.body)) {
    const auto* store = s.try_as<ir::Store>();
    ir::for_each_expr(s, [&](const Expr& e) {
      const auto* load = e.try_as<ir::Load>();
      if (load == nullptr || !written.contains(load->buffer.root())) return;
      independent = independent && store != nullptr && accumulates(*store, *load, pair);
    });
  }
  return independent;
}

/// Notes the conversions to fp8 that a word's bytes are, by number; false where it is no such word.
bool Emitter::bytes_of_codes(const Expr& e, std::array<const ir::Cast*, 4>& bytes) const {
  const auto* op = e.try_as<ir::Op>();
  if (op != nullptr && op->code == ir::OpCode::bit_or) {
    return bytes_of_codes(op->args[0], bytes) && bytes_of_codes(op->args[1], bytes);
  }
  const auto is_shared = [&](const Expr& part) {
    const auto uses = uses_.find(part);
    return uses != uses_.end() && uses->second > 1;
  };
  const bool shifts = op != nullptr && op->code == ir::OpCode::shl;
  const int64_t shift = shifts ? ir::as_int(op->args[1]).value_or(-1) : 0;
  if (shift < 0 || shift > 24 || shift % 8 != 0) return false;
  const auto* byte = (shifts ? op->args[0] : e).try_as<ir::Cast>();
  const auto* bits = byte == nullptr ? nullptr : byte->value.try_as<ir::Op>();
  if (bits == nullptr || bits->code != ir::OpCode::bitcast || bits->dtype != u8) return false;
  const auto* code = bits->args[0].try_as<ir::Cast>();
  if (code == nullptr || code->dtype.bits() != 8 || !converts_pairs(*code) ||
      !code->value.dtype().has_float_arithmetic() || is_shared(e) || is_shared(byte->value) ||
      is_shared(bits->args[0])) {
    return false;
  }
  return std::exchange(bytes[static_cast<size_t>(shift / 8)], code) == nullptr;
}

/// A word of two or four codes of fp8, made in pairs; null for any other value. One by one, four
/// take nine instructions instead of five.
std::optional<Text> Emitter::word_of_codes(const ir::Op& op) {
  std::array<const ir::Cast*, 4> bytes{};
  if (op.dtype != u32 || !bytes_of_codes(Expr(&op), bytes)) return std::nullopt;
  const bool is_half = bytes[2] == nullptr && bytes[3] == nullptr;
  for (size_t i = 0; i < (is_half ? 2U : 4U); ++i) {
    if (bytes[i] == nullptr || bytes[i]->dtype != bytes[0]->dtype) return std::nullopt;
  }
  const auto pair = [&](size_t i) {
    const Text low = unrounded(*bytes[i]);
    return call("to_" + to_text(bytes[i]->dtype) + "x2", {low, unrounded(*bytes[i + 1])});
  };
  const Text low = pair(0);
  return is_half ? as_type(u32, low) : call("halves", {low, pair(2)});
}

Text Emitter::packed(const Expr& low, const Expr& high, const PairLoop& loop) {
  if (const auto* op = low.try_as<ir::Op>(); op != nullptr && is_packed(low, loop)) {
    std::vector<Text> args;
    for (size_t i = 0; i < op->args.size(); ++i) {
      args.push_back(packed(op->args[i], high.as<ir::Op>().args[i], loop));
    }
    return call(packed_function(*op), args);
  }
  if (const auto* load = low.try_as<ir::Load>(); load != nullptr && is_packed(low, loop)) {
    return {format("*(const u32*){}", pointer(place(load->buffer, load->indices))), kPrefix};
  }
  if (ir::structurally_equal(low, high)) {
    const Text both = value(low);
    return call("halves", {both, both});
  }
  const Text first = value(low);
  return call("halves", {first, value(high)});
}

void Emitter::loop_of_pairs(const ir::For& loop) {
  const PairLoop pair(loop);
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
      if (store == nullptr || !stores_pair(*store, pair)) {
        stmt(first[k]);
        stmt(second[k]);
        continue;
      }
      if (first[k].loc().known()) next_ = first[k].loc();
      const DType dtype = store->buffer.dtype();
      const char* type = dtype.is_sub_byte() ? "u8" : dtype.bits() == 8 ? "u16" : "u32";
      const std::string to =
          format("*({}*){}", type, pointer(place(store->buffer, store->indices)));
      if (const ir::Load* load = copies_pair(*store, pair)) {
        const std::string from = pointer(place(load->buffer, load->indices));
        line(format("{} = *(const {}*){};", to, type, from));
        continue;
      }
      const auto begin = [&](const ir::Stmt& s) -> const ir::Store& {
        count_uses(s);
        memo_.back().clear();
        return s.as<ir::Store>();
      };
      const std::string function = "to_" + to_text(dtype) + (dtype == f16 ? "x2_rz" : "x2");
      const ir::Cast* cast = converts_pair(*store, pair);
      if (cast == nullptr) {
        const Expr low = begin(first[k]).value, high = second[k].as<ir::Store>().value;
        line(format("{} = {};", to, packed(low, high, pair).s));
      } else if (dtype == f4_e2m1 && cast->value.dtype() == bf16 && is_packed(cast->value, pair)) {
        begin(first[k]);
        const Expr& high = second[k].as<ir::Store>().value.as<ir::Cast>().value;
        line(format("{} = {};", to,
                    call(function + "_of_bf16x2", {packed(cast->value, high, pair)}).s));
      } else if (const auto* half = cast->value.try_as<ir::Cast>();
                 dtype == f4_e2m1 && half != nullptr && half->dtype == f16 &&
                 half->rounding == Rounding::rn && half->value.dtype() == f32) {
        const Text low = value(begin(first[k]).value.as<ir::Cast>().value.as<ir::Cast>().value);
        const Text high = value(begin(second[k]).value.as<ir::Cast>().value.as<ir::Cast>().value);
        line(format("{} = {};", to,
                    call(function + "_of_f16x2", {call("to_f16x2", {low, high})}).s));
      } else {
        const Text low = unrounded(begin(first[k]).value.as<ir::Cast>());
        const Text high = unrounded(begin(second[k]).value.as<ir::Cast>());
        line(format("{} = {};", to, call(function, {low, high}).s));
      }
    }
  });
  line("}");
}

}  // namespace tw::cuda
