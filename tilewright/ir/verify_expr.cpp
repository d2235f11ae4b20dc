// Expressions, buffers and regions of the verifier.
#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/fold.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/verifier.h"

namespace tw::ir {

// ---- expressions ----

void Verifier::expr(const Expr& e) {
  if (e.is<VarNode>()) {
    require(visible_.contains(e.get()), "{} is used outside its scope", Var::of(e).name());
    return;
  }
  dispatch(*e.get(), [&]<class T>(const T& node) {
    if constexpr (std::is_base_of_v<ExprBase, T>) {
      const bool outside = std::exchange(complete_, true);
      fields(node);
      if (complete_) check(node);
      complete_ = complete_ && outside;
    }
  });
}

void Verifier::check(const Const& n) {
  if (n.dtype.is_float()) {
    require(n.i == 0, "a float literal with integer bits");
    const bool is_exact = n.f != n.f || decode(encode(n.f, n.dtype), n.dtype) == n.f;
    require(is_exact, "{} is not a value of {}", n.f, n.dtype);
  } else {
    require(n.f == 0, "an integer literal with a fraction");
    require(as_int(int_const(n.dtype, n.i)) == n.i, "{} is not a value of {}", n.i, n.dtype);
  }
}

void Verifier::converts(DType from, DType to) {
  require(!(cast_error(from, to) == codes::copy_03), "no conversion from {} to {}", from, to);
}

void Verifier::reduces(ReduceKind kind, DType from, DType to) {
  require(has_reduction(kind, from, to), "no {} from {} to {}", enum_name(kind), from, to);
}

void Verifier::check(const Cast& n) {
  converts(n.value.dtype(), n.dtype);
  require(!n.rbits == (n.rounding != Rounding::rs), "a random word goes with rs rounding");
  require(!n.rbits || n.rbits.dtype() == u32, "the random word is {}, must be u32",
          n.rbits ? n.rbits.dtype() : f32);
}

void Verifier::check(const Load& n) {
  access(n.buffer, n.indices);
  require(n.dtype == n.buffer.dtype(), "a load of {} from {}", n.dtype, n.buffer.dtype());
}

void Verifier::check(const Op& n) {
  const OpRow& row = op_row(n.code);
  require(n.args.size() == static_cast<size_t>(row.operands), "{} with {} operands", row.name,
          n.args.size());
  require(n.rounding == Rounding::rn || n.exactness == Exactness::ieee,
          "{}: a rounding goes with ieee", row.name);
  if (n.args.size() != static_cast<size_t>(row.operands)) return;
  if (row.op_class == OpClass::dot) {
    const DType sum = n.code == OpCode::dot2_bf16 ? f32 : i32;
    require(n.dtype == sum && n.args[0].dtype() == sum, "{} adds to {}, not {}", row.name, sum,
            n.dtype);
    require(n.args[1].dtype() == u32 && n.args[2].dtype() == u32, "{} of {} and {}", row.name,
            n.args[1].dtype(), n.args[2].dtype());
    return;
  }
  const size_t first = row.op_class == OpClass::choice ? 1 : 0;
  const DType type = n.args[first].dtype();
  for (size_t i = first + 1; i < n.args.size(); ++i) {
    require(n.args[i].dtype() == type, "{} of {} and {} in `{}`", row.name, type, n.args[i].dtype(),
            Expr(&n));
  }
  const auto accepts = [&](bool accepted) {
    require(accepted, "{} is not defined for {} in `{}`", row.name, type, Expr(&n));
  };
  DType result = type;
  switch (row.op_class) {
    case OpClass::arithmetic:
      accepts(type.is_int() || type.has_float_arithmetic());
      break;
    case OpClass::float_math:
      accepts(type.has_float_arithmetic());
      break;
    case OpClass::integer:
      accepts(type.is_int() || type.is_bool());
      require(n.code != OpCode::byte_permute || type.bits() == 32, "byte_permute of {}", type);
      break;
    case OpClass::compare:
      result = bool_;
      break;
    case OpClass::logic:
      accepts(type.is_bool());
      break;
    case OpClass::test:
      accepts(type.is_float());
      result = bool_;
      break;
    case OpClass::choice:
      require(n.args[0].dtype().is_bool(), "{}: the condition is {}", row.name, n.args[0].dtype());
      break;
    case OpClass::reinterpret:
      require(n.dtype.bits() == type.bits(), "{} of {} as {}", row.name, type, n.dtype);
      result = n.dtype;
      break;
    case OpClass::dot:
      break;  // above
  }
  require(n.dtype == result, "{} of {} gives {}, not {}", row.name, type, result, n.dtype);
}

// ---- buffers and regions ----

void Verifier::access(const Buffer& buffer, const std::vector<Expr>& indices) {
  require(indices.size() == buffer.shape().size(), "{} has {} dimensions, found {} indices",
          buffer.name(), buffer.rank(), indices.size());
  for (const Expr& i : indices) integer(i, "index");
}

void Verifier::region(const Region& r) {
  complete(static_cast<bool>(r.buffer), "the buffer of a region");
  if (!r.buffer) return;
  fields(r);
  const size_t rank = r.buffer.shape().size();
  require(r.begin.size() == rank && r.extent.size() == rank,
          "{} has {} dimensions, found a region with {} and {}", r.buffer.name(), rank,
          r.begin.size(), r.extent.size());
  for (const Expr& e : r.begin) integer(e, "begin");
  for (const Expr& e : r.extent) {
    integer(e, "extent");
    require(as_int(e).value_or(0) >= 0, "extent `{}` is negative", e);
  }
}

std::vector<int64_t> Verifier::extents(const Region& r, bool dropping) {
  std::vector<int64_t> list;
  for (const Expr& e : r.extent) {
    const Expr folded = fold(e);
    const int64_t extent = as_int(folded ? folded : e).value_or(-1);
    if (!dropping || extent != 1) list.push_back(extent);
  }
  return list;
}

void Verifier::same_extents(std::vector<int64_t> a, std::vector<int64_t> b, const char* what) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i] || a[i] < 0 || b[i] < 0;
  // An extent that is not known may be 1 and then take no part.
  const auto unknown = [](const std::vector<int64_t>& list) {
    return std::count(list.begin(), list.end(), -1) != 0;
  };
  require(same || unknown(a) || unknown(b), "{}: extents {} and {}", what, a, b);
}

void Verifier::declaration(const Buffer& buffer) {
  const BufferNode& b = *buffer.get();
  for (const Expr& e : b.shape) integer(e, "extent");
  require(b.strides.empty() || b.strides.size() == b.shape.size(), "{} has {} strides",
          buffer.name(), b.strides.size());
  const bool block = b.space != MemSpace::global && b.space != MemSpace::workspace;
  for (const Expr& e : b.shape) {
    require(!block || as_int(e).value_or(0) >= 1, "{} has extent `{}`", buffer.name(), e);
  }
  require(b.space != MemSpace::variable || b.shape.empty(), "{} is a variable of rank {}",
          buffer.name(), b.shape.size());
  typed(b.safe_value, b.dtype, "the safe value");
  if (b.l2_persist) {
    typed(b.l2_persist, f64, "l2_persist");
    const auto* ratio = b.l2_persist.try_as<Const>();
    require(!block && ratio != nullptr && ratio->f > 0 && ratio->f <= 1,
            "{} has l2_persist {}, which is for tensors and in (0, 1]", buffer.name(),
            b.l2_persist);
  }
  require(!b.view_of || !b.address, "{} views a buffer and an address", buffer.name());
  require(!b.peer || (b.view_of && buffer.root().space() == MemSpace::shared),
          "{} has a peer, which is for views of shared memory", buffer.name());
  integer(b.peer, "the peer");
}

}  // namespace tw::ir
