#include "tilewright/ir/build.h"

#include <cmath>

#include "tilewright/base/convert.h"
#include "tilewright/ir/fold.h"

namespace tw::ir {
namespace {

/// The operation, or its value where both operands are integer constants.
Expr op_or_value(OpCode code, DType dtype, const Expr& a, const Expr& b) {
  const Expr made = op(code, dtype, {a, b});
  const Expr value = as_int(a) && as_int(b) ? fold(made) : Expr();
  return value ? value : made;
}

/// Keeps the low bits of a value, as a variable of the type would.
int64_t wrap(DType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0;
  const int bits = dtype.bits();
  if (bits >= 64) return value;
  const auto low = static_cast<uint64_t>(value) << (64 - bits);
  return dtype.is_unsigned_int() ? static_cast<int64_t>(low >> (64 - bits))
                                 : static_cast<int64_t>(low) >> (64 - bits);
}

}  // namespace

void too_high(SourceLoc where) {
  throw Error({}, where, "expression: more than {} operations on top of each other", kMaxHeight)
      .help("keep parts of it in a var, or write a loop");
}

Var Var::make(std::string name, DType dtype, SourceLoc loc) {
  auto* node = new VarNode();
  node->loc = loc;
  node->name = std::move(name);
  node->dtype = dtype;
  return Var(node);
}

int64_t Buffer::extent(int dim) const {
  const auto value = as_int(get()->shape.at(static_cast<size_t>(dim)));
  TW_CHECK(value.has_value(), "extent {} of {} is no constant", dim, name());
  return *value;
}
bool Buffer::has_constant_shape() const {
  for (const Expr& extent : get()->shape) {
    if (!as_int(extent)) return false;
  }
  return true;
}
Buffer Buffer::root() const {
  Buffer b = *this;
  while (b->view_of) b = b->view_of;
  return b;
}

Region Region::whole(const Buffer& buffer) {
  Region region;
  region.buffer = buffer;
  for (const Expr& extent : buffer.shape()) {
    region.begin.push_back(index(0));
    region.extent.push_back(extent);
  }
  return region;
}

Expr int_const(DType dtype, int64_t value, SourceLoc where) {
  return make<Const>(where, [&](Const& n) {
    n.dtype = dtype;
    n.i = wrap(dtype, value);
  });
}
Expr float_const(DType dtype, double value, SourceLoc where) {
  return make<Const>(where, [&](Const& n) {
    n.dtype = dtype;
    n.f = decode(encode(value, dtype), dtype);
  });
}
Expr literal(DType dtype, double value, SourceLoc where) {
  if (dtype.is_float()) return float_const(dtype, value, where);
  return int_const(dtype, static_cast<int64_t>(value), where);
}
Expr index(int64_t value) { return int_const(i64, value); }
Expr bool_const(bool value) { return int_const(bool_, value ? 1 : 0); }
Expr zero(DType dtype) { return literal(dtype, 0); }

std::optional<int64_t> as_int(const Expr& expr) {
  const auto* c = expr.try_as<Const>();
  if (c == nullptr || c->dtype.is_float()) return std::nullopt;
  return c->i;
}
bool is_int(const Expr& expr, int64_t value) { return as_int(expr) == value; }
bool is_true(const Expr& expr) { return expr && expr.dtype().is_bool() && is_int(expr, 1); }
bool is_false(const Expr& expr) { return expr && expr.dtype().is_bool() && is_int(expr, 0); }

Expr op(OpCode code, DType dtype, std::vector<Expr> args, SourceLoc where) {
  return make<Op>(where, [&](Op& n) {
    n.code = code;
    n.dtype = dtype;
    n.args = std::move(args);
  });
}

Expr add(const Expr& a, const Expr& b) {
  if (is_int(a, 0)) return b;
  if (is_int(b, 0)) return a;
  return op_or_value(OpCode::add, a.dtype(), a, b);
}
Expr sub(const Expr& a, const Expr& b) {
  if (is_int(b, 0)) return a;
  return op_or_value(OpCode::sub, a.dtype(), a, b);
}
Expr mul(const Expr& a, const Expr& b) {
  if (is_int(a, 0) || is_int(b, 1)) return a;
  if (is_int(b, 0) || is_int(a, 1)) return b;
  return op_or_value(OpCode::mul, a.dtype(), a, b);
}
Expr floordiv(const Expr& a, const Expr& b) {
  if (is_int(b, 1) || is_int(a, 0)) return a;
  return op_or_value(OpCode::floordiv, a.dtype(), a, b);
}
Expr floormod(const Expr& a, const Expr& b) {
  if (is_int(b, 1)) return int_const(a.dtype(), 0);
  if (is_int(a, 0)) return a;
  return op_or_value(OpCode::floormod, a.dtype(), a, b);
}
Expr cdiv(const Expr& a, const Expr& b) {
  return floordiv(add(a, sub(b, int_const(b.dtype(), 1))), b);
}
Expr min(const Expr& a, const Expr& b) { return op_or_value(OpCode::min, a.dtype(), a, b); }
Expr max(const Expr& a, const Expr& b) { return op_or_value(OpCode::max, a.dtype(), a, b); }
Expr lt(const Expr& a, const Expr& b) { return op_or_value(OpCode::lt, bool_, a, b); }
Expr le(const Expr& a, const Expr& b) { return op_or_value(OpCode::le, bool_, a, b); }
Expr eq(const Expr& a, const Expr& b) { return op_or_value(OpCode::eq, bool_, a, b); }
Expr land(const Expr& a, const Expr& b) {
  if (!a || is_true(a) || (b && is_false(b))) return b;
  if (!b || is_true(b) || is_false(a)) return a;
  return op(OpCode::land, bool_, {a, b});
}
Expr lor(const Expr& a, const Expr& b) {
  if (is_false(a) || is_true(b)) return b;
  if (is_false(b) || is_true(a)) return a;
  return op(OpCode::lor, bool_, {a, b});
}
Expr lnot(const Expr& a) {
  if (const auto value = as_int(a)) return bool_const(*value == 0);
  return op(OpCode::lnot, bool_, {a});
}
Expr select(const Expr& cond, const Expr& a, const Expr& b) {
  if (is_true(cond)) return a;
  if (is_false(cond)) return b;
  return op(OpCode::select, a.dtype(), {cond, a, b});
}
Expr cast(DType dtype, const Expr& value) {
  if (value.dtype() == dtype) return value;
  if (const auto i = as_int(value); i && (dtype.is_int() || dtype.is_bool())) {
    return int_const(dtype, *i, value.loc());
  }
  return make<Cast>(value.loc(), [&](Cast& n) {
    n.dtype = dtype;
    n.value = value;
  });
}

Buffer make_buffer(std::string name, DType dtype, MemSpace space, std::vector<Expr> shape) {
  return make<BufferNode>({}, [&](BufferNode& n) {
    n.name = std::move(name);
    n.dtype = dtype;
    n.space = space;
    n.shape = std::move(shape);
  });
}
Buffer make_buffer(std::string name, DType dtype, MemSpace space,
                   const std::vector<int64_t>& shape) {
  std::vector<Expr> extents;
  for (const int64_t extent : shape) extents.push_back(index(extent));
  return make_buffer(std::move(name), dtype, space, std::move(extents));
}
Expr load(const Buffer& buffer, std::vector<Expr> indices, bool unchecked) {
  return make<Load>({}, [&](Load& n) {
    n.dtype = buffer.dtype();
    n.buffer = buffer;
    n.indices = std::move(indices);
    n.unchecked = unchecked;
  });
}
Stmt store(const Buffer& buffer, std::vector<Expr> indices, Expr value, bool unchecked) {
  return make<Store>({}, [&](Store& n) {
    n.buffer = buffer;
    n.indices = std::move(indices);
    n.value = std::move(value);
    n.unchecked = unchecked;
  });
}
std::vector<Expr> strides_of(const Buffer& buffer) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->shape.size(), index(1));
  for (int dim = buffer.rank() - 2; dim >= 0; --dim) {
    const auto d = static_cast<size_t>(dim);
    const bool row = dim == buffer.rank() - 2;  // rows are longer by the padding
    strides[d] = mul(strides[d + 1], add(buffer->shape[d + 1], index(row ? buffer->padding : 0)));
  }
  return strides;
}

std::vector<size_t> iterated_dims(const Region& region) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < region.extent.size(); ++d) {
    if (!is_int(region.extent[d], 1)) dims.push_back(d);
  }
  return dims;
}

Stmt seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& s : stmts) {
    if (!s) continue;
    const auto* inner = s.try_as<Seq>();
    bool binds = false;
    if (inner != nullptr) {
      for (const Stmt& i : inner->stmts) {
        binds = binds || i.is<Let>() || i.is<Alloc>() || i.is<Atomic>();
      }
    }
    if (inner != nullptr && !binds) {
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    } else {
      flat.push_back(std::move(s));
    }
  }
  if (flat.size() == 1 && !flat[0].is<Let>() && !flat[0].is<Alloc>()) return flat[0];
  return make<Seq>({}, [&](Seq& n) { n.stmts = std::move(flat); });
}
Stmt let(const Var& var, const Expr& value) {
  return make<Let>(value.loc(), [&](Let& n) {
    n.var = var;
    n.value = value;
  });
}
Stmt alloc(const Buffer& buffer, Expr initial, std::string layout) {
  return make<Alloc>(buffer.loc(), [&](Alloc& n) {
    n.buffer = buffer;
    n.initial = std::move(initial);
    n.layout = std::move(layout);
  });
}
Stmt for_(const Var& var, const Expr& lo, const Expr& hi, Stmt body, LoopKind kind) {
  return for_(var, lo, hi, int_const(var.dtype(), 1), std::move(body), kind);
}
Stmt for_(const Var& var, const Expr& lo, const Expr& hi, const Expr& step, Stmt body,
          LoopKind kind) {
  return make<For>(var.loc(), [&](For& n) {
    n.var = var;
    n.lo = lo;
    n.hi = hi;
    n.step = step;
    n.loop = kind;
    n.body = std::move(body);
  });
}
Stmt if_(const Expr& cond, Stmt then_body, Stmt else_body) {
  if (is_true(cond)) return then_body;
  if (is_false(cond)) return else_body ? else_body : seq({});
  return make<If>(cond.loc(), [&](If& n) {
    n.cond = cond;
    n.then_body = std::move(then_body);
    n.else_body = std::move(else_body);
  });
}
Stmt barrier(SourceLoc where, std::string reason) {
  return make<Barrier>(where, [&](Barrier& n) { n.reason = std::move(reason); });
}
Stmt sync(SourceLoc where, SyncCode code) {
  return make<Sync>(where, [&](Sync& n) { n.code = code; });
}

bool is_empty(const Stmt& stmt) {
  if (!stmt) return true;
  const auto* s = stmt.try_as<Seq>();
  return s != nullptr && s->stmts.empty();
}

}  // namespace tw::ir
