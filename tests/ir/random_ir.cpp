#include "tests/ir/random_ir.h"

#include <bit>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/verify.h"

namespace tw::ir {

std::string RandomIr::name() {
  constexpr std::array<const char*, 12> kNames = {"x",  "i",     "x_1", "copy", "f32", "",
                                                  "in", "a\"\n", "nan", "with", "0",   "acc"};
  return kNames[static_cast<size_t>(below(kNames.size()))];
}
SourceLoc RandomIr::loc() {
  if (chance(2)) return {};
  return {chance(2) ? "dir/a.cpp" : "b\\ \".cpp", static_cast<int>(below(5) + 1)};
}
DType RandomIr::dtype() {
  return all_dtypes()[static_cast<size_t>(below(static_cast<int64_t>(all_dtypes().size())))];
}

template <class T>
void RandomIr::plain(T& value) {
  if constexpr (requires { EnumNames<T>::kList; }) {
    const std::string_view list = EnumNames<T>::kList;
    value = static_cast<T>(below(std::count(list.begin(), list.end(), ',') + 1));
  }
}
template <class T>
void RandomIr::plain_fields(T& node, std::initializer_list<std::string_view> fixed) {
  T::visit_fields(node, [&](std::string_view field, auto& value) {
    if (std::find(fixed.begin(), fixed.end(), field) == fixed.end() && chance(3)) plain(value);
  });
}

// ---- expressions ----

Expr RandomIr::literal(DType dtype) {
  if (!dtype.is_float()) {
    return int_const(dtype,
                     chance(2) ? below(5) - 2 : static_cast<int64_t>(random_()) << below(33));
  }
  const double small = static_cast<double>(below(20)) / 4 - 2;
  if (chance(2)) return float_const(dtype, small);
  const uint64_t bits = (static_cast<uint64_t>(random_()) << 32) | random_();
  if (dtype.scalar != Scalar::f32) return float_const(dtype, std::bit_cast<double>(bits));
  return float_const(dtype, std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

Expr RandomIr::operation(DType dtype, int depth) {
  for (;;) {
    const OpRow& row =
        op_row(static_cast<OpCode>(below(static_cast<int64_t>(OpCode::dot2_i16) + 1)));
    DType operand = dtype;
    bool fits = false;
    switch (row.op_class) {
      case OpClass::arithmetic:
        fits = dtype.is_int() || dtype.has_float_arithmetic();
        break;
      case OpClass::float_math:
        fits = dtype.has_float_arithmetic();
        break;
      case OpClass::integer:
        fits = (dtype.is_int() || dtype.is_bool()) &&
               (row.code != OpCode::byte_permute || dtype.bits() == 32);
        break;
      case OpClass::compare:
      case OpClass::test:
        fits = dtype.is_bool();
        operand = row.op_class == OpClass::test ? f16 : this->dtype();
        break;
      case OpClass::logic:
        fits = dtype.is_bool();
        break;
      case OpClass::choice:
        fits = true;
        break;
      case OpClass::reinterpret:
        operand = this->dtype();
        fits = operand.bits() == dtype.bits();
        break;
      case OpClass::dot:
        operand = u32;
        fits = dtype == (row.code == OpCode::dot2_bf16 ? f32 : i32);
        break;
    }
    if (!fits) continue;
    std::vector<Expr> args;
    for (int i = 0; i < row.operands; ++i) {
      const bool condition = row.op_class == OpClass::choice && i == 0;
      const bool sum = row.op_class == OpClass::dot && i == 0;
      args.push_back(expr(condition ? bool_ : sum ? dtype : operand, depth - 1));
    }
    return make<Op>(loc(), [&](Op& n) {
      n.code = row.code;
      n.dtype = dtype;
      n.args = std::move(args);
      if (chance(8)) n.exactness = chance(2) ? Exactness::fast : Exactness::ieee;
      if (n.exactness == Exactness::ieee) n.rounding = kRoundings[static_cast<size_t>(below(4))];
    });
  }
}

Expr RandomIr::expr(DType dtype, int depth) {
  std::vector<Expr> known;
  for (const Var& var : vars_) {
    if (var.dtype() == dtype) known.push_back(var);
  }
  if (!known.empty() && chance(3)) {
    return known[static_cast<size_t>(below(static_cast<int64_t>(known.size())))];
  }
  if (depth <= 0 || chance(6)) return literal(dtype);
  if (chance(6)) {
    return make<Cast>(loc(), [&](Cast& n) {
      n.dtype = dtype;
      DType from = this->dtype();
      while (cast_error(from, dtype) == codes::copy_03) from = this->dtype();
      n.value = expr(from, depth - 1);
      n.rounding = kRoundings[static_cast<size_t>(below(5))];
      n.saturate = !chance(4);
      if (n.rounding == Rounding::rs) n.rbits = expr(u32, depth - 1);
    });
  }
  for (const Buffer& b : buffers_) {
    if (b.dtype() != dtype || !chance(3)) continue;
    return make<Load>(loc(), [&](Load& n) {
      n.dtype = dtype;
      n.buffer = b;
      n.indices = indices(b.shape().size());
      n.unchecked = chance(4);
    });
  }
  return operation(dtype, depth);
}

std::vector<Expr> RandomIr::indices(size_t count) {
  std::vector<Expr> list;
  for (size_t i = 0; i < count; ++i) list.push_back(expr(i64, 2));
  return list;
}

// ---- buffers ----

Buffer RandomIr::buffer(MemSpace space, std::vector<Expr> shape, DType dtype) {
  const Buffer b = make<BufferNode>(loc(), [&](BufferNode& n) {
    plain_fields(n, {"space", "reduce"});
    n.name = name();
    n.dtype = dtype;
    n.space = space;
    n.shape = std::move(shape);
    if (chance(4)) n.strides = indices(n.shape.size());
    if (chance(4)) n.safe_value = literal(dtype);
    if (space == MemSpace::global && chance(4)) n.l2_persist = float_const(f64, 0.5);
    while (space == MemSpace::reducer &&
           (plain(n.reduce), !has_reduction(n.reduce, dtype, dtype))) {
    }
  });
  return b;
}
Buffer RandomIr::any_buffer() {
  return buffers_[static_cast<size_t>(below(static_cast<int64_t>(buffers_.size())))];
}
Region RandomIr::region(const Buffer& buffer) {
  Region r = Region::whole(buffer);
  for (size_t i = 0; i < r.begin.size(); ++i) {
    if (chance(2)) r.begin[i] = expr(i64, 1);
    if (chance(3)) r.extent[i] = index(1);
  }
  r.unchecked = chance(4);
  return r;
}

// ---- statements ----

Stmt RandomIr::sequence(int depth) {
  return make<Seq>({}, [&](Seq& n) {
    for (int64_t i = below(4); i > 0; --i) n.stmts.push_back(stmt(depth));
  });
}
/// A body: its names end with it.
Stmt RandomIr::block(int depth) {
  const size_t vars = vars_.size(), buffers = buffers_.size();
  const Stmt body = chance(3) ? stmt(depth - 1) : sequence(depth - 1);
  vars_.resize(vars);
  buffers_.resize(buffers);
  return body;
}

Stmt RandomIr::loop(int depth) {
  const size_t vars = vars_.size();
  const bool parallel = parallel_, breakable = breakable_;
  Stmt result;
  if (!parallel_ && chance(2)) {
    result = make<Parallel>(loc(), [&](Parallel& n) {
      plain_fields(n, {});
      if (chance(2)) n.prefetch = {region(any_buffer()), region(any_buffer())};
      for (int64_t i = below(3) + 1; i > 0; --i) n.extents.push_back(expr(i64, 1));
      for (size_t i = 0; i < n.extents.size(); ++i) n.vars.push_back(Var::make(name(), i64));
      vars_.insert(vars_.end(), n.vars.begin(), n.vars.end());
      parallel_ = true;
      breakable_ = false;
      n.body = block(depth);
    });
  } else if (chance(4)) {
    result = make<While>(loc(), [&](While& n) {
      n.cond = expr(bool_, 2);
      breakable_ = true;
      n.body = block(depth);
    });
  } else {
    result = make<For>(loc(), [&](For& n) {
      plain_fields(n, {"stage", "order"});
      const DType dtype = chance(4) ? u8 : i64;
      n.var = Var::make(name(), dtype);
      n.lo = expr(dtype, 1);
      n.hi = expr(dtype, 1);
      n.step = chance(2) ? int_const(dtype, 1) : int_const(dtype, below(3) + 1);
      if (n.loop == LoopKind::vectorized) {
        n.lo = int_const(dtype, 0);
        n.hi = int_const(dtype, 8);
      }
      if (chance(4)) {
        n.stage = {0, 1};
        n.order = {1, 0};
      }
      vars_.push_back(n.var);
      breakable_ = n.loop != LoopKind::vectorized;
      n.body = block(depth);
    });
  }
  vars_.resize(vars);
  parallel_ = parallel;
  breakable_ = breakable;
  return result;
}

Stmt RandomIr::tile_operation() {
  const Buffer b = any_buffer();
  const DType first = buffers_[0].dtype();
  const auto sums = [](DType dtype) { return has_reduction(ReduceKind::sum, dtype, dtype); };
  switch (below(6)) {
    case 0:
      return make<Copy>(loc(), [&](Copy& n) {
        plain_fields(n, {});
        n.src = n.dst = region(b);
        if (n.transpose) std::reverse(n.dst.extent.begin(), n.dst.extent.end());
        if (n.transpose && b.rank() != 2) n.transpose = false, n.dst = n.src;
        if (chance(3)) n.prefetch = {region(b)};
      });
    case 1:
      return make<Fill>(loc(), [&](Fill& n) {
        n.dst = region(b);
        n.value = expr(b.dtype(), 2);
      });
    case 2:
      if (first.is_bool()) break;
      return make<Gemm>(loc(), [&](Gemm& n) {
        plain_fields(n, {});
        const Buffer square = buffers_[0];
        n.a = n.b = n.c = Region::whole(square);
        n.clear = expr(bool_, 2);
      });
    case 3:
      if (!sums(b.dtype())) break;
      return make<Reduce>(loc(), [&](Reduce& n) {
        plain_fields(n, {"dims"});
        while (!has_reduction(n.reduce, b.dtype(), b.dtype())) plain(n.reduce);
        n.src = Region::whole(b);
        n.dst = n.src;
        if (b.rank() > 0) n.dims = {below(b.rank())};
        for (const int64_t dim : n.dims) n.dst.extent[static_cast<size_t>(dim)] = index(1);
      });
    case 4:
      if (!sums(first)) break;
      return make<Scan>(loc(), [&](Scan& n) {
        plain_fields(n, {"dim"});
        n.src = n.dst = Region::whole(buffers_[0]);
        n.dim = below(2);
      });
    default:
      break;
  }
  const Buffer r = buffer(MemSpace::reducer, {index(8)}, f32);
  const Stmt opening = make<ReducerInit>(loc(), [&](ReducerInit& n) {
    n.reducer = r;
    if (chance(2)) n.initial = literal(f32);
  });
  const Stmt closing = make<ReducerFinalize>(loc(), [&](ReducerFinalize& n) {
    n.reducer = r;
    n.dst = Region::whole(buffers_[0]);
    n.dst.extent[0] = index(1);
  });
  const Stmt update = make<ReducerUpdate>(loc(), [&](ReducerUpdate& n) {
    n.reducer = r;
    n.indices = indices(1);
    n.value = expr(f32, 2);
  });
  return make<Seq>({}, [&](Seq& n) { n.stmts = {alloc(r), opening, update, closing}; });
}

Stmt RandomIr::other() {
  const Buffer b = any_buffer();
  switch (below(9)) {
    case 0: {
      const DType type = dtype();
      const Expr value = expr(type, 4);
      const Var var = Var::make(name(), type);
      vars_.push_back(var);
      return make<Let>(loc(), [&](Let& n) {
        n.var = var;
        n.value = value;
      });
    }
    case 1: {
      const bool variable = chance(2);
      const bool view = !variable && chance(3);
      const std::vector<Expr> shape =
          variable ? std::vector<Expr>() : std::vector<Expr>{index(8), index(8)};
      const auto space = variable ? MemSpace::variable : static_cast<MemSpace>(below(4) + 2);
      Buffer block = buffer(space, shape, dtype());
      if (view) {
        block = make<BufferNode>(loc(), [&](BufferNode& n) {
          n.name = name();
          n.dtype = block.dtype();
          n.space = chance(2) ? MemSpace::global : space;
          n.shape = shape;
          if (chance(3)) {
            n.address = expr(u64, 1);
          } else {
            n.view_of = b;
            n.offset = expr(i64, 1);
          }
        });
      }
      const Stmt s = make<Alloc>(loc(), [&](Alloc& n) {
        plain_fields(n, {});
        n.buffer = block;
        if (variable && chance(2)) n.initial = expr(block.dtype(), 2);
      });
      buffers_.push_back(block);
      return s;
    }
    case 2:
      return make<Print>(loc(), [&](Print& n) {
        plain_fields(n, {});
        if (chance(2)) n.buffer = b;
        if (chance(2)) n.values = {expr(dtype(), 2), expr(dtype(), 2)};
      });
    case 3:
      return make<Assert>(loc(), [&](Assert& n) {
        plain_fields(n, {});
        n.cond = expr(bool_, 2);
        if (chance(2)) n.values = {expr(dtype(), 2)};
      });
    case 4:
      return make<Assume>(loc(), [&](Assume& n) { n.cond = expr(bool_, 3); });
    case 5: {
      const Stmt s = make<Atomic>(loc(), [&](Atomic& n) {
        plain_fields(n, {});
        n.buffer = b;
        n.indices = indices(b.shape().size());
        if (waits(n.op) && parallel_) n.op = AtomicOp::load;
        if (waits(n.op)) n.order = MemoryOrder::acquire;
        if (n.op != AtomicOp::load) n.value = expr(b.dtype(), 1);
        if (n.op == AtomicOp::compare_exchange) n.compare = expr(b.dtype(), 1);
        if (chance(2)) n.result = Var::make(name(), b.dtype());
      });
      if (const Var& result = s.as<Atomic>().result) vars_.push_back(result);
      return s;
    }
    case 6:
      return make<Prefetch>(loc(), [&](Prefetch& n) {
        n.buffer = b;
        n.indices = indices(b.shape().size());
      });
    default:
      return make<Store>(loc(), [&](Store& n) {
        plain_fields(n, {});
        n.buffer = b;
        n.indices = indices(b.shape().size());
        n.value = expr(b.dtype(), 4);
      });
  }
}

Stmt RandomIr::stmt(int depth) {
  if (breakable_ && chance(8)) {
    return chance(2) ? make<Break>(loc(), [](Break&) {}) : make<Continue>(loc(), [](Continue&) {});
  }
  if (depth > 0 && chance(3)) return loop(depth);
  if (depth > 0 && chance(4)) {
    return make<If>(loc(), [&](If& n) {
      n.cond = expr(chance(8) ? i32 : bool_, 3);
      n.then_body = block(depth);
      if (chance(2)) n.else_body = block(depth);
    });
  }
  if (depth > 0 && chance(8)) return block(depth);
  if (!parallel_ && chance(3)) return tile_operation();
  return other();
}

Stmt RandomIr::launch() {
  const size_t vars = vars_.size(), buffers = buffers_.size();
  const Stmt s = make<Launch>(loc(), [&](Launch& n) {
    plain_fields(n, {});
    for (int64_t i = below(3) + 1; i > 0; --i) {
      n.grid.push_back(chance(2) ? Expr(vars_[0]) : index(below(9)));
      n.block_vars.push_back(Var::make(name(), i64));
    }
    vars_.insert(vars_.end(), n.block_vars.begin(), n.block_vars.end());
    n.body = sequence(4);
  });
  vars_.resize(vars);
  buffers_.resize(buffers);
  return s;
}

Program RandomIr::program() {
  vars_.clear();
  buffers_.clear();
  Program p;
  p.name = name();
  for (int i = 0; i < 2; ++i) {
    Symbol& s = p.symbols.emplace_back();
    plain_fields(s, {});
    s.var = Var::make(name(), i64, loc());
    vars_.push_back(s.var);
  }
  for (int64_t i = below(4) + 1; i > 0; --i) {
    Param& param = p.params.emplace_back();
    plain_fields(param, {});
    if (buffers_.empty()) param.kind = ParamKind::inout;
    if (param.kind == ParamKind::scalar) {
      param.var = chance(2) ? vars_[1] : Var::make(name(), dtype(), loc());
      if (!param.var.same_as(vars_[1])) vars_.push_back(param.var);
    } else {
      const Expr n = vars_[0];
      param.buffer = buffer(MemSpace::global, {n, n}, dtype());
      buffers_.push_back(param.buffer);
    }
  }
  if (chance(2)) {
    Workspace& w = p.workspaces.emplace_back();
    plain_fields(w, {});
    w.buffer = buffer(MemSpace::workspace, {vars_[1]}, f32);
    buffers_.push_back(w.buffer);
  }
  if (chance(2)) p.options = {{"fast_math", "on"}, {"dump", name()}};
  for (int64_t i = below(3); i > 0; --i) p.launches.push_back(launch());
  return p;
}

}  // namespace tw::ir
