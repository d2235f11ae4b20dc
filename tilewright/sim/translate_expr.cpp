// Expressions and views.
#include <algorithm>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/visit.h"
#include "tilewright/sim/translate.h"

namespace tw::sim {

using ir::OpCode;

std::vector<int64_t> evaluate(const std::vector<Eval>& exprs, Machine& machine) {
  std::vector<int64_t> values;
  values.reserve(exprs.size());
  for (const Eval& expr : exprs) values.push_back(static_cast<int64_t>(expr(machine)));
  return values;
}

Index evaluate_index(const std::vector<Eval>& exprs, Machine& machine) {
  Index index{};
  for (size_t dim = 0; dim < exprs.size(); ++dim) {
    index[dim] = static_cast<int64_t>(exprs[dim](machine));
  }
  return index;
}

std::string value_text(Bits value, DType dtype) {
  if (dtype.is_bool()) return value != 0 ? "true" : "false";
  if (dtype.scalar == Scalar::u64) return format("{}", value);
  if (dtype.is_int()) return format("{}", decode_int(value, dtype));
  if (dtype == f64) return format("{}", decode(value, dtype));
  return format("{}", static_cast<float>(decode(value, dtype)));
}

size_t Translator::slot(const ir::Var& var) {
  return slots_.emplace(var, slots_.size()).first->second;
}

int Translator::view(const ir::Buffer& buffer) {
  const auto known = views_.find(buffer);
  if (known != views_.end()) return known->second;
  if (buffer->view_of) view(buffer.root());
  const auto number = static_cast<int>(buffers_.size());
  TW_CHECK(buffer.rank() <= kMaxRank, "{} has rank {}", buffer.name(), buffer.rank());
  TW_CHECK(buffer.dtype().lanes == 1, "{} has vector elements", buffer.name());
  views_.emplace(buffer, number);
  buffers_.push_back(buffer);
  declared_.push_back(false);
  return number;
}

std::vector<ir::Buffer> Translator::undeclared_views() const {
  std::vector<ir::Buffer> found;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!declared_[i] && (buffers_[i]->view_of || buffers_[i]->address))
      found.push_back(buffers_[i]);
  }
  return found;
}

int Translator::unit_bits(const ir::Buffer& root) const {
  int bits = root.dtype().bits();
  for (const ir::Buffer& buffer : buffers_) {
    if (buffer->address || buffer.root().same_as(root))
      bits = std::min(bits, buffer.dtype().bits());
  }
  return bits;
}

Exec Translator::bind_view(const ir::Buffer& buffer) {
  const auto number = static_cast<size_t>(view(buffer));
  declared_[number] = true;
  const auto root = static_cast<size_t>(view(buffer.root()));
  const std::vector<Eval> shape = integers(buffer.shape()), strides = integers(buffer->strides);
  const Eval offset = buffer->offset ? integer(buffer->offset) : Eval();
  const Eval address = buffer->address ? integer(buffer->address) : Eval();
  const DType dtype = buffer.dtype();
  return [=](Machine& m) {
    View& view = m.views[number];
    view.dtype = dtype;
    view.width = dtype.bits();
    view.rank = static_cast<int>(shape.size());
    view.shape = evaluate_index(shape, m);
    view.offset = offset ? static_cast<int64_t>(offset(m)) : 0;
    if (strides.empty()) {
      int64_t stride = 1;
      for (size_t dim = shape.size(); dim-- > 0;) {
        view.strides[dim] = stride;
        stride *= view.shape[dim];
      }
    } else {
      view.strides = evaluate_index(strides, m);
    }
    if (address) {
      view.storage = nullptr;
      const auto at = static_cast<int64_t>(address(m));
      for (Storage* storage : m.reachable) {
        const int64_t bytes =
            at - static_cast<int64_t>(reinterpret_cast<uintptr_t>(storage->data()));
        if (bytes < 0 || bytes * 8 >= storage->size_bits()) continue;
        view.storage = storage;
        view.offset = (bytes * 8 - storage->origin()) / view.width;
      }
    } else if (root != number) {
      view.storage = m.views[root].storage;
    }
    return Flow::next;
  };
}

Exec Translator::make_storage(const ir::Buffer& buffer) {
  const auto number = static_cast<size_t>(view(buffer));
  int64_t elements = 1;
  for (int dim = 0; dim < buffer.rank(); ++dim) elements *= buffer.extent(dim);
  return [this, buffer, number, bits = elements * buffer.dtype().bits()](Machine& m) {
    std::unique_ptr<Storage>& storage = m.storages[number];
    if (storage == nullptr) {
      storage = std::make_unique<Storage>(bits, unit_bits(buffer), m.poison());
      storage->track_writes();
    } else {
      storage->forget(m.poison());
    }
    storage->private_to = m.epoch();
    m.views[number].storage = storage.get();
    return Flow::next;
  };
}

std::vector<Eval> Translator::integers(const std::vector<ir::Expr>& exprs) {
  std::vector<Eval> evals;
  for (const ir::Expr& e : exprs) evals.push_back(integer(e));
  return evals;
}

Eval Translator::integer(const ir::Expr& e) {
  const DType dtype = e.dtype();
  if (dtype.bits() == 64 || !dtype.is_signed_int()) return expr(e);
  return [value = expr(e), dtype](Machine& m) {
    return static_cast<Bits>(decode_int(value(m), dtype));
  };
}

std::shared_ptr<const Place> Translator::place(const ir::Buffer& buffer, SourceLoc where,
                                               bool unchecked) {
  auto place = std::make_shared<Place>();
  place->view = view(buffer);
  place->name = buffer.name();
  place->where = where;
  const ir::MemSpace space = buffer.root().space();
  place->in_tensor = space == ir::MemSpace::global || space == ir::MemSpace::workspace;
  place->unchecked = unchecked;
  if (buffer->safe_value) place->safe_value = expr(buffer->safe_value);
  return place;
}

RegionCode Translator::region(const ir::Region& region, SourceLoc where) {
  return {place(region.buffer, where, region.unchecked), integers(region.begin),
          integers(region.extent)};
}

Eval Translator::expr(const ir::Expr& e) {
  switch (e.kind()) {
    case ir::Kind::Const: {
      const auto& c = e.as<ir::Const>();
      const Bits bits = c.dtype.is_float() ? encode(c.f, c.dtype) : encode(c.i, c.dtype);
      return [bits](Machine&) { return bits; };
    }
    case ir::Kind::VarNode:
      return [n = slot(ir::Var::of(e))](Machine& m) { return m.vars[n]; };
    case ir::Kind::Op:
      return op(e.as<ir::Op>());
    case ir::Kind::Cast:
      return cast(e.as<ir::Cast>());
    case ir::Kind::Load: {
      const auto& load = e.as<ir::Load>();
      return [place = place(load.buffer, load.loc, load.unchecked),
              indices = integers(load.indices)](Machine& m) {
        return m.load(*place, evaluate_index(indices, m));
      };
    }
    default:
      throw_internal("kind", SourceLoc::here(), "no expression");
  }
}

Eval Translator::cast(const ir::Cast& cast) {
  return [value = expr(cast.value), from = cast.value.dtype(), to = cast.dtype,
          rounding = cast.rounding, saturate = cast.saturate,
          random = cast.rbits ? expr(cast.rbits) : Eval()](Machine& m) {
    const auto word = random ? static_cast<uint32_t>(random(m)) : 0;
    return convert_bits(value(m), from, to, rounding, saturate, word);
  };
}

Eval Translator::lazy(const ir::Op& op) {
  const Eval a = expr(op.args[0]), b = expr(op.args[1]);
  if (op.code == OpCode::land) return [=](Machine& m) { return a(m) != 0 ? b(m) : Bits{0}; };
  if (op.code == OpCode::lor) return [=](Machine& m) { return a(m) != 0 ? Bits{1} : b(m); };
  return [=, c = expr(op.args[2])](Machine& m) { return a(m) != 0 ? b(m) : c(m); };
}

Eval Translator::op(const ir::Op& op) {
  if (is_lazy(op.code)) return lazy(op);
  const OpCode code = op.code;
  const DType operand = op.args[0].dtype();
  const std::string_view name = ir::op_row(code).name;
  const ElementFn function = element_function(code, operand, op.exactness, op.rounding);
  TW_CHECK(function != nullptr, "{} of {} is not defined", name, operand);
  const bool is_unary = op.args.size() == 1;
  const Eval a = expr(op.args[0]);
  const Eval b = is_unary ? Eval([](Machine&) { return Bits{0}; }) : expr(op.args[1]);
  if (op.args.size() == 3) {
    return [=, c = expr(op.args[2])](Machine& m) {
      const Bits x = a(m), y = b(m);
      return function(x, y, c(m));
    };
  }
  // Reports operands that are wrong and computes the result all the same.
  const auto checked = [&](FindingKind kind, auto is_wrong, auto text) -> Eval {
    return [=, key = &op, where = op.loc](Machine& m) {
      const Bits x = a(m), y = b(m);
      if (is_wrong(x, y)) m.report(kind, key, where, [&] { return text(x, y); });
      return function(x, y, 0);
    };
  };
  switch (code) {
    case OpCode::floordiv:
    case OpCode::floormod:
    case OpCode::truncdiv:
    case OpCode::truncmod:
      return checked(
          FindingKind::division_by_zero, [](Bits, Bits y) { return y == 0; },
          [=](Bits x, Bits) { return format("{}({}, 0)", name, value_text(x, operand)); });
    case OpCode::shl:
    case OpCode::shr:
      return checked(
          FindingKind::shift_out_of_range,
          [=, bits = static_cast<Bits>(operand.bits())](Bits, Bits y) { return y >= bits; },
          [=](Bits, Bits y) {
            return format("{} by {} of {}", name, value_text(y, operand), operand);
          });
    default:
      break;
  }
  if (options_.check_overflow && operand.is_signed_int()) {
    return checked(
        FindingKind::signed_overflow,
        [=](Bits x, Bits y) { return overflows(code, operand, x, y); },
        [=](Bits x, Bits y) {
          const std::string second = is_unary ? "" : ", " + value_text(y, operand);
          return format("{}({}{}) overflows {}", name, value_text(x, operand), second, operand);
        });
  }
  if (is_unary) return [=](Machine& m) { return function(a(m), 0, 0); };
  return [=](Machine& m) {
    const Bits x = a(m);
    return function(x, b(m), 0);
  };
}

}  // namespace tw::sim
