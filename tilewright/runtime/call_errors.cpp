#include "tilewright/runtime/call_errors.h"

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/runtime/overlap.h"

namespace tw::runtime {
namespace {

std::string kind_name(Arg::Kind kind) {
  switch (kind) {
    case Arg::Kind::null:
      return "null";
    case Arg::Kind::tensor:
      return "a tensor";
    case Arg::Kind::boolean:
      return "a bool";
    case Arg::Kind::integer:
    case Arg::Kind::unsigned_integer:
      return "an integer";
    case Arg::Kind::real:
      return "a real number";
    case Arg::Kind::address:
      return "an address";
  }
  return "an unknown kind";
}

std::string kind_name(ParamKind kind) {
  if (kind == ParamKind::scalar) return "a scalar";
  if (kind == ParamKind::pointer) return "an address or a tensor";
  return "a tensor";
}

std::string value_of(const Arg& arg) {
  switch (arg.kind()) {
    case Arg::Kind::boolean:
      return arg.integer() != 0 ? "true" : "false";
    case Arg::Kind::integer:
      return std::to_string(arg.integer());
    case Arg::Kind::unsigned_integer:
      return std::to_string(static_cast<uint64_t>(arg.integer()));
    default:
      return format("{}", arg.real());
  }
}

}  // namespace

void CallErrors::count(size_t given) const {
  std::vector<std::string> all, outputs;
  for (const Param& param : m_.params) {
    if (param.kind == ParamKind::workspace) continue;
    all.push_back(param.name);
    if (param.kind == ParamKind::output) outputs.push_back(param.name);
  }
  std::string text = format("expected {} argument{} ({})", all.size(), all.size() == 1 ? "" : "s",
                            join(all, ", "));
  if (!outputs.empty()) {
    text += format(", or {} without {}", all.size() - outputs.size(), join(outputs, ", "));
  }
  fail(codes::host_01, "{}, got {}", text, given);
}

void CallErrors::kind(size_t param, const Arg& given) const {
  fail(codes::host_01, "{} expected {}, got {}", name(param), kind_name(m_.params[param].kind),
       kind_name(given.kind()));
}

void CallErrors::rank(size_t param, const Tensor& given) const {
  fail(codes::host_02, "{} expected rank {}, got {} with shape {}", name(param),
       m_.params[param].shape.size(), given.rank(), given.shape());
}

void CallErrors::dtype(size_t param, DType given) const {
  fail(codes::host_03, "{} expected {}, got {}", name(param), m_.params[param].dtype, given);
}

void CallErrors::scalar(size_t param, const Arg& given) const {
  fail(codes::host_03, "{} expected {}, got {} {}", name(param), m_.params[param].dtype,
       kind_name(given.kind())
           .substr(given.kind() == Arg::Kind::integer || given.kind() == Arg::Kind::unsigned_integer
                       ? 3
                       : 2),
       value_of(given));
}

void CallErrors::device(size_t param, Device given, const Binding& binding) const {
  if (given.kind != m_.device) {
    fail(codes::host_04, "{} is on {}, the kernel was compiled for {}", name(param), given,
         m_.target);
  }
  size_t first = 0;  // the tensor that fixed the device
  while (binding.tensors[first] == nullptr) ++first;
  fail(codes::host_04, "{} is on {}, but {} is on {}", name(param), given, name(first),
       binding.device);
}

std::string CallErrors::place(const EntryRow& row) const {
  return format("{}.{}[{}]", name(row.param), row.is_stride ? "stride" : "shape", row.dim);
}

std::string CallErrors::origin(size_t symbol, const Binding& binding) const {
  if (m_.symbols[symbol].param >= 0) return "by value";
  const uint16_t row = binding.solved_by[symbol];
  return row == UINT16_MAX ? "from no argument" : "from " + place(table_.rows_[row]);
}

std::string CallErrors::expected(const EntryRow& row, const Binding& binding) const {
  if (row.is_constant) return std::to_string(row.constant);
  const std::string value = std::to_string(row.expr.evaluate(binding.values()));
  std::string text = to_text(row.expr, names_of(m_)) + " = " + value;
  if (row.symbol >= 0) {
    return text + format(" ({})", origin(static_cast<size_t>(row.symbol), binding));
  }
  std::vector<std::string> known;
  for (size_t i = 0; i < m_.symbols.size(); ++i) {
    if ((row.needs >> i & 1) == 0) continue;
    known.push_back(
        format("{} = {} {}", m_.symbols[i].name, binding.symbols[i], origin(i, binding)));
  }
  return known.empty() ? text : text + " (" + join(known, ", ") + ")";
}

void CallErrors::entry(size_t r, int64_t given, const Binding& binding) const {
  const EntryRow& row = table_.rows_[r];
  fail(row.is_stride ? codes::host_06 : codes::host_05, "{} expected {}, got {}", place(row),
       expected(row, binding), given);
}

void CallErrors::unsolvable(size_t r, int64_t given, const Binding& binding) const {
  const EntryRow& row = table_.rows_[r];
  const uint64_t unknown = row.needs & ~binding.known;
  size_t symbol = 0;
  while ((unknown >> symbol & 1) == 0) ++symbol;
  fail(row.is_stride ? codes::host_06 : codes::host_05,
       "{} expected {} for a whole {} >= 0, got {}", place(row), to_text(row.expr, names_of(m_)),
       m_.symbols[symbol].name, given);
}

void CallErrors::fact(size_t i, const Binding& binding) const {
  const Symbol& fact = m_.symbols[i];
  const int64_t value = binding.symbols[i];
  std::string need = format("a multiple of {}", fact.multiple_of);
  if (value < fact.min) need = format("at least {}", fact.min);
  if (value > fact.max) need = format("at most {}", fact.max);
  fail(codes::host_05, "{} = {} ({}) must be {}", fact.name, value, origin(i, binding), need);
}

void CallErrors::compact(size_t param, int dim, int64_t expected, int64_t given) const {
  fail(codes::host_06, "{}.stride[{}] expected {} (compact), got {}", name(param), dim, expected,
       given);
}

void CallErrors::packed_stride(size_t param, const Tensor& given) const {
  fail(codes::host_06, "{}.stride[{}] expected 1 (packed {}), got {}", name(param),
       given.rank() - 1, m_.params[param].dtype, given.stride(-1));
}

void CallErrors::alignment(size_t param, uint64_t address) const {
  const int64_t align = m_.params[param].align;
  fail(codes::host_08, "{} expected an address aligned to {} bytes, got {:#x} ({} past one)",
       name(param), align, address, address % static_cast<uint64_t>(align));
}

void CallErrors::null(size_t param) const {
  fail(codes::host_09, "{} expected {}, got null", name(param), kind_name(m_.params[param].kind));
}

void CallErrors::index_width(size_t param, int64_t span) const {
  fail(codes::host_13,
       "{} spans {} elements, the kernel was compiled for 32-bit indices (at most {})", name(param),
       span, int64_t{1} << 31);
}

void CallErrors::shared(size_t param, size_t other, const Binding& binding) const {
  const auto described = [&](size_t i) {
    const Tensor& tensor = *binding.tensors[i];
    const Reach reach = reach_of(tensor);
    return format("{} {} (bytes {:#x} to {:#x})", name(i), tensor, reach.begin / 8,
                  (reach.end + 7) / 8);
  };
  const Tensor &x = *binding.tensors[param], &y = *binding.tensors[other];
  const bool same = x.data() == y.data() && x.shape() == y.shape() && x.strides() == y.strides();
  Error error(codes::host_15, {}, "{}: {} shares memory with {}", m_.name, described(param),
              described(other));
  error.help("pass a copy of one{}",
             same ? format(", or make the kernel work in place: declare {} as "
                           "inout instead, or no_restrict({{{}, {}}})",
                           name(param), name(param), name(other))
                  : format(", or declare no_restrict({{{}, {}}})", name(param), name(other)));
  throw error;
}

}  // namespace tw::runtime
