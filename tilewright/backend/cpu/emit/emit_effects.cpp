// What a block does beyond loads and stores: atomics, prints and asserts.
#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/backend/cpu/rules/arith.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cpu {
namespace {

using ir::AtomicOp;

/// The processor's read-modify-write of the operation; empty where there is none.
std::optional<Rmw> rmw_of(AtomicOp op, DType dtype) {
  const bool wraps = dtype.is_int() || dtype.is_bool();
  const bool is_float = dtype == f32 || dtype == f64;
  switch (op) {
    case AtomicOp::add:
      return wraps ? std::optional(Rmw::add) : is_float ? std::optional(Rmw::fadd) : std::nullopt;
    case AtomicOp::max:
      if (!wraps) return std::nullopt;
      return dtype.is_signed_int() ? Rmw::max : Rmw::umax;
    case AtomicOp::min:
      if (!wraps) return std::nullopt;
      return dtype.is_signed_int() ? Rmw::min : Rmw::umin;
    case AtomicOp::bit_and:
      return Rmw::bit_and;
    case AtomicOp::bit_or:
      return Rmw::bit_or;
    case AtomicOp::bit_xor:
      return Rmw::bit_xor;
    case AtomicOp::exchange:
      return Rmw::exchange;
    default:
      return std::nullopt;
  }
}

Order order_of(ir::MemoryOrder order) { return static_cast<Order>(order); }

}  // namespace

void Emitter::atomic(const ir::Atomic& node) {
  TW_CHECK(lanes_ == 1, "an atomic in a vectorized loop isn't in loop IR");
  const DType dtype = node.buffer.dtype();
  if (dtype.lanes > 1 || dtype.is_narrow_float()) {
    throw Error(codes::atom_01, node.loc, "atomic on {}: {} has no atomics on cpu",
                node.buffer.name(), dtype);
  }
  const Address at = address(node.buffer, node.indices);
  const Val place = pointer(at, at.index.val);
  const Order order = order_of(node.order);
  // Integers stand in for all types but f32 and f64 in read-modify-writes.
  const Elem bits{dtype.is_bool() ? 8 : dtype.bits()};
  const auto as_bits = [&](Val v) { return bitcast(to_memory(dtype, v), bits); };
  const auto as_value = [&](Val v) {
    return from_memory(dtype, dtype.is_bool() ? v : bitcast(v, register_elem(dtype)));
  };
  const auto given = [&] { return uniform(node.value); };

  Val previous;
  if (node.op == AtomicOp::load) {
    previous = as_value(b_.atomic_load(place, bits, order));
  } else if (node.op == AtomicOp::store) {
    b_.atomic_store(place, as_bits(given()), order);
  } else if (node.op == AtomicOp::compare_exchange) {
    const Val expected = uniform(node.compare);
    previous = as_value(b_.compare_exchange(place, as_bits(expected), as_bits(given()), order));
  } else if (const auto rmw = rmw_of(node.op, dtype)) {
    const bool is_float = *rmw == Rmw::fadd;
    const Val v = b_.atomic_rmw(*rmw, place, is_float ? given() : as_bits(given()), order);
    previous = is_float ? v : as_value(v);
  } else {
    // Computes the new value from the old one until nobody came between.
    const Val operand = given();
    const Val start = b_.atomic_load(place, bits, Order::relaxed);
    const Block before = b_.here(), retry = b_.new_block("retry"), exit = b_.new_block("exchanged");
    b_.branch(retry);
    b_.move_to(retry);
    const Val old = b_.phi(bits, 1);
    b_.add_incoming(old, start, before);
    ir::Op op;
    op.code = ir::element_op(node.op).value();
    op.dtype = dtype;
    const Val args[] = {as_value(old), operand};
    Val success;
    const Val seen =
        b_.compare_exchange(place, old, as_bits(apply(target_, op, dtype, args)), order, &success);
    b_.add_incoming(old, seen, b_.here());
    b_.branch(success, exit, retry);
    b_.move_to(exit);
    previous = as_value(seen);
  }
  if (node.result && previous) vars_[node.result] = {.val = previous};
}

void Emitter::print(const ir::Print& print) {
  if (!print.buffer) return call_back(0, print.message, print.loc, print.values);
  // One line an element, with its indices.
  const ir::Buffer& buffer = print.buffer;
  std::vector<ir::Expr> values;
  std::vector<std::string> holes(static_cast<size_t>(buffer.rank()), "{}");
  std::vector<ir::Var> vars;
  for (int d = 0; d < buffer.rank(); ++d) {
    vars.push_back(ir::Var::make("i", i64));
    values.push_back(vars.back());
  }
  values.push_back(ir::load(buffer, values, true));
  const std::string text =
      format("{}{}{}[{}] = {{}}", print.message, print.message.empty() ? "" : " ", buffer.name(),
             join(holes, ", "));
  ir::Stmt body = ir::make<ir::Print>(print.loc, [&](ir::Print& n) {
    n.message = text;
    n.values = values;
  });
  for (int d = buffer.rank() - 1; d >= 0; --d) {
    const auto dim = static_cast<size_t>(d);
    body = ir::for_(vars[dim], ir::index(0), buffer.shape()[dim], body);
  }
  stmt(body);
}

void Emitter::check(const ir::Assert& check) {
  const Val cond = scalar(condition(check.cond));
  const Block fail = b_.new_block("fail"), holds = b_.new_block("holds");
  b_.branch(cond, holds, fail);
  b_.move_to(fail);
  memo_.emplace_back();
  call_back(1, check.message, check.loc, check.values);
  memo_.pop_back();
  b_.ret(b_.constant(kI32, int64_t{1}));
  b_.move_to(holds);
}

void Emitter::call_back(int slot, const std::string& text, SourceLoc where,
                        const std::vector<ir::Expr>& values) {
  const auto index = static_cast<int64_t>(metadata_.messages.size());
  runtime::Message message{text, {}, where.text()};
  const auto count = static_cast<int64_t>(values.size());
  const Val words = b_.stack_slot(kI64, std::max<int64_t>(count, 1), 8, "words");
  for (int64_t i = 0; i < count; ++i) {
    const ir::Expr& expr = values[static_cast<size_t>(i)];
    const DType dtype = expr.dtype();
    message.values.push_back(dtype);
    Val v = uniform(expr);
    if (v.elem().kind == Elem::floating) v = bitcast(v, Elem{v.bits()});
    b_.store(b_.offset(words, i * 8), int_resize(v, kI64, false), {.align = 8});
  }
  metadata_.messages.push_back(std::move(message));
  const Val function = b_.load(b_.offset(callbacks_, int64_t{slot} * 8), kPtr, 1, {.align = 8});
  const Val args[] = {callbacks_, b_.constant(kI32, index), block_index_, words,
                      b_.constant(kI32, count)};
  b_.call_pointer(function, args);
}

}  // namespace tw::cpu
