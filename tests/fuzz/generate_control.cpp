// Control flow, variables and atomics. Conditions are the same for the whole block.
#include <algorithm>

#include "tests/fuzz/generator.h"
#include "tests/fuzz/values.h"
#include "tilewright/base/convert.h"

namespace tw::fuzz {

using ir::AtomicOp;
using ir::Expr;
using ir::LoopKind;
using ir::MemSpace;
using ir::Stmt;

Expr Generator::uniform_value(DType dtype, int depth) {
  const size_t leaves = exprs_.leaves.size();
  for (const Tile& tile : tiles_) {
    if (tile.is_rough() || tile.is_fragment()) continue;
    exprs_.leaves.push_back({tile.dtype(), [this, tile] {
                               std::vector<Expr> at;
                               for (const int64_t extent : tile.shape)
                                 at.push_back(exprs_.index_within(extent, 1));
                               return ir::load(tile.buffer, at);
                             }});
  }
  for (const ir::Buffer& buffer : readable_) {
    exprs_.leaves.push_back({buffer.dtype(), [this, buffer] { return global_element(buffer, 1); }});
  }
  const Expr value = exprs_.value(dtype, depth);
  exprs_.leaves.resize(leaves);
  return value;
}

Expr Generator::uniform_condition() { return uniform_value(bool_, 2); }

void Generator::variable() {
  const DType dtype = random_.pick({i32, i64, u32, u8, f32, f64, bf16, bool_, f16});
  const ir::Buffer buffer =
      ir::make_buffer(name("v"), dtype, MemSpace::variable, std::vector<int64_t>{});
  emit(ir::alloc(buffer, uniform_value(dtype, 2)));
  variables_.push_back(buffer);
  exprs_.leaves.push_back({dtype, [buffer] { return ir::load(buffer, {}); }});
}

void Generator::assign() {
  if (variables_.empty()) return variable();
  const ir::Buffer buffer = random_.pick(variables_);
  emit(ir::store(buffer, {}, uniform_value(buffer.dtype(), 3)));
}

void Generator::let() {
  const DType dtype = random_.pick({i32, i64, u32, f32, f64, bool_});
  const ir::Var var = ir::Var::make(name("l"), dtype);
  emit(ir::let(var, uniform_value(dtype, 2)));
  exprs_.leaves.push_back({dtype, [var] { return Expr(var); }});
}

void Generator::branch() {
  const Expr condition = uniform_condition();
  const Stmt then_body = scope([&] { statements(static_cast<int>(random_.range(1, 3))); });
  const Stmt else_body = random_.chance(40)
                             ? scope([&] { statements(static_cast<int>(random_.range(1, 2))); })
                             : Stmt();
  emit(ir::make<ir::If>({}, [&](ir::If& n) {
    n.cond = condition;
    n.then_body = then_body;
    n.else_body = else_body;
  }));
}

Stmt Generator::maybe_jump() {
  return ir::make<ir::If>({}, [&](ir::If& n) {
    n.cond = uniform_condition();
    n.then_body = random_.chance(50) ? ir::make<ir::Break>({}, [](ir::Break&) {})
                                     : ir::make<ir::Continue>({}, [](ir::Continue&) {});
  });
}

void Generator::loop() {
  const ir::Var var = ir::Var::make(name("k"), i64);
  const LoopKind kind = random_.pick({LoopKind::serial, LoopKind::serial, LoopKind::unrolled});
  const int64_t lo = random_.range(-2, 2), trips = random_.range(0, 3),
                step = random_.pick({1, 1, 2, -1});
  Expr first = ir::index(lo), last = ir::index(lo + trips * step);
  if (kind == LoopKind::serial && step > 0 && random_.chance(30)) {  // known at the call
    last = ir::min(last, ir::add(first, symbol().expr));
  }
  const Stmt body = scope([&] {
    exprs_.indices.push_back(var);
    statements(static_cast<int>(random_.range(1, 3)));
    if (random_.chance(20)) {
      emit(maybe_jump());
      statements(1);
    }
  });
  emit(ir::make<ir::For>({}, [&](ir::For& n) {
    n.var = var;
    n.lo = first;
    n.hi = last;
    n.step = ir::index(step);
    n.loop = kind;
    n.factor = kind == LoopKind::unrolled && random_.chance(50) ? 2 : 0;
    n.body = body;
  }));
}

void Generator::while_loop() {
  const ir::Buffer counter =
      ir::make_buffer(name("c"), i32, MemSpace::variable, std::vector<int64_t>{});
  emit(ir::alloc(counter, ir::int_const(i32, 0)));
  const Expr count = ir::load(counter, {});
  const Expr more = ir::lt(count, ir::int_const(i32, random_.range(1, 3)));
  const Expr condition =
      random_.chance(50) ? more : ir::op(ir::OpCode::land, bool_, {more, uniform_condition()});
  const Stmt body = scope([&] {
    // The counter isn't among the variables: nothing else writes it.
    emit(ir::store(counter, {}, ir::op(ir::OpCode::add, i32, {count, ir::int_const(i32, 1)})));
    statements(static_cast<int>(random_.range(1, 2)));
    if (random_.chance(40)) {
      emit(maybe_jump());
      statements(1);
    }
  });
  emit(ir::make<ir::While>({}, [&](ir::While& n) {
    n.cond = condition;
    n.body = body;
  }));
}

void Generator::atomics() {
  // Many iterations, and blocks, update few elements. No order shows: integers wrap or are small,
  // floats are small integers, and nobody asks for the previous value.
  const AtomicOp op = random_.pick({AtomicOp::add, AtomicOp::add, AtomicOp::max, AtomicOp::min,
                                    AtomicOp::bit_and, AtomicOp::bit_or, AtomicOp::bit_xor});
  const bool bits = op == AtomicOp::bit_and || op == AtomicOp::bit_or || op == AtomicOp::bit_xor;
  const DType dtype =
      bits ? random_.pick({i32, u32, i64, u64}) : random_.pick({i32, u32, i64, u64, f32, f64});
  std::vector<Extent> shape;
  for (int64_t rank = random_.range(1, 2); rank > 0; --rank) shape.push_back(extent(1, 6));
  const ir::Buffer target = tensor(ir::ParamKind::inout, "acc", dtype, shape, true);
  const Vars vars = loop_vars(static_cast<size_t>(random_.range(1, 2)));
  Shape box;
  for (size_t i = 0; i < vars.size(); ++i) box.push_back(random_.range(1, 9));
  parallel(vars, box, scope([&] {
             exprs_.indices.insert(exprs_.indices.end(), vars.begin(), vars.end());
             add_tile_leaves(vars, box, {});
             std::vector<Expr> at;
             for (size_t dim = 0; dim < shape.size(); ++dim) at.push_back(exprs_.index(1));
             const Expr value = bits ? exprs_.value(dtype, 2) : exprs_.small_number(dtype, 2);
             emit(ir::make<ir::Atomic>({}, [&](ir::Atomic& n) {
               n.op = op;
               n.buffer = target;
               n.indices = at;
               n.value = value;
             }));
           }));
}

void Generator::exchange() {
  // Each iteration has its own element, so that the previous value is defined.
  const DType dtype = random_.pick({i32, u32, i64, u64});
  const Tile previous = allocate(dtype, {random_.range(1, 16)});
  std::vector<Extent> shape;
  for (const int64_t extent : grid_) shape.push_back({ir::index(extent), extent});
  shape.push_back({ir::index(previous.shape[0]), previous.shape[0]});
  const ir::Buffer target = tensor(ir::ParamKind::inout, "cell", dtype, shape, false);
  const Vars vars = loop_vars(1);
  parallel(vars, previous.shape, scope([&] {
             exprs_.indices.push_back(vars[0]);
             add_tile_leaves(vars, previous.shape, previous.buffer);
             std::vector<Expr> at(blocks_.begin(), blocks_.end());
             at.push_back(vars[0]);
             const ir::Var old = ir::Var::make(name("old"), dtype);
             const AtomicOp op =
                 random_.pick({AtomicOp::exchange, AtomicOp::compare_exchange, AtomicOp::bit_xor});
             const Expr value = exprs_.value(dtype, 2), expected = exprs_.value(dtype, 1);
             emit(ir::make<ir::Atomic>({}, [&](ir::Atomic& n) {
               n.op = op;
               n.buffer = target;
               n.indices = at;
               n.value = value;
               if (op == AtomicOp::compare_exchange) n.compare = expected;
               n.result = old;
             }));
             emit(ir::store(previous.buffer, {vars[0]}, old));
           }));
  add(previous);
}

void Generator::assertion() {
  const Expr index = exprs_.index_within(7, 2);
  const Expr holds = ir::op(ir::OpCode::le, bool_, {index, ir::index(6)});
  if (random_.chance(50)) {
    return emit(ir::make<ir::Assume>({}, [&](ir::Assume& n) { n.cond = holds; }));
  }
  emit(ir::make<ir::Assert>({}, [&](ir::Assert& n) {
    n.cond = holds;
    n.message = "index is within 7";
    n.values = {index};
  }));
}

}  // namespace tw::fuzz
